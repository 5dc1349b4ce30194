"""FE and SW-FE: the authors' sequences, exact cases, a slow reference, the window, late rewards."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

import brigand as br
from brigand.policies.forced import sequences
from brigand.simulation.step import trace_loop
from policies.play import play
from strength import runs

AUTHORS = {
    "FE_exp": br.ForcedExploration(br.Exponential(shift=-1)),
    "FE_lin": br.ForcedExploration(br.Linear(shift=-1)),
    "FE_con": br.ForcedExploration(br.Constant(shift=-1)),
    "FE_EXP_SW": br.ForcedExploration(br.Exponential(shift=-1), 300, reset_round=0, reset_offset=1),
    "FE_LIN_SW": br.ForcedExploration(br.Linear(shift=-1), 300, reset_round=0, reset_offset=1),
    "FE_CON_SW": br.ForcedExploration(br.Constant(shift=-1), 300, reset_round=0, reset_offset=1),
}


@pytest.mark.parametrize("name", AUTHORS)
def test_the_authors_sequences_come_out_arm_by_arm(name, traces):
    assert np.array_equal(br.trace(AUTHORS[name], traces["rewards"]), traces[name])


def constant_rewards(means, horizon):
    return np.tile(np.asarray(means, float), (horizon, 1))


@pytest.mark.parametrize(
    ("means", "value", "cycle"),
    [
        ([0.9, 0.5, 0.1], 0, [0, 1, 2]),
        ([0.9, 0.5, 0.1], 2, [0, 1, 2]),
        ([0.9, 0.5, 0.1], 2.5, [0, 0, 1, 2]),
        ([0.9, 0.5, 0.1], 3, [0, 0, 1, 2]),
        ([0.9, 0.5, 0.1], 4, [0, 0, 0, 1, 2]),
        ([0.9, 0.5, 0.4, 0.3, 0.1], 4, [0, 1, 2, 3, 4]),
        ([0.9, 0.5, 0.4, 0.3, 0.1], 5, [0, 0, 1, 2, 3, 4]),
    ],
)
def test_constant_rewards_settle_into_the_known_cycle(means, value, cycle):
    """The period is ceil(f) + 1, and round robin needs f <= K - 1, not K."""
    k, n = len(means), len(cycle)
    arms = br.trace(br.ForcedExploration(br.Constant(value)), constant_rewards(means, k + 10 * n))
    assert arms[:k].tolist() == list(range(k))
    assert arms[k:].tolist() == cycle * 10


@pytest.mark.parametrize(
    ("sequence", "forced", "rounds"),
    [
        (br.Constant(), [1, 140, 140], 140),
        (br.Linear(), [3, 199, 199], 199),
        (br.Exponential(), [7, 75, 75], 75),
    ],
    ids=["constant", "linear", "exponential"],
)
def test_forced_pulls_are_counted_and_the_leader_is_almost_never_forced(sequence, forced, rounds):
    """The counter-example to the paper's Lemma 3: K = 3, T = 20000, means .9, .5, .1, little noise."""
    rng = np.random.default_rng(3)
    rewards = constant_rewards([0.9, 0.5, 0.1], 20_000) + 0.01 * rng.standard_normal((20_000, 3))
    chosen, state = play(br.ForcedExploration(sequence), rewards, compiled=True)
    assert state.arms["forced"].tolist() == forced
    assert state.header["round"] == rounds
    assert state.arms["pulls"].tolist() == np.bincount(chosen, minlength=3).tolist()


def test_a_sequence_that_becomes_infinite_explores_first_and_is_greedy_then():
    f = br.Sequence([0, 0, 0, 0, np.inf])
    arms = br.trace(br.ForcedExploration(f), constant_rewards([0.1, 0.9, 0.5], 100))
    assert np.bincount(arms[:15]).tolist() == [5, 5, 5]
    assert set(arms[15:]) == {1}


