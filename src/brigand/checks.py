"""Checks of values that users give: each returns the value, or raises an error that names it."""

from __future__ import annotations

import math
import numbers

import numpy as np

from brigand.errors import InvalidValueError


def integer(name: str, value: object, low: int | None = None, high: int | None = None) -> int:
    """Return `value` as an int within ``[low, high]``; booleans and floats are refused."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise InvalidValueError(f"{name} must be an integer, not {value!r}.")
    result = int(value)
    if (low is not None and result < low) or (high is not None and result > high):
        bounds = f">= {low}" if high is None else f"in [{low}, {high}]"
        raise InvalidValueError(f"{name} must be {bounds}, not {result}.")
    return result


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
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise InvalidValueError(f"{name} must be a number, not {value!r}.")
    result = float(value)
    if math.isnan(result) or (math.isinf(result) and not infinite):
        raise InvalidValueError(f"{name} must be finite, not {result}.")
    if above is not None and not result > above:
        raise InvalidValueError(f"{name} must be > {above:g}, not {result:g}.")
    if not low <= result <= high:
        bounds = f">= {low:g}" if math.isinf(high) else f"in [{low:g}, {high:g}]"
        raise InvalidValueError(f"{name} must be {bounds}, not {result:g}.")
    return result


def numbers_tuple(name: str, values: object, *, infinite: bool = False) -> tuple[float, ...]:
    """Return `values` (any one-dimensional, non-empty array-like of numbers) as a tuple of floats."""
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InvalidValueError(f"{name} must be a list of numbers, not {values!r}.") from None
    if array.ndim != 1 or array.size == 0:
        raise InvalidValueError(
            f"{name} must be a non-empty, one-dimensional list of numbers, "
            f"not an array of shape {array.shape}."
        )
    bad = np.isnan(array) if infinite else ~np.isfinite(array)
    if bad.any():
        where = int(np.argmax(bad))
        raise InvalidValueError(f"{name}[{where}] must be finite, not {array[where]}.")
    return tuple(array.tolist())
