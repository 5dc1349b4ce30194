"""The log of a bandit that lives in memory only: what a transaction of a store gives, without one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from brigand.storage.events import (
    ADD,
    ASK,
    DEFAULT,
    EXPLORES,
    HELD_OUT,
    RECORDED,
    REPLACE,
    TELL,
    Event,
    Found,
    Logged,
    Tally,
    keys_in,
)


class MemoryLog:
    """All events, and where those of a decision are. A context: after an error, all is as before it.

    Parameters
    ----------
    events : sequence of Event
        From the beginning.
    base : tuple, optional
        The number of the first event, a decision, and the state after it, if the log was pruned.
    """

    def __init__(self, events: Sequence[Event], base: tuple[int, str] | None = None) -> None:
        self._events = list(events)
        self._asks: list[Event] = []
        self._tells: dict[int, Event] = {}
        self._defaults: dict[int, Event] = {}
        self._replaced: dict[int, Event] = {}
        self._keys: dict[str, Event] = {}
        self._indexed = 0
        self._before = 0
        self._base = base
        self._dropped = 0 if base is None else base[0] - 1
        self._steps_dropped = 0 if base is None else (events[0].step or 1) - 1
        self._snapshot: tuple[int, str] | None = None

    def __enter__(self) -> MemoryLog:
        self._before = len(self._events)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is not None and len(self._events) > self._before:
            del self._events[self._before :]
            self._asks, self._tells, self._defaults, self._replaced, self._keys = [], {}, {}, {}, {}
            self._indexed = 0

    def now(self) -> float:
        """Return infinity: there is no other clock."""
        return math.inf

    def identity(self) -> None:
        """Return nothing: no one else can put another log in its place."""

    def since(self, seq: int) -> list[Event]:
        """Return the events after the first `seq`; none if some of them were pruned."""
        return [] if seq < self._dropped else self._events[seq - self._dropped :]

    def pages(self) -> Iterator[list[Event]]:
        """Yield all events."""
        yield self._events.copy()

    def base(self) -> tuple[int, str] | None:
        """Return the number of the first event and the state after it, if the log was pruned."""
        return self._base

    def arms(self) -> list[tuple[int, Event]]:
        """Return the events that added arms, with their numbers."""
        events = enumerate(self._events, self._dropped + 1)
        return [(number, event) for number, event in events if event.kind == ADD]

    def steps(self) -> int:
        """Return how many decisions there are."""
        self._index()
        return self._steps_dropped + len(self._asks)

    def decisions(self, steps: Sequence[int]) -> dict[int, Found]:
        """Return those of some decisions that exist, by step."""
        self._index()
        return {step: self._found(step) for step in steps if self._steps_dropped < step <= self.steps()}

    def _found(self, step: int) -> Found:
        arm = self._asks[step - self._steps_dropped - 1].arm
        tell, default, new = self._tells.get(step), self._defaults.get(step), self._replaced.get(step)
        told = (None, False) if tell is None else (tell.value, tell.counted)
        return Found(arm, *told, default and default.value, new and new.value)

    def append(self, events: Sequence[Event], after: int) -> None:
        """Append events: nothing interrupts this, so all are there or none."""
        self._events += events

    def _index(self) -> None:
        """Find the events of each decision. If this is interrupted, the next call goes on."""
        while self._indexed < len(self._events):
            event = self._events[self._indexed]
            if event.kind == ASK and event.step == self._steps_dropped + len(self._asks) + 1:
                self._asks.append(event)
            elif event.kind == TELL and event.step:
                self._tells[event.step] = event
            elif event.kind == DEFAULT and event.step:
                self._defaults[event.step] = event
            elif event.kind == REPLACE and event.step:
                self._replaced[event.step] = event
            for key in keys_in(event.data):
                self._keys[key] = event
            self._indexed += 1

    def found(self, key: str) -> Event | None:
        """Return the latest event that has a key in its data; None if there is none."""
        self._index()
        return self._keys.get(key)

    def of_kinds(self, *kinds: str) -> Iterator[tuple[int, Event]]:
        """Yield the events of some kinds in order, with their numbers."""
        events = enumerate(self._events, self._dropped + 1)
        return ((number, event) for number, event in events if event.kind in kinds)

    def history(self, after_step: int = 0, limit: int | None = None) -> Iterator[Logged]:
        """Yield decisions after a step, in order."""
        self._index()
        start = max(0, after_step - self._steps_dropped)
        end = None if limit is None else start + limit
        for step, ask in enumerate(self._asks[start:end], start=self._steps_dropped + start + 1):
            tell, default, new = self._tells.get(step), self._defaults.get(step), self._replaced.get(step)
            yield Logged(
                step,
                ask.arm,
                ask.at,
                ask.data,
                tell and tell.value,
                tell is not None and tell.counted,
                tell and tell.at,
                default and default.value,
                default is not None and default.counted,
                default and default.at,
                new and new.value,
                new is not None and new.counted,
                new and new.at,
            )

    def last(self) -> int:
        """Return the number of the last event."""
        return self._dropped + len(self._events)

    def tally(self, after: int, until: int, width: int) -> list[Tally]:
        """Count decisions and rewards of the events after number `after`, by buckets of steps."""
        self._index()
        return self._tally(self._events[max(0, after - self._dropped) : until - self._dropped], width)

    def tally_steps(self, after: int, width: int) -> list[Tally]:
        """Count the decisions after step `after`."""
        self._index()
        first = max(0, after - self._steps_dropped)
        asks = self._asks[first:]
        steps = range(self._steps_dropped + first + 1, self._steps_dropped + len(self._asks) + 1)
        told = [some[step] for some in (self._tells, self._defaults) for step in steps if step in some]
        return self._tally([*asks, *told], width)

    def _tally(self, events: Iterable[Event], width: int) -> list[Tally]:
        found: dict[tuple[int, int, str, bool], list[float]] = {}
        for kind, step, arm, value, counted, at, data in events:
            if step is None:
                continue
            sums = found.setdefault(((step - 1) // width, arm, kind, counted), [0, 0.0, 0, at])
            before = self._tells[step].value if kind == REPLACE and step in self._tells else None
            sums[0] += 1
            sums[1] += (value or 0.0) - (before or 0.0)
            sums[2] += data.startswith(EXPLORES)
            sums[3] = min(sums[3], at)
        return [
            Tally(*key, int(number), total, int(explored), at)
            for key, (number, total, explored, at) in found.items()
        ]

    def rewards(self, after: int, until: int) -> list[tuple[str, int, float | None, int]]:
        """Return decisions and rewards among the events after number `after`, in order; see the store's."""
        events = self._events[max(0, after - self._dropped) : until - self._dropped]
        return [
            (kind, step, value, 1 if HELD_OUT in data else 2 if data.startswith(RECORDED) else 0)
            for kind, step, _, value, _, _, data in events
            if step is not None
        ]

    def asked_at(self, step: int) -> float | None:
        """Return when a decision was made, None if it is not there."""
        self._index()
        place = step - self._steps_dropped - 1
        return self._asks[place].at if 0 <= place < len(self._asks) else None

    def step_before(self, seq: int) -> int:
        """Return the last decision before event number `seq`, 0 if there is none."""
        before = self._events[: max(0, seq - 1 - self._dropped)]
        return next((event.step or 0 for event in reversed(before) if event.kind == ASK), 0)

    def steps_of(self, row: int, after: int, limit: int) -> list[int]:
        """Return the last decisions for an arm after step `after`, the latest first, `limit` at most."""
        self._index()
        found: list[int] = []
        for event in reversed(self._asks):
            if len(found) == limit or (event.step or 0) <= after:
                break
            if event.arm == row:
                found.append(event.step or 0)
        return found

    def snapshot(self) -> tuple[int, str] | None:
        """Return the number of events that the latest state has seen, and that state."""
        return self._snapshot

    def save(self, seq: int, state: str) -> None:
        """Keep the state after `seq` events."""
        self._snapshot = seq, state

    def rebase(self, seq: int, state: str) -> None:
        """Let the log begin with event number `seq`, a decision, after which the bandit had a state."""
        self._base = seq, state
        self._snapshot = None

    def pruned(self) -> MemoryLog:
        """Return a copy without what comes before the beginning of the log."""
        if self._base is None:
            return self
        return MemoryLog(self._events[self._base[0] - 1 - self._dropped :], self._base)