@pytest.mark.parametrize(
    "sequence", [br.Constant(7), br.Linear(), br.Exponential(1.3), br.Power(1.5)], ids=repr
)
def test_a_round_lasts_between_k_and_ceil_f_plus_1_steps(sequence):
    rng = np.random.default_rng(1)
    arms = br.trace(br.ForcedExploration(sequence), rng.standard_normal((2000, 4)))
    form = sequence.form(None)
    r, seen, length = 0, set(), 0
    for arm in arms:
        seen.add(arm)
        length += 1
        if len(seen) == 4:
            f = sequences.value(*form, None, 0, r, 0) if r > 0 else 0.0
            assert 4 <= length <= max(4, np.ceil(f) + 1)
            r, seen, length = r + 1, set(), 0
    assert r > 10


def allowed_arms(f, window, reset_round, reset_offset, rewards, chosen):
    """The definition, slowly: at each step, the set of arms that the rule allows, given those before."""
    k = rewards.shape[1]
    age, seen, r = np.zeros(k, int), np.zeros(k, bool), 0
    for t, arm in enumerate(chosen, start=1):
        lately = list(range(t - 1)) if window is None else list(range(max(0, t - 1 - window), t - 1))
        pulls = [[rewards[s, a] for s in lately if (a := chosen[s]) == j] for j in range(k)]
        absent = [j for j in range(k) if not pulls[j]]
        threshold = 0 if r == 0 else f(r)
        if age.max() >= threshold or (window is not None and absent):
            yield {int(age.argmax())}
        else:
            means = [sum(x) / len(x) if x else -np.inf for x in pulls]
            yield {j for j in range(k) if means[j] == max(means)}
        age += 1
        age[arm] = 0
        seen[arm] = True
        if seen.all():
            r, seen[:] = r + 1, False
        if window is not None and (t - reset_offset) % window == 0 and t >= reset_offset:
            r = reset_round


SEQUENCES = st.one_of(
    st.builds(br.Constant, st.one_of(st.floats(0, 30), st.just(np.inf))),
    st.builds(br.Linear, st.floats(0, 3), st.integers(-1, 2)),
    st.builds(br.Exponential, st.floats(1, 2), st.integers(-1, 2)),
    st.builds(br.Power, st.floats(0, 2), st.integers(-1, 2)),
    st.lists(st.floats(0, 40), min_size=1, max_size=8).map(lambda x: br.Sequence(sorted(x))),
)


