"""Regret of policies for rewards that change, by problem; and of SW-FE with its best window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brigand.figures import style
from brigand.figures.dots import dots
from brigand.figures.text import typed

if TYPE_CHECKING:
    import xarray as xr


def changing(data: xr.Dataset) -> Figure:
    """Draw the study of `brigand.papers.changing`: points with 95 % intervals, on logarithmic axes."""
    with mpl.rc_context(style.STYLE):
        figure = style.new_figure(12.0, 4.8)
        left, *others = figure.subplots(1, 4, width_ratios=[1.5, 1, 1, 1])
        places = dots(left, data)
        left.set_yticks(places, [str(name) for name in data["problem"].to_numpy()], fontsize=8)
        left.set_xlabel("pseudo-regret at T")
        left.legend(loc="upper center", bbox_to_anchor=(0.4, -0.16), ncols=2, fontsize=7)
        labels = {
            "length": "horizon T, with 4 changes",
            "change": f"changes in {data.attrs['fixed']:,} steps",
            "rise": "horizon T, an arm rises at T / 2",
        }
        for axes, (axis, label) in zip(others, labels.items(), strict=True):
            _by_size(axes, data, axis)
            axes.set_xlabel(label)
        others[0].set_ylabel("pseudo-regret at T")
        figure.suptitle(
            f"Rewards that change: means of {data.attrs['runs']:,} runs or a quarter", fontsize=10
        )
        return figure


def _by_size(axes: Axes, data: xr.Dataset, axis: str) -> None:
    x = data["change" if axis == "change" else "length"].to_numpy()
    for place, name in enumerate(data["sequence"].to_numpy()):
        color, dash, marker = style.line(place + 1 if name != "FE-Restart" else 0)
        row = data.sel(sequence=name)
        slope, error = float(row[f"{axis}_slope"]), 1.96 * float(row[f"{axis}_slope_error"])
        look: dict[str, Any] = {"color": color, "linestyle": dash, "marker": marker, "markersize": 4}
        label = f"{typed(str(name))}: {slope:.2f} ± {error:.2f}"
        axes.plot(x, row[f"{axis}_mean"], **look, markerfacecolor="white", label=label)
        low, high = row[f"{axis}_low"].clip(min=1), row[f"{axis}_high"]
        axes.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(x, [f"{value:,}" for value in x], fontsize=7)
    axes.set_xticks([], minor=True)
    axes.yaxis.set_minor_formatter(mpl.ticker.NullFormatter())
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), fontsize=7, title="slope", title_fontsize=7)
