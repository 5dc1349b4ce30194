"""From tables to the columns of a log: every row is checked, and what is wrong is said by its number.

All sources come down to pieces of some ten thousand rows, columns of NumPy's or Arrow's, which a `Builder`
takes one after the other: so a log is in memory once.
"""

from __future__ import annotations

import itertools
import re
import reprlib
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from gzip import GzipFile
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from brigand.errors import InvalidValueError, UnknownNameError
from brigand.logs import cells
from brigand.logs.cells import NONE
from brigand.logs.files import (
    column_names,
    csv_records,
    file_kind,
    misfit,
    opened,
    parquet_modules,
    unreadable,
)

Columns = dict[str, Any]
Numbers = Sequence[int]

PIECE = 1 << 17
"""Rows that are looked at together."""
BLOCK = 1 << 22
"""Bytes of CSV that are."""
SHOWN = 3
"""So many bad rows are described; all are counted."""
MOST_ARMS = 100_000
"""A column with more different values is no column of arms."""
NEEDED = ("arm", "reward")
PLACES = ("arm", "segment", "available")
MISSING = dict.fromkeys(PLACES, -1) | dict.fromkeys(("time", "told", "unit"), NONE)
"""What stands where a cell is missing; in propensities NaN."""
OPTIONAL = ("propensity", "time", "told", "segment", "available", "unit")


class Options(TypedDict, total=False):
    """How a table is read.

    Attributes
    ----------
    arm, reward : str
        Names of their columns; ``"arm"`` and ``"reward"`` unless said otherwise.
    propensity, time, told, segment, available, unit : str or None
        Likewise. Without a name given, the column of this name is read if there is one; None: it is not read.
    arms : sequence of str
        All arms, in their order, also those that were never shown. By default those in the log, in their
        natural order (``"item 9"`` before ``"item 10"``).
    time_unit : {"s", "ms", "us"}
        Of times that are numbers. Without it numbers are no times.
    separator : str
        Between the names of the available arms, where these are a text: ``"|"`` by default.
    errors : {"raise", "skip"}
        Whether a bad row is an error, or is left out and counted in `Log.skipped`.
    """

    arm: str
    reward: str
    propensity: str | None
    time: str | None
    told: str | None
    segment: str | None
    available: str | None
    unit: str | None
    arms: Sequence[str]
    time_unit: Literal["s", "ms", "us"]
    separator: str
    errors: Literal["raise", "skip"]


# Sources


def from_columns(table: Mapping[str, Any], options: Options) -> dict[str, Any]:
    """Return the columns of a log from a mapping of names to arrays."""
    roles = _roles(list(table), options, "the table")
    return _from_arrays({role: table[name] for role, name in roles.items()}, options)


def from_pandas(frame: Any, options: Options) -> dict[str, Any]:
    """Return the columns of a log from a data frame."""
    names = getattr(frame, "columns", None)
    if names is None or not hasattr(frame, "iloc"):
        raise InvalidValueError(f"a data frame of pandas is needed, not {type(frame).__name__}.")
    roles = _roles(names.tolist(), options, "the data frame")
    return _from_arrays({role: frame[name] for role, name in roles.items()}, options)


def from_arrow(table: Any, options: Options) -> dict[str, Any]:
    """Return the columns of a log from a table or a record batch of Arrow's."""
    if not (cells.is_arrow(table) and hasattr(table, "schema") and hasattr(table, "column")):
        raise InvalidValueError(f"a table of Arrow's is needed, not {type(table).__name__}.")
    roles = _roles(table.schema.names, options, "the table")
    return _from_arrays({role: table.column(name) for role, name in roles.items()}, options)


def _from_arrays(columns: Columns, options: Options) -> dict[str, Any]:
    builder = Builder(columns, options)
    columns = {role: cells.as_column(role, values) for role, values in columns.items()}
    lengths = {role: len(values) for role, values in columns.items()}
    n = lengths["arm"]
    for role, length in lengths.items():
        if length != n:
            raise InvalidValueError(f"there are {n:,} rows of arm and {length:,} of {role}.")
    for start in range(0, n, PIECE):
        stop = min(start + PIECE, n)
        builder.add(
            {role: _piece(values, start, stop) for role, values in columns.items()},
            range(start + 1, stop + 1),
        )
    return builder.finish("the table", "row")


