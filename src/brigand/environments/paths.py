"""How the means of K arms move: from a table, by a formula, or drawn by a seed.

A path has a row of K means for every step (in `Restless`), or for every pull of the arm (in `Rested`). The
rows for a longer horizon begin with those for a shorter one.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from brigand import checks
from brigand.environments.world import Floats
from brigand.errors import InvalidValueError
from brigand.spec import Spec

MOST_MEANS = 2**28
"""Means are kept as one table, of two gigabytes at most."""
BLOCK = 2**16
"""Steps for which random numbers are drawn at a time."""


@dataclass(frozen=True)
class MeanPath(Spec, ABC):
    """Base of all paths of means."""

    @property
    @abstractmethod
    def n_arms(self) -> int:
        """K."""

    @abstractmethod
    def rows(self, count: int) -> Floats:
        """Return the first `count` rows of means, shape (count, K)."""

    def table(self, count: int) -> Floats:
        """Return the first `count` rows, checked.

        Raises
        ------
        InvalidValueError
            There are not as many rows, they do not fit into memory, or a mean is NaN or infinite.
        """
        if count * self.n_arms > MOST_MEANS:
            raise InvalidValueError(
                f"{count:,} steps of {self.n_arms:,} arms are more means than fit into a table "
                f"({MOST_MEANS:,}); means that move need a shorter horizon, or fewer arms."
            )
        with np.errstate(over="ignore", invalid="ignore"):  # what is infinite is refused
            rows = np.ascontiguousarray(self.rows(count), float)
        finite = np.isfinite(rows)
        if not finite.all():
            row, arm = np.argwhere(~finite)[0]
            raise InvalidValueError(
                f"means must be finite, but that of arm {arm} is {rows[row, arm]} in row {row + 1}."
            )
        return rows

    def reseeded(self, number: int) -> Self:
        """Return the path with a seed that is larger by `number`; itself, if nothing is drawn."""
        if not hasattr(self, "seed"):
            return self
        settings: dict[str, Any] = {"seed": self.seed + number}
        return dataclasses.replace(self, **settings)


@dataclass(frozen=True, repr=False)
class MeanTable(MeanPath):
    """Means in a table.

    Parameters
    ----------
    values : array-like of shape (rows, K)
        ``values[t, k]`` is the mean of arm k at step t + 1 (in `Rested`: at its pull t + 1). Finite; at
        least as many rows as a run has steps.

    Examples
    --------
    >>> MeanTable([[0.1, 0.9], [0.9, 0.1]]).table(2)
    array([[0.1, 0.9],
           [0.9, 0.1]])
    """

    values: Sequence[Sequence[float]]

    def __post_init__(self) -> None:
        self._keep(values=checks.numbers_table("MeanTable's values", self.values))

    def __repr__(self) -> str:
        return f"MeanTable(<{len(self.values)} rows of {self.n_arms} means>)"

    @property
    def n_arms(self) -> int:
        return len(self.values[0])

    def rows(self, count: int) -> Floats:
        if count > len(self.values):
            raise InvalidValueError(
                f"the table has {len(self.values):,} rows, too few for a horizon of {count:,} steps."
            )
        return np.array(self.values[:count])


@dataclass(frozen=True)
class LinearMeans(MeanPath):
    """Linear drift: first + slope (t - 1), kept within [low, high].

    Parameters
    ----------
    first : sequence of float
        The means at step 1, of all arms.
    slope : float or sequence of float
        What is added at each step; for all arms, or each.
    low, high : float
        Where the drift ends.
    """

    first: Sequence[float]
    slope: float | Sequence[float] = 0.0
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        self._keep(first=checks.numbers_tuple("LinearMeans' first", self.first))
        self._keep(slope=_for_arms("LinearMeans' slope", self.slope, len(self.first)))
        _keep_range(self, self.low, self.high)

    @property
    def n_arms(self) -> int:
        return len(self.first)

    def rows(self, count: int) -> Floats:
        line = np.array(self.first) + np.arange(count)[:, None] * np.array(self.slope)
        return np.asarray(np.clip(line, self.low, self.high))


@dataclass(frozen=True)
class SeasonalMeans(MeanPath):
    """Seasons: level + amplitude sin(2 pi ((t - 1) / period + phase)).

    Parameters
    ----------
    level : sequence of float
        Of all arms.
    amplitude, period, phase : float or sequence of float
        For all arms, or each. Periods are in steps and positive; phases in periods.
    """

    level: Sequence[float]
    amplitude: float | Sequence[float]
    period: float | Sequence[float]
    phase: float | Sequence[float] = 0.0

    def __post_init__(self) -> None:
        self._keep(level=checks.numbers_tuple("SeasonalMeans' level", self.level))
        for name in ("amplitude", "period", "phase"):
            values = _for_arms(f"SeasonalMeans' {name}", getattr(self, name), len(self.level))
            self._keep(**{name: values})
        for period in self.period if isinstance(self.period, tuple) else (self.period,):
            checks.number("SeasonalMeans' period", period, above=0.0)

    @property
    def n_arms(self) -> int:
        return len(self.level)

    def rows(self, count: int) -> Floats:
        turns = np.arange(count)[:, None] / np.array(self.period) + np.array(self.phase)
        return np.asarray(np.array(self.level) + np.array(self.amplitude) * np.sin(2 * math.pi * turns))


@dataclass(frozen=True)
class RandomWalkMeans(MeanPath):
    """Independent Gaussian random walks, reflected at `low` and `high`.

    The path is drawn by `seed`, so it is the same in every replication: regret is that on this path.

    Parameters
    ----------
    first : sequence of float
        The means at step 1, in [low, high].
    sigma : float or sequence of float
        Standard deviation of a step; for all arms, or each.
    low, high : float
        low < high; may be infinite.
    seed : int
        At least 0.

    Notes
    -----
    Reflected walks are those of the "Brownian" bandits of Slivkins, Upfal, "Adapting to a changing
    environment: the Brownian restless bandits", COLT 2008.
    """

    first: Sequence[float]
    sigma: float | Sequence[float]
    low: float = 0.0
    high: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        self._keep(first=checks.numbers_tuple("RandomWalkMeans' first", self.first))
        self._keep(sigma=_for_arms("RandomWalkMeans' sigma", self.sigma, len(self.first), 0.0))
        _keep_range(self, self.low, self.high)
        for mean in self.first:
            checks.number("a random walk's first mean", mean, self.low, self.high)
        self._keep(seed=checks.integer("RandomWalkMeans' seed", self.seed, 0))

    @property
    def n_arms(self) -> int:
        return len(self.first)

    def rows(self, count: int) -> Floats:
        rng = np.random.Generator(np.random.PCG64(self.seed))
        walk = np.empty((count, self.n_arms))
        walk[0] = self.first
        walk[1:] = rng.standard_normal((count - 1, self.n_arms)) * np.array(self.sigma)
        return reflected(np.cumsum(walk, axis=0), self.low, self.high)


@dataclass(frozen=True)
class SwitchingMeans(MeanPath):
    """Means that are those of a hidden state, which is a Markov chain; state 0 at step 1.

    The path is drawn by `seed`, so it is the same in every replication.

    Parameters
    ----------
    states : array-like of shape (S, K)
        The means of all arms in each state.
    transitions : array-like of shape (S, S)
        ``transitions[i, j]`` is the probability that j follows i. Rows sum to 1 within 1e-9.
    seed : int
        At least 0.
    """

    states: Sequence[Sequence[float]]
    transitions: Sequence[Sequence[float]]
    seed: int = 0

    def __post_init__(self) -> None:
        states = checks.numbers_table("SwitchingMeans' states", self.states)
        chances = checks.numbers_table("SwitchingMeans' transitions", self.transitions)
        if len(chances) != len(states) or len(chances[0]) != len(states):
            raise InvalidValueError(
                f"SwitchingMeans has {len(states)} states, so transitions must be of shape "
                f"({len(states)}, {len(states)}), not ({len(chances)}, {len(chances[0])})."
            )
        for i, row in enumerate(chances):
            if min(row) < 0 or abs(math.fsum(row) - 1) > 1e-9:
                raise InvalidValueError(
                    "SwitchingMeans' transitions must be >= 0 and sum to 1 in each row, "
                    f"not {row} in row {i}."
                )
        self._keep(states=states, transitions=chances)
        self._keep(seed=checks.integer("SwitchingMeans' seed", self.seed, 0))

    @property
    def n_arms(self) -> int:
        return len(self.states[0])

    def rows(self, count: int) -> Floats:
        rng = np.random.Generator(np.random.PCG64(self.seed))
        below = np.cumsum(self.transitions, axis=1)
        below /= below[:, -1:]
        chain = np.empty(count, np.int64)
        state = 0
        for first in range(0, count, BLOCK):
            part = chain[first : first + BLOCK]
            uniforms = rng.random(len(part))
            # What would follow each state, all at once; then one look-up a step.
            following = [np.searchsorted(row, uniforms, side="right").tolist() for row in below]
            for i in range(len(part)):
                part[i] = state
                state = following[state][i]
        return np.array(self.states)[chain]


@dataclass(frozen=True)
class PowerMeans(MeanPath):
    """Power decay: first n^(-decay) + rest at row n: in `Rested`, arms that rot.

    Parameters
    ----------
    first : sequence of float
        What decays, of all arms.
    decay : float or sequence of float
        At least 0; for all arms, or each.
    rest : float or sequence of float
        What does not.

    Notes
    -----
    The parametric rotting bandits of Levine, Crammer, Mannor, "Rotting bandits", NeurIPS 2017, have these
    means.
    """

    first: Sequence[float]
    decay: float | Sequence[float]
    rest: float | Sequence[float] = 0.0

    def __post_init__(self) -> None:
        self._keep(first=checks.numbers_tuple("PowerMeans' first", self.first))
        self._keep(decay=_for_arms("PowerMeans' decay", self.decay, len(self.first), 0.0))
        self._keep(rest=_for_arms("PowerMeans' rest", self.rest, len(self.first)))

    @property
    def n_arms(self) -> int:
        return len(self.first)

    def rows(self, count: int) -> Floats:
        n = np.arange(1.0, count + 1)[:, None]
        return np.asarray(np.array(self.first) * n ** -np.array(self.decay) + np.array(self.rest))


@dataclass(frozen=True)
class SaturatingMeans(MeanPath):
    """Growth towards a limit: limit (1 - exp(-rate n)) at row n: in `Rested`, arms that rise.

    Parameters
    ----------
    limit : sequence of float
        Of all arms.
    rate : float or sequence of float
        At least 0; for all arms, or each.

    Notes
    -----
    Growth functions of this form are among those of Metelli, Trovo, Pirola, Restelli, "Stochastic rising
    bandits", ICML 2022.
    """

    limit: Sequence[float]
    rate: float | Sequence[float]

    def __post_init__(self) -> None:
        self._keep(limit=checks.numbers_tuple("SaturatingMeans' limit", self.limit))
        self._keep(rate=_for_arms("SaturatingMeans' rate", self.rate, len(self.limit), 0.0))

    @property
    def n_arms(self) -> int:
        return len(self.limit)

    def rows(self, count: int) -> Floats:
        n = np.arange(1.0, count + 1)[:, None]
        return np.asarray(np.array(self.limit) * -np.expm1(-np.array(self.rate) * n))


def reflected(walk: Floats, low: float, high: float) -> Floats:
    """Return the walk folded into [low, high]: in law a walk that is reflected at both ends."""
    if math.isinf(low) and math.isinf(high):
        return walk
    if math.isinf(high):
        return low + np.abs(walk - low)
    if math.isinf(low):
        return high - np.abs(high - walk)
    width = high - low
    place = np.mod(walk - low, 2 * width)
    return np.clip(low + np.minimum(place, 2 * width - place), low, high)


def _for_arms(name: str, value: object, n_arms: int, low: float = -math.inf) -> float | tuple[float, ...]:
    """Return a number that is for all arms, or a number for each."""
    if np.ndim(value) == 0:  # type: ignore[arg-type]
        return checks.number(name, value, low)
    values = checks.numbers_tuple(name, value)
    if len(values) != n_arms:
        raise InvalidValueError(
            f"{name} must be one number, or {n_arms} as there are arms, not {len(values)}."
        )
    for number in values:
        checks.number(name, number, low)
    return values


def _keep_range(path: MeanPath, low: float, high: float) -> None:
    name = type(path).__name__
    low = checks.number(f"{name}' low", low, infinite=True)
    high = checks.number(f"{name}' high", high, infinite=True)
    if not low < high:
        raise InvalidValueError(f"{name} needs low < high, not low = {low!r} and high = {high!r}.")
    path._keep(low=low, high=high)
