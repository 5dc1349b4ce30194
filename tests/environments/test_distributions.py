"""Reward distributions against SciPy's: their numbers exactly, their draws in law."""

import math

import numba
import numpy as np
import pytest
from scipy import special, stats

from brigand import (
    Bernoulli,
    Beta,
    ClippedGaussian,
    Empirical,
    Environment,
    ExponentialReward,
    FiniteSupport,
    Gaussian,
    Geometric,
    InvalidValueError,
    Pareto,
    Poisson,
    SciPyReward,
    StudentT,
    Uniform,
    jit,
)
from brigand.environments import totals
from brigand.environments.draw import HALF_ULP, draw
from strength import runs

DATA = np.random.default_rng(7).normal(3.0, 2.0, 40).round(1).tolist()
VALUES, COUNTS = np.unique(DATA, return_counts=True)

CONTINUOUS = {
    "Gaussian(0.5)": (Gaussian(0.5), stats.norm(0.5)),
    "Gaussian(-3, 0.01)": (Gaussian(-3, 0.01), stats.norm(-3, 0.01)),
    "Uniform()": (Uniform(), stats.uniform()),
    "Uniform(-2, 5)": (Uniform(-2, 5), stats.uniform(-2, 7)),
    "Beta(0.3, 0.3)": (Beta(0.3, 0.3), stats.beta(0.3, 0.3)),
    "Beta(30, 2)": (Beta(30, 2), stats.beta(30, 2)),
    "Beta(2, 3)": (Beta(2, 3), stats.beta(2, 3)),
    "Beta(1, 1)": (Beta(1, 1), stats.beta(1, 1)),
    "Beta(500, 800)": (Beta(500, 800), stats.beta(500, 800)),
    "ExponentialReward()": (ExponentialReward(), stats.expon()),
    "ExponentialReward(0.02)": (ExponentialReward(0.02), stats.expon(scale=0.02)),
    "StudentT(1.5)": (StudentT(1.5), stats.t(1.5)),
    "StudentT(3, -1, 10)": (StudentT(3, -1, 10), stats.t(3, -1, 10)),
    "StudentT(30, 2, 0.5)": (StudentT(30, 2, 0.5), stats.t(30, 2, 0.5)),
    "Pareto(1.2)": (Pareto(1.2), stats.pareto(1.2)),
    "Pareto(2.5, 0.1)": (Pareto(2.5, 0.1), stats.pareto(2.5, scale=0.1)),
    "Pareto(50, 3)": (Pareto(50, 3), stats.pareto(50, scale=3)),
    "gamma": (SciPyReward("gamma", [2.0], -1, 0.25), stats.gamma(2.0, loc=-1, scale=0.25)),
    "lognorm": (SciPyReward.of(stats.lognorm(0.5)), stats.lognorm(0.5)),
    "gumbel_l": (SciPyReward.of(stats.gumbel_l(3, 2)), stats.gumbel_l(3, 2)),
    "triang": (SciPyReward.of(stats.triang(c=0.3)), stats.triang(0.3)),
}
DISCRETE = {
    "Bernoulli(0.4)": (Bernoulli(0.4), stats.bernoulli(0.4)),
    "Bernoulli(0.999)": (Bernoulli(0.999), stats.bernoulli(0.999)),
    "Poisson(0.05)": (Poisson(0.05), stats.poisson(0.05)),
    "Poisson(3)": (Poisson(3), stats.poisson(3)),
    "binom": (SciPyReward("binom", [10, 0.3]), stats.binom(10, 0.3)),
    "nbinom": (SciPyReward.of(stats.nbinom(3, p=0.4, loc=2)), stats.nbinom(3, 0.4, 2)),
    "skellam": (SciPyReward.of(stats.skellam(2, 3)), stats.skellam(2, 3)),
    "Poisson(400)": (Poisson(400), stats.poisson(400)),
    "Geometric(0.1)": (Geometric(0.1), stats.geom(1 / 1.1, loc=-1)),
    "Geometric(500)": (Geometric(500), stats.geom(1 / 501, loc=-1)),
    "FiniteSupport, equal chances": (
        FiniteSupport([4, -1, 0.5]),
        stats.rv_discrete(values=([-1, 0.5, 4], [1 / 3] * 3)),
    ),
    "FiniteSupport, unequal chances": (
        FiniteSupport([0.0, 10.0, -7.5, 2.0], [0.6, 0.001, 0.099, 0.3]),
        stats.rv_discrete(values=([-7.5, 0.0, 2.0, 10.0], [0.099, 0.6, 0.3, 0.001])),
    ),
    "Empirical": (Empirical(DATA), stats.rv_discrete(values=(VALUES, COUNTS / len(DATA)))),
}
CLIPPED = {
    "ClippedGaussian(0.5)": ClippedGaussian(0.5),
    "ClippedGaussian(0.9, 0.2)": ClippedGaussian(0.9, 0.2),
    "ClippedGaussian(-3, 2, -5, 1)": ClippedGaussian(-3, 2, -5, 1),
}
REWARDS = (
    {name: reward for name, (reward, _) in (CONTINUOUS | DISCRETE).items()}
    | CLIPPED
    | {
        "Bernoulli(0)": Bernoulli(0),
        "Bernoulli(1)": Bernoulli(1),
        "Gaussian(-0.25, 0)": Gaussian(-0.25, 0),
        "Gaussian(1e300, 1e299)": Gaussian(1e300, 1e299),
        "ClippedGaussian(2, 0)": ClippedGaussian(2, 0),
        "ClippedGaussian(-0.0, 0)": ClippedGaussian(-0.0, 0.0),
        "Uniform(3, 3)": Uniform(3, 3),
        "FiniteSupport([5.0])": FiniteSupport([5.0]),
        "FiniteSupport([1e-300])": FiniteSupport([1e-300]),
        "FiniteSupport, one without a chance": FiniteSupport([1.0, 2.0, 3.0], [0.5, 0.0, 0.5]),
        "Empirical([-2.0])": Empirical([-2.0]),
    }
)

