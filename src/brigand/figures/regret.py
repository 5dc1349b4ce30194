"""Regret against steps: the mean, as in the paper, and for heavy tails the median with quantiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from brigand.errors import InvalidValueError
from brigand.figures import bounds as of_one, layout, style
from brigand.figures.curves import PANELS, curves
from brigand.figures.measured import Measured

HEADROOM = 0.2
"""So much of the logarithmic panel's height is added for its own legend."""


def regret(
    results: Measured,
    title: str = "",
    breakpoints: Sequence[int] = (),
    bounds: bool = False,
    realized: bool = False,
    *,
    policies: str | Sequence[str] | None = None,
    panels: str | Sequence[str] | None = None,
    figsize: tuple[float, float] | None = None,
    axes: Sequence[Axes] | None = None,
    make: Callable[[float, float], Figure] = style.new_figure,
) -> Figure:
    """Draw regret in two panels, as `brigand.figures.curves` does.

    Left the mean over replications, right the median, both with the range from the 10 % to the 90 % quantile.
    Where the two tell different stories, rare runs carry the mean; if the worst 1 % of the runs carry more
    than 5 % of it, a star says so. The interval of the mean is in `brigand.Results.summary`: from few runs it
    is too wide for a figure, because rarer runs may be missing.

    Parameters
    ----------
    results : Measured
    title : str
    breakpoints : sequence of int
        First steps of new phases, which are marked.
    bounds : bool
        Whether the panel of medians shows, as a thin line of each policy's colour, the smallest upper bound
        on its mean regret that is proved and holds, where it is below the trivial one.
    realized : bool
        Draw the realized regret. As it may be negative, all axes are linear then.
    policies : str or sequence of str, optional
        Which are drawn, in this order. Each looks as it does among all.
    panels : {"mean", "median"} or sequence of them, optional
        By default both; for one axes the mean.
    figsize, axes, make
        As in `brigand.figures.curves.curves`.

    Raises
    ------
    InvalidValueError
        Bounds are asked for, and the results are over several instances; or there is no realized regret; or
        there are not as many axes as panels.
    UnknownNameError
        There is no such policy, or panel.
    """
    if bounds:
        of_one.sole_environment(results)  # or an error, before anything is drawn
    names = [str(name) for name in results.dataset["policy"].to_numpy()]
    shown = layout.some("policy", policies, names)
    kinds = layout.some("panel", panels, PANELS if axes is None or len(axes) > 1 else PANELS[:1], PANELS)
    if axes is not None and len(axes) != len(kinds):
        raise InvalidValueError(f"{len(kinds)} panels need as many axes, not {len(axes)}.")
    statistics = results.statistics(realized=realized)
    unit = "instances" if "instance" in results.dataset.dims else "runs"
    draws = f"{int(statistics['replications'].iloc[0]):,} {unit}"
    places = {name: place for place, name in enumerate(names)}
    if shown != names:
        statistics = statistics.loc[shown]
    return curves(
        statistics,
        title,
        draws,
        breakpoints,
        realized,
        places=places,
        panels=kinds,
        figsize=figsize,
        axes=axes,
        make=make,
        more=partial(_draw_bounds, results=results, places=places, shown=shown) if bounds else None,
    )


def _draw_bounds(axes: Axes, results: Measured, places: Mapping[str, int], shown: Sequence[str]) -> None:
    """Overlay the smallest upper bound of each policy; as they end below the trivial one, so do the axes."""
    bottom = axes.get_ylim()[0]
    environment = of_one.sole_environment(results)
    steps = of_one.log_steps(int(results.dataset["step"][-1]))
    drawn = False
    for policy in shown:
        bound = of_one.smallest_upper(results, policy)
        values = steps * np.nan if bound is None else of_one.curve(bound, environment, steps)
        if bound is not None and np.isfinite(values).any():
            color, linestyle, _ = style.line(places[policy])
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
