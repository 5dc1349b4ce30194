"""How often FE is stuck, and the mean regret for bases of its exponential sequence, beside the law."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from brigand.figures import style

if TYPE_CHECKING:
    import xarray as xr

FLOOR = 1e-14
"""Below this probability nothing is drawn."""


def stuck(data: xr.Dataset) -> Figure:
    """Draw the study of `brigand.papers.stuck`.

    Points with bars: estimates with their 95 % intervals, small and pale where the other arm's rewards are
    constant. Lines: the law. On the right the regret is divided
    by the asymptotic lower bound, 2 log T / d, and the base is given by a = 1 / log base in units of 2 / d^2.
    """
    with mpl.rc_context(style.STYLE):
        figure = style.new_figure(7.4, 3.8)
        left, right = figure.subplots(1, 2)
        horizon = int(data.attrs["horizon"])
        for place, gap in enumerate(data["gap"].to_numpy()):
            color, dash, marker = style.line(place)
            row, least = data.sel(gap=gap), 2.0 * math.log(horizon) / gap
            shown = row.where(row["law"] > FLOOR)
            left.plot(shown["threshold"], shown["law"], color=color, linestyle=dash, linewidth=1.2)
            right.plot(data["rate"], row["law_mean"] / least, color=color, linestyle=dash, linewidth=1.2)
            for rival in data["rival"].to_numpy():
                varies = rival > 0
                look = {
                    "color": color,
                    "marker": marker,
                    "markersize": 4 if varies else 2,
                    "alpha": 1.0 if varies else 0.5,
                    "markerfacecolor": "white" if varies else color,
                    "linestyle": "none",
                    "capsize": 2 if varies else 0,
                    "label": f"gap {gap:g}" if varies else None,
                }
                one = shown.sel(rival=rival)
                chance = one["probability"], one["probability_error"]
                left.errorbar(one["threshold"], chance[0], _bars(*chance), **look)
                one = row.sel(rival=rival)
                regret = one["mean"] / least, one["mean_error"] / least
                right.errorbar(data["rate"], regret[0], _bars(*regret), **look)
        left.plot([], [], color="0.3", label="law of the walk")
        left.plot([], [], color="0.5", marker=".", linestyle="none", label="the other arm is constant")
        for axes in (left, right):
            axes.set_xscale("log")
            axes.set_yscale("log")
        left.set_xlabel("regret x")
        left.set_ylabel("P(regret at T > x)")
        left.set_title("FE-Exp", fontsize=9)
        left.legend(fontsize=7)
        right.axvline(1.0, color="0.5", linestyle=":", linewidth=1.0)
        right.axhline(1.0, color="0.5", linestyle=":", linewidth=1.0)
        right.set_xticks([0.25, 0.5, 1, 2, 4, 8], ["1/4", "1/2", "1", "2", "4", "8"])
        right.set_xticks([], minor=True)
        right.set_yticks([0.5, 1, 2, 5, 10, 20], ["0.5", "1", "2", "5", "10", "20"])
        right.set_yticks([], minor=True)
        right.set_xlabel("$a\\,d^2 / 2$, for $f(r) = \\exp(r / a)$")
        right.set_ylabel("mean regret at T over $2 \\log T / d$")
        right.set_title("which base", fontsize=9)
        figure.suptitle(
            f"FE's stuck runs, two Gaussian arms with σ = 1, T = 10$^{{{math.log10(horizon):g}}}$",
            fontsize=10,
        )
        return figure


def _bars(value: xr.DataArray, error: xr.DataArray) -> np.ndarray:
    """Return lengths of the bars of a 95 % interval, below the value no longer than can be drawn."""
    half = 1.96 * error.to_numpy()
    return np.stack((np.minimum(half, 0.9 * value.to_numpy()), half))