def _piece(values: Any, start: int, stop: int) -> Any:
    if not cells.is_arrow(values):
        return values[start:stop]
    part = values.slice(start, stop - start)
    return part.combine_chunks() if hasattr(part, "combine_chunks") else part


def from_records(records: Iterable[Any], options: Options) -> dict[str, Any]:
    """Return the columns of a log from mappings or named tuples, all with the fields of the first one."""
    try:
        iterator = iter(records)
    except TypeError:
        raise InvalidValueError(f"records are iterated over, and {type(records).__name__} is not.") from None
    first = next(iterator, None)
    if first is None:
        raise InvalidValueError("there are no records.")
    fields = list(first) if isinstance(first, Mapping) else list(getattr(first, "_fields", ()))
    if not fields:
        raise InvalidValueError(f"a record is a mapping or a named tuple, not {first!r:.100}.")
    roles = _roles(fields, options, "the first record")
    builder = Builder(roles, options)
    iterator = itertools.chain([first], iterator)
    number = 1
    while piece := list(itertools.islice(iterator, PIECE)):
        columns = {role: [_field(record, name) for record in piece] for role, name in roles.items()}
        arrays = {role: cells.as_column(role, values) for role, values in columns.items()}
        builder.add(arrays, range(number, number + len(piece)))
        number += len(piece)
    return builder.finish("the records", "row")


def _field(record: Any, name: str) -> Any:
    return record.get(name) if isinstance(record, Mapping) else getattr(record, name, None)


def read(path: Path, options: Options) -> dict[str, Any]:
    """Return the columns of a log from a file."""
    if file_kind(path, (".csv", ".csv.gz", ".parquet")) == ".parquet":
        return _read_parquet(path, options)
    try:
        import pyarrow
    except ImportError:
        return _read_csv(path, options)
    try:
        return _read_csv_fast(path, options)
    except (pyarrow.ArrowException, OSError, EOFError, zlib.error, _UnevenQuotesError):
        return _read_csv(path, options)  # which says what is wrong, and where


def _read_csv(path: Path, options: Options) -> dict[str, Any]:
    """Read CSV by the standard library: slow, and every record has its line."""
    records = csv_records(path)
    names = column_names(path, records, [str(options.get(role, role)) for role in NEEDED])
    roles = _roles(names, options, str(path))
    places = {role: names.index(name) for role, name in roles.items()}
    builder = Builder(roles, options)
    while piece := list(itertools.islice(records, PIECE)):
        rows = []
        for record in piece:
            if len(record.cells) == len(names):
                rows.append(record)
            else:
                builder.refuse(record.line, "wrong number of fields", misfit(record.cells, names))
        if rows:
            columns = {
                role: np.fromiter((row.cells[k] for row in rows), dtype=object, count=len(rows))
                for role, k in places.items()
            }
            builder.add(columns, [row.line for row in rows])
    return builder.finish(str(path), "line")


class _UnevenQuotesError(Exception):
    """A field is not closed, of which Arrow says nothing at the end of a file."""


class _Source:
    """A file that Arrow reads from, whose quotes are counted."""

    def __init__(self, file: BinaryIO | GzipFile) -> None:
        self._file = file
        self.quotes = 0

    @property
    def closed(self) -> bool:
        return self._file.closed

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.quotes += data.count(b'"')
        return data

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()


