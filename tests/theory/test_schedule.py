"""When FE forces, against a plain loop, for every step."""

import math
from decimal import Decimal, getcontext

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import brigand as br
from brigand.theory.schedule import Schedule, doubt
from strength import some

SEQUENCES = [
    br.Exponential(),
    br.Exponential(1.3),
    br.Exponential(1.02, shift=-1),
    br.Linear(),
    br.Linear(0.3),
    br.Linear(7.5, shift=-1),
    br.Constant(),
    br.Constant(0),
    br.Constant(2.5),
    br.Constant(4),
    br.Constant(math.inf),
    br.Power(0.5),
    br.Power(2),
    br.Sequence([1, 1, 2.5, 10, 10, 30]),
    br.Sequence([0, 3, math.inf]),
    br.Sequence(lambda r: r * math.log(r + 1)),
]


def named(sequence):
    """Return a name that is the same in every process."""
    return "callable" if callable(getattr(sequence, "values", None)) else repr(sequence)


def f_of(sequence, horizon):
    """Return f as a plain function."""
    if isinstance(sequence, br.Sequence):
        table = sequence.table(horizon, horizon + 1)
        return lambda r: table[min(r, len(table)) - 1]
    number, shift = sequence.form(horizon).number, sequence.shift
    if isinstance(sequence, br.Constant):
        return lambda r: number
    if isinstance(sequence, br.Linear):
        return lambda r: number * (r + shift)
    if isinstance(sequence, br.Power):
        return lambda r: float(r + shift) ** number
    return lambda r: number ** float(r + shift) if (r + shift) * math.log(number) < 700 else math.inf


def play(f, n_arms, horizon, greedy):
    """Return pulls, forced pulls (both (T, K)) and completed rounds (T,), FE's definition step by step."""
    age = [0] * n_arms
    last = [0] * n_arms
    pulls, forced, seen, round_ = np.zeros(n_arms, int), np.zeros(n_arms, int), set(), 0
    history = []
    for t in range(1, horizon + 1):
        threshold = 0 if round_ == 0 else f(round_)
        oldest = min(range(n_arms), key=lambda k: last[k])
        age = [t - 1 - last[k] for k in range(n_arms)]
        if last[oldest] == 0 or age[oldest] >= threshold:
            arm = oldest
            forced[arm] += 1
        else:
            arm = greedy(t)
        last[arm] = t
        pulls[arm] += 1
        seen.add(arm)
        if len(seen) == n_arms:
            round_ += 1
            seen = set()
        history.append((pulls.copy(), forced.copy(), round_))
    return (np.array(column) for column in zip(*history, strict=True))


@pytest.mark.every(4)
@pytest.mark.parametrize("sequence", SEQUENCES, ids=named)
@pytest.mark.parametrize("n_arms", [2, 3, 5])
def test_one_leader_makes_exactly_these_forced_pulls_and_rounds(sequence, n_arms):
    horizon = 600
    schedule = Schedule(sequence, n_arms, horizon)
    steps = np.arange(1, horizon + 1)
    for leader in range(n_arms):
        _, forced, rounds = play(f_of(sequence, horizon), n_arms, horizon, lambda t, leader=leader: leader)
        assert np.array_equal(schedule.forced(steps, leader), forced)
        assert np.array_equal(schedule.completed(steps, leader), rounds)


@pytest.mark.every(4)
@pytest.mark.parametrize("sequence", SEQUENCES, ids=named)
@pytest.mark.parametrize("n_arms", [1, 2, 3, 7])
def test_rounds_and_forced_pulls_keep_to_lemma_a_whatever_is_greedy(sequence, n_arms):
    horizon = 500
    schedule = Schedule(sequence, n_arms, horizon)
    steps = np.arange(1, horizon + 1)
    for seed in range(5):
        choices = np.random.default_rng(seed).integers(n_arms, size=horizon + 1)
        pulls, forced, rounds = play(f_of(sequence, horizon), n_arms, horizon, lambda t, c=choices: c[t])
        assert (rounds >= schedule.rounds(steps)).all()
        assert (pulls.min(axis=1) >= schedule.rounds(steps)).all()
        assert (forced.max(axis=1) <= schedule.most_forced(steps)).all()


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.floats(0, 40), min_size=1, max_size=12),
    st.integers(1, 6),
    st.integers(0, 2**32 - 1),
)
def test_lemma_a_for_any_sequence(values, n_arms, seed):
    sequence = br.Sequence(sorted(values))
    schedule, steps = Schedule(sequence, n_arms, 200), np.arange(1, 201)
    choices = np.random.default_rng(seed).integers(n_arms, size=201)
    pulls, forced, rounds = play(f_of(sequence, 200), n_arms, 200, lambda t: choices[t])
    assert (rounds >= schedule.rounds(steps)).all()
    assert (pulls.min(axis=1) >= schedule.rounds(steps)).all()
    assert (forced.max(axis=1) <= schedule.most_forced(steps)).all()


