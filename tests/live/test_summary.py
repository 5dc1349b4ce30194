"""What a bandit says of its arms and of its decisions: tables and reasons, against what was done."""

import dataclasses
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import brigand as br
from brigand.live import confidence, history as decisions, report
from live.common import FE, MEANS, POLICIES, RANDOM, SW_FE, Clock, arms, fit, policy_for
from stores import folder
from strength import LIVE, some

UCB = br.UCB1(0, 1)
THOMPSON = br.ThompsonBeta()


def played(policy, script, names=("a", "b", "c"), **given):
    """Return the decisions of a bandit that is told a reward after each ask, in turn: None for none."""
    bandit = br.Bandit(names, policy, seed=0, **given)
    decisions = []
    for reward in script:
        decisions.append(bandit.ask())
        if reward is not None:
            bandit.tell(decisions[-1].id, reward[decisions[-1].arm] if isinstance(reward, dict) else reward)
    return decisions


def said(decisions):
    return [decision.reason for decision in decisions]


def tie(others):
    """Return how a reason ends where other arms have the same mean."""
    return f", and so {'has 1 other arm' if others == 1 else f'have {others} other arms'}" if others else ""


# Tables.

HISTORY = {
    "decision": object,
    "arm": object,
    "explored": bool,
    "propensity": float,
    "holdout": bool,
    "reason": object,
    "asked_at": "datetime64[us, UTC]",
    "told_at": "datetime64[us, UTC]",
    "reward": float,
    "learned": float,
    "status": object,
}
SUMMARY = [
    "asked",
    "told",
    "pending",
    "defaulted",
    "mean",
    "lower",
    "upper",
    "interval",
    "explored",
    "greedy",
]


def test_the_columns_are_those_of_the_documentation():
    bandit = br.Bandit(["a", "b"], FE, seed=0)
    for _ in range(2):
        history, summary = bandit.history(), bandit.summary()
        assert ("step", *history.columns) == tuple(decisions.HISTORY)
        assert list(history.columns) == list(HISTORY)
        assert history.dtypes.to_dict() == HISTORY
        assert history.index.name == "step"
        assert list(summary.columns) == SUMMARY
        assert list(bandit.summary(removed=True).columns) == [*SUMMARY, "in_service"]
        assert summary.index.name == "arm"
        bandit.tell(bandit.ask().id, 0.5)
    for method, columns in ((br.Bandit.history, HISTORY), (br.Bandit.summary, SUMMARY)):
        for column in columns:
            assert f"``{column}``" in method.__doc__, column


@pytest.mark.parametrize("where", ["memory", "store"])
def test_the_history_is_what_was_done(where):
    with folder() as path:
        home = {} if where == "memory" else {"store": f"sqlite:///{path}/x.db", "name": "x"}
        clock, rng = Clock(1e9), np.random.default_rng(1)
        bandit = br.Bandit(["a", "b", "c"], UCB, seed=1, clock=clock, **home)
        done, told = [], {}
        for _ in range(700):  # more than a store reads at once
            clock.now += rng.random()
            decisions = bandit.ask(int(rng.integers(2, 4)))
            done += [(d.id, d.arm, d.explored, d.reason, clock.now) for d in decisions]
            if rng.random() < 0.5:
                clock.now += 1
                step = int(rng.integers(1, len(done) + 1))
                if step not in told:
                    told[step] = float(rng.random()), clock.now
                    bandit.tell(done[step - 1][0], told[step][0])
        history = bandit.history()
        n = len(done)
        assert history.index.tolist() == list(range(1, n + 1))
        columns = ["decision", "arm", "explored", *(["reason"] if where == "store" else [])]
        for place, column in enumerate(["decision", "arm", "explored", "reason"]):
            if column in columns:
                assert history[column].tolist() == [row[place] for row in done]
        np.testing.assert_allclose(
            [at.timestamp() for at in history["asked_at"]], [row[4] for row in done], atol=1e-6
        )
        rewards = [told[step][0] if step in told else math.nan for step in range(1, n + 1)]
        np.testing.assert_array_equal(history["reward"], rewards)
        np.testing.assert_array_equal(history["learned"], rewards)
        assert history["status"].tolist() == [
            "learned" if step in told else "pending" for step in range(1, n + 1)
        ]
        assert history["told_at"].isna().tolist() == [step not in told for step in range(1, n + 1)]
        for step, (_, at) in told.items():
            assert abs(history.loc[step, "told_at"].timestamp() - at) < 1e-6
        for after, limit in (
            (0, 5),
            (3, 1),
            (n - 2, None),
            (n - 2, 100),
            (n, None),
            (n + 9, 3),
            (7, 0),
            (100, 1200),
        ):
            part = bandit.history(after=after, limit=limit)
            assert part.equals(history.iloc[after : None if limit is None else after + limit])
        bandit.close()


