"""How the cost of a step grows with the number of steps, for policies that keep a history or a window."""

from measure import job, measure, problem
from speed import yardstick

import brigand as br

HORIZONS = (10_000, 100_000)
POLICIES = {
    **{name: br.CATALOGUE[name] for name in ("LB-SDA", "SSMC", "BESA", "GLR-klUCB-local")},
    **{name: br.CATALOGUE[name] for name in ("Robust-UCB-median", "CUSUM-UCB")},
    "SW-UCB, window 100": br.SlidingWindowUCB(window=100),
    "SW-UCB, window 10,000": br.SlidingWindowUCB(window=10_000),
}


def report(out, repetitions):
    """Print ns a step in runs of two lengths; an average over the run, so that O(t) a step shows as 10."""
    jobs = {
        (name, horizon): job(policy, problem(10, horizon), horizon, HORIZONS[-1] // horizon)
        for name, policy in POLICIES.items()
        for horizon in HORIZONS
    }
    times = measure(jobs, yardstick(), repetitions)
    rows = []
    for name in POLICIES:
        short, long = (times[name, horizon] for horizon in HORIZONS)
        rows.append([name, f"{short.median:.1f}", f"{long.median:.1f}", f"{long.ratio / short.ratio:.2f}"])
    out.table(
        "ns a step in runs of two lengths; K = 10, Bernoulli rewards",
        ["", "T = 10,000", "T = 100,000", "ratio"],
        rows,
    )
