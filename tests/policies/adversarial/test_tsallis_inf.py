"""Tsallis-INF: a slow reference, unbiased estimates, exact cases, late rewards, absent arms, settings."""

import math

import numpy as np
import pytest
from scipy import optimize

import brigand as br
from brigand.policies.adversarial import tsallis_inf
from brigand.policies.adversarial.tsallis_inf import TsallisINF
from brigand.policies.base import State
from policies.play import play
from strength import runs

BOTH = pytest.mark.parametrize("estimator", ["IW", "RV"])
STEPS = runs(150, 1000)


class Reference:
    """The published rule, by SciPy's root of sum w = 1."""

    def __init__(self, n_arms, estimator):
        self.losses, self.reduced = np.zeros(n_arms), estimator == "RV"

    def eta(self, step):
        return (4 if self.reduced else 2) / math.sqrt(step)

    def probabilities(self, step):
        def excess(z):
            return (4 / (self.eta(step) * (self.losses - z)) ** 2).sum() - 1

        best = self.losses.min() - 2 / self.eta(step)
        low = self.losses.min() - 2 * math.sqrt(len(self.losses)) / self.eta(step)
        z = optimize.brentq(excess, low - 1e-9, best + 1e-9, xtol=1e-13, rtol=1e-15)
        return 4 / (self.eta(step) * (self.losses - z)) ** 2

    def baselines(self, p, step):
        return np.where(p >= self.eta(step) ** 2, 0.5, 0.0) if self.reduced else np.zeros(len(p))

    def learn(self, arm, loss, p, step):
        baselines = self.baselines(p, step)
        self.losses += baselines
        self.losses[arm] += (loss - baselines[arm]) / p[arm]


def probabilities(policy, parameters, state, candidates):
    return [policy.kernels.propensity(parameters, *state, candidates, arm) for arm in candidates]


@BOTH
def test_each_step_is_that_of_a_slow_reference(estimator):
    """From the same estimates at each step: rounding grows by 1 / w from step to step."""
    policy, every = TsallisINF(estimator), np.arange(4)
    parameters, state = policy.parameters(4, STEPS), policy.start(4, STEPS)
    reference = Reference(4, estimator)
    rng, twin, data = np.random.default_rng(1), np.random.default_rng(1), np.random.default_rng(2)
    reduced = 0
    for step in range(1, STEPS + 1):
        reference.losses = state.arms["loss"].copy()
        p = reference.probabilities(step)
        assert probabilities(policy, parameters, state, every) == pytest.approx(p, rel=1e-11)
        arm = policy.kernels.select(parameters, *state, every, rng)
        assert arm == np.searchsorted(np.cumsum(p), twin.random(), side="right")
        policy.kernels.pull(parameters, *state, arm)
        reward = data.random() ** (arm + 1)
        policy.kernels.learn(parameters, *state, arm, reward, step)
        reduced += (reference.baselines(p, step) > 0).any()
        reference.learn(arm, 1 - reward, p, step)
        assert state.arms["loss"] == pytest.approx(reference.losses, rel=1e-10, abs=1e-12)
    assert (reduced > 0) == (estimator == "RV")


@pytest.mark.parametrize("n_arms", [1, 2, 5, 40])
@pytest.mark.parametrize("estimator", ["IW", "RV"])
def test_equal_arms_have_equal_probabilities(estimator, n_arms):
    policy = TsallisINF(estimator)
    found = probabilities(policy, policy.parameters(n_arms, 9), policy.start(n_arms, 9), np.arange(n_arms))
    assert found == pytest.approx([1 / n_arms] * n_arms, rel=1e-14)


@BOTH
@pytest.mark.parametrize("paid", [0.0, 0.25, 1.0])
def test_two_arms_by_hand(estimator, paid):
    """At step 1 p = 1/2, and B = 0; then L = (l / p, 0) = (2 l, 0), and with s = l - z both roots are known.

    With c = 4 / eta^2, c / (s - l)^2 + c / (s + l)^2 = 1 gives s^2 = l^2 + c + sqrt(c^2 + 4 c l^2).
    """
    policy, loss = TsallisINF(estimator), 1 - paid
    parameters, state = policy.parameters(2, 9), policy.start(2, 9)
    policy.kernels.pull(parameters, *state, 0)
    policy.kernels.learn(parameters, *state, 0, paid, 1)
    assert state.arms["loss"] == pytest.approx([2 * loss, 0], abs=1e-15)
    c = 4 / (16 / 2 if estimator == "RV" else 4 / 2)
    s = math.sqrt(loss**2 + c + math.sqrt(c**2 + 4 * c * loss**2))
    expected = [c / (s + loss) ** 2, c / (s - loss) ** 2]
    assert probabilities(policy, parameters, state, np.arange(2)) == pytest.approx(expected, rel=1e-12)


