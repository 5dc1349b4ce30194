"""Files that may only be read, vanish, are damaged, of a newer version, or locked."""

import contextlib
import os
import random
import signal
import sqlite3
from pathlib import Path

import brigand as br
from brigand.storage.schema import VERSION
from live.calls import ARMS, calls, create, make, path_of, refused
from live.twin import Twin, state
from live.warm import Child

# Files that may only be read.


def read_only(url):
    return f"sqlite:///file:{path_of(url)}?mode=ro&uri=true"


def contents(url):
    wal = Path(f"{path_of(url)}-wal")
    return path_of(url).read_bytes(), wal.read_bytes() if wal.exists() else b""


def scene_read_only(url):
    writer = make(url)
    for written_elsewhere in (True, False):
        if not written_elsewhere:
            writer.close()
        before = contents(url)
        bandit = br.Bandit.open(read_only(url), "x")
        for call in calls(bandit):
            assert refused(call, f"{path_of(url)}", "read-only")
        assert bandit.arms() == ARMS
        assert bandit.summary()["asked"].sum() == len(bandit.history()) == 4
        assert bandit.snapshot()["state"] == state(bandit)
        assert refused(lambda: create(read_only(url), name="y"), "read-only")
        again = create(read_only(url), load_if_exists=True)
        assert again._ids.text == bandit._ids.text
        bandit.close()
        again.close()
        assert contents(url) == before
    bandit, writer = br.Bandit.open(read_only(url), "x"), br.Bandit.open(url, "x")
    twin = Twin(bandit)
    twin.goes_on_as(writer, 3)
    twin.follow(bandit)


def test_a_file_that_may_only_be_read(warm, file_url):
    warm(scene_read_only, file_url)


# Files that are not what they were.


def scene_gone(url):
    bandit, path = make(url), path_of(url)
    twin, moved = Twin(bandit), path.with_name("moved")
    path.rename(moved)
    for call in (bandit.ask, bandit.summary, lambda: br.Bandit.open(url, "x")):
        assert refused(call, f"{path}", "cannot be opened")
    assert not path.exists()
    moved.rename(path)
    twin.follow(bandit)
    twin.goes_on_as(bandit, 3)
    path.rename(moved)
    other = make(url)
    for call in (bandit.ask, bandit.summary):
        assert refused(call, f"{path}", "was replaced by another file; open it again")
    bandit.close()
    assert len(other.history()) == 4
    Twin(other).goes_on_as(other, 3)
    Twin(br.Bandit.open(url, "x"))


def test_a_file_that_is_deleted_or_replaced(warm, file_url):
    warm(scene_gone, file_url)


def use(url):
    bandit = br.Bandit.open(url, "x")
    try:
        bandit.summary()
        bandit.history()
        bandit.tell(bandit.ask().id, 0.5)
        bandit.add_arm("new")
    finally:
        bandit.close()


def scene_damaged(url):
    """Cut the file off, clear a page, change a byte where the tables are described: it works or says so."""
    bandit, rng, path = make(url), random.Random(4), path_of(url)
    bandit.close()
    good, outcomes = path.read_bytes(), {}
    files = [("cut", good[:size]) for size in (1, 99, 100, 101, *range(0, len(good), 4096))]
    files += [("cut", b"no database" * 1000), ("cut", rng.randbytes(9000))]
    files += [("page", good[:at] + bytes(4096) + good[at + 4096 :]) for at in range(0, len(good), 4096)]
    for at in rng.sample(range(100, 4096), 60):
        files.append(("byte", good[:at] + bytes([good[at] ^ 128]) + good[at + 1 :]))
    for number, (how, content) in enumerate(files):
        place = path.with_name(f"{number}.db")
        place.write_bytes(content)
        outcomes.setdefault(how, []).append(
            refused(lambda place=place: use(f"sqlite:///{place}"), f"{place}")
        )
    assert all(outcomes["cut"])
    assert any(outcomes["page"])
    assert any(outcomes["byte"])


def test_a_file_that_is_damaged(warm, file_url):
    warm(scene_damaged, file_url)


def scene_damaged_while_open(url):
    bandit, path = make(url), path_of(url)
    bandit.close()
    bandit = br.Bandit.open(url, "x")
    bandit.summary()
    good = path.read_bytes()
    path.write_bytes(good[:5000])
    assert refused(lambda: [bandit.ask() for _ in range(3)], f"{path}")
    path.write_bytes(good)
    assert len(br.Bandit.open(url, "x").history()) == 4


def test_a_file_that_is_cut_off_while_it_is_open(warm, file_url):
    warm(scene_damaged_while_open, file_url)


def change(url, statement, *values):
    with contextlib.closing(sqlite3.connect(path_of(url))) as connection, connection:
        assert connection.execute(statement, values).rowcount == 1


def scene_newer(url):
    bandit = make(url)
    twin = Twin(bandit)
    change(url, "UPDATE brigand_snapshots SET state = json_set(state, '$.schema', 99)")
    again = br.Bandit.open(url, "x")  # replays the log
    twin.follow(again)
    twin.goes_on_as(again, 2)
    twin.follow(bandit)
    again.close()
    bandit.close()
    change(url, "UPDATE brigand_schema SET version = ?, written_by = ?", VERSION + 1, "99.5")
    before = contents(url)
    words = (
        "Brigand 99.5",
        f"version {VERSION + 1}",
        f"Brigand {br.__version__}",
        f"up to version {VERSION}",
    )
    for call in (
        lambda: br.Bandit.open(url, "x"),
        lambda: create(url, load_if_exists=True),
        lambda: create(url),
    ):
        assert refused(call, f"{path_of(url)}", *words)
    assert contents(url) == before


def test_a_file_of_a_newer_version(warm, file_url):
    warm(scene_newer, file_url)


# Files that are locked.


def scene_locked(url):
    bandit = make(url)
    twin = Twin(bandit)
    bandit._backend._store._connections.busy_timeout = 0.02
    with contextlib.closing(sqlite3.connect(path_of(url), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for call in calls(bandit):
            assert refused(call, f"{path_of(url)}", "is locked: others have kept it for 0.02 seconds")
            twin.follow(bandit)
        assert len(bandit.history()) == 4
        other.execute("ROLLBACK")
        twin.goes_on_as(bandit, 3)
        other.execute("BEGIN IMMEDIATE")
        assert refused(bandit.ask, "is locked")
    twin.goes_on_as(bandit, 3)
    end, pipe = os.pipe()
    child = Child(keep, url, pipe)
    os.read(end, 1)
    assert refused(bandit.ask, "is locked")
    child.kill()
    twin.goes_on_as(bandit, 3)


def keep(url, pipe):
    other = sqlite3.connect(path_of(url), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    os.write(pipe, b"x")
    signal.pause()


def test_a_file_that_another_process_keeps_locked(warm, file_url):
    warm(scene_locked, file_url)
