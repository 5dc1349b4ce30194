"""Explore-then-commit of Garivier, Lattimore, Kaufmann: stopping times by hand, the definition, laws."""

import math

import numpy as np
import pytest
from scipy import special, stats

import brigand as br
from brigand.policies.commit.sequential_etc import BestArmETC, FixedBudgetETC, SequentialETC
from strength import runs

SEQUENTIAL = [SequentialETC(0.4, 0.5), SequentialETC(1.5), BestArmETC(0.5), BestArmETC(0.5, 4.0)]
POLICIES = [FixedBudgetETC(0.4, 0.5), *SEQUENTIAL]


@pytest.mark.parametrize(
    ("gap", "sigma", "horizon"), [(0.4, 0.5, 2000), (1.0, 1.0, 10_000), (0.2, 1.0, 100_000)]
)
def test_the_fixed_budget_solves_its_equation(gap, sigma, horizon):
    """W(x) e^W(x) = x, and n is the least integer at or above 2 W / D^2."""
    m = FixedBudgetETC(gap, sigma).parameters(2, horizon).m
    delta = gap / sigma
    w = m * delta**2 / 2
    assert w * math.exp(w) >= horizon**2 * delta**4 / (32 * math.pi) * (1 - 1e-12)
    w = (m - 1) * delta**2 / 2
    assert w * math.exp(w) < horizon**2 * delta**4 / (32 * math.pi)


def test_the_fixed_budget_by_hand():
    """T = 10,000, gap 1: W(1e8 / 100.53) = 11.378..., so 23 pulls of each arm."""
    assert special.lambertw(1e8 / (32 * math.pi)).real == pytest.approx(11.378, abs=0.001)
    assert FixedBudgetETC(1.0).parameters(2, 10_000).m == 23
    rewards = np.tile([0.9, 0.1], (10_000, 1))
    rewards[46:] = [-5.0, 5.0]
    arms = br.trace(FixedBudgetETC(1.0), rewards)
    assert arms[:46].tolist() == [0, 1] * 23
    assert set(arms[46:]) == {0}


@pytest.mark.parametrize(
    ("gap", "sigma", "horizon"), [(1e-200, 1.0, 10), (1e200, 1.0, 10), (1.0, 1e-200, 1), (1e-80, 1.0, 9**9)]
)
def test_extreme_gaps_give_one_pull_of_each_arm(gap, sigma, horizon):
    assert FixedBudgetETC(gap, sigma).parameters(2, horizon).m == 1


def first_commitment(arms):
    """Return the number of pulls in turn before the last, constant, stretch."""
    change = np.flatnonzero(np.diff(arms) != 0)
    return int(change[-1]) + 1 if len(change) else 0


def test_the_sequential_test_by_hand():
    """T = 1000, gap 0.5, constant means 0.8 and 0.3: r 0.5 0.5 >= log 250 = 5.52 from r = 23 on."""
    rewards = np.tile([0.3, 0.8], (1000, 1))
    rewards[46:] = [9.0, -9.0]
    arms = br.trace(SequentialETC(0.5), rewards)
    assert arms[:46].tolist() == [0, 1] * 23
    assert set(arms[46:]) == {1}


def test_the_best_arm_identification_by_hand():
    """T = 1000, difference 1: 1 >= 8 log(1000 / s) / s from s = 30 on (8 log(1000 / 28) = 28.6)."""
    rewards = np.tile([0.0, 1.0], (1000, 1))
    rewards[30:] = [9.0, -9.0]
    arms = br.trace(BestArmETC(), rewards)
    assert arms[:30].tolist() == [0, 1] * 15
    assert set(arms[30:]) == {1}


def test_sigma_scales_rewards_and_gap():
    rewards = np.random.default_rng(3).standard_normal((600, 2)) + np.array([0.0, 0.5])
    for plain, scaled in [
        (SequentialETC(0.5), SequentialETC(4.0, 8.0)),
        (BestArmETC(), BestArmETC(8.0)),
        (FixedBudgetETC(0.5), FixedBudgetETC(4.0, 8.0)),
    ]:
        assert np.array_equal(br.trace(plain, rewards), br.trace(scaled, 8.0 * rewards))


