"""Robust UCB with its three estimators: against the definition, against plain Python, in law."""

import math

import numpy as np
import pytest
from scipy import optimize

import brigand as br
from brigand.policies.heavy_tails import catoni, robust_ucb
from brigand.policies.heavy_tails.robust_ucb import RobustUCB
from policies.play import regret

POLICIES = [
    RobustUCB("truncated", u=0.5),
    RobustUCB("truncated", 0.5, u=0.7),
    RobustUCB("median", v=0.01),
    RobustUCB("median", 0.5, v=0.05),
    RobustUCB("catoni", v=0.25),
]


def index_of(policy):
    return catoni.index if policy.estimator == "catoni" else robust_ucb.index


def truncated(policy, x, t):
    n, log, eps = len(x), 2 * math.log(t), policy.eps
    if n == 0:
        return math.inf
    j = np.arange(1, n + 1)
    mean = x[np.abs(x) <= (policy.u * j / log) ** (1 / (1 + eps))].sum() / n
    return mean + 4 * policy.u ** (1 / (1 + eps)) * (log / n) ** (eps / (1 + eps))


def median(policy, x, t):
    n, log, eps = len(x), 2 * math.log(t), policy.eps
    if n < 2:
        return math.inf
    k = max(1, math.floor(min(8 * (log + 1 / 8), n / 2)))
    length = n // k
    value = np.median([x[b * length : (b + 1) * length].mean() for b in range(k)])
    width = (12 * policy.v) ** (1 / (1 + eps)) * (16 * (log + 1 / 8) / n) ** (eps / (1 + eps))
    return value + width


def catonis(policy, x, t):
    n, log, v = len(x), 2 * math.log(t), policy.v
    if n == 0 or n < 8 * math.log(t):
        return math.inf
    alpha = math.sqrt(2 * log / (n * (v + 2 * v * log / (n - 2 * log))))

    def total(theta):
        z = alpha * (x - theta)
        return (np.sign(z) * np.log(1 + np.abs(z) + z**2 / 2)).sum()

    return optimize.brentq(total, x.min(), x.max(), xtol=1e-14) + 2 * math.sqrt(v * log / n)


REFERENCE = {"truncated": truncated, "median": median, "catoni": catonis}


@pytest.mark.every(4)
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@pytest.mark.parametrize("tails", ["normal", "heavy"])
def test_every_index_and_choice_follow_the_definition(policy, tails):
    rng = np.random.default_rng(4)
    noise = rng.standard_normal((500, 3)) if tails == "normal" else rng.standard_t(1.7, (500, 3))
    rewards = np.array([0.1, 0.4, 0.6]) + 0.4 * noise
    rewards[150:180] *= 30.0
    parameters, state = policy.parameters(3, 500), policy.start(3, 500)
    seen = [[], [], []]
    for step in range(1, 501):
        expected = [REFERENCE[policy.estimator](policy, np.array(x), step) for x in seen]
        found = [index_of(policy)(parameters, *state, k, rng) for k in range(3)]
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-11)
        arm = policy.kernels.select(parameters, *state, np.arange(3), rng)
        assert expected[arm] >= max(expected) - 1e-9
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, rewards[step - 1, arm], step)
        seen[arm].append(rewards[step - 1, arm])


def test_the_indices_by_hand():
    rewards = [0.5, 3.0, -0.25, 1.0]
    log = 2 * math.log(5)  # thresholds sqrt(j / 3.22): 0.557, 0.788, 0.965, 1.115: the 3 goes
    for policy, expected in [
        (RobustUCB("truncated", u=1.0), 1.25 / 4 + 4 * math.sqrt(log / 4)),
        (RobustUCB("median", v=1.0), (1.75 + 0.375) / 2 + math.sqrt(12) * math.sqrt(16 * (log + 0.125) / 4)),
    ]:
        parameters, state = policy.parameters(2, 9), policy.start(2, 9)
        for step, reward in enumerate(rewards, start=1):
            policy.kernels.pull(parameters, *state, 0)
            policy.kernels.learn(parameters, *state, 0, reward, step)
        assert robust_ucb.index(parameters, *state, 0, None) == pytest.approx(expected, rel=1e-14)
        assert robust_ucb.index(parameters, *state, 1, None) == math.inf


