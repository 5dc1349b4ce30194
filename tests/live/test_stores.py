"""Whole bandits and stores: copied, deleted, backed up."""

import sqlite3
import threading

import pytest

import brigand as br
from brigand.live import stores
from brigand.live.listing import bandits
from live.common import FE, contents, state
from stores import KINDS, a_store, run

ARMS = ["a", "b"]


@pytest.fixture
def bandit(url):
    with br.Bandit(ARMS, FE, store=url, name="shop", seed=1) as made:
        for decision in made.ask(30):
            made.tell(decision, 0.1 * (decision.step % 7))
        made.add_arm("c")
        made.ask(3)
        yield made


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_is_the_bandit_with_its_ids(bandit, url, kind, request, monkeypatch):
    monkeypatch.setattr("brigand.storage.records.PAGE_SIZE", 10)
    pending = bandit.ask()
    with a_store(kind, request) as other:
        assert stores.copy(url, "shop", other, "moved") == len(bandit.snapshot()["events"][0])
        with br.Bandit.open(other, "moved") as copied:
            assert contents(copied) == contents(bandit)
            assert copied.tell(pending.id, 0.5) is br.Told.LEARNED
            assert bandit.tell(pending.id, 0.5) is br.Told.LEARNED
            mine, theirs = ([made.ask() for _ in range(20)] for made in (bandit, copied))
            assert [decision.arm for decision in mine] == [decision.arm for decision in theirs]
            assert not {decision.id for decision in mine} & {decision.id for decision in theirs}
            for decision in theirs:
                with pytest.raises(br.UnknownDecisionError, match="no id of a decision"):
                    bandit.tell(decision, 0.5)
            with br.Bandit.open(other, "moved") as again:  # every process knows all ids, old and new
                assert again.tell(pending.id, 0.5) is br.Told.REPEATED
                assert again.tell(theirs[0].id, 0.5) is br.Told.LEARNED
                copied.tell(theirs[0].id, 0.5)
        with pytest.raises(br.InvalidValueError, match="named 'moved' is in"):
            stores.copy(url, "shop", other, "moved")


def test_a_copy_needs_a_bandit_and_a_name_that_is_free(bandit, url):
    with pytest.raises(br.UnknownNameError, match="Did you mean 'shop'"):
        stores.copy(url, "shpo", url, "x")
    with pytest.raises(br.InvalidValueError, match="'shop' is in"):
        stores.copy(url, "shop", url)


def test_a_copy_beside_itself(bandit, url):
    stores.copy(url, "shop", url, "again")
    with br.Bandit.open(url, "again") as copied:
        assert contents(copied) == contents(bandit)


def test_what_is_deleted_is_gone_and_said_to_be(bandit, url):
    br.Bandit(ARMS, FE, store=url, name="other").close()
    stores.delete(url, "shop")
    for call in (bandit.ask, bandit.summary, bandit.history, lambda: bandit.tell(bandit._ids.id_of(1), 0.1)):
        with pytest.raises(br.StorageError, match="another bandit in its place now, or none"):
            call()
    with pytest.raises(br.UnknownNameError, match="unknown bandit 'shop'"):
        stores.delete(url, "shop")
    assert [found.name for found in bandits(url)] == ["other"]
    assert run(url, "SELECT count(*) FROM brigand_events") == [(2,)]
    assert run(url, "SELECT count(*) FROM brigand_snapshots") == [(1,)]
    with br.Bandit(ARMS, FE, store=url, name="shop", seed=5) as new:
        with pytest.raises(br.StorageError, match="another bandit in its place now, or none"):
            bandit.ask()
        assert new.ask().step == 1


def test_a_backup_is_made_while_others_go_on(file_url, tmp_path):
    going = True

    def serve():
        with br.Bandit.open(file_url, "shop") as mine:
            while going:
                mine.tell(mine.ask(), 0.5)

    with br.Bandit(ARMS, FE, store=file_url, name="shop", seed=1) as bandit:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            for number in range(5):
                stores.backup(file_url, tmp_path / f"{number}.db")
        finally:
            going = False
            thread.join()
        last = len(bandit.history())
    assert sorted(file.name for file in tmp_path.iterdir()) == [f"{number}.db" for number in range(5)]
    for number in range(5):
        connection = sqlite3.connect(tmp_path / f"{number}.db")
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()
        with br.Bandit.open(tmp_path / f"{number}.db", "shop") as old:
            assert len(old.history()) <= last
            assert old.ask().step == len(old.history())


def test_a_backup_replaces_nothing_and_leaves_no_part(file_url, tmp_path):
    br.Bandit(ARMS, FE, store=file_url, name="shop").close()
    (tmp_path / "there").write_text("mine")
    with pytest.raises(br.InvalidValueError, match="is there already"):
        stores.backup(file_url, tmp_path / "there")
    with pytest.raises(br.StorageError, match="cannot be opened: unable to open"):
        stores.backup(file_url, tmp_path / "nowhere" / "x.db")
    with pytest.raises(br.StorageError, match="there is no file"):
        stores.backup(tmp_path / "none.db", tmp_path / "x.db")
    assert [file.name for file in tmp_path.iterdir()] == ["there"]
    assert (tmp_path / "there").read_text() == "mine"


def test_a_backup_of_a_server_is_not_ours(request, tmp_path):
    with a_store("postgresql", request) as url:
        br.Bandit(ARMS, FE, store=url, name="shop").close()
        with pytest.raises(br.InvalidValueError, match="use pg_dump"):
            stores.backup(url, tmp_path / "x.db")


def test_bandits_are_listed_by_page(url):
    names = ["b", "a", "é", "a b", "", "B"]
    for number, name in enumerate(names):
        with br.Bandit(ARMS, FE, store=url, name=name) as bandit:
            bandit.add_arm("c")
            bandit.remove_arm("a")
            bandit.record([("b", 0.5)] * number)
    whole = bandits(url)
    assert [(found.name, found.decisions) for found in whole] == sorted(zip(names, range(6), strict=True))
    assert {tuple(found.arms) for found in whole} == {("b", "c")}
    assert bandits(url, limit=2) == whole[:2]
    assert bandits(url, "B") == whole[2:]
    assert bandits(url, "a", 2) == whole[3:5]
    assert bandits(url, "é") == bandits(url, limit=0) == []


def test_more_events_than_are_written_at_once(url, monkeypatch):
    monkeypatch.setattr("brigand.storage.records.CHUNK", 3)
    monkeypatch.setattr("brigand.storage.records.PAGE_SIZE", 5)
    past = [(ARMS[number % 2], number / 10) for number in range(8)] + [("a", None)]
    with br.Bandit(ARMS, FE, store=url, name="x", seed=0) as bandit:
        bandit.record(past)
        memory = br.Bandit(ARMS, FE, seed=0)
        memory.record(past)
        expected, found = ([e._replace(at=0.0) for e in b._session.events()] for b in (memory, bandit))
        assert found == expected
        with br.Bandit.open(url, "x") as other:
            assert state(other) == state(bandit)
