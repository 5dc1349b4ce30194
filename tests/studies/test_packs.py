"""Packs: no block is lost, whoever folds, adds or is killed meanwhile; and the files at last are the same."""

import itertools
import os
import random
import shutil
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import brigand as br
from brigand.studies import kept
from brigand.studies.packs import DIGITS, Packs, _files
from strength import runs
from studies.packed import alone, blocks, files

STEPS = [1, 10]


def block(number, replications=1):
    """Return a block's key and content; those of one number are the same block."""
    key = f"{random.Random(number).getrandbits(160):040x}"
    regret = np.random.default_rng(number).random((5, 2))[:replications]
    task = {"checkpoints": STEPS, "pulls": False, "parts": [], "place": [0, 0], "number": number}
    return key, kept.content_of(key, task, [replications], {"regret": regret})


@pytest.fixture
def whole(tmp_path):
    """The files of blocks that one process wrote, undisturbed."""

    def of(numbers, replications=1):
        folder = tmp_path / "whole"
        shutil.rmtree(folder, ignore_errors=True)
        packs = Packs(folder / "pieces")
        for number in numbers:
            packs.add(*block(number, replications))
        packs.fold(tmp_path / "aside")
        return files(folder)

    return of


def test_there_are_sixteen_files_whatever_the_order(tmp_path, whole):
    numbers = list(range(300))
    expected = whole(numbers)
    assert len(expected) == len(DIGITS) == 16
    random.Random(0).shuffle(numbers)
    packs = Packs(tmp_path / "out" / "pieces")
    for place, number in enumerate(numbers):
        packs.add(*block(number))
        if place % 100 == 7:
            packs.fold(tmp_path / "aside")
    packs.fold(tmp_path / "aside")
    assert files(tmp_path / "out") == expected
    assert set(packs.keys()) == {block(number)[0] for number in numbers}
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    Packs(tmp_path / "out" / "pieces").fold(tmp_path / "aside")
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    assert not (tmp_path / "aside").exists()


def test_what_has_more_runs_is_kept(tmp_path, whole):
    for order in itertools.permutations([1, 3, 5]):
        packs = Packs(tmp_path / "out" / "pieces")
        for replications in order:
            packs.add(*block(0, replications))
            assert Packs(packs.folder).kept(block(0)[0]).done == packs.kept(block(0)[0]).done
        assert packs.kept(block(0)[0]).done == [5]
        packs.fold(tmp_path / "aside")
        assert files(tmp_path / "out") == whole([0], 5)
        shutil.rmtree(tmp_path / "out")


def test_blocks_in_files_of_their_own_are_folded(tmp_path, whole):
    expected = whole(range(40))
    paths = alone(tmp_path / "whole")
    assert len(paths) == 40
    assert set(Packs(tmp_path / "whole" / "pieces").keys()) == set(paths)
    Packs(tmp_path / "whole" / "pieces").fold(tmp_path / "aside")
    assert files(tmp_path / "whole") == expected
    assert not [path for path in (tmp_path / "whole" / "pieces").iterdir() if path.is_dir()]


