"""Rewards from any distribution of `scipy.stats`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from brigand import checks
from brigand.environments import draw
from brigand.environments.continuous import quantile_spline
from brigand.environments.discrete import discrete_law
from brigand.environments.distribution import Distribution, Law
from brigand.errors import InvalidValueError, UnknownNameError

LOOSELY = 1e-5
"""How exactly a quantile function is met, in the cell where it has a kink."""
MOST_VALUES = 10**6
"""A discrete distribution is a table of its values, as far as random numbers reach."""


@dataclass(frozen=True)
class SciPyReward(Distribution):
    """A distribution of `scipy.stats` by its name there, with a finite mean.

    Where arms or noise are asked for, a frozen distribution of SciPy may be given as it is.

    Parameters
    ----------
    name : str
        Such as ``"gamma"``.
    shapes : sequence of float
        In SciPy's order.
    location, scale : float
        SciPy's ``loc`` and ``scale`` > 0; a discrete distribution has no scale.

    Notes
    -----
    A continuous distribution is drawn by a spline of its quantile function, a discrete one by a table; what
    neither fits is refused before a run. At location 0 and scale 1 the spline is within 1e-9 of SciPy's
    quantiles, relative to 1 + their absolute value; within 1e-5 if the density has a kink (a Laplace
    distribution's, say), and that close to it only. Where SciPy has neither quantiles nor a
    distribution function but by integration, it takes minutes, once in a process.

    Examples
    --------
    >>> from scipy import stats
    >>> arm = SciPyReward.of(stats.gamma(2.0, scale=0.25))
    >>> arm
    SciPyReward(name='gamma', shapes=(2.0,), location=0.0, scale=0.25)
    >>> arm.mean
    0.5
    """

    name: str
    shapes: Sequence[float] = ()
    location: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        kinds = _kinds()
        if not isinstance(self.name, str) or self.name not in kinds:
            raise UnknownNameError("distribution of scipy.stats", self.name, kinds)
        none = isinstance(self.shapes, (tuple, list)) and not self.shapes
        shapes = () if none else checks.numbers_tuple(f"{self.name}'s shapes", self.shapes)
        needed = _shape_names(kinds[self.name])
        if len(shapes) != len(needed):
            raise InvalidValueError(
                f"{self.name} has {len(needed)} shapes ({', '.join(needed) or 'none'}), not {len(shapes)}."
            )
        self._keep(shapes=shapes)
        self._keep(location=checks.number(f"{self.name}'s location", self.location))
        self._keep(scale=checks.number(f"{self.name}'s scale", self.scale, above=0.0))
        if self._discrete and self.scale != 1.0:
            raise InvalidValueError(f"{self.name} is discrete and has no scale, so not {self.scale!r}.")
        with np.errstate(all="ignore"):
            mean = self.mean
        if not math.isfinite(mean):
            raise InvalidValueError(
                f"rewards need a finite mean, but that of {self.name} with shapes {shapes} is {mean}: "
                "regret is not defined there."
            )

    @classmethod
    def of(cls, frozen: Any) -> Self:
        """Return the distribution that is frozen.

        Raises
        ------
        InvalidValueError
            It is none, or not one of those that scipy.stats has a name for.
        """
        kind, given = getattr(frozen, "dist", None), getattr(frozen, "kwds", {})
        name = str(getattr(kind, "name", ""))
        known = _kinds().get(name)
        if known is None or type(known) is not type(kind):
            raise InvalidValueError(
                f"{frozen!r} is no frozen distribution that scipy.stats has a name for, such as gamma(2.0); "
                "of your own make FiniteSupport, Empirical, or FunctionReward."
            )
        names = [*_shape_names(kind), "loc", "scale"]
        settings = dict(zip(names, frozen.args, strict=False)) | given
        if any(np.ndim(value) for value in settings.values()):
            raise InvalidValueError(f"{name} must be frozen with numbers, not with {settings}.")
        shapes = tuple(settings[name] for name in names[:-2])
        return cls(name, shapes, settings.get("loc", 0.0), settings.get("scale", 1.0))

    @property
    def _frozen(self) -> Any:
        from scipy import stats  # 0.5 s and 60 MB, which most runs need not pay

        scale = () if self._discrete else (self.scale,)
        return getattr(stats, self.name)(*self.shapes, self.location, *scale)

    @property
    def _discrete(self) -> bool:
        return not hasattr(_kinds()[self.name], "pdf")

    @property
    def mean(self) -> float:
        return float(self._frozen.mean())

    @property
    def variance(self) -> float:
        with np.errstate(all="ignore"):
            variance = float(self._frozen.var())
        return math.inf if math.isnan(variance) else variance

    @property
    def support(self) -> tuple[float, float]:
        low, high = self._frozen.support()
        return (float(low), float(high))

    def law(self) -> Law:
        if self._discrete:
            frozen = self._frozen
            ends = frozen.ppf(draw.HALF_ULP), frozen.isf(2 * draw.HALF_ULP) + 1
            if not ends[1] - ends[0] < MOST_VALUES:
                raise InvalidValueError(
                    f"{self.name} with shapes {self.shapes} has {ends[1] - ends[0]:.3g} values that can be "
                    f"drawn, more than {MOST_VALUES:,}."
                )
            values = np.arange(int(ends[0]), int(ends[1]) + 1)
            return discrete_law(frozen.cdf(values), values)
        kind = _kinds()[self.name]
        low, high = (float(end) for end in kind(*self.shapes).support())
        law = quantile_spline(self.name, tuple(self.shapes), (low, high), LOOSELY)
        table = law.table * self.scale
        table[3::4] += self.location
        return law._replace(
            table=table, c=self.location + self.scale * low, d=self.location + self.scale * high
        )


def _kinds() -> dict[str, Any]:
    """Return SciPy's distributions by name."""
    from scipy import stats

    every = (stats.rv_continuous, stats.rv_discrete)
    return {name: kind for name, kind in vars(stats).items() if isinstance(kind, every)}


def _shape_names(kind: Any) -> list[str]:
    return [name.strip() for name in kind.shapes.split(",")] if kind.shapes else []
