"""Connections to one store, which all that a process opens of it share; and what a fork does to them."""

from __future__ import annotations

import math
import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, suppress
from typing import TypeVar

from sqlalchemy import Connection, Table
from sqlalchemy.exc import DBAPIError

from brigand.errors import BrigandError
from brigand.storage.transaction import Rows, Transaction

T = TypeVar("T")

_GUARD = threading.RLock()  # of what follows; a signal handler may fork while it is held: hence the R
_SHARED: dict[Hashable, tuple[Connections, int]] = {}
_ALL: weakref.WeakSet[Connections] = weakref.WeakSet()
_FORKING: list[Connections] = []
_QUIET: dict[int, list[Connections]] = {}  # by the thread that is about to fork


class Connections(ABC):
    """Connections to one store, for any number of threads; each transaction has one for itself.

    Attributes
    ----------
    shown : str
        The store, for messages, without a password.
    busy_timeout : float
        Seconds to wait for others.
    prepared : bool
        Whether the tables were found, or made, by these connections in this process.
    """

    shown: str
    busy_timeout: float
    prepared = False

    def __init__(self) -> None:
        with _GUARD:
            _ALL.add(self)

    @abstractmethod
    def reading(self) -> AbstractContextManager[Transaction]:
        """Run a transaction that reads as of one moment.

        Raises
        ------
        StorageError
            The store cannot be read.
        """

    @abstractmethod
    def writing(self, bandit_id: int | None = None) -> AbstractContextManager[Transaction]:
        """Run a transaction: committed on leaving, rolled back on any exception.

        Parameters
        ----------
        bandit_id : int, optional
            The bandit that nobody else writes meanwhile; by default the tables and the list of bandits.

        Raises
        ------
        StorageError
            The store cannot be written, or others have kept it for too long.
        """

    @abstractmethod
    def attempt(self, action: Callable[[], T]) -> T:
        """Return what a statement returns; it is repeated where others are only in its way."""

    @abstractmethod
    def insert(self, connection: Connection, table: Table, rows: Rows) -> None:
        """Insert rows, many of them at once; where only the latest are kept, in the place of others."""

    @abstractmethod
    def explain(self, error: Exception) -> BrigandError:
        """Return the error that says what went wrong."""

    def now(self, transaction: Transaction) -> float:
        """Return the time of the store's own clock; infinity if it has none."""
        return math.inf

    @abstractmethod
    def close(self) -> None:
        """Close what is idle now, and the rest when its transaction is over."""

    @abstractmethod
    def be_quiet(self) -> None:
        """Wait until no other thread has a transaction, if that matters to a child, and let none begin."""

    @abstractmethod
    def go_on(self) -> None:
        """Let transactions begin again."""

    @abstractmethod
    def before_fork(self) -> None:
        """Let no thread open or close a connection until the fork is over."""

    @abstractmethod
    def after_fork(self) -> None:
        """Undo `before_fork`, in the parent and in the child."""

    @abstractmethod
    def inherit(self) -> None:
        """Go on in a child, before `after_fork`."""


def original(error: BaseException) -> BaseException:
    """Return what the driver raised."""
    return error.orig if isinstance(error, DBAPIError) and error.orig is not None else error


def borrow(key: Hashable, make: Callable[[], Connections]) -> Connections:
    """Return the connections for a key, made by the first who asks for them; see `give_back`."""
    with _GUARD:
        connections, users = _SHARED.get(key) or (make(), 0)
        _SHARED[key] = connections, users + 1
        return connections


def give_back(key: Hashable, connections: Connections) -> None:
    """Close connections that somebody `borrow`-ed, once nobody else has them."""
    with _GUARD:
        found, users = _SHARED.get(key, (None, 0))
        if found is not connections:
            return
        if users > 1:
            _SHARED[key] = connections, users - 1
            return
        del _SHARED[key]
    connections.close()


def _before_fork() -> None:
    _QUIET[threading.get_ident()] = quiet = list(_ALL)
    for connections in quiet:
        connections.be_quiet()
    _GUARD.acquire()
    _FORKING.extend(_ALL)
    for connections in _FORKING:
        connections.before_fork()


def _after_fork() -> None:
    while _FORKING:
        _FORKING.pop().after_fork()
    for connections in _QUIET.pop(threading.get_ident(), ()):
        connections.go_on()
    with suppress(RuntimeError):  # programs that embed Python may fork without asking `_before_fork`
        _GUARD.release()


def _after_fork_in_child() -> None:
    _QUIET.clear()
    for connections in list(_ALL):
        connections.prepared = False
        connections.inherit()
    _after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
