"""Who is computing a study: each run leaves a note in the study's folder, which others read.

::

    DIR/running/HOST-PID.json    what a run is at; it goes when the run ends, and stays if that failed
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from brigand.errors import BrigandError
from brigand.files import atomic, make_folder

FOLDER = "running"
OFTEN = 1.0
"""Seconds from one note to the next, at least."""
SILENT = 3600.0
"""Seconds after which a run on another machine, of which nothing was heard, is taken to be over."""


class Running:
    """The note of a run; a context, which ends with the run. A note that cannot be written is left out.

    Parameters
    ----------
    folder : Path
        Of the study.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FOLDER / f"{socket.gethostname()}-{os.getpid()}.json"
        self._note: dict[str, Any] = {"host": socket.gethostname(), "pid": os.getpid(), "began": time.time()}
        self._written = -OFTEN

    def __enter__(self) -> Self:
        return self

    def progress(self, done: int, total: int) -> None:
        """Note how many runs are done, of all."""
        self._note |= {"done": done, "total": total, "at": time.time()}
        self._note.setdefault("first", done)
        if time.monotonic() - self._written >= OFTEN:
            self._write()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception):
            self._note |= {"failed": str(error) or repr(error), "at": time.time()}
            self._write()
            return
        with suppress(OSError):
            self._path.unlink(missing_ok=True)
            self._path.parent.rmdir()  # if it is empty

    def _write(self) -> None:
        self._written = time.monotonic()
        with suppress(BrigandError):
            make_folder(self._path.parent)
            with atomic(self._path, durable=False) as temporary:
                temporary.write_text(json.dumps(self._note), encoding="utf-8")


class Note(NamedTuple):
    """What a run is at.

    Attributes
    ----------
    path : Path
        Of the note.
    host : str
    pid : int
    began, at : datetime
        When the run began, and when it last wrote this.
    done, total : int
        Runs of the simulator that are there, of all.
    left : float
        Seconds that it may still take; NaN if that is not known yet.
    failed : str
        Why it failed; empty if it did not.
    alive : bool
        Whether it may still be at work.
    """

    path: Path
    host: str
    pid: int
    began: datetime
    at: datetime
    done: int
    total: int
    left: float
    failed: str
    alive: bool


def notes(folder: Path) -> Iterator[Note]:
    """Yield the notes in a study's folder, oldest first; what is no note is left out."""
    found = []
    for path in (folder / FOLDER).glob("*.json"):
        with suppress(OSError, ValueError, TypeError, LookupError, OverflowError):
            if not path.name.startswith("."):
                found.append(_note(path, json.loads(path.read_text(encoding="utf-8"))))
    yield from sorted(found, key=lambda note: note.began)


def _note(path: Path, data: dict[str, Any]) -> Note:
    began, at = float(data["began"]), float(data["at"])
    done, total = int(data["done"]), int(data["total"])
    new = done - int(data["first"])
    left = (total - done) * (at - began) / new if new > 0 else float("nan")
    failed = str(data.get("failed", ""))
    host, pid = str(data["host"]), int(data["pid"])
    return Note(
        path,
        host,
        pid,
        datetime.fromtimestamp(began, UTC),
        datetime.fromtimestamp(at, UTC),
        done,
        total,
        left,
        failed,
        alive=not failed and _is_alive(host, pid, at),
    )


def _is_alive(host: str, pid: int, at: float) -> bool:
    if host != socket.gethostname():
        return time.time() - at < SILENT
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # it is somebody else's
    return True
