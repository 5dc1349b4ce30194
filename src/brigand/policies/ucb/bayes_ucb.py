"""Bayes-UCB: upper quantiles of the posterior laws of the means.

Rule
----
At step t of n, pull the arm with the largest quantile of order 1 - 1 / (t (log n)^c) of the posterior law of
its mean:

    rewards of 0 or 1          Beta(1 + S, 1 + N - S), S the number of ones, N that of rewards
    Gaussian, sigma known      N(mean, sigma^2 / N), the prior flat

Practice has c = 0, where n is not needed; the proof for rewards of 0 or 1 has c >= 5. log n counts as 1 for n
< e. Beta: the first quantile is of order 0, which is 0 for all arms; other rewards than 0 and 1 are binarised
as by Thompson sampling: x becomes 1 with probability x. Gaussian: every arm is pulled once first, in random
order. Ties are broken uniformly.

Source
------
Kaufmann, Cappe, Garivier, "On Bayesian upper confidence bounds for bandit problems", AISTATS 2012. **A
reconstruction**: the rule is from memory of that paper, and the same in SMPyBandits; the paper shows regrets
as curves, so that there are no numbers of theirs to compare with, and those of that code agree (`brigand
validate`). That for Gaussian rewards with known sigma is the same rule, with its posterior.

Deviations
----------
None known.

Late rewards
------------
An arm that was pulled, and has no reward yet, has its prior's index (Beta) or is pulled before others
(Gaussian) until it has had 2 + log t pulls; then it is pulled after others (`kernels.choices.needs_pull`).
The Bernoulli number of a reward depends on the run's key and the step of its pull alone, so that late rewards
may come in any order.

Cost
----
O(K) a step and a Beta quantile for each arm that may be the best, see `kernels.quantiles`; memory O(K). A
quantile found before, and how fast it can grow, bound that of an arm until its next reward.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.jit import kernel
from brigand.policies.base import BoundedPolicy, Header, Kernels, Policy, Table, need_horizon, record
from brigand.policies.kernels.arithmetic import learn_mean
from brigand.policies.kernels.binarised import correct_binarised, learn_binarised
from brigand.policies.kernels.choices import break_tie, index_propensity, index_select, needs_pull
from brigand.policies.kernels.quantiles import beta_quantile, normal_quantile

HEADER = record(step=0, key=0)
# An earlier quantile, the level that it had, and the length of the tail there: see `beta_quantile`
ARM = record(pulls=0, successes=0, failures=0, quantile=0.0, level=0.0, length=1.0)
GAUSSIAN_HEADER = record(step=0, quantile=0.0)
GAUSSIAN_ARM = record(pulls=0, count=0, sum=0.0, residue=0.0, mean=float("nan"))
MARGIN = 1e-6
"""Relative: arms that may be so close to the best get their quantile computed, so that ties are ties."""


class BayesUCBParameters(NamedTuple):
    """The range of the rewards (see `unit_reward`), and c log log n."""

    low: float
    width: float
    extra: float


class BayesUCBGaussianParameters(NamedTuple):
    """The rewards' standard deviation, and c log log n."""

    sigma: float
    extra: float


@kernel
def index(parameters: Any, header: Header, arms: Table, arm: int) -> float:
    unpaid = arms[arm]["successes"] + arms[arm]["failures"] == 0
    if unpaid and not needs_pull(arms[arm]["pulls"], 1.0, header["step"]):
        return math.nan
    level = math.log(header["step"] + 1.0) + parameters.extra
    return beta_quantile(1.0 + arms[arm]["successes"], 1.0 + arms[arm]["failures"], level)[0]


@kernel
def best_of(
    parameters: Any, header: Header, arms: Table, candidates: Any, uniform: float
) -> tuple[int, float, int]:
    """Return the choice, the largest index and how many arms have it (0 if none is known).

    Arms that cannot have it are passed over.
    """
    level = math.log(header["step"] + 1.0) + parameters.extra
    best = -np.inf
    bar = 0.0
    for i in range(len(candidates)):
        bar = max(bar, arms[candidates[i]]["quantile"])
    chosen, ties = candidates[0], 0
    for i in range(len(candidates)):
        arm = candidates[i]
        most = arms[arm]["quantile"] + arms[arm]["length"] * (level - arms[arm]["level"])
        if most < bar * (1.0 - MARGIN):
            continue
        value = index(parameters, header, arms, arm)
        if value > best:
            best = value
            chosen = arm
            ties = 1
            bar = max(bar, best)
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
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    arms[arm]["pulls"] += 1


