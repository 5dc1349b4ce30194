"""KL-UCB: upper confidence bounds from the Kullback-Leibler divergence of the rewards' family.

Rule
----
After n pulls, N of them of the arm, pull the arm with the largest

    KL-UCB        max{q : N d(mean, q) <= log n + c log log n}
    SW-KL-UCB     the same with N and mean over the last `window` pulls of all arms, min(n, window) for n

with d the divergence of a family (`brigand.policies.kernels.divergences`). The Bernoulli divergence is right
for all rewards in [0, 1]; the Gaussian one gives mean + sigma sqrt(2 (log n + c log log n) / N). Theory has c
= 3, practice c = 0; log log n counts as 0 for n < e. Every arm is pulled once first (and when it is absent
from the window), in random order. Ties are broken uniformly.

Source
------
Garivier, Cappe, "The KL-UCB algorithm for bounded stochastic bandits and beyond", COLT 2011; Cappe, Garivier,
Maillard, Munos, Stoltz, "Kullback-Leibler upper confidence bounds for optimal sequential allocation", Annals
of Statistics 41, 2013 (whose n counts the pulls made, as here). SW-KL-UCB has no paper of its own and is **a
reconstruction**: its window is that of Combes, Proutiere, "Unimodal bandits: regret lower bounds and optimal
algorithms", ICML 2014.

Deviations
----------
None.

Late rewards
------------
KL-UCB: an arm that was pulled, and has no reward yet, is pulled before others until it has had 2 + log(n + 1)
pulls, then after them (`kernels.choices.needs_pull`). SW-KL-UCB: it waits, chosen last, until its pulls have
left the window.

Cost
----
O(K) a step; memory O(K), and O(K + window). An arm's index reaches v iff N d(mean, v) <= log n, and d costs
no logarithm once those of v and of the mean are known. So a root is sought only for the arm pulled last and
for those that beat it, and not for each arm at each step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.jit import kernel
from brigand.policies.base import Estimated, Header, Kernels, Table, record, ring_length
from brigand.policies.kernels import window
from brigand.policies.kernels.arithmetic import correct_mean, learn_mean, unit_reward
from brigand.policies.kernels.choices import break_tie, needs_pull
from brigand.policies.kernels.divergences import conjugate, klucb_upper, natural
from brigand.policies.kernels.estimates import known_unit_mean, windowed
from brigand.policies.kernels.families import FamilyPolicy

HEADER = record(step=0, level=0.0, favourite=0)  # log n + c log log n; the arm pulled last
# phi: see `divergences.conjugate`
ARM = record(pulls=0, count=0, sum=0.0, residue=0.0, mean=float("nan"), phi=0.0)
WINDOW_HEADER = record(step=0, level=0.0, favourite=0, slot=0, block=1)
WINDOW_ARM = record(pulls=0, phi=0.0, **window.ARM)  # pulls inside the window
WINDOW_MEMORY = record(**window.SLOT)
MARGIN = 1e-6
"""Relative: arms whose index is so close to the best get theirs computed, so that ties are ties."""


class KLUCBParameters(NamedTuple):
    """The range of the rewards (see `unit_reward`), the family, its sigma, c, and the window, or 0."""

    low: float
    width: float
    kind: int
    sigma: float
    c: float
    window: int


@kernel
def index(parameters: Any, header: Header, arms: Table, arm: int) -> float:
    if arms[arm]["count"] == 0:
        pulls = arms[arm]["pulls"]
        first = pulls == 0 or (parameters.window == 0 and needs_pull(pulls, 1.0, header["step"]))
        return math.inf if first else math.nan
    bound = header["level"] / arms[arm]["count"]
    return klucb_upper(parameters.kind, arms[arm]["mean"], bound, parameters.sigma)


@kernel
def best_of(
    parameters: Any, header: Header, arms: Table, candidates: Any, uniform: float
) -> tuple[int, float, int]:
    """Return what `kernels.argmax` chooses, the largest index and how many arms have it, 0 if none is known.

    Arms that cannot reach the best index so far are passed over.
    """
    favourite = header["favourite"] if len(candidates) == len(arms) else -1
    best = -np.inf
    chosen = candidates[0]
    ties = 0
    bar, theta, psi = -math.inf, 0.0, -math.inf
    for i in range(-1, len(candidates)):
        arm = favourite if i < 0 else candidates[i]
        if arm < 0 or (i >= 0 and arm == favourite):
            continue
        # False for an arm without rewards, whose mean is NaN.
        if arms[arm]["mean"] < bar:
            reached = arms[arm]["phi"] - arms[arm]["mean"] * theta + psi
            if arms[arm]["count"] * reached > header["level"]:
                continue
        value = index(parameters, header, arms, arm)
        if value > best:
            best = value
            chosen = arm
            ties = 1
            bar = best - MARGIN * abs(best)
            theta, psi = natural(parameters.kind, bar)
        elif value == best:
            ties += 1
            chosen, uniform = break_tie(chosen, arm, ties, uniform)
    return chosen if ties > 0 else candidates[int(uniform * len(candidates))], best, ties


@kernel
def select(
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    candidates: Any,
    rng: np.random.Generator,
) -> int:
    return best_of(parameters, header, arms, candidates, rng.random())[0]


@kernel
def propensity(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, arm: int
) -> float:
    _, best, ties = best_of(parameters, header, arms, candidates, 0.0)
    if ties == 0:
        return 1.0 / len(candidates)
    return 1.0 / ties if index(parameters, header, arms, arm) == best else 0.0


@kernel
def level(n: int, c: float) -> float:
    """Return log n + c log log n."""
    log = math.log(n)
    return log + c * math.log(max(log, 1.0))


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    header["level"] = level(header["step"], parameters.c)
    header["favourite"] = arm
    arms[arm]["pulls"] += 1


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    learn_mean(arms, arm, unit_reward(parameters, reward))
    arms[arm]["phi"] = conjugate(parameters.kind, arms[arm]["mean"])


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
    arms[arm]["phi"] = conjugate(parameters.kind, arms[arm]["mean"])


@kernel
def pull_window(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    header["level"] = level(min(header["step"], parameters.window), parameters.c)
    header["favourite"] = arm
    if header["step"] > parameters.window:
        arms[memory[header["slot"]]["arm"]]["pulls"] -= 1
    arms[arm]["pulls"] += 1
    gone = window.advance(header, arms, memory, arm, parameters.window)
    if gone >= 0:
        refresh_phi(parameters, arms, gone)
    elif gone == -2:
        for other in range(len(arms)):
            refresh_phi(parameters, arms, other)


@kernel
def refresh_phi(parameters: Any, arms: Table, arm: int) -> None:
    if arms[arm]["count"] > 0:
        arms[arm]["phi"] = conjugate(parameters.kind, arms[arm]["mean"])


@kernel
def learn_window(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    value = unit_reward(parameters, reward)
    if window.learn_in_window(header, arms, memory, arm, value, step, parameters.window):
        refresh_phi(parameters, arms, arm)


@dataclass(frozen=True)
class KLUCB(FamilyPolicy):
    """KL-UCB, for rewards in a range or of a one-parameter exponential family.

    Parameters
    ----------
    divergence : str
        ``"bernoulli"`` for rewards in [low, high]; ``"gaussian"``; ``"exponential"`` or ``"poisson"`` for
        rewards >= 0. An exponential arm that paid 0 and nothing else is given up: 0 has probability 0.
    c : float
        The factor of log log n, at least 0: 0 in practice, 3 in theory.
    sigma : float
        The rewards' standard deviation, for the Gaussian divergence.
    low, high : float
        The range of the rewards for the Bernoulli divergence, by keyword; [0, 1] by default.
    """

    divergence: str = "bernoulli"
    c: float = 0.0
    sigma: float = 1.0

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, propensity=propensity, correct=correct)
    grows: ClassVar[bool] = True
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    reference: ClassVar[str] = "garivier2011klucb"
    known_from: ClassVar[str] = "published"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keep(c=checks.number("KLUCB's c", self.c, 0.0))

    def parameters(self, n_arms: int, horizon: int | None) -> KLUCBParameters:
        return KLUCBParameters(*self._family(), float(self.c), 0)


@dataclass(frozen=True)
class SlidingWindowKLUCB(FamilyPolicy):
    """SW-KL-UCB: KL-UCB over the last pulls, for rewards that change.

    Parameters
    ----------
    window : int
        How many pulls, of all arms together; of the order of sqrt(T log T / B), B the number of changes.
    divergence, c, sigma, low, high
        As for `KLUCB`; log n becomes log(min(n, window)).
    """

    window: int
    divergence: str = "bernoulli"
    c: float = 0.0
    sigma: float = 1.0

    kernels: ClassVar[Kernels] = Kernels(
        select, pull_window, learn_window, estimate=known_unit_mean, propensity=propensity
    )
    grows: ClassVar[bool] = True
    header: ClassVar[Table] = WINDOW_HEADER
    arm: ClassVar[Table] = WINDOW_ARM
    reference: ClassVar[str] = "combes2014unimodal"
    known_from: ClassVar[str] = "reconstruction"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keep(window=checks.integer("SlidingWindowKLUCB's window", self.window, 1, checks.MAX_INTEGER))
        self._keep(c=checks.number("SlidingWindowKLUCB's c", self.c, 0.0))

    @property
    def must_know(self) -> str:
        return super().must_know + ", T and B_T for the window"

    @property
    def estimated(self) -> Estimated:
        return windowed(self.window)

    @property
    def memory_cost(self) -> str:
        return "O(K + window)"

    def parameters(self, n_arms: int, horizon: int | None) -> KLUCBParameters:
        return KLUCBParameters(*self._family(), float(self.c), ring_length(self.window, horizon))

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        return np.repeat(WINDOW_MEMORY, ring_length(self.window, horizon))