def reference(policy, rewards):
    """Return the arms by the definition: a turn, a look, a commitment."""
    horizon, n_arms = rewards.shape
    arms = []
    for r in range(1, horizon + 1):
        arms += list(range(n_arms))
        if len(arms) >= horizon:
            break
        means = rewards[: r * n_arms].reshape(r, n_arms, n_arms)
        means = np.array([means[:, k, k].mean() for k in range(n_arms)])
        second, best = np.sort(means)[-2:]
        difference = (best - second) / policy.sigma
        if isinstance(policy, SequentialETC):
            delta = policy.gap / policy.sigma
            stop = r * delta * difference >= math.log(horizon * delta**2)
        else:
            stop = difference >= math.sqrt(policy.c * max(math.log(horizon / (2 * r)), 0) / (2 * r))
        if stop:
            arms += [int(np.argmax(means))] * horizon
            break
    return arms[:horizon]


@pytest.mark.parametrize("policy", SEQUENTIAL, ids=repr)
@pytest.mark.parametrize("n_arms", [2, 3, 5])
def test_choices_follow_the_definition(policy, n_arms):
    rng = np.random.default_rng(n_arms)
    for horizon in (1, 7, 100, 1000):
        rewards = 0.5 * rng.standard_normal((horizon, n_arms)) + 0.4 * (np.arange(n_arms) == 1)
        assert br.trace(policy, rewards).tolist() == reference(policy, rewards)


@pytest.mark.full
def test_the_expected_stopping_time_of_the_sequential_test():
    """By Wald: about log(T D^2) / D^2 turns, and an overshoot of less than 4; 4.7 standard errors."""
    gap, horizon, n = 0.5, 4000, 300
    rng = np.random.default_rng(6)
    turns = []
    for _ in range(n):
        rewards = rng.standard_normal((horizon, 2)) + np.array([gap, 0.0])
        turns.append(first_commitment(br.trace(SequentialETC(gap), rewards)) / 2)
    expected = math.log(horizon * gap**2) / gap**2
    error = np.std(turns) / math.sqrt(n)
    assert expected - 4.7 * error < np.mean(turns) < expected + 4 + 4.7 * error


@pytest.mark.parametrize("policy", [SequentialETC(0.01), FixedBudgetETC(1e-9)], ids=repr)
def test_ties_at_the_commitment_are_broken_uniformly(policy):
    """Both stop after one turn (log(T D^2) < 0). Chi-square over 2000 seeds, level 1e-5."""
    committed = [br.trace(policy, np.full((6, 4), 0.5), seed=seed)[-1] for seed in range(runs(500, 2000))]
    assert stats.chisquare(np.bincount(committed, minlength=4)).pvalue > 1e-5


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_the_commitment_stands_whatever_comes_late(policy):
    rng = np.random.default_rng(2)
    parameters, state = policy.parameters(3, 600), policy.start(3, 600)
    waiting, committed = [], []
    for step in range(1, 601):
        arm = policy.kernels.select(parameters, *state, np.arange(3), rng)
        policy.kernels.pull(parameters, *state, arm)
        committed.append(int(state.header["committed"]))
        waiting.append((int(arm), rng.random() + 0.8 * (arm == 1), step))
        if step % 30 == 0:
            rng.shuffle(waiting)
            for arm, reward, made in [waiting.pop() for _ in range(28)]:
                policy.kernels.learn(parameters, *state, int(arm), float(reward), int(made))
    assert set(committed) == {-1, 1}
    assert committed == sorted(committed)


def test_a_pull_while_the_best_arm_is_not_allowed_does_not_commit_to_another():
    policy = SequentialETC(0.5)
    parameters, state = policy.parameters(2, 1000), policy.start(2, 1000)
    rng = np.random.default_rng(0)
    for step in range(1, 3):
        arm = policy.kernels.select(parameters, *state, np.arange(2), rng)
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, [0.0, 99.0][arm], step)
    assert policy.kernels.select(parameters, *state, np.array([0]), rng) == 0
    policy.kernels.pull(parameters, *state, 0)
    assert state.header["committed"] == 1
    assert policy.kernels.select(parameters, *state, np.array([0]), rng) == 0
    assert policy.kernels.select(parameters, *state, np.arange(2), rng) == 1


