"""Names of arms: which are allowed, and how the log keeps them."""

from __future__ import annotations

import json
import reprlib
import unicodedata
from collections import Counter
from collections.abc import Iterable

from brigand import checks
from brigand.errors import InvalidValueError, StorageError
from brigand.storage.events import ADD, Event

JOINS = ', "joins": true}'


def name_data(name: str, *, joins: bool = False, **more: str) -> str:
    """Return an arm's name as the data of an event, what else is said, and whether its row joins others'.

    It is in ASCII, so that any string can be kept.
    """
    said = "".join(f", {json.dumps(key)}: {json.dumps(text)}" for key, text in more.items())
    return f'{{"name": {json.dumps(name)}{said}{JOINS if joins else "}"}'  # a text alone is quick


def name_of(event: Event) -> str:
    """Return the name of an arm that an event adds.

    Raises
    ------
    StorageError
        Its data are damaged.
    """
    try:
        return str(json.loads(event.data)["name"])
    except (TypeError, ValueError, LookupError, RecursionError) as error:
        raise StorageError(f"the log is damaged: an arm's name is {error!r}.") from error


def joins(event: Event) -> bool:
    """Return whether the row of a new arm joins those of others; else it is there from the beginning."""
    return event.data.endswith(JOINS)


def needs_row(event: Event) -> bool:
    """Return whether an event adds an arm whose row must be there from the beginning."""
    return event.kind == ADD and not joins(event)


def check_name(name: object) -> str:
    """Return an arm's name as `name_data` keeps it: JSON makes one character of a surrogate pair."""
    text = checks.text("an arm's name", name)
    kept: str = text if text.isascii() else json.loads(json.dumps(text))
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
    check_alike(names)
    return names


def check_alike(names: Iterable[str]) -> None:
    """Refuse different names that look the same: one character may be written in two ways (NFC and NFD).

    Raises
    ------
    InvalidValueError
        There are two such names.
    """
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name if name.isascii() else unicodedata.normalize("NFC", name), name)
        if other != name:
            raise InvalidValueError(
                f"arms {other!r} and {name!r} look the same, but are composed of different characters "
                f"({other!a}, {name!a})."
            )


def listed(names: Iterable[str], what: str = "arms") -> list[str]:
    """Return names, of arms or `what` they are, as a list; one string is not a list of names."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidValueError(f"{what} must be a list of names, not {reprlib.repr(names)}.")
    return list(names)
