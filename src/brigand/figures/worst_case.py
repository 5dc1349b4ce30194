"""Regret on the worst gap against the horizon, for several exploration sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure

from brigand.figures import style
from brigand.figures.text import typed

if TYPE_CHECKING:
    import xarray as xr


def worst_case(data: xr.Dataset) -> Figure:
    """Draw the study of `brigand.papers.worst_case`, on logarithmic axes.

    Thick: measured means with their 95 % intervals. Thin and dotted: what is proved of each sequence. Grey:
    the order that no sequence is below, its place chosen to stand apart.
    """
    with mpl.rc_context(style.STYLE):
        figure = style.new_figure(6.4, 4.2)
        axes = figure.add_subplot()
        steps = data["horizon"].to_numpy().astype(float)
        least = 0.4 * float(data["mean"].isel(horizon=0).min())
        axes.plot(
            steps,
            least * (steps / steps[0]) ** (2 / 3),
            color="0.5",
            linestyle=(0, (5, 2)),
            label="order $T^{2/3}$",
        )
        for place, name in enumerate(data["sequence"].to_numpy()):
            color, dash, marker = style.line(place)
            row = data.sel(sequence=name)
            slope, low, high = (float(row[key]) for key in ("slope", "slope_low", "slope_high"))
            label = f"{typed(str(name))}: slope {slope:.2f} ({low:.2f} to {high:.2f})"
            look: dict[str, Any] = {"color": color, "linestyle": dash, "marker": marker, "markersize": 4}
            axes.plot(steps, row["mean"], **look, markerfacecolor="white", label=label)
            axes.fill_between(
                steps, row["low"].clip(min=1e-3), row["high"], color=color, alpha=0.2, linewidth=0
            )
            axes.plot(
                steps, row["floor"].where(row["mean"].notnull()), color=color, linestyle=":", linewidth=1.0
            )
        axes.plot([], [], color="0.3", linestyle=":", linewidth=1.0, label="proved: at least this")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("horizon T")
        axes.set_ylabel("pseudo-regret at T, on the worst gap")
        axes.legend(fontsize=7)
        figure.suptitle(
            f"FE on the worst of seven gaps, two arms, {data.attrs['runs']:,} runs a point, or a third",
            fontsize=10,
        )
        return figure