@pytest.mark.parametrize(
    ("policy", "width"),
    [
        (RobustUCB("truncated", u=1), 0.54),
        (RobustUCB("median", v=1), 1.88),
        (RobustUCB("catoni", v=1), 0.27),
    ],
)
def test_the_widths_at_a_usual_horizon(policy, width):
    """1000 rewards of 0 at step 10,000: the index is the width, as in the specification."""
    parameters, state = policy.parameters(2, 10_000), policy.start(2, 10_000)
    for step in range(1, 10_000):
        if step <= 9000 - 1:
            state.header["step"] += 1
            state.arms[1]["pulls"] += 1
            continue
        policy.kernels.pull(parameters, *state, 0)
        policy.kernels.learn(parameters, *state, 0, 0.0, step)
    assert index_of(policy)(parameters, *state, 0, None) == pytest.approx(width, abs=0.01)


def test_an_outlier_leaves_no_rounding_behind():
    """With plain prefix sums every later block mean would be 0; here they are exact."""
    for policy in (RobustUCB("truncated", u=1.0), RobustUCB("median", v=1.0)):
        parameters, state = policy.parameters(1, 100), policy.start(1, 100)
        for step in range(1, 101):
            policy.kernels.pull(parameters, *state, 0)
            policy.kernels.learn(parameters, *state, 0, 1e300 if step == 1 else 0.25, step)
        share = 0.25 if policy.estimator == "median" else None
        if share is None:
            j = np.arange(1, 101)
            share = 0.25 * ((j > 1) & (j / (2 * math.log(101)) >= 0.0625)).sum() / 100
        assert state.arms["estimate"][0] == pytest.approx(share, rel=1e-14)


def test_sums_are_made_anew_only_when_a_reward_expires():
    policy = RobustUCB("truncated", u=1.0)
    parameters, state = policy.parameters(1, 2000), policy.start(1, 2000)
    rng = np.random.default_rng(3)
    times, last = 0, 0.0
    for step in range(1, 2001):
        policy.kernels.pull(parameters, *state, 0)
        times += state.arms["expiry"][0] > last
        policy.kernels.learn(parameters, *state, 0, float(rng.standard_normal()), step)
        last = state.arms["expiry"][0]
    assert 1 <= times < 2 * math.log(2000) * math.log(2000)


@pytest.mark.full
@pytest.mark.parametrize(
    ("policy", "horizon", "n"),
    [
        (RobustUCB("truncated", u=0.7), 100_000, 10),
        (RobustUCB("median", v=0.21), 100_000, 10),
        (RobustUCB("catoni", v=0.21), 2000, 100),
    ],
    ids=["truncated", "median", "catoni"],
)
def test_it_learns(policy, horizon, n):
    """Random pulls cost 0.2 a step. The bounds of the paper are far above; the first two need a long run."""
    environment = br.Environment.stationary([br.Bernoulli(0.3), br.Bernoulli(0.7)])
    assert regret(environment, policy, horizon, n, seed=2)[:, -1].mean() < 0.07 * horizon


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"estimator": "mean", "u": 1}, "must be 'truncated', 'median' or 'catoni', not 'mean'"),
        ({"estimator": 3, "u": 1}, "not 3"),
        ({}, "'truncated' takes u, and no other moment"),
        ({"v": 1}, "'truncated' takes u"),
        ({"estimator": "median", "u": 1}, "'median' takes v"),
        ({"estimator": "median", "u": 1, "v": 1}, "'median' takes v"),
        ({"estimator": "catoni", "v": 1, "eps": 0.5}, "'catoni' needs eps = 1, not 0.5"),
        ({"u": 1, "eps": 0}, r"eps must be in \(0, 1\], not 0"),
        ({"u": 1, "eps": 1.5}, "eps must be in"),
        ({"u": 0}, "u must be > 0, not 0"),
        ({"estimator": "median", "v": -1}, "v must be > 0, not -1"),
    ],
)
def test_bad_settings_are_refused_by_name(arguments, message):
    with pytest.raises(br.InvalidValueError, match=message):
        RobustUCB(**arguments)


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_the_horizon_is_needed(policy):
    with pytest.raises(br.InvalidValueError, match="RobustUCB needs the horizon"):
        policy.start(2, None)
    assert policy.memory_cost == "O(K + T)"
