"""NPTS and Multinomial TS: their posteriors' laws, rounding to the grid, settings."""

import copy

import numpy as np
import pytest
from scipy import stats

import brigand as br
from brigand.policies.randomised import npts
from brigand.policies.randomised.npts import NPTS, MultinomialTS
from policies.play import told


def draws(index, policy, rewards, count=10_000):
    parameters, state = told(policy, rewards)
    rng = np.random.default_rng(8)
    return np.array([index(parameters, *state, 0, rng) for _ in range(count)])


def test_npts_by_hand():
    """One number for the ones, the first included, one for the zeros, one for the rest."""
    parameters, state = told(NPTS(), [1.0, 0.25, 0.0])
    rng = np.random.default_rng(2)
    ones, zeros, rest = rng.standard_gamma(2), rng.standard_gamma(1), rng.standard_exponential()
    value = npts.npts_index(parameters, *state, 0, np.random.default_rng(2))
    assert value == pytest.approx((ones + 0.25 * rest) / (ones + zeros + rest), rel=1e-14)


@pytest.mark.parametrize("rewards", [[], [1.0], [1.0] * 50])
def test_without_a_smaller_reward_the_index_is_exactly_one(rewards):
    assert (draws(npts.npts_index, NPTS(), rewards, 1000) == 1.0).all()


@pytest.mark.parametrize("rewards", [[0.0], [1.0, 0.0, 0.0, 1.0, 1.0]], ids=str)
def test_for_zeros_and_ones_npts_is_a_beta_posterior_in_both_ways_of_drawing(rewards):
    """Rewards that are as good as 0 and 1 get a number each. Kolmogorov-Smirnov at level 1e-5."""
    law = stats.beta(1 + sum(rewards), len(rewards) - sum(rewards))
    for history in (np.array(rewards), np.clip(rewards, 1e-15, 1 - 1e-15)):
        assert stats.kstest(draws(npts.npts_index, NPTS(), history), law.cdf).pvalue > 1e-5


@pytest.mark.parametrize("rewards", [[0.3, 0.3, 0.9], [1.0, 0.4, 0.0, 0.7, 0.0], [0.5]], ids=str)
def test_npts_has_the_distribution_of_its_definition(rewards):
    """Dirichlet weights over the history with its first 1. Kolmogorov-Smirnov at level 1e-5."""
    history = np.array([1.0, *rewards])
    direct = np.random.default_rng(1).dirichlet(np.ones(len(history)), 10_000) @ history
    assert stats.ks_2samp(draws(npts.npts_index, NPTS(), rewards), direct).pvalue > 1e-5


@pytest.mark.parametrize("rewards", [[], [0.0, 0.25, 0.25, 1.0], [0.75] * 9], ids=str)
def test_multinomial_ts_has_the_distribution_of_its_definition(rewards):
    """Rewards on the grid of M = 4. Kolmogorov-Smirnov at level 1e-5."""
    counts = np.bincount([int(4 * reward) for reward in rewards], minlength=5)
    direct = np.random.default_rng(1).dirichlet(1 + counts, 10_000) @ np.arange(5) / 4
    assert stats.ks_2samp(draws(npts.multinomial_index, MultinomialTS(4), rewards), direct).pvalue > 1e-5


def test_multinomial_ts_by_hand():
    parameters, state = told(MultinomialTS(2), [0.5, 0.5, 1.0], n_arms=1)
    assert state.memory["count"].tolist() == [0, 2, 1]
    rng = np.random.default_rng(3)
    w = [rng.standard_gamma(shape) for shape in (1, 3, 2)]
    value = npts.multinomial_index(parameters, *state, 0, np.random.default_rng(3))
    assert value == pytest.approx((w[1] / 2 + w[2]) / sum(w), rel=1e-14)


def test_with_one_cell_the_counts_are_those_of_beta_thompson_sampling():
    """Exactly, on the same key; the posterior's law by Kolmogorov-Smirnov at level 1e-5."""
    rewards = np.random.default_rng(0).random(300)
    parameters, state = told(MultinomialTS(1), rewards, n_arms=1, key=9)
    _, expected = told(br.ThompsonBeta(), rewards, n_arms=1, key=9)
    assert state.memory["count"].tolist() == [expected.arms["failures"][0], expected.arms["successes"][0]]
    rng = np.random.default_rng(5)
    values = [npts.multinomial_index(parameters, *state, 0, rng) for _ in range(10_000)]
    failures, successes = state.memory["count"]
    assert stats.kstest(values, stats.beta(1 + successes, 1 + failures).cdf).pvalue > 1e-5


@pytest.mark.every(3)
@pytest.mark.parametrize("reward", [0.3, 0.5, 0.97])
def test_rewards_are_rounded_to_neighbours_and_the_mean_is_kept(reward):
    """20,000 rewards on the grid of M = 3: binomial test at level 1e-5."""
    _, state = told(MultinomialTS(3), [reward] * 20_000, n_arms=1, key=4)
    low = int(3 * reward)
    counts = state.memory["count"]
    assert counts[low] + counts[low + 1] == 20_000
    assert stats.binomtest(int(counts[low + 1]), 20_000, 3 * reward - low).pvalue > 1e-5


def test_a_slow_reference_of_npts_pulls_the_same_arms():
    """Rewards strictly between 0 and 1: one exponential number each; Gamma(1) is one, too."""
    policy, n_arms = NPTS(), 4
    parameters, state = policy.parameters(n_arms, 300), policy.start(n_arms, 300)
    rng, data = np.random.default_rng(1), np.random.default_rng(2)
    seen = [[1.0] for _ in range(n_arms)]
    for step in range(1, 301):
        twin = copy.deepcopy(rng)
        arm = policy.kernels.select(parameters, *state, np.arange(n_arms), rng)
        twin.random()
        index = []
        for history in seen:
            w = twin.standard_exponential(len(history))
            index.append(w @ history / w.sum() if len(history) > 1 else 1.0)
        assert index[arm] == max(index)
        policy.kernels.pull(parameters, *state, arm)
        seen[arm].append(data.beta(1 + arm, 3))
        policy.kernels.learn(parameters, *state, arm, seen[arm][-1], step)


@pytest.mark.parametrize("support_size", [0, -1, 1.0, 10**6 + 1, "1"])
def test_a_bad_support_size_is_refused(support_size):
    with pytest.raises(br.InvalidValueError, match="MultinomialTS's support_size must be"):
        MultinomialTS(support_size)


def test_a_bad_range_and_an_unknown_horizon_are_refused():
    for policy in (NPTS, MultinomialTS):
        with pytest.raises(br.InvalidValueError, match="needs low < high"):
            policy(low=1, high=0)
    with pytest.raises(br.InvalidValueError, match="NPTS needs the horizon"):
        NPTS().start(2, None)
