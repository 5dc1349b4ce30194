"""DMED: deterministic minimum empirical divergence. Arms are pulled by lists.

Rule
----
After n pulls, with N rewards of the arm and m the largest mean, an arm is **in question** if

    N d(mean, m) <= log n - log N

with d the divergence of the rewards' family (`brigand.policies.kernels.divergences`); the best arm always is.
Every arm is pulled once. Then the current list holds all arms, and its arms are pulled in ascending order.
After each pull, every arm in question enters the next list, unless it is in the current one and still to be
pulled. When all arms of the current list are pulled, the next list takes its place.

Source
------
Honda, Takemura, "An asymptotically optimal bandit algorithm for bounded support models", COLT 2010. **A
reconstruction**: lists and condition are from memory of that paper. The condition is the same in SMPyBandits;
Garivier and Cappe (COLT 2011) call this version DMED+, and DMED the one without log N. No published
number was found; its regrets agree with those of that code (`brigand validate`).

Deviations
----------
For bounded rewards the paper has, in place of d(mean, m), the least divergence of the rewards from a law on
the same range with mean m. The two are equal where rewards are 0 or 1. With d(mean, m), which knows no more
of the rewards than their mean, it is the first of the DMED-M of Honda and Takemura ("Stochastic bandit based
on empirical moments", AISTATS 2012, from memory).

Late rewards
------------
Arms enter the next list when a reward arrives. An arm without a reward is in question as long as
`kernels.choices.needs_pull` says so, for 2 + log n pulls. Where the next list is empty when it is needed, it
is made of all arms that are in question then.

Absent arms: m is the largest mean of the arms that are there. Those that are away keep their place in the
current list, and enter no other. If no arm of a list is there, the arms that are there and in question are
pulled.

Cost
----
O(K) a step, with a few logarithms for all arms together; memory O(K).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from brigand.jit import kernel
from brigand.policies.base import Header, Kernels, Table, record
from brigand.policies.divergence.imed import IMEDParameters, evidence, learn as learn_mean_and_log
from brigand.policies.kernels import availability
from brigand.policies.kernels.availability import available, n_places
from brigand.policies.kernels.choices import is_only, needs_pull
from brigand.policies.kernels.divergences import natural
from brigand.policies.kernels.families import FamilyPolicy

HEADER = record(step=0, **availability.HEADER)
# due: whether (1) the arm is in the current list, and not pulled yet; next: whether it is in the next list
ARM = record(
    pulls=0,
    count=0,
    sum=0.0,
    residue=0.0,
    mean=float("nan"),
    phi=0.0,
    log=0.0,
    due=1,
    next=0,
    **availability.ARM,
)


@kernel
def best_mean(arms: Table, candidates: Any, step: int) -> float:
    """Return the largest mean of the `available` arms, -inf if none is known."""
    best = -math.inf
    for place in range(n_places(arms, candidates)):
        arm = available(arms, candidates, place, step)
        if arm >= 0 and arms[arm]["mean"] > best:
            best = arms[arm]["mean"]
    return float(best)


@kernel
def is_in_question(
    parameters: Any, header: Header, arms: Table, arm: int, best: float, theta: float, psi: float, log: float
) -> bool:
    """Return whether the arm may be the best, or has no reward and needs a pull; log is that of n."""
    if arms[arm]["count"] == 0:
        return needs_pull(arms[arm]["pulls"], 1.0, header["step"])
    return bool(evidence(parameters, arms, arm, best, theta, psi) <= log - arms[arm]["log"])


@kernel
def choice(parameters: Any, header: Header, arms: Table, candidates: Any) -> int:
    for i in range(len(candidates)):
        if arms[candidates[i]]["pulls"] == 0:
            return candidates[i]
    for i in range(len(candidates)):
        if arms[candidates[i]]["due"] == 1:
            return candidates[i]
    for i in range(len(candidates)):
        if arms[candidates[i]]["next"] == 1:
            return candidates[i]
    best = best_mean(arms, candidates, 0)
    theta, psi = natural(parameters.kind, best)
    log = math.log(header["step"])
    for i in range(len(candidates)):
        if is_in_question(parameters, header, arms, candidates[i], best, theta, psi, log):
            return candidates[i]
    fewest = candidates[0]
    for i in range(len(candidates)):
        if arms[candidates[i]]["pulls"] < arms[fewest]["pulls"]:
            fewest = candidates[i]
    return fewest


@kernel
def select(
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    candidates: Any,
    rng: np.random.Generator,
) -> int:
    return choice(parameters, header, arms, candidates)


@kernel
def propensity(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, arm: int
) -> float:
    return is_only(arm, choice(parameters, header, arms, candidates))


@kernel
def begin_list(parameters: Any, header: Header, arms: Table) -> None:
    """Put the next list, or all arms in question if none of it is there, in the place of the current one."""
    step = header["step"] + 1
    best = best_mean(arms, None, step)
    theta, psi = natural(parameters.kind, best)
    log = math.log(header["step"])
    empty = True
    for arm in range(len(arms)):
        if arms[arm]["next"] == 1:
            empty = empty and arms[arm]["missed"] == step
            arms[arm]["due"] = 1
            arms[arm]["next"] = 0
    for arm in range(len(arms) if empty else 0):
        there = arms[arm]["missed"] != step
        if there and is_in_question(parameters, header, arms, arm, best, theta, psi, log):
            arms[arm]["due"] = 1


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    if arms[arm]["pulls"] > 0:
        if arms[arm]["due"] == 0:
            begin_list(parameters, header, arms)
        arms[arm]["due"] = 0
    header["step"] += 1
    arms[arm]["pulls"] += 1


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    learn_mean_and_log(parameters, header, arms, memory, arm, reward, step)
    now = header["step"]
    best = best_mean(arms, None, now)
    theta, psi = natural(parameters.kind, best)
    log = math.log(now)
    for other in range(len(arms)):
        if arms[other]["due"] == 1 or arms[other]["missed"] == now:
            continue
        if is_in_question(parameters, header, arms, other, best, theta, psi, log):
            arms[other]["next"] = 1


@dataclass(frozen=True)
class DMED(FamilyPolicy):
    """DMED, for rewards in a range or of a one-parameter exponential family.

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

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, availability.miss, propensity=propensity)
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    reference: ClassVar[str] = "honda2010dmed"
    known_from: ClassVar[str] = "reconstruction"

    def parameters(self, n_arms: int, horizon: int | None) -> IMEDParameters:
        return IMEDParameters(*self._family())
