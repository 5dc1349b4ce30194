"""One policy's measured regret among its bounds."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import ArrayLike, NDArray

from brigand import theory
from brigand.environments.environment import Environment
from brigand.errors import InvalidValueError, UnknownNameError
from brigand.figures import layout, style
from brigand.figures.measured import Measured
from brigand.figures.text import typed
from brigand.theory.bound import (
    AVERAGE,
    CORRECTED,
    FLOOR,
    KINDS,
    ORDER,
    PRINTED,
    SLOPE,
    STANDARD,
    UPPER,
    WORST,
    Bound,
)

Floats = NDArray[np.float64]

DASHES: dict[str, Any] = {
    UPPER: "-",
    AVERAGE: (0, (6, 1.2, 1.2, 1.2, 1.2, 1.2)),
    FLOOR: (0, (5, 1.5, 1.2, 1.5)),
    SLOPE: (0, (6, 2.5)),
    WORST: (0, (2.5, 2.5)),
    ORDER: (0, (1.2, 1.5)),
}
# What says nothing about this problem at a finite step is grey.
GREYS = {SLOPE: "0.35", WORST: "0.45", ORDER: "0.55"}
COLORS = {
    PRINTED: style.LINES[0].color,
    CORRECTED: style.LINES[1].color,
    STANDARD: style.LINES[2].color,
}
MEDIAN = style.LINES[4].color
MARKERS = tuple(look.marker for look in style.LINES)
POINTS = 200
NOTE = 100
"""Characters in a line below the axes."""
HEADING = 56
"""Characters in a line of a heading in the legend."""


def bounds(
    results: Measured, policy: str | None = None, title: str = "", given: Sequence[Bound] | None = None
) -> Figure:
    """Draw the regret of one policy and its bounds, on logarithmic axes.

    Thick: the measured mean with the range of 10 % to 90 % of the runs, and the median in front. Of the
    bounds, colours tell apart what the paper prints, its correction, and other sources; dashes, what a bound
    says; markers, the rest. What each states is its `Bound.legend`. Above t times the largest gap, which no
    policy can lose, the figure is shaded, and bounds end; those that never come below are named at the axis.

    Parameters
    ----------
    results : Measured
        Of one environment.
    policy : str, optional
        Its name in the results; not needed if they have only one.
    title : str
    given : sequence of Bound, optional
        By default those of `brigand.theory.bounds`. Those that do not hold are left out.

    Raises
    ------
    UnknownNameError
        The results have no such policy.
    InvalidValueError
        The results are of several environments, or of several policies and none is named.
    """
    environment = sole_environment(results, given is not None)
    name = _named(results, policy)
    horizon = int(results.dataset["step"][-1])
    if given is None:
        given = theory.bounds(environment, results.policies[name], horizon)
    order = list(DASHES)
    shown = sorted((bound for bound in given if bound.holds), key=lambda bound: order.index(bound.kind))
    table = results.statistics().loc[name]
    with mpl.rc_context(style.STYLE):
        figure = style.new_figure(7.2, 3.6)
        axes = figure.add_subplot()
        handles = _draw_measured(axes, table)
        handles.append(_draw_trivial(axes, environment, horizon))
        lines = [_draw_bound(axes, bound, i, environment, horizon) for i, bound in enumerate(shown)]
        headings, trivial = [], []
        for bound, line in zip(shown, lines, strict=True):
            if not np.isfinite(np.asarray(line.get_ydata(), float)).any():
                trivial.append(str(line.get_label()))
                continue
            heading = textwrap.fill(f"{KINDS[bound.kind][0].upper()}{KINDS[bound.kind][1:]}:", HEADING)
            if heading not in headings:
                headings.append(heading)
                handles.append(Line2D([], [], linestyle="none", label=heading))
            handles.append(line)
        _arrange(axes, table, environment, horizon)
        if trivial:
            note = textwrap.fill(f"not drawn, for it is trivial at all steps: {'; '.join(trivial)}", NOTE)
            axes.set_xlabel(f"{axes.get_xlabel()}\n{note}")
        axes.set_title(typed(title or name), fontsize=10)
        _add_legend(figure, handles, headings)
        return figure


def curve(bound: Bound, environment: Environment, steps: ArrayLike) -> Floats:
    """Return a bound's regret as it is drawn: NaN where it is trivial, or not positive."""
    values = bound.regret(steps)
    visible = (values > 0) & (values < environment.worst_regret(steps) * (1 - 1e-9))
    return np.where(visible, values, np.nan)


def log_steps(horizon: int) -> NDArray[np.int64]:
    """Return the steps at which curves are drawn: log-spaced, from 1 to `horizon`."""
    steps = np.unique(np.rint(np.geomspace(1, horizon, POINTS)).astype(np.int64))
    steps[-1] = horizon
    return steps


