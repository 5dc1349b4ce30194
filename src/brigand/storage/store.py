"""A store of bandits in one SQLite file."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Self

import sqlalchemy as sa
from sqlalchemy import bindparam

from brigand import checks
from brigand.errors import InvalidValueError, StorageError, UnknownNameError
from brigand.storage import schema
from brigand.storage.connections import READ, WRITE, Connections
from brigand.storage.events import Event, Record
from brigand.storage.location import Location, locate, prepare_file
from brigand.storage.records import Reading, Writing
from brigand.storage.schema import BANDITS
from brigand.storage.transaction import Transaction

SYNCHRONOUS = ("OFF", "NORMAL", "FULL", "EXTRA")

FIND = sa.select(BANDITS).where(BANDITS.c.name == bindparam("name"))
NAMES = sa.select(BANDITS.c.name).order_by(BANDITS.c.name)
CREATE = BANDITS.insert()


def open_store(url: str, *, create: bool, synchronous: str = "FULL", busy_timeout: float = 60.0) -> Store:
    """Open a store.

    Parameters
    ----------
    url : str
        ``sqlite:///relative/path.db`` or ``sqlite:////absolute/path.db``;
        ``sqlite:///file:path.db?mode=ro&uri=true`` to read only. Percent signs and question marks in the path
        are written ``%25`` and ``%3F``.
    create : bool
        Whether to create the file, or Brigand's tables in a file that has none, unless they are there.
    synchronous : str
        ``"FULL"``: a crash of the machine or a loss of power takes back nothing that a transaction has
        finished. ``"NORMAL"`` is quicker, and such a crash may take back the latest transactions; ``"OFF"``
        may lose the file. A crash of the process alone takes back nothing in any case.
    busy_timeout : float
        Seconds to wait for other processes before giving up.

    Returns
    -------
    Store
        Close it, or use it in a ``with`` statement.

    Raises
    ------
    InvalidValueError
        The URL is not of an SQLite file, or another value is not allowed.
    StorageError
        The file is not there or is no store, cannot be read or created, was written by a newer version
        of this package, or has been locked by others for too long.
    """
    location = locate(url)
    if synchronous not in SYNCHRONOUS:
        raise InvalidValueError(f"synchronous must be one of {SYNCHRONOUS}, not {synchronous!r}.")
    busy_timeout = checks.number("busy_timeout", busy_timeout, 0, 86400)
    prepare_file(location, create=create)
    connections = Connections(location, synchronous, busy_timeout)
    try:
        _prepare_tables(connections, location, create)
    except BaseException:
        connections.close()
        raise
    return Store(url, connections)


def _prepare_tables(connections: Connections, location: Location, create: bool) -> None:
    path = location.path
    with connections.transaction(READ) as transaction:
        version = transaction.call(lambda connection: schema.found(connection, path))
    if version is None and not (create and not location.read_only):
        raise StorageError(f"{str(path)!r} holds no bandits: Brigand's tables are not in it.")
    if location.read_only:
        if version != schema.VERSION:
            raise StorageError(
                f"{str(path)!r} has version {version} of Brigand's tables, and this Brigand reads version "
                f"{schema.VERSION}: open it once without mode=ro, which brings it up to date."
            )
        return
    if version == schema.VERSION and connections.lies_still():
        return
    connections.use_wal()
    if version != schema.VERSION:
        with connections.transaction(WRITE) as transaction:
            transaction.call(lambda connection: schema.bring_up_to_date(connection, path))


class Store:
    """Bandits in one file: `open_store` opens it.

    Threads may share a store; each transaction has a connection for itself, and belongs to the thread that
    began it. Processes may open the same file, all of them on one machine. A child that was forked may go on
    with the store of its parent, unless a transaction was open at that moment.

    Only one transaction writes at a time: a second one, even of the same thread, waits for the first.

    Attributes
    ----------
    url : str
        As given.
    """

    def __init__(self, url: str, connections: Connections) -> None:
        self.url = url
        self._connections = connections
        weakref.finalize(self, connections.close)  # for those who forget to

    def create(
        self, name: str, uid: str, definition: str, events: Sequence[Event], state: str | None, at: float
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
            Numbered from 1.
        state : str or None
            JSON; None for no snapshot.
        at : float
            Seconds since the epoch, UTC.

        Raises
        ------
        InvalidValueError
            The name is taken, or is no text that can be stored.
        StorageError
            The file cannot be written.
        """
        _check_name(name)
        with self._connections.transaction(WRITE) as transaction:
            if transaction.rows(FIND, {"name": name}):
                raise InvalidValueError(
                    f"a bandit named {name!r} is in {self.url!r} already: open it with Bandit.open, or "
                    "choose another name."
                )
            values = {"name": name, "uid": uid, "definition": definition, "created_at": at}
            transaction.run(CREATE, values)
            record = Record(*transaction.rows(FIND, {"name": name})[0])
            writing = Writing(transaction, record.id)
            writing.append(events, after=0)
            if state is not None:
                writing.save(len(events), state)
        return record

    def find(self, name: str) -> Record:
        """Return a bandit's record.

        Raises
        ------
        UnknownNameError
            No bandit here has that name.
        InvalidValueError
            The name is no text that could be stored.
        StorageError
            The file cannot be read.
        """
        _check_name(name)
        with self._connections.transaction(READ) as transaction:
            rows = transaction.rows(FIND, {"name": name})
            if not rows:
                raise UnknownNameError("bandit", name, _names(transaction))
            return Record(*rows[0])

    def names(self) -> list[str]:
        """Return the names of all bandits, sorted.

        Raises
        ------
        StorageError
            The file cannot be read.
        """
        with self._connections.transaction(READ) as transaction:
            return _names(transaction)

    @contextmanager
    def writing(self, bandit_id: int) -> Iterator[Writing]:
        """Run a transaction in which nobody else writes: it is kept on leaving, undone by any exception.

        Raises
        ------
        StorageError
            The file cannot be written, or others have kept it for too long.
        """
        with self._connections.transaction(WRITE) as transaction:
            yield Writing(transaction, bandit_id)

    @contextmanager
    def reading(self, bandit_id: int) -> Iterator[Reading]:
        """Read as of one moment, without waiting for writers nor making them wait.

        Raises
        ------
        StorageError
            The file cannot be read.
        """
        with self._connections.transaction(READ) as transaction:
            yield Reading(transaction, bandit_id)

    def close(self) -> None:
        """Close the store; transactions that are open may end. Closing it again does nothing."""
        self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _names(transaction: Transaction) -> list[str]:
    return [row[0] for row in transaction.rows(NAMES, {})]


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise InvalidValueError(f"the name of a bandit must be a text, not {name!r}.")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InvalidValueError(
            f"the name of a bandit cannot have lone surrogates, as {name!r} has."
        ) from None
