"""Exploration sequences f(r): in round r, an arm that was left alone for f(r) steps is due.

A sequence is non-decreasing and not negative; +inf is allowed and means "never again". f is evaluated at r +
shift; ``shift=-1`` is what the authors' scripts do. In round 0 the threshold is 0 whatever the sequence.

Source: Qi, Zhu, Guo, "Forced Exploration in Bandit Problems", AAAI 2024, section "Forced exploration" and
Corollaries 1-6.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence as AbstractSequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brigand import checks
from brigand.errors import InvalidValueError
from brigand.jit import kernel
from brigand.policies.base import Table
from brigand.spec import Spec, function_name, import_name, type_name

CONSTANT, LINEAR, EXPONENTIAL, POWER, TABULATED, ANYTIME = range(6)
MAX_ROUNDS = 10_000_000
"""The longest tabulation of a Python callable."""


class Form(NamedTuple):
    """A sequence as numbers for `value`: which formula, its number (slope, base, ...), its shift."""

    kind: int
    number: float
    shift: int


@kernel
def power(base: float, exponent: float) -> float:
    """Return base ** exponent, inf where that overflows. An int exponent would be rounded otherwise."""
    if base > 1.0 and exponent * math.log(base) > 709.0:
        return math.inf
    return base**exponent


@kernel
def value(kind: int, number: float, shift: int, memory: Table, length: int, round_: int, step: int) -> float:
    """Return f(round_), round_ >= 1; a tabulated f is in the first `length` rows of ``memory["f"]``.

    `step` is the number of pulls made so far; only `AnytimeExponential` looks at it.
    """
    r = float(round_ + shift)
    if kind == LINEAR:
        return number * r
    if kind == EXPONENTIAL:
        return power(number, r)
    if kind == POWER:
        return power(r, number)
    if kind == TABULATED:
        return memory[min(round_, length) - 1]["f"]
    if kind == ANYTIME:
        return min(power(math.e, r / math.log(max(float(step), 2.0))), float(step))
    return number


@dataclass(frozen=True)
class ExplorationSequence(Spec, ABC):
    """Base of all sequences f(r)."""

    @property
    def needs_span(self) -> bool:
        """Whether the sequence depends on the horizon, or on the window where there is one."""
        return False

    @property
    def needs_steps(self) -> bool:
        """Whether f(r) depends on the step at which round r begins, and so is not known beforehand."""
        return False

    @abstractmethod
    def form(self, span: int | None) -> Form:
        """Resolve the sequence into numbers.

        Parameters
        ----------
        span : int or None
            What the paper's defaults depend on: the window if there is one, else the horizon.

        Raises
        ------
        InvalidValueError
            The sequence's default needs the horizon, and it is not known.
        """

    def table(self, span: int | None, rounds: int | None) -> NDArray[np.float64]:
        """Return f(1), f(2), ... as numbers if f has no formula, else an empty array.

        Parameters
        ----------
        span : int or None
            The horizon: values above it are all the same to a run.
        rounds : int or None
            The most rounds that a run can have.
        """
        return np.empty(0)


@dataclass(frozen=True)
class Constant(ExplorationSequence):
    """f(r) = value; by default sqrt(T), or sqrt(window) where there is a window (Corollaries 1 and 4).

    Parameters
    ----------
    value : float, optional
        At least 0; at most K - 1 gives round robin, inf pure greed after one pull of each arm.
    shift : int
        Has no effect on a constant; there for symmetry with the other sequences.
    """

    value: float | None = None
    shift: int = 0

    def __post_init__(self) -> None:
        self._keep(shift=checks.integer("shift", self.shift, -1))
        if self.value is not None:
            self._keep(value=checks.number("Constant's value", self.value, 0.0, infinite=True))

    @property
    def needs_span(self) -> bool:
        return self.value is None

    def form(self, span: int | None) -> Form:
        number = math.sqrt(_need_span(self, span)) if self.value is None else self.value
        return Form(CONSTANT, float(number), self.shift)


@dataclass(frozen=True)
class Linear(ExplorationSequence):
    """f(r) = slope * (r + shift) (Corollaries 2 and 5, with slope 1). Needs no horizon.

    Parameters
    ----------
    slope : float
        At least 0.
    shift : int
        At least -1.
    """

    slope: float = 1.0
    shift: int = 0

    def __post_init__(self) -> None:
        self._keep(slope=checks.number("Linear's slope", self.slope, 0.0))
        self._keep(shift=checks.integer("shift", self.shift, -1))

    def form(self, span: int | None) -> Form:
        return Form(LINEAR, float(self.slope), self.shift)


@dataclass(frozen=True)
class Exponential(ExplorationSequence):
    """f(r) = base ** (r + shift), by default base = exp(1 / log T) or exp(1 / log window).

    These are the paper's choices (Corollaries 3 and 6).

    Parameters
    ----------
    base : float, optional
        At least 1. For T or window below 2 the default is taken at 2.
    shift : int
        At least -1.
    """

    base: float | None = None
    shift: int = 0

    def __post_init__(self) -> None:
        self._keep(shift=checks.integer("shift", self.shift, -1))
        if self.base is not None:
            self._keep(base=checks.number("Exponential's base", self.base, 1.0))

    @property
    def needs_span(self) -> bool:
        return self.base is None

    def form(self, span: int | None) -> Form:
        base = math.exp(1 / math.log(max(_need_span(self, span), 2))) if self.base is None else self.base
        return Form(EXPONENTIAL, float(base), self.shift)


@dataclass(frozen=True)
class AnytimeExponential(ExplorationSequence):
    """f(r) = min(exp(r / log t), t), t the steps made when round r begins: `Exponential` without a horizon.

    It is ours, not the paper's, whose base is exp(1 / log T). The base is evaluated anew at the beginning of
    each round, with the steps so far in place of T; if f came out less than in the round before, it stays as
    it was. Where one arm gets all greedy pulls, each other arm is forced (1 + o(1)) (log t)^2 times in t
    steps, as by `Exponential` with T = t. The minimum is for rounds that end quickly, before rewards come,
    say: an arm is left alone for at most as long as the bandit has lived, and pulled (1 - o(1)) (log t)^2
    times or more in every run without a window. ``docs/anytime.md`` proves this, says when f would
    decrease, and shows the cost and the effect that quick rounds at the start still have.

    With a window f is at most the window. t goes on through the resets, so f(1) = exp(1 / log t) is little
    more than 1, and f grows more slowly in every later block between resets. With a window `Exponential`
    needs no horizon either, for its base depends on the window.
    """

    @property
    def needs_steps(self) -> bool:
        return True

    def form(self, span: int | None) -> Form:
        return Form(ANYTIME, 0.0, 0)


@dataclass(frozen=True)
class Power(ExplorationSequence):
    """f(r) = (r + shift) ** exponent. Needs no horizon.

    Where others count the first pulls of all arms as round 1 (github.com/DataWraith/banditbench does, with
    r ** 2), that is ``shift=1`` here.

    Parameters
    ----------
    exponent : float
        At least 0.
    shift : int
        At least -1.
    """

    exponent: float
    shift: int = 0

    def __post_init__(self) -> None:
        self._keep(exponent=checks.number("Power's exponent", self.exponent, 0.0))
        self._keep(shift=checks.integer("shift", self.shift, -1))

    def form(self, span: int | None) -> Form:
        return Form(POWER, float(self.exponent), self.shift)


@dataclass(frozen=True)
class Sequence(ExplorationSequence):
    """Any non-decreasing f, as an array or a Python callable.

    Parameters
    ----------
    values : array-like or callable
        An array holds f(1), f(2), ..., and its last value goes on for ever. A callable takes r = 1, 2, ...
        and is tabulated, with a check, as far as a run can get (at most `MAX_ROUNDS` rounds).

    Raises
    ------
    InvalidValueError
        f decreases, is negative or NaN; or a callable is used without a horizon.

    Examples
    --------
    >>> Sequence(lambda r: r**2).table(span=20, rounds=100)
    array([ 1.,  4.,  9., 16., 25.])
    """

    values: AbstractSequence[float] | Callable[[int], float] | str

    def __post_init__(self) -> None:
        values = import_name(self.values) if isinstance(self.values, str) else self.values
        if callable(values):
            check_values(first_values(values))
        else:
            values = check_values(values)
        self._keep(values=values)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form: the array, or the name of the callable.

        A callable that cannot be imported by name (a lambda, say) is written with a hash of its first 64
        values, which tells it apart from others; it cannot be read back.
        """
        if not callable(self.values):
            return super().to_json()
        return {"type": type_name(type(self)), "values": name_of(self.values)}

    def form(self, span: int | None) -> Form:
        return Form(TABULATED, 0.0, 0)

    def table(self, span: int | None, rounds: int | None) -> NDArray[np.float64]:
        if not callable(self.values):
            return np.array(self.values)
        return np.array(tabulate(self.values, _need_span(self, span), rounds))


def _need_span(sequence: ExplorationSequence, span: int | None) -> int:
    if span is None:
        raise InvalidValueError(
            f"{sequence!r} depends on the horizon (the number of steps T) or a window, and neither is "
            "known; give its value, or use Linear() or AnytimeExponential(), which need neither."
        )
    return span


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
    return function_name(f, lambda: first_values(f))


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
