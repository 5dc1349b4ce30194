"""The command ``brigand evaluate``."""

import json

import numpy as np
import pytest

import brigand as br
from cli.command import brigand
from conftest import DATA
from logs import made


@pytest.fixture
def folder(tmp_path):
    """A log of two arms and two segments, as a CSV file, and a rule."""
    log = made.uniform(np.random.default_rng(1), 1, 2000, (0.2, 0.8))[0]
    rows = zip(log.arm, log.reward, log.propensity, strict=True)
    lines = [f"{'ab'[a]},{r:g},{p},{'xy'[i % 2]}" for i, (a, r, p) in enumerate(rows)]
    (tmp_path / "log.csv").write_text("\n".join(["arm,paid,propensity,segment", *lines]), encoding="utf-8")
    rule = {"x": {"a": 0.3, "b": 0.7}, "y": {"b": 1}}
    (tmp_path / "rule.json").write_text(json.dumps(rule), encoding="utf-8")
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "target"),
    [
        (["uniform"], "uniform"),
        (["b"], "b"),
        (["a=0.3", "--target", "b=0.7"], {"a": 0.3, "b": 0.7}),
        (["rule.json"], {"x": {"a": 0.3, "b": 0.7}, "y": {"b": 1}}),
    ],
)
def test_it_prints_what_evaluate_finds(folder, words, target):
    log = br.Log.read(folder / "log.csv", reward="paid")
    command = ["evaluate", "log.csv", "--reward", "paid", "--target", *words]
    done = brigand(*command, cwd=folder)
    assert done.stdout == f"{br.evaluate(log, target)}\n"
    done = brigand(*command, "--json", "--interval", "anytime", "--support", "0", "1", cwd=folder)
    found = json.loads(done.stdout)
    exact = br.evaluate(log, target, interval="anytime", support=(0, 1))
    assert found["estimates"][0] == exact.estimates[0]._asdict()
    assert found["estimates"][2]["lower"] is None
    assert found["diagnostics"] == exact.diagnostics
    assert found["warnings"] == list(exact.warnings)


def test_a_real_log():
    columns = ["--time", "timestamp", "--arm", "item_id", "--reward", "click"]
    command = ["evaluate", DATA / "obd_men_bts.csv.gz", "--target", "uniform", *columns]
    done = brigand(*map(str, command), "--propensity", "propensity_score")
    assert "IPS      0.0030086  0.00077394" in done.stdout
    assert "SNIPS    0.0031894" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--target", "z"], "unknown arm 'z'"),
        (["--target", "a=0.3"], "must sum to 1, not 0.3"),
        (["--target", "a=x"], "'x' is no number"),
        (["--target", "a=0.5", "--target", "b"], "must be ARM=PROBABILITY"),
        (["--target", "no.json"], "cannot be read"),
        (["--target", "bad.json"], "is no JSON"),
        (["--target", "uniform", "--interval", "anytime"], "needs support"),
        (["--target", "uniform", "--reward", "no"], "'no'"),
        ([], "--target"),
    ],
)
def test_mistakes_end_in_a_line(folder, words, said):
    columns = [] if "--reward" in words else ["--reward", "paid"]
    done = brigand("evaluate", "log.csv", *columns, *words, cwd=folder)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
