"""IMED: the definition step by step, exact cases, what is impossible, settings."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

import brigand as br
from brigand.policies.divergence import imed
from brigand.policies.divergence.imed import IMED
from policies.play import assert_follows, of, play

FAMILIES = [("bernoulli", 1.0), ("gaussian", 0.3), ("exponential", 1.0), ("poisson", 1.0)]


def d(kind, p, q, sigma):
    """Return the divergence from its definition, for p < q."""
    if kind == "bernoulli":
        if q == 1:
            return math.inf
        return (p * math.log(p / q) if p > 0 else 0.0) + (1 - p) * math.log((1 - p) / (1 - q))
    if kind == "gaussian":
        return (p - q) ** 2 / (2 * sigma**2)
    if kind == "exponential":
        return p / q - 1 - math.log(p / q) if p > 0 else math.inf
    return q - p + (p * math.log(p / q) if p > 0 else 0.0)


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize(("kind", "sigma"), FAMILIES)
def test_it_follows_its_definition(kind, sigma, binary, rewards01):
    def index(history, arm):
        means = [of(history, k).mean() for k in range(4)]
        n, best = len(of(history, arm)), max(means)
        cost = n * d(kind, means[arm], best, sigma) if means[arm] < best else 0.0
        return math.exp(-cost) / n

    rewards = np.random.default_rng(4).gamma(2.0, [0.2, 0.3, 0.4, 0.5], (300, 4))
    if kind == "bernoulli":
        rewards = rewards / (1 + rewards)
    if binary:
        rewards = rewards01[:300] + (kind == "exponential")
    assert_follows(IMED(kind, sigma), rewards, index, late=4)


def told(policy, rewards):
    """Return parameters and state after some rewards of each arm."""
    parameters, state = policy.parameters(len(rewards), 100), policy.start(len(rewards), 100)
    for arm, values in enumerate(rewards):
        for reward in values:
            policy.kernels.pull(parameters, *state, arm)
            policy.kernels.learn(parameters, *state, arm, reward, int(state.header["step"]))
    return parameters, state


def propensities(policy, rewards):
    parameters, state = told(policy, rewards)
    every = np.arange(len(rewards))
    return [policy.kernels.propensity(parameters, *state, every, arm) for arm in every]


@pytest.mark.parametrize(
    ("policy", "rewards", "expected"),
    [
        (IMED(), [[1, 0], [0]], [0.5, 0.5]),  # log 2, and d(0, 1/2) = log 2
        (IMED(), [[1, 0], [0, 0]], [1, 0]),  # log 2 < 2 log 2 + log 2
        (IMED(), [[1, 0, 1, 1], [0, 0]], [1, 0]),  # log 4 < 2 log 4 + log 2
        (IMED(), [[1, 0, 1, 1, 0, 1], [0]], [0, 1]),  # log 6 > log 3
        (IMED(), [[1] * 1000, [0], [0.9]], [1, 0, 0]),  # no law of [0, 1] with mean 1 pays less
        (IMED(), [[0], [0], [0, 0]], [0.5, 0.5, 0]),
        (IMED("gaussian", 0.5), [[2, 2], [1]], [1, 0]),  # log 2 < 1 / (2 / 4) = 2
        (IMED("gaussian", 0.5), [[2] * 8, [1]], [0, 1]),  # log 8 > 2
        (IMED("poisson"), [[1, 1, 1], [0]], [0, 1]),  # log 3 > d(0, 1) = 1
        (IMED("poisson"), [[1, 1], [0]], [1, 0]),
        (IMED("exponential"), [[1, 1, 1], [0]], [1, 0]),  # an exponential reward is never 0
        (IMED("exponential"), [[1, 1], [0.5]], [0, 1]),  # log 2 > 1/2 - 1 - log 1/2 = 0.19
    ],
)
def test_choices_by_hand(policy, rewards, expected):
    assert propensities(policy, rewards) == expected


def test_the_largest_mean_is_that_of_the_arms_that_are_there():
    parameters, state = told(IMED(), [[1, 1], [1, 0], [0]])
    assert IMED.kernels.propensity(parameters, *state, np.array([0, 1, 2]), 0) == 1
    assert [IMED.kernels.propensity(parameters, *state, np.array([1, 2]), arm) for arm in (1, 2)] == [0.5] * 2


def test_the_evidence_is_accurate_where_it_is_small():
    """100,000 rewards, the means 1e-3 apart: N d against 40 digits."""
    parameters, state = told(IMED(), [[0.5], [0.499]])
    state.arms["count"] = 100_000
    with localcontext(prec=40):
        p, q = Decimal.from_float(0.499), Decimal.from_float(0.5)
        exact = 100_000 * (p * (p / q).ln() + (1 - p) * ((1 - p) / (1 - q)).ln())
    theta, psi = imed.natural(parameters.kind, 0.5)
    found = imed.evidence(parameters, state.arms, 1, 0.5, theta, psi)
    assert found == pytest.approx(float(exact), rel=1e-9)


def test_another_range_is_rescaled(rewards01):
    assert play(IMED(low=-1, high=3), 4 * rewards01 - 1)[0] == play(IMED(), rewards01)[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"divergence": "gamma"}, "IMED's divergence must be one of bernoulli, gaussian"),
        ({"divergence": "gaussian", "sigma": 0}, "IMED's sigma must be > 0, not 0"),
        ({"sigma": math.nan}, "IMED's sigma must be"),
        ({"sigma": 2}, "sigma = 2.0 needs divergence = 'gaussian'"),
        ({"divergence": "poisson", "high": 2}, "low and high need divergence = 'bernoulli'"),
        ({"low": 1}, "low < high"),
    ],
)
def test_bad_settings_are_refused(arguments, message):
    with pytest.raises(br.InvalidValueError, match=message):
        IMED(**arguments)


def test_what_must_be_known_and_the_support():
    assert IMED().must_know == "the range [0, 1]"
    assert IMED("gaussian").must_know == "the family of rewards, sigma"
    assert IMED("poisson").reward_support == (0, math.inf)
