"""What is said of a log: numbers against their definitions, the tests of change at their levels, odd logs."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import brigand as br
from conftest import ROOT
from strength import runs

LOGS = ROOT.parent / "shared" / "data"
OBD = {
    "arm": "item_id",
    "reward": "click",
    "time": "timestamp",
    "propensity": "propensity_score",
    "segment": "position",
}


def make(arm, reward, **more):
    return br.Log.from_columns({"arm": arm, "reward": reward, **more})


def drawn(rng, n, shares, rates, **more):
    arm = rng.choice(len(shares), n, p=shares)
    rates = np.asarray(rates)
    rate = rates[arm] if rates.ndim == 1 else rates[np.arange(n) * len(rates) // n, arm]
    return make(arm, (rng.random(n) < rate).astype(float), **{k: v(arm) for k, v in more.items()})


def verdicts(summary):
    return [use.verdict for use in summary.uses]


def test_the_numbers_are_those_of_their_definitions():
    rng = np.random.default_rng(0)
    log = drawn(
        rng, 995, [0.5, 0.3, 0.2], [0.2, 0.5, 0.9], propensity=lambda arm: np.array([0.5, 0.3, 0.2])[arm]
    )
    summary = log.summary()
    frame = log.to_pandas()
    table = summary.table()
    assert list(table) == ["arm", "rows", "share", "reward", "lower", "upper"]
    for row in table.itertuples():
        rewards = frame.reward[frame.arm == row.arm]
        exact = stats.binomtest(int(rewards.sum()), len(rewards)).proportion_ci(method="exact")
        assert row.rows == len(rewards)
        assert (row.share, row.reward) == pytest.approx((len(rewards) / 995, rewards.mean()))
        assert (row.lower, row.upper) == pytest.approx((exact.low, exact.high))
    pd.testing.assert_frame_equal(table, log.table())
    assert summary.reward == pytest.approx(frame.reward.mean())
    assert [stretch.first for stretch in summary.stretches] == [995 * k // 10 + 1 for k in range(10)]
    assert sum(stretch.rows for stretch in summary.stretches) == 995
    for stretch in summary.stretches:
        part = frame.reward[stretch.first - 1 : stretch.first - 1 + stretch.rows]
        assert stretch.reward == pytest.approx(part.mean())
    weights = 1 / log.propensity
    found = summary.propensities
    assert found.mean_weight == pytest.approx(weights.mean())
    assert found.se == pytest.approx(stats.sem(weights))
    assert (found.expected, found.known) == (3, 1)
    assert found.ess == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert (found.least, found.largest, found.largest_weight) == pytest.approx((0.2, 0.5, 5 / 3))
    assert verdicts(summary) == ["yes", "yes", "yes"]
    assert summary.warnings == ()


def test_rewards_of_any_size_have_student_intervals():
    rng = np.random.default_rng(1)
    arm, reward = rng.integers(0, 3, 600), rng.normal(5, 2, 600)
    plain = make(arm, reward).summary()
    for row in plain.by_arm:
        rewards = reward[arm == int(row.arm)]
        mean = stats.ttest_1samp(rewards, 0).confidence_interval()
        assert (row.reward, row.lower, row.upper) == pytest.approx((rewards.mean(), mean.low, mean.high))
    for factor in (1e300, 1e-300):
        other = make(arm, reward * factor).summary()
        assert other.reward == pytest.approx(plain.reward * factor)
        assert other.change == pytest.approx(plain.change)
        assert other.by_arm[0].upper == pytest.approx(plain.by_arm[0].upper * factor)
    assert make(arm, reward + 1e9).summary().change == pytest.approx(plain.change, rel=1e-4)


def test_of_one_arm_the_test_of_change_is_that_of_chi_squared():
    """Pearson's statistic times (n - 1) / n, which a permutation has."""
    rng = np.random.default_rng(2)
    n = 2000
    reward = (rng.random(n) < 0.3).astype(float)
    ones = reward.reshape(10, -1).sum(axis=1)
    pearson = stats.chi2_contingency(np.stack([ones, 200 - ones]), correction=False).statistic
    summary = make(np.zeros(n, int), reward).summary()
    assert summary.change == pytest.approx(stats.chi2.sf(pearson * (n - 1) / n, 9))
    assert summary.change_of_one == pytest.approx(summary.change)


