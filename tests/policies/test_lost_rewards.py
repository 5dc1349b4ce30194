"""Rewards that never come: a lost one ends no arm, and an arm that pays none does not hold up the others.

The worse arm pays numbers uniform in [0, 0.4], the best one in [0.6, 1]: a reward of each tells which.
"""

import math

import numpy as np
import pytest

import brigand as br
from brigand.policies.kernels import choices
from policies.play import unsteady_loop
from strength import full, runs

# With the catalogue's settings the first five pull all arms alike at such horizons. The others let an arm
# whose rewards are lost wait until those pulls have left the window: a short one here.
OTHER_SETTINGS = {
    "Extended-Robust-UCB": br.ExtendedRobustUCB(4, 2, 3, 0.04),
    "Lattimore": br.Lattimore(3, 0.7),
    "Robust-UCB-Catoni": br.RobustUCB("catoni", v=0.02),
    "Robust-UCB-median": br.RobustUCB("median", v=0.02),
    "Robust-UCB-truncated": br.RobustUCB("truncated", u=0.7),
    "SW-KL-UCB": br.SlidingWindowKLUCB(50),
    "SW-LB-SDA": br.SlidingWindowLBSDA(50),
    "SW-TS": br.SlidingWindowThompson(50),
    "SW-TS-Gaussian": br.SlidingWindowThompsonGaussian(50, 0.5),
    "SW-UCB": br.SlidingWindowUCB(window=50),
}
POLICIES = br.CATALOGUE | OTHER_SETTINGS
LEARNING = [name for name in POLICIES if name not in ("Oracle", "Random")]
# What pulls an arm that tells nothing more often than O(log T), and is meant to.
WINDOW = "an arm that is absent from the window is pulled"
SCHEDULE = "every arm is pulled on a schedule"
CHANCE = "every arm has a chance at every step"
PRIOR = "an arm without a reward has its prior"
MORE_OFTEN = {
    **dict.fromkeys(["SW-FE-Exp", "SW-FE-Linear", "SW-FE-Constant", "SW-KL-UCB", "SW-LB-SDA"], WINDOW),
    **dict.fromkeys(["SW-TS", "SW-TS-Gaussian", "SW-UCB"], WINDOW),
    **dict.fromkeys(["CUSUM-UCB", "FE-Constant", "FE-Linear", "GLR-klUCB-global"], SCHEDULE),
    **dict.fromkeys(["GLR-klUCB-local", "M-UCB", "PHT-UCB"], SCHEDULE),
    **dict.fromkeys(["AdSwitch", "Ada-ILTCB+", "EXP3", "EXP3.S", "eps-greedy", "eps-greedy-gap"], CHANCE),
    **dict.fromkeys(["D-TS", "TS-Beta", "TS-Multinomial"], PRIOR),
}


def pulls_of(name, told, seed):
    """Run a policy of the catalogue; return the pulls of each arm. The best arm is number 1."""
    policy, (horizon, n_arms) = POLICIES[name], told.shape
    rng = np.random.default_rng(seed)
    rewards = 0.4 * rng.random((horizon, n_arms)) + 0.6 * (np.arange(n_arms) == 1)
    parameters, state = policy.parameters(n_arms, horizon), policy.start(n_arms, horizon, seed)
    loop, chosen = unsteady_loop(policy.kernels), np.empty(horizon, np.int64)
    run = loop if full else loop.py_func
    run(parameters, *state, np.ones(told.shape, bool), rewards, told, rng, chosen)
    return np.bincount(chosen, minlength=n_arms)


@pytest.mark.parametrize("name", LEARNING)
def test_a_best_arm_that_loses_its_first_reward_is_still_the_most_pulled(name):
    told = np.ones((1500, 2), bool)
    told[0, 1] = False
    for seed in range(runs(1, 5)):
        assert pulls_of(name, told, seed)[1] > 750


@pytest.mark.parametrize("name", LEARNING)
def test_losing_one_reward_in_twenty_leaves_no_run_with_the_worse_arm(name):
    """Of 200 runs none has less than a quarter of its pulls at the best arm, as when no reward is lost.

    An arm is without an index for three quarters of a run only if 7 rewards in a row are lost: a chance of
    8e-10 a run, 1e-5 for all policies; with a window of 50, only if 5 are: 3e-7, 3e-4 for the five of them.
    Without `is_due`, a first reward lost ends 1 run in 30, or more.
    """
    rng = np.random.default_rng(1)
    for seed in range(runs(10, 200)):
        assert pulls_of(name, np.ones((300, 2), bool), seed)[1] >= 75
        assert pulls_of(name, rng.random((300, 2)) >= 0.05, seed)[1] >= 75


@pytest.mark.parametrize("name", [name for name in LEARNING if name not in MORE_OFTEN])
def test_an_arm_that_never_pays_is_pulled_a_number_of_times_that_grows_like_log_t(name):
    """At most 17 log T + 1 of T = 1500: what Catoni's estimator takes, the most of all (`is_due`)."""
    told = np.ones((1500, 3), bool)
    told[:, 2] = False
    for seed in range(runs(1, 5)):
        pulls = pulls_of(name, told, seed)
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
    told = np.ones((1500, 3), bool)
    told[:, 2] = False
    assert pulls_of(name, told, 0)[2] == math.ceil(2 * least + math.log(1500))
