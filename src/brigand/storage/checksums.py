"""The checksum of an event: a changed row is found wherever it is read."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from typing import Any

FIELDS = struct.Struct("<BBqqdd")
"""Kind; which of step, value and counted there are; step, arm, value, time. The data follow."""


def checksum(
    kind: int, step: int | None, arm: int, value: float | None, counted: bool, at: float, data: str
) -> int:
    """Return the CRC-32 of a row of ``brigand_events``, without its bandit and its number.

    Numbers of one bandit have no gaps, so a row with a changed number is found by that.

    Raises
    ------
    TypeError, ValueError, AttributeError, struct.error
        The fields are of no row.
    """
    there = (step is not None) + 2 * (value is not None) + 4 * bool(counted)
    fields = FIELDS.pack(kind, there, step or 0, arm, 0.0 if value is None else value, at)
    crc = zlib.crc32(fields)
    return crc if data == "" else zlib.crc32(data.encode("utf-8", "surrogatepass"), crc)


def fits(
    crc: int | None,
    kind: int,
    step: int | None,
    arm: int,
    value: float | None,
    counted: bool,
    at: float,
    data: str,
) -> bool:
    """Return whether a row is as it was written; rows of version 1 of the tables have no checksum."""
    if crc is None:
        return True
    try:
        return checksum(kind, step, arm, value, counted, at, data) == crc
    except (TypeError, ValueError, AttributeError, struct.error):
        return False


def all_fit(crc: Iterable[int | None], *columns: Iterable[Any]) -> bool:
    """Return whether rows, given as columns, surely are as they were written; which is not, `fits` tells."""
    try:
        return list(map(checksum, *columns)) == list(crc)
    except (TypeError, ValueError, AttributeError, struct.error):
        return False
