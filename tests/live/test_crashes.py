"""Processes that are killed at any moment: what they had acknowledged is there, once, and nothing by halves.

A real loss of power was not tried. What it takes is checked: SQLite waits until the disk has each transaction
(`synchronous` is FULL) and can tell one that was cut off (its write-ahead log has checksums).
"""

import contextlib
import json
import mmap
import os
import random
import struct
import time
from collections import Counter
from typing import Any, NamedTuple

import pytest

import brigand as br
from brigand.live import session
from brigand.storage.events import ADD, ASK, DEFAULT, REMOVE, TELL
from live.twin import Twin, log, reward_of
from live.warm import FE, SW_FE, THOMPSON, Child
from stores import another
from strength import runs

fcntl = pytest.importorskip("fcntl", reason="POSIX only")

BANDITS = {
    "FE": {"policy": FE},
    "Thompson": {"policy": THOMPSON},
    "late": {"policy": SW_FE, "reward_timeout": 30, "default_reward": 0.25},
}


class Ticks:
    """A clock that processes share: it goes on by one whenever it is looked at."""

    def __init__(self):
        self._memory = mmap.mmap(-1, 8)

    def now(self):
        return struct.unpack("q", self._memory)[0]

    def __call__(self):
        struct.pack_into("q", self._memory, 0, self.now() + 1)
        return float(self.now())


class Call(NamedTuple):
    """What was called at a tick, and what came back."""

    kind: str
    what: Any
    tick: int
    answer: Any


CUT_OFF = "cut off"


# What a process does until it is killed.


def serve(url, name, seed, ticks, pipe):
    """Call, and say so before and after."""

    def say(*line):
        os.write(pipe, json.dumps(line).encode() + b"\n")  # short enough to be written wholly or not at all

    rng = random.Random(seed)
    bandit = br.Bandit.open(url, name, clock=ticks)
    with bandit._session.reading() as opened:
        last = opened.log.history(max(0, opened.engine.steps - 60))
        pending = [found.step for found in last if found.value is None]
    say("open")
    while True:
        kind, what = next_call(bandit.arms(), rng, pending)
        say(kind, what, ticks.now() + 1)
        answer = call(bandit, kind, what)
        say(answer)
        if kind == ASK:
            pending += [step for step, _ in answer]


def next_call(arms, rng, pending):
    chance = rng.random()
    if chance < 0.01 and len(arms) < 5:
        return ADD, rng.choice([name for name in "abcdefgh" if name not in arms])
    if chance < 0.02 and len(arms) > 2:
        return REMOVE, rng.choice(arms)
    if chance < 0.5 or not pending:
        return ASK, (rng.choice([1, 1, 1, 3, 20]), rng.choice([None, None, None, rng.sample(arms, 2)]))
    steps = rng.sample(pending, min(len(pending), rng.choice([1, 1, 2, 8])))
    for step in steps:
        if rng.random() < 0.9:  # else it is told again
            pending.remove(step)
    return TELL, steps


def call(bandit, kind, what):
    if kind == ADD:
        return bandit.add_arm(what)
    if kind == REMOVE:
        return bandit.remove_arm(what)
    if kind == ASK:
        n, among = what
        decisions = [bandit.ask(among=among)] if n == 1 else bandit.ask(n, among=among)
        return [(decision.step, decision.arm) for decision in decisions]
    rewards = [(bandit._ids.id_of(step), reward_of(step)) for step in what]
    return [bandit.tell(*rewards[0])] if len(rewards) == 1 else bandit.tell_many(rewards)


# What the process that kills finds.


