"""Thompson sampling: pull the arm whose mean is largest in a draw from the posterior.

Rule
----
Draw theta for each arm, and pull the arm with the largest; ties are broken uniformly.

Beta, rewards in [0, 1]: theta ~ Beta(1 + S, 1 + N - S), with S the sum of N rewards, every reward x first
replaced by a Bernoulli(x) number.

Gaussian, known sigma, flat prior: theta ~ N(mean, sigma^2 / N), after one pull of each arm.

Gaussian, unknown variance, prior density of sigma^2 proportional to (sigma^2)^(-1-alpha) with alpha = -1:
theta = mean + t sqrt(Q / (N nu)), where t is Student with nu = N + 2 alpha - 1 = N - 3 degrees of freedom,
and Q = sum (x - mean)^2. Every arm is pulled max(2, 3 - floor(2 alpha)) = 5 times first; the posterior is
proper from N = 4 on. alpha < 0 is asymptotically optimal, and Jeffreys' alpha = 0 is not. Where the first
rewards of an arm are equal, Q = 0 and theta = mean: on rewards that are not Gaussian, such as 0 and 1, the
arm may be given up.

Source
------
Beta: Agrawal, Goyal, "Analysis of Thompson sampling for the multi-armed bandit problem", COLT 2012,
Algorithms 1 and 2. Gaussian, known sigma: the benchmark of Baudry, Kaufmann, Maillard, "Sub-sampling for
efficient non-parametric bandit exploration", NeurIPS 2020. Gaussian, unknown variance, the default: Honda,
Takemura, "Optimality of Thompson sampling for Gaussian bandits depends on priors", AISTATS 2014. The last is
**a reconstruction** in one point: the number of initial pulls is quoted from memory of that paper, not
re-read.

Deviations
----------
None.

Late rewards
------------
Beta: an arm without a reward is drawn from the prior. The Bernoulli number depends on the run's key and the
step of the pull alone, so that late rewards may come in any order.

Gaussian: an arm with fewer rewards than its n0 = 1 or 5 initial pulls is pulled before others until it has
had 2 n0 + log t pulls, then after them (`kernels.choices.needs_pull`).

Cost
----
O(K) a step; memory O(K).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.jit import kernel
from brigand.policies.base import BoundedPolicy, Header, Kernels, Policy, Table, record
from brigand.policies.kernels.arithmetic import hypotenuse, learn_mean
from brigand.policies.kernels.binarised import correct_binarised, learn_binarised
from brigand.policies.kernels.choices import index_select, needs_pull
from brigand.policies.kernels.largest import BETA, DRAWN, FIRST, LAST, NORMAL, draw_propensity

BETA_HEADER = record(step=0, key=0)
BETA_ARM = record(successes=0, failures=0)
GAUSSIAN_HEADER = record(step=0)
# spread: sqrt(sum (x - mean)^2)
GAUSSIAN_ARM = record(pulls=0, count=0, sum=0.0, residue=0.0, mean=float("nan"), spread=0.0)
INITIAL_PULLS = 5


class ThompsonBetaParameters(NamedTuple):
    """The range of the rewards; the prior is Beta(1, 1)."""

    low: float
    width: float


class ThompsonGaussianParameters(NamedTuple):
    """sigma, or 0 if it is unknown."""

    sigma: float


@kernel
def beta_index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    return rng.beta(1.0 + arms[arm]["successes"], 1.0 + arms[arm]["failures"])


@kernel
def gaussian_index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    count = arms[arm]["count"]
    initial = INITIAL_PULLS if parameters.sigma == 0.0 else 1
    if count < initial:
        return math.inf if needs_pull(arms[arm]["pulls"], initial, header["step"]) else math.nan
    if parameters.sigma > 0.0:
        return arms[arm]["mean"] + parameters.sigma * rng.standard_normal() / math.sqrt(count)
    noise = rng.standard_t(count - 3.0)
    return arms[arm]["mean"] + noise * arms[arm]["spread"] / math.sqrt(count * (count - 3.0))


select_beta = index_select(beta_index)


select_gaussian = index_select(gaussian_index)


@kernel
def beta_law(parameters: Any, header: Header, arms: Table, memory: Table, arm: int, row: Any) -> int:
    row[0], row[1], row[2] = 1.0 + arms[arm]["successes"], 1.0 + arms[arm]["failures"], BETA
    return DRAWN


@kernel
def gaussian_law(parameters: Any, header: Header, arms: Table, memory: Table, arm: int, row: Any) -> int:
    count = arms[arm]["count"]
    initial = INITIAL_PULLS if parameters.sigma == 0.0 else 1
    if count < initial:
        return FIRST if needs_pull(arms[arm]["pulls"], initial, header["step"]) else LAST
    row[0] = arms[arm]["mean"]
    if parameters.sigma > 0.0:
        row[1], row[2] = parameters.sigma / math.sqrt(count), NORMAL
    else:
        row[1], row[2] = arms[arm]["spread"] / math.sqrt(count * (count - 3.0)), count - 3.0
    return DRAWN


propensity_beta = draw_propensity(beta_law)


propensity_gaussian = draw_propensity(gaussian_law)


@kernel
def pull_beta(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1


@kernel
def pull_gaussian(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    arms[arm]["pulls"] += 1


@kernel
def learn_gaussian(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    count = arms[arm]["count"]
    if count > 0:
        # Welford's update on the square root: rewards of 1e300 do not overflow.
        distance = abs(reward - arms[arm]["mean"]) * math.sqrt(count / (count + 1.0))
        arms[arm]["spread"] = hypotenuse(arms[arm]["spread"], distance)
    learn_mean(arms, arm, reward)


@dataclass(frozen=True)
class ThompsonBeta(BoundedPolicy):
    """Thompson sampling with a Beta(1, 1) prior for bounded rewards; others than the two ends are binarised.

    Pulls the arm with the largest draw from Beta(1 + S, 1 + N - S). Source: Agrawal, Goyal, COLT 2012.

    Parameters
    ----------
    low, high : float
        The range of the rewards, by keyword; [0, 1] by default.
    """

    kernels: ClassVar[Kernels] = Kernels(
        select_beta, pull_beta, learn_binarised, propensity=propensity_beta, correct=correct_binarised
    )
    grows: ClassVar[bool] = True
    header: ClassVar[Table] = BETA_HEADER
    arm: ClassVar[Table] = BETA_ARM
    assumption: ClassVar[str] = "bounded"
    reference: ClassVar[str] = "agrawal2012analysis"
    known_from: ClassVar[str] = "published"

    def parameters(self, n_arms: int, horizon: int | None) -> ThompsonBetaParameters:
        return ThompsonBetaParameters(float(self.low), float(self.high - self.low))


@dataclass(frozen=True)
class ThompsonGaussian(Policy):
    """Thompson sampling for Gaussian rewards.

    Pulls the arm with the largest draw from N(mean, sigma^2 / N), or mean + t sqrt(Q / (N (N - 3))) with t
    Student with N - 3 degrees of freedom. Source: Honda, Takemura, AISTATS 2014.

    Parameters
    ----------
    sigma : float, optional
        The rewards' standard deviation, the same for all arms (flat prior for the means). None: unknown and
        different from arm to arm (Honda and Takemura's prior with alpha = -1; five pulls of each arm first).
    """

    sigma: float | None = None

    kernels: ClassVar[Kernels] = Kernels(
        select_gaussian, pull_gaussian, learn_gaussian, propensity=propensity_gaussian
    )
    grows: ClassVar[bool] = True
    header: ClassVar[Table] = GAUSSIAN_HEADER
    arm: ClassVar[Table] = GAUSSIAN_ARM
    assumption: ClassVar[str] = "Gaussian"
    reference: ClassVar[str] = "honda2014optimality"
    known_from: ClassVar[str] = "reconstruction"

    def __post_init__(self) -> None:
        if self.sigma is not None:
            self._keep(sigma=checks.number("ThompsonGaussian's sigma", self.sigma, above=0.0))

    @property
    def must_know(self) -> str:
        return "that rewards are Gaussian" + ("" if self.sigma is None else ", sigma")

    def parameters(self, n_arms: int, horizon: int | None) -> ThompsonGaussianParameters:
        return ThompsonGaussianParameters(0.0 if self.sigma is None else float(self.sigma))
