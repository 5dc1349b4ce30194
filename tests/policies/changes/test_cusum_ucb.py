"""CUSUM-UCB and PHT-UCB: the walks by hand, against a slow reference, and the authors' numbers."""

import math

import numpy as np
import pytest
from scipy import stats

import brigand as br
from brigand.policies.base import Kernels
from brigand.policies.changes import cusum_ucb
from brigand.policies.changes.cusum_ucb import CUSUMUCB, PHTUCB
from brigand.policies.kernels.arithmetic import learn_mean
from policies.play import play
from strength import runs

AUTHORS = CUSUMUCB(0.0201262, 10.12663, M=50, eps=0.05, xi=0.5, forced=True)
BAD = [
    ((CUSUMUCB, {}), "CUSUMUCB needs alpha and h, or changes"),
    ((PHTUCB, {"alpha": 0.1}), "PHTUCB needs alpha and h, or changes"),
    ((CUSUMUCB, {"alpha": 2, "h": 1}), r"CUSUMUCB's alpha must be in \[0, 1\], not 2"),
    ((CUSUMUCB, {"alpha": 0, "h": 0}), "CUSUMUCB's h must be > 0, not 0"),
    ((CUSUMUCB, {"changes": 0}), "changes must be >= 1|changes must be"),
    ((CUSUMUCB, {"changes": 1, "M": 0}), "CUSUMUCB's M must be"),
    ((CUSUMUCB, {"changes": 1, "forced": 1}), "forced must be True or False, not 1"),
    ((PHTUCB, {"changes": 1, "eps": -1}), "PHTUCB's eps must be >= 0"),
    ((PHTUCB, {"changes": 1, "low": 1.0}), "low < high"),
]


class Reference:
    """The definition, with lists and from the beginning at every step; alpha = 0."""

    def __init__(self, policy, n_arms):
        self.p, self.x = policy, [[] for _ in range(n_arms)]
        self.restarts = 0

    def allowed(self):
        n = sum(map(len, self.x))
        index = [np.mean(x) + math.sqrt(self.p.xi * math.log(n) / len(x)) if x else math.inf for x in self.x]
        return [a for a, v in enumerate(index) if v == max(index)]

    def learn(self, arm, reward):
        self.x[arm].append(reward)
        x, rise, fall = self.x[arm], 0.0, 0.0
        skip = getattr(self.p, "M", 0)
        for j in range(skip, len(x)):
            u = np.mean(x[:skip]) if skip else np.mean(x[: j + 1])
            rise = max(0.0, rise + x[j] - u - self.p.eps)
            fall = max(0.0, fall + u - x[j] - self.p.eps)
        if max(rise, fall) >= self.p.h:
            self.x[arm] = []
            self.restarts += 1


@pytest.mark.every(2)
@pytest.mark.parametrize("policy", [CUSUMUCB(0.0, 2.0, M=8), PHTUCB(0.0, 2.0, xi=1.0)], ids=repr)
def test_every_choice_is_the_definitions(policy):
    rng = np.random.default_rng(3)
    means = np.repeat([[0.2, 0.5, 0.6], [0.7, 0.2, 0.5], [0.1, 0.2, 0.9]], 250, axis=0)
    rewards = means + rng.uniform(-0.1, 0.1, means.shape)
    reference = Reference(policy, 3)
    for step, arm in enumerate(br.trace(policy, rewards)):
        assert arm in reference.allowed(), step
        reference.learn(arm, rewards[step, arm])
    assert reference.restarts >= 2


def test_the_cusum_walk_by_hand():
    """M = 2: u = 0.5; then two rewards of 1 raise the walk by 0.4 each, a 0 lowers it by 0.6."""
    policy = CUSUMUCB(0.0, 0.75, M=2, eps=0.1)
    parameters, state = policy.parameters(1, None), policy.start(1, None)
    rises = []
    for step, reward in enumerate([0.25, 0.75, 1.0, 0.0, 1.0, 1.0], start=1):
        policy.kernels.pull(parameters, *state, 0)
        policy.kernels.learn(parameters, *state, 0, reward, step)
        rises.append(float(state.arms[0]["rise"]))
    assert rises == pytest.approx([0, 0, 0.4, 0, 0.4, 0])
    assert state.arms[0]["restarts"] == 1
    assert state.arms[0]["count"] == state.arms[0]["pulls"] == state.header["total"] == 0
    assert cusum_ucb.index(parameters, *state, 0, None) == math.inf


