"""Kullback-Leibler divergences of one-parameter exponential families, and the confidence bounds they give.

d(p, q) is the divergence between the members of a family with means p and q::

    Bernoulli    p log(p / q) + (1 - p) log((1 - p) / (1 - q))    means in [0, 1]
    Gaussian     (p - q)^2 / (2 sigma^2)                          all means, sigma known
    exponential  p / q - 1 - log(p / q)                           means > 0
    Poisson      q - p + p log(p / q)                             means >= 0

`klucb_upper` is max{q : d(mean, q) <= bound}, `klucb_lower` the least such q. Both are Newton's iteration
from a point beyond the root: d is convex in q (in log q for exponential), so that every iterate stays beyond
the root, and it converges quadratically without a bracket. The points come from d(p, q) = integral from p to
q of (x - p) / V(x) dx, V the variance of the member with mean x: any V' >= V on [p, q] gives a smaller d,
whose root lies beyond. V' = 1/4 is Pinsker's inequality; V' = q and V' = p (1 - p) are better for small and
large p.

Source: Garivier, Cappe, "The KL-UCB algorithm for bounded stochastic bandits and beyond", COLT 2011; Cappe,
Garivier, Maillard, Munos, Stoltz, "Kullback-Leibler upper confidence bounds for optimal sequential
allocation", Annals of Statistics 41, 2013.
"""

from __future__ import annotations

import math

from brigand.jit import kernel

KINDS: dict[str, int] = {"bernoulli": 0, "gaussian": 1, "exponential": 2, "poisson": 3}
"""The number of each family, for the kernels."""
BERNOULLI, GAUSSIAN, EXPONENTIAL, POISSON = 0, 1, 2, 3

TINY = 1e-12  # means are kept so far from where a logarithm is infinite
ITERATIONS = 50  # never reached: 3 to 8 do, up to 20 for bounds of a thousand
CLOSE = 1e-8  # a step of this size, relative to the distance to the mean, is Newton's last


@kernel
def clip(mean: float) -> float:
    """Keep a Bernoulli mean off 0 and 1."""
    return min(max(mean, TINY), 1.0 - TINY)


@kernel
def bernoulli_kl(p: float, q: float) -> float:
    p, q = clip(p), clip(q)
    return max(0.0, p * math.log(p / q) + (1.0 - p) * math.log((1.0 - p) / (1.0 - q)))


@kernel
def gaussian_kl(p: float, q: float, sigma: float) -> float:
    distance = (p - q) / sigma
    return 0.5 * distance * distance


@kernel
def exponential_kl(p: float, q: float) -> float:
    ratio = max(p, TINY) / max(q, TINY)
    # A ratio can underflow; its logarithm, as a difference, cannot.
    return max(0.0, ratio - 1.0 - (math.log(max(p, TINY)) - math.log(max(q, TINY))))


@kernel
def poisson_kl(p: float, q: float) -> float:
    if p < TINY:
        return max(0.0, q - p)
    return max(0.0, q - p + p * (math.log(p) - math.log(max(q, TINY))))


@kernel
def divergence(kind: int, p: float, q: float, sigma: float) -> float:
    """Return d(p, q) in the family `kind` (see `KINDS`); `sigma` counts in the Gaussian one alone."""
    if kind == BERNOULLI:
        return bernoulli_kl(p, q)
    if kind == GAUSSIAN:
        return gaussian_kl(p, q, sigma)
    if kind == EXPONENTIAL:
        return exponential_kl(p, q)
    return poisson_kl(p, q)


@kernel
def negentropy(p: float) -> float:
    """Return p log p + (1 - p) log(1 - p); 0 for p <= 0 and p >= 1."""
    return p * math.log(p) + (1.0 - p) * math.log1p(-p) if 0.0 < p < 1.0 else 0.0


@kernel
def conjugate(kind: int, p: float) -> float:
    """Return phi(p), with which d(p, q) = phi(p) - p theta(q) + psi(q); theta and psi are `natural`.

    In the Gaussian family the three give d = -inf: its confidence bound costs no more than d.
    """
    if kind == BERNOULLI:
        return negentropy(p)
    if kind == EXPONENTIAL:
        return -1.0 - math.log(max(p, TINY))
    if kind == POISSON and p >= TINY:
        return p * math.log(p) - p
    return 0.0


@kernel
def natural(kind: int, q: float) -> tuple[float, float]:
    """Return (theta(q), psi(q)), see `conjugate`; (0, -inf) where they do not exist."""
    if kind == GAUSSIAN or not q > 0.0 or (kind == BERNOULLI and not q < 1.0):
        return 0.0, -math.inf
    if kind == BERNOULLI:
        rest = math.log1p(-q)
        return math.log(q) - rest, -rest
    if kind == EXPONENTIAL:
        return -1.0 / q, math.log(q)
    return math.log(q), q


