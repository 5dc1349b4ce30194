"""Connections to one SQLite file: opened when needed, kept for the next transaction, never shared.

Forks need care. SQLite's locks belong to a process, but it remembers them by file. So a child that has
inherited a connection, and opens another one to the same file, would count on locks that only its parent
holds. Therefore idle connections are closed before each fork, and a process that has inherited one in the
middle of a transaction gets an error instead of going on without locks.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress

from sqlalchemy import Connection, create_engine
from sqlalchemy.pool import NullPool

from brigand.errors import StorageError
from brigand.storage.failures import FAILURES, explain, patiently
from brigand.storage.location import Location, identity
from brigand.storage.transaction import Transaction

READ, WRITE = "BEGIN", "BEGIN IMMEDIATE"

_POOLS: weakref.WeakSet[Connections] = weakref.WeakSet()
_GUARD = threading.RLock()  # of _POOLS; a signal handler may fork while it is held: hence the R
_FORKING: list[Connections] = []
_INHERITED: list[Connections] = []


class Connections:
    """Connections to one file, for any number of threads; each transaction has one for itself.

    Parameters
    ----------
    location : Location
        The file; it is there.
    synchronous : str
        SQLite's setting of that name.
    busy_timeout : float
        Seconds to wait for others.

    Raises
    ------
    StorageError
        This process was forked in the middle of a transaction on the same file.
    """

    def __init__(self, location: Location, synchronous: str, busy_timeout: float) -> None:
        self.path = location.path
        self.busy_timeout = busy_timeout
        self.lock = threading.RLock()
        self._writers: deque[object] = deque()  # the first one writes, the others wait
        self._mode = "ro" if location.read_only else "rw"
        self._synchronous = synchronous
        self.identity = identity(self.path)
        self._process = os.getpid()
        self._closed = False
        self._idle: list[Connection] = []
        self._busy: set[Connection] = set()
        self._engine = create_engine("sqlite://", creator=self._connect, poolclass=NullPool)
        if self.identity in {pool.identity for pool in _INHERITED}:
            raise self._forked()
        with _GUARD:
            _POOLS.add(self)

    def _connect(self) -> sqlite3.Connection:
        # Never mode=rwc: a file that was deleted must not come back empty.
        mode = "ro&immutable=1" if self.lies_still() else self._mode
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode={mode}",
            uri=True,
            timeout=0,  # `patiently` waits
            isolation_level=None,  # transactions begin where we say so
            check_same_thread=False,
        )
        try:
            connection.execute(f"PRAGMA synchronous={self._synchronous}")
            # macOS, alone, leaves data in the drive's cache otherwise.
            connection.execute("PRAGMA fullfsync=ON")
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def transaction(self, begin: str) -> Iterator[Transaction]:
        """Run a transaction: committed on leaving, rolled back on any exception.

        Parameters
        ----------
        begin : str
            `READ`, or `WRITE`: one at a time, among all threads and processes.

        Raises
        ------
        StorageError
            The file cannot be read or written, is locked, was replaced, or the store was closed.
        """
        with self._alone() if begin == WRITE else nullcontext():
            connection = self._take()
            sound = False
            try:
                transaction = Transaction(connection, self.path, self.busy_timeout)
                try:
                    transaction.begin(begin)
                    yield transaction
                    transaction.commit()
                finally:
                    sound = transaction.end()
            finally:
                self._give(connection, sound)

    def use_wal(self) -> None:
        """Switch the file to a write-ahead log, so that readers and the writer do not wait for each other.

        Raises
        ------
        StorageError
            SQLite cannot, for instance on a network drive, or others keep the file.
        """
        connection = self._take()
        try:
            mode = patiently(lambda: _use_wal(connection), self.busy_timeout)
        except FAILURES as error:
            raise explain(error, self.path, self.busy_timeout) from error
        finally:
            self._give(connection, sound=False)
        if mode != "wal":
            raise StorageError(f"{str(self.path)!r} cannot have a write-ahead log where it is.")

    def lies_still(self) -> bool:
        """Return whether the file was closed, and may not be written: on a read-only mount, say.

        There SQLite can keep no log and no locks. But it can read the file as it is.
        """
        writable = all(os.access(place, os.W_OK) for place in (self.path, self.path.parent))
        return not (writable or os.path.exists(f"{self.path}-wal"))

    def close(self) -> None:
        """Close what is idle now, and the rest when its transaction is over."""
        with self.lock:
            self._closed = True
            self._close_idle()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        # A lock would stay locked if Ctrl-C came right after its `acquire`; a ticket is always found again.
        writers, ticket = self._writers, object()
        deadline = time.monotonic() + self.busy_timeout
        try:
            writers.append(ticket)
            while writers[0] is not ticket:
                if time.monotonic() >= deadline:
                    raise StorageError(
                        f"{str(self.path)!r} is locked: other threads have kept it for "
                        f"{self.busy_timeout:g} seconds."
                    )
                time.sleep(0.0005)
            yield
        finally:
            if ticket in writers:
                writers.remove(ticket)

    def _take(self) -> Connection:
        try:
            return patiently(self._lend, self.busy_timeout)
        except FAILURES as error:
            raise explain(error, self.path, self.busy_timeout) from error

    def _lend(self) -> Connection:
        with self.lock:
            if self._closed:
                raise StorageError(f"the store of {str(self.path)!r} was closed.")
            if self._process != os.getpid():
                raise self._forked()
            if identity(self.path) != self.identity:
                raise StorageError(f"{str(self.path)!r} was replaced by another file; open it again.")
            connection = self._idle.pop() if self._idle else self._engine.connect()
            self._busy.add(connection)
            return connection

    def _give(self, connection: Connection, sound: bool) -> None:
        if self._process != os.getpid():  # it is our parent's: not even to be closed
            return
        with self.lock:
            self._busy.discard(connection)
            # A connection to what lies still would not notice that it moves again.
            if sound and not self._closed and not self.lies_still():
                self._idle.append(connection)
                return
        with suppress(*FAILURES):
            connection.close()

    def _close_idle(self) -> None:
        while self._idle:
            with suppress(*FAILURES):
                self._idle.pop().close()

    def _forked(self) -> StorageError:
        return StorageError(
            f"{str(self.path)!r} was in use when this process was forked, and SQLite's locks do not pass to "
            "a child: fork while no transaction is open, or start processes by 'spawn'."
        )

    @property
    def connected(self) -> bool:
        """Whether there is a connection, in use or not."""
        return bool(self._idle or self._busy)

    def before_fork(self) -> None:
        """Close idle connections, and let no thread open one until the fork is over."""
        self.lock.acquire()
        self._close_idle()

    def after_fork(self) -> None:
        """Go on in a child, if it has inherited no connection to the file."""
        self._writers = deque()  # threads that wrote are not in the child
        if self.identity not in {pool.identity for pool in _INHERITED}:
            self._process = os.getpid()


def _use_wal(connection: Connection) -> str:
    mode = str(connection.exec_driver_sql("PRAGMA journal_mode").scalar_one())
    if mode != "wal":
        mode = str(connection.exec_driver_sql("PRAGMA journal_mode=WAL").scalar_one())
    return mode


def _before_fork() -> None:
    _GUARD.acquire()
    _FORKING.extend(_POOLS)
    for pool in _FORKING:
        pool.before_fork()


def _after_fork() -> None:
    while _FORKING:
        _FORKING.pop().lock.release()
    with suppress(RuntimeError):  # programs that embed Python may fork without asking `_before_fork`
        _GUARD.release()


def _after_fork_in_child() -> None:
    # They are kept, because closing their connections would meddle with the parent's transactions.
    _INHERITED.extend(pool for pool in _POOLS if pool.connected)
    for pool in list(_POOLS):
        pool.after_fork()
    _after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
