"""Files that are not what they should be, and older and newer versions of the tables."""

import os
import pickle
import sqlite3

import pytest
import sqlalchemy as sa

from brigand.errors import InvalidValueError, StorageError
from brigand.storage import schema
from brigand.storage.events import ASK, TELL, Event
from brigand.storage.store import open_store

ASKED = Event(ASK, 1, 0, None, True, 0.0, "")
NOW = schema.VERSION


@pytest.mark.parametrize(
    "url",
    [
        "bandits.db",
        "/tmp/bandits.db",
        "",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite:///file::memory:?uri=true",
        "sqlite:///file:?uri=true",
        "sqlite:///file:x?mode=memory&uri=true",
        "sqlite:///x.db?cache=shared",
        "sqlite:///x.db?mode=ro&mode=ro",
        "sqlite:///x%00.db",
        "sqlite:///file://elsewhere/x.db?uri=true",
        "sqlite://x.db",
        "sqlite+aiosqlite:///x.db",
        "sqlite:///x.db?mode",
        "sqlite:///x.db?mode=ro&uri",
        "sqlite:///x.db?=ro",
        "mysql://me:secret@host/bandits",
        "postgresql+asyncpg://me:secret@host/bandits",
        "postgresql://me:secret@host/bandits?sslmode",
        "postgresql://me:secret@host:port/bandits",
        "mysql://host/bandits?password=secret",
        "postgresql://host:port/bandits",
        None,
        b"sqlite:///x.db",
        os,
    ],
)
def test_urls_that_are_refused(url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for create in (True, False):
        with pytest.raises(InvalidValueError, match=r"url ") as caught:
            open_store(url, create=create)
        assert "secret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///a.db", "a.db"),
        ("sqlite:///{}/b c.db", "b c.db"),
        ("sqlite:///file:c.db?uri=true", "c.db"),
        ("sqlite:///file:{}/d.db?uri=true", "d.db"),
        ("sqlite:///file://{}/e.db?uri=true", "e.db"),
        ("sqlite:///file:f.db", "file:f.db"),
        ("sqlite:///100%25%3F#ü%20.db", "100%?#ü .db"),
    ],
)
def test_urls_and_the_files_they_name(url, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open_store(url.format(tmp_path), create=True) as store:
        monkeypatch.chdir("/")  # the file stays what it was
        store.create("x", "", "", [], None, 0.0)
        store.connections._close_idle()
        assert store.names() == ["x"]
    assert [file.name for file in tmp_path.iterdir()] == [path]


def test_bad_settings_are_refused(tmp_path):
    for wrong in ("full", "", None, 2):
        with pytest.raises(InvalidValueError, match="synchronous must be one of"):
            open_store(f"sqlite:///{tmp_path}/x.db", create=True, synchronous=wrong)
    for wrong in (-1, float("nan"), "1", 1e9):
        with pytest.raises(InvalidValueError, match="busy_timeout must be"):
            open_store(f"sqlite:///{tmp_path}/x.db", create=True, busy_timeout=wrong)
    assert list(tmp_path.iterdir()) == []


def test_a_commit_is_synced_by_default(tmp_path):
    for setting, level in ((None, 2), ("OFF", 0), ("NORMAL", 1), ("FULL", 2), ("EXTRA", 3)):
        options = {} if setting is None else {"synchronous": setting}
        with (
            open_store(f"sqlite:///{tmp_path}/x.db", create=True, **options) as store,
            store.connections.reading() as transaction,
        ):
            assert transaction.rows(sa.text("PRAGMA synchronous"), {}) == [(level,)]


def test_the_write_ahead_log_does_not_stay_long(tmp_path):
    """After much was written at once, it is cut off while others go on serving."""
    wal = tmp_path / "x.db-wal"
    with open_store(f"sqlite:///{tmp_path}/x.db", create=True) as store:
        bandit = store.create("x", "", "", [], None, 0.0).id
        with store.writing(bandit) as writing:
            writing.save(0, "x" * 20_000_000)
        assert wal.stat().st_size > 20_000_000
        for seq in range(3):
            with store.writing(bandit) as writing:
                writing.append([Event(ASK, seq + 1, 0, None, True, 0.0, "")], seq)
        assert wal.stat().st_size <= 4 * 2**20


def garbage(path):
    path.write_bytes(b"not a database, but long enough to be read as the head of one. " * 50)


def missing_tables(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
        connection.execute("INSERT INTO theirs VALUES (5)")
    connection.close()


def strange_tables(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE brigand_schema (colour)")
    connection.close()


def empty_schema(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE brigand_schema (version, written_by)")
    connection.close()


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (garbage, "x.db' is not an SQLite database: file is not a database"),
        (lambda path: path.mkdir(), "x.db' cannot be opened: it is a folder"),
        (os.mkfifo, "x.db' cannot be opened: it is not a file"),
        (lambda path: path.symlink_to(path), "x.db' cannot be opened: Too many levels"),
        (strange_tables, "x.db' cannot be read or written: no such column"),
        (empty_schema, "x.db' has a table brigand_schema that Brigand did not write"),
    ],
)
def test_files_that_are_not_a_store_are_refused(tmp_path, make, message, create):
    path = tmp_path / "x.db"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StorageError, match=message) as caught:
        open_store(f"sqlite:///{path}", create=create)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert before is None or path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["x.db"]


def test_files_and_folders_that_are_not_there(tmp_path):
    with pytest.raises(StorageError, match=r"there is no file '.*x\.db'"):
        open_store(f"sqlite:///{tmp_path}/x.db", create=False)
    with pytest.raises(StorageError, match=r"there is no file '.*x\.db'"):
        open_store(f"sqlite:///{tmp_path}/x.db?mode=ro", create=True)
    for create in (True, False):
        with pytest.raises(StorageError, match=r"there is no folder '.*nowhere'"):
            open_store(f"sqlite:///{tmp_path}/nowhere/x.db", create=create)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match=r"cannot be opened"):
        open_store(f"sqlite:///{tmp_path}/file/x.db", create=True)


