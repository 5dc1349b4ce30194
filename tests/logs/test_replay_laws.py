"""Over many logs, replays are right in the mean, and their intervals hold the truth as often as they say."""

import functools

import numpy as np
import pytest
from scipy import stats

import brigand as br
from logs.replayed import MEANS, POLICIES, coins, earned
from strength import runs, some

ROWS = 2000
TRUTH = 100_000
"""Runs on the true arms: the error of the truth is a tenth of that of 2,000 logs."""
TRIED = runs(("FE",), tuple(POLICIES))
UNEVEN = (0.3, 0.25, 0.2, 0.15, 0.1)


@functools.cache
def truth(name, steps, horizon):
    """Return the mean reward over 1, 2, ... steps."""
    return earned(POLICIES[name], steps, horizon, replications=runs(4000, TRUTH))


def gaps(method, probabilities=None, **options):
    """Return, for each policy, what was found on each of many logs less the truth at the same steps."""
    tried = {name: POLICIES[name] for name in TRIED}
    found = {name: [] for name in tried}
    for seed in range(runs(25, 2000)):
        log = coins(50_000 + seed, ROWS, MEANS, probabilities)
        played = br.replay(log, tried, method=method, resamples=0, least=1, seed=seed, **options)
        for name, one in played.replayed.items():
            found[name].append((one.line.reward[-1], round(one.steps)))
    for name, pairs in found.items():
        reward, steps = map(np.array, zip(*pairs, strict=True))
        horizon = options.get("horizon", ROWS)
        yield name, reward - truth(name, horizon if "horizon" in options else 800, horizon)[steps - 1]


CASES = {
    "queue, steps given": {"method": "queue", "horizon": 250, "replications": 4},
    "queue, steps found": {"method": "queue", "replications": runs(8, 20)},
    "rejection, uniform": {"method": "rejection", "replications": 4},
    "rejection, uneven": {"method": "rejection", "replications": 4, "probabilities": UNEVEN},
}


@pytest.mark.parametrize("case", some(CASES, ["queue, steps given", "rejection, uniform"]))
def test_replay_is_unbiased(case):
    """Within three standard errors: 0.27 % of false alarms for each of four policies and cases."""
    for name, gap in gaps(**CASES[case]):
        z = gap.mean() / (gap.std(ddof=1) / len(gap) ** 0.5)
        assert abs(z) < 3, (name, gap.mean(), z)


@pytest.mark.parametrize("method", ["queue", "rejection"])
@pytest.mark.parametrize("name", TRIED)
def test_intervals_hold_the_truth(method, name):
    """95 % intervals of reward and gain: 93 to 97 % of 2,000 logs, and what chance adds at level 1e-5."""
    held = np.zeros((2, runs(20, 2000)), bool)
    for seed in range(held.shape[1]):
        log = coins(90_000 + seed, ROWS)
        found = br.replay(
            log, {name: POLICIES[name]}, method=method, replications=2, resamples=50, least=1, seed=seed
        )
        row = found.summary().loc[name]
        true = truth(name, 800, ROWS)[int(row["steps"]) - 1]
        # What the log's rule earns: with queues, on the rows of each arm that there are.
        value = MEANS @ np.bincount(log.arm) / len(log) if method == "queue" else MEANS.mean()
        held[0, seed] = row["lower"] <= true <= row["upper"]
        held[1, seed] = row["gain_lower"] <= true - value <= row["gain_upper"]
    low, high = (
        stats.binom.ppf(q, held.shape[1], share) / held.shape[1]
        for q, share in ((5e-6, 0.93), (1 - 5e-6, 0.97))
    )
    assert ((low <= held.mean(axis=1)) & (held.mean(axis=1) <= high)).all(), held.mean(axis=1)
