"""UCB1: the largest upper confidence bound.

Rule
----
After n pulls, N of them of the arm, pull the arm with the largest

    mean + (high - low) sqrt(2 log n / N)      rewards in [low, high]
    mean + sigma sqrt(2 log n / N)             rewards sigma-sub-Gaussian

Every arm is pulled once first, in random order. Ties are broken uniformly.

Source
------
Auer, Cesa-Bianchi, Fischer, "Finite-time analysis of the multiarmed bandit problem", Machine Learning 47,
2002, Figure 1.

Deviations
----------
None with a range. The form with sigma is narrower: rewards in [0, 1] are 1/2-sub-Gaussian, so `sigma=0.5` is
the bound that Hoeffding's inequality gives with n^-1 as the error probability, and half as wide as the
published one (n^-4).

Late rewards
------------
An arm that was pulled, and has no reward yet, has no index. It is pulled before others until it has had 2 +
log(n + 1) pulls, and after all others from then on (`kernels.choices.needs_pull`).

Cost
----
O(K) a step, without a root or a logarithm for each arm; memory O(K).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.errors import InvalidValueError
from brigand.jit import kernel
from brigand.policies.base import Header, Kernels, Policy, Table, record
from brigand.policies.kernels.arithmetic import correct_mean, learn_mean
from brigand.policies.kernels.choices import index_propensity, index_select, needs_pull

HEADER = record(step=0, root_log=0.0)  # sqrt(log step)
ARM = record(pulls=0, count=0, sum=0.0, residue=0.0, mean=float("nan"), inverse_root=float("nan"))


class UCB1Parameters(NamedTuple):
    """The factor of sqrt(log n / N)."""

    width: float


@kernel
def index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    if arms[arm]["count"] == 0:
        return math.inf if needs_pull(arms[arm]["pulls"], 1.0, header["step"]) else math.nan
    return arms[arm]["mean"] + parameters.width * header["root_log"] * arms[arm]["inverse_root"]


select = index_select(index)


propensity = index_propensity(index)


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    header["root_log"] = math.sqrt(math.log(header["step"]))
    arms[arm]["pulls"] += 1


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    learn_mean(arms, arm, reward)
    arms[arm]["inverse_root"] = 1.0 / math.sqrt(arms[arm]["count"])


@kernel
def correct(
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    arm: int,
    was: float,
    reward: float,
    step: int,
) -> None:
    correct_mean(arms, arm, was, reward)


@dataclass(frozen=True)
class UCB1(Policy):
    """UCB1 for rewards in [low, high], or for sigma-sub-Gaussian rewards.

    Pulls the arm with the largest mean + (high - low) sqrt(2 log n / N), or mean + sigma sqrt(2 log n / N),
    after n pulls, N of them of the arm. Source: Auer, Cesa-Bianchi, Fischer, Machine Learning 47, 2002.

    Parameters
    ----------
    low, high : float, optional
        The range of the rewards; its length scales the bound. By default [0, 1].
    sigma : float, optional
        The sub-Gaussian parameter, in place of a range.

    Raises
    ------
    InvalidValueError
        low is not below high, sigma is not positive, or both are given.

    Notes
    -----
    Rewards outside of [low, high] are accepted: the index stays defined, only its guarantee is lost.
    """

    low: float | None = None
    high: float | None = None
    sigma: float | None = None

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, propensity=propensity, correct=correct)
    grows: ClassVar[bool] = True
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "bounded in [low, high], or sigma-sub-Gaussian"
    reference: ClassVar[str] = "auer2002finite"
    known_from: ClassVar[str] = "published"

    def __post_init__(self) -> None:
        if self.sigma is not None:
            if self.low is not None or self.high is not None:
                raise InvalidValueError("UCB1 takes low and high, or sigma, not both.")
            self._keep(sigma=checks.number("UCB1's sigma", self.sigma, above=0.0))
            return
        low, high = 0.0 if self.low is None else self.low, 1.0 if self.high is None else self.high
        low, high = checks.interval("UCB1", low, high, factor=math.sqrt(2))
        self._keep(low=low, high=high)

    @property
    def must_know(self) -> str:
        return "low and high" if self.sigma is None else "sigma"

    @property
    def reward_range(self) -> tuple[float, float]:
        if self.low is None or self.high is None:
            return self.reward_support
        return (self.low, self.high)

    def parameters(self, n_arms: int, horizon: int | None) -> UCB1Parameters:
        if self.sigma is not None:
            return UCB1Parameters(math.sqrt(2) * self.sigma)
        return UCB1Parameters(math.sqrt(2) * ((self.high or 0.0) - (self.low or 0.0)))
