"""Several processes on one bandit: each decision is made once and each reward learned once."""

import math
import mmap
import os
import random
import signal
import threading
import time
import warnings
from collections import Counter
from contextlib import suppress

import pytest

import brigand as br
from brigand.storage.events import ADD, ASK, REMOVE
from live.twin import Twin, log, reward_of, state
from live.warm import FE, THOMPSON, Child, at_once
from stores import another
from strength import runs

ARMS = ["a", "b", "c", "d"]
WORKERS = 8


def made(url, policy=FE, **settings):
    br.Bandit(ARMS, policy, store=url, name="x", seed=3, **settings).close()


# Asks and tells from all sides.


def ask_and_tell(url, seed, rounds):
    """Tell late and in any order; return what was decided and told."""
    rng = random.Random(seed)
    bandit = br.Bandit.open(url, "x")
    waiting, done = [], []
    for _ in range(rounds):
        waiting.append(bandit.ask())
        while waiting and rng.random() < 0.5:
            done.append(tell(bandit, waiting.pop(rng.randrange(len(waiting)))))
    return done + [tell(bandit, decision) for decision in waiting]


def tell(bandit, decision):
    reward = reward_of(decision.step)
    assert bandit.tell(decision.id, reward) is br.Told.LEARNED
    return decision.id, decision.step, decision.arm, reward


def watch(url):
    """Look until told to stop; what is seen at one moment fits together, and never shrinks."""
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    bandit = br.Bandit.open(url, "x")
    looks, steps, known = 0, 0, None
    while not stopped:
        looks += 1
        summary = bandit.summary()
        assert (summary["told"] + summary["pending"] == summary["asked"]).all()
        assert ((summary["mean"] >= 0) & (summary["mean"] <= 1) | (summary["told"] == 0)).all()
        if known is not None:
            assert (summary[["asked", "told"]] >= known).all(axis=None)
        known = summary[["asked", "told"]]
        first = max(1, steps - 20)
        history = bandit.history(after=first - 1)
        assert list(history.index) == [first + i for i in range(len(history))]
        assert first - 1 + len(history) >= known["asked"].sum()
        assert (history["reward"].isna() == (history["status"] == "pending")).all()
        steps = int(history.index[-1]) if len(history) else 0
    return looks


def scene_exactly_once(url, policy, rounds):
    made(url, policy)
    watcher = Child(watch, url)
    workers = at_once(ask_and_tell, [(url, seed, rounds) for seed in range(WORKERS)])
    done = [line for worker in workers for line in worker]
    os.kill(watcher.pid, signal.SIGTERM)
    looks = watcher.result()
    n = WORKERS * rounds
    done.sort(key=lambda line: line[1])
    bandit = br.Bandit.open(url, "x")
    history = bandit.history()
    assert [step for _, step, _, _ in done] == list(history.index) == list(range(1, n + 1))
    assert len({number for number, _, _, _ in done}) == n
    assert [number for number, _, _, _ in done] == list(history["decision"])
    assert [arm for _, _, arm, _ in done] == list(history["arm"])
    assert [reward for _, _, _, reward in done] == list(history["reward"])
    assert set(history["status"]) == {"learned"}
    summary = bandit.summary()
    for arm in ARMS:
        rewards = [reward for _, _, one, reward in done if one == arm]
        counts = summary.loc[arm, ["asked", "told", "pending", "defaulted"]]
        assert counts.tolist() == [len(rewards), len(rewards), 0, 0]
        assert summary.loc[arm, "mean"] == math.fsum(rewards) / len(rewards)
    Twin(bandit)
    return looks


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("policy", "rounds"), [(FE, runs(60, 500)), (THOMPSON, runs(30, 100))], ids=["FE", "Thompson"]
)
def test_each_decision_is_made_once_and_each_reward_learned_once(warm, url, policy, rounds):
    looks = warm(scene_exactly_once, url, policy, rounds)
    assert looks > 0


# All tell the same decisions.


def tell_all(url, decisions, number):
    """Tell every decision, even steps the same reward as everybody, odd ones one of its own."""
    bandit = br.Bandit.open(url, "x")
    rng = random.Random(number)
    rng.shuffle(decisions)
    results = {}
    while decisions:
        several = [decisions.pop() for _ in range(min(len(decisions), rng.choice([1, 1, 4])))]
        rewards = {decision.id: (number if decision.step % 2 else 0.5) for decision in several}
        try:
            results.update({d.step: told for d, told in zip(several, bandit.tell_many(rewards), strict=True)})
        except br.ConflictingRewardError as error:
            if len(several) > 1:
                decisions += several  # again, perhaps one by one
                continue
            results[several[0].step] = "conflict" if "'x' was told" in str(error) else str(error)
    return results


def scene_same_decisions(url):
    made(url)
    bandit = br.Bandit.open(url, "x")
    decisions = [(decision.id, decision.step) for decision in bandit.ask(100)]
    bandit.close()
    decisions = [br.Decision(number, step, "", False, None) for number, step in decisions]
    results = at_once(tell_all, [(url, list(decisions), number) for number in range(6)])
    rewards = br.Bandit.open(url, "x").history()["reward"]
    for step in range(1, 101):
        said = Counter(result[step] for result in results)
        assert said == ({"learned": 1, "conflict": 5} if step % 2 else {"learned": 1, "repeated": 5})
        first = [result[step] for result in results].index("learned")
        assert rewards[step] == (first if step % 2 else 0.5)
    Twin(br.Bandit.open(url, "x"))


