"""The command, as a user meets it: in a process of its own."""

import json
import os
import re
import subprocess

import pandas as pd
import pytest

import brigand as br
from cli.command import PROGRAM, brigand, in_a_process
from strength import some

QUICK = ("--horizon", "300", "--runs", "3")


def test_help_reads_well():
    for arguments in (("--help",), ("paper", "--help"), ("policies", "--help"), ("cite", "--help")):
        done = brigand(*arguments)
        assert done.returncode == 0
        assert "Usage" in done.stdout
    assert brigand().stdout.count("Usage") == 1


def test_the_version_is_printed():
    assert in_a_process("--version").stdout.strip() == br.__version__


def test_policies_prints_every_policy_and_json_too():
    done = brigand("policies")
    assert all(name in done.stdout for name in br.CATALOGUE)
    assert re.search(r"Ada-ILTCB\+ .* reconstruction ", done.stdout)
    narrow = brigand("policies", columns=80).stdout
    words = {
        word
        for policy in br.CATALOGUE.values()
        for cell in (policy.assumption, policy.must_know, policy.known_from)
        for word in cell.split()
    }
    assert words <= set(narrow.split())  # none is broken
    assert max(map(len, narrow.splitlines()[:20])) <= 80
    rows = json.loads(brigand("policies", "--json").stdout)
    assert rows.keys() == br.CATALOGUE.keys()
    assert rows["FE-Linear"]["must_know"] == "nothing"
    assert rows["TS-Beta"]["reward_support"] == [0, 1]
    assert rows["Ada-ILTCB+"]["known_from"] == "reconstruction"
    assert rows["FE-Trimmed"]["known_from"] == "ours"
    assert "ours: the rule is Brigand's own." in done.stdout
    assert br.Policy.from_json(rows["SW-FE-Exp"]["policy"]) == br.CATALOGUE["SW-FE-Exp"]


def test_cite_prints_the_papers_of_the_policies_named():
    done = brigand("cite", "UCB1")
    assert "qi2024forced" in done.stdout
    assert "auer2002finite" in done.stdout
    assert "honda" not in done.stdout


@pytest.mark.full
@pytest.mark.parametrize(
    ("figure", "horizon", "runs", "words"),
    [
        ("horizon", 1000, 20, ["1,000"]),
        ("delays", 200, 20, [" 0 ", " 10 ", " 30 ", " 100 "]),
        ("worst-case", 10_000, 20, ["slope"]),
        ("stuck", 1000, 100, ["gap 0.5"]),
        ("changing", 5000, 4, ["FE-Restart", "nothing changes"]),
        ("heavy-tails", 200, 4, ["stable 1.3"]),
    ],
)
def test_the_studies_that_are_not_the_papers_run(tmp_path, figure, horizon, runs, words):
    options = ["--figure", figure, "--horizon", str(horizon), "--runs", str(runs)]
    done = brigand("paper", *options, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / f"{figure}.png").stat().st_size > 1000
    assert {"nc", "csv", "svg", "pdf"} <= {path.suffix[1:] for path in tmp_path.iterdir()}
    for word in words:
        assert word in done.stdout


