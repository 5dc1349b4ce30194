"""What a fixed rule would have earned: formulas, laws, bad input, and a real log whose values are known."""

import numpy as np
import pytest

import brigand as br
from brigand.logs import estimators, intervals, targets
from conftest import DATA
from logs import coverage, made
from strength import runs


def small(n=60, seed=0, **changed):
    """A log of three arms and two segments, with propensities that move."""
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet([2, 2, 2], n)
    arm = (rng.random((n, 1)) > chances.cumsum(axis=1)).sum(axis=1).clip(max=2).astype(np.int32)
    given = {
        "arms": ("a", "b", "c"),
        "arm": arm,
        "reward": rng.normal(arm, 1.0),
        "propensity": chances[np.arange(n), arm],
        "segments": ("x", "y"),
        "segment": rng.integers(0, 2, n).astype(np.int32),
    }
    return br.Log(**given | changed)


TARGET = {"x": {"a": 0.2, "b": 0.8}, "y": {"c": 0.5, "b": 0.25, "a": 0.25}}
TABLE = np.array([[0.2, 0.8, 0], [0.25, 0.25, 0.5]])


def test_each_estimator_is_its_formula():
    log = small()
    s, a, r, p = log.segment, log.arm, log.reward, log.propensity
    w = TABLE[s, a] / p
    found = br.evaluate(log, TARGET).table()
    assert found.columns.to_list() == ["value", "se", "lower", "upper", "ess", "max_weight"]
    n = len(log)
    assert found.value["IPS"] == pytest.approx((w * r).sum() / n)
    assert found.se["IPS"] == pytest.approx((w * r).std(ddof=1) / np.sqrt(n))
    snips = (w * r).sum() / w.sum()
    assert found.value["SNIPS"] == pytest.approx(snips)
    error = np.sqrt((w**2 * (r - snips) ** 2).sum() * n / (n - 1)) / w.sum()
    assert found.se["SNIPS"] == pytest.approx(error)
    means = np.array([[r[(s == i) & (a == j)].mean() for j in range(3)] for i in range(2)])
    assert found.value["DM"] == pytest.approx(np.mean([(TABLE * means)[i].sum() for i in s]))
    assert found.ess["IPS"] == pytest.approx(w.sum() ** 2 / (w**2).sum())
    assert found.max_weight["DR"] == pytest.approx(w.max())
    assert np.isnan(found.ess["DM"])


def test_dr_uses_earlier_rows_only():
    """Each row's score is its formula, with means of the blocks before, shrunk by one row each."""
    log, n = small(), 60
    rule, cells = targets.resolve(log, TARGET), estimators.Cells(log)
    w = rule.chosen(log) / log.propensity
    scores = estimators.doubly_robust_scores(rule, cells, w, 5)
    starts = estimators.block_starts(n, 5)
    assert starts.tolist() == [0, 1, 2, 4, 8, 12, 24, 36, 48, 60]
    for i in range(n):
        before = slice(0, starts[np.searchsorted(starts, i, side="right") - 1])
        s, a, r = log.segment[before], log.arm[before], log.reward[before]
        overall = r.mean() if len(r) else 0.0
        arms = [(r[a == j].sum() + overall) / ((a == j).sum() + 1) for j in range(3)]
        own = [
            (r[(a == j) & (s == log.segment[i])].sum() + arms[j])
            / (((a == j) & (s == log.segment[i])).sum() + 1)
            for j in range(3)
        ]
        expected = TABLE[log.segment[i]] @ own + w[i] * (log.reward[i] - own[log.arm[i]])
        assert scores[i] == pytest.approx(expected)


def test_dr_moves_with_the_rewards_but_for_the_first_row():
    log = small(4000)
    moved = small(4000, reward=log.reward + 1000)
    first, second = (br.evaluate(one, TARGET, interval="normal").table() for one in (log, moved))
    assert second.value["DR"] - 1000 == pytest.approx(first.value["DR"], abs=1.0)
    assert second.se["DR"] < 5 * first.se["DR"]
    assert second.se["IPS"] > 100 * first.se["IPS"]


