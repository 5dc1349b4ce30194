"""The sum of n independent rewards, drawn at once, and how far it can stray.

`Total` says of a distribution X which law its sums have, and gives variance proxies, from Chernoff's bound::

    E exp(-s (X - E X)) <= exp(s^2 lower / 2)  for all s >= 0,
    E exp( s (X - E X)) <= exp(s^2 upper / 2)  for 0 <= s <= cap.

Gaussian: sigma^2. Bernoulli(p): (1 - 2 p) / (2 log((1 - p) / p)), and 1/4 for p = 1/2 (Kearns, Saul, UAI
1998; Buldygin, Moskvichova, Theory of Probability and Mathematical Statistics 86, 2013). Bounded: a quarter
of the squared range (Hoeffding 1963). Exponential with mean m: lower m^2, since log(1 + y) >= y - y^2 / 2;
upper 2 m^2 up to cap 1 / (2 m), since -y - log(1 - y) <= y^2 for y <= 1/2. Poisson with mean m: lower m,
since exp(-y) - 1 + y <= y^2 / 2; upper 3 m / 2 up to cap 1, since exp(y) - 1 - y <= 3 y^2 / 4 for y <= 1.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from brigand.jit import kernel

UNKNOWN, GAUSSIAN, BINOMIAL, GAMMA, POISSON, MULTINOMIAL = range(6)


LARGE_SHAPE = 1e10
LARGE_MEAN = 1e9
"""Beyond these, NumPy's generators of gamma and Poisson numbers lose digits."""


class Total(NamedTuple):
    """The law of the sums of a distribution, see the module's docstring; by default none is known."""

    kind: int = UNKNOWN
    mean: float = math.nan
    lower: float = math.inf
    upper: float = math.inf
    cap: float = math.inf


TOTAL = np.dtype(
    [("kind", int), ("mean", float), ("lower", float), ("upper", float), ("cap", float)], align=True
)


@kernel
def draw_total(total: Any, law: Any, table: Any, n: int, rng: np.random.Generator) -> float:
    """Return the sum of n independent rewards.

    Parameters
    ----------
    total : record
        The law of the sum, of a known kind.
    law : record
        The law of one reward, see `brigand.environments.draw`.
    table : float64 array
        Numbers of all laws of the environment.
    n : int
        At least 1.
    """
    kind = total["kind"]
    if kind == GAUSSIAN:
        return float(law["a"] * n + law["b"] * math.sqrt(n) * rng.standard_normal())
    if kind == BINOMIAL:
        return float(rng.binomial(n, law["a"]))
    if kind == GAMMA:
        return float(law["a"] * draw_gamma(float(n), rng))
    if kind == POISSON:
        return draw_poisson(total["mean"] * n, rng)
    return draw_multinomial(law, table, n, rng)


@kernel
def draw_gamma(shape: float, rng: np.random.Generator) -> float:
    """Return a standard gamma number.

    NumPy's generator (Marsaglia, Tsang 2000) rejects a proposal with a probability of about 1 / (20 shape).
    The terms by which it decides cancel, to within some shape 2^-53: for large shapes all are taken.
    """
    if shape < LARGE_SHAPE:
        return rng.standard_gamma(shape)
    d = shape - 1.0 / 3.0
    root = 1.0 + rng.standard_normal() / math.sqrt(9.0 * d)
    return d * root * root * root


@kernel
def draw_poisson(mean: float, rng: np.random.Generator) -> float:
    """Return a Poisson number as a float.

    NumPy's generator is an int64, and the terms by which it rejects cancel for large means. So a large mean
    is made small first (Ahrens, Dieter, Computing 12, 1974): of a process of rate 1, event number m comes at
    a time X that is gamma distributed with shape m, and the events between X and `mean` are Poisson again.
    That X comes later than `mean` has a probability below exp(-mean / 150).
    """
    result = 0.0
    while mean > LARGE_MEAN:
        m = np.floor(0.875 * mean)
        result += m
        mean = max(mean - draw_gamma(m, rng), 0.0)
    return result + rng.poisson(mean)


@kernel
def draw_multinomial(law: Any, table: Any, n: int, rng: np.random.Generator) -> float:
    """Return the sum of n draws from finitely many values: a binomial number for each value in turn."""
    result = 0.0
    below = 0.0
    for i in range(law["size"]):
        upto = table[law["start"] + i]
        count = n
        if i + 1 < law["size"]:
            count = rng.binomial(n, min(max((upto - below) / (1.0 - below), 0.0), 1.0)) if n > 0 else 0
        result += count * table[law["start"] + law["size"] + i]
        n -= count
        below = upto
    return result


@kernel
def safe_pulls(ahead: float, drift: float, proxy: float, cap: float, doubt: float) -> float:
    """Return after how many rewards a sum is still ahead throughout, but for a probability of exp(-doubt).

    The sum moves by `drift` a reward in the mean, and its deviation below that has the variance proxy
    `proxy` up to `cap`. By Doob's inequality, it falls by `ahead` within n rewards with probability at most
    exp(-s (ahead + drift n) + s^2 n proxy / 2) for drift <= 0 and every s in [0, cap], and ever with at most
    exp(-s ahead) for s <= 2 drift / proxy.

    Parameters
    ----------
    ahead : float
        How far the sum is above zero.
    drift, proxy, cap : float
    doubt : float
        Positive.

    Returns
    -------
    float
        At least 0; inf if it stays ahead for ever.
    """
    if not ahead > 0.0:
        return 0.0
    against = max(-drift, 0.0)
    if proxy == 0.0:
        return ahead / against if against > 0.0 else math.inf
    if min(2.0 * drift / proxy, cap) * ahead >= doubt:
        return math.inf
    root = math.sqrt(2.0 * proxy * doubt)
    if against > 0.0:
        x = 2.0 * ahead / (root + math.sqrt(root * root + 4.0 * against * ahead))
    else:
        x = ahead / root
    n = x * x
    if ahead - against * n <= cap * n * proxy:  # the best s is allowed
        return n
    return max(0.0, (cap * ahead - doubt) / (cap * against + cap * cap * proxy / 2.0))
