"""Kernels that several policies share: choices with fair ties, running means, the leader, randomness.

They rely on these fields: ``count``, ``sum``, ``residue``, ``mean`` (rewards so far) and ``last`` (step of
the last pull, 0 if none) of an arm; ``step``, ``leader``, ``second`` of the header. Loops run over
indices: to iterate over an array costs a step of FE 15 ns, because Numba counts references to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from brigand.jit import kernel
from brigand.policies.base import Header, Table


@kernel
def argmax(
    index: Callable[..., float],
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    candidates: Any,
    rng: np.random.Generator,
) -> int:
    """Return the candidate with the largest ``index(parameters, header, arms, memory, arm, rng)``.

    Ties are broken uniformly, by one uniform number drawn at every call: to draw it only where there is a
    tie costs more, because Numba counts references to a generator that is used in a branch. An index of
    NaN is never the largest; if all are NaN, the choice is uniform.
    """
    uniform = rng.random()
    best = -np.inf
    chosen = candidates[0]
    ties = 0
    for i in range(len(candidates)):
        arm = candidates[i]
        value = index(parameters, header, arms, memory, arm, rng)
        if value > best:
            best = value
            chosen = arm
            ties = 1
        elif value == best:
            # The n-th of equals takes the place with probability 1/n; what is left of the number is
            # uniform again.
            ties += 1
            uniform *= ties
            if uniform < 1.0:
                chosen = arm
            else:
                uniform = (uniform - 1.0) / (ties - 1.0)
    return chosen if ties > 0 else candidates[int(uniform * len(candidates))]


@kernel
def least_recently_pulled(arms: Table, candidates: Any) -> int:
    """Return the candidate whose last pull is longest ago; of arms never pulled, the lowest index."""
    chosen = candidates[0]
    for i in range(len(candidates)):
        arm = candidates[i]
        if arms[arm]["last"] < arms[chosen]["last"]:
            chosen = arm
    return chosen


@kernel
def next_in_turn(arms: Table, candidates: Any, uniform: float) -> int:
    """As `least_recently_pulled`, but `uniform`, a number in [0, 1), chooses among arms never pulled."""
    untouched = 0
    for i in range(len(candidates)):
        untouched += arms[candidates[i]]["last"] == 0
    place = int(uniform * untouched)
    for i in range(len(candidates)):
        if arms[candidates[i]]["last"] == 0:
            if place == 0:
                return candidates[i]
            place -= 1
    return least_recently_pulled(arms, candidates)


@kernel
def two_sum(a: float, b: float) -> tuple[float, float]:
    """Return a + b as a float and what rounding took from it: the two add up to a + b exactly.

    Source: Knuth, "The Art of Computer Programming", volume 2, section 4.2.2.
    """
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@kernel
def quotient(total: float, residue: float, count: int) -> float:
    """Return (total + residue) / count as if computed exactly and rounded once, for count < 2^26.

    So means are equal floats where they are equal numbers: ties are ties, whatever the rewards. (A plain sum
    of three times 0.1, divided by 3, is not 0.1.)
    """
    result = float(total / count)
    if residue == 0.0:
        return result
    # Veltkamp's splitting: with 26 bits each, the products with `count` are exact.
    scaled = 134217729.0 * result
    high = scaled - (scaled - result)
    low = result - high
    exact = result + (((total - high * count) - low * count) + residue) / count
    # NaN where the splitting overflowed, from 1.3e300 on (silently: numbers of NumPy's would warn).
    return result if math.isnan(exact) else exact


@kernel
def learn_mean(arms: Table, arm: int, reward: float) -> None:
    """Add a reward to the arm's count, sum (with its residue) and mean."""
    arms[arm]["count"] += 1
    total, lost = two_sum(arms[arm]["sum"], reward)
    arms[arm]["sum"] = total
    arms[arm]["residue"] += lost
    arms[arm]["mean"] = quotient(total, arms[arm]["residue"], arms[arm]["count"])


