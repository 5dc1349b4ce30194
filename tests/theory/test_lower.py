"""Lower bounds: slopes against closed forms, Kinf against other ways to compute it, conditions, edges.

No test asserts that regret at a finite step is above a slope: it need not be.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

import brigand as br
from brigand.policies.kernels.divergences import KINDS
from brigand.theory import lower

STEPS = np.array([1, 10, 1000, 10**9])


def stationary(*arms):
    return br.Environment.stationary(arms)


def kl(p, q):
    return special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q)


def names(environment):
    return [bound.name for bound in lower.lower_bounds(environment)]


@pytest.mark.parametrize(
    ("arms", "slope"),
    [
        ([br.Bernoulli(0.5), br.Bernoulli(0.75)], 0.25 / (0.5 * math.log(4 / 3))),
        ([br.Gaussian(0, 3), br.Gaussian(2, 3), br.Gaussian(1, 3)], 18 / 2 + 18 / 1),
        ([br.ExponentialReward(1), br.ExponentialReward(2)], 1 / (math.log(2) - 0.5)),
        ([br.Poisson(2), br.Poisson(1)], 1 / (1 - math.log(2))),
    ],
)
def test_lai_robbins_worked_by_hand(arms, slope):
    bound = lower.lai_robbins(stationary(*arms))
    assert bound.holds
    assert bound.kind == "slope"
    assert bound.regret(STEPS) == pytest.approx(slope * np.log(STEPS), rel=1e-9)


def test_pulls_are_one_over_the_divergence_and_nan_for_optimal_arms():
    bound = lower.lai_robbins(stationary(br.Bernoulli(0.5), br.Bernoulli(0.75), br.Bernoulli(0.75)))
    pulls = bound.pulls([[1, 100]])
    assert pulls.shape == (1, 2, 3)
    assert pulls[0, :, 0] == pytest.approx([0, math.log(100) / (0.5 * math.log(4 / 3))], rel=1e-9)
    assert np.isnan(pulls[..., 1:]).all()


def test_regret_is_gaps_times_pulls():
    environment = stationary(
        br.Beta(2, 3), br.Uniform(0, 0.9), br.ClippedGaussian(0.6, 0.1), br.Bernoulli(0.1)
    )
    bound = lower.burnetas_katehakis_bounded(environment)
    by_arm = np.nansum(bound.pulls(STEPS) * environment.gaps[0], axis=1)
    assert bound.regret(STEPS) == pytest.approx(by_arm, rel=1e-12)


def test_gaussian_of_unknown_variance_worked_by_hand():
    environment = stationary(br.Gaussian(0, 2), br.Gaussian(2, 5), br.Gaussian(1, 0))
    bound = lower.burnetas_katehakis_gaussian(environment)
    assert bound.pulls(1000)[:1] == pytest.approx([2 * math.log(1000) / math.log(2)], rel=1e-12)
    assert np.isnan(bound.pulls(1000)[1])
    assert bound.pulls(1000)[2] == 0  # an arm of variance 0 is known after two pulls
    assert bound.regret(1000) == pytest.approx(2 * 2 * math.log(1000) / math.log(2), rel=1e-12)
    # It asks for more than with known variances, since log(1 + x) <= x.
    equal = stationary(br.Gaussian(0, 2), br.Gaussian(2, 2))
    assert lower.burnetas_katehakis_gaussian(equal).regret(100) > lower.lai_robbins(equal).regret(100)


def test_minimax_worked_by_hand():
    environment = stationary(*[br.Uniform(-1, 2)] * 4)
    bound = lower.minimax(environment)
    assert bound.kind == "worst"
    assert not bound.speaks_of_pulls
    assert bound.regret([1, 3, 100]) == pytest.approx([3 * 1 / 20, 3 * 3 / 20, 3 * 20 / 20])


# Kinf of bounded rewards


def random_pairs(number):
    rng = np.random.default_rng(5)
    pairs = np.sort(rng.random((number, 2)) ** rng.choice([0.1, 1, 10], (number, 1)), axis=1)
    return pairs[pairs[:, 0] < pairs[:, 1]]


def test_bernoulli_kinf_is_the_divergence():
    for p, q in random_pairs(100):
        assert lower.kinf_bounded(br.Bernoulli(p), q, 0, 1) == pytest.approx(kl(p, q), rel=1e-6), (p, q)


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6, 1e-9])
def test_small_gaps_lose_no_accuracy(gap):
    # KL = gap^2 / (2 p (1 - p)) (1 + O(gap))
    near = lower.kinf_bounded(br.Bernoulli(0.3), 0.3 + gap, 0, 1) / (gap * gap / 0.42)
    assert near == pytest.approx(1, abs=2 * gap + 0.2 * (gap < 1e-8))


def uniform_kinf(best):
    def negative(u):
        rate = u / (1 - best)
        start, end = 1 + rate * best, 1 + rate * best - rate
        return -((special.xlogy(start, start) - special.xlogy(end, end)) / rate - 1)

    return -min(optimize.minimize_scalar(negative, bounds=(1e-9, 1), method="bounded").fun, negative(1.0))


@pytest.mark.parametrize("best", [0.51, 0.6, 0.75, 0.9, 0.999])
def test_uniform_kinf_has_a_closed_integral(best):
    expected = uniform_kinf(best)
    assert lower.kinf_bounded(br.Uniform(0, 1), best, 0, 1) == pytest.approx(expected, rel=1e-7)
    assert lower.kinf_bounded(br.Beta(1, 1), best, 0, 1) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize(("a", "b", "best"), [(1, 3, 0.9), (0.5, 2, 0.8), (40, 60, 0.99), (2, 5, 0.95)])
def test_beta_kinf_at_the_end_of_the_interval(a, b, best):
    # (1 - best) E 1 / (1 - X) <= 1: the maximum is at l = 1 / (1 - best).
    assert (1 - best) * (a + b - 1) / (b - 1) <= 1
    expected = special.digamma(b) - special.digamma(a + b) - math.log(1 - best)
    assert lower.kinf_bounded(br.Beta(a, b), best, 0, 1) == pytest.approx(expected, rel=1e-7)


def grid_kinf(density, atoms, best, high):
    """Return the maximum over a fine grid of l, with a body on [0, 1] integrated by Gauss's rule."""
    nodes, weights = np.polynomial.legendre.leggauss(500)
    x = np.append((nodes + 1) / 2, [v for v, _ in atoms])
    weights = np.append(weights / 2 * density(x[:500]), [p for _, p in atoms])
    u = np.concatenate([np.linspace(0, 0.99, 2000), 1 - np.geomspace(1e-2, 1e-8, 300)])
    return (np.log1p(-np.outer(u, x - best) / (high - best)) * weights).sum(axis=1).max()


