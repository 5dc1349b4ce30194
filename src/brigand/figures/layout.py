"""Panels, axes, rows and legends, as figures of studies share them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from matplotlib.transforms import ScaledTranslation, Transform, blended_transform_factory
from numpy.typing import NDArray

from brigand.errors import InvalidValueError, UnknownNameError
from brigand.figures import style
from brigand.figures.text import typed

TITLE = 34
"""Characters in a line of a panel's title."""
LEGEND = 0.4
"""A legend takes at most this share of a figure's height: the rest grows."""
LABELLED = 6
"""More lines than this have their names at their ends, for a legend would be long; if the names are short."""
LABEL = 7.0
"""Points of a name at the end of a line."""
SAMPLE, LEADER = 0.2, 0.12
"""Inches of the sample of a line before its name, and of the leader that joins both ends."""


class End(NamedTuple):
    """The end of a line, and what is written there.

    Attributes
    ----------
    height : float
        Where it ends, as a share of the panel's height.
    text : str
    look : style.Line
        Of the line; a sample stands before the text.
    """

    height: float
    text: str
    look: style.Line


def name_width(names: Sequence[str]) -> float:
    """Return the inches that names at the ends of lines take, with leaders and samples."""
    return SAMPLE + LEADER + max(map(len, names)) * LABEL * 0.5 / 72


def label_height(names: int) -> float:
    """Return the inches that so many names take, one above the other."""
    return names * 1.32 * LABEL / 72


def beside(axes: Axes, down: Transform) -> Transform:
    """Return the transform whose x are inches from the right edge of a panel, its y those of `down`."""
    inches: Any = axes.get_figure(root=True).dpi_scale_trans  # type: ignore[union-attr]
    across = inches + ScaledTranslation(1, 0, axes.transAxes)  # type: ignore[arg-type]
    return blended_transform_factory(across, down)


def label_ends(axes: Axes, ends: Sequence[End], start: float, height: float) -> None:
    """Write names beside a panel, at the ends of its lines; moved apart where they would overlap.

    Parameters
    ----------
    axes : Axes
    ends : sequence of End
    start : float
        Inches from the panel's right edge to where there is room.
    height : float
        Of the panel, in inches, about.
    """
    order = sorted(ends, key=lambda end: end.height)
    heights = _apart([end.height for end in order], label_height(1) / height)
    place: Any = {"transform": beside(axes, axes.transAxes), "clip_on": False}
    x = start + LEADER
    for end, y in zip(order, heights, strict=True):
        thin: Any = {"color": end.look.color, "linewidth": 0.5, "alpha": 0.6, "zorder": 1.4}
        axes.plot([0, start, x], [end.height, end.height, y], **thin, **place)
        look: Any = {"color": end.look.color, "linestyle": end.look.linestyle, "linewidth": 1.2}
        mark: Any = {"marker": end.look.marker, "markersize": 3.5, "markerfacecolor": "white"}
        axes.plot([x, x + SAMPLE / 2, x + SAMPLE], [y] * 3, **look, **mark, markevery=[1], **place)
        axes.text(x + SAMPLE + 0.04, y, typed(end.text), fontsize=LABEL, va="center", **place)


def _apart(heights: Sequence[float], distance: float) -> NDArray[np.float64]:
    """Return ascending heights in [0, 1], moved as little as makes them so far apart (least squares)."""
    from scipy.optimize import isotonic_regression

    distance = min(distance, 1.0 / max(len(heights) - 1, 1))
    steps = distance * np.arange(len(heights))
    found = isotonic_regression(np.asarray(heights) - steps).x
    return np.asarray(np.clip(found, 0.0, 1.0 - steps[-1]) + steps)


def some(
    kind: str, wanted: str | Sequence[str] | None, usual: Sequence[str], known: Sequence[str] = ()
) -> list[str]:
    """Return the names that are wanted, each once, or the usual ones.

    Raises
    ------
    UnknownNameError, InvalidValueError
        There is no such name among those that are known, by default the usual ones; or none is wanted.
    """
    if wanted is None:
        return list(usual)
    found = list(dict.fromkeys([wanted] if isinstance(wanted, str) else wanted))
    for name in found:
        if name not in (known or usual):
            raise UnknownNameError(kind, name, known or usual)
    if not found:
        raise InvalidValueError(f"there is no {kind} to draw.")
    return found


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
    narrow = figure.get_figwidth() < style.NARROW
    room = (17 if narrow else 14.5) * figure.get_figwidth()  # characters
    columns = min(len(labels), max(1, int(room / (max(map(len, labels)) + 8))))
    figure.legend(handles, labels, title=title, loc="outside lower center", ncols=columns)
    lines = -(-len(labels) // columns) + (title is not None)
    above = figure.get_figheight()
    legend = (0.155 if narrow else 0.19) * lines
    figure.set_figheight(max(above, legend * (1 / LEGEND - 1)) + legend)


def log_ticks(axis: Axis) -> None:
    """Name 1, 2, 5, 10, ... where there are few powers of ten; minor ticks would be clutter, and slow."""
    low, high = axis.get_view_interval()
    axis.set_minor_locator(NullLocator())
    if high < 100 * low:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: style.number(value)))


def value_axis(axes: Axes, values: Any) -> None:
    """Make the horizontal axis logarithmic where that shows more, with a place for zeros if there are any."""
    array = np.asarray(values, float)
    positive = array[np.isfinite(array) & (array > 0)]
    style.write_numbers(axes.xaxis)
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