def test_the_tuning_by_hand():
    assert CUSUMUCB(changes=4).parameters(5, 100_000)[2:4] == pytest.approx((0.0201262, 10.12663), rel=1e-5)
    assert PHTUCB(0.3, changes=4).parameters(5, 100_000)[2:4] == pytest.approx((0.3, 10.12663), rel=1e-5)
    with pytest.raises(br.InvalidValueError, match="CUSUMUCB needs the horizon"):
        CUSUMUCB(changes=4).parameters(5, None)


def base_learn(parameters, header, arms, memory, arm, reward, step):
    learn_mean(arms, arm, reward)
    arms[arm]["inverse_root"] = 1.0 / math.sqrt(arms[arm]["count"])


class Base(CUSUMUCB):
    """UCB with uniform exploration, and no test."""

    kernels = Kernels(cusum_ucb.select, cusum_ucb.pull, base_learn)


def test_without_alarms_they_are_the_base_policy(rewards01):
    base, _ = play(Base(0.1, 1.0), rewards01)
    assert np.array_equal(play(CUSUMUCB(0.1, math.inf), rewards01)[0], base)
    assert np.array_equal(play(PHTUCB(0.1, math.inf), rewards01)[0], base)


def test_exploration_is_uniform_at_rate_alpha():
    """Arm 0 is far better: others come by exploration. Chi-square at level 1e-5."""
    arms = br.trace(PHTUCB(0.3, math.inf, xi=0.0), np.tile([1.0, 0.0, 0.0, 0.0], (20_000, 1)))[4:]
    counts = np.bincount(arms, minlength=4)
    expected = len(arms) * np.array([0.7 + 0.075, 0.075, 0.075, 0.075])
    assert stats.chisquare(counts, expected).pvalue > 1e-5


def test_forced_pulls_are_shuffled_first_and_in_a_row_after_a_restart():
    policy = CUSUMUCB(0.0, 3.0, M=20, forced=True)
    rewards = np.tile([0.9, 0.5, 0.1], (400, 1))
    rewards[200:, 0] = 0.0
    arms = br.trace(policy, rewards)
    assert np.bincount(arms[:60]).tolist() == [20] * 3
    assert (np.diff(arms[:60]) != 0).sum() > 20
    alarm = 200 + math.ceil(3.0 / 0.85) if arms[200] == 0 else None
    assert alarm is not None
    assert set(arms[60:alarm]) == {0}
    assert set(arms[alarm : alarm + 20]) == {0}
    assert 0 not in arms[alarm + 20 : alarm + 40]


def test_the_first_forced_pull_is_any_arm():
    """Chi-square over 2000 seeds, level 1e-5."""
    policy = CUSUMUCB(0.0, 3.0, M=20, forced=True)
    first = [play(policy, np.zeros((1, 4)), key=7919 * key)[0][0] for key in range(runs(500, 2000))]
    assert stats.chisquare(np.bincount(first, minlength=4)).pvalue > 1e-5


@pytest.mark.parametrize(("ours", "mean", "error"), [(AUTHORS, 1665.029, 36.963)])
def test_the_authors_regret(ours, mean, error):
    """Final regret of the scripts' 60 runs and of our 60: 4.5 standard errors apart at most, level 7e-6."""
    environment = br.random_environment("bernoulli", 5, 100_000, 4, seed=0)
    regret = br.simulate(environment, {"it": ours}, 100_000, 60).dataset["regret"].isel(step=-1).values
    assert abs(regret.mean() - mean) < 4.5 * math.hypot(regret.std(ddof=1) / math.sqrt(60), error)


def test_a_reward_from_before_the_restart_is_left_out():
    policy = PHTUCB(0.0, 0.3)
    parameters, state = policy.parameters(2, None), policy.start(2, None)
    for _ in range(3):
        policy.kernels.pull(parameters, *state, 0)
    policy.kernels.learn(parameters, *state, 0, 0.0, 1)
    policy.kernels.learn(parameters, *state, 0, 1.0, 2)
    assert state.arms["restarts"][0] == 1
    policy.kernels.learn(parameters, *state, 0, 1.0, 3)
    assert state.arms["count"][0] == 0


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_settings_are_refused(arguments, message):
    policy, settings = arguments
    with pytest.raises(br.InvalidValueError, match=message):
        policy(**settings)


def test_what_must_be_known_depends_on_the_settings():
    known = "the range [0, 1], the smallest change"
    tuning = ", T, the number of breakpoints"
    assert PHTUCB(changes=3).must_know == known + tuning
    assert PHTUCB(0.1, 5.0).must_know == known
    assert CUSUMUCB(0.1, changes=3).must_know == f"{known}, M rewards between changes{tuning}"
    assert CUSUMUCB(0.1, 5.0).must_know == f"{known}, M rewards between changes"
    CUSUMUCB(0.1, 5.0).start(3, None)
