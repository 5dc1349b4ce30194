"""Connections to one SQLite file: opened when needed, kept for the next transaction, never shared.

Forks need care. SQLite's locks belong to a process, but it remembers them by file. So a child that has
inherited a connection, and opens another one to the same file, would count on locks that only its parent
holds. Therefore idle connections are closed before each fork, and a process that has inherited one in the
middle of a transaction gets an error instead of going on without locks.
"""

from __future__ import annotations

import functools
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, Table, create_engine
from sqlalchemy.dialects.sqlite import dialect
from sqlalchemy.pool import NullPool

from brigand.errors import BrigandError, StorageError
from brigand.storage.connections import Connections
from brigand.storage.location import File, identity
from brigand.storage.sqlite_failures import explain, patiently
from brigand.storage.transaction import FAILURES, Rows, Transaction

T = TypeVar("T")

READ, WRITE = "BEGIN", "BEGIN IMMEDIATE"
JOURNAL_LIMIT = 4 * 2**20
"""Bytes that the write-ahead log keeps when it begins anew, after much was written at once."""
QUIET = 5.0
"""Seconds that a fork waits for transactions of other threads to end."""

_INHERITED: list[FileConnections] = []


class FileConnections(Connections):
    """Connections to one file, for any number of threads.

    Parameters
    ----------
    file : File
        It is there.
    synchronous : str
        SQLite's setting of that name.
    busy_timeout : float
        Seconds to wait for others.

    Raises
    ------
    StorageError
        This process was forked in the middle of a transaction on the same file.
    """

    def __init__(self, file: File, synchronous: str, busy_timeout: float) -> None:
        self.path = file.path
        self.shown = file.shown
        self.busy_timeout = busy_timeout
        self.lock = threading.RLock()
        self._writers: deque[object] = deque()  # the first one writes, the others wait
        self._mode = "ro" if file.read_only else "rw"
        self._synchronous = synchronous
        self.identity = identity(self.path)
        self._process = os.getpid()
        self._closed = False
        self._idle: list[Connection] = []
        self._busy: dict[Connection, int] = {}  # and the threads that have them
        self._ended = threading.Condition(self.lock)  # notified when one is given back
        self._forks = 0
        self._engine = create_engine("sqlite://", creator=self._connect, poolclass=NullPool)
        if self.identity in {pool.identity for pool in _INHERITED}:
            raise self._forked()
        super().__init__()

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
            connection.execute(f"PRAGMA journal_size_limit={JOURNAL_LIMIT}")
            # macOS, alone, leaves data in the drive's cache otherwise.
            connection.execute("PRAGMA fullfsync=ON")
        except BaseException:
            connection.close()
            raise
        return connection

    def reading(self) -> AbstractContextManager[Transaction]:
        """See `Connections.reading`."""
        return self._transaction(READ)

    def writing(self, bandit_id: int | None = None) -> AbstractContextManager[Transaction]:
        """See `Connections.writing`; only one at a time, among all threads and processes."""
        return self._transaction(WRITE)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Transaction]:
        with self._alone() if begin == WRITE else nullcontext():
            connection = self._take()
            sound = False
            try:
                transaction = Transaction(connection, self)
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
            mode = self.attempt(lambda: _use_wal(connection))
        except FAILURES as error:
            raise self.explain(error) from error
        finally:
            self._give(connection, sound=False)
        if mode != "wal":
            raise StorageError(f"{self.shown!r} cannot have a write-ahead log where it is.")

    def backup(self, path: Path) -> None:
        """Write the file as it is at one moment to another, which is there only once it is whole.

        Raises
        ------
        StorageError
            This one cannot be read, or that one cannot be written.
        """
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            with closing(sqlite3.connect(part)) as target, self.reading() as transaction:
                transaction.call(lambda connection: _driver(connection).backup(target))
                target.execute("PRAGMA journal_mode=DELETE")  # one file, also if it may not be written later
            if os.path.lexists(path):
                raise StorageError(f"{str(path)!r} is there already.")
            part.rename(path)
        except OSError as error:
            if isinstance(error, StorageError):
                raise
            raise StorageError(f"{str(path)!r} cannot be written: {error.strerror or error}.") from error
        except sqlite3.Error as error:
            raise explain(error, path, self.busy_timeout) from error
        finally:
            part.unlink(missing_ok=True)

    def lies_still(self) -> bool:
        """Return whether the file was closed, and may not be written: on a read-only mount, say.

        There SQLite can keep no log and no locks. But it can read the file as it is.
        """
        writable = all(os.access(place, os.W_OK) for place in (self.path, self.path.parent))
        return not (writable or os.path.exists(f"{self.path}-wal"))

    def attempt(self, action: Callable[[], T]) -> T:
        """Return what a statement returns; it is repeated while others keep the file."""
        return patiently(action, self.busy_timeout)

    def insert(self, connection: Connection, table: Table, rows: Rows) -> None:
        """See `Connections.insert`: without SQLAlchemy's look at each row."""
        connection.exec_driver_sql(_insertion(table), list(rows))

    def explain(self, error: Exception) -> BrigandError:
        """Return the error that says what went wrong."""
        return explain(error, self.path, self.busy_timeout)

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
                        f"{self.shown!r} is locked: other threads have kept it for "
                        f"{self.busy_timeout:g} seconds."
                    )
                time.sleep(0.0005)
            yield
        finally:
            if ticket in writers:
                writers.remove(ticket)

    def _take(self) -> Connection:
        try:
            return self.attempt(self._lend)
        except FAILURES as error:
            raise self.explain(error) from error

    def _lend(self) -> Connection:
        with self._ended:
            while self._forks and threading.get_ident() not in self._busy.values():
                self._ended.wait(QUIET)
            if self._process != os.getpid():
                raise self._forked()
            if identity(self.path) != self.identity:
                raise StorageError(f"{self.shown!r} was replaced by another file; open it again.")
            connection = self._idle.pop() if self._idle else self._engine.connect()
            self._busy[connection] = threading.get_ident()
            return connection

    def _give(self, connection: Connection, sound: bool) -> None:
        if self._process != os.getpid():  # it is our parent's: not even to be closed
            return
        with self.lock:
            self._busy.pop(connection, None)
            self._ended.notify_all()
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
            f"{self.shown!r} was in use when this process was forked, and SQLite's locks do not pass to "
            "a child: fork while no transaction is open, or start processes by 'spawn'."
        )

    def be_quiet(self) -> None:
        """Wait for the transactions of other threads, for some seconds, and let none begin."""
        deadline = time.monotonic() + QUIET
        with self._ended:
            self._forks += 1
            while not {threading.get_ident()}.issuperset(self._busy.values()):
                if not self._ended.wait(deadline - time.monotonic()):
                    break

    def go_on(self) -> None:
        """Let transactions begin again."""
        with self._ended:
            self._forks -= 1
            self._ended.notify_all()

    def before_fork(self) -> None:
        """Close idle connections, and let no thread open one until the fork is over."""
        self.lock.acquire()
        self._close_idle()

    def after_fork(self) -> None:
        """Let threads go on."""
        self.lock.release()

    def inherit(self) -> None:
        """Go on in a child, if it has inherited no connection to the file."""
        self._writers = deque()  # threads that wrote, or waited, are not in the child
        self._ended = threading.Condition(self.lock)
        self._forks = 0
        if self._idle or self._busy:
            # It is kept, because closing its connections would meddle with the parent's transactions.
            _INHERITED.append(self)
        if self.identity not in {pool.identity for pool in _INHERITED}:
            self._process = os.getpid()


def _driver(connection: Connection) -> sqlite3.Connection:
    driver: Any = connection.connection.driver_connection
    return cast(sqlite3.Connection, driver)


def _use_wal(connection: Connection) -> str:
    mode = str(connection.exec_driver_sql("PRAGMA journal_mode").scalar_one())
    if mode != "wal":
        mode = str(connection.exec_driver_sql("PRAGMA journal_mode=WAL").scalar_one())
    return mode


@functools.cache
def _insertion(table: Table) -> str:
    insert = table.insert().prefix_with("OR REPLACE") if table.info.get("latest") else table.insert()
    return str(insert.compile(dialect=dialect()))
