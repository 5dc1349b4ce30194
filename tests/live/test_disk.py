"""Disks that are full: that is told, nothing is lost, and all goes on once there is room."""

import contextlib
import ctypes
import functools
import os
import signal
import subprocess

import pytest

import brigand as br
from brigand.live import session
from brigand.live.listing import bandits
from live.calls import ARMS, calls, create, make, refused
from live.twin import Twin, log, state

resource = pytest.importorskip("resource", reason="POSIX only")


class Limited:
    """A disk that is full for files of more than some size: a limit of this process."""

    reason = "disk I/O error"

    def __init__(self, folder):
        self.folder = folder
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        self._hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]

    def leave(self, room):
        """Leave room for so many bytes in SQLite's log, which is what grows, or in a new file."""
        size = max((file.stat().st_size for file in self.folder.glob("*-wal")), default=0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, self._hard))

    def free(self):
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._hard, self._hard))


class Small:
    """A disk of 32 MiB, filled up by another file: only for root, and mounted for this process alone."""

    reason = "full"

    def __init__(self, folder):
        self.folder = folder
        if ctypes.CDLL(None).unshare(0x00020000):  # CLONE_NEWNS
            raise OSError
        for arguments in (["--make-rprivate", "/"], ["-t", "tmpfs", "-o", "size=32m", "tmpfs", folder]):
            subprocess.run(["mount", *arguments], check=True, capture_output=True)

    def leave(self, room):
        """Leave room for so many bytes, rounded down to whole pages."""
        space = os.statvfs(self.folder)
        with open(self.folder / "filler", "wb") as file:
            file.write(bytes(space.f_bavail * space.f_frsize - room))

    def free(self):
        (self.folder / "filler").unlink()


def a_disk(kind, folder):
    """Return a disk of a kind; where none can be mounted, the limit of a process must do."""
    if kind == "small":
        with contextlib.suppress(OSError, AttributeError, subprocess.CalledProcessError):
            return Small(folder)
    return Limited(folder)


both = pytest.mark.parametrize("kind", ["limited", "small"])


def scene_full(kind, folder):
    disk, url = a_disk(kind, folder), f"sqlite:///{folder}/bandits.db"
    bandit = make(url)
    twin = Twin(bandit)
    other = br.Bandit.open(url, "x")  # as long as it is open, SQLite's log stays as long as it is
    for _ in range(2):
        other.summary()
        disk.leave(0)
        for call in calls(bandit):
            assert refused(call, f"{folder}/bandits.db", disk.reason)
            twin.follow(bandit)
        assert bandit.summary()["asked"].sum() == len(bandit.history()) == twin.steps
        assert bandit.arms() == other.arms() == ARMS
        disk.free()
        twin.goes_on_as(bandit, 1)
        twin.goes_on_as(other, 1)
        bandit.ask(2)
    disk.leave(0)
    bandit.close()
    other.close()
    disk.free()
    bandit = br.Bandit.open(url, "x")
    twin.follow(bandit)
    for call in calls(bandit):
        call()
        twin.follow(bandit)


@pytest.mark.every(2)
@both
def test_a_full_disk_is_told_and_nothing_is_lost(warm, kind, tmp_path):
    warm(scene_full, kind, tmp_path)


def scene_full_for_one(kind, folder):
    """When nobody else has the file, a failure puts SQLite's log into the database, if that is possible."""
    disk = a_disk(kind, folder)
    bandit = make(f"sqlite:///{folder}/bandits.db")
    twin, outcomes = Twin(bandit), []
    for room in range(0, 60_000, 6_000):
        disk.leave(room)
        outcomes += [refused(call, "bandits.db") for call in calls(bandit)[:4]]
        disk.free()
        twin.follow(bandit)
    twin.goes_on_as(bandit, 3)
    return outcomes


@both
def test_a_full_disk_when_nobody_else_has_the_file(warm, kind, tmp_path):
    assert {*warm(scene_full_for_one, kind, tmp_path)} == {True, False}


