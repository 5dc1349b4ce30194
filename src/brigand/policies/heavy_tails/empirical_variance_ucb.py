"""Empirical-variance UCB: the stand-in that the figures of Qi, Zhu and Guo label "Lattimore (2017)".

Rule
----
After N pulls of the arm, with its mean and its standard deviation sd (divisor N), pull the arm with the
largest

    mean + sqrt(factor) sd sqrt(log T / N),   factor = 24.

Before, every arm is pulled `initial_pulls` times, in order of index (the least recently pulled arm first).
Ties are broken uniformly, but sd depends in its last digit on the order of an arm's rewards.

Source
------
The scripts that Qi, Zhu, Guo published with "Forced Exploration in Bandit Problems", AAAI 2024. The paper
calls the rule an approximation of Lattimore, "A scale free algorithm for stochastic bandits with bounded
kurtosis", NIPS 2017 (`brigand.policies.heavy_tails.lattimore`). But no kurtosis is in it, and no guarantee is
known.

Deviations
----------
The scripts have initial_pulls = 1 and c = 0. With one pull, or any run of equal rewards, sd = 0: the bonus
vanishes, and an arm can be left for ever. The mean regret of the scripts' rule is carried by the runs that
leave the best arm. Hence two initial pulls by default, and `c`, which are ours: the index of an arm with sd =
0 is +inf while N < c log T (c = 0: never).

Late rewards
------------
N counts pulls in the initial phase and in N < c log T. An arm with fewer rewards than its n0 initial pulls,
all of them equal, has the index +inf until it has had 2 n0 + log T pulls. An arm without a reward is chosen
last from then on (as by `kernels.choices.needs_pull`, with T for t).

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
from brigand.policies.base import Header, Kernels, Policy, Table, need_horizon, record
from brigand.policies.kernels.arithmetic import hypotenuse, learn_mean
from brigand.policies.kernels.choices import argmax, argmax_propensity, is_only

HEADER = record(step=0, initial=0)  # arms that have had their initial pulls
# spread: sqrt(sum (x - mean)^2)
ARM = record(
    pulls=0,
    last=0,
    count=0,
    sum=0.0,
    residue=0.0,
    mean=float("nan"),
    spread=0.0,
    index=float("nan"),
)


class EmpiricalVarianceUCBParameters(NamedTuple):
    """sqrt(factor log T), the initial pulls n0, c log T, and the larger of that and 2 n0 + log T."""

    width: float
    initial_pulls: int
    least: float
    patience: float


@kernel
def index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    if arms[arm]["spread"] == 0.0:
        lacking = arms[arm]["count"] < parameters.initial_pulls
        if arms[arm]["pulls"] < (parameters.patience if lacking else parameters.least):
            return math.inf
    return arms[arm]["index"]


@kernel
def first_to_explore(parameters: Any, header: Header, arms: Table, candidates: Any) -> int:
    """Return the least recently pulled of the candidates with too few pulls, -1 if there is none."""
    first = -1
    if header["initial"] == len(arms):
        return first
    for i in range(len(candidates)):
        arm = candidates[i]
        if arms[arm]["pulls"] < parameters.initial_pulls and (
            first < 0 or arms[arm]["last"] < arms[first]["last"]
        ):
            first = arm
    return first


@kernel
def select(
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    candidates: Any,
    rng: np.random.Generator,
) -> int:
    chosen = argmax(index, parameters, header, arms, memory, candidates, rng)
    first = first_to_explore(parameters, header, arms, candidates)
    return first if first >= 0 else chosen


@kernel
def propensity(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, arm: int
) -> float:
    first = first_to_explore(parameters, header, arms, candidates)
    if first >= 0:
        return is_only(arm, first)
    return argmax_propensity(index, parameters, header, arms, memory, candidates, arm)


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    arms[arm]["last"] = header["step"]
    arms[arm]["pulls"] += 1
    if arms[arm]["pulls"] == parameters.initial_pulls:
        header["initial"] += 1


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    count = arms[arm]["count"]
    if count > 0:
        # Welford's update on the square root: large rewards do not overflow.
        far = abs(reward - arms[arm]["mean"]) * math.sqrt(count / (count + 1.0))
        arms[arm]["spread"] = hypotenuse(arms[arm]["spread"], far)
    learn_mean(arms, arm, reward)
    arms[arm]["index"] = arms[arm]["mean"] + parameters.width * (arms[arm]["spread"] / arms[arm]["count"])


@dataclass(frozen=True)
class EmpiricalVarianceUCB(Policy):
    """The mean and a bonus of sqrt(24) empirical standard deviations: "Lattimore (2017)" in the seed paper.

    Parameters
    ----------
    factor : float
        The 24 under the root.
    initial_pulls : int
        Pulls of each arm first, at least 1 (as in the authors' scripts).
    c : float
        An arm with standard deviation 0 has the index +inf while it has fewer than c log T pulls; 0: never
        (as in the authors' scripts).
    """

    factor: float = 24.0
    initial_pulls: int = 2
    c: float = 1.0

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, propensity=propensity)
    grows: ClassVar[bool] = True
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "bounded kurtosis (no guarantee)"
    reference: ClassVar[str] = "qi2024forced"
    known_from: ClassVar[str] = "authors' code"

    def __post_init__(self) -> None:
        name = "EmpiricalVarianceUCB's"
        self._keep(factor=checks.number(f"{name} factor", self.factor, above=0.0))
        self._keep(
            initial_pulls=checks.integer(f"{name} initial_pulls", self.initial_pulls, 1, checks.MAX_INTEGER)
        )
        self._keep(c=checks.number(f"{name} c", self.c, 0.0))

    @property
    def must_know(self) -> str:
        return "T"

    def parameters(self, n_arms: int, horizon: int | None) -> EmpiricalVarianceUCBParameters:
        log = math.log(need_horizon("EmpiricalVarianceUCB", horizon))
        least, patience = self.c * log, 2.0 * self.initial_pulls + log
        return EmpiricalVarianceUCBParameters(
            math.sqrt(self.factor * log), self.initial_pulls, least, max(least, patience)
        )
