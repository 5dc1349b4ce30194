"""One operation on a bandit at a time: its engine is brought up to date, moved, and its events are kept.

Threads wait for a lock; processes wait for the store's transaction. An engine that was moved while the
operation failed is ahead of the log, so it is thrown away and made anew.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from brigand.live.engine import Engine
from brigand.live.homes import Home, Log
from brigand.live.settings import Settings
from brigand.storage.events import ADD, Event

LEAST_EVENTS = 1000
"""A snapshot is kept after so many events, or one for each `BYTES` of the state, if these are more."""
BYTES = 64


class Session:
    """The context of an operation that writes; it gives itself.

    Parameters
    ----------
    home : Home
    settings : Settings

    Attributes
    ----------
    log : Log
    engine : Engine
        Up to date, inside the context.
    """

    log: Log
    engine: Engine

    def __init__(self, home: Home, settings: Settings) -> None:
        self._home = home
        self._settings = settings
        self._lock = threading.Lock()
        self._seq = 0
        self._stale = True
        self._moved = False
        self._mark: Any = None  # of the generator after the last operation, where the log does not have it
        self._transaction: AbstractContextManager[Any] = nullcontext()

    def __enter__(self) -> Session:
        self._begin(self._home.writing)
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._end(kind, error, trace)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Give the context of an operation that only reads."""
        self._begin(self._home.reading)
        try:
            yield self
        except BaseException as error:
            self._end(type(error), error, error.__traceback__)
            raise
        self._end(None, None, None)

    def _begin(self, transaction: Callable[[], AbstractContextManager[Any]]) -> None:
        self._lock.acquire()
        try:
            self._transaction = transaction()
            self.log = self._transaction.__enter__()
        except BaseException:
            self._lock.release()
            raise
        try:
            self._catch_up()
        except BaseException as error:
            self._stale = True
            self._end(type(error), error, error.__traceback__)
            raise

    def _end(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._stale |= self._moved and error is not None
        try:
            self._transaction.__exit__(kind, error, trace)
        except BaseException:
            self._stale = True  # the events that moved the engine may be lost
            raise
        else:
            if self._moved and error is None and not self._home.durable:
                self._mark = self.engine.mark()
        finally:
            self._moved = False
            self._lock.release()

    def _catch_up(self) -> None:
        """Take in what other processes did."""
        if not self._stale:
            events = self.log.since(self._seq)
            if not events:
                return
            if all(event.kind != ADD for event in events):
                self._stale = True  # until all are taken in
                self.engine.apply(events)
                self._seq += len(events)
                self._stale = False
                return
        self._load()
        self._stale = False

    def _load(self) -> None:
        """Make the engine from the snapshot and the events after it, or from all events."""
        found = self.log.snapshot()
        if found is not None:
            seq, text = found
            engine = Engine.from_json(self._settings, json.loads(text))
            events = self.log.since(seq)
            if engine is not None and all(event.kind != ADD for event in events):
                engine.apply(events)
                self._use(engine, seq + len(events))
                return
        events = self.log.since(0)
        self._use(Engine.replay(self._settings, events), len(events))

    def _use(self, engine: Engine, seq: int) -> None:
        if self._mark is not None:
            engine.rewind(self._mark)
        self.engine, self._seq = engine, seq

    def moving(self) -> Engine:
        """Return the engine to be moved: if the operation then fails, the engine is made anew."""
        self._moved = True
        return self.engine

    def keep(self, events: Sequence[Event]) -> None:
        """Append events to the log, and now and then the state."""
        before = self._seq
        self.log.append(events, before)
        self._seq += len(events)
        if self._home.durable:
            often = max(LEAST_EVENTS, self.engine.nbytes // BYTES)
            if before // often != self._seq // often:
                self.keep_state()

    def keep_arm(self, event: Event) -> None:
        """Append a new arm to the log, and make the engine anew."""
        events = [*self.log.since(0), event]
        engine = Engine.replay(self._settings, events)
        engine.rewind(self.engine.mark())
        self.log.append([event], self._seq)
        self.engine, self._seq = engine, len(events)
        self.keep_state()

    def keep_state(self) -> None:
        """Keep the state, from which the next process starts."""
        self.log.save(self._seq, json.dumps(self.engine.to_json()))
