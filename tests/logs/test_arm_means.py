"""Means of arms from logs that bandits made: biases, coverage, Simpson's paradox, bad input."""

import numpy as np
import pytest

import brigand as br
from logs import coverage, made
from strength import runs


def log_of(rows=3000, seed=0, policy=None, means=(0.3, 0.5)):
    return made.adaptive(np.random.default_rng(seed), 1, rows, means, policy or made.greedy(0.3))[0]


@pytest.mark.parametrize(("weights", "power"), [("adaptive", -0.5), ("inverse", -1.0), ("equal", 0.0)])
@pytest.mark.parametrize("strata", [1, 3])
def test_it_is_the_formula(weights, power, strata):
    log = log_of()
    table = br.arm_means(log, weights=weights, strata=strata).table()
    u = log.propensity**power
    stratum = np.arange(3000) * strata // 3000
    for a, name in enumerate("ab"):
        values, variances = [], []
        for s in range(strata):
            of = (log.arm == a) & (stratum == s)
            m = (u * log.reward)[of].sum() / u[of].sum()
            values.append(m)
            n = of.sum()
            variances.append((u[of] ** 2 * (log.reward[of] - m) ** 2).sum() / u[of].sum() ** 2 * n / (n - 1))
        assert table.value[name] == pytest.approx(np.mean(values))
        assert table.se[name] == pytest.approx(np.sqrt(np.sum(variances)) / strata)
        assert table.sample_mean[name] == pytest.approx(log.reward[log.arm == a].mean())
        assert table.rows[name] == (log.arm == a).sum()
        assert (table.lower[name] + table.upper[name]) / 2 == pytest.approx(table.value[name])
    assert (table.covered == 1).all()


def test_with_equal_weights_and_one_stratum_it_is_students_interval():
    from scipy import stats

    log = log_of()
    found = br.arm_means(log, weights="equal", strata=1).means[0]
    x = log.reward[log.arm == 0]
    ends = stats.t.interval(0.95, len(x) - 1, x.mean(), stats.sem(x))
    assert (found.lower, found.upper) == pytest.approx(ends)
    assert found.ess == pytest.approx(len(x))


def test_differences_are_weighted_as_by_cochran_mantel_and_haenszel():
    log = log_of()
    found = br.arm_means(log, weights="equal", strata=3)
    top = bottom = 0.0
    for s in range(3):
        part = slice(1000 * s, 1000 * (s + 1))
        arm, reward = log.arm[part], log.reward[part]
        n = [(arm == a).sum() for a in (0, 1)]
        weight = n[0] * n[1] / sum(n)
        top += weight * (reward[arm == 0].mean() - reward[arm == 1].mean())
        bottom += weight
    difference = found.difference("a", "b")
    assert difference.value == pytest.approx(top / bottom)
    assert found.differences("b").loc["a"].value == difference.value
    assert found.differences("a").loc["b"].value == pytest.approx(-difference.value)


@pytest.mark.parametrize(
    "policy", [made.greedy(0.1), made.thompson(), made.thompson(0.02)], ids=["greedy", "thompson", "floor"]
)
def test_adaptivity_biases_the_sample_mean_more(policy):
    """Two arms of 0.5: the sample mean is too low; ours by two thirds of it at most, the inverse by a third.

    At full strength; the standard errors of the biases are about 0.001, the differences are paired.
    """
    logs = runs(150, 2000)
    adaptive, inverse = (
        coverage.of_means(policy, logs, 1000, weights=weights, strata=1)
        for weights in ("adaptive", "inverse")
    )
    assert (adaptive[0] < -0.008).all()
    assert (np.abs(adaptive[1]) < 0.67 * np.abs(adaptive[0]) + runs(0.007, 0.0015)).all()
    assert (np.abs(inverse[1]) < 0.33 * np.abs(inverse[0]) + runs(0.007, 0.0015)).all()


@pytest.mark.every(3)
@pytest.mark.parametrize("means", [(0.5, 0.5), (0.3, 0.5)])
@pytest.mark.parametrize("policy", [made.greedy(0.1), made.thompson(0.02)], ids=["greedy", "floor"])
def test_intervals_hold_where_no_arm_is_left_alone(policy, means):
    """Of 95 % intervals at most 3 % more miss, and 4 standard errors for those who try fewer logs."""
    logs = runs(100, 2000)
    for given in ({"weights": "adaptive", "strata": 1}, {"weights": "adaptive"}):
        holds = coverage.of_means(policy, logs, 3000, means, **given)[2]
        assert (holds > 0.92 - runs(4 * np.sqrt(0.05 * 0.95 / logs), 0)).all()


