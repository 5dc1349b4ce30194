"""Sums and means that are exact where they must be, and the same bits in Python and compiled.

Means rely on these fields of an arm: ``count``, ``sum``, ``residue``, ``mean`` (rewards so far).
"""

from __future__ import annotations

import math
from typing import Any

from brigand.jit import kernel
from brigand.policies.base import Table

ROUNDING = 2.0**-52


@kernel
def two_sum(a: float, b: float) -> tuple[float, float]:
    """Return a + b as a float and what rounding took from it: the two add up to a + b exactly.

    Source: Knuth, "The Art of Computer Programming", volume 2, section 4.2.2.
    """
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@kernel
def quotient(total: float, residue: float, count: float) -> float:
    """Return (total + residue) / count as if computed exactly and rounded once, for a count of 26 bits.

    So means are equal floats where they are equal numbers: ties are ties, whatever the rewards. (A plain sum
    of three times 0.1, divided by 3, is not 0.1.)
    """
    result = float(total / count)
    if residue == 0.0:
        return result
    # Veltkamp's splitting: with 26 bits each, the products with `count` are exact.
    scaled = 134217729.0 * result
    high = scaled - (scaled - result)
    low = result - high
    exact = result + (((total - high * count) - low * count) + residue) / count
    # NaN where the splitting overflowed, from 1.3e300 on (silently: numbers of NumPy's would warn).
    return result if math.isnan(exact) else exact


@kernel
def difference(a: float, a_residue: float, b: float, b_residue: float) -> float:
    """Return the sum (a, a_residue) less (b, b_residue): 0 if no more than rounding of terms of one sign."""
    result = (a - b) + (a_residue - b_residue)
    return 0.0 if abs(result) <= ROUNDING * (abs(a) + abs(b)) else result


@kernel
def correct_mean(arms: Table, arm: int, was: float, reward: float) -> None:
    """Put a reward in the place of another in the arm's sum (with its residue) and mean."""
    for change in (-was, reward):
        total, lost = two_sum(arms[arm]["sum"], change)
        arms[arm]["sum"] = total
        arms[arm]["residue"] += lost
    arms[arm]["mean"] = quotient(arms[arm]["sum"], arms[arm]["residue"], arms[arm]["count"])


@kernel
def learn_mean(arms: Table, arm: int, reward: float) -> None:
    """Add a reward to the arm's count, sum (with its residue) and mean."""
    arms[arm]["count"] += 1
    total, lost = two_sum(arms[arm]["sum"], reward)
    arms[arm]["sum"] = total
    arms[arm]["residue"] += lost
    arms[arm]["mean"] = quotient(total, arms[arm]["residue"], arms[arm]["count"])


@kernel
def hypotenuse(a: float, b: float) -> float:
    """Return sqrt(a^2 + b^2), for a and b at least 0, in the same bits in Python and compiled.

    `math.hypot` is rounded otherwise in Python than compiled. Nothing overflows on the way.
    """
    larger = max(a, b)
    if larger == 0.0 or larger == math.inf:
        return larger
    ratio = min(a, b) / larger
    return larger * math.sqrt(1.0 + ratio * ratio)


@kernel
def unit_reward(parameters: Any, reward: float) -> float:
    """Rescale a reward from the range of a `BoundedPolicy` to [0, 1]; needs ``low`` and ``width``."""
    return (reward - parameters.low) / parameters.width
