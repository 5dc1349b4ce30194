"""PHE: its index by hand, a slow reference, settings."""

import copy
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import brigand as br
from brigand.policies.randomised import phe
from brigand.policies.randomised.phe import PHE
from policies.play import told


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
    _, unit = told(PHE(), [0.25, 1.0], n_arms=1)
    _, wide = told(PHE(low=-1, high=3), [0.0, 3.0], n_arms=1)
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


@pytest.mark.parametrize("a", [0, -1, 1001, math.nan, "1"])
def test_a_bad_a_is_refused(a):
    with pytest.raises(br.InvalidValueError, match="PHE's a must be"):
        PHE(a)


def test_a_bad_range_and_rewards_outside_of_it_are_refused():
    with pytest.raises(br.InvalidValueError, match="PHE needs low < high"):
        PHE(low=1, high=0)
    with pytest.raises(br.UnsupportedRewardError, match="PHE needs rewards in"):
        br.trace(PHE(), np.full((5, 2), 2.0))
