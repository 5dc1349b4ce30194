"""Where a store is: reads its URL, and checks the place of a file."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from brigand.errors import InvalidValueError, StorageError
from brigand.storage.place import without_password

ALLOWED = (
    "'sqlite:///relative/path.db' or 'sqlite:////absolute/path.db', "
    "to read only 'sqlite:///file:path.db?mode=ro&uri=true', "
    "or 'postgresql+psycopg://user:password@host/database'"
)
SERVERS = ("postgresql", "postgresql+psycopg")


class File(NamedTuple):
    """The file of a store.

    Attributes
    ----------
    path : Path
        Absolute, so that a change of the working directory does not matter.
    read_only : bool
        Whether it may only be read.
    """

    path: Path
    read_only: bool

    @property
    def shown(self) -> str:
        """The path, for messages."""
        return str(self.path)


def locate(url: object) -> File | URL:
    """Read the URL of a store: a file, or the database of a server.

    Raises
    ------
    InvalidValueError
        It is neither the URL of an SQLite file nor of a PostgreSQL database.
    """
    if not isinstance(url, str):
        raise InvalidValueError(f"url must be a text such as {ALLOWED}; not {url!r}.")
    try:
        parts = make_url(url)
    except (ArgumentError, ValueError):
        raise InvalidValueError(f"url must be {ALLOWED}; not {without_password(url)!r}.") from None
    shown = without_password(url)
    _check_options(url, shown)
    if parts.drivername in SERVERS:
        return parts.set(drivername=SERVERS[-1])
    if parts.drivername != "sqlite" or parts.host or parts.username or parts.port:
        raise InvalidValueError(f"url must be {ALLOWED}; not {shown!r}.")
    wrong = {key: value for key, value in parts.query.items() if (key, value) not in _OPTIONS}
    if wrong:
        raise InvalidValueError(f"the options of url may be mode=ro and uri=true; {shown!r} has {wrong}.")
    file = _file(url, "uri" in parts.query)
    if file in ("", ":memory:") or "\0" in file:
        raise InvalidValueError(
            f"url must name a file, which outlives this process and which others can open too: {ALLOWED}; "
            f"not {shown!r}."
        )
    return File(Path(file).absolute(), read_only="mode" in parts.query)


_OPTIONS = {("mode", "ro"), ("uri", "true")}


def _check_options(url: str, shown: str) -> None:
    """Refuse what SQLAlchemy would leave out in silence."""
    try:
        parse_qsl(url.partition("?")[2], strict_parsing="?" in url)
    except ValueError:
        raise InvalidValueError(f"the options of url must be name=value; {shown!r} has others.") from None


def _file(url: str, is_uri: bool) -> str:
    database = unquote(url.partition("?")[0].partition("///")[2])  # SQLAlchemy 2.0 would leave %25 as it is
    if not (database.startswith("file:") and is_uri):
        return database
    rest = database.removeprefix("file:")
    if not rest.startswith("//"):
        return rest
    authority, _, path = rest.removeprefix("//").partition("/")
    return f"/{path}" if authority in ("", "localhost") else ""


def prepare_file(location: File, *, create: bool) -> None:
    """Make sure that there is a file, empty if it is new.

    Raises
    ------
    StorageError
        There is none, it is not a file, or it cannot be created.
    """
    path = location.path
    try:
        if create and not location.read_only and not path.exists() and path.parent.is_dir():
            path.touch()
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        what = "file" if path.parent.is_dir() else "folder"
        missing = path if what == "file" else path.parent
        raise StorageError(f"{str(path)!r} cannot be opened: there is no {what} {str(missing)!r}.") from error
    except OSError as error:
        raise StorageError(f"{str(path)!r} cannot be opened: {error.strerror or error}.") from error
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "not a file"
        raise StorageError(f"{str(path)!r} cannot be opened: it is {what}.")


def identity(path: Path) -> tuple[int, int]:
    """Return what tells the file at `path` from one that takes its place.

    Raises
    ------
    StorageError
        There is none.
    """
    try:
        status = os.stat(path)
    except OSError as error:
        raise StorageError(f"{str(path)!r} cannot be opened: {error.strerror or error}.") from error
    return status.st_dev, status.st_ino
