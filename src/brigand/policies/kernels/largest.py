"""The probability that one of several independent random variables is the largest: Thompson's choice.

With densities f_j and distribution functions F_j it is the integral of f_i times the product of F_j over all
other j. The line is cut into panels, each no wider than what changes there. On each, all densities are taken
at Gauss-Legendre nodes, and every F_j is the integral of the polynomial through them. So only densities are
evaluated, and each is divided by its own integral. The error is below 1e-9 (measured in
tests/policies/kernels/test_largest.py).

A law is a row ``(a, b, kind)``: `BETA` with its two parameters, both at least 1; `NORMAL` with mean and
standard deviation; or Student's t with kind > 0 degrees of freedom, location and scale. A scale of 0 is a
constant. All Beta, or none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from brigand.jit import kernel, kernel_beside
from brigand.policies.base import Header, Table

FIRST, DRAWN, LAST = 1, 0, -1
"""What the index of an arm is: infinite, a draw from a law, or NaN."""
BETA, NORMAL = -1.0, 0.0
ORDER = 16
"""Nodes of a panel."""
MOST = 1_000_000
"""Values of densities for one probability, which take some 20 ms; NaN if it would take more."""
FAR = 10.0
"""So many scales away, nothing of a normal or Beta law is left."""
TAIL = 1e15
"""One over the mass of Student's law that is left out."""
END = 1e-9
"""The first panel at an end of [0, 1] where a density is no polynomial; then they double."""


def _nodes() -> tuple[Any, Any, Any]:
    """Return nodes and weights on [-1, 1], and what makes integrals from -1 to each node of values there."""
    nodes, weights = np.polynomial.legendre.leggauss(ORDER)
    legendre = np.polynomial.legendre
    inverse = np.linalg.inv(legendre.legvander(nodes, ORDER - 1))  # values to coefficients
    integrals = np.array(
        [legendre.legval(nodes, legendre.legint(row, lbnd=-1)) for row in np.eye(ORDER)]
    ).T  # coefficients to integrals
    return nodes, weights, integrals @ inverse


NODES, WEIGHTS, INTEGRALS = _nodes()


@kernel
def centre(law: Any) -> tuple[float, float]:
    """Return where a law is, and its scale."""
    a, b = law[0], law[1]
    if law[2] != BETA:
        return a, b
    return a / (a + b), math.sqrt(a * b / (a + b + 1.0)) / (a + b)


@kernel
def ends(law: Any) -> tuple[float, float]:
    """Return between what almost all of a law lies."""
    middle, scale = centre(law)
    reach = FAR * scale * (math.pow(TAIL, 1.0 / law[2]) if law[2] > 0.0 else 1.0)
    if law[2] != BETA:
        return middle - reach, middle + reach
    return max(0.0, middle - 2.0 * reach), min(
        1.0, middle + 2.0 * reach
    )  # its tails are those of a gamma law


@kernel
def is_rough(power: float) -> bool:
    """Return whether x^power is no polynomial, nor close to one at 0."""
    return power < ORDER and power != math.floor(power)


@kernel
def density(law: Any, x: float, log_x: float, log_rest: float, peak: float) -> float:
    """Return a density at x, but for a factor; for Beta by log x, log(1 - x) and `log_peak`."""
    if law[2] == BETA:
        return math.exp((law[0] - 1.0) * log_x + (law[1] - 1.0) * log_rest - peak)
    z = (x - law[0]) / law[1]
    if law[2] == NORMAL:
        return math.exp(-0.5 * z * z)
    return math.exp(-0.5 * (law[2] + 1.0) * math.log1p(z * z / law[2]))


@kernel
def log_peak(law: Any) -> float:
    """Return the largest logarithm of a Beta law's density, but for a constant."""
    a, b = law[0] - 1.0, law[1] - 1.0
    found = 0.0
    if a > 0.0:
        found += a * math.log(a / (a + b))
    if b > 0.0:
        found += b * math.log(b / (a + b))
    return found


@kernel
def is_largest(laws: Any, place: int) -> float:
    """Return the probability that variable number `place` is the largest; constants that tie share theirs.

    Parameters
    ----------
    laws : float64 array of shape (n, 3)
        Of the variables, n >= 1.
    place : int

    Returns
    -------
    float
        NaN if it would take too long (`MOST`).
    """
    n = len(laws)
    constant, ties, top = -math.inf, 0, -math.inf
    for j in range(n):
        if laws[j, 1] == 0.0:
            if laws[j, 0] > constant:
                constant, ties = laws[j, 0], 1
            elif laws[j, 0] == constant:
                ties += 1
            top = max(top, laws[j, 0])
        else:
            top = max(top, ends(laws[j])[0])
    if laws[place, 1] == 0.0 and laws[place, 0] < constant:
        return 0.0
    # Who has nothing above the point that another is never below is no rival.
    rivals = np.empty(n, np.int64)
    count, own, low, high = 0, -1, math.inf, -math.inf
    for j in range(n):
        if laws[j, 1] == 0.0:
            continue
        first, last = ends(laws[j])
        if last >= top:
            own = count if j == place else own
            rivals[count] = j
            count += 1
            low, high = min(low, first), max(high, last)
    if laws[place, 1] != 0.0 and own < 0:
        return 0.0
    if count == 0:
        return 1.0 / ties
    total, before = integrate(laws, rivals[:count], own, low, high, constant)
    return before / ties if own < 0 else total


