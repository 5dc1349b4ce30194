"""Running studies: resumed after any kill, by any number of workers, with the same bytes in the files."""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import brigand as br
from brigand.environments.environment import Environment
from brigand.studies import expand
from brigand.studies.folder import StudyFolder
from brigand.studies.run import plan_study, run_study
from brigand.studies.work import cell_of, compute, work
from strength import runs
from studies.packed import blocks, files

KILLS = 20
DASK_KILLS = 3
"""A cluster takes seconds to start; twenty were tried once."""
PROGRAM = shutil.which("brigand", path=str(Path(sys.executable).parent))
TEXT = """\
name: test
horizon: {horizon}
replications: {replications}
checkpoints: 5
environments:
  - name: pair
    arms: [{{type: Gaussian, mu: 0, sigma: 1}}, {{type: Gaussian, mu: 0.5, sigma: 1}}]
  - name: random
    random: {{family: bernoulli, arms: 3, instances: 7}}
policies:
  - FE-Exp
  - {{policy: FE-Linear, parameters: {{window: 50}}}}
  - {{policy: UCB1-sigma, parameters: {{sigma: 1}}}}
"""


def write(folder, horizon=1000, replications=5, extra=""):
    path = folder / "study.yaml"
    path.write_text(TEXT.format(horizon=horizon, replications=replications) + extra, encoding="utf-8")
    return path


def test_a_study_has_the_numbers_of_simulate(tmp_path):
    path = write(tmp_path)
    run_study(path, tmp_path / "out")
    study, _, load = plan_study(path, tmp_path / "out")
    assert load.missing == []
    problem, named = study.problems[1], study.policies[1]
    results = br.load(tmp_path / "out")
    regret, pulls, forced = (
        call(problem.name, named.name) for call in (results.regret, results.pulls, results.forced)
    )
    for instance in range(7):
        environment = br.random_environment("bernoulli", 3, 1000, 1, instance)
        data = br.simulate(
            environment, {"x": named.policy}, 1000, 5, 0, checkpoints=study.checkpoints(1000)
        ).dataset.sel(policy="x")
        assert np.array_equal(data["regret"], regret[instance])
        assert np.array_equal(data["pulls"], pulls[instance])
        assert np.array_equal(data["forced"], forced[instance])


def test_a_run_makes_each_problem_once(tmp_path, monkeypatch):
    """Of random instances the first and, to be sure that it can be made, the last."""
    path = write(tmp_path, horizon="[1000, 2000]")
    run_study(path, tmp_path / "out")
    made, check, draw = [], Environment.__post_init__, br.random_environment
    monkeypatch.setattr(Environment, "__post_init__", lambda self: made.append(self) or check(self))
    monkeypatch.setattr(expand, "_kept", draw)
    run_study(path, tmp_path / "out")  # all pieces are there: none makes environments
    monkeypatch.undo()
    pair = br.Environment.stationary([br.Gaussian(0, 1), br.Gaussian(0.5, 1)])
    assert made == [pair, *(draw("bernoulli", 3, T, 1, seed) for T in (1000, 2000) for seed in (0, 6))]


def test_runs_are_the_same_for_any_blocks(tmp_path, monkeypatch):
    path = write(tmp_path)
    run_study(path, tmp_path / "whole")
    whole = br.load(tmp_path / "whole")
    monkeypatch.setattr("brigand.studies.work.STEPS", 3000)
    run_study(path, tmp_path / "parts", workers=2)
    study, _, load = plan_study(path, tmp_path / "parts")
    assert load.blocks > 20
    parts = br.load(tmp_path / "parts")
    for problem in study.problems:
        for named in study.policies:
            names = problem.name, named.name
            assert np.array_equal(parts.regret(*names), whole.regret(*names))
            _, task = cell_of(study, problem, named)
            task |= {"checkpoints": [1000], "pulls": False, "parts": [[0, 2, 4]]}
            assert np.array_equal(compute(task)["regret"][:, 0], whole.final(*names)[0, 2:4])


