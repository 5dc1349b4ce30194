"""Thompson sampling that forgets: slow references, identities with Thompson sampling, late rewards."""

import copy
import functools
import math

import numpy as np
import pytest
from scipy import stats

import brigand as br
from brigand import jit
from brigand.policies.changes.forgetting_thompson import (
    DiscountedThompson,
    SlidingWindowThompson,
    SlidingWindowThompsonGaussian,
)
from brigand.policies.kernels import randomness
from policies.play import play, regret
from strength import runs

uniform_at = functools.cache(randomness.uniform_at)
ALL = pytest.mark.parametrize(
    "policy",
    [DiscountedThompson(0.95), SlidingWindowThompson(50), SlidingWindowThompsonGaussian(50, 0.5)],
    ids=repr,
)


@pytest.mark.every(4)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("digits", [0, 16])
@pytest.mark.parametrize(
    ("policy", "twin"),
    [
        (DiscountedThompson(1), br.ThompsonBeta()),
        (SlidingWindowThompson(800), br.ThompsonBeta()),
        (SlidingWindowThompson(10**12), br.ThompsonBeta()),
        (SlidingWindowThompsonGaussian(800, 0.7), br.ThompsonGaussian(0.7)),
    ],
    ids=repr,
)
def test_without_forgetting_they_are_thompson_sampling_arm_by_arm(policy, twin, digits, seed):
    rewards = np.random.default_rng(seed).random((800, 5)).round(digits)
    arms, expected = (play(p, rewards, key=12345, seed=seed, compiled=True)[0] for p in (policy, twin))
    assert np.array_equal(arms, expected)


def follow(policy, index, horizon=400, n_arms=4, key=77):
    """Compare with a reference: ``index(history, arm, rng)``, of all (arm, reward) so far."""
    parameters, state = policy.parameters(n_arms, horizon), policy.start(n_arms, horizon, key)
    rng, data = np.random.default_rng(1), np.random.default_rng(2)
    history = []
    for step in range(1, horizon + 1):
        twin = copy.deepcopy(rng)
        arm = policy.kernels.select(parameters, *state, np.arange(n_arms), rng)
        twin.random()
        values = [index(history, k, twin) for k in range(n_arms)]
        assert values[arm] == max(values)
        policy.kernels.pull(parameters, *state, arm)
        history.append((arm, data.beta(1 + arm, 2)))
        policy.kernels.learn(parameters, *state, arm, history[-1][1], step)


@pytest.mark.parametrize("gamma", [0.5, 0.9, 0.99])
def test_a_slow_reference_of_dts_pulls_the_same_arms(gamma):
    def index(history, arm, rng):
        counts = [1.0, 1.0]
        for step, (pulled, reward) in enumerate(history, start=1):
            if pulled == arm:
                counts[int(uniform_at(77, step) >= reward)] += gamma ** (len(history) - step)
        return rng.beta(*counts)

    follow(DiscountedThompson(gamma), index)


@pytest.mark.parametrize("window", [1, 5, 37, 400])
def test_a_slow_reference_of_sw_ts_pulls_the_same_arms(window):
    def index(history, arm, rng):
        counts = [1, 1]
        for step, (pulled, reward) in list(enumerate(history, start=1))[-window:]:
            if pulled == arm:
                counts[int(uniform_at(77, step) >= reward)] += 1
        return rng.beta(*counts)

    follow(SlidingWindowThompson(window), index)


@pytest.mark.parametrize("window", [1, 5, 37, 400])
def test_a_slow_reference_of_gaussian_sw_ts_pulls_the_same_arms(window):
    def index(history, arm, rng):
        seen = [reward for pulled, reward in history[-window:] if pulled == arm]
        if not seen:
            return math.inf
        return math.fsum(seen) / len(seen) + 0.3 * rng.standard_normal() / math.sqrt(len(seen))

    follow(SlidingWindowThompsonGaussian(window, 0.3), index)


def test_discounted_counts_by_hand():
    """gamma = 1/2, arm 0 pays 1, 0, then arm 1 pays 1: S = (1/4, 1), F = (1/2, 0)."""
    policy = DiscountedThompson(0.5)
    parameters, state = policy.parameters(2, None), policy.start(2, None)
    for step, (arm, reward) in enumerate([(0, 1.0), (0, 0.0), (1, 1.0)], start=1):
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, reward, step)
    assert state.arms["successes"].tolist() == [0.25, 1.0]
    assert state.arms["failures"].tolist() == [0.5, 0.0]


def test_windowed_counts_by_hand():
    policy = SlidingWindowThompson(3)
    parameters, state = policy.parameters(2, None), policy.start(2, None)
    seen = []
    for step, (arm, reward) in enumerate([(0, 1.0), (0, 0.0), (1, 1.0), (1, 1.0), (1, 0.0)], start=1):
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, reward, step)
        seen.append((state.arms["successes"].tolist(), state.arms["failures"].tolist()))
    assert seen == [([1, 0], [0, 0]), ([1, 0], [1, 0]), ([1, 1], [1, 0]), ([0, 2], [1, 0]), ([0, 2], [0, 1])]


def test_an_arm_that_left_the_window_is_pulled_at_once():
    """Arm 1 pays less by 100 sigma: only the window brings it back, every tenth step."""
    rewards = np.tile([100.0, 0.0], (200, 1))
    arms = br.trace(SlidingWindowThompsonGaussian(10), rewards)
    assert set(np.diff(np.flatnonzero(arms == 1))) == {11}


