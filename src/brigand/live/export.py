"""A live bandit's history as CSV, NDJSON or Parquet, a piece at a time."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from brigand.errors import InvalidValueError
from brigand.live.decision import plain
from brigand.live.history import NUMBERS, TIMES, Columns, moments, rows, texts
from brigand.logs.files import parquet_modules

TEXTS = ("arm", "reason")
FORMULA = re.compile("'*[=+\\-@\t\r]")
"""How a cell begins that a spreadsheet takes for a formula, or would if it were not for quotes before it."""
FIELDS = {
    "step": "int64",
    "decision": "string",
    "arm": "string",
    "explored": "bool_",
    "propensity": "float64",
    "holdout": "bool_",
    "reason": "string",
    "asked_at": "time",
    "told_at": "time",
    "reward": "float64",
    "learned": "float64",
    "status": "string",
}
"""Columns of the file, and their types in Parquet."""


def csv_pieces(pages: Iterable[Columns]) -> Iterator[bytes]:
    """Yield a history as CSV, a piece for its names and one for each page.

    A text that a spreadsheet would take for a formula has a quote before it (`defused`).

    Raises
    ------
    InvalidValueError
        A name has lone surrogates, which are no text in UTF-8.
    """
    yield _csv([tuple(FIELDS)], csv.QUOTE_MINIMAL)
    for page in pages:
        cells = {name: np.asarray(values, object).tolist() for name, values in page.items()}
        cells |= {name: texts(page[name]) for name in TIMES}
        cells |= {name: list(map(defused, cells[name])) for name in TEXTS}
        cells |= {name: ["" if value != value else value for value in cells[name]] for name in NUMBERS}
        # Older Pythons put no quotes around a carriage return, which ends a line for those who read.
        returns = any("\r" in text for name in TEXTS for text in cells[name])
        quoting = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
        yield _csv(zip(*cells.values(), strict=True), quoting)


def _csv(lines: Iterable[tuple[Any, ...]], quoting: Any) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=quoting).writerows(lines)
    try:
        return text.getvalue().encode()
    except UnicodeEncodeError as error:
        raise _no_text(error) from None


def ndjson_pieces(pages: Iterable[Columns]) -> Iterator[bytes]:
    """Yield a history as JSON, one decision a line, in ASCII: a piece for each page."""
    for page in pages:
        yield "".join(f"{json.dumps(plain(row), allow_nan=False)}\n" for row in rows(page)).encode()


def parquet_pieces(pages: Iterable[Columns]) -> Iterator[bytes]:
    """Yield a history as Parquet, a group of rows for each page.

    Raises
    ------
    InvalidValueError
        A name has lone surrogates, which are no text in UTF-8.
    MissingPackageError
        pyarrow is not installed.
    """
    pa, parquet = parquet_modules()
    kinds = {kind: getattr(pa, kind)() for kind in set(FIELDS.values()) - {"time"}}
    kinds["time"] = pa.timestamp("us", tz="UTC")
    schema = pa.schema([(name, kinds[kind]) for name, kind in FIELDS.items()])
    written = _Written()
    with parquet.ParquetWriter(written, schema) as writer:
        for page in pages:
            columns = page | {name: moments(page[name]) for name in TIMES}
            try:
                arrays = [
                    pa.array(columns[field.name], field.type, from_pandas=field.name in NUMBERS)  # NaN: none
                    for field in schema
                ]
            except UnicodeEncodeError as error:
                raise _no_text(error) from None
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            yield written.take()
    yield written.take()


PIECES: dict[str, Callable[[Iterable[Columns]], Iterator[bytes]]] = {
    "csv": csv_pieces,
    "ndjson": ndjson_pieces,
    "parquet": parquet_pieces,
}


class _Written(io.RawIOBase):
    """A file that only remembers what was written since it was asked last."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        return len(self._parts[-1])

    def take(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


def _no_text(error: UnicodeEncodeError) -> InvalidValueError:
    return InvalidValueError(
        f"a name has lone surrogates, {error.object[error.start]!r}, which are no text in UTF-8."
    )


def defused(text: str) -> str:
    """Return a cell that no spreadsheet takes for a formula: one more quote before it.

    Examples
    --------
    >>> defused("=1+1"), defused("'=1+1"), defused("plain")
    ("'=1+1", "''=1+1", 'plain')
    """
    return f"'{text}" if FORMULA.match(text) else text


def as_typed(cell: str) -> str:
    """Return what `defused` got.

    Examples
    --------
    >>> as_typed("'=1+1"), as_typed("''=1+1"), as_typed("'plain'"), as_typed("=1+1")
    ('=1+1', "'=1+1", "'plain'", '=1+1')
    """
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell
