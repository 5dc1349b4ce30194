"""Tables of a study's regrets: what the command prints and the report shows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from brigand.figures.page import Cell, Table
from brigand.simulation.results import LEVEL
from brigand.studies.compare import Comparison
from brigand.studies.pooled import Pooled
from brigand.studies.results import StudyResults
from brigand.words import INTERVAL, counted, number, share

if TYPE_CHECKING:
    import pandas as pd


def summary_table(results: StudyResults, summary: pd.DataFrame, problem: str) -> Table:
    """Return the table of regret at T on one problem, the least mean first.

    Parameters
    ----------
    results : StudyResults
    summary : pandas.DataFrame
        `StudyResults.summary`.
    problem : str
    """
    part = summary.loc[problem].sort_values("mean", kind="stable")
    columns = ("policy", "mean", "95 %", "unseen", "worst 1 %", "median", "10 %", "90 %", "99 %", "sd")
    independent = len(results.draws(problem))
    rows = [
        (
            Cell(str(name)),
            _number(row["mean"]),
            _interval(row["low"], row["high"]),
            _number(row["unseen"]),
            Cell(share(row["top"], independent), float(row["top"])),
            *(_number(row[key]) for key in ("median", "q10", "q90", "q99", "sd")),
        )
        for name, row in part.iterrows()
    ]
    over = "instances, each with its mean over runs" if part["instances"].iloc[0] > 1 else "runs"
    notes = [f"{INTERVAL} 10 %, 90 %, 99 %: quantiles. All over {over}."]
    return Table(f"{title(results, problem)}; {draws(results, problem)}", columns, rows, notes)


def comparison_table(results: StudyResults, compared: Comparison, problem: str) -> Table:
    """Return the table of differences to the baseline, wins and ranks on one problem.

    Parameters
    ----------
    results : StudyResults
    compared : Comparison
    problem : str
    """
    base = compared.baseline
    differences = _of(compared.differences, problem)
    wins, ranks = _of(compared.wins, problem), _of(compared.ranks, problem)
    columns = ["policy", f"minus {base}", "95 % interval", "unseen", "verdict"]
    columns += ["wins", "95 % of wins"] if len(wins) else []
    columns += ["rank"] if len(ranks) else []
    rows = []
    for name in results.draws(problem).mean().sort_values(kind="stable").index:
        cells = [Cell(str(name)), *[Cell("–")] * 3, Cell("baseline" if name == base else "–")]
        if name in differences.index:
            row = differences.loc[name]
            mark = "" if row["paired"] else " *"
            difference = _number(row["mean"])
            cells[1:] = [
                difference._replace(text=difference.text + mark),
                _interval(row["low"], row["high"]),
                _number(row["unseen"]),
                Cell(_verdict(row)),
            ]
        if len(wins):
            cells += _wins(wins, str(name))
        if len(ranks):
            cells.append(_number(ranks["rank"][name]) if name in ranks.index else Cell("–"))
        rows.append(tuple(cells))
    notes = _notes(results, compared, problem)
    return Table(f"{title(results, problem)}; against {base}", tuple(columns), rows, notes)


def pooled_table(results: StudyResults, pooled: Pooled) -> Table:
    """Return the table of policies over all problems together, the least average rank first."""
    n = len(pooled.means)
    rows: list[tuple[Cell, ...]] = [
        (
            Cell(str(name)),
            _number(row["rank"]),
            _number(row["relative"]),
            _number(row["worst"]),
            Cell(f"{int(row['best']):,}", float(row["best"])),
        )
        for name, row in pooled.table.iterrows()
    ]
    note = (
        f"Each of {n:,} problems counts once, by the mean regret at T. rank: average over problems, 1 is the "
        "least regret. times best: the regret as a multiple of the least on the problem; median, and on the "
        "worst problem. best on: problems on which it has the least regret."
    )
    if not math.isnan(pooled.critical_difference):
        note += f" {_tested(pooled.p_value, pooled.critical_difference)}"
    columns = ("policy", "rank", "times best", "at worst", "best on")
    return Table(f"{results.name}: {counted(n, 'problem')} together", columns, rows, [note])


def problems_table(results: StudyResults, pooled: Pooled) -> Table:
    """Return a table of all problems: which policy has the least regret, and what others have."""
    leader = str(pooled.table.index[0])
    rows: list[tuple[Cell, ...]] = []
    for problem, means in pooled.means.iterrows():
        best = str(means.idxmin())
        least, ours = float(means[best]), float(means[leader])
        times = Cell("–") if least == 0 else _number(ours / least)
        rows.append((Cell(str(problem)), Cell(best), _number(least), _number(ours), times))
    columns = ("problem", "least regret", "mean", f"of {leader}", "times best")
    note = f"mean: the least mean regret at T, and that of {leader}, which has the least average rank."
    return Table(f"{results.name}: each problem", columns, rows, [note])


def said_once(tables: Iterable[Table]) -> Iterator[Table]:
    """Yield tables without the notes that stand below an earlier one."""
    said: set[str] = set()
    for table in tables:
        yield replace(table, notes=[note for note in table.notes if note not in said])
        said.update(table.notes)


def title(results: StudyResults, problem: str) -> str:
    """Return what a problem is called in titles."""
    return problem if "T = " in problem else f"{problem}, T = {results.problem(problem)['horizon']:,}"


def draws(results: StudyResults, problem: str) -> str:
    """Return how often each policy ran on a problem: ``"60 instances × 2 runs"``."""
    instances = results.problem(problem)["instances"]
    runs = int(results.manifest["replications"])
    text = counted(runs, "run")
    return text if instances == 1 else f"{instances:,} instances × {text}"


def _notes(results: StudyResults, compared: Comparison, problem: str) -> list[str]:
    differences = _of(compared.differences, problem)
    notes = []
    if len(differences):
        pairs = int(differences["pairs"].iloc[0])
        same = "instances" if results.problem(problem)["instances"] > 1 else "runs"
        notes.append(
            f"minus {compared.baseline}: the mean difference of regret at T over {pairs:,} {same}; below 0 "
            f"the policy is better. 95 %: its interval, Student's; both ends count unseen, what {same} could "
            "add that are too rare (below 3 in n) to have been seen. Each interval holds by itself. verdict: "
            "at 5 % for all policies of a table together, by Holm's correction, so a policy whose interval "
            'leaves out 0 may be "not shown to differ"; "as seen" is without unseen.'
        )
        if not differences["paired"].all():
            notes.append("*: run by skipping, so not with the same rewards as the baseline.")
    if len(_of(compared.wins, problem)):
        notes.append("wins: instances with less regret than the baseline, with a 95 % Wilson interval.")
    if problem in compared.tests.index:
        test = compared.tests.loc[problem]
        notes.append(
            f"rank: its average over {int(test['instances']):,} instances; 1 is the least regret. "
            f"{_tested(test['p_value'], test['critical_difference'])}"
        )
    return notes


def _tested(p_value: float, critical_difference: float) -> str:
    """Return what tests of ranks say."""
    friedman = ""
    if not math.isnan(p_value):
        p = "< 0.001" if p_value < 0.001 else f"= {p_value:.3f}"
        friedman = f"Friedman's test that all are alike: p {p}. "
    return (
        f"{friedman}Ranks at least {critical_difference:.2f} apart differ significantly (Nemenyi, 5 % for "
        "all pairs together)."
    )


def _of(table: pd.DataFrame, problem: str) -> pd.DataFrame:
    """Return the rows of a problem, by policy."""
    return table[table.index.get_level_values("problem") == problem].droplevel("problem")


def _verdict(row: pd.Series) -> str:
    """Return what tests say, and if they leave the sign open, what they say without the unseen."""
    if row["low"] + row["unseen"] == row["high"] - row["unseen"] == 0:
        return "the same"
    for test, scope in (("p_unseen", ""), ("p_value", " as seen")):
        if row[test] <= 1 - LEVEL:
            return ("better" if row["mean"] < 0 else "worse") + scope
    return "not shown to differ"


def _wins(wins: pd.DataFrame, name: str) -> list[Cell]:
    if name not in wins.index:
        return [Cell("–"), Cell("–")]
    row = wins.loc[name]
    return [
        Cell(f"{row['rate']:.0%}", float(row["rate"])),
        Cell(f"{row['low']:.0%} to {row['high']:.0%}", float(row["low"])),
    ]


def _number(value: float) -> Cell:
    return Cell(number(value), float(value))


def _interval(low: float, high: float) -> Cell:
    return Cell("–") if math.isnan(low) else Cell(f"{number(low)} to {number(high)}", float(low))
