"""With immediate rewards a bandit is the simulator, for every policy, however it is loaded again."""

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings, strategies as st

import brigand as br
import own_policy
from brigand.live import session
from brigand.storage.store import open_store
from live.common import (
    FE,
    LOADS,
    POLICIES,
    RANDOM,
    arms,
    contents,
    loaded,
    play,
    policy_for,
    rewards_for,
    state,
)
from policies.expectations import expected
from stores import FULL_KINDS, a_store
from strength import LIVE, some

STEPS = 160
FEW = 40
OWN = {"own": own_policy.AuthorsUCB1()}


def policy_of(name, k):
    return OWN[name] if name in OWN else policy_for(name, k)


def bandit_of(policy, k, seed, horizon=None, **more):
    return br.Bandit(arms(k), policy, seed=seed, horizon=horizon, **more)


@pytest.fixture(autouse=True, scope="module")
def _snapshots_now_and_then():
    """A store keeps the state after every 7 events, so that it is mostly a few events behind."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "LEAST_EVENTS", 7)
        patch.setattr(session, "BYTES", 2**60)
        yield


@pytest.fixture(scope="module", params=FULL_KINDS)
def url(request):
    with a_store(request.param, request) as made:
        open_store(made, create=True).close()
        yield made


SEEDS = st.integers(0, 2**64)
ARMS = st.integers(2, 5)


@pytest.mark.parametrize("name", some([*br.CATALOGUE, *OWN], LIVE))
@settings(max_examples=4, deadline=None)
@given(seed=SEEDS, k=ARMS, cut=st.integers(0, STEPS))
def test_ask_and_tell_is_the_simulator_also_after_a_snapshot(name, seed, k, cut):
    policy = policy_of(name, k)
    rewards = rewards_for(policy, (STEPS, k), seed)
    bandit = bandit_of(policy, k, seed, STEPS)
    chosen = play(bandit, rewards, 0, cut)
    again = loaded(bandit, "json", "")
    expected = br.trace(policy, rewards, seed=seed).tolist()
    assert chosen + play(again, rewards, cut) == expected
    assert play(bandit, rewards, cut) == expected[cut:]  # a copy takes nothing away
    assert state(bandit) == state(again)


@pytest.mark.parametrize("name", some([*br.CATALOGUE, *OWN], LIVE))
@settings(max_examples=2, deadline=None)
@given(
    seed=SEEDS,
    k=ARMS,
    loads=st.lists(st.tuples(st.integers(0, FEW), st.sampled_from(LOADS)), min_size=1, max_size=4),
)
def test_it_is_the_simulator_however_often_it_is_loaded_again(name, url, seed, k, loads):
    policy = policy_of(name, k)
    rewards = rewards_for(policy, (FEW, k), seed)
    bandit = bandit_of(policy, k, seed, FEW)
    chosen = []
    for step, how in [*sorted(loads), (FEW, "open")]:
        chosen += play(bandit, rewards, len(chosen), step)
        bandit = loaded(bandit, how, url)
    assert chosen == br.trace(policy, rewards, seed=seed).tolist()


SCRIPT = """
import json, sys
import brigand as br
from live.common import play, rewards_for

url, path = sys.argv[1:]
found = {}
with open(path) as file:
    jobs = json.load(file)
for name, seed, done, snapshot in jobs:
    allow = ["own_policy"]
    opened, restored = br.Bandit.open(url, name, allow=allow), br.Bandit.restore(snapshot, allow=allow)
    k, horizon = len(opened.arms()), snapshot["settings"]["horizon"]
    rewards = rewards_for(opened._settings.policy, (horizon, k), seed)
    found[name] = [play(opened, rewards, done), play(restored, rewards, done)]
