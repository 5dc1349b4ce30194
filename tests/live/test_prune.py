"""A log whose beginning was dropped: the bandit goes on as if it were there."""

import contextlib
import itertools
import json
import random
import threading
from datetime import UTC, datetime

import numpy as np
import pytest

import brigand as br
from brigand.live import stores
from brigand.live.bases import first_step
from brigand.live.damage import seal
from brigand.live.listing import bandits
from live.common import FE, POLICIES, Clock
from stores import FULL_KINDS, a_store, another, run

QUICK = ("FE-Linear", "SW-FE-Linear", "TS-Beta", "LB-SDA")
TIMEOUT = {"reward_timeout": 25.0, "default_reward": 0.0}


class Life:
    """A bandit that is asked every second, and told most rewards, late and in another order.

    Parameters
    ----------
    bandit : Bandit
    clock : Clock
        Of the bandit.
    """

    def __init__(self, bandit, clock):
        self.bandit, self.clock = bandit, clock
        self.random = random.Random(5)
        self.waiting = []

    def go(self, n):
        """Live on for n seconds; return the arms."""
        chosen = []
        for _ in range(n):
            self.clock.now += 1
            decision = self.bandit.ask()
            chosen.append(decision.arm)
            self.waiting.append(decision)
            if len(self.waiting) > 5:
                told, value = self.waiting.pop(self.random.randrange(6)), float(self.random.randrange(2))
                if self.random.random() < 0.8:
                    self.bandit.tell(told, value)
        return chosen

    def among(self, bandit, clock):
        """Return the same life of a copy."""
        other = Life(bandit, clock)
        other.random.setstate(self.random.getstate())
        other.waiting = list(self.waiting)
        clock.now = self.clock.now
        return other


def make(store=None, policy=FE, name="x", **settings):
    clock = Clock(1000.0)
    made = br.Bandit(
        ["a", "b", "c"], policy, seed=1, clock=clock, store=store, name=name, horizon=10_000, **settings
    )
    return Life(made, clock)


def opened(life, store, name="x"):
    clock = Clock(life.clock.now)
    return life.among(br.Bandit.open(store, name, clock=clock), clock)


@pytest.fixture(params=["memory", *FULL_KINDS])
def place(request):
    """Where a bandit is: None is in memory."""
    if request.param == "memory":
        yield None
    else:
        with a_store(request.param, request) as url:
            yield url


