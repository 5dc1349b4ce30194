"""Parts of a study that were computed in several folders are one study again, byte by byte."""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import time

import pytest

import brigand as br
from brigand.studies import work
from brigand.studies.manifest import configuration
from brigand.studies.merge import merge
from brigand.studies.run import run_study
from cli.command import PROGRAM, in_this_process
from studies.packed import alone

STUDY = """\
name: parts
horizon: 20
replications: {replications}
environments:
  - {{name: pair, random: {{family: bernoulli, arms: 2, instances: 5}}}}
  - {{name: one, arms: [{{type: Bernoulli, p: 0.3}}, {{type: Bernoulli, p: 0.6}}]}}
policies: [Random, {other}]
"""


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A study file, whose pieces have four runs."""
    monkeypatch.setattr(work, "STEPS", 20 * 4)
    return write(tmp_path)


def write(tmp_path, replications=9, other="UCB1"):
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.format(replications=replications, other=other), encoding="utf-8")
    return path


def content(folder):
    """Return the bytes of all files of a study."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and "damaged" not in file.parts
    }


@pytest.mark.parametrize("n", [1, 2, 5])
def test_shards_make_the_whole(tmp_path, path, n):
    run_study(path, tmp_path / "whole", workers=1)
    pieces = 0
    for k in range(1, n + 1):
        load = run_study(path, tmp_path / f"part {k}", workers=1, shard=(k, n))
        pieces += len(load.missing)
        assert n == 1 or 0 < len(load.missing) < load.blocks
        assert load.runs == sum(piece.runs for piece in load.missing)
        assert n == 1 or br.load(tmp_path / f"part {k}").missing
    assert pieces == load.blocks
    merged = merge([tmp_path / f"part {k}" for k in range(1, n + 1)], tmp_path / "out")
    assert merged == (load.blocks, 0, [])
    assert content(tmp_path / "out") == content(tmp_path / "whole")
    assert run_study(path, tmp_path / "out", workers=1).missing == []