@BOTH
@pytest.mark.parametrize("away", [(), (1,)])
def test_estimates_are_unbiased_whatever_came_before(estimator, away):
    """Exactly: weighted by w, the growth over all arms that may be drawn is the loss."""
    policy, rewards = TsallisINF(estimator), np.array([0.2, 0.9, 0.7, 0.0])
    there = np.array([arm for arm in range(4) if arm not in away])
    parameters, state = policy.parameters(4, 500), policy.start(4, 500)
    state.header["step"] = 40
    state.arms["loss"] = [1.0, 5.0, 3.0, 30.0]
    p = probabilities(policy, parameters, state, there)
    eta = parameters.rate / math.sqrt(41)
    assert estimator == "IW" or min(p) < eta**2 < max(p)
    growth = np.zeros(4)
    for arm, chance in zip(there, p, strict=True):
        header, arms, memory = (table.copy() for table in state)
        for other in away:
            policy.kernels.miss(parameters, header, arms, memory, other)
        policy.kernels.pull(parameters, header, arms, memory, arm)
        policy.kernels.learn(parameters, header, arms, memory, arm, rewards[arm], 41)
        growth += chance * (arms["loss"] - state.arms["loss"])
    assert growth[there] == pytest.approx(1 - rewards[there], rel=1e-12)


@BOTH
def test_an_arm_that_is_away_keeps_its_distance_from_z(estimator):
    policy = TsallisINF(estimator)
    parameters, state = policy.parameters(3, 500), policy.start(3, 500)
    state.header["step"] = 100
    state.arms["loss"] = [4.0, 9.0, 20.0]
    eta = parameters.rate / math.sqrt(101)

    def distance():
        least, distance, _ = tsallis_inf.normalise(state.header, state.arms, np.array([0, 2]), 0, eta)
        return state.arms["loss"][1] - (least - distance / eta)

    before, losses = distance(), state.arms["loss"].copy()
    policy.kernels.miss(parameters, *state, 1)
    policy.kernels.pull(parameters, *state, 0)
    assert distance() == pytest.approx(before, rel=1e-12)
    policy.kernels.learn(parameters, *state, 0, 0.25, 101)
    assert distance() == pytest.approx(before, rel=1e-12)
    assert (state.arms["loss"] > losses)[:2].all()


@BOTH
def test_late_rewards_are_weighted_by_the_probability_of_their_draw(estimator):
    """In any order: the reference learns a loss of 1 at the draw, and takes x / p from it at the end."""
    policy = TsallisINF(estimator)
    parameters, state = policy.parameters(3, 200), policy.start(3, 200)
    reference, rng, waiting = Reference(3, estimator), np.random.default_rng(0), []
    for step in range(1, 201):
        arm = policy.kernels.select(parameters, *state, np.arange(3), rng)
        p = reference.probabilities(step)
        waiting.append((arm, rng.random(), step, p[arm]))
        policy.kernels.pull(parameters, *state, arm)
        reference.learn(arm, 1.0, p, step)
        while len(waiting) > (20 if step < 200 else 5):
            arm, reward, drawn, p_then = waiting.pop(rng.integers(len(waiting)))
            policy.kernels.learn(parameters, *state, arm, reward, drawn)
            reference.losses[arm] -= reward / p_then
    assert state.arms["loss"] == pytest.approx(reference.losses, rel=1e-8)
    assert state.arms["count"].sum() == 195


def test_a_reward_whose_probability_is_forgotten_is_left_out():
    policy = TsallisINF()
    parameters, (header, arms, memory) = policy.parameters(2, None), policy.start(2, None)
    state = State(header, arms, memory[:8].copy())
    for step in range(1, 10):
        policy.kernels.pull(parameters, *state, step % 2)
        if step > 2:
            policy.kernels.learn(parameters, *state, step % 2, 1.0, step)
    loss = state.arms["loss"].copy()
    policy.kernels.learn(parameters, *state, 1, 1.0, 1)
    assert (state.arms["loss"] == loss).all()
    policy.kernels.learn(parameters, *state, 0, 1.0, 2)
    assert state.arms["loss"][0] < loss[0]


def test_probabilities_are_exact_where_losses_are_far_apart():
    """For L = (0, 1e12) and eta = 2, w is 4 / (eta L)^2 but for a relative 4 / (eta L)."""
    policy = TsallisINF("IW")
    parameters, state = policy.parameters(2, 9), policy.start(2, 9)
    state.arms["loss"] = [0.0, 1e12]
    found = probabilities(policy, parameters, state, np.arange(2))
    assert found == pytest.approx([1.0, 1e-24], rel=1e-11)


@pytest.mark.parametrize("start", [0.0, 2.0, 2.5, 4.0, 1e100, math.inf, math.nan])
def test_the_iteration_converges_from_anywhere(start):
    policy = TsallisINF("IW")
    parameters, state = policy.parameters(4, 9), policy.start(4, 9)
    state.arms["loss"] = [1.0, 2.0, 1.5, 9.0]
    expected = probabilities(policy, parameters, state, np.arange(4))
    state.header["distance"] = start
    found = probabilities(policy, parameters, state, np.arange(4))
    assert found == pytest.approx(expected, rel=1e-12)


def test_another_range_is_rescaled():
    rewards = np.random.default_rng(3).random((100, 3))
    assert play(TsallisINF(low=-1, high=3), 4 * rewards - 1)[0] == play(TsallisINF(), rewards)[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"estimator": "iw"}, "TsallisINF's estimator must be one of IW, RV, not 'iw'"),
        ({"estimator": ["RV"]}, r"not \['RV'\]"),
        ({"low": 2}, "TsallisINF needs low < high"),
    ],
)
def test_bad_settings_are_refused(arguments, message):
    with pytest.raises(br.InvalidValueError, match=message):
        TsallisINF(**arguments)


def test_what_must_be_known():
    assert TsallisINF().must_know == "the range [0, 1]"
    assert len(TsallisINF().memory(3, 5)) == 8
