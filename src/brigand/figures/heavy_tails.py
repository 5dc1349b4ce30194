"""Regret by problem and policy, where rewards may have heavy tails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from brigand.figures import style
from brigand.figures.text import typed

if TYPE_CHECKING:
    import xarray as xr


def heavy_tails(data: xr.Dataset) -> Figure:
    """Draw the study of `brigand.papers.heavy_tails`: means with 95 % intervals, and small medians."""
    with mpl.rc_context(style.STYLE):
        problems = [str(name) for name in data["problem"].to_numpy()]
        figure = style.new_figure(7.4, 0.36 * len(problems) + 1.6)
        axes = figure.add_subplot()
        places = np.arange(len(problems))[::-1]
        policies = data["policy"].to_numpy()
        for i, name in enumerate(policies):
            color, _, marker = style.line(i)
            row = data.sel(policy=name)
            height = places + 0.32 - 0.64 * i / max(len(policies) - 1, 1)
            bars = np.stack((row["mean"] - row["low"].clip(min=1), row["high"] - row["mean"]))
            axes.errorbar(
                row["mean"],
                height,
                xerr=np.maximum(bars, 0),
                color=color,
                marker=marker,
                markersize=4.5,
                markerfacecolor=color if i == 0 else "white",
                linestyle="none",
                capsize=1.5,
                label=typed(str(name)),
            )
            axes.plot(row["median"], height, color=color, marker="|", markersize=6, linestyle="none")
        axes.plot([], [], color="0.3", marker="|", linestyle="none", label="median")
        for place in places[:-1]:
            axes.axhline(place - 0.5, color="0.85", linewidth=0.8)
        tuned = data["tuned"].to_numpy()
        names = [f"{name} *" if known else name for name, known in zip(problems, tuned, strict=True)]
        axes.set_yticks(places, names, fontsize=8)
        axes.set_ylim(-0.6, len(problems) - 0.4)
        axes.set_xscale("log")
        axes.set_xlabel(
            f"pseudo-regret at T = {data.attrs['horizon']:,}; * constants were chosen on this kind"
        )
        axes.grid(axis="y", visible=False)
        axes.legend(loc="upper center", bbox_to_anchor=(0.45, -0.12), ncols=3, fontsize=7)
        figure.suptitle(f"Heavy tails, two arms, means of {data.attrs['runs']:,} runs", fontsize=10)
        return figure
