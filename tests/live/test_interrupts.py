"""Calls that are interrupted anywhere, say by Ctrl-C: kept wholly or not at all, and the next one goes on."""

import dis
import os
import random
import signal
import sys
import time

import pytest

import brigand as br
from brigand.live import session
from brigand.storage.events import ADD, ASK, DEFAULT, REMOVE, TELL
from live.twin import Twin, log, reward_of
from live.warm import THOMPSON
from strength import runs

ROOMS = tuple(os.path.join(os.path.dirname(br.__file__), room) for room in ("live", "storage"))


class Clock:
    """It goes on by one whenever it is looked at."""

    now = 0.0

    def __call__(self):
        self.now += 1
        return self.now


def made(url, clock):
    """Return a bandit with 12 decisions, 7 of them told; a reward is late after four calls."""
    settings = {"reward_timeout": 4, "default_reward": 0.5, "clock": clock}
    bandit = br.Bandit(list("abc"), THOMPSON, store=url, name="x", seed=4, **settings)
    for decision in bandit.ask(8)[:3]:
        bandit.tell(decision.id, 1.0)
    for decision in (bandit.ask() for _ in range(4)):
        bandit.tell(decision.id, reward_of(decision.step))
    return bandit


def last(bandit, back=0):
    return bandit._ids.id_of(bandit._session.engine.steps - back)


CALLS = {
    "ask": (lambda bandit: bandit.ask(), [ASK], 1),
    "ask among": (lambda bandit: bandit.ask(5, among=["a", "b"]), [ASK] * 5, 1),
    "tell": (lambda bandit: bandit.tell(last(bandit), 0.25), [TELL], 1),
    "tell many": (lambda bandit: bandit.tell_many({last(bandit, i): 0.25 for i in range(3)}), [TELL] * 3, 1),
    "record": (lambda bandit: bandit.record([("a", 0.5), ("b", None)]), [ASK, TELL, ASK], 1),
    "add": (lambda bandit: bandit.add_arm(f"new {len(log(bandit))}"), [ADD], 9),
    "remove": (lambda bandit: bandit.remove_arm(bandit.arms()[-1]), [REMOVE], 3),
}
"""What is called, the events that it makes, and every which point is tried."""
PLACES = ("CALL", "RESUME", "JUMP_BACKWARD")


def interrupted(call, bandit, at):
    """Call, and interrupt that at the point number `at` in these rooms; return how many points it passed.

    A signal is handled where a function begins or goes on, after it called another one, and where it loops.
    """
    points, before = 0, {}

    def enter(frame, *_):
        if not frame.f_code.co_filename.startswith(ROOMS):
            return None
        frame.f_trace_opcodes = True
        return count

    def count(frame, what, _):
        nonlocal points
        if what == "opcode":
            last = before.get(frame)
            before[frame] = frame.f_lasti
            if last is not None and dis.opname[frame.f_code.co_code[last]].startswith(PLACES):
                points += 1
                if points == at:
                    raise KeyboardInterrupt
        return count

    sys.settrace(enter)
    try:
        call(bandit)
    except KeyboardInterrupt:
        assert points == at
    finally:
        sys.settrace(None)
    return points


def scene_interrupted_everywhere(url, name, every):
    session.LEAST_EVENTS = 20
    call, events, stride = CALLS[name]
    clock = Clock()
    bandit = made(url, clock)
    twin = Twin(bandit)
    tried, kept, at, n = 0, 0, 0, 0
    while at <= n:
        bandit.ask()
        clock.now += 2
        bandit.ask(3)
        clock.now += 2  # the first one's reward is late now
        if name == "remove":
            bandit.add_arm(f"arm {at}")
        before = len(log(bandit))
        passed = interrupted(call, bandit, at)
        n = n or passed
        tried += passed == at
        made_now = [event.kind for event in log(bandit, before) if event.kind != DEFAULT]
        assert made_now in ([], events)
        kept += made_now == events
        twin.follow(bandit)
        twin.goes_on_as(bandit, 1)
        at += stride * every
    return tried, kept, n


@pytest.mark.skipif(
    sys.version_info >= (3, 12),
    reason="CPython 3.12 and 3.13 trace the instructions of a function incompletely",
)
@pytest.mark.every(5)
@pytest.mark.parametrize("place", ["memory", "store"])
@pytest.mark.parametrize("name", CALLS)
def test_a_call_may_be_interrupted_everywhere(warm, url, name, place):
    tried, kept, n = warm(scene_interrupted_everywhere, url if place == "store" else None, name, runs(7, 1))
    print(f"{name}: interrupted at {tried} of {n} points, kept {kept} times")  # shown by -rP
    assert tried > runs(1, 10)


# Real signals come also where no line of ours runs.


def stop(*_):
    raise KeyboardInterrupt


def scene_signals(url, hits):
    bandit = made(url, Clock())
    twin, rng = Twin(bandit), random.Random(1)
    signal.signal(signal.SIGALRM, stop)
    while hits:
        start = time.perf_counter()
        decision = bandit.ask()
        needed = time.perf_counter() - start
        try:
            signal.setitimer(signal.ITIMER_REAL, 1e-6 + 1.2 * needed * rng.random())
            bandit.ask() if rng.random() < 0.5 else bandit.tell(decision.id, 0.5)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except (KeyboardInterrupt, AssertionError):  # this from SQLAlchemy, which has been interrupted
            hits -= 1
        signal.alarm(60)  # it must not hang now
        twin.follow(bandit)
        signal.alarm(0)


@pytest.mark.parametrize("place", ["memory", "store"])
def test_a_call_may_be_interrupted_by_signals(warm, url, place):
    warm(scene_signals, url if place == "store" else None, runs(30, 300))
