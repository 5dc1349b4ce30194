"""The law of FE's stuck runs: beside walks, numerical integrals and weighted runs."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

import brigand as br
from brigand.theory import exponential_cost, stuck_runs, time_below_zero
from brigand.theory.stuck import EXACT, below_zero_law, never_below_zero
from brigand.theory.worst_case import waited
from strength import runs, some


@pytest.mark.parametrize("drift", [0.4, 1.0, 2.5])
def test_the_law_is_that_of_walks(drift):
    """Two-sided, at 4 standard errors, 10 values each: false alarm 2e-3 for all if they were independent."""
    rng, number = np.random.default_rng(0), runs(4_000, 100_000)
    found = np.zeros(number, np.int64)
    for first in range(0, number, 1_000):
        walks = np.cumsum(rng.normal(drift, 1, (1_000, 300)), axis=1)
        found[first : first + 1_000] = (walks < 0).sum(axis=1)
    law = below_zero_law(drift, 11)
    assert law[0] == pytest.approx(1)
    for q in range(1, 11):
        spread = math.sqrt(law[q] * (1 - law[q]) / number)
        assert abs((found >= q).mean() - law[q]) < 4 * spread + 1e-9 + 10 / number * (law[q] * number < 10)


def test_small_cases_by_hand():
    """P(X >= 1) = 1 - p_0, and p_0 u_1 = p_0 P(S_1 < 0)."""
    p_0 = never_below_zero(1.0)
    law = below_zero_law(1.0, 3)
    assert law[1] == pytest.approx(1 - p_0)
    assert law[2] == pytest.approx(1 - p_0 - p_0 * ndtr(-1.0))


@pytest.mark.parametrize("drift", [1e-3, 0.01, 0.1, 0.5])
def test_the_probability_never_to_be_below_is_that_of_chang_and_peres(drift):
    """Their series, p_0 = sqrt(2) d exp(zeta(1/2) d / sqrt(2 pi) + O(d^3)): zeta(1/2) = -1.4603545."""
    series = math.sqrt(2) * drift * math.exp(-1.4603545088 * drift / math.sqrt(2 * math.pi))
    assert never_below_zero(drift) == pytest.approx(series, rel=0.02 * drift**2 + 1e-7)


def test_the_walk_has_the_law_of_the_brownian_motion_in_the_limit():
    for drift, tolerance in ((0.1, 0.004), (0.02, 2e-4)):
        q = np.array([100, 1_000, 5_000])
        np.testing.assert_allclose(
            below_zero_law(drift, EXACT)[q], time_below_zero(drift**2 * q), atol=tolerance, rtol=0.02
        )


def test_the_law_joins_the_limit_without_a_jump():
    law = below_zero_law(0.01, EXACT + 10)
    assert (np.diff(law) < 0).all()
    np.testing.assert_allclose(np.diff(law)[EXACT - 5 :], np.diff(law)[EXACT - 5], rtol=0.01)


def test_the_time_below_zero_has_the_transform_that_is_stated():
    """E exp(y time) = 1 + y times the integral of exp(y x) P(time > x)."""
    for y in (-5.0, -0.3, 0.3, 0.45):
        total, _ = quad(lambda x, y=y: math.exp(y * x) * float(time_below_zero(x)), 0, 500, limit=500)
        assert 1 + y * total == pytest.approx(2 / (1 + math.sqrt(1 - 2 * y)), rel=1e-4)


def test_the_cost_of_an_exponential_sequence_is_the_integral():
    base, gap = math.exp(0.02), 0.3
    total, _ = quad(lambda r: base**r * float(time_below_zero(gap**2 * r)), 0, 20_000, limit=2_000)
    assert exponential_cost(base, gap, 1.0) == pytest.approx(total, rel=1e-5)
    assert exponential_cost(base, 2 * gap, 2.0) == pytest.approx(total, rel=1e-5)
    assert exponential_cost(math.exp(gap**2 / 2), gap, 1.0) == pytest.approx(2 / gap**2)
    assert exponential_cost(math.exp(gap**2 / 1.9), gap, 1.0) == math.inf


@pytest.mark.parametrize(
    "sequence", [br.Linear(), br.Exponential(), br.Exponential(1.3), br.Constant(9)], ids=repr
)
def test_numbers_belong_together(sequence):
    law = stuck_runs(sequence, 0.4, 2.0, 5_000)
    assert len(law.rounds) == len(law.probability) == len(law.pulls) == len(law.regret)
    assert law.probability[0] == pytest.approx(1)
    assert (np.diff(law.probability) <= 0).all()
    assert (np.diff(law.pulls) >= 0).all()
    assert (np.diff(law.regret) >= 0).all()
    rounds = br.theory.Schedule(sequence, 2, 5_000).rounds([5_000])[0]
    assert law.regret[0] == pytest.approx(0.4 * rounds)
    schedule = br.theory.Schedule(sequence, 2, 5_000)
    np.testing.assert_array_equal(law.pulls, np.minimum(waited(schedule, law.rounds + 1), 5_000))
    by_hand = law.regret[-1] * law.probability[-1] + (law.regret[:-1] * -np.diff(law.probability)).sum()
    assert law.mean == pytest.approx(by_hand)
    assert law.exceeds(law.regret[0] - 1) == pytest.approx(1)
    assert law.exceeds(0.4 * 5_000) == 0
    assert law.exceeds([-1, 1e9]).tolist() == pytest.approx([1, 0])


@pytest.mark.parametrize("rival", [0.0, 1.0])
@pytest.mark.parametrize("gap", some([0.3, 0.5], [0.5]))
def test_weighted_runs_of_fe_have_about_this_law(gap, rival):
    """Within a factor of 2 beyond 5 times the usual regret, and the mean within a tenth, at 4 errors."""
    environment = br.Environment.stationary([br.Gaussian(0, rival), br.Gaussian(gap, 1)])
    law = stuck_runs(br.Exponential(), gap, 1.0, 10**6)
    fe = br.ForcedExploration()
    for factor in (5, 100):
        limit = factor * law.regret[0]
        found = br.rare_regret(environment, fe, 10**6, 4_000, threshold=limit, workers=1).exceeds(limit)
        assert found.value - 4 * found.error < 2 * law.exceeds(limit)
        assert found.value + 4 * found.error > 0.5 * law.exceeds(limit)
    found = br.rare_regret(environment, fe, 10**6, 4_000, workers=1).mean()
    assert abs(found.value - law.mean) < 0.1 * law.mean + 4 * found.error


@pytest.mark.parametrize(
    "sequence", some([br.Linear(), br.Exponential(1.3), br.Power(2.0)], [br.Exponential(1.3)])
)
def test_the_mean_regret_is_at_least_what_is_proved(sequence):
    """d E min(W(X_m), T - m) for a rival that pays 0, m = T / 2: one-sided, at 4 standard errors."""
    gap, horizon = 0.4, 2_000
    environment = br.Environment.stationary([br.Gaussian(0, 0), br.Gaussian(gap, 1)])
    rng, number = np.random.default_rng(2), runs(500, 5_000)
    times = (np.cumsum(rng.normal(gap, 1, (number, horizon // 2)), axis=1) < 0).sum(axis=1)
    floor = np.minimum(waited(br.theory.Schedule(sequence, 2, horizon), times + 1), horizon - horizon // 2)
    found = br.simulate(
        environment, {"FE": br.ForcedExploration(sequence)}, horizon, number, method="skip", workers=1
    )
    regret = found.dataset["regret"].to_numpy()[0, :, -1]
    spread = math.sqrt((regret.var() + (gap * floor).var()) / number)
    assert regret.mean() > gap * floor.mean() - 4 * spread


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ((br.Linear(), 0.0, 1.0, 1000), "gap"),
        ((br.Linear(), math.nan, 1.0, 1000), "gap"),
        ((br.Linear(), 0.5, -1.0, 1000), "sigma"),
        ((br.Linear(), 0.5, 1.0, 0), "horizon"),
        ((br.AnytimeExponential(), 0.5, 1.0, 1000), "schedule"),
        ((br.Constant(1), 1e-6, 1.0, 10**9), "rounds"),
    ],
)
def test_bad_arguments_are_refused(settings, words):
    with pytest.raises(br.InvalidValueError, match=words):
        stuck_runs(*settings)


def test_bad_bases_are_refused():
    for base in (1.0, 0.5, math.nan, math.inf):
        with pytest.raises(br.InvalidValueError, match="base"):
            exponential_cost(base, 1.0, 1.0)


@pytest.mark.parametrize(
    ("gap", "sigma"), [(1e300, 1e-300), (1e-300, 1e300), (0.5, 1e160), (1e200, 1.0), (0.5, 1e-160)]
)
def test_extreme_gaps_are_no_accident(gap, sigma):
    law = stuck_runs(br.Linear(), gap, sigma, 1000)
    assert 0 <= law.probability[1] <= 1
    assert law.probability[1] == pytest.approx(1.0 if gap / sigma < 1 else 0.0, abs=1e-9)
    assert exponential_cost(1.1, gap, sigma) in (math.inf, pytest.approx(0.0, abs=1e-9))
