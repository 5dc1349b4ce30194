"""ReBoot: its index's law, a slow reference, late rewards, settings."""

import copy
import math

import numpy as np
import pytest
from scipy import stats

import brigand as br
from brigand.policies import reboot
from brigand.policies.reboot import ReBoot


def told(policy, rewards):
    parameters, state = policy.parameters(1, None), policy.start(1, None)
    for step, reward in enumerate(rewards, start=1):
        policy.kernels.pull(parameters, *state, 0)
        policy.kernels.learn(parameters, *state, 0, reward, step)
    return parameters, state


def test_the_index_by_hand():
    """Rewards 1, 3: Q = 2, variance (2 + 2 * 4 * 0.25) / 16 = 1/4."""
    parameters, state = told(ReBoot(0.5), [1.0, 3.0])
    assert state.arms["scale"][0] == pytest.approx(0.5, rel=1e-15)
    noise = np.random.default_rng(3).standard_normal()
    value = reboot.index(parameters, *state, 0, np.random.default_rng(3))
    assert value == pytest.approx(2 + 0.5 * noise, rel=1e-15)


def test_the_index_has_the_law_of_the_residual_bootstrap():
    """Kolmogorov-Smirnov, 20,000 draws each, level 1e-5."""
    rewards = np.random.default_rng(2).normal(3, 1.5, 7)
    parameters, state = told(ReBoot(1.2), rewards)
    rng = np.random.default_rng(8)
    draws = [reboot.index(parameters, *state, 0, rng) for _ in range(20_000)]
    residuals = np.append(rewards - rewards.mean(), [1.2 * math.sqrt(9), -1.2 * math.sqrt(9)])
    direct = rewards.mean() + rng.standard_normal((20_000, 9)) @ residuals / 9
    assert stats.ks_2samp(draws, direct).pvalue > 1e-5


def test_a_slow_reference_pulls_the_same_arms():
    policy, n_arms = ReBoot(0.7), 4
    parameters, state = policy.parameters(n_arms, None), policy.start(n_arms, None)
    rng, data = np.random.default_rng(1), np.random.default_rng(2)
    seen = [[] for _ in range(n_arms)]
    for step in range(1, 501):
        twin = copy.deepcopy(rng)
        arm = policy.kernels.select(parameters, *state, np.arange(n_arms), rng)
        twin.random()
        noise = twin.standard_normal(n_arms)
        if step <= n_arms:
            assert not seen[arm]
        else:
            index = []
            for x, z in zip(seen, noise, strict=True):
                s = len(x)
                variance = (s * np.var(x) + 2 * (s + 2) * 0.49) / (s + 2) ** 2
                index.append(np.mean(x) + math.sqrt(variance) * z)
            assert arm == np.argmax(index)
        policy.kernels.pull(parameters, *state, arm)
        seen[arm].append(data.normal(0.2 * arm, 1))
        policy.kernels.learn(parameters, *state, arm, seen[arm][-1], step)


@pytest.mark.parametrize("kind", ["zero-one", "unit", "gaussian"])
def test_compiled_code_and_plain_python_agree(kind):
    rng = np.random.default_rng(4)
    rewards = {
        "zero-one": (rng.random((300, 4)) < 0.5).astype(float),
        "unit": rng.random((300, 4)),
        "gaussian": rng.standard_normal((300, 4)),
    }[kind]
    policy = ReBoot()
    assert np.array_equal(
        br.trace(policy, rewards, seed=3), br.trace(policy, rewards, seed=3, compiled=False)
    )


def test_it_learns():
    """Random's regret is 400; the standard error here is below 5."""
    environment = br.Environment.stationary([br.Bernoulli(0.3), br.Bernoulli(0.7)])
    results = br.simulate(environment, {"p": ReBoot(0.5)}, 2000, 200)
    assert float(results.dataset["regret"].sel(step=2000).mean()) < 100


def test_rewards_may_come_late_in_any_order():
    policy = ReBoot()
    parameters, state = policy.parameters(3, None), policy.start(3, None)
    rng = np.random.default_rng(0)
    waiting = []
    for step in range(1, 601):
        arm = policy.kernels.select(parameters, *state, np.arange(3), rng)
        policy.kernels.pull(parameters, *state, arm)
        waiting.append((arm, rng.random(), step))
        if len(waiting) > 20:
            policy.kernels.learn(parameters, *state, *waiting.pop(rng.integers(20)))
    assert state.arms["pulls"].sum() == 600
    assert state.arms["count"].sum() == 600 - len(waiting)


def test_an_arm_whose_rewards_never_arrive_does_not_catch_it():
    policy = ReBoot(0.5)
    parameters, state = policy.parameters(3, None), policy.start(3, None)
    rng = np.random.default_rng(0)
    for step in range(1, 1001):
        arm = policy.kernels.select(parameters, *state, np.arange(3), rng)
        policy.kernels.pull(parameters, *state, arm)
        if arm != 2:
            policy.kernels.learn(parameters, *state, arm, [0.2, 0.8][arm], step)
    assert state.arms["pulls"][2] < 10
    assert state.arms["pulls"][1] > 700


def test_only_candidates_are_chosen():
    parameters, state = ReBoot().parameters(4, None), ReBoot().start(4, None)
    rng = np.random.default_rng(0)
    for step in range(1, 100):
        candidates = np.array([[0, 2], [3], [1, 2, 3]][step % 3])
        arm = reboot.select(parameters, *state, candidates, rng)
        assert arm in candidates
        reboot.pull(parameters, *state, arm)
        reboot.learn(parameters, *state, arm, rng.random(), step)


@pytest.mark.parametrize("sigma", [0, -1, math.inf, "1"])
def test_a_bad_sigma_is_refused(sigma):
    with pytest.raises(br.InvalidValueError, match="ReBoot's sigma must be"):
        ReBoot(sigma)


@pytest.mark.parametrize("reward", [0.0, 0.3, -5.0, 1e150, -1e290, 1e-300])
def test_constant_rewards_and_small_shapes(reward):
    for shape in [(1, 1), (5, 1), (1, 4), (200, 4)]:
        assert br.trace(ReBoot(), np.full(shape, reward)).shape == shape[:1]
    _, state = told(ReBoot(), [reward] * 5)
    assert np.isfinite(state.arms["scale"][0])


def test_far_apart_rewards_do_not_overflow():
    _, state = told(ReBoot(), [1e300, -1e300])
    assert state.arms["scale"][0] == pytest.approx(math.sqrt(2) * 1e300 / 4, rel=1e-12)
