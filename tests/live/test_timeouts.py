"""Rewards that do not come in time: a default value is learned once, and what comes later is history."""

import pytest

import brigand as br
from live.common import FE, SW_FE, Clock, arms, contents, loaded, state, table
from stores import FULL_KINDS, urls

TIMEOUT, DEFAULT = 10.0, 0.25


url = urls(FULL_KINDS, "module")


@pytest.fixture(params=["memory", "store"])
def make(request, url):
    """A function that makes a bandit with a timeout, in memory or in a store."""

    def make(clock, policy=FE, k=3, **settings):
        name = f"{request.node.name} {len(made)}"
        home = {} if request.param == "memory" else {"store": url, "name": name}
        settings = {"reward_timeout": TIMEOUT, "default_reward": DEFAULT, "seed": 0, **settings}
        made.append(br.Bandit(arms(k), policy, clock=clock, **home, **settings))
        return made[-1]

    made = []
    yield make
    for bandit in made:
        bandit.close()


def statuses(bandit):
    return bandit.history()["status"].tolist()


CALLS = {
    "ask": lambda bandit, other: bandit.ask(),
    "ask for several": lambda bandit, other: bandit.ask(3),
    "ask among": lambda bandit, other: bandit.ask(among=["arm 7"]),
    "tell": lambda bandit, other: bandit.tell(other.id, 0.5),
    "tell many": lambda bandit, other: bandit.tell_many({other.id: 0.5}),
    "record": lambda bandit, other: bandit.record([("arm 7", 0.5)]),
    "add": lambda bandit, other: bandit.add_arm("new"),
    "remove": lambda bandit, other: bandit.remove_arm("arm 7"),
}


@pytest.mark.parametrize("call", CALLS)
def test_the_default_is_learned_once_at_the_next_call(make, call):
    clock = Clock(100.0)
    bandit = make(clock)
    late = bandit.ask()
    clock.now = 109.0
    other = bandit.ask()
    assert statuses(bandit) == ["pending", "pending"]
    clock.now = 110.0
    CALLS[call](bandit, other)
    line = bandit.history().loc[1]
    assert (line["status"], line["reward"], line["learned"]) == ("default", DEFAULT, DEFAULT)
    assert line["told_at"].timestamp() == 110
    for _ in range(3):
        bandit.ask()
    row = bandit.summary().loc[late.arm]
    assert (row["told"], row["defaulted"], row["mean"]) == (1, 1, DEFAULT)
    assert table(bandit, "arms")["count"][0] == 1
    assert table(bandit, "arms")["mean"][0] == DEFAULT
    assert statuses(bandit).count("default") == 1


def test_reading_does_not_learn_the_default_but_a_summary_does(make):
    clock = Clock()
    bandit = make(clock)
    bandit.ask()
    clock.now = 1e6
    before = state(bandit)
    assert statuses(bandit) == ["pending"]
    assert bandit.arms() == arms(3)
    assert state(bandit) == before
    assert bandit.summary()["pending"].sum() == 0
    assert statuses(bandit) == ["default"]


def test_what_comes_in_time_counts_and_what_comes_later_is_history(make):
    clock = Clock()
    bandit = make(clock)
    first, second, third = bandit.ask(3)
    clock.now = 9.999
    assert bandit.tell(first.id, 0.75) is br.Told.LEARNED
    clock.now = 10.0
    assert bandit.tell(second.id, 0.75) is br.Told.HISTORY
    before = state(bandit)
    clock.now = 11.0
    assert bandit.tell_many([(third.id, DEFAULT), (third.id, DEFAULT), (first.id, 0.75)]) == [
        br.Told.HISTORY,  # though it is what was learned
        br.Told.REPEATED,
        br.Told.REPEATED,
    ]
    assert bandit.tell(second.id, 0.75) is br.Told.REPEATED
    for decision in (first, second, third):
        with pytest.raises(br.ConflictingRewardError):
            bandit.tell(decision.id, 0.5)
    assert state(bandit) == before
    history = bandit.history()
    assert history["status"].tolist() == ["learned", "late", "late"]
    assert history["reward"].tolist() == [0.75, 0.75, DEFAULT]
    assert history["learned"].tolist() == [0.75, DEFAULT, DEFAULT]
    assert bandit.summary()[["asked", "told", "pending", "defaulted"]].sum().tolist() == [3, 3, 0, 2]
    assert bandit.summary()["mean"].tolist() == [0.75, DEFAULT, DEFAULT]


def test_late_and_timely_rewards_may_be_told_together(make):
    clock = Clock()
    bandit = make(clock)
    early = bandit.ask(2)
    clock.now = 5.0
    later = bandit.ask(2)
    clock.now = 12.0
    told = bandit.tell_many([(decision.id, 1.0) for decision in (later[0], early[0], later[1], early[1])])
    assert told == [br.Told.LEARNED, br.Told.HISTORY] * 2
    assert statuses(bandit) == ["late", "late", "learned", "learned"]


