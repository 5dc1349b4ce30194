"""Panels, axes, rows and legends, as figures of studies share them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from brigand.figures import style
from brigand.figures.text import typed

TITLE = 34
"""Characters in a line of a panel's title."""


def panel_grid(count: int, x: str, y: str, sharey: bool = False) -> tuple[Figure, list[Axes]]:
    """Return a figure of so many panels, up to three in a row, with one horizontal axis; and its panels.

    Parameters
    ----------
    count : int
    x, y : str
        Labels of the axes, written where no panel is below, or left.
    sharey : bool
        Whether they have one vertical axis, too.
    """
    columns = 2 if count == 4 else min(3, count)
    rows = -(-count // columns)
    figure = style.new_figure({1: 5.2, 2: 7.2}.get(columns, 8.4), 0.7 + 2.3 * rows)
    grid = figure.subplots(rows, columns, sharex=True, sharey=sharey, squeeze=False)
    panels = list(grid.flat)
    for place, axes in enumerate(panels[:count]):
        if place + columns >= count:
            axes.set_xlabel(x)
            axes.tick_params(labelbottom=True)
        if place % columns == 0:
            axes.set_ylabel(y)
    for axes in panels[count:]:
        axes.remove()
    return figure, panels[:count]


def add_legend(
    figure: Figure, handles: Sequence[Any], labels: Sequence[str], title: str | None = None
) -> None:
    """Put a legend below the panels, in as many columns as fit; the figure grows by it."""
    room = 14.5 * figure.get_figwidth()  # characters
    columns = min(len(labels), max(1, int(room / (max(map(len, labels)) + 8))))
    figure.legend(handles, labels, title=title, loc="outside lower center", ncols=columns)
    lines = -(-len(labels) // columns) + (title is not None)
    figure.set_figheight(figure.get_figheight() + 0.19 * lines)


def log_ticks(axis: Axis) -> None:
    """Name 1, 2, 5, 10, ... where there are few powers of ten; minor ticks would be clutter, and slow."""
    low, high = axis.get_view_interval()
    axis.set_minor_locator(NullLocator())
    if high < 100 * low:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))


def value_axis(axes: Axes, values: Any) -> None:
    """Make the horizontal axis logarithmic where that shows more, with a place for zeros if there are any."""
    array = np.asarray(values, float)
    positive = array[np.isfinite(array) & (array > 0)]
    if not len(positive):
        return
    if len(positive) < np.isfinite(array).sum():
        # Linear below the least number that matters, so that 0 has a place.
        least = 10.0 ** np.floor(np.log10(max(positive.min(), positive.max() / 1e6)))
        axes.set_xscale("symlog", linthresh=least, linscale=0.5)
        axes.set_xlim(-0.1 * least, 1.5 * positive.max())
    elif positive.max() > 3 * positive.min():
        axes.set_xscale("log")
        log_ticks(axes.xaxis)


def name_rows(axes: Axes, names: list[str]) -> None:
    """Name the rows 0, 1, ... from the top."""
    axes.set_yticks(range(len(names)), list(map(typed, names)))
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="y", visible=False)