def test_several_add_and_fold_at_once(tmp_path, whole):
    """Threads stand for processes: each has files of its own open, and knows of the others by the folder."""
    folder, each = tmp_path / "out", runs(40, 400)
    failed = []

    def work(number):
        rng = random.Random(number)
        packs = Packs(folder / "pieces")
        try:
            for one in range(each):
                packs.add(*block(number * each // 2 + one))  # half of them another adds, too
                if rng.random() < 0.1:
                    packs.fold(tmp_path / "aside")
                if rng.random() < 0.2:
                    packs.content(rng.choice(list(packs.keys())))
            packs.fold(tmp_path / "aside")
        except BaseException as error:
            failed.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert failed == []
    assert files(folder) == whole(range(5 * each // 2))


def test_a_log_that_is_taken_during_a_look_is_forgotten(tmp_path, monkeypatch):
    """Somebody adds to it, so it is read on; and it has another name before it is opened."""
    writer = Packs(tmp_path / "pieces")
    numbers = [n for n in range(100) if block(n)[0][0] == "a"][:2]
    writer.add(*block(numbers[0]))
    reader = Packs(tmp_path / "pieces")
    writer.add(*block(numbers[1]))

    def taken(folder):
        yield from list(_files(folder))
        for log in folder.glob("*.log"):
            log.replace(log.with_suffix(".part"))

    with monkeypatch.context() as patch:
        patch.setattr("brigand.studies.packs._files", taken)
        reader.look()
    for number in numbers:
        key, content = block(number)
        _, line, payload = reader.content(key)
        assert line + payload == content


class Killed(BaseException):
    """Nobody catches it."""


def test_a_kill_at_any_step_of_a_fold_loses_nothing(tmp_path, whole, monkeypatch):
    """At every call that changes a file's name, removes it or writes to the disk."""
    numbers = [n for n in range(200) if block(n)[0][0] in "ab"]
    expected = whole(numbers)
    contents = blocks(tmp_path / "whole")
    steps = 0
    for stop in itertools.count():
        folder = tmp_path / "out"
        shutil.rmtree(folder, ignore_errors=True)
        packs = Packs(folder / "pieces")
        for place, number in enumerate(numbers):
            packs.add(*block(number))
            if place == len(numbers) // 2:
                packs.fold(tmp_path / "aside")
        count = itertools.count()

        def killed(call, stop=stop, count=count):
            def wrapped(*arguments, **settings):
                if next(count) == stop:
                    raise Killed
                return call(*arguments, **settings)

            return wrapped

        with monkeypatch.context() as patch:
            for owner, name in ((Path, "replace"), (Path, "unlink"), (os, "fsync")):
                patch.setattr(owner, name, killed(getattr(owner, name)))
            try:
                packs.fold(tmp_path / "aside")
            except Killed:
                steps += 1
        assert blocks(folder) == contents
        Packs(folder / "pieces").fold(tmp_path / "aside")
        assert files(folder) == expected
        if next(count) <= stop:
            break
    assert steps > 8


def test_who_adds_to_a_log_that_was_taken_goes_on_in_another(tmp_path, whole):
    first, second = Packs(tmp_path / "out" / "pieces"), Packs(tmp_path / "out" / "pieces")
    same = [n for n in range(100) if block(n)[0][0] == "a"][:4]
    for number in same:
        first.add(*block(number))
        assert first.content(block(number)[0])
        second.fold(tmp_path / "aside")
    assert files(tmp_path / "out") == whole(same)
    for number in same:
        assert first.content(block(number)[0])


def test_a_full_disk_loses_nothing(tmp_path, whole, monkeypatch):
    packs = Packs(tmp_path / "out" / "pieces")
    for number in range(30):
        packs.add(*block(number))
    before = blocks(tmp_path / "out")

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(br.ResultFileError, match="No space left"):
            packs.add(*block(31))
        patch.setattr(os, "fsync", full)
        with pytest.raises(br.ResultFileError, match="No space left"):
            packs.fold(tmp_path / "aside")
    assert blocks(tmp_path / "out") == before
    Packs(tmp_path / "out" / "pieces").fold(tmp_path / "aside")
    assert files(tmp_path / "out") == whole(range(30))


@pytest.mark.parametrize("seed", range(runs(8, 500)))
def test_of_a_damaged_pack_all_blocks_are_found_that_are_whole(tmp_path, whole, seed):
    rng = random.Random(seed)
    numbers = [n for n in range(200) if block(n)[0][0] == "a"]
    ((name, content),) = whole(numbers).items()
    path = tmp_path / "whole" / "pieces" / name
    start = rng.randrange(len(content))
    end = min(len(content), start + rng.choice([0, 1, 10, 500]))
    new = rng.choice([b"", b"\n", content[:10], rng.randbytes(end - start)])
    path.write_bytes(content[:start] + new + content[end:])
    if path.read_bytes() == content:
        return
    Packs(path.parent).fold(tmp_path / "aside")  # by who has not read the blocks themselves
    path.write_bytes(content[:start] + new + content[end:])
    packs = Packs(path.parent)
    there = {}
    for key in list(packs.keys()):
        try:
            there[key] = b"".join(packs.content(key)[1:])
        except kept.DamagedBlockError:
            assert packs.kept(key) is None
    assert packs.damage
    expected = dict(block(n) for n in numbers)
    assert there.items() <= expected.items()
    # What is lost: those that were changed, and one that a length that no longer fits runs into.
    assert len(there) >= len(expected) - 3 - (end - start) // 200
    packs.fold(tmp_path / "aside")
    assert not Packs(path.parent).damage
    assert blocks(tmp_path / "whole").items() >= there.items()
