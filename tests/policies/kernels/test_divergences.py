"""Divergences against their definition, confidence bounds against scipy's root finder."""

import math

import numba
import numpy as np
import pytest
from scipy import integrate, optimize, stats

from brigand.policies.kernels import divergences
from brigand.policies.kernels.divergences import (
    KINDS,
    conjugate,
    divergence,
    klucb_lower,
    klucb_upper,
    natural,
)

SIGMA = 0.7
BOTH = (klucb_upper, klucb_lower)
MEANS = {
    "bernoulli": [1e-6, 0.01, 0.3, 0.5, 0.7, 0.99, 1 - 1e-6],
    "gaussian": [-3.0, 0.0, 0.2, 50.0],
    "exponential": [1e-3, 0.5, 1.0, 40.0, 1e6],
    "poisson": [1e-3, 0.5, 1.0, 40.0, 1e6],
}
BOUNDS = [1e-6, 1e-4, 1e-2, 0.1, 1.0, 5.0, 20.0]
CASES = [(kind, mean, bound) for kind in KINDS for mean in MEANS[kind] for bound in BOUNDS]


@pytest.mark.parametrize(
    ("kind", "law"),
    [
        ("gaussian", lambda mean: stats.norm(mean, SIGMA)),
        ("exponential", lambda mean: stats.expon(scale=mean)),
    ],
)
def test_continuous_divergences_are_integrals_of_the_log_likelihood_ratio(kind, law):
    for p, q in [(0.5, 0.9), (2.0, 0.7)]:
        one, other = law(p), law(q)
        value, _ = integrate.quad(
            lambda x, a=one, b=other: a.pdf(x) * (a.logpdf(x) - b.logpdf(x)), one.ppf(1e-14), one.isf(1e-14)
        )
        assert divergence(KINDS[kind], p, q, SIGMA) == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize(("kind", "law"), [("bernoulli", stats.bernoulli), ("poisson", stats.poisson)])
def test_discrete_divergences_are_sums_of_the_log_likelihood_ratio(kind, law):
    for p, q in [(0.5, 0.9), (0.9, 0.2), (0.3, 0.3)]:
        x = np.arange(2 if kind == "bernoulli" else 60)
        value = (law.pmf(x, p) * (law.logpmf(x, p) - law.logpmf(x, q))).sum()
        assert divergence(KINDS[kind], p, q, 1.0) == pytest.approx(value, rel=1e-12, abs=1e-15)


def test_divergences_are_clipped_where_a_logarithm_is_infinite():
    top = -math.log(1e-12)
    assert divergence(0, 0.0, 0.0, 1.0) == divergence(0, 1.0, 1.0, 1.0) == 0.0
    assert divergence(0, 0.0, 1.0, 1.0) == pytest.approx(top)
    assert divergence(0, 1.0, 0.0, 1.0) == pytest.approx(top, rel=1e-5)
    assert divergence(0, 0.5, 1.0, 1.0) == pytest.approx(0.5 * top - math.log(2))
    assert divergence(3, 0.0, 2.0, 1.0) == 2.0
    assert divergence(3, 1.0, 0.0, 1.0) == pytest.approx(top - 1)
    assert math.isfinite(divergence(2, 0.0, 1.0, 1.0))
    assert math.isfinite(divergence(2, 1.0, 0.0, 1.0))


@pytest.mark.parametrize("kind", ["bernoulli", "exponential", "poisson"])
def test_the_three_parts_add_up_to_the_divergence(kind):
    number = KINDS[kind]
    for p in [0.01, 0.4, 0.95]:
        for q in [0.02, 0.5, 0.9]:
            theta, psi = natural(number, q)
            parts = conjugate(number, p) - p * theta + psi
            assert parts == pytest.approx(divergence(number, p, q, 1.0), rel=1e-10, abs=1e-13)
    assert natural(number, 0.0) == (0.0, -math.inf)


def exact(kind, mean, bound, sign):
    """Return the bound by scipy's brentq, from the definition alone."""

    def d(q):
        if kind == "bernoulli":
            return mean * math.log(mean / q) + (1 - mean) * (math.log1p(-mean) - math.log1p(-q))
        if kind == "gaussian":
            return (mean - q) ** 2 / (2 * SIGMA**2)
        x = (q - mean) / mean
        log = math.log1p(x) if abs(x) < 0.5 else math.log(q / mean)
        return mean / q - 1 + log if kind == "exponential" else q - mean - mean * log

    if kind == "bernoulli":
        far = 1 - 2.0**-53 if sign > 0 else 1e-300
    elif kind == "gaussian" or sign > 0:
        far = mean + sign
        while d(far) < bound:
            far = mean + 2 * (far - mean)
    else:
        far = mean * 1e-12
        while d(far) < bound:
            far *= 1e-12
            if far < 1e-280:
                return 0.0
    if d(far) < bound:
        return far
    return optimize.brentq(lambda q: d(q) - bound, mean, far, xtol=1e-300, rtol=1e-15, maxiter=2000)