def test_rewards_of_a_discounted_arm_vanish_without_subnormal_numbers():
    policy = DiscountedThompson(0.9)
    parameters, state = policy.parameters(2, None), policy.start(2, None)
    policy.kernels.pull(parameters, *state, 0)
    policy.kernels.learn(parameters, *state, 0, 1.0, 1)
    for _ in range(700):
        policy.kernels.pull(parameters, *state, 1)
    assert state.arms["successes"][0] == 0.0


@pytest.mark.full
@pytest.mark.parametrize(
    "policy",
    [DiscountedThompson(0.99), SlidingWindowThompson(200), SlidingWindowThompsonGaussian(200, 0.5)],
    ids=repr,
)
def test_they_follow_a_change(policy):
    """Random's regret is 400; the standard error here is below 4."""
    phases = [[br.Bernoulli(0.3), br.Bernoulli(0.7)], [br.Bernoulli(0.7), br.Bernoulli(0.3)]]
    environment = br.Environment.piecewise(phases, [1, 1001])
    assert regret(environment, policy, 2000, 200)[:, -1].mean() < 130


def test_late_rewards_are_discounted_by_their_age():
    policy = DiscountedThompson(0.95)
    parameters, state = policy.parameters(3, 600), policy.start(3, 600, 5)
    rng = np.random.default_rng(0)
    waiting, told = [], []
    for step in range(1, 601):
        arm = policy.kernels.select(parameters, *state, np.arange(3), rng)
        policy.kernels.pull(parameters, *state, arm)
        waiting.append((arm, rng.random(), step))
        if len(waiting) > 20:
            told.append(waiting.pop(rng.integers(20)))
            policy.kernels.learn(parameters, *state, *told[-1])
    for k in range(3):
        weights = [(0.95 ** (600 - s), uniform_at(5, s) < x) for arm, x, s in told if arm == k]
        assert state.arms["successes"][k] == pytest.approx(sum(w for w, success in weights if success))
        assert state.arms["failures"][k] == pytest.approx(sum(w for w, success in weights if not success))


def least_count(kernels):
    """Return a compiled loop that tells the least S or F at any step.

    Rewards wait in `places`: each pull frees one at random, so that some come very late.
    """
    select, pull, learn = (jit.kernel(function) for function in kernels[:3])

    def loop(parameters, header, arms, memory, candidates, rng, steps, places):
        least = math.inf
        waiting = np.zeros((places, 2), np.int64)
        for step in range(1, steps + 1):
            arm = select(parameters, header, arms, memory, candidates, rng)
            pull(parameters, header, arms, memory, arm)
            place = int(rng.random() * places)
            past, of = waiting[place]
            if past > 0:
                learn(parameters, header, arms, memory, of, rng.random() ** (1 + of), past)
            waiting[place, 0], waiting[place, 1] = step, arm
            for k in range(len(arms)):
                least = min(least, arms[k]["successes"], arms[k]["failures"])
        return least

    return jit.compile_loop(loop, *kernels)


@pytest.mark.full
@pytest.mark.parametrize("places", [1, 1000])
@pytest.mark.parametrize(
    "policy",
    [
        br.ThompsonBeta(),
        *(DiscountedThompson(gamma) for gamma in (0.01, 0.9999)),
        *(SlidingWindowThompson(window) for window in (1, 500, 100_000)),
    ],
    ids=repr,
)
def test_no_posterior_falls_below_the_prior_in_a_long_run(policy, places):
    steps = 300_000
    parameters, state = policy.parameters(5, steps), policy.start(5, steps, 3)
    loop = least_count(policy.kernels)
    assert loop(parameters, *state, np.arange(5), np.random.default_rng(0), steps, places) == 0.0
    if isinstance(policy, SlidingWindowThompson):
        assert (state.arms["successes"] + state.arms["failures"]).tolist() == state.arms["count"].tolist()
        assert state.arms["pulls"].sum() == min(policy.window, steps)


@ALL
def test_without_any_reward_pulls_are_uniform(policy):
    """A window: every arm once before one twice. dTS: draws from the prior. Chi-square at level 1e-5."""
    parameters = policy.parameters(4, None)
    second = []
    for seed in range(runs(500, 2000)):
        state, rng, pulled = policy.start(4, None), np.random.default_rng(seed), []
        for _ in range(4):
            pulled.append(int(policy.kernels.select(parameters, *state, np.arange(4), rng)))
            policy.kernels.pull(parameters, *state, pulled[-1])
        assert sorted(pulled) == [0, 1, 2, 3] or isinstance(policy, DiscountedThompson)
        second.append(pulled[1])
    assert stats.chisquare(np.bincount(second, minlength=4)).pvalue > 1e-5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DiscountedThompson(0), r"gamma must be in \(0, 1\], not 0"),
        (lambda: DiscountedThompson(1.5), r"gamma must be in \(0, 1\], not 1.5"),
        (lambda: DiscountedThompson(0.9, low=1), "needs low < high"),
        (lambda: SlidingWindowThompson(0), "SlidingWindowThompson's window must be >= 1, not 0"),
        (lambda: SlidingWindowThompson(2.5), "window must be an integer"),
        (lambda: SlidingWindowThompson(2, high=0), "needs low < high"),
        (lambda: SlidingWindowThompsonGaussian(0), "Gaussian's window must be >= 1, not 0"),
        (lambda: SlidingWindowThompsonGaussian(5, 0), "Gaussian's sigma must be > 0, not 0"),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(br.InvalidValueError, match=message):
        make()


def test_a_memory_is_no_longer_than_the_horizon():
    assert len(SlidingWindowThompson(10**9).memory(3, 100)) == 100
    assert len(SlidingWindowThompsonGaussian(7).memory(3, 100)) == 7
