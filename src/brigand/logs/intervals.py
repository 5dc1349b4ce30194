"""Intervals for the mean of a log's rows: resampled blocks of time, and empirical Bernstein."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RESAMPLES = 2000
MOST_BLOCKS = 1000
DRAWS = 2_000_000
"""Blocks drawn at a time, which bounds the memory."""


def blocks_of(rows: int, length: int | None = None) -> NDArray[np.int64]:
    """Return where blocks of consecutive rows begin.

    Parameters
    ----------
    length : int or None
        Rows in a block; by default n^(1/3), as is optimal for a variance up to a constant (Hall, Horowitz and
        Jing 1995), and more where that makes over 1,000 blocks.
    """
    if length is None:
        length = max(round(rows ** (1 / 3)), -(-rows // MOST_BLOCKS))
    count = max(rows // length, 1)
    return (np.arange(count) * rows) // count


def bootstrap(
    numerators: Sequence[Floats],
    denominators: Sequence[Floats],
    level: float,
    rng: np.random.Generator,
    length: int | None = None,
) -> list[tuple[float, float]]:
    """Return percentile intervals of ratios of sums over rows, by drawing blocks of time with replacement.

    The blocks do not overlap (Carlstein 1986). What is correlated within a block stays so. All ratios are
    taken of the same draws. For few blocks the percentiles are further out, as those of Student's law are
    (Hesterberg 2015, the expanded percentile interval).

    Parameters
    ----------
    numerators, denominators : arrays of shape (n,), a pair for each ratio
    """
    starts = blocks_of(len(numerators[0]), length)
    above, below = (
        np.stack([np.add.reduceat(column, starts) for column in columns], axis=1)
        for columns in (numerators, denominators)
    )
    count, ratios = len(starts), []
    chunk = max(1, min(RESAMPLES, DRAWS // count))
    for first in range(0, RESAMPLES, chunk):
        size = min(chunk, RESAMPLES - first)
        drawn = rng.integers(0, count, (size, count)) + count * np.arange(size)[:, None]
        times = np.bincount(drawn.ravel(), minlength=size * count).reshape(size, count).astype(np.float64)
        bottom = times @ below
        ratios.append(np.divide(times @ above, bottom, out=np.zeros_like(bottom), where=bottom > 0))
    ends = np.quantile(np.concatenate(ratios), _expanded(level, len(starts)), axis=0)
    return [(float(low), float(high)) for low, high in ends.T]


def _expanded(level: float, blocks: int) -> tuple[float, float]:
    from scipy import stats

    few = max(blocks, 2)
    out = float(stats.norm.cdf(-np.sqrt(few / (few - 1)) * stats.t.ppf((1 + level) / 2, few - 1)))
    return out, 1 - out


def bernstein(x: Floats, width: float, level: float) -> float:
    """Return half of the width of an interval for the mean of independent variables, at one fixed n.

    Theorem 4 of Maurer and Pontil (2009) at both sides, each with half of the error.

    Parameters
    ----------
    x : array of shape (n,)
    width : float
        Of a range that the variables cannot leave.
    """
    n = len(x)
    if n < 2:
        return float("inf")
    log = np.log(4 / (1 - level))
    return float(np.sqrt(2 * x.var(ddof=1) * log / n) + 7 * width * log / (3 * (n - 1)))
