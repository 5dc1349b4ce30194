"""States that were read: every true one is used, and none that is changed ends the process."""

import json
import os
import random
import signal
from collections import Counter

import numpy as np
import pytest

import brigand as br
from brigand.live.engine import Engine
from brigand.live.possible import ANYTHING
from brigand.storage.events import TELL, Event
from live.common import POLICIES, policy_for, rewards_for
from strength import LIVE, runs, some

STEPS = 80


def played(name, n_arms, horizon, steps, seed, looks=10**9):
    """Play, with rewards that are late and arms that are not there; yield the session now and then."""
    policy, rng, waiting = policy_for(name, n_arms), np.random.default_rng(seed), []
    bandit = br.Bandit([f"{i}" for i in range(n_arms)], policy, seed=seed, horizon=horizon)
    rewards = rewards_for(policy, (steps, 1), seed)[:, 0].tolist()
    for step, reward in enumerate(rewards, 1):
        arms = bandit.arms()
        waiting.append(bandit.ask(among=arms[1:]) if rng.random() < 0.1 else bandit.ask())
        if rng.random() < 0.8:
            bandit.tell(waiting.pop(rng.integers(len(waiting))), reward)
        if step == steps // 2 and looks < steps:
            bandit.remove_arm(arms[0])
            bandit.add_arm("new")
        if step % looks == 0 or step == steps:
            with bandit._session.reading() as session:
                yield session.engine


@pytest.mark.parametrize("name", some(POLICIES, LIVE))
def test_a_true_state_is_used(name):
    for n_arms, horizon, steps in ((2, 420, 400), (5, 300, 250), (3, 150, 150)):
        for engine in played(name, n_arms, horizon, steps, n_arms, looks=29):
            data = json.loads(json.dumps(engine.to_json()))
            again = Engine.from_json(engine.settings, data)
            assert again is not None, name
            assert json.dumps(again.to_json()["tables"]) == json.dumps(data["tables"])


def go_on(engine, rewards):
    """Choose and learn; return what became of it."""
    try:
        for step, reward in enumerate(rewards):
            arm = int(engine.choose(1).calls[0][1])
            if step % 2:
                engine.take([Event(TELL, engine.steps, arm, reward, True, 0.0, "")])
            if step == 20:
                engine.take([Event(TELL, 5, 0, reward, True, 0.0, "")])
    except br.BrigandError:
        return 2
    except BaseException:
        return 4
    return 3


def in_a_child(settings, data, rewards):
    """Go on from a state in a process of its own; return its exit code, negative if it crashed or hung."""
    pid = os.fork()
    if not pid:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(20)
        engine = Engine.from_json(settings, data)
        os._exit(1 if engine is None else go_on(engine, rewards))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def scene_changed(name, count):
    rng, counts = random.Random(name), Counter()
    (engine,) = played(name, 3, 1000, STEPS, 1)
    engine.compile()
    text, rows = json.dumps(engine.to_json()), len(engine.memory)
    rewards = rewards_for(engine.settings.policy, (60, 1), 2)[:, 0].tolist()
    fields = [
        (table, field)
        for table, values in (("header", engine.header), ("arms", engine.arms), ("memory", engine.memory))
        for field in values.dtype.names
        if len(values) and field not in ANYTHING
    ]
    wrong = [-1, -2, 3, 4, rows, rows + 1, 2 * rows + 5, 10**6, 2**31, -(2**31), 2**62, -(2**62), 79, 80, 81]
    for _ in range(count):
        data = json.loads(text)
        table, field = rng.choice(fields)
        near = [rng.randrange(-1, STEPS + 2), rng.randrange(-1, rows + 2)]
        for column, kind, values in data["tables"][table]["columns"]:
            if column == field:
                value = rng.choice([*wrong, *4 * near])
                values[rng.randrange(min(len(values), 200))] = value if kind.endswith("i8") else float(value)
        counts[in_a_child(engine.settings, data, rewards)] += 1
    return counts


@pytest.mark.parametrize("name", some(br.CATALOGUE, LIVE[1:2]))
def test_a_changed_state_ends_no_process(warm, name):
    counts = warm(scene_changed, name, runs(20, 85))
    print(name, counts)
    assert counts.keys() <= {1, 2, 3}
