"""What FE loses in the worst case, whatever f: at least of the order of T^(2/3). Ours, not the paper's.

**Theorem.** *K = 2, T >= 1000. For every non-decreasing f, also one that depends on T, there is a problem
with Gaussian rewards, means in [-1, 1] and standard deviations of at most 1, on which FE's expected regret is
at least T^(2/3) / 13.* For f(r) = sqrt(r) the corrected Theorem 1 is of this order on all such problems.

The problems: arm A pays 0. Arm B pays N(d, 1): its rewards add up to a random walk, and while that is below
zero, B is pulled only when it is forced. The proof is in ``docs/results.md``.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from brigand import checks
from brigand.policies.forced.sequences import ExplorationSequence
from brigand.theory.bound import Floats, Steps
from brigand.theory.schedule import Schedule

SHARE = 10
"""A walk of m steps is looked at for m / SHARE steps below zero."""
GRID = 400


def worst_case_floor(sequence: ExplorationSequence, horizon: int) -> float:
    """Return a regret that FE has at least, in expectation, on some problem of two arms.

    Parameters
    ----------
    sequence : ExplorationSequence
        f; known beforehand.
    horizon : int
        T, at least 1.

    Returns
    -------
    float
        The larger of rho(T), for a gap of 1; and, over walks of m steps with d = 1 / sqrt(m), of d times the
        probability that q of them are below zero, times the pulls of the wrong arm before the walk is over.

    Raises
    ------
    InvalidValueError
        An argument is not allowed, or f is not known beforehand.

    Examples
    --------
    >>> import brigand as br
    >>> [round(br.theory.worst_case_floor(br.Power(0.5), T) / T ** (2 / 3), 2) for T in (10**4, 10**6)]
    [1.23, 1.29]
    """
    last = checks.steps("horizon", horizon)
    schedule = Schedule(sequence, 2, last)
    sure = float(schedule.rounds([last])[0])
    m = SHARE * np.unique(np.rint(np.geomspace(1, max(last // (2 * SHARE), 1), GRID)).astype(np.int64))
    m = m[m < last]
    if not len(m):
        return sure
    q = m // SHARE
    chance = np.array([below_zero(int(steps)) for steps in m])
    wrong = np.minimum(last - m, waited(schedule, q))
    return max(sure, float((np.maximum(chance, 0.0) * wrong / np.sqrt(m)).max()))


def waited(schedule: Schedule, rounds: Steps) -> Floats:
    """Return ceil f(0) + ... + ceil f(n - 1) for each n, f(0) = 0; less for rounds that do not fit into T."""
    waits = schedule.waits.astype(np.float64)
    before = np.cumsum(waits * schedule.counts) - waits * schedule.counts
    group = np.searchsorted(schedule.first, rounds, side="right") - 1
    inside = np.where(group >= 0, rounds - schedule.first[group], 0)
    return np.where(group >= 0, before[group] + inside * waits[group], 0.0)


@cache
def below_zero(steps: int) -> float:
    """Return a lower bound of the probability that a walk is below zero in a tenth of its first m steps.

    The walk has standard normal steps with drift 1 / sqrt(m). The number X of its steps below zero has E X =
    sum of Phi(-sqrt(n / m)), and E X <= q + (m - q) P(X >= q).
    """
    n = np.arange(1, min(steps, 100_000) + 1) / min(steps, 100_000)  # for more steps, the sum only grows
    mean = steps * float(np.mean([0.5 * math.erfc(math.sqrt(x / 2)) for x in n]))
    q = steps // SHARE
    return (mean - q) / (steps - q)
