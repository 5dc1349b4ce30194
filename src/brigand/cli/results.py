"""``brigand compare``, ``brigand plot`` and ``brigand report``: what a study found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from brigand.cli.bandit_text import visible
from brigand.cli.console import make_console, say, say_where
from brigand.cli.studies import Folder
from brigand.files import make_folder

if TYPE_CHECKING:
    from brigand.studies.regret_tables import Table
    from brigand.studies.results import StudyResults

Problem = Annotated[
    list[str] | None,
    typer.Option(help="Only this problem, with or without the swept values; may be given several times."),
]
Policy = Annotated[
    list[str] | None,
    typer.Option(help="Only this policy, with or without the swept values; may be given several times."),
]
Where = Annotated[
    list[str] | None,
    typer.Option(help="Only what was swept over so: 'window > 100'; several must all hold."),
]
MANY = 10
"""So many problems are printed one by one; of more, those that are least like the rest."""
COLOURS = {"better": "green", "worse": "red"}


def compare(
    folder: Folder,
    baseline: Annotated[
        str | None,
        typer.Option(help="The policy to compare with. By default the study's, else its first."),
    ] = None,
    problem: Problem = None,
    policy: Policy = None,
    where: Where = None,
    every: Annotated[
        bool, typer.Option("--all", help="Print every problem, however many there are.")
    ] = False,
) -> None:
    """Print regret at T, and how policies compare with a baseline.

    Over several instances also how often they win, and average ranks; over several problems also a table of
    all together. Of more than ten problems, those are printed that are least like the rest.
    """
    from brigand.studies.pooled import pool
    from brigand.studies.regret_tables import comparison_table, pooled_table, said_once, summary_table
    from brigand.studies.results import StudyResults

    console = make_console()
    results = StudyResults(folder).select(problem, policy, where or ())
    pooled = pool(results)
    tables = [] if pooled is None else [pooled_table(results, pooled)]
    shown = results
    if len(results.problems) > MANY and not every:
        some = results.problems[:MANY] if pooled is None else pooled.unlike(MANY)
        shown = results.select(some)
    compared, summary = shown.compare(baseline), shown.summary()
    tables += [
        table
        for name in shown.problems
        for table in (summary_table(shown, summary, name), comparison_table(shown, compared, name))
    ]
    for table in said_once(tables):
        _print(console, table)
    if shown is not results:
        say(
            console,
            f"These are {MANY} of {len(results.problems):,} problems, on which the order of policies is "
            "least like that of all together; --all prints every problem, --problem one.",
        )
    _say_left_out(console, results)


def plot(
    folder: Folder,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the figures. By default figures in the study's folder.")
    ] = None,
    figure: Annotated[
        list[str] | None,
        typer.Option(
            help="Which figure, may be given several times: regret, sweep, final, pulls, forced, profiles, "
            "ranks; by default those that the study names, else all that make sense."
        ),
    ] = None,
    problem: Problem = None,
    policy: Policy = None,
    where: Where = None,
) -> None:
    """Draw the figures of a study, each as .png, .svg and .pdf."""
    from brigand.figures import style
    from brigand.studies.draw import drawings
    from brigand.studies.results import StudyResults

    console = make_console()
    results = StudyResults(folder).select(problem, policy, where or ())
    target = out or folder / "figures"
    for drawing in drawings(results, figure):
        style.save(drawing.figure, make_folder(target), drawing.file)
        say(console, drawing.file)
    _say_left_out(console, results)
    say_where(console, "The figures are in ", target)


def report(
    folder: Folder,
    out: Annotated[
        Path | None, typer.Option(help="The file. By default report.html in the study's folder.")
    ] = None,
    problem: Problem = None,
    policy: Policy = None,
    where: Where = None,
) -> None:
    """Write a report: one HTML file with tables and figures that opens anywhere, also offline."""
    from brigand.studies.report import write_report
    from brigand.studies.results import StudyResults

    console = make_console()
    target = out or folder / "report.html"
    results = StudyResults(folder).select(problem, policy, where or ())
    make_folder(target.parent)
    with console.status("drawing"):
        path = write_report(results, target)
    _say_left_out(console, results)
    say_where(console, "The report is ", path)


def _say_left_out(console: Console, results: StudyResults) -> None:
    """Say what of a study is not complete."""
    if results.left_out:
        console.print(Text(visible(results.left_out), "yellow"), highlight=False, soft_wrap=True)


def _print(console: Console, table: Table) -> None:
    """Print a table, its notes below it."""
    shown = RichTable(
        title=visible(table.title),
        title_justify="left",
        caption="\n".join(map(visible, table.notes)),
        caption_justify="left",
    )
    for column in table.columns:
        text = column in ("policy", "verdict")
        shown.add_column(visible(column), justify="left" if text else "right", overflow="fold")
    for row in table.rows:
        cells = (visible(cell.text) for cell in row)
        shown.add_row(*(Text(cell, COLOURS.get(cell, "")) for cell in cells))
    console.print(shown)