def test_an_arm_that_is_left_alone_is_doubted():
    log = log_of(3000, policy=made.thompson(), means=(0.2, 0.6))
    found = br.arm_means(log, strata=1)
    assert found.means[0].ess < 30
    assert f"that of 'a' on {found.means[0].ess:.1f}" in found.warnings[0]
    found = br.arm_means(log)
    assert found.means[0].covered < 1
    assert any(
        f"that of 'a' is of {found.means[0].covered:.0%} of the log" in text for text in found.warnings
    )


@pytest.mark.every(2)
@pytest.mark.parametrize("given", [{}, {"weights": "equal"}, {"weights": "inverse", "strata": 1}])
def test_simpsons_paradox(given):
    """Level 1e-3: 3 standard errors below 95 %."""
    logs = runs(200, 2000)
    naive, ours, holds = coverage.of_simpson(logs, **given)
    assert naive == pytest.approx(0.048, abs=0.004)
    assert abs(ours) < 0.003
    assert holds >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / logs)


def test_rewards_that_move_are_said_where_they_are_taken_not_to():
    log = made.simpson(np.random.default_rng(0), 1, 8000)[0]
    said = br.arm_means(log, strata=1).warnings[0]
    assert "the mean of 'a' moved, from 0.0" in said
    assert "strata=10" in said
    assert br.arm_means(log).warnings == ()
    assert br.arm_means(log_of(), strata=1).warnings == ()


def test_strata_may_be_given_row_by_row():
    log = log_of()
    given = np.repeat([7, 3, 5], 1000)
    one, two = (br.arm_means(log, strata=strata).table() for strata in (3, given))
    np.testing.assert_allclose(one, two)


def test_arms_that_were_never_chosen_have_no_mean():
    log = log_of()
    more = br.Log((*log.arms, "c"), log.arm, log.reward)
    found = br.arm_means(more)
    assert found.weights == "equal"
    assert np.isnan(found.table().value["c"])
    assert np.isnan(found.difference("c", "a").value)
    assert "never chosen: c." in found.warnings
    assert "Means of arms, equal weights, 95% intervals" in repr(found)


def test_an_arm_whose_rewards_are_all_equal_has_no_interval():
    arm = np.tile([0, 1], 50).astype(np.int32)
    log = br.Log(("a", "b"), arm, np.where(arm == 0, 0.0, np.arange(100) % 3 * 1.0), np.full(100, 0.5))
    assert "1 of 2 arms have rewards that are all equal, 'a' among them" in br.arm_means(log).warnings[0]
    found = br.arm_means(log).means[0]
    assert found.value == 0
    assert np.isnan([found.se, found.lower, found.upper]).all()


@pytest.mark.parametrize(
    ("log", "given", "error", "words"),
    [
        (br.Log(("a", "b"), np.empty(0, np.int32), np.empty(0)), {}, br.InvalidValueError, "empty"),
        (br.Log(("a",), np.zeros(2, np.int32), np.arange(2.0)), {}, br.InvalidValueError, "one arm"),
        (br.Log(("a", "b"), np.arange(2, dtype=np.int32), np.ones(2)), {}, br.InvalidValueError, "all 2"),
        (log_of(50), {"weights": "best"}, br.UnknownNameError, "best"),
        (log_of(50), {"strata": 0}, br.InvalidValueError, "strata must be >= 1"),
        (log_of(50), {"strata": np.zeros(49, int)}, br.InvalidValueError, "50 integers"),
        (log_of(50), {"level": 0}, br.InvalidValueError, "level"),
        (
            br.Log(("a", "b"), np.arange(2, dtype=np.int32), np.arange(2.0)),
            {"weights": "adaptive"},
            br.InvalidValueError,
            "need propensities",
        ),
    ],
)
def test_what_has_no_means_is_refused(log, given, error, words):
    with pytest.raises(error, match=words):
        br.arm_means(log, **given)
    with pytest.raises(br.UnknownNameError, match="'z'"):
        br.arm_means(log_of(50)).difference("a", "z")