@pytest.mark.parametrize("name", some(POLICIES, LIVE))
def test_the_summary_is_what_was_done(name):
    """Numbers, means, shares; the interval is exact where the policy or the caller knows the range."""
    policy, rng = POLICIES[name], np.random.default_rng(3)
    low, high = policy.reward_support
    bandit = br.Bandit(arms(3), policy, seed=3, horizon=400)
    asked, told, explored = ({name: [] for name in arms(3)} for _ in range(3))
    for _ in range(150):
        decision = bandit.ask()
        asked[decision.arm].append(decision.step)
        explored[decision.arm].append(decision.explored)
        if rng.random() < 0.8:
            mean = MEANS[arms(3).index(decision.arm)]
            reward = float(fit(policy, float(np.clip(mean + 0.2 * rng.standard_normal(), 0, 1))))
            told[decision.arm].append(reward)
            bandit.tell(decision.id, reward)
    for asked_for in (
        {},
        {"level": 0.5},
        {"support": (low - 1, high + 1)},
        {"support": (0, 2), "level": 0.99},
    ):
        summary, level = bandit.summary(**asked_for), asked_for.get("level", 0.95)
        ends = asked_for.get("support", (low, high))
        exact = all(map(math.isfinite, ends))
        assert set(summary["interval"]) == {"exact" if exact else "asymptotic"}
        for arm, row in summary.iterrows():
            known, n = np.array(told[arm]), len(told[arm])
            assert row[["asked", "told", "pending", "defaulted"]].tolist() == [
                len(asked[arm]),
                n,
                len(asked[arm]) - n,
                0,
            ]
            mean = known.mean() if n else math.nan
            squares = ((known - mean) ** 2).sum()
            np.testing.assert_allclose(row["mean"], mean, rtol=1e-12)
            interval = (
                confidence.bounded(n, mean, *ends, level)
                if exact
                else confidence.asymptotic(n, mean, squares, level)
            )
            np.testing.assert_allclose(
                [row["lower"], row["upper"]], np.array(interval, float), rtol=1e-9, atol=1e-12
            )
            assert row["lower"] <= row["upper"]
            forced = np.mean(explored[arm]) if explored[arm] else math.nan
            np.testing.assert_allclose([row["explored"], row["greedy"]], [forced, 1 - forced])


def test_removed_arms_are_shown_where_wanted():
    bandit = br.Bandit(["a", "b", "c"], THOMPSON, seed=0)
    bandit.tell_many([(decision.id, 1.0) for decision in bandit.ask(9)])
    before = bandit.summary()
    bandit.remove_arm("b")
    assert bandit.summary().equals(before.loc[["a", "c"]])
    everything = bandit.summary(removed=True)
    assert everything.drop(columns="in_service").equals(before)
    assert everything["in_service"].tolist() == [True, False, True]


