"""Clusters as they are: workers that come late, a scheduler that is lost, pieces that travel together."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

import brigand as br
from brigand.studies.cluster import LARGEST_BATCH, LONG, _kind, _steps, batches
from brigand.studies.run import run_study
from brigand.studies.work import STEPS, Piece
from cli.command import PROGRAM
from studies.packed import blocks

STUDY = """\
name: cluster
horizon: 20000
replications: {replications}
environments:
  - random: {{family: bernoulli, arms: 3, instances: 60}}
policies: [FE-Exp, UCB1]
"""


def piece(number, runs=1, horizon=10):
    task = {"parts": [[0, 0, runs]], "horizon": horizon, "policy": {"type": "UCB1"}, "method": "step"}
    return Piece(task, str(number))


def test_small_pieces_travel_together_and_large_ones_alone():
    small = [piece(number) for number in range(20_000)]
    made = list(batches(iter(small), {}))
    assert [one for batch in made for one in batch] == small
    sizes = [len(batch) for batch in made]
    assert sizes[:16] == [1] * 16  # so that all workers begin
    assert sizes[:-1] == sorted(sizes[:-1])
    assert max(sizes) == LARGEST_BATCH
    large = [piece(number, runs=STEPS // 100, horizon=100) for number in range(30)]
    assert [len(batch) for batch in batches(iter(large), {})] == [1] * 30
    assert list(batches(iter([]), {})) == []
    slow = {_kind(small[0]): LONG / 2 / _steps(small[0])}  # as was measured
    assert {len(batch) for batch in list(batches(iter(small), slow))[20:-1]} == {2}


@pytest.fixture
def address():
    return f"tcp://127.0.0.1:{19000 + os.getpid() % 1000}"


@pytest.fixture
def start():
    """A function that starts a scheduler or a worker, which ends with the test."""
    running = []

    def start_it(kind, *arguments):
        code = f"from distributed.cli.dask_{kind} import main; main()"
        command = [sys.executable, "-c", code, *arguments, "--no-dashboard"]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        running.append(process)
        return process

    yield start_it
    for process in running:
        process.kill()
        process.wait()


@pytest.mark.full
def test_a_cluster_without_workers_is_one_line_and_what_is_done_stays(tmp_path, start, address):
    pytest.importorskip("distributed")
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.format(replications=1), encoding="utf-8")
    start("scheduler", "--port", address.rpartition(":")[2])
    command = [PROGRAM, "run", str(path), "--out", str(tmp_path / "out"), "--dask", address, "--wait", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines() == [
        f"Error: the cluster at '{address}' has had no worker for 3 s; what was done is kept. Start workers, "
        "or wait longer for them with --wait."
    ]


@pytest.mark.full
def test_late_workers_are_used_and_a_lost_scheduler_is_one_line(tmp_path, start, address):
    distributed = pytest.importorskip("distributed")
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.format(replications=3000), encoding="utf-8")
    scheduler = start("scheduler", "--port", address.rpartition(":")[2])
    worker = ("worker", address, "--no-nanny", "--nthreads", "1")
    start(*worker)
    command = [PROGRAM, "run", str(path), "--out", str(tmp_path / "out"), "--dask", address]
    study = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while len(blocks(tmp_path / "out")) < 3:
        assert study.poll() is None
        time.sleep(0.1)
    for _ in range(2):
        start(*worker)
    with distributed.Client(address) as client:
        end = time.monotonic() + 60
        while sum(map(bool, client.processing().values())) < 3:
            assert time.monotonic() < end
            time.sleep(0.1)
    scheduler.send_signal(signal.SIGKILL)
    _, errors = study.communicate(timeout=60)
    assert study.returncode == 1
    (line,) = errors.strip().splitlines()
    gone = f"Error: the scheduler at '{address}' is gone; what was done is kept, and the same command"
    why = line.removeprefix(f"{gone} goes on from there ")
    assert why in ("(FuturesCancelledError).", "(CommClosedError).")  # by what it was doing at that moment
    assert (
        "failed at"
        in subprocess.run(
            [PROGRAM, "status", str(tmp_path / "out")], capture_output=True, text=True, check=True
        ).stdout
    )
    found = blocks(tmp_path / "out")
    assert len(found) >= 3
    path.write_text(STUDY.format(replications=60), encoding="utf-8")  # the first of them, on threads
    run_study(path, tmp_path / "threads")
    grown = tmp_path / "grown"
    shutil.copytree(tmp_path / "out", grown)
    run_study(path, grown)
    assert br.load(grown).summary().equals(br.load(tmp_path / "threads").summary())
