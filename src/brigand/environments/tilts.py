"""Exponentially tilted rewards: of a law P(dx), the law exp(theta x - psi(theta)) P(dx).

psi(theta) = log E exp(theta X). The tilted law is of the same family, and so are its sums: Gaussian with mean
mu + theta sigma^2; Bernoulli with odds times exp(theta); exponential with mean m / (1 - theta m), for theta <
1 / m; Poisson with mean m exp(theta); finitely many values with probabilities proportional to p exp(theta x).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from brigand.environments.totals import BINOMIAL, GAMMA, GAUSSIAN, POISSON
from brigand.jit import kernel


@kernel
def tilted(total: Any, law: Any, table: Any, theta: float) -> tuple[float, float, float]:
    """Return psi(theta), and mean and variance of the tilted law.

    Parameters
    ----------
    total : record
        The law of the sum, of a known kind, see `brigand.environments.totals`.
    law, table
        See `brigand.environments.draw`.
    theta : float
    """
    kind = total["kind"]
    if kind == GAUSSIAN:
        variance = law["b"] * law["b"]
        return theta * (law["a"] + 0.5 * theta * variance), law["a"] + theta * variance, variance
    if kind == BINOMIAL:
        p = law["a"]
        chance = p * math.exp(theta) / (1.0 + p * math.expm1(theta))
        return math.log1p(p * math.expm1(theta)), chance, chance * (1.0 - chance)
    if kind == GAMMA:
        mean = law["a"] / (1.0 - theta * law["a"])
        return -math.log1p(-theta * law["a"]), mean, mean * mean
    if kind == POISSON:
        mean = total["mean"] * math.exp(theta)
        return total["mean"] * math.expm1(theta), mean, mean
    values = law["start"] + law["size"]
    centre = table[values] if theta < 0.0 else table[values + law["size"] - 1]
    whole, first, second, below = 0.0, 0.0, 0.0, 0.0
    for i in range(law["size"]):
        upto = 1.0 if i + 1 == law["size"] else table[law["start"] + i]
        distance = table[values + i] - centre
        mass = (upto - below) * math.exp(theta * distance)
        whole += mass
        first += mass * distance
        second += mass * distance * distance
        below = upto
    first /= whole
    return theta * centre + math.log(whole), centre + first, second / whole - first * first


@kernel
def draw_tilted(total: Any, law: Any, table: Any, theta: float, n: int, rng: np.random.Generator) -> float:
    """Return the sum of n independent rewards of the tilted law."""
    kind = total["kind"]
    if kind == GAUSSIAN:
        mean = law["a"] + theta * law["b"] * law["b"]
        return float(mean * n + law["b"] * math.sqrt(n) * rng.standard_normal())
    if kind == BINOMIAL:
        return float(rng.binomial(n, law["a"] * math.exp(theta) / (1.0 + law["a"] * math.expm1(theta))))
    if kind == GAMMA:
        return float(law["a"] / (1.0 - theta * law["a"]) * rng.standard_gamma(float(n)))
    if kind == POISSON:
        return float(rng.poisson(total["mean"] * math.exp(theta) * n))
    return draw_tilted_values(law, table, theta, n, rng)


@kernel
def draw_tilted_values(law: Any, table: Any, theta: float, n: int, rng: np.random.Generator) -> float:
    """Return the sum of n draws from finitely many values: a binomial number for each value in turn."""
    values = law["start"] + law["size"]
    centre = table[values] if theta < 0.0 else table[values + law["size"] - 1]
    left, below = 0.0, 0.0
    for i in range(law["size"]):
        upto = 1.0 if i + 1 == law["size"] else table[law["start"] + i]
        left += (upto - below) * math.exp(theta * (table[values + i] - centre))
        below = upto
    result, below = 0.0, 0.0
    for i in range(law["size"]):
        upto = 1.0 if i + 1 == law["size"] else table[law["start"] + i]
        mass = (upto - below) * math.exp(theta * (table[values + i] - centre))
        count = n
        if i + 1 < law["size"]:
            count = rng.binomial(n, min(max(mass / left, 0.0), 1.0)) if n > 0 and left > 0.0 else 0
        result += count * table[values + i]
        n -= count
        left -= mass
        below = upto
    return result
