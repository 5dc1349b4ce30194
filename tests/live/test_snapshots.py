"""However a bandit is kept, it is the same: in memory, loaded again after each call, in a store, from a log.

Whatever is called in turn, allowed or not, the answers are the same, and what a plain list of all that
happened says.
"""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import brigand as br
from brigand.live import session, snapshots
from live.common import FE, RANDOM, SW_FE, Clock, contents, loaded, play, rewards_for, state
from stores import FULL_KINDS, urls

NAMES = ["a", "b", "c", "d"]
TIMEOUT, DEFAULT = 5.0, 0.5


url = urls(FULL_KINDS, "module")


@pytest.fixture(autouse=True, scope="module")
def _snapshots_now_and_then():
    """A store keeps the state after every 7 events, so that it is mostly a few events behind."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "LEAST_EVENTS", 7)
        patch.setattr(session, "BYTES", 2**60)
        yield


class Player:
    """A bandit, and how it is loaded again after each call: None for not at all."""

    def __init__(self, bandit, how, url, clock):
        self.bandit, self.how, self.url, self.clock = bandit, how, url, clock
        self.ids = []

    def call(self, action):
        """Return what comes of an action, without ids."""
        try:
            answer = action(self.bandit, self.ids)
        except br.BrigandError as error:
            answer = type(error)
        if self.how is not None:
            self.bandit = loaded(self.bandit, self.how, self.url, self.clock)
        if not (isinstance(answer, list) and answer and isinstance(answer[0], (br.Decision, str))):
            return answer
        if isinstance(answer[0], br.Told):
            return answer
        if isinstance(answer[0], str):  # of recorded decisions
            self.ids += answer
            return len(answer)
        self.ids += [decision.id for decision in answer]
        return [(d.step, d.arm, d.explored, d.reason, d.data) for d in answer]


class Ledger:
    """What happened, as a list: the numbers of a summary are counted from it."""

    def __init__(self, timeout):
        self.timeout = timeout
        self.rows = []  # [name, whether it serves]
        self.decisions = []  # [row, asked at, explored, told, default, learned]
        self.recorded = False
        for name in NAMES[:2]:
            self.rows.append([name, True])

    def row_of(self, name):
        return next((row for row, (other, serves) in enumerate(self.rows) if serves and other == name), None)

    def settle(self, now):
        for decision in self.decisions:
            row, at, _, told, default, _ = decision
            if self.timeout and told is None and default is None and at <= now - TIMEOUT:
                decision[4] = DEFAULT
                if self.rows[row][1]:
                    decision[5] = DEFAULT

    def tell(self, step, reward):
        """Return what comes of it."""
        decision = self.decisions[step - 1]
        row, _, _, told, default, _ = decision
        if told is not None:
            return br.Told.REPEATED if told == reward else br.ConflictingRewardError
        decision[3] = reward
        if default is not None or not self.rows[row][1]:
            return br.Told.HISTORY
        decision[5] = reward
        return br.Told.LEARNED

    def check(self, bandit):
        summary = bandit.summary(removed=True)
        assert list(summary.index) == [name for name, _ in self.rows]
        assert list(summary["in_service"]) == [serves for _, serves in self.rows]
        for row in range(len(self.rows)):
            of_arm = [decision for decision in self.decisions if decision[0] == row]
            known = [decision[5] for decision in of_arm if decision[5] is not None]
            pending = sum(told is None and default is None for *_, told, default, _ in of_arm)
            defaulted = sum(default is not None and learned == default for *_, default, learned in of_arm)
            line = summary.iloc[row]
            counts = [len(of_arm), len(known), pending, defaulted]
            assert line[["asked", "told", "pending", "defaulted"]].tolist() == counts
            assert (
                math.isnan(line["mean"])
                if not known
                else math.isclose(line["mean"], math.fsum(known) / len(known), rel_tol=1e-12, abs_tol=1e-15)
            )
            if not self.recorded and of_arm:
                assert math.isclose(
                    line["explored"], sum(explored for _, _, explored, *_ in of_arm) / len(of_arm)
                )
                assert line["greedy"] == 1 - line["explored"]
        history = bandit.history()
        assert history["arm"].tolist() == [self.rows[row][0] for row, *_ in self.decisions]
        rewards = [default if told is None else told for *_, told, default, _ in self.decisions]
        np.testing.assert_array_equal(history["reward"].to_numpy(), np.array(rewards, float))
        for status, decision in zip(history["status"], self.decisions, strict=True):
            *_, told, default, learned = decision
            if default is None and told is None:
                assert status == "pending"
            elif learned is None:
                assert status == "history"
            elif default is None:
                assert status == "learned"
            else:
                assert status == ("default" if told is None else "late")


STEPS = st.integers(0, 60)
REWARDS = st.sampled_from([0.0, 0.25, 0.5, 1.0])
SOME = st.lists(st.sampled_from(NAMES), max_size=3)
CALLS = st.one_of(
    st.tuples(st.just("ask"), st.integers(1, 4), st.none() | SOME),
    st.tuples(st.just("ask"), st.integers(1, 4), st.none()),
    st.tuples(st.just("tell"), st.lists(st.tuples(STEPS, REWARDS), min_size=1, max_size=4)),
    st.tuples(st.just("tell"), st.lists(st.tuples(STEPS, st.just(0.75)), min_size=1, max_size=6)),
    st.tuples(st.just("add"), st.sampled_from(NAMES)),
    st.tuples(st.just("remove"), st.sampled_from(NAMES)),
    st.tuples(
        st.just("record"), st.lists(st.tuples(st.sampled_from(NAMES), st.none() | REWARDS), max_size=3)
    ),
    st.tuples(st.just("wait"), st.floats(0, 4)),
)


def as_action(call):
    """Return what a call does with a bandit, and the ids that it has given so far."""
    kind, *given = call
    if kind == "ask":
        n, among = given
        return lambda bandit, ids: bandit.ask(n, among=among) if n > 1 else [bandit.ask(among=among)]
    if kind == "tell":

        def tell(bandit, ids):
            rewards = [(ids[step % len(ids)], reward) for step, reward in given[0]] if ids else []
            return [bandit.tell(*rewards[0])] if len(rewards) == 1 else bandit.tell_many(rewards)

        return tell
    if kind == "add":
        return lambda bandit, ids: bandit.add_arm(*given)
    if kind == "remove":
        return lambda bandit, ids: bandit.remove_arm(*given)
    return lambda bandit, ids: bandit.record(*given)


def expected(ledger, call, answer, now):
    """Do the call to the ledger if it was allowed, and say what must have come of it, if that is known."""
    kind, *given = call
    if kind == "ask":
        n, among = given
        names = [name for name, serves in ledger.rows if serves]
        if (among is None and not names) or among == []:
            return br.InvalidValueError
        if among is not None and not set(among) <= set(names):
            return br.UnknownNameError
        ledger.settle(now)
        for _, arm, explored, *_ in answer:
            assert arm in (among or names)
            ledger.decisions.append([ledger.row_of(arm), now, explored, None, None, None])
        return answer
    if kind == "tell":
        ledger.settle(now)
        n, kept = len(ledger.decisions), [list(decision) for decision in ledger.decisions]
        told = [ledger.tell(step % n + 1, reward) for step, reward in given[0]] if n else []
        if br.ConflictingRewardError in told:
            ledger.decisions = kept
            return br.ConflictingRewardError
        return told
    if kind == "add":
        if ledger.row_of(*given) is not None:
            return br.NameTakenError
        ledger.settle(now)
        ledger.rows.append([*given, True])
        return None
    if kind == "remove":
        if ledger.row_of(*given) is None:
            return br.UnknownNameError
        ledger.settle(now)
        ledger.rows[ledger.row_of(*given)][1] = False
        return None
    if any(ledger.row_of(name) is None for name, _ in given[0]):
        return br.UnknownNameError
    ledger.settle(now)
    for name, reward in given[0]:
        ledger.decisions.append([ledger.row_of(name), now, False, reward, None, reward])
    ledger.recorded |= bool(given[0])
    return len(given[0]) or []


POLICIES = {
    "FE": FE,
    "SW-FE": SW_FE,
    "anytime": br.ForcedExploration(br.AnytimeExponential()),
    "Thompson": br.ThompsonBeta(),
    "random": RANDOM,
    "UCB1": br.UCB1(),
}


@pytest.mark.full
@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=8, deadline=None)
@given(calls=st.lists(CALLS, min_size=10, max_size=40), timeout=st.booleans(), seed=st.integers(0, 2**32))
def test_a_bandit_is_the_same_in_memory_restored_reopened_and_replayed(name, url, calls, timeout, seed):
    clock = Clock()
    given = {"reward_timeout": TIMEOUT, "default_reward": DEFAULT} if timeout else {}
    players = [
        Player(br.Bandit(NAMES[:2], POLICIES[name], seed=seed, clock=clock, **given), how, url, clock)
        for how in (None, "json", "open", "replay")
    ]
    ledger = Ledger(timeout)
    for call in calls:
        if call[0] == "wait":
            clock.now += call[1]
            continue
        answers = [player.call(as_action(call)) for player in players]
        assert answers == [answers[0]] * len(players)
        assert answers[0] == expected(ledger, call, answers[0], clock.now)
    clock.now += 1
    for player in players:
        player.bandit.tell_many([])  # so that all have learned what was overdue
    ledger.settle(clock.now)
    bandits = [player.bandit for player in players]
    ledger.check(bandits[0])
    columns = ["arm", "explored", "asked_at", "reward", "learned", "status"]
    for bandit in bandits[1:]:
        assert state(bandit) == state(bandits[0])
        assert bandit.history()[columns].equals(bandits[0].history()[columns])
        assert bandit.summary(removed=True).equals(bandits[0].summary(removed=True))
        bandit.close()


# Snapshots.


def a_snapshot():
    bandit = br.Bandit(["x", "y"], SW_FE, seed=1, reward_timeout=10, default_reward=0.5, clock=Clock())
    for decision in bandit.ask(12):
        if decision.step % 3:
            bandit.tell(decision.id, 0.1 * decision.step)
    bandit.remove_arm("x")
    bandit.add_arm("z")
    return bandit, bandit.snapshot()


def test_a_snapshot_is_plain_data_and_strict_json():
    _, snapshot = a_snapshot()
    text = json.dumps(snapshot, allow_nan=False)
    assert json.loads(text) == snapshot
    assert text.isascii()
    assert snapshot["schema"] == 2
    assert snapshot["brigand"] == br.__version__


def test_a_restored_bandit_knows_the_decisions_of_the_other(url):
    bandit, snapshot = a_snapshot()
    for home in ({}, {"store": url, "name": "restored"}):
        again = br.Bandit.restore(json.loads(json.dumps(snapshot)), **home, clock=Clock())
        assert contents(again) == contents(bandit)
        assert again.history().drop(columns="reason").equals(bandit.history().drop(columns="reason"))
        first, third = bandit.history()["decision"].iloc[[0, 2]]
        assert again.tell(first, 0.1) is br.Told.REPEATED
        assert again.tell(third, 0.1) is (
            br.Told.LEARNED if bandit.history()["arm"][3] == "y" else br.Told.HISTORY
        )
        theirs, mine = again.ask(), bandit.ask()
        assert (theirs.arm, theirs.step) == (mine.arm, mine.step)
        assert theirs.id != mine.id
        with pytest.raises(br.UnknownDecisionError, match="no id of a decision"):
            again.tell(mine.id, 0.1)
        bandit = br.Bandit.restore(snapshot, clock=Clock())
        again.close()


def test_what_is_done_to_a_copy_does_nothing_to_the_other():
    bandit, snapshot = a_snapshot()
    text, before = json.dumps(snapshot), contents(bandit)
    again = br.Bandit.restore(snapshot, clock=Clock())
    again.ask(20)
    again.add_arm("x")
    assert json.dumps(snapshot) == text
    assert contents(bandit) == before


def test_a_restored_bandit_needs_a_name_that_is_free(url):
    _, snapshot = a_snapshot()
    with pytest.raises(br.InvalidValueError, match="name"):
        br.Bandit.restore(snapshot, store=url)
    br.Bandit.restore(snapshot, store=url, name="free").close()
    with pytest.raises(br.InvalidValueError, match="'free'"):
        br.Bandit.restore(snapshot, store=url, name="free")


@pytest.mark.parametrize("given", [None, [], "text", 3, {}, {"schema": "1"}, {"schema": None}])
def test_what_is_not_a_snapshot_is_refused(given):
    with pytest.raises(br.InvalidValueError, match="no snapshot of a bandit"):
        br.Bandit.restore(given)


def test_a_snapshot_of_a_newer_version():
    _, snapshot = a_snapshot()
    with pytest.raises(br.InvalidValueError, match=r"schema 3, written by brigand 9\.0"):
        br.Bandit.restore({**snapshot, "schema": 3, "brigand": "9.0"})


def damages():
    for key in ("settings", "events", "state", "uid"):
        yield f"without {key}", lambda snapshot, key=key: snapshot.pop(key)
    for key in ("settings", "events", "state"):
        for wrong in (None, [], {}, "x", 5):
            yield f"{key} = {wrong!r}", lambda snapshot, key=key, wrong=wrong: snapshot.update({key: wrong})
    for key in ("policy", "seed", "horizon", "reward_timeout"):
        yield f"settings without {key}", lambda snapshot, key=key: snapshot["settings"].pop(key)
    yield "another setting", lambda snapshot: snapshot["settings"].update(colour="red")
    yield "a column shorter", lambda snapshot: snapshot["events"][2].pop()
    yield "an arm that is not there", lambda snapshot: snapshot["events"][2].__setitem__(-3, 77)
    yield "an event less", lambda snapshot: [column.pop(5) for column in snapshot["events"]]
    yield "a column less", lambda snapshot: snapshot["events"].pop()
    yield "a policy that is none", lambda snapshot: snapshot["settings"].update(policy={"type": "NoPolicy"})
    yield "tables missing", lambda snapshot: snapshot["state"]["tables"].pop("arms")
    yield "a value missing", lambda snapshot: snapshot["state"]["tables"]["arms"]["columns"][0][2].pop()
    yield (
        "a text for a number",
        lambda snapshot: snapshot["state"]["tables"]["arms"]["columns"][0][2].__setitem__(0, "x"),
    )
    yield "a row too many", lambda snapshot: snapshot["state"]["rows"].append(9)
    yield "no generator", lambda snapshot: snapshot["state"].update(rng="not hexadecimal")


@pytest.mark.parametrize("damage", [damage for _, damage in damages()], ids=[name for name, _ in damages()])
def test_a_damaged_snapshot(damage):
    _, snapshot = a_snapshot()
    snapshot = json.loads(json.dumps(snapshot))
    damage(snapshot)
    with pytest.raises(br.BrigandError):
        br.Bandit.restore(snapshot)


def test_a_state_of_another_layout_is_made_anew_from_the_log():
    bandit = br.Bandit(["x", "y", "z"], FE, seed=1)
    play(bandit, rewards_for(FE, (50, 3), 1))
    snapshot = bandit.snapshot()
    for change in (
        lambda state: state.update(schema=0),
        lambda state: state["tables"]["arms"]["columns"].pop(),
        lambda state: state["tables"]["header"]["columns"].reverse(),
    ):
        older = json.loads(json.dumps(snapshot))
        change(older["state"])
        with pytest.raises(br.InvalidValueError, match="its checksum does not fit"):
            br.Bandit.restore(older)
        again = br.Bandit.restore(older | {"sha256": snapshots._checksum(older)})
        one, other = json.loads(state(bandit)), json.loads(state(again))
        del one["rng"], other["rng"]  # a log in memory does not have it
        assert one == other
