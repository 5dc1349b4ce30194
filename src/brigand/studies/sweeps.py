"""Regret at T against what was swept over: parameters of policies, of random instances, the horizon."""

from __future__ import annotations

import collections
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from brigand.studies.results import StudyResults

if TYPE_CHECKING:
    import pandas as pd


def sweeps(results: StudyResults, most: int) -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Yield each swept parameter that has several numbers as values, with its points.

    Parameters
    ----------
    results : StudyResults
    most : int
        So many lines are kept: the best ones and the baseline's.

    Yields
    ------
    parameter : str
    table : pandas.DataFrame
        As `brigand.figures.comparison.sweep` takes it.
    note : str
        What was left out, for the title.
    """
    columns = results.summary()[["mean", "q10", "q90"]]
    ranges = dict(zip(columns.index, columns.to_numpy(float).tolist(), strict=True))
    rivals = {problem: results.rivals(problem) for problem in results.problems}
    policies = {name: results.policy(name) for name in results.policies}
    problems = {name: results.problem(name) for name in results.problems}
    everywhere = _lines({name: results.policy(name) for name in results.places})
    for parameter, of in _lines(policies).items():
        # A line looks as its first policy in the whole study, whatever part of it this is.
        first: dict[str, int] = {}
        for policy, (line, _) in everywhere[parameter].items():
            first.setdefault(line, results.places[policy])
        points = [
            (problem, line, first.get(line, results.places[policy]), x, *ranges[problem, policy])
            for problem in problems
            for policy, (line, x) in of.items()
            if policy in rivals[problem]
        ]
        yield parameter, *_kept(points, of.get(results.baseline, ("",))[0], most)
    for parameter, of in _lines(problems).items():
        points = [
            (panel, policy, results.places[policy], x, *ranges[problem, policy])
            for problem, (panel, x) in of.items()
            if np.isfinite(x)
            for policy in rivals[problem]
        ]
        yield parameter, *_kept(points, results.baseline, most)


def _lines(entries: dict[str, dict[str, Any]]) -> dict[str, dict[str, tuple[str, float]]]:
    """Return for each parameter the line that each thing belongs to, and its value; NaN if it has none."""
    found = {}
    swept = {name: entry["swept"] for name, entry in entries.items()}
    for parameter in dict.fromkeys(key for values in swept.values() for key in values):
        having = {name: values for name, values in swept.items() if _is_number(values.get(parameter))}
        labels = {name: str(entries[name]["label"]) for name in having}
        points = collections.Counter((labels[name], values[parameter]) for name, values in having.items())
        if len({x for _, x in points}) < 2:
            continue
        # In a list of settings the other parameters follow this one; in a grid they tell lines apart.
        grids = {label for (label, _), count in points.items() if count > 1}
        for name, label in labels.items():
            if label in grids:
                labels[name] = _with_others(label, having[name], parameter)
        found[parameter] = {
            name: (labels[name], float(having[name][parameter])) if name in having else (name, np.nan)
            for name in swept
        }
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and np.isfinite(value)


def _with_others(label: str, values: dict[str, Any], parameter: str) -> str:
    """Return a label with what was swept over besides."""
    others = {key: value for key, value in values.items() if key != parameter}
    texts = [f"{key} = {_short(value)}" for key, value in others.items()]
    return f"{label} ({', '.join(texts)})" if texts else label


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return str(value.get("type", ""))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _kept(points: list[Any], base: str, most: int) -> tuple[pd.DataFrame, str]:
    """Return the points of the best lines, and of the baseline's, as a table."""
    import pandas as pd

    table = pd.DataFrame(points, columns=["panel", "line", "place", "x", "mean", "q10", "q90"])
    # The best: by what its best point loses, ranked in each panel.
    least = table.groupby(["panel", "line"], sort=False)["mean"].min().unstack("panel")
    order = least.rank().mean(axis=1).sort_values(kind="stable").index.tolist()
    if len(order) <= most:
        return table, ""
    kept, note = set(order[:most]), f"the {most} best of {len(order)} lines"
    if base in order and base not in kept:
        kept, note = {*order[: most - 1], base}, f"the {most - 1} best of {len(order)} lines and {base}"
    return table[table["line"].isin(kept)], f"\n{note}"
