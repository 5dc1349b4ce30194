"""Lower bounds on regret: asymptotic slopes for one problem, and the order of growth in the worst one.

A policy is consistent if its regret grows more slowly than every power of t, on every problem of a class. Its
pulls of an arm whose mean is below the best mean mu* by a gap D > 0 have::

    liminf E N(t) / log t >= 1 / Kinf

Kinf is the infimum of KL(law of the arm, law'), over all laws' of the class whose mean is above mu*. So
regret has at least the slope sum of D / Kinf against log t, and the bounds here are that slope times log t.
They speak of t -> infinity only: at a finite step good policies often have less regret, so these are never
floors; compare slopes. Kinf of three classes, with s the standard deviation of the arm::

    one-parameter family      KL between its members of means mu and mu* (Lai, Robbins, Advances in Applied
                              Mathematics 6, 1985)
    all laws on [low, high]   max of E log(1 - l (X - mu*)) over 0 <= l <= 1 / (high - mu*) (Burnetas,
                              Katehakis, Advances in Applied Mathematics 17, 1996; in this form Honda,
                              Takemura, COLT 2010)
    all Gaussian laws         log(1 + D^2 / s^2) / 2 (Burnetas, Katehakis 1996)

It is infinite, and the slope 0, where no law of the class has a mean above mu*.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from brigand.environments.continuous import Beta, ClippedGaussian, ExponentialReward, Gaussian, Uniform
from brigand.environments.discrete import Bernoulli, Empirical, FiniteSupport, Poisson
from brigand.environments.distribution import Distribution
from brigand.environments.environment import Environment
from brigand.errors import UnsupportedRewardError
from brigand.policies.kernels.divergences import BERNOULLI, EXPONENTIAL, GAUSSIAN, KINDS, divergence
from brigand.theory.bound import SLOPE, STANDARD, WORST, Bound, Condition, Floats, Steps, stationary

FAMILIES: dict[str, type[Distribution]] = {
    "bernoulli": Bernoulli,
    "gaussian": Gaussian,
    "exponential": ExponentialReward,
    "poisson": Poisson,
}
"""The reward distributions of each family of `brigand.policies.kernels.divergences`."""
BK, BK_SOURCE = "Burnetas-Katehakis", "Burnetas, Katehakis 1996"


def lower_bounds(environment: Environment) -> tuple[Bound, ...]:
    """Return the lower bounds for the classes of problems that the environment belongs to.

    Parameters
    ----------
    environment : Environment

    Returns
    -------
    tuple of Bound
        Slopes, and one order of growth; none is a floor. None holds where rewards change.

    Examples
    --------
    >>> import brigand as br
    >>> env = br.Environment.stationary([br.Gaussian(0, 1), br.Gaussian(1, 1)])
    >>> [(b.name, round(float(b.regret(1000)), 2)) for b in lower_bounds(env)]
    [('Lai-Robbins', 13.82), ('Burnetas-Katehakis, Gaussian', 19.93)]
    """
    every = (lai_robbins, burnetas_katehakis_bounded, burnetas_katehakis_gaussian, minimax)
    bounds = [make(environment) for make in every]
    return tuple(b for b in bounds if all(condition.holds for condition in b.conditions[1:]))


def lai_robbins(environment: Environment) -> Bound:
    """Return the slope if the family is known, and each arm has one parameter. Source: Lai, Robbins 1985."""
    arms = _arms(environment)
    sigmas = {arm.sigma for arm in arms if isinstance(arm, Gaussian)} or {1.0}
    families = [name for name, kind in FAMILIES.items() if all(isinstance(arm, kind) for arm in arms)]
    if families == ["gaussian"]:
        family = Condition("Gaussian arms with one sigma > 0", len(sigmas) == 1 and min(sigmas) > 0)
    else:
        either = "Bernoulli, Gaussian, exponential or Poisson"
        family = Condition(f"arms of one family: {families[0] if families else either}", bool(families))

    def kinf(arm: Distribution, best: float) -> float:
        return information(KINDS[families[0]], arm.mean, best, min(sigmas))

    legend = "slope of the least regret of policies that know the family of the rewards"
    return _slope(environment, "Lai-Robbins", "Lai, Robbins 1985", legend, (family,), kinf)


def burnetas_katehakis_bounded(environment: Environment) -> Bound:
    """Return the slope if nothing is known of rewards but the range of all arms together.

    Source: Burnetas, Katehakis 1996; Honda, Takemura 2010.
    """
    low, high = span(environment)
    ours = Condition("no distributions of a user's own", all(map(can_integrate, _arms(environment))))

    def kinf(arm: Distribution, best: float) -> float:
        return kinf_bounded(arm, best, low, high)

    legend = f"slope of the least regret of policies that know only that rewards are in [{low:g}, {high:g}]"
    return _slope(environment, f"{BK}, bounded", BK_SOURCE, legend, (finite_range(low, high), ours), kinf)


def burnetas_katehakis_gaussian(environment: Environment) -> Bound:
    """Return the slope for Gaussian arms of unknown means and variances; an arm of variance 0 adds nothing.

    Source: Burnetas, Katehakis 1996.
    """

    def kinf(arm: Distribution, best: float) -> float:
        sigma = math.sqrt(arm.variance)
        return math.log(math.hypot(sigma, best - arm.mean) / sigma) if sigma > 0 else math.inf

    legend = "slope of the least regret of policies that know that rewards are Gaussian, not their variances"
    family = Condition("Gaussian arms", all(isinstance(arm, Gaussian) for arm in _arms(environment)))
    return _slope(environment, f"{BK}, Gaussian", BK_SOURCE, legend, (family,), kinf)


def minimax(environment: Environment) -> Bound:
    """Return the regret of every policy in the worst problem with as many arms and the same range.

    (high - low) min(sqrt(K t), t) / 20: for every policy and every t there is such a problem with at least
    this regret. It says nothing of the problem at hand. Source: Auer, Cesa-Bianchi, Freund, Schapire, "The
    nonstochastic multiarmed bandit problem", SIAM Journal on Computing 32, 2002, Theorem 5.1; its constant
    is quoted from memory.
    """
    low, high = span(environment)
    n_arms = environment.n_arms

    def regret(steps: Steps) -> Floats:
        return np.asarray((high - low) * np.minimum(np.sqrt(float(n_arms) * steps), steps) / 20)

    source = "Auer, Cesa-Bianchi, Freund, Schapire 2002"
    legend = "for every policy, some problem with as many arms and this range has at least this regret"
    needs = (finite_range(low, high), Condition("at least two arms", n_arms >= 2))
    return Bound("Minimax", STANDARD, WORST, source, legend, (stationary(environment), *needs), regret)


def _arms(environment: Environment) -> list[Distribution]:
    return [arm for arms in environment.phases for arm in arms]


def span(environment: Environment) -> tuple[float, float]:
    """Return the least and the greatest reward that any arm can pay in any phase; may be infinite."""
    lows, highs = zip(*(arm.support for arm in _arms(environment)), strict=True)
    return min(lows), max(highs)


def finite_range(low: float, high: float) -> Condition:
    """Return the condition that the range of rewards is finite."""
    return Condition("rewards in a finite range", math.isfinite(high - low))


def _slope(
    environment: Environment,
    name: str,
    source: str,
    legend: str,
    conditions: tuple[Condition, ...],
    kinf: Callable[[Distribution, float], float],
) -> Bound:
    """Return the bound that Kinf, a function of an arm and the best mean, gives for the first phase."""
    gaps = environment.gaps[0]
    arms = environment.phases[0]

    @functools.cache
    def slopes() -> Floats:
        """Return 1 / Kinf of each arm, NaN for those that are optimal."""
        best = float(environment.means[0].max())
        return 1 / np.array([kinf(arms[i], best) if gaps[i] > 0 else math.nan for i in range(len(arms))])

    def pulls(steps: Steps) -> Floats:
        return np.asarray(np.log(steps)[:, None] * slopes())

    def regret(steps: Steps) -> Floats:
        return np.asarray(np.log(steps) * np.nansum(gaps * slopes()))

    return Bound(name, STANDARD, SLOPE, source, legend, (stationary(environment), *conditions), regret, pulls)


def largest_variance(kind: int, p: float, q: float, sigma: float) -> float:
    """Return the largest variance of a family's members (`KINDS`) with means in [p, q]."""
    if kind == BERNOULLI:
        nearest = min(max(p, 0.5), q)
        return nearest * (1 - nearest)
    if kind == GAUSSIAN:
        return sigma * sigma
    return q * q if kind == EXPONENTIAL else q