def test_running_again_does_nothing_and_a_change_recomputes_what_it_touches(tmp_path):
    path = write(tmp_path)
    out = tmp_path / "out"
    first = run_study(path, out)
    assert len(first.missing) == first.blocks == 6
    before = blocks(out)
    again = run_study(path, out)
    assert again.missing == []
    more = run_study(write(tmp_path, extra="  - FE-Constant\n"), out)
    assert len(more.missing) == 2
    assert more.unused == 0
    assert before.items() < blocks(out).items()
    other = run_study(write(tmp_path, replications=6), out)
    assert [piece.runs for piece in other.missing] == 3 * [1] + 3 * [7]  # the sixth of each instance
    assert other.unused == 2
    run_study(write(tmp_path, replications=6), tmp_path / "anew")
    assert blocks(tmp_path / "anew").items() < blocks(out).items()
    back = run_study(write(tmp_path), out)
    assert back.missing == []
    assert json.loads((out / "manifest.json").read_text())["replications"] == 5


@pytest.mark.full
def test_two_processes_on_one_folder(tmp_path):
    path = write(tmp_path, horizon=20_000, replications=300)
    run_study(path, tmp_path / "alone")
    command = [PROGRAM, "run", str(path), "--out", str(tmp_path / "both"), "--workers", "1"]
    both = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait(120) for process in both] == [0, 0]
    assert files(tmp_path / "both") == files(tmp_path / "alone")


def kill_at_random_moments(tmp_path, times, arguments):
    """Kill a run `times` times, then let it finish; print what was there after each, and what came last."""
    path = write(tmp_path, horizon=20_000, replications=1500)
    run_study(path, tmp_path / "whole")
    whole, out = blocks(tmp_path / "whole"), tmp_path / "killed"
    assert len(whole) > 20
    command = [PROGRAM, "run", str(path), "--out", str(out), *arguments]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    rng = random.Random(0)
    there = [0]
    for _ in range(times):
        process = subprocess.Popen(command, start_new_session=True, **quiet)
        # At any moment: while it starts, or when it has written some pieces.
        goal, patience = there[-1] + rng.choice([0, 1, 2, 5]), time.monotonic() + 60
        while process.poll() is None and time.monotonic() < patience and len(blocks(out)) < goal:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.5))
        with contextlib.suppress(ProcessLookupError):  # it was done
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        found = blocks(out)
        there.append(len(found))
        assert found.items() <= whole.items()  # nothing half-written, nothing else
    subprocess.run(command, check=True, **quiet)
    assert files(out) == files(tmp_path / "whole")
    left = sum(path.name.startswith(".") for path in out.rglob("*.part"))
    print(
        f"pieces there after each kill: {there[1:]}; {len(whole)} in all; the last run computed "
        f"{len(whole) - there[-1]}; temporary files of packs: {left}"
    )
    assert there[-1] > 0


@pytest.mark.full
def test_kill_at_random_moments(tmp_path):
    kill_at_random_moments(tmp_path, KILLS, ["--workers", "2"])


@pytest.mark.full
def test_kill_a_dask_run_at_random_moments(tmp_path):
    pytest.importorskip("distributed")
    kill_at_random_moments(tmp_path, DASK_KILLS, ["--dask", "local:2"])


@pytest.mark.full
def test_a_lost_dask_worker_is_replaced_and_the_files_are_the_same(tmp_path):
    distributed = pytest.importorskip("distributed")
    path = write(tmp_path, horizon=20_000, replications=400)
    run_study(path, tmp_path / "threads")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())
        killed = []

        def progress(done, total):
            if not killed:
                os.kill(pids[0], signal.SIGKILL)
                killed.append(done)

        run_study(path, tmp_path / "cluster", dask=cluster.scheduler_address, progress=progress)
    assert killed
    assert files(tmp_path / "cluster") == files(tmp_path / "threads")


HIDE = """
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "brigand":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hide())
"""


