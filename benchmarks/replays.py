"""Replays of one log: Brigand beside other packages, their times and what they report beside the truth."""

import tempfile
import time
from pathlib import Path

import numpy as np
from measure import of_peer

import brigand as br

ROWS = 100_000
MEANS = np.linspace(0.1, 0.5, 10)
POLICY = br.EpsilonGreedy(0.1)
PEERS = ("mabwiser", "obp", "river")


def a_log(rows):
    rng = np.random.default_rng(0)
    arm = rng.integers(len(MEANS), size=rows)
    reward = (rng.random(rows) < MEANS[arm]).astype(float)
    names = tuple(map(str, range(len(MEANS))))
    return br.Log(names, arm.astype(np.int32), reward, np.full(rows, 1 / len(MEANS)))


def truth(steps):
    """Return the mean reward of the policy over its first steps on the true arms."""
    arms = br.Environment.stationary([br.Bernoulli(mean) for mean in MEANS])
    found = br.simulate(arms, {"it": POLICY}, steps, 1000, checkpoints=[steps]).dataset["regret"]
    return MEANS.max() - float(found.sel(step=steps).mean()) / steps


def ours(log, policy, method, replications=1):
    """Return seconds of CPU time of a run, without intervals, its mean reward, and its steps."""
    options = {"method": method, "replications": replications, "resamples": 0, "workers": 1}
    br.replay(log, {"it": policy}, **options)  # compiles
    times = []
    for _ in range(7):
        start = time.process_time()
        found = br.replay(log, {"it": policy}, **options)
        times.append(time.process_time() - start)
    row = found.summary().loc["it"]
    return sorted(times)[3] / replications, row["reward"], int(row["steps"])


def report(out):
    """Print times as ratios to Brigand's rejection, and the mean reward reported beside the truth."""
    log = a_log(ROWS)
    one = ours(log, POLICY, "rejection")
    base = one[0]
    rows = [_row("Brigand, rejection", br.__version__, base, *one)]
    rows.append(_row("one of 100 runs", "", base, *ours(log, POLICY, "rejection", 100)))
    rows.append(_row("Brigand, queue", br.__version__, base, *ours(log, POLICY, "queue")))
    rows.append(_row("one of 100 runs", "", base, *ours(log, POLICY, "queue", 100)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.npz"
        np.savez(path, arm=log.arm, reward=log.reward)
        for name in PEERS:
            found = of_peer("replay", name, path)
            if found is None:
                rows.append([name, "absent: make peers", *["-"] * 5])
                continue
            numbers = (found[key] for key in ("seconds", "value", "steps"))
            rows.append(_row(name, found["version"], base, *numbers))
    out.table(
        f"Replay of {ROWS:,} rows, {len(MEANS)} arms drawn evenly, epsilon-greedy (0.1), one run",
        ["", "version", "seconds", "ratio", "reward reported", "steps", "truth at these"],
        rows,
    )
    large = a_log(1_000_000)
    fe = br.ForcedExploration(br.Linear())
    found = {method: ours(large, fe, method)[0] for method in ("rejection", "queue")}
    out.line(
        "FE on 1,000,000 rows, one run: "
        + ", ".join(f"{method} {seconds:.3f} s of CPU time" for method, seconds in found.items())
    )


def _row(name, version, base, seconds, value, steps):
    return [
        name,
        version,
        f"{seconds:.4f}",
        f"{seconds / base:,.1f}",
        f"{value:.4f}",
        f"{steps:,}",
        f"{truth(steps):.4f}",
    ]
