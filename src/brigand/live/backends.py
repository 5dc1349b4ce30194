"""Where a bandit's log is kept: in memory, or in a store that other processes use as well."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from brigand.errors import InvalidValueError, NameTakenError, StorageError
from brigand.live.bases import Base
from brigand.live.damage import seal
from brigand.live.engine import Engine
from brigand.live.identity import Identity
from brigand.live.memory import MemoryLog
from brigand.live.settings import Settings
from brigand.policies.base import Policy
from brigand.spec import importing_only, modules_of, names_in
from brigand.storage.events import Event, Found, Logged, Record, Tally
from brigand.storage.place import Place, store_url
from brigand.storage.store import BUSY_TIMEOUT, Store, open_store


class Reading(Protocol):
    """A bandit's log as of one moment: `storage.records.Reading`, or a `MemoryLog`."""

    def since(self, seq: int) -> list[Event]: ...  # noqa: D102
    def now(self) -> float: ...  # noqa: D102
    def identity(self) -> tuple[str, str] | None: ...  # noqa: D102
    def pages(self) -> Iterator[list[Event]]: ...  # noqa: D102
    def base(self) -> tuple[int, str] | None: ...  # noqa: D102
    def arms(self) -> list[tuple[int, Event]]: ...  # noqa: D102
    def steps(self) -> int: ...  # noqa: D102
    def decisions(self, steps: Sequence[int]) -> dict[int, Found]: ...  # noqa: D102
    def history(self, after_step: int = 0, limit: int | None = None) -> Iterator[Logged]: ...  # noqa: D102
    def found(self, key: str) -> Event | None: ...  # noqa: D102
    def of_kinds(self, *kinds: str) -> Iterator[tuple[int, Event]]: ...  # noqa: D102
    def last(self) -> int: ...  # noqa: D102
    def tally(self, after: int, until: int, width: int) -> list[Tally]: ...  # noqa: D102
    def tally_steps(self, after: int, width: int) -> list[Tally]: ...  # noqa: D102
    def rewards(self, after: int, until: int) -> list[tuple[Any, ...]]: ...  # noqa: D102
    def asked_at(self, step: int) -> float | None: ...  # noqa: D102
    def step_before(self, seq: int) -> int: ...  # noqa: D102
    def steps_of(self, row: int, after: int, limit: int) -> list[int]: ...  # noqa: D102
    def snapshot(self) -> tuple[int, str] | None: ...  # noqa: D102


class Log(Reading, Protocol):
    """A bandit's log inside a transaction: `storage.records.Writing`, or a `MemoryLog`."""

    def append(self, events: Sequence[Event], after: int) -> None: ...  # noqa: D102
    def save(self, seq: int, state: str) -> None: ...  # noqa: D102
    def rebase(self, seq: int, state: str) -> None: ...  # noqa: D102


class Backend(Protocol):
    """Where a bandit's log is kept.

    Attributes
    ----------
    durable : bool
        Whether it outlives the process: then events also hold reasons, and the state of the generator.
    identity : tuple or None
        What `Log.identity` must return; another bandit is there if it does not.
    """

    durable: bool
    identity: tuple[str, str] | None

    def writing(self) -> AbstractContextManager[Any]: ...  # noqa: D102
    def reading(self) -> AbstractContextManager[Any]: ...  # noqa: D102
    def drop(self) -> None: ...  # noqa: D102
    def close(self) -> None: ...  # noqa: D102


class InMemory:
    """Keeps the log of a bandit that lives as long as its process.

    Parameters
    ----------
    log : MemoryLog
    """

    durable = False
    identity: tuple[str, str] | None = None

    def __init__(self, log: MemoryLog) -> None:
        self._log = log

    def writing(self) -> MemoryLog:
        """Return the log."""
        return self._log

    reading = writing

    def drop(self) -> None:
        """Drop what comes before the beginning of the log."""
        self._log = self._log.pruned()

    def close(self) -> None:
        """Do nothing."""


class InStore:
    """Keeps the log of a bandit in a store.

    Parameters
    ----------
    store : Store
    record : Record
        Of the bandit there.
    """

    durable = True

    def __init__(self, store: Store, record: Record) -> None:
        self._store = store
        self._number = record.id
        self.identity: tuple[str, str] | None = record.uid, record.definition

    def writing(self) -> AbstractContextManager[Any]:
        """Return a transaction that writes."""
        return self._store.writing(self._number)

    def reading(self) -> AbstractContextManager[Any]:
        """Return a transaction that reads."""
        return self._store.reading(self._number)

    def drop(self) -> None:
        """Drop what comes before the beginning of the log, a page at a time: others go on meanwhile."""
        more = True
        while more:
            with self.writing() as log:
                more = log.drop()

    def close(self) -> None:
        """Close the store."""
        self._store.close()


class Opened(NamedTuple):
    """A bandit that was there."""

    backend: Backend
    settings: Settings
    ids: Identity


