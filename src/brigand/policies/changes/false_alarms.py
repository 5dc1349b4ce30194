"""Thresholds of detectors that are told how often they may give a false alarm.

Let an arm's rewards be independent, of one mean mu, and in [0, 1], in the order in which they arrive. A
threshold below is such that an alarm among its first T rewards has a probability of at most p. Each is proved
from Hoeffding's lemma, E exp(z (x - mu)) <= exp(z^2 / 8), so none needs the rewards' law. A proof counts all
that might go wrong, so the true probability is lower: docs/detectors.md has measured ones.

CUSUM
    With r = sqrt(log(4 / p) / (2 M)), the mean of M rewards is further than r from mu with probability p / 2
    at most. If it is not, a walk that begins anew at some step moves by no more than x - mu - (eps - r). With
    z = 8 (eps - r), exp(z walk) is a supermartingale: the walk reaches h with probability exp(-z h) at most
    (Ville). There are T beginnings and two walks: h = log(4 T / p) / (8 (eps - r)). This needs eps > r: eps
    is raised to 1.5 r where it is less.

Page-Hinkley
    Let u_j be the mean of the first j rewards. A walk is the sum of x_j - u_j - eps over the last L rewards,
    for some L. The sum of x_j - u_j is one of independent c_k (x_k - mu), and the squares of the c_k add up
    to no more than L (the x_j - u_j are orthogonal, as in Helmert's transformation). So one of the walks
    reaches h with probability

        2 T sum_L exp(-2 (h + eps L)^2 / L) <= 2 T exp(-8 h eps) (1 + 2 (h / eps) exp(4 h eps) K_1(4 h eps))

    at most, with K_1 the Bessel function, which is below its first two asymptotic terms. Also, for small eps,
    with probability T (T + 1) exp(-2 h^2 / T) at most. h is the smaller one for which this is p.

Window
    The sums of two times w / 2 rewards differ by more than b with probability 2 exp(-2 b^2 / w) at most, and
    there are no more than T tests: b = sqrt((w / 2) log(2 T / p)).

Likelihood ratio
    For x in [0, 1] and any q, (q / mu)^x ((1 - q) / (1 - mu))^(1 - x) has a mean of at most 1. So has its
    product over rewards, mixed over q by Beta(1/2, 1/2), which is at least exp(s kl(mean, mu)) / (2 sqrt(s))
    after s rewards (Krichevsky and Trofimov). Take this for the first s rewards, times the same for those
    after them. By Ville's inequality, G for this s ever reaches log(4 sqrt(s (n - s)) W) with probability
    1 / W at most. The threshold log(3 n^1.5 / delta) is larger than that for W = 1.5 sqrt(s) / delta. And 1 /
    W, summed over s = spacing, 2 spacing, ... < T, is at most (4 / 3) delta sqrt(T) / spacing. So delta =
    0.75 p spacing / sqrt(T).
"""

from __future__ import annotations

import math

from brigand import checks
from brigand.errors import InvalidValueError

MARGIN = 1.5
"""How many times r the drift of CUSUM is, at least."""


def check(policy: str, probability: object, threshold: str, value: object) -> float | None:
    """Return a probability, or None; refuse others, and one beside the threshold that it is to set."""
    if probability is None:
        return None
    found = checks.number(f"{policy}'s false_alarms", probability, 0.0, 1.0, above=0.0)
    if value is not None:
        raise InvalidValueError(f"{policy}'s false_alarms sets {threshold}: give one of them.")
    return found


def cusum(probability: float, steps: int, M: int, eps: float) -> tuple[float, float]:
    """Return eps and h of CUSUM."""
    radius = math.sqrt(math.log(4.0 / probability) / (2.0 * M))
    eps = max(eps, MARGIN * radius)
    return eps, math.log(4.0 * steps / probability) / (8.0 * (eps - radius))


def page_hinkley(probability: float, steps: int, eps: float) -> float:
    """Return h of the Page-Hinkley test."""
    high = math.sqrt(steps / 2.0 * (math.log(steps) + math.log(steps + 1.0) - math.log(probability)))
    if eps == 0.0 or _excess(high, probability, steps, eps) > 0.0:
        return high
    low = 0.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        if _excess(middle, probability, steps, eps) > 0.0:
            low = middle
        else:
            high = middle
    return high


def _excess(h: float, probability: float, steps: int, eps: float) -> float:
    """Return the logarithm of the ratio of the bound to the probability."""
    x = 4.0 * h * eps
    if x == 0.0:
        return math.inf
    bessel = math.sqrt(math.pi / (2.0 * x)) * (1.0 + 3.0 / (8.0 * x))
    return math.log(2.0 * steps / probability) - 2.0 * x + math.log1p(2.0 * h / eps * bessel)


def window(probability: float, steps: int, w: int) -> float:
    """Return b of the test of two halves of a window."""
    return math.sqrt(w / 2.0 * math.log(2.0 * steps / probability))


def likelihood_ratio(probability: float, steps: int, spacing: int) -> float:
    """Return delta of the generalised likelihood-ratio test."""
    return min(0.75 * probability * spacing / math.sqrt(steps), 1.0)