@settings(max_examples=runs(60, 150), deadline=None, derandomize=True)
@given(
    sequence=SEQUENCES,
    n_arms=st.integers(1, 6),
    window=st.one_of(st.none(), st.integers(1, 60)),
    reset_round=st.integers(0, 2),
    offset=st.integers(0, 1),
    binary=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_choice_is_one_that_the_definition_allows(
    sequence, n_arms, window, reset_round, offset, binary, seed
):
    rng = np.random.default_rng(seed)
    rewards = rng.standard_normal((150, n_arms))
    if binary:  # exact sums, so that ties are ties
        rewards = (rewards > 0).astype(float)
    policy = br.ForcedExploration(sequence, window, reset_round, offset)
    chosen = br.trace(policy, rewards, seed=seed)
    form, memory = sequence.form(150), policy.memory(n_arms, 150)
    length = policy.parameters(n_arms, 150).table

    def f(r):
        return sequences.value(*form, memory, length, r, 0)

    rules = allowed_arms(f, window, reset_round, offset, rewards, chosen)
    for t, (arm, allowed) in enumerate(zip(chosen, rules, strict=True), start=1):
        assert arm in allowed, f"step {t}"


def final_round_trip(r):
    return 3 if r < 40 else 20


def test_a_callable_is_tabulated_as_far_as_a_late_reset_gets():
    rewards = constant_rewards([1.0, 0.0], 60)
    settings_ = {"window": 30, "reset_round": 40}
    long = br.Sequence([final_round_trip(r) for r in range(1, 200)])
    assert np.array_equal(
        br.trace(br.ForcedExploration(br.Sequence(final_round_trip), **settings_), rewards),
        br.trace(br.ForcedExploration(long, **settings_), rewards),
    )


@pytest.mark.parametrize("base", [12 ** (1 / 3), 6**0.25, 3 ** (1 / 3), 2.0])
def test_powers_round_alike_in_compiled_code_and_plain_python(base):
    """Where base^r is close to an integer, the last digit decides when an arm is forced."""
    policy = br.ForcedExploration(br.Exponential(base))
    rewards = constant_rewards([0.9, 0.5, 0.1], 400)
    assert np.array_equal(br.trace(policy, rewards), br.trace(policy, rewards, compiled=False))


@pytest.mark.parametrize("sequence", [br.Power(400.0), br.Linear(1e308), br.Exponential(1e300)], ids=repr)
def test_a_sequence_that_overflows_is_infinite_in_plain_python_too(sequence):
    policy = br.ForcedExploration(sequence, window=50, reset_round=10)
    rewards = constant_rewards([0.9, 0.5], 200)
    assert np.array_equal(br.trace(policy, rewards), br.trace(policy, rewards, compiled=False))


@pytest.mark.parametrize("reward", [0.1, 0.3, 0.7, 1e-300, -1 / 3])
@pytest.mark.parametrize(
    "policy",
    [
        br.ForcedExploration(br.Constant(np.inf)),
        br.ForcedExploration(window=20),
        br.EpsilonGreedy(exponent=60.0),
    ],
    ids=["FE", "SW-FE", "greedy"],
)
def test_equal_means_are_ties_whatever_the_reward(policy, reward):
    """Rounding breaks no tie: rewards all alike give the arms of rewards all 1, whose sums are exact."""
    shape = (400, 3)
    expected = br.trace(policy, np.full(shape, 1.0), seed=4)
    assert np.array_equal(br.trace(policy, np.full(shape, reward), seed=4), expected)


def test_a_never_pulled_arm_is_absent_from_the_window_though_a_reset_ended_round_0():
    policy = br.ForcedExploration(br.Constant(np.inf), window=20, reset_offset=1)
    arms = br.trace(policy, constant_rewards([0.1, 0.5, 0.9], 12))
    assert arms.tolist() == [0, 1, 2] + [2] * 9


def test_ties_between_means_are_broken_uniformly():
    """Four equal arms, no forced pull: chi-square of the fifth pull over 4000 seeds, level 1e-5."""
    rewards = np.full((5, 4), 0.5)
    policy = br.ForcedExploration(br.Constant(np.inf))
    fifth = [br.trace(policy, rewards, seed=seed)[4] for seed in range(runs(1000, 4000))]
    assert stats.chisquare(np.bincount(fifth, minlength=4)).pvalue > 1e-5


def test_a_window_of_the_horizon_or_more_equals_no_window():
    rng = np.random.default_rng(4)
    rewards = rng.standard_normal((500, 5))
    plain = br.trace(br.ForcedExploration(br.Linear()), rewards)
    for window in (500, 501, 10**15):
        assert np.array_equal(br.trace(br.ForcedExploration(br.Linear(), window), rewards), plain)


def test_an_arm_that_left_the_window_is_pulled_and_has_no_mean_before():
    """No forced pull by f = inf: an arm is absent, so pulled, exactly 20 steps after its last pull."""
    policy = br.ForcedExploration(br.Constant(np.inf), window=20)
    arms = br.trace(policy, constant_rewards([0.9, 0.5, 0.1], 200))
    for arm in (1, 2):
        assert set(np.diff(np.flatnonzero(arms == arm))) == {21}


def window_means(chosen, rewards, window, n_arms):
    recent = chosen[-window:]
    values = rewards[-window:][np.arange(len(recent)), recent]
    return np.array([values[recent == k].mean() if (recent == k).any() else np.nan for k in range(n_arms)])


@pytest.mark.full
def test_window_means_stay_exact_over_ten_million_steps():
    """1e-12, relative, although rewards of 1e12 enter and leave the window all the time."""
    rng = np.random.default_rng(0)
    piece, window = 1_000_000, 1820
    policy = br.ForcedExploration(br.Exponential(), window=window)
    parameters = policy.parameters(3, None)
    state = policy.start(3, None)
    rewards = rng.random((piece, 3)) + 1.0
    rewards[rng.random(piece) < 0.001] = 1e12
    rewards = np.broadcast_to(rewards, (10, piece, 3)).reshape(-1, 3)
    chosen = np.empty(len(rewards), np.int64)
    trace_loop(policy.kernels)(parameters, *state, np.arange(3), rewards, np.random.default_rng(1), chosen)
    assert state.header["step"] == len(rewards) == 10_000_000
    expected = window_means(chosen, rewards, window, 3)
    assert state.arms["mean"] == pytest.approx(expected, rel=1e-12)


def test_large_rewards_that_left_the_window_leave_no_residue():
    """A running sum would keep a residue of 1e290 for ever."""
    rewards = constant_rewards([1e-300, 2e-300], 400)
    rewards[:50] = 1e290
    policy = br.ForcedExploration(br.Constant(), window=40)
    _, state = play(policy, rewards, compiled=True)
    assert state.arms["mean"] == pytest.approx([1e-300, 2e-300], rel=1e-12)


@pytest.mark.full
@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    window=st.one_of(st.none(), st.integers(1, 30)),
    delays=st.lists(st.integers(0, 25), min_size=80, max_size=80),
    seed=st.integers(0, 1000),
)
def test_late_rewards_count_for_the_pull_they_belong_to(window, delays, seed):
    """Clocks move with pulls, estimates with rewards, whatever the order in which these arrive."""
    rng = np.random.default_rng(seed)
    rewards = rng.standard_normal((80, 3))
    policy = br.ForcedExploration(br.Linear(), window)
    parameters, state = policy.parameters(3, 80), policy.start(3, 80)
    kernels, candidates = policy.kernels, np.arange(3)
    chosen, told, due = [], set(), {}
    for step in range(1, 81):
        arm = kernels.select(parameters, *state, candidates, rng)
        kernels.pull(parameters, *state, arm)
        chosen.append(arm)
        due.setdefault(step + delays[step - 1], []).append(step)
        for arrived in rng.permutation(due.pop(step, [])):
            past = chosen[arrived - 1]
            kernels.learn(parameters, *state, past, rewards[arrived - 1, past], arrived)
            told.add(int(arrived))
        first = 1 if window is None else max(1, step - window + 1)
        for k in range(3):
            known = [rewards[s - 1, k] for s in told if s >= first and chosen[s - 1] == k]
            assert state.arms[k]["count"] == len(known)
            mean = np.mean(known) if known else np.nan
            assert state.arms[k]["mean"] == pytest.approx(mean, rel=1e-12, abs=1e-13, nan_ok=True)
        means = state.arms["mean"]
        best = np.flatnonzero(means == np.nanmax(means)) if told and not np.isnan(means).all() else []
        leader = best[0] if len(best) == 1 else -1
        assert state.header["leader"] == leader


