"""The floor of FE's regret in the worst case: its parts by brute force, and beside what is measured."""

import numpy as np
import pytest

import brigand as br
from brigand.papers.worst_case import slope_at_the_end, worst
from brigand.theory import Schedule, worst_case_floor
from brigand.theory.worst_case import SHARE, below_zero, waited
from strength import runs, some

SEQUENCES = [br.Linear(), br.Constant(7), br.Power(0.5), br.Exponential(1.3), br.Constant(0)]


def wrong_pulls(sequence, rewards):
    """Play FE by its kernels on arm 0, which pays 0, and arm 1; return the pulls of arm 0 after each step."""
    policy, rng, horizon = br.ForcedExploration(sequence), np.random.default_rng(0), len(rewards)
    parameters, state = policy.parameters(2, horizon), policy.start(2, horizon)
    pulls = np.zeros(horizon, np.int64)
    for t in range(horizon):
        arm = int(policy.kernels.select(parameters, *state, np.arange(2), rng))
        policy.kernels.pull(parameters, *state, arm)
        reward = rewards[state.arms[1]["pulls"] - 1] if arm else 0.0
        policy.kernels.learn(parameters, *state, arm, reward, t + 1)
        pulls[t] = state.arms[0]["pulls"]
    return pulls


@pytest.mark.parametrize("sequence", SEQUENCES, ids=repr)
def test_waits_are_those_of_the_sequence(sequence):
    schedule = Schedule(sequence, 2, 10_000)
    numbers = np.arange(1, 40)
    found = waited(schedule, np.arange(0, 40))
    assert found[0] == found[1] == 0.0
    assert (np.diff(found, 2) >= 0).all()  # f does not decrease
    if isinstance(sequence, br.Linear):
        np.testing.assert_array_equal(found[numbers], numbers * (numbers - 1) / 2)
    if isinstance(sequence, br.Constant):
        np.testing.assert_array_equal(found[numbers], (numbers - 1) * sequence.value)


@pytest.mark.parametrize("sequence", SEQUENCES, ids=repr)
def test_while_the_walk_is_below_zero_the_wrong_arm_is_pulled(sequence):
    """For every walk, m and T: the pulls of A are at least W(X) = F(X + 1), or at least T - m."""
    rng = np.random.default_rng(1)
    horizon = 60
    schedule = Schedule(sequence, 2, horizon)
    floor = waited(schedule, np.arange(1, horizon + 2))
    for _ in range(runs(20, 400)):
        rewards = rng.choice([-1.0, 1.0], horizon) if rng.random() < 0.5 else rng.normal(0.1, 1, horizon)
        pulls = wrong_pulls(sequence, rewards)
        below = np.cumsum(np.cumsum(rewards) < 0)
        for m in range(1, horizon):
            for step in (horizon // 2, horizon):
                if m < step:
                    assert pulls[step - 1] >= min(step - m, floor[below[m - 1]])


@pytest.mark.parametrize("m", [30, 200])
def test_walks_are_below_zero_as_often_as_is_said(m):
    """One-sided, at 3.9 standard errors: false alarm 1e-4 for both together."""
    rng, number = np.random.default_rng(m), runs(2_000, 20_000)
    walks = np.cumsum(rng.normal(1 / np.sqrt(m), 1, (number, m)), axis=1)
    share = ((walks < 0).sum(axis=1) >= m // SHARE).mean()
    assert share + 3.9 * 0.5 / np.sqrt(number) >= below_zero(m)
    assert below_zero(m) > 0.15
    assert below_zero(10**7) < 0.1757  # (0.2580 - 0.1) / 0.9


@pytest.mark.parametrize("horizon", some([1_000, 31_623, 10**6, 10**9], [1_000, 31_623]))
def test_no_sequence_is_below_the_theorem(horizon):
    constants = [br.Constant(horizon**e) for e in np.linspace(0, 1, 11)]
    powers = [br.Power(p) for p in ((0.25, 0.5, 1.0, 2.0) if horizon < 10**9 else (1.0, 2.0))]
    for sequence in (*constants, *powers, br.Exponential(), br.Exponential(2.0)):
        assert worst_case_floor(sequence, horizon) >= horizon ** (2 / 3) / 13
    assert worst_case_floor(br.Linear(), 1) >= 0


@pytest.mark.parametrize("sequence", [br.Linear(), br.Constant(), br.Exponential()], ids=repr)
def test_the_floor_is_below_what_is_measured(sequence):
    mean, error, _ = worst(sequence, 10_000, 100, 0, 1)
    assert mean + 4 * error >= worst_case_floor(sequence, 10_000)


def test_slopes_are_those_of_powers():
    horizons = [10**e for e in range(3, 8)]
    mean = 3.0 * np.array(horizons, float) ** 0.7
    slope, spread = slope_at_the_end(horizons, mean, 0.01 * mean)
    assert slope == pytest.approx(0.7)
    assert 0 < spread < 0.01
    assert np.isnan(slope_at_the_end(horizons[:1], mean[:1], mean[:1])[0])


def test_a_sequence_that_depends_on_the_run_is_refused():
    with pytest.raises(br.InvalidValueError, match="schedule"):
        worst_case_floor(br.AnytimeExponential(), 1000)
