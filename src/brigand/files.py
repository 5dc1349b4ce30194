"""Writing files so that they are whole or not there at all."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from brigand.errors import ResultFileError


@contextmanager
def atomic(target: Path, *, durable: bool = True) -> Iterator[Path]:
    """Give a temporary path in the target's folder, and put the file in place once it is whole.

    Parameters
    ----------
    target : Path
    durable : bool
        Whether it is whole after a loss of power, too: that takes some milliseconds.

    Raises
    ------
    ResultFileError
        The folder is not there or the file cannot be written; nothing is left behind.
    """
    given, target = target, Path(os.path.realpath(target))
    temporary = target.with_name(f".{secrets.token_hex(8)}{target.suffix}")
    try:
        temporary.touch(exist_ok=False)
        yield temporary
        if durable:
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        raise ResultFileError(f"{str(given)!r} cannot be written: {error.strerror or error}.") from error
    finally:
        with suppress(OSError):  # it is not there: in place, or never made
            temporary.unlink()


def make_folder(path: Path) -> Path:
    """Create a folder if it is not there, and make sure that files can be written to it.

    Raises
    ------
    ResultFileError
        They cannot.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise ResultFileError(
            f"the folder {str(path)!r} cannot be written: {error.strerror or error}."
        ) from error
    return path