@pytest.mark.parametrize("cls", [FixedBudgetETC, SequentialETC])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0,), "gap must be > 0, not 0"), ((math.inf,), "gap must be finite"), ((1, 0), "sigma must be > 0")],
)
def test_bad_settings_are_refused_by_name(cls, arguments, message):
    with pytest.raises(br.InvalidValueError, match=f"{cls.__name__}'s {message}"):
        cls(*arguments)


def test_bad_settings_of_best_arm_etc():
    with pytest.raises(br.InvalidValueError, match="sigma must be > 0, not 0"):
        BestArmETC(0)
    with pytest.raises(br.InvalidValueError, match="c must be > 0, not -1"):
        BestArmETC(1, -1)


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_the_horizon_is_needed(policy):
    with pytest.raises(br.InvalidValueError, match="-ETC needs the horizon"):
        policy.parameters(2, None)


@pytest.mark.parametrize("policy", [FixedBudgetETC(1.0, 0.5), br.ExploreThenCommit(3)], ids=repr)
def test_the_commitment_is_to_the_best_arm_where_another_one_had_to_be_pulled(policy):
    parameters, state = policy.parameters(4, 200), policy.start(4, 200)
    rng, all_arms = np.random.default_rng(0), np.arange(4)
    for step in range(1, 4 * parameters.m + 2):
        candidates = all_arms if step <= 4 * parameters.m else np.array([0])
        arm = policy.kernels.select(parameters, *state, candidates, rng)
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, float(arm == 2), step)
    assert arm == 0
    assert state.header["committed"] == 2
    assert policy.kernels.select(parameters, *state, all_arms, rng) == 2


def test_there_is_no_commitment_before_the_first_reward():
    """The arms go on in turn; then comes a reward of arm 2, the only one that is known."""
    policy = br.ExploreThenCommit(1)
    parameters, state, rng = policy.parameters(4, 200), policy.start(4, 200), np.random.default_rng(0)
    for _ in range(40):
        policy.kernels.pull(parameters, *state, policy.kernels.select(parameters, *state, np.arange(4), rng))
        assert state.header["committed"] == -1
    policy.kernels.learn(parameters, *state, 2, -5.0, 1)
    for _ in range(3):
        arm = policy.kernels.select(parameters, *state, np.arange(4), rng)
        policy.kernels.pull(parameters, *state, arm)
        assert arm == state.header["committed"] == 2


@pytest.mark.parametrize("policy", [SequentialETC(1.0, 0.1), BestArmETC(0.1)], ids=repr)
def test_a_lost_first_reward_delays_the_commitment_but_not_for_ever(policy):
    """Arms 0 and 1 are apart after a turn or two, and the best arm is number 2."""
    for lost in (1, 1000):
        parameters, state = policy.parameters(3, 1000), policy.start(3, 1000)
        rng, pulls = np.random.default_rng(0), np.zeros(3, int)
        for step in range(1, 1001):
            arm = policy.kernels.select(parameters, *state, np.arange(3), rng)
            policy.kernels.pull(parameters, *state, arm)
            pulls[arm] += 1
            if arm < 2 or pulls[2] > lost:
                policy.kernels.learn(parameters, *state, arm, [0.0, 5.0, 9.0][arm], step)
        assert pulls.argmax() == (2 if lost == 1 else 1)
        assert np.sort(pulls)[1] <= 2 + math.log(1000)


def test_the_length_of_the_exploration_does_not_overflow():
    with pytest.raises(br.InvalidValueError, match="m must be >= 1, not 0"):
        br.ExploreThenCommit(0)
    with pytest.raises(br.InvalidValueError, match="m must be in"):
        br.ExploreThenCommit(2**53 + 1)
    arms = br.trace(br.ExploreThenCommit(2**53), np.tile([0.0, 1.0, 2.0, 3.0], (200, 1)))
    assert np.bincount(arms).tolist() == [50] * 4
    assert br.ExploreThenCommit(2**53).parameters(4096, None).m * 4096 < 2**63
