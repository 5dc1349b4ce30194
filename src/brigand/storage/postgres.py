"""Connections to a PostgreSQL database, by psycopg: a few for a process, kept for the next transaction.

A transaction that writes holds a lock on its bandit's row, so that asks of one bandit wait for each other and
those of two bandits do not. Whoever changes the tables or the list of bandits holds one lock of the database.
"""

from __future__ import annotations

import functools
import os
import re
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import URL, Connection, Engine, Table, create_engine, event
from sqlalchemy.dialects.postgresql import dialect
from sqlalchemy.exc import SQLAlchemyError

from brigand import checks
from brigand.errors import BrigandError, InvalidValueError, StorageError
from brigand.storage.connections import Connections, original
from brigand.storage.place import without_password
from brigand.storage.schema import BANDITS
from brigand.storage.transaction import FAILURES, Rows, Transaction, interruption

T = TypeVar("T")

POOL_SIZE = 5
"""Connections of a process. More threads than this wait for each other; PostgreSQL has 100 for all."""
PATIENCE = 86400.0
"""Seconds that a thread waits for the others of its process: a transaction that is under way will end."""
LOCK_BANDIT = sa.select(BANDITS.c.id).where(BANDITS.c.id == sa.bindparam("bandit")).with_for_update()
LOCK_ALL = sa.select(sa.func.pg_advisory_xact_lock(int.from_bytes(b"brigand\0", "big", signed=True)))
NOW = sa.select(sa.extract("epoch", sa.func.clock_timestamp()))

LOCKED = "55P03"
NO_ROOM = re.compile("too many (clients|connections)|remaining connection slots|is starting up")
"""What a server says, in English, that takes no connection now: who connects gets no SQLSTATE."""
REASONS = {
    "08": "cannot be reached",
    "23": "refuses what it already holds (a decision has one tell and one default)",
    "25006": "cannot be written: it is read-only",
    "42501": "does not allow it to this user",
    "53100": "cannot be written: the disk is full",
    "57P": "was shut down meanwhile",
    "XX": "is damaged",
}
"""By the beginning of SQLSTATE."""

_INHERITED: list[object] = []
"""What a fork left of the parent's: kept, for SQLAlchemy would roll back what is forgotten, and complain."""


class ServerConnections(Connections):
    """Connections to one database, for any number of threads.

    Parameters
    ----------
    url : sqlalchemy.URL
        Options are those of libpq.
    synchronous : str
        ``"FULL"`` or ``"EXTRA"``: a commit waits for the server's disk. Else it does not.
    busy_timeout : float
        Seconds to wait for others.

    Raises
    ------
    MissingPackageError
        psycopg is not installed.
    """

    def __init__(self, url: URL, synchronous: str, busy_timeout: float) -> None:
        self._psycopg = checks.package(
            "psycopg", "a store in PostgreSQL needs psycopg: pip install 'brigand[postgres]'."
        )
        self.shown = without_password(url.render_as_string(hide_password=False))
        self.busy_timeout = busy_timeout
        self._url = url
        self._closed = False
        self._settings = (
            f"SET lock_timeout = {max(1, round(1000 * busy_timeout))}",  # 0 would be for ever
            "SELECT set_config('synchronous_commit', 'on', false) WHERE "
            "current_setting('synchronous_commit') = 'off'"
            if synchronous in ("FULL", "EXTRA")
            else "SET synchronous_commit = off",
        )
        self._open: weakref.WeakSet[Any] = weakref.WeakSet()  # of psycopg's connections
        self._lent: weakref.WeakSet[Connection] = weakref.WeakSet()
        self._connect()
        super().__init__()

    def _connect(self) -> None:
        self._writer: Engine = create_engine(
            self._url,
            pool_size=POOL_SIZE,
            max_overflow=0,
            pool_timeout=PATIENCE,
            connect_args={"fallback_application_name": "brigand"},
            pool_pre_ping=True,  # what the server closed, say when it was started anew, is not used
        )
        self._reader = self._writer.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
        event.listen(self._writer, "connect", self._set_up)

    def _set_up(self, connection: Any, _: object) -> None:
        self._open.add(connection)
        for statement in self._settings:
            connection.execute(statement)
        connection.commit()

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """See `Connections.reading`."""
        with self._transaction(self._reader) as transaction:
            yield transaction

    @contextmanager
    def writing(self, bandit_id: int | None = None) -> Iterator[Transaction]:
        """See `Connections.writing`; a bandit that is not there any more is not locked."""
        with self._transaction(self._writer) as transaction:
            if bandit_id is None:
                transaction.rows(LOCK_ALL, {})
            else:
                transaction.rows(LOCK_BANDIT, {"bandit": bandit_id})
            yield transaction

    @contextmanager
    def _transaction(self, engine: Engine) -> Iterator[Transaction]:
        connection = self._take(engine)
        self._lent.add(connection)
        sound = False
        transaction = Transaction(connection, self)
        try:
            try:
                yield transaction
                transaction.commit()
            finally:
                sound = transaction.end()
        finally:
            if transaction.is_ours:
                self._lent.discard(connection)
                with suppress(SQLAlchemyError):
                    if self._closed or not sound:
                        connection.invalidate()  # it goes back to no pool
                    connection.close()

    def _take(self, engine: Engine) -> Connection:
        deadline, pause, anew = time.monotonic() + self.busy_timeout, 0.01, False
        before = sys.exception()
        while True:
            try:
                return engine.connect()
            except FAILURES as error:
                if (interrupted := interruption(error, before)) is not None:
                    raise interrupted from None
                if isinstance(original(error), self._psycopg.ProgrammingError) and not anew:
                    anew = True  # Ctrl-C left a connection in the middle of something
                    self._writer.dispose()
                    continue
                if not NO_ROOM.search(str(error)) or time.monotonic() >= deadline:
                    raise self.explain(error) from error
            time.sleep(pause)
            pause = min(1.5 * pause, 0.5)

    def attempt(self, action: Callable[[], T]) -> T:
        """Return what a statement returns: the server itself waits for others."""
        return action()

    def insert(self, connection: Connection, table: Table, rows: Rows) -> None:
        """See `Connections.insert`: one statement, which takes an array for each column.

        A statement for each row, as psycopg sends them by itself, takes several times as long.
        """
        if table.info.get("latest"):  # a statement replaces a row once at most
            rows = list({row[: len(table.primary_key)]: row for row in rows}.values())
        arrays = {
            column.name: [None if value is None else column.type.python_type(value) for value in values]
            for column, values in zip(table.columns, zip(*rows, strict=True), strict=True)
        }
        connection.exec_driver_sql(_insertion(table), arrays)

    def explain(self, error: Exception) -> BrigandError:
        """Return the error that says what went wrong."""
        if isinstance(error, UnicodeEncodeError):
            return InvalidValueError(f"text with lone surrogates cannot be stored: {error}.")
        why = " ".join(str(original(error)).split()).rstrip(".")
        if "NUL (0x00)" in why:
            return InvalidValueError(f"text with the character U+0000 cannot be stored: {why}.")
        state = _state(error)
        if state == LOCKED:
            return StorageError(
                f"{self.shown!r} is locked: others have kept it for {self.busy_timeout:g} seconds ({why})."
            )
        if not state and isinstance(original(error), self._psycopg.OperationalError):
            state = "08"
        reasons = [reason for beginning, reason in REASONS.items() if state.startswith(beginning)]
        return StorageError(f"{self.shown!r} {(reasons or ['cannot be read or written'])[0]}: {why}.")

    def close(self) -> None:
        """Close what is idle now, and the rest when its transaction is over."""
        self._closed = True
        self._writer.dispose()

    def now(self, transaction: Transaction) -> float:
        """Return the time of the server."""
        return float(transaction.rows(NOW, {})[0][0])

    def be_quiet(self) -> None:
        """Do nothing: a child makes a pool of its own."""

    def go_on(self) -> None:
        """Do nothing."""

    def before_fork(self) -> None:
        """Do nothing."""

    def after_fork(self) -> None:
        """Do nothing."""

    def inherit(self) -> None:
        """Begin anew in a child, and let go of the parent's connections.

        Else the server would not notice the parent's end, and keep its locks. psycopg closes nothing that
        another process has opened; so each socket gives its number to what takes all and says nothing.
        """
        with open(os.devnull, "r+b") as nowhere:
            for connection in list(self._open):
                with suppress(self._psycopg.Error):  # it is closed
                    os.dup2(nowhere.fileno(), connection.fileno(), inheritable=False)
        _INHERITED.extend([self._writer, *self._lent])
        self._open, self._lent = weakref.WeakSet(), weakref.WeakSet()
        self._connect()


def _state(error: BaseException) -> str:
    """Return an error's SQLSTATE; empty if the server did not speak."""
    return getattr(original(error), "sqlstate", None) or ""


@functools.cache
def _insertion(table: Table) -> str:
    make: Any = dialect
    of_server = make()
    names = ", ".join(map(of_server.identifier_preparer.quote, table.columns.keys()))
    arrays = (f"%({column.name})s::{column.type.compile(of_server)}[]" for column in table.columns)
    statement = f"INSERT INTO {table.name} ({names}) SELECT * FROM unnest({', '.join(arrays)})"
    if table.info.get("latest"):
        key, rest = table.primary_key.columns.keys(), [c.name for c in table.columns if not c.primary_key]
        new = ", ".join(f"{name} = excluded.{name}" for name in rest)
        statement += f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {new}"
    return statement
