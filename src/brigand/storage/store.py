"""A store of bandits: one SQLite file, or the tables in one PostgreSQL database."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy import URL, bindparam

from brigand import checks
from brigand.errors import InvalidValueError, NameTakenError, StorageError, UnknownNameError
from brigand.storage import schema
from brigand.storage.connections import Connections, borrow, give_back
from brigand.storage.events import ADD, END, PAUSE, REMOVE, RESUME, Event, Overview, Record
from brigand.storage.location import File, identity, locate, prepare_file
from brigand.storage.postgres import ServerConnections
from brigand.storage.records import CHUNK, Reading, Writing
from brigand.storage.schema import BANDITS, BASES, EVENTS, KEYS, KINDS, SNAPSHOTS
from brigand.storage.sqlite import FileConnections
from brigand.storage.transaction import Transaction

BUSY_TIMEOUT = 60.0
"""Seconds that a call waits for others, by default."""
SYNCHRONOUS = ("OFF", "NORMAL", "FULL", "EXTRA")

FIND = sa.select(BANDITS).where(BANDITS.c.name == bindparam("name"))
NAMES = sa.select(BANDITS.c.name).order_by(BANDITS.c.name)
_steps = sa.select(sa.func.max(EVENTS.c.step)).where(EVENTS.c.bandit_id == BANDITS.c.id).scalar_subquery()
_OVERVIEW = sa.select(BANDITS, _steps, BASES.c.seq, BASES.c.state).outerjoin(
    BASES, BASES.c.bandit_id == BANDITS.c.id
)
OVERVIEW = _OVERVIEW.order_by(BANDITS.c.name)
_name = BANDITS.c.name
ORDERS: dict[str, tuple[sa.ColumnElement[Any], ...]] = {
    "name": (_name.asc(),),
    "-name": (_name.desc(),),
    "created": (BANDITS.c.created_at.asc(), _name.asc()),
    "-created": (BANDITS.c.created_at.desc(), _name.asc()),
    "decisions": (sa.func.coalesce(_steps, 0).asc(), _name.asc()),
    "-decisions": (sa.func.coalesce(_steps, 0).desc(), _name.asc()),
}
"""Ways to sort bandits: by name, by age, by the number of decisions; with a minus from the other end."""
OF_STATUS = (ADD, REMOVE, PAUSE, RESUME, END)
# One query for each kind: else SQLite does not use the index, and reads all lines of each bandit.
CHANGES = sa.union_all(
    *(
        sa.select(EVENTS.c.bandit_id, EVENTS.c.seq, EVENTS.c.kind, EVENTS.c.arm, EVENTS.c.data).where(
            EVENTS.c.bandit_id.in_(bindparam("bandits", expanding=True))
            & EVENTS.c.step.is_(None)
            & (EVENTS.c.kind == KINDS[kind])
        )
        for kind in OF_STATUS
    )
).order_by("bandit_id", "seq")
FEW = CHUNK // len(OF_STATUS)
"""Bandits whose changes one query tells."""
CREATE = BANDITS.insert()
DELETE = [
    table.delete().where(column == bindparam("bandit"))
    for table, column in (
        (EVENTS, EVENTS.c.bandit_id),
        (SNAPSHOTS, SNAPSHOTS.c.bandit_id),
        (BASES, BASES.c.bandit_id),
        (KEYS, KEYS.c.bandit_id),
        (BANDITS, BANDITS.c.id),
    )
]


def open_store(
    url: str, *, create: bool, synchronous: str = "FULL", busy_timeout: float = BUSY_TIMEOUT
) -> Store:
    """Open a store.

    Parameters
    ----------
    url : str
        ``sqlite:///relative/path.db`` or ``sqlite:////absolute/path.db``;
        ``sqlite:///file:path.db?mode=ro&uri=true`` to read only. Percent signs and question marks in the path
        are written ``%25`` and ``%3F``. Or ``postgresql+psycopg://user:password@host/database``, with options
        of libpq.
    create : bool
        Whether to create the file, or Brigand's tables in a database that has none, unless they are there.
    synchronous : str
        ``"FULL"``: a crash of the machine or a loss of power takes back nothing that a transaction has
        finished. ``"NORMAL"`` is quicker, and such a crash may take back the latest transactions; ``"OFF"``
        may lose the file. A crash of the process alone takes back nothing in any case. PostgreSQL knows the
        first two, by its ``synchronous_commit``.
    busy_timeout : float
        Seconds to wait for other processes before giving up.

    Returns
    -------
    Store
        Close it, or use it in a ``with`` statement.

    Raises
    ------
    InvalidValueError
        The URL is neither of an SQLite file nor of a PostgreSQL database, or another value is not allowed.
    MissingPackageError
        PostgreSQL needs psycopg.
    StorageError
        It is not there or is no store, cannot be read or created, was written by a newer version of this
        package, or has been locked by others for too long.
    """
    location = locate(url)
    if synchronous not in SYNCHRONOUS:
        raise InvalidValueError(f"synchronous must be one of {SYNCHRONOUS}, not {synchronous!r}.")
    busy_timeout = checks.number("busy_timeout", busy_timeout, 0, 86400)
    make: Callable[[], Connections]
    if isinstance(location, File):
        prepare_file(location, create=create)
        place: Hashable = (location, identity(location.path))
        make = partial(FileConnections, location, synchronous, busy_timeout)
    else:
        place = location
        make = partial(ServerConnections, location, synchronous, busy_timeout)
    key = (place, synchronous, busy_timeout)
    store = Store(url, key, borrow(key, make))
    try:
        _prepare_tables(store.connections, location, create)
    except BaseException:
        store.close()
        raise
    return store


def _prepare_tables(connections: Connections, location: File | URL, create: bool) -> None:
    if connections.prepared:
        return
    shown = connections.shown
    read_only = isinstance(location, File) and location.read_only
    with connections.reading() as transaction:
        version = transaction.call(lambda connection: schema.found(connection, shown))
    if version is None and not (create and not read_only):
        raise StorageError(f"{shown!r} holds no bandits: Brigand's tables are not in it.")
    if read_only:
        if version != schema.VERSION:
            raise StorageError(
                f"{shown!r} has version {version} of Brigand's tables, and this Brigand reads version "
                f"{schema.VERSION}: open it once without mode=ro, which brings it up to date."
            )
        return
    if isinstance(connections, FileConnections):
        if version is None:
            with connections.reading() as transaction:
                theirs = transaction.call(schema.others)
            if theirs:
                raise StorageError(
                    f"{shown!r} holds tables of another application, such as {theirs[0]!r}; nothing was "
                    "changed. Give bandits a file of their own."
                )
        if version == schema.VERSION and connections.lies_still():
            return
        connections.use_wal()
    if version != schema.VERSION:
        with connections.writing() as transaction:
            transaction.call(lambda connection: schema.bring_up_to_date(connection, shown))
    connections.prepared = True


class Store:
    """Bandits in one place: `open_store` opens it.

    Threads may share a store; each transaction has a connection for itself, and belongs to the thread that
    began it. All that a process opens of one place shares the connections. Processes may open the same place,
    a file only from one machine. A child that was forked may go on with the store of its parent, unless a
    transaction was open at that moment.

    Only one transaction writes at a time, in PostgreSQL of each bandit: a second one, even of the same
    thread, waits for the first.

    Attributes
    ----------
    url : str
        As given.
    """

    def __init__(self, url: str, key: Hashable, connections: Connections) -> None:
        self.url = url
        self._connections = connections
        self._close = weakref.finalize(self, give_back, key, connections)  # also for those who forget to

    @property
    def connections(self) -> Connections:
        """The store's connections.

        Raises
        ------
        StorageError
            The store was closed.
        """
        if not self._close.alive:
            raise StorageError(f"the store of {self._connections.shown!r} was closed.")
        return self._connections

    def create(
        self,
        name: str,
        uid: str,
        definition: str,
        events: Sequence[Event],
        state: str | None,
        at: float,
        base: tuple[int, str] | None = None,
    ) -> Record:
        """Add a bandit, with its first events and its state after them, all or nothing.

        Parameters
        ----------
        name : str
            Must be free.
        uid : str
            Its identity anywhere.
        definition : str
            JSON.
        events : sequence of Event
            Numbered from 1, or from that of `base`.
        state : str or None
            JSON; None for no snapshot.
        at : float
            Seconds since the epoch, UTC.
        base : tuple, optional
            What stands for the beginning of its log: see `Reading.base`.

        Raises
        ------
        NameTakenError
            A bandit here has that name.
        InvalidValueError
            It is no text that can be stored.
        StorageError
            The store cannot be written.
        """
        with self.creating(name, uid, definition, at) as writing:
            before = 0
            if base is not None:
                writing.rebase(*base)
                before = base[0] - 1
            writing.append(events, before)
            if state is not None:
                writing.save(before + len(events), state)
        return Record(writing.bandit_id, name, uid, definition, at)

    @contextmanager
    def creating(self, name: str, uid: str, definition: str, at: float) -> Iterator[Writing]:
        """Run a transaction in which a bandit is made, which has no events yet; see `create`."""
        _check_name(name)
        with self.connections.writing() as transaction:
            if transaction.rows(FIND, {"name": name}):
                raise NameTakenError(
                    f"a bandit named {name!r} is in {self.connections.shown!r} already: open it with "
                    "Bandit.open, or choose another name."
                )
            transaction.run(CREATE, {"name": name, "uid": uid, "definition": definition, "created_at": at})
            yield Writing(transaction, transaction.rows(FIND, {"name": name})[0][0])

    def delete(self, name: str) -> None:
        """Delete a bandit, its log and its state.

        Raises
        ------
        UnknownNameError
            No bandit here has that name.
        StorageError
            The store cannot be written.
        """
        record = self.find(name)
        with self.connections.writing(record.id) as transaction:
            for statement in DELETE:
                transaction.run(statement, {"bandit": record.id})

    def backup(self, path: Path) -> None:
        """Write all to a new SQLite file, as it is at one moment.

        Raises
        ------
        InvalidValueError
            The store is not in SQLite.
        StorageError
            It cannot be read, or the file cannot be written.
        """
        connections = self.connections
        if not isinstance(connections, FileConnections):
            raise InvalidValueError(f"{connections.shown!r} is not in SQLite: use pg_dump, from PostgreSQL.")
        connections.backup(path)

    def find(self, name: str) -> Record:
        """Return a bandit's record.

        Raises
        ------
        UnknownNameError
            No bandit here has that name.
        InvalidValueError
            The name is no text that could be stored.
        StorageError
            The store cannot be read.
        """
        record = self.get(name)
        if record is None:
            raise UnknownNameError("bandit", name, self.names())
        return record

    def get(self, name: str) -> Record | None:
        """Return a bandit's record, or None if no bandit here has that name; errors as of `find`."""
        _check_name(name)
        with self.connections.reading() as transaction:
            rows = transaction.rows(FIND, {"name": name})
        return Record(*rows[0]) if rows else None

    def names(self, after: str | None = None, limit: int | None = None) -> list[str]:
        """Return the names of bandits, sorted: of all, or those after a name, `limit` at most.

        Raises
        ------
        StorageError
            The store cannot be read.
        """
        with self.connections.reading() as transaction:
            return _names(transaction, after, limit)

    def overview(self, after: str | None = None, limit: int | None = None) -> list[Overview]:
        """Return bandits by name: those after a name, `limit` at most.

        Raises
        ------
        StorageError
            The store cannot be read.
        """
        wanted = OVERVIEW if after is None else OVERVIEW.where(BANDITS.c.name > bindparam("after"))
        with self.connections.reading() as transaction:
            return _overviews(transaction, wanted.limit(limit), {} if after is None else {"after": after})

    def search(self, text: str, order: str, offset: int, limit: int) -> tuple[list[Overview], int]:
        """Return some of the bandits whose names hold a text, in one of the `ORDERS`; and how many there are.

        Upper and lower case are the same, those of other letters than A to Z maybe not.

        Raises
        ------
        StorageError
            The store cannot be read.
        """
        holds = _name.icontains(text, autoescape=True) if text else sa.true()
        wanted = _OVERVIEW.where(holds).order_by(*ORDERS[order]).offset(offset).limit(limit)
        with self.connections.reading() as transaction:
            count = sa.select(sa.func.count()).select_from(BANDITS).where(holds)
            return _overviews(transaction, wanted, {}), int(transaction.rows(count, {})[0][0])

    def largest(self, prefix: str, limit: int) -> tuple[list[str], int]:
        """Return the names that begin with a text, of the most decisions; and how many there are in all.

        Raises
        ------
        StorageError
            The store cannot be read.
        """
        beyond = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        begins = (_name >= prefix) & (_name < beyond)
        wanted = sa.select(_name).where(begins).order_by(*ORDERS["-decisions"]).limit(limit)
        count = sa.select(sa.func.count()).select_from(BANDITS).where(begins)
        with self.connections.reading() as transaction:
            found = [row[0] for row in transaction.rows(wanted, {})]
            return found, int(transaction.rows(count, {})[0][0])

    @contextmanager
    def writing(self, bandit_id: int) -> Iterator[Writing]:
        """Run a transaction in which nobody else writes the bandit: kept on leaving, undone by any exception.

        Raises
        ------
        StorageError
            The store cannot be written, or others have kept it for too long.
        """
        with self.connections.writing(bandit_id) as transaction:
            yield Writing(transaction, bandit_id)

    @contextmanager
    def reading(self, bandit_id: int) -> Iterator[Reading]:
        """Read as of one moment, without waiting for writers nor making them wait.

        Raises
        ------
        StorageError
            The store cannot be read.
        """
        with self.connections.reading() as transaction:
            yield Reading(transaction, bandit_id)

    def close(self) -> None:
        """Close the store; transactions that are open may end. Closing it again does nothing."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _overviews(
    transaction: Transaction, wanted: sa.Select[Any], parameters: dict[str, Any]
) -> list[Overview]:
    found = {
        id_: Overview(Record(id_, *record), steps or 0, None if seq is None else (seq, state), [])
        for id_, *record, steps, seq, state in transaction.rows(wanted, parameters)
    }
    ids = list(found)
    for start in range(0, len(ids), FEW):
        changes = transaction.rows(CHANGES, {"bandits": ids[start : start + FEW]})
        for id_, seq, *change in changes:
            base = found[id_].base
            if base is None or (type(base[0]) is int and seq > base[0]):
                found[id_].changes.append(tuple(change))
    return list(found.values())


def _names(transaction: Transaction, after: str | None = None, limit: int | None = None) -> list[str]:
    wanted = NAMES if after is None else NAMES.where(BANDITS.c.name > bindparam("after"))
    rows = transaction.rows(wanted.limit(limit), {} if after is None else {"after": after})
    return [row[0] if isinstance(row[0], str) else repr(row[0]) for row in rows]  # no text: it is damaged


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise InvalidValueError(f"the name of a bandit must be a text, not {name!r}.")
    with suppress(UnicodeEncodeError):
        if b"\0" not in name.encode():
            return
    raise InvalidValueError(f"the name of a bandit cannot have lone surrogates or U+0000, as {name!r} has.")
