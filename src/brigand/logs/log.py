"""A log: decisions that were made, each with its reward, as columns of one length."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from brigand import checks, display
from brigand.errors import InvalidValueError
from brigand.logs import reading
from brigand.logs.reading import Options
from brigand.logs.summary import Summary
from brigand.words import counted

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

TYPES = {
    "arm": np.int32,
    "reward": np.float64,
    "propensity": np.float64,
    "time": np.int64,
    "told": np.int64,
    "segment": np.int32,
    "available": np.int32,
    "unit": np.int64,
}
"""Columns with a row for each decision, and their types."""


@dataclass(frozen=True, eq=False, repr=False)
class Log:
    """Decisions that were made, in the order of time, with their rewards.

    Made by `from_pandas`, `read`, `from_arrow`, `from_records`, `from_columns`, or `Bandit.log`. ``len(log)``
    is n; ``log[rows]`` is a part of it, for a slice, or a mask or places of rows.

    Attributes
    ----------
    arms : tuple of str
        Names of the arms, K of them.
    arm : int32 array of shape (n,)
        What was chosen: places in `arms`.
    reward : float64 array of shape (n,)
        Finite.
    propensity : float64 array of shape (n,), or None
        The probability with which the arm was chosen, given what was known; NaN where it is not known.
    time, told : int64 array of shape (n,), or None
        When the arm was chosen, and when its reward came: microseconds since 1970, UTC.
    segments : tuple of str
        Names of the segments.
    segment : int32 array of shape (n,), or None
        Places in `segments`.
    sets : bool array of shape (m, K), or None
        The different sets of arms that were available.
    available : int32 array of shape (n,), or None
        Which of the `sets`; None if all arms always were.
    unit : int64 array of shape (n,), or None
        Numbers of the units (users, sessions) that the decisions were made for.
    skipped : dict of str to int
        How many bad rows of each kind were left out when it was read.

    Raises
    ------
    InvalidValueError
        The columns are no log.
    """

    arms: tuple[str, ...]
    arm: NDArray[np.int32]
    reward: NDArray[np.float64]
    propensity: NDArray[np.float64] | None = None
    time: NDArray[np.int64] | None = None
    told: NDArray[np.int64] | None = None
    segments: tuple[str, ...] = ()
    segment: NDArray[np.int32] | None = None
    sets: NDArray[np.bool_] | None = None
    available: NDArray[np.int32] | None = None
    unit: NDArray[np.int64] | None = None
    skipped: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = len(self.arm)
        for name, kind in TYPES.items():
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _column(name, getattr(self, name), kind, n))
        _check_places("arm", self.arm, len(self.arms))
        if not np.isfinite(self.reward).all():
            raise InvalidValueError("rewards must be finite.")
        if self.propensity is not None and ((self.propensity <= 0) | (self.propensity > 1)).any():
            raise InvalidValueError("propensities must be in (0, 1], or NaN.")
        if self.segment is not None:
            _check_places("segment", self.segment, len(self.segments))
        if self.sets is not None:
            sets = np.asarray(self.sets)
            if sets.dtype != bool or sets.ndim != 2 or sets.shape[1] != len(self.arms):
                raise InvalidValueError(f"sets must be booleans of shape (m, {len(self.arms)}).")
            object.__setattr__(self, "sets", _frozen(sets))
        if self.available is not None:
            _check_places("available", self.available, 0 if self.sets is None else len(self.sets))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for one in fields(self):
            if isinstance(state[one.name], np.ndarray):
                state[one.name].flags.writeable = False

    def __len__(self) -> int:
        return len(self.arm)

    def __repr__(self) -> str:
        more = [name for name in TYPES if name not in ("arm", "reward") and getattr(self, name) is not None]
        size = f"{counted(len(self), 'row')}, {counted(len(self.arms), 'arm')}"
        return f"<Log: {size}{', with ' * bool(more)}{', '.join(more)}>"

    @display.html_repr
    def _repr_html_(self) -> str:
        """Return a table of the arms: how often each was chosen, and its mean reward; for notebooks."""
        shown = np.bincount(self.arm, minlength=len(self.arms))
        sums = np.bincount(self.arm, self.reward, minlength=len(self.arms))
        with np.errstate(invalid="ignore"):
            means = sums / shown
        rows = [
            (name, int(n), n / max(len(self), 1), float(mean))
            for name, n, mean in zip(self.arms, shown, means, strict=True)
        ]
        return display.block(
            repr(self).strip("<>"),
            display.table(("arm", "rows", "share", "mean reward"), rows),
            display.forest(
                ((name, mean, math.nan, math.nan) for name, _, _, mean in rows), "Mean reward of each arm"
            ),
        )

    def __getitem__(self, rows: slice | NDArray[Any] | Iterable[Any]) -> Log:
        """Return the log of some rows: of a slice, or those of a mask or of places, which must grow."""
        if not isinstance(rows, slice):
            rows = _rows(rows, len(self))
        elif rows.step is not None and rows.step < 0:
            raise InvalidValueError("rows are in the order of time: a step must be positive.")
        parts = {name: getattr(self, name)[rows] for name in TYPES if getattr(self, name) is not None}
        return replace(self, **parts, skipped={})

    # Where it comes from

    @classmethod
    def from_columns(cls, table: Mapping[str, Any], **options: Unpack[Options]) -> Self:
        """Return the log that is in a mapping of names to columns.

        Parameters
        ----------
        table : mapping of str to array
            Columns of one length: NumPy's, Arrow's, pandas' or lists, in the order of time.
        arm, reward : str
            Names of their columns, if they are others than these.
        propensity, time, told, segment, available, unit : str or None
            Likewise. If a name is not given, the column of this name is read where there is one; with None it
            is not read. `available` has lists of arms, or texts such as ``"a|b"``. A column that is wholly
            empty is as one that is not there.
        arms : sequence of str, optional
            All arms, in their order, also those that were never shown. By default those in the log, in their
            natural order (``"item 9"`` before ``"item 10"``).
        time_unit : {"s", "ms", "us"}, optional
            Of times that are numbers, since 1970. Without it, numbers are no times: dates and texts in
            ISO 8601 are; those without an offset are UTC.
        separator : str, optional
            Between the names in a text of `available`: ``"|"`` by default.
        errors : {"raise", "skip"}, optional
            Whether a bad row is an error, which is the default, or is left out and counted in `skipped`. Rows
            count from 1; those of a CSV file are told by their lines.

        Raises
        ------
        InvalidValueError
            Rows are bad: an arm that is no text or integer, or unknown; a reward that is missing or not
            finite; a propensity that is missing, not above 0, or above 1; a time that is none, or goes back;
            told before asked; an arm that was not available.
        UnknownNameError
            There is no column of a name that was given.

        Examples
        --------
        >>> log = Log.from_columns({"arm": ["b", "a", "b"], "reward": [0, 1, 1]})
        >>> log, log.arms
        (<Log: 3 rows, 2 arms>, ('a', 'b'))
        """
        return cls(**reading.from_columns(table, options))

    @classmethod
    def from_pandas(cls, frame: pd.DataFrame, **options: Unpack[Options]) -> Self:
        """Return the log that is in a data frame; the options are those of `from_columns`."""
        return cls(**reading.from_pandas(frame, options))

    @classmethod
    def from_arrow(cls, table: pa.Table | pa.RecordBatch, **options: Unpack[Options]) -> Self:
        """Return the log that is in a table of Arrow's; the options are those of `from_columns`."""
        return cls(**reading.from_arrow(table, options))

    @classmethod
    def from_records(cls, records: Iterable[Any], **options: Unpack[Options]) -> Self:
        """Return the log that is in mappings or named tuples; the options are those of `from_columns`."""
        return cls(**reading.from_records(records, options))

    @classmethod
    def read(cls, path: str | os.PathLike[str], **options: Unpack[Options]) -> Self:
        """Return the log that is in a file: ``.csv``, ``.csv.gz`` or ``.parquet``.

        The options are those of `from_columns`. The first line of a CSV file names its columns.

        Raises
        ------
        InvalidValueError
            As `from_columns`; or the file is damaged, or none of these.
        UnknownNameError
            There is no column of a name that was given.
        ResultFileError
            The file cannot be read.
        """
        return cls(**reading.read(checks.path("the file", path), options))

    # What is in it

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a data frame, with names of arms and segments, and times of UTC."""
        import pandas as pd

        columns: dict[str, Any] = {}
        for name in TYPES:
            values = getattr(self, name)
            if values is None:
                continue
            if name in ("time", "told"):
                values = pd.to_datetime(values, unit="us", utc=True)
            elif name == "arm":
                values = pd.Categorical.from_codes(values, list(self.arms))
            elif name == "segment":
                values = pd.Categorical.from_codes(values, list(self.segments))
            elif name == "available" and self.sets is not None:
                names = np.array(self.arms, object)
                every = np.fromiter((names[row].tolist() for row in self.sets), object, len(self.sets))
                values = every[values]
            columns[name] = values
        return pd.DataFrame(columns)

    def table(self) -> pd.DataFrame:
        """Return a data frame with a row for each arm: `Summary.table`."""
        return self.summary().table()

    def summary(self) -> Summary:
        """Return what is in the log, and what it is good for.

        Raises
        ------
        InvalidValueError
            It has no rows.
        """
        expected: float | NDArray[np.float64] = len(self.arms)
        if self.sets is not None and self.available is not None:
            expected = self.sets.sum(axis=1, dtype=np.float64)[self.available]
        return Summary.of(
            self.arms, self.arm, self.reward, self.propensity, self.time, expected, dict(self.skipped)
        )


def _column(name: str, values: Any, kind: type, n: int) -> NDArray[Any]:
    array = np.asarray(values)
    if array.shape != (n,):
        raise InvalidValueError(f"{name} must have shape ({n},), as arm has, not {array.shape}.")
    if not np.can_cast(array.dtype, kind, casting="same_kind"):
        raise InvalidValueError(f"{name} must be of {np.dtype(kind)}, not {array.dtype}.")
    typed: NDArray[Any] = array.astype(kind, copy=False)
    if np.dtype(kind).kind == "i" and (typed != array).any():
        raise InvalidValueError(f"{name} must be of {np.dtype(kind)}; there are larger numbers.")
    return _frozen(typed)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _check_places(name: str, places: NDArray[np.int32], n: int) -> None:
    if len(places) and not 0 <= places.min() <= places.max() < n:
        raise InvalidValueError(f"{name} must have places in [0, {n}).")


def _rows(rows: Any, n: int) -> NDArray[Any]:
    places = np.asarray(rows)
    if places.dtype == bool and places.shape == (n,):
        return places
    if places.ndim != 1 or (places.dtype.kind not in "iu" and places.size):
        raise InvalidValueError(
            f"rows are given by a slice, a mask of {n:,} rows or places, not by {rows!r:.100}."
        )
    places = places.astype(np.int64)
    if places.size and not (places[0] >= 0 and places[-1] < n and (np.diff(places) > 0).all()):
        raise InvalidValueError(f"places of rows must grow, within [0, {n:,}).")
    return places
