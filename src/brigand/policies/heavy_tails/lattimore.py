"""The scale-free UCB of Lattimore, for rewards with bounded kurtosis.

Rule
----
Let kappa be at least the kurtosis E (X - mean)^4 / variance^2, L = log(e^(1/8) / delta) and delta = 1 / (t^2
log(1 + t)) at step t. The arm has n rewards, and MM is the median of means over
max(1, floor(min(8 L, n / 2))) blocks (as in `brigand.policies.heavy_tails.robust_ucb`). The index is the
largest theta with

    theta <= MM(X) + u sqrt(MM((X - theta)^2) / (1 - u sqrt(kappa - 1))),   u = C1 sqrt(L / n),

and +inf where the denominator is 0 or less, or where there is no largest theta. That is so while u^2 + u
sqrt(kappa - 1) >= 1, that is for n <= n0. Ties are broken uniformly. The rule needs no scale: adding a number
to all rewards, or multiplying them, changes no choice, but for rounding.

**It only samples uniformly at usual horizons**: for kappa = 3, every index is +inf until n >= 18,340 at t =
100,000. A smaller `c1`, such as sqrt(2), is a heuristic without the proof.

Source
------
Lattimore, "A scale free algorithm for stochastic bandits with bounded kurtosis", NIPS 2017. **A
reconstruction**: its text was not at hand. The rule, delta and C1 = sqrt(192) are quoted from memory; that
the index is an upper confidence bound was proved anew from C1.

Deviations
----------
Not known.

Late rewards
------------
An arm with n0 rewards or fewer is pulled before others until it has had 2 n0 + log t pulls, then after them
(`kernels.choices.needs_pull`).

Cost
----
O(K) a step while indices are infinite. A finite one costs about ten times O(log t), from the means and
variances of the blocks. These are made anew from the rewards, because a difference of sums of squares would
cancel: O(n), about once in 16 log t pulls of the arm. Memory O(K + T).

How the index is found: sqrt(MM((X - theta)^2)) changes by at most the change of theta, since the root of a
block's mean square does, and so do order statistics and the root mean square of two. With the factor w < 1
before it, theta - MM(X) - w sqrt(...) increases, and its only root is the index. With R the square root at
theta = MM(X), the root lies between w R / (1 + w) and w R / (1 - w) above MM(X). So no bracket has to be
searched for, and there is no doubt about the largest root. It is narrowed by the secant method (the Illinois
variant of regula falsi).

Limits: an outlier of any size spoils its own block alone. But rewards are squared, so the distances of usual
ones from MM(X) should lie between 1e-150 and 1e150. With larger ones in half of the blocks, the index is
+inf; smaller ones count as 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.jit import kernel
from brigand.policies.base import Estimated, Header, Kernels, Policy, Table, record
from brigand.policies.heavy_tails.median_of_means import refresh_median, set_blocks
from brigand.policies.kernels.arithmetic import two_sum
from brigand.policies.kernels.choices import index_propensity, index_select, needs_pull
from brigand.policies.kernels.estimates import ROBUST, known_estimate
from brigand.policies.kernels.exact_history import append_exactly
from brigand.policies.kernels.history import new_history, reward_at, row_of
from brigand.policies.kernels.median import median

HEADER = record(step=0, used=0, log=0.0, blocks=1)  # L for the next step; floor(8 L)
# parts, size: the `blocks` and `length` for which the blocks have been measured
ARM = record(pulls=0, count=0, estimate=float("nan"), blocks=0, length=0, parts=0, size=0)
# Row number i, from 0, of an arm also has its block number i: the mean's distance from MM(X), the variance.
ROW = record(segment=0, reward=0.0, total=0.0, residue=0.0, mean=0.0, variance=0.0)
PRECISION = 1e-14
MOST = 200


class LattimoreParameters(NamedTuple):
    """C1, sqrt(kappa - 1), and the n / L up to which the index is infinite."""

    c1: float
    spread: float
    least: float


@kernel
def confidence(step: int) -> float:
    """Return L at the step after `step`."""
    t = step + 1.0
    return 0.125 + 2.0 * math.log(t) + math.log(math.log(1.0 + t))


@kernel
def solve(distance: Callable[..., float], data: Any, work: Any, order: float, slope: float) -> float:
    """Return the x with x = slope R(x), R(x) = distance(data, work, order, x), 0 < slope < 1.

    R is at least 0 and changes by at most the change of x. If it overflows, the answer is +inf.
    """
    x, low, high, below, above, side = 0.0, 0.0, 0.0, 0.0, 0.0, 0
    for turn in range(MOST):
        value = x - slope * distance(data, work, order, x)
        if value == -math.inf:
            return math.inf
        if turn == 0:
            low, high = -value / (1.0 + slope), -value / (1.0 - slope)
            x = low
        elif turn == 1:
            below = value
            x = high
        elif turn == 2:
            above = value
        elif value > 0.0:
            below *= 0.5 if side == 1 else 1.0
            high, above, side = x, value, 1
        else:
            above *= 0.5 if side == -1 else 1.0
            low, below, side = x, value, -1
        if turn >= 2:
            if high - low <= PRECISION * high or below >= 0.0 or above <= 0.0:
                break
            x = high - above * ((high - low) / (above - below))
            if not low < x < high:
                x = 0.5 * (low + high)
    return low if below >= 0.0 else high


@kernel
def root_mean_square(blocks: Any, squares: Any, order: float, x: float) -> float:
    """Return the root of the median of the blocks' mean squares; they go to `squares`."""
    for block in range(len(squares)):
        away = float(blocks[block]) - x
        squares[block] = blocks[len(squares) + block] + away * away
    return math.sqrt(median(squares))


