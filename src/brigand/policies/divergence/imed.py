"""IMED: indexed minimum empirical divergence.

Rule
----
With N rewards of the arm and m the largest mean, pull the arm with the smallest

    N d(mean, m) + log N

with d the divergence of the rewards' family (`brigand.policies.kernels.divergences`); d is 0 for the arms
whose mean is m. No step and no horizon is in the rule. Every arm is pulled once first, in random order. Ties
are broken uniformly.

Source
------
Honda, Takemura, "Non-asymptotic analysis of a new bandit algorithm for semi-bounded rewards", Journal of
Machine Learning Research 16, 2015. Its regrets are those of the tables of Baudry, Kaufmann, Maillard,
"Sub-sampling for efficient non-parametric bandit exploration", NeurIPS 2020, with d as here.

Deviations
----------
The paper's index for bounded rewards has, in place of d(mean, m), the least divergence of the rewards from a
law on the same range with mean m. The two are equal where rewards are 0 or 1. For others d(mean, m) is
smaller: arms are then explored more.

Late rewards
------------
An arm that was pulled, and has no reward yet, is pulled before others until it has had 2 + log(n + 1) pulls,
n those of all arms, then after them (`kernels.choices.needs_pull`). Absent arms: m is the largest mean of the
arms that are there.

Cost
----
O(K) a step, with a few logarithms for all arms together; memory O(K).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand.jit import kernel
from brigand.policies.base import Header, Kernels, Table, record
from brigand.policies.kernels.arithmetic import learn_mean, unit_reward
from brigand.policies.kernels.choices import break_tie, needs_pull
from brigand.policies.kernels.divergences import EXPONENTIAL, GAUSSIAN, conjugate, gaussian_kl, natural
from brigand.policies.kernels.families import FamilyPolicy

HEADER = record(step=0)
# phi: see `divergences.conjugate`; log: of count
ARM = record(pulls=0, count=0, sum=0.0, residue=0.0, mean=float("nan"), phi=0.0, log=0.0)


class IMEDParameters(NamedTuple):
    """The range of the rewards (see `unit_reward`), the family and its sigma."""

    low: float
    width: float
    kind: int
    sigma: float


@kernel
def largest_mean(arms: Table, candidates: Any) -> float:
    """Return the largest mean of the candidates, -inf if none is known."""
    best = -math.inf
    for i in range(len(candidates)):
        if arms[candidates[i]]["mean"] > best:
            best = arms[candidates[i]]["mean"]
    return float(best)


@kernel
def evidence(parameters: Any, arms: Table, arm: int, best: float, theta: float, psi: float) -> float:
    """Return N d(mean, best) of an arm that has rewards; theta and psi are `natural` of best.

    It is infinite where rewards that came are impossible with that mean: Bernoulli with mean 1, and
    exponential rewards of 0.
    """
    mean = float(arms[arm]["mean"])
    if mean >= best:
        return 0.0
    if parameters.kind == GAUSSIAN:
        return float(arms[arm]["count"] * gaussian_kl(mean, best, parameters.sigma))
    if psi == -math.inf or (parameters.kind == EXPONENTIAL and mean <= 0.0):
        return math.inf
    return float(arms[arm]["count"] * max(0.0, arms[arm]["phi"] - mean * theta + psi))


@kernel
def index(
    parameters: Any, header: Header, arms: Table, arm: int, best: float, theta: float, psi: float
) -> float:
    """Return the negative of what is smallest: infinite for an arm that is pulled at once."""
    if arms[arm]["count"] == 0:
        return math.inf if needs_pull(arms[arm]["pulls"], 1.0, header["step"]) else math.nan
    return float(-evidence(parameters, arms, arm, best, theta, psi) - arms[arm]["log"])


@kernel
def best_of(
    parameters: Any, header: Header, arms: Table, candidates: Any, arm: int, uniform: float
) -> tuple[int, int, bool]:
    """Return the choice, how many arms tie (0: none has an index), and whether `arm` is one of these."""
    best = largest_mean(arms, candidates)
    theta, psi = natural(parameters.kind, best)
    largest, own = -np.inf, np.nan
    chosen, ties = candidates[0], 0
    for i in range(len(candidates)):
        value = index(parameters, header, arms, candidates[i], best, theta, psi)
        if candidates[i] == arm:
            own = value
        if value > largest:
            largest = value
            chosen = candidates[i]
            ties = 1
        elif value == largest and value > -np.inf:
            ties += 1
            chosen, uniform = break_tie(chosen, candidates[i], ties, uniform)
    if ties == 0:
        chosen = candidates[int(uniform * len(candidates))]
    return chosen, ties, own == largest


@kernel
def select(
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    candidates: Any,
    rng: np.random.Generator,
) -> int:
    return best_of(parameters, header, arms, candidates, -1, rng.random())[0]


@kernel
def propensity(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, arm: int
) -> float:
    _, ties, tied = best_of(parameters, header, arms, candidates, arm, 0.0)
    if ties == 0:
        return 1.0 / len(candidates)
    return 1.0 / ties if tied else 0.0


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    arms[arm]["pulls"] += 1


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    learn_mean(arms, arm, unit_reward(parameters, reward))
    arms[arm]["phi"] = conjugate(parameters.kind, arms[arm]["mean"])
    arms[arm]["log"] = math.log(arms[arm]["count"])


@dataclass(frozen=True)
class IMED(FamilyPolicy):
    """IMED, for rewards in a range or of a one-parameter exponential family.

    Parameters
    ----------
    divergence : str
        ``"bernoulli"`` for rewards in [low, high]; ``"gaussian"``; ``"exponential"`` or ``"poisson"`` for
        rewards >= 0. An exponential arm that paid 0 and nothing else is given up: 0 has probability 0.
    sigma : float
        The rewards' standard deviation, for the Gaussian divergence.
    low, high : float
        The range of the rewards for the Bernoulli divergence, by keyword; [0, 1] by default.
    """

    divergence: str = "bernoulli"
    sigma: float = 1.0

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, propensity=propensity)
    grows: ClassVar[bool] = True
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    reference: ClassVar[str] = "honda2015imed"
    known_from: ClassVar[str] = "published"

    def parameters(self, n_arms: int, horizon: int | None) -> IMEDParameters:
        return IMEDParameters(*self._family())
