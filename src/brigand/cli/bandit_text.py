"""Words of the commands ``brigand bandit``: names made fit to print, numbers, policies given and shown."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from brigand.errors import InvalidValueError, ResultFileError, UnknownNameError
from brigand.policies.titles import policy_title as policy_title
from brigand.storage.place import without_password
from brigand.words import visible as visible

if TYPE_CHECKING:
    from brigand.policies.base import Policy


def label(name: str) -> str:
    """Return a name fit to print; in quotes if it is empty, or has spaces at its ends."""
    return visible(name) if name and name == name.strip(" ") else repr(name)


def store_label(store: str) -> str:
    """Return a store fit to print, without a password."""
    return visible(without_password(store))


def labels(names: list[str]) -> str:
    """Return names in one text."""
    return ", ".join(map(label, names)) or "none"


def find_policy(text: str) -> Policy:
    """Return the policy that is given by name, by its JSON form, or by a file that holds that.

    Raises
    ------
    UnknownNameError
        There is no policy, and no file, of this name.
    InvalidValueError
        The JSON form is none of a policy.
    ResultFileError
        The file cannot be read.
    """
    from brigand.policies.base import Policy
    from brigand.policies.catalogue import CATALOGUE

    with suppress(UnknownNameError):
        return CATALOGUE[text]
    source = "the policy given"
    if not text.lstrip().startswith("{"):
        path = Path(text)
        if path.suffix.lower() != ".json" and not os.path.isfile(path):
            raise UnknownNameError("policy", text, CATALOGUE)
        source = str(path)
        try:
            text = path.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise ResultFileError(f"{source!r} cannot be read: {error.strerror or error}.") from error
        except UnicodeDecodeError:
            raise ResultFileError(f"{source!r} cannot be read: it is not UTF-8 text.") from None
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidValueError(
            f"{source} is no JSON: {error}. A policy is a name ('brigand policies'), or its JSON form "
            "('brigand policies --json')."
        ) from None
    return Policy.from_json(data)


class Digits:
    """How many digits the means of a table get: as many as tell the ends of the narrowest interval apart.

    Parameters
    ----------
    means, widths : iterable of float
        Of the arms; NaN and infinite where nothing is known.

    Examples
    --------
    >>> digits = Digits([0.42312, math.nan], [0.09, math.inf])
    >>> digits.mean(0.42312), digits.interval(0.378, 0.468), digits.interval(-math.inf, math.inf)
    ('0.423', '[0.38, 0.47]', '–')
    >>> Digits([1234.56], [82]).interval(1193.5, 1275.5), Digits([0.004217], [math.inf]).mean(0.004217)
    ('[1194, 1276]', '0.00422')
    """

    def __init__(self, means: Iterable[float], widths: Iterable[float]) -> None:
        narrowest = min((width for width in widths if 0 < width < math.inf), default=0.0)
        largest = max((abs(mean) for mean in means if not math.isnan(mean)), default=0.0)
        if narrowest:
            self._decimals = -math.floor(math.log10(narrowest / 6))
        else:
            self._decimals = 1 - math.floor(math.log10(largest)) if largest else 1
        self._plain = self._decimals < 7 and largest < 1e7

    def mean(self, value: float) -> str:
        """Return a mean, with one digit more than its interval."""
        return "–" if math.isnan(value) else self._text(value, self._decimals + 1)

    def interval(self, lower: float, upper: float) -> str:
        """Return an interval, or a dash."""
        if not math.isfinite(upper - lower):
            return "–"
        return f"[{self._text(lower, self._decimals)}, {self._text(upper, self._decimals)}]"

    def _text(self, value: float, decimals: int) -> str:
        return f"{value:.{max(decimals, 0)}f}" if self._plain else f"{value:.3g}"


def share_text(share: float) -> str:
    """Return a share in percent.

    Examples
    --------
    >>> [share_text(share) for share in (0, 0.0001, 0.123, 1, math.nan)]
    ['0.0 %', '<0.1 %', '12.3 %', '100.0 %', '–']
    """
    if math.isnan(share):
        return "–"
    if 0 < share < 0.0005 or 0.9995 <= share < 1:
        return "<0.1 %" if share < 0.5 else ">99.9 %"
    return f"{100 * share:.1f} %"
