"""What the policies of a study did on a problem: regret over time, its distribution at T, pulls."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brigand.figures import style
from brigand.figures.layout import TITLE, add_legend, log_ticks, name_rows, panel_grid, value_axis
from brigand.figures.text import label as label_of, labels, typed
from brigand.words import hangs_on_few

if TYPE_CHECKING:
    import pandas as pd

ROW = 0.175
"""Inches that a policy's row takes, or a line of a title."""
BANDS = 4
"""Of more policies the ranges are bars at the right, since their bands would hide each other."""
REGRET = "pseudo-regret at T, in units of reward"


def curves(
    table: pd.DataFrame, title: str, draws: str, breakpoints: Sequence[int] = (), realized: bool = False
) -> Figure:
    """Draw regret against steps: mean on linear axes, median on logarithmic ones; see `figures.regret`.

    Parameters
    ----------
    table : pandas.DataFrame
        As `Results.statistics` returns it; policies in the order of the legend.
    title : str
    draws : str
        What the statistics are over: ``"200 runs"``.
    breakpoints : sequence of int
        Steps that are marked by vertical lines in the left panel.
    realized : bool
        Whether it is realized regret, which may be negative: all axes are linear then.
    """
    with mpl.rc_context(style.STYLE):
        figure = style.new_figure(7.2, 3.5 + ROW * title.count("\n"))
        left, right = figure.subplots(1, 2)
        style.mark_breakpoints(left, breakpoints)
        policies = table.index.unique("policy")
        bands = len(policies) <= BANDS
        for place, policy in enumerate(policies):
            part = table.loc[policy]
            _curve(left, place, carried(policy, part), part, "mean", bands)
            _curve(right, place, policy, part, "median", bands)
        horizon = int(table.index.get_level_values("step").max())
        ranges = "10 % to 90 %" if bands else "bars: 10 % to 90 % at T"
        left.set_title(f"mean; {ranges}\nof {draws}")
        left.set_xlabel("step t")
        quantity = "cumulative realized regret" if realized else "cumulative pseudo-regret"
        left.set_ylabel(quantity)
        style.step_axis(left, horizon)
        left.set_xlim(0, horizon * 1.02)
        right.set_title(f"median; {ranges}\nof {draws}")
        right.set_ylabel(quantity)
        if realized:
            right.set_xlabel("step t")
            style.step_axis(right, horizon)
            right.set_xlim(0, horizon * 1.02)
        else:
            # The ranges of runs may reach far above the means, which would then lie on the axis.
            left.set_ylim(0, 1.25 * table["mean"].max() or None)
            right.set_xlabel("step t, logarithmic axes")
        if not realized and (table["median"] > 0).any():  # else there is nothing that a logarithm could show
            right.set_xscale("log")
            right.set_yscale("log")
            right.set_ylim(0.5 * table["median"][table["median"] > 0].min(), None)
        if not bands:
            for axes in (left, right):
                _ranges_at_the_end(axes, [table.loc[policy].iloc[-1] for policy in policies])
        if title:
            figure.suptitle(typed(title), fontsize=10)
        add_legend(figure, *labels(left))
        return figure


def carried(policy: str, table: pd.DataFrame) -> str:
    """Return a policy's name, marked if few runs carry its mean at the last step."""
    row = table.iloc[-1]
    return f"{policy} (few runs carry the mean)" if hangs_on_few(row["top"], row["replications"]) else policy


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
        Steps that are marked by vertical lines.
    """
    with mpl.rc_context(style.STYLE):
        figure, grid = panel_grid(len(panels), "step t", "mean pulls by step t", sharey=True)
        for axes, (name, table) in zip(grid, panels.items(), strict=True):
            style.mark_breakpoints(axes, breakpoints)
            for place, arm in enumerate(table.columns):
                # A logarithm shows no zeros.
                values = table[arm].where(table[arm] > 0)
                axes.plot(table.index, values, label=label_of(arm), **_look(place, len(table)))
            axes.set_title(typed(textwrap.fill(name, TITLE)))
            axes.set_xscale("log")
            axes.set_yscale("log")
        _leave_out_the_start(grid[0], panels)
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
        first = min(table.index[(table >= least).any(axis=1)][0] for table in panels.values())
        axes.set_xlim(0.8 * first, None)


def _curve(axes: Axes, place: int, label: Any, table: pd.DataFrame, middle: str, band: bool) -> None:
    look = _look(place, len(table))
    axes.plot(table.index, table[middle], label=label_of(label), **look)
    if band:
        axes.fill_between(
            table.index, table["q10"], table["q90"], color=look["color"], alpha=0.2, linewidth=0
        )


def _ranges_at_the_end(axes: Axes, rows: Sequence[pd.Series]) -> None:
    """Draw the ranges at T beside the axes, each in a lane of its own; as far as the axes reach."""
    low, high = axes.get_ylim()
    for place, row in enumerate(rows):
        x = 1.02 + 0.018 * place
        ends = np.clip([row["q10"], row["q90"]], low, high)
        axes.plot(
            [x, x],
            ends,
            color=style.line(place).color,
            linewidth=2.2,
            solid_capstyle="butt",
            transform=axes.get_yaxis_transform(),
            clip_on=False,
        )
    axes.set_ylim(low, high)


def _look(place: int, count: int) -> dict[str, Any]:
    """Return how the line at a place in the legend is drawn that has so many points."""
    color, linestyle, marker = style.line(place)
    return {
        "color": color,
        "linestyle": linestyle,
        "marker": marker,
        "markersize": 4.5,
        "markerfacecolor": "white",
        # Markers at equal distances on the page, shifted from line to line.
        "markevery": (0.02 + 0.012 * (place % 10), 0.12) if count > 8 else 1,
    }
