"""Exploration sequences without a formula: an array, or a Python callable, as numbers that were checked."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from brigand import checks
from brigand.errors import InvalidValueError
from brigand.spec import import_name

MAX_ROUNDS = 10_000_000
"""The longest tabulation of a Python callable."""


def tabulate(f: Callable[[int], float], span: int, rounds: int | None) -> tuple[float, ...]:
    """Return f(1), f(2), ..., up to the first value above `span`, and at most `rounds` of them.

    Raises
    ------
    InvalidValueError
        f decreases, is negative or NaN, or has more than `MAX_ROUNDS` values.
    """
    values: list[float] = []
    while (rounds is None or len(values) < rounds) and (not values or values[-1] <= span):
        if len(values) == MAX_ROUNDS:
            raise InvalidValueError(
                f"a callable sequence is tabulated for at most {MAX_ROUNDS} rounds, and this run may "
                "have more; use Constant, Linear, Power, Exponential, or an array."
            )
        values.append(_called(f, len(values) + 1))
    return check_values(values)


def first_values(f: Callable[[int], float]) -> list[float]:
    """Return f(1), ..., f(64)."""
    return [_called(f, r) for r in range(1, 65)]


def name_of(f: Callable[[int], float]) -> str:
    """Return ``module:function``; with a hash of the first 64 values if that cannot be imported."""
    name = f"{getattr(f, '__module__', '')}:{getattr(f, '__qualname__', type(f).__name__)}"
    try:
        importable = import_name(name) is f
    except InvalidValueError:
        importable = False
    if importable:
        return name
    return f"{name} (not importable, {hashlib.sha256(repr(first_values(f)).encode()).hexdigest()[:16]})"


def check_values(values: object) -> tuple[float, ...]:
    """Return f(1), f(2), ... as floats.

    Raises
    ------
    InvalidValueError
        They are no numbers, or there are none; one is negative, NaN, or less than the one before.
    """
    result = checks.numbers_tuple("the sequence", values, infinite=True)
    for r, (before, now) in enumerate(zip((0.0, *result), result, strict=False), start=1):
        if now < 0:
            raise InvalidValueError(f"the sequence must not be negative, but f({r}) = {now!r}.")
        if now < before:
            raise InvalidValueError(
                f"the sequence must not decrease, but f({r - 1}) = {before!r} and f({r}) = {now!r}."
            )
    return result


def _called(f: Callable[[int], float], r: int) -> float:
    """Return f(r) as a float."""
    return checks.number(f"f({r})", f(r), infinite=True)
