"""Mean pulls of the arms over time, the arms in the order of their gaps."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from brigand.studies.results import StudyResults

if TYPE_CHECKING:
    import pandas as pd

GROUPS = 10
"""More arms than this are put into groups."""


def by_gap(results: StudyResults, problem: str) -> tuple[NDArray[np.int64], list[str]]:
    """Return the arms of each instance, the smallest gap (its mean over time) first, and what to call them.

    Returns
    -------
    orders : int64 array of shape (instances, K)
    labels : list of str
        K of them: with numbers and gaps if there is one instance, else places.
    """
    entry = results.problem(problem)
    orders = np.empty((entry["instances"], entry["arms"]), np.int64)
    gaps = np.empty(entry["arms"])
    for instance in range(entry["instances"]):
        gaps = results.environment(problem, instance).mean_gaps(entry["horizon"])
        orders[instance] = np.argsort(gaps, kind="stable")
    if entry["instances"] == 1:
        return orders, [f"arm {k}, gap {gaps[k]:.3g}" for k in orders[0]]
    return orders, ["best", *(ordinal(k) for k in range(2, entry["arms"] + 1))]


def ordinal(number: int) -> str:
    """Return 1st, 2nd, ...

    Examples
    --------
    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 22, 113)]
    ['1st', '2nd', '3rd', '4th', '11th', '22nd', '113th']
    """
    end = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if 10 < number % 100 < 14 else end}"


def mean_pulls(
    results: StudyResults, problem: str, policy: str, orders: NDArray[np.int64], labels: list[str]
) -> pd.DataFrame:
    """Return mean pulls over all runs, read piece by piece.

    Parameters
    ----------
    results : StudyResults
    problem, policy : str
    orders, labels
        See `by_gap`.

    Returns
    -------
    pandas.DataFrame
        A row for each step; a column for each arm in order, or for groups of arms if there are many: then the
        mean of a group.
    """
    import pandas as pd

    steps, arms = results.steps(problem), len(labels)
    total, done = np.zeros((len(steps), arms)), 0
    for runs in results.blocks(problem, policy, "pulls"):
        order = orders[runs.instances]
        total += np.take_along_axis(runs.values, order[:, None, :], 2).sum(axis=0)
        done += len(order)
    mean = total / max(done, 1)
    if arms <= GROUPS:
        return pd.DataFrame(mean, steps, labels)
    edges = np.unique(np.rint(np.geomspace(1, arms + 1, GROUPS)).astype(int)) - 1
    columns = {}
    for first, end in itertools.pairwise(edges.tolist()):
        name = labels[first] if end == first + 1 else f"{ordinal(first + 1)} to {ordinal(end)}, each"
        columns[name] = mean[:, first:end].mean(axis=1)
    return pd.DataFrame(columns, steps)
