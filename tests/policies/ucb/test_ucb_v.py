"""UCB-V: the definition step by step, and small cases."""

import math

import numpy as np
import pytest

import brigand as br
from brigand.policies.ucb import ucb_v
from brigand.policies.ucb.ucb_v import UCBV
from policies.play import assert_follows, of, told


@pytest.mark.parametrize(("zeta", "c"), [(1.2, 1.0), (0.7, 0.1), (1.0, 0.0)])
@pytest.mark.parametrize(("low", "high"), [(0, 1), (-2, 3)])
def test_it_follows_its_definition(zeta, c, low, high):
    def index(history, arm):
        x = of(history, arm)
        exploration = zeta * math.log(len(history) + 1)
        slow = math.sqrt(2 * x.var() * exploration / len(x))
        return x.mean() + slow + 3 * c * (high - low) * exploration / len(x)

    rewards = low + (high - low) * np.random.default_rng(3).beta([0.6, 1, 1.5, 2], 1.2, (400, 4))
    assert_follows(UCBV(zeta, c, low=low, high=high), rewards, index)


def test_the_index_by_hand():
    parameters, state = told(UCBV(2.0, 0.5), [1.0, 0.5, 0.0])
    exploration = 2 * math.log(4)
    expected = 0.5 + math.sqrt(2 / 6 * exploration / 3) + 1.5 * exploration / 3
    assert ucb_v.index(parameters, *state, 0, None) == pytest.approx(expected, rel=1e-14)
    assert ucb_v.index(parameters, *state, 1, None) == math.inf


def test_the_variance_is_exact_far_from_zero():
    policy = UCBV(low=1e9, high=1e9 + 1)
    _, state = told(policy, 1e9 + np.tile([0.25, 0.75], 500))
    assert state.arms["squares"][0] == pytest.approx(1000 / 16, rel=1e-12)
    _, state = told(UCBV(), [0.1] * 1000)
    assert state.arms["squares"][0] == 0


def test_little_variance_means_little_exploration():
    rewards = np.stack([np.full(3000, 0.5), np.full(3000, 0.6)], axis=1)
    noisy = (np.random.default_rng(0).random((3000, 2)) < [0.5, 0.6]).astype(float)
    few, many = (np.sum(br.trace(UCBV(), table) == 0) for table in (rewards, noisy))
    assert 2 * few < many


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"zeta": 0}, "UCBV's zeta must be > 0, not 0"),
        ({"c": -1}, "UCBV's c must be >= 0, not -1"),
        ({"low": 2}, "UCBV needs low < high, not low = 2"),
    ],
)
def test_bad_settings_are_refused(arguments, message):
    with pytest.raises(br.InvalidValueError, match=message):
        UCBV(**arguments)
