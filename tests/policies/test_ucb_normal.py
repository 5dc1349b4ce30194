"""UCB for Gaussian rewards of unknown variance: the definition step by step, and small cases."""

import math

import numpy as np
import pytest

import brigand as br
from brigand.policies import ucb_normal
from brigand.policies.ucb_normal import UCBNormal

POLICIES = [UCBNormal(), UCBNormal(5)]


def tables(rewards01):
    return [
        rewards01[:300],
        np.random.default_rng(1).random((300, 4)),
        np.random.default_rng(2).normal([0, 1, 2, 3], 2, (300, 4)),
    ]


def play(policy, rewards, seed=5):
    """Return the arms pulled and the state, with one generator for all policies."""
    horizon, n_arms = rewards.shape
    parameters, state = policy.parameters(n_arms, horizon), policy.start(n_arms, horizon)
    rng, arms = np.random.default_rng(seed), []
    for step in range(1, horizon + 1):
        arm = policy.kernels.select(parameters, *state, np.arange(n_arms), rng)
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, rewards[step - 1, arm], step)
        arms.append(arm)
    return arms, state


def told(policy, rewards, n_arms=2, horizon=1000):
    """Return the state after these rewards of arm 0."""
    parameters, state = policy.parameters(n_arms, horizon), policy.start(n_arms, horizon)
    for step, reward in enumerate(rewards, start=1):
        policy.kernels.pull(parameters, *state, 0)
        policy.kernels.learn(parameters, *state, 0, reward, step)
    return parameters, state


def assert_follows(policy, rewards, index, initial):
    """At every step the policy pulls an arm whose `index` (of the pulls so far) is the largest."""
    n_arms = rewards.shape[1]
    arms = br.trace(policy, rewards)
    begin = n_arms * initial
    assert np.bincount(arms[:begin], minlength=n_arms).tolist() == [initial] * n_arms
    history = [(int(arm), rewards[t, arm]) for t, arm in enumerate(arms)]
    for t in range(begin, len(arms)):
        values = [index(history[:t], k) for k in range(n_arms)]
        assert values[arms[t]] >= (1 - 1e-10) * max(values), t


def of(history, arm):
    return np.array([x for a, x in history if a == arm])


def check_counts(policy, state, learnt):
    assert state.arms["pulls"].sum() == 900
    assert state.arms["count"].sum() == learnt


@pytest.mark.parametrize("initial", [3, 6])
def test_it_follows_its_definition(initial):
    def index(history, arm):
        x = of(history, arm)
        return x.mean() + x.std() * math.sqrt(len(history) ** (2 / (len(x) - 2)) - 1)

    rewards = np.random.default_rng(3).normal([0, 0.5, 1, 1.5], [0.2, 3, 1, 1], (400, 4))
    assert_follows(UCBNormal(initial), rewards, index, initial)


def test_the_index_by_hand():
    parameters, state = told(UCBNormal(), [1.0, 3.0, 2.0, 2.0])
    expected = 2 + math.sqrt(0.5) * math.sqrt(4 ** (2 / 2) - 1)
    assert ucb_normal.index(parameters, *state, 0, None) == pytest.approx(expected, rel=1e-14)
    assert ucb_normal.index(parameters, *state, 1, None) == math.inf
    parameters, state = told(UCBNormal(), [1.0, 3.0])
    assert ucb_normal.index(parameters, *state, 0, None) == math.inf
    policy = UCBNormal()
    policy.kernels.pull(parameters, *state, 0)
    assert math.isnan(ucb_normal.index(parameters, *state, 0, None))


def test_it_is_equivariant_and_does_not_overflow():
    rewards = np.random.default_rng(3).normal([0, 0.5, 1, 1.5], [0.2, 3, 1, 1], (300, 4))
    expected, _ = play(UCBNormal(), rewards)
    for scale in (2.0**-60, 2.0**498):
        arms, state = play(UCBNormal(), scale * rewards)
        assert arms == expected
        assert np.isfinite(state.arms["spread"]).all()
    assert np.array_equal(
        br.trace(UCBNormal(), 1e150 * rewards), br.trace(UCBNormal(), 1e150 * rewards, compiled=False)
    )