def test_means_over_time_are_those_of_the_log_and_see_through_rates_that_move():
    """Two equal arms whose rate doubles, and b is shown less often then: its sample mean is too low."""
    bandit, rng = br.Bandit(["a", "b", "c"], "Random", seed=0, horizon=5000), np.random.default_rng(0)
    for step in range(4000):
        late = step >= 2000
        decision = bandit.ask(among=["a", "b"] if not late or rng.random() < 0.2 else ["a"])
        bandit.tell(decision, float(rng.random() < (0.2 if late else 0.1)))
    summary = bandit.summary(over_time=True)
    assert summary.drop(columns=list(report.OVER_TIME)).equals(bandit.summary())
    a, b, c = (summary.loc[name] for name in "abc")
    assert a["mean"] - b["mean"] > 0.02
    assert b["over_time_lower"] < a["over_time"] < b["over_time_upper"]
    assert b["over_time_lower"] < 0.15 < b["over_time_upper"]
    assert math.isnan(c["over_time"])
    found = br.arm_means(bandit.log(), level=0.8).table()
    assert bandit.summary(over_time=True, level=0.8)["over_time_lower"].iloc[0] == found["lower"].iloc[0]
    assert bandit.summary(over_time=True, plain=True)[2]["over_time"] is None


def test_means_over_time_of_decisions_without_propensities():
    bandit = br.Bandit(["a", "b"], FE)
    assert bandit.summary(over_time=True)["over_time"].isna().all()
    bandit.record([("a", 0.5), ("b", -0.5), ("b", 0.9), ("b", 8), ("a", 1.5)] * 20)
    found = br.arm_means(dataclasses.replace(bandit.log(), propensity=None)).table()
    assert bandit.summary(over_time=True)["over_time"].tolist() == found["value"].tolist()


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"level": 0}, "level"),
        ({"level": 1}, "level"),
        ({"level": "0.9"}, "level"),
        ({"support": (1, 0)}, "support|high"),
        ({"support": (0, 0)}, "support|high"),
        ({"support": (0,)}, "support"),
        ({"support": (0, 1, 2)}, "support"),
        ({"support": "01"}, "support"),
        ({"support": 1}, "support"),
        ({"support": (0.6, 0.9)}, r"0\.5"),
    ],
    ids=lambda given: None if isinstance(given, str) else str(given),
)
def test_bad_arguments_of_a_summary_are_refused(given, match):
    bandit = br.Bandit(["a"], FE)
    bandit.tell(bandit.ask().id, 0.5)
    with pytest.raises(br.InvalidValueError, match=match):
        bandit.summary(**given)


def test_a_reward_outside_of_the_support_is_named():
    """Of a mean inside of it, too; by a bandit that was restored, too."""
    bandit = br.Bandit(["a", "b"], FE)
    bandit.record([("a", 0.5), ("b", -0.5), ("b", 0.9), ("b", 8)])
    for asked in (bandit, br.Bandit.restore(bandit.snapshot())):
        with pytest.raises(br.InvalidValueError, match=r"a reward of 'b' was -0\.5"):
            asked.summary(support=(0, 10))
        with pytest.raises(br.InvalidValueError, match=r"a reward of 'b' was 8\.0"):
            asked.summary(support=(-1, 1))
        assert (asked.summary(support=(-0.5, 8))["interval"] == "exact").all()


def test_a_bandit_without_any_decision():
    bandit = br.Bandit(["a", "b"], THOMPSON)
    summary = bandit.summary()
    assert summary[["asked", "told", "pending", "defaulted"]].to_numpy().tolist() == [[0] * 4] * 2
    assert summary[["mean", "explored", "greedy"]].isna().all(axis=None)
    assert summary[["lower", "upper"]].to_numpy().tolist() == [[0, 1]] * 2
    assert bandit.history().empty
    assert bandit.arms() == ["a", "b"]


# Reasons.


