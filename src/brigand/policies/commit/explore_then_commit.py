"""Explore-then-commit: every arm m times in turn, then the arm with the largest mean for ever.

Rule
----
Every arm is pulled m times, in turn and in random order. Then the policy commits to an arm with the largest
mean: it is pulled for ever. Ties are broken uniformly.

Source
------
Garivier, Lattimore, Kaufmann, "On explore-then-commit strategies", NeurIPS 2016 (fixed design); Lattimore,
Szepesvari, "Bandit Algorithms", 2020, chapter 6. Qi, Zhu and Guo present ETC as a special case of FE; it is
not, because FE's means stay in use.

Deviations
----------
None.

Late rewards
------------
The choice is made once, at the first step after m K pulls at which some reward has arrived, from the rewards
that have arrived by then. Later rewards do not change it.

Absent arms: an arm that is away is not waited for; the choice is made when the candidates have had their m
pulls. It is an arm with the largest mean of all: where only others are allowed at that step, they are pulled
and not chosen. An arm that joins later, or comes back without its m pulls, gets them first; then the choice
is made again. While the chosen arm is away, the candidate with the largest mean, kept up to date, is pulled.

Cost
----
O(K) a step before the commitment, O(1) after it; memory O(K).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.jit import kernel
from brigand.policies.base import Header, Kernels, Policy, Table, record
from brigand.policies.kernels.arithmetic import learn_mean
from brigand.policies.kernels.choices import greedy, greedy_propensity, is_only, next_in_turn, turn_propensity

HEADER = record(step=0, committed=-1, leader=-1, explored=0)  # explored: arms that have had their m pulls
ARM = record(last=0, pulls=0, count=0, sum=0.0, residue=0.0, mean=float("nan"))


class ExploreThenCommitParameters(NamedTuple):
    """The number of pulls of each arm."""

    m: int


@kernel
def to_explore(parameters: Any, arms: Table, candidates: Any, uniform: float) -> int:
    """Return the candidate whose turn to be explored it is, -1 if all have had their m pulls."""
    chosen = next_in_turn(arms, candidates, uniform)
    if arms[chosen]["pulls"] < parameters.m:
        return chosen
    chosen = -1
    for i in range(len(candidates)):
        arm = candidates[i]
        if arms[arm]["pulls"] < parameters.m and (chosen < 0 or arms[arm]["last"] < arms[chosen]["last"]):
            chosen = arm
    return chosen


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
    if header["explored"] < len(arms):
        arm = to_explore(parameters, arms, candidates, uniform)
        if arm >= 0:
            return arm
    for i in range(len(candidates)):
        if candidates[i] == header["committed"]:
            return candidates[i]
    return greedy(header, arms, candidates, uniform)


@kernel
def propensity(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, arm: int
) -> float:
    if header["explored"] < len(arms):
        first = to_explore(parameters, arms, candidates, 0.0)
        if first >= 0:
            return turn_propensity(arms, candidates, arm) if arms[first]["last"] == 0 else is_only(arm, first)
    for i in range(len(candidates)):
        if candidates[i] == header["committed"]:
            return is_only(arm, candidates[i])
    return greedy_propensity(header, arms, candidates, arm)


@kernel
def commit(header: Header, arms: Table, arm: int) -> None:
    """Commit to `arm`, which is being pulled, or to the best arm if its mean is larger; needs a reward."""
    best = arm
    for other in range(len(arms)):
        if arms[best]["count"] == 0 or arms[other]["mean"] > arms[best]["mean"]:
            best = other
    if arms[best]["count"] > 0:
        header["committed"] = best


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    if arms[arm]["pulls"] >= parameters.m and header["committed"] < 0:
        commit(header, arms, arm)
    header["step"] += 1
    arms[arm]["last"] = header["step"]
    arms[arm]["pulls"] += 1
    if arms[arm]["pulls"] == parameters.m:
        header["explored"] += 1
        header["committed"] = -1


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    learn_mean(arms, arm, reward)


def exploration(m: int, n_arms: int) -> ExploreThenCommitParameters:
    """Return the parameters: m, or as much as no horizon has room for (m K must be a 64-bit integer)."""
    return ExploreThenCommitParameters(min(m, checks.MAX_STEPS // n_arms + 1))


@dataclass(frozen=True)
class ExploreThenCommit(Policy):
    """Explore-then-commit with a fixed number of pulls of each arm.

    Source: Garivier, Lattimore, Kaufmann, NeurIPS 2016.

    Parameters
    ----------
    m : int
        Pulls of each arm before the commitment, at least 1.
    """

    m: int

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, propensity=propensity)
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "sigma-sub-Gaussian"
    reference: ClassVar[str] = "garivier2016explore"
    known_from: ClassVar[str] = "published"

    def __post_init__(self) -> None:
        self._keep(m=checks.integer("m", self.m, 1, checks.MAX_STEPS))

    @property
    def must_know(self) -> str:
        return "T, sigma and the gap, for the best m"

    def parameters(self, n_arms: int, horizon: int | None) -> ExploreThenCommitParameters:
        return exploration(self.m, n_arms)
