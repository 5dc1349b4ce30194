"""PHE: its index by hand, a slow reference, late rewards, settings."""

import copy
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import brigand as br
from brigand.policies import phe
from brigand.policies.phe import PHE


def told(policy, rewards):
    parameters, state = policy.parameters(1, None), policy.start(1, None)
    for step, reward in enumerate(rewards, start=1):
        policy.kernels.pull(parameters, *state, 0)
        policy.kernels.learn(parameters, *state, 0, reward, step)
    return parameters, state


def test_the_index_by_hand():
    """Three rewards of sum 1.5 and ceil(3.3) = 4 tosses: the values are (1.5 + u) / 7, u binomial."""
    parameters, state = told(PHE(), [1.0, 0.0, 0.5])
    rng = np.random.default_rng(0)
    draws = np.array([phe.index(parameters, *state, 0, rng) for _ in range(20_000)])
    heads = np.rint(draws * 7 - 1.5).astype(int)
    assert draws == pytest.approx((1.5 + heads) / 7, rel=1e-15)
    expected = 20_000 * stats.binom(4, 0.5).pmf(range(5))
    assert stats.chisquare(np.bincount(heads, minlength=5), expected).pvalue > 1e-5


@pytest.mark.parametrize("a", ["1.1", "0.3", "2", "0.001", "2.1", "7"])
def test_the_number_of_tosses_is_the_exact_ceiling(a):
    policy = PHE(float(a))
    parameters, state = policy.parameters(1, None), policy.start(1, None)
    for s in range(1, 2001):
        policy.kernels.learn(parameters, *state, 0, 0.0, s)
        assert state.arms["tosses"][0] == math.ceil(Fraction(a) * s)


def test_rewards_in_another_range_are_rescaled():
    _, unit = told(PHE(), [0.25, 1.0])
    _, wide = told(PHE(low=-1, high=3), [0.0, 3.0])
    assert unit.arms.tolist() == wide.arms.tolist()


def test_a_slow_reference_pulls_the_same_arms():
    policy, n_arms = PHE(0.8), 4
    parameters, state = policy.parameters(n_arms, None), policy.start(n_arms, None)
    rng, data = np.random.default_rng(1), np.random.default_rng(2)
    seen = [[] for _ in range(n_arms)]
    for step in range(1, 501):
        twin = copy.deepcopy(rng)
        arm = policy.kernels.select(parameters, *state, np.arange(n_arms), rng)
        twin.random()
        if step <= n_arms:
            assert not seen[arm]
            for x in seen:
                twin.binomial(math.ceil(0.8 * len(x)), 0.5)
        else:
            index = []
            for x in seen:
                tosses = math.ceil(Fraction(8, 10) * len(x))
                index.append((sum(x) + twin.binomial(tosses, 0.5)) / (len(x) + tosses))
            assert arm == np.argmax(index)
        policy.kernels.pull(parameters, *state, arm)
        seen[arm].append(data.beta(1 + arm, 3))
        policy.kernels.learn(parameters, *state, arm, seen[arm][-1], step)


@pytest.mark.parametrize("digits", [0, 16])
def test_compiled_code_and_plain_python_agree(digits):
    rewards = np.random.default_rng(4).random((300, 4)).round(digits)
    policy = PHE()
    assert np.array_equal(
        br.trace(policy, rewards, seed=3), br.trace(policy, rewards, seed=3, compiled=False)
    )


def test_it_learns():
    """Random's regret is 400; the standard error here is below 5."""
    environment = br.Environment.stationary([br.Bernoulli(0.3), br.Bernoulli(0.7)])
    results = br.simulate(environment, {"p": PHE()}, 2000, 200)
    assert float(results.dataset["regret"].sel(step=2000).mean()) < 60


def test_rewards_may_come_late_in_any_order():
    policy = PHE()
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
    policy = PHE()
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
    parameters, state = PHE().parameters(4, None), PHE().start(4, None)
    rng = np.random.default_rng(0)
    for step in range(1, 100):
        candidates = np.array([[0, 2], [3], [1, 2, 3]][step % 3])
        arm = phe.select(parameters, *state, candidates, rng)
        assert arm in candidates
        phe.pull(parameters, *state, arm)
        phe.learn(parameters, *state, arm, rng.random(), step)


@pytest.mark.parametrize("a", [0, -1, 1001, math.nan, "1"])
def test_a_bad_a_is_refused(a):
    with pytest.raises(br.InvalidValueError, match="PHE's a must be"):
        PHE(a)


def test_a_bad_range_and_rewards_outside_of_it_are_refused():
    with pytest.raises(br.InvalidValueError, match="PHE needs low < high"):
        PHE(low=1, high=0)
    with pytest.raises(br.UnsupportedRewardError, match="PHE needs rewards in"):
        br.trace(PHE(), np.full((5, 2), 2.0))


@pytest.mark.parametrize("reward", [0.0, 0.1, 1.0, 1e-300])
def test_constant_rewards_and_small_shapes(reward):
    for shape in [(1, 1), (5, 1), (1, 4), (200, 4)]:
        assert br.trace(PHE(), np.full(shape, reward)).shape == shape[:1]
