"""How fast means grow: the slope of their logarithm."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def slope_of(
    x: NDArray[np.float64], mean: NDArray[np.float64], error: NDArray[np.float64]
) -> tuple[float, float]:
    """Return the least-squares slope of log mean over x, and its standard error; NaN for less than two.

    Parameters
    ----------
    x, mean, error : float64 arrays of shape (n,)
        Where, the means there, and their standard errors, which are taken to be small and independent.
    """
    if len(x) < 2:
        return np.nan, np.nan
    weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    return float(weights @ np.log(mean)), float(np.sqrt(((weights * error / mean) ** 2).sum()))