def test_a_database_of_somebody_else_is_left_as_it_is(tmp_path):
    path = tmp_path / "x.db"
    missing_tables(path)
    before = path.read_bytes()
    for create, message in (
        (False, "holds no bandits"),
        (True, "tables of another application, such as 'theirs'"),
    ):
        with pytest.raises(StorageError, match=message):
            open_store(f"sqlite:///{path}", create=create)
        assert path.read_bytes() == before
        assert [file.name for file in tmp_path.iterdir()] == ["x.db"]
    with open_store(f"sqlite:///{tmp_path}/ours.db", create=True):
        missing_tables(tmp_path / "ours.db")  # it is ours, whatever they put into it
    with open_store(f"sqlite:///{tmp_path}/ours.db", create=True) as store:
        assert store.names() == []


def test_an_empty_file_holds_no_bandits(tmp_path):
    (tmp_path / "x.db").touch()
    with pytest.raises(StorageError, match="holds no bandits"):
        open_store(f"sqlite:///{tmp_path}/x.db", create=False)
    with open_store(f"sqlite:///{tmp_path}/x.db", create=True) as store:
        assert store.names() == []


@pytest.mark.parametrize("other", [True, False])
def test_a_store_that_may_only_be_read(tmp_path, other):
    url = f"sqlite:///{tmp_path}/x.db"
    store = open_store(url, create=True)
    bandit = store.create("x", "", "", [ASKED], "{}", 0.0).id
    if not other:
        store.close()
    with open_store(f"sqlite:///file:{tmp_path}/x.db?mode=ro&uri=true", create=True) as reader:
        assert reader.names() == ["x"]
        with reader.reading(bandit) as reading:
            assert reading.since(0) == [ASKED]
        with pytest.raises(StorageError, match=r"x\.db' cannot be written: it is read-only"):
            reader.create("y", "", "", [], None, 0.0)
        with pytest.raises(StorageError, match="it is read-only"), reader.writing(bandit) as writing:
            writing.save(1, "{}")
        assert reader.names() == ["x"]
    store.close()
    (tmp_path / "y.db").touch()
    with pytest.raises(StorageError, match="holds no bandits"):
        open_store(f"sqlite:///{tmp_path}/y.db?mode=ro", create=True)


@pytest.mark.parametrize("replaced", [True, False])
def test_writing_to_a_file_that_was_moved_or_replaced_is_an_error(tmp_path, replaced):
    url = f"sqlite:///{tmp_path}/x.db"
    with open_store(url, create=True) as store:
        bandit = store.create("x", "", "", [], None, 0.0).id
        (tmp_path / "x.db").rename(tmp_path / "old.db")
        if replaced:
            open_store(url, create=True).close()
        message = "was replaced by another file; open it again" if replaced else "No such file"
        with pytest.raises(StorageError, match=message), store.writing(bandit) as writing:
            writing.append([ASKED], 0)
        if not replaced:
            (tmp_path / "old.db").rename(tmp_path / "x.db")
            assert store.names() == ["x"]