def information(kind: int, p: float, q: float, sigma: float) -> float:
    """Return KL(p, q) of a family's members (`KINDS`) of means p < q; infinite for a Bernoulli mean q = 1.

    At least (q - p)^2 / (2 V), V the largest variance between them: rounding makes no gap 0.
    """
    if kind == GAUSSIAN:
        return divergence(kind, p, q, sigma)
    if kind == BERNOULLI and q >= 1:
        return math.inf
    if kind == EXPONENTIAL:
        p, q = p / q, 1.0  # the same in every unit
    least = (q - p) * (q - p) / (2 * largest_variance(kind, p, q, sigma))
    return max(divergence(kind, p, q, sigma), least)


def kinf_bounded(distribution: Distribution, best: float, low: float, high: float) -> float:
    """Return Kinf for all laws on [low, high], in nats: the max of E log(1 - l (X - best)) over l.

    Parameters
    ----------
    distribution : Distribution
        On [low, high], which is finite, with a mean below `best`.
    best, low, high : float

    Returns
    -------
    float
        Infinite for best = high; at least 2 (gap / (high - low))^2 (Pinsker), whatever is lost to rounding.

    Raises
    ------
    UnsupportedRewardError
        A user's own distribution.
    """
    from scipy import optimize  # slow to load

    top = high - best
    if not top > 0:
        return math.inf

    def negative(u: float) -> float:
        """Return -E log(1 - l (X - best)) for l = u / (high - best), convex in u."""
        return -expectation(distribution, lambda x: np.log1p(np.maximum(-u * ((x - best) / top), -u)))

    found = optimize.minimize_scalar(negative, bounds=(0, 1), method="bounded", options={"xatol": 1e-12})
    gap = (best - distribution.mean) / (high - low)
    return max(-float(found.fun), -negative(math.nextafter(1, 0)), 2 * gap * gap)


