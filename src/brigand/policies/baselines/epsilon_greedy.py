"""Epsilon-greedy: mostly the arm with the largest mean, and sometimes, or less and less often, one at random.

Rule
----
At step t, pull a uniformly random arm with probability epsilon_t, else the arm with the largest mean. It is
constant, or follows one of two schedules:

    epsilon_t = epsilon                       linear regret, unless epsilon is 0
    epsilon_t = t^(-exponent)                 exponent 1/3: regret of order T^(2/3), nothing to be known
    epsilon_t = min(1, c K / (d^2 t))         0 < d <= the smallest gap, rewards in [0, 1]

The random arm may be the greedy one. Every arm is pulled once first, in random order. Ties between means are
broken uniformly.

Source
------
Qi, Zhu, Guo, "Forced Exploration in Bandit Problems", AAAI 2024, for t^(-1/3); Auer, Cesa-Bianchi, Fischer,
"Finite-time analysis of the multiarmed bandit problem", Machine Learning 47, 2002, Figure 3, for the schedule
with c and d.

Deviations
----------
In the scripts of Qi, Zhu and Guo an arm that was never pulled counts as one with mean 0. Here every arm is
pulled once first.

Late rewards
------------
Means are those of the rewards that have arrived. An arm without a reward is pulled as a random arm only; if
no arm has a reward, the greedy arm is the least recently pulled one.

Absent arms: the random arm is uniform over the candidates, and K is their number.

Cost
----
O(1) a step while the leader's mean stays ahead, else O(K); memory O(K).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.errors import InvalidValueError
from brigand.jit import kernel
from brigand.policies.base import Header, Kernels, Policy, Table, record
from brigand.policies.kernels.arithmetic import correct_mean, learn_mean
from brigand.policies.kernels.choices import (
    greedy,
    greedy_propensity,
    mean_moved,
    next_in_turn,
    turn_propensity,
)

HEADER = record(step=0, pulled=0, leader=-1, second=0.0)
ARM = record(last=0, count=0, sum=0.0, residue=0.0, mean=float("nan"))


class EpsilonGreedyParameters(NamedTuple):
    """epsilon_t = min(1, scale t^-exponent); whether (1) or not (0) scale grows with the number of arms."""

    scale: float
    exponent: float
    per_arm: int


@kernel
def probability(parameters: Any, header: Header, arms: Table, candidates: Any) -> float:
    """Return epsilon at the step to come; certain if it is more than 1."""
    scale = parameters.scale
    if parameters.per_arm == 1 and len(candidates) < len(arms):
        scale *= len(candidates) / len(arms)
    return scale * (header["step"] + 1.0) ** -parameters.exponent


@kernel
def select(
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    candidates: Any,
    rng: np.random.Generator,
) -> int:
    uniform = rng.random()
    explore = rng.random()
    random_arm = candidates[int(rng.random() * len(candidates))]
    if header["pulled"] < len(arms):
        arm = next_in_turn(arms, candidates, uniform)
        if arms[arm]["last"] == 0:
            return arm
    if explore < probability(parameters, header, arms, candidates):
        return random_arm
    return greedy(header, arms, candidates, uniform)


@kernel
def propensity(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, arm: int
) -> float:
    if header["pulled"] < len(arms) and arms[next_in_turn(arms, candidates, 0.0)]["last"] == 0:
        return turn_propensity(arms, candidates, arm)
    explore = min(probability(parameters, header, arms, candidates), 1.0)
    best = greedy_propensity(header, arms, candidates, arm)
    return explore / len(candidates) + (1.0 - explore) * best


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    if arms[arm]["last"] == 0:
        header["pulled"] += 1
    arms[arm]["last"] = header["step"]


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    learn_mean(arms, arm, reward)
    mean_moved(header, arms, arm)


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
    mean_moved(header, arms, arm)


@dataclass(frozen=True)
class EpsilonGreedy(Policy):
    """Epsilon-greedy: with a constant epsilon, or one of two schedules.

    Source: Auer, Cesa-Bianchi, Fischer, Machine Learning 47, 2002, Figure 3, for the one with c and d.

    Parameters
    ----------
    epsilon : float, optional
        The probability of a random arm, in [0, 1], at every step.
    exponent : float, optional
        In its place epsilon_t = t^(-exponent); if nothing is given, with 1/3.
    c, d : float, optional
        Or epsilon_t = min(1, c K / (d^2 t)), c > 0 and 0 < d <= 1.
    """

    epsilon: float | None = None
    _: KW_ONLY
    exponent: float | None = None
    c: float | None = None
    d: float | None = None

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, propensity=propensity, correct=correct)
    grows: ClassVar[bool] = True
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "bounded or sub-Gaussian"
    reference: ClassVar[str] = "auer2002finite"
    known_from: ClassVar[str] = "published"

    def __post_init__(self) -> None:
        ways = [self.epsilon is not None, self.exponent is not None, self.c is not None]
        if (self.c is None) != (self.d is None) or sum(ways) > 1:
            raise InvalidValueError("EpsilonGreedy takes an epsilon, or an exponent, or c and d together.")
        if self.epsilon is not None:
            self._keep(epsilon=checks.number("EpsilonGreedy's epsilon", self.epsilon, 0.0, 1.0))
            return
        if self.c is not None:
            self._keep(c=checks.number("EpsilonGreedy's c", self.c, above=0.0))
            self._keep(d=checks.number("EpsilonGreedy's d", self.d, high=1.0, above=0.0))
        elif self.exponent is None:
            self._keep(exponent=1 / 3)
        else:
            self._keep(exponent=checks.number("EpsilonGreedy's exponent", self.exponent, 0.0))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; that of a schedule is older than epsilon, and streams are made from it."""
        found = super().to_json()
        if self.epsilon is None:
            del found["epsilon"]
        return found

    @property
    def must_know(self) -> str:
        return "nothing" if self.c is None else "the range [0, 1], a lower bound d of the gaps"

    def parameters(self, n_arms: int, horizon: int | None) -> EpsilonGreedyParameters:
        if self.epsilon is not None:
            return EpsilonGreedyParameters(self.epsilon, 0.0, 0)
        if self.c is None or self.d is None:
            return EpsilonGreedyParameters(1.0, self.exponent or 0.0, 0)
        return EpsilonGreedyParameters(self.c * n_arms / self.d / self.d, 1.0, 1)
