"""What an experiment needs: units, requests, metrics, rewards that add up or are replaced, its status."""

import itertools
import json
import math
import multiprocessing
import threading

import numpy as np
import pytest

import brigand as br
from brigand.live import batch, stores
from live.common import FE, LOADS, Clock, contents, loaded, state
from stores import FULL_KINDS, a_store, folder, run

PLACES = ["memory", *FULL_KINDS]


@pytest.fixture(params=PLACES)
def place(request):
    if request.param == "memory":
        yield {}
        return
    with a_store(request.param, request) as url:
        yield {"store": url, "name": "x"}


@pytest.fixture
def clock():
    return Clock(1e9)


# Units and requests.


def test_a_unit_gets_its_decision_until_the_reward_is_told(place):
    bandit = br.Bandit(["a", "b"], FE, seed=0, **place)
    first, other = bandit.ask(unit="ann"), bandit.ask(unit="bob")
    again = bandit.ask(unit="ann")
    assert (again.id, again.arm, again.again, first.again) == (first.id, first.arm, True, False)
    assert (again.propensity, again.explored) == (first.propensity, first.explored)
    assert other.id != first.id
    bandit.tell(first, 0.5)
    assert bandit.ask(unit="ann").id not in (first.id, other.id)
    assert len(bandit.history()) == 3


def test_a_unit_gets_another_one_where_its_arm_is_not_available(place):
    bandit = br.Bandit(["a", "b", "c"], FE, seed=0, **place)
    first = bandit.ask(unit="ann")
    rest = [arm for arm in "abc" if arm != first.arm]
    second = bandit.ask(unit="ann", among=rest)
    assert second.id != first.id
    assert bandit.ask(unit="ann").id == second.id
    bandit.remove_arm(second.arm)
    assert bandit.ask(unit="ann").id not in (first.id, second.id)


def test_a_unit_whose_reward_was_defaulted_gets_another_one(place, clock):
    bandit = br.Bandit(["a", "b"], FE, reward_timeout=10, default_reward=0, clock=clock, **place)
    first = bandit.ask(unit="ann")
    clock.now += 9
    assert bandit.ask(unit="ann").id == first.id
    clock.now += 2
    assert bandit.ask(unit="ann").id != first.id


def test_a_request_gets_the_same_answer_for_ever(place):
    bandit = br.Bandit(["a", "b"], FE, seed=0, **place)
    first = bandit.ask(request="7f3e")
    bandit.tell(first, 1.0)
    assert bandit.ask(request="7f3e").id == first.id
    assert bandit.ask(request="7f3e", unit="ann").id == first.id
    assert len(bandit.history()) == 1


@pytest.mark.parametrize("how", LOADS)
def test_they_are_known_wherever_the_bandit_goes(how):
    with folder() as path:
        url = f"sqlite:///{path}/x.db"
        store = {} if how == "json" else {"store": url, "name": "x"}
        bandit = br.Bandit(["a", "b"], FE, seed=0, **store)
        unit, request = bandit.ask(unit="ann"), bandit.ask(request="r")
        again = loaded(bandit, how, url)
        assert again.ask(unit="ann").id == unit.id
        assert again.ask(request="r").id == request.id


def test_they_are_known_in_copies():
    with folder() as path:
        url = f"sqlite:///{path}/x.db"
        first = br.Bandit(["a", "b"], FE, seed=0, store=url, name="x").ask(unit="ann")
        stores.copy(url, "x", url, "y")
        with br.Bandit.open(url, "y") as copy:
            assert copy.ask(unit="ann").id == first.id


def test_units_are_kept_as_hashes_unless_they_may_be_plain():
    for units in ("hashed", "plain"):
        bandit = br.Bandit(["a", "b"], FE, units=units)
        bandit.ask(unit="ann@example.org")
        assert ("ann@example.org" in json.dumps(bandit.snapshot())) == (units == "plain")


@pytest.mark.parametrize("wrong", ["", "x" * 201, "a\nb", 7, "a\0"])
def test_a_unit_or_request_that_is_none_is_refused(wrong):
    bandit = br.Bandit(["a", "b"], FE)
    for name in ("unit", "request"):
        with pytest.raises(br.InvalidValueError, match=name):
            bandit.ask(**{name: wrong})
    with pytest.raises(br.InvalidValueError, match="single decision"):
        bandit.ask(2, unit="ann")
    assert len(bandit.history()) == 0


def test_an_index_that_points_elsewhere_is_noticed():
    with folder() as path:
        url = f"sqlite:///{path}/x.db"
        bandit = br.Bandit(["a", "b"], FE, store=url, name="x")
        bandit.ask(unit="ann")
        bandit.ask(unit="bob")
        run(url, "UPDATE brigand_keys SET seq = 3")
        with pytest.raises(br.StorageError, match="another line"):
            bandit.ask(unit="bob")


