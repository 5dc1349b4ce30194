"""Exploration sequences: their values, their defaults, and what is refused."""

import math

import numpy as np
import pytest

import brigand as br
from brigand.policies.forced.sequences import value

NO_MEMORY = np.zeros(0, [("f", float)])


def f(sequence, r, span=100_000, step=0):
    return value(*sequence.form(span), NO_MEMORY, 0, r, step)


@pytest.mark.parametrize(
    ("sequence", "values"),
    [
        (br.Constant(3.5), [3.5, 3.5, 3.5]),
        (br.Constant(), [math.sqrt(100_000)] * 3),
        (br.Linear(), [1, 2, 3]),
        (br.Linear(2, shift=-1), [0, 2, 4]),
        (br.Exponential(2), [2, 4, 8]),
        (br.Exponential(2, shift=-1), [1, 2, 4]),
        (br.Exponential(), [math.exp(r / math.log(100_000)) for r in (1, 2, 3)]),
        (br.Power(2), [1, 4, 9]),
        (br.Power(0.5, shift=1), [math.sqrt(2), math.sqrt(3), 2]),
    ],
    ids=repr,
)
def test_values_are_those_of_the_formula(sequence, values):
    assert [f(sequence, r) for r in (1, 2, 3)] == pytest.approx(values, rel=1e-12)


def test_only_the_anytime_sequence_looks_at_the_steps():
    for sequence in (br.Constant(3), br.Linear(), br.Exponential(2), br.Power(2)):
        assert f(sequence, 3, step=10) == f(sequence, 3, step=1000)
        assert not sequence.needs_steps
    assert br.AnytimeExponential().needs_steps
    for step, at_3 in ((2, 2), (10, math.exp(3 / math.log(10))), (1000, math.exp(3 / math.log(1000)))):
        assert f(br.AnytimeExponential(), 3, step=step) == pytest.approx(at_3)


def test_the_authors_base_at_100000_steps():
    assert br.Exponential().form(100_000).number == pytest.approx(1.0907, abs=5e-5)


def test_powers_of_two_are_exact_and_nothing_overflows():
    assert f(br.Exponential(2), 40) == 2.0**40
    assert f(br.Exponential(2), 5000) == math.inf
    assert f(br.Exponential(1), 10**12) == 1.0


def test_the_window_takes_the_place_of_the_horizon_in_the_defaults():
    policy = br.ForcedExploration(br.Constant(), window=400)
    assert policy.parameters(3, 100_000).number == 20.0
    policy = br.ForcedExploration(br.Exponential(), window=400)
    assert policy.parameters(3, 100_000).number == pytest.approx(math.exp(1 / math.log(400)))


def test_an_array_goes_on_with_its_last_value():
    policy = br.ForcedExploration(br.Sequence([1, 2, 5]))
    memory, length = policy.memory(2, 100), policy.parameters(2, 100).table
    form = policy.sequence.form(100)
    assert [value(*form, memory, length, r, 0) for r in (1, 2, 3, 4, 1000)] == [1, 2, 5, 5, 5]


def test_a_callable_equals_its_formula():
    rng = np.random.default_rng(0)
    rewards = rng.standard_normal((3000, 4))
    pairs = [
        (br.Sequence(lambda r: r**2), br.Power(2)),
        (br.Sequence(lambda r: r), br.Linear()),
        (br.Sequence(lambda r: 7), br.Constant(7)),
        (br.Sequence(np.arange(1, 2000)), br.Linear()),
    ]
    for tabulated, formula in pairs:
        assert np.array_equal(
            br.trace(br.ForcedExploration(tabulated), rewards),
            br.trace(br.ForcedExploration(formula), rewards),
        )


def test_a_sequence_and_a_window_share_the_memory():
    rng = np.random.default_rng(0)
    rewards = rng.standard_normal((500, 3))
    for window in (3, 50):
        assert np.array_equal(
            br.trace(br.ForcedExploration(br.Sequence(lambda r: r), window), rewards),
            br.trace(br.ForcedExploration(br.Linear(), window), rewards),
        )


def falls_later(r):
    return r if r < 100 else 5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: br.Sequence([3, 2]), r"must not decrease, but f\(1\) = 3.0 and f\(2\) = 2.0"),
        (lambda: br.Sequence([-1, 2]), r"must not be negative, but f\(1\) = -1"),
        (lambda: br.Sequence([1, math.nan]), r"\[1\] must be a number, not nan"),
        (lambda: br.Sequence([]), "non-empty"),
        (lambda: br.Sequence([[1, 2], [3, 4]]), "one-dimensional"),
        (lambda: br.Sequence("no_such_module:f"), "cannot be imported"),
        (lambda: br.Sequence(3), "one-dimensional"),
        (lambda: br.Sequence(lambda r: -r), "must not be negative"),
        (lambda: br.Sequence(lambda r: 1 / r), "must not decrease"),
        (lambda: br.Sequence([1.0000001, 1.0]), r"f\(1\) = 1.0000001 and f\(2\) = 1.0"),
        (lambda: br.Sequence(falls_later).table(1000, 1000), r"must not decrease, but f\(99\) = 99"),
        (lambda: br.Constant(-1), "Constant's value must be >= 0, not -1"),
        (lambda: br.Constant(math.nan), "must be a number, not nan"),
        (lambda: br.Linear(-0.5), "Linear's slope must be >= 0"),
        (lambda: br.Linear(shift=-2), "shift must be >= -1, not -2"),
        (lambda: br.Linear(shift=0.5), "shift must be an integer"),
        (lambda: br.Sequence(["1", "2"]), "must be a list of numbers"),
        (lambda: br.Exponential(0.9), "Exponential's base must be >= 1, not 0.9"),
        (lambda: br.Power(-1), "Power's exponent must be >= 0"),
        (lambda: br.Power("2"), "Power's exponent must be a number, not '2'"),
        (lambda: br.ForcedExploration(br.Constant()).parameters(3, None), "depends on the horizon"),
        (lambda: br.ForcedExploration(br.Sequence(abs)).memory(3, None), "depends on the horizon"),
    ],
)
def test_what_is_refused_is_named(make, message):
    with pytest.raises(br.InvalidValueError, match=message):
        make()


def test_integers_too_large_for_a_float_are_infinite():
    policy = br.ForcedExploration(br.Sequence(lambda r: 10 ** (100 * r)))
    assert set(br.trace(policy, np.tile([0.5, 0.6], (50, 1)))[4:]) == {1}


def test_values_of_a_sequence_may_be_infinite():
    assert br.Sequence([1, math.inf]).values == (1, math.inf)
    assert f(br.Constant(math.inf), 1) == math.inf


def test_linear_and_power_need_no_horizon():
    known = (br.Linear(), br.Power(2), br.Constant(4), br.Exponential(1.1), br.Sequence([1, 2]))
    for sequence in (*known, br.AnytimeExponential()):
        assert not sequence.needs_span
        br.ForcedExploration(sequence).start(3, None)
