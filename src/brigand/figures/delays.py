"""Regret at T against the steps that rewards are late."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brigand.figures import style
from brigand.figures.text import typed

if TYPE_CHECKING:
    import xarray as xr


def delays(data: xr.Dataset) -> Figure:
    """Draw the study of `brigand.papers.delays`: a panel for each problem.

    Means with their 95 % intervals, and what every policy loses on average over the orders of the arms. The
    axis of delays is linear up to 10, so that it has a place for 0.
    """
    with mpl.rc_context(style.STYLE):
        problems = data["problem"].to_numpy()
        figure = style.new_figure(3.6 * len(problems), 3.8)
        panels = figure.subplots(1, len(problems), squeeze=False)[0]
        for panel, problem in zip(panels, problems, strict=True):
            _draw(panel, data.sel(problem=problem))
            panel.set_title(f"{problem} rewards, 10 arms")
        panels[0].set_ylabel("pseudo-regret at T")
        horizon, runs = data.attrs["horizon"], data.attrs["runs"]
        figure.suptitle(
            f"Regret at T = {horizon:,} where rewards are late, means of {runs:,} runs", fontsize=10
        )
        return figure


def _draw(panel: Axes, part: xr.Dataset) -> None:
    steps = part["delay"].to_numpy().astype(float)
    panel.plot(steps, part["least"], color="0.45", linestyle=(0, (4, 2)), label="unavoidable")
    for place, name in enumerate(part["policy"].to_numpy()):
        color, dash, marker = style.line(place)
        row = part.isel(place=place)
        look: dict[str, Any] = {"color": color, "linestyle": dash, "marker": marker, "markersize": 4}
        panel.plot(steps, row["mean"], **look, markerfacecolor="white", label=typed(str(name)))
        panel.fill_between(steps, row["low"].clip(min=1e-3), row["high"], color=color, alpha=0.2, linewidth=0)
    panel.set_xscale("symlog", linthresh=10, linscale=0.5)
    panel.set_yscale("log")
    panel.set_xlim(0, 1.1 * float(np.max(steps)))
    panel.set_ylim(float(part["low"].min()) / 2, None)
    panel.set_xlabel("steps until a reward comes")
    panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=3, fontsize=7)
