"""ReBoot: the largest mean of a bootstrap of the residuals, two large residuals added to each arm's.

Rule
----
An arm with s >= 1 rewards x has the residuals e_i = x_i - mean, and two more, e_{s+1} and e_{s+2} =
+-sqrt(s + 2) sigma. Pull the arm with the largest

    mean + (1 / (s + 2)) sum w_i e_i,

the weights w_i independent, with mean 0 and variance 1. Every arm is pulled once first, in random order. Ties
are broken uniformly. The analysis is for Gaussian rewards.

`sigma` is the scale of the two pseudo-residuals. The theory takes 1.5 times the rewards' standard deviation,
hence the default for unit variance. It explores much, and 0.25 to 0.5 do better for short runs in [0, 1].

Source
------
Wang, Yu, Hao, Cheng, "Residual bootstrap exploration for bandit algorithms", arXiv 2002.08436, 2020.

Deviations
----------
None. Weights are standard normal here, so that the index is drawn from its law

    N(mean, (Q + 2 (s + 2) sigma^2) / (s + 2)^2),    Q = sum (x_i - mean)^2,

for which s, the mean and Q suffice.

Late rewards
------------
An arm that was pulled, and has no reward yet, is pulled before others until it has had 2 + log t pulls, then
after them (`kernels.choices.needs_pull`).

Cost
----
O(K) a step; memory O(K).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.jit import kernel
from brigand.policies.base import Header, Kernels, Policy, Table, record
from brigand.policies.kernels.arithmetic import hypotenuse
from brigand.policies.kernels.choices import index_select, needs_pull
from brigand.policies.kernels.largest import DRAWN, FIRST, LAST, NORMAL, draw_propensity
from brigand.policies.randomised.thompson import learn_gaussian

HEADER = record(step=0)
# spread: sqrt(Q); scale: the index's standard deviation
ARM = record(pulls=0, count=0, sum=0.0, residue=0.0, mean=float("nan"), spread=0.0, scale=0.0)


class ReBootParameters(NamedTuple):
    """The scale of the pseudo-residuals."""

    sigma: float


@kernel
def index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    noise = rng.standard_normal()
    if arms[arm]["count"] == 0:
        return math.inf if needs_pull(arms[arm]["pulls"], 1.0, header["step"]) else math.nan
    return arms[arm]["mean"] + arms[arm]["scale"] * noise


select = index_select(index)


@kernel
def law(parameters: Any, header: Header, arms: Table, memory: Table, arm: int, row: Any) -> int:
    if arms[arm]["count"] == 0:
        return FIRST if needs_pull(arms[arm]["pulls"], 1.0, header["step"]) else LAST
    row[0], row[1], row[2] = arms[arm]["mean"], arms[arm]["scale"], NORMAL
    return DRAWN


propensity = draw_propensity(law)


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    arms[arm]["pulls"] += 1


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    learn_gaussian(parameters, header, arms, memory, arm, reward, step)
    size = arms[arm]["count"] + 2.0
    # Without squares of the rewards: those of 1e300 do not overflow.
    arms[arm]["scale"] = hypotenuse(arms[arm]["spread"], parameters.sigma * math.sqrt(2.0 * size)) / size


@dataclass(frozen=True)
class ReBoot(Policy):
    """Residual bootstrap exploration with Gaussian weights.

    Parameters
    ----------
    sigma : float
        The scale of the two pseudo-residuals of each arm (sigma_a, or r sigma, in the paper).
    """

    sigma: float = 1.5

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, propensity=propensity)
    grows: ClassVar[bool] = True
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "Gaussian"
    reference: ClassVar[str] = "wang2020residual"
    known_from: ClassVar[str] = "published"

    def __post_init__(self) -> None:
        self._keep(sigma=checks.number("ReBoot's sigma", self.sigma, above=0.0))

    @property
    def must_know(self) -> str:
        return "the scale of the noise, for sigma"

    def parameters(self, n_arms: int, horizon: int | None) -> ReBootParameters:
        return ReBootParameters(float(self.sigma))
