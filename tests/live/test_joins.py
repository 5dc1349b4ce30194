"""A new arm joins with a fresh row where the policy allows it; for other policies others go on meanwhile."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import brigand as br
from brigand.live import session
from brigand.live.damage import LogCheck
from brigand.live.engine import Engine
from brigand.live.names import joins, name_data
from brigand.policies.forced import standings
from brigand.storage.events import ADD, Event
from live.common import FE, LOADS, POLICIES, SW_FE, Clock, contents, loaded, rewards_for, state
from strength import some

GROWING = [  # eps-greedy-gap has a parameter that depends on the number of arms
    name for name, policy in POLICIES.items() if policy.grows and name != "eps-greedy-gap"
]
FORCED = [name for name in GROWING if isinstance(POLICIES[name], br.ForcedExploration)]
REPLAYED = br.CATALOGUE["LB-SDA"]


def played(policy, seed, k=3, steps=60):
    """Return a bandit that was asked and told, some rewards late, some never, some arms not available."""
    bandit = br.Bandit([f"{i}" for i in range(k)], policy, seed=seed, horizon=500)
    go_on(bandit, seed, steps)
    return bandit


def go_on(bandit, seed, steps):
    rng, waiting = np.random.default_rng(seed), []
    rewards = rewards_for(bandit.policy, (steps, 1), seed)[:, 0]
    for reward in rewards.tolist():
        arms = bandit.arms()
        waiting.append(bandit.ask(among=arms[1:]) if len(arms) > 1 and rng.random() < 0.2 else bandit.ask())
        if rng.random() < 0.7:
            bandit.tell(waiting.pop(rng.integers(len(waiting))), reward)


def log(bandit):
    return bandit._session.events()


def equal(one, other):
    return all(
        np.array_equal(one[field], other[field], equal_nan=one[field].dtype.kind == "f")
        for field in one.dtype.names
    )


@pytest.mark.parametrize("name", some([name for name in GROWING if name not in FORCED], ["UCB1", "TS-Beta"]))
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32), k=st.integers(1, 4), steps=st.integers(0, 60))
def test_a_row_that_joins_is_one_that_was_there_from_the_beginning(name, seed, k, steps):
    """Exactly: so logs that were written before there were such rows go on as they did."""
    bandit = played(POLICIES[name], seed, k, steps)
    bandit.add_arm("new")
    event = log(bandit)[-1]
    assert joins(event)
    grown = Engine.replay(bandit._settings, log(bandit))
    old = Engine.replay(bandit._settings, [*log(bandit)[:-1], event._replace(data=name_data("new"))])
    assert len(grown.arms) == len(old.arms) == k + 1
    for field in ("header", "arms", "memory", "ledger"):
        assert equal(getattr(grown, field), getattr(old, field)), field
    assert grown._parameters == old._parameters


@pytest.mark.parametrize("name", some(GROWING, ["UCB1", "SW-FE-Exp"]))
def test_a_bandit_whose_arms_joined_is_the_same_however_it_is_loaded(name, url):
    for seed in range(3):
        bandit = br.Bandit(
            ["0", "1"], POLICIES[name], seed=seed, horizon=500, store=url, name=f"{name} {seed}"
        )
        for number in range(3):
            go_on(bandit, seed + number, 20)
            bandit.add_arm(f"new {number}")
        with br.Bandit.open(url, f"{name} {seed}") as other:
            assert state(other) == state(bandit)
            go_on(bandit, 9, 10)
            other.add_arm("last")
            bandit.remove_arm("0")
            bandit.add_arm("0")
            assert other.arms() == ["1", "new 0", "new 1", "new 2", "last", "0"]
            assert state(other) == state(bandit) == state(br.Bandit.restore(bandit.snapshot()))
        bandit.close()


@pytest.mark.parametrize(
    "policy", [FE, SW_FE, br.CATALOGUE["FE-Constant"], br.CATALOGUE["FE-Anytime"]], ids=str
)
def test_fe_pulls_an_arm_that_joins_at_once_and_again_as_often_as_one_that_was_there(policy):
    bandit = played(policy, 1, 3, 200)
    before = Engine.replay(bandit._settings, log(bandit))
    bandit.add_arm("new")
    decision = bandit.ask()
    assert (decision.arm, decision.reason) == ("new", "forced: new was never chosen before")
    bandit.tell(decision, 0.0)
    after = Engine.replay(bandit._settings, log(bandit))
    assert after.header["round"][0] - before.header["round"][0] in (0, 1)  # the round goes on
    gaps, last = [], decision.step
    for made in bandit.ask(250):
        bandit.tell(made, 0.0 if made.arm == "new" else 1.0)
        if made.arm == "new":
            gaps.append(made.step - last)
            last = made.step
    assert gaps, "it was never forced again"
    if policy is FE:
        assert gaps[:5] == sorted(gaps[:5])  # f(1), f(2), ... until it has caught up
        assert gaps[0] <= 3


@pytest.mark.parametrize("policy", [REPLAYED, FE], ids=["replayed", "joins"])
def test_a_new_arm_waits_for_nobody_and_nobody_for_it(policy, url, monkeypatch):
    """Another thread and another session go on while the log is taken in, and nothing of theirs is lost."""
    bandit = br.Bandit(["a", "b"], policy, seed=0, horizon=200, store=url, name="x")
    bandit.tell_many([(decision.id, 0.5) for decision in bandit.ask(50)])
    with br.Bandit.open(url, "x") as other:
        prepare, made = bandit._session.prepare_arm, []

        def slowly():
            prepared = prepare()
            thread = threading.Thread(target=lambda: made.extend(bandit.ask(5)))  # waits for no lock
            thread.start()
            thread.join(30)
            assert len(made) % 5 == 0
            assert made
            made.extend(other.ask(5))
            if len(made) == 10:
                other.add_arm("theirs")
            return prepared

        monkeypatch.setattr(bandit._session, "prepare_arm", slowly)
        bandit.add_arm("mine")
        if policy is REPLAYED:
            assert len(made) == 20  # it was done twice, since another arm came meanwhile
            assert bandit.arms() == other.arms() == ["a", "b", "theirs", "mine"]
            assert [d.step for d in made] == list(range(51, 71))
        assert contents(bandit) == contents(other)
        assert state(br.Bandit.restore(bandit.snapshot())) == state(bandit)
    bandit.close()


def test_parameters_that_depend_on_the_number_of_arms_need_a_replay():
    bandit = played(br.CATALOGUE["eps-greedy-gap"], 1)
    bandit.add_arm("new")
    assert not joins(log(bandit)[-1])


def test_an_arm_that_may_not_join_any_more_when_its_turn_comes_is_replayed(monkeypatch):
    """Another arm came meanwhile, and one more needs other parameters."""
    bandit, answers = played(FE, 1), iter([True])
    monkeypatch.setattr(Engine, "grows", property(lambda engine: next(answers, False)))
    bandit.add_arm("new")
    assert not joins(log(bandit)[-1])
    assert bandit.arms()[-1] == "new"


def test_an_arm_that_joined_has_joined_when_all_is_done_again_for_another():
    """A table of f, whose length depends on the number of arms, is the one that the first arms had."""
    policy = br.ForcedExploration(br.Sequence(float))
    bandit = br.Bandit([f"{i}" for i in range(7)], policy, seed=0, horizon=24)
    bandit.add_arm("joins")
    bandit.add_arm("does not")
    assert [joins(event) for event in log(bandit)[-2:]] == [True, False]
    engine = bandit._session.engine
    assert engine._parameters.table == len(engine.memory) == 24 // 8 + 2
    assert engine.memory["f"].tolist() == [1, 2, 3, 4, 5]


def test_an_arm_that_is_refused_replays_nothing(monkeypatch):
    bandit = played(REPLAYED, 1)
    monkeypatch.setattr(bandit._session, "prepare_arm", lambda: pytest.fail("it replays"))
    with pytest.raises(br.InvalidValueError, match="has an arm '0' already"):
        bandit.add_arm("0")


def test_an_arm_that_cannot_join_is_a_damaged_log():
    snapshot = played(REPLAYED, 1).snapshot()
    events = [Event(*row) for row in zip(*snapshot["events"], strict=True)]
    events.append(Event(ADD, None, 3, None, True, 1.0, name_data("new", joins=True)))
    check = LogCheck(played(REPLAYED, 1)._settings)
    with pytest.raises(br.StorageError, match=f"line {len(events)} of the log is damaged: arm 'new' cannot"):
        check.check(events, 1)


def test_a_log_without_joins_is_taken_in_as_before():
    """FE's rounds wait for an arm that was there from the beginning and not available."""
    clock = Clock(5.0)
    bandit = br.Bandit(["a", "b"], FE, seed=0, clock=clock)
    bandit.tell_many([(decision.id, 0.5) for decision in bandit.ask(40)])
    old = [*log(bandit), Event(ADD, None, 2, None, True, 5.0, name_data("c"))]
    grown = [*log(bandit), Event(ADD, None, 2, None, True, 5.0, name_data("c", joins=True))]
    rounds = [Engine.replay(bandit._settings, events).header["round"][0] for events in (old, grown)]
    assert rounds[0] < rounds[1]


