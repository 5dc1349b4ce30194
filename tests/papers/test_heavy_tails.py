"""The study of heavy tails: its problems, the moments that robust UCB is told, its policies."""

import math

import numpy as np
import pytest

import brigand as br
from brigand.papers import heavy_tails
from strength import runs

RNG = np.random.default_rng(0)
UNIFORM, NORMAL = RNG.random(200_000), RNG.standard_normal(200_000)


def test_the_second_arm_is_better_everywhere():
    for environment in heavy_tails.problems().values():
        assert environment.n_arms == 2
        assert environment.means[0, 1] > environment.means[0, 0]
    assert set(heavy_tails.TUNED) < heavy_tails.problems().keys()
    assert heavy_tails.MOMENTS.keys() <= heavy_tails.problems().keys()


def test_stable_variables_have_the_characteristic_function_that_defines_them():
    """E cos(t X) = exp(-|t|^1.3), at 4.5 standard errors."""
    number = runs(20_000, 200_000)
    pairs = zip(UNIFORM[:number], NORMAL[:number], strict=True)
    x = np.array([heavy_tails.stable(u, z) for u, z in pairs])
    for t in (0.3, 1.0, 2.0):
        assert abs(np.cos(t * x).mean() - math.exp(-(t**1.3))) < 4.5 * np.cos(t * x).std() / math.sqrt(number)
    assert heavy_tails.higher_stable(0.2, 0.4) == pytest.approx(1 + heavy_tails.stable(0.2, 0.4))


def test_one_in_a_hundred_is_an_outlier():
    assert heavy_tails.outliers(0.005, 0.7) == pytest.approx(70)
    assert heavy_tails.outliers(0.5, 0.7) == 0.7
    assert heavy_tails.higher_outliers(0.5, 0.7) == pytest.approx(1.2)
    assert heavy_tails.latency(0.0, 0.7) == -1.0
    assert heavy_tails.lower_latency(0.5, 0.7) == pytest.approx(-0.8 * 2 ** (2 / 3))
    assert [heavy_tails.more_revenue(u, -2.0) for u in (0.045, 0.055)] == [1.0, 0.0]
    assert [heavy_tails.revenue(u, -2.0) for u in (0.035, 0.045)] == [1.0, 0.0]


@pytest.mark.parametrize("raw", [True, False])
def test_moments_are_those_of_the_laws(raw):
    """The second of a Gaussian by hand; others, of low order, by quantiles of SciPy at a million places."""
    from scipy import stats

    gaussian = br.Gaussian(0.3, 2.0)
    assert heavy_tails.moment_of(gaussian, 2.0, raw) == pytest.approx(4.09 if raw else 4.0)
    u = (np.arange(1_000_000) + 0.5) / 1_000_000
    for arm, law in (
        (br.StudentT(3.0, 1.0), stats.t(3.0, loc=1.0)),
        (br.Pareto(3.0, 0.8), stats.pareto(3.0, scale=0.8)),
    ):
        x = law.ppf(u) - (0.0 if raw else arm.mean)
        assert heavy_tails.moment_of(arm, 1.2, raw) == pytest.approx((np.abs(x) ** 1.2).mean(), rel=2e-3)


def test_robust_ucb_is_told_the_larger_moment_and_run_where_it_is_known():
    truncated = heavy_tails.robust_ucb("Robust-UCB-truncated", "Pareto 1.5")
    assert truncated.eps == 0.2
    assert truncated.u == pytest.approx(1.5 / 0.3)
    assert heavy_tails.policy_of("Robust-UCB-median", "stable 1.3") is None
    played = [heavy_tails.policy_of(name, "Gaussian") for name in heavy_tails.POLICIES]
    assert None not in played


@pytest.mark.full
@pytest.mark.parametrize("problem", ["Student t 1.2", "Pareto 1.2", "stable 1.3", "Gaussian, 1 % outliers"])
def test_fe_trimmed_has_less_regret_than_fe_with_heavy_tails(problem):
    """100 runs of 20,000 steps, at 2 and 3 standard errors."""
    environment = heavy_tails.problems()[problem]
    policies = {name: heavy_tails.policy_of(name, problem) for name in ("FE-Trimmed", "FE-Anytime")}
    regret = br.simulate(environment, policies, 20_000, 100, workers=2).dataset["regret"].to_numpy()[:, :, -1]
    ours, theirs = regret.mean(axis=1)
    spread = regret.std(axis=1, ddof=1) / 10
    assert ours + 3 * spread[0] < theirs - 2 * spread[1]