@functools.singledispatch
def expectation(distribution: Distribution, function: Callable[[Any], Any]) -> float:
    """Return E function(X): an exact sum, or a quadrature over the quantiles (relative error about 1e-10)."""
    raise UnsupportedRewardError(f"expectations under {distribution!r} cannot be computed.")


def can_integrate(distribution: Distribution) -> bool:
    """Return whether `expectation` knows the distribution."""
    return expectation.dispatch(type(distribution)) is not expectation.dispatch(object)


@expectation.register
def _finite(distribution: Bernoulli | FiniteSupport, function: Callable[[Any], Any]) -> float:
    if isinstance(distribution, Bernoulli):
        distribution = FiniteSupport((0.0, 1.0), (1 - distribution.p, distribution.p))
    chances = np.asarray(distribution.probabilities)
    return float(chances[chances > 0] @ function(np.asarray(distribution.values)[chances > 0]))


@expectation.register
def _empirical(distribution: Empirical, function: Callable[[Any], Any]) -> float:
    return float(np.mean(function(np.asarray(distribution.data))))


@expectation.register
def _uniform(distribution: Uniform, function: Callable[[Any], Any]) -> float:
    low, high = distribution.support
    return _integral(lambda v: function(low + (high - low) * v), 0.0, 1.0)


@expectation.register
def _beta(distribution: Beta, function: Callable[[Any], Any]) -> float:
    from scipy import special

    return _integral(lambda v: function(special.betaincinv(distribution.a, distribution.b, v)), 0.0, 1.0)


@expectation.register
def _clipped(distribution: ClippedGaussian, function: Callable[[Any], Any]) -> float:
    from scipy import special

    mu, sigma, low, high = distribution.mu, distribution.sigma, distribution.low, distribution.high
    if sigma == 0:
        return float(function(min(max(mu, low), high)))
    below, above = special.ndtr((low - mu) / sigma), special.ndtr((mu - high) / sigma)
    body = _integral(lambda v: function(mu + sigma * special.ndtri(v)), below, 1 - above)
    return float(below * function(low) + above * function(high)) + body


def _integral(function: Callable[[float], Any], start: float, end: float) -> float:
    from scipy import integrate

    # Full output, so that roundoff is no warning.
    return float(
        integrate.quad(function, start, end, epsabs=1e-14, epsrel=1e-11, limit=200, full_output=1)[0]
    )
