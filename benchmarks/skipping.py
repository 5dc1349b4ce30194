"""Skip-ahead simulation: time and events of a replication for T from 10^3 to 10^12."""

import numpy as np
from measure import HORIZON, Job, job, measure, problem

import brigand as br
from brigand.simulation.plan import make_plan
from brigand.simulation.skip_ahead import SkipRunner

HORIZONS = (10**3, 10**5, 10**7, 10**9, 10**12)
RUNS = 100
SEQUENCES = {"FE-Exp": br.Exponential(), "FE-Linear": br.Linear(), "FE-Constant": br.Constant()}


def report(out, repetitions):
    """Print microseconds and events of a replication, and the ratio to stepping through T = 100,000."""
    jobs, events = {}, {}
    for family in ("gaussian", "bernoulli"):
        for name, sequence in SEQUENCES.items():
            for horizon in HORIZONS:
                runner = skip_runner(br.ForcedExploration(sequence), family, horizon)
                key = (f"{name}, {family}", horizon)
                jobs[key] = Job(lambda runner=runner: runner.run(range(RUNS)), RUNS)
                events[key] = runner.play(range(RUNS))[2].mean()
    stepped = job(br.ForcedExploration(), problem(10, HORIZON, "gaussian"))
    times = measure(jobs, Job(stepped.run, 1), repetitions)
    rows = []
    for name in dict.fromkeys(name for name, _ in jobs):
        for horizon in HORIZONS:
            timing = times[name, horizon]
            cells = (f"{timing.median / 1e3:.0f}", f"{events[name, horizon]:,.0f}", f"{1 / timing.ratio:.1f}")
            rows.append([name, f"10^{round(np.log10(horizon))}", *cells])
    out.table(
        "one replication by skipping, K = 10; stepping is FE-Exp, Gaussian rewards, through T = 100,000",
        ["", "T", "microseconds", "events", "stepping / skipping"],
        rows,
    )


def skip_runner(policy, family, horizon):
    plan = make_plan(problem(10, horizon, family), {"x": policy}, horizon, 1, 0, [horizon])
    return SkipRunner(plan, policy)