def test_it_learns_gaussian_arms_of_unequal_spread():
    """Uniform pulls have a regret of 1000."""
    environment = br.Environment.stationary([br.Gaussian(0.0, 2.0), br.Gaussian(1.0, 0.5)])
    results = br.simulate(environment, {"it": UCBNormal()}, 2000, 200)
    assert results.summary().loc["it", "mean"] < 150


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"initial_pulls": 2}, "UCBNormal's initial_pulls must be >= 3, not 2"),
        ({"initial_pulls": 3.5}, "UCBNormal's initial_pulls must be an integer"),
    ],
)
def test_bad_settings(arguments, message):
    with pytest.raises(br.InvalidValueError, match=message):
        UCBNormal(**arguments)


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_compiled_equals_plain_python(policy, rewards01):
    for rewards in tables(rewards01):
        compiled = br.trace(policy, rewards, seed=3)
        assert np.array_equal(compiled, br.trace(policy, rewards, seed=3, compiled=False))


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_it_learns(policy):
    """Uniform pulls have a regret of 400."""
    environment = br.Environment.stationary([br.Bernoulli(0.3), br.Bernoulli(0.7)])
    results = br.simulate(environment, {"it": policy}, 2000, 200)
    assert results.summary().loc["it", "mean"] < 130


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_late_and_shuffled_rewards(policy):
    parameters, state = policy.parameters(3, 900), policy.start(3, 900)
    rng, waiting, learnt = np.random.default_rng(0), [], 0
    pulls = np.zeros(3, int)
    for step in range(1, 901):
        arm = policy.kernels.select(parameters, *state, np.arange(3), rng)
        policy.kernels.pull(parameters, *state, arm)
        pulls[arm] += 1
        waiting.append((arm, 0.6 * float(rng.random() < [0.1, 0.5, 0.9][arm]) + 0.2 * rng.random(), step))
        while waiting and rng.random() < 0.6:
            policy.kernels.learn(parameters, *state, *waiting.pop(rng.integers(len(waiting))))
            learnt += 1
    assert state.header["step"] == 900
    check_counts(policy, state, learnt)
    assert np.argmax(pulls) == 2


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_an_arm_whose_rewards_never_arrive_does_not_catch_the_policy(policy):
    parameters, state = policy.parameters(3, 2000), policy.start(3, 2000)
    rng, pulls = np.random.default_rng(0), np.zeros(3, int)
    for step in range(1, 2001):
        arm = policy.kernels.select(parameters, *state, np.arange(3), rng)
        policy.kernels.pull(parameters, *state, arm)
        pulls[arm] += 1
        if arm != 2:
            reward = [0.1, 0.7][arm] + 0.2 * rng.random()
            policy.kernels.learn(parameters, *state, arm, reward, step)
    assert pulls[2] < 100
    assert pulls[1] > 1000


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_candidates_are_respected(policy):
    parameters, state = policy.parameters(5, 400), policy.start(5, 400)
    rng = np.random.default_rng(0)
    for step in range(1, 401):
        candidates = np.sort(rng.choice(5, rng.integers(1, 6), replace=False))
        arm = policy.kernels.select(parameters, *state, candidates, rng)
        assert arm in candidates
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, rng.random(), step)


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_small_and_constant_tables(policy):
    assert br.trace(policy, [[0.5]], compiled=False).tolist() == [0]
    assert br.trace(policy, np.full((20, 1), 0.5), compiled=False).tolist() == [0] * 20
    for value in (0.0, 0.3, 1.0):
        assert set(br.trace(policy, np.full((200, 3), value), compiled=False)) == {0, 1, 2}
