"""What a process is born into: outputs that are full or closed, settings inherited from elsewhere."""

import os
import signal
import subprocess
import sys
import time

import pytest

from cli.command import brigand, in_a_process
from strength import full

FULL = "/dev/full"
COMMANDS = [
    ["policies"],
    ["policies", "--json"],
    ["--help"],
    ["--version"],
    ["errata"],
    ["cite", "UCB1"],
    ["schema"],
    ["bounds", "--horizon", "100"],
    ["bandit", "create", "x", "--arm", "a"],
]


def with_output(output, *arguments, cwd, **settings):
    """Run the command with its standard output somewhere, and return its status and its errors."""
    with open(output, "w") as file:
        done = subprocess.run(
            [sys.executable, "-m", "brigand", *arguments],
            stdout=file,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env=os.environ | settings,
        )
    return done.returncode, done.stderr


@pytest.mark.skipif(not os.path.exists(FULL), reason="Linux only")
@pytest.mark.every(3)
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_an_output_that_is_full_is_told_in_one_line(arguments, tmp_path):
    status, errors = with_output(FULL, *arguments, cwd=tmp_path)
    assert status == 1
    assert errors == "Error: the output cannot be written: No space left on device.\n"


def test_a_closed_output_is_told_in_one_line(tmp_path):
    command = f"{sys.executable} -m brigand policies >&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "Error: the output cannot be written: it is closed.\n")


STUDY = """
name: "[red]mine[/red]"
horizon: 30
replications: 2
environments:
  - {name: "e[0]", random: {family: bernoulli, arms: 2}}
policies: [Random, {name: "x[lr=0.1] :smile:", policy: Random}]
"""


@pytest.mark.full
@pytest.mark.parametrize("out", ["exp[lr=0.1]", "[red]a[/red]", "a b:smile:"])
def test_names_and_paths_are_printed_as_they_are(tmp_path, out):
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    ran = brigand("run", "study.yaml", "--out", out, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert f"Results are in {tmp_path / out}; look" in ran.stdout
    compared = brigand("compare", out, cwd=tmp_path).stdout
    assert "x[lr=0.1] :smile:" in compared
    assert "e[0], T = 30" in compared
    drawn = brigand("plot", out, "--figure", "regret", cwd=tmp_path)
    assert f"The figures are in {tmp_path / out / 'figures'}\n" in drawn.stdout
    reported = brigand("report", out, cwd=tmp_path)
    assert f"The report is {tmp_path / out / 'report.html'}\n" in reported.stdout
    failed = brigand("compare", f"{out}/x[/]", cwd=tmp_path)
    assert failed.stderr == f"Error: '{out}/x[/]' holds no study; `brigand run` makes one.\n"


@pytest.mark.full
@pytest.mark.parametrize("backend", ["module://matplotlib_inline.backend_inline", "nonsense"])
def test_figures_are_written_whatever_backend_is_inherited(tmp_path, monkeypatch, backend):
    code = (
        "import brigand as br\n"
        "env = br.Environment.stationary([br.Bernoulli(0.4), br.Bernoulli(0.6)])\n"
        "br.simulate(env, {'x': br.UniformRandom()}, 20, 2).plot('x.png')\n"
        "import brigand.studies.report, brigand.papers.horizon, brigand.tuning.search\n"
    )
    settings = os.environ | {"MPLBACKEND": backend}
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, cwd=tmp_path, env=settings)
    assert (tmp_path / "x.png").exists()


@pytest.mark.full
def test_warnings_take_one_line(tmp_path):
    study = STUDY.replace("e[0]", "環境")
    (tmp_path / "study.yaml").write_text(study, encoding="utf-8")
    assert brigand("run", "study.yaml", "--out", "o", cwd=tmp_path).returncode == 0
    command = [sys.executable, "-m", "brigand", "plot", "o", "--figure", "regret", "--figure", "pulls"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0
    lines = done.stderr.splitlines()
    assert len(lines) <= 1
    assert all(line.startswith("Warning: no font here has ") for line in lines)


LONG_RUN = """
name: long
horizon: 2_000_000_000
replications: 4
environments:
  - random: {family: bernoulli, arms: 2}
policies: [FE-Linear]
"""


@pytest.mark.parametrize("moment", [1.5, 6.0] if full else [1.5])
def test_ctrl_c_ends_a_command_within_a_second(tmp_path, moment):
    (tmp_path / "study.yaml").write_text(LONG_RUN, encoding="utf-8")
    command = [sys.executable, "-m", "brigand", "run", "study.yaml", "--workers", "2"]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=tmp_path
    ) as running:
        time.sleep(moment)
        assert running.poll() is None
        start = time.monotonic()
        running.send_signal(signal.SIGINT)
        running.wait(20)
        assert time.monotonic() - start < 2  # a second, where nothing else runs
        assert running.returncode in (1, 130)
        assert b"Traceback" not in running.stderr.read()


def test_a_process_of_its_own_prints_the_same(tmp_path):
    assert in_a_process("cite", "UCB1", cwd=tmp_path).stdout == brigand("cite", "UCB1", cwd=tmp_path).stdout
