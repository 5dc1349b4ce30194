"""Regret, and the share of runs that end on a wrong arm, against the horizon."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from brigand.figures import style
from brigand.figures.text import typed

if TYPE_CHECKING:
    import xarray as xr

STATISTICS: dict[str, Any] = {"mean": "-", "median": (0, (4, 1.5)), "quantile": (0, (1, 1.2))}
ORDERS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "order (log T)$^2$": (lambda steps: np.log(steps) ** 2, (0, (6, 2, 1, 2))),
    "order $\\sqrt{T}$": (np.sqrt, (0, (2, 2))),
}


def horizon(data: xr.Dataset) -> Figure:
    """Draw the study of `brigand.papers.horizon`: a column for each problem.

    Above, on logarithmic axes: mean with its 95 % interval, median and 99 % quantile of the regret, and two
    orders of growth through the first policy's median at the first horizon. Below: the share of runs that
    end on a wrong arm.
    """
    with mpl.rc_context(style.STYLE):
        problems = data["problem"].to_numpy()
        figure = style.new_figure(2.5 * len(problems), 5.2)
        rows = figure.subplots(
            2, len(problems), sharex=True, sharey="row", height_ratios=(2.2, 1), squeeze=False
        )
        for column, problem in enumerate(problems):
            _draw(rows[0, column], rows[1, column], data.sel(problem=problem))
            rows[0, column].set_title(typed(str(problem).replace(", the", ",\nthe")))
        # From the medians up; the lower ends of wide intervals may be near 0.
        rows[0, 0].set_ylim(max(0.3, float(data["median"].min()) / 3), 3 * float(data["quantile"].max()))
        rows[0, 0].set_ylabel("pseudo-regret at T")
        rows[1, 0].set_ylabel("runs that end on\na wrong arm, %")
        figure.legend(handles=_legend(data), loc="outside lower center", ncols=4)
        title = f"Regret against the horizon, Gaussian rewards, {data.attrs['runs']:,} runs a point"
        figure.suptitle(title, fontsize=10)
        return figure


def _draw(upper: Axes, lower: Axes, part: xr.Dataset) -> None:
    steps = part["horizon"].to_numpy().astype(float)
    first = max(float(part["median"][0, 0]), 1.0)
    for order, dash in ORDERS.values():
        curve = order(steps)
        upper.plot(steps, curve / curve[0] * first, color="0.55", linestyle=dash, linewidth=1.0, zorder=1.5)
    for place, policy in enumerate(part["policy"].to_numpy()):
        color, _, marker = style.line(place)
        look: dict[str, Any] = {"color": color, "markersize": 4, "markerfacecolor": "white"}
        row = part.sel(policy=policy)
        for name, dash in STATISTICS.items():
            upper.plot(steps, row[name], **look, linestyle=dash, marker=marker if name == "mean" else "")
        upper.fill_between(steps, row["low"].clip(min=1e-3), row["high"], color=color, alpha=0.2, linewidth=0)
        lower.plot(steps, 100 * row["stuck"], **look, marker=marker)
    upper.set_xscale("log")
    upper.set_yscale("log")
    lower.set_xlabel("horizon T")
    lower.set_ylim(0, None)


def _legend(data: xr.Dataset) -> list[Line2D]:
    looks = []
    for place, policy in enumerate(data["policy"].to_numpy()):
        color, _, marker = style.line(place)
        looks.append(
            Line2D([], [], color=color, marker=marker, markerfacecolor="white", label=typed(str(policy)))
        )
    quantile = f"{100 * data.attrs['quantile']:g} % quantile"
    for name, dash in STATISTICS.items():
        looks.append(
            Line2D([], [], color="0.3", linestyle=dash, label={"quantile": quantile}.get(name, name))
        )
    return looks + [
        Line2D([], [], color="0.55", linestyle=dash, label=name) for name, (_, dash) in ORDERS.items()
    ]
