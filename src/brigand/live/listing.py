"""What a store holds, read without making a bandit: modules of users' own policies are not imported."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from brigand.errors import StorageError
from brigand.live import bases
from brigand.live.series import Glance, glance
from brigand.live.status import SAID
from brigand.storage.events import ADD, REMOVE, RESUME, Overview
from brigand.storage.place import Place, store_url
from brigand.storage.records import NAMES
from brigand.storage.store import Store, open_store


class Listed(NamedTuple):
    """A bandit in a store.

    Attributes
    ----------
    name : str
    policy : dict
        Its JSON form.
    arms : list of str
        In service, in the order in which they came.
    decisions : int
    created_at : float
        Seconds since the epoch, UTC.
    status : str
        ``"serving"``, ``"paused"`` or ``"ended"``.
    damaged : bool
        Whether what is stored of it cannot be read: it has neither policy nor arms here.
    """

    name: str
    policy: dict[str, Any]
    arms: list[str]
    decisions: int
    created_at: float
    status: str = SAID[RESUME]
    damaged: bool = False


def bandits(store: Place, after: str | None = None, limit: int | None = None) -> list[Listed]:
    """Return the bandits in a store, by name: those after a name, `limit` at most.

    Raises
    ------
    StorageError
        The store is not there or cannot be read.
    """
    with open_store(store_url(store), create=False) as opened:
        return list(map(_listed, opened.overview(after, limit)))


class Seen(NamedTuple):
    """A bandit in a store, and how it does.

    Attributes
    ----------
    listed : Listed
    glance : Glance or None
        None if its log cannot be read.
    """

    listed: Listed
    glance: Glance | None


def search(
    store: Store, text: str, order: str, offset: int, limit: int, since: float
) -> tuple[list[Seen], int]:
    """Return some of the bandits whose names hold a text (`Store.search`), and how many there are.

    Raises
    ------
    StorageError
        The store cannot be read.
    """
    found, number = store.search(text, order, offset, limit)
    return [Seen(_listed(one), _glance(store, one.record.id, since)) for one in found], number


def _glance(store: Store, number: int, since: float) -> Glance | None:
    try:
        with store.reading(number) as log:
            return glance(log, since)
    except (StorageError, TypeError, ValueError):
        return None


def _listed(found: Overview) -> Listed:
    record = found.record
    try:
        policy, (arms, status) = json.loads(record.definition)["policy"], _arms_and_status(found)
        if isinstance(policy, dict) and isinstance(found.steps, int) and isinstance(record.name, str):
            return Listed(record.name, policy, arms, found.steps, record.created_at, status)
    except (TypeError, ValueError, LookupError, RecursionError, StorageError):
        pass
    name = record.name if isinstance(record.name, str) else repr(record.name)
    return Listed(name, {}, [], 0, record.created_at, damaged=True)


def _arms_and_status(found: Overview) -> tuple[list[str], str]:
    """Return the arms in service, and whether the bandit serves."""
    known, serving = bases.names(found.base)
    names, rows, status = list(known), set(serving), bases.status(found.base)
    for code, arm, data in found.changes:
        kind = NAMES[code]
        if kind == ADD:
            names.append(str(json.loads(data)["name"]))
            rows.add(arm)
        elif kind == REMOVE:
            rows.remove(arm)
        else:
            status = kind
    return [names[row] for row in sorted(rows)], SAID[status]
