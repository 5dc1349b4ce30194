"""What a careful person would write by hand for one policy in one kind of environment: the baselines.

`fe_exponential` is FE with the exponential sequence on Bernoulli rewards, in one compiled loop over plain
arrays. It draws the same random numbers as Brigand's simulator, so it makes the same pulls, which
`bench.py` checks. `plain_fe` is the same in NumPy and plain Python, as published scripts are written.
"""

import numba
import numpy as np


@numba.njit(cache=True)
def fe_exponential(means, horizon, base, reward_rng, rng, pulls):
    k = len(means)
    sums = np.zeros(k)
    counts = np.zeros(k, np.int64)
    last = np.zeros(k, np.int64)
    seen = np.zeros(k, np.bool_)
    seen_count = 0
    threshold = 0.0
    round_ = 0
    for t in range(horizon):
        noise = reward_rng.random()
        uniform = rng.random()
        arm = 0
        for i in range(1, k):
            if last[i] < last[arm]:
                arm = i
        if t - last[arm] < threshold:
            best = -np.inf
            ties = 0
            for i in range(k):
                mean = sums[i] / counts[i]
                if mean > best:
                    best = mean
                    arm = i
                    ties = 1
                elif mean == best:
                    ties += 1
            if ties > 1:
                place = int(uniform * ties)
                for i in range(k):
                    if sums[i] / counts[i] == best:
                        if place == 0:
                            arm = i
                            break
                        place -= 1
        last[arm] = t + 1
        pulls[arm] += 1
        counts[arm] += 1
        if noise < means[arm]:
            sums[arm] += 1.0
        if not seen[arm]:
            seen[arm] = True
            seen_count += 1
            if seen_count == k:
                seen[:] = False
                seen_count = 0
                round_ += 1
                threshold = base**round_


@numba.njit(cache=True)
def rewards_only(means, horizon, reward_rng):
    total = 0.0
    for t in range(horizon):
        if reward_rng.random() < means[t % len(means)]:
            total += 1.0
    return total


def plain_fe(means, horizon, base, reward_rng, rng):
    k = len(means)
    sums, counts, ages = np.zeros(k), np.zeros(k), np.zeros(k)
    seen = np.zeros(k, bool)
    threshold, round_ = 0.0, 0
    for _ in range(horizon):
        if (ages >= threshold).any():
            arm = int(np.argmax(ages))
        else:
            averages = sums / counts
            arm = int(rng.choice(np.flatnonzero(averages == averages.max())))
        reward = float(reward_rng.random() < means[arm])
        sums[arm] += reward
        counts[arm] += 1
        ages += 1
        ages[arm] = 0
        seen[arm] = True
        if seen.all():
            round_ += 1
            threshold = base**round_
            seen[:] = False
    return counts