@pytest.mark.full
@pytest.mark.parametrize("without", ["scheduler", "worker"])
def test_a_cluster_that_lacks_brigand(tmp_path, without):
    pytest.importorskip("distributed")
    (tmp_path / "sitecustomize.py").write_text(HIDE, encoding="utf-8")
    path, port = write(tmp_path), 18786 + (without == "worker")

    def start(kind, *arguments):
        settings = os.environ | ({"PYTHONPATH": str(tmp_path)} if kind == without else {})
        code = f"from distributed.cli.dask_{kind} import main; main()"
        command = [sys.executable, "-c", code, *arguments]
        return subprocess.Popen(command, env=settings, stderr=subprocess.DEVNULL)

    address = f"tcp://127.0.0.1:{port}"
    running = [
        start("scheduler", "--port", str(port), "--no-dashboard"),
        start("worker", address, "--no-nanny", "--no-dashboard"),
    ]
    try:
        if without == "worker":
            with pytest.raises(br.InvalidValueError, match=r"a worker of .* has no module 'brigand'"):
                run_study(path, tmp_path / "out", dask=address)
        else:
            run_study(path, tmp_path / "out", dask=address)
    finally:
        for process in running:
            process.kill()
            process.wait()


@pytest.mark.full
def test_a_cluster_that_is_not_there():
    pytest.importorskip("distributed")
    from brigand.studies import cluster

    for address, message in (
        ("local:x", "local:N"),
        ("local:0", ">= 1"),
        ("nonsense", "no Dask scheduler"),
        ("tls://127.0.0.1:9", "no Dask scheduler"),
    ):
        with pytest.raises(br.InvalidValueError, match=message):
            list(cluster.on_dask(iter([]), address))


def test_a_worker_with_other_code_is_refused(tmp_path):
    *_, load = plan_study(write(tmp_path), None)
    with pytest.raises(br.PolicyError, match="another version"):
        work(load.missing[0].task, "0" * 40)


def test_damaged_folders_and_full_disks(tmp_path, monkeypatch):
    path = write(tmp_path)
    out = tmp_path / "out"
    whole = run_study(path, out) and files(out)
    store = StudyFolder(out)
    assert len(store.keys()) == 6  # as it was read before the damage
    held = {name: [key for key in blocks(out) if key[0] == name[0]] for name in sorted(whole)}
    name, (key,) = next((name, keys) for name, keys in held.items() if len(keys) == 1)
    others = [other for other in held if other != name]
    damaged, content = out / "pieces" / name, whole[name]
    flipped = content[:-200] + bytes([content[-200] ^ 1]) + content[-199:]
    for wrong in (
        content[:100],
        content[:-1],
        b"",
        b"some text\n",
        b"{}\n",
        whole[others[0]],
        flipped,
        b"[]" + content,
        content.replace(b'"done": [5', b'"done": [4', 1),
        content.replace(b'"seed": 0', b'"seed": 1', 1),
    )[:: runs(3, 1)]:
        assert wrong != content
        damaged.write_bytes(wrong)
        if wrong != b"[]" + content:  # what stands before a block does it no harm
            with pytest.raises(br.ResultFileError, match=r"computes it again|run the study again"):
                StudyFolder(out).get(key)
        with pytest.raises(br.ResultFileError, match=r"is damaged: `brigand run`, .* computes it again"):
            store.get(key)
        load = run_study(path, out)
        assert {stretch.path for stretch in load.damaged} == {damaged}
        assert {piece.key for piece in load.missing} <= {key}
        assert files(out) == whole
        aside = [file.read_bytes() for file in (out / "damaged").iterdir()]
        assert wrong in aside or any(one in wrong for one in aside)
        shutil.rmtree(out / "damaged")
        store = StudyFolder(out)
        assert len(store.keys()) == 6
    damaged.unlink()
    with pytest.raises(br.ResultFileError, match="run the study again"):
        store.get(key)
    assert len(run_study(path, out).missing) == 1
    with pytest.raises(br.ResultFileError, match="holds no study"):
        StudyFolder(tmp_path).manifest()
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(br.ResultFileError, match="cannot be written"):
        run_study(path, blocked)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(br.ResultFileError, match="No space left"):
        run_study(write(tmp_path, replications=9), out)
    monkeypatch.undo()
    assert files(out) == whole
    assert run_study(write(tmp_path), out).missing == []
