"""EXP3 and EXP3.S: exponential weights, for rewards that an adversary may choose.

Rule
----
Rewards lie in [0, 1]; nothing else is assumed of them. Every arm has a weight w_k, and W is their sum.
Weights begin with 1. An arm is drawn with the probabilities

    p_k = (1 - gamma) w_k / W + gamma / K.

When the arm a was drawn and has paid x, then with y = exp(gamma (x / p_a) / K), and W the sum before the
update,

    EXP3      w_a <- w_a y
    EXP3.S    w_a <- w_a y + e alpha W / K,    w_k <- w_k + e alpha W / K for k != a.

By default, EXP3 has gamma = min(1, sqrt(K log K / ((e - 1) T))). EXP3.S, for rewards with S stationary
segments (S - 1 changes), has alpha = 1 / T and gamma = min(1, sqrt(K (S log(K T) + e) / ((e - 1) T))). Ties
do not occur, since arms are drawn.

Source
------
Auer, Cesa-Bianchi, Freund, Schapire, "The nonstochastic multiarmed bandit problem", SIAM Journal on Computing
32, 2002.

Deviations
----------
None. Only the ratios of weights matter, so their unit is free. EXP3 keeps the logarithms of weights, and
changes the unit when a weight reaches 1e100: so no weight overflows, and one that has become negligible can
grow again. EXP3.S divides all weights by their sum after each reward.

Late rewards
------------
A late reward is weighted by the p_a of the step at which its arm was drawn. These probabilities are
remembered for the last `PENDING` pulls (for all, if T is less). A reward that comes even later counts as 0,
and so does one that never comes.

Absent arms: where only some arms are allowed, the rule is applied to these arms alone, with the gamma of all
K (see `brigand.policies.adversarial.sleeping_experts`).

Cost
----
O(K) a step; memory O(K + min(T, PENDING)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.jit import kernel
from brigand.policies.adversarial.sleeping_experts import (
    LARGE,
    draw_among,
    lift_absent,
    spread_among,
    sum_among,
    weight_among,
)
from brigand.policies.base import (
    BoundedPolicy,
    Estimated,
    Header,
    Kernels,
    State,
    Table,
    need_horizon,
    record,
    ring_length,
)
from brigand.policies.kernels import availability
from brigand.policies.kernels.arithmetic import unit_reward
from brigand.policies.kernels.availability import missing_at

# W; for EXP3 the logarithm of the unit of weights, and whether (1) both wait for an arm that is away
HEADER = record(step=0, total=0.0, unit=0.0, stale=0, **availability.HEADER)
ARM = record(pulls=0, count=0, weight=1.0, log_weight=0.0, **availability.ARM)
DRAW = record(probability=0.0)  # memory: a ring, a power of two long
PENDING = 65536


class EXP3Parameters(NamedTuple):
    """The range of the rewards; the share of uniform exploration; 0, the share of weight that is spread."""

    low: float
    width: float
    gamma: float
    alpha: float = 0.0


class EXP3SParameters(NamedTuple):
    """The range of the rewards; the share of uniform exploration; the share of weight that is spread."""

    low: float
    width: float
    gamma: float
    alpha: float


@kernel
def select(
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    candidates: Any,
    rng: np.random.Generator,
) -> int:
    left = rng.random()
    if len(candidates) < len(arms) or header["stale"] == 1:
        return draw_among(parameters, arms, candidates, left)
    factor = (1.0 - parameters.gamma) / header["total"]
    floor = parameters.gamma / len(arms)
    for i in range(len(candidates)):
        left -= factor * arms[candidates[i]]["weight"] + floor
        if left < 0.0:
            return candidates[i]
    return candidates[len(candidates) - 1]


@kernel
def propensity(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, arm: int
) -> float:
    n = len(candidates)
    if n < len(arms) or header["stale"] == 1:
        unit, total = sum_among(parameters, arms, candidates, 0)
        share = weight_among(parameters, arms, arm, unit) / total
    else:
        share = arms[arm]["weight"] / header["total"]
    return (1.0 - parameters.gamma) * share + parameters.gamma / n


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    share = arms[arm]["weight"] / header["total"]
    header["step"] += 1
    missing = missing_at(header, header["step"])
    if missing > 0 or header["stale"] == 1:
        unit, total = sum_among(parameters, arms, None, header["step"])
        # So that all else is as with K arms: p, times the number of arms that are there, over K.
        share = weight_among(parameters, arms, arm, unit) / total * (1.0 - missing / len(arms))
    arms[arm]["pulls"] += 1
    slot = header["step"] & (len(memory) - 1)
    memory[slot]["probability"] = (1.0 - parameters.gamma) * share + parameters.gamma / len(arms)


@kernel
def exponent(parameters: Any, header: Header, arms: Table, memory: Table, reward: float, step: int) -> float:
    """Return gamma (x / p_a) / K, at most 1; 0 if p_a is forgotten."""
    if header["step"] - step >= len(memory):
        return 0.0
    probability = memory[step & (len(memory) - 1)]["probability"]
    return parameters.gamma * unit_reward(parameters, reward) / (probability * len(arms))


@kernel
def rescale(header: Header, arms: Table) -> None:
    """Make the largest weight the unit of weights."""
    unit = -math.inf
    for k in range(len(arms)):
        unit = max(unit, arms[k]["log_weight"])
    total = 0.0
    for k in range(len(arms)):
        arms[k]["weight"] = math.exp(arms[k]["log_weight"] - unit)
        total += arms[k]["weight"]
    header["unit"] = unit
    header["total"] = total
    header["stale"] = 0


@kernel
def learn_exp3(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    arms[arm]["count"] += 1
    gain = exponent(parameters, header, arms, memory, reward, step)
    if missing_at(header, header["step"]) > 0:
        lift_absent(parameters, header, arms, arm, gain)
    arms[arm]["log_weight"] += gain
    if header["stale"] == 1:
        if missing_at(header, header["step"]) == 0:
            rescale(header, arms)
        return
    weight = math.exp(arms[arm]["log_weight"] - header["unit"])
    # Weights only grow between two moves of the unit: no digits cancel in their sum.
    header["total"] += weight - arms[arm]["weight"]
    arms[arm]["weight"] = weight
    if weight > LARGE:
        rescale(header, arms)


@kernel
def learn_exp3s(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    arms[arm]["count"] += 1
    before = 0.0
    if missing_at(header, header["step"]) > 0:
        before = sum_among(parameters, arms, None, header["step"])[1]
    arms[arm]["weight"] *= math.exp(exponent(parameters, header, arms, memory, reward, step))
    if before > 0.0:
        spread_among(parameters, header, arms, before)
        return
    share = math.e * parameters.alpha * header["total"] / len(arms)
    total = 0.0
    for k in range(len(arms)):
        total += arms[k]["weight"] + share
    for k in range(len(arms)):
        arms[k]["weight"] = (arms[k]["weight"] + share) / total
    header["total"] = 1.0


@kernel
def log_weight(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> tuple[float, float]:
    """Return the logarithm of the weight, NaN before the first reward: the kernel `estimate` of EXP3."""
    count = float(arms[arm]["count"])
    return arms[arm]["log_weight"] if count > 0.0 else math.nan, count


@kernel
def weight(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> tuple[float, float]:
    """Return the weight, NaN before the first reward: the kernel `estimate` of EXP3.S."""
    count = float(arms[arm]["count"])
    return arms[arm]["weight"] if count > 0.0 else math.nan, count


def ring(horizon: int | None) -> Table:
    """Return an empty memory of draws, so long that a step's place is the step's last bits."""
    return np.repeat(DRAW, 1 << (ring_length(PENDING, horizon) - 1).bit_length())


@dataclass(frozen=True)
class EXP3(BoundedPolicy):
    """Exponential weights for exploration and exploitation, for any rewards in a range.

    Parameters
    ----------
    gamma : float, optional
        The share of uniform exploration, in (0, 1]. None: the value tuned to T, above.
    low, high : float
        The range of the rewards, by keyword; [0, 1] by default.
    """

    gamma: float | None = None

    kernels: ClassVar[Kernels] = Kernels(
        select, pull, learn_exp3, availability.miss, log_weight, propensity=propensity
    )
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "bounded, adversarial"
    reference: ClassVar[str] = "auer2002nonstochastic"
    known_from: ClassVar[str] = "published"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gamma is not None:
            self._keep(gamma=checks.number("EXP3's gamma", self.gamma, 0.0, 1.0, above=0.0))

    @property
    def must_know(self) -> str:
        return super().must_know + (", T" if self.gamma is None else "")

    @property
    def estimated(self) -> Estimated:
        return Estimated("log-weight", "after")

    @property
    def memory_cost(self) -> str:
        return "O(K + min(T, 65536))"

    def parameters(self, n_arms: int, horizon: int | None) -> EXP3Parameters:
        gamma = self.gamma
        if gamma is None:
            steps = need_horizon("EXP3 without gamma", horizon)
            gamma = min(1.0, math.sqrt(n_arms * math.log(n_arms) / ((math.e - 1) * steps)))
        return EXP3Parameters(float(self.low), float(self.high - self.low), float(gamma))

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        return ring(horizon)

    def start(self, n_arms: int, horizon: int | None, key: int = 0) -> State:
        state = super().start(n_arms, horizon, key)
        state.header["total"] = float(n_arms)
        return state


@dataclass(frozen=True)
class EXP3S(BoundedPolicy):
    """Exponential weights that are shared, for rewards that change.

    Parameters
    ----------
    alpha : float, optional
        At each reward, e alpha times all weight is spread over the arms; in (0, 1]. None: 1 / T.
    gamma : float, optional
        The share of uniform exploration, in (0, 1]. None: the value tuned to T and `segments`, above.
    segments : int
        S, the number of stationary stretches (the changes plus one), for gamma.
    low, high : float
        The range of the rewards, by keyword; [0, 1] by default.
    """

    alpha: float | None = None
    gamma: float | None = None
    segments: int = 1

    kernels: ClassVar[Kernels] = Kernels(
        select, pull, learn_exp3s, availability.miss, weight, propensity=propensity
    )
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "bounded, adversarial"
    reference: ClassVar[str] = "auer2002nonstochastic"
    known_from: ClassVar[str] = "published"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alpha is not None:
            self._keep(alpha=checks.number("EXP3S's alpha", self.alpha, 0.0, 1.0, above=0.0))
        if self.gamma is not None:
            self._keep(gamma=checks.number("EXP3S's gamma", self.gamma, 0.0, 1.0, above=0.0))
        self._keep(segments=checks.integer("EXP3S's segments", self.segments, 1, checks.MAX_STEPS))

    @property
    def must_know(self) -> str:
        known = super().must_know
        if self.alpha is None or self.gamma is None:
            known += ", T"
        return known + (", the number of segments" if self.gamma is None else "")

    @property
    def estimated(self) -> Estimated:
        return Estimated("weight", "after")

    @property
    def memory_cost(self) -> str:
        return "O(K + min(T, 65536))"

    def parameters(self, n_arms: int, horizon: int | None) -> EXP3SParameters:
        alpha, gamma = self.alpha, self.gamma
        if alpha is None:
            alpha = 1.0 / need_horizon("EXP3S without alpha", horizon)
        if gamma is None:
            steps = need_horizon("EXP3S without gamma", horizon)
            spread = self.segments * math.log(n_arms * steps) + math.e
            gamma = min(1.0, math.sqrt(n_arms * spread / ((math.e - 1) * steps)))
        return EXP3SParameters(float(self.low), float(self.high - self.low), float(gamma), float(alpha))

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        return ring(horizon)

    def start(self, n_arms: int, horizon: int | None, key: int = 0) -> State:
        state = super().start(n_arms, horizon, key)
        state.header["total"] = float(n_arms)
        return state
