"""Confidence sequences for running averages of means that may move: intervals that may be looked at always.

The variables x_1, x_2, ... may depend on all that was before, and their conditional means mu_i, given what
was before, may move in any way. What is bounded is (mu_1 + ... + mu_t) / t, at all t at the same time.

Let g_i be a guess at x_i that is made before it, with x_i - g_i >= -1; V = sum (x_i - g_i)^2; 0 <= l < 1, and
psi(l) = -log(1 - l) - l. Then ::

    exp(l sum (x_i - mu_i) - psi(l) V)

is a nonnegative supermartingale that starts at 1: Fan, Grama and Liu (2015) prove
exp(l y - psi(l) y^2) <= 1 + l y for y >= -1. So is a mixture over several l. It ever reaches 1 / alpha with
probability alpha at most (Ville), which bounds the sum by a function of V, as in Theorem 4 of Howard, Ramdas,
McAuliffe and Sekhon (2021). An l that changes with i (a bet) is tighter where the means are all the same, but
where they are not it bounds a weighted average of them.

The variables need no upper bound here. Waudby-Smith, Wu, Ramdas, Karampatziakis and Mineiro (2022) so bound
off-policy values whose weights are not bounded; their Section 3 is on means that move. They mix over a gamma
density, which gives a confluent hypergeometric function in place of our finite sum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brigand import checks
from brigand.errors import InvalidValueError

LAMBDAS = 0.9 * 1.5 ** -np.arange(26.0)
"""Each is best at one V, about 2 log(1 / alpha) / l^2: from 10 to 10^10."""
PSI = -np.log1p(-LAMBDAS) - LAMBDAS
RATIO = 1.2
"""Of neighbours among the values of V for which the boundary is solved."""


def running_mean(
    x: ArrayLike, low: float, high: float, level: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return an interval for the average of the conditional means so far, after each variable.

    All intervals hold at the same time with probability `level` at least, whatever the variables depend on.

    Parameters
    ----------
    x : array of shape (n,)
        The variables in their order, each in ``[low, high]``.
    low, high : float
        Known without looking at `x`.
    level : float
        In (0, 1).

    Returns
    -------
    lower, upper : float64 arrays of shape (n,)
        Within ``[low, high]``, in the unit of `x`. They may widen and move: so may what they bound.

    Raises
    ------
    InvalidValueError
        A variable is not in ``[low, high]``, or a level not in (0, 1).

    Notes
    -----
    Each side is a bound of :func:`lower_running_mean` at half of the error, of x and of its mirror image.
    """
    low, high = checks.interval("the range of x", low, high)
    values = _vector(x)
    outside = (values < low) | (values > high)
    if outside.any():
        at = int(np.argmax(outside))
        raise InvalidValueError(f"x[{at}] must be in [{low:g}, {high:g}], not {values[at]}.")
    z = np.clip((values - low) / (high - low), 0, 1)
    half = (1 + checks.number("level", level, 0, 1)) / 2
    lower, upper = lower_running_mean(z, half), 1 - lower_running_mean(1 - z, half)
    return low + (high - low) * lower, low + (high - low) * upper


def lower_running_mean(x: ArrayLike, level: float = 0.95) -> NDArray[np.float64]:
    """Return a lower bound of the average of the conditional means so far, after each nonnegative variable.

    All bounds hold at the same time with probability `level` at least. The variables need no upper bound; the
    averages of their means are taken to lie in [0, 1], which makes the bound useful but is not needed for it
    to hold.

    Parameters
    ----------
    x : array of shape (n,)
        The variables in their order, each >= 0: a weight times a reward in [0, 1], say.
    level : float
        In (0, 1).

    Returns
    -------
    float64 array of shape (n,)
        In [0, 1].

    Raises
    ------
    InvalidValueError
        A variable is negative or not finite, or a level not in (0, 1).
    """
    x = _vector(x)
    alpha = 1 - checks.number("level", level, 0, 1)
    if not 0 < alpha < 1:
        raise InvalidValueError(f"level must be in (0, 1), not {level}.")
    if x.size and x.min() < 0:
        at = int(np.argmax(x < 0))
        raise InvalidValueError(f"x[{at}] must be >= 0, not {x[at]}.")
    times = np.arange(1.0, len(x) + 1)
    total = np.cumsum(x)
    guess = np.clip((0.5 + total - x) / times, 0, 1)  # of what was before, and one variable of 1/2
    return np.clip((total - boundary(np.cumsum((x - guess) ** 2), alpha)) / times, 0, 1)


def boundary(v: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    """Return what the sum of ``x - mu`` never exceeds, with probability ``1 - alpha``, where V is `v`.

    It is a concave function of `v`, since the logarithm of the mixture is convex. So it lies below its
    tangents, of which the lower one of two neighbours is taken: O(n), and never too small.
    """
    if v.size == 0:
        return np.empty(0)
    largest = max(float(v.max()), 1.0)
    knots = np.concatenate(
        [[0.0], np.geomspace(0.01, largest, 2 + int(np.log(largest / 0.01) / np.log(RATIO)))]
    )
    value, slope = _solve(knots, alpha)
    right = np.clip(np.searchsorted(knots, v), 1, len(knots) - 1)
    left = right - 1
    bound: NDArray[np.float64] = np.minimum(
        value[left] + slope[left] * (v - knots[left]), value[right] + slope[right] * (v - knots[right])
    )
    return bound


def _solve(v: NDArray[np.float64], alpha: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where the mixture is 1 / alpha, and how that moves with `v`, by Newton's method.

    The logarithm of the mixture is convex and increasing in the sum: from the right, no step goes too far.
    """
    goal = np.log(len(LAMBDAS) / alpha)
    s = ((goal + np.outer(v, PSI)) / LAMBDAS).min(axis=1)  # one term alone is enough there
    while True:
        exponents = np.outer(s, LAMBDAS) - np.outer(v, PSI)
        most = exponents.max(axis=1)
        terms = np.exp(exponents - most[:, None])
        rise = terms @ LAMBDAS / terms.sum(axis=1)
        step = (most + np.log(terms.sum(axis=1)) - goal) / rise
        if (step <= 1e-9 * s).all():
            return s, terms @ PSI / terms.sum(axis=1) / rise
        s -= np.maximum(step, 0)


def _vector(x: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(x, dtype=np.float64)
    if values.ndim != 1:
        raise InvalidValueError(f"x must have one dimension, not {values.ndim}.")
    if not np.isfinite(values).all():
        at = int(np.argmin(np.isfinite(values)))
        raise InvalidValueError(f"x[{at}] must be finite, not {values[at]}.")
    return values
