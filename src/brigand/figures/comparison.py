"""How policies compare: against a parameter, in performance profiles, by average ranks."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator, PercentFormatter

from brigand.figures import style
from brigand.figures.layout import TITLE, add_legend, log_ticks, name_rows, panel_grid
from brigand.figures.text import label as label_of, labels, typed

if TYPE_CHECKING:
    import pandas as pd

WIDE = 20
"""An axis is logarithmic where its values span more than this factor."""
ROW = 0.19
"""Inches that a policy's row takes."""


def sweep(table: pd.DataFrame, parameter: str, title: str, draws: str) -> Figure:
    """Draw mean regret at T against a swept parameter, with the range of most draws.

    Parameters
    ----------
    table : pandas.DataFrame
        A row for each point: ``panel`` and ``line``, the titles of what it belongs to, ``x``, the parameter,
        or NaN for a policy that does not have it: a horizontal line; ``mean``; ``q10`` and ``q90``; and, if
        lines are to look as in other figures, ``place``, that of the line's look.
    parameter : str
    title : str
    draws : str
        What the means are over; empty if that differs from point to point.
    """
    with mpl.rc_context(style.STYLE):
        titles = list(table["panel"].unique())
        figure, grid = panel_grid(len(titles), typed(parameter), "mean pseudo-regret at T")
        places = {line: place for place, line in enumerate(table["line"].unique())}
        looks = table.groupby("line", sort=False)["place"].first().to_dict() if "place" in table else places
        for axes, name in zip(grid, titles, strict=True):
            part = table[table["panel"] == name]
            for line, points in part.groupby("line", sort=False):
                _draw_line(axes, points, str(line), looks[line])
            axes.set_title(typed(textwrap.fill(name, TITLE)))
            xs, ys = table["x"].to_numpy(), part["mean"].to_numpy()
            if _wide(xs):
                axes.set_xscale("log")
            if _wide(ys):
                axes.set_yscale("log")
                log_ticks(axes.yaxis)
            else:
                axes.set_ylim(0, None)
                style.write_numbers(axes.yaxis)
            _tick(axes, xs, 31 if len(titles) > 2 else 62)
        heading = f"{title}\nbars: 10 % to 90 % of {draws or 'the draws'}"
        figure.suptitle(typed(heading), fontsize=10)
        handles = {label: handle for axes in grid for handle, label in zip(*labels(axes), strict=True)}
        names = [name for name in map(typed, map(str, places)) if name in handles]
        add_legend(figure, [handles[name] for name in names], names)
        return figure


def profiles(
    table: pd.DataFrame, title: str, of: str = "instance", places: Mapping[str, int] | None = None
) -> Figure:
    """Draw performance profiles: the share of instances on which a policy is within a factor of the best.

    Parameters
    ----------
    table : pandas.DataFrame
        For each factor (rows, from 1) and policy, the share.
    title : str
    of : str
        What the shares are of: ``"instance"`` or ``"problem"``.
    places : dict of str to int, optional
        The place of each policy's look; by default its place in the table.
    """
    with mpl.rc_context(style.STYLE):
        figure = style.new_figure(6.4, 3.6)
        axes = figure.add_subplot()
        for place, policy in enumerate(table.columns):
            color, linestyle, marker = style.line(place if places is None else places[policy])
            axes.step(
                table.index,
                table[policy],
                where="post",
                color=color,
                linestyle=linestyle,
                marker=marker,
                markersize=4.5,
                markerfacecolor="white",
                markevery=(0.01 + 0.012 * (place % 10), 0.12),
                label=label_of(policy),
            )
        axes.set_xscale("log")
        last = float(table.index[-1])
        axes.set_xlim(1, last)
        marks = [mark for mark in (1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100) if mark <= last * 1.001]
        if last > 20:
            marks = [mark for mark in marks if mark not in (1.2, 1.5, 3)]
        axes.set_xticks(marks, [f"{mark:g}" for mark in marks])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_ylim(-0.02, 1.02)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        axes.set_xlabel(f"factor of the least regret on the same {of}")
        axes.set_ylabel(f"{of}s within the factor")
        figure.suptitle(typed(title), fontsize=10)
        add_legend(figure, *labels(axes))
        return figure


