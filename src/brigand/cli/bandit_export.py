"""A live bandit's history as a file: ``brigand bandit export``."""

from __future__ import annotations

import csv
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brigand.errors import InvalidValueError, ResultFileError, StorageError
from brigand.files import atomic

if TYPE_CHECKING:
    import pandas as pd

    from brigand.live.bandit import Bandit

SUFFIXES = (".csv", ".parquet")
CHUNK = 20_000
"""Decisions read, and written, at once."""
TIMES = ("asked_at", "told_at")
FIELDS = {
    "step": "int64",
    "decision": "string",
    "arm": "string",
    "explored": "bool_",
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
            return write(_chunks(bandit, progress), temporary)
    except ResultFileError as error:
        if isinstance(error.__cause__, StorageError):  # also an OSError, but not of this file
            raise error.__cause__ from None
        raise
    except UnicodeEncodeError as error:
        raise InvalidValueError(
            f"{str(path)!r} cannot be written: a name has lone surrogates, {error.object[error.start]!r}, "
            "which are no text in UTF-8."
        ) from None


def file_kind(path: Path) -> str:
    """Return the suffix that tells what is in a file.

    Raises
    ------
    InvalidValueError
        It is another than ``.csv`` and ``.parquet``, or that needs a package that is not installed.
    """
    kind = path.suffix.lower()
    if kind not in SUFFIXES:
        raise InvalidValueError(f"the file's name must end in .csv or .parquet, not {path.name!r}.")
    if kind == ".parquet":
        parquet_modules()
    return kind


def _chunks(bandit: Bandit, progress: Callable[[int], None]) -> Iterator[pd.DataFrame]:
    """Yield the history in pieces, at least one."""
    done = 0
    while True:
        chunk = bandit.history(after=done, limit=CHUNK)
        done += len(chunk)
        progress(done)
        if len(chunk) or done == 0:
            for name in TIMES:
                chunk[name] = chunk[name].dt.round("us")
            yield chunk.reset_index()[list(FIELDS)]
        if len(chunk) < CHUNK:
            return


def _write_csv(chunks: Iterator[pd.DataFrame], path: Path) -> int:
    import numpy as np

    done = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        for chunk in chunks:
            for name in TIMES:
                times = chunk[name].dt.tz_localize(None).to_numpy("datetime64[us]")
                chunk[name] = np.where(
                    np.isnat(times), "", np.datetime_as_string(times, unit="us", timezone="UTC")
                )
            # Older Pythons put no quotes around a carriage return, which ends a line for those who read.
            returns = any("\r" in text for name in ("arm", "reason") for text in chunk[name])
            chunk.to_csv(
                file,
                index=False,
                header=done == 0,
                lineterminator="\n",
                quoting=csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL,
            )
            done += len(chunk)
    return done


def _write_parquet(chunks: Iterator[pd.DataFrame], path: Path) -> int:
    pa, parquet = parquet_modules()
    kinds = {kind: getattr(pa, kind)() for kind in set(FIELDS.values()) - {"time"}}
    kinds["time"] = pa.timestamp("us", tz="UTC")
    schema = pa.schema([(name, kinds[kind]) for name, kind in FIELDS.items()])
    done = 0
    with parquet.ParquetWriter(path, schema) as writer:
        for chunk in chunks:
            writer.write_table(pa.Table.from_pandas(chunk, schema=schema, preserve_index=False))
            done += len(chunk)
    return done


def parquet_modules() -> tuple[Any, Any]:
    """Return pyarrow, which is not installed with Brigand itself, and its module for Parquet.

    Raises
    ------
    InvalidValueError
        It is not installed.
    """
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise InvalidValueError("Parquet files need pyarrow: pip install 'brigand[parquet]'.") from None
