"""RAW-UCB: the least upper confidence bound from an arm's latest rewards, for rewards that fall.

Rule
----
After n pulls, pull the arm with the largest

    min over h of  mean of its last h rewards + sigma sqrt(2 alpha log n / h),    h = 1, ..., N

with N its rewards. Where means only fall, with time or from pull to pull, the mean of the last h rewards is
never too small but for noise: so every h gives an upper bound, and the least is taken. Every arm is pulled
once first, in random order. Ties are broken uniformly.

With growth = 1, h takes every value up to N. With growth m > 1 it is 1, then ceil(m) and so on, each the last
one times m, rounded up: for m = 2 the powers of two. A step then costs log N for an arm of N rewards, not N.

Source
------
Seznec, Menard, Lazaric, Valko, "A single algorithm for both restless and rested rotting bandits", AISTATS
2020; rule and the default alpha = 1 are those of the first author's code, in SMPyBandits (RAWUCB.py).

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
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.jit import kernel
from brigand.policies.base import Estimated, Header, Kernels, Policy, Table, record
from brigand.policies.kernels.arithmetic import quotient, two_sum
from brigand.policies.kernels.choices import index_propensity, index_select, needs_pull
from brigand.policies.kernels.exact_history import EXACT_ROW, prefix, remember
from brigand.policies.kernels.history import new_history

HEADER = record(step=0, used=0, root_log=0.0)
ARM = record(pulls=0, count=0, sum=0.0, residue=0.0, others=0, level=0)
ESTIMATED = Estimated(thing="latest reward")


class RottingParameters(NamedTuple):
    """sigma sqrt(2 alpha), and by what the next window is longer."""

    scale: float
    growth: float


@kernel
def last_mean(arms: Table, memory: Table, arm: int, count: int) -> float:
    """Return the mean of the arm's last `count` rewards."""
    before, residue = prefix(arms, memory, arm, arms[arm]["count"] - count)
    total, lost = two_sum(arms[arm]["sum"], -before)
    return quotient(total, lost + (arms[arm]["residue"] - residue), count)


@kernel
def next_window(count: int, growth: float) -> int:
    return max(count + 1, math.ceil(count * growth))


@kernel
def least_bound(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> tuple[float, int]:
    """Return the least upper confidence bound of an arm that has rewards, and its window."""
    least, window, count = math.inf, 0, 1
    while count <= arms[arm]["count"]:
        width = parameters.scale * header["root_log"] / math.sqrt(count)
        bound = last_mean(arms, memory, arm, count) + width
        if bound < least:
            least, window = bound, count
        count = next_window(count, parameters.growth)
    return least, window


@kernel
def index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    if arms[arm]["count"] == 0:
        return math.inf if needs_pull(arms[arm]["pulls"], 1.0, header["step"]) else math.nan
    return least_bound(parameters, header, arms, memory, arm)[0]


select = index_select(index)


propensity = index_propensity(index)


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    header["root_log"] = math.sqrt(math.log(header["step"]))
    arms[arm]["pulls"] += 1


@kernel
def estimate(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> tuple[float, float]:
    """Return the mean of the window with the least bound, and its length."""
    if arms[arm]["count"] == 0:
        return math.nan, 0.0
    _, window = least_bound(parameters, header, arms, memory, arm)
    return last_mean(arms, memory, arm, window), float(window)


class RottingPolicy(Policy):
    """What RAW-UCB and FEWA share; sigma, alpha and growth are fields of each."""

    sigma: float
    alpha: float
    growth: float

    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "sigma-sub-Gaussian, with means that never rise"
    known_from: ClassVar[str] = "authors' code"

    def __post_init__(self) -> None:
        name = type(self).__name__
        self._keep(sigma=checks.number(f"{name}'s sigma", self.sigma, above=0.0))
        self._keep(alpha=checks.number(f"{name}'s alpha", self.alpha, above=0.0))
        self._keep(growth=checks.number(f"{name}'s growth", self.growth, 1.0))

    @property
    def must_know(self) -> str:
        return "sigma, T for its memory"

    @property
    def memory_cost(self) -> str:
        return "O(K + T)"

    def parameters(self, n_arms: int, horizon: int | None) -> RottingParameters:
        return RottingParameters(self.sigma * math.sqrt(2.0 * self.alpha), float(self.growth))

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        return new_history(type(self).__name__, n_arms, horizon, EXACT_ROW)


@dataclass(frozen=True)
class RAWUCB(RottingPolicy):
    """RAW-UCB, for rewards whose means never rise, with time or from pull to pull.

    Parameters
    ----------
    sigma : float
        The rewards are sigma-sub-Gaussian; (high - low) / 2 for rewards in [low, high].
    alpha : float
        How certain a bound is: at step n it is too small with a probability of about n^(-alpha).
    growth : float
        By what the next window is longer, at least 1: 1 for all windows, at a cost of O(T) a step.
    """

    sigma: float
    alpha: float = 1.0
    growth: float = 1.0

    kernels: ClassVar[Kernels] = Kernels(select, pull, remember, estimate=estimate, propensity=propensity)
    reference: ClassVar[str] = "seznec2020rawucb"

    @property
    def estimated(self) -> Estimated:
        return ESTIMATED