@kernel
def hypotenuse(a: float, b: float) -> float:
    """Return sqrt(a^2 + b^2), for a and b at least 0, in the same bits in Python and compiled.

    `math.hypot` is rounded otherwise in Python than compiled. Nothing overflows on the way.
    """
    larger = max(a, b)
    if larger == 0.0 or larger == math.inf:
        return larger
    ratio = min(a, b) / larger
    return larger * math.sqrt(1.0 + ratio * ratio)


@kernel
def unit_reward(parameters: Any, reward: float) -> float:
    """Rescale a reward from the range of a `BoundedPolicy` to [0, 1]; needs ``low`` and ``width``."""
    return (reward - parameters.low) / parameters.width


@kernel
def rank(header: Header, arms: Table) -> None:
    """Find the arm with the strictly largest mean (-1 if tied, or no mean is known), and the next mean."""
    best = -np.inf
    second = -np.inf
    leader = -1
    for arm in range(len(arms)):
        mean = arms[arm]["mean"]
        if mean > best:
            second = best
            best = mean
            leader = arm
        elif mean > second:
            second = mean
    header["leader"] = leader if best > second else -1
    header["second"] = second


@kernel
def mean_moved(header: Header, arms: Table, arm: int) -> None:
    """Keep the leader right after a change of one arm's mean: O(1) as long as the leader stays ahead.

    ``second`` may then be more than the next mean, which costs a needless `rank` later and changes nothing.
    """
    leader, mean = header["leader"], arms[arm]["mean"]
    if arm == leader and mean > header["second"]:
        return
    if arm != leader and leader >= 0 and mean < arms[leader]["mean"]:
        header["second"] = max(header["second"], mean)
        return
    rank(header, arms)


@kernel
def greedy(header: Header, arms: Table, candidates: Any, uniform: float) -> int:
    """Return the candidate with the largest mean; the least recently pulled one if no mean is known.

    Uses the leader kept by `mean_moved` where all arms are candidates. Ties are broken by `uniform`, a
    number in [0, 1) that the caller draws before any branch.
    """
    if header["leader"] >= 0 and len(candidates) == len(arms):
        return header["leader"]
    best = -np.inf
    ties = 0
    for i in range(len(candidates)):
        mean = arms[candidates[i]]["mean"]
        if mean > best:
            best = mean
            ties = 1
        elif mean == best:
            ties += 1
    if ties == 0:
        return least_recently_pulled(arms, candidates)
    place = int(uniform * ties)
    for i in range(len(candidates)):
        if arms[candidates[i]]["mean"] == best:
            if place == 0:
                return candidates[i]
            place -= 1
    return candidates[0]


@kernel
def uniform_at(key: int, step: int) -> float:
    """Return a number uniform in [0, 1) that depends on (key, step) alone, both at least 0.

    For policies that randomise what they learn: the result does not depend on the order in which rewards
    arrive. The generator is Philox 4x32-10, the key its key and the step its counter. Source: Salmon,
    Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
    """
    word, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    c0, c1 = np.uint64(step) & mask, np.uint64(step) >> word
    c2, c3 = np.uint64(0), np.uint64(0)
    k0, k1 = np.uint64(key) & mask, np.uint64(key) >> word
    for _ in range(10):
        p0, p1 = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1 = (p1 >> word) ^ c1 ^ k0, p1 & mask
        c2, c3 = (p0 >> word) ^ c3 ^ k1, p0 & mask
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & mask, (k1 + np.uint64(0xBB67AE85)) & mask
    return np.float64((c0 << np.uint64(21)) | (c1 >> np.uint64(11))) * 2.0**-53


@kernel
def is_due(pulls: int, least: float, step: int) -> bool:
    """Return whether an arm that has fewer than `least` rewards must be pulled at once, after `step` pulls.

    It must until 2 least + log(step + 1) of its pulls have told too little; then it waits, chosen last. So
    one lost reward does not end an arm, and an arm whose rewards never come does not hold up the others.
    """
    # Not math.log: LLVM computes it for every arm at every step.
    return pulls < 2.0 * least or pulls < 2.0 * least + math.log1p(step)
