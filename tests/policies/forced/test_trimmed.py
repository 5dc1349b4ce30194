"""FE by trimmed means: against the definition, with full rings, ties, outliers, and late rewards."""

import math
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import brigand as br
from brigand.policies.forced import sequences, trimmed
from policies.play import play
from strength import runs


def estimate(rewards, t, c, room=trimmed.ROOM):
    """The definition, slowly: the trimmed mean of the last of a list of rewards after t pulls."""
    rewards = rewards[-room:]
    n = len(rewards)
    k = min(n // 8, math.floor(c * n / math.ceil(math.log(t + 1))))
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


@settings(max_examples=runs(8, 200), deadline=None, derandomize=True)
@given(
    sequence=SEQUENCES,
    c=st.sampled_from([0.01, 0.3, 0.5, 0.7, 3.0]),
    room=st.sampled_from([20, 128, trimmed.ROOM]),
    n_arms=st.integers(1, 4),
    kind=st.sampled_from(sorted(REWARDS)),
    delay=st.sampled_from([0, 1, 30]),
    lost=st.sampled_from([0.0, 0.3]),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_estimate_and_choice_follow_the_definition(sequence, c, room, n_arms, kind, delay, lost, seed):
    with patch.object(trimmed, "ROOM", room):
        follow(sequence, c, room, n_arms, kind, delay, lost, seed)


def follow(sequence, c, room, n_arms, kind, delay, lost, seed):
    rng = np.random.default_rng(seed)
    horizon = 400
    rewards = REWARDS[kind](rng, (horizon, n_arms)) + 0.5 * np.arange(n_arms)
    policy = br.TrimmedForcedExploration(sequence, c)
    parameters, state = policy.parameters(n_arms, None), policy.start(n_arms, None)
    arrived, waiting = [[] for _ in range(n_arms)], []
    last, seen, round_, limit = [0] * n_arms, set(), 0, 0.0
    for t in range(1, horizon + 1):
        expected = [estimate(x, t - 1, c, room) if x else math.nan for x in arrived]
        assert state.arms["mean"].tolist() == pytest.approx(expected, rel=1e-13, abs=1e-15, nan_ok=True)
        found = [policy.kernels.estimate(parameters, *state, arm) for arm in range(n_arms)]
        assert np.array_equal(
            found, [(m, min(len(x), room)) for m, x in zip(state.arms["mean"], arrived, strict=True)], True
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


def told(policy, rewards, room=64):
    """Return the estimate after each reward of the only arm, by the kernels, with less room than usual."""
    with patch.object(trimmed, "ROOM", room):
        parameters, state = policy.parameters(1, None), policy.start(1, None)
        found = []
        for step, reward in enumerate(rewards, start=1):
            policy.kernels.pull(parameters, *state, 0)
            policy.kernels.learn(parameters, *state, 0, reward, step)
            found.append(float(state.arms["mean"][0]))
    return found, state


def test_estimates_by_hand():
    """c = 1/4: n / (4 * 3) rewards are left out on each side after 8 to 19 pulls, n / (4 * 4) after 20."""
    rewards = [4.0, 0, 8, 2, 1, 3, 3, 11, 20, -1, 5, 5, 5, 5, 5, 9, 7, 6, 6, 6]
    found, _ = told(br.TrimmedForcedExploration(c=0.25), rewards)
    assert found[:11] == [math.fsum(rewards[:n]) / n for n in range(1, 12)]
    assert found[11] == (math.fsum(rewards[:12]) - 20 + 1) / 10  # without -1 and 20
    assert found[19] == (math.fsum(rewards) - 20 + 1) / 18
    found, _ = told(br.TrimmedForcedExploration(c=2), rewards)  # never more than an eighth
    assert found[7] == (math.fsum(rewards[:8]) - 0 - 11) / 6
    assert found[15] == (math.fsum(rewards[:16]) - 0 + 1 - 20 - 11) / 12
    found, _ = told(br.TrimmedForcedExploration(c=0.25), rewards, room=12)
    assert found[19] == math.fsum(rewards[8:]) / 12  # 12 / 16 is less than 1


def test_the_last_rewards_are_kept_in_order_of_size():
    policy = br.TrimmedForcedExploration(br.Linear())
    assert len(policy.memory(3, 10)) == len(policy.memory(3, None)) == 3 * trimmed.ROOM
    rewards = np.random.default_rng(0).standard_cauchy((3000, 1))
    _, state = play(policy, rewards, compiled=True)
    last = rewards[-trimmed.ROOM :, 0]
    assert sorted(state.memory["arrived"]) == state.memory["sorted"].tolist() == sorted(last)
    assert state.arms["mean"][0] == pytest.approx(estimate(list(last), 3000, policy.c), rel=1e-13)


def test_the_share_follows_the_logarithm_at_the_very_step():
    header = br.TrimmedForcedExploration().start(1, None).header
    changes = 0
    for step in range(1, 20_000):
        header["step"] = step
        changes += trimmed.set_log(header)
        assert header["log"] == math.ceil(math.log(step + 1))
    assert changes == 9


def test_outliers_that_are_left_out_leave_no_rounding_behind():
    rewards = [0.1] * 3000
    rewards[7], rewards[9], rewards[1500], rewards[1510] = 1e300, -1e300, 1e300, -1e308
    found, _ = told(br.TrimmedForcedExploration(c=2), rewards)
    assert set(found[7:]) == {0.1}


def test_what_is_forgotten_leaves_no_rounding_behind():
    rewards = [0.1] * 200
    rewards[5] = 1e300
    found, _ = told(br.TrimmedForcedExploration(c=0.01), rewards)
    assert min(found[5:69]) > 1e298
    assert set(found[69:]) == {0.1}


@pytest.mark.parametrize("c", [0.01, 2.0])
@pytest.mark.parametrize("first", [0, 50])
def test_nothing_overflows(c, first):
    """A sum of 1.7e308 and another is infinite."""
    largest = np.finfo(float).max
    policy = br.TrimmedForcedExploration(c=c)
    found, _ = told(policy, [1.0] * first + [largest] * 200)
    assert np.isfinite(found).all()
    if first == 0:
        assert set(found) == {largest}
    found, _ = told(policy, [1.0] * first + [largest, largest, -largest, -largest, 0.5] * 60)
    assert np.isfinite(found).all()
    rewards = [1.0] * first + [1.7e308, -1.7e308, 1.6e308] * 100
    found, _ = told(policy, rewards)
    expected = [estimate(rewards[: t + 1], t + 1, c, 64) for t in range(len(rewards))]
    assert np.divide(found, 1e308) == pytest.approx(np.divide(expected, 1e308), abs=1e-14)
    full = [1.7e308, 1.6e308] * 1000
    _, state = play(policy, np.array(full)[:, None], compiled=True)
    assert state.arms["mean"][0] / 1e308 == pytest.approx(1.65, rel=1e-12)


@pytest.mark.parametrize("reward", [0.1, 1 / 3, 1e300, -1e-300])
def test_constant_rewards_have_themselves_as_their_estimate(reward):
    assert set(told(br.TrimmedForcedExploration(c=1), [reward] * 700)[0]) == {reward}


def test_equal_rewards_in_another_order_have_the_same_estimate():
    rng = np.random.default_rng(5)
    for rewards in (rng.integers(0, 7, 300) / 10, rng.random(300), rng.standard_t(1.5, 300)):
        last = {
            told(br.TrimmedForcedExploration(c=1), rng.permutation(rewards), 300)[0][-1] for _ in range(5)
        }
        assert len(last) == 1


def test_estimates_of_binary_rewards_tell_arms_apart_whose_medians_are_equal():
    rng = np.random.default_rng(0)
    found = [told(br.TrimmedForcedExploration(), rng.random(1000) < p, 1000)[0][-1] for p in (0.2, 0.3)]
    assert found[0] + 0.05 < found[1]


def test_what_is_rarer_than_the_share_is_not_seen():
    """Of 1000 rewards after e^10 pulls a tenth is left out on each side, after e^37 a 37th."""
    policy = br.TrimmedForcedExploration(c=1)
    parameters, (header, arms, memory) = policy.parameters(1, None), policy.start(1, None)
    memory["sorted"][940:1000], arms["count"][0] = 1.0, 1000
    for log, expected in ((10, 0.0), (37, (60 - 27) / (1000 - 2 * 27))):
        header["log"] = log
        trimmed.trim_all(parameters, header, arms, memory)
        assert arms["mean"][0] == expected


def test_the_estimate_approaches_the_mean_of_pareto_rewards():
    """P(X > x) = x^-1.5: the mean is 3, the variance infinite, the median 1.6."""
    bias = {}
    for n in (100, 2_000, 40_000):
        estimates = []
        for seed in range(runs(8, 50)):
            rewards = np.random.default_rng(seed).pareto(1.5, (n, 1)) + 1
            _, state = play(br.TrimmedForcedExploration(c=0.25), rewards, compiled=True)
            estimates.append(state.arms["mean"][0])
        bias[n] = 3 - np.median(estimates)
    assert bias[100] > bias[2000] > bias[40_000] > 0


def test_few_skewed_rewards_are_rated_as_many_are():
    """Lognormal rewards of mean 1.65, after 10^5 pulls: the trimmed means of 72 and of 1000 rewards."""
    policy, rng = br.TrimmedForcedExploration(c=0.5), np.random.default_rng(0)
    parameters, found = policy.parameters(2, None), []
    for _ in range(300):
        header, arms, memory = policy.start(2, None)
        for arm, n in enumerate((72, 1000)):
            memory["sorted"][arm * trimmed.ROOM :][:n] = np.sort(rng.lognormal(size=n))
            arms["count"][arm] = n
        header["step"] = 10**5
        trimmed.set_log(header)
        trimmed.trim_all(parameters, header, arms, memory)
        found.append(arms["mean"].tolist())
    few, many = np.mean(found, axis=0)
    error = np.std(found, axis=0)[0] / math.sqrt(300)
    print(few, many, error)
    assert abs(few - many) < 4 * error < 0.05
    assert many < math.exp(0.5) - 0.1


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
    rewards = rng.standard_t(1.5, (runs(500, 1500), 3)) + np.array([0.0, 0.0, 2.0])
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
