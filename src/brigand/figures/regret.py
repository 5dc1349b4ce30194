"""Regret against steps, as the paper draws it and as its heavy tails ask for."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brigand.figures import style
from brigand.simulation.results import Results


def regret(results: Results, title: str = "", breakpoints: Sequence[int] = ()) -> Figure:
    """Draw regret in two panels.

    Left, linear axes: the mean over replications, with the 95 % interval of the mean. Right, logarithmic
    axes: the median, with the range from the 10 % to the 90 % quantile. Where the two tell different
    stories, rare runs carry the mean.

    Parameters
    ----------
    results : Results
    title : str
    breakpoints : sequence of int
        Steps that are marked by vertical lines in the left panel.
    """
    with mpl.rc_context(style.STYLE):
        figure = style.new_figure(7.2, 3.5)
        left, right = figure.subplots(1, 2)
        style.mark_breakpoints(left, breakpoints)
        statistics = results.statistics()
        for place, policy in enumerate(results.dataset["policy"].to_numpy()):
            table = statistics.loc[policy]
            steps = table.index.to_numpy()
            _draw(left, place, policy, steps, *(table[name].to_numpy() for name in ("mean", "low", "high")))
            _draw(right, place, policy, steps, *(table[name].to_numpy() for name in ("median", "q10", "q90")))
        horizon = int(results.dataset["step"][-1])
        unit = "instances" if "instance" in results.dataset.dims else "runs"
        left.set_title(f"mean and its 95 % interval, {int(statistics['replications'].iloc[0])} {unit}")
        left.set_xlabel("step t")
        left.set_ylabel("cumulative pseudo-regret")
        style.step_axis(left, horizon)
        left.set_xlim(0, horizon * 1.02)
        left.set_ylim(0, None)
        right.set_title("median and 10 %–90 % quantiles")
        right.set_xlabel("step t, logarithmic axes")
        right.set_ylabel("cumulative pseudo-regret")
        if (statistics["median"] > 0).any():  # else there is nothing that a logarithm could show
            right.set_xscale("log")
            right.set_yscale("log")
        if title:
            figure.suptitle(title, fontsize=10)
        style.add_legend(figure, left)
        return figure


def _draw(
    axes: Axes,
    place: int,
    label: str,
    steps: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    middle: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    low: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    high: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
) -> None:
    color, linestyle, marker = style.line(place)
    axes.plot(
        steps,
        middle,
        color=color,
        linestyle=linestyle,
        label=label,
        marker=marker,
        markersize=4.5,
        markerfacecolor="white",
        # Markers at equal distances on the page, shifted from line to line.
        markevery=(0.02 + 0.012 * (place % 10), 0.12) if len(steps) > 20 else 1,
    )
    axes.fill_between(steps, low, high, color=color, alpha=0.2, linewidth=0)