def test_reasons_of_fe():
    """f(r) = 2 r: round 1 begins after step 3, round 2 when all were pulled once more."""
    means = {"a": 0.75, "b": 0.5, "c": 0.25}
    decisions = played(br.ForcedExploration(br.Linear(2)), [means] * 12)
    assert said(decisions) == [
        "forced: a was never chosen before",
        "forced: b was never chosen before",
        "forced: c was never chosen before",
        "forced: a was last chosen 2 steps ago; in round 1 no arm waits longer than 2",
        "forced: b was last chosen 2 steps ago; in round 1 no arm waits longer than 2",
        "forced: c was last chosen 2 steps ago; in round 1 no arm waits longer than 2",
        "greedy: a has the highest mean, 0.75 over 2 rewards",
        "greedy: a has the highest mean, 0.75 over 3 rewards",
        "greedy: a has the highest mean, 0.75 over 4 rewards",
        "forced: b was last chosen 4 steps ago; in round 2 no arm waits longer than 4",
        "forced: c was last chosen 4 steps ago; in round 2 no arm waits longer than 4",
        "greedy: a has the highest mean, 0.75 over 5 rewards",
    ]
    assert [d.explored for d in decisions] == [d.reason.startswith("forced") for d in decisions]
    assert decisions[0].data == {"kind": "forced"}
    assert decisions[9].data == {"kind": "forced", "waited": 4, "limit": 4.0, "round": 2}
    assert decisions[11].data == {"kind": "greedy", "mean": 0.75, "rewards": 5}


def test_reasons_of_fe_without_rewards_with_one_and_with_limits_between_integers():
    decisions = played(br.ForcedExploration(br.Constant(1.5)), [None, None, None, 1.0, None])
    assert said(decisions[3:]) == [
        "forced: a was last chosen 2 steps ago; in round 1 no arm waits longer than 2",
        "forced: b was last chosen 2 steps ago; in round 1 no arm waits longer than 2",
    ]
    assert decisions[3].data["limit"] == 1.5
    decisions = played(br.ForcedExploration(br.Constant(9)), [None, None, None, 0.25, None])
    assert said(decisions[3:]) == [
        "greedy: no mean is known, and a was chosen longest ago",
        "greedy: a has the highest mean, 0.25 over 1 reward",
    ]
    assert decisions[3].data == {"kind": "greedy"}


def test_reasons_of_sw_fe():
    decisions = played(
        br.ForcedExploration(br.Constant(math.inf), window=5), [{"a": 1.0, "b": 0.0}] * 9, ["a", "b"]
    )
    of = "of the last 5 steps"
    assert said(decisions) == [
        "forced: a was never chosen before",
        "forced: b was never chosen before",
        f"greedy: a has the highest mean, 1 over 1 reward {of}",
        f"greedy: a has the highest mean, 1 over 2 rewards {of}",
        f"greedy: a has the highest mean, 1 over 3 rewards {of}",
        f"greedy: a has the highest mean, 1 over 4 rewards {of}",
        f"greedy: a has the highest mean, 1 over 4 rewards {of}",
        "forced: b was last chosen 5 steps ago; in round 1 no arm waits longer than 5",
        f"greedy: a has the highest mean, 1 over 4 rewards {of}",
    ]
    assert decisions[7].data["limit"] == 5


def test_reasons_of_fe_for_a_new_arm():
    bandit = br.Bandit(["a", "b"], br.ForcedExploration(br.Linear()), seed=0)
    for _ in range(30):
        bandit.tell(bandit.ask().id, 0.5)
    bandit.add_arm("new")
    found = []
    for _ in range(4):
        decision = bandit.ask()
        bandit.tell(decision.id, 0.0 if decision.arm == "new" else 0.5)
        found += [decision] if decision.arm == "new" else []
    assert found[0].reason == "forced: new was never chosen before"
    assert re.fullmatch(
        r"forced: new was last chosen 1 step ago; a new arm with 1 pull waits no longer than 1",
        found[1].reason,
    )
    assert found[1].data["waited"] == found[1].data["limit"] == 1