def test_targets_that_say_the_same_give_the_same():
    log = small(segment=None, segments=())
    third = 1 / 3
    same = [
        "uniform",
        {"a": third, "b": third, "c": third},
        br.Log(("c", "a", "b"), np.array([0, 1, 2], np.int32), np.zeros(3)),
    ]
    tables = [br.evaluate(log, target).table() for target in same]
    for table in tables[1:]:
        np.testing.assert_allclose(table, tables[0], rtol=1e-9)
    one = [br.evaluate(log, target).table() for target in ("b", {"b": 1.0})]
    np.testing.assert_allclose(one[0], one[1])


def test_another_log_has_shares_per_segment():
    log = small()
    other = br.Log(
        ("b", "c"),
        np.array([0, 0, 0, 1, 1], np.int32),
        np.zeros(5),
        segments=("y", "x"),
        segment=np.array([0, 0, 1, 1, 0], np.int32),
    )
    shares = {"x": {"b": 0.5, "c": 0.5}, "y": {"b": 2 / 3, "c": 1 / 3}}
    np.testing.assert_allclose(br.evaluate(log, other).table(), br.evaluate(log, shares).table())
    rule = targets.resolve(small(segment=None, segments=()), other)
    np.testing.assert_allclose(rule.table, [[0, 0.6, 0.4]])


def test_arms_that_are_not_available_leave_their_probability_to_the_others():
    log = small(
        sets=np.array([[True, True, True], [False, True, True]]),
        available=np.arange(60, dtype=np.int32) % 2,
    )
    rule = targets.resolve(log, {"a": 0.5, "b": 0.3, "c": 0.2})
    np.testing.assert_allclose(rule.table[rule.kind[0]], [0.5, 0.3, 0.2])
    np.testing.assert_allclose(rule.table[rule.kind[1]], [0, 0.6, 0.4])
    uniform = targets.resolve(log, "uniform")
    np.testing.assert_allclose(uniform.table[uniform.kind[1]], [0, 0.5, 0.5])
    with pytest.raises(br.InvalidValueError, match="in row 1 of the log no arm is available"):
        br.evaluate(log, "a")


def test_clipping_cuts_weights_and_says_so():
    log = small()
    w = TABLE[log.segment, log.arm] / log.propensity
    found = br.evaluate(log, TARGET, clip=2.0)
    assert found.table().value["IPS"] == pytest.approx((np.minimum(w, 2) * log.reward).mean())
    assert found.table().max_weight["IPS"] == 2
    assert any(f"{(w > 2).sum()} weights above 2 cut" in text for text in found.warnings)


def test_the_value_of_a_rule_on_two_coins():
    log = made.uniform(np.random.default_rng(1), 1, 100_000, (0.2, 0.8))[0]
    values = br.evaluate(log, {"a": 0.3, "b": 0.7}).table().value
    assert (np.abs(values - 0.62) < 0.01).all()


@pytest.mark.every(3)
@pytest.mark.parametrize("interval", ["bootstrap", "normal"])
@pytest.mark.parametrize("chances", [(0.5, 0.5), (0.9, 0.1)])
def test_95_percent_intervals_hold_in_93_to_97_percent_of_logs(interval, chances):
    """At full strength 2,000 logs; of fewer, 4 standard errors more: level 1e-3 for all twelve."""
    logs = runs(100, 2000)
    slack = 0 if logs == 2000 else 4 * np.sqrt(0.05 * 0.95 / logs)
    for share in coverage.of_rules(logs, interval, chances=chances).values():
        assert 0.93 - slack <= share <= 0.97 + slack


@pytest.mark.parametrize("interval", ["bernstein", "anytime"])
def test_intervals_of_bounded_rewards_hold_in_95_percent_of_logs_at_least(interval):
    """Those for all times are looked at after every 100 rows; 3 standard errors: level 1e-3 each."""
    logs = runs(200, 2000)
    found = coverage.of_rules(logs, interval, chances=(0.9, 0.1))
    assert set(found) == ({"IPS"} if interval == "bernstein" else {"IPS", "DR"})
    assert min(found.values()) >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / logs)


