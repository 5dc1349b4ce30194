"""One operation on a bandit at a time: its engine is brought up to date, moved, and its events are kept.

Threads wait for a lock; processes wait for the store's transaction. An engine that was moved while the
operation failed is ahead of the log, so it is thrown away and made anew.

What takes long is done where it keeps nobody: an engine that is not there yet is made, and compiled, in a
transaction that only reads; the state is kept after the events, in a transaction of its own.

An operation may be interrupted anywhere, by Ctrl-C, also on its way in or out. So the lock is taken in a
``with`` of its own, which nothing interrupts, and the next operation ends a transaction that is still open.
"""

from __future__ import annotations

import json
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, NamedTuple

from brigand.errors import BrigandError, InvalidValueError, StorageError
from brigand.live import bases
from brigand.live.backends import Backend, Log
from brigand.live.bases import Base
from brigand.live.damage import LogCheck, older_generator, seal, unseal
from brigand.live.engine import Engine
from brigand.live.names import name_of, needs_row
from brigand.live.settings import Settings
from brigand.storage.events import DEFAULT, METRIC, PART, REPLACE, TELL, Event
from brigand.storage.logged import Page
from brigand.storage.records import PAGE_SIZE

LEAST_EVENTS = 1000
"""A snapshot is kept after so many events, or one for each `BYTES` of the state, if these are more."""
BYTES = 64
TOLD_OF = (TELL, DEFAULT, REPLACE, PART, METRIC)
"""Kinds of events that are about a decision."""
ASKING = 16
"""So many threads at most ask for callers who have a fallback, and may be stuck where the store is."""

_SESSIONS: weakref.WeakSet[Session] = weakref.WeakSet()


