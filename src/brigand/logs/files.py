"""Tables in files: records of CSV with their lines, and Parquet's modules.

CSV is read with the standard library's `csv`, which takes text for what it is and knows lines.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from brigand import checks
from brigand.errors import InvalidValueError, ResultFileError

LARGEST = 2**31 - 1
"""Characters that a field of a CSV file may have: all that `csv` can take everywhere."""


class Record(NamedTuple):
    """A record of a CSV file: the line where it begins, and its cells."""

    line: int
    cells: list[str]


def file_kind(path: Path, kinds: Sequence[str] = (".csv", ".parquet")) -> str:
    """Return the suffix that tells what is in a file.

    Raises
    ------
    InvalidValueError
        It is none of `kinds`, or needs a package that is not installed.
    """
    kind = next((kind for kind in kinds if path.name.lower().endswith(kind)), None)
    if kind is None:
        *most, last = kinds
        raise InvalidValueError(
            f"the file's name must end in {', '.join(most)} or {last}, not {path.name!r}."
        )
    if kind == ".parquet":
        parquet_modules()
    return kind


def parquet_modules() -> tuple[Any, Any]:
    """Return pyarrow and its module for Parquet.

    Raises
    ------
    MissingPackageError
        It is not installed.
    """
    otherwise = "Parquet files need pyarrow: pip install 'brigand[parquet]'."
    return checks.package("pyarrow", otherwise), checks.package("pyarrow.parquet", otherwise)


def unreadable(path: Path, error: OSError) -> ResultFileError:
    """Return the error of a file that cannot be read."""
    return ResultFileError(f"{str(path)!r} cannot be read: {error.strerror or error}.")


def opened(path: Path) -> BinaryIO | gzip.GzipFile:
    """Open a file, unpacked if its name ends in .gz."""
    return gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb")


def csv_records(path: Path) -> Iterator[Record]:
    """Yield the records of a CSV file, without empty lines; the first one names the columns.

    Raises
    ------
    InvalidValueError
        This is no CSV, or no UTF-8 text; the message has the line.
    ResultFileError
        It cannot be read.
    """
    line = 1
    limit = csv.field_size_limit(LARGEST)  # the module's own is for all columns, also those that are not used
    try:
        with opened(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
            reader = csv.reader(text, strict=True)  # spreadsheets begin with a mark: -sig
            for cells in reader:
                if cells or line == 1:
                    yield Record(line, cells)
                line = reader.line_num + 1
    except csv.Error as error:
        raise InvalidValueError(f"{path}, line {line}: this is no CSV: {error}.") from None
    except UnicodeDecodeError:
        raise InvalidValueError(f"{path}, line {_first_undecoded(path)}: this is not UTF-8 text.") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InvalidValueError(f"{path}, after line {line}: this is no whole gzip file: {error}.") from None
    except OSError as error:
        raise unreadable(path, error) from error
    finally:
        csv.field_size_limit(limit)


def _first_undecoded(path: Path) -> int:
    number = 1
    with opened(path) as file, suppress(UnicodeDecodeError, EOFError, OSError, zlib.error):
        for number, line in enumerate(file, 1):  # noqa: B007
            line.decode()
    return number


def column_names(path: Path, records: Iterator[Record], needed: Sequence[str]) -> list[str]:
    """Return what the first line of a CSV file names.

    Raises
    ------
    InvalidValueError
        There is none.
    """
    names = [name.strip() for name in next(records, Record(1, [])).cells]
    if not names:
        raise InvalidValueError(f"{path} is empty: its first line names the columns {' and '.join(needed)}.")
    return names


def misfit(cells: Sequence[str], names: Sequence[str]) -> str:
    """Say that a record has more or fewer cells than there are columns."""
    return f"has {len(cells)} fields, where the first line names {len(names)}"
