"""What is refused changes nothing, costs nothing, and is said in a sentence that can be read."""

import math
import unicodedata

import pytest

import brigand as br
from live.common import Clock

FE = br.ForcedExploration(br.Linear())


@pytest.fixture(params=["memory", "store"])
def bandit(request, tmp_path):
    place = {} if request.param == "memory" else {"store": tmp_path / "x.db", "name": "x"}
    clock = Clock(1000.0)
    with br.Bandit(["a", "b"], FE, seed=0, reward_timeout=10, default_reward=0, clock=clock, **place) as made:
        made.clock = clock
        yield made


def test_a_refused_call_keeps_the_state_that_was_loaded(bandit):
    """Also where defaults were overdue: they are settled by the next call that is not refused."""
    first, second = bandit.ask(2)
    bandit.tell(first, 1)
    bandit.clock.now += 20
    engine = bandit._session.engine
    calls = [
        lambda: bandit.tell(first, 0.5),
        lambda: bandit.tell_many({first: 0.5, second: 1}),
        lambda: bandit.tell(first.id[:-1] + "99", 1),
        lambda: bandit.ask(among=["c"]),
        lambda: bandit.ask(2**70),
        lambda: bandit.ask(0),
        lambda: bandit.record([("a", 1), ("c", 1)]),
        lambda: bandit.record([br.Past("a", 1, asked_at=5, told_at=4)]),
        lambda: bandit.tell_many(None),
        lambda: bandit.record([("a",)]),
        lambda: bandit.add_arm("a"),
        lambda: bandit.remove_arm("c"),
    ]
    for call in calls:
        with pytest.raises(br.BrigandError):
            call()
        bandit.arms()  # a read, which would load the state anew
        assert bandit._session.engine is engine
    assert bandit.tell(second, 1) is br.Told.HISTORY
    assert bandit._session.engine is engine


def test_a_summary_settles_what_is_overdue(bandit):
    bandit.ask()
    assert bandit.summary()["pending"].sum() == 1
    bandit.clock.now += 20
    summary = bandit.summary()
    assert (summary["pending"].sum(), summary["defaulted"].sum(), summary["told"].sum()) == (0, 1, 1)
    assert bandit.history()["status"].tolist() == ["default"]


@pytest.mark.parametrize("now", [math.nan, math.inf, -math.inf, None, "noon"])
def test_a_clock_that_is_no_time_is_refused(bandit, now):
    decision = bandit.ask()
    bandit.clock.now = now
    for call in (bandit.ask, lambda: bandit.tell(decision, 1), bandit.summary):
        with pytest.raises(br.InvalidValueError, match="the clock's time must be"):
            call()
    bandit.clock.now = 1001.0
    assert bandit.tell(decision, 1) is br.Told.LEARNED
    with pytest.raises(br.InvalidValueError, match="the clock's time must be"):
        br.Bandit(["a"], FE, clock=lambda: now)


def test_an_error_names_what_was_given():
    with pytest.raises(br.InvalidValueError, match="clock must be a function that returns the time, not 1"):
        br.Bandit(["a"], "FE-Linear", clock=1)
    with br.Bandit(["a"], "FE-Linear") as bandit:
        with pytest.raises(br.InvalidValueError, match="among must be a list of names, not 'a'"):
            bandit.ask(among="a")
        with pytest.raises(
            br.InvalidValueError, match=r"by must be a text of at most 10,000 characters, not 1\."
        ):
            bandit.pause(by=1)


def test_a_reward_is_not_told_before_its_decision(bandit):
    with pytest.raises(br.InvalidValueError, match="row 2: a reward cannot be told before its decision"):
        bandit.record([br.Past("a", 1, asked_at=5, told_at=5), br.Past("a", 1, asked_at=5, told_at=4)])
    assert bandit.history().empty


def test_names_that_look_the_same_are_refused():
    composed = "caf\N{LATIN SMALL LETTER E WITH ACUTE}"
    other = unicodedata.normalize("NFD", composed)
    with pytest.raises(br.InvalidValueError, match="look the same"):
        br.Bandit([composed, other], FE)
    bandit = br.Bandit([other, "b"], FE)
    with pytest.raises(br.InvalidValueError, match="look the same"):
        bandit.add_arm(composed)
    assert bandit.arms() == [other, "b"]  # as typed
    bandit.remove_arm(other)
    bandit.add_arm(composed)


def test_an_error_does_not_list_all_names():
    bandit = br.Bandit([f"arm {number}" for number in range(10_000)], FE)
    with pytest.raises(br.UnknownNameError, match="and 9,900 more") as caught:
        bandit.ask(among=["arm x"])
    assert len(str(caught.value)) < 2000
    with pytest.raises(br.InvalidValueError) as caught:
        bandit.record({f"arm {number}": 1 for number in range(10_000)})
    assert len(str(caught.value)) < 500