def test_without_a_timeout_decisions_wait_for_ever(url):
    for home in ({}, {"store": url, "name": "for ever"}):
        clock = Clock()
        bandit = br.Bandit(arms(2), FE, clock=clock, **home)
        decision = bandit.ask()
        clock.now = 1e12 / 1e4
        bandit.ask()
        assert statuses(bandit) == ["pending", "pending"]
        assert bandit.tell(decision.id, 0.5) is br.Told.LEARNED
        bandit.close()


def test_each_of_a_batch_times_out(make):
    clock = Clock()
    bandit = make(clock)
    decisions = bandit.ask(50)
    bandit.tell_many([(decision.id, 0.75) for decision in decisions[::2]])
    clock.now = 10.0
    bandit.ask(2)
    assert statuses(bandit) == ["learned", "default"] * 25 + ["pending"] * 2
    assert bandit.summary()[["told", "defaulted", "pending"]].sum().tolist() == [50, 25, 2]
    clock.now = 20.0
    bandit.ask(2)
    assert statuses(bandit)[50:] == ["default", "default", "pending", "pending"]


def test_a_timeout_of_zero_ends_with_the_next_call(make):
    bandit = make(Clock(), reward_timeout=0)
    decision = bandit.ask()
    assert bandit.tell(decision.id, 0.5) is br.Told.HISTORY
    assert statuses(bandit) == ["late"]


# Arms that were removed.


def test_no_default_is_learned_of_a_removed_arm(make):
    clock = Clock()
    bandit = make(clock)
    gone, kept = bandit.ask(2)
    bandit.remove_arm(gone.arm)
    clock.now = 20.0
    bandit.ask()
    bandit.ask()
    row = bandit.summary(removed=True).loc[gone.arm]
    assert row[["asked", "told", "pending", "defaulted"]].tolist() == [1, 0, 0, 0]
    assert table(bandit, "arms")["count"] == [0, 1, 0]
    assert bandit.tell(gone.id, 1.0) is br.Told.HISTORY
    assert bandit.tell(gone.id, 1.0) is br.Told.REPEATED
    row = bandit.summary(removed=True).loc[gone.arm]
    assert row[["asked", "told", "pending", "defaulted"]].tolist() == [1, 0, 0, 0]
    assert bandit.history().loc[1, "reward"] == 1.0
    assert bandit.tell(kept.id, 1.0) is br.Told.HISTORY


def test_the_history_does_not_say_that_a_removed_arm_has_learned_its_default(make):
    clock = Clock()
    bandit = make(clock)
    decision = bandit.ask()
    bandit.remove_arm(decision.arm)
    clock.now = 20.0
    bandit.ask()
    assert bandit.history().isna().loc[1, "learned"]


def test_a_reward_that_beats_the_removal_of_its_arm_is_history_once(make):
    clock = Clock()
    bandit = make(clock)
    decision = bandit.ask()
    bandit.remove_arm(decision.arm)
    assert bandit.tell(decision.id, 1.0) is br.Told.HISTORY
    clock.now = 20.0
    bandit.ask()
    assert statuses(bandit) == ["history", "pending"]
    assert bandit.summary(removed=True).loc[decision.arm, "pending"] == 0


# The clock.


def test_a_clock_that_is_set_back_makes_nobody_late_before_time(make):
    clock = Clock(100.0)
    bandit = make(clock)
    bandit.ask()
    clock.now = 50.0
    bandit.ask()
    clock.now = 59.0
    bandit.ask()
    assert statuses(bandit) == ["pending"] * 3
    clock.now = 60.0
    bandit.ask()
    assert statuses(bandit) == ["pending", "default", "pending", "pending"]
    clock.now = 109.0
    bandit.ask()
    assert statuses(bandit) == ["pending", "default", "default", "default", "pending"]
    clock.now = 110.0
    bandit.ask()
    assert statuses(bandit)[0] == "default"


@pytest.mark.parametrize("how", ["json", "store", "open", "replay"])
def test_a_clock_that_was_far_ahead_does_not_stop_the_timeouts(make, url, how):
    clock = Clock(1e9)
    bandit = make(clock)
    bandit.ask()
    clock.now = 100.0
    bandit.ask(2)
    bandit = loaded(bandit, how, url, clock)
    clock.now = 110.0
    bandit.ask()
    assert statuses(bandit) == ["pending", "default", "default", "pending"]


