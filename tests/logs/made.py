"""Logs with known truth, many at a time: rows of an array are logs, columns are decisions."""

from typing import NamedTuple

import numpy as np
from scipy import special

import brigand as br


class Made(NamedTuple):
    arm: np.ndarray
    reward: np.ndarray
    propensity: np.ndarray

    def __getitem__(self, i):
        """Return the i-th log."""
        names = tuple("abcdefghij"[: int(self.arm.max()) + 1])
        return br.Log(names, self.arm[i], self.reward[i], self.propensity[i])


def uniform(rng, logs, rows, means, chances=None):
    """Arms drawn by the same chances always; 0/1 rewards."""
    means, chances = np.asarray(means), np.full(len(means), 1 / len(means)) if chances is None else chances
    arm = rng.choice(len(means), (logs, rows), p=chances).astype(np.int32)
    return Made(arm, (rng.random((logs, rows)) < means[arm]) * 1.0, np.asarray(chances)[arm])


def adaptive(rng, logs, rows, means, chances_of):
    """0/1 rewards, arms drawn by chances of shape (logs, K) that depend on pulls and successes so far."""
    means, pulls = np.asarray(means), np.zeros((logs, len(means)))
    won, each = pulls.copy(), np.arange(logs)
    made = Made(np.empty((logs, rows), np.int32), np.empty((logs, rows)), np.empty((logs, rows)))
    for t in range(rows):
        chances = chances_of(pulls, won, t)
        a = (rng.random((logs, 1)) > chances.cumsum(axis=1)).sum(axis=1).clip(max=len(means) - 1)
        r = (rng.random(logs) < means[a]) * 1.0
        made.arm[:, t], made.reward[:, t], made.propensity[:, t] = a, r, chances[each, a]
        pulls[each, a] += 1
        won[each, a] += r
    return made


def greedy(epsilon):
    """Epsilon-greedy, ties shared."""

    def chances_of(pulls, won, t):
        mean = np.where(pulls > 0, won / np.maximum(pulls, 1), np.inf)
        best = mean == mean.max(axis=1, keepdims=True)
        return epsilon / pulls.shape[1] + (1 - epsilon) * best / best.sum(axis=1, keepdims=True)

    return chances_of


def thompson(floor=0.0):
    """Thompson sampling of two arms with Gaussian posteriors, and a floor."""

    def chances_of(pulls, won, t):
        mean, variance = (won + 0.5) / (pulls + 1), 0.25 / (pulls + 1)
        first = special.ndtr((mean[:, 0] - mean[:, 1]) / np.sqrt(variance.sum(axis=1)))
        first = floor + (1 - 2 * floor) * first
        return np.stack([first, 1 - first], axis=1)

    return chances_of


def simpson(rng, logs, rows):
    """Two identical arms, whose rate is 0.1 in the first half and 0.2 in the second, with 50:50, 90:10."""
    half = np.repeat([0, 1], rows // 2)
    first, rate = np.array([0.5, 0.9])[half], np.array([0.1, 0.2])[half]
    arm = (rng.random((logs, rows)) > first).astype(np.int32)
    reward = (rng.random((logs, rows)) < rate) * 1.0
    return Made(arm, reward, np.where(arm == 0, first, 1 - first))
