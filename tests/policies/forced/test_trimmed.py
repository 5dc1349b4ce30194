"""FE by trimmed means: against the definition, with full tables, ties, outliers, and late rewards."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import brigand as br
from brigand.policies.forced import sequences, trimmed
from policies.play import play
from strength import runs


def estimate(rewards, t, c):
    """The definition, slowly: the trimmed mean of a list of rewards after t pulls."""
    n = len(rewards)
    k = min(math.ceil(c * math.log(t + 1)), n // 8)
    kept = sorted(rewards)[k : n - k]
    return math.fsum(x / len(kept) for x in kept)


def threshold(sequence, round_, t):
    return sequences.value(*sequence.form(None), None, 0, round_, t) if round_ > 0 else 0.0


REWARDS = {
    "binary": lambda rng, size: rng.integers(0, 2, size).astype(float),
    "few": lambda rng, size: rng.integers(-2, 3, size) / 10,
    "heavy": lambda rng, size: rng.standard_t(1.2, size),
    "rising": lambda rng, size: np.cumsum(rng.random(size), axis=0),
    "falling": lambda rng, size: -np.cumsum(rng.random(size), axis=0),
}
SEQUENCES = st.sampled_from([br.AnytimeExponential(), br.Linear(2), br.Constant(9), br.Constant(math.inf)])


@settings(max_examples=runs(30, 200), deadline=None, derandomize=True)
@given(
    sequence=SEQUENCES,
    c=st.sampled_from([0.01, 0.05, 0.2, 0.7, 2.0]),
    n_arms=st.integers(1, 4),
    kind=st.sampled_from(sorted(REWARDS)),
    delay=st.sampled_from([0, 1, 30]),
    lost=st.sampled_from([0.0, 0.3]),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_estimate_and_choice_follow_the_definition(sequence, c, n_arms, kind, delay, lost, seed):
    rng = np.random.default_rng(seed)
    horizon = 400
    rewards = REWARDS[kind](rng, (horizon, n_arms)) + 0.5 * np.arange(n_arms)
    policy = br.TrimmedForcedExploration(sequence, c)
    parameters, state = policy.parameters(n_arms, None), policy.start(n_arms, None)
    arrived, waiting = [[] for _ in range(n_arms)], []
    last, seen, round_, limit = [0] * n_arms, set(), 0, 0.0
    for t in range(1, horizon + 1):
        expected = [estimate(x, t - 1, c) if x else math.nan for x in arrived]
        assert state.arms["mean"].tolist() == pytest.approx(expected, rel=1e-13, abs=1e-15, nan_ok=True)
        found = [policy.kernels.estimate(parameters, *state, arm) for arm in range(n_arms)]
        assert np.array_equal(
            found, [(m, len(x)) for m, x in zip(state.arms["mean"], arrived, strict=True)], True
        )
        arm = policy.kernels.select(parameters, *state, np.arange(n_arms), rng)
        oldest = last.index(min(last))
        forced = last[oldest] == 0 or t - 1 - last[oldest] >= limit
        if forced or not any(arrived):
            assert arm == oldest
        else:
            assert expected[arm] >= np.nanmax(expected) - 1e-13 * abs(np.nanmax(expected)) - 1e-15
        assert policy.kernels.propensity(parameters, *state, np.arange(n_arms), arm) > 0

        policy.kernels.pull(parameters, *state, arm)
        last[arm] = t
        seen.add(arm)
        if len(seen) == n_arms:
            seen, round_ = set(), round_ + 1
            limit = max(limit, threshold(sequence, round_, t))
        if rng.random() >= lost:
            waiting.append((t + rng.integers(0, delay + 1), t, arm, rewards[t - 1, arm]))
        rng.shuffle(waiting)
        for item in [item for item in waiting if item[0] <= t]:
            waiting.remove(item)
            policy.kernels.learn(parameters, *state, item[2], item[3], item[1])
            arrived[item[2]].append(item[3])


def told(policy, rewards):
    """Return the estimate after each reward of the only arm, by the kernels."""
    parameters, state = policy.parameters(1, None), policy.start(1, None)
    found = []
    for step, reward in enumerate(rewards, start=1):
        policy.kernels.pull(parameters, *state, 0)
        policy.kernels.learn(parameters, *state, 0, reward, step)
        found.append(float(state.arms["mean"][0]))
    return found, state


def test_estimates_by_hand():
    """c = 0.4: ceil(0.4 log(t + 1)) is 1 after up to t = 11 pulls, then 2; but never more than an eighth."""
    found, _ = told(br.TrimmedForcedExploration(c=0.4), [4.0, 0, 8, 2, 1, 3, 3, 11, 20, -1, 5, 5, 5, 5, 5, 9])
    assert found[:7] == [4, 2, 4, 3.5, 3, 3, 3]
    assert found[7] == (4 + 8 + 2 + 1 + 3 + 3) / 6  # without 0 and 11
    assert found[8] == (4 + 8 + 2 + 1 + 3 + 3 + 11) / 7  # without 0 and 20
    assert found[9] == (4 + 0 + 8 + 2 + 1 + 3 + 3 + 11) / 8  # without -1 and 20
    assert found[15] == (4 + 8 + 2 + 1 + 3 + 3 + 5 * 5 + 9) / 12  # without -1, 0, 11 and 20


@pytest.mark.parametrize("c", [0.05, 1.0])
def test_memory_is_the_same_whatever_the_horizon_and_holds_the_extremes(c):
    policy = br.TrimmedForcedExploration(br.Linear(), c)
    half = policy.parameters(1, None).half
    assert len(policy.memory(3, 10)) == len(policy.memory(3, None)) == 6 * half
    assert half > c * math.log(2.0**53)
    rewards = np.random.default_rng(0).standard_cauchy(1000)
    _, state = told(policy, rewards)
    rewards.sort()
    assert state.memory["reward"].tolist() == [*rewards[:half], *rewards[-half:]]
    assert state.arms["inner"][0] == pytest.approx(rewards[half:-half].sum(), rel=1e-13)


def test_k_follows_the_logarithm_at_the_very_step():
    policy = br.TrimmedForcedExploration(c=3)
    parameters, header = policy.parameters(1, None), policy.start(1, None).header
    changes = 0
    for step in range(1, 20_000):
        header["step"] = step
        changes += trimmed.set_most(parameters, header)
        assert header["most"] == math.ceil(3 * math.log(step + 1))
    assert changes == 1 + math.ceil(3 * math.log(20_000)) - 3  # the first to 3


def test_outliers_that_are_left_out_leave_no_rounding_behind():
    rewards = [0.1] * 3000
    rewards[7], rewards[9], rewards[1500], rewards[1700] = 1e300, -1e300, 1e300, -1e308
    found, _ = told(br.TrimmedForcedExploration(c=2), rewards)
    assert set(found[8:]) == {0.1}


@pytest.mark.parametrize("c", [0.01, 2.0])
@pytest.mark.parametrize("first", [0, 300])
def test_nothing_overflows(c, first):
    """A sum of 1.7e308 and another is infinite."""
    largest = np.finfo(float).max
    policy = br.TrimmedForcedExploration(c=c)
    found, _ = told(policy, [1.0] * first + [largest] * 700)
    assert np.isfinite(found).all()
    if first == 0:
        assert set(found) == {largest}
    found, _ = told(policy, [1.0] * first + [largest, largest, -largest, -largest, 0.5] * 200)
    assert np.isfinite(found).all()
    rewards = [1.0] * first + [1.7e308, -1.7e308, 1.6e308] * 200
    found, _ = told(policy, rewards)
    expected = [estimate(rewards[: t + 1], t + 1, c) for t in range(len(rewards))]
    assert np.divide(found, 1e308) == pytest.approx(np.divide(expected, 1e308), abs=1e-14)


@pytest.mark.parametrize("reward", [0.1, 1 / 3, 1e300, -1e-300])
def test_constant_rewards_have_themselves_as_their_estimate(reward):
    assert set(told(br.TrimmedForcedExploration(c=1), [reward] * 700)[0]) == {reward}


def test_equal_rewards_in_another_order_have_the_same_estimate():
    rng = np.random.default_rng(5)
    for rewards in (rng.integers(0, 7, 600) / 10, rng.random(600), rng.standard_t(1.5, 600)):
        last = {told(br.TrimmedForcedExploration(c=1), rng.permutation(rewards))[0][-1] for _ in range(10)}
        assert len(last) == 1


def test_estimates_of_binary_rewards_tell_arms_apart_whose_medians_are_equal():
    rng = np.random.default_rng(0)
    found = [told(br.TrimmedForcedExploration(), rng.random(3000) < p)[0][-1] for p in (0.2, 0.3)]
    assert found[0] + 0.05 < found[1]


def test_the_estimate_approaches_the_mean_of_pareto_rewards():
    """P(X > x) = x^-1.5: the mean is 3, the variance infinite, the median 1.6."""
    bias = {}
    for n in (100, 2_000, 40_000):
        estimates = []
        for seed in range(50):
            rewards = np.random.default_rng(seed).pareto(1.5, (n, 1)) + 1
            _, state = play(br.TrimmedForcedExploration(c=2), rewards, compiled=True)
            estimates.append(state.arms["mean"][0])
        bias[n] = 3 - np.median(estimates)
    print(bias)
    assert bias[100] > 1.5 * bias[2000] > 2.25 * bias[40_000]
    assert 0 < bias[40_000] < 0.4


def test_a_better_arm_is_found_where_the_plain_mean_is_fooled():
    """Student's t with 1.5 degrees of freedom, means 0 and 1: how often the worse arm is pulled."""
    robustly, plainly = [], []
    for seed in range(runs(50, 400)):
        rewards = np.random.default_rng(seed).standard_t(1.5, (3000, 2)) + np.array([0.0, 1.0])
        robustly.append((br.trace(br.TrimmedForcedExploration(), rewards) == 0).sum())
        plainly.append((br.trace(br.CATALOGUE["FE-Anytime"], rewards) == 0).sum())
    print(np.mean(robustly), np.mean(plainly))
    assert np.mean(robustly) < 100
    assert np.mean(plainly) > 200


