"""Asks that are answered by chance alone: a holdout, and a floor under each arm's probability.

A share of all asks, the holdout, gets each of the n available arms with the same probability 1 / n. Where an
arm must be kept at a probability above holdout / n, a share of the other asks is drawn so, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brigand.jit import kernel

POLICY, HOLDOUT, FLOOR = range(3)
"""Who chooses."""


@kernel
def share_for_floor(holdout: float, floor: float, n: int) -> float:
    """Return which share of the asks outside the holdout is drawn, so that n arms have a probability."""
    return min(max((n * floor - holdout) / (1.0 - holdout), 0.0), 1.0)


@kernel
def draw(holdout: float, floor: float, candidates: Any, rng: np.random.Generator) -> tuple[int, int]:
    """Return who chooses, and which candidate if it is not the policy."""
    n, uniform = len(candidates), rng.random()
    if uniform < holdout:
        return HOLDOUT, candidates[min(int(uniform / holdout * n), n - 1)]
    share, uniform = share_for_floor(holdout, floor, n), (uniform - holdout) / (1.0 - holdout)
    if uniform < share:
        return FLOOR, candidates[min(int(uniform / share * n), n - 1)]
    return POLICY, -1


@kernel
def mixed(propensity: float, holdout: float, floor: float, n: int) -> float:
    """Return the probability of one of n arms that the policy chooses with a probability; NaN stays NaN."""
    even = holdout + (1.0 - holdout) * share_for_floor(holdout, floor, n)
    if n == 1 or even == 1.0:
        return 1.0 / n
    return even / n + (1.0 - even) * propensity
