"""All published numbers that ours are compared with: which there are, the runs with resume, the report."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Sequence
from importlib.metadata import version
from itertools import groupby
from pathlib import Path

from brigand.errors import ResultFileError, UnknownNameError
from brigand.files import atomic
from brigand.papers import authors, banditbench, baudry, besson, peers, smpybandits
from brigand.papers.validation import LIMIT, Check, Row, check
from brigand.simulation.stamp import code_stamp

SOURCES = (baudry, besson, smpybandits, banditbench, authors)
QUICK = 6_000_000
"""Steps of all runs of a row together, in a quick check."""


def rows(tables: Sequence[str] = (), *, quick: bool = False) -> list[Row]:
    """Return the rows of all tables, or of some.

    Parameters
    ----------
    tables : sequence of str
        Titles, or their beginnings; none means all.
    quick : bool
        Only the first problem of each table.

    Raises
    ------
    UnknownNameError
        There is no such table.
    """
    found = [row for source in SOURCES for row in source.rows()]
    titles = list(dict.fromkeys(row.table for row in found))
    for title in tables:
        if not any(known.startswith(title) for known in titles):
            raise UnknownNameError("table", title, titles)
    if quick:
        first = {row.table: row.problem.name for row in reversed(found)}
        found = [row for row in found if row.problem.name == first[row.table]]
    return [row for row in found if not tables or row.table.startswith(tuple(tables))]


def run(
    chosen: Sequence[Row],
    store: Path,
    *,
    most: int | None = None,
    budget: int | None = None,
    workers: int | None = None,
    progress: Callable[[int, list[Check]], None] | None = None,
) -> list[Check]:
    """Compare every row, and keep what was found, so that a second call goes on where the first stopped.

    Parameters
    ----------
    chosen : sequence of Row
    store : Path
        A JSON file, made if it is not there. A row is run again when its policy's source has changed, or when
        it was run less often than is wanted now.
    most : int, optional
        At most so many runs a row.
    budget : int, optional
        At most so many steps in all runs of a row together.
    workers : int, optional
        Threads.
    progress : callable, optional
        Called with the number of rows done, and the comparisons of the latest.

    Raises
    ------
    ResultFileError
        The file cannot be read or written, or is not of this kind.
    """
    known = _read(store)
    comparisons = []
    for done, row in enumerate(chosen, start=1):
        limits = [row.runs, most, None if budget is None else budget // max(row.published)]
        wanted = min(limit for limit in limits if limit is not None)
        key = _key(row)
        if key not in known or known[key][0][2] < wanted:
            known[key] = [[c.mean, c.sd, c.runs] for c in check(row, wanted, workers)]
            with atomic(store) as temporary:
                temporary.write_text(json.dumps(known, indent=0), encoding="utf-8")
        found = [
            Check(row, step, mean, sd, int(runs))
            for step, (mean, sd, runs) in zip(sorted(row.published), known[key], strict=True)
        ]
        comparisons += found
        if progress is not None:
            progress(done, found)
    return comparisons


def _key(row: Row) -> str:
    """Return what the numbers of a row depend on, as a hash."""
    stamp = code_stamp(row.policy, "step")
    parts = [row.table, row.problem.name, row.policy.to_json(), sorted(row.published), stamp]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


def _read(store: Path) -> dict[str, list[list[float]]]:
    try:
        known = json.loads(store.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ResultFileError(f"{str(store)!r} cannot be read: {error}") from error
    if not isinstance(known, dict):
        raise ResultFileError(f"{str(store)!r} holds no comparisons.")
    return known


def report(comparisons: Sequence[Check]) -> str:
    """Return the comparisons as Markdown: a table for each source, and why some must differ."""
    lines = [
        f"Brigand {version('brigand')}. {summary(comparisons)}",
        "",
        "*z* is the difference between the two means, reduced by half a unit of the last digit printed, "
        f"in standard errors of this difference. If |z| < {LIMIT:g}, the two agree; were all true means "
        "equal, one comparison in 16,000 would fail. *se* is the standard error. If a source prints no "
        "standard deviation, ours is used for both.",
    ]
    for title, group in groupby(comparisons, key=lambda c: c.row.table):
        part = list(group)
        lines += ["", f"## {title}", "", *_table(part)]
        reasons = {c.row.name: c.row.differs for c in part if c.row.differs}
        lines += ["", *(f"- **{name}**: {reason}" for name, reason in reasons.items())] if reasons else []
    lines += ["", "## What other code does differently", "", *peers.table()]
    lines += ["", "## Sources and omissions"]
    for source in SOURCES:
        lines += ["", inspect.getdoc(source) or ""]
    return "\n".join(lines) + "\n"


def summary(comparisons: Sequence[Check]) -> str:
    """Return how many comparisons agree, in a sentence."""
    agree = sum(c.verdict == "agrees" for c in comparisons)
    known = sum(c.verdict == "differs (why)" for c in comparisons)
    unknown = len(comparisons) - agree - known
    return (
        f"{agree} of {len(comparisons)} published numbers agree; {known} differ for a known reason, "
        f"{unknown} for an unknown one."
    )


def _table(comparisons: Sequence[Check]) -> list[str]:
    lines = [
        "| problem | policy | step | published | se | runs | ours | se | runs | z | |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for c in comparisons:
        theirs = [f"{c.published.mean:,g}", _short(c.published_error), f"{c.published.runs:,}"]
        ours = [_short(c.mean, c.error), _short(c.error), f"{c.runs:,}"]
        cells = [c.row.problem.name, c.row.name, f"{c.step:,}", *theirs, *ours, f"{c.z:.1f}", c.verdict]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _short(number: float, error: float | None = None) -> str:
    """Return a number with two digits of its error (by default, of itself), at most three decimals."""
    scale = number if error is None else error
    decimals = next((d for d in range(3) if abs(scale) * 10**d >= 10), 3)
    return f"{number:,.{decimals}f}"
