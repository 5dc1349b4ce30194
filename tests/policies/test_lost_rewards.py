"""Rewards that never come: a lost one ends no arm, and an arm that pays none does not hold up the others.

The worse arm pays numbers uniform in [0, 0.4], the best one in [0.6, 1]: a reward of each tells which.
"""

import math

import numpy as np
import pytest

import brigand as br
from brigand.policies.kernels import choices
from brigand.simulation.step import trace_loop
from policies.expectations import expected
from strength import runs, some

# With the catalogue's settings some policies pull all arms alike at such horizons. Others let an arm whose
# rewards are lost wait until those pulls have left the window: a short one here.
POLICIES = {name: expected(name).for_losses or policy for name, policy in br.CATALOGUE.items()}
LEARNING = [n for n in POLICIES if expected(n).learns and not expected(n).knows_the_arms]


def arms_of(name, lost, seed):
    """Run a policy of the catalogue; return the arms. The best one is number 1.

    ``lost[t, k]`` says if a reward of arm k for a pull at step t, from 0, never comes.
    """
    policy, (horizon, n_arms) = POLICIES[name], lost.shape
    rng = np.random.default_rng(seed)
    rewards = 0.4 * rng.random((horizon, n_arms)) + 0.6 * (np.arange(n_arms) == 1)
    rewards[lost] = math.nan
    parameters, state = policy.parameters(n_arms, horizon), policy.start(n_arms, horizon, seed)
    chosen = np.empty(horizon, np.int64)
    trace_loop(policy.kernels)(parameters, *state, np.arange(n_arms), rewards, rng, chosen)
    return chosen


def pulls_of(name, lost, seed):
    """Return the pulls of each arm."""
    return np.bincount(arms_of(name, lost, seed), minlength=lost.shape[1])


@pytest.mark.parametrize("name", some(LEARNING))
def test_a_best_arm_that_loses_its_first_reward_is_still_the_most_pulled(name):
    for seed in range(5):
        lost = np.zeros((1500, 2), bool)
        first = (arms_of(name, lost, seed) == 1).argmax()
        lost[first, 1] = True  # up to then nothing is different
        assert pulls_of(name, lost, seed)[1] > 750


@pytest.mark.parametrize("name", some(LEARNING))
def test_losing_one_reward_in_twenty_leaves_no_run_with_the_worse_arm(name):
    """Of 200 runs none has less than a quarter of its pulls at the best arm, as when no reward is lost.

    An arm is without an index for three quarters of a run only if 7 rewards in a row are lost: a chance of
    8e-10 a run, 1e-5 for all policies; with a window of 50, only if 5 are: 3e-7, 3e-4 for the five of them.
    Without `needs_pull`, a first reward lost ends 1 run in 30, or more.
    """
    rng = np.random.default_rng(1)
    for seed in range(runs(40, 200)):
        assert pulls_of(name, np.zeros((300, 2), bool), seed)[1] >= 75
        assert pulls_of(name, rng.random((300, 2)) < 0.05, seed)[1] >= 75


@pytest.mark.parametrize("name", some([name for name in LEARNING if not expected(name).often_unpaid]))
def test_an_arm_that_never_pays_is_pulled_a_number_of_times_that_grows_like_log_t(name):
    """At most 17 log T + 1 of T = 1500: what Catoni's estimator takes, the most of all (`needs_pull`)."""
    lost = np.tile([False, False, True], (1500, 1))
    for seed in range(5):
        pulls = pulls_of(name, lost, seed)
        assert pulls[2] <= 17 * math.log(1500) + 1
        assert pulls[1] > 750


def test_when_an_arm_is_due_by_hand():
    """Two of 1 reward and log 8 = 2.08; two of 2.5 rewards and log 8."""
    assert [choices.needs_pull(pulls, 1.0, 7) for pulls in (0, 2, 4, 5, 90)] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert [choices.needs_pull(pulls, 2.5, 7) for pulls in (0, 7, 8, 90)] == [1, 1, 0, 0]
    assert choices.needs_pull(0, 1.0, 0)


@pytest.mark.parametrize(("name", "least"), [("UCB1", 1), ("UCB-Normal", 3), ("TS-Gaussian-unknown", 5)])
def test_an_arm_that_never_pays_gets_the_pulls_that_it_is_due(name, least):
    lost = np.tile([False, False, True], (1500, 1))
    assert pulls_of(name, lost, 0)[2] == math.ceil(2 * least + math.log(1500))
