"""What SQLite's failures mean to somebody who keeps bandits in a file, and which are temporary."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from brigand.errors import BrigandError, InvalidValueError, StorageError
from brigand.storage.connections import original
from brigand.storage.transaction import FAILURES

T = TypeVar("T")

REASONS = {
    sqlite3.SQLITE_FULL: "cannot be written: the disk, or the database, is full",
    sqlite3.SQLITE_READONLY: "cannot be written: it is read-only",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened",
    sqlite3.SQLITE_NOTADB: "is not an SQLite database",
    sqlite3.SQLITE_CORRUPT: "is damaged",
    sqlite3.SQLITE_CONSTRAINT: "refuses what it already holds (a decision has one tell and one default)",
}
BESIDE = 64 * 1024
"""Bytes that SQLite needs beside a database, for its index of the log."""
LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)


def patiently(action: Callable[[], T], timeout: float) -> T:
    """Return what `action` returns, and repeat it for `timeout` seconds while others keep the file.

    SQLite's own waiting is not used: its pauses grow to 100 ms, while a transaction takes less than one. Four
    busy processes then leave the file idle most of the time, and one of them may wait for seconds.
    """
    deadline, pause = None, 0.0005
    while True:
        try:
            return action()
        except FAILURES as error:
            now = time.monotonic()
            deadline = now + timeout if deadline is None else deadline
            if _code(error) not in LOCKED or now >= deadline:
                raise
        time.sleep(pause)
        pause = min(1.1 * pause, 0.01)


def explain(error: Exception, path: Path, busy_timeout: float) -> BrigandError:
    """Return the error that says what went wrong with the file at `path`."""
    if isinstance(error, UnicodeEncodeError):
        return InvalidValueError(f"text with lone surrogates cannot be stored: {error}.")
    if isinstance(error, UnicodeDecodeError):
        return StorageError(f"{str(path)!r} is damaged: {error}.")
    why = original(error)
    if _code(error) in LOCKED:
        return StorageError(
            f"{str(path)!r} is locked: others have kept it for {busy_timeout:g} seconds ({why})."
        )
    reason = REASONS.get(_code(error), "cannot be read or written")
    if _code(error) in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN) and _is_full(path.parent):
        reason = REASONS[sqlite3.SQLITE_FULL]  # SQLite does not say so of the files that stand beside it
    return StorageError(f"{str(path)!r} {reason}: {why}.")


def _is_full(folder: Path) -> bool:
    """Return whether a disk has no room for what SQLite keeps beside a database."""
    try:
        if hasattr(os, "statvfs"):
            found = os.statvfs(folder)
            no_names = found.f_files > 0 and found.f_favail == 0
            return no_names or found.f_bavail * found.f_frsize < BESIDE
        return shutil.disk_usage(folder).free < BESIDE
    except OSError:
        return False


def _code(error: BaseException) -> int:
    extended: int = getattr(original(error), "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return extended & 0xFF  # the low byte is the kind, the others are details
