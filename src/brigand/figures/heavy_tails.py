"""Regret by problem and policy, where rewards may have heavy tails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure

from brigand.figures import style
from brigand.figures.dots import dots, heights

if TYPE_CHECKING:
    import xarray as xr


def heavy_tails(data: xr.Dataset) -> Figure:
    """Draw the study of `brigand.papers.heavy_tails`: means with 95 % intervals, and small medians."""
    with mpl.rc_context(style.STYLE):
        problems = [str(name) for name in data["problem"].to_numpy()]
        figure = style.new_figure(7.4, 0.36 * len(problems) + 1.6)
        axes = figure.add_subplot()
        places = dots(axes, data)
        for i, name in enumerate(data["policy"].to_numpy()):
            median = data["median"].sel(policy=name)
            color, height = style.line(i)[0], heights(places, i, len(data["policy"]))
            axes.plot(median, height, color=color, marker="|", markersize=6, linestyle="none")
        axes.plot([], [], color="0.3", marker="|", linestyle="none", label="median")
        tuned = data["tuned"].to_numpy()
        names = [f"{name} *" if known else name for name, known in zip(problems, tuned, strict=True)]
        axes.set_yticks(places, names, fontsize=8)
        axes.set_ylim(-0.6, len(problems) - 0.4)
        axes.set_xlabel(
            f"pseudo-regret at T = {data.attrs['horizon']:,}; * constants were chosen on this kind"
        )
        axes.legend(loc="upper center", bbox_to_anchor=(0.45, -0.12), ncols=3, fontsize=7)
        figure.suptitle(f"Heavy tails, two arms, means of {data.attrs['runs']:,} runs", fontsize=10)
        return figure