def _ask_for(url, unit, start, answers):
    with br.Bandit.open(url, "x") as bandit:
        start.wait()
        answers += [bandit.ask(unit=unit).id for _ in range(4)]


@pytest.mark.full
@pytest.mark.parametrize("kind", FULL_KINDS)
def test_a_unit_that_asks_at_once_from_two_processes_gets_one_decision(kind, request):
    with a_store(kind, request) as url, multiprocessing.get_context("spawn").Manager() as manager:
        br.Bandit(["a", "b"], FE, store=url, name="x").close()
        context, answers = multiprocessing.get_context("spawn"), manager.list()
        start = manager.Barrier(2)
        workers = [context.Process(target=_ask_for, args=(url, "ann", start, answers)) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
        assert len(answers) == 8
        assert len(set(answers)) == 1


def test_a_unit_that_asks_at_once_from_eight_threads_gets_one_decision(place):
    bandit, found = br.Bandit(["a", "b"], FE, **place), []
    threads = [threading.Thread(target=lambda: found.append(bandit.ask(unit="ann").id)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1


def test_pruning_forgets_old_requests(place, clock):
    bandit = br.Bandit(["a", "b"], FE, clock=clock, **place)
    first = bandit.ask(request="old")
    clock.now += 10
    kept = bandit.ask(request="new")
    bandit.prune(clock.now - 5)
    assert bandit.ask(request="new").id == kept.id
    assert bandit.ask(request="old").id != first.id


# Other metrics.


def test_other_metrics_are_kept_and_not_learned(place):
    bandit = br.Bandit(["a", "b"], FE, seed=0, metric="purchase", **place)
    decisions = bandit.ask(40)
    before = state(bandit)
    for number, decision in enumerate(decisions):
        assert bandit.tell(decision, number % 2, metric="signup") is br.Told.HISTORY
    assert bandit.tell(decisions[0], 0, metric="signup") is br.Told.REPEATED
    with pytest.raises(br.ConflictingRewardError, match="signup"):
        bandit.tell(decisions[0], 1, metric="signup")
    assert state(bandit) == before
    assert bandit.tell(decisions[0], 0.5, metric="purchase") is br.Told.LEARNED
    found = bandit.metrics().reset_index()
    assert found["metric"].unique().tolist() == ["signup"]
    assert found["told"].sum() == 40
    assert np.average(found["mean"], weights=found["told"]) == 0.5
    assert bandit.tell(decisions[0], True, metric="signup", replace=True) is br.Told.HISTORY
    assert np.average(bandit.metrics()["mean"], weights=found["told"]) == 0.525


def test_a_metric_of_nothing_is_refused():
    bandit = br.Bandit(["a", "b"], FE)
    decision = bandit.ask()
    for value in (math.nan, math.inf, "1", None):
        with pytest.raises(br.InvalidValueError, match="signup"):
            bandit.tell(decision, value, metric="signup")
    with pytest.raises(br.UnknownDecisionError):
        bandit.tell("7-0123456789abcdef", 1, metric="signup")
    with pytest.raises(br.InvalidValueError, match="metric"):
        bandit.tell(decision, 1, metric="")
    assert bandit.metrics().empty


# Rewards that add up.


def test_rewards_in_any_order_give_the_same_state(clock):
    parts = [0.1, 0.7, -0.3, 1e9, 1e-9, -1e9]
    found = set()
    for order in itertools.islice(itertools.permutations(parts), 0, 720, 37):
        clock.now = 1e9
        bandit = br.Bandit(["a", "b"], br.UCB1(0, 1), seed=0, accumulate=60, clock=clock)
        decision = bandit.ask()
        for part in order:
            clock.now += 5
            assert bandit.tell(decision, part) is br.Told.ADDED
        clock.now += 60
        bandit.ask(2)
        found.add(state(bandit))
    assert len(found) == 1


@pytest.mark.parametrize("how", LOADS)
def test_what_was_added_is_there_wherever_the_bandit_goes(how, clock):
    with folder() as path:
        url = f"sqlite:///{path}/x.db"
        store = {} if how == "json" else {"store": url, "name": "x"}
        bandit = br.Bandit(["a", "b"], FE, seed=0, accumulate=60, clock=clock, **store)
        decision = bandit.ask()
        bandit.tell(decision, 1.5)
        bandit.tell(decision, 1.5, request="r")
        assert bandit.history()["status"].tolist() == ["pending"]
        again = loaded(bandit, how, url, clock)
        assert again.tell(decision.id, 1.5, request="r") is br.Told.REPEATED
        assert again.tell(decision.id, 2.0) is br.Told.ADDED
        with pytest.raises(br.ConflictingRewardError, match="part"):
            again.tell(decision.id, 9.0, request="r")
        clock.now += 61
        assert again.summary()["mean"][decision.arm] == 5.0
        assert again.tell(decision.id, 4.0) is br.Told.HISTORY
        assert again.history()["reward"].tolist() == [5.0]
        assert again.summary()["told"].sum() == 1


def test_a_decision_without_rewards_earns_0(clock, place):
    bandit = br.Bandit(["a", "b"], FE, accumulate=60, clock=clock, **place)
    bandit.ask(2)
    clock.now += 61
    assert bandit.summary()["mean"].tolist() == [0.0, 0.0]
    assert bandit.history()["status"].tolist() == ["learned", "learned"]


def test_a_sum_that_the_policy_cannot_work_with_is_refused(clock):
    bandit = br.Bandit(["a", "b"], br.ThompsonBeta(), accumulate=60, clock=clock)
    decision = bandit.ask()
    bandit.tell(decision, 0.7)
    before = contents(bandit)
    with pytest.raises(br.UnsupportedRewardError, match=r"add up to 1\.1"):
        bandit.tell(decision, 0.4)
    assert contents(bandit) == before
    with pytest.raises(br.InvalidValueError, match="not given together"):
        br.Bandit(["a"], FE, accumulate=60, reward_timeout=60, default_reward=0)
    with pytest.raises(br.InvalidValueError, match="difference"):
        bandit.tell(decision, 0.1, replace=True)


# Rewards that are replaced.


@pytest.mark.parametrize(
    "policy",
    [
        FE,
        br.UCB1(0, 1),
        br.ThompsonBeta(),
        pytest.param(br.EpsilonGreedy(0.1), marks=pytest.mark.full),
        pytest.param(br.MOSS(anytime=True), marks=pytest.mark.full),
    ],
    ids=repr,
)
def test_a_correction_is_learned_as_if_it_had_been_told_at_first(policy, place):
    bandit, other = (br.Bandit(["a", "b"], policy, seed=0, **where) for where in (place, {}))
    assert policy.corrects
    rng = np.random.default_rng(0)
    for reward, now in rng.random((20, 2)):
        one, two = bandit.ask(), other.ask()
        if one.arm != two.arm:
            break
        bandit.tell(one, reward)
        assert bandit.tell(one, now, replace=True) is br.Told.REPLACED
        assert bandit.tell(one, now, replace=True) is br.Told.REPEATED
        assert bandit.tell(one, now) is br.Told.REPEATED
        with pytest.raises(br.ConflictingRewardError, match="replaced"):
            bandit.tell(one, 0.123, replace=True)
        other.tell(two, now)
    assert len(other.history()) > 10
    mine, theirs = bandit.summary(), other.summary()
    assert mine[["asked", "told"]].equals(theirs[["asked", "told"]])
    assert mine["mean"].tolist() == pytest.approx(theirs["mean"].tolist())
    with bandit._session.reading() as session, other._session.reading() as their_session:
        ours, others = session.engine, their_session.engine
    for name in ours.arms.dtype.names:
        assert ours.arms[name].tolist() == pytest.approx(others.arms[name].tolist(), nan_ok=True)
    for name in ("sum", "mean", "squares"):
        assert ours.ledger[name] == pytest.approx(others.ledger[name])


def test_policies_that_cannot_unlearn_keep_it_in_the_history(place):
    policy = br.ForcedExploration(br.Linear(), window=10)
    assert not policy.corrects
    assert not br.CATALOGUE["LB-SDA"].corrects
    bandit = br.Bandit(["a", "b"], policy, seed=0, **place)
    decision = bandit.ask()
    bandit.tell(decision, 0.5)
    before = state(bandit)
    assert bandit.tell(decision, 0.1, replace=True) is br.Told.HISTORY
    assert state(bandit) == before
    row = bandit.history().iloc[0]
    assert (row["reward"], row["learned"], row["status"]) == (0.1, 0.5, "replaced")
    assert bandit.log().reward.tolist() == [0.1]


@pytest.mark.parametrize("how", LOADS)
def test_corrections_are_there_wherever_the_bandit_goes(how):
    with folder() as path:
        url = f"sqlite:///{path}/x.db"
        store = {} if how == "json" else {"store": url, "name": "x"}
        bandit = br.Bandit(["a", "b"], FE, seed=0, **store)
        for reward in (0.5, 0.25, 1.0):
            decision = bandit.ask()
            bandit.tell(decision, reward)
        bandit.tell(decision, 0.0, replace=True)
        history, summary = bandit.history(), bandit.summary()
        again = loaded(bandit, how, url)
        assert again.history().drop(columns="decision").equals(history.drop(columns="decision"))
        assert again.summary().equals(summary)
        assert again.tell(decision.id, 0.0, replace=True) is br.Told.REPEATED


def test_there_is_nothing_to_replace_before_a_reward():
    bandit = br.Bandit(["a", "b"], FE)
    with pytest.raises(br.UnknownDecisionError, match="told no reward"):
        bandit.tell(bandit.ask(), 1.0, replace=True)


# Its status.


def test_a_bandit_that_is_paused_chooses_no_arms(place):
    bandit = br.Bandit(["a", "b"], FE, seed=0, **place)
    decision = bandit.ask()
    bandit.pause(by="Ann", note="closed")
    bandit.pause()
    assert bandit.status == "paused"
    with pytest.raises(br.NotServingError, match="paused"):
        bandit.ask()
    assert bandit.ask(fallback="b").is_fallback
    assert bandit.tell(decision, 1.0) is br.Told.LEARNED
    bandit.resume(by="Bob")
    assert bandit.status == "serving"
    assert bandit.ask().step == 2
    actions = bandit.audit()
    assert actions["action"].tolist() == ["add", "add", "pause", "resume"]
    assert actions["by"].tolist() == ["", "", "Ann", "Bob"]
    assert actions["note"].tolist() == ["", "", "closed", ""]


@pytest.mark.parametrize("how", LOADS)
def test_a_bandit_that_has_ended_gives_its_arm_for_good(how):
    with folder() as path:
        url = f"sqlite:///{path}/x.db"
        store = {} if how == "json" else {"store": url, "name": "x"}
        bandit = br.Bandit(["a", "b"], FE, seed=0, **store)
        open_one = bandit.ask()
        bandit.end("b", by="Ann")
        again = loaded(bandit, how, url)
        made = again.ask(unit="ann")
        assert (made.arm, made.step, made.propensity) == ("b", 0, None)
        assert made.reason == "ended: the bandit has ended with b"
        assert [one.arm for one in again.ask(3)] == ["b"] * 3
        assert again.tell(made, 1.0) is br.Told.HISTORY
        assert again.tell(made.id, 1.0) is br.Told.HISTORY
        assert again.tell(open_one.id, 1.0) is br.Told.LEARNED
        assert len(again.history()) == 1
        assert again.status == "ended"
        with pytest.raises(br.InvalidValueError, match="ended"):
            again.resume()
        again.note("done", by="Ann")
        assert again.audit()["arm"].tolist() == ["a", "b", "b", ""]


def test_arms_say_who_changed_them(place):
    for policy in (FE, br.CATALOGUE["eps-greedy-gap"]):  # an arm joins, or all is done again
        name = {} if not place else {"store": place["store"], "name": type(policy).__name__}
        bandit = br.Bandit(["a"], policy, horizon=100, by="Eve", **name)
        bandit.add_arm("b", by="Ann")
        bandit.remove_arm("a", by="Bob")
        assert bandit.audit()["by"].tolist() == ["Eve", "Ann", "Bob"]
        assert bandit.audit().index.is_monotonic_increasing


@pytest.mark.parametrize("wrong", [7, "x" * 10_001, b"Ann"])
def test_who_and_why_are_texts(wrong):
    bandit = br.Bandit(["a", "b"], FE)
    with pytest.raises(br.InvalidValueError, match="by must be a text"):
        bandit.pause(by=wrong)
    with pytest.raises(br.UnknownNameError):
        bandit.end("z")
    assert bandit.status == "serving"


# Calls that share a transaction.


def test_calls_that_share_a_transaction_have_their_own_answers(place):
    bandit = br.Bandit(["a", "b"], FE, seed=0, **place)
    first = bandit.ask()
    calls = [
        batch.asking(bandit, unit="ann"),
        batch.telling(bandit, [(first, 0.5)]),
        batch.telling(bandit, [(first, 0.75)]),
        batch.asking(bandit, among=["z"]),
        batch.asking(bandit, unit="ann"),
        batch.asking(bandit, n=3),
    ]
    made, told, conflict, unknown, again, three = batch.run(bandit, calls)
    assert told == [br.Told.LEARNED]
    assert isinstance(conflict, br.ConflictingRewardError)
    assert isinstance(unknown, br.UnknownNameError)
    assert made[0].id == again[0].id
    assert [one.step for one in three] == [3, 4, 5]
    assert len(bandit.history()) == 5


def test_they_are_what_single_calls_would_have_done():
    one, other = (br.Bandit(["a", "b", "c"], br.ThompsonBeta(), seed=3) for _ in range(2))
    for start in range(20):
        made = [found[0] for found in batch.run(one, [batch.asking(one) for _ in range(5)])]
        single = [other.ask() for _ in range(5)]
        assert [decision.arm for decision in made] == [decision.arm for decision in single]
        batch.run(one, [batch.telling(one, [(decision, start % 2)]) for decision in made])
        for decision in single:
            other.tell(decision, start % 2)
    assert state(one) == state(other)
