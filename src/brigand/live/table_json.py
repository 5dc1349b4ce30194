"""Tables of records as JSON: column by column, with the layout; floats come back as the same bits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from brigand.policies.base import Table


def write_table(table: Table) -> dict[str, Any]:
    """Return a table as plain data; NaN and infinities, which JSON has not, are written as strings."""
    names = table.dtype.names or ()
    return {
        "rows": len(table),
        "columns": [[name, table.dtype[name].str, _write(table[name].tolist())] for name in names],
    }


def read_table(data: dict[str, Any], layout: np.dtype[np.void], rows: int) -> Table | None:
    """Return the table that `write_table` wrote, or None if it has another layout, or not so many rows."""
    names = layout.names or ()
    if [(name, kind) for name, kind, _ in data["columns"]] != [(name, layout[name].str) for name in names]:
        return None
    if data["rows"] != rows or any(len(values) != rows for _, _, values in data["columns"]):
        return None
    table = np.empty(rows, layout)
    for name, kind, values in data["columns"]:
        table[name] = [float(value) for value in values] if kind.endswith("f8") else values
    return table


def _write(values: list[Any]) -> list[Any]:
    if all(map(math.isfinite, values)):
        return values
    return [value if math.isfinite(value) else str(value) for value in values]
