"""How often intervals of FE-Exp's mean regret hold it: the table of docs/statistics.md.

    python benchmarks/means.py

A pool of 200,000 runs stands for the law of a run; its mean is the truth. Samples are drawn from it.
"""

import numpy as np
from scipy import stats

import brigand as br

POOL, SAMPLES = 200_000, 2000
SIZES = (20, 100, 1000, 10_000)


def gaussians(*means):
    return br.Environment.stationary([br.Gaussian(mean, 1) for mean in means])


PROBLEMS = {
    "the authors' Gaussian instance, T = 10^5": (br.random_environment("gaussian", 10, 10**5, seed=1), 10**5),
    "gap 0.3, T = 10^5": (gaussians(0, 0.3), 10**5),
    "gap 0.5, T = 10^5": (gaussians(0, 0.5), 10**5),
    "gap 0.1, T = 10^12": (gaussians(0, 0.1), 10**12),
}


def pool(environment, horizon, runs=POOL, seed=0):
    """Return the regrets at T of so many runs of FE-Exp."""
    policy = {"FE": br.ForcedExploration(br.Exponential())}
    results = br.simulate(environment, policy, horizon, runs, seed, method="skip", checkpoints=[horizon])
    return results.dataset["regret"].to_numpy().ravel()


def coverage(regrets, worst, size, samples=SAMPLES, seed=0):
    """Return how often Student's interval and `Results.summary`'s hold the mean of all regrets."""
    rng, truth = np.random.default_rng(seed), regrets.mean()
    student = ours = 0
    for _ in range(samples):
        sample = regrets[rng.integers(0, len(regrets), size)]
        low, high = stats.t.interval(0.95, size - 1, sample.mean(), stats.sem(sample))
        student += low <= truth <= high
        ours += low <= truth <= high + worst * (1 - 0.05 ** (1 / size))
    return student / samples, ours / samples


def main():
    """Print the table."""
    print("| problem | n | Student | `summary()` | unseen |\n| --- | ---: | ---: | ---: | ---: |")
    for name, (environment, horizon) in PROBLEMS.items():
        regrets = pool(environment, horizon)
        worst = float(environment.worst_regret(horizon))
        for size in SIZES:
            student, ours = coverage(regrets, worst, size)
            unseen = worst * (1 - 0.05 ** (1 / size))
            print(f"| {name} | {size:,} | {student:.1%} | {ours:.1%} | {unseen:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
