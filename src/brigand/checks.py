"""Checks of values that users give: each returns the value, or raises an error that names it."""

from __future__ import annotations

import importlib
import math
import numbers
import os
import reprlib
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any

from brigand.errors import InvalidValueError, MissingPackageError

MAX_STEPS = 2**53
"""The longest horizon: steps stay exact as floats, and 64-bit integers never overflow."""


MAX_INTEGER = 2**63 - 1
"""The largest that compiled code holds."""


def integer(name: str, value: object, low: int | None = None, high: int | None = None) -> int:
    """Return `value` as an int within ``[low, high]``; booleans and floats are refused."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise InvalidValueError(f"{name} must be an integer, not {value!r}.")
    result = int(value)
    if low is not None and result < low and high in (None, MAX_STEPS, MAX_INTEGER):
        raise InvalidValueError(f"{name} must be >= {low}, not {result}.")
    if (low is not None and result < low) or (high is not None and result > high):
        bounds = f"<= {high}" if low is None else f"in [{low}, {high}]"
        raise InvalidValueError(f"{name} must be {bounds}, not {result}.")
    return result


def steps(name: str, value: object, low: int = 1) -> int:
    """Return a number of steps as an int, at least `low`; 1e5 is one, 1.5 is not."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return integer(name, value, low, MAX_STEPS)


def number(
    name: str,
    value: object,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    above: float | None = None,
    infinite: bool = False,
) -> float:
    """Return `value` as a float in ``[low, high]`` (and ``> above``); NaN is refused.

    Infinities are refused unless `infinite` is set.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InvalidValueError(f"{name} must be a number, not {value!r}.")
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if math.isnan(result) or (math.isinf(result) and not infinite):
        raise InvalidValueError(f"{name} must be {'a number' if infinite else 'finite'}, not {value}.")
    if not low <= result <= high or (above is not None and not result > above):
        raise InvalidValueError(f"{name} must be {_bounds(low, high, above)}, not {value}.")
    return result


def _bounds(low: float, high: float, above: float | None) -> str:
    if math.isinf(high):
        return f">= {low:g}" if above is None else f"> {above:g}"
    return f"in [{low:g}, {high:g}]" if above is None else f"in ({above:g}, {high:g}]"


def interval(name: str, low: object, high: object, factor: float = 1.0) -> tuple[float, float]:
    """Return the ends of a range as floats, where low < high, and ``factor (high - low)`` is finite."""
    ends = number(f"{name}'s low", low), number(f"{name}'s high", high)
    if not ends[0] < ends[1]:
        raise InvalidValueError(f"{name} needs low < high, not low = {low} and high = {high}.")
    if math.isinf(factor * (ends[1] - ends[0])):
        raise InvalidValueError(f"{name} needs high - low to be finite, not {high} - {low}.")
    return ends


def listed(name: str, values: object) -> tuple[Any, ...]:
    """Return `values` (a list, a tuple, an array, a generator: anything with an order) as a tuple."""
    if isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping, Set)):
        try:
            return tuple(values)
        except TypeError:  # an array without dimensions
            pass
    raise InvalidValueError(f"{name} must be a list, not {values!r}.")


def numbers_tuple(name: str, values: object, *, infinite: bool = False) -> tuple[float, ...]:
    """Return `values` (any one-dimensional, non-empty array-like of numbers) as a tuple of floats."""
    import numpy as np  # here: the command's help does without it

    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":  # integers beyond 64 bits, fractions
            array = array.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValueError(f"{name} must be a list of numbers, not {reprlib.repr(values)}.") from None
    if array.dtype.kind not in "iuf":
        raise InvalidValueError(f"{name} must be a list of numbers, not {reprlib.repr(values)}.")
    if array.ndim != 1 or array.size == 0:
        raise InvalidValueError(
            f"{name} must be a non-empty, one-dimensional list of numbers, "
            f"not an array of shape {array.shape}."
        )
    array = array.astype(float)
    bad = np.isnan(array) if infinite else ~np.isfinite(array)
    if bad.any():
        where = int(np.argmax(bad))
        needed = "a number" if infinite else "finite"
        raise InvalidValueError(f"{name}[{where}] must be {needed}, not {array[where]}.")
    return tuple(array.tolist())


def numbers_table(name: str, values: object) -> tuple[tuple[float, ...], ...]:
    """Return `values` (any two-dimensional, non-empty array-like of finite numbers) as a tuple of rows."""
    import numpy as np  # here: the command's help does without it

    try:
        array = np.asarray(values, float)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValueError(
            f"{name} must be a table of numbers, rows of equal length, not {reprlib.repr(values)}."
        ) from None
    if array.ndim != 2 or array.size == 0:
        raise InvalidValueError(
            f"{name} must be a non-empty, two-dimensional table, not an array of shape {array.shape}."
        )
    finite = np.isfinite(array)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise InvalidValueError(f"{name}[{row}][{column}] must be finite, not {array[row, column]}.")
    return tuple(tuple(row) for row in array.tolist())


def text(name: str, value: object) -> str:
    """Return `value` if it is a string."""
    if not isinstance(value, str):
        raise InvalidValueError(f"{name} must be a string, not {value!r}.")
    return value


def storable(name: str, value: str) -> str:
    """Return a text that files and databases can hold: without U+0000 and lone surrogates."""
    if "\0" in value or (not value.isascii() and value.encode("utf-8", "replace").decode() != value):
        raise InvalidValueError(f"{name} cannot have lone surrogates or U+0000, as {value!r} has.")
    return value


def path(name: str, value: object) -> Path:
    """Return a path that is not empty, given as a text or a path."""
    if not isinstance(value, (str, os.PathLike)) or isinstance(os.fspath(value), bytes):
        raise InvalidValueError(f"{name} must be a path, as a string or a Path, not {value!r}.")
    text = os.fspath(value)
    if not text or "\0" in text:
        raise InvalidValueError(f"{name} {'cannot have U+0000' if text else 'is empty'}: {text!r}.")
    return Path(text)


def package(module: str, otherwise: str) -> Any:
    """Return a module of a package that may not be installed; `otherwise` says what needs it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingPackageError(otherwise) from None
