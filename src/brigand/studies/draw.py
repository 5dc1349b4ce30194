"""The figures of a study: which make sense, and what is in them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from brigand.errors import InvalidValueError, UnknownNameError
from brigand.figures import comparison, studies
from brigand.figures.curves import curves
from brigand.studies.arms import by_gap, mean_pulls
from brigand.studies.model import FIGURES
from brigand.studies.pooled import pool
from brigand.studies.regret_tables import draws, title
from brigand.studies.results import StudyResults
from brigand.studies.statistics import alike
from brigand.studies.sweeps import sweeps

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LINES = 10
"""More lines than this cannot be told apart."""
ROWS = 24
PANELS = 6
FEWEST = 5
"""A distribution is shown of so many draws at least."""


class Drawing(NamedTuple):
    """A figure of a study.

    Attributes
    ----------
    kind : str
        One of `brigand.studies.model.FIGURES`.
    file : str
        A name for its file, without an ending; no other figure of the study has it.
    caption : str
        How to read it.
    figure : Figure
    """

    kind: str
    file: str
    caption: str
    figure: Figure


def drawings(
    results: StudyResults, kinds: Iterable[str] | None = None, problems: Sequence[str] | None = None
) -> Iterator[Drawing]:
    """Draw the figures of a study, one after the other.

    Parameters
    ----------
    results : StudyResults
    kinds : iterable of str, optional
        By default those that the study names, else all that make sense.
    problems : sequence of str, optional
        Of which there are figures of their own; by default all. Figures of all problems together have all.

    Raises
    ------
    UnknownNameError, InvalidValueError
        There is no such kind, or it makes no sense for this study.
    ResultFileError
        Pieces are missing or damaged.
    """
    named = results.manifest.get("figures")
    default: Iterable[str] = FIGURES if named is None else named
    wanted = list(dict.fromkeys(default if kinds is None else kinds))
    for kind in wanted:
        if kind not in FIGURES:
            raise UnknownNameError("figure", kind, FIGURES)
    used: set[str] = set()
    part = results if problems is None else results.select(problems)
    for kind in wanted:
        draw, caption, needs = _KINDS[kind]
        made = _sweep(results, part.problems) if kind == "sweep" else draw(part)
        if kind in _TOGETHER:
            made = itertools.chain(_TOGETHER[kind](results), made)
        drawn = False
        for about, figure in made:
            drawn = True
            yield Drawing(kind, _file(kind, about, used), caption, figure)
        if kinds is not None and not drawn:
            raise InvalidValueError(f"there is nothing to draw in the figure {kind!r}: it needs {needs}.")


Drawn: TypeAlias = "Iterator[tuple[str, Figure]]"


def _regret(results: StudyResults) -> Drawn:
    for problem in results.problems:
        names, note = _best(results, problem, LINES)
        table = results.statistics(problem, names)
        figure = curves(
            table,
            _title(results, problem, note),
            draws(results, problem),
            _breakpoints(results, problem),
            places=results.places,
        )
        yield _about(results, problem), figure


def _sweep(results: StudyResults, shown: Sequence[str] = ()) -> Drawn:
    counts = {draws(results, problem) for problem in results.problems}
    over = counts.pop() if len(counts) == 1 else ""
    for parameter, table, note in sweeps(results, LINES):
        panels = set(table["panel"])
        if panels <= {*results.problems} and panels & {*shown} != panels:
            table = table[table["panel"].isin(shown)]
            note += f"\n{table['panel'].nunique()} of {len(panels):,} problems"
        yield (
            parameter,
            comparison.sweep(
                table, parameter, _headed(results, f"regret at T against {parameter}{note}"), over
            ),
        )


def _final(results: StudyResults) -> Drawn:
    columns = {"q10": 0.1, "q25": 0.25, "median": 0.5, "q75": 0.75, "q90": 0.9, "q99": 0.99}
    for problem in results.problems:
        regret = results.draws(problem)
        if len(regret) < FEWEST:
            continue
        shown = regret[results.rivals(problem)]
        table = shown.quantile(list(columns.values())).T.set_axis(list(columns), axis=1)
        table = table.assign(mean=shown.mean()).sort_values("mean", kind="stable")
        about = _title(results, problem)
        yield _about(results, problem), studies.final(table, about, draws(results, problem))


def _pulls(results: StudyResults) -> Drawn:
    if "pulls" not in results.manifest["metrics"]:
        return
    for problem in results.problems:
        names, note = _best(results, problem, PANELS)
        orders, labels = by_gap(results, problem)
        panels = {name: mean_pulls(results, problem, name, orders, labels) for name in names}
        several = len(orders) > 1
        order = "arms by mean gap over time" if results.environment(problem).breakpoints else "arms by gap"
        figure = studies.pulls(
            panels,
            _title(results, problem, note),
            f"{order}, within each instance" if several else order,
            _breakpoints(results, problem),
        )
        yield _about(results, problem), figure


def _forced(results: StudyResults) -> Drawn:
    import pandas as pd

    for problem in results.problems:
        rows = {}
        for name in results.policies_of(problem):
            counted = [runs.values.sum(axis=1) for runs in results.blocks(problem, name, "forced")]
            if counted:
                forced = float(np.concatenate(counted).mean())
                rows[name] = {"forced": forced, "greedy": results.problem(problem)["horizon"] - forced}
        if rows:
            table = pd.DataFrame.from_dict(rows, orient="index")
            yield _about(results, problem), studies.forced(table, _title(results, problem))


def _profiles(results: StudyResults) -> Drawn:
    compared = results.compare()
    for problem, regret in compared.draws.items():
        if regret.index.name == "instance" and len(compared.rivals[problem]) > 1:
            names, note = _best(results, problem, LINES)
            table = _moving(compared.profiles(problem)[names])
            note = ", ".join(filter(None, [f"{len(regret):,} instances", note]))
            figure = comparison.profiles(table, _title(results, problem, note), places=results.places)
            yield _about(results, problem), figure


def _profiles_together(results: StudyResults) -> Drawn:
    pooled = pool(results)
    if pooled is not None and np.isfinite(pooled.critical_difference):
        names, note = list(pooled.table.index[:LINES]), f"{len(pooled.means):,} problems together"
        if len(pooled.table) > LINES:
            note += f", the {LINES} best of {len(pooled.table)} policies by their ranks"
        heading = _headed(results, f"mean regret on each problem\n{note}")
        table = _moving(pooled.profiles()[names])
        yield "all", comparison.profiles(table, heading, "problem", results.places)


def _ranks_together(results: StudyResults) -> Drawn:
    pooled = pool(results)
    if pooled is not None and np.isfinite(pooled.critical_difference):
        table = pooled.table["rank"].head(ROWS)
        note = f"{len(pooled.means):,} problems together" + (
            f", the {ROWS} best of {len(pooled.table)} policies" if len(pooled.table) > ROWS else ""
        )
        groups = alike(table.to_numpy(), pooled.critical_difference)
        heading = _headed(results, f"average ranks\n{note}")
        yield "all", comparison.ranks(table, pooled.critical_difference, groups, heading)


def _ranks(results: StudyResults) -> Drawn:
    compared = results.compare()
    for problem, test in compared.tests.iterrows():
        problem = str(problem)
        names, note = _best(results, problem, ROWS)
        table = compared.ranks.loc[problem]["rank"][names].sort_values(kind="stable")
        difference = float(test["critical_difference"])
        p_value = test["p_value"]
        about = [f"{int(test['instances']):,} instances", note]
        if np.isfinite(p_value):
            about.insert(1, f"Friedman's test p {'< 0.001' if p_value < 0.001 else f'= {p_value:.3f}'}")
        groups = alike(table.to_numpy(), difference)
        yield (
            _about(results, problem),
            comparison.ranks(
                table, difference, groups, _title(results, problem, ", ".join(filter(None, about)))
            ),
        )


_KINDS: dict[str, tuple[Callable[[StudyResults], Drawn], str, str]] = {
    "regret": (
        _regret,
        "Regret over time. Left, linear axes: the mean, and 10 % to 90 % of the draws; of many policies only "
        "at T, beside the axes. A policy with an arrow leaves the axis; its mean at T stands there. Right, "
        "logarithmic axes, but for steps where rewards change: the median, with the same range. Where the "
        "two tell different stories, rare runs carry the mean.",
        "nothing",
    ),
    "sweep": (
        _sweep,
        "Mean regret at T against what was swept over. Policies without the parameter are horizontal lines.",
        "a sweep over numbers",
    ),
    "final": (
        _final,
        "Distribution of regret at T, the least mean on top.",
        f"at least {FEWEST} runs or instances",
    ),
    "pulls": (
        _pulls,
        "How often each arm was pulled, on average, by step t. Arms are in the order of their gaps.",
        "pulls among the metrics of the study",
    ),
    "forced": (
        _forced,
        "Pulls by T that were forced, and those that were greedy, of the policies that tell them apart.",
        "a policy that counts forced pulls",
    ),
    "profiles": (
        _profiles,
        "Performance profiles (Dolan, Moré 2002): the share of instances, or problems, on which a policy's "
        "regret is at most so many times the least one there. At 1: how often it is the best.",
        "a problem with several instances, or 5 problems, and two policies",
    ),
    "ranks": (
        _ranks,
        "Average ranks over instances, or problems (Demšar 2006). Policies that a bar at the right joins do "
        "not differ significantly: their ranks are less than the critical difference CD apart (Nemenyi's "
        "test, 5 % for all pairs together).",
        "a problem with at least 5 instances, and two policies",
    ),
}


_TOGETHER: dict[str, Callable[[StudyResults], Drawn]] = {
    "profiles": _profiles_together,
    "ranks": _ranks_together,
}
"""Figures of all problems together, which stand before those of each."""


def _moving(profiles: pd.DataFrame) -> pd.DataFrame:
    """Return profiles up to where they are flat: shares only grow."""
    moving = (profiles != profiles.iloc[-1]).any(axis=1).to_numpy()
    return profiles.iloc[: int(moving.sum()) + 5]


def _best(results: StudyResults, problem: str, most: int) -> tuple[list[str], str]:
    """Return the policies that are drawn, and what to say of the others; the best first, if there are any."""
    names = results.rivals(problem)
    if len(names) <= most:
        return names, ""
    ranked = results.draws(problem)[names].mean().sort_values(kind="stable").index.tolist()
    kept, note = set(ranked[:most]), f"the {most} best of {len(names)} policies"
    if results.baseline in names and results.baseline not in kept:
        kept = {*ranked[: most - 1], results.baseline}
        note = f"the {most - 1} best of {len(names)} policies and {results.baseline}"
    return [name for name in ranked if name in kept], note


def _title(results: StudyResults, problem: str, note: str = "") -> str:
    return _headed(results, title(results, problem)) + (f"\n{note}" if note else "")


def _headed(results: StudyResults, about: str) -> str:
    """Return a title that begins with the study's name, which may be a sentence."""
    between = "\n" if results.name.endswith((".", "?", "!", ":", "…")) else ": "
    return f"{results.name}{between}{about}"


def _about(results: StudyResults, problem: str) -> str:
    return problem if len(results.problems) > 1 else ""


def _file(kind: str, about: str, used: set[str]) -> str:
    short = re.sub(r"[^a-z0-9.]+", "-", about.lower()).strip("-.")[:60]
    name = first = f"{kind}-{short}" if short else kind
    number = 1
    while name in used:
        number += 1
        name = f"{first}-{number}"
    used.add(name)
    return name


def _breakpoints(results: StudyResults, problem: str) -> tuple[int, ...]:
    return results.environment(problem).breakpoints
