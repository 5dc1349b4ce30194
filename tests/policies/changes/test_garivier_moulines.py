"""D-UCB and SW-UCB: definitions, identities with UCB1, the authors' arm sequence."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

import brigand as br
from brigand.policies.changes import garivier_moulines
from brigand.policies.changes.garivier_moulines import DiscountedUCB, SlidingWindowUCB
from policies.play import assert_follows, of, play, regret, told


def tables(rewards01):
    return [
        rewards01[:300],
        np.random.default_rng(1).random((300, 4)),
        np.random.default_rng(2).normal([0, 1, 2, 3], 2, (300, 4)),
    ]


@dataclass(frozen=True)
class InOrder(SlidingWindowUCB):
    """The authors' SW-UCB: arms that were never pulled come in order of index."""


def select_in_order(parameters, header, arms, memory, candidates, rng):
    if header["step"] < len(candidates):
        return candidates[header["step"]]
    return garivier_moulines.select(parameters, header, arms, memory, candidates, rng)


InOrder.kernels = br.Kernels(select_in_order, *SlidingWindowUCB.kernels[1:])


@pytest.mark.every(2)
@pytest.mark.parametrize("compiled", [True, False])
def test_the_authors_arm_sequence(traces, compiled):
    arms = br.trace(InOrder(300, xi=0.5), traces["rewards"], compiled=compiled)
    assert np.array_equal(arms, traces["SW_UCB"])


@pytest.mark.parametrize("window", [1, 5, 60, 1000])
@pytest.mark.parametrize(("low", "high"), [(0, 1), (-2, 3)])
def test_sw_ucb_follows_its_definition(window, low, high):
    def index(history, arm):
        x = of(history[-window:], arm)
        if len(x) == 0:
            return math.inf
        bonus = math.sqrt(0.7 * math.log(min(len(history), window)) / len(x))
        return x.mean() + (high - low) * bonus

    rewards = low + (high - low) * np.random.default_rng(3).beta([0.6, 1, 1.5, 2], 1.2, (300, 4))
    initial = 1 if window >= 4 else 0
    assert_follows(SlidingWindowUCB(window, 0.7, low, high), rewards, index, initial)


@pytest.mark.parametrize("gamma", [0.01, 0.5, 0.9, 0.995, 1.0])
@pytest.mark.parametrize(("low", "high"), [(0, 1), (-2, 3)])
def test_d_ucb_follows_its_definition(gamma, low, high):
    """The paper's update: all N and S times gamma, then the pull is added."""
    rewards = low + (high - low) * np.random.default_rng(3).beta([0.6, 1, 1.5, 2], 1.2, (600, 4))
    arms = br.trace(DiscountedUCB(gamma, 0.7, low, high), rewards)
    assert sorted(arms[:4]) == [0, 1, 2, 3]
    n, s = np.zeros(4), np.zeros(4)
    for t, arm in enumerate(arms):
        if t >= 4:
            kept = np.maximum(n, 1e-250)
            values = s / kept + 2 * (high - low) * np.sqrt(0.7 * np.log(n.sum()) / kept)
            # Where gamma is tiny N is below 1e-12 and the policy's guard decides.
            if n.min() > 1e-12:
                assert values[arm] >= values.max() * (1 - 1e-10), t
        n *= gamma
        s *= gamma
        n[arm] += 1
        s[arm] += rewards[t, arm]


def test_the_indices_by_hand():
    parameters, state = told(DiscountedUCB(0.5), [1.0, 0.0, 1.0])
    n = 1 + 0.5 + 0.25
    expected = 1.25 / n + 2 * math.sqrt(0.5 * math.log(n) / n)
    assert garivier_moulines.index(parameters, *state, 0, None) == pytest.approx(expected, rel=1e-14)
    assert garivier_moulines.index(parameters, *state, 1, None) == math.inf
    parameters, state = told(SlidingWindowUCB(2, xi=2, high=3), [1.0, 0.0, 1.0])
    expected = 0.5 + 3 * math.sqrt(2 * math.log(2) / 2)
    assert garivier_moulines.index(parameters, *state, 0, None) == pytest.approx(expected, rel=1e-14)


def test_gamma_one_is_ucb1(rewards01):
    for rewards in tables(rewards01):
        for low, high in ((0.0, 1.0), (-1.0, 2.5)):
            expected, _ = play(br.UCB1(low, high), rewards)
            arms, state = play(DiscountedUCB(1, low=low, high=high), rewards)
            assert arms == expected
            assert state.arms["weight"].tolist() == state.arms["pulls"].tolist()


def test_a_window_of_the_horizon_is_no_window(rewards01):
    for rewards in tables(rewards01):
        expected, _ = play(SlidingWindowUCB(300), rewards)
        longer, _ = play(SlidingWindowUCB(10**9), rewards)
        assert longer == expected
        # xi = 2 is UCB1: twice the width of xi = 1/2.
        assert play(SlidingWindowUCB(300, xi=2), rewards)[0] == play(br.UCB1(), rewards)[0]
        assert play(SlidingWindowUCB(70), rewards)[0] != expected