def test_without_any_reward_pulls_are_spread_evenly():
    """Exploration is driven by decisions: ten arms, nobody tells anything."""
    policy = br.ForcedExploration(br.Linear())
    parameters, state = policy.parameters(10, 1000), policy.start(10, 1000)
    rng = np.random.default_rng(0)
    for _ in range(1000):
        arm = policy.kernels.select(parameters, *state, np.arange(10), rng)
        policy.kernels.pull(parameters, *state, arm)
    assert state.arms["pulls"].tolist() == [100] * 10


def test_an_overdue_arm_that_is_not_available_does_not_block_and_is_first_once_it_is_back():
    policy = br.ForcedExploration(br.Constant(5))
    parameters, state = policy.parameters(3, None), policy.start(3, None)
    rng = np.random.default_rng(0)

    def step(candidates):
        arm = policy.kernels.select(parameters, *state, np.array(candidates), rng)
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, [0.9, 0.5, 0.1][arm], int(state.header["step"]))
        return int(arm)

    assert [step([0, 1, 2]) for _ in range(3)] == [0, 1, 2]
    without = [step([0, 1]) for _ in range(20)]
    assert set(without) == {0, 1}
    assert step([0, 1, 2]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sequence": 3}, "sequence must be Constant, Linear"),
        ({"window": 0}, "window must be >= 1, not 0"),
        ({"window": 2.5}, "window must be an integer, not 2.5"),
        ({"window": True}, "window must be an integer, not True"),
        ({"reset_round": -1}, "reset_round must be >= 0, not -1"),
        ({"window": 10, "reset_offset": 11}, r"reset_offset must be in \[0, 10\], not 11"),
    ],
)
def test_bad_settings_are_named(arguments, message):
    with pytest.raises(br.InvalidValueError, match=message):
        br.ForcedExploration(**arguments)
