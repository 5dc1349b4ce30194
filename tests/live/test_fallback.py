"""A store that stalls or fails: a call ends in time, with a fallback if there is one."""

import threading
import time

import pytest

import brigand as br
from live.common import FE
from stores import run

ARMS = ["red", "green"]


@pytest.fixture
def bandit(url):
    with br.Bandit(ARMS, FE, store=url, name="x", seed=0) as made:
        yield made


@pytest.fixture
def stalled(bandit):
    """The same, while somebody else keeps its lock."""
    release, kept = threading.Event(), threading.Event()

    def keep():
        with bandit._backend.writing():
            kept.set()
            release.wait(60)

    thread = threading.Thread(target=keep)
    thread.start()
    kept.wait(30)
    bandit.release = lambda: (release.set(), thread.join())
    yield bandit
    bandit.release()


def test_a_store_that_answers_needs_no_fallback(bandit):
    decision = bandit.ask(fallback="green", timeout=60)
    assert (decision.arm, decision.is_fallback, decision.step) == ("red", False, 1)
    assert bandit.ask(among=["green"], fallback="green", timeout=60).step == 2


def test_a_store_that_stalls_gives_the_fallback_in_time(stalled):
    start = time.monotonic()
    decision = stalled.ask(fallback="green", timeout=0.2)
    assert time.monotonic() - start < 20  # and not a minute
    assert (decision.arm, decision.is_fallback, decision.step, decision.explored) == ("green", True, 0, False)
    assert decision.reason == "fallback: the store did not answer within 0.2 seconds"
    assert decision.to_dict()["data"] == {"kind": "fallback"}
    with pytest.raises(br.UnknownDecisionError, match=r"did not choose 'green', a fallback: record\("):
        stalled.tell(decision, 1.0)
    assert decision != stalled.ask(fallback="green", timeout=0.0)
    before = threading.active_count()
    for _ in range(40):
        assert stalled.ask(fallback="green", timeout=0.0).is_fallback
    assert threading.active_count() <= before + 16  # they do not pile up
    stalled.release()
    time.sleep(0.5)  # those that nobody waits for are not kept
    assert len(stalled.history()) == 0
    assert stalled.ask().step == 1
    stalled.record([("green", 1.0)])
    assert stalled.summary()["told"].tolist() == [0, 1]


def test_a_store_that_fails_gives_the_fallback_and_mistakes_are_mistakes(bandit, url):
    with pytest.raises(br.UnknownNameError, match="unknown arm 'blue'"):
        bandit.ask(among=["blue", "red"], fallback="red", timeout=60)
    for wrong in ({"n": 2, "fallback": "red"}, {"among": ["green"], "fallback": "red"}):
        with pytest.raises(br.InvalidValueError, match="fallback is for a single decision"):
            bandit.ask(**wrong)
    for timeout in (-1, float("nan"), "1"):
        with pytest.raises(br.InvalidValueError, match="timeout must be"):
            bandit.ask(fallback="red", timeout=timeout)
    run(url, "DELETE FROM brigand_bandits")
    run(url, "DELETE FROM brigand_events")
    decision = bandit.ask(fallback="red", timeout=60)
    assert decision.reason.startswith("fallback: the store holds another bandit in its place now, or none")


def test_how_long_a_call_waits_can_be_set(url):
    br.Bandit(ARMS, FE, store=url, name="x", seed=0, busy_timeout=0.3).close()
    with (
        br.Bandit.open(url, "x", busy_timeout=0.1) as impatient,
        br.Bandit.open(url, "x") as other,
        other._backend.writing(),
        pytest.raises(br.StorageError, match=r"is locked: .* for 0\.1 seconds"),
    ):
        impatient.ask()
    with pytest.raises(br.InvalidValueError, match="busy_timeout must be"):
        br.Bandit.open(url, "x", busy_timeout=-1)
