"""Tables: as people read them, and as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from brigand.live.export import defused
from brigand.words import visible

TEXT, COUNT, NUMBER, SHARE, TIME = "text", "count", "number", "share", "time"
"""Kinds of columns. Times are seconds since 1970, or `datetime`; NaN, None and infinity are nothing."""
NOTHING = "–"


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes
    ----------
    name : str
        Of its file.
    title : str
        Its caption.
    columns : tuple of (str, str)
        Titles and kinds; the first one names its row.
    rows : list of list
    links : list of str or None
        Where each row's name leads, if anywhere.
    """

    name: str
    title: str
    columns: tuple[tuple[str, str], ...]
    rows: list[list[Any]]
    links: Sequence[str] | None = None

    def cells(self) -> list[list[str]]:
        """Return the rows as people read them."""
        kinds = [kind for _, kind in self.columns]
        return [[shown(value, kind) for value, kind in zip(row, kinds, strict=True)] for row in self.rows]

    def csv(self) -> bytes:
        """Return the table as CSV; what a spreadsheet takes for a formula has a quote before it."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([defused(title) for title, _ in self.columns])
        kinds = [kind for _, kind in self.columns]
        for row in self.rows:
            writer.writerow([_exact(value, kind) for value, kind in zip(row, kinds, strict=True)])
        return text.getvalue().encode()


@dataclass(frozen=True)
class Chart:
    """A chart, with what stands below it, and the table that says the same.

    Attributes
    ----------
    name : str
        Of its file.
    title : str
    note : str
        What must be known to read it.
    draw : callable
        See `brigand.dashboard.charts`.
    table : Table
    signs : list of (str, str)
        What the signs above it stand for.
    more : (str, str) or None
        Where there is more to see, and what.
    """

    name: str
    title: str
    note: str
    draw: Any
    table: Table
    signs: list[tuple[str, str]] = field(default_factory=list)
    more: tuple[str, str] | None = None


def shown(value: Any, kind: str) -> str:
    """Return a cell as people read it.

    Examples
    --------
    >>> shown(12345, COUNT), shown(0.123456, NUMBER), shown(0.5, SHARE), shown(math.nan, NUMBER)
    ('12,345', '0.1235', '50.0 %', '–')
    >>> shown(1e9, TIME)
    '2001-09-09 01:46:40'
    """
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return NOTHING
    if kind == TIME:
        return f"{moment(value):%Y-%m-%d %H:%M:%S}"
    if kind == COUNT:
        return f"{value:,}"
    if kind == NUMBER:
        return f"{value:,.4g}" if abs(value) < 1e6 else f"{value:.4g}"
    return f"{100 * value:.1f} %" if kind == SHARE else visible(str(value))


def moment(value: Any) -> datetime:
    """Return a time as `datetime`, in UTC."""
    return value if isinstance(value, datetime) else datetime.fromtimestamp(value, UTC)


def _exact(value: Any, kind: str) -> Any:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if kind == TIME:
        return moment(value).isoformat(timespec="seconds")
    return defused(visible(value)) if isinstance(value, str) else value