def test_a_damaged_file_is_reported_when_the_damage_is_met(tmp_path):
    path = tmp_path / "x.db"
    with open_store(f"sqlite:///{path}", create=True) as store:
        events = [ASKED._replace(step=step, data="x" * 500) for step in range(1, 200)]
        bandit = store.create("x", "", "", events, None, 0.0).id
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] + b"\xff" * (len(whole) - len(whole) // 2))
    with (
        open_store(f"sqlite:///{path}", create=False) as store,
        pytest.raises(StorageError, match=r"x\.db' is damaged: database disk image is malformed"),
        store.reading(bandit) as reading,
    ):
        reading.since(0)


def add_colour(connection):
    connection.exec_driver_sql("ALTER TABLE brigand_bandits ADD COLUMN colour TEXT NOT NULL DEFAULT 'red'")


def colours(path):
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT name, colour FROM brigand_bandits").fetchall()
    finally:
        connection.close()


@pytest.fixture
def old(tmp_path):
    """A file of today's version with one bandit, while the package is made to know a later one."""
    path = tmp_path / "x.db"
    with open_store(f"sqlite:///{path}", create=True) as store:
        store.create("x", "", "", [ASKED], "{}", 0.0)
    return path


def test_older_tables_are_brought_up_to_date(old, monkeypatch):
    monkeypatch.setattr(schema, "VERSION", NOW + 2)
    monkeypatch.setattr(schema, "MIGRATIONS", {NOW: add_colour, NOW + 1: lambda connection: None})
    with pytest.raises(
        StorageError, match=f"has version {NOW} of Brigand's tables, and this Brigand reads version {NOW + 2}"
    ):
        open_store(f"sqlite:///{old}?mode=ro", create=False)
    for _ in range(2):
        with open_store(f"sqlite:///{old}", create=False) as store, store.writing(1) as writing:
            writing.append([Event(TELL, 1 + writing.last(), 0, 1.0, True, 0.0, "")], writing.last())
        assert colours(old) == [("x", "red")]
    with open_store(f"sqlite:///{old}?mode=ro", create=False) as store, store.reading(1) as reading:
        assert reading.last() == 3
    monkeypatch.setattr(schema, "VERSION", NOW + 1)
    with pytest.raises(StorageError, match=f"with version {NOW + 2} of its tables"):
        open_store(f"sqlite:///{old}", create=False)


def test_a_step_that_fails_leaves_the_older_tables(old, monkeypatch):
    def fail(connection):
        add_colour(connection)
        connection.exec_driver_sql("ALTER TABLE nowhere ADD COLUMN x")

    monkeypatch.setattr(schema, "VERSION", NOW + 1)
    monkeypatch.setattr(schema, "MIGRATIONS", {NOW: fail})
    with pytest.raises(StorageError, match="no such table: nowhere"):
        open_store(f"sqlite:///{old}", create=True)
    monkeypatch.setattr(schema, "MIGRATIONS", {})
    with pytest.raises(StorageError, match=f"does not know version {NOW} of its tables"):
        open_store(f"sqlite:///{old}", create=True)
    monkeypatch.undo()
    with open_store(f"sqlite:///{old}", create=False) as store:
        assert store.names() == ["x"]
    with pytest.raises(sqlite3.OperationalError, match="no such column: colour"):
        colours(old)


def test_newer_tables_are_refused_and_left_alone(old, monkeypatch):
    monkeypatch.setattr(schema, "VERSION", NOW + 1)
    monkeypatch.setattr(schema, "MIGRATIONS", {NOW: add_colour})
    monkeypatch.setattr(schema, "_package", lambda: "9.8.7")
    open_store(f"sqlite:///{old}", create=False).close()
    monkeypatch.undo()
    before = old.read_bytes()
    for options in ("", "?mode=ro"):
        for create in (True, False):
            with pytest.raises(StorageError) as caught:
                open_store(f"sqlite:///{old}{options}", create=create)
            assert f"was written by Brigand 9.8.7, with version {NOW + 1} of its tables" in str(caught.value)
            assert f"this is Brigand {schema._package()}, which knows them up to version {NOW}." in str(
                caught.value
            )
            assert "Install Brigand 9.8.7 or newer to open it" in str(caught.value)
    assert old.read_bytes() == before
