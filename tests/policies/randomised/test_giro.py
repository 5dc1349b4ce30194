"""GIRO: its two ways of drawing are one law, a slow reference, settings."""

import copy
import math

import numpy as np
import pytest
from scipy import stats

import brigand as br
from brigand.policies.randomised import giro
from brigand.policies.randomised.giro import GIRO
from policies.play import told


def definition(rewards, a, rng):
    """Return the index as defined: a bootstrap of the rewards with `a` zeros and ones for each."""
    whole = math.floor(a * len(rewards))
    pairs = whole + (rng.random() < a * len(rewards) - whole)
    history = np.concatenate([rewards, np.zeros(pairs), np.ones(pairs)])
    return rng.choice(history, len(history)).mean()


def test_the_index_by_hand():
    """Rewards 1, 1, 0 and a = 1: nine draws with chance 5/9 each. Chi-square at level 1e-5."""
    parameters, state = told(GIRO(), [1.0, 1.0, 0.0])
    rng = np.random.default_rng(0)
    draws = np.array([giro.index(parameters, *state, 0, rng) for _ in range(20_000)])
    ones = np.rint(9 * draws).astype(int)
    assert np.array_equal(draws, ones / 9)
    expected = 20_000 * stats.binom(9, 5 / 9).pmf(range(10))
    counts = np.bincount(ones, minlength=10)
    assert stats.chisquare([counts[:2].sum(), *counts[2:]], [expected[:2].sum(), *expected[2:]]).pvalue > 1e-5


@pytest.mark.every(4)
@pytest.mark.parametrize("a", [1.0, 0.4, 0.1])
@pytest.mark.parametrize(
    "rewards", [[1.0, 0.0, 0.0, 1.0], [0.3, 1.0, 0.77, 0.0, 0.31], [0.2, 0.9], [0.5]], ids=str
)
def test_the_index_has_the_distribution_of_its_definition(rewards, a):
    """Kolmogorov-Smirnov (conservative for these discrete laws), 5,000 draws each, level 1e-5 a case."""
    parameters, state = told(GIRO(a), rewards)
    rng = np.random.default_rng(5)
    draws = [giro.index(parameters, *state, 0, rng) for _ in range(5_000)]
    direct = [definition(rewards, a, rng) for _ in range(5_000)]
    assert stats.ks_2samp(np.round(draws, 12), np.round(direct, 12)).pvalue > 1e-5


def test_counting_and_drawing_are_equal_in_distribution():
    """Rewards that are as good as 0 and 1 are drawn one by one, others are counted: level 1e-5."""
    rewards = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 1.0])
    nearly = np.clip(rewards, 1e-15, 1 - 1e-15)
    rng = np.random.default_rng(1)
    counts = []
    for history in (rewards, nearly):
        parameters, state = told(GIRO(), history)
        draws = [giro.index(parameters, *state, 0, rng) for _ in range(10_000)]
        ones = np.rint(18 * np.array(draws)).astype(int)
        counts.append(np.bincount(np.clip(ones, 5, 16), minlength=17)[5:])
    assert state.arms["count"][0] == 6
    assert stats.chi2_contingency(counts).pvalue > 1e-5


def test_a_slow_reference_gives_the_same_index_draw_by_draw():
    """Rewards in {0, 1}, where the index is one binomial number."""
    policy, n_arms = GIRO(0.7), 3
    parameters, state = policy.parameters(n_arms, 300), policy.start(n_arms, 300)
    rng, data = np.random.default_rng(1), np.random.default_rng(2)
    seen = [[] for _ in range(n_arms)]
    for step in range(1, 301):
        arm = policy.kernels.select(parameters, *state, np.arange(n_arms), rng)
        policy.kernels.pull(parameters, *state, arm)
        seen[arm].append(float(data.random() < 0.2 * arm + 0.2))
        policy.kernels.learn(parameters, *state, arm, seen[arm][-1], step)
        twin = copy.deepcopy(rng)
        s = len(seen[arm])
        pairs = math.floor(0.7 * s + twin.random())
        expected = twin.binomial(s + 2 * pairs, (sum(seen[arm]) + pairs) / (s + 2 * pairs)) / (s + 2 * pairs)
        assert giro.index(parameters, *state, arm, copy.deepcopy(rng)) == pytest.approx(expected, rel=1e-15)
        assert step > n_arms or s == 1


@pytest.mark.parametrize("a", [0, -1, 1001, math.nan, "1"])
def test_a_bad_a_is_refused(a):
    with pytest.raises(br.InvalidValueError, match="GIRO's a must be"):
        GIRO(a)


def test_a_bad_range_and_an_unknown_horizon_are_refused():
    with pytest.raises(br.InvalidValueError, match="GIRO needs low < high"):
        GIRO(low=1, high=0)
    with pytest.raises(br.InvalidValueError, match="GIRO needs the horizon"):
        GIRO().start(2, None)
