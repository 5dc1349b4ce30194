"""SSMC: against a slow reference written from the definition, and the published regrets."""

import math

import numpy as np
import pytest

import brigand as br
from brigand.policies.kernels.randomness import uniform_at
from brigand.policies.subsampling.ssmc import SSMC
from policies.play import play, regret


def wins(challenger, leader, r):
    """Scan every block, every time."""
    n = len(challenger)
    if n >= len(leader):
        return False
    blocks = np.convolve(leader, np.ones(n), "valid")
    return n < math.sqrt(math.log(r)) or sum(challenger) >= blocks.min()


@pytest.mark.every(3)
@pytest.mark.parametrize("key", range(6))
def test_it_is_its_definition_arm_by_arm(key):
    rng = np.random.default_rng(key)
    rewards = rng.normal(rng.normal(0, 0.5, 5), 1, (1000, 5))
    chosen, _ = play(SSMC(), rewards, key)
    history, expected, r = [[] for _ in range(5)], [], 1
    while len(expected) < 1000:
        leader = max(range(5), key=lambda k: (len(history[k]), sum(history[k])))
        entrants = [k for k in range(5) if r == 1 or wins(history[k], history[leader], r)] or [leader]
        for k in sorted(entrants, key=lambda k: uniform_at(key, r * 11 + 1 + k)):
            if len(expected) < 1000:
                history[k].append(rewards[len(expected), k])
                expected.append(k)
        r += 1
    assert chosen == expected


@pytest.mark.parametrize(
    ("challenger", "leader", "winner"),
    [
        ([0.5], [0.9, 0.4, 0.9, 0.9], 0),
        ([0.3], [0.9, 0.4, 0.9, 0.9], 1),
        ([0.4, 0.5], [0.9, 0.4, 0.9, 0.9], 1),  # blocks are consecutive: (.4, .9) is the worst
        ([0.6, 0.7], [0.9, 0.4, 0.9, 0.9], 0),  # a tie wins
        ([0.3, 0.0], [0.9, 0.1, 0.2, 0.9], 0),
    ],
)
def test_comparisons_by_hand(challenger, leader, winner):
    policy = SSMC()
    parameters, state = policy.parameters(2, 50), policy.start(2, 50)
    for arm, rewards in enumerate((challenger, leader)):
        for reward in rewards:
            state.header["round"] = 1  # nobody is forced before round 3
            policy.kernels.pull(parameters, *state, arm)
            policy.kernels.learn(parameters, *state, arm, reward, 1)
    in_round = [arm for arm in range(2) if state.arms["turn"][arm] < math.inf]
    assert in_round == [winner]


def test_a_challenger_is_tested_again_against_old_blocks_when_it_has_grown():
    """The leader's bad block lies far back; the challenger's mean falls to it only with its second reward."""
    policy = SSMC()
    parameters, state = policy.parameters(2, 50), policy.start(2, 50)
    steps = [(1, 0.2), (1, 0.3)] + [(1, 0.9)] * 4 + [(0, 0.1), (0, 0.4)]
    for arm, reward in steps:
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, reward, 1)
    assert state.arms["turn"][0] < math.inf
    assert state.arms["lost"][0] == 0


@pytest.mark.full
@pytest.mark.parametrize(
    ("laws", "mean", "sd"),
    [
        ((br.Bernoulli(0.8), br.Bernoulli(0.9)), 12.3, 7.3),
        ((br.Gaussian(0.5, 1), br.Gaussian(0, 1)), 26.9, 52.8),
    ],
    ids=["B1", "G1"],
)
def test_the_published_regret(laws, mean, sd):
    """Baudry, Kaufmann, Maillard (5000 runs): z test with both standard errors, |z| < 4."""
    environment, n = br.Environment.stationary(list(laws)), 400
    ours = regret(environment, SSMC(), 20_000, n)[:, -1]
    error = math.hypot(ours.std(ddof=1) / math.sqrt(n), sd / math.sqrt(5000))
    assert abs(ours.mean() - mean) < 4 * error


def test_the_horizon_is_needed():
    with pytest.raises(br.InvalidValueError, match="SSMC needs the horizon"):
        SSMC().start(3, None)


def test_forced_exploration_can_be_left_out():
    """With an unlucky first reward, an arm then gets no second one."""
    rewards = np.column_stack([np.full(2000, 0.5), np.full(2000, 0.4)])
    pulls = {f: int((br.trace(SSMC(f), rewards) == 1).sum()) for f in ("none", "cbrt_log", "sqrt_log")}
    assert pulls == {"none": 1, "cbrt_log": 2, "sqrt_log": 3}  # log 2000 = 7.6
    with pytest.raises(br.InvalidValueError, match="SSMC's forced must be one of none, sqrt_log"):
        SSMC("log")
