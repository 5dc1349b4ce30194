"""Reward distributions on finitely or countably many values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brigand import checks
from brigand.environments import draw, totals
from brigand.environments.distribution import Distribution, Floats, Law
from brigand.environments.totals import Total
from brigand.errors import InvalidValueError


@dataclass(frozen=True)
class Bernoulli(Distribution):
    """1 with probability `p`, else 0."""

    p: float

    def __post_init__(self) -> None:
        self._keep(p=checks.number("Bernoulli's p", self.p, 0.0, 1.0))

    @property
    def mean(self) -> float:
        return float(self.p)

    @property
    def variance(self) -> float:
        return self.mean * (1 - self.mean)

    @property
    def support(self) -> tuple[float, float]:
        return (0.0, 1.0)

    def law(self) -> Law:
        return Law(draw.BERNOULLI, self.p)

    def total(self) -> Total:
        p = self.mean
        if p in (0.0, 1.0):
            proxy = 0.0
        elif abs(p - 0.5) < 1e-3:
            proxy = 0.25
        else:
            proxy = (1 - 2 * p) / (2 * (math.log1p(-p) - math.log(p)))
        return Total(totals.BINOMIAL, p, proxy, proxy)


@dataclass(frozen=True)
class Poisson(Distribution):
    """Poisson with mean `rate` in (0, 1e9], cut where a 53-bit uniform number cannot reach."""

    rate: float

    def __post_init__(self) -> None:
        self._keep(rate=checks.number("Poisson's mean", self.rate, high=1e9, above=0.0))

    @property
    def mean(self) -> float:
        return float(self.rate)

    @property
    def variance(self) -> float:
        return float(self.rate)

    @property
    def support(self) -> tuple[float, float]:
        return (0.0, math.inf)

    def law(self) -> Law:
        from scipy import stats  # 0.5 s and 60 MB, which most runs need not pay

        least = int(stats.poisson.ppf(draw.HALF_ULP, self.rate))
        greatest = int(stats.poisson.isf(2 * draw.HALF_ULP, self.rate)) + 1
        values = np.arange(least, greatest + 1)
        return discrete_law(stats.poisson.cdf(values, self.rate), values)

    def total(self) -> Total:
        return Total(totals.POISSON, self.mean, self.mean, 1.5 * self.mean, 1.0)


@dataclass(frozen=True)
class Geometric(Distribution):
    """The number of failures before the first success, with this mean in [0, 1e9]: 0, 1, 2, ...

    A trial succeeds with probability 1 / (1 + mean).
    """

    mean: float = 1.0

    def __post_init__(self) -> None:
        self._keep(mean=checks.number("Geometric's mean", self.mean, 0.0, 1e9))

    @property
    def variance(self) -> float:
        return float(self.mean) * (1 + self.mean)

    @property
    def support(self) -> tuple[float, float]:
        return (0.0, math.inf if self.mean > 0 else 0.0)

    def law(self) -> Law:
        return Law(draw.GEOMETRIC, 1 / math.log1p(1 / self.mean) if self.mean > 0 else 0.0)


@dataclass(frozen=True)
class FiniteSupport(Distribution):
    """Each of `values` with its probability.

    Parameters
    ----------
    values : array-like of float
    probabilities : array-like of float, optional
        Not negative, and summing to 1 within 1e-9. By default all equal.
    """

    values: Sequence[float]
    probabilities: Sequence[float] | None = None

    def __post_init__(self) -> None:
        values = checks.numbers_tuple("FiniteSupport's values", self.values)
        if self.probabilities is None:
            chances = (1 / len(values),) * len(values)
        else:
            chances = checks.numbers_tuple("FiniteSupport's probabilities", self.probabilities)
        if len(chances) != len(values):
            raise InvalidValueError(
                f"FiniteSupport needs one probability for each value, not {len(chances)} for {len(values)}."
            )
        if min(chances) < 0 or abs(math.fsum(chances) - 1) > 1e-9:
            raise InvalidValueError(
                "FiniteSupport's probabilities must be >= 0 and sum to 1, "
                f"not have the least {min(chances):g} and the sum {math.fsum(chances):g}."
            )
        self._keep(values=values)
        self._keep(probabilities=chances)

    @property
    def mean(self) -> float:
        return math.fsum(v * p for v, p in zip(self.values, self.probabilities or (), strict=True))

    @property
    def variance(self) -> float:
        return _variance(self.values, self.probabilities or ())

    @property
    def support(self) -> tuple[float, float]:
        possible = [v for v, p in zip(self.values, self.probabilities or (), strict=True) if p > 0]
        return (min(possible), max(possible))

    def law(self) -> Law:
        order = np.argsort(self.values, kind="stable")
        order = order[np.asarray(self.probabilities)[order] > 0]
        cumulative = np.cumsum(np.asarray(self.probabilities)[order])
        return discrete_law(cumulative, np.asarray(self.values)[order])

    def total(self) -> Total:
        low, high = self.support
        proxy = (high - low) * (high - low) / 4
        return Total(totals.MULTINOMIAL, self.mean if high > low else low, proxy, proxy)


@dataclass(frozen=True)
class Empirical(Distribution):
    """Resamples data: each of `data` is equally likely, with replacement."""

    data: Sequence[float]

    def __post_init__(self) -> None:
        self._keep(data=checks.numbers_tuple("Empirical's data", self.data))

    @property
    def mean(self) -> float:
        return math.fsum(x / len(self.data) for x in self.data)

    @property
    def variance(self) -> float:
        return _variance(self.data, (1 / len(self.data),) * len(self.data))

    @property
    def support(self) -> tuple[float, float]:
        return (min(self.data), max(self.data))

    def law(self) -> Law:
        return Law(draw.CHOICE, table=np.sort(self.data), size=len(self.data))


def _variance(values: Sequence[float], probabilities: Sequence[float]) -> float:
    mean = math.fsum(v * p for v, p in zip(values, probabilities, strict=True))
    return math.fsum((v - mean) * (v - mean) * p for v, p in zip(values, probabilities, strict=True))


def discrete_law(cumulative: Floats, values: NDArray[np.generic]) -> Law:
    """Return the law on increasing values with these cumulative probabilities."""
    table = np.concatenate([cumulative, values.astype(float)])
    return Law(draw.DISCRETE, table=table, size=len(values))