@pytest.mark.parametrize(
    ("sequence", "forced", "rounds"),
    [
        (br.Constant(), [1, 140, 140], 140),
        (br.Linear(), [3, 199, 199], 199),
        (br.Exponential(), [7, 75, 75], 75),
    ],
    ids=["sqrt(T)", "r", "exp(r / log T)"],
)
def test_the_three_sequences_of_the_paper_and_the_printed_lemma_3(sequence, forced, rounds):
    """K = 3, T = 20,000. The count of the printed lemma, rounds of f steps, is above the leader's."""
    horizon = 20_000
    schedule = Schedule(sequence, 3, horizon)
    assert schedule.forced(horizon, 0).tolist() == forced
    assert schedule.completed(horizon, 0) == rounds
    env = br.Environment.stationary([br.Gaussian(mean, 0.01) for mean in (0.9, 0.5, 0.1)])
    run = br.simulate(env, {"x": br.ForcedExploration(sequence)}, horizon, 3).dataset
    assert (run["forced"].sel(policy="x") == forced).all()
    f, total, printed = f_of(sequence, horizon), 0.0, 0
    while total + f(printed + 1) <= horizon:
        printed += 1
        total += f(printed)
    assert forced[0] < printed - 1
    if isinstance(sequence, br.Constant):
        assert forced[1] < horizon / math.sqrt(horizon) - 1


@pytest.mark.every(6)
@pytest.mark.parametrize("sequence", [*SEQUENCES[:-1], br.Linear(1e-9), br.Power(0.1)], ids=named)
def test_bounds_on_rounds_hold_over_10_to_the_12_steps(sequence):
    horizon = 10**12
    schedule = Schedule(sequence, 10, horizon)
    steps = np.unique(np.geomspace(1, horizon, 300).astype(np.int64))
    rounds, forced = schedule.rounds(steps), schedule.most_forced(steps)
    assert (np.diff(rounds) >= 0).all()
    assert (np.diff(forced) >= 0).all()
    assert (schedule.lengths > 0).all()
    small = Schedule(sequence, 10, 10_000) if not sequence.needs_span else None
    if small is not None:
        assert np.array_equal(small.rounds(steps[steps <= 10_000]), rounds[steps <= 10_000])
    # In the steps of rho rounds and one more, counted with their lengths, lies t.
    ends = schedule.n_arms + np.concatenate(([0], np.cumsum(schedule.lengths * schedule.counts)[:-1]))
    assert np.array_equal(ends, schedule.begin)


@pytest.mark.every(48)
@pytest.mark.parametrize("sequence", SEQUENCES, ids=named)
@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("means", [1, 2])
@pytest.mark.parametrize("m", some([0.0, 0.001, 0.003, 0.7, 30.0, 1e6, math.inf], [0.0, 0.7]))
def test_doubt_equals_its_sum_term_by_term(sequence, reset, means, m):
    horizon, n_arms = 3000, 3
    schedule = Schedule(sequence, n_arms, horizon)
    f = f_of(sequence, horizon)

    def phi(n):
        return min(1.0, means * math.exp(-max(n, 1) / m)) if m else 0.0

    lengths = [max(n_arms, math.ceil(min(f(r), 1e9)) + 1) for r in range(1, horizon + 1)]
    ends = np.cumsum(lengths)
    expected, total = [], 0.0
    in_turn = sum(f(r) <= n_arms - 1 for r in range(1, horizon + 1))  # rounds whose pulls are all forced
    for s in range(horizon):
        if s < n_arms * (in_turn - 1 if reset else in_turn + 1):
            pass
        elif reset:
            pulls = int(np.searchsorted(ends, s, side="right")) - 1
            total += phi(pulls)
        else:
            total += phi(1 + int(np.searchsorted(ends, s - n_arms, side="right")))
        expected.append(total)
    steps = np.arange(1, horizon + 1)
    assert doubt(schedule, m, steps, reset=reset, means=means) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_doubt_with_many_digits():
    """Against 50 digits, where exponents are large: m = 1e5 over 10^12 steps of rounds of one length."""
    getcontext().prec = 50
    horizon, m = 10**12, Decimal(10) ** 5
    schedule = Schedule(br.Constant(999_999), 2, horizon)
    q = (-1 / m).exp()
    certain = int(m * Decimal(2).ln())
    total = Decimal(0)
    rounds = (horizon - 2) // 1_000_000
    ones = min(certain, rounds)
    total += ones * 1_000_000
    total += 1_000_000 * 2 * q ** (ones + 1) * (1 - q ** (rounds - ones)) / (1 - q)
    last = min(Decimal(1), 2 * q ** (rounds + 1))
    total += last * (horizon - 2 - rounds * 1_000_000)
    assert doubt(schedule, 1e5, np.array([horizon]))[0] == pytest.approx(float(total), rel=1e-12)


def test_bad_arguments_are_refused():
    schedule = Schedule(br.Linear(), 3, 100)
    with pytest.raises(br.InvalidValueError, match="after the horizon"):
        schedule.rounds(101)
    with pytest.raises(br.InvalidValueError, match="a step must be"):
        schedule.rounds([0, 5])
    with pytest.raises(br.InvalidValueError, match="a step must be"):
        schedule.rounds(1.5)
    with pytest.raises(br.InvalidValueError, match="leader"):
        schedule.forced(10, 3)
    with pytest.raises(br.InvalidValueError, match="with one arm there is no leader"):
        Schedule(br.Linear(), 1, 100).forced(10, 0)
    with pytest.raises(br.InvalidValueError, match="n_arms"):
        Schedule(br.Linear(), 0, 100)
