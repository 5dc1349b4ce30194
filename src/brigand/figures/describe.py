"""What a figure shows, in words: for those who cannot see it, and for whoever searches files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from brigand.figures import text
from brigand.words import number

MOST = 40
"""Lines, or rows, of which numbers are given."""


def description(figure: Figure) -> str:
    """Return what a figure shows, panel by panel: its axes, and where each line ends.

    It is read from the figure itself, so it cannot tell another story.
    """
    return " ".join(part for part in map(_panel, figure.axes) if part)


def _panel(axes: Axes) -> str:
    title = _line(axes.get_title() or axes.get_title("right"))
    across, down = _line(axes.get_xlabel()), _line(axes.get_ylabel())
    names = [tick.get_text() for tick in axes.get_yticklabels()] if axes.yaxis.get_label_text() == "" else []
    lines = [line for line in axes.lines if _name(line)]
    listed = "; ".join(
        _rows(lines, names) if names and _by_rows(lines, len(names)) else map(_end, lines[:MOST])
    )
    axis = " against ".join(part for part in (down, across) if part)
    about = ": ".join(part for part in (title, axis) if part)
    more = f" and {len(lines) - MOST} more lines" if len(lines) > MOST else ""
    return f"{about}. {listed}{more}." if listed else f"{about}." if about else ""


def _by_rows(lines: list[Line2D], rows: int) -> bool:
    return bool(lines) and all(len(np.atleast_1d(line.get_xdata())) == rows for line in lines)


def _rows(lines: list[Line2D], names: list[str]) -> Iterator[str]:
    for row, name in list(enumerate(names))[:MOST]:
        values = (f"{_name(line)} {_number(np.asarray(line.get_xdata())[row])}" for line in lines)
        yield f"{_line(name)}: {', '.join(values)}"


def _end(line: Line2D) -> str:
    values = np.asarray(line.get_ydata(), float)
    finite = values[np.isfinite(values)]
    return f"{_name(line)} ends at {_number(finite[-1])}" if len(finite) else f"{_name(line)} is not drawn"


def _name(line: Line2D) -> str:
    label = str(line.get_label())
    return "" if label.startswith("_") else _line(label.removeprefix(text.HIDDEN))


def _number(value: Any) -> str:
    return number(float(value))


def _line(name: str) -> str:
    return text.as_given(name).replace("\n", " ").strip()
