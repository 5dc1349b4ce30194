"""How often intervals of FE-Exp's mean regret hold it: the table of docs/statistics.md.

    python benchmarks/means.py

A pool of 200,000 runs stands for the law of a run; its mean is the truth. Samples are drawn from it. The same
with weighted runs (`brigand.rare_regret`), drawn from each stratum of a pool of 100,000, and with differences
of the regrets of FE-Exp and FE-Linear, as `brigand compare` has them.
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


def pool(environment, horizon, runs=POOL, seed=0, sequence=br.Exponential()):  # noqa: B008
    """Return the regrets at T of so many runs of FE."""
    policy = {"FE": br.ForcedExploration(sequence)}
    results = br.simulate(environment, policy, horizon, runs, seed, method="skip", checkpoints=[horizon])
    return results.dataset["regret"].to_numpy().ravel()


def coverage(regrets, worst, size, samples=SAMPLES, seed=0, below=0.0):
    """Return how often Student's interval and `Results.summary`'s hold the mean of all regrets.

    Differences of regrets are as low as minus `below`.
    """
    rng, truth = np.random.default_rng(seed), regrets.mean()
    quantile = stats.t.ppf(0.975, size - 1)
    student = ours = 0
    for _ in range(samples):
        sample = regrets[rng.integers(0, len(regrets), size)]
        half = quantile * sample.std(ddof=1) / size**0.5
        low, high, rare = sample.mean() - half, sample.mean() + half, 1 - 0.05 ** (1 / size)
        student += low <= truth <= high
        ours += low - below * rare <= truth <= high + worst * rare
    return student / samples, ours / samples


def differences(environment, horizon, runs=POOL, seed=0):
    """Return the regrets of FE-Exp less those of as many other runs of FE-Linear."""
    ours = pool(environment, horizon, runs, seed)
    return ours - pool(environment, horizon, runs, seed + 1, br.Linear())


def coverage_of_weighted(environment, horizon, size, samples=SAMPLES, seed=0):
    """Return how often 1.96 standard errors on both sides of a weighted mean hold the pool's."""
    policy = br.ForcedExploration(br.Exponential())
    found = br.rare_regret(environment, policy, horizon, POOL // 2, seed + 1)
    products = found.weights[:, -1] * found.regret[:, -1]
    strata = [products[found.targets == target] for target in np.unique(found.targets)]
    rng, truth, hits = np.random.default_rng(seed), products.mean(), 0
    for _ in range(samples):
        mean = variance = 0.0
        for stratum in strata:
            share = len(stratum) / len(products)
            drawn = stratum[rng.integers(0, len(stratum), max(2, round(share * size)))]
            mean += share * drawn.mean()
            variance += share**2 * drawn.var(ddof=1) / len(drawn)
        hits += abs(mean - truth) <= 1.96 * variance**0.5
    return hits / samples


def main():
    """Print the table."""
    print("| problem | n | Student | `summary()` | unseen | weighted |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, (environment, horizon) in PROBLEMS.items():
        regrets = pool(environment, horizon)
        worst = float(environment.worst_regret(horizon))
        for size in SIZES:
            student, ours = coverage(regrets, worst, size)
            unseen = worst * (1 - 0.05 ** (1 / size))
            weighted = f"{coverage_of_weighted(environment, horizon, size):.1%}" if size >= 100 else "–"
            row = (name, f"{size:,}", f"{student:.1%}", f"{ours:.1%}", f"{unseen:,.3g}", weighted)
            print("| " + " | ".join(row) + " |", flush=True)
    print("\n| problem | n | Student | `compare` |")
    print("| --- | ---: | ---: | ---: |")
    for name, (environment, horizon) in PROBLEMS.items():
        found = differences(environment, horizon)
        worst = float(environment.worst_regret(horizon))
        for size in SIZES:
            student, ours = coverage(found, worst, size, below=worst)
            print(f"| {name} | {size:,} | {student:.1%} | {ours:.1%} |", flush=True)


if __name__ == "__main__":
    main()
