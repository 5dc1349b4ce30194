"""The look of all figures: readable in print, in grey, and by the colour-blind."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from brigand.figures import text
from brigand.files import atomic
from brigand.palette import LINES as LINES, Line as Line

FORMATS = ("png", "svg", "pdf")

STYLE: Any = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "brigand",
}


def line(place: int) -> Line:
    """Return the look of the line at `place` in the legend (0, 1, ...)."""
    look = LINES[place % len(LINES)]
    again = LINES[(place + place // len(LINES)) % len(LINES)]  # the same colour, another marker
    return look._replace(marker=again.marker)


def step_axis(axes: Axes, horizon: int) -> None:
    """Label an axis of steps: 20k for 20,000; whole numbers only where there are few."""
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    if horizon >= 10_000:
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))


def mark_breakpoints(axes: Axes, starts: Iterable[int]) -> None:
    """Mark the first steps of new phases by dotted lines, in front of the grid."""
    for start in starts:
        axes.axvline(start, color="0.3", linewidth=0.9, linestyle=":", zorder=1.5)


def add_legend(figure: Figure, axes: Axes) -> None:
    """Put the legend of `axes` below the panels, in as many columns as its names leave room for."""
    handles, labels = text.labels(axes)
    columns = max(1, int(120 / (max(map(len, labels)) + 8)))
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), columns))


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, sizes in inches, with constrained layout and no global state."""
    return Figure(figsize=(width, height), layout="constrained")


def content(figure: Figure, suffix: str) -> bytes:
    """Return a figure as a file of one of the `FORMATS`, the same bytes every time."""
    buffer = io.BytesIO()
    metadata = {"CreationDate": None} if suffix == "pdf" else {"Date": None} if suffix == "svg" else None
    with mpl.rc_context(STYLE), text.fonts(figure):
        figure.savefig(buffer, format=suffix, dpi=200, metadata=metadata)
    return buffer.getvalue()


def save(figure: Figure, folder: Path, name: str, formats: Iterable[str] = FORMATS) -> list[Path]:
    """Write ``name.png``, ``name.svg`` and ``name.pdf`` into `folder`; each whole or not at all."""
    paths = []
    for suffix in formats:
        path = folder / f"{name}.{suffix}"
        # In memory: Matplotlib's writer of PDFs hides that a disk is full behind an error of its own.
        drawn = content(figure, suffix)
        with atomic(path) as temporary:
            temporary.write_bytes(drawn)
        paths.append(path)
    return paths
