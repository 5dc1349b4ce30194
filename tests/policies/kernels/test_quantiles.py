"""Quantiles beside SciPy's, and the bound of later ones."""

import math

import numpy as np
import pytest
from scipy import special, stats

from brigand.policies.kernels.quantiles import beta_quantile, beta_tail, normal_quantile
from strength import runs


def laws(n):
    """Return parameters and levels of n Beta laws, some of them very narrow."""
    rng = np.random.default_rng(0)
    parameters = 1 + np.floor(10 ** rng.uniform(-1, 5, (n, 2)))
    return zip(*parameters.T.tolist(), rng.uniform(0.01, 30, n).tolist(), strict=True)


def test_beta_quantiles_are_those_of_scipy():
    """Within 1e-8 standard deviations; 1e-9 were measured."""
    for a, b, level in laws(runs(100, 1000)):
        found, _ = beta_quantile(a, b, level)
        expected = special.betainccinv(a, b, math.exp(-level))
        assert abs(found - expected) < 1e-8 * stats.beta(a, b).std() + 1e-15, (a, b, level)


@pytest.mark.parametrize("b", [1.0, 2.0, 5.0])
@pytest.mark.parametrize("level", [0.0, 0.3, 5.0, 700.0])
def test_beta_quantiles_in_closed_form(b, level):
    """Beta(1, b): 1 - p^(1 / b); Beta(b, 1): (1 - p)^(1 / b)."""
    p = math.exp(-level)
    assert beta_quantile(1.0, b, level)[0] == pytest.approx(1 - p ** (1 / b), rel=1e-12)
    assert beta_quantile(b, 1.0, level)[0] == pytest.approx((1 - p) ** (1 / b), rel=1e-12)


def test_the_tail_and_its_length_are_those_of_scipy():
    for a, b, level in laws(runs(50, 200)):
        law = stats.beta(a, b)
        for x in (beta_quantile(a, b, level)[0], law.mean(), law.ppf(0.1)):
            if x > 1 - 1e-9:  # where x itself is rounded
                continue
            log_tail, length = beta_tail(a, b, special.betaln(a, b), x)
            assert log_tail == pytest.approx(law.logsf(x), rel=1e-7, abs=1e-9)
            assert length == pytest.approx(law.sf(x) / law.pdf(x), rel=1e-6)


def test_later_quantiles_are_bounded_by_earlier_ones():
    """By concavity, exactly; the margin is for rounding."""
    for a, b, level in laws(runs(100, 300)):
        before, length = beta_quantile(a, b, level)
        for more in (0.001, 0.1, 1.0, 10.0):
            later = beta_quantile(a, b, level + more)[0]
            assert before - 1e-12 <= later <= before + length * more + 1e-12


@pytest.mark.parametrize("level", [math.log(2), 0.7, 1.0, 3.0, 20.0, 300.0, 680.0])
def test_normal_quantiles_are_those_of_scipy(level):
    assert normal_quantile(level) == pytest.approx(-special.ndtri_exp(-level), rel=1e-12, abs=1e-14)
    assert normal_quantile(0.0) == -math.inf
