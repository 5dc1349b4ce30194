"""What other public code does differently (`brigand.papers.peers`): the values that are right, by hand."""

import math
from pathlib import Path

import numpy as np
import pytest

import brigand as br
from brigand.papers import peers
from brigand.policies.changes import cusum_ucb, garivier_moulines
from brigand.policies.ucb import kl_ucb, ucb1


def told(policy, pulls, horizon=None, n_arms=2):
    """Return parameters and state after pulls, as pairs of an arm and its reward."""
    parameters, state = policy.parameters(n_arms, horizon), policy.start(n_arms, horizon)
    for step, (arm, reward) in enumerate(pulls, start=1):
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, reward, step)
    return parameters, state


def gaussian_kl():
    parameters, state = told(br.KLUCB("gaussian", sigma=0.5), [(0, 0.25)] * 3 + [(1, 1.0)])
    index = kl_ucb.index(parameters, state.header, state.arms, 0)
    assert index == pytest.approx(0.25 + 0.5 * math.sqrt(2 * math.log(4) / 3))


def discounted_counts():
    policy = br.DiscountedUCB(0.9)
    parameters, state = told(policy, [(0, 1.0), (1, 0.0), (1, 0.0)])
    assert policy.kernels.estimate(parameters, *state, 0) == pytest.approx((1.0, 0.81))
    assert policy.kernels.estimate(parameters, *state, 1) == pytest.approx((0.0, 1.9))


def discounted_infinite():
    policy = br.DiscountedUCB(0.9)
    parameters, state = told(policy, [(1, 0.0), *[(0, 1.0)] * 3])
    n = (1 - 0.9**4) / 0.1
    low, high = (garivier_moulines.discounted_index(parameters, *state, arm, None) for arm in (1, 0))
    assert low == pytest.approx(2 * math.sqrt(0.5 * math.log(n) / 0.9**3))
    assert high == pytest.approx(1 + 2 * math.sqrt(0.5 * math.log(n) / (n - 0.9**3)))
    assert low < high
    assert policy.kernels.select(parameters, *state, np.arange(2), np.random.default_rng(0)) == 0


def last_arm():
    parameters, state = told(br.CUSUMUCB(1.0, 2.0), [(arm, 0.5) for arm in range(3)], n_arms=3)
    rng = np.random.default_rng(0)
    drawn = [cusum_ucb.select(parameters, *state, np.arange(3), rng) for _ in range(300)]
    assert min(np.bincount(drawn, minlength=3)) > 60


def window_log():
    policy = br.SlidingWindowUCB(window=10)
    parameters, state = told(policy, [(step % 2, 0.5) for step in range(500)])
    index = garivier_moulines.index(parameters, *state, 0, None)
    assert index == pytest.approx(0.5 + math.sqrt(0.5 * math.log(10) / 5))


def ucb1_log():
    parameters, state = told(br.UCB1(0, 1), [(0, 0.5), (1, 0.5), (0, 0.5)])
    assert ucb1.index(parameters, *state, 0, None) == pytest.approx(0.5 + math.sqrt(2 * math.log(3) / 2))


def window_per_arm():
    policy = br.SlidingWindowUCB(window=10)
    parameters, state = told(policy, [(1, 1.0), *[(0, 0.5)] * 9])
    assert policy.kernels.estimate(parameters, *state, 1) == (1.0, 1.0)
    parameters, state = told(policy, [(1, 1.0), *[(0, 0.5)] * 10])
    assert policy.kernels.estimate(parameters, *state, 1)[1] == 0
    assert garivier_moulines.index(parameters, *state, 1, None) == math.inf


TESTS = {
    "gaussian-kl": gaussian_kl,
    "discounted-counts": discounted_counts,
    "discounted-infinite": discounted_infinite,
    "last-arm": last_arm,
    "window-log": window_log,
    "ucb1-log": ucb1_log,
    "window-per-arm": window_per_arm,
}


@pytest.mark.parametrize("line", peers.DIFFERENCES, ids=lambda line: line.key)
def test_the_right_value_is_ours(line):
    TESTS[line.key]()


def test_the_documentation_has_the_table():
    text = (Path(__file__).parents[2] / "docs" / "validation.md").read_text(encoding="utf-8")
    assert len(TESTS) == len(peers.DIFFERENCES)
    assert "\n".join(peers.table()) in text
