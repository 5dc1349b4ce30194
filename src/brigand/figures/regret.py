"""Regret against steps, as the paper draws it and as its heavy tails ask for."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from brigand.figures import bounds as of_one, style
from brigand.simulation.results import Results

HEADROOM = 0.2
"""So much of the logarithmic panel's height is added for its own legend."""


def regret(
    results: Results, title: str = "", breakpoints: Sequence[int] = (), bounds: bool = False
) -> Figure:
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
    bounds : bool
        Whether the right panel shows, as a thin line of each policy's colour, the smallest upper bound on
        its mean regret that is proved and holds, where it is below the trivial one.

    Raises
    ------
    InvalidValueError
        Bounds are asked for, and the results are over several instances.
    """
    if bounds:
        of_one.sole_environment(results)  # or an error, before anything is drawn
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
        if bounds:
            _draw_bounds(right, results)
        if title:
            figure.suptitle(title, fontsize=10)
        style.add_legend(figure, left)
        return figure


def _draw_bounds(axes: Axes, results: Results) -> None:
    """Overlay the smallest upper bound of each policy; as they end below the trivial one, so do the axes."""
    bottom = axes.get_ylim()[0]
    environment = results.environments[0]
    steps = of_one.log_steps(int(results.dataset["step"][-1]))
    drawn = False
    for place, policy in enumerate(results.dataset["policy"].to_numpy()):
        bound = of_one.smallest_upper(results, policy)
        values = steps * np.nan if bound is None else of_one.curve(bound, environment, steps)
        if bound is not None and np.isfinite(values).any():
            color, linestyle, _ = style.line(place)
            label = f"{policy}: {bound.name}, {bound.version}"
            axes.plot(steps, values, color=color, linestyle=linestyle, linewidth=0.8, label=label, zorder=1.9)
            drawn = True
    if axes.get_yscale() == "log":
        axes.set_ylim(bottom, bottom * (axes.get_ylim()[1] / bottom) ** (1 + HEADROOM))
    text = "thin: proved upper bound on the mean,\nthe smallest that holds, where not trivial"
    handle = Line2D([], [], color="0.3", linewidth=0.8, label=text)
    if not drawn:
        handle = Line2D(
            [],
            [],
            linestyle="none",
            label="no proved upper bound is below the\ntrivial one, t times the largest gap",
        )
    axes.legend(handles=[handle], loc="upper left", fontsize=7, handlelength=1.5 if drawn else 0)


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
