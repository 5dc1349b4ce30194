"""ReBoot: its index's law, a slow reference, settings."""

import copy
import math

import numpy as np
import pytest
from scipy import stats

import brigand as br
from brigand.policies.randomised import reboot
from brigand.policies.randomised.reboot import ReBoot
from policies.play import told


def test_the_index_by_hand():
    """Rewards 1, 3: Q = 2, variance (2 + 2 * 4 * 0.25) / 16 = 1/4."""
    parameters, state = told(ReBoot(0.5), [1.0, 3.0])
    assert state.arms["scale"][0] == pytest.approx(0.5, rel=1e-15)
    noise = np.random.default_rng(3).standard_normal()
    value = reboot.index(parameters, *state, 0, np.random.default_rng(3))
    assert value == pytest.approx(2 + 0.5 * noise, rel=1e-15)


def test_the_index_has_the_distribution_of_the_residual_bootstrap():
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


@pytest.mark.parametrize("sigma", [0, -1, math.inf, "1"])
def test_a_bad_sigma_is_refused(sigma):
    with pytest.raises(br.InvalidValueError, match="ReBoot's sigma must be"):
        ReBoot(sigma)


def test_far_apart_rewards_do_not_overflow():
    _, state = told(ReBoot(), [1e300, -1e300])
    assert state.arms["scale"][0] == pytest.approx(math.sqrt(2) * 1e300 / 4, rel=1e-12)
