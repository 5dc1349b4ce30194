"""A past log, or a list of rewards, read from a file: ``brigand bandit import`` and ``tell --file``.

Numbers and times are read here, so that every mistake has its line and its column.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set
from datetime import UTC, datetime
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

from brigand.errors import InvalidValueError, ResultFileError, UnknownNameError
from brigand.live.export import as_typed
from brigand.live.history import TIMES
from brigand.live.times import date_in
from brigand.logs.files import column_names, csv_records, file_kind, misfit, parquet_modules, unreadable

if TYPE_CHECKING:
    from brigand.live.bandit import Bandit
    from brigand.live.decision import Past

EARLIEST, LATEST = datetime(1900, 1, 1, tzinfo=UTC).timestamp(), datetime(2200, 1, 1, tzinfo=UTC).timestamp()
CHUNK = 20_000
"""Rows of Parquet read at once."""


class Row(NamedTuple):
    """A row of a file: where it begins, and some of its cells."""

    place: str
    cells: Sequence[Any]


class Bounds(NamedTuple):
    """What a bandit takes in: arms in service, and the least and the greatest reward."""

    arms: Set[str]
    low: float
    high: float

    @classmethod
    def of(cls, bandit: Bandit) -> Self:
        """Return those of a bandit."""
        from brigand.live.settings import MAX_REWARD

        low, high = bandit.policy.reward_support
        return cls(set(bandit.arms()), max(low, -MAX_REWARD), min(high, MAX_REWARD))


def read_past(path: Path, bounds: Bounds) -> list[Past]:
    """Read a past log: columns ``arm`` and ``reward``; ``asked_at``, ``told_at``, ``propensity`` if there.

    Raises
    ------
    InvalidValueError
        The file is no such log; the message has the line and the column.
    ResultFileError
        It cannot be read.
    """
    from brigand.live.decision import Past

    return [
        Past(
            _arm(arm, bounds, here),
            _reward(reward, bounds, here),
            _time(asked_at, here, "asked_at"),
            _time(told_at, here, "told_at"),
            _propensity(propensity, here),
        )
        for here, (arm, reward, asked_at, told_at, propensity) in _rows(
            path, ("arm", "reward"), (*TIMES, "propensity")
        )
    ]


def read_rewards(path: Path, bounds: Bounds) -> list[tuple[str, float]]:
    """Read rewards: columns ``decision`` and ``reward``.

    Raises
    ------
    InvalidValueError
        The file is no such list; the message has the line and the column.
    ResultFileError
        It cannot be read.
    """
    found = []
    for here, (decision, cell) in _rows(path, ("decision", "reward"), ()):
        reward = _reward(cell, bounds, here)
        if reward is None:
            _refuse(here, "reward", "it is empty; leave out decisions whose reward is still to come.")
        found.append((str(decision), reward))
    return found


def _rows(path: Path, needed: tuple[str, ...], more: tuple[str, ...]) -> Iterator[Row]:
    """Yield the cells of needed and of optional columns, None for optional ones that are missing."""
    try:
        if file_kind(path) == ".csv":
            yield from _csv_rows(path, needed, more)
        else:
            yield from _parquet_rows(path, needed, more)
    except OSError as error:
        if isinstance(error, ResultFileError):
            raise
        raise unreadable(path, error) from error


def _csv_rows(path: Path, needed: tuple[str, ...], more: tuple[str, ...]) -> Iterator[Row]:
    records = csv_records(path)
    names = column_names(path, records, needed)
    places = _places(path, names, needed, more)
    for line, cells in records:
        if len(cells) != len(names):
            raise InvalidValueError(f"{path}, line {line} {misfit(cells, names)}.")
        yield Row(f"{path}, line {line}", [None if k is None else cells[k] for k in places])


def _parquet_rows(path: Path, needed: tuple[str, ...], more: tuple[str, ...]) -> Iterator[Row]:
    pa, parquet = parquet_modules()
    try:
        with parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            places = _places(path, names, needed, more)
            line = 1
            for batch in file.iter_batches(CHUNK, columns=[names[k] for k in places if k is not None]):
                columns = {
                    name: _microseconds(pa, column).to_pylist()
                    for name, column in zip(batch.schema.names, batch.columns, strict=True)
                }
                nothing = [None] * batch.num_rows
                for cells in zip(*(columns.get(name, nothing) for name in needed + more), strict=True):
                    yield Row(f"{path}, row {line}", cells)
                    line += 1
    except pa.ArrowException as error:
        raise InvalidValueError(f"{path} is no Parquet file: {str(error).splitlines()[0]}") from None


def _microseconds(pa: Any, column: Any) -> Any:
    """Return times in Python's unit, and all other columns as they are."""
    if not pa.types.is_timestamp(column.type):
        return column
    return column.cast(pa.timestamp("us", tz=column.type.tz), safe=False)


