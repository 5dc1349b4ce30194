"""PHE, perturbed-history exploration: the largest mean of the rewards and a times as many coin tosses.

Rule
----
Rewards lie in [0, 1]. For an arm with s >= 1 rewards, of sum V, pull the arm with the largest

    (V + U) / (s + ceil(a s)),    U ~ Binomial(ceil(a s), 1/2), drawn anew at every step.

Every arm is pulled once first, in random order. Ties are broken uniformly.

Source
------
Kveton, Szepesvari, Ghavamzadeh, Boutilier, "Perturbed-history exploration in stochastic multi-armed bandits",
IJCAI 2019, Algorithm 1. The theory needs a > 1 in the first version and a > 2 in a later one (both from
memory, not re-read). a = 1.1 is used in practice; a < 1 can have linear regret.

Deviations
----------
None. The product a s is taken as the number it is meant to be: 1.1 times 50 is 55.

Late rewards
------------
An arm that was pulled, and has no reward yet, is pulled before others until it has had 2 + log t pulls, then
after them (`kernels.choices.needs_pull`).

Cost
----
O(K) a step, one binomial number for each arm; memory O(K).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.jit import kernel
from brigand.policies.base import BoundedPolicy, Header, Kernels, Table, record
from brigand.policies.kernels.arithmetic import learn_mean, quotient, two_sum, unit_reward
from brigand.policies.kernels.choices import index_select, needs_pull

HEADER = record(step=0)
# tosses: ceil(a count)
ARM = record(pulls=0, count=0, sum=0.0, residue=0.0, mean=float("nan"), tosses=0)
SLACK = 1e-12
MOST = 1000.0  # so that ceil(a s) is a 64-bit integer for every horizon


class PHEParameters(NamedTuple):
    """The range of the rewards; the pseudo-rewards for each of them."""

    low: float
    width: float
    a: float


@kernel
def index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    heads = rng.binomial(arms[arm]["tosses"], 0.5)
    if arms[arm]["count"] == 0:
        return math.inf if needs_pull(arms[arm]["pulls"], 1.0, header["step"]) else math.nan
    total, lost = two_sum(arms[arm]["sum"], float(heads))
    return quotient(total, arms[arm]["residue"] + lost, arms[arm]["count"] + arms[arm]["tosses"])


select = index_select(index)


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    arms[arm]["pulls"] += 1


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    learn_mean(arms, arm, unit_reward(parameters, reward))
    # As floats, 1.1 * 50 is above 55: its ceiling would be one too many.
    arms[arm]["tosses"] = math.ceil(parameters.a * arms[arm]["count"] * (1.0 - SLACK))


@dataclass(frozen=True)
class PHE(BoundedPolicy):
    """Perturbed-history exploration for bounded rewards.

    Parameters
    ----------
    a : float
        Pseudo-rewards for each reward, in (0, 1000].
    low, high : float
        The range of the rewards, by keyword; [0, 1] by default.
    """

    a: float = 1.1

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn)
    grows: ClassVar[bool] = True
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "bounded"
    reference: ClassVar[str] = "kveton2019perturbed"
    known_from: ClassVar[str] = "published"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keep(a=checks.number("PHE's a", self.a, 0.0, MOST, above=0.0))

    def parameters(self, n_arms: int, horizon: int | None) -> PHEParameters:
        return PHEParameters(float(self.low), float(self.high - self.low), float(self.a))