print(json.dumps(found))
"""


@pytest.mark.full
def test_a_new_process_goes_on_with_every_policy(url, tmp_path):
    jobs, expected = [], {}
    for number, name in enumerate([*br.CATALOGUE, *OWN]):
        k, done = 2 + number % 4, 5 + number % 20
        policy = policy_of(name, k)
        rewards = rewards_for(policy, (FEW, k), number)
        with bandit_of(policy, k, number, FEW, store=url, name=name) as bandit:
            play(bandit, rewards, 0, done)
            jobs.append((name, number, done, bandit.snapshot()))
        expected[name] = [br.trace(policy, rewards, seed=number).tolist()[done:]] * 2
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(jobs))
    command = [sys.executable, "-W", "error", "-c", SCRIPT, url, str(path)]
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=paths)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected


@pytest.mark.parametrize("name", some(POLICIES, LIVE))
@settings(max_examples=3, deadline=None)
@given(seed=SEEDS, k=ARMS, sizes=st.lists(st.integers(1, 12), min_size=1, max_size=8))
def test_a_batch_is_as_many_asks_without_a_tell_between(name, seed, k, sizes):
    policy = policy_for(name, k)
    horizon = 2 * sum(sizes)
    rewards = rewards_for(policy, (horizon, k), seed)
    one, other = (bandit_of(policy, k, seed, horizon) for _ in range(2))
    for number, size in enumerate(sizes):
        among = None if number % 3 else one.arms()[: 1 + number % k]
        batch, singles = one.ask(size, among=among), [other.ask(among=among) for _ in range(size)]
        for found in ("step", "arm", "explored", "reason", "data"):
            assert [getattr(d, found) for d in batch] == [getattr(d, found) for d in singles]
        for bandit, decisions in ((one, batch), (other, singles)):
            told = [(d.id, float(rewards[d.step - 1, arms(k).index(d.arm)])) for d in decisions]
            bandit.tell_many(told[::2])
    assert state(one) == state(other)


@pytest.mark.parametrize("policy", [FE, RANDOM], ids=["FE", "random"])
def test_a_batch_in_a_store_is_as_many_asks(policy, url):
    one, other = (bandit_of(policy, 3, 1, store=url, name=f"{policy!r} {n}") for n in range(2))
    for size in (1, 5, 30):
        batch, singles = one.ask(size), [other.ask() for _ in range(size)]
        assert [(d.step, d.arm, d.explored) for d in batch] == [(d.step, d.arm, d.explored) for d in singles]
        one.tell(batch[-1].id, 0.5)
        other.tell(singles[-1].id, 0.5)
    assert state(one) == state(other)
    assert one.history()["reason"].tolist() == other.history()["reason"].tolist()


# The horizon.

NEED = [name for name in POLICIES if expected(name).needs_horizon]


@pytest.mark.parametrize("name", NEED)
def test_policies_that_need_the_horizon_say_so(name, url):
    for where in ({}, {"store": url, "name": f"no {name}"}):
        with pytest.raises(br.InvalidValueError, match="horizon"):
            br.Bandit(arms(3), POLICIES[name], **where)
    with pytest.raises(br.UnknownNameError):
        br.Bandit.open(url, f"no {name}")


@pytest.mark.parametrize("name", some((name for name in POLICIES if name not in NEED), LIVE))
def test_policies_that_need_no_horizon_choose_as_the_simulator_does_without_it(name):
    policy = POLICIES[name]
    rewards = rewards_for(policy, (STEPS, 3), 1)
    expected = br.trace(policy, rewards, seed=2).tolist()
    assert play(bandit_of(policy, 3, 2), rewards) == expected


def test_the_oracle_knows_an_environment():
    with pytest.raises(br.InvalidValueError, match="oracle knows an environment"):
        br.Bandit(arms(3), br.CATALOGUE["Oracle"])


@pytest.mark.every(4)
@pytest.mark.parametrize("where", ["memory", "store"])
@pytest.mark.parametrize("name", ["FE-Exp", "FE-Linear", "Random", "NPTS"])
def test_nothing_is_asked_beyond_the_horizon(name, where, url):
    home = {} if where == "memory" else {"store": url, "name": f"beyond {name}"}
    bandit = bandit_of(POLICIES[name], 3, 1, 20, **home)
    decisions = bandit.ask(18)
    bandit.tell(decisions[3].id, 0.5)
    before = contents(bandit)
    for refused in (
        lambda: bandit.ask(3),
        lambda: bandit.ask(10**6),
        lambda: bandit.record([("arm 9", 0.5)] * 3),
    ):
        with pytest.raises(br.InvalidValueError, match="at most 20 asks"):
            refused()
        assert contents(bandit) == before
    bandit.record([("arm 9", 0.5)])
    decisions += [bandit.ask()]
    before = contents(bandit)
    with pytest.raises(br.InvalidValueError, match="horizon"):
        bandit.ask()
    assert contents(bandit) == before
    assert bandit.tell(decisions[-1].id, 0.5) is br.Told.LEARNED  # rewards still come


@pytest.mark.parametrize("horizon", [0, -1, 2.5, "9", True, 2**53 + 1])
def test_a_bad_horizon_is_refused(horizon):
    with pytest.raises(br.InvalidValueError, match="horizon"):
        br.Bandit(arms(2), FE, horizon=horizon)