def scene_almost_full(kind, folder):
    """Leave more and more room for a call that writes a big state each time."""
    session.LEAST_EVENTS, session.BYTES = 1, 10**9
    disk = a_disk(kind, folder)
    url = f"sqlite:///{folder}/bandits.db"
    bandit = make(url, br.ForcedExploration(br.Linear(), window=2000))
    bandit.tell_many({decision.id: 1 / 3 for decision in bandit.ask(1500)})
    bandit.close()  # and so the log is empty
    bandit = br.Bandit.open(url, "x")
    bandit.ask()
    twin, outcomes = Twin(bandit), []
    for room in range(0, 160_000, 8000):
        before = len(log(bandit))
        disk.leave(room)
        outcomes.append(refused(lambda: bandit.ask(5), "bandits.db"))
        disk.free()
        assert len(log(bandit)) == before + (0 if outcomes[-1] else 5)
        twin.follow(bandit)
        assert state(br.Bandit.open(url, "x")) == state(bandit)
    twin.goes_on_as(bandit, 3)
    return outcomes


@pytest.mark.every(2)
@both
def test_a_disk_that_becomes_full_within_a_call(warm, kind, tmp_path):
    outcomes = warm(scene_almost_full, kind, tmp_path)
    assert {*outcomes} == {True, False}


def scene_full_for_the_log(kind, folder):
    """Fill the disk with the log itself, which cannot be put into the database either."""
    disk = a_disk(kind, folder)
    bandit = make(f"sqlite:///{folder}/bandits.db")
    disk.leave(2_000_000)
    outcomes = [refused(lambda: bandit.ask(1000)) for _ in range(12)]
    disk.free()
    assert not refused(lambda: bandit.ask(1000))
    assert len(bandit.history()) == 4 + 1000 * (1 + outcomes.count(False))
    Twin(bandit).goes_on_as(bandit, 3)
    return outcomes


@pytest.mark.full
@pytest.mark.every(2)
@both
def test_a_disk_that_is_filled_by_the_log(warm, kind, tmp_path):
    assert {*warm(scene_full_for_the_log, kind, tmp_path)} == {True, False}


def scene_full_while_creating(kind, folder):
    disk, outcomes = a_disk(kind, folder), []
    for turn, room in enumerate([0, 1000, *range(4096, 300_000, 12_288)]):
        name = folder / str(turn)
        name.mkdir()
        disk.folder = name if isinstance(disk, Limited) else folder
        url = f"sqlite:///{name}/bandits.db"
        disk.leave(room)
        outcomes.append(refused(functools.partial(create, url), "bandits.db"))
        disk.free()
        if outcomes[-1]:
            with pytest.raises((br.StorageError, br.UnknownNameError)):
                br.Bandit.open(url, "x")
            create(url)
        bandit = br.Bandit.open(url, "x")
        Twin(bandit).goes_on_as(bandit, 2)
        bandit.close()
    return outcomes


@pytest.mark.full
@pytest.mark.every(2)
@both
def test_a_disk_that_is_full_while_a_bandit_is_made(warm, kind, tmp_path):
    outcomes = warm(scene_full_while_creating, kind, tmp_path)
    assert {*outcomes} == {True, False}


def scene_full_beside(folder):
    """Room for the database, and none for the index that SQLite makes beside it."""
    disk = a_disk("small", folder)
    make(f"sqlite:///{folder}/bandits.db").close()
    disk.leave(0)
    if isinstance(disk, Small):
        assert refused(lambda: br.Bandit.open(f"sqlite:///{folder}/bandits.db", "x"), "bandits.db", "full")


def test_a_disk_that_is_full_beside_a_store_is_said_to_be_full(warm, tmp_path):
    warm(scene_full_beside, tmp_path)


def scene_read_only(folder):
    disk, url = a_disk("small", folder), f"sqlite:///{folder}/bandits.db"
    with make(url) as bandit:
        bandit.tell(bandit.ask().id, 0.5)
        told = bandit.summary()["told"].to_list()
    if isinstance(disk, Small):
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
    else:
        (folder / "bandits.db").chmod(0o444)
        folder.chmod(0o555)
    if os.access(folder, os.W_OK):
        return  # root may write anyway
    before = sorted(os.listdir(folder))
    for _ in range(2):
        with br.Bandit.open(url, "x") as bandit:
            assert bandit.summary()["told"].to_list() == told
            assert len(bandit.history()) == 5
            for call in calls(bandit):
                assert refused(call, "bandits.db", "read-only")
        assert [found.decisions for found in bandits(url)] == [5]
        assert sorted(os.listdir(folder)) == before
    if isinstance(disk, Small):
        subprocess.run(["mount", "-o", "remount,rw", folder], check=True)
        with br.Bandit.open(url, "x") as bandit:
            bandit.ask()


def test_a_store_that_was_closed_can_be_read_where_nothing_can_be_written(warm, tmp_path):
    warm(scene_read_only, tmp_path)