def live_and_die(url, name, seed, ticks, seconds, opening):
    """Let a process serve, kill it after some time, and return its calls: None if it was not open yet.

    The time is taken from its beginning if it is to be killed while it is `opening`, else from then on.
    """
    end, pipe = os.pipe()
    with contextlib.suppress(AttributeError, OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)  # so that it need not wait for us to read
    child = Child(serve, url, name, seed, ticks, pipe)
    os.close(pipe)
    with open(end) as file:
        lines = [] if opening else [file.readline()]
        time.sleep(seconds)
        child.kill()
        lines += file.readlines()
    ticks()  # so that no later call has the tick of the one that was cut off
    if not lines:
        return None
    opened, *said = [json.loads(line) for line in lines]
    assert opened == ["open"]
    said.append([CUT_OFF])
    return [Call(*before, *after) for before, after in zip(said[::2], said[1::2], strict=False)]


class Watched:
    """A bandit, what its processes said, and how much of its log was compared with that."""

    def __init__(self, url, name, ticks):
        self.url, self.name, self.ticks = url, name, ticks
        self.calls, self.twin = [], None
        self.seen, self.steps, self.told, self.names = 0, 0, {}, []

    def check(self, more):
        """Reopen; what was answered is there once, what was cut off wholly or not at all; the twin agrees.

        Then both go on for `more` decisions. Return how many calls had been kept when they were cut off.
        """
        bandit = br.Bandit.open(self.url, self.name, clock=self.ticks)
        events = {}
        for event in log(bandit, self.seen):
            events.setdefault(event.at, []).append(event)
        self._take_in(events.pop(0.0, []))  # the first arms
        kept = sum(self._check(one, events.pop(one.tick, [])) for one in self.calls)
        assert not events
        self.calls = []
        if self.twin is None:
            self.twin = Twin(bandit)
        self.twin.follow(bandit)
        self.twin.goes_on_as(bandit, more)
        self._take_in(log(bandit, self.seen))
        bandit.close()
        return kept

    def _check(self, one, events):
        if one.answer == CUT_OFF and not events:
            return False
        found = [event for event in events if event.kind != DEFAULT]
        assert [(event.kind, event.step, event.value) for event in found] == self._expected(one)
        if one.kind == ASK and one.answer != CUT_OFF:
            assert one.answer == [[event.step, self.names[event.arm]] for event in found]
        if one.kind == TELL and one.answer != CUT_OFF:
            counted = {event.step: event.counted for event in found}
            said = {True: br.Told.LEARNED, False: br.Told.HISTORY, None: br.Told.REPEATED}
            assert one.answer == [said[counted.get(step)] for step in one.what]
        self._take_in(events)
        return one.answer == CUT_OFF

    def _expected(self, one):
        if one.kind == ASK:
            return [(ASK, self.steps + i + 1, None) for i in range(one.what[0])]
        if one.kind == TELL:
            return [(TELL, step, reward_of(step)) for step in one.what if step not in self.told]
        return [(one.kind, None, None)]

    def _take_in(self, events):
        self.seen += len(events)
        for event in events:
            if event.kind == ASK:
                self.steps += 1
            elif event.kind == TELL:
                self.told[event.step] = event.value
            elif event.kind == ADD:
                self.names.append(json.loads(event.data)["name"])


def scene_kills(url, kills):
    """Kill processes that serve bandits in one file; open these again, sometimes after several kills only."""
    session.LEAST_EVENTS = 50
    ticks, rng, counts = Ticks(), random.Random(2), Counter()
    for name, settings in BANDITS.items():
        br.Bandit(list("abc"), store=url, name=name, seed=7, clock=lambda: 0.0, **settings).close()
    watched = [Watched(url, name, ticks) for name in BANDITS]
    for kill in range(1, kills + 1):
        victim = rng.choice(watched)
        calls = live_and_die(url, victim.name, kill, ticks, rng.uniform(0.001, 0.04), rng.random() < 0.15)
        counts["answered"] += sum(one.answer != CUT_OFF for one in calls or [])
        counts["opening"] += calls is None
        counts["in a call"] += bool(calls) and calls[-1].answer == CUT_OFF
        victim.calls += calls or []
        for one in watched if kill == kills else rng.choice([[victim], []]):
            counts["checks"] += 1
            counts["kept"] += one.check(30 if counts["checks"] % 3 == 0 or kill == kills else 0)
    return counts