N = 200_000
FALSE_ALARM = 1e-4  # that right code fails any statistical test of this file, over all possible seeds
# Bonferroni: a clipped Gaussian takes two tests.
LEVEL = FALSE_ALARM / (len(CONTINUOUS) + len(DISCRETE) + 2 * len(CLIPPED))

EDGES = np.array([0.0, 2.0**-53, 2.0**-52, 0.25, 0.5 - 2.0**-53, 0.5, 0.75, 1 - 2.0**-52, 1 - 2.0**-53])


def _fill(law, table, uses_uniform, uses_normal, rng, uniforms, normals, rewards):
    """Draw as a step does; with both flags off, from the numbers given instead."""
    for i in range(len(rewards)):
        if uses_uniform:
            uniforms[i] = rng.random()
        if uses_normal:
            normals[i] = rng.standard_normal()
        rewards[i] = draw(law, table, uniforms[i], normals[i])


LOOP = jit.compile_loop(_fill, draw)


def drawn(name, n=N, loop=LOOP):
    """Return n rewards; each name has a seed of its own, so that the tests are independent."""
    compiled = Environment.stationary([REWARDS[name]]).compiled
    rewards = np.empty(n)
    rng = np.random.default_rng(list(name.encode()))
    flags = (compiled.uses_uniform, compiled.uses_normal)
    loop(compiled.laws[0, 0], compiled.table, *flags, rng, np.zeros(n), np.zeros(n), rewards)
    return rewards


def drawn_at(reward, uniforms, normals=0.0, loop=LOOP):
    """Return the rewards that the given numbers lead to."""
    compiled = Environment.stationary([reward]).compiled
    rewards = np.empty(len(uniforms))
    normals = np.broadcast_to(normals, len(uniforms)).astype(float)
    rng = np.random.default_rng(0)
    loop(compiled.laws[0, 0], compiled.table, False, False, rng, uniforms, normals, rewards)
    return rewards


