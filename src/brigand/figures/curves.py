"""Regret against steps: one panel for the mean, one for the median."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brigand.figures import layout, style
from brigand.figures.text import label as label_of, labels, typed
from brigand.words import hangs_on_few, number

if TYPE_CHECKING:
    import pandas as pd

PANELS = ("mean", "median")
BANDS = 2
"""Of more policies the ranges are bars at the right, since their bands would hide each other."""
LANES, LANE = 0.06, 0.045
"""Inches from a panel's right edge to the first bar, and from one bar to the next."""
LEAVES = 2.5
"""The axis of the means ends below a policy that has more than so many times the regret of the next one."""
LEAST, NARROWEST = 0.95, 0.6
"""Inches that are left for lines where there are names beside them, in a wide figure and in a narrow one."""
LOW = 1.5
"""Inches: a lower panel has a shorter label."""
NOTE = "* few runs carry the mean"
LINE = 0.175
"""Inches of a line of the title."""


def curves(
    table: pd.DataFrame,
    title: str,
    draws: str,
    breakpoints: Sequence[int] = (),
    realized: bool = False,
    *,
    places: Mapping[str, int] | None = None,
    panels: Sequence[str] = PANELS,
    figsize: tuple[float, float] | None = None,
    axes: Sequence[Axes] | None = None,
    make: Callable[[float, float], Figure] = style.new_figure,
    more: Callable[[Axes], None] | None = None,
) -> Figure:
    """Draw regret against steps.

    The mean has linear axes. They end where the lines can still be read: where one policy, or a few, have
    more than 2.5 times the regret of the next better one, the axis ends above that one, and what leaves it
    is named at the upper edge with its value at the last step. Of several such gaps the widest counts. At
    least two policies, and half of all, stay.

    The median has logarithmic axes, but of steps only where nothing changes: with breakpoints the axis of
    steps is linear, so that each phase has its room.

    One or two policies have bands from the 10 % to the 90 % quantile; the ranges of more are bars at the last
    step, beside the panel. More than six have their names at the ends of their lines, if the names are short
    enough; else there is a legend.

    Parameters
    ----------
    table : pandas.DataFrame
        As `Results.statistics` returns it; policies in the order of the legend.
    title : str
    draws : str
        What the statistics are over: ``"200 runs"``.
    breakpoints : sequence of int
        First steps of new phases, see `style.mark_breakpoints`.
    realized : bool
        Whether it is realized regret, which may be negative: all axes are linear then.
    places : dict of str to int, optional
        The place of each policy's look (`style.line`), so that it is the same in several figures; by default
        its place in the table.
    panels : sequence of {"mean", "median"}
    figsize : (float, float), optional
        Inches. Of a width below 5, for one column of a page, panels stand below each other. By default 7.2
        wide, and as high as it needs.
    axes : sequence of Axes, optional
        Draw into these, one for each panel, and not into a figure of its own.
    make : callable
        Makes the figure: `style.new_figure`, or `style.shown_figure` for notebooks.
    more : callable, optional
        Draws something else into the panel of the median, and may move its limits.
    """
    policies = list(map(str, table.index.unique("policy")))
    own = axes is None
    if axes is None:
        figure, axes = _grid(panels, policies, title, figsize, make)
    else:
        figure = _figure_of(axes[0])
    with mpl.rc_context(style.look_of(figure)):
        shared = _Curves(
            table,
            {name: style.line(i if places is None else places[name]) for i, name in enumerate(policies)},
            draws,
            breakpoints,
            realized,
            _size(figure, axes, own, len(policies) <= layout.LABELLED and figsize is not None),
            figure.get_layout_engine() is not None,
            more,
        )
        named = shared.named(panels, figure.get_figwidth() < style.NARROW)
        for kind, panel, at_ends in zip(panels, axes, named, strict=True):
            shared.draw(panel, kind, at_ends)
        if title and own:
            figure.suptitle(typed(title), fontsize=1.1 * mpl.rcParams["font.size"])
        elif title:
            axes[0].set_title(typed(title))
        if not any(named) and own:
            layout.add_legend(figure, *labels(axes[0]))
            figure.set_size_inches(*(figsize or figure.get_size_inches()))
        elif not any(named):
            axes[0].legend(*labels(axes[0]), fontsize="small")
    return figure


def carried(policy: str, table: pd.DataFrame) -> str:
    """Return a policy's name, with a star if few runs carry its mean at the last step."""
    row = table.iloc[-1]
    return f"{policy}*" if hangs_on_few(row["top"], row["replications"]) else policy


