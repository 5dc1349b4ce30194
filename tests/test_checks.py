"""Checks of given values: what passes comes back as a plain number, what does not is named."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from brigand import InvalidValueError, checks

exactly_repeatable = settings(derandomize=True, deadline=None)


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3), 2**100, -5, 0], ids=repr)
def test_integers_of_every_kind_become_ints(value):
    result = checks.integer("n", value)
    assert result == value
    assert type(result) is int


@pytest.mark.parametrize(
    "value",
    [True, np.True_, 3.0, np.float64(3), "3", None, [3], np.array([3]), Fraction(3), math.nan, 3 + 0j],
    ids=repr,
)
def test_what_is_not_an_integer_is_refused_by_name(value):
    with pytest.raises(InvalidValueError, match=r"^horizon must be an integer, not .*[3Tna]"):
        checks.integer("horizon", value)


@pytest.mark.parametrize("value", [100_000, 1e5, np.float64(1e5), np.int64(100_000)], ids=repr)
def test_a_whole_number_of_steps_may_be_a_float(value):
    assert checks.steps("horizon", value) == 100_000
    assert type(checks.steps("horizon", value)) is int


@pytest.mark.parametrize("value", [1.5, 0.0, -1e5, 2.0**54, math.inf, math.nan, True, "1e5"], ids=repr)
def test_other_floats_are_no_number_of_steps(value):
    with pytest.raises(InvalidValueError, match=r"^horizon must be"):
        checks.steps("horizon", value)


@pytest.mark.parametrize("value", [1, 2, 7])
def test_integers_may_lie_on_their_bounds(value):
    assert checks.integer("n", value, 1, 7) == value
    assert checks.integer("n", value, 1) == value


@pytest.mark.parametrize(
    ("value", "low", "high", "message"),
    [
        (0, 1, None, r"n must be >= 1, not 0\."),
        (-(2**70), 0, None, rf"n must be >= 0, not -{2**70}\."),
        (0, 1, 7, r"n must be in \[1, 7\], not 0\."),
        (8, 1, 7, r"n must be in \[1, 7\], not 8\."),
    ],
)
def test_integers_out_of_bounds_are_refused_with_the_bounds(value, low, high, message):
    with pytest.raises(InvalidValueError, match=f"^{message}$"):
        checks.integer("n", value, low, high)


@exactly_repeatable
@given(st.integers(), st.integers(), st.integers())
def test_integers_pass_exactly_within_their_bounds(value, low, high):
    if low <= value <= high:
        assert checks.integer("n", value, low, high) == value
    else:
        with pytest.raises(InvalidValueError):
            checks.integer("n", value, low, high)


@pytest.mark.parametrize(
    "value", [0.5, 2, -3, np.float32(0.5), np.float64(1e300), np.int64(4), Fraction(1, 4), 5e-324], ids=repr
)
def test_numbers_of_every_kind_become_floats(value):
    result = checks.number("x", value)
    assert result == value
    assert type(result) is float


@pytest.mark.parametrize(
    "value",
    [True, np.False_, "0.5", None, [0.5], np.array([0.5]), 0.5j, Decimal("0.5")],
    ids=repr,
)
def test_what_is_not_a_number_is_refused_by_name(value):
    with pytest.raises(InvalidValueError, match=r"^Beta's a must be a number, not "):
        checks.number("Beta's a", value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float32("nan"), np.float64("inf")])
def test_numbers_that_are_not_finite_are_refused(value):
    with pytest.raises(InvalidValueError, match=f"^x must be finite, not {float(value)}"):
        checks.number("x", value)


def test_infinities_pass_where_they_are_allowed_but_not_nan():
    assert checks.number("x", math.inf, 0.0, infinite=True) == math.inf
    assert checks.number("x", -math.inf, infinite=True) == -math.inf
    with pytest.raises(InvalidValueError, match="nan"):
        checks.number("x", math.nan, infinite=True)
    with pytest.raises(InvalidValueError, match=">= 0, not -inf"):
        checks.number("x", -math.inf, 0.0, infinite=True)


@pytest.mark.parametrize(
    "value", [10**400, -(10**400), Fraction(10**400, 3)], ids=["int", "negative", "Fraction"]
)
def test_a_number_too_large_for_a_float_is_refused_like_infinity(value):
    with pytest.raises(InvalidValueError, match=r"^x must be"):
        checks.number("x", value)


@pytest.mark.parametrize(
    ("value", "bounds", "message"),
    [
        (-0.5, {"low": 0.0}, r"x must be >= 0, not -0\.5\."),
        (1.5, {"low": 0.0, "high": 1.0}, r"x must be in \[0, 1\], not 1\.5\."),
        (-5e-324, {"low": 0.0, "high": 1.0}, r"x must be in \[0, 1\], not -5e-324\."),
        (0, {"above": 0.0}, r"x must be > 0, not 0\."),
        (1, {"above": 1.0}, r"x must be > 1, not 1\."),
    ],
)
def test_numbers_out_of_bounds_are_refused_with_the_bounds(value, bounds, message):
    with pytest.raises(InvalidValueError, match=f"^{message}$"):
        checks.number("x", value, **bounds)


def test_a_number_just_out_of_bounds_is_shown_with_the_digits_that_matter():
    with pytest.raises(InvalidValueError, match=r"not 1\.0000001"):
        checks.number("x", 1.0000001, 0.0, 1.0)


def test_a_bound_that_is_there_is_not_written_as_infinite():
    with pytest.raises(InvalidValueError, match=r"must be in \(0, 1\], not 2\.0\.$") as error:
        checks.number("x", 2.0, high=1.0, above=0.0)
    assert "inf" not in str(error.value)


@exactly_repeatable
@given(*[st.floats(allow_nan=False, allow_infinity=False)] * 4)
def test_numbers_pass_exactly_within_their_bounds(value, low, high, above):
    if low <= value <= high and value > above:
        assert checks.number("x", value, low, high, above=above) == value
    else:
        with pytest.raises(InvalidValueError):
            checks.number("x", value, low, high, above=above)


@pytest.mark.parametrize(
    "values",
    [[1, 2.5], (1, 2.5), np.array([1, 2.5]), np.array([1, 2.5], np.float32), [Fraction(1), np.float64(2.5)]],
    ids=["list", "tuple", "array", "float32", "mixed"],
)
def test_lists_of_numbers_of_every_kind_become_tuples_of_floats(values):
    result = checks.numbers_tuple("data", values)
    assert result == (1.0, 2.5)
    assert type(result) is tuple
    assert {type(x) for x in result} == {float}


@pytest.mark.parametrize("values", [range(3), np.arange(3), np.arange(3, dtype=np.uint8)], ids=repr)
def test_lists_of_integers_become_tuples_of_floats(values):
    assert checks.numbers_tuple("data", values) == (0.0, 1.0, 2.0)


@pytest.mark.parametrize(
    ("values", "shape"),
    [([], r"\(0,\)"), (5.0, r"\(\)"), ([[1, 2], [3, 4]], r"\(2, 2\)"), (np.empty((0, 3)), r"\(0, 3\)")],
    ids=["empty", "scalar", "two-dimensional", "empty and two-dimensional"],
)
def test_what_is_not_one_dimensional_or_empty_is_refused_with_its_shape(values, shape):
    with pytest.raises(InvalidValueError, match=f"^data must be a non-empty, one-dimensional .*{shape}"):
        checks.numbers_tuple("data", values)


@pytest.mark.parametrize(
    "values",
    [
        "abc",
        ["a", 1],
        [1, [2, 3]],
        {1.0, 2.0},
        {"a": 1},
        (x for x in [1.0]),
        [1j],
        np.array([1 + 1j]),
        [object()],
        [True, False],
        np.array([True, False]),
        ["1", "2.5"],
        [10**400],
    ],
    ids=[
        "text",
        "text among numbers",
        "ragged",
        "set",
        "dict",
        "generator",
        "complex",
        "complex array",
        "object",
        "booleans",
        "boolean array",
        "digits as text",
        "too large for a float",
    ],
)
def test_what_is_not_a_list_of_numbers_is_refused_by_name(values):
    with pytest.raises(InvalidValueError, match=r"^data"):
        checks.numbers_tuple("data", values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, math.nan, math.nan], r"data\[1\] must be finite, not nan"),
        ([math.inf], r"data\[0\] must be finite, not inf"),
        ([0, 1, -math.inf], r"data\[2\] must be finite, not -inf"),
        ([1, None], r"data\[1\]"),
    ],
    ids=["nan", "inf", "-inf", "None"],
)
def test_the_first_number_that_is_not_finite_is_named_by_its_place(values, message):
    with pytest.raises(InvalidValueError, match=f"^{message}"):
        checks.numbers_tuple("data", values)


def test_infinite_numbers_pass_in_lists_where_they_are_allowed_but_not_nan():
    assert checks.numbers_tuple("f", [1, math.inf], infinite=True) == (1.0, math.inf)
    with pytest.raises(InvalidValueError, match=r"f\[1\].*nan"):
        checks.numbers_tuple("f", [math.inf, math.nan], infinite=True)
