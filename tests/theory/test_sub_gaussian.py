"""Sub-Gaussian parameters: values worked by hand, the inequality on a grid, what has none."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import integrate, special

import brigand as br
from brigand.theory.sub_gaussian import of_environment, sub_gaussian

LATTICE = np.concatenate([-np.geomspace(1e-3, 60, 40), np.geomspace(1e-3, 60, 40)])


@dataclass(frozen=True)
class Own(br.Distribution):
    """A user's own: uniform on the two ends."""

    low: float
    high: float

    @property
    def mean(self):
        return (self.low + self.high) / 2

    @property
    def variance(self):
        return (self.high - self.low) ** 2 / 4

    @property
    def support(self):
        return (self.low, self.high)

    def law(self):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("distribution", "sigma"),
    [
        (br.Gaussian(3.0, 2.5), 2.5),
        (br.Gaussian(3.0, 0.0), 0.0),
        (br.Bernoulli(0.5), 0.5),
        (br.Bernoulli(0.0), 0.0),
        (br.Bernoulli(1.0), 0.0),
        (br.Bernoulli(0.2), math.sqrt(0.6 / (2 * math.log(4)))),
        (br.Bernoulli(0.8), math.sqrt(0.6 / (2 * math.log(4)))),
        (br.Uniform(-1, 2), 3 / math.sqrt(12)),
        (br.Uniform(2, 2), 0.0),
        (br.Beta(1, 1), 1 / math.sqrt(12)),
        (br.Beta(2, 5), 1 / math.sqrt(32)),
        (br.ClippedGaussian(0.3, 0.2), 0.2),
        (br.ClippedGaussian(0.3, 7.0, -1, 2), 1.5),
        (br.ClippedGaussian(0.3, 0.0), 0.0),
        (br.FiniteSupport([0, 3, 9], [0.5, 0.5, 0]), 1.5),
        (br.FiniteSupport([4]), 0.0),
        (br.Empirical([1, 5, 2]), 2.0),
        (Own(-1, 5), 3.0),
    ],
)
def test_values_worked_by_hand(distribution, sigma):
    assert sub_gaussian(distribution) == pytest.approx(sigma, rel=1e-12, abs=0)


@pytest.mark.parametrize("p", [0.5 - 1e-4, 0.4995, 0.499, 0.498, 0.4, 0.1, 1e-3, 1e-9, 1e-100])
def test_bernoulli_is_stable_and_symmetric_around_one_half(p):
    x = 1 - 2 * p
    # (1 - 2p) / (2 log((1 - p) / p)) with log((1 - p) / p) = 2 artanh(1 - 2p)
    exact = x / (4 * math.atanh(x)) if p > 1e-4 else x / (2 * (math.log1p(-p) - math.log(p)))
    assert sub_gaussian(br.Bernoulli(p)) ** 2 == pytest.approx(exact, rel=2e-6)
    assert sub_gaussian(br.Bernoulli(p)) ** 2 >= exact * (1 - 1e-12)
    if p > 1e-15:
        assert sub_gaussian(br.Bernoulli(1 - p)) == pytest.approx(sub_gaussian(br.Bernoulli(p)), rel=1e-6)


def log_moments(distribution, s):
    """Return log E exp(s (X - E X)) by sums, special functions and quadrature."""
    mean = distribution.mean
    match distribution:
        case br.Gaussian(_, sigma):
            return (s * sigma) ** 2 / 2
        case br.Bernoulli(p):
            return np.logaddexp(np.log(1 - p), np.log(p) + s) - s * mean
        case br.Uniform(low, high):
            x = np.abs(s) * (high - low) / 2
            return x + np.log(-np.expm1(-2 * x) / (2 * x))
        case br.Beta(a, b):
            return np.log(special.hyp1f1(a, a + b, s)) - s * mean
        case br.ClippedGaussian(mu, sigma, low, high):
            ends = [
                (low, special.ndtr((low - mu) / sigma)),
                (high, special.ndtr((mu - high) / sigma)),
            ]
            atoms = sum(p * np.exp(s * (x - mean)) for x, p in ends)
            body = [
                integrate.quad(
                    lambda x, r=rate: math.exp(r * (x - mean) - ((x - mu) / sigma) ** 2 / 2), low, high
                )[0]
                for rate in s
            ]
            return np.log(atoms + np.array(body) / (sigma * math.sqrt(2 * math.pi)))
        case br.FiniteSupport(values, chances):
            return special.logsumexp(np.outer(s, values), b=chances, axis=1) - s * mean
        case br.Empirical(data):
            return special.logsumexp(np.outer(s, data), axis=1) - math.log(len(data)) - s * mean


