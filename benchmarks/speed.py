"""How long a step of every policy takes, beside a hand-written loop."""

import math

import hand_written
import numpy as np
from measure import HORIZON, Job, job, measure, problem, seconds

import brigand as br
from brigand.simulation.plan import make_plan
from brigand.simulation.step import Runner

ARMS = (2, 10, 100)
BASE = math.exp(1 / math.log(HORIZON))
GAUSSIAN = ("FE-Exp", "SW-FE-Exp", "TS-Gaussian-unknown")
FEWER = 10_000
# What runs for FEWER steps, because a step costs a pass over the history or many random numbers an arm.
SHORT = {("Robust-UCB-Catoni", n_arms) for n_arms in ARMS} | {("Lattimore", 2), ("Extended-Robust-UCB", 2)}
SHORT |= {(name, 100) for name in ("PHE", "GIRO", "TS-Multinomial", "BESA", "WR-SDA", "RB-SDA")}


def by_hand(n_arms):
    """Return the hand-written loops as jobs, after a check that they make the simulator's pulls."""
    environment, policy = problem(n_arms), br.ForcedExploration()
    means = environment.means[0]
    runner = Runner(make_plan(environment, {"x": policy}, HORIZON, 1, 0, [HORIZON]), policy)

    def generators():
        rng = runner._choices.generator(0)
        rng.integers(2**63)
        return runner._rewards.generator(0), rng

    def fe():
        pulls = np.zeros(n_arms, np.int64)
        hand_written.fe_exponential(means, HORIZON, BASE, *generators(), pulls)
        return pulls

    assert np.array_equal(fe(), runner.run([0]).pulls[0, -1]), "the hand-written loop makes other pulls"
    return {
        "hand-written FE-Exp": Job(fe, HORIZON),
        "drawing the rewards only": Job(
            lambda: hand_written.rewards_only(means, HORIZON, generators()[0]), HORIZON
        ),
    }


def yardstick():
    return by_hand(10)["hand-written FE-Exp"]


def jobs(n_arms):
    found = by_hand(n_arms)
    for name, policy in br.CATALOGUE.items():
        steps = FEWER if (name, n_arms) in SHORT else HORIZON
        found[name] = job(policy, problem(n_arms, steps), steps)
    for name in GAUSSIAN:
        found[f"{name}, Gaussian"] = job(br.CATALOGUE[name], problem(n_arms, family="gaussian"))
    return found


def report(out, repetitions, names=None):
    """Print ns a step of every policy for 2, 10 and 100 arms; `names` are substrings of those wanted."""
    wanted = {
        (name, n_arms): todo
        for n_arms in ARMS
        for name, todo in jobs(n_arms).items()
        if names is None or any(part in name for part in names)
    }
    times = measure(wanted, yardstick(), repetitions)
    rows = []
    for name in dict.fromkeys(name for name, _ in wanted):
        cells = [f"{times[name, n].median:.1f}{'*' * (wanted[name, n].steps == FEWER)}" for n in ARMS]
        ten = times[name, 10]
        growth = times[name, 100].ratio / ten.ratio
        rows.append([name, *cells, f"{ten.least:.1f}", f"{ten.ratio:.2f}", f"{growth:.1f}"])
    out.table(
        "ns a step, medians; T = 100,000 (*: 10,000), Bernoulli rewards, one core",
        ["", "K=2", "K=10", "K=100", "K=10, least", "K=10 / hand-written FE", "K=100 / K=10"],
        rows,
    )


def report_plain(out):
    """Print what the same policy costs in plain Python with NumPy."""
    steps = 20_000
    means = problem().means[0]
    rng = np.random.default_rng(0)
    plain = seconds(lambda: hand_written.plain_fe(means, steps, BASE, rng, rng)) / steps
    ours = measure({"FE": job(br.ForcedExploration(), problem())}, yardstick(), 5)["FE"].median / 1e9
    out.line(
        f"FE-Exp in plain Python with NumPy, as published scripts are written: {plain * 1e6:.1f} µs a step, "
        f"{plain / ours:.0f} times Brigand's."
    )
