"""Writing files so that they are whole or not there at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from brigand.errors import ResultFileError


@contextmanager
def atomic(target: Path) -> Iterator[Path]:
    """Give a temporary path in the target's folder, and put the file in place once it is whole.

    Raises
    ------
    ResultFileError
        The folder is not there or the file cannot be written; nothing is left behind.
    """
    temporary = None
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.stem}-", suffix=target.suffix)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(target)
        temporary = None
    except OSError as error:
        raise ResultFileError(f"{str(target)!r} cannot be written: {error.strerror or error}.") from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


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