@pytest.mark.parametrize("kind", ["0/1", "rare", "numbers"])
def test_without_change_the_tests_have_their_level_also_if_shares_move(kind):
    """At level 0.05: false alarm of the test itself 0.001, by a binomial bound."""
    rng = np.random.default_rng(3)
    n, trials = runs(1500, 3000), runs(150, 3000)
    rates = {"0/1": [0.1, 0.4, 0.6], "rare": [0.003, 0.01, 0.02], "numbers": [0.0, 1.0, 5.0]}[kind]
    low = {"together": 0, "alone": 0}
    for _ in range(trials):
        late = np.arange(n) / n > 0.5
        arm = np.where(late, rng.choice(3, n, p=[0.1, 0.2, 0.7]), rng.choice(3, n, p=[0.6, 0.2, 0.2]))
        means = np.array(rates)[arm]
        reward = means + rng.standard_exponential(n) if kind == "numbers" else rng.random(n) < means
        summary = make(arm, reward).summary()
        low["together"] += summary.change < 0.05
        low["alone"] += summary.change_of_one < 0.05
    most = stats.binom.ppf(0.999, trials, 0.05)
    assert low["together"] <= most
    assert low["alone"] <= most
    assert low["together"] >= stats.binom.ppf(0.001, trials, 0.05)


def test_changes_are_seen():
    rng = np.random.default_rng(4)
    together = drawn(rng, 5000, [0.5, 0.5], [[0.1, 0.2], [0.2, 0.3]]).summary()
    assert together.change < 1e-6
    assert "rates change over the log" in together.warnings[0]
    assert verdicts(together) == ["no", "with care", "no"]
    assert together.uses[0].reason.startswith("rates change (p = ")
    apart = drawn(rng, 5000, [0.5, 0.5], [[0.1, 0.3], [0.3, 0.1]]).summary()
    assert apart.change > 1e-4
    assert apart.change_of_one < 1e-6
    assert apart.uses[0].verdict == "no"


def test_propensities_that_do_not_belong_to_the_log():
    rng = np.random.default_rng(5)
    shares = np.array([0.7, 0.2, 0.1])
    right = drawn(rng, 2000, shares, [0.5] * 3, propensity=lambda arm: shares[arm]).summary()
    assert right.warnings == ()
    wrong = drawn(rng, 2000, shares, [0.5] * 3, propensity=lambda arm: shares[::-1][arm]).summary()
    assert "mean of 1/propensity is 8." in wrong.warnings[0]
    assert "where 3 arms were available" in wrong.warnings[0]
    assert "these are not the probabilities" in wrong.warnings[0]
    assert verdicts(wrong) == ["yes", "no", "no"]
    certain = drawn(rng, 2000, shares, [0.5] * 3, propensity=lambda arm: np.ones(len(arm))).summary()
    assert "either some arms had no chance" in certain.warnings[0]
    assert verdicts(certain) == ["yes", "no", "no"]


def test_right_propensities_are_rarely_called_wrong():
    """Skewed weights: 2,000 rows, the least probability 0.02. At most 1 log in 300 is expected."""
    rng = np.random.default_rng(6)
    trials = runs(300, 3000)
    shares = np.array([0.02, 0.08, 0.3, 0.6])
    false = 0
    for _ in range(trials):
        log = drawn(rng, 2000, shares, [0.5] * 4, propensity=lambda arm: shares[arm])
        false += abs(log.summary().propensities.far) > 4
    assert false <= stats.binom.ppf(0.999, trials, 1 / 300)


