"""What the policies that look for changes have in common: rises and falls are alike, false alarms counted.

Measured with default tuning, in 10,000 steps of five Bernoulli arms. First two columns: all stay at 0.5 (2000
runs). Last two: share of runs with an alarm after one arm of the five has changed in the middle (400 runs).

    policy                        runs with an alarm   alarms a run   0.7 -> 0.3   0.3 -> 0.7
    CUSUM-UCB (changes=1)              100 %              19.4           100 %        100 %
    PHT-UCB (changes=1)                 99.95 %            8.2           100 %        100 %
    M-UCB (changes=1)                    0 %               0             100 %         98 %
    GLR-klUCB, local or global           0.05 %            0.0005        100 %         99 %
    AdSwitch                             0 %               0             100 %        100 %
    Ada-ILTCB+                           0 %               0               3 %          2 %

With h = log(T / changes) and eps = 0.05 the walks of the first two reach h by chance: where the mean is
known, after 1130 pulls of an arm on average (Siegmund's approximation for Gaussian rewards of the same
spread), which is 8.8 alarms in 10,000 steps. CUSUM-UCB has more, because its level is the mean of M = 50
rewards, which is more than eps off in every second case. With h = 30, 0.15 % of the runs of PHT-UCB and 93
% of those of CUSUM-UCB have an alarm; with eps = 0.1, 40 % and 98 %; with eps = 0.1 and M = 200, 79 % of
CUSUM-UCB's.
"""

import math

import numpy as np
import pytest
from scipy import stats

from brigand.policies.changes.ad_switch import AdSwitch
from brigand.policies.changes.ada_iltcb import AdaILTCB
from brigand.policies.changes.cusum_ucb import CUSUMUCB, PHTUCB
from brigand.policies.changes.glr_klucb import GLRKLUCB
from brigand.policies.changes.m_ucb import MUCB
from policies.play import play
from strength import runs


def alarms(state):
    """Return how many alarms there were."""
    if "restarts" in state.arms.dtype.names:
        return int(state.arms["restarts"].sum())
    if "restarts" in state.header.dtype.names:
        return int(state.header["restarts"])
    return int(state.header["episode" if "episode" in state.header.dtype.names else "epoch"]) - 1


def alarm_steps(policy, rewards):
    """Pull the arms in turn; return the steps at which an alarm came, and the state at the end."""
    horizon, n_arms = rewards.size, rewards.shape[1]
    parameters, state = policy.parameters(n_arms, horizon), policy.start(n_arms, horizon)
    steps, before = [], 0
    for step, reward in enumerate(rewards.ravel(), start=1):
        arm = (step - 1) % n_arms
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, reward, step)
        if alarms(state) > before:
            before = alarms(state)
            steps.append(step)
    return steps, state


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "policy",
    [
        CUSUMUCB(changes=1),
        PHTUCB(changes=1),
        MUCB(400, changes=1),
        GLRKLUCB(),
        GLRKLUCB(local=False),
        AdSwitch(),
    ],
    ids=repr,
)
def test_rises_and_falls_are_seen_alike(policy):
    """One of two arms moves from 0.3 to 0.7: the rewards 1 - x give the same alarms at the same steps."""
    for seed in range(2):
        means = np.repeat([[0.3, 0.5], [0.7, 0.5]], 1000, axis=0)
        rewards = (np.random.default_rng(seed).random(means.shape) < means).astype(float)
        rise, fall = (alarm_steps(policy, x)[0] for x in (rewards, 1.0 - rewards))
        assert rise == fall
        assert any(2000 < step < 4000 for step in rise)


def test_ad_switch_sees_an_eliminated_arm_rise_and_fall_alike():
    policy = AdSwitch(c1=1.0, checks_every=10, c2=0.05)
    rewards = np.tile([0.75, 0.25], (1000, 1))
    steps, state = alarm_steps(policy, rewards)
    assert steps == []
    assert state.arms["bad"].tolist() == [0, 1]
    change = np.where(np.arange(1000) < 600, 0.0, 0.2)[:, None] * [0, 1]
    rise, fall = (alarm_steps(policy, x)[0] for x in (rewards + change, rewards - change))
    assert rise == fall
    assert len(rise) == 1
    assert 1200 < rise[0] < 1500


def found(policy, before, after, n):
    """Return in how many runs there is an alarm when one arm of two changes, the other being at 0.5."""
    means = np.repeat([[before, 0.5], [after, 0.5]], 5000, axis=0)
    count = 0
    for seed in range(n):
        rewards = (np.random.default_rng(seed).random(means.shape) < means).astype(float)
        count += alarms(play(policy, rewards, key=seed, seed=seed + 10**6, compiled=True)[1]) > 0
    return count


@pytest.mark.full
def test_ada_iltcb_sees_rises_and_falls_alike():
    """Its weights are not those of 1 - x: 400 runs each, of which about half find the change.

    Fisher's exact test at level 1e-4.
    """
    policy = AdaILTCB(length=0.25)
    n = 400
    rise, fall = found(policy, 0.3, 0.7, n), found(policy, 0.7, 0.3, n)
    assert stats.fisher_exact([[rise, n - rise], [fall, n - fall]]).pvalue > 1e-4
    assert min(rise, fall) > n / 4
    assert found(policy, 0.5, 0.5, 100) == 0


@pytest.mark.parametrize(
    ("policy", "share", "number"),
    [
        (CUSUMUCB(changes=1), 1.0, 20.0),
        (PHTUCB(changes=1), 1.0, 8.5),
        *(
            pytest.param(policy, 0.005, 0.01, marks=pytest.mark.full)
            for policy in (MUCB(changes=1), GLRKLUCB(), AdSwitch(), AdaILTCB())
        ),
    ],
    ids=repr,
)
def test_false_alarms_are_no_more_frequent_than_stated(policy, share, number):
    """400 runs: binomial test of the share with an alarm, normal test of the mean number; level 1e-4 each.

    GLR-klUCB is the same with local and global restarts, up to the first alarm.
    """
    counts, n = [], runs(40, 400)
    for seed in range(n):
        rewards = (np.random.default_rng(seed).random((10_000, 5)) < 0.5).astype(float)
        counts.append(alarms(play(policy, rewards, key=seed, seed=seed + 10**6, compiled=True)[1]))
    some = int(np.count_nonzero(counts))
    assert stats.binomtest(some, n, share, alternative="greater").pvalue > 1e-4
    assert np.mean(counts) < number + 3.72 * np.std(counts) / math.sqrt(n)