def _grid(
    panels: Sequence[str],
    policies: Sequence[str],
    title: str,
    figsize: tuple[float, float] | None,
    make: Callable[[float, float], Figure],
) -> tuple[Figure, list[Axes]]:
    """Return a figure with its panels: side by side, or in a narrow figure below each other."""
    width = 7.2 if figsize is None else figsize[0]
    stacked = width < style.NARROW
    rows = len(panels) if stacked else 1
    height = max(1.75 if stacked else 2.6, layout.label_height(len(policies)))
    needed = rows * (height + 0.75) + LINE * (1 + title.count("\n"))
    figure = make(width, needed if figsize is None else figsize[1])
    with mpl.rc_context(style.look_of(figure)):
        grid = figure.subplots(rows, len(panels) // rows, squeeze=False)
    return figure, list(grid.flat)


def _size(figure: Figure, axes: Sequence[Axes], own: bool, legend: bool) -> tuple[float, float]:
    """Return width, with what is beside it, and height of a panel, in inches."""
    width, height = figure.get_size_inches()
    if not own:
        box = axes[0].get_position()
        return float(width * box.width), float(height * box.height)
    rows = len(axes) if width < style.NARROW else 1
    return float(width * rows / len(axes)), float((height - (0.5 if legend else 0.0)) / rows - 0.95)


def _figure_of(axes: Axes) -> Figure:
    figure = axes.get_figure(root=True)
    assert isinstance(figure, Figure)
    return figure


@dataclass(frozen=True)
class _Curves:
    """What the panels of a figure share; see `curves`."""

    table: pd.DataFrame
    looks: dict[str, style.Line]
    draws: str
    breakpoints: Sequence[int]
    realized: bool
    size: tuple[float, float]
    roomy: bool
    """Whether the figure makes room for what stands beside its panels."""
    more: Callable[[Axes], None] | None

    def named(self, kinds: Sequence[str], stacked: bool) -> list[bool]:
        """Return which panels have names at the ends of their lines: all, the first of two, or none."""
        none = [False] * len(kinds)
        if not self.roomy or len(self.looks) <= layout.LABELLED:
            return none
        least = LEAST if not stacked else NARROWEST
        if all(self.room(self.beside(kind)) >= least for kind in kinds):
            return [True] * len(kinds)
        if len(kinds) == 2 and not stacked and self.room(self.beside(kinds[0]) / 2) >= least:
            return [True, False]
        return none

    def beside(self, kind: str) -> float:
        """Return the inches that the names at the ends of all lines take."""
        leaving = readable(self.largest())[1] if kind == "mean" and not self.realized else []
        return layout.name_width(
            [f"{name} ↑ 9,999" if name in leaving else f"{name}*" for name in self.looks]
        )

    def room(self, names: float) -> float:
        """Return the inches that are left for a panel's lines beside names of some width, about."""
        labels = 0.55 if self.size[0] < 3.4 else 0.7
        return self.size[0] - labels - names - (LANE * len(self.looks) if len(self.looks) > BANDS else 0.0)

    def largest(self) -> dict[str, float]:
        """Return the largest mean of each policy."""
        return {name: float(self.table.loc[name, "mean"].max()) for name in self.looks}

    def draw(self, axes: Axes, kind: str, named: bool) -> None:
        """Draw one panel: the ``"mean"`` or the ``"median"``; names at the ends of its lines or not."""
        bands = len(self.looks) <= BANDS
        horizon = int(self.table.index.get_level_values("step").max())
        said = style.mark_breakpoints(axes, self.breakpoints) if kind == "mean" or self.breakpoints else ""
        for place, (name, look) in enumerate(self.looks.items()):
            part = self.table.loc[name]
            shown = carried(name, part) if kind == "mean" else name
            axes.plot(part.index, part[kind], label=label_of(shown), **line_look(look, place, len(part)))
            if bands:
                edges: Any = {"color": look.color, "alpha": 0.2, "linewidth": 0}
                axes.fill_between(part.index, part["q10"], part["q90"], **edges)
        ranges = "; 10 % to 90 %\n" if bands else "; bars: 10 % to 90 %\nat T " if self.roomy else " "
        axes.set_title(f"{kind}{ranges}of {self.draws}")
        quantity = "realized regret" if self.realized else "pseudo-regret"
        axes.set_ylabel(f"cumulative {quantity}" if self.size[1] > LOW else quantity)
        below = ["step t", *([said] if said else [])]
        if kind == "mean" and any(
            "*" in carried(name, self.table.loc[name])[len(name) :] for name in self.looks
        ):
            below.append(NOTE)
        axes.set_xlabel("\n".join(below))
        leaving = self._scale(axes, kind, horizon, named)
        if kind == "median" and self.more is not None:
            self.more(axes)
        if self.roomy:
            self._ends(axes, kind, leaving, bands, named)

    def _scale(self, axes: Axes, kind: str, horizon: int, named: bool) -> list[str]:
        """Scale the axes; return the policies that leave the panel at its upper edge."""
        values = self.table[kind]
        width = self.room(self.beside(kind) if named else 0.0)
        logarithmic = kind == "median" and not self.realized and bool((values > 0).any())
        if logarithmic and not self.breakpoints:
            axes.set_xscale("log")
            axes.set_xlabel(axes.get_xlabel().replace("step t", "step t, logarithmic axes", 1))
        else:
            axes.set_xscale("linear")
            style.step_axis(axes, horizon, width)
            axes.set_xlim(0, horizon * 1.02)
        if logarithmic:
            axes.set_yscale("log")
            # With a linear axis of steps, what is before its first fiftieth is not seen, and needs no room.
            seen = values[values.index.get_level_values("step") >= (horizon / 50 if self.breakpoints else 0)]
            axes.set_ylim(0.5 * seen[seen > 0].min(), None)
            return []
        axes.set_yscale("linear")
        style.write_numbers(axes.yaxis)
        if self.realized:
            return []
        top, leaving = readable(self.largest())
        # The ranges of runs may reach far above the means, which would then lie on the axis.
        axes.set_ylim(0, 1.25 * top or None)
        return leaving

    def _ends(self, axes: Axes, kind: str, leaving: list[str], bands: bool, named: bool) -> None:
        """Draw ranges at the last step beside the panel, and write the names at the ends of the lines."""
        lasts = {name: self.table.loc[name].iloc[-1] for name in self.looks}
        low, high = axes.get_ylim()
        order = sorted(self.looks, key=lambda name: -lasts[name][kind])
        for place, name in enumerate([] if bands else order):
            lane: Any = {"transform": layout.beside(axes, axes.transData), "solid_capstyle": "butt"}
            ends = np.clip([lasts[name]["q10"], lasts[name]["q90"]], low, high)
            look: Any = {"color": self.looks[name].color, "linewidth": 2.2, "clip_on": False}
            axes.plot([LANES + LANE * place] * 2, ends, **look, **lane)
        ends_of = []
        for name in sorted(self.looks if named else leaving, key=lambda name: float(lasts[name][kind])):
            value = float(lasts[name][kind])
            shown = carried(name, self.table.loc[name]) if kind == "mean" else name
            if name in leaving:
                shown = f"{shown} ↑ {number(value)}"
            elif value <= 0 and axes.get_yscale() == "log":  # a logarithm shows no zeros
                shown = f"{shown} ↓ 0"
            height = axes.transLimits.transform(axes.transScale.transform((1, max(value, low))))[1]
            ends_of.append(layout.End(float(np.clip(height, 0, 1)), shown, self.looks[name]))
        if ends_of:
            layout.label_ends(axes, ends_of, LANES + LANE * (0 if bands else len(order)), self.size[1])
        axes.set_ylim(low, high)


def readable(values: Mapping[str, float]) -> tuple[float, list[str]]:
    """Return the largest value that stays on a linear axis, and the names that leave it.

    Examples
    --------
    >>> readable({"A": 500.0, "B": 8000.0, "C": 700.0, "D": 450.0})
    (700.0, ['B'])
    >>> readable({"A": 500.0, "B": 8000.0})
    (8000.0, [])
    """
    order = sorted(values, key=lambda name: values[name])
    sizes = [values[name] for name in order]
    gaps = {
        place: sizes[place] / sizes[place - 1]
        for place in range(max(2, -(-len(order) // 2)), len(order))
        if sizes[place - 1] > 0 and sizes[place] > LEAVES * sizes[place - 1]
    }
    stay = max(gaps, key=lambda place: gaps[place], default=len(order))
    return sizes[stay - 1], order[stay:]


def line_look(look: style.Line, place: int, count: int) -> dict[str, Any]:
    """Return how a line of so many points is drawn; `place` shifts its markers."""
    return {
        "color": look.color,
        "linestyle": look.linestyle,
        "marker": look.marker,
        "markersize": 0.5 * mpl.rcParams["font.size"],
        "markerfacecolor": "white",
        # Markers at equal distances on the page, shifted from line to line.
        "markevery": (0.02 + 0.012 * (place % 10), 0.12) if count > 8 else 1,
    }
