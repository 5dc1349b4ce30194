"""Measure what docs/logs.md says of intervals: python tests/logs/coverage.py (about fifteen minutes).

The tests have the same runs at full strength.
"""

import sys
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import brigand as br
from brigand.logs.arm_means import WEIGHTS
from brigand.logs.evaluate import INTERVALS
from logs import made

RULE, VALUE = {"a": 0.3, "b": 0.7}, 0.62
MEANS = (0.2, 0.8)
EVERY = 100


def of_rules(logs, interval, rows=1000, chances=(0.5, 0.5), seed=0):
    """Return the share of logs in which each estimator's interval holds the value of the rule (0.3, 0.7)."""
    m = made.uniform(np.random.default_rng(seed), logs, rows, MEANS, chances)
    weight = 0.7 / min(chances)
    hits = {}
    for i in range(logs):
        found = br.evaluate(m[i], RULE, interval=interval, support=(0, 1), max_weight=weight, seed=i)
        for e in found.estimates:
            hits.setdefault(e.estimator, []).append(e.lower <= VALUE <= e.upper)
            if interval == "anytime" and e.estimator in ("IPS", "DR"):
                low, high = (ends[EVERY - 1 :: EVERY] for ends in found.over_time(e.estimator))
                hits[e.estimator][-1] = ((low <= VALUE) & (high >= VALUE)).all()
    return {name: float(np.mean(hit)) for name, hit in hits.items() if any(hit)}


def of_means(policy, logs, rows, means=(0.5, 0.5), seed=0, **given):
    """Return bias of the sample mean, bias of ours, and how often the interval holds, for each arm."""
    m = made.adaptive(np.random.default_rng(seed), logs, rows, means, policy)
    found = [br.arm_means(m[i], **given).means for i in range(logs)]
    table = np.array([[(x.sample_mean, x.value, x.lower, x.upper) for x in each] for each in found])
    truth = np.array(means)
    holds = (table[:, :, 2] <= truth) & (table[:, :, 3] >= truth)
    return np.stack([*(np.nanmean(table[:, :, :2], axis=0).T - truth), holds.mean(axis=0)])


def of_simpson(logs, rows=4000, seed=0, **given):
    """Return the mean naive difference, the mean of ours, and how often the interval holds 0."""
    m = made.simpson(np.random.default_rng(seed), logs, rows)
    found = [br.arm_means(m[i], **given).difference("a", "b") for i in range(logs)]
    table = np.array([(d.sample_mean, d.value, d.lower <= 0 <= d.upper) for d in found])
    return table.mean(axis=0)


def of_rates(sizes=(1000, 10_000, 100_000, 1_000_000), logs=100):
    """Return the slope of the log of the root mean squared error by the log of n, for each estimator."""
    errors = []
    for size in sizes:
        rng, off = np.random.default_rng(size), []
        for _ in range(logs):
            log = made.uniform(rng, 1, size, MEANS)[0]
            found = br.evaluate(log, RULE, estimators=("IPS", "SNIPS", "DR"), interval="normal")
            off.append([e.value - VALUE for e in found.estimates])
        errors.append(np.sqrt(np.mean(np.square(off), axis=0)))
    return np.polyfit(np.log(sizes), np.log(errors), 1)[0]


def main():
    """Print all tables."""
    for interval in INTERVALS:
        for chances in ((0.5, 0.5), (0.9, 0.1)):
            print(interval, chances, of_rules(2000, interval, chances=chances), flush=True)
    print("slopes", of_rates().round(3), flush=True)
    policies = {
        "epsilon-greedy 0.1": made.greedy(0.1),
        "Thompson": made.thompson(),
        "Thompson, floor 0.02": made.thompson(0.02),
    }
    for name, policy in policies.items():
        for means in ((0.5, 0.5), (0.3, 0.5)):
            for given in ({"weights": w, "strata": s} for s in (1, 10) for w in WEIGHTS):
                found = of_means(policy, 2000, 1000, means, **given)
                print(name, means, given, found.round(4).tolist(), flush=True)
    for given in ({}, {"weights": "equal"}, {"weights": "inverse", "strata": 1}, {"strata": 1}):
        print("Simpson", given, of_simpson(2000, **given).round(4).tolist(), flush=True)


if __name__ == "__main__":
    main()