def smallest_upper(results: Measured, policy: str) -> Bound | None:
    """Return the proved upper bound on a policy's mean regret that is the smallest at the last step.

    None if there is none, or none that holds. What the paper prints counts only as we corrected it.

    Raises
    ------
    InvalidValueError
        The results are of several environments.
    """
    environment = sole_environment(results)
    horizon = int(results.dataset["step"][-1])
    proved = [
        bound
        for bound in theory.bounds(environment, results.policies[policy], horizon)
        if bound.holds and bound.kind == UPPER and bound.version in (CORRECTED, STANDARD)
    ]
    return min(proved, key=lambda bound: float(bound.regret([horizon])[0]), default=None)


def sole_environment(results: Measured, late: bool = False) -> Environment:
    """Return the environment of results; `InvalidValueError` if there are several, or bounds are not for it.

    They are not where means move, nor, but if `late` is set, where rewards came late or arms were away.
    """
    if len(results.environments) > 1:
        raise InvalidValueError(
            f"bounds belong to one environment, and these results are over {len(results.environments)}; "
            "draw them without bounds, or simulate one instance."
        )
    (environment,) = results.environments
    if not isinstance(environment, Environment):
        raise InvalidValueError(f"no bounds are known where means move, as in {type(environment).__name__}.")
    if not late and (results.dataset["method"] == "late").any():
        raise InvalidValueError(
            "these bounds are for rewards that come at once and arms that are all there; "
            "brigand.theory.delayed_bounds knows one for FE."
        )
    return environment


def _named(results: Measured, policy: str | None) -> str:
    names = [str(name) for name in results.dataset["policy"].to_numpy()]
    if policy is None and len(names) > 1:
        raise InvalidValueError(f"the bounds of which policy? Name one of {', '.join(names)}.")
    if policy is not None and policy not in names:
        raise UnknownNameError("policy", policy, names)
    return names[0] if policy is None else policy


def _draw_measured(axes: Axes, table: Any) -> list[Any]:
    runs = int(table["replications"].iloc[0])
    steps = table.index.to_numpy()
    axes.fill_between(steps, table["q10"], table["q90"], color="black", alpha=0.18, linewidth=0, zorder=3)
    # A logarithm shows no zeros.
    mean, median = (table[column].where(table[column] > 0) for column in ("mean", "median"))
    label = f"measured mean, and 10 % to 90 % of {runs:,} runs"
    lines = axes.plot(steps, mean, color="black", linewidth=2.8, label=label, zorder=3)
    # Light, and in front of the mean, for both are often the same.
    look: dict[str, Any] = {"color": MEDIAN, "linestyle": (0, (2, 1.5)), "linewidth": 1.4}
    lines += axes.plot(steps, median, label="measured median", zorder=4, **look)
    return list(lines)


def _draw_trivial(axes: Axes, environment: Environment, horizon: int) -> Patch:
    steps = log_steps(horizon)
    edge = environment.worst_regret(steps)
    axes.fill_between(steps, edge, 10 * edge[-1], color="0.93", linewidth=0, zorder=0.5)
    axes.plot(steps, edge, color="0.7", linewidth=1.0, zorder=1.6, label="trivial")
    label = "trivial: no policy can lose more than t times the largest gap"
    return Patch(facecolor="0.93", edgecolor="0.7", label=label)


def _draw_bound(axes: Axes, bound: Bound, place: int, environment: Environment, horizon: int) -> Line2D:
    steps = log_steps(horizon)
    values = curve(bound, environment, steps)
    seen = np.isfinite(values)
    (line,) = axes.plot(
        steps,
        values,
        color=GREYS.get(bound.kind, COLORS.get(bound.version, "0.35")),
        linestyle=DASHES[bound.kind],
        linewidth=1.3,
        marker=MARKERS[place % len(MARKERS)],
        markersize=4.5,
        markerfacecolor="white",
        # Markers at equal distances on the page, shifted from line to line.
        markevery=(0.02 + 0.017 * (place % 8), 0.16) if seen.any() else None,
        label=f"{bound.name}, {bound.version}",
        zorder=3.5,
    )
    return line


def _arrange(axes: Axes, table: Any, environment: Environment, horizon: int) -> None:
    axes.set_xlabel("step t")
    axes.set_ylabel("cumulative pseudo-regret")
    top = float(environment.worst_regret(horizon))
    if not top > 0:  # all arms are equally good, and a logarithm shows no zeros
        return
    axes.set_xscale("log")
    axes.set_yscale("log")
    lowest = [table[column][table[column] > 0].min() for column in ("mean", "median")]
    axes.set_xlim(1, max(horizon, 2))
    axes.set_ylim(0.6 * min(np.nanmin([*lowest, top]), top), 2 * top)


def _add_legend(figure: Figure, handles: Sequence[Any], headings: Sequence[str]) -> None:
    legend = figure.legend(
        handles=list(handles),
        loc="outside lower left",
        fontsize=7.5,
        handlelength=3.5,
        labelspacing=0.35,
        ncols=2 if len(handles) > layout.LABELLED else 1,
    )
    rows = -(-(len(handles) + sum(heading.count("\n") for heading in headings)) // 2)
    figure.set_figheight(3.4 + 0.145 * rows)
    for text in legend.get_texts():
        if text.get_text() in headings:
            text.set_fontstyle("italic")
