"""RAW-UCB and FEWA: their definitions, the authors' arms, windows, exact cases, falling rewards, settings."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import brigand as br
from brigand.policies.changes import raw_ucb
from brigand.policies.changes.fewa import FEWA
from brigand.policies.changes.raw_ucb import RAWUCB
from policies.play import assert_follows, of, play
from strength import runs

AUTHORS = json.loads((Path(__file__).parents[2] / "data" / "rotting.json").read_text(encoding="utf-8"))


def falling(steps, seed=0):
    """Return rewards of four arms whose means fall, at different steps."""
    noise = np.random.default_rng(seed).normal(0, 0.5, (steps, 4))
    steps_down = np.arange(steps)[:, None] >= [steps // 4, steps // 2, steps, steps // 3]
    return noise + np.where(steps_down, 0.0, 1.0) * [1.5, 1.2, 0.5, 0.9]


def windows(n, growth):
    """Return 1, ceil(growth), ... up to n: each the last one times growth, rounded up, and longer."""
    found = [1]
    while found[-1] <= n:
        found.append(max(found[-1] + 1, math.ceil(found[-1] * growth)))
    return found[:-1]


def test_windows_by_hand():
    assert windows(5, 1) == [1, 2, 3, 4, 5]
    assert windows(20, 2) == [1, 2, 4, 8, 16]
    assert windows(20, 1.5) == [1, 2, 3, 5, 8, 12, 18]
    for growth in (1.0, 1.1, 1.5, 2.0, 3.7):
        expected = windows(500, growth)
        assert [raw_ucb.next_window(h, growth) for h in expected[:-1]] == expected[1:]


def bound(history, arm, h, sigma, alpha):
    return of(history, arm)[-h:].mean() + sigma * math.sqrt(2 * alpha * math.log(len(history)) / h)


@pytest.mark.parametrize(("alpha", "growth"), [(1, 1), (1.4, 2), (0.3, 1.5)])
def test_raw_ucb_follows_its_definition(alpha, growth):
    def index(history, arm):
        return min(bound(history, arm, h, 0.5, alpha) for h in windows(len(of(history, arm)), growth))

    policy = RAWUCB(0.5, alpha, growth)
    assert_follows(policy, falling(runs(100, 300)) + 5, index, late=4)


def kept(history, n_arms, sigma, alpha, growth):
    """Return the arms that FEWA may pull, by its definition."""
    paid = [of(history, arm) for arm in range(n_arms)]
    among, h = list(range(n_arms)), 1
    while len(among) > 1 and all(len(paid[arm]) >= h for arm in among):
        means = {arm: paid[arm][-h:].mean() for arm in among}
        bar = max(means.values()) - 2 * sigma * math.sqrt(2 * alpha * math.log(len(history)) / h)
        among = [arm for arm in among if means[arm] >= bar]
        h = max(h + 1, math.ceil(h * growth))
    if len(among) == 1:
        return among
    short = [arm for arm in among if len(paid[arm]) < h]
    return [arm for arm in short if len(paid[arm]) == min(len(paid[k]) for k in short)]


@pytest.mark.parametrize(("alpha", "growth"), [(4, 1), (0.06, 1), (0.06, 2), (0.3, 1.5)])
def test_fewa_follows_its_definition(alpha, growth):
    policy, rewards = FEWA(0.5, alpha, growth), falling(runs(50, 200))
    parameters, state = policy.parameters(4, len(rewards)), policy.start(4, len(rewards))
    history, rng, every = [], np.random.default_rng(0), np.arange(4)
    for step, row in enumerate(rewards, start=1):
        expected = kept(history, 4, 0.5, alpha, growth)
        found = [policy.kernels.propensity(parameters, *state, every, arm) for arm in every]
        assert found == [1 / len(expected) if arm in expected else 0.0 for arm in every]
        arm = policy.kernels.select(parameters, *state, every, rng)
        assert arm in expected
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, row[arm], step)
        history.append((int(arm), row[arm]))


@pytest.mark.parametrize("run", AUTHORS["runs"], ids=lambda run: f"{run['policy']}-{run['alpha']}")
def test_the_authors_code_pulls_the_same_arms(run):
    """All windows: after the same arms and rewards, ours is certain of the arm that theirs pulls next.

    Where several have the fewest pulls, theirs takes the first, and ours any.
    """
    policy = {"RAW-UCB": RAWUCB, "FEWA": FEWA}[run["policy"]](1.0, run["alpha"])
    rewards = np.random.default_rng(AUTHORS["seed"]).normal(size=(len(run["arms"]), 4))
    rewards += np.array(AUTHORS["means"]) - np.outer(np.arange(len(rewards)), AUTHORS["falls"])
    parameters, state = policy.parameters(4, len(rewards)), policy.start(4, len(rewards))
    certain = 0
    steps = runs(70, 250)
    for step, arm in enumerate(run["arms"][:steps], start=1):
        chance = policy.kernels.propensity(parameters, *state, np.arange(4), arm)
        assert chance > 0
        certain += chance == 1
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, rewards[step - 1, arm], step)
    assert certain >= steps / 5


def told(policy, rewards):
    """Return parameters and state after some rewards of each arm."""
    parameters, state = policy.parameters(len(rewards), 99), policy.start(len(rewards), 99)
    for arm, values in enumerate(rewards):
        for reward in values:
            policy.kernels.pull(parameters, *state, arm)
            policy.kernels.learn(parameters, *state, arm, reward, int(state.header["step"]))
    return parameters, state


def test_the_index_of_raw_ucb_by_hand():
    """Rewards 9, 1, 2: means 2, 1.5 and 4 of the last 1, 2 and 3; n = 4, and sqrt(2 log 4) = 1.67."""
    policy = RAWUCB(1)
    parameters, state = told(policy, [[9, 1, 2], [0]])
    root = math.sqrt(2 * math.log(4))
    value = raw_ucb.index(parameters, *state, 0, None)
    assert value == pytest.approx(1.5 + root / math.sqrt(2), rel=1e-14)
    assert policy.kernels.estimate(parameters, *state, 0) == (1.5, 2.0)
    parameters, state = told(RAWUCB(0.1), [[9, 1, 2], [0]])
    assert raw_ucb.index(parameters, *state, 0, None) == pytest.approx(1.5 + 0.1 * root / math.sqrt(2))


def test_an_arm_whose_rewards_fell_is_left_at_once():
    """It paid 1 for 50 pulls, and then 0; the other pays 1/2. Its last reward bounds it by 0.06."""
    for policy in (RAWUCB(0.02), FEWA(0.02, 1)):
        parameters, state = told(policy, [[1] * 50 + [0], [0.5]])
        assert policy.kernels.propensity(parameters, *state, np.arange(2), 1) == 1


def test_equal_windows_have_equal_means():
    """Sums from the beginning are subtracted, without rounding: 0.1 after what is much larger."""
    _, state = told(RAWUCB(1), [[1e15, 0.1, 0.1, 0.1], [0.1] * 3])
    assert raw_ucb.last_mean(state.arms, state.memory, 0, 3) == 0.1
    assert raw_ucb.last_mean(state.arms, state.memory, 1, 3) == 0.1


@pytest.mark.parametrize("policy", [RAWUCB(0.5, growth=2), FEWA(0.5, growth=2)], ids=repr)
def test_shifted_rewards_change_no_choice(policy):
    rewards = np.rint(falling(200) * 64) / 64
    assert play(policy, rewards + 8)[0] == play(policy, rewards)[0]


@pytest.mark.parametrize("cls", [RAWUCB, FEWA])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sigma": 0}, "sigma must be > 0, not 0"),
        ({"sigma": math.nan}, "sigma must be"),
        ({"sigma": 1, "alpha": 0}, "alpha must be > 0"),
        ({"sigma": 1, "growth": 0.5}, "growth must be >= 1"),
        ({"sigma": 1, "growth": math.inf}, "growth must be"),
    ],
)
def test_bad_settings_are_refused(cls, arguments, message):
    with pytest.raises(br.InvalidValueError, match=f"{cls.__name__}'s {message}"):
        cls(**arguments)


def test_the_horizon_is_needed_for_memory():
    for policy in (RAWUCB(1), FEWA(1)):
        with pytest.raises(br.InvalidValueError, match="needs the horizon"):
            policy.memory(3, None)
        assert policy.must_know == "sigma, T for its memory"
        assert policy.memory_cost == "O(K + T)"