def test_arms_that_were_available_are_counted():
    rng = np.random.default_rng(7)
    n = 2000
    two = rng.random(n) < 0.5
    arm = np.where(two, rng.integers(0, 2, n), rng.integers(0, 3, n))
    sets = np.where(two, "0|1", "0|1|2")
    log = make(arm, rng.integers(0, 2, n), propensity=np.where(two, 1 / 2, 1 / 3), available=sets)
    summary = log.summary()
    assert summary.propensities.expected == pytest.approx(3 - two.mean())
    assert (summary.propensities.far, summary.propensities.ess) == pytest.approx((0, n))
    assert summary.warnings == ()
    assert math.isnan(summary.even)


def test_a_log_without_propensities():
    rng = np.random.default_rng(8)
    even = drawn(rng, 3000, [1 / 3] * 3, [0.5] * 3).summary()
    assert even.even == pytest.approx(stats.chisquare([row.rows for row in even.by_arm]).pvalue)
    assert verdicts(even) == ["yes", "with care", "no"]
    assert "about 1,000 rows count if arms were drawn uniformly" in even.uses[1].reason
    uneven = drawn(rng, 3000, [0.6, 0.2, 0.2], [0.5] * 3).summary()
    assert verdicts(uneven) == ["yes", "no", "no"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("arms", "arm", "reward", "warned", "expected"),
    [
        (None, ["a"] * 20, [0, 1] * 10, "there is one arm", ["no", "no", "no"]),
        (["a", "b", "c"], ["a", "b"] * 10, [0, 1, 1, 0] * 5, r"never shown: 1 arm \(c\)", ["no"] * 3),
        (None, ["a", "b"] * 10, [1] * 20, "all rewards are 1", ["with care", "with care", "no"]),
        (None, ["a", "b"] * 10, [0.1] * 20, "all rewards are 0.1", ["with care", "with care", "no"]),
        (None, ["a"], [1], "there is one arm", ["no", "no", "no"]),
        (None, ["a", "b"], [1, 0], None, ["with care", "with care", "no"]),
    ],
)
def test_odd_logs(arms, arm, reward, warned, expected):
    given = {} if arms is None else {"arms": arms}
    for more in ({}, {"propensity": [0.5] * len(arm)}):
        log = br.Log.from_columns({"arm": arm, "reward": reward} | more, **given)
        summary = log.summary()
        text = str(summary)
        if warned is not None:
            assert pd.Series(summary.warnings).str.contains(warned).any()
            assert summary.warnings[0] in text
        if not more and arms is None:
            assert verdicts(summary) == expected
        json.dumps(summary.to_dict(), allow_nan=False)
        assert len(summary.table()) == len(log.arms)


def test_it_prints_as_lines_whatever_arms_are_called():
    log = br.Log.from_columns(
        {"arm": ["\x1b[31m", "a\nb", " ", "x" * 90] * 5, "reward": range(20), "propensity": [0.25] * 20},
        arms=["\x1b[31m", "a\nb", "x" * 90, " x"],
        errors="skip",
    )
    text = str(log.summary())
    assert "\x1b" not in text
    assert r"'a\nb'" in text
    assert "left out: 5 arm missing" in text
    assert max(map(len, text.splitlines())) < 160


def test_the_real_logs():
    """The numbers that stand beside them."""
    if not LOGS.exists():
        pytest.skip("the logs are not part of the repository")
    uniform, thompson = (
        br.Log.read(LOGS / f"obd_men_{name}.csv.gz", **OBD).summary() for name in ("random", "bts")
    )
    assert (uniform.rows, len(uniform.by_arm), uniform.reward) == (10_000, 34, 0.0046)
    assert (uniform.propensities.mean_weight, uniform.propensities.se) == pytest.approx((34, 0))
    assert (thompson.rows, thompson.reward) == (10_000, 0.0069)
    assert thompson.propensities.ess == pytest.approx(655.7, abs=0.05)
    assert thompson.propensities.largest_weight == pytest.approx(178.25, abs=0.005)
    assert abs(thompson.propensities.far) < 2
    assert uniform.warnings == thompson.warnings == ()