@kernel
def measure(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    """Bring the means and variances of the arm's blocks up to date, if its index can be finite."""
    blocks, length, centre = arms[arm]["blocks"], arms[arm]["length"], arms[arm]["estimate"]
    if arms[arm]["count"] <= parameters.least * header["log"]:
        return
    if blocks == arms[arm]["parts"] and length == arms[arm]["size"]:
        return
    arms[arm]["parts"], arms[arm]["size"] = blocks, length
    for block in range(blocks):
        total, residue = 0.0, 0.0
        for place in range(block * length, (block + 1) * length):
            total, lost = two_sum(total, reward_at(memory, arm, place) - centre)
            residue += lost
        mean = (total + residue) / length
        squares, residue = 0.0, 0.0
        for place in range(block * length, (block + 1) * length):
            away = float(reward_at(memory, arm, place) - centre - mean)  # NumPy's would warn of overflow
            squares, lost = two_sum(squares, away * away)
            residue += lost
        row = row_of(memory, arm, block)
        memory[row]["mean"] = mean
        memory[row]["variance"] = (squares + residue) / length if squares < math.inf else math.inf


@kernel
def upper_bound(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> float:
    """Return the index of an arm with enough rewards."""
    u = parameters.c1 * math.sqrt(header["log"] / arms[arm]["count"])
    rest = 1.0 - u * parameters.spread
    if not u * u < rest:
        return math.inf
    blocks = arms[arm]["blocks"]
    spread, work = np.empty(2 * blocks), np.empty(blocks)  # the blocks' means, then their variances
    for block in range(blocks):
        row = row_of(memory, arm, block)
        spread[block] = memory[row]["mean"]
        spread[blocks + block] = memory[row]["variance"]
    return arms[arm]["estimate"] + solve(root_mean_square, spread, work, 2.0, u / math.sqrt(rest))


@kernel
def index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    least = parameters.least * header["log"]
    if arms[arm]["count"] == 0 or arms[arm]["count"] <= least:
        return math.inf if needs_pull(arms[arm]["pulls"], max(least, 1.0), header["step"]) else math.nan
    return upper_bound(parameters, header, arms, memory, arm)


select = index_select(index)


propensity = index_propensity(index)


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    header["log"] = confidence(header["step"])
    arms[arm]["pulls"] += 1
    before = header["blocks"]
    set_blocks(header, arms, memory)
    if header["blocks"] != before:
        for other in range(len(arms)):
            measure(parameters, header, arms, memory, other)


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    append_exactly(header, arms, memory, arm, reward)
    refresh_median(header, arms, memory, arm)
    measure(parameters, header, arms, memory, arm)


@dataclass(frozen=True)
class Lattimore(Policy):
    """Lattimore's scale-free UCB: knows only a bound on the kurtosis. At usual horizons it samples uniformly.

    Parameters
    ----------
    kurtosis : float
        At least E (X - mean)^4 / variance^2 of every arm, and 1 or more: 3 for Gaussian rewards,
        1 / (p (1 - p)) - 3 for Bernoulli ones.
    c1 : float
        The constant C1 = sqrt(192); smaller values are a heuristic.
    """

    kurtosis: float
    c1: float = math.sqrt(192.0)

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, estimate=known_estimate, propensity=propensity)
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "bounded kurtosis"
    reference: ClassVar[str] = "lattimore2017scale"
    known_from: ClassVar[str] = "reconstruction"

    def __post_init__(self) -> None:
        self._keep(kurtosis=checks.number("Lattimore's kurtosis", self.kurtosis, 1.0))
        self._keep(c1=checks.number("Lattimore's c1", self.c1, above=0.0))

    @property
    def must_know(self) -> str:
        return "a bound on the kurtosis, T for the memory"

    @property
    def estimated(self) -> Estimated:
        return ROBUST

    @property
    def memory_cost(self) -> str:
        return "O(K + T)"

    def parameters(self, n_arms: int, horizon: int | None) -> LattimoreParameters:
        spread = math.sqrt(self.kurtosis - 1.0)
        largest = 2.0 / (spread + math.hypot(spread, 2.0))  # the u with u^2 + u spread = 1
        return LattimoreParameters(float(self.c1), spread, (self.c1 / largest) * (self.c1 / largest))

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        return new_history("Lattimore", n_arms, horizon, ROW)
