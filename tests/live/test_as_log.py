"""A bandit's decisions as a log: what its history says, and which arms were available."""

import numpy as np
import pytest

import brigand as br
from live.common import FE, Clock
from stores import KINDS, a_store


@pytest.fixture(params=["memory", *KINDS])
def place(request):
    if request.param == "memory":
        yield {}
        return
    with a_store(request.param, request) as url:
        yield {"store": url, "name": "x"}


def test_it_says_what_the_history_says(place):
    clock = Clock(1e9)
    bandit = br.Bandit(["a", "b"], br.ThompsonBeta(), seed=0, floor=0.1, clock=clock, **place)
    for step in range(60):
        clock.now += 0.5
        decision = bandit.ask()
        clock.now += 0.25
        if step % 7:
            bandit.tell(decision, step % 2)
    log, history = bandit.log(), bandit.history()
    told = history[~history["reward"].isna()]
    assert len(log) == len(told) < 60
    assert [log.arms[arm] for arm in log.arm] == told["arm"].tolist()
    assert log.reward.tolist() == told["reward"].tolist()
    assert log.propensity.tolist() == told["propensity"].tolist()
    assert log.time.tolist() == told["asked_at"].astype("int64").tolist()
    assert log.told.tolist() == told["told_at"].astype("int64").tolist()
    assert log.sets is None
    assert log.available is None


def test_arms_that_come_and_go(place):
    bandit = br.Bandit(["a", "b"], FE, seed=0, **place)
    bandit.record([("a", 0.1)])
    bandit.add_arm("c")
    bandit.tell(bandit.ask(), 0.2)
    bandit.tell(bandit.ask(among=["b", "c"]), 0.3)
    bandit.remove_arm("a")
    bandit.tell(bandit.ask(), 0.4)
    bandit.add_arm("a")
    bandit.tell(bandit.ask(), 0.5)
    log = bandit.log()
    assert log.arms == ("a", "b", "c")
    assert log.sets is not None
    assert [set(np.flatnonzero(log.sets[number])) for number in log.available] == [
        {0, 1},
        {0, 1, 2},
        {1, 2},
        {1, 2},
        {0, 1, 2},
    ]
    assert log.sets[log.available, log.arm].all()


def test_a_default_stands_for_a_reward_until_it_is_told(place):
    clock = Clock(1e9)
    bandit = br.Bandit(["a", "b"], FE, seed=0, clock=clock, reward_timeout=10, default_reward=0.0, **place)
    decision = bandit.ask()
    clock.now += 11
    assert bandit.log().reward.tolist() == [0.0]
    bandit.tell(decision, 0.7)
    assert bandit.log().reward.tolist() == [0.7]


def test_of_a_pruned_bandit_it_has_what_is_left(place):
    clock = Clock(1e9)
    bandit = br.Bandit(["a", "b"], FE, seed=0, clock=clock, **place)
    for _ in range(20):
        clock.now += 1
        bandit.tell(bandit.ask(), 0.5)
    bandit.add_arm("c")
    bandit.tell(bandit.ask(), 1.0)
    bandit.prune(1e9 + 15.5)
    log = bandit.log()
    assert len(log) == len(bandit.history()) == 6
    assert log.arms == ("a", "b", "c")
    assert log.reward.tolist() == [0.5] * 5 + [1.0]
    assert log.sets[log.available].sum(axis=1).tolist() == [2] * 5 + [3]


def test_an_empty_one():
    log = br.Bandit(["a", "b"], FE).log()
    assert len(log) == 0
    assert log.arms == ("a", "b")
