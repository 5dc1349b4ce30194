"""The look of all figures: readable in print, in grey, and by the colour-blind."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, MaxNLocator

from brigand.display import notebook
from brigand.errors import InvalidValueError
from brigand.figures import text
from brigand.figures.describe import description
from brigand.files import atomic
from brigand.palette import LINES as LINES, Line as Line, line as line

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
NARROW = 5.0
"""Inches: a narrower figure is made for one column of a page, with smaller letters."""
SMALL: Any = {
    "font.size": 7.5,
    "axes.titlesize": 7.5,
    "legend.fontsize": 7,
    "lines.linewidth": 1.2,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
}


def write_numbers(axis: Axis, most: int = 6) -> None:
    """Label a linear axis by few numbers, as tables write them: 20,000; whole where there are few steps."""
    axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))


def number(value: float) -> str:
    r"""Return a number as it stands at an axis: 20,000, and powers of ten from 10^7 on.

    Examples
    --------
    >>> number(20000.0), number(0.5), number(2e9)
    ('20,000', '0.5', '$2\\times10^{9}$')
    """
    if abs(value) < 1e7:
        return f"{value:,.10g}"
    mantissa, _, exponent = f"{value:.6e}".partition("e")
    times = "" if float(mantissa) == 1 else f"{float(mantissa):g}\\times"
    return f"${times}10^{{{int(exponent)}}}$"


def step_axis(axes: Axes, horizon: int, width: float = 2.6) -> None:
    """Label an axis of steps, so many inches wide: whole numbers only, and no more than have room."""
    room = int(width / (0.075 * len(f"{horizon:,}") + 0.1))
    axes.xaxis.set_major_locator(MaxNLocator(min(max(room, 1), 6), integer=True, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))


MARKED, RUGGED = 12, 200
"""Up to so many breakpoints are lines through the panel, or short marks at its lower edge."""


def mark_breakpoints(axes: Axes, starts: Sequence[int]) -> str:
    """Mark the first steps of new phases, and return what the axis has to say of them.

    Few are dotted lines, in front of the grid. More than 12 would hide what is drawn: they are short marks at
    the lower edge; of more than 200, only their number is said.
    """
    if len(starts) <= MARKED:
        for start in starts:
            axes.axvline(start, color="0.3", linewidth=0.9, linestyle=":", zorder=1.5)
        return ""
    said = f"{len(starts):,} changes"
    if len(starts) > RUGGED:
        return said
    axes.vlines(
        starts, 0, 0.035, colors="0.3", linewidths=0.7, transform=axes.get_xaxis_transform(), zorder=1.5
    )
    return f"{said}, marked"


def add_legend(figure: Figure, axes: Axes) -> None:
    """Put the legend of `axes` below the panels, in as many columns as its names leave room for."""
    handles, labels = text.labels(axes)
    columns = max(1, int(120 / (max(map(len, labels)) + 8)))
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), columns))


class StyledFigure(Figure):
    """A figure that looks the same wherever it is drawn: in a file, a window or a notebook."""

    @property
    def look(self) -> Any:
        """Matplotlib's settings for it."""
        return STYLE | SMALL if self.get_figwidth() < NARROW else STYLE

    def draw(self, renderer: Any) -> None:  # noqa: D102
        layout = self.get_layout_engine()
        with mpl.rc_context(self.look), text.fonts(self):
            # To write a file, Matplotlib draws twice: first for the layout, to nowhere.
            if self.canvas.is_saving() and isinstance(layout, ConstrainedLayoutEngine):
                layout.execute(self)
            else:
                super().draw(renderer)


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, sizes in inches, with constrained layout and no global state."""
    return StyledFigure(figsize=(width, height), layout="constrained")


def shown_figure(width: float, height: float) -> Figure:
    """Return an empty figure that a notebook shows at the end of the cell, once; else as `new_figure`."""
    if notebook() is None:
        return new_figure(width, height)
    import matplotlib.pyplot as plt

    return plt.figure(figsize=(width, height), layout="constrained", FigureClass=StyledFigure)


def look_of(figure: Figure) -> Any:
    """Return Matplotlib's settings for what is drawn into a figure: of a user's own, those that are set."""
    return figure.look if isinstance(figure, StyledFigure) else {}


def content(figure: Figure, suffix: str) -> bytes:
    """Return a figure as a file of one of the `FORMATS`, the same bytes every time.

    Each says in words what it shows: a PNG as its ``Description``, a PDF as its subject, an SVG in ``desc``.
    """
    buffer = io.BytesIO()
    title, words = heading(figure), description(figure)
    metadata: Any = {
        "png": {"Title": title, "Description": words},
        "svg": {"Title": title, "Date": None},
        "pdf": {"Title": title, "Subject": words, "CreationDate": None},
    }[suffix]
    fonts = nullcontext() if isinstance(figure, StyledFigure) else text.fonts(figure)
    with mpl.rc_context(look_of(figure) or STYLE), fonts:
        figure.savefig(buffer, format=suffix, dpi=200, metadata=metadata)
    if suffix != "svg":
        return buffer.getvalue()
    svg = buffer.getvalue().decode()
    start, title_end, rest = svg.partition("</title>")
    if not title_end:  # without a title Matplotlib writes none
        start, title_end, rest = svg.partition(">\n <metadata>")
        return f"{start}>\n <desc>{escape(words)}</desc>\n <metadata>{rest}".encode()
    return f"{start}</title>\n <desc>{escape(words)}</desc>{rest}".encode()


def heading(figure: Figure) -> str:
    """Return the title of a figure in one line."""
    found = figure.get_suptitle() or next((axes.get_title() for axes in figure.axes), "")
    return text.as_given(found).replace("\n", ", ")


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


def axes_of(figure: Figure, given: Sequence[Axes] | None = None) -> Any:
    """Return what a plot returns: the axes that were given, or the figure's; alone if it is one."""
    axes = list(given or figure.axes)
    return axes[0] if len(axes) == 1 else np.array(axes, object)


def file_of(path: Any) -> Path | None:
    """Return where a figure goes; None if it goes nowhere.

    Raises
    ------
    InvalidValueError
        The name ends in none of the `FORMATS`.
    """
    target = None if path is None else Path(path)
    if target is not None and target.suffix[1:] not in FORMATS:
        raise InvalidValueError(f"a figure's name must end in .png, .svg or .pdf, not {str(path)!r}.")
    return target
