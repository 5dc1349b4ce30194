"""The scale-free UCB of Lattimore, for rewards with bounded kurtosis.

With L = log(e^(1/8) / delta), delta = 1 / (t^2 log(1 + t)) at step t, n rewards of the arm, MM the median of
means over max(1, floor(min(8 L, n / 2))) blocks (as in `brigand.policies.robust_ucb`), and kurtosis E (X -
mean)^4 / variance^2 <= kappa, the index is the largest theta with

    theta <= MM(X) + u sqrt(MM((X - theta)^2) / (1 - u sqrt(kappa - 1))),   u = C1 sqrt(L / n),

and +inf where the denominator is 0 or less, or where there is no largest one, which is while
u^2 + u sqrt(kappa - 1) >= 1. Ties are broken uniformly; an arm whose rewards are late is not chosen before
others. It needs no scale: adding a number to all rewards, or multiplying them, changes no choice.

How it is found: sqrt(MM((X - theta)^2)) changes by at most the change of theta, since the root of a block's
mean square does, and so do order statistics and the root mean square of two. With the factor w < 1 before
it, theta - MM(X) - w sqrt(...) increases, its only root is the index, and with R the square root at
theta = MM(X) the root is between w R / (1 + w) and w R / (1 - w) above MM(X): no search for a bracket, and no
doubt about the largest root. It is narrowed by the secant method (the Illinois variant of regula falsi).

**It only samples uniformly at usual horizons**: for kappa = 3, every index is +inf until n >= 18,340 at
t = 100,000. A smaller `c1`, such as sqrt(2), is a heuristic without the proof.

Source: Lattimore, "A scale free algorithm for stochastic bandits with bounded kurtosis", NIPS 2017. Its text
was not at hand: the rule, delta and C1 = sqrt(192) are quoted from memory; that the index is an upper
confidence bound was proved anew from C1. Cost: O(K) a step while indices are infinite; a finite one costs
about ten times O(log t), from prefix sums of the rewards and their squares. Memory O(T).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.jit import kernel
from brigand.policies.base import Header, Kernels, Policy, Table, record
from brigand.policies.history import new_history, row_of
from brigand.policies.kernels import argmax, two_sum
from brigand.policies.median_of_means import append_exactly, median, refresh_median, set_blocks

HEADER = record(step=0, used=0, log=0.0, blocks=1)  # L for the next step; floor(8 L)
# The history is of the distances from `origin`, the first reward; estimate: their median of means.
ARM = record(pulls=0, count=0, origin=0.0, estimate=float("nan"), blocks=0, length=0)
ROW = record(segment=0, reward=0.0, total=0.0, residue=0.0, squares=0.0, squares_residue=0.0)
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

    R is at least 0 and changes by at most the change of x.
    """
    x, low, high, below, above, side = 0.0, 0.0, 0.0, 0.0, 0.0, 0
    for turn in range(MOST):
        value = x - slope * distance(data, work, order, x)
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
        away = blocks[block] - x
        squares[block] = blocks[len(squares) + block] + away * away
    return math.sqrt(median(squares))


@kernel
def upper_bound(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> float:
    """Return the index of an arm with enough rewards."""
    u = parameters.c1 * math.sqrt(header["log"] / arms[arm]["count"])
    rest = 1.0 - u * parameters.spread
    if not u * u < rest:
        return math.inf
    blocks, length = arms[arm]["blocks"], arms[arm]["length"]
    spread, work = np.empty(2 * blocks), np.empty(blocks)  # the blocks' means, then their variances
    total, residue, squares, squares_residue = 0.0, 0.0, 0.0, 0.0
    for block in range(blocks):
        row = row_of(memory, arm, (block + 1) * length - 1)
        mean = ((memory[row]["total"] - total) + (memory[row]["residue"] - residue)) / length
        square = (memory[row]["squares"] - squares) + (memory[row]["squares_residue"] - squares_residue)
        spread[block] = mean - arms[arm]["estimate"]
        spread[blocks + block] = max(square / length - mean * mean, 0.0)
        total, residue = memory[row]["total"], memory[row]["residue"]
        squares, squares_residue = memory[row]["squares"], memory[row]["squares_residue"]
    above = solve(root_mean_square, spread, work, 2.0, u / math.sqrt(rest))
    return arms[arm]["origin"] + arms[arm]["estimate"] + above


@kernel
def index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    least = parameters.least * header["log"]
    if arms[arm]["pulls"] == 0 or arms[arm]["pulls"] <= least:
        return math.inf
    if arms[arm]["count"] == 0 or arms[arm]["count"] <= least:
        return math.nan
    return upper_bound(parameters, header, arms, memory, arm)


@kernel
def select(
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    candidates: Any,
    rng: np.random.Generator,
) -> int:
    return argmax(index, parameters, header, arms, memory, candidates, rng)


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    header["log"] = confidence(header["step"])
    arms[arm]["pulls"] += 1
    set_blocks(header, arms, memory)


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    count = arms[arm]["count"]
    if count == 0:
        arms[arm]["origin"] = reward
    away = reward - arms[arm]["origin"]
    squares = 0.0
    residue = 0.0
    if count > 0:
        row = row_of(memory, arm, count - 1)
        squares = memory[row]["squares"]
        residue = memory[row]["squares_residue"]
    append_exactly(header, arms, memory, arm, away)
    row = row_of(memory, arm, count)
    total, lost = two_sum(squares, away * away)
    memory[row]["squares"] = total
    memory[row]["squares_residue"] = residue + lost
    refresh_median(header, arms, memory, arm)


@dataclass(frozen=True)
class Lattimore(Policy):
    """Lattimore's scale-free UCB: knows only a bound on the kurtosis.

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

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn)
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "bounded kurtosis"
    reference: ClassVar[str] = "lattimore2017scale"

    def __post_init__(self) -> None:
        checks.number("Lattimore's kurtosis", self.kurtosis, 1.0)
        checks.number("Lattimore's c1", self.c1, above=0.0)

    @property
    def must_know(self) -> str:
        return "a bound on the kurtosis, T for the memory"

    @property
    def memory_cost(self) -> str:
        return "O(T)"

    def parameters(self, n_arms: int, horizon: int | None) -> LattimoreParameters:
        spread = math.sqrt(self.kurtosis - 1.0)
        largest = 2.0 / (spread + math.hypot(spread, 2.0))  # the u with u^2 + u spread = 1
        return LattimoreParameters(float(self.c1), spread, (self.c1 / largest) * (self.c1 / largest))

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        return np.repeat(ROW, len(new_history("Lattimore", n_arms, horizon)))
