"""What the parts of the benchmark share: problems, timing in turn, and tables for people or for Markdown."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

import brigand as br
from brigand.simulation.plan import make_plan
from brigand.simulation.step import Runner

ROOT = Path(__file__).parents[1]
HORIZON = 100_000


def problem(n_arms=10, horizon=HORIZON, family="bernoulli"):
    return br.random_environment(family, n_arms, horizon, seed=1)


class Job(NamedTuple):
    """Something to time, and its number of steps."""

    run: Callable
    steps: int


class Timing(NamedTuple):
    """Nanoseconds a step: median and least; and the median ratio to the yardstick."""

    median: float
    least: float
    ratio: float


def job(policy, environment, horizon=HORIZON, replications=1):
    """Return the job of some replications, as `brigand.simulate` runs them on one thread."""
    plan = make_plan(environment, {"x": policy}, horizon, replications, 0, [horizon])
    runner = Runner(plan, policy)

    return Job(lambda: runner.run(range(replications)), horizon * replications)


def seconds(run):
    """Return CPU time: what other processes take from this one does not count."""
    start = time.thread_time()
    run()
    return time.thread_time() - start


def measure(jobs, yardstick, repetitions):
    """Time all jobs in turn, each between two runs of the yardstick, so that a slow spell hits all alike."""
    for run, _ in (yardstick, *jobs.values()):
        run()  # compiles, or reads what was compiled
    times = {name: [] for name in jobs}
    ratios = {name: [] for name in jobs}
    for _ in range(repetitions):
        for name, (run, steps) in jobs.items():
            before = seconds(yardstick.run)
            step = seconds(run) / steps
            after = seconds(yardstick.run)
            times[name].append(step * 1e9)
            ratios[name].append(step / ((before + after) / 2 / yardstick.steps))
    return {
        name: Timing(statistics.median(times[name]), min(times[name]), statistics.median(ratios[name]))
        for name in jobs
    }


@dataclass
class Report:
    """Prints tables and sentences, as Markdown or for a terminal."""

    markdown: bool

    def table(self, title, columns, rows):
        if self.markdown:
            print(f"\n{title}\n")
            for row in (columns, ["---"] * len(columns), *rows):
                print(f"| {' | '.join(row)} |")
            return
        table = Table(title=title, title_justify="left")
        for column in columns:
            table.add_column(column, justify="right" if column else "left")
        for row in rows:
            table.add_row(*row)
        Console().print(table)

    def line(self, text):
        if self.markdown:
            print(f"\n- {text}")
        else:
            Console().print(text, highlight=False)


def in_a_process(code, *arguments):
    """Run code in a process of its own, and return the numbers that it prints."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return [float(number) for number in done.stdout.split()]


def of_peer(what, name, *arguments):
    """Return what a script of another package prints last, as JSON; None if `make peers` has not made one."""
    python = ROOT / ".peers" / name / "bin" / "python"
    if not python.exists():
        return None
    script = ROOT / "benchmarks" / "peers" / f"{what}_{name}.py"
    done = subprocess.run([python, script, *arguments], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])
