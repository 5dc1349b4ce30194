"""How environments show themselves in notebooks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from brigand import display
from brigand.words import counted

DRAWN = 60
"""Phases that a figure shows."""


@display.html_repr
def html(environment: Any) -> str:
    """Return a table of the arms, or of the phases, and a small figure of the means."""
    return _phases(environment) if len(environment.phases) > 1 else _arms(environment)


def _arms(environment: Any) -> str:
    rows = [
        (f"arm {k}", repr(arm), arm.mean, math.sqrt(arm.variance))
        for k, arm in enumerate(environment.phases[0])
    ]
    return display.block(
        f"Environment: {counted(environment.n_arms, 'arm')}, stationary",
        display.table(("", "rewards", "mean", "sd"), rows, 2),
        display.forest(
            ((name, mean, mean - sd, mean + sd) for name, _, mean, sd in rows),
            "Mean of each arm, with one standard deviation to both sides",
        ),
    )


def _phases(environment: Any) -> str:
    means, starts = environment.means, environment.starts
    best = means.argmax(axis=1)
    rows = [
        (i + 1, start, f"arm {best[i]}", float(means[i].max()), float(means[i].min()))
        for i, start in enumerate(starts)
    ]
    ends = [*starts, starts[-1] + max(1, int(np.diff(starts).mean()))]
    shown = range(min(environment.n_arms, display.MOST) if len(starts) <= DRAWN else 0)
    values = np.vstack([means, means[-1:]])
    return display.block(
        f"Environment: {counted(environment.n_arms, 'arm')}, {len(starts):,} phases",
        display.table(("phase", "from step", "best arm", "its mean", "least mean"), rows, 0),
        display.lines(
            ((f"arm {k}", ends, values[:, k].tolist()) for k in shown),
            "Mean of each arm over time",
            steps=True,
        ),
    )