@pytest.mark.full
def test_errors_fall_as_one_over_the_root_of_n():
    """Slopes of the root mean squared error of 100 logs at each of four sizes; standard error is 0.01."""
    assert (np.abs(coverage.of_rates() + 0.5) < 0.1).all()


@pytest.mark.parametrize("estimator", ["IPS", "SNIPS", "DR"])
def test_a_bandits_log_gives_the_rules_value(estimator):
    """Epsilon-greedy chose: the mean over many logs is within 4 standard errors, but for SNIPS's O(1/n)."""
    logs = runs(300, 3000)
    m = made.adaptive(np.random.default_rng(5), logs, 400, (0.5, 0.5, 0.3), made.greedy(0.2))
    rule, value = {"a": 0.2, "b": 0.3, "c": 0.5}, 0.4
    found = [
        br.evaluate(m[i], rule, estimators=[estimator], interval="normal").estimates[0] for i in range(logs)
    ]
    off = np.array([e.value for e in found]) - value
    bias = 0.01 if estimator == "SNIPS" else 0
    assert abs(off.mean()) < bias + 4 * off.std() / np.sqrt(logs)


@pytest.mark.parametrize("clip", [None, 3.0])
def test_intervals_at_all_times_hold_for_a_bandits_log_with_rewards_that_move(clip):
    """Also with weights that are cut; they bound the rule's mean value so far. Level 1e-3."""
    logs, rows = runs(100, 2000), 1000
    rng, missed = np.random.default_rng(6), 0
    t = np.arange(rows)
    means = np.stack([0.5 + 0.3 * np.sin(t / 100), np.full(rows, 0.4)])
    value = (0.2 * means[0] + 0.8 * means[1]).cumsum() / (t + 1)
    m = made.adaptive(rng, logs, rows, (0.5, 0.5), made.greedy(0.1))
    for i in range(logs):
        reward = (rng.random(rows) < means[m.arm[i], t]) * 1.0
        log = br.Log(("a", "b"), m.arm[i], reward, m.propensity[i])
        found = br.evaluate(
            log, {"a": 0.2, "b": 0.8}, interval="anytime", support=(0, 1), estimators=["IPS"], clip=clip
        )
        low, high = found.over_time()
        missed += ((low > value) | (high < value)).any()
    assert missed <= 0.05 * logs + 3 * np.sqrt(0.05 * 0.95 * logs)


def test_intervals_at_all_times_are_those_of_rewards_that_are_moved_and_stretched():
    log = made.uniform(np.random.default_rng(1), 1, 500, (0.2, 0.8))[0]
    other = br.Log(log.arms, log.arm, 10 * log.reward - 4, log.propensity)
    given = {"interval": "anytime", "max_weight": 1.4}
    first = br.evaluate(log, {"a": 0.3, "b": 0.7}, support=(0, 1), **given)
    second = br.evaluate(other, {"a": 0.3, "b": 0.7}, support=(-4, 6), **given)
    ends = np.array(first.over_time("IPS"))
    np.testing.assert_allclose(np.array(second.over_time("IPS")), 10 * ends - 4)


def test_the_bootstrap_keeps_what_is_correlated_in_blocks():
    """Rewards that come in runs of 50: the interval for blocks of 200 rows is wider, by the root of 50."""
    rng = np.random.default_rng(3)
    x = np.repeat(rng.normal(size=400), 50)
    ones = np.ones(len(x))
    (low, high), (near, far) = (
        intervals.bootstrap([x], [ones], 0.95, np.random.default_rng(0), length)[0] for length in (200, 1)
    )
    exact = 2 * 1.96 / np.sqrt(400)
    assert high - low == pytest.approx(exact, rel=0.2)
    assert far - near == pytest.approx(exact / np.sqrt(50), rel=0.2)


def test_the_same_seed_gives_the_same_interval():
    log = small()
    one, two, three = (br.evaluate(log, "uniform", seed=seed).table().lower["IPS"] for seed in (0, 0, 1))
    assert one == two != three


