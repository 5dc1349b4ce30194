"""What the policies of a study did on a problem: the distribution of regret at T, and pulls."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brigand.figures import style
from brigand.figures.curves import line_look
from brigand.figures.layout import TITLE, add_legend, log_ticks, name_rows, panel_grid, value_axis
from brigand.figures.text import label as label_of, labels, typed

if TYPE_CHECKING:
    import pandas as pd

ROW = 0.175
"""Inches that a policy's row takes, or a line of a title."""
REGRET = "pseudo-regret at T, in units of reward"


def final(table: pd.DataFrame, title: str, draws: str) -> Figure:
    """Draw the distribution of regret at T as boxes on a logarithmic axis, a row for each policy.

    Parameters
    ----------
    table : pandas.DataFrame
        A row for each policy, the first on top: ``q10``, ``q25``, ``median``, ``q75``, ``q90``, ``q99``,
        ``mean``.
    title : str
    draws : str
        What the quantiles are over.
    """
    with mpl.rc_context(style.STYLE):
        figure = style.new_figure(7.2, 1.15 + ROW * len(table))
        axes = figure.add_subplot()
        names = {"whislo": "q10", "q1": "q25", "med": "median", "q3": "q75", "whishi": "q90"}
        boxes = [{end: row[name] for end, name in names.items()} for _, row in table.iterrows()]
        rows = np.arange(len(table))
        color = style.LINES[1].color
        axes.bxp(
            boxes,
            positions=rows,
            orientation="horizontal",
            widths=0.62,
            showfliers=False,
            patch_artist=True,
            boxprops={"facecolor": "#CCE3F0", "edgecolor": color, "linewidth": 0.8},
            whiskerprops={"color": color, "linewidth": 0.8},
            capprops={"color": color, "linewidth": 0.8},
            medianprops={"color": "black", "linewidth": 1.4},
        )
        look: dict[str, Any] = {"linestyle": "none", "markersize": 3.8, "zorder": 4}
        orange = style.LINES[0].color
        (mean,) = axes.plot(table["mean"], rows, marker="D", color=orange, markerfacecolor="white", **look)
        (rare,) = axes.plot(table["q99"], rows, marker="|", color="0.2", **look)
        value_axis(axes, table.to_numpy())
        name_rows(axes, [str(name) for name in table.index])
        axes.set_xlabel(REGRET)
        axes.set_title(f"box: quartiles and median; whiskers: 10 %–90 %; {draws}")
        figure.suptitle(typed(title), fontsize=10)
        add_legend(figure, [mean, rare], ["mean", "99 % quantile"])
        return figure


def pulls(
    panels: Mapping[str, pd.DataFrame], title: str, order: str, breakpoints: Sequence[int] = ()
) -> Figure:
    """Draw mean pulls of the arms over time, a panel for each policy.

    Parameters
    ----------
    panels : dict of str to pandas.DataFrame
        By the panel's title: pulls, a row for each step, a column for each arm or group of arms, the best
        first.
    title : str
    order : str
        What the order of the arms is: the legend's title.
    breakpoints : sequence of int
        First steps of new phases: they are marked, and the axis of steps is linear.
    """
    with mpl.rc_context(style.STYLE):
        figure, grid = panel_grid(len(panels), "step t", "mean pulls by step t", sharey=True)
        for axes, (name, table) in zip(grid, panels.items(), strict=True):
            said = style.mark_breakpoints(axes, breakpoints)
            for place, arm in enumerate(table.columns):
                # A logarithm shows no zeros.
                values = table[arm].where(table[arm] > 0)
                axes.plot(
                    table.index,
                    values,
                    label=label_of(arm),
                    **line_look(style.line(place), place, len(table)),
                )
            axes.set_title(typed(textwrap.fill(name, TITLE)))
            axes.set_yscale("log")
            if said and axes.get_xlabel():
                axes.set_xlabel(f"{axes.get_xlabel()}\n{said}")
        if breakpoints:
            horizon = int(max(table.index[-1] for table in panels.values()))
            style.step_axis(grid[0], horizon, 0.8 * figure.get_figwidth() / min(3, len(panels)) - 0.3)
            grid[0].set_xlim(0, 1.02 * horizon)
        else:
            grid[0].set_xscale("log")
        _leave_out_the_start(grid[0], panels)
        if not breakpoints:
            log_ticks(grid[0].xaxis)
        log_ticks(grid[0].yaxis)
        figure.suptitle(typed(title), fontsize=10)
        add_legend(figure, *labels(grid[0]), order)
        return figure


def forced(table: pd.DataFrame, title: str) -> Figure:
    """Draw forced and greedy pulls by T, a row for each policy.

    Parameters
    ----------
    table : pandas.DataFrame
        A row for each policy, the first on top: mean pulls ``forced`` and ``greedy``.
    title : str
    """
    with mpl.rc_context(style.STYLE):
        figure = style.new_figure(7.2, 1.15 + 1.3 * ROW * len(table))
        axes = figure.add_subplot()
        rows = np.arange(len(table))
        axes.hlines(rows, table.min(axis=1), table.max(axis=1), colors="0.75", linewidth=1.5)
        for place, (name, text) in enumerate((("forced", "forced pulls"), ("greedy", "greedy pulls"))):
            color, _, marker = style.line(place)
            axes.plot(
                table[name], rows, linestyle="none", marker=marker, color=color, markersize=5, label=text
            )
        value_axis(axes, table.to_numpy())
        name_rows(axes, [str(name) for name in table.index])
        shares = table["forced"] / table.sum(axis=1)
        right = axes.secondary_yaxis("right")
        right.set_yticks(rows, [f"{100 * share:.3g} %" for share in shares])
        right.tick_params(length=0)
        right.spines["right"].set_visible(False)
        axes.set_title("share of forced pulls", loc="right")
        axes.set_xlabel("mean pulls by T, all arms together")
        figure.suptitle(typed(title), fontsize=10)
        add_legend(figure, *labels(axes))
        return figure


def _leave_out_the_start(axes: Axes, panels: Mapping[str, pd.DataFrame]) -> None:
    """End the axes where there is little to see: less than a pull, unless that is so until T."""
    least = min(float(table.iloc[-1].min()) for table in panels.values())
    if least > 0:
        least = 0.5 * min(least, 1.0)
        axes.set_ylim(least, None)
        if axes.get_xscale() == "log":
            first = min(table.index[(table >= least).any(axis=1)][0] for table in panels.values())
            axes.set_xlim(0.8 * first, None)