def test_a_reward_that_many_tell_is_learned_once(warm, url):
    warm(scene_same_decisions, url)


# All create the same bandit.


def create(url, name, number):
    bandit = br.Bandit(ARMS, FE, store=url, name=name, seed=number, load_if_exists=True)
    return bandit._ids.text, bandit._settings.seed, bandit.ask().step


def create_or_not(url, name, number):
    with suppress(br.InvalidValueError):
        return br.Bandit(ARMS, FE, store=url, name=name, seed=number)._ids.text


def scene_created_at_once(url, turns):
    for turn in range(turns):  # in a new file, then two in the same
        place, name = another(url, turn // 3), f"x{turn % 3}"
        created = at_once(create, [(place, name, number) for number in range(4)])
        uids, seeds, steps = zip(*created, strict=True)
        assert len(set(uids)) == len(set(seeds)) == 1
        assert sorted(steps) == [1, 2, 3, 4]
        uids = at_once(create_or_not, [(place, "y" + name, number) for number in range(3)])
        assert Counter(map(bool, uids)) == {True: 1, False: 2}
        assert br.Bandit.open(place, "y" + name)._ids.text in uids


def test_a_bandit_that_many_create_is_one(warm, url):
    warm(scene_created_at_once, url, runs(3, 15))


# Arms come and go.


def change_arms(url, removals, turns):
    """Remove and add arms; `removals` is odd for an arm as long as its removal is committed."""
    rng = random.Random(1)
    bandit = br.Bandit.open(url, "x")
    for _ in range(turns):
        row = rng.randrange(1, len(ARMS))
        if removals[row] % 2:
            removals[row] += 1
            bandit.add_arm(ARMS[row])
        else:
            bandit.remove_arm(ARMS[row])
            removals[row] += 1
    return bandit


def ask_beside(url, removals, turns):
    bandit = br.Bandit.open(url, "x")
    for _ in range(turns):
        before = bytes(removals)
        decision = bandit.ask()
        row = ARMS.index(decision.arm)
        assert not (before[row] % 2 and before[row] == removals[row])
        bandit.tell(decision.id, reward_of(decision.step))
    return bandit


def then_state(url, removals, arrived, place, job):
    """Do a job, and return the state when all are done."""
    bandit = job(url, removals, 60)
    arrived[place] = 1
    while not all(bytes(arrived)):
        time.sleep(0.001)
    return state(bandit)


def scene_arms_change(url):
    made(url, THOMPSON)
    jobs = [change_arms, *[ask_beside] * 4]
    removals = mmap.mmap(-1, len(ARMS))
    arrived = mmap.mmap(-1, len(jobs))
    states = at_once(then_state, [(url, removals, arrived, i, job) for i, job in enumerate(jobs)])
    bandit = br.Bandit.open(url, "x")
    assert states == [state(bandit)] * len(jobs)
    in_service = set()
    for event in log(bandit):
        if event.kind == ADD:
            in_service.add(event.arm)
        elif event.kind == REMOVE:
            in_service.remove(event.arm)
        elif event.kind == ASK:
            assert event.arm in in_service
        else:
            assert event.counted == (event.arm in in_service)
    Twin(bandit)
    with bandit._session.reading() as session:
        return len(session.engine.names)


def test_nobody_gets_an_arm_that_another_process_removed(warm, url):
    rows = warm(scene_arms_change, url)
    assert rows > 20


# Forks.


def ask_all(bandit, n):
    return [(decision.step, decision.arm) for decision in (bandit.ask() for _ in range(n))]


def scene_fork(url):
    made(url, THOMPSON)
    bandit = br.Bandit.open(url, "x")
    done = ask_all(bandit, 1)
    children = [Child(ask_all, bandit, 100) for _ in range(2)]
    done += ask_all(bandit, 100)
    done += children[0].result()
    grandchild = Child(lambda: Child(ask_all, bandit, 10).result() + ask_all(bandit, 10))
    done += children[1].result() + grandchild.result() + ask_all(bandit, 10)
    history = bandit.history()
    assert sorted(done) == list(zip(history.index, history["arm"], strict=True))
    assert len(history) == 331
    Twin(bandit)


def test_a_bandit_opened_before_a_fork_is_of_use_to_parent_and_child(warm, url):
    warm(scene_fork, url)


def ask_or_not(bandit):
    try:
        return bandit.ask().step
    except br.StorageError as error:
        return str(error)


def scene_fork_beside_thread(url):
    inside, release = threading.Event(), threading.Event()

    def clock():
        if threading.current_thread() is not threading.main_thread() and not release.is_set():
            inside.set()
            release.wait()
        return 0.0

    bandit = br.Bandit(ARMS, FE, store=url, name="x" if url else None, clock=clock, busy_timeout=1.0)
    bandit.ask()
    thread = threading.Thread(target=bandit.ask)
    thread.start()
    inside.wait()
    with warnings.catch_warnings(action="ignore"):  # of Python 3.12, for any fork beside threads
        child = Child(ask_or_not, bandit)
    answer = child.result()
    release.set()
    thread.join()
    return answer, bandit.ask().step


@pytest.mark.full
def test_a_child_does_not_wait_for_a_thread_that_it_has_not(warm, url):
    assert warm(scene_fork_beside_thread, None) == (2, 3)
    answer, step = warm(scene_fork_beside_thread, url)
    if url.startswith("sqlite"):
        assert "fork while no transaction is open" in answer
    else:
        assert "is locked: others have kept it for 1 seconds" in answer  # it has connections of its own
    assert step == 3