def ranks(table: pd.Series, difference: float, groups: Sequence[tuple[int, int]], title: str) -> Figure:
    """Draw a critical-difference diagram (Demšar 2006), a row for each policy.

    Parameters
    ----------
    table : pandas.Series
        Average ranks by policy, increasing.
    difference : float
        The critical difference.
    groups : sequence of (first, last)
        Positions in `table`, both included, of policies that do not differ significantly: joined by a bar.
    title : str
    """
    with mpl.rc_context(style.STYLE):
        figure = style.new_figure(7.2, 1.3 + ROW * len(table))
        axes = figure.add_subplot()
        values = table.to_numpy()
        rows = np.arange(len(table))
        color = style.LINES[1].color
        start = min(1.0, float(values[0]))
        axes.hlines(rows, start, values, colors="0.85", linewidth=0.8, zorder=1)
        axes.plot(values, rows, linestyle="none", marker="o", markersize=5, color=color)
        end = max(float(values[-1]), start + difference)
        lanes = _lanes(groups)
        bar: dict[str, Any] = {"color": "0.25", "linewidth": 2.6, "solid_capstyle": "butt"}
        step = 0.025 * (end - start)
        for lane, (first, last) in zip(lanes, groups, strict=True):
            x = end + (2 + lane) * step
            axes.plot([x, x], [first - 0.25, last + 0.25], **bar)
        name_rows(axes, [f"{name}  {value:.2f}" for name, value in table.items()])
        axes.set_ylim(len(table) - 0.4, -2.4)
        axes.errorbar(start + difference / 2, -1.4, xerr=difference / 2, color="black", capsize=3)
        axes.text(start + difference, -1.4, f"  CD = {difference:.2f}", va="center", fontsize=8)
        axes.set_xlim(start - 0.02 * (end - start), end + (3 + max(lanes, default=0)) * step)
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.spines["top"].set_visible(True)
        axes.spines["bottom"].set_visible(False)
        axes.set_xlabel("average rank of the regret, 1 is the least")
        figure.suptitle(typed(title), fontsize=10)
        text = "joins policies that do not differ significantly: ranks less than CD apart"
        add_legend(figure, [Line2D([], [], **bar)], [text])
        return figure


def _draw_line(axes: Axes, points: pd.DataFrame, label: str, place: int) -> None:
    color, linestyle, marker = style.line(place)
    look: dict[str, Any] = {"color": color, "linestyle": linestyle, "label": label_of(label)}
    if points["x"].isna().all():
        row = points.iloc[0]
        axes.axhline(row["mean"], **look)
        axes.axhspan(row["q10"], row["q90"], color=color, alpha=0.15, linewidth=0)
        return
    points = points.sort_values("x")
    ends = np.abs(points[["q10", "q90"]].to_numpy().T - points["mean"].to_numpy())
    axes.errorbar(
        points["x"],
        points["mean"],
        yerr=np.nan_to_num(ends),
        capsize=2.5,
        elinewidth=1.0,
        marker=marker,
        markersize=4.5,
        markerfacecolor="white",
        **look,
    )


def _wide(values: Any) -> bool:
    finite = values[np.isfinite(values)]
    return bool(finite.min() > 0 and finite.max() > WIDE * finite.min())


def _tick(axes: Axes, values: Any, room: int) -> None:
    """Name the values that were swept over, if there are few: every other one if there is little room."""
    marks = np.unique(values[np.isfinite(values)])
    if len(marks) <= 8:
        names = [style.number(mark) for mark in marks]
        every = 1 if sum(map(len, names)) + 2 * len(names) <= room else 2
        axes.set_xticks(marks, [name if i % every == 0 else "" for i, name in enumerate(names)])
        axes.xaxis.set_minor_locator(NullLocator())


def _lanes(groups: Sequence[tuple[int, int]]) -> list[int]:
    """Return a lane for each bar, so that those in one lane do not touch."""
    ends: list[int] = []
    lanes = []
    for first, last in groups:
        lane = next((i for i, end in enumerate(ends) if end < first), len(ends))
        ends[lane:] = [last, *ends[lane + 1 :]]
        lanes.append(lane)
    return lanes
