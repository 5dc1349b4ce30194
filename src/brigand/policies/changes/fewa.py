"""FEWA: filtering on expanding windows of the latest rewards, for rewards that fall.

Rule
----
After n pulls, all arms are in the set. For h = 1, 2, ..., arms leave the set whose mean of the last h rewards
is less than the largest one in the set by more than

    2 sigma sqrt(2 alpha log n / h)

until one arm is left, which is pulled, or until arms in the set have no more than h rewards: then that of
these with the fewest pulls is pulled. So every arm is pulled once first, in random order. Ties are broken
uniformly.

With growth = 1, h takes every value. With growth m > 1 it is 1, then ceil(m) and so on, each the last one
times m, rounded up: for m = 2 the powers of two. A step costs log N for an arm of N rewards then, not N.

Source
------
Seznec, Locatelli, Carpentier, Lazaric, Valko, "Rotting bandits are no harder than stochastic ones", AISTATS
2019; rule and the default alpha = 4 are those of the first author's code, in SMPyBandits (FEWA.py), whose
default for m > 1 is alpha = 0.06.

Deviations
----------
For m > 1 the authors' code compares the means of windows that were last full, to save memory: such a window
ends up to h - 1 rewards before the latest. Here each ends with the latest.

Late rewards
------------
The last rewards are the last to arrive. An arm that was pulled, and has no reward yet, is pulled before
others until it has had 2 + log(n + 1) pulls, then after them (`kernels.choices.needs_pull`).

Cost
----
For growth m > 1 O(K log T / log m) a step, for m = 1 O(T); memory O(K + T).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from brigand.jit import kernel
from brigand.policies.base import Header, Kernels, Table
from brigand.policies.changes.raw_ucb import RottingPolicy, last_mean, next_window, pull
from brigand.policies.kernels.choices import break_tie, needs_pull
from brigand.policies.kernels.exact_history import remember


@kernel
def shortest(arms: Table, kept: Any, candidates: Any, count: int) -> int:
    """Return the fewest pulls of the candidates that are kept and have fewer than `count` rewards, or -1."""
    fewest = -1
    for i in range(len(candidates)):
        arm = candidates[i]
        if kept[i] and arms[arm]["count"] < count and (fewest < 0 or arms[arm]["pulls"] < fewest):
            fewest = arms[arm]["pulls"]
    return fewest


@kernel
def keep(parameters: Any, header: Header, arms: Table, memory: Table, kept: Any, candidates: Any) -> int:
    """Mark the candidates among which the choice is uniform, in `kept`; return how many there are."""
    left, unpaid = 0, 0
    for i in range(len(candidates)):
        arm = candidates[i]
        paid = arms[arm]["count"] > 0
        due = not paid and needs_pull(arms[arm]["pulls"], 1.0, header["step"])
        kept[i] = paid or due
        left += kept[i]
        unpaid += due
    if left == 0:
        for i in range(len(candidates)):
            kept[i] = True
        left = len(candidates)
    window = 1
    fewest = shortest(arms, kept, candidates, window)
    while fewest < 0 and left > 1:
        best = -math.inf
        for i in range(len(candidates)):
            if kept[i]:
                best = max(best, last_mean(arms, memory, candidates[i], window))
        bar = best - 2.0 * parameters.scale * header["root_log"] / math.sqrt(window)
        for i in range(len(candidates)):
            if kept[i] and last_mean(arms, memory, candidates[i], window) < bar:
                kept[i] = False
                left -= 1
        window = next_window(window, parameters.growth)
        fewest = shortest(arms, kept, candidates, window)
    if left == 1:
        return 1
    ties = 0
    for i in range(len(candidates)):
        arm = candidates[i]
        kept[i] = kept[i] and arms[arm]["count"] < window and arms[arm]["pulls"] == fewest
        ties += kept[i]
    return ties


@kernel
def select(
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    candidates: Any,
    rng: np.random.Generator,
) -> int:
    uniform = rng.random()
    kept = np.zeros(len(candidates), np.bool_)
    keep(parameters, header, arms, memory, kept, candidates)
    chosen, ties = candidates[0], 0
    for i in range(len(candidates)):
        if kept[i]:
            ties += 1
            chosen, uniform = break_tie(chosen, candidates[i], ties, uniform)
    return chosen


@kernel
def propensity(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, arm: int
) -> float:
    kept = np.zeros(len(candidates), np.bool_)
    ties = keep(parameters, header, arms, memory, kept, candidates)
    for i in range(len(candidates)):
        if candidates[i] == arm and kept[i]:
            return 1.0 / ties
    return 0.0


@dataclass(frozen=True)
class FEWA(RottingPolicy):
    """FEWA, for rewards whose means never rise, with time or from pull to pull.

    Parameters
    ----------
    sigma : float
        The rewards are sigma-sub-Gaussian; (high - low) / 2 for rewards in [low, high].
    alpha : float
        How certain a comparison is: at step n an error has a probability of about n^(-alpha).
    growth : float
        By what the next window is longer, at least 1: 1 for all windows, at a cost of O(T) a step.
    """

    sigma: float
    alpha: float = 4.0
    growth: float = 1.0

    kernels: ClassVar[Kernels] = Kernels(select, pull, remember, propensity=propensity)
    reference: ClassVar[str] = "seznec2019fewa"
