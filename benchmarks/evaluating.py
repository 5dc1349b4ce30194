"""Values of a fixed rule on one log: by Brigand and by the Open Bandit Pipeline, and their times."""

import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import brigand as br
from brigand.logs.intervals import RESAMPLES

ROOT = Path(__file__).parents[1]
ROWS, ARMS, REPETITIONS = 100_000, 10, 3


def a_log(rows=ROWS):
    """Return a log with propensities that are the same in all rows, a rule, and its value."""
    rng = np.random.default_rng(1)
    rates, chances, rule = rng.random(ARMS), rng.dirichlet(np.full(ARMS, 2.0)), rng.dirichlet(np.ones(ARMS))
    arm = rng.choice(ARMS, rows, p=chances).astype(np.int32)
    reward = (rng.random(rows) < rates[arm]).astype(np.float64)
    log = br.Log(tuple(f"arm {a}" for a in range(ARMS)), arm, reward, chances[arm])
    return log, rule, float(rule @ rates)


def seconds(run, repetitions=REPETITIONS):
    """Return the median CPU time."""
    times = []
    for _ in range(repetitions):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return statistics.median(times)


def obp(log, rule):
    """Return what the Open Bandit Pipeline finds and how long it takes, or None if it is not installed."""
    python = ROOT / ".peers" / "obp" / "bin" / "python"
    if not python.exists():
        return None
    means = np.bincount(log.arm, log.reward) / np.bincount(log.arm)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.npz"
        np.savez(path, arm=log.arm, reward=log.reward, propensity=log.propensity, rule=rule, means=means)
        command = [python, ROOT / "benchmarks" / "peers" / "time_obp.py", path]
        done = subprocess.run(
            [*command, str(RESAMPLES), str(REPETITIONS)], capture_output=True, text=True, check=True
        )
    return json.loads(done.stdout.splitlines()[-1])


def report(out):
    """Print values beside the truth, and times beside ours."""
    log, rule, value = a_log()
    target = dict(zip(log.arms, rule.tolist(), strict=True))
    target[log.arms[-1]] += 1 - sum(target.values())
    found = br.evaluate(log, target)
    ours = {
        "values": seconds(lambda: br.evaluate(log, target, interval="normal")),
        "intervals": seconds(lambda: br.evaluate(log, target)),
    }
    names = [e.estimator for e in found.estimates]
    rows = [
        ["truth", "", *[f"{value:.5f}"] * len(names), "", ""],
        [
            "Brigand",
            br.__version__,
            *(f"{e.value:.5f}" for e in found.estimates),
            *(f"{ours[what] * 1e3:.0f}" for what in ours),
        ],
    ]
    other = obp(log, rule)
    if other is None:
        rows.append(["obp", "absent: make peers", *["-"] * (len(names) + 2)])
    else:
        times = {what: statistics.median(each) for what, each in other["seconds"].items()}
        rows.append(
            [
                "obp",
                other["version"],
                *(f"{other['values'][name]:.5f}" for name in names),
                *(f"{times[what] * 1e3:,.0f} ({times[what] / ours[what]:.1f}x)" for what in ours),
            ]
        )
    out.table(
        f"Value of a rule from {ROWS:,} rows, {ARMS} arms; ms of CPU time (and times Brigand's), without and "
        f"with bootstrap intervals of {RESAMPLES:,} resamples",
        ["", "version", *names, "values, ms", "with intervals, ms"],
        rows,
    )
