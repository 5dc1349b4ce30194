"""UCB-V: an upper confidence bound that is narrow where the rewards vary little.

Rule
----
Rewards lie in [low, high]. At step t, with V = sum (x - mean)^2 / N over the arm's N rewards, pull the arm
with the largest

    mean + sqrt(2 V E / N) + 3 c b E / N,    E = zeta log t,    b = high - low

Every arm is pulled once first, in random order. Ties are broken uniformly.

Source
------
Audibert, Munos, Szepesvari, "Exploration-exploitation tradeoff using variance estimates in multi-armed
bandits", Theoretical Computer Science 410, 2009. **A reconstruction** in one point: the defaults zeta = 1.2
and c = 1, for which the regret is logarithmic, are quoted from memory of that paper.

Deviations
----------
None.

Late rewards
------------
An arm that was pulled, and has no reward yet, is pulled before others until it has had 2 + log t pulls, then
after them (`kernels.choices.needs_pull`).

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
from brigand.jit import kernel
from brigand.policies.base import BoundedPolicy, Header, Kernels, Table, record
from brigand.policies.kernels.arithmetic import learn_mean, unit_reward
from brigand.policies.kernels.choices import index_propensity, index_select, needs_pull

HEADER = record(step=0, exploration=0.0, root=0.0)  # E and sqrt(2 E) of the next pull
# squares: N V; scale: sqrt(V / N); inverse: 1 / N
ARM = record(
    pulls=0, count=0, sum=0.0, residue=0.0, mean=float("nan"), squares=0.0, scale=0.0, inverse=float("nan")
)


class UCBVParameters(NamedTuple):
    """The range of the rewards, zeta, and 3 c."""

    low: float
    width: float
    zeta: float
    factor: float


@kernel
def index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    if arms[arm]["count"] == 0:
        return math.inf if needs_pull(arms[arm]["pulls"], 1.0, header["step"]) else math.nan
    slow = header["root"] * arms[arm]["scale"]
    return arms[arm]["mean"] + slow + parameters.factor * header["exploration"] * arms[arm]["inverse"]


select = index_select(index)


propensity = index_propensity(index)


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    header["exploration"] = parameters.zeta * math.log(header["step"] + 1.0)
    header["root"] = math.sqrt(2.0 * header["exploration"])
    arms[arm]["pulls"] += 1


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    value = unit_reward(parameters, reward)
    before = value - arms[arm]["mean"] if arms[arm]["count"] > 0 else 0.0
    learn_mean(arms, arm, value)
    # Welford's update: no difference of large sums.
    arms[arm]["squares"] = max(0.0, arms[arm]["squares"] + before * (value - arms[arm]["mean"]))
    arms[arm]["inverse"] = 1.0 / arms[arm]["count"]
    arms[arm]["scale"] = math.sqrt(arms[arm]["squares"]) / arms[arm]["count"]


@dataclass(frozen=True)
class UCBV(BoundedPolicy):
    """UCB-V for bounded rewards of unknown variance.

    Parameters
    ----------
    zeta : float
        The exploration function is zeta log t; > 0.
    c : float
        The factor of the bound's fast term; >= 0.
    low, high : float
        The range of the rewards, by keyword; [0, 1] by default.
    """

    zeta: float = 1.2
    c: float = 1.0

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, propensity=propensity)
    grows: ClassVar[bool] = True
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "bounded"
    reference: ClassVar[str] = "audibert2009exploration"
    known_from: ClassVar[str] = "reconstruction"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keep(zeta=checks.number("UCBV's zeta", self.zeta, above=0.0))
        self._keep(c=checks.number("UCBV's c", self.c, 0.0))

    def parameters(self, n_arms: int, horizon: int | None) -> UCBVParameters:
        return UCBVParameters(
            float(self.low), float(self.high - self.low), float(self.zeta), 3.0 * float(self.c)
        )