@pytest.mark.parametrize(
    ("mu", "sigma", "best"),
    [
        (-0.2, 0.3, 0.4),
        pytest.param(0.3, 0.2, 0.5, marks=pytest.mark.full),
        pytest.param(0.5, 0.5, 0.8, marks=pytest.mark.full),
        pytest.param(0.9, 2.0, 0.7, marks=pytest.mark.full),
    ],
)
def test_clipped_gaussian_kinf_minds_the_ends(mu, sigma, best):
    law = stats.norm(mu, sigma)
    expected = grid_kinf(law.pdf, [(0, law.cdf(0)), (1, law.sf(1))], best, 1)
    computed = lower.kinf_bounded(br.ClippedGaussian(mu, sigma), best, 0, 1)
    assert computed == pytest.approx(expected, rel=2e-5)


@pytest.mark.parametrize(
    ("a", "b", "best", "high"),
    [
        (3, 2, 0.8, 1.5),
        pytest.param(2, 5, 0.5, 1, marks=pytest.mark.full),
        pytest.param(3, 2, 0.8, 1, marks=pytest.mark.full),
    ],
)
def test_beta_kinf_against_a_grid(a, b, best, high):
    expected = grid_kinf(stats.beta(a, b).pdf, [], best, high)
    assert lower.kinf_bounded(br.Beta(a, b), best, 0, high) == pytest.approx(expected, rel=2e-5)


def primal_kinf(values, chances, best, high):
    """Return the infimum of KL itself, over all laws on the values and the end of the range."""
    values, chances = np.append(values, high), np.append(chances, 0.0)
    found = optimize.minimize(
        lambda q: special.rel_entr(chances, np.maximum(q, 1e-12)).sum(),
        np.full(len(values), 1 / len(values)),
        bounds=[(1e-9, 1)] * len(values),
        constraints=[
            {"type": "eq", "fun": lambda q: q.sum() - 1},
            {"type": "ineq", "fun": lambda q: q @ values - best},
        ],
        options={"ftol": 1e-13, "maxiter": 500},
        method="SLSQP",
    )
    return found.fun


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")  # SciPy before 1.16
def test_finite_kinf_is_the_least_divergence():
    rng = np.random.default_rng(2)
    for _ in range(20):
        values, chances = rng.random(4), rng.dirichlet([1.0] * 4)
        best = rng.uniform(values @ chances, 1)
        expected = primal_kinf(values, chances, best, 1.0)
        computed = lower.kinf_bounded(br.FiniteSupport(values, chances), best, 0, 1)
        assert computed == pytest.approx(expected, rel=2e-4, abs=2e-6)


