"""Sums of sub-samples of a history, drawn without replacement.

If all rewards of the history are 0 or 1, the number of ones in the sub-sample is hypergeometric. It is then
drawn as such: the law is the same, and the history is not read. Tables: as in
`brigand.policies.kernels.exact_history`.
"""

from __future__ import annotations

import math

import numpy as np

from brigand.jit import kernel
from brigand.policies.base import Table
from brigand.policies.kernels.arithmetic import difference, two_sum
from brigand.policies.kernels.history import reward_at

LOW = np.uint64(0xFFFFFFFF)
WORD = np.uint64(32)
MULTIPLIER = np.uint64(4294883355)


@kernel
def log_choose(n: int, k: int) -> float:
    """Return the logarithm of a binomial coefficient."""
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


@kernel
def hypergeometric(ones: int, zeros: int, draws: int, uniform: float) -> int:
    """Return how many ones are among `draws` of the rewards, drawn without replacement.

    By inversion of a uniform number, values taken from the mode outwards: O(sqrt(draws)) steps.
    """
    lowest = max(0, draws - zeros)
    highest = min(draws, ones)
    mode = int((draws + 1.0) * (ones + 1.0) / (ones + zeros + 2.0))
    mode = min(max(mode, lowest), highest)
    chance = math.exp(
        log_choose(ones, mode) + log_choose(zeros, draws - mode) - log_choose(ones + zeros, draws)
    )
    left = uniform - chance
    up = down = mode
    above = below = chance
    while left >= 0.0 and (up < highest or down > lowest):
        if up < highest:
            above *= (ones - up) / (up + 1.0) * ((draws - up) / (zeros - draws + up + 1.0))
            up += 1
            left -= above
            if left < 0.0:
                return up
        if down > lowest:
            below *= down / (ones - down + 1.0) * ((zeros - draws + down) / (draws - down + 1.0))
            down -= 1
            left -= below
            if left < 0.0:
                return down
    return mode


@kernel
def subsample_sum(memory: Table, arm: int, count: int, size: int, uniform: float) -> tuple[float, float]:
    """Return the sum, and what rounding took from it, of `size` of the arm's first `count` rewards.

    Drawn without replacement by Floyd's method, with a hash table for the places taken (Bentley, Floyd,
    "A sample of brilliance", CACM 1987). The random numbers are those of MWC64X, started from `uniform`.
    """
    length = 4
    while length < 2 * size:
        length *= 2
    taken = np.full(length, -1)
    word = np.uint64(uniform * 2.0**53) + np.uint64(1)
    total = 0.0
    residue = 0.0
    for last in range(count - size, count):
        word = MULTIPLIER * (word & LOW) + (word >> WORD)
        place = int(np.float64((word & LOW) ^ (word >> WORD)) * 2.0**-32 * (last + 1.0))
        slot = place & (length - 1)
        while taken[slot] >= 0 and taken[slot] != place:
            slot = (slot + 1) & (length - 1)
        if taken[slot] == place:
            place = last
            slot = place & (length - 1)
            while taken[slot] >= 0:
                slot = (slot + 1) & (length - 1)
        taken[slot] = place
        total, lost = two_sum(total, reward_at(memory, arm, place))
        residue += lost
    return total, residue


@kernel
def sampled_excess(arms: Table, memory: Table, short: int, long: int, uniform: float) -> float:
    """Return the sum of the shorter history less that of as many rewards of the longer one."""
    size = arms[short]["count"]
    count = arms[long]["count"]
    if size == count:
        total, residue = arms[long]["sum"], arms[long]["residue"]
    elif arms[long]["others"] == 0:
        ones = int(arms[long]["sum"])
        total, residue = float(hypergeometric(ones, count - ones, size, uniform)), 0.0
    else:
        total, residue = subsample_sum(memory, long, count, size, uniform)
    return difference(arms[short]["sum"], arms[short]["residue"], total, residue)