@pytest.mark.full
def test_paper_writes_every_figure_with_its_data(tmp_path):
    done = brigand("paper", *QUICK, "--out", "here", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    names = ["stationary-bernoulli", "stationary-gaussian", "piecewise-bernoulli", "piecewise-gaussian"]
    expected = {f"{n}.{s}" for n in names for s in ("png", "svg", "pdf", "nc", "csv")}
    expected |= {f"instance.{s}" for s in ("png", "svg", "pdf", "nc", "csv")}
    assert set(os.listdir(tmp_path / "here")) == expected
    assert str(tmp_path / "here") in done.stdout
    assert done.stdout.count("FE-Exp") == 6
    table = pd.read_csv(tmp_path / "here" / "stationary-bernoulli.csv")
    summary = br.load(tmp_path / "here" / "stationary-bernoulli.nc").summary()
    last = table[table["step"] == 300].set_index("policy")
    assert last["mean"].to_dict() == pytest.approx(summary["mean"].to_dict())


@pytest.mark.full
@pytest.mark.parametrize(
    "extra",
    some(
        [("--protocol", "authors"), ("--instances", "2"), ("--horizon", "1"), ("--horizon", "4")],
        [("--instances", "2")],
    ),
    ids=str,
)
def test_paper_takes_its_options(tmp_path, extra):
    done = brigand("paper", *QUICK, *extra, "--figure", "piecewise-gaussian", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "piecewise-gaussian.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("paper", "--figure", "stationary-bernouli"), "Did you mean 'stationary-bernoulli'?"),
        (("paper", "--protocol", "text"), "unknown protocol 'text'. Known: authors, paper."),
        (("paper", "--runs", "0"), "runs must be >= 1, not 0."),
        (("paper", "--horizon", "-5"), "horizon must be >= 1, not -5."),
        (("paper", "--seed", "-1"), "seed must be >= 0, not -1."),
        (("paper", "--workers", "0"), "workers must be >= 1, not 0."),
        (("paper", "--out", "/dev/null/x"), "cannot be written"),
        (("validate", "--table", "Bessel"), "unknown table 'Bessel'."),
        (("validate", "--workers", "0"), "workers must be >= 1, not 0."),
        (("tune", "--family", "gausian"), "Did you mean 'gaussian'?"),
        (("tune", "--quantile", "1.5"), "quantile must be in (0, 1), not 1.5."),
        (("tune", "--environment", "x.json"), "'x.json' cannot be read"),
        (("cite", "UCB"), "unknown policy 'UCB'. Did you mean 'UCB1'?"),
        (("paper", "--seed", "x"), "Invalid value for '--seed'"),
        (("papers",), "No such command 'papers'"),
    ],
)
def test_a_mistake_ends_in_one_clear_error(arguments, message, tmp_path):
    done = brigand(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.full
def test_a_terminal_without_special_characters_gets_plain_ones(tmp_path):
    done = subprocess.run(
        [
            PROGRAM,
            "paper",
            "--figure",
            "instance",
            "--out",
            tmp_path,
        ],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.full
def test_the_same_command_writes_the_same_data_and_figures(tmp_path):
    for folder in ("a", "b"):
        brigand("paper", *QUICK, "--figure", "stationary-gaussian", "--out", folder, cwd=tmp_path)
    for suffix in ("csv", "svg", "pdf", "png"):
        name = f"stationary-gaussian.{suffix}"
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.full
def test_validate_compares_with_published_numbers_and_goes_on_where_it_was(tmp_path):
    arguments = ("validate", "--quick", "--table", "Besson's thesis", "--out", tmp_path)
    done = brigand(*arguments)
    assert done.returncode == 0, done.stderr
    assert "differ for a known reason, 0 for an unknown one." in done.stdout
    report = (tmp_path / "validation.md").read_text(encoding="utf-8")
    assert "## Besson's thesis, stationary" in report
    before = (tmp_path / "validation.json").stat().st_mtime_ns
    assert brigand(*arguments).returncode == 0
    assert (tmp_path / "validation.json").stat().st_mtime_ns == before


@pytest.mark.full
def test_tune_prints_the_winner_as_python(tmp_path):
    environment = br.Environment.stationary([br.Bernoulli(0.3), br.Bernoulli(0.6)])
    (tmp_path / "coins.json").write_text(json.dumps(environment.to_json()))
    done = brigand(
        "tune",
        "--environment",
        tmp_path / "coins.json",
        "--horizon",
        "200",
        "--held-out",
        "50",
        "--out",
        tmp_path,
        "--quantile",
        "0.9",
    )
    assert done.returncode == 0, done.stderr
    assert "br.ForcedExploration(br." in done.stdout
    assert (tmp_path / "tuning.png").stat().st_size > 1000
