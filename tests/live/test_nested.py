"""Calls inside calls, forks beside threads, and clocks that are wrong once."""

import concurrent.futures
import os
import signal
import threading
import time

import pytest

import brigand as br
from live.common import FE, Clock
from live.warm import Child
from strength import runs

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX only")


@pytest.fixture(params=["memory", "store"])
def place(request, url):
    return {} if request.param == "memory" else {"store": url, "name": "x"}


def test_a_call_inside_a_call_is_a_clear_error(place):
    """As that of a signal handler, which would wait for itself."""
    nested, inside = [], True

    def clock():
        if inside:
            for call in (bandit.ask, bandit.summary, lambda: bandit.add_arm("c")):
                with pytest.raises(br.StorageError, match="in the middle of another call of this bandit"):
                    call()
                nested.append(call)
        return 1.0

    inside = False
    with br.Bandit(["a", "b"], FE, seed=0, clock=clock, **place) as bandit:
        inside = True
        assert bandit.ask().step == 1
        inside = False
        assert bandit.ask().step == 2
        assert len(nested) == 3
        assert len(bandit.history()) == 2


def scene_signals(place, hits):
    """Tell in a signal handler, whenever it comes: it gets through, or there is a clear error."""
    outcomes = {"told": 0, "refused": 0, "wrong": 0}
    with br.Bandit(["a", "b"], FE, seed=0, **place) as bandit:
        waiting = bandit.ask(hits)

        def handle(*_):
            if not waiting:  # several may come during one ask
                return
            decision = waiting.pop()  # now: the next one may come during this tell
            try:
                bandit.tell(decision, 0.5)
                outcomes["told"] += 1
            except br.StorageError as error:
                outcomes["refused" if "in the middle of another call" in str(error) else "wrong"] += 1

        signal.signal(signal.SIGALRM, handle)
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0007)
        try:
            while waiting:
                bandit.ask()
        finally:
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
        assert bandit.summary()["told"].sum() == outcomes["told"]
        bandit.tell_many([(decision, 0.5) for decision in bandit.ask(3)])
    return outcomes


def test_a_signal_handler_that_tells_hangs_nothing(warm, place):
    outcomes = warm(scene_signals, place, runs(50, 1000))
    assert outcomes["told"] + outcomes["refused"] == runs(50, 1000)
    assert outcomes["refused"]


def use(bandit):
    """Return how often a child could use its parent's bandit."""
    for _ in range(3):
        bandit.tell(bandit.ask(), 0.5)
    return int(bandit.summary()["asked"].sum())


def scene_forks(place, forks):
    """Fork again and again while threads call."""
    with br.Bandit(["a", "b"], FE, seed=0, load_if_exists=bool(place), **place) as bandit:
        going, failures = True, []

        def work():
            try:
                while going:
                    bandit.tell(bandit.ask(), 0.5)
                    bandit.summary()
            except BaseException as error:
                failures.append(repr(error))

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(forks):
            time.sleep(0.002)
            assert Child(use, bandit).result() >= 3
        going = False
        for thread in threads:
            thread.join()
        assert failures == []
        return int(bandit.summary()["asked"].sum())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Python 3.12, for any fork beside threads
def test_a_child_of_a_fork_beside_threads_goes_on(warm, place):
    for _ in range(runs(1, 4)):
        assert warm(scene_forks, place, runs(8, 50)) > 0


def test_a_clock_that_is_wrong_once_defaults_nothing(place):
    clock, ahead = Clock(1000.0), []

    def read():
        return clock() + (ahead.pop() if ahead else 0.0)

    with br.Bandit(
        ["a", "b"], FE, seed=0, reward_timeout=60.0, default_reward=0.0, clock=read, **place
    ) as bandit:
        first = bandit.ask(5)
        clock.now += 30.0
        ahead.append(3600.0)
        bandit.ask()
        ahead.append(3600.0)
        assert bandit.tell(first[0], 1.0) is br.Told.LEARNED
        ahead.append(3600.0)
        assert bandit.summary()["defaulted"].sum() == 0
        clock.now += 31.0
        assert bandit.summary()["defaulted"].sum() == 4


def test_the_databases_clock_decides_where_there_is_one(request, monkeypatch):
    from stores import a_store

    with (
        a_store("postgresql", request) as url,
        br.Bandit(
            ["a", "b"], FE, seed=0, store=url, name="x", reward_timeout=60.0, default_reward=0.0
        ) as bandit,
    ):
        bandit.ask(5)
        ahead = time.time() + 3600.0
        monkeypatch.setattr(bandit, "_clock", time.time)
        monkeypatch.setattr("brigand.live.bandit._time_of", lambda clock: ahead)
        bandit.ask()
        assert bandit.summary()["defaulted"].sum() == 0


def test_who_reads_does_not_wait_for_who_waits_for_the_store(url):
    with (
        br.Bandit(["a", "b"], FE, seed=0, store=url, name="x") as bandit,
        br.Bandit.open(url, "x") as other,
        concurrent.futures.ThreadPoolExecutor() as threads,
    ):
        bandit.tell(bandit.ask(), 0.5)
        with other._session.lock, other._session:  # it has the store's lock
            asked = threads.submit(bandit.ask)
            while bandit._session._lock.acquire(blocking=False):
                bandit._session._lock.release()
            for read in (bandit.summary, bandit.arms, bandit.history, bandit.snapshot):
                threads.submit(read).result(timeout=30)
            assert not asked.done()
        assert asked.result(timeout=30).step == 2
        assert bandit.summary()["asked"].sum() == 2
