"""Bayes-UCB: the definition by SciPy's quantiles, exact cases, arms that are passed over, settings."""

import math

import numpy as np
import pytest
from scipy import stats

import brigand as br
from brigand.policies.ucb import bayes_ucb
from brigand.policies.ucb.bayes_ucb import BayesUCB, BayesUCBGaussian
from policies.play import assert_follows, of, play
from strength import runs

SETTINGS = pytest.mark.parametrize("c", [0.0, 5.0])


@SETTINGS
def test_it_follows_its_definition(c, rewards01):
    """Within 1e-10, so that arms whose quantiles agree to ten digits count as tied."""
    steps = runs(150, 400)

    def index(history, arm):
        ones, n = of(history, arm).sum(), len(of(history, arm))
        tail = 1 / ((len(history) + 1) * math.log(steps) ** c)
        return stats.beta(1 + ones, 1 + n - ones).isf(tail)

    assert_follows(BayesUCB(c), rewards01[:steps], index, initial=0, late=4)


@SETTINGS
def test_the_gaussian_one_follows_its_definition(c):
    def index(history, arm):
        tail = 1 / ((len(history) + 1) * math.log(300) ** c)
        return of(history, arm).mean() + 0.5 * stats.norm.isf(tail) / math.sqrt(len(of(history, arm)))

    rewards = np.random.default_rng(2).normal([0, 0.3, 0.5, 0.5], 0.5, (300, 4)) + 5
    assert_follows(BayesUCBGaussian(0.5, c), rewards, index, late=4)


@pytest.mark.parametrize(
    ("rewards", "expected"),
    [
        ([[], []], [0.5, 0.5]),  # quantiles of order 0
        ([[1], []], [1, 0]),  # medians: sqrt(1/2) of Beta(2, 1), and 1/2
        ([[0], []], [0, 1]),  # 1 - sqrt(1/2), and 1/2
        ([[0], [0], []], [0, 0, 1]),
        ([[1, 0], [0, 1], [0]], [0.5, 0.5, 0]),
        ([[1, 1], [1, 1]], [0.5, 0.5]),
        # order 4/5: (4/5)^(1/3) = 0.93 of Beta(3, 1), 1 - (1/5)^(1/3) = 0.42 of Beta(1, 3), 4/5 of Beta(1, 1)
        ([[1, 1], [0, 0], []], [1, 0, 0]),
        ([[0, 0], [0, 0], []], [0, 0, 1]),
    ],
)
def test_choices_by_hand(rewards, expected):
    policy = BayesUCB()
    parameters, state = policy.parameters(len(rewards), None), policy.start(len(rewards), None)
    for arm, values in enumerate(rewards):
        for reward in values:
            policy.kernels.pull(parameters, *state, arm)
            policy.kernels.learn(parameters, *state, arm, reward, int(state.header["step"]))
    every = np.arange(len(rewards))
    assert [policy.kernels.propensity(parameters, *state, every, arm) for arm in every] == expected


def test_passing_arms_over_changes_no_choice(rewards01):
    """The choice is of the largest of all indices, also where rewards come 7 steps late."""
    policy = BayesUCB()
    parameters, state = policy.parameters(4, 400), policy.start(4, 400)
    rng, chosen = np.random.default_rng(0), []
    for step in range(1, 401):
        arm = policy.kernels.select(parameters, *state, np.arange(4), rng)
        values = np.array([bayes_ucb.index(parameters, state.header, state.arms, k) for k in range(4)])
        assert values[arm] == values.max()
        policy.kernels.pull(parameters, *state, arm)
        chosen.append(arm)
        if step > 7:
            past, pulled = step - 7, chosen[step - 8]
            policy.kernels.learn(parameters, *state, pulled, rewards01[past - 1, pulled], past)


def test_rewards_between_the_ends_are_binarised():
    """Successes are binomial with the reward: two-sided at level 1e-6."""
    policy = BayesUCB(low=-1, high=3)
    parameters, state = policy.parameters(1, None), policy.start(1, None, key=3)
    for step in range(1, 601):
        policy.kernels.pull(parameters, *state, 0)
        policy.kernels.learn(parameters, *state, 0, 0.2, step)
    assert stats.binomtest(int(state.arms["successes"][0]), 600, 0.3).pvalue > 1e-6


def test_another_range_is_rescaled(rewards01):
    assert play(BayesUCB(low=-1, high=3), 4 * rewards01 - 1)[0] == play(BayesUCB(), rewards01)[0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BayesUCB(-1), "BayesUCB's c must be >= 0"),
        (lambda: BayesUCB(math.nan), "BayesUCB's c must be"),
        (lambda: BayesUCB(low=1), "low < high"),
        (lambda: BayesUCB(5).parameters(2, None), "BayesUCB with c > 0 needs the horizon"),
        (lambda: BayesUCBGaussian(0), "BayesUCBGaussian's sigma must be > 0"),
        (lambda: BayesUCBGaussian(1, -1), "BayesUCBGaussian's c must be >= 0"),
        (lambda: BayesUCBGaussian(1, 1).parameters(2, None), "BayesUCBGaussian with c > 0 needs the horizon"),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(br.InvalidValueError, match=message):
        make()


def test_what_must_be_known():
    assert BayesUCB().must_know == "the range [0, 1]"
    assert BayesUCB(5).must_know == "the range [0, 1], T"
    assert BayesUCBGaussian(1).must_know == "that rewards are Gaussian, sigma"
    assert BayesUCBGaussian(1, 1).must_know == "that rewards are Gaussian, sigma, T"
