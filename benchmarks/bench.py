"""Speed and memory, as ratios to baselines of the same run.

Run by ``make bench``; one core. Times are medians of alternating repetitions: on a shared machine, compare
ratios, not times.
"""

import argparse
import math
import resource
import statistics
import subprocess
import sys
import time
from functools import partial

import hand_written
import numpy as np
from rich.console import Console
from rich.table import Table

import brigand as br
from brigand.simulation.plan import make_plan
from brigand.simulation.run import Runner

HORIZON = 100_000
ENVIRONMENT = br.random_environment("bernoulli", 10, HORIZON, seed=1)
GAUSSIAN = br.random_environment("gaussian", 10, HORIZON, seed=1)


# Steps for policies whose cost a step grows with the number of steps.
SHORT = {"Robust-UCB-Catoni": 10_000}


def runner(policy, environment=ENVIRONMENT, horizon=HORIZON):
    plan = make_plan(environment, {"x": policy}, horizon, 1, 0, [horizon])
    return Runner(plan, policy)


def medians(jobs, repetitions):
    """Return the median time of each job, run in turn so that slow spells hit all alike."""
    for job in jobs.values():
        job()
    times = {name: [] for name in jobs}
    for _ in range(repetitions):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def by_hand():
    """Return the hand-written loops as jobs, after a check that they make the simulator's pulls."""
    means = ENVIRONMENT.means[0]
    policy = br.ForcedExploration()
    run = runner(policy)
    base = math.exp(1 / math.log(HORIZON))

    def generators():
        rng = run._choices.generator(0)
        rng.integers(2**63)
        return run._rewards.generator(0), rng

    def fe():
        pulls = np.zeros(10, np.int64)
        hand_written.fe_exponential(means, HORIZON, base, *generators(), pulls)
        return pulls

    assert np.array_equal(fe(), run.run(0)[1][-1]), "the hand-written loop makes other pulls"
    return {
        "hand-written FE-Exp": fe,
        "rewards only": lambda: hand_written.rewards_only(means, HORIZON, generators()[0]),
    }


def policies(console, repetitions):
    """Print ns a step of every policy, beside the hand-written loop and the bare rewards."""
    jobs = by_hand()
    for name, policy in br.CATALOGUE.items():
        jobs[name] = partial(runner(policy, horizon=SHORT.get(name, HORIZON)).run, 0)
    for name in ("FE-Exp", "SW-FE-Exp", "TS-Gaussian-unknown"):
        jobs[f"{name}, Gaussian"] = partial(runner(br.CATALOGUE[name], GAUSSIAN).run, 0)
    times = medians(jobs, repetitions)
    hand, rewards = times["hand-written FE-Exp"], times["rewards only"]
    table = Table(title="K = 10, T = 100,000, Bernoulli rewards, one core", title_justify="left")
    for column in ("", "ns a step", "/ hand-written FE", "/ rewards only"):
        table.add_column(column, justify="right" if column else "left")
    for name, seconds in times.items():
        step = seconds / SHORT.get(name, HORIZON) * HORIZON
        table.add_row(name, f"{step / HORIZON * 1e9:.1f}", f"{step / hand:.2f}", f"{step / rewards:.1f}")
    console.print(table)
    start = time.perf_counter()
    steps = 20_000
    rng = np.random.default_rng(0)
    hand_written.plain_fe(ENVIRONMENT.means[0], steps, math.exp(1 / math.log(HORIZON)), rng, rng)
    plain = (time.perf_counter() - start) / steps
    ratio = plain / (times["FE-Exp"] / HORIZON)
    console.print(
        f"plain Python with NumPy, FE-Exp: {plain * 1e6:.1f} µs a step, {ratio:.0f} x Brigand's time"
    )


START = """
import time
import brigand as br
start = time.perf_counter()
environment = br.random_environment("bernoulli", 10, 1000, seed=1)
br.simulate(environment, {"FE": br.ForcedExploration()}, 1000, 1)
print(time.perf_counter() - start)
"""

MEMORY = """
import resource
import brigand as br
names = ["FE-Exp", "FE-Linear", "FE-Constant", "UCB1", "TS-Beta"]
environment = br.random_environment("bernoulli", 10, 100_000, seed=1)
br.simulate(environment, {name: br.CATALOGUE[name] for name in names}, 100_000, 1000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def process(code):
    return float(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    )


def start_up(console):
    """Print how long the first result takes in a new process, after the import and without compiling."""
    process(START)
    ours = statistics.median(process(START) for _ in range(5))
    numba = "import time; start = time.perf_counter(); import numba; print(time.perf_counter() - start)"
    theirs = statistics.median(process(numba) for _ in range(5))
    console.print(
        f"a new process, from after 'import brigand' to the first result of a known policy: {ours:.2f} s, "
        f"{ours / theirs:.1f} x 'import numba' ({theirs:.2f} s)"
    )


def memory(console):
    """Print the peak memory of a large simulation, beside that of this process with everything loaded."""
    peak = process(MEMORY)
    here = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    console.print(
        f"5 policies, K = 10, T = 100,000, 1000 replications: peak {peak:.0f} MB, "
        f"{peak / here:.1f} x this process ({here:.0f} MB)"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--no-memory", action="store_true", help="leave out the large simulation (1 min)")
    options = parser.parse_args()
    console = Console()
    policies(console, options.repetitions)
    start_up(console)
    if not options.no_memory:
        memory(console)


if __name__ == "__main__":
    main()