@pytest.mark.parametrize(("kind", "mean", "bound"), CASES)
def test_bounds_against_scipy(kind, mean, bound):
    """To 1e-5 of the distance to the mean: the definition itself is no more exact for small bounds."""
    for function, sign in ((klucb_upper, 1), (klucb_lower, -1)):
        value = function(KINDS[kind], mean, bound, SIGMA)
        expected = exact(kind, mean, bound, sign)
        tolerance = 1e-5 * abs(expected - mean) if bound < 1e-3 else 1e-9 * abs(expected - mean)
        assert value == pytest.approx(expected, rel=1e-14, abs=max(tolerance, 1e-15))


@pytest.mark.parametrize(
    ("kind", "top"), [(kind, top) for kind in KINDS for top in (1.0, 30.0, 1e150)[: 3 if KINDS[kind] else 1]]
)
def test_lower_mean_and_upper_are_in_order_and_monotone_ends_included(kind, top):
    inside = np.linspace(0, top, 41)[1:-1].tolist()
    for mean in [0.0, 5e-324, 1e-300, 1e-13, 1e-9, *inside, top * (1 - 1e-9), top * (1 - 1e-15), top]:
        before = (mean, mean)
        bounds = [-1.0, 0.0, 5e-324, 1e-300, 1e-18, 1e-12, 1e-6, 1e-3, 0.1, 1.0, 10.0, 40.0, 200.0]
        for bound in [*bounds, 1e4, 1e100, 1e300]:
            lower = klucb_lower(KINDS[kind], mean, bound, SIGMA)
            upper = klucb_upper(KINDS[kind], mean, bound, SIGMA)
            assert lower <= mean <= upper
            slack = 1e-9 * abs(mean) + 1e-12
            assert lower <= before[0] + slack
            assert upper >= before[1] - slack
            if kind == "bernoulli":
                assert lower >= 0
                assert upper <= 1
            before = (lower, upper)


def test_bounds_at_the_ends_of_the_range_by_hand():
    assert klucb_upper(0, 1.0, 0.3, 1.0) == 1.0
    assert klucb_upper(0, 0.0, 0.3, 1.0) == pytest.approx(1 - math.exp(-0.3), rel=1e-15)
    assert klucb_lower(0, 1.0, 0.3, 1.0) == pytest.approx(math.exp(-0.3), rel=1e-15)
    assert klucb_lower(0, 0.0, 0.3, 1.0) == 0.0
    assert klucb_upper(0, 0.5, 100.0, 1.0) == 1.0
    assert klucb_upper(1, 2.0, 0.5, 3.0) == 5.0
    assert klucb_lower(1, 2.0, 0.5, 3.0) == -1.0
    assert klucb_upper(3, 0.0, 0.3, 1.0) == 0.3
    assert klucb_lower(3, 0.0, 0.3, 1.0) == 0.0


@pytest.mark.parametrize("kind", list(KINDS))
def test_newton_needs_few_iterations(kind, monkeypatch):
    """With 20 allowed the bounds are the same: none of the grid needs more."""
    values = [function(KINDS[kind], m, b, 1.0) for m in MEANS[kind] for b in BOUNDS for function in BOTH]
    monkeypatch.setattr(divergences, "ITERATIONS", 20)
    again = [function(KINDS[kind], m, b, 1.0) for m in MEANS[kind] for b in BOUNDS for function in BOTH]
    assert values == again


@pytest.mark.full
def test_compiled_equals_plain_python():
    @numba.njit(error_model="numpy")
    def both(kind, mean, bound, sigma):
        return klucb_lower(kind, mean, bound, sigma), klucb_upper(kind, mean, bound, sigma)

    edges = [(k, m, b) for k in KINDS for m in (0.0, 1e-300, 1e-13, 1.0) for b in (-1.0, 0.0, 1e-18, 1e4)]
    for kind, mean, bound in CASES + edges:
        compiled = both(KINDS[kind], mean, bound, SIGMA)
        assert compiled[0] == pytest.approx(klucb_lower(KINDS[kind], mean, bound, SIGMA), rel=1e-14)
        assert compiled[1] == pytest.approx(klucb_upper(KINDS[kind], mean, bound, SIGMA), rel=1e-14)
