"""How sub-Gaussian rewards are: the smallest known sigma with E exp(s (X - E X)) <= exp(s^2 sigma^2 / 2).

The inequality is to hold for all real s; sigma has the units of the reward::

    Gaussian          its standard deviation, exact
    Bernoulli(p)      sqrt((1 - 2 p) / (2 log((1 - p) / p))), 1/2 for p = 1/2, 0 for p = 0 and 1, exact
                      (Kearns, Saul, UAI 1998; Buldygin, Moskvichova, Theory of Probability and Mathematical
                      Statistics 86, 2013)
    Uniform           (high - low) / sqrt(12), its standard deviation, exact (Arbel, Marchal, Nguyen, ESAIM:
                      Probability and Statistics 24, 2020)
    Beta(a, b)        1 / (2 sqrt(a + b + 1)), exact for a = b (Marchal, Arbel, Electronic Communications in
                      Probability 22, 2017)
    ClippedGaussian   the smaller of sigma and (high - low) / 2: a 1-Lipschitz function of a Gaussian is as
                      sub-Gaussian as that (Boucheron, Lugosi, Massart, "Concentration inequalities", 2013,
                      chapter 5)
    bounded           (greatest - least possible reward) / 2 (Hoeffding 1963)

"Exact" values cannot be improved. Exponential, Poisson, Student and Pareto rewards have no such sigma.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from brigand.environments.continuous import (
    Beta,
    ClippedGaussian,
    ExponentialReward,
    Gaussian,
    Pareto,
    StudentT,
    Uniform,
)
from brigand.environments.discrete import Bernoulli, Poisson
from brigand.environments.distribution import Distribution
from brigand.errors import InvalidValueError, UnsupportedRewardError

if TYPE_CHECKING:
    from brigand.environments.environment import Environment


@functools.singledispatch
def sub_gaussian(distribution: Distribution) -> float:
    """Return the smallest sigma for which rewards are known to be sigma-sub-Gaussian.

    Parameters
    ----------
    distribution : Distribution
        One of ours, or a user's own with a finite support, whose sigma is half of its range.

    Returns
    -------
    float
        At least 0, in units of reward; see the module's docstring for the formulas and their sources.

    Raises
    ------
    UnsupportedRewardError
        No sigma exists, or none is known.
    InvalidValueError
        Not a reward distribution.

    Examples
    --------
    >>> from brigand import Bernoulli
    >>> sub_gaussian(Bernoulli(0.5))
    0.5
    """
    if not isinstance(distribution, Distribution):
        raise InvalidValueError(
            f"sub_gaussian needs a reward distribution such as Bernoulli(0.5), not {distribution!r}."
        )
    return _half_range(distribution)


def _half_range(distribution: Distribution) -> float:
    low, high = distribution.support
    if math.isinf(low) or math.isinf(high):
        raise UnsupportedRewardError(
            f"{distribution!r} has an infinite range, and no sub-Gaussian parameter of it is known."
        )
    return high / 2 - low / 2


@sub_gaussian.register
def _gaussian(distribution: Gaussian) -> float:
    return float(distribution.sigma)


@sub_gaussian.register
def _bernoulli(distribution: Bernoulli) -> float:
    return math.sqrt(distribution.total().lower)


@sub_gaussian.register
def _uniform(distribution: Uniform) -> float:
    return _half_range(distribution) / math.sqrt(3)


@sub_gaussian.register
def _beta(distribution: Beta) -> float:
    return 0.5 / math.sqrt(distribution.a + distribution.b + 1)


@sub_gaussian.register
def _clipped(distribution: ClippedGaussian) -> float:
    return min(float(distribution.sigma), _half_range(distribution))


@sub_gaussian.register
def _exponential_tail(distribution: ExponentialReward | Poisson) -> float:
    raise UnsupportedRewardError(
        f"{distribution!r} is not sub-Gaussian: large rewards are more likely than for any Gaussian."
    )


@sub_gaussian.register
def _power_tail(distribution: StudentT | Pareto) -> float:
    raise UnsupportedRewardError(f"{distribution!r} is not sub-Gaussian: E exp(s X) is infinite for s > 0.")


def of_environment(environment: Environment) -> float:
    """Return the largest sigma of all arms in all phases, in units of reward.

    Raises
    ------
    UnsupportedRewardError
        An arm is not known to be sub-Gaussian.
    """
    return max(sub_gaussian(arm) for arm in {arm for arms in environment.phases for arm in arms})
