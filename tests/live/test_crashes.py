"""Processes that are killed at any moment, and calls that are interrupted: what was acknowledged is kept.

A real loss of power was not tried. What it takes is checked: SQLite waits until the disk has each transaction
(`synchronous` is FULL) and can tell a transaction that was cut off (its write-ahead log has checksums).
"""

import fcntl
import json
import mmap
import os
import random
import signal
import struct
import time
from collections import Counter
from contextlib import suppress
from typing import Any, NamedTuple

import pytest

import brigand as br
from brigand.live import session
from brigand.storage.events import ADD, ASK, DEFAULT, REMOVE, TELL
from live.twin import Twin, log, reward_of
from live.warm import FE, SW_FE, THOMPSON

KILLS = 200
BANDITS = {
    "FE": {"policy": FE},
    "Thompson": {"policy": THOMPSON},
    "late": {"policy": SW_FE, "reward_timeout": 30, "default_reward": 0.25},
}


class Ticks:
    """A clock that processes share: it goes on by one whenever it is looked at, and never twice the same."""

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

    session.LEAST_EVENTS = 50
    rng = random.Random(seed)
    bandit = br.Bandit.open(url, name, clock=ticks)
    with bandit._core.session.reading() as opened:
        last = opened.log.history(max(0, opened.engine.steps - 60))
        pending = [found.step for found in last if found.value is None]
    say("open")
    while True:
        kind, what = next_call(bandit, rng, pending)
        say(kind, what, ticks.now() + 1)
        say(call(bandit, kind, what))
        if kind == ASK:
            pending += range(bandit._core.session.engine.steps - what[0] + 1, bandit._core.session.engine.steps + 1)


def next_call(bandit, rng, pending):
    chance = rng.random()
    arms = [bandit._core.session.engine.names[row] for row in sorted(bandit._core.session.engine.row_of.values())]
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
    rewards = [(f"{bandit._core.uid}-{step}", reward_of(step)) for step in what]
    return [str(told) for told in ([bandit.tell(*rewards[0])] if len(what) == 1 else bandit.tell_many(rewards))]


# What the process that kills finds.


def live_and_die(url, name, seed, ticks, seconds, opening):
    """Let a process serve, kill it after some time, and return what it said: None if it was still opening.

    The time is taken from its beginning, if it is to be killed while it is `opening`; else from when it is open.
    """
    end, pipe = os.pipe()
    with suppress(AttributeError, OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)
    if not (child := os.fork()):
        os.close(end)
        try:
            serve(url, name, seed, ticks, pipe)
        except BaseException as error:
            os.write(pipe, json.dumps(["failed", repr(error)]).encode())
        finally:
            os._exit(1)
    os.close(pipe)
    with open(end) as file:
        lines = [] if opening else [json.loads(file.readline())]
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        lines += [json.loads(line) for line in file]
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL, lines
    ticks()  # so that no later call has the tick of the one that was cut off
    if not lines:
        return None
    assert lines.pop(0) == ["open"]
    lines.append([CUT_OFF])
    return [Call(*before, *after) for before, after in zip(lines[::2], lines[1::2], strict=False)]


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
        kept = sum(self._check(call, events.pop(call.tick, [])) for call in self.calls)
        assert not events
        self.calls = []
        if self.twin is None:
            self.twin = Twin(bandit)
        self.twin.follow(bandit)
        self.twin.goes_on_as(bandit, more)
        self._take_in(log(bandit, self.seen))
        bandit.close()
        return kept

    def _check(self, call, events):
        if call.answer == CUT_OFF and not events:
            return False
        found = [event for event in events if event.kind != DEFAULT]
        assert [(event.kind, event.step, event.value) for event in found] == self._expected(call)
        if call.kind == ASK and call.answer != CUT_OFF:
            assert call.answer == [[event.step, self.names[event.arm]] for event in found]
        if call.kind == TELL and call.answer != CUT_OFF:
            counted = {event.step: event.counted for event in found}
            said = {True: br.Told.LEARNED, False: br.Told.HISTORY, None: br.Told.REPEATED}
            assert call.answer == [said[counted.get(step)] for step in call.what]
        self._take_in(events)
        return call.answer == CUT_OFF

    def _expected(self, call):
        if call.kind == ASK:
            return [(ASK, self.steps + i + 1, None) for i in range(call.what[0])]
        if call.kind == TELL:
            return [(TELL, step, reward_of(step)) for step in call.what if step not in self.told]
        return [(call.kind, None, None)]

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
    session.LEAST_EVENTS = 50
    ticks, rng, counts = Ticks(), random.Random(2), Counter()
    for name, settings in BANDITS.items():
        br.Bandit(list("abc"), store=url, name=name, seed=7, clock=lambda: 0.0, **settings).close()
    watched = [Watched(url, name, ticks) for name in BANDITS]
    for kill in range(kills):
        one = rng.choice(watched)
        calls = live_and_die(url, one.name, kill, ticks, rng.uniform(0.001, 0.04), rng.random() < 0.15)
        counts["calls"] += len(calls or [])
        counts["opening"] += calls is None
        counts["inside"] += bool(calls) and calls[-1].answer == CUT_OFF
        one.calls += calls or []
        for one in watched if kill == kills - 1 else rng.choice([[one], []]):
            counts["checks"] += 1
            counts["kept"] += one.check(30 if counts["checks"] % 3 == 0 or kill == kills - 1 else 0)
    return counts, [(one.seen, len(one.names), len(one.told)) for one in watched]


def test_a_process_that_is_killed_loses_nothing_that_it_answered(warm, url):
    counts, logs = warm(scene_kills, url, KILLS)
    print(counts, logs)
    assert counts["inside"] > KILLS / 10