def test_nobody_waits_while_an_engine_is_made_and_compiled_nor_while_a_state_is_written(url, monkeypatch):
    br.Bandit(["a", "b"], FE, seed=0, store=url, name="x").close()
    steps = []
    with (
        br.Bandit.open(url, "x", busy_timeout=1.0) as other,  # it has connections of its own
        br.Bandit.open(url, "x", busy_timeout=2.0) as bandit,
    ):
        other.ask()
        inside = []

        def beside(function):
            def call(*arguments):
                if not inside:
                    inside.append(True)
                    steps.append(other.ask().step)
                    inside.clear()
                return function(*arguments)

            return call

        monkeypatch.setattr(Engine, "compile", beside(Engine.compile))
        assert bandit.ask().step == 3
        monkeypatch.undo()
        monkeypatch.setattr(session, "LEAST_EVENTS", 2)
        monkeypatch.setattr(session, "BYTES", 2**60)
        monkeypatch.setattr(session, "seal", beside(session.seal))
        bandit.ask(2)
        assert steps == [2, 6]


@pytest.mark.full
@pytest.mark.parametrize("policy", [FE, SW_FE], ids=["FE", "SW-FE"])
def test_the_arm_from_which_on_there_is_a_tree_changes_no_choice(policy, tmp_path, monkeypatch):
    """With 16 arms there is none, and with 17 one; nor does loading the bandit."""

    def lived(many):
        monkeypatch.setattr(standings, "MANY", many)
        clock = Clock()
        bandit = br.Bandit([f"{i}" for i in range(14)], policy, seed=3, clock=clock)
        for i in range(8):
            go_on(bandit, i, 25)
            bandit.add_arm(f"new {i}")
            if i % 2 == 1:
                bandit = loaded(bandit, LOADS[i // 2], f"sqlite:///{tmp_path}/{many}.db", clock)
        assert bandit.snapshot()["state"]["tables"]["memory"]["rows"] == (policy.window or 0)
        return [event[:5] for event in log(bandit)]

    assert lived(16) == lived(10**9)


@pytest.mark.full
def test_it_joins_a_bandit_that_was_pruned_and_one_that_others_have_open(url, monkeypatch):
    monkeypatch.setattr(standings, "MANY", 4)
    arms = [f"{i}" for i in range(3)]
    with br.Bandit(arms, FE, seed=0, store=url, name="x") as bandit, br.Bandit.open(url, "x") as other:
        for i in range(3):
            for one in (bandit, other):
                one.tell_many([(decision.id, int(decision.arm[-1]) / 9) for decision in one.ask(20)])
            bandit.prune(before=time.time() + 3600)
            bandit.add_arm(f"new {i}")
            assert joins(log(bandit)[-1])
            assert f"new {i}" in {decision.arm for decision in other.ask(5)}
        assert state(bandit) == state(other)