@kernel
def bound(parameters: Any, header: Header, arms: Table, arm: int) -> None:
    """Keep a quantile of the arm's law: the next ones are of a higher level."""
    level = math.log(header["step"]) + parameters.extra
    a, b = 1.0 + arms[arm]["successes"], 1.0 + arms[arm]["failures"]
    arms[arm]["quantile"], arms[arm]["length"] = beta_quantile(a, b, level)
    arms[arm]["level"] = max(level, 0.0)


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    learn_binarised(parameters, header, arms, memory, arm, reward, step)
    bound(parameters, header, arms, arm)


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
    correct_binarised(parameters, header, arms, memory, arm, was, reward, step)
    bound(parameters, header, arms, arm)


@kernel
def gaussian_index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    count = arms[arm]["count"]
    if count == 0:
        return math.inf if needs_pull(arms[arm]["pulls"], 1.0, header["step"]) else math.nan
    return arms[arm]["mean"] + parameters.sigma * header["quantile"] / math.sqrt(count)


select_gaussian = index_select(gaussian_index)


propensity_gaussian = index_propensity(gaussian_index)


@kernel
def pull_gaussian(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    header["quantile"] = normal_quantile(math.log(header["step"] + 1.0) + parameters.extra)
    arms[arm]["pulls"] += 1


@kernel
def learn_gaussian(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    learn_mean(arms, arm, reward)


def extra(policy: str, c: float, horizon: int | None) -> float:
    """Return c log log n, which needs no horizon if it is 0."""
    if c == 0.0:
        return 0.0
    return c * math.log(max(math.log(need_horizon(f"{policy} with c > 0", horizon)), 1.0))


@dataclass(frozen=True)
class BayesUCB(BoundedPolicy):
    """Bayes-UCB with a uniform prior for bounded rewards; others than the two ends are binarised.

    Parameters
    ----------
    c : float
        The exponent of log n, at least 0: 0 in practice, 5 in theory.
    low, high : float
        The range of the rewards, by keyword; [0, 1] by default.
    """

    c: float = 0.0

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, propensity=propensity, correct=correct)
    grows: ClassVar[bool] = True
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "bounded"
    reference: ClassVar[str] = "kaufmann2012bayesucb"
    known_from: ClassVar[str] = "reconstruction"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keep(c=checks.number("BayesUCB's c", self.c, 0.0))

    @property
    def must_know(self) -> str:
        return super().must_know + (", T" if self.c > 0 else "")

    def parameters(self, n_arms: int, horizon: int | None) -> BayesUCBParameters:
        return BayesUCBParameters(
            float(self.low), float(self.high - self.low), extra("BayesUCB", float(self.c), horizon)
        )


@dataclass(frozen=True)
class BayesUCBGaussian(Policy):
    """Bayes-UCB for Gaussian rewards with known standard deviation, and a flat prior of the means.

    Parameters
    ----------
    sigma : float
        The rewards' standard deviation, the same for all arms.
    c : float
        The exponent of log n, at least 0.
    """

    sigma: float
    c: float = 0.0

    kernels: ClassVar[Kernels] = Kernels(
        select_gaussian, pull_gaussian, learn_gaussian, propensity=propensity_gaussian
    )
    grows: ClassVar[bool] = True
    header: ClassVar[Table] = GAUSSIAN_HEADER
    arm: ClassVar[Table] = GAUSSIAN_ARM
    assumption: ClassVar[str] = "Gaussian"
    reference: ClassVar[str] = "kaufmann2012bayesucb"
    known_from: ClassVar[str] = "reconstruction"

    def __post_init__(self) -> None:
        self._keep(sigma=checks.number("BayesUCBGaussian's sigma", self.sigma, above=0.0))
        self._keep(c=checks.number("BayesUCBGaussian's c", self.c, 0.0))

    @property
    def must_know(self) -> str:
        return "that rewards are Gaussian, sigma" + (", T" if self.c > 0 else "")

    def parameters(self, n_arms: int, horizon: int | None) -> BayesUCBGaussianParameters:
        return BayesUCBGaussianParameters(
            float(self.sigma), extra("BayesUCBGaussian", float(self.c), horizon)
        )