def test_propensities_of_another_log_are_doubted():
    log = made.uniform(np.random.default_rng(2), 1, 5000, (0.2, 0.8), (0.8, 0.2))[0]
    assert br.evaluate(log, "uniform").warnings == ()
    wrong = br.Log(log.arms, log.arm, log.reward, np.full(5000, 0.5)[::-1].copy())
    assert br.evaluate(wrong, "uniform").warnings == ()  # 1/p has the right mean, and so has the weight
    assert "the mean weight is" in br.evaluate(wrong, "a").warnings[0]
    wrong = br.Log(log.arms, log.arm, log.reward, np.where(log.arm == 0, 0.2, 0.8))
    doubts = br.evaluate(wrong, "uniform").warnings
    assert "the mean of 1 / propensity is 4.2" in doubts[0]
    assert "should be 2" in doubts[0]
    assert "the mean weight is 2.1" in doubts[1]


def test_a_log_without_chance_is_doubted():
    log = made.uniform(np.random.default_rng(2), 1, 5000, (0.2, 0.8), (0.8, 0.2))[0]
    sure = br.Log(log.arms, log.arm, log.reward, np.ones(5000))
    assert "the mean of 1 / propensity is 1 " in br.evaluate(sure, "uniform").warnings[0]


def test_what_is_thin_is_said_with_its_number():
    rng = np.random.default_rng(4)
    arm = (rng.random(2000) < 0.005).astype(np.int32)
    reward = (rng.random(2000) < 0.02) * 1.0
    log = br.Log(("a", "b"), arm, reward, np.where(arm == 1, 0.005, 0.995))
    said = "\n".join(br.evaluate(log, "uniform").warnings)
    assert f"the effective sample size is {br.evaluate(log, 'b').diagnostics['ess']:.0f}"[:-2] in said
    assert "50.0% of the target's decisions are arms that were shown less than 30 times" in said
    assert f"{int(reward.sum())} of 2,000 rewards are 1" in said
    arm = (np.arange(2000) < 3).astype(np.int32)
    log = br.Log(("a", "b"), arm, reward, np.where(arm == 1, 0.0005, 0.9995))
    assert "row 0 alone has 25% of all weight" in "\n".join(br.evaluate(log, "uniform").warnings)


def test_an_arm_that_was_never_shown_in_a_segment_is_said():
    log = small()
    kept = ~((log.segment == 0) & (log.arm == 1))
    log = br.Log(
        log.arms,
        log.arm[kept],
        log.reward[kept],
        log.propensity[kept],
        segments=log.segments,
        segment=log.segment[kept],
    )
    found = br.evaluate(log, "b")
    assert found.diagnostics["never"] == pytest.approx((log.segment == 0).mean())
    assert "never shown in their segment" in found.warnings[0]


def test_without_propensities_only_dm_is_there():
    log = small(propensity=None)
    found = br.evaluate(log, "uniform")
    assert found.table().index.to_list() == ["DM"]
    assert "the log has no propensities" in found.warnings[-1]
    with pytest.raises(br.InvalidValueError, match="IPS: the log has no propensities"):
        br.evaluate(log, "uniform", estimators=["IPS"])


def test_it_is_readable_as_text():
    text = repr(br.evaluate(small(), TARGET))
    assert "Value per decision of: x: a 0.2, b 0.8; y: c 0.5, b 0.25, a 0.25" in text
    assert "60 rows, 95% intervals (bootstrap)" in text
    assert "Warning: the effective sample size is" in text


NAN = np.full(60, 0.5)
NAN[7] = np.nan


