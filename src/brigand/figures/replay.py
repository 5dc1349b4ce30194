"""What policies would have earned on a log: reward so far, and how much of the log each used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from brigand.figures import layout, style
from brigand.figures.text import label as label_of, labels, typed

PER = 1000
"""Decisions that the reward is of."""
RAN = style.Line("0.35", (0, (1.5, 1.2)), "")
"""What really ran, in grey."""
AXES = {
    "queue": "decisions so far",
    "rejection": "rows of the log so far",
    "resample": "decisions so far, simulated",
}
BANDS, BARS = 3, 8
"""Of more lines the intervals are so many bars, beside those of others: bands would hide each other."""
SETTLED = 0.3
"""The reward axis shows all of the bands from this share of the horizontal axis on: before, they are wide."""


def replay(
    found: Any,
    title: str = "",
    *,
    policies: str | Sequence[str] | None = None,
    figsize: tuple[float, float] | None = None,
    make: Callable[[float, float], Figure] = style.new_figure,
) -> Figure:
    """Draw what policies earned in a replay, in two panels.

    Left: reward per 1,000 decisions so far, of each policy and of what really ran, with 95 % intervals: bands
    of up to three lines, bars of more.
    Right: the share of the log's rows that a run used; left out for a simulation, which uses none. In a
    figure narrower than 5 inches it stands below.

    Parameters
    ----------
    found : brigand.Replay
    title : str
    policies, figsize, make
        As in `brigand.figures.regret.regret`.
    """
    shown = layout.some("policy", policies, list(found.replayed))
    looks = {name: style.line(place) for place, name in enumerate(found.replayed) if name in shown}
    used = found.method != "resample"
    width, height = figsize or (8.4 if used else 5.6, 3.4)
    stacked = used and width < style.NARROW
    figure = make(width, height)
    with mpl.rc_context(style.look_of(figure)):
        if stacked:
            panels = figure.subplots(2, 1, height_ratios=[3, 1])
        elif used:
            panels = figure.subplots(1, 2, width_ratios=[3, 1])
        else:
            panels = figure.subplots(1, 1, squeeze=False)[0]
        _draw_reward(panels[0], found, looks)
        if used:
            _draw_use(panels[1], found, looks)
        if title:
            figure.suptitle(typed(title), fontsize=1.1 * mpl.rcParams["font.size"])
        layout.add_legend(figure, *labels(panels[0]))
        if figsize is not None:
            figure.set_size_inches(figsize)
        return figure


def _draw_reward(axes: Axes, found: Any, looks: Mapping[str, style.Line]) -> None:
    lines = [(name, found.replayed[name].line, look) for name, look in looks.items()]
    last = max(int(line.marks[-1]) for _, line, _ in lines)
    shown = []
    everything = [*lines, ("what really ran", found.logged, RAN)]
    for place, (name, line, look) in enumerate(everything):
        shift = None if len(everything) <= BANDS else 0.6 * place / len(everything)
        _draw_line(axes, line, look, label_of(name), shift)
        settled = line.marks >= SETTLED * line.marks[-1]
        shown += [PER * values[settled] for values in (line.reward, line.lower, line.upper)]
    values = np.concatenate(shown)
    low, high = np.nanmin(values), np.nanmax(values)
    axes.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
    axes.set_xlim(0, last)
    style.step_axis(axes, last)
    style.write_numbers(axes.yaxis)
    axes.set_xlabel(AXES[found.method])
    kind = "bands" if len(everything) <= BANDS else "bars"
    narrow = _is_narrow(axes)
    axes.set_ylabel(f"reward per {PER:,}{'' if narrow else ' decisions'}, 95 % {kind}")


def _is_narrow(axes: Axes) -> bool:
    return bool(axes.get_figure(root=True).get_figwidth() < style.NARROW)  # type: ignore[union-attr]


def _draw_line(axes: Axes, line: Any, look: Any, label: str, shift: float | None) -> None:
    axes.plot(line.marks, PER * line.reward, color=look.color, linestyle=look.linestyle, label=label)
    # The end is marked: a queue ends where an arm is out of rewards.
    end: Any = {"color": look.color, "marker": look.marker, "markersize": 5, "clip_on": False}
    axes.plot(line.marks[-1:], PER * line.reward[-1:], **end)
    if np.isnan(line.lower).all():
        return
    if shift is None:
        edges: Any = {"color": look.color, "alpha": 0.12, "linewidth": 0}
        axes.fill_between(line.marks, PER * line.lower, PER * line.upper, **edges)
        return
    wanted = line.marks[-1] * (np.arange(1, BARS + 1) - shift) / BARS
    few = np.unique(np.searchsorted(line.marks, wanted).clip(0, len(line.marks) - 1))
    ends = (PER * line.lower[few], PER * line.upper[few])
    axes.vlines(line.marks[few], *ends, colors=look.color, linewidth=1.6, alpha=0.7)


def _draw_use(axes: Axes, found: Any, looks: Mapping[str, style.Line]) -> None:
    names = list(looks)
    shares = [found.replayed[name].matched / found.rows for name in names]
    axes.barh(range(len(names)), shares, 0.6, color=[look.color for look in looks.values()])
    for place, share in enumerate(shares):
        axes.annotate(
            f"{share:.1%}", (share, place), (3, 0), textcoords="offset points", va="center", fontsize=7
        )
    layout.name_rows(axes, names)
    axes.set_xlim(0, 1.35 * max(shares))
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0 if max(shares) > 0.04 else 1))
    axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(3))
    axes.set_xlabel("share of the log\nthat a run used")
