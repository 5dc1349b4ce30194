"""Names of arms: which are allowed, and how the log keeps them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from brigand import checks
from brigand.errors import InvalidValueError


def name_data(name: str) -> str:
    """Return an arm's name as the data of an event: in ASCII, so that any string can be kept."""
    return json.dumps({"name": name})


def check_name(name: object) -> str:
    """Return an arm's name as `name_data` keeps it: JSON makes one character of a surrogate pair."""
    kept: str = json.loads(json.dumps(checks.text("an arm's name", name)))
    return kept


def check_arms(arms: Iterable[str]) -> list[str]:
    """Return the arms of a new bandit.

    Raises
    ------
    InvalidValueError
        There are none, two have one name, or they are a set.
    """
    if isinstance(arms, (set, frozenset)):  # a set of strings is in another order in every process
        raise InvalidValueError("arms must be a list: a set has no order, and the order decides ties.")
    names = [check_name(arm) for arm in listed(arms)]
    if not names:
        raise InvalidValueError("a bandit needs an arm at least.")
    for name, count in Counter(names).items():
        if count > 1:
            raise InvalidValueError(f"arms must have different names, but {count} are called {name!r}.")
    return names


def listed(names: Iterable[str]) -> list[str]:
    """Return names of arms as a list; one string is not a list of names."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidValueError(f"arms must be a list of names, not {names!r}.")
    return list(names)
