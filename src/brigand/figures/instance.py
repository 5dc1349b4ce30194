"""The arms' means over time."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from brigand.environments.environment import Environment
from brigand.figures import style
from brigand.figures.text import typed


def instance(environments: Mapping[str, Environment], horizon: int, title: str = "") -> Figure:
    """Draw the mean of every arm against steps, one panel an environment; the best is underlaid.

    Parameters
    ----------
    environments : dict of str to Environment
        By the title of their panel.
    horizon : int
        The last step shown.
    title : str
    """
    with mpl.rc_context(style.STYLE):
        figure = style.new_figure(7.2, 3.2)
        panels = figure.subplots(1, len(environments), sharey=True, squeeze=False)[0]
        for axes, (name, environment) in zip(panels, environments.items(), strict=True):
            edges = np.array([*environment.starts, horizon + 1])
            said = style.mark_breakpoints(axes, environment.starts[1:])
            for arm in range(environment.n_arms):
                color, linestyle, _ = style.line(arm)
                axes.hlines(
                    environment.means[:, arm],
                    edges[:-1],
                    edges[1:],
                    colors=color,
                    linestyles=linestyle,
                    label=f"arm {arm}",
                )
            best = environment.means.max(axis=1)
            axes.hlines(best, edges[:-1], edges[1:], colors="0.8", linewidth=6, zorder=0.7, label="best arm")
            axes.set_title(typed(name))
            axes.set_xlabel(f"step t\n{said}" if said else "step t")
            axes.set_xlim(0, horizon + 1)
            style.step_axis(axes, horizon)
            style.write_numbers(axes.yaxis)
        panels[0].set_ylabel("mean reward")
        if title:
            figure.suptitle(typed(title), fontsize=10)
        style.add_legend(figure, panels[0])
        return figure
