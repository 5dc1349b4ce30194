"""Rewards that come late: a step beside one of the plain simulator."""

from measure import HORIZON, Job, job, measure, problem

import brigand as br
from brigand.simulation.late import LateRunner
from brigand.simulation.plan import make_plan

CONDITIONS = {
    "nothing late": br.Conditions(),
    "delay 1,000": br.Conditions(1000),
    "delay geometric, mean 1,000": br.Conditions(br.Geometric(mean=1000)),
    "and 5 % lost": br.Conditions(br.Geometric(mean=1000), 0.05),
    "delay 1,000, imputed": br.Conditions(1000, pending="imputed"),
    "batches of 100": br.Conditions(batch=100),
}
POLICIES = {"FE-Exp": br.ForcedExploration(), "UCB1": br.UCB1()}


def report(out, repetitions):
    """Print nanoseconds a step, and the ratio to a step of the plain simulator."""
    rows = []
    for family in ("gaussian", "bernoulli"):
        environment = problem(10, HORIZON, family)
        for name, policy in POLICIES.items():
            jobs = {given: late(policy, environment, conditions) for given, conditions in CONDITIONS.items()}
            times = measure(jobs, job(policy, environment), repetitions)
            for given, timing in times.items():
                rows.append([f"{name}, {family}", given, f"{timing.median:.0f}", f"{timing.ratio:.2f}"])
    out.table(
        "late rewards: a step, K = 10, T = 100,000; ratio to the plain simulator",
        ["", "conditions", "ns", "ratio"],
        rows,
    )


def late(policy, environment, conditions):
    plan = make_plan(environment, {"x": policy}, HORIZON, 1, 0, [HORIZON], conditions)
    runner = LateRunner(plan, policy)
    return Job(lambda: runner.run([0]), HORIZON)