@pytest.mark.parametrize("policy", [UCB, THOMPSON], ids=["UCB1", "Thompson"])
def test_reasons_of_policies_that_say_nothing_themselves(policy):
    """How the mean of the arm compares with the best one, by what was known before."""
    rng = np.random.default_rng(5)
    bandit = br.Bandit(["a", "b", "c"], policy, seed=2)
    known = {"a": [], "b": [], "c": []}
    kinds = set()
    for _ in range(120):
        decision = bandit.ask()
        arm, name = decision.arm, type(policy).__name__
        means = {one: math.fsum(rewards) / len(rewards) for one, rewards in known.items() if rewards}
        best = max(means, key=means.get, default=None)
        if arm not in means:
            data, reason = {"kind": "explored", "rewards": 0}, f"explored: no reward of {arm} is known yet"
        else:
            n, mean = len(known[arm]), means[arm]
            its = f"{mean:.3g} over {n} reward{'s' if n > 1 else ''}"
            if mean == means[best]:
                others = sum(value == mean for value in means.values()) - 1
                data = {"kind": "greedy", "mean": mean, "rewards": n} | ({"tied": others} if others else {})
                reason = f"greedy: {arm} has the highest mean, {its}{tie(others)}"
            else:
                m, top = len(known[best]), means[best]
                data = {"kind": "explored", "mean": mean, "rewards": n, "best_mean": top, "best_rewards": m}
                reason = f"explored: {name} prefers {arm}, whose mean is {its}, to {best}, "
                reason += f"which has the highest mean, {top:.3g} over {m}"
        assert decision.reason == reason
        assert decision.data == data
        assert decision.explored == (data["kind"] == "explored")
        kinds.add((data["kind"], len(data)))
        if rng.random() < 0.7:
            reward = float(rng.random() < {"a": 0.2, "b": 0.5, "c": 0.8}[arm])
            known[arm].append(reward)
            bandit.tell(decision.id, reward)
    assert kinds >= {("explored", 2), ("greedy", 3), ("explored", 5)}


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    k=st.integers(1, 4),
    policy=st.sampled_from(
        [FE, SW_FE, br.ForcedExploration(br.AnytimeExponential()), br.ForcedExploration(br.Constant(6.5))]
    ),
)
def test_reasons_of_fe_say_what_happened(seed, k, policy):
    rng = np.random.default_rng(seed)
    bandit = br.Bandit(arms(k), policy, seed=seed)
    log, known = [], {}
    for step in range(1, 60):
        among = (
            None
            if rng.random() < 0.7
            else rng.choice(arms(k), rng.integers(1, k + 1), replace=False).tolist()
        )
        decision = bandit.ask(among=among)
        there = arms(k) if among is None else among
        of = " of the available arms" if len(there) < k else ""
        first = step - policy.window if policy.window else 1
        mean, pulls = {}, [s for s, arm in enumerate(log, 1) if arm == decision.arm]
        for arm in there:
            rewards = [known[s] for s in range(max(1, first), step) if s in known and log[s - 1] == arm]
            if rewards:
                mean[arm] = math.fsum(rewards) / len(rewards), len(rewards)
        data, reason = decision.data, decision.reason
        assert decision.explored == (data["kind"] == "forced")
        if not pulls:
            assert reason == f"forced: {decision.arm} was never chosen before"
        elif data["kind"] == "forced":
            waited = step - 1 - pulls[-1]
            assert data["waited"] == waited >= data["limit"]
            times = f"{waited} step{'' if waited == 1 else 's'}"
            assert reason.startswith(f"forced: {decision.arm} was last chosen {times} ago; ")
            due, in_round = math.ceil(data["limit"]), f"in round {data['round']}"
            if waited > due:
                assert reason.endswith(f" is due after {due} step{'' if due == 1 else 's'}")
            else:
                assert reason.endswith(
                    (f" waits no longer than {due}", f"{in_round} no arm waits longer than {due}")
                )
        elif not mean:
            assert reason == f"greedy: no mean{of} is known, and {decision.arm} was chosen longest ago"
            assert pulls[-1] == min(max(s for s, one in enumerate(log, 1) if one == arm) for arm in there)
        else:
            found, n = mean[decision.arm]
            assert found == max(value for value, _ in mean.values())
            assert (data["mean"], data["rewards"]) == (found, n)
            window = f" of the last {policy.window} steps" if policy.window else ""
            its = f"{found:.3g} over {n} reward{'' if n == 1 else 's'}{window}"
            others = sum(value == found for value, _ in mean.values()) - 1
            assert data.get("tied", 0) == others
            assert reason == f"greedy: {decision.arm} has the highest mean{of}, {its}{tie(others)}"
        log.append(decision.arm)
        if rng.random() < 0.7:
            known[step] = float(rng.integers(0, 5) / 4)
            bandit.tell(decision.id, known[step])


