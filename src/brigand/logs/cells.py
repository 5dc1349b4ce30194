"""Cells of a table, as they come from files and from people, turned into numbers, times and places of names.

A column is an array of NumPy's or of Arrow's. Each function here takes a column of n cells, and returns an
array of n values and an array of n states: `GOOD`, `MISSING` (empty, None, NaN, NaT, null), or what is wrong.
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Sized
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brigand.errors import InvalidValueError

GOOD, MISSING, WRONG, BARE, OUTSIDE = range(5)
"""WRONG is a cell of another type, BARE a number in place of a time, OUTSIDE a time that is out of range."""
States = NDArray[np.uint8]

NONE = np.iinfo(np.int64).min
"""In arrays of integers: missing. NumPy's NaT is the same."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
EARLIEST, LATEST = ((datetime(year, 1, 1, tzinfo=UTC) - EPOCH) // MICROSECOND for year in (1900, 2200))
"""Times are within these: what is not is most often a number in another unit."""
UNITS = {"s": 1_000_000, "ms": 1000, "us": 1}


def as_column(name: str, values: Any) -> Any:
    """Return a column as a one-dimensional array, of NumPy's or of Arrow's.

    Raises
    ------
    InvalidValueError
        It is no column.
    """
    if is_arrow(values):
        return values
    if hasattr(values, "to_numpy") and hasattr(values, "array"):
        return _of_pandas(values)
    if isinstance(values, str | bytes) or not isinstance(values, Sized):
        raise InvalidValueError(f"{name} must be a column of values, not {values!r:.100}.")
    if isinstance(values, np.ma.MaskedArray):
        masked = np.ma.getmaskarray(values)
        values = np.ma.getdata(values).astype(object)
        values[masked] = None
    if not isinstance(values, np.ndarray):
        values = _of_sequence(values)
    if values.ndim != 1:
        raise InvalidValueError(f"{name} must be one-dimensional, not of shape {values.shape}.")
    return values


def _of_sequence(values: Any) -> NDArray[Any]:
    try:
        array = np.asarray(values)
        if array.ndim == 1 and array.dtype.kind in "biufM":
            return array
    except (ValueError, TypeError, OverflowError):  # lists of different lengths, for instance
        pass
    return np.fromiter(values, dtype=object, count=len(values))


def _of_pandas(series: Any) -> Any:
    if isinstance(series.dtype, np.dtype):
        return series.to_numpy()
    try:
        import pyarrow as pa
    except ImportError:
        return series.astype(object).to_numpy()
    return pa.array(series, from_pandas=True)


def is_arrow(values: object) -> bool:
    """Return whether a column is one of Arrow's."""
    return type(values).__module__.startswith("pyarrow.")


def cell(values: Any, place: int) -> Any:
    """Return a cell as Python's own type, if it has one."""
    found = values[place]
    if is_arrow(found):
        try:
            return found.as_py()
        except (OverflowError, ValueError):  # a time that Python cannot hold
            return getattr(found, "value", None)
    return found.item() if isinstance(found, np.generic) else found


def is_missing(value: object) -> bool:
    """Return whether a cell is empty: no text, nothing in a list, None, NaN, pandas' NA."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    if isinstance(value, list | tuple | np.ndarray):
        return len(value) == 0
    try:
        return bool(value != value)
    except TypeError:  # NA
        return True


def _objects(values: Any) -> list[Any]:
    if not is_arrow(values):
        return list(values.tolist())
    try:
        return list(values.to_pylist())
    except (OverflowError, ValueError):
        return [cell(values, place) for place in range(len(values))]


# Numbers


def as_numbers(values: Any) -> tuple[NDArray[np.float64], States]:
    """Return cells as floats, NaN where there is none."""
    if is_arrow(values):
        found = _arrow_numbers(values)
    elif values.dtype.kind in "biuf":
        with np.errstate(over="ignore"):
            found = values.astype(np.float64)
    else:
        found = None
    if found is not None:
        return found, np.where(np.isnan(found), np.uint8(MISSING), np.uint8(GOOD))
    read = [_number(value) for value in _objects(values)]
    states = np.array([WRONG if x is None else MISSING if x != x else GOOD for x in read], np.uint8)
    return np.array([math.nan if x is None else x for x in read], np.float64), states


def _arrow_numbers(values: Any) -> NDArray[np.float64] | None:
    """Return Arrow's cells as floats; None if that takes a look at each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kinds = pa.types
    if kinds.is_dictionary(values.type):
        values = values.dictionary_decode()
    if kinds.is_null(values.type):
        return np.full(len(values), math.nan)
    if kinds.is_boolean(values.type):
        values = values.cast(pa.uint8())
    try:
        if _is_text(values):
            values = pc.if_else(pc.equal(values, ""), None, values)
        elif not (
            kinds.is_integer(values.type) or kinds.is_floating(values.type) or kinds.is_decimal(values.type)
        ):
            return None
        found = pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except pa.ArrowException:
        return None
    return found  # type: ignore[no-any-return]


def _is_text(values: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(values.type) or pa.types.is_large_string(values.type))


def _number(value: object) -> float | None:
    """Return a cell as a float, NaN if it is missing, None if it is no number."""
    if is_missing(value):
        return math.nan
    if isinstance(value, str):
        text = value.strip()
        if text.lower() in ("true", "false"):
            return float(text.lower() == "true")
        if "_" in text or not text.isascii():
            return None
    elif not hasattr(value, "__float__"):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf
    except (ValueError, TypeError):
        return None


# Names


def as_places(values: Any, place: Callable[[Any], int]) -> NDArray[np.int64]:
    """Return `place` of each cell: it is called once for each different one, with None if that is missing."""
    different, codes = _different(values)
    places = np.full(len(different) + 1, NONE)
    there = np.flatnonzero(np.bincount(codes + 1, minlength=len(different) + 1))
    for code in there.tolist():
        value = different[code - 1] if code else None
        places[code] = place(None if is_missing(value) else value)
    return places[codes + 1]


def _different(values: Any) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the different cells, and which of them each cell is: -1 for none."""
    if is_arrow(values):
        return _arrow_different(values)
    if values.dtype.kind in "OV":
        seen: dict[Any, int] = {}
        codes = [seen.setdefault(_key(value), len(seen)) for value in values.tolist()]
        return [key if isinstance(key, str) else key[1] for key in seen], np.array(codes, np.int64)
    different, codes_ = np.unique(values, return_inverse=True)
    return different.tolist(), codes_.astype(np.int64)


def _arrow_different(values: Any) -> tuple[list[Any], NDArray[np.int64]]:
    import pyarrow as pa

    if pa.types.is_nested(values.type):
        return _different(np.fromiter(_objects(values), dtype=object, count=len(values)))
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    codes = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return _objects(encoded.dictionary), codes


def _key(value: Any) -> Any:
    """Return what tells cells apart: True is not 1, and lists are compared by what is in them."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | set | frozenset | np.ndarray):
        value = tuple(value)
    try:
        hash(value)
    except TypeError:
        return type(value), repr(value)
    return type(value), value


def as_name(value: object) -> str | None:
    """Return the name that a cell is: a text, or an integer's digits; None if it is none.

    Examples
    --------
    >>> as_name("red"), as_name(7), as_name(7.0), as_name(7.5), as_name(True)
    ('red', '7', '7', None, None)
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, numbers.Integral):
        return str(int(value)) if abs(int(value)) < 2**64 else None
    if isinstance(value, float) and abs(value) < 2**53 and value.is_integer():
        return str(int(value))  # pandas has floats where integers are missing
    return None


# Times


def as_times(values: Any, unit: str | None) -> tuple[NDArray[np.int64], States]:
    """Return cells as microseconds since 1970, UTC, `NONE` where there is none.

    Dates and texts in ISO 8601 are times; one without an offset is UTC. Numbers are times only if `unit` says
    of what: ``"s"``, ``"ms"`` or ``"us"``.
    """
    if is_arrow(values):
        return _arrow_times(values, unit)
    kind = values.dtype.kind
    if kind == "M":
        return _of_dates(values)
    if kind in "iuf":
        return _of_numbers(values, unit)
    return _each_time(values, unit)


def _arrow_times(values: Any, unit: str | None) -> tuple[NDArray[np.int64], States]:
    import pyarrow as pa
    import pyarrow.compute as pc

    kinds = pa.types
    if kinds.is_dictionary(values.type):
        values = values.dictionary_decode()
    if kinds.is_date(values.type):
        values = values.cast(pa.timestamp("s" if kinds.is_date32(values.type) else "ms"))
    if kinds.is_timestamp(values.type):
        counts = values.cast(pa.int64()).fill_null(NONE).to_numpy(zero_copy_only=False)
        return _of_dates(counts.view(f"datetime64[{values.type.unit}]"))
    if kinds.is_integer(values.type) or kinds.is_floating(values.type):
        return _of_numbers(values.to_numpy(zero_copy_only=False), unit)
    if _is_text(values):
        for timestamp in (pa.timestamp("us", "UTC"), pa.timestamp("us")):  # all with an offset, or none
            try:
                return _arrow_times(pc.cast(pc.if_else(pc.equal(values, ""), None, values), timestamp), unit)
            except pa.ArrowException:
                continue
    return _each_time(values, unit)


def _of_dates(values: NDArray[np.datetime64]) -> tuple[NDArray[np.int64], States]:
    if np.datetime_data(values.dtype)[0] in ("generic", "ps", "fs", "as"):
        values = values.astype("datetime64[ns]")
    low, high = (np.datetime64(limit, "us").astype(values.dtype) for limit in (EARLIEST, LATEST))
    states = np.where((values >= low) & (values < high), np.uint8(GOOD), np.uint8(OUTSIDE))
    states[np.isnat(values)] = MISSING
    times = np.where(states == GOOD, values, np.datetime64("NaT")).astype("datetime64[us]")
    return times.astype(np.int64), states


def _of_numbers(values: NDArray[Any], unit: str | None) -> tuple[NDArray[np.int64], States]:
    missing = np.isnan(values)
    if unit is None:
        states = np.full(len(values), BARE, np.uint8)
        states[missing] = MISSING
        return np.full(len(values), NONE), states
    factor = UNITS[unit]
    good = (values >= EARLIEST // factor) & (values < LATEST // factor)
    states = np.where(good, np.uint8(GOOD), np.uint8(OUTSIDE))
    states[missing] = MISSING
    inside = np.where(good, values, 0)
    if values.dtype.kind == "f":
        times = np.rint(inside.astype(np.float64) * factor).astype(np.int64)
    else:
        times = inside.astype(np.int64) * factor
    return np.where(good, times, NONE), states


def _each_time(values: Any, unit: str | None) -> tuple[NDArray[np.int64], States]:
    read = [_time(value, unit) for value in _objects(values)]
    return np.array([time for time, _ in read], np.int64), np.array([state for _, state in read], np.uint8)


def _time(value: object, unit: str | None) -> tuple[int, int]:
    if is_missing(value):
        return NONE, MISSING
    moment = as_moment(value)
    number = None if isinstance(value, bool) or (moment is not None and unit is None) else _number(value)
    if number is not None:
        digits = re.fullmatch("[+-]?[0-9]{1,18}", str(value).strip())
        exact = np.array([int(digits[0])]) if digits else np.array([number])
        times, states = _of_numbers(exact, unit)
        return int(times[0]), int(states[0])
    if moment is None:
        return NONE, WRONG
    time = (moment - EPOCH) // MICROSECOND
    return (time, GOOD) if EARLIEST <= time < LATEST else (NONE, OUTSIDE)


def as_moment(value: object) -> datetime | None:
    """Return the time that a date or a text in ISO 8601 is, UTC if it has no offset; None if it is none.

    Digits alone are one only where they are a date such as 20260131.

    Examples
    --------
    >>> as_moment("2026-01-31T12:00+02:00").isoformat(), as_moment("1712010112345")
    ('2026-01-31T12:00:00+02:00', None)
    """
    if isinstance(value, np.datetime64):
        value = str(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        value = value.isoformat()
    if isinstance(value, str):
        text = value.strip()
        if _number(text) is not None and not (text.isdigit() and len(text) == 8):
            return None
        try:
            value = datetime.fromisoformat(text)
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    if type(value) is not datetime:  # pandas' own, which computes otherwise
        value = datetime.combine(value.date(), value.timetz())
    return value if value.tzinfo else value.replace(tzinfo=UTC)