def _read_csv_fast(path: Path, options: Options) -> dict[str, Any]:
    """Read CSV by Arrow."""
    import pyarrow as pa
    from pyarrow import csv

    names = column_names(path, csv_records(path), [str(options.get(role, role)) for role in NEEDED])
    roles = _roles(names, options, str(path))
    own = [str(k) for k in range(len(names))]
    places = {role: own[names.index(name)] for role, name in roles.items()}
    types = {
        place: pa.dictionary(pa.int32(), pa.string())
        if role in ("arm", "segment", "available")
        else pa.string()
        for role, place in places.items()
    }
    builder = Builder(roles, options)
    with opened(path) as file:
        source = _Source(file)
        batches = csv.open_csv(
            pa.PythonFile(source, mode="r"),
            csv.ReadOptions(column_names=own, block_size=BLOCK),
            csv.ParseOptions(newlines_in_values=True),
            csv.ConvertOptions(include_columns=list(types), column_types=types, strings_can_be_null=False),
        )
        begin = -1  # the first record is that of the names: Arrow's own ways to skip it count lines otherwise
        for batch in batches:
            rows = batch.slice(1) if begin < 0 else batch
            columns = {role: rows.column(place) for role, place in places.items()}
            builder.add(columns, range(begin + batch.num_rows - rows.num_rows, begin + batch.num_rows))
            begin += batch.num_rows
        if source.quotes % 2:
            raise _UnevenQuotesError
    return builder.finish(str(path), "line", lambda places: _lines(path, places))


def _lines(path: Path, places: Sequence[int]) -> list[int]:
    """Return the lines where records begin, which are given by their places in growing order."""
    records = enumerate(csv_records(path), start=-1)
    return [next(record.line for k, record in records if k == place) for place in places]


def _read_parquet(path: Path, options: Options) -> dict[str, Any]:
    pa, parquet = parquet_modules()
    try:
        with path.open("rb") as opened_file, parquet.ParquetFile(opened_file) as file:
            roles = _roles(file.schema_arrow.names, options, str(path))
            builder = Builder(roles, options)
            begin = 1
            for batch in file.iter_batches(PIECE, columns=list(dict.fromkeys(roles.values()))):
                columns = {role: batch.column(name) for role, name in roles.items()}
                builder.add(columns, range(begin, begin + batch.num_rows))
                begin += batch.num_rows
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise InvalidValueError(f"{path} is no Parquet file: {str(error).splitlines()[0]}") from None
    except OSError as error:
        if error.errno is None:  # Arrow's own, of what is in the file
            raise InvalidValueError(f"{path} is no Parquet file: {str(error).splitlines()[0]}") from None
        raise unreadable(path, error) from error
    return builder.finish(str(path), "row")


def _roles(names: Sequence[Any], options: Options, place: str) -> dict[str, str]:
    """Return which column has which role."""
    unknown = options.keys() - Options.__annotations__.keys()
    if unknown:
        raise TypeError(
            f"unexpected keyword argument {min(unknown)!r}; known: {', '.join(Options.__annotations__)}."
        )
    roles: dict[str, Any] = {}
    for role in NEEDED + OPTIONAL:
        name: Any = options.get(role, role)
        if name is None and role in NEEDED:
            raise InvalidValueError(f"the column of {role} is needed.")
        if name is None or (name not in names and role not in options and role in OPTIONAL):
            continue
        if name not in names:
            raise UnknownNameError("column", name, map(str, names), f"{place}: ")
        if names.count(name) > 1:
            raise InvalidValueError(f"{place}: there are {names.count(name)} columns {name!r}.")
        roles[role] = name
    return roles


# Rows


class _Bad(NamedTuple):
    """A row that is described."""

    number: int
    kind: str
    what: str


Say = Callable[[int], str]
WRONG_NAME, UNKNOWN = NONE + 1, NONE + 2
"""In place of a place: a cell that is no name, and a name that no arm has."""


