"""Means of several policies by problem, as points with intervals beside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from brigand.figures import style
from brigand.figures.text import typed

if TYPE_CHECKING:
    import xarray as xr


def dots(axes: Axes, data: xr.Dataset) -> NDArray[Any]:
    """Draw ``mean``, ``low`` and ``high`` of each policy, a line for each problem, the first at the top.

    Returns
    -------
    ndarray of shape (problems,)
        The heights at which the problems are.
    """
    places = np.arange(data.sizes["problem"])[::-1]
    policies = data["policy"].to_numpy()
    for i, name in enumerate(policies):
        color, _, marker = style.line(i)
        row = data.sel(policy=name)
        bars = np.stack((row["mean"] - row["low"].clip(min=1), row["high"] - row["mean"]))
        axes.errorbar(
            row["mean"],
            heights(places, i, len(policies)),
            xerr=np.maximum(bars, 0),
            color=color,
            marker=marker,
            markersize=4.5,
            markerfacecolor=color if i == 0 else "white",
            linestyle="none",
            capsize=1.5,
            label=typed(str(name)),
        )
    for place in places[:-1]:
        axes.axhline(place - 0.5, color="0.85", linewidth=0.8)
    axes.set_xscale("log")
    axes.grid(axis="y", visible=False)
    return places


def heights(places: NDArray[Any], i: int, number: int) -> NDArray[Any]:
    """Return where policy i of so many is drawn, about the heights of the problems."""
    return np.asarray(places + 0.34 - 0.68 * i / max(number - 1, 1))
