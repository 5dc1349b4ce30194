"""MOSS: an upper confidence bound that is optimal for the worst problem.

Rule
----
Rewards lie in [0, 1]; those in [low, high] are rescaled to it. After N pulls of the arm, pull the arm with
the largest

    mean + sqrt(max(0, log(T / (K N))) / N)

Anytime: with n, the number of pulls made, in place of T. Every arm is pulled once first, in random order.
Ties are broken uniformly.

Source
------
Audibert, Bubeck, "Minimax policies for adversarial and stochastic bandits", COLT 2009. The anytime form is
that of SMPyBandits; it is not MOSS-anytime (Degenne, Perchet, ICML 2016), whose bound is wider by a factor.

Deviations
----------
None.

Late rewards
------------
An arm that was pulled, and has no reward yet, is pulled before others until it has had 2 + log(n + 1) pulls,
then after them (`kernels.choices.needs_pull`). Absent arms: K counts them, too.

Cost
----
O(K) a step, without a logarithm for each arm, and without a root if T is known; memory O(K).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand.errors import InvalidValueError
from brigand.jit import kernel
from brigand.policies.base import BoundedPolicy, Header, Kernels, Table, need_horizon, record
from brigand.policies.kernels.arithmetic import correct_mean, learn_mean, unit_reward
from brigand.policies.kernels.choices import index_propensity, index_select, needs_pull

# log_share: log(n / K)
# index: for a known T; log, inverse_root: log N, 1 / sqrt(N), for the anytime form
HEADER = record(step=0, log_share=0.0)
ARM = record(
    pulls=0, count=0, sum=0.0, residue=0.0, mean=float("nan"), index=float("nan"), log=0.0, inverse_root=0.0
)


class MOSSParameters(NamedTuple):
    """The range of the rewards, T / K (0: anytime), K."""

    low: float
    width: float
    share: float
    n_arms: int


@kernel
def bonus(share: float, count: int) -> float:
    """Return sqrt(max(0, log(share / count)) / count)."""
    ratio = share / count
    return math.sqrt(math.log(ratio) / count) if ratio > 1.0 else 0.0


@kernel
def index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    if arms[arm]["count"] == 0:
        return math.inf if needs_pull(arms[arm]["pulls"], 1.0, header["step"]) else math.nan
    if parameters.share > 0.0:
        return arms[arm]["index"]
    log = max(header["log_share"] - arms[arm]["log"], 0.0)
    return arms[arm]["mean"] + math.sqrt(log) * arms[arm]["inverse_root"]


select = index_select(index)


propensity = index_propensity(index)


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    if parameters.share == 0.0:
        header["log_share"] = math.log(header["step"] / parameters.n_arms)
    arms[arm]["pulls"] += 1


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    learn_mean(arms, arm, unit_reward(parameters, reward))
    count = arms[arm]["count"]
    if parameters.share > 0.0:
        arms[arm]["index"] = arms[arm]["mean"] + bonus(parameters.share, count)
    else:
        arms[arm]["log"] = math.log(count)
        arms[arm]["inverse_root"] = 1.0 / math.sqrt(count)


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
    if parameters.share > 0.0:
        arms[arm]["index"] = arms[arm]["mean"] + bonus(parameters.share, arms[arm]["count"])


@dataclass(frozen=True)
class MOSS(BoundedPolicy):
    """MOSS for bounded rewards; knows the horizon.

    Parameters
    ----------
    anytime : bool
        Use the number of pulls made in place of the horizon, so that no horizon is needed.
    low, high : float
        The range of the rewards, by keyword; [0, 1] by default.
    """

    anytime: bool = False

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, propensity=propensity, correct=correct)
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "bounded"
    reference: ClassVar[str] = "audibert2009minimax"
    known_from: ClassVar[str] = "published"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.anytime, bool):
            raise InvalidValueError(f"MOSS's anytime must be True or False, not {self.anytime!r}.")

    @property
    def must_know(self) -> str:
        return super().must_know + ("" if self.anytime else ", T")

    def parameters(self, n_arms: int, horizon: int | None) -> MOSSParameters:
        share = 0.0 if self.anytime else need_horizon("MOSS", horizon) / n_arms
        return MOSSParameters(float(self.low), float(self.high - self.low), share, n_arms)
