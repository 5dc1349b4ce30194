"""A file that is changed under a bandit that is open: noticed at the next call, and never written over."""

import contextlib
import shutil
import sqlite3

import pytest

import brigand as br

FE = br.ForcedExploration(br.Linear())


@pytest.fixture
def store(tmp_path):
    return tmp_path / "shop.db"


@pytest.fixture
def bandit(store):
    with br.Bandit(["a", "b", "c"], FE, store=store, name="shop", seed=1) as made:
        yield made


def serve(bandit, steps):
    return [bandit.tell(bandit.ask(), 0.25 * (step % 3)) for step in range(steps)]


def put_back(backup, store):
    """Restore a backup in place, as an administrator would."""
    with (
        contextlib.closing(sqlite3.connect(backup)) as old,
        contextlib.closing(sqlite3.connect(store)) as new,
    ):
        old.backup(new)


def backed_up(store, tmp_path):
    put_back(store, tmp_path / "backup.db")
    return tmp_path / "backup.db"


def test_a_backup_that_is_put_back_is_gone_on_from(bandit, store, tmp_path):
    serve(bandit, 20)
    backup = backed_up(store, tmp_path)
    serve(bandit, 15)
    put_back(backup, store)
    assert bandit.ask().step == 21
    assert len(bandit.history()) == 21
    shutil.copy(backup, tmp_path / "other.db")
    with br.Bandit.open(tmp_path / "other.db", "shop") as other:
        assert other.ask().arm == bandit.history().iloc[-1]["arm"]
    serve(bandit, 30)
    with br.Bandit.open(store, "shop") as again:
        assert again.summary().equals(bandit.summary())
        assert again.history()["status"].eq("pending").sum() == 1


def test_so_it_is_if_others_went_on_from_it_and_further(bandit, store, tmp_path):
    serve(bandit, 20)
    backup = backed_up(store, tmp_path)
    serve(bandit, 5)
    put_back(backup, store)
    with br.Bandit.open(store, "shop") as other:
        serve(other, 30)
    assert bandit.ask().step == 51
    with br.Bandit.open(store, "shop") as again:
        assert again.summary().equals(bandit.summary())


def test_another_bandit_in_its_place_is_refused(bandit, store, tmp_path):
    serve(bandit, 3)
    with br.Bandit(["x", "y"], FE, store=tmp_path / "other.db", name="shop", seed=1) as other:
        serve(other, 7)
    put_back(tmp_path / "other.db", store)
    for call in (bandit.ask, bandit.arms, bandit.summary, lambda: bandit.record([("a", 1)])):
        with pytest.raises(br.StorageError, match="holds another bandit in its place"):
            call()
    with br.Bandit.open(store, "shop") as opened:
        assert len(opened.history()) == 7


def test_a_bandit_that_is_gone_is_refused(bandit, store):
    serve(bandit, 3)
    with contextlib.closing(sqlite3.connect(store)) as connection, connection:
        for table in ("brigand_bandits", "brigand_events", "brigand_snapshots"):
            connection.execute(f"DELETE FROM {table}")
    with pytest.raises(br.StorageError, match="another bandit in its place now, or none"):
        bandit.ask()


def test_tables_that_another_version_has_changed_are_not_written(bandit, store):
    decision = bandit.ask()
    with contextlib.closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE brigand_schema SET version = 99, written_by = '9.9'")
    for call in (bandit.ask, bandit.summary, lambda: bandit.tell(decision, 1)):
        with pytest.raises(br.StorageError, match="brought to version 99, and this process writes version"):
            call()


def test_a_snapshot_that_is_ahead_of_its_log_is_not_used(bandit, store):
    serve(bandit, 5)
    with contextlib.closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE brigand_snapshots SET seq = 1000")
    with br.Bandit.open(store, "shop") as again:
        assert again.summary().equals(bandit.summary())
        assert again.ask().step == 6


def test_a_log_that_is_empty_is_said_to_be_damaged(bandit, store):
    with contextlib.closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("DELETE FROM brigand_events")
        connection.execute("DELETE FROM brigand_snapshots")
    with pytest.raises(br.StorageError, match="damaged: it holds no event of this bandit"):
        bandit.ask()