def test_empirical_is_finite_support_with_equal_chances():
    data = [0.1, 0.4, 0.4, 0.9]
    empirical = lower.kinf_bounded(br.Empirical(data), 0.7, 0, 1)
    finite = lower.kinf_bounded(br.FiniteSupport([0.1, 0.4, 0.9], [0.25, 0.5, 0.25]), 0.7, 0, 1)
    assert empirical == pytest.approx(finite, rel=1e-9)
    constant = lower.kinf_bounded(br.Empirical([0.25]), 0.5, 0, 1)
    assert constant == pytest.approx(math.log(1.5), rel=1e-9)  # at l = 1 / (1 - 0.5)
    clipped = lower.kinf_bounded(br.ClippedGaussian(0.25, 0.0), 0.5, 0, 1)
    assert clipped == pytest.approx(math.log(1.5), rel=1e-9)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "arm",
    [
        br.Bernoulli(0.2),
        br.Beta(1, 4),
        br.Uniform(0, 0.4),
        br.ClippedGaussian(0.1, 0.2),
        br.Empirical([0, 0.4]),
    ],
)
def test_kinf_is_monotone(arm):
    bests = np.linspace(arm.mean + 0.01, 0.99, 12)
    values = [lower.kinf_bounded(arm, best, 0, 1) for best in bests]
    assert (np.diff(values) > 0).all()
    # Not 1.2: there the range of Bernoulli(0.2) has no effect yet.
    ranges = [lower.kinf_bounded(arm, 0.6, 0, high) for high in (1, 1.3, 2, 10)]
    assert (np.diff(ranges) < 0).all()
    # Only the upper end counts; and Pinsker's inequality holds.
    assert lower.kinf_bounded(arm, 0.6, -3, 1) == pytest.approx(ranges[0], rel=1e-9)
    assert all(value >= 2 * (best - arm.mean) ** 2 for value, best in zip(values, bests, strict=True))


def test_kinf_does_not_depend_on_the_unit():
    here = lower.burnetas_katehakis_bounded(
        stationary(
            br.Uniform(0, 1), br.FiniteSupport([0, 0.5, 1], [0.1, 0.2, 0.7]), br.ClippedGaussian(0.2, 0.4)
        )
    )
    there = lower.burnetas_katehakis_bounded(
        stationary(
            br.Uniform(-5, 5), br.FiniteSupport([-5, 0, 5], [0.1, 0.2, 0.7]), br.ClippedGaussian(-3, 4, -5, 5)
        )
    )
    assert there.pulls(1000) == pytest.approx(here.pulls(1000), rel=1e-6, nan_ok=True)
    assert there.regret(1000) == pytest.approx(10 * here.regret(1000), rel=1e-6)


@pytest.mark.parametrize(
    "arm",
    [
        br.Bernoulli(0.3),
        br.FiniteSupport([0.1, 0.8], [0.2, 0.8]),
        br.Empirical([0.5, 0.7]),
        br.Uniform(0.2, 0.9),
        br.Beta(0.02, 0.05),
        br.Beta(700, 300),
        br.ClippedGaussian(0.3, 0.4),
        br.ClippedGaussian(0.3, 1e-7),
        br.ClippedGaussian(-4.0, 1.0),
        br.ClippedGaussian(0.3, 1e3),
    ],
)
def test_expectations_have_the_right_mean_and_variance(arm):
    assert lower.expectation(arm, lambda x: np.asarray(x)) == pytest.approx(arm.mean, rel=1e-9)
    spread = lower.expectation(arm, lambda x: (np.asarray(x) - arm.mean) ** 2)
    assert spread == pytest.approx(arm.variance, rel=1e-7)


def test_bernoulli_bounds_agree():
    environment = stationary(br.Bernoulli(0.2), br.Bernoulli(0.9), br.Bernoulli(0.85))
    known, bounded, _ = lower.lower_bounds(environment)
    assert bounded.regret(STEPS) == pytest.approx(known.regret(STEPS), rel=1e-7)


# Which bounds there are, and edges