@pytest.mark.parametrize("policy", [FE, UCB, THOMPSON], ids=["FE", "UCB1", "Thompson"])
def test_reasons_speak_of_available_arms_only_where_some_are_not(policy):
    bandit = br.Bandit(["a", "b", "c"], policy, seed=0)
    for _ in range(30):
        decision = bandit.ask()
        bandit.tell(decision.id, {"a": 0.2, "b": 0.6, "c": 0.9}[decision.arm])
    of_some = [bandit.ask(among=["a", "b"]).reason for _ in range(40)]
    assert any("highest mean of the available arms, " in reason for reason in of_some)
    assert not any("highest mean, " in reason for reason in of_some)
    assert not any(" to c," in reason for reason in of_some)
    of_all = [bandit.ask(among=among).reason for among in (None, ["c", "b", "a"]) for _ in range(20)]
    assert not any("available" in reason for reason in of_all)
    bandit.remove_arm("c")
    assert not any("available" in bandit.ask(among=["a", "b"]).reason for _ in range(10))


@pytest.mark.parametrize(
    "name", ["{}", "{0}", "{mean}", "{", "%s", "%(x)s", "100 %", "\\n", "{{x}}", "\u202e", "\ud800"]
)
@pytest.mark.parametrize(
    "policy", [FE, SW_FE, UCB, THOMPSON, RANDOM], ids=["FE", "SW-FE", "UCB1", "TS", "random"]
)
def test_names_with_braces_and_percent_signs_are_only_names(policy, name):
    plain, odd = (
        played(policy, [{"x": 0.25, name: 0.75, "PLAIN": 0.75}] * 25, ["x", other])
        for other in ("PLAIN", name)
    )
    assert [reason.replace("PLAIN", name) for reason in said(plain)] == said(odd)
    assert [d.data for d in plain] == [d.data for d in odd]


def test_large_numbers_are_readable():
    bandit = br.Bandit(["a", "b"], br.ForcedExploration(br.Constant(2000)), seed=0)
    bandit.record([("a", 0.123456789)] * 1500 + [("b", 0.0)])
    assert bandit.ask().reason == "greedy: a has the highest mean, 0.123 over 1,500 rewards"
    bandit.record([("a", 0.123456789)] * 2000)
    assert (
        bandit.ask().reason
        == "forced: b was last chosen 2,001 steps ago; in round 1 an arm is due after 2,000 steps"
    )


@pytest.mark.parametrize("name", some(br.CATALOGUE, LIVE))
def test_every_policy_gives_reasons(name):
    policy, rng = policy_for(name, 3), np.random.default_rng(0)
    bandit = br.Bandit(arms(3), policy, seed=0, horizon=100)
    for _ in range(40):
        decision = bandit.ask()
        kind, sentence = decision.reason.split(": ", 1)
        assert kind == decision.data["kind"]
        assert kind in ("forced", "explored", "greedy")
        assert decision.explored == (kind != "greedy")
        assert decision.arm in sentence
        assert all(type(value) in (int, float, str) for value in decision.data.values())
        assert all(math.isfinite(value) for value in decision.data.values() if not isinstance(value, str))
        assert decision.id in repr(decision)
        assert decision.reason in repr(decision)
        if rng.random() < 0.8:
            bandit.tell(decision.id, float(fit(policy, rng.random())))
