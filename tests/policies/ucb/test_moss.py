"""MOSS: the definition step by step, and small cases."""

import math

import numpy as np
import pytest

import brigand as br
from brigand.policies.ucb import moss
from brigand.policies.ucb.moss import MOSS
from policies.play import assert_follows, of, told


@pytest.mark.parametrize("anytime", [False, True])
@pytest.mark.parametrize(("low", "high"), [(0, 1), (-2, 3)])
def test_it_follows_its_definition(anytime, low, high):
    def index(history, arm):
        x = of(history, arm)
        budget = len(history) if anytime else 400
        bonus = math.sqrt(max(0, math.log(budget / (4 * len(x)))) / len(x))
        return x.mean() + (high - low) * bonus

    rewards = low + (high - low) * np.random.default_rng(3).beta([0.6, 1, 1.5, 2], 1.2, (400, 4))
    assert_follows(MOSS(anytime, low=low, high=high), rewards, index)


def test_the_index_by_hand():
    for policy, budget in ((MOSS(), 100), (MOSS(True), 3)):
        parameters, state = told(policy, [1.0, 0.5, 0.0], n_arms=2, horizon=100)
        bonus = math.sqrt(max(0.0, math.log(budget / 6)) / 3)
        assert moss.index(parameters, *state, 0, None) == pytest.approx(0.5 + bonus, rel=1e-15)
        assert moss.index(parameters, *state, 1, None) == math.inf


def test_no_bonus_after_its_share_of_the_pulls():
    parameters, state = told(MOSS(), [0.25] * 50, n_arms=2, horizon=100)
    assert moss.index(parameters, *state, 0, None) == 0.25
    parameters, state = told(MOSS(), [0.25] * 49, n_arms=2, horizon=100)
    assert moss.index(parameters, *state, 0, None) > 0.25


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"anytime": 1}, "MOSS's anytime must be True or False, not 1"),
        ({"low": 2}, "MOSS needs low < high, not low = 2"),
    ],
)
def test_bad_settings_are_refused(arguments, message):
    with pytest.raises(br.InvalidValueError, match=message):
        MOSS(**arguments)


def test_the_horizon_is_needed_unless_moss_is_anytime():
    with pytest.raises(br.InvalidValueError, match="MOSS needs the horizon"):
        MOSS().parameters(3, None)
    assert MOSS(True).parameters(3, None).share == 0
    assert MOSS().must_know == "the range [0, 1], T"
    assert MOSS(True).must_know == "the range [0, 1]"
