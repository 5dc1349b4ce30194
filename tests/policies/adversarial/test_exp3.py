"""EXP3 and EXP3.S: slow references, overflow, late rewards, settings."""

import math

import numpy as np
import pytest
from scipy import stats

import brigand as br
from brigand import jit
from brigand.policies.adversarial import exp3
from brigand.policies.adversarial.exp3 import EXP3, EXP3S
from policies.play import regret
from strength import runs

BOTH = pytest.mark.parametrize("policy", [EXP3(), EXP3(0.3), EXP3S(), EXP3S(0.01, 0.2)], ids=repr)


def probabilities(parameters, state):
    weights = state.arms["weight"]
    return (1 - parameters.gamma) * weights / weights.sum() + parameters.gamma / len(weights)


class Reference:
    """The published rule on plain weights."""

    def __init__(self, n_arms, gamma, alpha):
        self.weights, self.gamma, self.alpha = np.ones(n_arms), gamma, alpha

    def probabilities(self):
        share = self.weights / self.weights.sum()
        return (1 - self.gamma) * share + self.gamma / len(share)

    def learn(self, arm, reward, probability):
        total, n_arms = self.weights.sum(), len(self.weights)
        estimate = np.zeros(n_arms)
        estimate[arm] = reward / probability
        self.weights = self.weights * np.exp(self.gamma * estimate / n_arms)
        self.weights += math.e * self.alpha / n_arms * total
        self.weights /= self.weights.sum()


@pytest.mark.parametrize(
    ("policy", "alpha"), [(EXP3(0.2), 0.0), (EXP3(1), 0.0), (EXP3S(0.01, 0.2), 0.01), (EXP3S(1, 0.5), 1.0)]
)
def test_a_slow_reference_pulls_the_same_arms(policy, alpha):
    parameters, state = policy.parameters(4, 500), policy.start(4, 500)
    reference = Reference(4, policy.gamma, alpha)
    rng, twin, data = np.random.default_rng(1), np.random.default_rng(1), np.random.default_rng(2)
    for step in range(1, 501):
        arm = policy.kernels.select(parameters, *state, np.arange(4), rng)
        p = reference.probabilities()
        assert arm == np.searchsorted(np.cumsum(p), twin.random(), side="right")
        policy.kernels.pull(parameters, *state, arm)
        reward = data.random()
        policy.kernels.learn(parameters, *state, arm, reward, step)
        reference.learn(arm, reward, p[arm])
        assert probabilities(parameters, state) == pytest.approx(reference.probabilities(), rel=1e-10)
        assert state.header["total"] == pytest.approx(state.arms["weight"].sum(), rel=1e-12)


def test_exp3_by_hand():
    """K = 2, gamma = 1/2: p = 1/2, y = exp(1/2 * 1 / (1/2) / 2) = exp(1/2)."""
    parameters, state = EXP3(0.5).parameters(2, 10), EXP3(0.5).start(2, 10)
    exp3.pull(parameters, *state, 0)
    exp3.learn_exp3(parameters, *state, 0, 1.0, 1)
    assert state.arms["weight"] == pytest.approx([math.exp(0.5), 1.0], rel=1e-15)


def test_exp3s_by_hand():
    """K = 2, alpha = 0.1, gamma = 1/2: weights exp(1/2) + 0.1 e and 1 + 0.1 e over their sum."""
    policy = EXP3S(0.1, 0.5)
    parameters, state = policy.parameters(2, 10), policy.start(2, 10)
    exp3.pull(parameters, *state, 0)
    exp3.learn_exp3s(parameters, *state, 0, 1.0, 1)
    expected = np.array([math.exp(0.5), 1.0]) + 0.1 * math.e
    assert state.arms["weight"] == pytest.approx(expected / expected.sum(), rel=1e-15)


def test_the_tuned_settings_are_the_published_ones():
    assert EXP3().parameters(10, 1000).gamma == math.sqrt(10 * math.log(10) / ((math.e - 1) * 1000))
    assert EXP3().parameters(10, 5).gamma == 1.0
    assert EXP3().parameters(1, 5).gamma == 0.0
    tuned = EXP3S(segments=3).parameters(4, 10_000)
    assert tuned.alpha == 1e-4
    expected = math.sqrt(4 * (3 * math.log(40_000) + math.e) / ((math.e - 1) * 10_000))
    assert tuned.gamma == pytest.approx(expected, rel=1e-15)


@BOTH
def test_arms_are_drawn_from_p(policy):
    """Chi-square at level 1e-5, for all arms and for some."""
    n = runs(4000, 20_000)
    parameters, state = policy.parameters(4, 500), policy.start(4, 500)
    rng = np.random.default_rng(1)
    for step in range(1, 101):
        exp3.pull(parameters, *state, step % 4)
        policy.kernels.learn(parameters, *state, step % 4, rng.random() * (step % 4) / 4, step)
    p = probabilities(parameters, state)
    for candidates in (np.arange(4), np.array([1, 3])):
        draws = [exp3.select(parameters, *state, candidates, rng) for _ in range(n)]
        counts = np.bincount(draws, minlength=4)
        assert counts[candidates].sum() == n
        expected = n * p[candidates] / p[candidates].sum()
        assert stats.chisquare(counts[candidates], expected).pvalue > 1e-5
    assert exp3.select(parameters, *state, np.array([2]), rng) == 2


def always_one(kernels):
    """Return a compiled loop in which every reward is 1."""
    select, pull, learn = (jit.kernel(function) for function in kernels[:3])

    def loop(parameters, header, arms, memory, candidates, rng, horizon):
        for step in range(1, horizon + 1):
            arm = select(parameters, header, arms, memory, candidates, rng)
            pull(parameters, header, arms, memory, arm)
            learn(parameters, header, arms, memory, arm, 1.0, step)

    return jit.compile_loop(loop, *kernels)