class Session:
    """The context of an operation that writes, inside that of its `lock`; it gives itself.

    Parameters
    ----------
    backend : Backend
    settings : Settings

    Attributes
    ----------
    lock : threading.RLock
        Taken by a thread once: who asks for it again, in a signal handler say, gets a StorageError.
    in_time : threading.Semaphore
        For threads that ask for somebody who does not wait for long.
    log : Log
    engine : Engine
        Up to date, inside the context.
    """

    log: Log
    engine: Engine

    def __init__(self, backend: Backend, settings: Settings) -> None:
        self._backend = backend
        self._settings = settings
        self._lock = threading.RLock()
        self.in_time = threading.Semaphore(ASKING)
        _SESSIONS.add(self)
        self._seq = 0
        self._last: Event | None = None  # that with number `_seq`
        self._stale = True
        self._moved = False
        self._state_is_due = False
        self._marks: dict[int, Any] = {}  # of the generator after so many events, if the log does not have it
        self._transaction: AbstractContextManager[Any] | None = None
        self._reader: Session | None = None

    def __enter__(self) -> Session:
        if self._stale:
            self._begin(self._backend.reading)
            self._end(None, None, None)
        self.engine.compile()
        self._begin(self._backend.writing)
        if not self.engine.is_compiled:  # others have added an arm
            self._end(None, None, None)
            self.engine.compile()
            self._begin(self._backend.writing)
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._end(kind, error, trace)
        if self._state_is_due and error is None:
            self._keep_state()

    @property
    def lock(self) -> AbstractContextManager[object]:  # noqa: D102
        for session in (self, self._reader):
            if session is not None and session._lock._is_owned():  # type: ignore[attr-defined]
                raise StorageError(
                    "this thread is in the middle of another call of this bandit, which a signal handler, or "
                    "the clock, interrupts: note down what to do, and do it when that call has ended."
                )
        return self._lock

    @property
    def seq(self) -> int:
        """The number of the last event that the engine has seen, inside the context."""
        return self._seq

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Give an operation that only reads the session to use.

        That of a store is another one, with an engine and a lock of its own: who reads does not wait for a
        writer that waits for the store.
        """
        lock, session = self.lock, self
        if self._backend.durable:
            if self._reader is None:
                self._reader = Session(self._backend, self._settings)
            session = self._reader
            lock = session.lock
        with lock:
            session._begin(session._backend.reading)
            try:
                yield session
            except BaseException as error:
                session._end(type(error), error, error.__traceback__)
                raise
            session._end(None, None, None)

    def _begin(self, transaction: Callable[[], AbstractContextManager[Any]]) -> None:
        if self._transaction is not None:
            self._stale = True
            with suppress(BrigandError):
                self._end(KeyboardInterrupt, KeyboardInterrupt(), None)
        self._transaction = transaction()
        try:
            self.log = self._transaction.__enter__()
        except BaseException:
            self._transaction = None
            raise
        try:
            self._catch_up()
            if len(self._marks) > 1:  # of the operation before
                self._marks = {self._seq: self._marks[self._seq]} if self._seq in self._marks else {}
        except BaseException as error:
            self._stale = True
            self._end(type(error), error, error.__traceback__)
            raise

    def _end(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._stale |= self._moved and error is not None
        try:
            if self._transaction is not None:
                self._transaction.__exit__(kind, error, trace)
        except BaseException:
            self._stale = True  # the events that moved the engine may be lost
            raise
        finally:
            self._moved = False
            self._transaction = None

    def after_fork(self) -> None:
        """Go on in a child: a thread that was in the middle of an operation is not there."""
        self._lock = threading.RLock()
        self.in_time = threading.Semaphore(ASKING)
        self._transaction = None
        self._stale = True

    def _catch_up(self) -> None:
        """Take in what other processes did; if the log is not the one that was known, begin anew."""
        if not self._stale:
            found = self.log.since(self._seq - 1)
            if found[:1] == [self._last]:
                if len(found) == 1:
                    return
                events = found[1:]
                if not any(map(needs_row, events)):
                    self._check(self.engine).check(events, self._seq + 1)
                    self._stale = True  # until all are taken in
                    self.engine.apply(events)
                    self._seq, self._last = self._seq + len(events), events[-1]
                    self._stale = False
                    return
            else:
                self._marks.clear()
        self._check_identity(self.log)
        self._load()
        self._stale = False

    def _check_identity(self, log: Log) -> None:
        """Refuse a log that is not of the bandit that was opened."""
        if log.identity() != self._backend.identity:
            raise StorageError(
                "the store holds another bandit in its place now, or none: "
                "a file was put in place of the one that was opened. Open the bandit again."
            )

    def _load(self) -> None:
        """Make the engine from the snapshot and the events after it, or from the base or all events."""
        found, base = self.log.snapshot(), self.log.base()
        if found is not None and self._go_on(found, base):
            return
        if base is not None:
            self._go_on_from_base(base)
            return
        events = self.log.since(0)
        if not events:
            raise StorageError("the store is damaged: it holds no event of this bandit.")
        if self._backend.durable:
            LogCheck(self._settings).check(events, 1)
        engine = Engine.replay(self._settings, events)
        if found is not None and found[0] == len(events) and not any('"rng"' in e.data for e in events):
            generator = older_generator(found[1])
            if generator is not None:
                engine.wind_to(generator)
        self._use(engine, len(events), events[-1])

    def _go_on(self, snapshot: tuple[int, str], base: Base | None) -> bool:
        """Make the engine from a snapshot and the events after it; return whether it can be."""
        seq, text = snapshot
        state = unseal(seq, text)
        engine = None if state is None else Engine.from_json(self._settings, state)
        if engine is None or state is None:
            return False
        known = self.log.since(seq - 1)  # from the last event that it has seen
        if not known or any(map(needs_row, known[1:])):
            return False
        self._check(engine, known[1:]).check(known[1:], seq + 1)
        if self._settings.settles_after is not None:
            if base is not None and state["resolved"] < bases.first_step(base) - 1:
                return False
            self._wait(engine, state["resolved"], known[1:])
        engine.apply(known[1:])
        if engine.steps != self.log.steps():
            return False
        self._use(engine, seq - 1 + len(known), known[-1])
        return True

    def _go_on_from_base(self, base: Base) -> None:
        """Make the engine from a base and the events after it, or there is an error."""
        engine, seq = bases.read(self._settings, base), base[0]
        known = self.log.since(seq - 1)
        if not known or any(map(needs_row, known[1:])):
            raise StorageError("the store is damaged: the log does not go on from where it was pruned.")
        self._check(engine, known[1:]).check(known[1:], seq + 1)
        engine.apply(known[1:])
        self._use(engine, seq - 1 + len(known), known[-1])

    def _wait(self, engine: Engine, resolved: int, events: Sequence[Event]) -> None:
        """Let an engine wait for the rewards that had not come before some events."""
        later = {(event.kind, event.step) for event in events}
        for found in self.log.history(resolved, engine.steps - resolved):
            told = found.value is not None and (TELL, found.step) not in later
            defaulted = found.default is not None and (DEFAULT, found.step) not in later
            if not told and not defaulted:
                engine.waiting.add(found.step, found.arm, found.asked_at)

    def _check(self, engine: Engine, events: Sequence[Event] = ()) -> LogCheck:
        """Return what checks events after those that an engine has seen: rewards by the arms of decisions."""
        told = [event for event in events if event.kind in TOLD_OF]
        steps = [step for step in map(_step_of, told) if type(step) is int]
        arms = {step: found.arm for step, found in self.log.decisions(steps).items()}
        return LogCheck(self._settings, engine.names, engine.row_of.values(), engine.steps, arms)

    def _use(self, engine: Engine, seq: int, last: Event) -> None:
        if seq in self._marks:
            engine.rewind(self._marks[seq])
        self.engine, self._seq, self._last = engine, seq, last

    def moving(self) -> Engine:
        """Return the engine to be moved: if the operation then fails, the engine is made anew."""
        self._moved = True
        return self.engine

    def keep(self, events: Sequence[Event]) -> None:
        """Append events to the log, and now and then the state."""
        before = self._seq
        self._mark(before + len(events))
        self.log.append(events, before)
        self._seq, self._last = before + len(events), events[-1]
        if self._backend.durable:
            often = max(LEAST_EVENTS, self.engine.nbytes // BYTES)
            self._state_is_due |= before // often != self._seq // often

    def prepare_arm(self) -> Prepared:
        """Return an engine with a row for one more arm, made while others go on.

        Raises
        ------
        InvalidValueError
            The log was pruned.
        """
        with self.apart() as log:
            is_whole = log.base() is None
        if not is_whole:
            raise InvalidValueError(
                f"a new arm needs the whole log, for {self._settings.policy!r}, and this log was pruned: "
                "make a new bandit, and let it record the history of this one."
            )
        events = self.events()
        if self._backend.durable:
            LogCheck(self._settings).check(events, 1)
        return Prepared(Engine.replay(self._settings, events, free=1), len(events), events[-1])

    def keep_arm(self, event: Event, prepared: Prepared | None) -> bool:
        """Append a new arm to the log, if what is prepared can be brought up to date; else return False."""
        if prepared is None:
            if not self.engine.grows:
                return False
            self.moving().apply([event])
            self.keep([event])
            return True
        known = self.log.since(prepared.seq - 1)
        if known[:1] != [prepared.last] or any(map(needs_row, known[1:])):
            return False
        engine = prepared.engine
        engine.apply([*known[1:], event])
        engine.rewind(self.engine.mark())
        self.moving()
        self._mark(self._seq + 1)
        self.log.append([event], self._seq)
        self.engine, self._seq, self._last = engine, self._seq + 1, event
        self._state_is_due = self._backend.durable
        return True

    def history(self, after: int, limit: int | None) -> Iterator[tuple[list[str], Page]]:
        """Yield all arms' names and decisions, a page at a time, while others go on."""
        if self._backend.durable:
            with self._backend.reading() as log:
                self._check_identity(log)
                names = list(bases.names(log.base())[0])
                for number, event in log.arms():
                    if event.arm != len(names):
                        raise StorageError(f"line {number} of the log is damaged: it adds arm {event.arm}.")
                    names.append(name_of(event))
                for page in log.history_pages(after, limit):
                    yield names, page
            return
        while limit is None or limit > 0:
            with self.reading():  # itself, as in memory
                few = PAGE_SIZE if limit is None else min(limit, PAGE_SIZE)
                names, found = self.engine.names, list(self.log.history(after, few))
            if not found:
                return
            yield names, Page.of(found)
            after, limit = found[-1].step, None if limit is None else limit - len(found)

    def events(self) -> list[Event]:
        """Return the whole log, from its base, as of one moment, while others go on."""
        with self.apart() as log:
            return [event for page in log.pages() for event in page]

    @contextmanager
    def apart(self) -> Iterator[Log]:
        """Give the log as of one moment; others go on meanwhile, unless it is in memory."""
        if not self._backend.durable:
            with self.reading():
                yield self.log
            return
        with self._backend.reading() as log:
            self._check_identity(log)
            yield log

    def prune(self, before: float) -> int:
        """Drop decisions that were made before a time, while others go on; return how many."""
        with self.reading() as session:
            steps = session.engine.steps
            keep = {steps, session.engine.waiting.first() or steps}
        with self.apart() as log:
            base = log.base()
            found = bases.advance(self._settings, base, log.arms(), log.pages(), before, keep)
        if found is not None:
            with self.lock, self:
                first = found.first
                now = [logged[:4] for logged in self.log.history((first.step or 1) - 1, 1)]
                if self.log.base() != base or now != [(first.step, first.arm, first.at, first.data)]:
                    raise StorageError("the log is another one than a moment before; nothing was pruned.")
                self.log.rebase(*found.base)
                self._state_is_due = self._backend.durable
        with nullcontext() if self._backend.durable else self.lock:
            self._backend.drop()
        return 0 if found is None else found.decisions

    def _mark(self, seq: int) -> None:
        """Remember the generator's state after `seq` events, some of which may never be written."""
        if not self._backend.durable:
            self._marks[seq] = self.engine.mark()

    def _keep_state(self) -> None:
        """Keep the state, from which the next process starts; it only saves time, so it may fail."""
        self._state_is_due = False
        text = seal(self._seq, self.engine.to_json())
        with suppress(StorageError), self._backend.writing() as log:
            found = log.since(self._seq - 1)
            if found[:1] == [self._last] and not self._seq <= log.saved() < self._seq + len(found):
                log.save(self._seq, text)


class Prepared(NamedTuple):
    """An engine that has seen so many events, the last of which is known."""

    engine: Engine
    seq: int
    last: Event


def _step_of(event: Event) -> Any:
    """Return the step of the decision that an event is about, whatever is there."""
    if event.kind not in (PART, METRIC):
        return event.step
    try:
        return json.loads(event.data)["step"]
    except (TypeError, ValueError, LookupError, RecursionError):
        return None


def _after_fork() -> None:
    for session in list(_SESSIONS):
        session.after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_after_fork)
