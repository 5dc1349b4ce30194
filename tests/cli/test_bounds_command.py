"""``brigand bounds`` and ``brigand paper --with-bounds``, as a user meets them: in a process of their own."""

import json
import os
import re

import pytest

import brigand as br
from cli import command

SMALL = ("--horizon", "500")
EASY = br.Environment.stationary([br.Gaussian(0, 0.1), br.Gaussian(1, 0.1)])


def brigand(*arguments, cwd=None):
    return command.brigand(*arguments, cwd=cwd, columns=160)


def test_the_default_is_fe_exp_on_the_authors_instance(tmp_path):
    done = brigand("bounds", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "FE-Exp on gaussian rewards, K = 10, instance 1" in done.stdout
    assert "T = 100,000" in done.stdout
    for word in ("as printed", "corrected", "at most this, in expectation", "Theorem 1", "Qi, Zhu, Guo"):
        assert word in done.stdout
    assert "T times the largest gap, 72,021" in done.stdout
    assert os.listdir(tmp_path) == []


def test_an_easy_problem_has_bounds_below_the_trivial_one(tmp_path):
    (tmp_path / "easy.json").write_text(json.dumps(EASY.to_json()))
    done = brigand("bounds", "--policy", "FE-Linear", "--environment", "easy.json", *SMALL, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "FE-Linear on easy.json, K = 2" in done.stdout
    (value,) = re.findall(r"Theorem 1 .*corrected .*expectation +│ +([\d.,]+) │", done.stdout)
    assert 30 < float(value) < 100


def test_conditions_that_fail_are_told_below_the_table(tmp_path):
    done = brigand("bounds", "--family", "exponential", "--arms", "3", *SMALL)
    assert done.returncode == 0, done.stderr
    assert "–: what is needed and not so here" in done.stdout
    assert re.search(r"^  Theorem 1 .*Theorem 1 corrected.*: .*sub-Gaussian", done.stdout, re.MULTILINE)


def test_a_policy_without_bounds_says_so():
    done = brigand("bounds", "--policy", "Random", *SMALL)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.full
def test_plot_simulates_and_draws(tmp_path):
    done = brigand(
        "bounds",
        "--plot",
        *SMALL,
        "--runs",
        "4",
        "--family",
        "bernoulli",
        "--arms",
        "2",
        "--instance-seed",
        "3",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(tmp_path / "bounds")) == ["FE-Exp.pdf", "FE-Exp.png", "FE-Exp.svg"]
    measured = re.search(
        r"Measured: mean regret ([\d.]+) at T, 95 % interval ([\d.]+) to ([\d.]+); median [\d.]+; 4 runs",
        done.stdout,
    )
    environment = br.random_environment("bernoulli", 2, 500, seed=3)
    row = br.simulate(environment, {"FE-Exp": br.CATALOGUE["FE-Exp"]}, 500, 4, method="auto").summary()
    expected = row.loc["FE-Exp", ["mean", "low", "high"]].tolist()
    assert [float(n) for n in measured.groups()] == pytest.approx(expected, abs=0.051)
    assert str(tmp_path / "bounds") in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--policy", "FE"), "unknown policy 'FE'."),
        (("--family", "gausian"), "Did you mean 'gaussian'?"),
        (("--arms", "0"), "arms must be >= 1, not 0."),
        (("--instance-seed", "-1"), "instance-seed must be in [0, 4294967295], not -1."),
        (("--horizon", "0"), "horizon must be >= 1, not 0."),
        (("--runs", "0"), "runs must be >= 1, not 0."),
        (("--seed", "-1"), "seed must be >= 0, not -1."),
        (("--workers", "0"), "workers must be >= 1, not 0."),
        (("--environment", "x.json"), "'x.json' cannot be read"),
        (("--environment", "x.json", "--arms", "3"), "make another: give one."),
        (("--plot", "--out", "/dev/null/x"), "cannot be written"),
        (("--plot", "--policy", "TS-Beta", *SMALL, "--out", "."), "ThompsonBeta needs rewards in [0, 1]"),
    ],
    ids=str,
)
def test_a_mistake_ends_in_one_clear_error(arguments, message, tmp_path):
    done = brigand("bounds", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.full
def test_the_paper_with_bounds(tmp_path):
    quick = ("paper", "--with-bounds", "--horizon", "300", "--out", tmp_path)
    done = brigand(*quick, "--runs", "3", "--figure", "stationary-bernoulli")
    assert done.returncode == 0, done.stderr
    assert "bound" in (tmp_path / "stationary-bernoulli.svg").read_text(encoding="utf-8")
    done = brigand(*quick, "--instances", "2")
    assert done.returncode == 2
    assert "bounds belong to one" in done.stderr
