"""What a store holds, read without making a bandit: modules of users' own policies are not imported."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from brigand.live.damage import unseal
from brigand.live.engine import SCHEMA
from brigand.storage.events import ADD
from brigand.storage.records import Reading
from brigand.storage.store import open_store


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
    damaged : bool
        Whether what is stored of it cannot be read: it has neither policy nor arms here.
    """

    name: str
    policy: dict[str, Any]
    arms: list[str]
    decisions: int
    created_at: float
    damaged: bool = False


def bandits(store: str) -> list[Listed]:
    """Return the bandits in a store, by name.

    Raises
    ------
    StorageError
        The store is not there or cannot be read.
    """
    found = []
    with open_store(store, create=False) as opened:
        for name in opened.names():
            record = opened.find(name)
            with opened.reading(record.id) as reading:
                try:
                    policy, arms = json.loads(record.definition)["policy"], _arms(reading)
                    decisions, damaged = reading.steps(), not isinstance(policy, dict)
                except (TypeError, ValueError, LookupError, RecursionError):
                    policy, arms, decisions, damaged = {}, [], 0, True
                found.append(Listed(name, policy, arms, decisions, record.created_at, damaged))
    return found


def _arms(reading: Reading) -> list[str]:
    """Return the arms in service: from the latest state, and what came after it."""
    seq, names, rows = 0, list[str](), set[int]()
    snapshot = reading.snapshot()
    if snapshot is not None:
        state = unseal(*snapshot)
        if state is not None and state["schema"] == SCHEMA:
            seq, names, rows = snapshot[0], state["names"], set(state["rows"])
    for event in reading.since(seq):
        if event.step is not None:
            continue
        if event.kind == ADD:
            names.append(json.loads(event.data)["name"])
            rows.add(event.arm)
        else:
            rows.remove(event.arm)
    return [names[row] for row in sorted(rows)]