def uniform_grid():
    """Return numbers that a generator of 53 bits can draw, dense towards both ends."""
    logits = special.expit(np.linspace(-36.7, 36.7, 4001))
    grid = np.unique(np.rint(np.append(logits, EDGES) * 2.0**53)) / 2.0**53
    return grid[grid < 1]


def parts(reward):
    """Return a clipped Gaussian as SciPy has it: its interior, and the chances of low, inside, high."""
    normal = stats.norm(reward.mu, reward.sigma)
    ends = (np.array([reward.low, reward.high]) - reward.mu) / reward.sigma
    inside = stats.truncnorm(*ends, reward.mu, reward.sigma)
    chances = np.array([normal.cdf(reward.low), 0.0, normal.sf(reward.high)])
    chances[1] = 1 - chances.sum()
    return inside, chances


def possible(law):
    """Return the values of a discrete law, all but a share of 1e-12 of them."""
    return law.xk if hasattr(law, "xk") else np.arange(law.ppf(1e-12), law.isf(1e-12) + 1)


@pytest.mark.every(6)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_rewards_pass_a_kolmogorov_smirnov_test_against_scipy(name):
    assert stats.kstest(drawn(name), CONTINUOUS[name][1].cdf).pvalue > LEVEL


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_rewards_pass_a_chi_square_test_against_scipy(name):
    law = DISCRETE[name][1]
    rewards = drawn(name)
    assert np.all(law.pmf(np.unique(rewards)) > 0)
    values = possible(law)
    expected = N * law.pmf(values)
    seen, counts = np.unique(rewards, return_counts=True)
    observed = np.zeros(len(values))
    _, at, found = np.intersect1d(values, seen, return_indices=True)
    observed[at] = counts[found]
    # Rare values share the cell of the rarest frequent one: the statistic wants 10 expected in a cell.
    frequent = expected >= 10
    expected, observed = expected[frequent], observed[frequent]
    rarest = np.argmin(expected)
    expected[rarest] += N - expected.sum()
    observed[rarest] += N - observed.sum()
    assert stats.chisquare(observed, expected).pvalue > LEVEL


@pytest.mark.parametrize("name", CLIPPED)
def test_clipped_gaussian_rewards_have_scipys_share_on_the_ends_and_its_distribution_between_them(name):
    reward = CLIPPED[name]
    inside, chances = parts(reward)
    rewards = drawn(name)
    between = rewards[(rewards > reward.low) & (rewards < reward.high)]
    observed = [np.sum(rewards == reward.low), len(between), np.sum(rewards == reward.high)]
    assert sum(observed) == N
    assert stats.chisquare(observed, N * chances).pvalue > LEVEL
    assert stats.kstest(between, inside.cdf).pvalue > LEVEL


@pytest.mark.parametrize("name", CONTINUOUS | DISCRETE)
def test_mean_variance_and_support_are_scipys(name):
    reward, law = (CONTINUOUS | DISCRETE)[name]
    assert reward.mean == pytest.approx(law.mean(), rel=1e-9, abs=0)
    assert reward.variance == pytest.approx(law.var(), rel=1e-9, abs=0)
    assert reward.support == pytest.approx(law.support(), rel=1e-9, abs=0)


@pytest.mark.parametrize("name", CLIPPED)
def test_mean_variance_and_support_of_a_clipped_gaussian_are_scipys(name):
    reward = CLIPPED[name]
    inside, chances = parts(reward)
    means = np.array([reward.low, inside.mean(), reward.high])
    mean = chances @ means
    assert reward.mean == pytest.approx(mean, rel=1e-9)
    assert reward.variance == pytest.approx(
        chances @ (means - mean) ** 2 + chances[1] * inside.var(), rel=1e-9
    )
    assert reward.support == (reward.low, reward.high)


