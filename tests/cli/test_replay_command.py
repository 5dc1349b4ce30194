"""``brigand replay``: table, figure, report; what it leaves alone; Ctrl-C."""

import json
import os
import signal
import subprocess
import time

import numpy as np
import pandas as pd
import pytest

from cli.command import PROGRAM, brigand
from logs.replayed import coins

FILES = ["replay.csv", "replay.html", "replay.json", "replay.png", "replay.svg", "replay_curves.csv"]
QUICK = ("--replications", "3", "--resamples", "3")


@pytest.fixture
def folder(tmp_path):
    coins(1, 1500).to_pandas().to_csv(tmp_path / "log.csv", index=False)
    return tmp_path


def test_it_writes_table_figure_and_report(folder):
    done = brigand(
        "replay",
        "log.csv",
        "--policy",
        "FE-Linear",
        "--policy",
        "TS-Beta",
        "--out",
        "found",
        *QUICK,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    for text in ("Reward per 1,000 decisions", "FE-Linear", "TS-Beta", "what ran", "The report is"):
        assert text in done.stdout
    found = folder / "found"
    assert sorted(os.listdir(found)) == FILES
    table = pd.read_csv(found / "replay.csv", index_col="policy")
    assert list(table.index) == ["FE-Linear", "TS-Beta"]
    record = json.loads((found / "replay.json").read_text())
    assert [record[key] for key in ("log", "rows", "seed")] == ["log.csv", 1500, 0]
    page = (found / "replay.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "<svg" in page
    assert "http" not in page.replace("http://www.w3.org", "")


def test_the_same_command_writes_the_same_again_and_another_replaces_it(folder):
    command = ("replay", "log.csv", "--policy", "TS-Beta", "--out", "found", *QUICK)
    kept = []
    for _ in range(2):
        assert brigand(*command, cwd=folder).returncode == 0
        kept.append({name: (folder / "found" / name).read_bytes() for name in FILES})
    assert kept[0] == kept[1]
    assert brigand(*command, "--method", "rejection", cwd=folder).returncode == 0
    assert json.loads((folder / "found" / "replay.json").read_text())["method"] == "rejection"


@pytest.mark.parametrize("name", ["replay.csv", "replay.html", "replay.json"])
def test_what_is_not_its_own_is_left(folder, name):
    (folder / name).write_text("mine")
    done = brigand("replay", "log.csv", "--policy", "TS-Beta", "--out", ".", *QUICK, cwd=folder)
    assert done.returncode == 2
    assert "is there and no replay's" in done.stderr
    assert (folder / name).read_text() == "mine"
    assert sorted(os.listdir(folder)) == sorted(["log.csv", name])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--policy", "UCB9"), "unknown policy 'UCB9'"),
        (("--policy", "TS-Beta", "--method", "replay"), "unknown method 'replay'"),
        (("--policy", "TS-Beta", "--replications", "0"), "replications must be in"),
        (("--policy", "TS-Beta", "--reward", "clicks"), "clicks"),
        (("--policy", "TS-Beta", "--method", "rejection", "--least", "1000"), "at least 1,000 are asked for"),
        ((), "policy"),
    ],
)
def test_mistakes_end_in_a_line(folder, options, message):
    done = brigand("replay", "log.csv", "--out", "found", *QUICK, *options, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (folder / "found").exists() or os.listdir(folder / "found") == []


@pytest.mark.full
def test_ctrl_c_ends_it_and_leaves_nothing(tmp_path):
    rng = np.random.default_rng(0)
    arm = rng.integers(10, size=200_000)
    frame = pd.DataFrame({"arm": arm, "reward": (rng.random(len(arm)) < 0.1 + 0.02 * arm).astype(int)})
    frame.to_csv(tmp_path / "log.csv", index=False)
    command = [PROGRAM, "replay", "log.csv", "--policy", "TS-Beta", "--out", "found"]
    running = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "found").exists():  # it is made before the log is read
        time.sleep(0.1)
    time.sleep(2)
    assert running.poll() is None
    running.send_signal(signal.SIGINT)
    errors = running.communicate(timeout=20)[1]
    assert running.returncode == 130
    assert "Stopped" in errors
    assert os.listdir(tmp_path / "found") == []