CASES = [
    *(
        pytest.param(*case, marks=() if number in (0, 7, 9, 10) else pytest.mark.full)
        for number, case in enumerate(itertools.product(QUICK, ({}, TIMEOUT), ("memory", "sqlite")))
    ),
    *(
        pytest.param(
            policy, (TIMEOUT, {})[number % 2], ("memory", "sqlite")[number // 2 % 2], marks=pytest.mark.full
        )
        for number, policy in enumerate(POLICIES)
        if policy not in QUICK
    ),
    *(
        pytest.param(policy, timeout, "postgresql", marks=pytest.mark.full)
        for policy, timeout in itertools.product(QUICK, ({}, TIMEOUT))
    ),
]


@pytest.mark.parametrize(("policy", "timeout", "place"), CASES, indirect=["place"])
def test_it_goes_on_as_before_with_the_same_sums(policy, timeout, place):
    whole, pruned = (make(place, policy, name, **timeout) for name in ("whole", "pruned"))
    for life in (whole, pruned):
        life.go(150)
        life.bandit.remove_arm("c")
        life.go(60)
    before = pruned.bandit.summary(removed=True)
    assert pruned.bandit.prune(1180.0) == 179
    assert pruned.bandit.prune(1180.0) == 0
    history = whole.bandit.history(after=179).drop(columns="decision")
    lives = [whole, pruned]
    if place:
        pruned.bandit.close()
        lives += [opened(pruned, place, "pruned")]
        stores.copy(place, "pruned", another(place, 1), "copy")
        lives += [opened(pruned, another(place, 1), "copy")]
    for store in {None, place}:
        clock = Clock(pruned.clock.now)
        snapshot = json.loads(json.dumps(lives[-1].bandit.snapshot()))
        restored = br.Bandit.restore(snapshot, clock=clock, store=store, name="restored")
        lives.append(pruned.among(restored, clock))
    if place:
        lives.remove(pruned)  # it was closed
    for life in lives[1:]:
        assert life.bandit.summary(removed=True).equals(before)
        assert life.bandit.history().drop(columns="decision").equals(history)
    assert len({tuple(life.go(100)) for life in lives}) == 1
    summaries = [life.bandit.summary(removed=True) for life in lives]
    assert all(summary.equals(summaries[0]) for summary in summaries)


def test_who_has_it_open_goes_on(url):
    life = make(url)
    life.go(50)
    others = [opened(life, url) for _ in range(2)]
    others[0].bandit.arms()  # the other one has not read anything yet
    twin = make()
    twin.go(50)
    life.go(50)
    assert life.bandit.prune(1090.0) == 89
    twin.go(50)
    for other, fresh in zip(others, (True, False), strict=True):
        assert other.bandit.summary().equals(twin.bandit.summary()), fresh
    chosen = [life.bandit.ask().arm, *(other.bandit.ask().arm for other in others), life.bandit.ask().arm]
    assert chosen == [twin.bandit.ask().arm for _ in range(4)]


def test_rewards_can_be_told_to_what_is_left_only(place):
    life = make(place)
    decisions = life.bandit.ask(4)
    life.clock.now += 10
    decisions += life.bandit.ask(4)
    assert life.bandit.prune(datetime.fromtimestamp(1005.0, UTC)) == 4
    assert [life.bandit.tell(decision, 0.5) for decision in decisions[4:]] == [br.Told.LEARNED] * 4
    for decision in decisions[:4]:
        with pytest.raises(br.UnknownDecisionError, match=r"has dropped decision .*no reward can be told"):
            life.bandit.tell(decision, 0.5)
    assert life.bandit.history().index.tolist() == [5, 6, 7, 8]
    assert life.bandit.history(after=2, limit=3).index.tolist() == [5, 6, 7]
    assert life.bandit.summary()["asked"].sum() == 8


def test_what_waits_for_a_reward_stays_if_it_will_be_overdue(place):
    life = make(place, **TIMEOUT)
    first, second, *_ = life.bandit.ask(10)
    life.bandit.tell(first, 1.0)
    life.clock.now += 20
    life.bandit.ask(10)
    assert life.bandit.prune(1010.0) == 1
    life.clock.now += 10
    assert life.bandit.summary()["defaulted"].sum() == 9
    assert life.bandit.prune(1010.0) == 9
    with pytest.raises(br.UnknownDecisionError, match="dropped"):
        life.bandit.tell(second, 1.0)


def test_the_last_decision_stays(place):
    life = make(place)
    assert life.bandit.prune(9e9) == 0
    life.bandit.ask()
    assert life.bandit.prune(9e9) == 0
    life.bandit.ask(5)
    assert life.bandit.prune(0.0) == 0
    assert life.bandit.prune(9e9) == 5
    life.bandit.remove_arm("a")
    assert life.bandit.prune(9e9) == 0
    assert life.bandit.ask().step == 7
    assert life.bandit.prune(9e9) == 1
    with pytest.raises(br.InvalidValueError, match="before is in seconds since 1970"):
        life.bandit.prune(20260101)
    with pytest.raises(br.InvalidValueError, match="before must be finite"):
        life.bandit.prune(np.nan)


def test_new_arms_join_if_the_policy_grows_and_are_refused_if_not(place):
    life = make(place, FE)
    life.go(30)
    assert life.bandit.prune(1020.0) == 19
    life.bandit.add_arm("d")
    assert "d" in life.go(5)
    assert life.bandit.prune(1030.0) == 10
    if place:
        assert bandits(place)[0].arms == ["a", "b", "c", "d"]
        assert opened(life, place).bandit.summary().equals(life.bandit.summary())
    life = make(place, "LB-SDA", "y")
    life.go(30)
    life.bandit.add_arm("d")
    assert life.bandit.prune(1020.0) == 0  # the new arm is newer
    life.go(20)
    assert life.bandit.prune(1040.0) == 39
    with pytest.raises(br.InvalidValueError, match=r"new arm needs the whole log, for LBSDA.* was pruned"):
        life.bandit.add_arm("e")
    assert life.go(1)


def test_it_is_dropped_a_page_at_a_time_and_a_kill_in_between_loses_nothing(url, monkeypatch):
    monkeypatch.setattr("brigand.storage.records.PAGE_SIZE", 20)
    life = make(url)
    life.go(100)
    before = life.bandit.summary()
    backend = life.bandit._session._backend
    pages = []

    def stop():
        with backend.writing() as log:
            assert log.drop()
        pages.append(run(url, "SELECT min(seq), count(*) FROM brigand_events"))
        raise KeyboardInterrupt

    monkeypatch.setattr(backend, "drop", stop)
    with pytest.raises(KeyboardInterrupt):
        life.bandit.prune(1090.0)
    assert pages[0][0][0] == 21
    again = opened(life, url)
    assert again.bandit.summary().equals(before)
    stores.copy(url, "x", another(url, 1))
    assert [
        found[0] for found in run(another(url, 1), "SELECT min(step) FROM brigand_events WHERE kind = 1")
    ] == [90]
    assert again.bandit.prune(1090.0) == 0  # drops what is left
    assert run(url, "SELECT min(step) FROM brigand_events WHERE kind = 1") == [(90,)]
    assert again.bandit.summary().equals(before)
    assert [life.bandit.ask().arm, again.bandit.ask().arm] == [
        decision.arm for decision in opened(again, another(url, 1)).bandit.ask(2)
    ]


def test_others_go_on_meanwhile(url, monkeypatch):
    life = make(url)
    life.go(50)
    other, drop = opened(life, url), life.bandit._session._backend.drop
    started, go_on = threading.Event(), threading.Event()

    def slow():
        started.set()
        assert go_on.wait(60)
        drop()

    monkeypatch.setattr(life.bandit._session._backend, "drop", slow)
    found = []
    thread = threading.Thread(target=lambda: found.append(life.bandit.prune(1040.0)))
    thread.start()
    assert started.wait(60)
    assert other.go(10)
    assert life.go(10)
    go_on.set()
    thread.join()
    assert found == [39]
    assert len(life.bandit.history()) == 31
    assert other.bandit.summary().equals(life.bandit.summary())


def test_two_who_prune_at_once(url):
    life = make(url)
    life.go(200)
    before = life.bandit.summary()
    lives = [opened(life, url) for _ in range(4)]
    failed = []

    def prune(life, time):
        try:
            life.bandit.prune(time)
        except br.StorageError as error:
            failed.append(str(error))

    threads = [
        threading.Thread(target=prune, args=(life, 1000.0 + 40 * k)) for k, life in enumerate(lives, start=1)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {*failed} <= {"the log is another one than a moment before; nothing was pruned."}
    assert len(failed) < 4
    assert all(life.bandit.summary().equals(before) for life in lives)
    assert opened(life, url).bandit.summary().equals(before)


def test_a_damaged_base_is_said_to_be(file_url):
    life = make(file_url)
    life.go(30)
    life.bandit.prune(1020.0)
    life.bandit.close()
    ((seq, text),) = run(file_url, "SELECT seq, state FROM brigand_bases")
    state = json.loads(text)["state"]
    assert first_step((seq, text)) == state["step"] == 20
    run(file_url, "DELETE FROM brigand_snapshots")
    wrong = [
        text[:-1],
        text.replace("1.0", "2.0"),
        "{}",
        "null",
        "[]",
        seal(seq, {}),
        seal(seq, {"step": 20}),
    ]
    for key, value in itertools.product(
        state, (None, -1, [], {}, "x", [-1], [7], [[]], [[1, 7, 0.5]], 2**70)
    ):
        wrong.append(seal(seq, state | {key: value}))
    for changed in wrong:
        run(file_url, "UPDATE brigand_bases SET state = :state", {"state": changed})
        with contextlib.suppress(br.StorageError), br.Bandit.open(file_url, "x", clock=life.clock) as bandit:
            bandits(file_url)
            bandit.arms()
            bandit.history()
            assert json.loads(changed)["state"].keys() == state.keys()  # what is believed may be
    run(file_url, "UPDATE brigand_bases SET state = :state, seq = seq + 1", {"state": text})
    with br.Bandit.open(file_url, "x") as bandit, pytest.raises(br.StorageError, match="damaged"):
        bandit.ask()


def test_a_forged_snapshot_of_a_pruned_bandit_is_refused():
    life = make(**TIMEOUT)
    life.go(60)
    life.bandit.prune(1025.0)
    snapshot = json.loads(json.dumps(life.bandit.snapshot()))
    snapshot["schema"] = 1  # without a checksum
    joining = ["add", None, 3, None, True, 0.0, '{"name": "d"}']
    events = [[*column, value] for column, value in zip(snapshot["events"], joining, strict=True)]
    for changes in (
        {"base": None},
        {"base": {}},
        {"base": snapshot["base"] | {"seq": 0}},
        {"base": snapshot["base"] | {"seq": True}},
        {"base": snapshot["base"] | {"state": snapshot["state"]}},
        {"base": snapshot["base"] | {"state": snapshot["base"]["state"] | {"waiting": [[1, 2, 3]]}}},
        {"events": [column[1:] for column in snapshot["events"]]},
        {"events": events},
    ):
        with pytest.raises(br.InvalidValueError, match="snapshot"):
            br.Bandit.restore(snapshot | changes)
    assert br.Bandit.restore(snapshot, clock=life.clock).summary().equals(life.bandit.summary())


def test_a_policy_whose_state_cannot_be_read_again_keeps_its_log(monkeypatch, place):
    life = make(place)
    life.go(20)
    monkeypatch.setattr("brigand.live.engine.is_possible", lambda tables: False)
    with pytest.raises(br.InvalidValueError, match="could not be read again, so the log has to stay whole"):
        life.bandit.prune(1010.0)
    monkeypatch.undo()
    assert len(life.bandit.history()) == 20