def test_overlapping_and_unfinished_parts(tmp_path, path):
    """Also of blocks that have different runs in two folders, and into one of the folders itself."""
    run_study(path, tmp_path / "whole", workers=1)
    run_study(write(tmp_path, replications=3), tmp_path / "a", workers=1)
    write(tmp_path)
    seen = []

    def stop(done, total):
        seen.append(done)
        if len(seen) == 9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(path, tmp_path / "a", workers=1, progress=stop)
    with pytest.raises(br.InvalidValueError, match="they differ in replications"):
        merge([tmp_path / "a", tmp_path / "whole"], tmp_path / "out")  # the old study is still the folder's
    run_study(path, tmp_path / "a", workers=1, shard=(1, 3))
    run_study(path, tmp_path / "b", workers=1, shard=(2, 3))
    merged = merge([tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    assert merged.missing == br.load(tmp_path / "out").missing > 0
    run_study(path, tmp_path / "c", workers=1, shard=(3, 3))
    shutil.copytree(tmp_path / "c", tmp_path / "d")
    assert merge([tmp_path / "c", tmp_path / "d"], tmp_path / "out").missing == 0
    assert content(tmp_path / "out") == content(tmp_path / "whole")
    assert merge([tmp_path / "b", tmp_path / "whole"], tmp_path / "b").missing == 0
    assert content(tmp_path / "b") == content(tmp_path / "whole")


def test_damage_is_left_out_and_named(tmp_path, path):
    run_study(path, tmp_path / "a", workers=1)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    first, second, *_ = alone(tmp_path / "a").values()
    first.write_bytes(first.read_bytes()[:-1])
    second.write_bytes(b"")
    alone(tmp_path / "b")[second.stem].unlink()
    merged = merge([tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    assert {stretch.path for stretch in merged.damaged} == {first, second}
    assert merged.missing == 1
    run_study(path, tmp_path / "out", workers=1)
    run_study(path, tmp_path / "whole", workers=1)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_only_parts_of_one_study_and_one_code_are_merged(tmp_path, path):
    run_study(path, tmp_path / "a", workers=1)
    run_study(write(tmp_path, other="FE-Linear"), tmp_path / "b", workers=1)
    with pytest.raises(br.InvalidValueError, match="hold different studies: they differ in policies"):
        merge([tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    shutil.copytree(tmp_path / "a", tmp_path / "c")
    manifest = json.loads((tmp_path / "c" / "manifest.json").read_text(encoding="utf-8"))
    manifest["cells"][0]["key"] = "0" * 40
    manifest["configuration"] = configuration(manifest)
    (tmp_path / "c" / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(br.InvalidValueError, match="computed by different code"):
        merge([tmp_path / "a", tmp_path / "c"], tmp_path / "out")
    with pytest.raises(br.InvalidValueError, match="different studies"):
        merge([tmp_path / "a"], tmp_path / "b")
    with pytest.raises(br.ResultFileError, match="holds no study"):
        merge([tmp_path / "a", tmp_path], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_commands(tmp_path, path):
    for k in (1, 2):
        done = in_this_process("run", "study.yaml", "--shard", f"{k}/2", "--out", f"p{k}", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    done = in_this_process("merge", "p1", "--out", "half", cwd=tmp_path)
    assert "pieces are still missing: brigand run goes on from there" in done.stdout
    done = in_this_process("merge", "p1", "p2", "--out", "all", cwd=tmp_path)
    assert "pieces are in" in done.stdout
    assert "missing" not in done.stdout
    assert in_this_process("compare", "all", cwd=tmp_path).returncode == 0
    for wrong in ("0/2", "3/2", "2", "1/0", "a/b", "1/2/3", "-1/2"):
        done = in_this_process("run", "study.yaml", "--shard", wrong, "--out", "x", cwd=tmp_path)
        assert "shard must be K/N with 1 <= K <= N" in done.stderr
    assert "Missing argument" in in_this_process("merge", "--out", "x", cwd=tmp_path).stderr


def killed(command, times, rng):
    """Run a command and kill it at random moments, then let it finish; return how often it was killed."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    done = 0
    for _ in range(times):
        process = subprocess.Popen(command, start_new_session=True, **quiet)
        time.sleep(rng.uniform(0.4, 1.8))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        done += process.wait() < 0
    subprocess.run(command, check=True, **quiet)
    return done


@pytest.mark.full
def test_killed_shards_merges_and_repairs_leave_the_same_bytes(tmp_path):
    """Each is killed eight times; what is there at last is that of one run that nobody disturbed."""
    path = tmp_path / "study.yaml"
    text = STUDY.format(replications=1500, other="FE-Exp").replace("horizon: 20\n", "horizon: 60000\n")
    path.write_text(text, encoding="utf-8")
    run_study(path, tmp_path / "whole")
    rng = random.Random(0)
    kills = 0
    for k in (1, 2):
        out = tmp_path / f"part {k}"
        kills += killed([PROGRAM, "run", path, "--shard", f"{k}/2", "--out", out, "--workers", "1"], 8, rng)
    kills += killed(
        [PROGRAM, "merge", tmp_path / "part 1", tmp_path / "part 2", "--out", tmp_path / "out"], 8, rng
    )
    files = sorted((tmp_path / "out" / "pieces").glob("*.pack"))
    assert len(files) == 16
    for file in files[::2]:
        file.write_bytes(file.read_bytes()[:-5])
    for file in files[1::4]:
        file.unlink()
    for file in files[3::4]:
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 2] + b"!" + whole[len(whole) // 2 + 1 :])
    kills += killed([PROGRAM, "verify", tmp_path / "out", "--repair"], 8, rng)
    subprocess.run([PROGRAM, "clean", tmp_path / "out", "--yes"], check=True, stdout=subprocess.DEVNULL)
    print(f"{kills} kills; {len(files)} files")
    assert kills > 12
    assert content(tmp_path / "out") == content(tmp_path / "whole")
