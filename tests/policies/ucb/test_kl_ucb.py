"""KL-UCB, KL-UCB++ and SW-KL-UCB: the definition step by step, and the identities between them."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

import brigand as br
from brigand.errors import UnsupportedRewardError
from brigand.policies.ucb import kl_ucb, kl_ucb_plus_plus
from brigand.policies.ucb.kl_ucb import KLUCB, SlidingWindowKLUCB
from brigand.policies.ucb.kl_ucb_plus_plus import KLUCBPlusPlus
from policies.play import assert_follows, play, regret, told

FAMILIES = [("bernoulli", 1.0), ("gaussian", 0.3), ("exponential", 1.0), ("poisson", 1.0)]


def d(kind, p, q, sigma):
    if kind == "bernoulli":
        first = p * math.log(p / q) if p > 0 else 0.0
        return first + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)
    if kind == "gaussian":
        return (p - q) ** 2 / (2 * sigma**2)
    return p / q - 1 - math.log(p / q) if kind == "exponential" else q - p + p * math.log(p / q)


def upper(kind, mean, bound, sigma):
    """Return the largest q by scipy, from the definition."""
    far = 1 - 1e-12 if kind == "bernoulli" else mean + 1
    while kind != "bernoulli" and d(kind, mean, far, sigma) < bound:
        far *= 2
    if d(kind, mean, far, sigma) <= bound:
        return far
    return optimize.brentq(lambda q: d(kind, mean, q, sigma) - bound, mean, far, xtol=1e-14)


def positive_rewards(kind, steps=300):
    rng = np.random.default_rng(4)
    if kind == "bernoulli":
        return rng.beta([0.6, 1.0, 1.5, 2.0], 1.2, (steps, 4))
    return rng.gamma(2.0, [0.2, 0.3, 0.4, 0.5], (steps, 4))


@pytest.mark.parametrize("c", [0.0, 3.0])
@pytest.mark.parametrize(("kind", "sigma"), FAMILIES)
def test_kl_ucb_follows_its_definition(kind, sigma, c):
    def index(history, arm):
        rewards = [x for a, x in history if a == arm]
        log = math.log(len(history))
        level = log + c * max(0.0, math.log(log))
        return upper(kind, sum(rewards) / len(rewards), level / len(rewards), sigma)

    assert_follows(KLUCB(kind, c, sigma), positive_rewards(kind), index, late=4)


@pytest.mark.parametrize(("kind", "sigma"), FAMILIES)
def test_kl_ucb_plus_plus_follows_its_definition(kind, sigma):
    def log_plus(x):
        return max(0.0, math.log(x))

    def index(history, arm):
        rewards = [x for a, x in history if a == arm]
        y = 300 / (4 * len(rewards))
        bound = log_plus(y * (1 + log_plus(y) ** 2)) / len(rewards)
        mean = sum(rewards) / len(rewards)
        return upper(kind, mean, bound, sigma) if bound > 0 else mean

    assert_follows(KLUCBPlusPlus(kind, sigma), positive_rewards(kind), index, late=4)


@pytest.mark.parametrize("window", [1, 3, 40])
@pytest.mark.parametrize(("kind", "sigma"), FAMILIES)
def test_sw_kl_ucb_follows_its_definition(kind, sigma, window):
    def index(history, arm):
        rewards = [x for a, x in history[-window:] if a == arm]
        if not rewards:
            return math.inf
        level = math.log(min(len(history), window))
        mean = sum(rewards) / len(rewards)
        return upper(kind, mean, level / len(rewards), sigma) if level > 0 else mean

    policy = SlidingWindowKLUCB(window, kind, 0.0, sigma)
    assert_follows(policy, positive_rewards(kind, 200), index, initial=int(window > 3), late=4)


def test_the_index_by_hand():
    parameters, state = told(KLUCB(), [1.0, 0.0, 0.0, 0.0])
    value = kl_ucb.index(parameters, state.header, state.arms, 0)
    assert 4 * d("bernoulli", 0.25, value, 1) == pytest.approx(math.log(4), rel=1e-12)
    assert kl_ucb.index(parameters, state.header, state.arms, 1) == math.inf
    parameters, state = told(KLUCB("gaussian", 3, 2), [1.0, 3.0, 5.0])
    level = math.log(3) + 3 * math.log(math.log(3))
    expected = 3 + 2 * math.sqrt(2 * level / 3)
    assert kl_ucb.index(parameters, state.header, state.arms, 0) == pytest.approx(expected, rel=1e-14)
    parameters, state = told(KLUCBPlusPlus("gaussian"), [1.0, 3.0], 5, 100)
    expected = 2 + math.sqrt(math.log(10 * (1 + math.log(10) ** 2)))
    assert kl_ucb_plus_plus.index(parameters, *state, 0, None) == pytest.approx(expected, rel=1e-14)


@pytest.mark.every(4)
@pytest.mark.parametrize(("kind", "sigma"), FAMILIES)
@pytest.mark.parametrize("c", [0.0, 3.0])
def test_a_window_of_the_horizon_is_no_window(kind, sigma, c, rewards01):
    tables = [positive_rewards(kind)]
    if kind != "exponential":
        tables.append(rewards01)
    for rewards in tables:
        (expected, _), horizon = play(KLUCB(kind, c, sigma), rewards), len(rewards)
        for window in (horizon, 10 * horizon):
            policy = SlidingWindowKLUCB(window, kind, c, sigma)
            assert play(policy, rewards)[0] == expected
        shorter = SlidingWindowKLUCB(horizon // 4, kind, c, sigma)
        assert play(shorter, rewards)[0] != expected


@pytest.mark.parametrize("policy", [KLUCB(), KLUCB("poisson"), SlidingWindowKLUCB(60)], ids=repr)
def test_passing_arms_over_changes_no_choice(policy, rewards01):
    """The choice is that of `kernels.choices.argmax` over all indices."""
    parameters, state = policy.parameters(4, 400), policy.start(4, 400)
    rng = np.random.default_rng(0)
    for step in range(1, 401):
        arm = policy.kernels.select(parameters, *state, np.arange(4), rng)
        values = np.array([kl_ucb.index(parameters, state.header, state.arms, k) for k in range(4)])
        best = np.flatnonzero(values == values.max())
        assert arm in best
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, rewards01[step - 1, arm], step)


def test_ties_are_broken_uniformly():
    """Chi-square at level 1e-5: arms 0, 1 and 3 have the same rewards, arm 2 is worse."""
    policy = KLUCB()
    parameters, state = policy.parameters(4, 100), policy.start(4, 100)
    for arm, reward in enumerate([0.6, 0.6, 0.1, 0.6]):
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, reward, arm + 1)
    rng = np.random.default_rng(0)
    chosen = [policy.kernels.select(parameters, *state, np.arange(4), rng) for _ in range(6000)]
    counts = np.bincount(chosen, minlength=4)
    assert counts[2] == 0
    assert stats.chisquare(counts[[0, 1, 3]]).pvalue > 1e-5


@pytest.mark.full
def test_the_window_follows_a_change():
    """Measured: a regret of 86 with the window, of 450 without."""
    phases = [[br.Bernoulli(0.1), br.Bernoulli(0.6)], [br.Bernoulli(0.9), br.Bernoulli(0.6)]]
    environment = br.Environment.piecewise(phases, starts=[1, 3001])
    policies = {"SW": SlidingWindowKLUCB(400), "all": SlidingWindowKLUCB(6000)}
    means = {name: regret(environment, policy, 6000, 50)[:, -1].mean() for name, policy in policies.items()}
    assert means["SW"] < 0.5 * means["all"]


def test_another_range_is_rescaled(rewards01):
    for policy in (KLUCB, KLUCBPlusPlus):
        arms, _ = play(policy(low=-1, high=3), 4 * rewards01 - 1)
        assert arms == play(policy(), rewards01)[0]


def test_rewards_outside_of_the_support_are_refused():
    for kind in ("bernoulli", "exponential", "poisson"):
        with pytest.raises(UnsupportedRewardError, match="KLUCB needs rewards in"):
            br.trace(KLUCB(kind), [[-0.5, 0.5]])
    with pytest.raises(UnsupportedRewardError):
        br.trace(KLUCB(), [[1.5, 0.5]])


@pytest.mark.parametrize("cls", [KLUCB, KLUCBPlusPlus, lambda **kw: SlidingWindowKLUCB(9, **kw)])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"divergence": "gamma"}, "divergence must be one of bernoulli, gaussian, exponential, poisson"),
        ({"divergence": ["gaussian"]}, r"not \['gaussian'\]"),
        ({"divergence": "gaussian", "sigma": 0}, "sigma must be > 0, not 0"),
        ({"sigma": 2}, "sigma = 2.0 needs divergence = 'gaussian'"),
        ({"divergence": "poisson", "high": 2}, "low and high need divergence = 'bernoulli'"),
        ({"low": 1}, "low < high"),
    ],
)
def test_bad_settings_are_refused(cls, arguments, message):
    with pytest.raises(br.InvalidValueError, match=message):
        cls(**arguments)


def test_bad_settings_of_one_policy_and_the_horizon():
    with pytest.raises(br.InvalidValueError, match="KLUCB's c must be >= 0"):
        KLUCB(c=-1)
    with pytest.raises(br.InvalidValueError, match="window must be"):
        SlidingWindowKLUCB(0)
    with pytest.raises(br.InvalidValueError, match="SlidingWindowKLUCB's c must be >= 0"):
        SlidingWindowKLUCB(5, c=-1)
    with pytest.raises(br.InvalidValueError, match="KLUCBPlusPlus needs the horizon"):
        KLUCBPlusPlus().parameters(3, None)


def test_what_must_be_known_memory_and_support():
    assert KLUCB("gaussian").must_know == "the family of rewards, sigma"
    assert KLUCBPlusPlus().must_know == "the range [0, 1], T"
    assert SlidingWindowKLUCB(9).memory_cost == "O(K + window)"
    assert KLUCB("gaussian").reward_support == (-math.inf, math.inf)