def random_distributions():
    rng = np.random.default_rng(11)
    for _ in range(30):
        yield br.Gaussian(rng.normal(), rng.exponential())
        yield br.Bernoulli(rng.random() ** rng.choice([1, 8]))
        yield br.Uniform(-rng.random(), rng.random())
        yield br.Beta(*(0.02 + 10 ** rng.uniform(-2, 1.5, 2)))
        yield br.FiniteSupport(rng.normal(size=4), rng.dirichlet([0.5] * 4))
        yield br.Empirical(rng.normal(size=5))
    for _ in range(20):
        yield br.ClippedGaussian(rng.uniform(-0.5, 1.5), 10 ** rng.uniform(-1, 1))


def test_the_inequality_holds_for_200_random_distributions():
    tried = list(random_distributions())
    assert len(tried) == 200
    for distribution in tried:
        sigma = sub_gaussian(distribution)
        s = LATTICE / max(distribution.support[1] - distribution.support[0], 1.0)
        if isinstance(distribution, br.Gaussian):
            s = LATTICE
        allowed = (s * sigma) ** 2 / 2
        moments = log_moments(distribution, s)
        assert (moments <= allowed * (1 + 1e-9) + 1e-10).all(), distribution
        # And no sigma below the standard deviation could do.
        assert sigma**2 >= distribution.variance * (1 - 1e-12), distribution


@pytest.mark.parametrize("p", [0.003, 0.1, 0.35, 0.49, 0.9])
def test_bernoulli_cannot_be_improved(p):
    s = np.array([2 * math.log((1 - p) / p)])
    allowed = (s * sub_gaussian(br.Bernoulli(p))) ** 2 / 2
    assert log_moments(br.Bernoulli(p), s) == pytest.approx(allowed, rel=1e-9)


@pytest.mark.parametrize("distribution", [br.Uniform(-1, 4), br.Beta(3, 3), br.Gaussian(1, 2)])
def test_the_parameter_of_symmetric_distributions_is_their_standard_deviation(distribution):
    assert sub_gaussian(distribution) == pytest.approx(math.sqrt(distribution.variance), rel=1e-12)


@pytest.mark.parametrize(
    "distribution", [br.ExponentialReward(2), br.Poisson(0.1), br.StudentT(30), br.Pareto(5)]
)
def test_heavier_tails_are_refused_with_a_reason(distribution):
    with pytest.raises(br.UnsupportedRewardError, match="is not sub-Gaussian: "):
        sub_gaussian(distribution)


def test_an_unknown_distribution_needs_a_finite_range():
    with pytest.raises(br.UnsupportedRewardError, match="infinite range"):
        sub_gaussian(Own(0, math.inf))
    with pytest.raises(br.InvalidValueError, match=r"not 0\.5"):
        sub_gaussian(0.5)


def test_the_parameter_of_an_environment_is_the_largest_of_all_arms_and_phases():
    phases = [[br.Bernoulli(0.5), br.Uniform(0, 1)], [br.Gaussian(0, 0.1), br.Gaussian(3, 0.7)]]
    assert of_environment(br.Environment.piecewise(phases, [1, 10])) == 0.7
    assert of_environment(br.Environment.stationary(phases[0])) == 0.5
    with pytest.raises(br.UnsupportedRewardError, match="Pareto"):
        of_environment(br.Environment.stationary([br.Gaussian(0, 1), br.Pareto(3)]))
