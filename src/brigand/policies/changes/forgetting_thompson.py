"""Thompson sampling that forgets: discounted (dTS) and on a sliding window (SW-TS).

Rule
----
Draw theta for each arm, and pull the arm with the largest; ties are broken uniformly.

Discounted, rewards in [0, 1]: theta ~ Beta(1 + S, 1 + F). At every pull the S and F of all arms are
multiplied by gamma. Then the reward is replaced by a Bernoulli number of that mean, which is added to the S
or the F of the pulled arm. The prior is not discounted.

Sliding window, rewards in [0, 1]: theta ~ Beta(1 + S, 1 + F), with S and F the number of ones and zeros among
the arm's rewards of the last `window` pulls of all arms together. Rewards are made 0 or 1 in the same way.

Sliding window, Gaussian rewards of known sigma: theta ~ N(mean, sigma^2 / N), with the mean and the number N
of the arm's rewards in the window. The prior is flat, thus improper: an arm without a pull in the window has
infinite variance and is pulled at once (several in random order). This is an implicit forced exploration.

With gamma = 1, or with a window that holds all steps, the three are `ThompsonBeta` or
`ThompsonGaussian(sigma)`, number by number.

Source
------
Discounted: Raj, Kalyani, "Taming non-stationary bandits: a Bayesian approach", arXiv 1707.09727, 2017, where
rewards are made 0 or 1, too. Window, Bernoulli rewards: Trovo, Paladino, Restelli, Gatti, "Sliding-window
Thompson sampling for non-stationary settings", JAIR 68, 2020. Window, Gaussian rewards with an improper
prior: the adaptation in the code of Qi, Zhu, Guo, "Forced exploration in bandit problems", AAAI 2024.

Deviations
----------
None in law. The Bernoulli numbers depend on the run's key and the step of the pull alone.

Late rewards
------------
A discounted reward that comes d steps late weighs gamma^d, as if it had come at once. In a window, a reward
of a pull that has left the window is left out.

With a window, an arm that was pulled, and has no reward yet, is chosen last until its pulls have left the
window. In dTS it is first drawn from the prior, and chosen last once it has had 2 + log(n + 1) of n pulls
(`kernels.choices.needs_pull`).

Cost
----
O(K) a step. For the Gaussian one, one step in `window` costs O(K + window). Memory O(K), and O(K + window)
with a window.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.jit import kernel
from brigand.policies.base import (
    BoundedPolicy,
    Estimated,
    Header,
    Kernels,
    Policy,
    Table,
    record,
    ring_length,
)
from brigand.policies.kernels.arithmetic import unit_reward
from brigand.policies.kernels.choices import index_select, needs_pull
from brigand.policies.kernels.estimates import known_mean, windowed
from brigand.policies.kernels.largest import BETA, DRAWN, FIRST, LAST, NORMAL, draw_propensity
from brigand.policies.kernels.randomness import uniform_at
from brigand.policies.kernels.window import ARM, SLOT, advance, learn_in_window

DISCOUNTED_HEADER = record(step=0, key=0)
DISCOUNTED_ARM = record(pulls=0, count=0, successes=0.0, failures=0.0)
NEGLIGIBLE = 1e-30  # no sum with 1 shows it; smaller numbers would become slow, subnormal ones
WINDOW_HEADER = record(step=0, slot=0, key=0)
WINDOW_ARM = record(pulls=0, count=0, successes=0, failures=0)  # in the window
WINDOW_SLOT = record(arm=0, success=0, failure=0)  # success = failure = 0: the reward is still to come
GAUSSIAN_HEADER = record(step=0, slot=0, block=1)
GAUSSIAN_ARM = record(pulls=0, **ARM)  # pulls: in the window
GAUSSIAN_SLOT = record(**SLOT)


class DiscountedThompsonParameters(NamedTuple):
    """The range of the rewards; what is left of a reward after a step; 0, for no window."""

    low: float
    width: float
    gamma: float
    window: int = 0


class SlidingWindowThompsonParameters(NamedTuple):
    """The range of the rewards; the window in steps."""

    low: float
    width: float
    window: int


class SlidingWindowThompsonGaussianParameters(NamedTuple):
    """The window in steps; the standard deviation of the rewards."""

    window: int
    sigma: float


@kernel
def beta_index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    theta = rng.beta(1.0 + arms[arm]["successes"], 1.0 + arms[arm]["failures"])
    if arms[arm]["count"] > 0 or arms[arm]["pulls"] == 0:
        return theta
    waits = parameters.window > 0 or not needs_pull(arms[arm]["pulls"], 1.0, header["step"])
    return math.nan if waits else theta


@kernel
def gaussian_index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    if arms[arm]["pulls"] == 0:
        return math.inf
    if arms[arm]["count"] == 0:
        return math.nan
    return arms[arm]["mean"] + parameters.sigma * rng.standard_normal() / math.sqrt(arms[arm]["count"])


select_beta = index_select(beta_index)


select_gaussian = index_select(gaussian_index)


@kernel
def beta_law(parameters: Any, header: Header, arms: Table, memory: Table, arm: int, row: Any) -> int:
    row[0], row[1], row[2] = 1.0 + arms[arm]["successes"], 1.0 + arms[arm]["failures"], BETA
    if arms[arm]["count"] > 0 or arms[arm]["pulls"] == 0:
        return DRAWN
    waits = parameters.window > 0 or not needs_pull(arms[arm]["pulls"], 1.0, header["step"])
    return LAST if waits else DRAWN


@kernel
def gaussian_law(parameters: Any, header: Header, arms: Table, memory: Table, arm: int, row: Any) -> int:
    if arms[arm]["pulls"] == 0:
        return FIRST
    if arms[arm]["count"] == 0:
        return LAST
    row[0], row[1], row[2] = arms[arm]["mean"], parameters.sigma / math.sqrt(arms[arm]["count"]), NORMAL
    return DRAWN


propensity_beta = draw_propensity(beta_law)


propensity_gaussian = draw_propensity(gaussian_law)


@kernel
def share_of_ones(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int
) -> tuple[float, float]:
    """Return S / (S + F) in units of the rewards, and S + F: the kernel `estimate`."""
    number = float(arms[arm]["successes"] + arms[arm]["failures"])
    if number == 0.0:
        return math.nan, 0.0
    return parameters.low + parameters.width * (arms[arm]["successes"] / number), number


@kernel
def pull_discounted(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    arms[arm]["pulls"] += 1
    for k in range(len(arms)):
        successes = parameters.gamma * arms[k]["successes"]
        failures = parameters.gamma * arms[k]["failures"]
        arms[k]["successes"] = successes if successes > NEGLIGIBLE else 0.0
        arms[k]["failures"] = failures if failures > NEGLIGIBLE else 0.0


@kernel
def learn_discounted(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    weight = parameters.gamma ** float(header["step"] - step)
    arms[arm]["count"] += 1
    if uniform_at(header["key"], step) < unit_reward(parameters, reward):
        arms[arm]["successes"] += weight
    else:
        arms[arm]["failures"] += weight


@kernel
def pull_window(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    slot = header["slot"]
    header["step"] += 1
    if header["step"] > parameters.window:
        leaving = memory[slot]["arm"]
        arms[leaving]["pulls"] -= 1
        arms[leaving]["count"] -= memory[slot]["success"] + memory[slot]["failure"]
        arms[leaving]["successes"] -= memory[slot]["success"]
        arms[leaving]["failures"] -= memory[slot]["failure"]
    memory[slot]["arm"] = arm
    memory[slot]["success"] = 0
    memory[slot]["failure"] = 0
    arms[arm]["pulls"] += 1
    header["slot"] = slot + 1 if slot + 1 < parameters.window else 0


@kernel
def learn_window(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    age = header["step"] - step
    if age >= parameters.window:
        return
    slot = header["slot"] - 1 - age
    if slot < 0:
        slot += parameters.window
    arms[arm]["count"] += 1
    if uniform_at(header["key"], step) < unit_reward(parameters, reward):
        memory[slot]["success"] = 1
        arms[arm]["successes"] += 1
    else:
        memory[slot]["failure"] = 1
        arms[arm]["failures"] += 1


@kernel
def pull_gaussian(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    if header["step"] > parameters.window:
        arms[memory[header["slot"]]["arm"]]["pulls"] -= 1
    arms[arm]["pulls"] += 1
    advance(header, arms, memory, arm, parameters.window)


@kernel
def learn_gaussian(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    learn_in_window(header, arms, memory, arm, reward, step, parameters.window)


@dataclass(frozen=True)
class DiscountedThompson(BoundedPolicy):
    """Thompson sampling with a Beta(1, 1) prior and discounted rewards (dTS).

    Parameters
    ----------
    gamma : float
        What is left of a reward after a step, in (0, 1]; 1 forgets nothing.
    low, high : float
        The range of the rewards, by keyword; [0, 1] by default.
    """

    gamma: float

    kernels: ClassVar[Kernels] = Kernels(
        select_beta, pull_discounted, learn_discounted, estimate=share_of_ones, propensity=propensity_beta
    )
    grows: ClassVar[bool] = True
    header: ClassVar[Table] = DISCOUNTED_HEADER
    arm: ClassVar[Table] = DISCOUNTED_ARM
    assumption: ClassVar[str] = "bounded, piecewise stationary"
    reference: ClassVar[str] = "raj2017taming"
    known_from: ClassVar[str] = "published"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keep(gamma=checks.number("DiscountedThompson's gamma", self.gamma, 0.0, 1.0, above=0.0))

    @property
    def must_know(self) -> str:
        return f"{super().must_know}, how often rewards change, for gamma"

    @property
    def estimated(self) -> Estimated:
        return Estimated(thing="discounted reward")

    def parameters(self, n_arms: int, horizon: int | None) -> DiscountedThompsonParameters:
        return DiscountedThompsonParameters(float(self.low), float(self.high - self.low), float(self.gamma))


@dataclass(frozen=True)
class SlidingWindowThompson(BoundedPolicy):
    """Thompson sampling with a Beta(1, 1) prior on a sliding window (SW-TS).

    Parameters
    ----------
    window : int
        The window: so many last pulls, of all arms together, are remembered; at least 1.
    low, high : float
        The range of the rewards, by keyword; [0, 1] by default.
    """

    window: int

    kernels: ClassVar[Kernels] = Kernels(
        select_beta, pull_window, learn_window, estimate=share_of_ones, propensity=propensity_beta
    )
    grows: ClassVar[bool] = True
    header: ClassVar[Table] = WINDOW_HEADER
    arm: ClassVar[Table] = WINDOW_ARM
    assumption: ClassVar[str] = "bounded, piecewise stationary"
    reference: ClassVar[str] = "trovo2020sliding"
    known_from: ClassVar[str] = "published"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keep(window=checks.integer("SlidingWindowThompson's window", self.window, 1, checks.MAX_STEPS))

    @property
    def must_know(self) -> str:
        return f"{super().must_know}, T and B_T, for the window"

    @property
    def estimated(self) -> Estimated:
        return windowed(self.window)

    @property
    def memory_cost(self) -> str:
        return "O(K + window)"

    def parameters(self, n_arms: int, horizon: int | None) -> SlidingWindowThompsonParameters:
        length = ring_length(self.window, horizon)
        return SlidingWindowThompsonParameters(float(self.low), float(self.high - self.low), length)

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        return np.repeat(WINDOW_SLOT, ring_length(self.window, horizon))


@dataclass(frozen=True)
class SlidingWindowThompsonGaussian(Policy):
    """Thompson sampling for Gaussian rewards with a flat prior on a sliding window.

    Parameters
    ----------
    window : int
        The window: so many last pulls, of all arms together, are remembered; at least 1. An arm that is not
        among them is pulled at once, so that a window shorter than K pulls all arms in turn for ever.
    sigma : float
        The rewards' standard deviation, the same for all arms.
    """

    window: int
    sigma: float = 1.0

    kernels: ClassVar[Kernels] = Kernels(
        select_gaussian, pull_gaussian, learn_gaussian, estimate=known_mean, propensity=propensity_gaussian
    )
    grows: ClassVar[bool] = True
    header: ClassVar[Table] = GAUSSIAN_HEADER
    arm: ClassVar[Table] = GAUSSIAN_ARM
    assumption: ClassVar[str] = "Gaussian, piecewise stationary"
    reference: ClassVar[str] = "trovo2020sliding"
    known_from: ClassVar[str] = "authors' code"

    def __post_init__(self) -> None:
        self._keep(
            window=checks.integer("SlidingWindowThompsonGaussian's window", self.window, 1, checks.MAX_STEPS)
        )
        self._keep(sigma=checks.number("SlidingWindowThompsonGaussian's sigma", self.sigma, above=0.0))

    @property
    def must_know(self) -> str:
        return "that rewards are Gaussian, sigma; T and B_T, for the window"

    @property
    def estimated(self) -> Estimated:
        return windowed(self.window)

    @property
    def memory_cost(self) -> str:
        return "O(K + window)"

    def parameters(self, n_arms: int, horizon: int | None) -> SlidingWindowThompsonGaussianParameters:
        return SlidingWindowThompsonGaussianParameters(ring_length(self.window, horizon), float(self.sigma))

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        return np.repeat(GAUSSIAN_SLOT, ring_length(self.window, horizon))
