"""A live bandit's history as a file: ``brigand bandit export``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from brigand.errors import InvalidValueError, ResultFileError, StorageError
from brigand.files import atomic
from brigand.live import history
from brigand.live.export import PIECES
from brigand.live.history import Columns
from brigand.logs.files import file_kind

if TYPE_CHECKING:
    from brigand.live.bandit import Bandit


def write_history(bandit: Bandit, path: Path, progress: Callable[[int], None]) -> int:
    """Write a history as CSV or Parquet, whole or not at all, and return how many decisions it has.

    Raises
    ------
    InvalidValueError
        The suffix is another, or a name is no text for a file.
    ResultFileError
        The file cannot be written.
    StorageError
        The store cannot be read.
    """
    pieces, done = PIECES[file_kind(path).removeprefix(".")], 0

    def pages() -> Iterator[Columns]:
        nonlocal done
        for page in history.pages(bandit, 0, None):
            done += len(page["step"])
            progress(done)
            yield page

    try:
        with atomic(path) as temporary, temporary.open("wb") as file:
            file.writelines(pieces(pages()))
    except ResultFileError as error:
        if isinstance(error.__cause__, StorageError):  # also an OSError, but not of this file
            raise error.__cause__ from None
        raise
    except InvalidValueError as error:
        raise InvalidValueError(f"{str(path)!r} cannot be written: {error}") from None
    return done