class Builder:
    """Takes rows in pieces, checks them, and makes columns of them.

    A row is counted as bad once, for the first thing that is wrong with it. Whether a missing cell of an
    optional column is wrong is known at the end: it is not, if the whole column is empty.
    """

    def __init__(self, roles: Iterable[str], options: Options) -> None:
        self._optional = [role for role in OPTIONAL if role in roles]
        self._skip = _one_of("errors", options.get("errors", "raise"), ("raise", "skip")) == "skip"
        unit = options.get("time_unit")
        self._time_unit = None if unit is None else _one_of("time_unit", unit, tuple(cells.UNITS))
        self._separator = options.get("separator", "|")
        if not isinstance(self._separator, str) or not self._separator:
            raise InvalidValueError(f"separator must be a text that is not empty, not {self._separator!r}.")
        self._arms, self._known = _given_arms(options.get("arms"))
        self._segments: dict[str, int] = {}
        self._sets: dict[tuple[int, ...], int] = {}
        self._units: dict[str, int] | None = None  # numbers of texts
        self._unit_seen = False
        self._latest = NONE
        self._rows = 0
        self._kept = {role: _Growing() for role in (*NEEDED, *self._optional)}
        self._counts: Counter[str] = Counter()
        self._shown: list[_Bad] = []
        self._missing: dict[str, list[int]] = {role: [] for role in self._optional}
        self._seen: set[str] = set()  # optional columns that are not empty

    def refuse(self, number: int, kind: str, what: str) -> None:
        """Count a row that has no cells to look at."""
        self._rows += 1
        self._counts[kind] += 1
        self._show(_Bad(number, kind, what))

    def _show(self, bad: _Bad) -> None:
        if all(bad.number != shown.number for shown in self._shown):
            self._shown = sorted([*self._shown, bad])[:SHOWN]

    def add(self, columns: Columns, numbers: Numbers) -> None:
        """Take rows in, with their numbers."""
        n = len(numbers)
        self._rows += n
        checked = _Checked(n)
        values = {
            "arm": self._arm(columns["arm"], checked),
            "reward": _reward(columns["reward"], checked),
            **{role: getattr(self, f"_{role}")(columns[role], checked) for role in self._optional},
        }
        if "told" in values and "time" in values:
            told, time = values["told"], values["time"]
            checked.mark(
                (told < time) & (told != NONE),
                "told before asked",
                lambda i: f"told at {_moment(told[i])}, before it was asked at {_moment(time[i])}",
            )
        if "available" in values:
            self._check_available(values["available"], values["arm"], checked)
        if "time" in values:
            self._check_order(values["time"], checked)
        good = checked.good()
        for role in self._optional:
            missing = checked.missing[role] & good
            self._missing[role] += [numbers[i] for i in np.flatnonzero(missing)[:SHOWN].tolist()]
            if not checked.missing[role].all():
                self._seen.add(role)
        for role, array in values.items():
            kept = array[good]
            if role in PLACES:
                kept = np.maximum(kept, MISSING[role]).astype(np.int32)
            self._kept[role].append(kept)
        self._counts.update(checked.counts())
        if len(self._shown) < SHOWN:
            for i, kind, what in checked.first(SHOWN):
                self._show(_Bad(numbers[i], kind, what))

    # Columns. Each marks what is wrong, and returns an array of values.

    def _arm(self, column: Any, checked: _Checked) -> NDArray[np.int64]:
        places = cells.as_places(column, self._arm_place)
        checked.mark(places == NONE, "arm missing", lambda i: "arm is missing")
        checked.mark(places == WRONG_NAME, "arm no name", _no(column, "arm", "neither a text nor an integer"))
        checked.mark(places == UNKNOWN, "unknown arm", lambda i: f"unknown arm {_text(column, i)}")
        return places

    def _arm_place(self, value: Any) -> int:
        name = None if value is None else cells.as_name(value)
        if name is None:
            return NONE if value is None else WRONG_NAME
        place = self._arms.get(name)
        if place is None:
            if self._known:
                return UNKNOWN
            if len(self._arms) >= MOST_ARMS:
                raise InvalidValueError(f"there are more than {MOST_ARMS:,} arms; is it the right column?")
            place = self._arms[name] = len(self._arms)
        return place

    def _propensity(self, column: Any, checked: _Checked) -> NDArray[np.float64]:
        values, states = cells.as_numbers(column)
        checked.missing["propensity"] = states == cells.MISSING
        checked.mark(states == cells.WRONG, "propensity no number", _no(column, "propensity", "no number"))
        for kind, mask in (
            ("propensity 0", values == 0),
            ("propensity below 0", values < 0),
            ("propensity above 1", values > 1),
        ):
            checked.mark(mask, kind, lambda i: f"propensity is {values[i]:.6g}")
        return values

    def _time(self, column: Any, checked: _Checked) -> NDArray[np.int64]:
        return self._moments("time", column, checked)

    def _told(self, column: Any, checked: _Checked) -> NDArray[np.int64]:
        return self._moments("told", column, checked)

    def _moments(self, role: str, column: Any, checked: _Checked) -> NDArray[np.int64]:
        times, states = cells.as_times(column, self._time_unit)
        checked.missing[role] = states == cells.MISSING
        checked.mark(states == cells.WRONG, f"{role} no time", _no(column, role, "no time in ISO 8601"))
        checked.mark(
            states == cells.BARE,
            f"{role} a bare number",
            _no(column, role, 'a number, and time_unit ("s", "ms" or "us") does not say of what'),
        )
        checked.mark(
            states == cells.OUTSIDE, f"{role} out of range", _no(column, role, "not between 1900 and 2200")
        )
        return times

    def _segment(self, column: Any, checked: _Checked) -> NDArray[np.int64]:
        def place(value: Any) -> int:
            name = None if value is None else cells.as_name(value)
            if name is None:
                return NONE if value is None else WRONG_NAME
            return self._segments.setdefault(name, len(self._segments))

        places = cells.as_places(column, place)
        checked.missing["segment"] = places == NONE
        checked.mark(
            places == WRONG_NAME, "segment no name", _no(column, "segment", "neither a text nor an integer")
        )
        return places

    def _unit(self, column: Any, checked: _Checked) -> NDArray[np.int64]:
        places = cells.as_places(column, self._unit_number)
        checked.missing["unit"] = places == NONE
        what = "no integer, as the first one is" if self._units is None else "neither a text nor an integer"
        checked.mark(places == WRONG_NAME, "unit no number", _no(column, "unit", what))
        return places

    def _unit_number(self, value: Any) -> int:
        name = None if value is None else cells.as_name(value)
        if name is None:
            return NONE if value is None else WRONG_NAME
        if not self._unit_seen:  # the first one tells of what kind all are
            self._unit_seen = True
            self._units = None if _is_integer(name) else {}
        if self._units is None:
            return int(name) if _is_integer(name) else WRONG_NAME
        return self._units.setdefault(name, len(self._units))

    def _available(self, column: Any, checked: _Checked) -> NDArray[np.int64]:
        places = cells.as_places(column, self._set_place)
        checked.missing["available"] = places == NONE
        checked.mark(places == WRONG_NAME, "available no arms", _no(column, "available", "no list of arms"))
        checked.mark(
            places == UNKNOWN,
            "unknown arm available",
            lambda i: f"available {_text(column, i)} has an unknown arm",
        )
        return places

    def _set_place(self, value: Any) -> int:
        if value is None:
            return NONE
        names = value.split(self._separator) if isinstance(value, str) else value
        if not isinstance(names, list | tuple):
            return WRONG_NAME
        members = {WRONG_NAME if cells.is_missing(name) else self._arm_place(name) for name in names}
        for wrong in (WRONG_NAME, UNKNOWN):
            if wrong in members:
                return wrong
        return self._sets.setdefault(tuple(sorted(members)), len(self._sets))

    def _check_available(self, sets: NDArray[np.int64], arms: NDArray[np.int64], checked: _Checked) -> None:
        there = np.flatnonzero((sets >= 0) & (arms >= 0))
        members = [frozenset(members) for members in self._sets]
        pairs, which = np.unique(np.stack([sets[there], arms[there]]), axis=1, return_inverse=True)
        outside = np.array([arm not in members[k] for k, arm in pairs.T.tolist()], bool)
        mask = np.zeros(len(sets), bool)
        mask[there] = outside[which.reshape(-1)]
        names = list(self._arms)
        checked.mark(
            mask, "arm not available", lambda i: f"arm {names[arms[i]]!r} is not among those available"
        )

    def _check_order(self, times: NDArray[np.int64], checked: _Checked) -> None:
        there = np.where(checked.good(), times, NONE)
        latest = np.maximum.accumulate(np.concatenate([[self._latest], there]))
        self._latest = int(latest[-1])
        checked.mark(
            (there < latest[:-1]) & (there != NONE),
            "time goes back",
            lambda i: f"time goes back, from {_moment(latest[i])} to {_moment(times[i])}",
        )

    # The end

    def finish(
        self,
        source: str,
        place: str,
        locate: Callable[[Sequence[int]], list[int]] | None = None,
    ) -> dict[str, Any]:
        """Return the columns of a log.

        Parameters
        ----------
        source : str
            Where the rows came from.
        place : str
            What their numbers count: ``"row"`` or ``"line"``.
        locate : callable
            Turns numbers of rows, which grow, into those that people know.

        Raises
        ------
        InvalidValueError
            There are bad rows, or no good ones.
        """
        if not self._rows:
            raise InvalidValueError(f"{source} has no rows.")
        kept = self._without_missing()
        skipped = dict(self._counts.most_common())
        if skipped and (not self._skip or self._counts.total() == self._rows):
            raise InvalidValueError(f"{source}: {self._what_is_wrong(place, locate)}")
        return {**kept, **self._named(kept), "skipped": skipped}

    def _without_missing(self) -> Columns:
        """Return what is kept: without columns that are empty, and without rows with a missing cell."""
        kept = {
            role: self._kept.pop(role).whole()
            for role in list(self._kept)
            if role in NEEDED or role in self._seen
        }
        good = np.array(True)
        for role in [role for role in kept if self._missing.get(role)]:
            missing = np.isnan(kept[role]) if role == "propensity" else kept[role] == MISSING[role]
            self._counts[f"{role} missing"] += int((missing & good).sum())
            self._counts = +self._counts  # without zeros
            good = good & ~missing
            for number in self._missing[role]:
                self._show(_Bad(number, f"{role} missing", f"{role} is missing"))
        if good.ndim:
            for role in kept:
                kept[role] = kept[role][good]
        return kept

    def _what_is_wrong(self, place: str, locate: Callable[[Sequence[int]], list[int]] | None) -> str:
        bad = self._counts.total()
        shown = self._shown
        numbers = [row.number for row in shown]
        where = locate(numbers) if locate else numbers
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in self._counts.most_common())
        first = "; ".join(f"{place} {k}: {row.what}" for k, row in zip(where, shown, strict=True))
        more = f"; and {bad - len(shown):,} more" if bad > len(shown) else ""
        are = "is" if bad == 1 else "are"
        return f"{bad:,} of {self._rows:,} rows {are} bad ({kinds}). {first[0].upper()}{first[1:]}{more}."

    def _named(self, kept: Columns) -> Columns:
        """Return the names, sorted, with their places in the columns of names."""
        names = list(self._arms)
        used = _used(kept["arm"], len(names))
        named: Columns = {}
        if "available" in kept:
            every = list(self._sets)
            there = np.flatnonzero(_used(kept["available"], len(every)))
            sets = np.zeros((len(there), len(names)), bool)
            for row, k in enumerate(there.tolist()):
                sets[row, list(every[k])] = True
            used |= sets.any(axis=0)
            _replace(kept["available"], there, len(every))
        places = np.arange(len(names)) if self._known else _sorted(used, names)
        named["arms"] = tuple(names[k] for k in places)
        _replace(kept["arm"], places, len(names))
        if "available" in kept:
            named["sets"] = sets[:, places]
        if "segment" in kept:
            names = list(self._segments)
            places = _sorted(_used(kept["segment"], len(names)), names)
            named["segments"] = tuple(names[k] for k in places)
            _replace(kept["segment"], places, len(names))
        return named


