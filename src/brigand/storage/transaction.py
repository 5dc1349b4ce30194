"""One transaction: statements run in it until it is over, and after a failure none of them stays."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection, Executable

from brigand.errors import BrigandError, StorageError
from brigand.storage.failures import FAILURES, explain, patiently

T = TypeVar("T")
Row = sa.Row[*tuple[Any, ...]]
Parameters = Mapping[str, Any] | Sequence[Mapping[str, Any]]


class Transaction:
    """A transaction on a connection that is lent to it.

    Parameters
    ----------
    connection : sqlalchemy.Connection
        Used by nobody else until the transaction ends.
    path : Path
        The file, for messages.
    busy_timeout : float
        Seconds to wait for others.
    """

    def __init__(self, connection: Connection, path: Path, busy_timeout: float) -> None:
        self._connection = connection
        self._path = path
        self._busy_timeout = busy_timeout
        self._process = os.getpid()
        self._over = False
        self._committed = False
        self._failed = False

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
        try:
            return patiently(lambda: function(self._connection), self._busy_timeout)
        except FAILURES as error:
            raise self._failure(error) from error
        except BaseException:  # such as Ctrl-C: it may have been done, or not
            self._failed = True
            raise

    def rows(self, statement: Executable, parameters: Parameters) -> Sequence[Row]:
        """Run a query and return all of its rows.

        Raises
        ------
        StorageError
            It failed, or the transaction is over or has failed before.
        """
        return self.call(lambda connection: connection.execute(statement, parameters).all())

    def run(self, statement: Executable, parameters: Parameters) -> None:
        """Run a statement that changes something.

        Raises
        ------
        StorageError
            It failed, or the transaction is over or has failed before.
        """
        self.call(lambda connection: connection.execute(statement, parameters))

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
        if self._process == os.getpid():
            with suppress(*FAILURES):
                self._connection.rollback()
                return not self._failed
        return False

    def _check(self) -> None:
        if self._over:
            raise StorageError(
                f"{str(self._path)!r}: this transaction is over; read and write inside `with`."
            )
        if self._process != os.getpid():
            raise StorageError(
                f"{str(self._path)!r}: this transaction belongs to the parent of this process."
            )
        if self._failed:  # SQLite may have rolled back by itself: what follows would stand alone
            raise StorageError(
                f"{str(self._path)!r}: this transaction failed before; nothing of it was stored."
            )

    def _failure(self, error: Exception) -> BrigandError:
        self._failed = True
        return explain(error, self._path, self._busy_timeout)