@pytest.mark.parametrize(
    "reward",
    [ClippedGaussian(100, 0.001, 99, 101), ClippedGaussian(1e6, 1e-3, 0, 2e6)],
    ids=repr,
)
def test_the_variance_of_a_clipped_gaussian_far_from_zero_keeps_its_digits(reward):
    assert reward.variance == pytest.approx(reward.sigma**2, rel=1e-9, abs=0)


QUANTILES = {name: pair for name, pair in CONTINUOUS.items() if not name.startswith("Gaussian")} | {
    # Too many of its rewards are exactly 1 in floats for the test of Kolmogorov and Smirnov.
    "Beta(0.1, 0.1)": (Beta(0.1, 0.1), stats.beta(0.1, 0.1)),
    "StudentT(1.01)": (StudentT(1.01), stats.t(1.01)),
}


def scipys_quantile(reward, law, uniforms):
    # A spline takes the uniform number as the middle of its 53-bit cell, so that 0 has a finite quantile.
    shift = HALF_ULP if isinstance(reward, (Beta, StudentT, SciPyReward)) else 0.0
    return np.where(uniforms < 0.5, law.ppf(uniforms + shift), law.isf((1 - uniforms) - shift))


@pytest.mark.parametrize("name", QUANTILES)
def test_rewards_are_scipys_quantiles_to_the_last_bit_of_the_uniform_number(name):
    reward, law = QUANTILES[name]
    uniforms = uniform_grid()
    assert 2.0**-53 in uniforms
    assert 1 - 2.0**-53 in uniforms
    expected = scipys_quantile(reward, law, uniforms)
    np.testing.assert_allclose(drawn_at(reward, uniforms), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", ["Geometric(0.1)", "Geometric(500)"])
def test_geometric_rewards_are_scipys_quantiles(name):
    reward, law = DISCRETE[name]
    uniforms = uniform_grid()
    uniforms = uniforms[(uniforms > 0) & (uniforms < 1 - 1e-9)]  # beyond, SciPy has too few digits
    np.testing.assert_array_equal(drawn_at(reward, uniforms), law.ppf(uniforms))
    assert drawn_at(reward, np.array([0.0])) == 0
    assert drawn_at(Geometric(0), EDGES).max() == 0


@pytest.mark.parametrize(
    "law", [stats.foldnorm(1.95), stats.exponnorm(1.5, 1, 2)], ids=lambda law: law.dist.name
)
def test_quantiles_that_scipy_searches_one_by_one_are_found_all_at_once(law):
    # Further out SciPy's own are far off.
    uniforms = special.expit(np.linspace(-20, 20, 41))
    expected = law.ppf(uniforms + HALF_ULP)
    np.testing.assert_allclose(drawn_at(SciPyReward.of(law), uniforms), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["Poisson(0.05)", "Poisson(3)", "Poisson(400)"])
def test_poisson_rewards_are_scipys_quantiles(name):
    reward, law = DISCRETE[name]
    # Beyond these ends SciPy's own cumulative probabilities have too few digits to tell values apart.
    uniforms = uniform_grid()
    uniforms = uniforms[(uniforms > 1e-12) & (uniforms < 1 - 1e-12)]
    np.testing.assert_array_equal(drawn_at(reward, uniforms), law.ppf(uniforms))
    least, greatest = drawn_at(reward, np.array([0.0, 1 - 2.0**-53]))
    assert law.ppf(2.0**-55) <= least <= law.ppf(2.0**-52)
    assert greatest >= law.isf(2.0**-52)
    assert law.sf(greatest - 1) > 2.0**-56


@pytest.mark.parametrize(
    "reward",
    [
        Beta(0.3, 0.3),
        Beta(30, 2),
        Beta(1, 1),
        Beta(0.1, 5),
        StudentT(1.5),
        StudentT(30, 2, 0.5),
        StudentT(1.01),
    ],
    ids=repr,
)
def test_spline_quantiles_are_monotone(reward):
    # Neighbouring numbers as well: rounding must not undo what the cubics keep.
    rng = np.random.default_rng(1)
    close = (rng.integers(0, 2**53 - 100, 500)[:, None] + np.arange(100)).ravel() / 2.0**53
    uniforms = np.sort(np.concatenate([uniform_grid(), close]))
    assert np.all(np.diff(drawn_at(reward, uniforms)) >= 0)


@pytest.mark.parametrize("name", REWARDS)
def test_draws_are_the_same_bits_in_plain_python_and_compiled(name):
    assert drawn(name, 1000).tobytes() == drawn(name, 1000, LOOP.py_func).tobytes()
    normals = np.array([-8.2, -1.0, -0.0, 0.0, 1e-300, 0.5, 1.0, 3.0, 8.2])
    compiled, plain = (drawn_at(REWARDS[name], EDGES, normals, loop) for loop in (LOOP, LOOP.py_func))
    assert compiled.tobytes() == plain.tobytes()


@pytest.mark.parametrize("name", REWARDS)
def test_no_number_leads_to_a_reward_outside_of_the_support(name):
    low, high = REWARDS[name].support
    rewards = drawn_at(REWARDS[name], EDGES, np.linspace(-8.3, 8.3, len(EDGES)))
    assert np.all(np.isfinite(rewards))
    assert np.all((low <= rewards) & (rewards <= high))


@pytest.mark.parametrize("probability", [0, 2.0**-53, 0.5, 1])
def test_a_bernoulli_reward_is_1_for_exactly_its_share_of_the_uniform_numbers(probability):
    expected = np.less(EDGES, probability).astype(float)
    np.testing.assert_array_equal(drawn_at(Bernoulli(probability), EDGES), expected)


def test_bernoulli_arms_are_paired_the_better_one_pays_whenever_the_worse_one_does():
    uniforms = np.random.default_rng(3).random(1000)
    assert np.all(drawn_at(Bernoulli(0.3), uniforms) <= drawn_at(Bernoulli(0.6), uniforms))


def test_every_value_of_the_data_has_the_same_share_of_the_uniform_numbers():
    data = [3.0, -1.0, 2.0, 3.0]
    np.testing.assert_array_equal(drawn_at(Empirical(data), np.arange(16) / 16), np.repeat(sorted(data), 4))


def test_a_value_without_a_chance_is_neither_drawn_nor_in_the_support():
    reward = FiniteSupport([-5.0, 1.0, 2.0, 9.0], [0.0, 0.5, 0.5, 0.0])
    assert set(drawn_at(reward, EDGES)) == {1.0, 2.0}
    assert reward.support == (1.0, 2.0)


def test_probabilities_that_sum_to_1_only_almost_leave_no_number_without_a_reward():
    reward = FiniteSupport([1.0, 2.0, 3.0], [0.5, 0.5 - 9e-10, 0.0])
    np.testing.assert_array_equal(drawn_at(reward, EDGES[-2:]), [2.0, 2.0])


def test_the_order_in_which_values_are_given_does_not_matter():
    # Rewards that rise with the uniform number are what pairs policies.
    falling, rising = FiniteSupport([3, 2, 1], [0.2, 0.3, 0.5]), FiniteSupport([1, 2, 3], [0.5, 0.3, 0.2])
    np.testing.assert_array_equal(drawn_at(falling, EDGES), drawn_at(rising, EDGES))
    np.testing.assert_array_equal(drawn_at(Empirical([2, 1]), EDGES), drawn_at(Empirical([1, 2]), EDGES))


@pytest.mark.parametrize(
    ("reward", "value"),
    [
        (Gaussian(-0.25, sigma=0), -0.25),
        (ClippedGaussian(2, sigma=0), 1.0),
        (Uniform(3, 3), 3.0),
        (FiniteSupport([5.0]), 5.0),
        (FiniteSupport([1e-300]), 1e-300),
        (Empirical([-2.0]), -2.0),
        (Bernoulli(0), 0.0),
        (Bernoulli(1), 1.0),
    ],
    ids=repr,
)
def test_a_reward_without_spread_is_its_mean_always(reward, value):
    assert reward.mean == value
    assert reward.variance == 0
    np.testing.assert_array_equal(drawn_at(reward, EDGES, np.linspace(-8.2, 8.2, len(EDGES))), value)


def test_enormous_rewards_stay_finite():
    reward = Gaussian(1e300, 1e299)
    assert reward.mean == 1e300
    np.testing.assert_allclose(drawn_at(reward, np.zeros(3), [-2.0, 0.0, 2.0]), [8e299, 1e300, 1.2e300])


@pytest.mark.parametrize(
    "reward",
    [
        Gaussian(1e300, 1e299),
        Uniform(0, 1e200),
        ExponentialReward(1e200),
        StudentT(3, 0, 1e200),
        Pareto(3, 1e200),
        FiniteSupport([-1e200, 1e200]),
        Empirical([-1e200, 1e200]),
    ],
    ids=repr,
)
def test_a_variance_beyond_the_largest_float_is_infinite(reward):
    assert reward.variance == math.inf


BAD = [
    (Bernoulli, (1.2,), "1.2"),
    (Bernoulli, (-0.1,), "-0.1"),
    (Bernoulli, (math.nan,), "nan"),
    (Bernoulli, (True,), "True"),
    (Bernoulli, (np.True_,), "True"),
    (Bernoulli, ("0.5",), "'0.5'"),
    (Bernoulli, (None,), "None"),
    (Bernoulli, (0.5j,), "0.5j"),
    (Gaussian, (math.inf,), "inf"),
    (Gaussian, (math.nan,), "nan"),
    (Gaussian, (0, math.nan), "nan"),
    (Gaussian, (0, -1), "-1"),
    (Gaussian, (0, False), "False"),
    (ClippedGaussian, (math.nan,), "nan"),
    (ClippedGaussian, (0, -1), "-1"),
    (ClippedGaussian, (0, 1, 2, 1.5), "low = 2.0 and high = 1.5"),
    (ClippedGaussian, (0, 1, -math.inf), "-inf"),
    (Uniform, (1, 0), "low = 1.0 and high = 0.0"),
    (Uniform, (0, math.nan), "nan"),
    (Uniform, (0, math.inf), "inf"),
    (Beta, (0, 1), ">= 0.02, not 0"),
    (Beta, (1, -2), "-2"),
    (Beta, (1, math.nan), "nan"),
    (ExponentialReward, (0,), "> 0, not 0"),
    (ExponentialReward, (-1,), "-1"),
    (ExponentialReward, (True,), "True"),
    (Geometric, (-1,), "-1"),
    (Geometric, (2e9,), "2000000000.0"),
    (Geometric, (math.nan,), "nan"),
    (Poisson, (0,), "not 0"),
    (Poisson, (-3,), "-3"),
    (Poisson, (2e9,), "2000000000.0"),
    (StudentT, (1,), "> 1, not 1"),
    (StudentT, (0.5,), "0.5"),
    (StudentT, (math.inf,), "inf"),
    (StudentT, (3, math.nan), "nan"),
    (StudentT, (3, 0, 0), "> 0, not 0"),
    (StudentT, (3, 0, -1), "-1"),
    (Pareto, (1,), "> 1, not 1"),
    (Pareto, (2, 0), "> 0, not 0"),
    (Pareto, (math.nan,), "nan"),
    (FiniteSupport, ([],), r"values must be a non-empty.*\(0,\)"),
    (FiniteSupport, ([1, math.nan],), r"values\[1\].*nan"),
    (FiniteSupport, ([math.inf],), r"values\[0\].*inf"),
    (FiniteSupport, ([True, False],), "True"),
    (FiniteSupport, ([[1, 2]],), r"\(1, 2\)"),
    (FiniteSupport, ([1, 2], [0.5]), "1 for 2"),
    (FiniteSupport, ([1, 2], [0.5, 0.6]), "1.1"),
    (FiniteSupport, ([1, 2], [1.5, -0.5]), "-0.5"),
    (FiniteSupport, ([1, 2], [0.5, math.nan]), r"probabilities\[1\].*nan"),
    (FiniteSupport, ([1, 2], ["a", "b"]), "'a', 'b'"),
    (Empirical, ([],), r"data must be a non-empty.*\(0,\)"),
    (Empirical, ([1, 2, math.nan],), r"data\[2\].*nan"),
    (Empirical, ([-math.inf],), r"data\[0\].*-inf"),
    (Empirical, ([True],), "True"),
    (Empirical, (5.0,), r"\(\)"),
    (Empirical, ("abc",), "'abc'"),
]


@pytest.mark.parametrize(("family", "parameters", "given"), BAD, ids=[f"{f.__name__}{p}" for f, p, _ in BAD])
def test_bad_parameters_are_refused_by_an_error_that_names_them(family, parameters, given):
    with pytest.raises(InvalidValueError, match=given):
        family(*parameters)


def test_a_shape_that_no_table_can_hold_is_refused_by_name():
    with pytest.raises(InvalidValueError, match=r"must be >= 0\.02, not 0\.001"):
        Beta(0.001, 0.001)
    Beta(0.02, 0.02).law()


@pytest.mark.parametrize(
    ("reward", "same"),
    [
        (FiniteSupport([1, 2]), FiniteSupport(np.array([1.0, 2.0]), (0.5, 0.5))),
        (Empirical([1, 2]), Empirical(np.array([1, 2]))),
        (Gaussian(0, 1), Gaussian(0.0)),
    ],
    ids=["FiniteSupport", "Empirical", "Gaussian"],
)
def test_equal_numbers_make_equal_rewards_however_they_are_given(reward, same):
    assert reward == same
    assert hash(reward) == hash(same)


@pytest.mark.parametrize("sigma", [1.5, 30.0, 1e7, 1e150])
def test_a_very_wide_gaussian_that_is_clipped_is_a_coin(sigma):
    arm = ClippedGaussian(0.5, sigma, 0, 1)
    inside = 2 * float(stats.norm.cdf(0.5 / sigma)) - 1
    assert arm.mean == pytest.approx(0.5, rel=1e-12)
    # 1/4 on both ends, and next to nothing between; bounds are those of a flat density.
    assert 0.25 * (1 - inside) <= arm.variance <= 0.25 * (1 - inside) + inside / 12 + 1e-12


@pytest.fixture(scope="module")
def sums():
    def fill(total, law, table, n, rng, found):
        for i in range(len(found)):
            found[i] = totals.draw_total(total, law, table, n, rng)

    return numba.njit(error_model="numpy")(fill)


@pytest.mark.every(4)
@pytest.mark.parametrize("n", [2**30, 2**53])
@pytest.mark.parametrize(
    "arm",
    [
        Poisson(1e-3),
        Poisson(1025.0),  # with n = 2^53, a mean of 9.2e18: where 64-bit integers end
        Poisson(1e9),
        ExponentialReward(2.0),
        Bernoulli(0.3),
        Gaussian(1.0, 2.0),
        FiniteSupport([0, 1, 5], [0.2, 0.5, 0.3]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.full)])
def test_totals_of_very_many_rewards_have_their_mean_and_variance(arm, n, compiled, sums):
    """4.5 standard errors of each; level 1.4e-5 a case."""
    env = Environment.stationary([arm])
    laws, table, *_ = env.compiled
    rng = np.random.default_rng(5)
    draws = runs(1000, 4000)
    found = np.empty(draws)
    (sums if compiled else sums.py_func)(env.totals[0, 0], laws[0, 0], table, n, rng, found)
    standard = (found - n * arm.mean) / math.sqrt(n * arm.variance)
    assert abs(standard.mean()) < 4.5 / math.sqrt(draws)
    assert abs(standard.var() - 1) < 4.5 * math.sqrt(2 / draws)
    assert (found >= 0).all() or isinstance(arm, Gaussian)