@kernel
def bernoulli_upper(mean: float, bound: float) -> float:
    if mean >= 1.0:
        return 1.0
    if mean <= 0.0:
        return -math.expm1(-bound)
    phi = negentropy(mean)
    if mean >= 0.5:
        q = mean + math.sqrt(2.0 * bound * mean * (1.0 - mean))
    else:
        q = mean + min(math.sqrt(0.5 * bound), bound + math.sqrt(bound * (bound + 2.0 * mean)))
    if q > 0.9:
        # d(p, q) >= phi(p) - (1 - p) log(1 - q), nearly exact at this end.
        q = min(q, -math.expm1((phi - bound) / (1.0 - mean)))
    for _ in range(ITERATIONS):
        if not mean < q < 1.0:
            break
        excess = phi - mean * math.log(q) - (1.0 - mean) * math.log1p(-q) - bound
        if not excess > 0.0:
            break
        step = excess * q * (1.0 - q) / (q - mean)
        q -= step
        if step <= CLOSE * min(q - mean, 1.0 - q):
            break
    return min(max(q, mean), 1.0)


@kernel
def exponential_root(bound: float, u: float) -> float:
    """Return exp(u) of the root u of u + exp(-u) - 1 = bound, u = log(q / p), from a point beyond it."""
    for _ in range(ITERATIONS):
        drop = math.expm1(-u)
        excess = u + drop - bound
        if u == 0.0 or not excess > 0.0:
            break
        step = -excess / drop
        u -= step
        if abs(step) <= CLOSE * abs(u):
            break
    return math.exp(min(u, 700.0))


@kernel
def poisson_root(bound: float, x: float) -> float:
    """Return 1 + x for the root x of x - log(1 + x) = bound, x = q / p - 1, from a point beyond it."""
    for _ in range(ITERATIONS):
        if x == 0.0 or not -1.0 < x < math.inf:
            break
        excess = x - math.log1p(x) - bound
        if not excess > 0.0:
            break
        step = excess * (1.0 + x) / x
        x -= step
        if abs(step) <= CLOSE * abs(x):
            break
    return 1.0 + x


@kernel
def klucb_upper(kind: int, mean: float, bound: float, sigma: float) -> float:
    """Return max{q : d(mean, q) <= bound}; the mean itself for a bound of 0 or less.

    Parameters
    ----------
    kind : int
        The family, see `KINDS`.
    mean : float
        In the range of the family; an exponential mean below 1e-12 is taken for 1e-12.
    bound : float
        Finite.
    sigma : float
        The standard deviation in the Gaussian family; ignored in the others.
    """
    if not bound > 0.0:
        return mean
    if kind == BERNOULLI:
        return bernoulli_upper(mean, bound)
    if kind == GAUSSIAN:
        return mean + sigma * math.sqrt(2.0 * bound)
    if kind == EXPONENTIAL:
        # u + exp(-u) - 1 is at least u - 1 and at least u^2 / (2 + u), for u > 0.
        start = min(0.5 * (bound + math.sqrt(bound * (bound + 8.0))), bound + 1.0)
        return max(mean, TINY) * exponential_root(bound, start)
    if mean < TINY:
        return mean + bound
    share = bound / mean
    return max(mean, mean * poisson_root(share, share + math.sqrt(share * (share + 2.0))))


@kernel
def klucb_lower(kind: int, mean: float, bound: float, sigma: float) -> float:
    """Return min{q : d(mean, q) <= bound}; arguments as in `klucb_upper`."""
    if not bound > 0.0:
        return mean
    if kind == BERNOULLI:
        return min(mean, 1.0 - bernoulli_upper(1.0 - mean, bound))
    if kind == GAUSSIAN:
        return mean - sigma * math.sqrt(2.0 * bound)
    if kind == EXPONENTIAL:
        # With s = -u > 0: exp(s) - s - 1 is at least s^2 / 2, and above `bound` at s = 1 + log(1 + bound).
        start = -min(math.sqrt(2.0 * bound), 1.0 + math.log1p(bound))
        return min(mean, max(mean, TINY) * exponential_root(bound, start))
    if mean < TINY:
        return 0.0
    share = bound / mean
    # x - log(1 + x) is at least x^2 / 2 for x < 0, and above `share` at x = exp(-1 - share) - 1.
    return min(mean, mean * poisson_root(share, max(-math.sqrt(2.0 * share), math.expm1(-1.0 - share))))
