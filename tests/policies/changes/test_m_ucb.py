"""M-UCB: the authors' sequence, the window's sums, the tuning."""

import math

import numpy as np
import pytest

import brigand as br
from brigand.policies.base import Kernels
from brigand.policies.changes import m_ucb
from brigand.policies.changes.m_ucb import MUCB
from brigand.policies.kernels.arithmetic import learn_mean
from policies.play import play

BAD = [
    ((MUCB, {}), "MUCB needs gamma, or changes"),
    ((MUCB, {"w": 7, "gamma": 0.1}), "MUCB's w must be even, not 7"),
    ((MUCB, {"w": 0, "gamma": 0.1}), "MUCB's w must be"),
    ((MUCB, {"w": None, "gamma": 0.1}), "MUCB needs w, or least_change"),
    ((MUCB, {"gamma": 1.5}), r"MUCB's gamma must be in \[0, 1\], not 1.5"),
    ((MUCB, {"gamma": 0.1, "b": -1}), "MUCB's b must be >= 0"),
    ((MUCB, {"changes": -1}), "MUCB's changes must be"),
    ((MUCB, {"gamma": 0.1, "least_change": 0}), "least_change must be in"),
]


def authors_select(parameters, header, arms, memory, candidates, rng):
    """Their clock is t - s with 0-based t: 0 at first, but 1 right after a restart, so that arm 0 waits."""
    clock = header["step"] - max(header["restart"] - 1, 0)
    forced = clock % parameters.period
    if forced < len(arms):
        return forced
    best, chosen = -math.inf, 0
    for arm in range(len(arms)):
        count = arms[arm]["count"] + 1e-12
        mean = arms[arm]["mean"] if arms[arm]["count"] > 0 else 0.0
        value = mean + math.sqrt(2.0 * math.log(clock) / count)
        if value > best:
            best, chosen = value, arm
    return chosen


class AuthorsMUCB(MUCB):
    """As in their scripts: our test and restart, their clock."""

    kernels = Kernels(authors_select, m_ucb.pull, m_ucb.learn)
    reward_support = (-math.inf, math.inf)


def test_the_authors_sequence(traces):
    policy = AuthorsMUCB(100, 8.0, 0.2)
    assert np.array_equal(br.trace(policy, traces["rewards"], compiled=False), traces["M_UCB"])


class Reference:
    """The definition, with lists."""

    def __init__(self, policy, n_arms):
        self.p, self.k = policy, n_arms
        self.x, self.t, self.tau, self.restarts = [[] for _ in range(n_arms)], 0, 0, 0

    def allowed(self):
        t = self.t + 1
        if self.p.gamma > 0:
            place = (t - self.tau) % math.floor(self.k / self.p.gamma)
            if 1 <= place <= self.k:
                return [place - 1]
        bonus = math.sqrt(2 * math.log(t - self.tau))
        index = [np.mean(x) + bonus / math.sqrt(len(x)) if x else math.inf for x in self.x]
        return [a for a, v in enumerate(index) if v == max(index)]

    def learn(self, arm, reward):
        self.t += 1
        self.x[arm].append(reward)
        x, w = self.x[arm], self.p.w
        if len(x) >= w and abs(sum(x[-w // 2 :]) - sum(x[-w : -w // 2])) > self.p.b:
            self.x, self.tau = [[] for _ in range(self.k)], self.t
            self.restarts += 1


@pytest.mark.parametrize("policy", [MUCB(20, 2.0, 0.3), MUCB(10, 1.2, 0.0), MUCB(50, 5.0, 0.6)], ids=repr)
def test_every_choice_is_the_definitions(policy):
    rng = np.random.default_rng(3)
    means = np.repeat([[0.2, 0.5, 0.6], [0.7, 0.2, 0.5], [0.1, 0.2, 0.9]], 300, axis=0)
    rewards = means + rng.uniform(-0.1, 0.1, means.shape)
    reference = Reference(policy, 3)
    for step, arm in enumerate(br.trace(policy, rewards)):
        assert arm in reference.allowed(), step
        reference.learn(arm, rewards[step, arm])
    assert reference.restarts >= 1


def test_the_two_sums_are_those_of_the_window():
    x = np.random.default_rng(0).random(337)
    _, state = play(MUCB(10, math.inf, 0.0), x[:, None])
    assert state.arms["recent"][0] == pytest.approx(x[-5:].sum(), rel=1e-13)
    assert state.arms["older"][0] == pytest.approx(x[-10:-5].sum(), rel=1e-13)


def test_a_restart_by_hand():
    """w = 4, b = 1: the sums 0 and 2 differ by more; all arms start anew, and arm 0 is forced again."""
    policy = MUCB(4, 1.0, 0.5)
    parameters, state = policy.parameters(2, None), policy.start(2, None)
    assert parameters.period == 4
    for step, reward in enumerate([0.0, 0.0, 1.0, 1.0], start=1):
        assert state.header["restarts"] == 0
        policy.kernels.pull(parameters, *state, 1)
        policy.kernels.learn(parameters, *state, 1, reward, step)
    assert (state.header["restarts"], state.header["restart"]) == (1, 4)
    assert state.arms["count"].tolist() == [0, 0]
    assert policy.kernels.select(parameters, *state, np.arange(2), np.random.default_rng(0)) == 0
    policy.kernels.learn(parameters, *state, 1, 1.0, 3)
    assert state.arms["count"].tolist() == [0, 0]


def base_learn(parameters, header, arms, memory, arm, reward, step):
    learn_mean(arms, arm, reward)
    arms[arm]["inverse_root"] = 1.0 / math.sqrt(arms[arm]["count"])


class Base(MUCB):
    """UCB with forced pulls, and no test."""

    kernels = Kernels(m_ucb.select, m_ucb.pull, base_learn)


def test_without_alarms_it_is_the_base_policy(rewards01):
    base, _ = play(Base(20, 1.0, 0.2), rewards01)
    assert np.array_equal(play(MUCB(20, math.inf, 0.2), rewards01)[0], base)


def test_the_tuning_by_hand():
    parameters = MUCB(800, changes=4).parameters(5, 100_000)
    assert parameters.b == pytest.approx(100.65472869753215, rel=1e-12)
    gamma = math.sqrt(4 * 5 * (2 * parameters.b + 3 * math.sqrt(800)) / 200_000)
    assert parameters.period == math.floor(5 / gamma)
    assert MUCB(800, gamma=0.04798525912188081).parameters(5, 100_000).period == 104
    assert MUCB(None, gamma=0.1, least_change=0.5).parameters(5, 100_000).w == 1164
    assert MUCB(None, gamma=0.1, least_change=0.1).parameters(5, 100_000).w == 29082  # 29080.2, made even
    assert MUCB(changes=0).parameters(5, 1000).period == 0
    with pytest.raises(br.InvalidValueError, match="MUCB needs the horizon"):
        MUCB(changes=4).parameters(5, None)


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_settings_are_refused(arguments, message):
    policy, settings = arguments
    with pytest.raises(br.InvalidValueError, match=message):
        policy(**settings)


def test_what_must_be_known_depends_on_the_settings():
    known = "the range [0, 1], the smallest change"
    assert MUCB(changes=3).must_know == f"{known}, T, the number of breakpoints"
    assert MUCB(None, 9.0, 0.1, least_change=0.5).must_know == f"{known}, T"
    assert MUCB(100, None, 0.1).must_know == f"{known}, T"
    assert MUCB(100, 10.0, 0.1).must_know == known
    MUCB(100, 10.0, 0.1).start(3, None)
