"""A bandit's decisions as a log."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brigand.errors import StorageError
from brigand.live import bases
from brigand.live.history import moments, said
from brigand.live.names import name_of
from brigand.live.times import EARLIEST, LATEST
from brigand.logs.log import Log
from brigand.storage.events import ADD, ASK, DEFAULT, REMOVE, REPLACE, TELL, Event


def as_log(bandit: Any) -> Log:
    """Return the decisions that have a reward: see `brigand.Bandit.log`."""
    with bandit._session.apart() as log:
        reader = _Reader(*bases.names(log.base()))
        for page in log.pages():
            for event in page:
                try:
                    reader.take(event)
                except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
                    raise StorageError(f"the log is damaged at {event!r}: {error}.") from error
    try:
        return reader.log()
    except (TypeError, ValueError, OverflowError) as error:
        raise StorageError(f"the log is damaged: {error}.") from error


class _Reader:
    """Takes in the events of a log, in order.

    Parameters
    ----------
    names : sequence of str
        Of all rows of arms that there were before; a name that was removed and came again has two.
    serving : sequence of int
        Rows of the arms in service then.
    """

    def __init__(self, names: Sequence[str], serving: Sequence[int]) -> None:
        self._places: dict[str, int] = {}
        self._arms = [self._place(name) for name in names]
        self._serving = set(serving)
        self._sets: dict[tuple[int, ...], int] = {}
        self._now: int | None = None
        self._asks: list[tuple[Any, ...]] = []
        self._first = 0
        self._rewards: dict[str, dict[int, tuple[float, float]]] = {
            kind: {} for kind in (DEFAULT, TELL, REPLACE)
        }

    def _place(self, name: str) -> int:
        return self._places.setdefault(name, len(self._places))

    def take(self, event: Event) -> None:
        """Take in one event."""
        if event.kind == ASK:
            self._first = self._first or event.step or 0
            propensity = said(event.data)[1]
            self._asks.append((self._arms[event.arm], self._available(event.data), propensity, event.at))
        elif event.kind in self._rewards and event.step is not None and event.value is not None:
            self._rewards[event.kind][event.step] = event.value, event.at
        elif event.kind in (ADD, REMOVE):
            if event.kind == ADD:
                self._arms.append(self._place(name_of(event)))
                self._serving.add(event.arm)
            else:
                self._serving.remove(event.arm)
            self._now = None

    def _available(self, data: str) -> int:
        """Return the number of the set of arms that were available."""
        if '"among"' in data:
            return self._number(json.loads(data)["among"])
        if self._now is None:
            self._now = self._number(self._serving)
        return self._now

    def _number(self, rows: Any) -> int:
        return self._sets.setdefault(tuple(sorted(self._arms[row] for row in rows)), len(self._sets))

    def log(self) -> Log:
        """Return the decisions that have a reward."""
        rewards = self._rewards[DEFAULT] | self._rewards[TELL] | self._rewards[REPLACE]
        steps = sorted(step for step in rewards if step >= self._first)
        asks = [self._asks[step - self._first] for step in steps]
        arm, available, propensity, asked = ([ask[field] for ask in asks] for field in range(4))
        told = [rewards[step] for step in steps]
        sets = np.zeros((len(self._sets), len(self._places)), np.bool_)
        for places, number in self._sets.items():
            sets[number, list(places)] = True
        whole = bool(sets.all())
        return Log(
            arms=tuple(self._places),
            arm=np.array(arm, np.int32),
            reward=np.array([reward for reward, _ in told], float),
            propensity=np.array(propensity, float),
            time=_microseconds(asked),
            told=_microseconds([at for _, at in told]),
            sets=None if whole else sets,
            available=None if whole else np.array(available, np.int32),
        )


def _microseconds(seconds: list[float]) -> NDArray[np.int64]:
    times = np.array(seconds, float)
    if not ((times >= EARLIEST) & (times <= LATEST)).all():
        raise ValueError("a time is out of range")
    return moments(times).astype(np.int64)
