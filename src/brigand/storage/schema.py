"""The tables of a store, and the steps from older versions of them to this one.

All names begin with ``brigand_``, so that a store can live in a PostgreSQL database that holds other tables.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Column, Connection, Table

from brigand.errors import StorageError
from brigand.storage.events import (
    ADD,
    ASK,
    DEFAULT,
    END,
    METRIC,
    NOTE,
    PART,
    PAUSE,
    REMOVE,
    REPLACE,
    RESUME,
    TELL,
)

VERSION = 3
"""Since 2, events have checksums, and old ones can be pruned; since 3 they can be found by keys, and the
service has its own."""

KINDS = {
    kind: code
    for code, kind in enumerate(
        (ASK, TELL, DEFAULT, ADD, REMOVE, REPLACE, PART, METRIC, PAUSE, RESUME, END, NOTE), start=1
    )
}
"""Kinds of events and their codes in the column ``kind``."""


class _AsGiven(sa.types.UserDefinedType[float]):
    """A column without a type: one of type REAL stores whole numbers as integers, and so loses -0.0."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return ""


Name = sa.Text(collation="C").with_variant(sa.Text(), "sqlite")
"""Sorted by code points, as SQLite does anyhow."""

METADATA = sa.MetaData()

SCHEMA = Table(
    "brigand_schema",
    METADATA,
    Column("version", sa.Integer, nullable=False),
    Column("written_by", sa.Text, nullable=False),
)

BANDITS = Table(
    "brigand_bandits",
    METADATA,
    Column("id", sa.Integer, primary_key=True),
    Column("name", Name, nullable=False, unique=True),
    Column("uid", sa.Text, nullable=False),
    Column("definition", sa.Text, nullable=False),
    Column("created_at", sa.Double, nullable=False),
)

EVENTS = Table(
    "brigand_events",
    METADATA,
    Column("bandit_id", sa.Integer, primary_key=True),
    Column("seq", sa.BigInteger, primary_key=True),
    Column("kind", sa.Integer, nullable=False),
    Column("step", sa.BigInteger),
    Column("arm", sa.Integer, nullable=False),
    Column("value", sa.Double().with_variant(_AsGiven(), "sqlite")),
    Column("counted", sa.Boolean, nullable=False),
    Column("at", sa.Double, nullable=False),
    Column("data", sa.Text, nullable=False),
    Column("crc", sa.BigInteger),
    sqlite_with_rowid=False,
)
"""Without `crc` are the events that were written before there were checksums."""

# A decision has at most one tell and one default. Events of arms have no step, and NULLs never collide.
sa.Index("brigand_events_step", EVENTS.c.bandit_id, EVENTS.c.step, EVENTS.c.kind, unique=True)

SNAPSHOTS = Table(
    "brigand_snapshots",
    METADATA,
    Column("bandit_id", sa.Integer, primary_key=True),
    Column("seq", sa.BigInteger, nullable=False),
    Column("state", sa.Text, nullable=False),
)

BASES = Table(
    "brigand_bases",
    METADATA,
    Column("bandit_id", sa.Integer, primary_key=True),
    Column("seq", sa.BigInteger, nullable=False),
    Column("state", sa.Text, nullable=False),
)
"""The states that pruned events led to, and the number of the last one; whose log is whole has none."""


KEYS = Table(
    "brigand_keys",
    METADATA,
    Column("bandit_id", sa.Integer, primary_key=True),
    Column("key", sa.Text, primary_key=True),
    Column("seq", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
    info={"latest": True},
)
"""The latest event with each key in its data: made from these, and no more than a way to find them.

A new row takes the place of one with the same primary key.
"""


SERVICE_KEYS = Table(
    "brigand_service_keys",
    METADATA,
    Column("id", Name, primary_key=True),
    Column("digest", sa.Text, nullable=False),
    Column("role", sa.Text, nullable=False),
    Column("bandit", sa.Text),
    Column("label", sa.Text, nullable=False),
    Column("created_at", sa.Double, nullable=False),
    Column("expires_at", sa.Double),
    Column("revoked_at", sa.Double),
    Column("used_at", sa.Double),
)
"""Who may use the service: see `brigand.storage.service_keys`."""


def _from_1(connection: Connection) -> None:
    connection.exec_driver_sql(f"ALTER TABLE {EVENTS.name} ADD COLUMN crc BIGINT")
    BASES.create(connection)


def _from_2(connection: Connection) -> None:
    KEYS.create(connection)
    SERVICE_KEYS.create(connection)


MIGRATIONS: dict[int, Callable[[Connection], None]] = {1: _from_1, 2: _from_2}
"""For each version, the step from it to the next one; it runs inside a transaction."""


def found(connection: Connection, shown: str) -> int | None:
    """Return the version of the tables in the store, None if it has none.

    Raises
    ------
    StorageError
        They are of a newer version than this package knows, or not what they seem.
    """
    if not sa.inspect(connection).has_table(SCHEMA.name):
        return None
    row = connection.execute(sa.select(SCHEMA.c.version, SCHEMA.c.written_by)).first()
    if row is None or not isinstance(row.version, int):
        raise StorageError(f"{shown!r} has a table {SCHEMA.name} that Brigand did not write.")
    if row.version > VERSION:
        raise StorageError(
            f"{shown!r} was written by Brigand {row.written_by}, with version {row.version} of its "
            f"tables; this is Brigand {_package()}, which knows them up to version {VERSION}. Install "
            f"Brigand {row.written_by} or newer to open it."
        )
    return row.version


def others(connection: Connection) -> list[str]:
    """Return the names of tables that are not ours."""
    return [name for name in sa.inspect(connection).get_table_names() if name not in METADATA.tables]


def bring_up_to_date(connection: Connection, shown: str) -> None:
    """Create the tables, or change older ones; inside a transaction for writing.

    Raises
    ------
    StorageError
        The tables are of a newer version, or there is no way from their version to this one.
    """
    version = found(connection, shown)
    if version == VERSION:  # another process was quicker
        return
    if version is None:
        METADATA.create_all(connection, checkfirst=False)
    else:
        for step in range(version, VERSION):
            if step not in MIGRATIONS:
                raise StorageError(f"{shown!r}: Brigand does not know version {step} of its tables.")
            MIGRATIONS[step](connection)
        connection.execute(SCHEMA.delete())
    connection.execute(SCHEMA.insert(), {"version": VERSION, "written_by": _package()})


def _package() -> str:
    return importlib.metadata.version("brigand")