class _Growing:
    """An array to which is appended; it is never there twice, as parts and as a whole."""

    def __init__(self) -> None:
        self._array: NDArray[Any] | None = None
        self._n = 0

    def append(self, values: NDArray[Any]) -> None:
        end = self._n + len(values)
        if self._array is None:
            self._array = values.copy()
        elif end > len(self._array):
            self._array.resize(end + end // 8, refcheck=False)
        self._array[self._n : end] = values
        self._n = end

    def whole(self) -> NDArray[Any]:
        if self._array is None:
            return np.empty(0)
        self._array.resize(self._n, refcheck=False)
        return self._array


def _pieces(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    return (array[begin : begin + PIECE] for begin in range(0, len(array), PIECE))


def _used(places: NDArray[np.int32], n: int) -> NDArray[np.bool_]:
    """Return which places in [0, n) there are."""
    used = np.zeros(n, bool)
    for piece in _pieces(places):
        used[piece] = True
    return used


def _sorted(used: NDArray[np.bool_], names: Sequence[str]) -> NDArray[np.int64]:
    return np.array(sorted(np.flatnonzero(used).tolist(), key=lambda k: natural(names[k])), np.int64)


def _replace(places: NDArray[np.int32], order: NDArray[np.int64], n: int) -> None:
    """Put in place of each place in [0, n) where it stands in an order."""
    where = np.full(n, -1, np.int32)
    where[order] = np.arange(len(order))
    for piece in _pieces(places):
        piece[:] = where[piece]


class _Checked:
    """What is wrong with the rows of a piece: the first thing in each."""

    def __init__(self, n: int) -> None:
        self._kinds: list[tuple[str, Say]] = []
        self._kind = np.zeros(n, np.uint8)
        self.missing: dict[str, NDArray[np.bool_]] = {}

    def mark(self, mask: NDArray[np.bool_], kind: str, say: Say) -> None:
        """Note what is wrong with those rows of a mask of which nothing is noted yet."""
        self._kinds.append((kind, say))
        if mask.any():
            self._kind[mask & (self._kind == 0)] = len(self._kinds)

    def good(self) -> NDArray[np.bool_]:
        return np.equal(self._kind, 0)

    def counts(self) -> dict[str, int]:
        counts = np.bincount(self._kind, minlength=len(self._kinds) + 1)[1:].tolist()
        return {kind: count for (kind, _), count in zip(self._kinds, counts, strict=True) if count}

    def first(self, n: int) -> Iterator[tuple[int, str, str]]:
        for i in np.flatnonzero(self._kind)[:n].tolist():
            kind, say = self._kinds[self._kind[i] - 1]
            yield i, kind, say(i)


def _reward(column: Any, checked: _Checked) -> NDArray[np.float64]:
    values, states = cells.as_numbers(column)
    checked.mark(states == cells.MISSING, "reward missing", lambda i: "reward is missing")
    checked.mark(states == cells.WRONG, "reward no number", _no(column, "reward", "no number"))
    checked.mark(np.isinf(values), "reward not finite", _no(column, "reward", "not finite"))
    return values


def _no(column: Any, role: str, what: str) -> Say:
    return lambda i: f"{role} {_text(column, i)} is {what}"


def _text(column: Any, i: int) -> str:
    return reprlib.repr(cells.cell(column, i))


def _moment(time: Any) -> str:
    return f"{np.datetime64(int(time), 'us')}Z"


def _one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise InvalidValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, not {value!r}.")
    return value


def _given_arms(arms: Any) -> tuple[dict[str, int], bool]:
    """Return the places of the arms that are given, and whether they are."""
    if arms is None:
        return {}, False
    if isinstance(arms, str) or not isinstance(arms, Iterable):
        raise InvalidValueError(f"arms must be a list of names, not {arms!r:.100}.")
    places: dict[str, int] = {}
    for arm in arms:
        name = cells.as_name(arm)
        if name is None or cells.is_missing(name):
            raise InvalidValueError(f"arms must be texts or integers, not {arm!r:.100}.")
        if name in places:
            raise InvalidValueError(f"there are two arms {name!r}.")
        places[name] = len(places)
    if not places:
        raise InvalidValueError("arms must be given, or left out: not an empty list.")
    return places, True


def _is_integer(name: str) -> bool:
    return bool(re.fullmatch("0|-?[1-9][0-9]{0,17}", name))


def natural(name: str) -> tuple[Any, ...]:
    """Return the key by which names sort as people sort them.

    Examples
    --------
    >>> sorted(["b10", "b9", "10", "9", "b09", "a"], key=natural)
    ['9', '10', 'a', 'b09', 'b9', 'b10']
    """
    parts = re.split("([0-9]+)", name)  # texts and digits in turn
    parts[1::2] = [digits.lstrip("0") for digits in parts[1::2]]
    return tuple((len(part), part) if k % 2 else part for k, part in enumerate(parts)), name
