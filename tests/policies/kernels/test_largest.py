"""The probability of being the largest, beside closed forms and SciPy's quadrature: all within 1e-9."""

import itertools
import math

import numba
import numpy as np
import pytest
from scipy import integrate, stats

from brigand.policies.kernels.largest import BETA, NORMAL, is_largest
from strength import runs

TOLERANCE = 1e-9
LAWS = {"Beta": BETA, "rough Beta": BETA, "normal": NORMAL, "Student": 1.0}


@pytest.fixture(scope="module")
def compiled():
    return numba.njit(lambda laws, place: is_largest(laws, place), error_model="numpy")


def drawn(kind, rng):
    """Return the laws of up to 12 variables, some of them much wider than others."""
    n = rng.integers(1, 13)
    if kind == "Beta":
        return np.column_stack([1 + np.floor(10 ** rng.uniform(-1, 5, (n, 2))), np.full(n, BETA)])
    if kind == "rough Beta":
        return np.column_stack([1 + 10 ** rng.uniform(-6, 3, (n, 2)), np.full(n, BETA)])
    kinds = np.full(n, NORMAL) if kind == "normal" else 1 + np.floor(10 ** rng.uniform(0, 3, n))
    return np.column_stack([rng.normal(size=n), 10 ** rng.uniform(-4, 1, n), kinds])


def frozen(law):
    a, b, kind = law
    if kind == BETA:
        return stats.beta(a, b)
    return stats.norm(a, b) if kind == NORMAL else stats.t(kind, a, b)


def by_quadrature(laws, place):
    found = [frozen(law) for law in laws]
    own, others = found[place], [law for other, law in enumerate(found) if other != place]
    levels = [1e-13, 1e-3, 0.02, 0.5, 0.98, 0.999, 1 - 1e-13]
    points = sorted({float(x) for law in found for x in law.ppf(levels)})
    return sum(
        integrate.quad(
            lambda x: own.pdf(x) * math.prod(law.cdf(x) for law in others),
            *(low, high),
            epsabs=1e-12,
            epsrel=1e-10,
            limit=200,
        )[0]
        for low, high in itertools.pairwise(points)
    )


@pytest.mark.parametrize("kind", LAWS)
def test_probabilities_sum_to_one(kind, compiled):
    rng = np.random.default_rng(1)
    for _ in range(runs(4, 1000)):
        laws = drawn(kind, rng)
        assert sum(compiled(laws, place) for place in range(len(laws))) == pytest.approx(1, abs=TOLERANCE)


@pytest.mark.every(2)
@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
@pytest.mark.parametrize("kind", LAWS)
def test_probabilities_are_those_of_scipys_quadrature(kind, compiled):
    rng = np.random.default_rng(2)
    for _ in range(runs(1, 30)):
        laws = drawn(kind, rng)
        found = [compiled(laws, place) for place in range(len(laws))]
        place = int(np.argmax(found))
        assert found[place] == pytest.approx(by_quadrature(laws, place), abs=TOLERANCE)


def test_two_normal_variables(compiled):
    for gap, first, second in [(0.0, 1.0, 1.0), (0.3, 0.5, 2.0), (-4.0, 1.0, 1e-3), (1e-3, 1e-4, 1e-3)]:
        laws = np.array([[gap, first, NORMAL], [0.0, second, NORMAL]])
        expected = stats.norm.cdf(gap / math.hypot(first, second))
        assert compiled(laws, 0) == pytest.approx(expected, abs=TOLERANCE)
        assert is_largest(laws, 0) == pytest.approx(expected, abs=TOLERANCE)  # plain Python


def test_two_beta_variables(compiled):
    """Beta(3, 2) above a uniform variable: its mean. Two that are alike: a half."""
    assert compiled(np.array([[3.0, 2.0, BETA], [1.0, 1.0, BETA]]), 0) == pytest.approx(0.6, abs=TOLERANCE)
    assert compiled(np.array([[900.0, 2.0, BETA]] * 2), 1) == pytest.approx(0.5, abs=TOLERANCE)


def test_constants_share_what_no_other_variable_exceeds(compiled):
    laws = np.array([[0.5, 0, NORMAL], [0.5, 0, NORMAL], [0.4, 0.1, NORMAL], [0.3, 0.2, 3], [0.2, 0, NORMAL]])
    below = stats.norm(0.4, 0.1).cdf(0.5) * stats.t(3, 0.3, 0.2).cdf(0.5)
    found = [compiled(laws, place) for place in range(5)]
    assert found[:2] == pytest.approx([below / 2] * 2, abs=TOLERANCE)
    assert found[4] == 0
    assert sum(found) == pytest.approx(1, abs=TOLERANCE)
    assert [
        compiled(np.array([[1.0, 0, NORMAL], [1.0, 0, NORMAL], [0.5, 0, NORMAL]]), i) for i in range(3)
    ] == [
        0.5,
        0.5,
        0,
    ]


def test_there_is_no_number_where_it_would_take_too_long(compiled):
    assert math.isnan(compiled(np.array([[0.0, 1.0, NORMAL]] * 10_000), 0))
