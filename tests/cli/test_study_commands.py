"""``brigand status``, ``verify`` and ``clean``, and what the others say of a study that is not done."""

import json
import os
import re
import socket
import subprocess
import sys
import time

import pytest

from brigand.studies import work
from brigand.studies.run import run_study
from brigand.studies.running import Running, notes
from cli.command import in_this_process
from strength import runs
from studies.packed import blocks, files

STUDY = """\
name: small
horizon: 20
replications: {replications}
environments:
  - {{name: pair, random: {{family: bernoulli, arms: 2}}}}
  - {{name: three, random: {{family: bernoulli, arms: 3}}}}
policies: [Random, {other}]
"""


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A study file, whose pieces have four runs."""
    monkeypatch.setattr(work, "STEPS", 20 * 4)
    return write(tmp_path)


def write(tmp_path, replications=10, other="UCB1"):
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.format(replications=replications, other=other), encoding="utf-8")
    return path


def run(path, *arguments):
    """Run a command of the study's folder, in this process."""
    return in_this_process(*arguments, cwd=path.parent, columns=200)


def stopped(path, after):
    """Run a study, and stop it after some pieces."""

    def stop(done, total, seen=[]):  # noqa: B006
        seen.append(done)
        if len(seen) > after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(path, path.parent / "out", workers=1, progress=stop)


@pytest.mark.full
def test_what_is_not_complete_is_said_and_left_out(path):
    assert "holds no study" in run(path, "status", "out").stderr
    stopped(path, 5)
    status = run(path, "status", "out").stdout
    assert status.startswith("small: 1 of 4 combinations of policy and problem, 5 of 20 pieces are there\n")
    left_out = "Not complete, and left out: UCB1 on pair (0 of 5 pieces), and 2 more. `brigand run` goes on."
    assert left_out in status
    for command in ("compare", *runs((), ("plot",)), "report"):
        done = run(path, command, "out")
        assert done.returncode == 0, done.stderr
        assert left_out in done.stdout
        assert "UCB1" not in done.stdout.replace(left_out, "")
    assert left_out.replace("`", "") in (path.parent / "out" / "report.html").read_text("utf-8").replace(
        "`", ""
    )
    run_study(path, path.parent / "out", workers=1)
    for command in ("status", *runs((), ("compare",)), "report"):
        assert "left out" not in run(path, command, "out").stdout
    assert "left out" not in (path.parent / "out" / "report.html").read_text("utf-8")


def test_status_knows_who_computes_and_what_failed(path):
    out = path.parent / "out"
    began = time.time()
    with Running(out) as running:
        running.progress(100, 400)
        (note,) = notes(out)
        assert note.alive
        assert note.left != note.left  # nobody knows yet
        assert "UTC, process" in run(path, "status", "out").stdout
        running._note |= {"began": began - 60}
        running.progress(200, 400)
        running._write()
        (note,) = notes(out)
        assert 110 < note.left < 130
        assert f"process {os.getpid()} on {socket.gethostname()}: 200 of 400 runs, about 2 minutes left" in (
            run(path, "status", "out").stdout
        )
    assert not (out / "running").exists()
    running = Running(out)
    running.progress(7, 9)
    with pytest.raises(RuntimeError), running:
        raise RuntimeError("the disk is full")
    assert re.search(r"failed at .*, after 7 of 9 runs: the disk is full", run(path, "status", "out").stdout)
    with pytest.raises(KeyboardInterrupt), Running(out):
        raise KeyboardInterrupt
    assert list(notes(out)) == []  # who is stopped has not failed
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    note = {
        "host": socket.gethostname(),
        "pid": ended.pid,
        "began": began,
        "at": began,
        "done": 1,
        "total": 2,
    }
    (out / "running").mkdir(parents=True, exist_ok=True)
    for name, content in (
        ("dead", note | {"first": 0}),
        ("far", note | {"first": 0, "host": "elsewhere"}),
        ("long ago", note | {"first": 0, "host": "elsewhere", "at": began - 90_000}),
        ("wrong", {"host": 3}),
        ("infinite", note | {"first": 0, "at": 1e300}),
    ):
        (out / "running" / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    (out / "running" / "text.json").write_text("{", encoding="utf-8")
    assert sorted((note.path.stem, note.alive) for note in notes(out)) == [
        ("dead", False),
        ("far", True),
        ("long ago", False),
    ]
    status = run(path, "status", "out").stdout
    assert status.count("ended without a word") == 2
    assert status.count("running since") == 1


def test_damage_is_named_and_mended(path):
    out = path.parent / "out"
    run_study(path, out, workers=1)
    done = run(path, "verify", "out")
    assert (done.returncode, done.stdout) == (
        0,
        "20 pieces: 0 missing or damaged, 20 as they were written\n",
    )
    before = files(out)
    first, second, third = sorted(path for path in (out / "pieces").glob("*.pack"))[:3]
    lost = sum(second.name[0] == key[0] for key in blocks(out))
    first.write_bytes(before[first.name][:-1])
    second.unlink()
    done = run(path, "verify", "out")
    assert done.returncode == 1
    end = len(before[first.name])
    assert re.fullmatch(
        rf"damaged: {first.relative_to(path.parent)}, bytes [\d,]+ to {end - 1:,}\n"
        rf"20 pieces: {1 + lost} missing or damaged, {19 - lost} as they were written\n",
        done.stdout,
    )
    done = run(path, "verify", "out", "--repair")
    assert done.returncode == 0
    assert f"{1 + lost} pieces computed; what was damaged is in out/damaged" in done.stdout
    assert files(out) == before
    assert run(path, "verify", "out").returncode == 0
    third.write_bytes(b"text" + before[third.name])
    done = run(path, "run", "study.yaml", "--out", "out")
    assert f"damaged: out/pieces/{third.name}, bytes 0 to 4\n" in done.stdout
    assert "that goes into the folder damaged, and is computed again" in done.stdout
    assert files(out) == before


def test_only_what_nobody_wants_is_removed(path):
    out = path.parent / "out"
    run_study(write(path.parent, other="FE-Linear"), path.parent / "fresh", workers=1)
    run_study(write(path.parent), out, workers=1)
    assert run(path, "clean", "out").stdout == "0 pieces and 0 files removed\n"
    run_study(write(path.parent, other="FE-Linear"), out, workers=1)
    (out / "pieces" / "ab").mkdir(exist_ok=True)
    for name in (".0123456789abcdef.block", "0123.npz"):
        (out / "pieces" / "ab" / name).write_bytes(b"left")
    (out / "pieces" / ".0123456789abcdef.part").write_bytes(b"left")
    (out / "damaged").mkdir()
    (out / "damaged" / "x.block").write_bytes(b"x")
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    assert (
        "10 pieces in the folder are of an earlier version"
        in run(path, "run", "study.yaml", "--out", "out").stdout
    )
    with Running(out) as running:
        running.progress(0, 1)
        done = run(path, "clean", "out", "--yes")
        assert f"is in use by process {os.getpid()} on" in done.stderr
    done = run(path, "clean", "out")
    assert re.search(r"Error: remove 10 pieces and 4 files \(0\.\d MB\) from 'out'\? Say so", done.stderr)
    assert run(path, "clean", "out", "--yes").stdout == "10 pieces and 4 files removed\n"
    assert files(out) == files(path.parent / "fresh")
    assert not (out / "damaged").exists()
    assert (out / "notes.txt").exists()
    assert run(path, "verify", "out").returncode == 0