def test_compiled_code_does_the_same():
    rng = np.random.default_rng(2)
    rewards = rng.standard_t(1.5, (1500, 3))
    policy = br.TrimmedForcedExploration()
    plain, state = play(policy, rewards)
    compiled, same = play(policy, rewards, compiled=True)
    assert np.array_equal(plain, compiled)
    assert state.arms.tobytes() == same.arms.tobytes()


def test_a_tabulated_sequence_shares_the_memory_with_the_rewards():
    f = br.Sequence(lambda r: 2 * r)
    rewards = np.random.default_rng(0).random((600, 2))
    chosen = br.trace(br.TrimmedForcedExploration(f), rewards)
    assert np.array_equal(chosen, br.trace(br.TrimmedForcedExploration(br.Linear(2)), rewards))


def test_what_must_be_known_follows_the_sequence():
    assert br.TrimmedForcedExploration().must_know == "nothing"
    assert br.TrimmedForcedExploration(br.Exponential()).must_know == "T"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"c": 0}, "TrimmedForcedExploration's c must be"),
        ({"c": math.inf}, "TrimmedForcedExploration's c must be"),
        ({"c": 1001}, "TrimmedForcedExploration's c must be"),
        ({"sequence": 3}, "TrimmedForcedExploration's sequence must be"),
    ],
)
def test_bad_settings_are_named(arguments, message):
    with pytest.raises(br.InvalidValueError, match=message):
        br.TrimmedForcedExploration(**arguments)
