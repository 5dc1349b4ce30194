"""DMED: the published lists in plain Python, a case by hand, batches, arms that are away, settings."""

import math

import numpy as np
import pytest

import brigand as br
from brigand.policies.divergence.dmed import DMED
from policies.divergence.test_imed import FAMILIES, d
from policies.play import play


def reference(rewards, kind, sigma):
    """Return the arms that the published algorithm pulls."""
    n_arms, paid, pulled = rewards.shape[1], [[] for _ in range(rewards.shape[1])], []

    def pull(arm):
        if len(pulled) < len(rewards):
            paid[arm].append(rewards[len(pulled), arm])
            pulled.append(arm)

    def in_question(arm):
        means = [np.mean(x) for x in paid]
        n, best = len(paid[arm]), max(means)
        cost = n * d(kind, means[arm], best, sigma) if means[arm] < best else 0.0
        return cost <= math.log(len(pulled)) - math.log(n)

    for arm in range(n_arms):
        pull(arm)
    current = remaining = list(range(n_arms))
    while len(pulled) < len(rewards):
        following = set()
        for arm in current:
            pull(arm)
            remaining = [other for other in remaining if other != arm]
            following |= {other for other in range(n_arms) if other not in remaining and in_question(other)}
        current = remaining = sorted(following)
    return pulled


@pytest.mark.parametrize(("kind", "sigma"), FAMILIES)
def test_it_is_the_published_algorithm(kind, sigma):
    rewards = np.random.default_rng(4).gamma(2.0, [0.2, 0.3, 0.4, 0.5], (300, 4))
    if kind == "bernoulli":
        rewards = rewards / (1 + rewards)
    assert play(DMED(kind, sigma), rewards)[0] == reference(rewards, kind, sigma)


def test_a_run_by_hand():
    """Arm 0 pays 1 and arm 1 pays 0: no law of [0, 1] with mean 1 pays 0, so arm 1 has two pulls."""
    assert play(DMED(), np.tile([1.0, 0.0], (8, 1)))[0] == [0, 1, 0, 1, 0, 0, 0, 0]


def test_equal_arms_are_pulled_in_turn():
    """All have N = n / 3 when a list ends, and so are in question."""
    assert play(DMED(), np.full((12, 3), 0.5))[0] == [0, 1, 2] * 4


def told(rewards):
    """Return parameters and state after rewards of each arm, all due arms pulled."""
    policy = DMED()
    parameters, state = policy.parameters(len(rewards), None), policy.start(len(rewards), None)
    for arm, values in enumerate(rewards):
        for reward in values:
            policy.kernels.pull(parameters, *state, arm)
            policy.kernels.learn(parameters, *state, arm, reward, int(state.header["step"]))
    return parameters, state


def test_a_batch_without_rewards_pulls_all_arms_in_question_in_turn():
    parameters, state = told([[1, 0, 1, 0, 1, 0], [0.5] * 6, [0] * 6])
    pulled = []
    for _ in range(8):
        pulled.append(DMED.kernels.select(parameters, *state, np.arange(3), None))
        DMED.kernels.pull(parameters, *state, pulled[-1])
    assert pulled[-6:] == [0, 1] * 3
    assert 2 not in pulled[2:]


def test_arms_that_are_gone_neither_lead_nor_hold_up_the_list():
    parameters, state = told([[1] * 5, [1, 0, 0, 1, 1], [0, 1, 0, 1, 1]])
    pulled = []
    for _ in range(6):
        pulled.append(DMED.kernels.select(parameters, *state, np.array([1, 2]), None))
        DMED.kernels.miss(parameters, *state, 0)
        DMED.kernels.pull(parameters, *state, pulled[-1])
        DMED.kernels.learn(parameters, *state, pulled[-1], 0.6, int(state.header["step"]))
    assert pulled == [1, 2] * 3
    # Arm 0 was due, or in the next list, when it went: it is pulled when it is back.
    back = DMED.kernels.select(parameters, *state, np.array([0, 1, 2]), None)
    assert back == 0 or state.arms["due"][0] == state.arms["next"][0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"divergence": "gamma"}, "DMED's divergence must be one of bernoulli, gaussian"),
        ({"sigma": 2}, "sigma = 2.0 needs divergence = 'gaussian'"),
        ({"low": 1}, "low < high"),
    ],
)
def test_bad_settings_are_refused(arguments, message):
    with pytest.raises(br.InvalidValueError, match=message):
        DMED(**arguments)
