"""Reward distributions with a density (clipping puts some of it on the ends)."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brigand import checks
from brigand.environments import draw, totals
from brigand.environments.distribution import Distribution, Floats, Law
from brigand.environments.totals import Total
from brigand.errors import InvalidValueError

ACCURACY = 1e-9
MOST_CELLS = 2**16
FAR = 27.0
"""log(u / (1 - u)) for probabilities of some 1e-12."""
SMALLEST_SHAPE = 0.02
"""Of a beta distribution: below, its quantile function is too steep for a spline."""


@dataclass(frozen=True)
class Gaussian(Distribution):
    """Normal with mean `mu` and standard deviation `sigma` >= 0."""

    mu: float
    sigma: float = 1.0

    def __post_init__(self) -> None:
        self._keep(mu=checks.number("Gaussian's mean", self.mu))
        self._keep(sigma=checks.number("Gaussian's standard deviation", self.sigma, 0.0))

    @property
    def mean(self) -> float:
        return float(self.mu)

    @property
    def variance(self) -> float:
        return float(self.sigma) * self.sigma

    @property
    def support(self) -> tuple[float, float]:
        return (-math.inf, math.inf)

    def law(self) -> Law:
        return Law(draw.NORMAL, self.mu, self.sigma)

    def total(self) -> Total:
        return Total(totals.GAUSSIAN, self.mean, self.variance, self.variance)


@dataclass(frozen=True)
class ClippedGaussian(Distribution):
    """Normal(mu, sigma^2) clipped to [low, high]: what falls outside is put on the ends.

    Notes
    -----
    This is the "truncated Gaussian" of Baudry, Kaufmann, Maillard, NeurIPS 2020. `mean` and `variance`
    are those of the clipped reward.
    """

    mu: float
    sigma: float = 1.0
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        self._keep(mu=checks.number("ClippedGaussian's mu", self.mu))
        self._keep(sigma=checks.number("ClippedGaussian's standard deviation", self.sigma, 0.0))
        low, high = _checked_range("ClippedGaussian", self.low, self.high)
        self._keep(low=low, high=high)

    @property
    def mean(self) -> float:
        below, inside, above, slope = self._parts()[:4]
        return self.low * below + self.mu * inside - self.sigma * slope + self.high * above

    @property
    def variance(self) -> float:
        below, inside, above, slope, curve = self._parts()
        # About the mean, so that nothing large cancels.
        low, middle, high = self.low - self.mean, self.mu - self.mean, self.high - self.mean
        body = middle * middle * inside - 2 * middle * self.sigma * slope
        body += self.sigma * self.sigma * (inside - curve)
        if self.sigma > self.high - self.low:
            # The density is flat, and its parts cancel: Gauss and Legendre's rule is exact to rounding.
            points, weights = np.polynomial.legendre.leggauss(20)
            x = (high - low) / 2 * points + (high + low) / 2
            density = np.exp(-0.5 * ((x - middle) / self.sigma) ** 2) / (math.sqrt(2 * math.pi) * self.sigma)
            body = float((high - low) / 2 * (weights * x * x * density).sum())
        return max(low * low * below + body + high * high * above, 0.0)

    def _parts(self) -> tuple[float, float, float, float, float]:
        """Return P(below), P(inside), P(above), and pdf and x pdf between the standardised ends."""
        if self.sigma == 0:
            below, above = float(self.mu < self.low), float(self.mu > self.high)
            return below, 1 - below - above, above, 0.0, 0.0
        # Beyond 40 standard deviations there is nothing.
        a, b = (min(max((end - self.mu) / self.sigma, -40.0), 40.0) for end in (self.low, self.high))
        pdf_a, pdf_b = (math.exp(-x * x / 2) / math.sqrt(2 * math.pi) for x in (a, b))
        below, above = _normal_cdf(a), _normal_cdf(-b)
        inside = _normal_cdf(b) - below if a < 0 else _normal_cdf(-a) - above
        return below, inside, above, pdf_b - pdf_a, b * pdf_b - a * pdf_a

    @property
    def support(self) -> tuple[float, float]:
        return (float(self.low), float(self.high))

    def law(self) -> Law:
        return Law(draw.NORMAL, self.mu, self.sigma, self.low, self.high)


@dataclass(frozen=True)
class Uniform(Distribution):
    """Uniform on [low, high]."""

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        low, high = _checked_range("Uniform", self.low, self.high)
        self._keep(low=low, high=high)

    @property
    def mean(self) -> float:
        return self.low / 2 + self.high / 2

    @property
    def variance(self) -> float:
        return (self.high - self.low) * (self.high - self.low) / 12

    @property
    def support(self) -> tuple[float, float]:
        return (float(self.low), float(self.high))

    def law(self) -> Law:
        return Law(draw.AFFINE, self.low, self.high - self.low)


@dataclass(frozen=True)
class Beta(Distribution):
    """Beta(a, b) on [0, 1], a and b at least 0.02."""

    a: float
    b: float

    def __post_init__(self) -> None:
        self._keep(a=checks.number("Beta's a", self.a, SMALLEST_SHAPE))
        self._keep(b=checks.number("Beta's b", self.b, SMALLEST_SHAPE))

    @property
    def mean(self) -> float:
        return self.a / (self.a + self.b)

    @property
    def variance(self) -> float:
        total = self.a + self.b
        return (self.a / total) * (self.b / total) / (total + 1)

    @property
    def support(self) -> tuple[float, float]:
        return (0.0, 1.0)

    def law(self) -> Law:
        return quantile_spline("beta", (self.a, self.b), self.support)


@dataclass(frozen=True)
class ExponentialReward(Distribution):
    """Exponential with mean `scale` > 0 (the name `Exponential` is an exploration sequence)."""

    scale: float = 1.0

    def __post_init__(self) -> None:
        self._keep(scale=checks.number("ExponentialReward's mean", self.scale, above=0.0))

    @property
    def mean(self) -> float:
        return float(self.scale)

    @property
    def variance(self) -> float:
        return float(self.scale) * self.scale

    @property
    def support(self) -> tuple[float, float]:
        return (0.0, math.inf)

    def law(self) -> Law:
        return Law(draw.EXPONENTIAL, self.scale)

    def total(self) -> Total:
        return Total(totals.GAMMA, self.mean, self.variance, 2 * self.variance, 1 / (2 * self.mean))


@dataclass(frozen=True)
class StudentT(Distribution):
    """Student t with `df` > 1 degrees of freedom, shifted to `location` and stretched by `scale` > 0."""

    df: float
    location: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        self._keep(df=checks.number("StudentT's df (its mean exists for df > 1 only)", self.df, above=1.0))
        self._keep(location=checks.number("StudentT's location", self.location))
        self._keep(scale=checks.number("StudentT's scale", self.scale, above=0.0))

    @property
    def mean(self) -> float:
        return float(self.location)

    @property
    def variance(self) -> float:
        return self.scale * self.scale * self.df / (self.df - 2) if self.df > 2 else math.inf

    @property
    def support(self) -> tuple[float, float]:
        return (-math.inf, math.inf)

    def law(self) -> Law:
        law = quantile_spline("t", (self.df,), self.support)
        table = law.table * self.scale
        table[3::4] += self.location
        return law._replace(table=table)


@dataclass(frozen=True)
class Pareto(Distribution):
    """Pareto on [scale, inf): P(X > x) = (scale / x)^shape, `shape` > 1 and `scale` > 0."""

    shape: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        self._keep(
            shape=checks.number("Pareto's shape (its mean exists for shape > 1 only)", self.shape, above=1.0)
        )
        self._keep(scale=checks.number("Pareto's scale", self.scale, above=0.0))

    @property
    def mean(self) -> float:
        return self.shape * self.scale / (self.shape - 1)

    @property
    def variance(self) -> float:
        a = self.shape
        return self.scale * self.scale * a / ((a - 1) * (a - 1) * (a - 2)) if a > 2 else math.inf

    @property
    def support(self) -> tuple[float, float]:
        return (float(self.scale), math.inf)

    def law(self) -> Law:
        return Law(draw.PARETO, self.scale, -1 / self.shape)


def _checked_range(name: str, low: float, high: float) -> tuple[float, float]:
    low, high = checks.number(f"{name}'s low", low), checks.number(f"{name}'s high", high)
    if not low <= high:
        raise InvalidValueError(f"{name} needs low <= high, not low = {low!r} and high = {high!r}.")
    return low, high


def _normal_cdf(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


@functools.lru_cache(maxsize=256)
def quantile_spline(
    name: str, shapes: tuple[float, ...], support: tuple[float, float], loosely: float = ACCURACY
) -> Law:
    """Return a quantile function of SciPy as cubics in log(u / (1 - u)).

    The grid is refined until the spline, halfway between its knots, is within 1e-9 of SciPy's quantile,
    relative to 1 + its absolute value; where 2^16 cells do not suffice, within `loosely`, but for
    probabilities below 1e-12.

    Raises
    ------
    InvalidValueError
        The shape is too extreme for that.
    """
    from scipy import interpolate, special, stats

    distribution = getattr(stats, name)(*shapes)
    kind, general = type(distribution.dist), stats.rv_continuous
    searched = kind._ppf is general._ppf and kind._cdf is not general._cdf  # SciPy searches one by one

    def quantile(logit: Floats) -> Floats:
        tail = special.expit(-np.abs(logit))
        with np.errstate(all="ignore"):
            if searched:
                found = _search(distribution, tail, logit >= 0)
            else:
                found = np.asarray(np.where(logit < 0, distribution.ppf(tail), distribution.isf(tail)))
        # Far in the tails some of SciPy's quantiles are NaN or infinite: there the last one that is not.
        finite = np.flatnonzero(np.isfinite(found) & (found >= support[0]) & (found <= support[1]))
        if not len(finite) or (np.abs(np.delete(logit, finite)) < FAR).any():
            raise InvalidValueError(f"SciPy has no quantiles of {name} with the shape {shapes}.")
        return np.asarray(
            found[finite[np.clip(np.searchsorted(finite, np.arange(len(found))), 0, len(finite) - 1)]]
        )

    for cells in (2**11, 2**12, 2**13, 2**14, 2**15, MOST_CELLS):
        knots = np.linspace(-draw.MAX_LOGIT, draw.MAX_LOGIT, cells + 1)
        cubics = interpolate.CubicSpline(knots, quantile(knots))
        middle = (knots[1:] + knots[:-1]) / 2
        exact = quantile(middle)
        wrong = np.abs(np.clip(cubics(middle), *support) - exact) / (1 + np.abs(exact))
        last = cells == MOST_CELLS and loosely > ACCURACY
        if np.all(wrong[np.abs(middle) < FAR] <= loosely) if last else np.all(wrong <= ACCURACY):
            table = np.ascontiguousarray(cubics.c.T).ravel()
            return Law(draw.SPLINE, cells / (2 * draw.MAX_LOGIT), 0.0, *support, table, cells)
    raise InvalidValueError(f"the shape {shapes} is too extreme for {name} rewards.")


def _search(distribution: Any, tail: Floats, upper: NDArray[np.bool_]) -> Floats:
    """Return the quantiles at `tail`, or at 1 - tail where `upper`, of a continuous law: all by bisection."""
    center, least = float(distribution.median()), float(tail.min())
    low, high = (float(end) for end in distribution.support())
    width = 1.0 + abs(center)
    if math.isinf(low):
        low = next(
            (x for k in range(900) if distribution.cdf(x := center - width * 2.0**k) < least), math.nan
        )
    if math.isinf(high):
        high = next(
            (x for k in range(900) if distribution.sf(x := center + width * 2.0**k) < least), math.nan
        )
    left, right = np.full(tail.shape, low), np.full(tail.shape, high)
    while np.any(right - left > 1e-15 * (1 + np.abs(left))):
        middle = left + (right - left) / 2
        if np.all((middle <= left) | (middle >= right)):
            break
        before = np.where(upper, distribution.sf(middle) > tail, distribution.cdf(middle) < tail)
        left, right = np.where(before, middle, left), np.where(before, right, middle)
    return np.asarray(left + (right - left) / 2)