@pytest.mark.full
@pytest.mark.parametrize("policy", [EXP3(), EXP3(1.0), EXP3S()], ids=repr)
def test_a_million_rewards_of_one_at_a_thousand_arms_do_not_overflow(policy):
    horizon, n_arms = 10**6, 1000
    parameters, state = policy.parameters(n_arms, horizon), policy.start(n_arms, horizon)
    loop = always_one(policy.kernels)
    loop(parameters, *state, np.arange(n_arms), np.random.default_rng(0), horizon)
    assert state.arms["count"].sum() == horizon
    p = probabilities(parameters, state)
    assert np.isfinite(state.arms["weight"]).all()
    assert p.sum() == pytest.approx(1.0, rel=1e-9)
    assert p.min() >= parameters.gamma / n_arms * (1 - 1e-12)
    assert state.header["total"] == pytest.approx(state.arms["weight"].sum(), rel=1e-9)


def test_the_unit_moves_and_a_negligible_weight_comes_back():
    """One arm alone earns until the other's weight is exp(-1000); then the other earns as much."""
    policy = EXP3(0.5)
    parameters, state = policy.parameters(2, None), policy.start(2, None)
    for arm in (0, 1):
        step = int(state.header["step"])
        while state.arms["log_weight"][arm] < 1000:
            step += 1
            exp3.pull(parameters, *state, arm)
            exp3.learn_exp3(parameters, *state, arm, 1.0, step)
        assert np.isfinite(state.arms["weight"]).all()
        if arm == 0:
            assert state.arms["weight"][1] / state.header["total"] == 0.0
    ratio = state.arms["weight"][1] / state.arms["weight"][0]
    assert math.log(ratio) == pytest.approx(np.diff(state.arms["log_weight"])[0], abs=1e-9)


@pytest.mark.full
def test_exp3s_follows_a_change_and_exp3_does_not():
    """200 runs: the standard errors are below 5."""
    environment = br.Environment.piecewise(
        [[br.Bernoulli(0.2), br.Bernoulli(0.8)], [br.Bernoulli(0.8), br.Bernoulli(0.2)]], [1, 3001]
    )
    exp3s, plain = (
        regret(environment, policy, 6000, 200)[:, -1].mean() for policy in (EXP3S(segments=2), EXP3())
    )
    assert exp3s < 0.5 * plain


@BOTH
def test_late_rewards_are_weighted_by_the_probability_of_their_draw(policy):
    """The slow reference takes in the same rewards in the same order, with p as it was."""
    parameters, state = policy.parameters(3, 400), policy.start(3, 400)
    alpha = getattr(parameters, "alpha", 0.0)
    reference = Reference(3, parameters.gamma, alpha)
    rng = np.random.default_rng(0)
    waiting = []
    for step in range(1, 401):
        arm = policy.kernels.select(parameters, *state, np.arange(3), rng)
        waiting.append((arm, rng.random(), step, probabilities(parameters, state)[arm]))
        policy.kernels.pull(parameters, *state, arm)
        if len(waiting) > 20:
            arm, reward, step, p = waiting.pop(rng.integers(20))
            policy.kernels.learn(parameters, *state, arm, reward, step)
            reference.learn(arm, reward, p)
    assert probabilities(parameters, state) == pytest.approx(reference.probabilities(), rel=1e-9)
    assert state.arms["count"].sum() == 400 - len(waiting)
    assert state.arms["pulls"].sum() == 400


def test_a_reward_whose_probability_is_forgotten_is_left_out():
    policy = EXP3(0.5)
    parameters, state = policy.parameters(2, None), policy.start(2, None)
    for _ in range(exp3.PENDING):
        exp3.pull(parameters, *state, 0)
    exp3.learn_exp3(parameters, *state, 0, 1.0, 1)
    assert state.arms["weight"][0] > 1.0
    exp3.pull(parameters, *state, 0)
    weight = state.arms["weight"][0]
    exp3.learn_exp3(parameters, *state, 0, 1.0, 1)
    assert state.arms["weight"][0] == weight


@pytest.mark.parametrize(("horizon", "length"), [(1, 1), (5, 8), (64, 64), (10**9, 65536), (None, 65536)])
def test_the_ring_holds_the_horizon_or_the_last_pulls(horizon, length):
    assert len(EXP3(0.1).memory(3, horizon)) == length


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: EXP3(0), r"EXP3's gamma must be in \(0, 1\], not 0"),
        (lambda: EXP3(1.1), "EXP3's gamma must be"),
        (lambda: EXP3S(0), "EXP3S's alpha must be"),
        (lambda: EXP3S(gamma=2), "EXP3S's gamma must be"),
        (lambda: EXP3S(segments=0), "EXP3S's segments must be >= 1, not 0"),
        (lambda: EXP3(low=2), "EXP3 needs low < high"),
        (lambda: EXP3().parameters(3, None), "EXP3 without gamma needs the horizon"),
        (lambda: EXP3S(gamma=0.1).parameters(3, None), "EXP3S without alpha needs the horizon"),
        (lambda: EXP3S(alpha=0.1).parameters(3, None), "EXP3S without gamma needs the horizon"),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(br.InvalidValueError, match=message):
        make()


def test_what_must_be_known():
    assert EXP3().must_know == "the range [0, 1], T"
    assert EXP3(0.1).must_know == "the range [0, 1]"
    assert EXP3S().must_know == "the range [0, 1], T, the number of segments"
    assert EXP3S(0.1, 0.1).must_know == "the range [0, 1]"