def _places(
    path: Path, names: Sequence[str], needed: tuple[str, ...], more: tuple[str, ...]
) -> list[int | None]:
    """Return the places of columns; None for optional ones that are missing."""
    for name in needed + more:
        if names.count(name) > 1:
            raise InvalidValueError(f"{path}: there are {names.count(name)} columns {name!r}.")
        if name in needed and name not in names:
            listed = ", ".join(repr(found) for found in names[:10])
            raise InvalidValueError(
                f"{path}: there is no column {name!r}. The first line of a CSV file names the columns, "
                f"separated by commas; here {listed}."
            )
    return [names.index(name) if name in names else None for name in needed + more]


# Cells: text from CSV, other values from Parquet.


def _arm(cell: object, bounds: Bounds, here: str) -> str:
    if isinstance(cell, int) and not isinstance(cell, bool):
        cell = str(cell)
    if not isinstance(cell, str):
        _refuse(here, "arm", f"an arm's name is a text, not {cell!r}.")
    if as_typed(cell) in bounds.arms:
        cell = as_typed(cell)
    if cell not in bounds.arms:
        _refuse(here, "arm", str(UnknownNameError("arm", cell, bounds.arms)))
    return intern(cell)


def _reward(cell: object, bounds: Bounds, here: str) -> float | None:
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return None
    value = _float(cell)
    if value is None:
        _refuse(here, "reward", f"{cell!r} is no number.")
    if not math.isfinite(value):
        _refuse(here, "reward", f"{cell!r} is not finite; leave the field empty if it is still to come.")
    if not bounds.low <= value <= bounds.high:
        _refuse(here, "reward", f"{cell!r} is not in [{bounds.low:g}, {bounds.high:g}], as is needed here.")
    return value


def _propensity(cell: object, here: str) -> float | None:
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return None
    value = _float(cell)
    if value is None or not 0.0 < value <= 1.0:
        _refuse(here, "propensity", f"{cell!r} is no probability in (0, 1].")
    return value


def _float(cell: object) -> float | None:
    if isinstance(cell, bool) or (isinstance(cell, str) and "_" in cell):
        return None
    try:
        return float(cell)  # type: ignore[arg-type]
    except (ValueError, TypeError, OverflowError):
        return None


def _time(cell: object, here: str, column: str) -> float | None:
    """Return a time in seconds since the epoch, None if there is none."""
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return None
    try:
        return time_of(cell)
    except InvalidValueError as error:
        _refuse(here, column, str(error))


def time_of(cell: object) -> float:
    """Return a time in seconds since the epoch; one without a zone is UTC.

    Raises
    ------
    InvalidValueError
        It is none.
    """
    moment = cell if isinstance(cell, datetime) else None
    value = _float(cell) if moment is None else None
    if value is not None:
        moment = date_in(value)
    if value is None or moment is not None:
        try:
            moment = moment or datetime.fromisoformat(str(cell).strip())
            value = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            raise InvalidValueError(f"{cell!r} is no time: give ISO 8601, or seconds since 1970.") from None
    if not EARLIEST <= value < LATEST:
        raise InvalidValueError(f"{cell!r} is not between 1900 and 2200; numbers are seconds since 1970.")
    return value


def _refuse(here: str, column: str, message: str) -> NoReturn:
    raise InvalidValueError(f"{here}, column {column}: {message}")
