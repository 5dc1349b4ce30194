"""Thompson sampling for bounded rewards: non-parametric (NPTS) and on a grid (Multinomial TS).

Rule
----
NPTS, rewards in [0, 1]: the history of every arm begins with the upper bound 1, which is not a pull. Draw
weights w ~ Dirichlet(1, ..., 1) over the history, and pull the arm with the largest sum w_i x_i. There is no
initial round: the index of an arm without a pull is 1.

Multinomial TS, rewards on the grid 0, 1/M, ..., 1: w ~ Dirichlet(1 + c_0, ..., 1 + c_M), with c_m the number
of rewards m / M. Pull the arm with the largest sum w_m m / M. Other rewards are rounded to one of the two
neighbours on the grid at random, so that the mean is kept. With M = 1 this is Thompson sampling with a
Beta(1, 1) prior.

Ties are broken uniformly. Both are asymptotically optimal: NPTS for all bounded rewards, the other one on the
grid.

Source
------
Riou, Honda, "Bandit algorithms based on Thompson sampling for bounded reward distributions", ALT 2020.

Deviations
----------
None in law. The weights of NPTS are exponential numbers over their sum. Those of the ones add up to a Gamma
number, and so do those of the zeros, so that only other rewards need a number each. For {0, 1} rewards, with
o ones (the first included) and z zeros, the index is Beta(o, z).

Late rewards
------------
NPTS: an arm that was pulled, and has no reward yet, has the index 1 until it has had 2 + log t pulls, and is
chosen after all others from then on (`kernels.choices.needs_pull`).

Multinomial TS: an arm without a reward is drawn from the prior. The rounding depends on the run's key and the
step of the pull alone, so that late rewards may come in any order.

Cost
----
NPTS: O(K) a step for {0, 1} rewards, otherwise O(number of all rewards so far that are neither 0 nor 1);
memory O(K + T). Multinomial TS: O(K M) a step; memory O(K M).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.jit import kernel
from brigand.policies.base import BoundedPolicy, Header, Kernels, Table, record
from brigand.policies.kernels.arithmetic import unit_reward
from brigand.policies.kernels.choices import index_select, needs_pull
from brigand.policies.kernels.history import append, new_history, reward_at
from brigand.policies.kernels.randomness import uniform_at

NPTS_HEADER = record(step=0, used=0)
# ones: with the first, which is no reward; count: rewards in the history, those that are neither 0 nor 1
NPTS_ARM = record(pulls=0, zeros=0, ones=1, count=0)
MULTINOMIAL_HEADER = record(step=0, key=0)
MULTINOMIAL_ARM = record(pulls=0, count=0)
CELL = record(count=0)  # memory: row arm (M + 1) + m counts the arm's rewards m / M


class NPTSParameters(NamedTuple):
    """The range of the rewards."""

    low: float
    width: float


class MultinomialTSParameters(NamedTuple):
    """The range of the rewards; M."""

    low: float
    width: float
    cells: int


@kernel
def npts_index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    weighted = rng.standard_gamma(float(arms[arm]["ones"]))
    total = weighted + rng.standard_gamma(float(arms[arm]["zeros"]))
    others = arms[arm]["count"]
    for place in range(others):
        weight = rng.standard_exponential()
        weighted += weight * reward_at(memory, arm, place)
        total += weight
    if total == 0.0:
        return 1.0
    if arms[arm]["ones"] + arms[arm]["zeros"] + others == 1:
        return 1.0 if needs_pull(arms[arm]["pulls"], 1.0, header["step"]) else math.nan
    return weighted / total


select_npts = index_select(npts_index)


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    arms[arm]["pulls"] += 1


@kernel
def learn_npts(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    unit = unit_reward(parameters, reward)
    if unit == 0.0:
        arms[arm]["zeros"] += 1
    elif unit == 1.0:
        arms[arm]["ones"] += 1
    else:
        append(header, arms, memory, arm, unit)


@kernel
def multinomial_index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    first = arm * (parameters.cells + 1)
    weighted = 0.0
    total = 0.0
    for cell in range(parameters.cells + 1):
        weight = rng.standard_gamma(1.0 + memory[first + cell]["count"])
        weighted += weight * cell
        total += weight
    return weighted / (total * parameters.cells) if total > 0.0 else 0.5


select_multinomial = index_select(multinomial_index)


@kernel
def learn_multinomial(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    place = unit_reward(parameters, reward) * parameters.cells
    cell = math.floor(place)
    if uniform_at(header["key"], step) < place - cell:
        cell += 1
    memory[arm * (parameters.cells + 1) + cell]["count"] += 1
    arms[arm]["count"] += 1


@dataclass(frozen=True)
class NPTS(BoundedPolicy):
    """Non-parametric Thompson sampling for bounded rewards.

    Parameters
    ----------
    low, high : float
        The range of the rewards, by keyword; [0, 1] by default. The upper bound matters most: it is where
        every arm's history begins.

    Notes
    -----
    The horizon must be known, as room for the rewards.
    """

    kernels: ClassVar[Kernels] = Kernels(select_npts, pull, learn_npts)
    header: ClassVar[Table] = NPTS_HEADER
    arm: ClassVar[Table] = NPTS_ARM
    assumption: ClassVar[str] = "bounded"
    reference: ClassVar[str] = "riou2020bandit"
    known_from: ClassVar[str] = "published"

    @property
    def must_know(self) -> str:
        return f"{super().must_know}, T for the memory"

    @property
    def memory_cost(self) -> str:
        return "O(K + T)"

    def parameters(self, n_arms: int, horizon: int | None) -> NPTSParameters:
        return NPTSParameters(float(self.low), float(self.high - self.low))

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        return new_history("NPTS", n_arms, horizon)


@dataclass(frozen=True)
class MultinomialTS(BoundedPolicy):
    """Thompson sampling with a Dirichlet(1, ..., 1) prior over a grid of rewards.

    Parameters
    ----------
    support_size : int
        M, at least 1: the grid is low, low + (high - low) / M, ..., high, that is M + 1 values.
    low, high : float
        The range of the rewards, by keyword; [0, 1] by default.
    """

    support_size: int = 10

    kernels: ClassVar[Kernels] = Kernels(select_multinomial, pull, learn_multinomial)
    header: ClassVar[Table] = MULTINOMIAL_HEADER
    arm: ClassVar[Table] = MULTINOMIAL_ARM
    assumption: ClassVar[str] = "bounded, on a grid"
    reference: ClassVar[str] = "riou2020bandit"
    known_from: ClassVar[str] = "published"

    def __post_init__(self) -> None:
        super().__post_init__()
        size = checks.integer("MultinomialTS's support_size", self.support_size, 1, 10**6)
        self._keep(support_size=size)

    @property
    def must_know(self) -> str:
        return f"{super().must_know}, a grid"

    @property
    def memory_cost(self) -> str:
        return "O(K M)"

    def parameters(self, n_arms: int, horizon: int | None) -> MultinomialTSParameters:
        return MultinomialTSParameters(float(self.low), float(self.high - self.low), int(self.support_size))

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        return np.repeat(CELL, n_arms * (self.support_size + 1))
