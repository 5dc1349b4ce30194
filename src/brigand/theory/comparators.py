"""Finite-time upper bounds for other policies than FE, under the conditions of their sources.

After t steps, an arm of gap D has been pulled N times, E N <= t and::

    UCB1        8 w^2 log t / D^2 + 1 + pi^2 / 3, with w = high - low, or sigma
    KL-UCB      log t / d + 2 sqrt(2 pi V d'^2 / d^3) sqrt(log t + 3 log log t) + (4 e + 3 / d) log log t
                + 8 V (d' / d)^2 + 6, for c = 3 and t >= 3
    ETC         min(t, m) + (t - m K)+ exp(-m D^2 / (4 sigma^2))
    SW-UCB      ceil(t / tau) (4 w^2 xi log(tau) / D^2 + 1) + tau B + 2 ceil(log(tau) / h) (t - tau) / tau
                + (log(tau)^2 + 1/4) / h + 2 log tau

Symbols, sources and proofs are with each function below. Regret is the sum of gap times pulls. Thompson
sampling has a bound on its regret, averaged over problems: sqrt(K log(K) t / 2). All are for rewards that
arrive at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from brigand import checks
from brigand.environments.discrete import Bernoulli
from brigand.environments.environment import Environment
from brigand.errors import UnsupportedRewardError
from brigand.policies.base import Policy
from brigand.policies.changes.garivier_moulines import SlidingWindowUCB
from brigand.policies.commit.explore_then_commit import ExploreThenCommit
from brigand.policies.kernels.divergences import BERNOULLI, EXPONENTIAL, GAUSSIAN, KINDS
from brigand.policies.randomised.thompson import ThompsonBeta
from brigand.policies.ucb.kl_ucb import KLUCB
from brigand.policies.ucb.ucb1 import UCB1
from brigand.theory.bound import (
    AVERAGE,
    STANDARD,
    UPPER,
    Bound,
    Condition,
    Floats,
    Steps,
    is_sub_gaussian,
    stationary,
    weigh,
)
from brigand.theory.lower import FAMILIES, information, largest_variance, span
from brigand.theory.sub_gaussian import of_environment


def comparator_bounds(environment: Environment, policy: Policy, horizon: int) -> tuple[Bound, ...]:
    """Return the bounds known for a policy other than FE.

    Parameters
    ----------
    environment : Environment
    policy : Policy
        Exactly one of ours: a subclass may choose otherwise.
    horizon : int
        T, for policies that depend on it; none of those that have a bound here do.

    Returns
    -------
    tuple of Bound
        With those whose conditions fail; empty if none is known.

    Raises
    ------
    InvalidValueError
        The horizon is no positive integer.

    Examples
    --------
    >>> import brigand as br
    >>> env = br.Environment.stationary([br.Bernoulli(0.2), br.Bernoulli(0.7)])
    >>> (bound,) = comparator_bounds(env, br.UCB1(0, 1), 10_000)
    >>> bound.pulls([10, 10_000]).round(1)
    array([[ 10.,  nan],
           [299.,  nan]])
    """
    checks.steps("horizon", horizon)
    make = _BOUNDS.get(type(policy))
    return () if make is None else (make(environment, policy),)


def _upper(
    name: str,
    source: str,
    legend: str,
    conditions: tuple[Condition, ...],
    gaps: Floats,
    formula: Callable[[Floats], Floats],
) -> Bound:
    """Return the bound that a formula gives, of steps with shape (n, 1), where it is below the steps.

    `gaps` are the largest gap of each arm, 0 for those that are always optimal.
    """

    def pulls(steps: Steps) -> Floats:
        t = steps[:, None].astype(float)
        with np.errstate(all="ignore"):  # optimal arms have no gap to divide by; infinite bounds are cut
            values = np.broadcast_to(formula(t), (len(t), len(gaps)))
            return np.where(gaps > 0, np.fmin(t, values), np.nan)

    return Bound(name, STANDARD, UPPER, source, legend, conditions, weigh(pulls, gaps), pulls)


def _proxy(environment: Environment) -> float:
    """Return the sub-Gaussian parameter of the rewards; infinite if there is none."""
    try:
        return of_environment(environment)
    except UnsupportedRewardError:
        return math.inf


def _within(environment: Environment, low: float, high: float) -> Condition:
    least, greatest = span(environment)
    return Condition(f"rewards in [{low:g}, {high:g}]", low <= least and greatest <= high)


def _ucb1(environment: Environment, policy: UCB1) -> Bound:
    """Return the bound of Auer, Cesa-Bianchi, Fischer, Machine Learning 47, 2002, Theorem 1.

    The proof needs P(mean - mu >= w sqrt(2 log n / s)) <= n^-4 for the mean of s rewards, and the same below.
    By Hoeffding's inequality that is so for rewards in [low, high] and w = high - low; by Chernoff's for
    w = sigma, if sigma is at least twice the sub-Gaussian parameter. A smaller sigma has no bound here.
    """
    gaps = environment.gaps[0]
    if policy.sigma is None:
        low, high = float(policy.low or 0.0), float(policy.high or 0.0)
        width = high - low
        needs: tuple[Condition, ...] = (_within(environment, low, high),)
    else:
        width = policy.sigma
        twice = Condition("sigma >= 2 times the sub-Gaussian one", width >= 2 * _proxy(environment))
        needs = (is_sub_gaussian(environment), twice)
    return _upper(
        "UCB1",
        "Auer, Cesa-Bianchi, Fischer 2002, Theorem 1",
        "8 w^2 log t / D^2 + 1 + pi^2 / 3 pulls",
        (stationary(environment), *needs),
        gaps,
        lambda t: 8 * np.log(t) * (width / gaps) ** 2 + 1 + math.pi**2 / 3,
    )


def _kl_ucb(environment: Environment, policy: KLUCB) -> Bound:
    """Return the bound of Cappe, Garivier, Maillard, Munos, Stoltz, Annals of Statistics 41, 2013, Theorem 1.

    d is the divergence between the arm's mean mu and the best mean mu*, d' its derivative in mu, V the
    largest variance of the family between them. The constants are quoted from memory, and suffice: let
    f = log t + 3 log log t, n the pulls made, s those of the arm. The best arm's index is below mu* with
    probability at most e ceil(f(n) log n) exp(-f(n)) for n >= 3 (Garivier, Cappe, COLT 2011, appendix): that
    makes less than 3 + 4 e log log t of the first t steps. At the others the arm is pulled only if its index
    reaches mu*; with s > f / d this has probability at most exp(-(s d - f)^2 / (2 s V d'^2)), since d(., mu*)
    is convex and d(x, mu) >= (x - mu)^2 / (2 V). Over all s, that makes less than f / d + 1
    + sqrt(pi V d'^2 f / d^3) + 8 V (d' / d)^2 pulls. And there is the first one. Of the rewards, this needs
    that E exp(l X) is at most that of the family's member with the same mean: so for all in [low, high] with
    the Bernoulli divergence, and for all that are sigma-sub-Gaussian with the Gaussian one.
    """
    kind, sigma = KINDS[policy.divergence], float(policy.sigma)
    gaps = environment.gaps[0]
    means = _scaled(environment, policy)[0]
    best = float(means.max())

    def formula(t: Floats) -> Floats:
        rows = [_members(kind, float(mean), best, sigma) for mean in means]
        d, slope, variance = np.where(gaps > 0, np.array(rows).T, np.nan)
        log, loglog = np.log(t), np.log(np.log(t))
        result = log / d + (4 * math.e + 3 / d) * loglog + 8 * variance * (slope / d) ** 2 + 6
        result += 2 * np.sqrt(2 * math.pi * variance * slope**2 / d**3) * np.sqrt(log + 3 * loglog)
        return np.where(t >= 3, result, t)

    legend = "log t / d pulls, d the divergence from the best mean, and terms of lower order"
    needs = (stationary(environment), Condition("c = 3", policy.c == 3), *_of_family(environment, policy))
    return _upper("KL-UCB", "Cappe et al. 2013, Theorem 1", legend, needs, gaps, formula)


def _scaled(environment: Environment, policy: KLUCB) -> Floats:
    return (environment.means - policy.low) / (policy.high - policy.low)


def _of_family(environment: Environment, policy: KLUCB) -> tuple[Condition, ...]:
    if policy.divergence == "bernoulli":
        means = _scaled(environment, policy)
        inside = bool(means.min() > 0 and means.max() < 1)
        return _within(environment, policy.low, policy.high), Condition("means inside the range", inside)
    if policy.divergence == "gaussian":
        text = f"{policy.sigma:g}-sub-Gaussian rewards"
        return is_sub_gaussian(environment), Condition(text, _proxy(environment) <= policy.sigma)
    family = FAMILIES[policy.divergence]
    arms = [arm for phase in environment.phases for arm in phase]
    return (Condition(f"{policy.divergence} arms", all(isinstance(arm, family) for arm in arms)),)


def _members(kind: int, p: float, q: float, sigma: float) -> tuple[float, float, float]:
    """Return d(p, q), its derivative in p, and the largest variance between, of a family (see `KINDS`)."""
    if kind == BERNOULLI:
        slope = math.log(p) - math.log(q) - math.log1p(-p) + math.log1p(-q)
    elif kind == GAUSSIAN:
        slope = (p - q) / sigma / sigma
    else:
        slope = 1 / q - 1 / p if kind == EXPONENTIAL else math.log(p) - math.log(q)
    return information(kind, p, q, sigma), slope, largest_variance(kind, p, q, sigma)


def _etc(environment: Environment, policy: ExploreThenCommit) -> Bound:
    """Return the bound of Lattimore, Szepesvari, "Bandit Algorithms", 2020, Theorem 6.1.

    Within the first m K steps no arm is pulled more than m times. An arm is chosen then only if its mean of m
    rewards is at least the best arm's: their difference is sigma sqrt(2 / m)-sub-Gaussian.
    """
    gaps = environment.gaps[0]
    m, sigma = float(policy.m), _proxy(environment)

    def formula(t: Floats) -> Floats:
        chosen = np.exp(-m / 4 * (gaps / sigma) ** 2)
        return np.asarray(np.minimum(t, m) + np.maximum(t - m * len(gaps), 0) * chosen)

    source = "Lattimore, Szepesvari 2020, Theorem 6.1"
    legend = "m pulls, and all after the commitment with probability at most exp(-m D^2 / (4 sigma^2))"
    needs = (stationary(environment), is_sub_gaussian(environment))
    return _upper("Explore-then-commit", source, legend, needs, gaps, formula)


def _sw_ucb(environment: Environment, policy: SlidingWindowUCB) -> Bound:
    """Return the bound of Garivier, Moulines, ALT 2011, on an arm's pulls while it is not optimal.

    D is the arm's smallest gap > 0, w = high - low, B the number of breakpoints so far, tau = min(window, t),
    h = log(1 + 4 sqrt(1 - 1 / (2 xi))). In tau steps, the arm is pulled at most A + 1 times while the window
    before has less than A = 4 w^2 xi log(tau) / D^2 pulls of it. For tau steps after a breakpoint, the window
    reaches beyond it. In other steps, with n rewards in the window, the arm can be pulled only if its mean is
    too large, or the best one's too small, by w sqrt(xi log(n) / N): each with probability at most
    ceil(log(n) / h) / n, by Chernoff's bound for all N between two powers of e^h. Over n = 2, ..., tau this
    is less than the last line, since the sum of log(n) / n is less than log(tau)^2 / 2 + 1/8.

    The theorem, quoted from memory (Theorem 7 in arXiv 0805.3415), has log(tau)^2 for the last line,
    2 ceil(log(tau) / h) t / tau, and no "+ 1". Its proof as we follow it gives the above.
    """
    gaps, low, high, xi = environment.gaps, policy.low, policy.high, policy.xi
    smallest = np.where(gaps > 0, gaps, np.inf).min(axis=0)
    starts = np.array(environment.starts)

    def formula(t: Floats) -> Floats:
        tau = np.minimum(t, policy.window)
        log, h = np.log(tau), math.log1p(4 * math.sqrt(1 - 1 / (2 * xi)))
        breakpoints = np.searchsorted(starts, t, side="right") - 1
        result = np.ceil(t / tau) * (4 * xi * log * ((high - low) / smallest) ** 2 + 1) + tau * breakpoints
        result += 2 * np.ceil(log / h) * (t - tau) / tau
        return np.asarray(result + (log**2 + 0.25) / h + 2 * log)

    source = "Garivier, Moulines 2011, with the constants that its proof gives"
    legend = "4 xi (high - low)^2 log(tau) / D^2 pulls a window, its doubts, and tau pulls a breakpoint"
    needs = (
        _within(environment, low, high),
        Condition("xi > 1/2", xi > 0.5),
        Condition("a window of at least 2", policy.window >= 2),
    )
    return _upper("SW-UCB", source, legend, needs, gaps.max(axis=0), formula)


def _thompson_beta(environment: Environment, policy: ThompsonBeta) -> Bound:
    """Return the bound of Russo, Van Roy, JMLR 17, 2016: sqrt(K H t / 2), H <= log K the best arm's entropy.

    The average is over means drawn uniformly from [0, 1]: that is the policy's own prior.
    """
    n_arms = environment.n_arms
    arms = [arm for phase in environment.phases for arm in phase]

    def regret(steps: Steps) -> Floats:
        return np.asarray(np.minimum(np.sqrt(n_arms * math.log(n_arms) / 2 * steps), steps))

    legend = "sqrt(K log(K) t / 2), on average over Bernoulli problems with uniform means"
    conditions = (
        stationary(environment),
        Condition("Bernoulli arms", all(isinstance(arm, Bernoulli) for arm in arms)),
        Condition("low = 0 and high = 1", (policy.low, policy.high) == (0, 1)),
    )
    return Bound("Thompson sampling", STANDARD, AVERAGE, "Russo, Van Roy 2016", legend, conditions, regret)


_BOUNDS: dict[type[Policy], Callable[[Environment, Any], Bound]] = {
    UCB1: _ucb1,
    KLUCB: _kl_ucb,
    ExploreThenCommit: _etc,
    SlidingWindowUCB: _sw_ucb,
    ThompsonBeta: _thompson_beta,
}
