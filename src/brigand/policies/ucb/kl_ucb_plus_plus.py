"""KL-UCB++: optimal for the problem at hand, and for the worst one.

Rule
----
After N pulls of the arm, pull the arm with the largest

    max{q : N d(mean, q) <= g(N)},    g(N) = log+(y (1 + log+(y)^2)),    y = T / (K N)

with d the divergence of the rewards' family, as in KL-UCB, and log+ = max(log, 0). Every arm is pulled once
first, in random order. Ties are broken uniformly.

Source
------
Menard, Garivier, "A minimax and asymptotically optimal algorithm for stochastic bandits", ALT 2017. **A
reconstruction**: g is from memory of that paper, and the same in SMPyBandits.

Deviations
----------
None known.

Late rewards
------------
An arm that was pulled, and has no reward yet, is pulled before others until it has had 2 + log t pulls, then
after them (`kernels.choices.needs_pull`). Absent arms: K counts them, too.

Cost
----
O(K) a step; memory O(K). An index changes with its arm's rewards alone, so it is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand.jit import kernel
from brigand.policies.base import Header, Kernels, Table, need_horizon, record
from brigand.policies.kernels.arithmetic import correct_mean, learn_mean, unit_reward
from brigand.policies.kernels.choices import index_propensity, index_select, needs_pull
from brigand.policies.kernels.divergences import klucb_upper
from brigand.policies.kernels.families import FamilyPolicy

HEADER = record(step=0)
ARM = record(pulls=0, count=0, sum=0.0, residue=0.0, mean=float("nan"), index=float("nan"))


class KLUCBPlusPlusParameters(NamedTuple):
    """The range of the rewards (see `unit_reward`), the family, its sigma, and T / K."""

    low: float
    width: float
    kind: int
    sigma: float
    share: float


@kernel
def index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    if arms[arm]["count"] == 0:
        return math.inf if needs_pull(arms[arm]["pulls"], 1.0, header["step"]) else math.nan
    return arms[arm]["index"]


select = index_select(index)


propensity = index_propensity(index)


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    arms[arm]["pulls"] += 1


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    learn_mean(arms, arm, unit_reward(parameters, reward))
    find_index(parameters, arms, arm)


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
    correct_mean(arms, arm, unit_reward(parameters, was), unit_reward(parameters, reward))
    find_index(parameters, arms, arm)


@kernel
def find_index(parameters: Any, arms: Table, arm: int) -> None:
    count = arms[arm]["count"]
    y = parameters.share / count
    # For y <= 1 both logarithms are cut off at 0.
    log = math.log(max(y, 1.0))
    bound = math.log(max(y, 1.0) * (1.0 + log * log)) / count
    arms[arm]["index"] = klucb_upper(parameters.kind, arms[arm]["mean"], bound, parameters.sigma)


@dataclass(frozen=True)
class KLUCBPlusPlus(FamilyPolicy):
    """KL-UCB++, optimal for the problem at hand and for the worst one; knows the horizon.

    Parameters
    ----------
    divergence, sigma, low, high
        As for `KLUCB`.
    """

    divergence: str = "bernoulli"
    sigma: float = 1.0

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, propensity=propensity, correct=correct)
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    reference: ClassVar[str] = "menard2017minimax"
    known_from: ClassVar[str] = "reconstruction"

    @property
    def must_know(self) -> str:
        return super().must_know + ", T"

    def parameters(self, n_arms: int, horizon: int | None) -> KLUCBPlusPlusParameters:
        return KLUCBPlusPlusParameters(*self._family(), need_horizon("KLUCBPlusPlus", horizon) / n_arms)
