"""From one step's random numbers to the reward of the arm that was pulled.

A step draws at most one uniform and one standard normal number, whatever arm is pulled: so at a given
step all policies meet the same underlying numbers, and differences between policies are paired. Every
law is a function of one of the two, a user's of both (`brigand.environments.functions`). Laws whose
quantile function has no closed form (beta, Student t) use a cubic spline of SciPy's, in the variable
log(u / (1 - u)); see `continuous.quantile_spline`.
"""

from __future__ import annotations

import math
from typing import Any

from brigand.jit import kernel

BERNOULLI, AFFINE, EXPONENTIAL, PARETO, NORMAL, CHOICE, DISCRETE, SPLINE, GEOMETRIC, FUNCTION = range(10)
NORMALS = (NORMAL,)
"""The kinds that use the standard normal number; all others use the uniform one, and FUNCTION both."""

HALF_ULP = 2.0**-54
MAX_LOGIT = 38.0
"""log(u / (1 - u)) lies within +-37.5 for every u that a generator of 53 bits can draw."""


@kernel
def draw(law: Any, table: Any, uniform: float, normal: float) -> float:
    """Return a reward.

    Parameters
    ----------
    law : record
        ``kind``, the numbers ``a`` ... ``d``, and where in `table` its numbers are (``start``, ``size``).
    table : float64 array
        Numbers of all laws of the environment.
    uniform : float
        Uniform in [0, 1).
    normal : float
        Standard normal.
    """
    kind = law["kind"]
    if kind == BERNOULLI:
        return 1.0 if uniform < law["a"] else 0.0
    if kind == NORMAL:
        return min(max(law["a"] + law["b"] * normal, law["c"]), law["d"])
    if kind == AFFINE:
        return law["a"] + law["b"] * uniform
    if kind == EXPONENTIAL:
        return -law["a"] * math.log1p(-uniform)
    if kind == PARETO:
        return law["a"] * (1.0 - uniform) ** law["b"]
    if kind == CHOICE:
        return table[law["start"] + int(uniform * law["size"])]
    if kind == DISCRETE:
        return discrete(law, table, uniform)
    if kind == GEOMETRIC:
        return float(math.floor(-law["a"] * math.log(1.0 - uniform)))  # 1 - uniform is exact
    return spline(law, table, uniform)


@kernel
def discrete(law: Any, table: Any, uniform: float) -> float:
    """Return the first value whose cumulative probability exceeds `uniform`, by bisection."""
    low = 0
    high = law["size"] - 1
    while low < high:
        middle = (low + high) // 2
        if table[law["start"] + middle] > uniform:
            high = middle
        else:
            low = middle + 1
    return table[law["start"] + law["size"] + low]


@kernel
def spline(law: Any, table: Any, uniform: float) -> float:
    """Evaluate the quantile spline, a cubic for each of ``size`` cells, clipped to [c, d]."""
    logit = math.log((uniform + HALF_ULP) / ((1.0 - uniform) - HALF_ULP))
    position = (logit + MAX_LOGIT) * law["a"]  # a: cells per unit
    cell = int(position)
    x = (position - cell) / law["a"]
    at = law["start"] + 4 * cell
    result = ((table[at] * x + table[at + 1]) * x + table[at + 2]) * x + table[at + 3]
    return min(max(result, law["c"]), law["d"])