def test_decisions_from_elsewhere_time_out_by_their_own_times(make):
    from brigand.live.decision import Past

    clock = Clock(1000.0)
    bandit = make(clock)
    bandit.ask()
    bandit.record([Past("arm 9", None, 500.0), Past("arm 8", None, 995.0), Past("arm 7", 0.5, 1.0, 2.0)])
    assert statuses(bandit) == ["pending", "pending", "pending", "learned"]
    bandit.ask()
    assert statuses(bandit) == ["pending", "default", "pending", "learned", "pending"]
    clock.now = 1005.0
    bandit.ask()
    assert statuses(bandit) == ["pending", "default", "default", "learned", "pending", "pending"]


# Loaded again.


@pytest.mark.every(4)
@pytest.mark.parametrize("how", ["json", "store", "open", "replay"])
@pytest.mark.parametrize("policy", [FE, SW_FE], ids=["FE", "SW-FE"])
def test_timeouts_go_on_after_a_load(make, url, how, policy):
    clock = Clock()
    bandit = make(clock, policy)
    decisions = []
    for _ in range(6):
        clock.now += 3
        decisions += bandit.ask(2)
    before, told = statuses(bandit), bandit.summary()
    assert before == ["default"] * 4 + ["pending"] * 8
    bandit = loaded(bandit, how, url, clock)
    assert statuses(bandit) == before
    assert bandit.summary().equals(told)
    assert bandit.tell(decisions[0].id, 0.5) is br.Told.HISTORY
    assert bandit.tell(decisions[5].id, 0.5) is br.Told.LEARNED
    clock.now += 4.5  # 22.5: asks were at 3, 6, ..., 18
    bandit.ask()
    assert statuses(bandit) == [
        "late",
        *["default"] * 3,
        "default",
        "learned",
        *["default"] * 2,
        *["pending"] * 5,
    ]
    clock.now += 100
    bandit = loaded(bandit, how, url, clock)
    bandit.tell_many([])
    assert statuses(bandit).count("pending") == 0
    assert bandit.summary()[["asked", "told"]].sum().tolist() == [13, 13]


def test_two_bandits_on_one_store_learn_a_default_once(url):
    clock = Clock()
    one = br.Bandit(
        arms(2), FE, seed=0, store=url, name="two", reward_timeout=10, default_reward=0.25, clock=clock
    )
    other = br.Bandit.open(url, "two", clock=clock)
    one.ask(3)
    other.ask()
    clock.now = 10.0
    for bandit in (other, one, other, one):
        bandit.ask()
    assert state(one) == state(other)
    assert statuses(one) == statuses(other) == ["default"] * 4 + ["pending"] * 4
    assert one.summary()[["told", "defaulted"]].sum().tolist() == [4, 4]
    one.close()
    other.close()


# Settings.


@pytest.mark.parametrize(
    ("timeout", "default", "match"),
    [
        (1, None, "given together"),
        (None, 1, "given together"),
        (-1, 0, "reward_timeout"),
        ("1", 0, "reward_timeout"),
        (float("inf"), 0, "reward_timeout"),
        (float("nan"), 0, "reward_timeout"),
        (True, 0, "reward_timeout"),
        (1, "0", "default_reward"),
        (1, float("nan"), "default_reward"),
        (1, 1e300, "default_reward"),
        (1, -1e101, "default_reward"),
    ],
)
def test_a_bad_timeout_or_default_reward_is_refused(timeout, default, match):
    with pytest.raises(br.InvalidValueError, match=match):
        br.Bandit(arms(2), FE, reward_timeout=timeout, default_reward=default)


def test_a_default_that_the_policy_cannot_work_with():
    with pytest.raises(br.UnsupportedRewardError, match=r"\[0, 1\]"):
        br.Bandit(arms(2), br.ThompsonBeta(), reward_timeout=1, default_reward=-0.5)


@pytest.mark.parametrize("name", ["TS-Beta", "UCB1", "Random", "FE-Linear"])
def test_a_call_that_fails_does_not_turn_back_the_generator(make, name):
    """The engine is made anew, since a default was learned in that call: it goes on where it was."""

    def arms_chosen(fails):
        clock = Clock()
        bandit = make(clock, br.CATALOGUE[name])
        chosen = [decision.arm for decision in bandit.ask(20)]
        clock.now = 20.0
        if fails:
            with pytest.raises(br.UnknownNameError):
                bandit.ask(among=["nobody"])
        return chosen + [decision.arm for decision in bandit.ask(20)]

    assert arms_chosen(True) == arms_chosen(False)


@pytest.mark.parametrize(
    "home",
    [
        pytest.param({}, id="memory"),
        "store",
    ],
)
def test_a_call_that_fails_learns_no_default(url, home):
    clock, home = Clock(), {"store": url, "name": "fails"} if home else {}
    bandit = br.Bandit(arms(2), FE, seed=0, reward_timeout=10, default_reward=0.25, clock=clock, **home)
    bandit.ask()
    before = contents(bandit)
    clock.now = 20.0
    with pytest.raises(br.UnknownNameError):
        bandit.ask(among=["nobody"])
    assert contents(bandit) == before
    bandit.close()