@pytest.mark.parametrize("gamma", [0.3, 0.97, 1.0])
def test_late_rewards_weigh_as_much_as_their_pulls(gamma):
    rng = np.random.default_rng(0)
    pulls = [(int(rng.integers(3)), float(rng.random()), step) for step in range(1, 301)]
    states = []
    for late in (False, True):
        policy = DiscountedUCB(gamma)
        parameters, state = policy.parameters(3, 300), policy.start(3, 300)
        for pull in pulls:
            policy.kernels.pull(parameters, *state, pull[0])
            if not late:
                policy.kernels.learn(parameters, *state, *pull)
        for i in rng.permutation(300) if late else []:
            policy.kernels.learn(parameters, *state, *pulls[i])
        states.append(state)
    immediate, delayed = states
    assert delayed.arms["mean"] == pytest.approx(immediate.arms["mean"], rel=1e-8)
    assert delayed.arms["weight"] == pytest.approx(immediate.arms["weight"], rel=1e-8)


@pytest.mark.parametrize("gamma", [1e-300, 1e-9, 0.2, 0.99])
def test_long_absence_neither_underflows_nor_divides_by_zero(gamma):
    policy = DiscountedUCB(gamma)
    parameters, state = policy.parameters(2, 20_000), policy.start(2, 20_000)
    for arm, steps in ((0, 1), (1, 10_000)):
        for _ in range(steps):
            policy.kernels.pull(parameters, *state, arm)
            policy.kernels.learn(parameters, *state, arm, [0.3, 0.8][arm], int(state.header["step"]))
    assert state.arms["mean"] == pytest.approx([0.3, 0.8])
    assert math.isfinite(garivier_moulines.index(parameters, *state, 0, None))
    if gamma > 1e-9:
        assert policy.kernels.select(parameters, *state, np.arange(2), np.random.default_rng(0)) == 0


@pytest.mark.full
def test_they_follow_a_change():
    """Measured: a regret of 106 for both, of 450 to 520 without forgetting."""
    phases = [[br.Bernoulli(0.1), br.Bernoulli(0.6)], [br.Bernoulli(0.9), br.Bernoulli(0.6)]]
    environment = br.Environment.piecewise(phases, starts=[1, 3001])
    policies = {
        "D": DiscountedUCB(0.995, xi=0.1),
        "D, all": DiscountedUCB(1, xi=0.1),
        "SW": SlidingWindowUCB(400),
        "SW, all": SlidingWindowUCB(6000),
    }
    means = {name: regret(environment, policy, 6000, 50)[:, -1].mean() for name, policy in policies.items()}
    assert means["D"] < 0.5 * means["D, all"]
    assert means["SW"] < 0.5 * means["SW, all"]


@pytest.mark.parametrize("cls", [DiscountedUCB, SlidingWindowUCB])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"xi": 0}, "xi must be > 0, not 0"),
        ({"low": 2}, "needs low < high, not low = 2"),
        ({"high": math.inf}, "high must be finite"),
    ],
)
def test_bad_settings_are_refused(cls, arguments, message):
    with pytest.raises(br.InvalidValueError, match=message):
        cls(1, **arguments)


@pytest.mark.parametrize("gamma", [0, -0.5, 1.5, math.nan])
def test_a_bad_gamma_is_refused(gamma):
    with pytest.raises(br.InvalidValueError, match="DiscountedUCB's gamma must be"):
        DiscountedUCB(gamma)


@pytest.mark.parametrize("window", [0, 2.5, None])
def test_a_bad_window_is_refused(window):
    with pytest.raises(br.InvalidValueError, match="SlidingWindowUCB's window must be"):
        SlidingWindowUCB(window)


@pytest.mark.parametrize("gamma", [1e-6, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("reward", [2e295, -2e295])
def test_means_of_the_largest_rewards_that_are_accepted_are_right(gamma, reward):
    """In units of the base, D-UCB's sums are up to 1e9 times as large."""
    policy, rewards = DiscountedUCB(gamma), np.full((400, 3), reward)
    _, state = play(policy, rewards)
    assert state.arms["mean"] == pytest.approx(np.full(3, reward), rel=1e-12)
    assert br.trace(policy, rewards).shape == (400,)
    with pytest.raises(br.InvalidValueError, match=r"their sum may exceed 1e\+298"):
        br.trace(policy, 2 * rewards)


@pytest.mark.parametrize("make", [lambda **range: DiscountedUCB(0.9, **range), SlidingWindowUCB])
def test_a_range_without_a_finite_length_is_refused(make):
    settings = {"low": -1e308, "high": 1e308} | ({"window": 9} if make is SlidingWindowUCB else {})
    with pytest.raises(br.InvalidValueError, match=r"needs high - low to be finite, not 1e\+308 - -1e\+308"):
        make(**settings)