@pytest.mark.parametrize(
    ("log", "target", "given", "words"),
    [
        (3, "uniform", {}, "log must be a brigand.Log, not int"),
        (br.Log(("a", "b"), np.empty(0, np.int32), np.empty(0)), "uniform", {}, "the log is empty"),
        (br.Log(("a",), np.zeros(3, np.int32), np.arange(3.0)), "a", {}, "the log has one arm, 'a'"),
        (small(reward=np.zeros(60)), "uniform", {}, "all 60 rewards are 0"),
        (small(arms=("a", "b", "c", "d")), "uniform", {}, "never shown 'd', to which the target gives 0.25"),
        (small(propensity=NAN), "uniform", {}, "not known in 1 row of 60 .the first is row 7"),
        (small(), {"a": 0.5, "b": 0.4}, {}, "must sum to 1, not 0.9"),
        (small(), {"a": 1.5, "b": -0.5}, {}, r"target\['a'\] must be in \[0, 1\]"),
        (small(), {"a": float("nan")}, {}, "finite"),
        (small(), {"a": "half"}, {}, "must be a number"),
        (small(), {}, {}, "target must be"),
        (small(), 3, {}, "target must be"),
        (small(), {"a": 1.0, "x": {"a": 1.0}}, {}, "it is both"),
        (small(), {"x": {"a": 1.0}}, {}, "no probabilities for segment 'y'"),
        (small(segment=None), TARGET, {}, "the log has no segments"),
        (small(), "uniform", {"clip": 0}, "clip must be > 0"),
        (small(), "uniform", {"level": 1}, "level"),
        (small(), "uniform", {"folds": 0}, "folds must be >= 1"),
        (small(), "uniform", {"seed": -1}, "seed"),
        (small(), "uniform", {"estimators": ()}, "one at least"),
        (small(), "uniform", {"interval": "anytime"}, "needs support"),
        (small(), "uniform", {"interval": "anytime", "support": (0, 1)}, "the reward of row"),
        (small(), "uniform", {"max_weight": 0.1}, "max_weight is 0.1, but a weight of the log is"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(log, target, given, words):
    with pytest.raises(br.InvalidValueError, match=words):
        br.evaluate(log, target, **given)


@pytest.mark.parametrize(
    ("target", "given", "name"),
    [
        ("d", {}, "'d'"),
        ({"d": 1.0}, {}, "'d'"),
        ({"z": {"a": 1.0}}, {}, "'z'"),
        ("uniform", {"estimators": ["IPW"]}, "'IPW'"),
        ("uniform", {"interval": "wald"}, "'wald'"),
        (br.Log(("d",), np.zeros(1, np.int32), np.zeros(1)), {}, "'d'"),
    ],
)
def test_names_that_are_not_known_are_refused(target, given, name):
    with pytest.raises(br.UnknownNameError, match=name):
        br.evaluate(small(), target, **given)
    with pytest.raises(br.UnknownNameError, match="SNIPS"):
        br.evaluate(small(), "uniform").over_time("SNIPS")


def test_rewards_that_are_all_equal_have_intervals_where_their_range_is_known():
    log = made.uniform(np.random.default_rng(1), 1, 500, (0.0, 0.0))[0]
    for interval in ("bernstein", "anytime"):
        table = br.evaluate(log, "uniform", interval=interval, support=(0, 1)).table()
        assert table.lower["IPS"] == 0
        assert 0.005 < table.upper["IPS"] < 0.1


@pytest.fixture(scope="module")
def thompson():
    """10,000 impressions of the Open Bandit Dataset, chosen by Thompson sampling among 34 items."""
    data = np.genfromtxt(DATA / "obd_men_bts.csv.gz", delimiter=",", names=True, dtype=None, encoding="utf-8")
    data = data[np.argsort(data["timestamp"], kind="stable")]
    items = tuple(str(item) for item in range(34))
    return br.Log(
        items, data["item_id"].astype(np.int32), data["click"] * 1.0, data["propensity_score"].copy()
    )


def test_a_real_log(thompson):
    """The click rate of the uniform rule, as the Open Bandit Pipeline has it."""
    found = br.evaluate(thompson, "uniform")
    table = found.table().round(6)
    assert table.value[["IPS", "SNIPS"]].to_list() == [0.003009, 0.003189]
    assert table.se["IPS"] == 0.000774
    assert found.table().ess["IPS"] == pytest.approx(655.7, abs=0.05)
    assert found.table().max_weight["IPS"] == pytest.approx(178.3, abs=0.05)
    assert any("69 of 10,000 rewards are 1" in text for text in found.warnings)
