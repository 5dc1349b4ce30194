"""UCB for Gaussian rewards of unknown variance: the definition step by step, and small cases."""

import math

import numpy as np
import pytest

import brigand as br
from brigand.policies.ucb import ucb_normal
from brigand.policies.ucb.ucb_normal import UCBNormal
from policies.play import assert_follows, of, play, regret, told


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
    assert ucb_normal.index(parameters, *state, 0, None) == math.inf
    for _ in range(6):  # 9 pulls are more than 6 + log 10
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


@pytest.mark.full
def test_it_learns_gaussian_arms_of_unequal_spread():
    """Uniform pulls have a regret of 1000."""
    environment = br.Environment.stationary([br.Gaussian(0.0, 2.0), br.Gaussian(1.0, 0.5)])
    assert regret(environment, UCBNormal(), 2000, 200)[:, -1].mean() < 150


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"initial_pulls": 2}, "UCBNormal's initial_pulls must be >= 3, not 2"),
        ({"initial_pulls": 3.5}, "UCBNormal's initial_pulls must be an integer"),
    ],
)
def test_bad_settings_are_refused(arguments, message):
    with pytest.raises(br.InvalidValueError, match=message):
        UCBNormal(**arguments)
