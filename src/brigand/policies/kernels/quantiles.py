"""Quantiles from the upper tail: the x beyond which a law has a given, perhaps tiny, probability.

Both laws here have a logarithm of their upper tail that is concave, with the slope -density / tail. So
Newton's iteration on it overshoots once at most, comes from beyond the root then, and converges
quadratically without a bracket. Where `length` is tail / density at the quantile x of p, the quantile of a
smaller p' is at most x + length log(p / p').

The tail of a Beta law is the density times a continued fraction: DLMF (https://dlmf.nist.gov), 8.17.22. It
takes of the order of sqrt(a + b) terms near the mean, and fewer away from it.
"""

from __future__ import annotations

import math

from brigand.jit import kernel

ITERATIONS = 100  # never reached: 3 to 8 do
TERMS = 100_000  # nor these, for a + b below 1e9
CLOSE = 1e-7  # a step of this size, relative to the length, is Newton's last
TINY = 1e-300


@kernel
def fraction(a: float, b: float, x: float) -> float:
    """Return I_x(a, b) a B(a, b) / (x^a (1 - x)^b), for x < (a + 1) / (a + b + 2): by Lentz's method."""
    upper, lower = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    lower = 1.0 / (lower if lower != 0.0 else TINY)
    found = lower
    for m in range(1, TERMS):
        for odd in range(2):
            if odd == 0:
                term = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
            else:
                term = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
            lower = 1.0 + term * lower
            upper = 1.0 + term / upper
            lower = 1.0 / (lower if lower != 0.0 else TINY)
            upper = upper if upper != 0.0 else TINY
            found *= upper * lower
        if not abs(upper * lower - 1.0) >= 1e-15:  # so that NaN ends it, too
            break
    return found


@kernel
def beta_tail(a: float, b: float, log_beta: float, x: float) -> tuple[float, float]:
    """Return the logarithm of the probability of more than x under Beta(a, b), and its length at x."""
    log_density = (a - 1.0) * math.log(x) + (b - 1.0) * math.log1p(-x) - log_beta
    if x > (a + 1.0) / (a + b + 2.0):
        length = x * (1.0 - x) / b * fraction(b, a, 1.0 - x)
        return log_density + math.log(length), length
    tail = 1.0 - math.exp(log_density) * x * (1.0 - x) / a * fraction(a, b, x)
    return math.log(tail), tail * math.exp(-log_density)


@kernel
def beta_quantile(a: float, b: float, level: float) -> tuple[float, float]:
    """Return the x that Beta(a, b) exceeds with probability exp(-level), and the length there.

    a and b are at least 1; for a level of 0 or less, x is 0.
    """
    if level <= 0.0:
        return 0.0, 1.0 / b
    if a == 1.0:
        x = -math.expm1(-level / b)
        return x, (1.0 - x) / b
    mean = a / (a + b)
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    x = mean + math.sqrt(2.0 * level * mean * (1.0 - mean) / (a + b + 1.0))
    if x >= 1.0:
        x = 0.5 * (mean + 1.0)
    length = 0.0
    for _ in range(ITERATIONS):
        log_tail, length = beta_tail(a, b, log_beta, x)
        step = (log_tail + level) * length
        if not abs(step) > CLOSE * length:
            return min(x + step, 1.0), length
        if x + step >= 1.0:
            step = 0.5 * (1.0 - x)
            if not x + step < 1.0:
                return 1.0, length
        x += step
    return x, length


@kernel
def normal_quantile(level: float) -> float:
    """Return the x that a standard normal number exceeds with probability exp(-level).

    For levels from log 2 on; -inf for less, which is that of the median.
    """
    if level < math.log(2.0):
        return -math.inf
    x = math.sqrt(2.0 * level)
    for _ in range(ITERATIONS):
        tail = 0.5 * math.erfc(x * math.sqrt(0.5))
        if tail < TINY:
            break
        length = tail * math.sqrt(2.0 * math.pi) * math.exp(0.5 * x * x)
        step = (math.log(tail) + level) * length
        x += step
        if not abs(step) > CLOSE * length:
            break
    return x
