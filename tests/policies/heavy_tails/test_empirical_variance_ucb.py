"""Empirical-variance UCB: the authors' sequence, the index by hand, the rule for sd = 0."""

import math

import numpy as np
import pytest

import brigand as br
from brigand.policies.heavy_tails import empirical_variance_ucb
from brigand.policies.heavy_tails.empirical_variance_ucb import EmpiricalVarianceUCB
from policies.play import regret

AUTHORS = EmpiricalVarianceUCB(initial_pulls=1, c=0)
POLICIES = [EmpiricalVarianceUCB(), AUTHORS, EmpiricalVarianceUCB(2.0, 3, 4.0)]


def test_the_authors_sequence_arm_by_arm(traces):
    assert np.array_equal(br.trace(AUTHORS, traces["rewards"]), traces["Lattimore"])


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_every_choice_follows_the_definition(policy):
    horizon = 600
    rewards = np.array([0.1, 0.3, 0.6]) + np.random.default_rng(4).standard_normal((horizon, 3))
    seen = [[], [], []]
    for step, arm in enumerate(br.trace(policy, rewards)):
        first = step // 3
        if first < policy.initial_pulls:
            expected = step % 3
        else:
            log = math.log(horizon)
            expected = np.argmax(
                [
                    math.inf
                    if np.std(x) == 0 and len(x) < policy.c * log
                    else np.mean(x) + math.sqrt(policy.factor) * np.std(x) * math.sqrt(log / len(x))
                    for x in seen
                ]
            )
        assert arm == expected
        seen[arm].append(rewards[step, arm])


def test_the_index_by_hand():
    policy = EmpiricalVarianceUCB()
    parameters, state = policy.parameters(2, 100), policy.start(2, 100)
    assert empirical_variance_ucb.index(parameters, *state, 0, None) == math.inf
    for step, reward in enumerate([0.0, 1.0, 1.0, 0.0], start=1):
        policy.kernels.pull(parameters, *state, 0)
        policy.kernels.learn(parameters, *state, 0, reward, step)
    expected = 0.5 + math.sqrt(24) * 0.5 * math.sqrt(math.log(100) / 4)
    assert empirical_variance_ucb.index(parameters, *state, 0, None) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(("c", "pulls"), [(0.0, 2), (1.0, 5), (3.0, 14)])
def test_an_arm_without_spread_is_infinite_below_c_log_t(c, pulls):
    """log 100 = 4.6. Arm 0 always pays 0, and has no bonus once it has a finite index."""
    rewards = np.column_stack([np.zeros(100), np.random.default_rng(0).random(100)])
    arms = br.trace(EmpiricalVarianceUCB(c=c), rewards)
    assert (arms == 0).sum() == pulls


@pytest.mark.full
def test_the_stand_in_leaves_the_best_arm_in_some_runs_and_ours_does_not():
    """Bernoulli(0.5) and (0.7): one pull each misleads in 15 % of the runs. Level below 1e-9, 200 runs."""
    environment = br.Environment.stationary([br.Bernoulli(0.5), br.Bernoulli(0.7)])
    regrets = [
        regret(environment, policy, 2000, 200, seed=3) for policy in (AUTHORS, EmpiricalVarianceUCB(c=8))
    ]
    stuck = [(found[:, -1] > 0.9 * 0.2 * 2000).mean() for found in regrets]
    assert 0.05 < stuck[0] < 0.3
    assert stuck[1] == 0.0


@pytest.mark.full
def test_the_distribution_of_regret_is_that_of_the_authors_script():
    """Their medians over 100 runs are 510 (Bernoulli) and 585 (Gaussian), with quartiles far apart.

    Of 60 runs between 25 % and 75 % are below a true median but for a chance of 6e-5 on each side.
    """
    for family, median in (("bernoulli", 510.3), ("gaussian", 585.2)):
        environment = br.random_environment(family, 10, 100_000, seed=1)
        below = (regret(environment, AUTHORS, 100_000, 60, seed=5)[:, -1] < median).mean()
        assert 0.25 < below < 0.75


def test_an_arm_whose_rewards_never_arrive_is_not_pulled_for_ever():
    policy = EmpiricalVarianceUCB(c=4)
    parameters, state = policy.parameters(3, 2000), policy.start(3, 2000)
    rng = np.random.default_rng(0)
    for step in range(1, 2001):
        arm = policy.kernels.select(parameters, *state, np.arange(3), rng)
        policy.kernels.pull(parameters, *state, arm)
        if arm != 2:
            policy.kernels.learn(parameters, *state, arm, [0.2, 0.8][arm] + 0.1 * rng.random(), step)
    assert state.arms["pulls"][2] == 31  # 4 log 2000 = 30.4
    assert state.arms["pulls"][1] > 1500


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"factor": 0}, "factor must be > 0, not 0"),
        ({"initial_pulls": 0}, "initial_pulls must be >= 1, not 0"),
        ({"initial_pulls": 1.5}, "initial_pulls must be an integer"),
        ({"c": -1}, "c must be >= 0, not -1"),
    ],
)
def test_bad_settings_are_refused_by_name(arguments, message):
    with pytest.raises(br.InvalidValueError, match=message):
        EmpiricalVarianceUCB(**arguments)


def test_the_horizon_is_needed():
    with pytest.raises(br.InvalidValueError, match="EmpiricalVarianceUCB needs the horizon"):
        EmpiricalVarianceUCB().parameters(2, None)