def create(
    store: Place | None,
    name: str | None,
    ids: Identity,
    settings: Settings,
    events: Sequence[Event],
    now: float,
    busy_timeout: float = BUSY_TIMEOUT,
    state: dict[str, Any] | None = None,
    base: Base | None = None,
) -> Opened:
    """Make a bandit with its first events, and the state after them unless it is to be replayed.

    With a base, they are the events from the last that it has seen.

    Raises
    ------
    InvalidValueError
        The store has a bandit of this name, or the policy needs a horizon, or no other process can make it.
    StorageError
        The store cannot be written.
    """
    if store is None:
        log = MemoryLog(events, base)
        log.save(*_sealed(settings, events, state, base))
        return Opened(InMemory(log), settings, ids)
    if name is None:
        raise InvalidValueError("a bandit in a store needs a name.")
    require_importable(settings)
    opened = open_store(store_url(store), create=True, busy_timeout=busy_timeout)
    try:
        return _create(opened, name, ids, settings, events, now, state, base)
    except BaseException:
        opened.close()
        raise


def _create(
    opened: Store,
    name: str,
    ids: Identity,
    settings: Settings,
    events: Sequence[Event],
    now: float,
    state: dict[str, Any] | None = None,
    base: Base | None = None,
) -> Opened:
    definition = json.dumps(settings.to_json())
    _, sealed = _sealed(settings, events, state, base)
    record = opened.create(name, ids.text, definition, events, sealed, now, base)
    return Opened(InStore(opened, record), settings, ids)


def _sealed(
    settings: Settings, events: Sequence[Event], state: dict[str, Any] | None, base: Base | None
) -> tuple[int, str]:
    """Return the number of the last event, and the state after it as it is kept."""
    if state is None:
        state = Engine.replay(settings, events).to_json()
    last = len(events) if base is None else base[0] - 1 + len(events)
    return last, seal(last, state)


def require_importable(settings: Settings) -> None:
    """Refuse a policy that no other process could make from its JSON form."""
    data = settings.policy.to_json()
    for name in names_in(data):
        module, _, qualname = name.partition(":")
        if module == "__main__" or "<" in qualname:
            what = "in a script or a notebook" if module == "__main__" else "inside a function"
            raise InvalidValueError(
                f"{qualname.rpartition('.')[2]} is defined {what}, where no other process finds it: put it "
                "at the top of a module of its own (a file my_policy.py, say) and import it from there, or "
                "keep the bandit in memory, without a store or a snapshot."
            )
    Policy.from_json(data)  # or an error that says what is wrong with it


def create_or_find(
    store: Place | None,
    name: str | None,
    ids: Identity,
    settings: Settings,
    events: Sequence[Event],
    now: float,
    busy_timeout: float = BUSY_TIMEOUT,
) -> Opened:
    """Find the bandit of this name, or make it, whoever is first.

    Raises
    ------
    InvalidValueError
        As `create`; or the bandit that is there has another policy, horizon or timeout.
    StorageError
        The store cannot be written.
    """
    if store is None or name is None:
        return create(store, name, ids, settings, events, now, busy_timeout)
    allow = modules_of(settings.policy.to_json())
    opened = open_store(store_url(store), create=True, busy_timeout=busy_timeout)
    try:
        if opened.get(name) is None:
            require_importable(settings)
            with suppress(NameTakenError):  # by another process, just now
                return _create(opened, name, ids, settings, events, now)
        found = _opened(opened, opened.find(name), allow)
    except BaseException:
        opened.close()
        raise
    if replace(found.settings, seed=0) != replace(settings, seed=0):
        found.backend.close()
        raise InvalidValueError(f"the bandit {name!r} is there, but it is another one: {found.settings!r}.")
    return found


def find(store: Place, name: str, allow: Iterable[str] = (), busy_timeout: float = BUSY_TIMEOUT) -> Opened:
    """Find a bandit in a store, whose policy may need the modules in `allow`.

    Raises
    ------
    UnknownNameError
        There is none of this name.
    StorageError
        The store cannot be read.
    """
    opened = open_store(store_url(store), create=False, busy_timeout=busy_timeout)
    try:
        return _opened(opened, opened.find(name), allow)
    except BaseException:
        opened.close()
        raise


def _opened(opened: Store, record: Record, allow: Iterable[str]) -> Opened:
    with importing_only(allow):
        settings = Settings.from_json(_definition(record.name, record.definition))
    return Opened(InStore(opened, record), settings, identity_of(record.name, record.uid))


def identity_of(name: str, text: str) -> Identity:
    """Return a bandit's identity.

    Raises
    ------
    StorageError
        It is damaged.
    """
    try:
        return Identity(text)
    except ValueError as error:
        raise StorageError(f"the identity of bandit {name!r} is damaged in the store: {error}.") from error


def _definition(name: str, text: object) -> dict[str, Any]:
    """Return a bandit's settings as JSON.

    Raises
    ------
    StorageError
        They are damaged.
    """
    try:
        data = json.loads(text)  # type: ignore[arg-type]
        if isinstance(data, dict):
            return data
    except (TypeError, ValueError, RecursionError):
        pass
    raise StorageError(f"the settings of bandit {name!r} are damaged in the store.")
