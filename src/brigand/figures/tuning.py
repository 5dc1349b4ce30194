"""What tuning found: the sequences, and regret against steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from brigand.figures import style
from brigand.figures.text import label as label_of, typed


def tuning(sequences: Mapping[str, Any], regrets: Mapping[str, tuple[Any, Any]], title: str = "") -> Figure:
    """Draw f(r) of some sequences, and mean regret of some policies.

    Parameters
    ----------
    sequences : dict of str to array-like
        f(1), f(2), ... as far as the run's rounds go.
    regrets : dict of str to (steps, regret)
        `regret` of shape (problems, steps).
    title : str
    """
    with mpl.rc_context(style.STYLE):
        figure = style.new_figure(7.2, 3.7)
        left, right = figure.subplots(1, 2)
        for place, (name, (steps, regret)) in enumerate(regrets.items()):
            color, linestyle, marker = style.line(place)
            look: dict[str, Any] = {"color": color, "linestyle": linestyle, "label": label_of(name)}
            shape: dict[str, Any] = {"marker": marker, "markersize": 4, "markerfacecolor": "white"}
            mean = np.mean(regret, axis=0)
            half = 1.96 * np.std(regret, axis=0, ddof=1) / np.sqrt(len(regret))
            right.plot(steps, mean, **look, **shape, markevery=(place % 4, 4))
            low = np.maximum(mean - half, 1e-9)
            right.fill_between(steps, low, mean + half, color=color, alpha=0.2, linewidth=0)
            if name in sequences:
                values = np.asarray(sequences[name], float)
                left.step(np.arange(1, len(values) + 1), values, where="post", **look)
        for axes, x, y in (
            (left, "round r", "f(r), steps that an arm is left alone"),
            (right, "step t", "mean pseudo-regret, 95 % interval"),
        ):
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_xlabel(x)
            axes.set_ylabel(y)
        right.set_ylim(max(0.3, right.get_ylim()[0]), None)
        if title:
            figure.suptitle(typed(title), fontsize=10)
        style.add_legend(figure, right)
        return figure