@kernel
def panel(laws: Any, rivals: Any, x: float, high: float, rough_low: bool, rough_high: bool) -> float:
    """Return the width of the panel that begins at x."""
    width = high - x
    for i in range(len(rivals)):
        middle, scale = centre(laws[rivals[i]])
        width = min(width, max(1.5 * scale, 0.4 * abs(x - middle)))
    if rough_low:
        width = min(width, max(x, END))
    if rough_high:
        width = min(width, max(0.5 * (1.0 - x), END))
    return width


@kernel
def integrate(
    laws: Any, rivals: Any, own: int, low: float, high: float, constant: float
) -> tuple[float, float]:
    """Return two integrals, both NaN if they would take too long.

    The density of rival number `own`, above the constant, times all other distribution functions; and the
    product of all distribution functions at the constant.
    """
    n = len(rivals)
    is_beta = laws[rivals[0], 2] == BETA
    rough_low, rough_high = False, False
    peaks = np.zeros(n)
    for i in range(n):
        if is_beta:
            peaks[i] = log_peak(laws[rivals[i]])
            rough_low = rough_low or is_rough(laws[rivals[i], 0] - 1.0)
            rough_high = rough_high or is_rough(laws[rivals[i], 1] - 1.0)
    # First the mass of each density, then the same again with what is below.
    masses, below = np.zeros(n), np.zeros(n)
    values, product = np.empty(ORDER), np.empty(ORDER)
    densities = np.empty((n, ORDER))
    total, at_constant = 0.0, 1.0 if high <= constant else 0.0
    for turn in range(2):
        x, work = low, 0
        while x < high:
            width = panel(laws, rivals, x, high, rough_low, rough_high)
            if x < constant < x + width:
                width = constant - x
            if not x + width > x:
                break
            work += n * ORDER
            if work > MOST // 2:
                return math.nan, math.nan
            for k in range(ORDER):
                at = x + 0.5 * width * (1.0 + NODES[k])
                log_at = math.log(at) if is_beta else 0.0
                log_rest = math.log1p(-at) if is_beta else 0.0
                for i in range(n):
                    densities[i, k] = density(laws[rivals[i]], at, log_at, log_rest, peaks[i])
                product[k] = 1.0
            for i in range(n):
                mass = 0.0
                for k in range(ORDER):
                    mass += WEIGHTS[k] * densities[i, k]
                mass *= 0.5 * width
                if turn == 0:
                    masses[i] += mass
                    continue
                if i == own:
                    for k in range(ORDER):
                        values[k] = densities[i, k] / masses[i]
                elif x >= constant:
                    for k in range(ORDER):
                        inside = 0.0
                        for m in range(ORDER):
                            inside += INTEGRALS[k, m] * densities[i, m]
                        product[k] *= (below[i] + 0.5 * width * inside) / masses[i]
                below[i] += mass
            if turn == 1 and own >= 0 and x >= constant:
                part = 0.0
                for k in range(ORDER):
                    part += WEIGHTS[k] * values[k] * product[k]
                total += 0.5 * width * part
            x += width
            if turn == 1 and x == constant:
                at_constant = 1.0
                for i in range(n):
                    at_constant *= below[i] / masses[i]
    return total, at_constant


def draw_propensity(law: Callable[..., int]) -> Callable[..., float]:
    """Return the kernel `propensity` of a policy that chooses the arm with the largest of independent draws.

    Parameters
    ----------
    law : callable
        A kernel called ``law``, or ``x_law``: ``law(parameters, header, arms, memory, arm, row)`` writes the
        law of an arm's draw into a row of `is_largest`, and returns `DRAWN`; or `FIRST` for an arm that is
        chosen before others, `LAST` for one that is chosen after them. Its module assigns what is returned to
        ``propensity``, or to ``propensity_x``.
    """

    @kernel_beside(law, "_".join(["propensity", *law.__name__.split("_")[:-1]]))
    def propensity(
        parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, arm: int
    ) -> float:
        n = len(candidates)
        laws = np.zeros((n, 3))
        first, drawn, own, place = 0, 0, LAST, -1
        for i in range(n):
            said = law(parameters, header, arms, memory, candidates[i], laws[drawn])
            if candidates[i] == arm:
                own, place = said, drawn
            first += said == FIRST
            drawn += said == DRAWN
        if first > 0:
            return 1.0 / first if own == FIRST else 0.0
        if drawn == 0:
            return 1.0 / n
        if own != DRAWN:
            return 0.0
        if laws[0, 2] != BETA:  # places count from one of them: what is small beside the means is not lost
            origin = laws[place, 0]
            for j in range(drawn):
                laws[j, 0] -= origin
        return is_largest(laws[:drawn], place)

    return propensity