def test_a_process_that_is_killed_loses_nothing_on_disk(warm, tmp_path):
    counts = warm(scene_kills, f"sqlite:///{tmp_path}/bandits.db", runs(5, 200))
    print(counts)  # shown by -rP
    assert counts["in a call"] > 0


def test_a_process_that_is_killed_loses_nothing_in_memory(warm, url):
    """Calls are quicker, and more of their time is not spent in waiting for the disk."""
    counts = warm(scene_kills, url, runs(5, 100))
    print(counts)  # shown by -rP
    assert counts["in a call"] > 0


# Killed beside others, who go on.


def ask_and_tell(url, said, rounds):
    """Write down what was answered."""
    bandit = br.Bandit.open(url, "x")
    for _ in range(rounds):
        decision = bandit.ask()
        os.write(said, json.dumps([ASK, decision.step, decision.arm]).encode() + b"\n")
        told = bandit.tell(decision.id, reward_of(decision.step))
        os.write(said, json.dumps([TELL, decision.step, told]).encode() + b"\n")


def scene_killed_beside_others(url, folder, kills):
    br.Bandit(list("abc"), THOMPSON, store=url, name="x", seed=7).close()
    path = folder / "said"
    said = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    others = [Child(ask_and_tell, url, said, 150) for _ in range(2)]
    rng, victims = random.Random(5), []
    for _ in range(kills):
        victims.append(Child(ask_and_tell, url, said, 10**6))
        time.sleep(rng.uniform(0.03, 0.08))
        if len(victims) == 2:
            victims.pop(rng.randrange(2)).kill()
    victims[0].kill()
    for other in others:
        other.result()
    os.close(said)
    with open(path) as file:
        lines = file.readlines()
    assert len({*lines}) == len(lines)
    history = br.Bandit.open(url, "x").history()
    for kind, step, what in map(json.loads, lines):
        assert what == (history["arm"][step] if kind == ASK else br.Told.LEARNED)
        assert kind == ASK or history["reward"][step] == reward_of(step)
    assert len(lines) <= len(history) + history["reward"].count() <= len(lines) + 30
    Twin(br.Bandit.open(url, "x")).goes_on_as(br.Bandit.open(url, "x"), 10)
    return len(lines), len(history)


def test_a_process_that_is_killed_disturbs_no_other(warm, url, tmp_path):
    print(warm(scene_killed_beside_others, url, tmp_path, runs(1, 30)))


# Killed while a bandit is made.


def create(url, seed, pipe):
    os.write(pipe, br.Bandit(["a", "b"], FE, store=url, name="x", seed=seed)._ids.text.encode())
    time.sleep(60)


def scene_killed_while_creating(url, kills):
    rng, counts = random.Random(3), Counter()
    for kill in range(kills):
        place = another(url, kill // 2)
        end, pipe = os.pipe()
        child = Child(create, place, kill, pipe)
        os.close(pipe)
        time.sleep(rng.uniform(0.0, 0.03))
        child.kill()
        with open(end) as file:
            uid = file.read()
        with contextlib.suppress(br.StorageError, br.UnknownNameError):
            Twin(br.Bandit.open(place, "x"))
            counts["there"] += 1
        if kill % 2:
            bandit = br.Bandit(["a", "b"], FE, store=place, name="x", seed=99, load_if_exists=True)
            assert bandit._ids.text == uid or not uid
            Twin(bandit).goes_on_as(bandit, 2)
            assert bandit.ask().step == 3
    return counts


@pytest.mark.full
def test_a_bandit_is_made_wholly_or_not_at_all(warm, url):
    print(warm(scene_killed_while_creating, url, 30))


# Loss of power.


def test_the_disk_has_each_transaction_before_it_is_acknowledged(tmp_path):
    bandit = br.Bandit(["a", "b"], FE, store=f"sqlite:///{tmp_path}/bandits.db", name="x")
    for context in (bandit._backend.writing, bandit._backend.reading):
        with context() as opened:
            connection = opened._transaction._connection
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2  # FULL
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
    bandit.close()
