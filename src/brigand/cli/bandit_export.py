"""A live bandit's history as a file: ``brigand bandit export``."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from brigand.errors import InvalidValueError, ResultFileError, StorageError
from brigand.files import atomic
from brigand.live import history
from brigand.live.history import NUMBERS, TIMES, Columns, moments, texts
from brigand.logs.files import file_kind, parquet_modules

if TYPE_CHECKING:
    from brigand.live.bandit import Bandit

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


def write_history(bandit: Bandit, path: Path, progress: Callable[[int], None]) -> int:
    """Write a history as CSV or Parquet, whole or not at all, and return how many decisions it has.

    In CSV, a text that a spreadsheet would take for a formula has a quote before it (`defused`).

    Raises
    ------
    InvalidValueError
        The suffix is another, or a name is no text for a file.
    ResultFileError
        The file cannot be written.
    StorageError
        The store cannot be read.
    """
    write = _write_csv if file_kind(path) == ".csv" else _write_parquet
    try:
        with atomic(path) as temporary:
            return write(_pages(bandit, progress), temporary)
    except ResultFileError as error:
        if isinstance(error.__cause__, StorageError):  # also an OSError, but not of this file
            raise error.__cause__ from None
        raise
    except UnicodeEncodeError as error:
        raise InvalidValueError(
            f"{str(path)!r} cannot be written: a name has lone surrogates, {error.object[error.start]!r}, "
            "which are no text in UTF-8."
        ) from None


def _pages(bandit: Bandit, progress: Callable[[int], None]) -> Iterator[Columns]:
    """Yield the history in pieces."""
    done = 0
    for page in history.pages(bandit, 0, None):
        done += len(page["step"])
        progress(done)
        yield page


def _write_csv(pages: Iterator[Columns], path: Path) -> int:
    done = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        minimal, all_texts = (
            csv.writer(file, lineterminator="\n", quoting=quoting)
            for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC)
        )
        minimal.writerow(FIELDS)
        for page in pages:
            cells = {name: np.asarray(values, object).tolist() for name, values in page.items()}
            cells |= {name: texts(page[name]) for name in TIMES}
            cells |= {name: list(map(defused, cells[name])) for name in TEXTS}
            cells |= {name: ["" if value != value else value for value in cells[name]] for name in NUMBERS}
            # Older Pythons put no quotes around a carriage return, which ends a line for those who read.
            returns = any("\r" in text for name in TEXTS for text in cells[name])
            (all_texts if returns else minimal).writerows(zip(*cells.values(), strict=True))
            done += len(cells["step"])
    return done


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


def _write_parquet(pages: Iterator[Columns], path: Path) -> int:
    pa, parquet = parquet_modules()
    kinds = {kind: getattr(pa, kind)() for kind in set(FIELDS.values()) - {"time"}}
    kinds["time"] = pa.timestamp("us", tz="UTC")
    schema = pa.schema([(name, kinds[kind]) for name, kind in FIELDS.items()])
    done = 0
    with parquet.ParquetWriter(path, schema) as writer:
        for page in pages:
            columns = page | {name: moments(page[name]) for name in TIMES}
            arrays = [
                pa.array(columns[field.name], field.type, from_pandas=field.name in NUMBERS)  # NaN: none
                for field in schema
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            done += len(page["step"])
    return done
