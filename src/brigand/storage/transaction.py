"""One transaction: statements run in it until it is over, and after a failure none of them stays."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from typing import Any, Protocol, TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection, Executable, Table
from sqlalchemy.exc import SQLAlchemyError

from brigand.errors import BrigandError, StorageError

T = TypeVar("T")
FAILURES = (SQLAlchemyError, sqlite3.Error, UnicodeError)
"""What a statement can raise; the last one also where SQLite quotes damaged bytes in its message."""
MANY = 10_000
"""Rows that wait to be inserted."""
Row = sa.Row[*tuple[Any, ...]]
Rows = Sequence[tuple[Any, ...]]
"""Of a table, with all of its columns, in their order."""
Parameters = Mapping[str, Any] | Sequence[Mapping[str, Any]]


def interruption(error: BaseException, before: BaseException | None) -> BaseException | None:
    """Return what interrupted a statement, say Ctrl-C, if `error` is of a driver that could not end it then.

    An exception that was being handled `before` the statement, say by the caller, interrupted something else.
    """
    cause: BaseException | None = error
    while cause is not None and cause is not before:
        if not isinstance(cause, (Exception, GeneratorExit)):  # a generator that is closed goes on
            return cause
        cause = cause.__context__
    return None


class Home(Protocol):
    """Where a transaction's connection comes from: `connections.Connections`."""

    shown: str

    def attempt(self, action: Callable[[], T]) -> T: ...  # noqa: D102
    def insert(self, connection: Connection, table: Table, rows: Rows) -> None: ...  # noqa: D102
    def explain(self, error: Exception) -> BrigandError: ...  # noqa: D102
    def now(self, transaction: Transaction) -> float: ...  # noqa: D102


class Transaction:
    """A transaction on a connection that is lent to it.

    Parameters
    ----------
    connection : sqlalchemy.Connection
        Used by nobody else until the transaction ends.
    home : Home
    """

    def __init__(self, connection: Connection, home: Home) -> None:
        self._connection = connection
        self.home = home
        self._process = os.getpid()
        self._over = False
        self._committed = False
        self._failed = False
        self._interrupted = False
        self._later: dict[Table, list[tuple[Any, ...]]] = {}

    def begin(self, statement: str) -> None:
        """Begin, waiting for others if need be."""
        self.call(lambda connection: connection.exec_driver_sql(statement))

    def call(self, function: Callable[[Connection], T]) -> T:
        """Return what `function` makes of the connection.

        Raises
        ------
        StorageError
            It failed, or the transaction is over or has failed before.
        """
        self._check()
        self._flush()
        return self._do(function)

    def _flush(self) -> None:
        for table, rows in self._later.items():
            self._do(partial(self.home.insert, table=table, rows=rows))
        self._later.clear()  # only now: what is interrupted before is not forgotten

    def _do(self, function: Callable[[Connection], T]) -> T:
        before = sys.exception()
        try:
            return self.home.attempt(lambda: function(self._connection))
        except BaseException as error:
            self._failed = True
            interrupted = interruption(error, before)
            if interrupted is None and isinstance(error, FAILURES):
                raise self.home.explain(error) from error
            self._interrupted = True  # by Ctrl-C, say: it may have been done, or not
            if interrupted is None or interrupted is error:
                raise
            raise interrupted from None

    def rows(self, statement: Executable, parameters: Parameters) -> Sequence[Row]:
        """Run a query and return all of its rows.

        Raises
        ------
        StorageError
            It failed, or the transaction is over or has failed before.
        """
        return self.call(lambda connection: connection.execute(statement, parameters).all())

    def tuples(self, statement: Executable, parameters: Parameters) -> list[tuple[Any, ...]]:
        """Run a query and return all rows as the driver gives them: twice as quick, for many rows.

        What is true or false may be 1 or 0.

        Raises
        ------
        StorageError
            It failed, or the transaction is over or has failed before.
        """

        def fetch(connection: Connection) -> list[tuple[Any, ...]]:
            with closing(connection.execute(statement, parameters)) as result:
                cursor: Any = result.cursor
                found: list[tuple[Any, ...]] = cursor.fetchall()
                return found

        return self.call(fetch)

    def run(self, statement: Executable, parameters: Parameters) -> int:
        """Run a statement that changes something, and return how many rows; of several sets, unknown.

        Raises
        ------
        StorageError
            It failed, or the transaction is over or has failed before.
        """
        return self.call(lambda connection: connection.execute(statement, parameters).rowcount)

    def insert(self, table: Table, rows: Rows) -> None:
        """Insert rows when the next statement is run: all that wait at once.

        A commit is a statement. So are `MANY` rows.

        Raises
        ------
        StorageError
            The transaction is over or has failed before. What goes wrong with the rows is raised later.
        """
        self._check()
        self._later.setdefault(table, []).extend(rows)
        if len(self._later[table]) >= MANY:
            self._flush()

    def commit(self) -> None:
        """Make the changes permanent.

        Raises
        ------
        StorageError
            It failed, now or before: nothing of it stays.
        """
        self.call(Connection.commit)
        self._committed = True

    def end(self) -> bool:
        """Roll back what was not committed, and return whether the connection can be used again."""
        self._over = True
        if self._committed:
            return True
        if self.is_ours:
            with suppress(*FAILURES):
                self._connection.rollback()
                return not self._interrupted
        return False

    @property
    def is_ours(self) -> bool:
        """Whether this process began it."""
        return self._process == os.getpid()

    def _check(self) -> None:
        if self._over:
            raise StorageError(
                f"{self.home.shown!r}: this transaction is over; read and write inside `with`."
            )
        if not self.is_ours:
            raise StorageError(
                f"{self.home.shown!r}: this transaction belongs to the parent of this process."
            )
        if self._failed:  # it may have been rolled back already: what follows would stand alone
            raise StorageError(
                f"{self.home.shown!r}: this transaction failed before; nothing of it was stored."
            )
