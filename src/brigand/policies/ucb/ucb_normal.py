"""UCB for Gaussian rewards of unknown mean and variance.

Rule
----
After n pulls, N of them of the arm, pull the arm with the largest

    mean + sqrt(Q / N) sqrt(n^(2 / (N - 2)) - 1),    Q = sum (x - mean)^2 over the arm's rewards

Every arm is pulled n0 = `initial_pulls` times first (3), in random order. Ties are broken uniformly. The
index is asymptotically optimal.

Rewards are assumed Gaussian, with variances that differ from arm to arm. On others, such as 0 and 1, an arm
whose first rewards are equal has no bonus and may be given up.

Source
------
Cowan, Honda, Katehakis, "Normal bandits of unknown means and variances", JMLR 18(154), 2018. **A
reconstruction** in one point: the number of initial pulls, 3, is quoted from memory of that paper; the
exponent asks for as many.

Deviations
----------
None.

Late rewards
------------
An arm with fewer than n0 rewards is pulled before others until it has had 2 n0 + log(n + 1) pulls, then after
them (`kernels.choices.needs_pull`).

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
from brigand.policies.kernels.arithmetic import hypotenuse, learn_mean
from brigand.policies.kernels.choices import index_propensity, index_select, needs_pull

HEADER = record(step=0, log_square=0.0)  # 2 log n
# spread: sqrt(Q); scale: sqrt(Q / N)
ARM = record(pulls=0, count=0, sum=0.0, residue=0.0, mean=float("nan"), spread=0.0, scale=0.0)


class UCBNormalParameters(NamedTuple):
    """The number of initial pulls of each arm."""

    initial_pulls: int


@kernel
def grow(x: float) -> float:
    """Return exp(x) - 1 for x >= 0 to 1e-13 of it: in half the time of `math.expm1`."""
    if x > 0.01:
        return math.exp(x) - 1.0
    return x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0))))


@kernel
def index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    count = arms[arm]["count"]
    if count < parameters.initial_pulls:
        due = needs_pull(arms[arm]["pulls"], parameters.initial_pulls, header["step"])
        return math.inf if due else math.nan
    return arms[arm]["mean"] + arms[arm]["scale"] * math.sqrt(grow(header["log_square"] / (count - 2)))


select = index_select(index)


propensity = index_propensity(index)


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    header["log_square"] = 2.0 * math.log(header["step"])
    arms[arm]["pulls"] += 1


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    count = arms[arm]["count"]
    if count > 0:
        # Welford's update on the square root: squares of large rewards would overflow.
        distance = abs(reward - arms[arm]["mean"]) * math.sqrt(count / (count + 1.0))
        arms[arm]["spread"] = hypotenuse(arms[arm]["spread"], distance)
    learn_mean(arms, arm, reward)
    arms[arm]["scale"] = arms[arm]["spread"] / math.sqrt(arms[arm]["count"])


@dataclass(frozen=True)
class UCBNormal(Policy):
    """UCB for Gaussian rewards whose variances are unknown and differ from arm to arm.

    Parameters
    ----------
    initial_pulls : int
        Pulls of each arm before the index is used, at least 3.
    """

    initial_pulls: int = 3

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, propensity=propensity)
    grows: ClassVar[bool] = True
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "Gaussian"
    reference: ClassVar[str] = "cowan2018normal"
    known_from: ClassVar[str] = "reconstruction"

    def __post_init__(self) -> None:
        pulls = checks.integer("UCBNormal's initial_pulls", self.initial_pulls, 3, checks.MAX_STEPS)
        self._keep(initial_pulls=pulls)

    @property
    def must_know(self) -> str:
        return "that rewards are Gaussian"

    def parameters(self, n_arms: int, horizon: int | None) -> UCBNormalParameters:
        return UCBNormalParameters(int(self.initial_pulls))