@dataclass(frozen=True)
class Own(br.Distribution):
    """A user's own, always 1/2."""

    mean = 0.5
    variance = 0.0
    support = (0.5, 0.5)

    def law(self):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("arms", "expected"),
    [
        ([br.Bernoulli(0.1), br.Bernoulli(0.2)], ["Lai-Robbins", "Burnetas-Katehakis, bounded", "Minimax"]),
        ([br.Bernoulli(0.1), br.Uniform(0, 3)], ["Burnetas-Katehakis, bounded", "Minimax"]),
        ([br.Bernoulli(0.1), Own()], ["Minimax"]),
        ([br.Gaussian(0, 1), br.Gaussian(1, 1)], ["Lai-Robbins", "Burnetas-Katehakis, Gaussian"]),
        ([br.Gaussian(0, 1), br.Gaussian(1, 2)], ["Burnetas-Katehakis, Gaussian"]),
        ([br.Gaussian(0, 0), br.Gaussian(1, 0)], ["Burnetas-Katehakis, Gaussian"]),
        ([br.Poisson(1), br.Poisson(2)], ["Lai-Robbins"]),
        ([br.ExponentialReward(1), br.ExponentialReward(2)], ["Lai-Robbins"]),
        ([br.ExponentialReward(1), br.Poisson(2)], []),
        ([br.Pareto(3), br.Bernoulli(0.1)], []),
        ([br.Bernoulli(0.1)], ["Lai-Robbins", "Burnetas-Katehakis, bounded"]),
    ],
)
def test_only_bounds_of_the_matching_class(arms, expected):
    assert names(stationary(*arms)) == expected
    assert all(bound.holds for bound in lower.lower_bounds(stationary(*arms)))


def test_every_bound_says_what_it_lacks():
    environment = stationary(br.ExponentialReward(1), br.Poisson(2))
    for make in (
        lower.lai_robbins,
        lower.burnetas_katehakis_bounded,
        lower.burnetas_katehakis_gaussian,
        lower.minimax,
    ):
        bound = make(environment)
        assert not bound.holds
        with pytest.raises(br.InvalidValueError, match="does not hold here"):
            bound.regret(10)


def test_no_lower_bound_holds_where_rewards_change():
    phases = [[br.Bernoulli(0.1), br.Bernoulli(0.2)], [br.Bernoulli(0.3), br.Bernoulli(0.2)]]
    bounds = lower.lower_bounds(br.Environment.piecewise(phases, [1, 10]))
    assert [bound.missing for bound in bounds] == ["rewards that do not change"] * 3


def test_nothing_is_above_the_end_of_the_range():
    environment = stationary(br.Bernoulli(0.3), br.Bernoulli(1.0))
    for bound in lower.lower_bounds(environment)[:2]:
        assert bound.pulls([1, 1000])[:, 0].tolist() == [0, 0]
        assert bound.regret([1, 1000]).tolist() == [0, 0]


def test_equal_arms_and_one_arm_have_slope_zero():
    for arms in ([br.Bernoulli(0.3)] * 3, [br.Bernoulli(0.3)], [br.FiniteSupport([2])] * 2):
        for bound in lower.lower_bounds(stationary(*arms)):
            if bound.kind == "slope":
                assert bound.regret([1, 1000]).tolist() == [0, 0]
                assert np.isnan(bound.pulls(1000)).all()


VARIANCES = {"bernoulli": lambda x: x * (1 - x), "exponential": lambda x: x * x, "poisson": lambda x: x}


@pytest.mark.parametrize("family", VARIANCES)
def test_information_is_the_integral_of_deviation_over_variance(family):
    kind, variance = KINDS[family], VARIANCES[family]
    for p, q in random_pairs(50):
        if p < 1e-4:
            continue
        exact = integrate.quad(lambda x, p=p: (x - p) / variance(x), p, q, epsabs=0, limit=200)[0]
        assert lower.information(kind, p, q, 1.0) == pytest.approx(exact, rel=1e-5)
        largest = max(variance(x) for x in np.linspace(p, q, 1001))
        assert lower.largest_variance(kind, p, q, 1.0) == pytest.approx(largest, rel=1e-5)
    # Rounding leaves no gap without information.
    assert lower.information(kind, 0.4, math.nextafter(0.4, 1), 1.0) > 0


def test_information_of_exponential_rewards_has_no_unit():
    small, large = (lower.information(KINDS["exponential"], 2 * u, 3 * u, 1.0) for u in (1e-200, 1e200))
    assert [small, large] == pytest.approx([math.log(1.5) - 1 / 3] * 2, rel=1e-9)
