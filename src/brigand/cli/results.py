"""``brigand compare``, ``brigand plot`` and ``brigand report``: what a study found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from brigand.cli.bandit_text import visible
from brigand.cli.console import make_console, print_table, say, say_where
from brigand.cli.studies import Folder
from brigand.files import make_folder

if TYPE_CHECKING:
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
Every = Annotated[bool, typer.Option("--all", help="Every problem one by one, however many there are.")]


def compare(
    folder: Folder,
    baseline: Annotated[
        str | None,
        typer.Option(help="The policy to compare with. By default the study's, else its first."),
    ] = None,
    problem: Problem = None,
    policy: Policy = None,
    where: Where = None,
    every: Every = False,
) -> None:
    """Print regret at T, and how policies compare with a baseline.

    Over several instances also how often they win, and average ranks; over several problems also a table of
    all together. Of more than ten problems, those are printed that are least like the rest.
    """
    from brigand.studies.pooled import pool, told_apart
    from brigand.studies.regret_tables import comparison_table, pooled_table, said_once, summary_table
    from brigand.studies.results import StudyResults

    console = make_console()
    results = StudyResults(folder).select(problem, policy, where or ())
    pooled = pool(results)
    tables = [] if pooled is None else [pooled_table(results, pooled)]
    shown = results if every else told_apart(results, pooled)
    compared, summary = shown.compare(baseline), shown.summary()
    tables += [
        table
        for name in shown.problems
        for table in (summary_table(shown, summary, name), comparison_table(shown, compared, name))
    ]
    for table in said_once(tables):
        print_table(console, table)
    _say_some(console, shown, results)
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
    every: Every = False,
) -> None:
    """Draw the figures of a study, each as .png, .svg and .pdf."""
    from brigand.figures import style
    from brigand.studies.draw import drawings
    from brigand.studies.pooled import pool, told_apart
    from brigand.studies.results import StudyResults

    console = make_console()
    results = StudyResults(folder).select(problem, policy, where or ())
    target = out or folder / "figures"
    shown = results if every else told_apart(results, pool(results))
    for drawing in drawings(results, figure, shown.problems):
        style.save(drawing.figure, make_folder(target), drawing.file)
        say(console, drawing.file)
    _say_some(console, shown, results)
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
    every: Every = False,
) -> None:
    """Write a report: one HTML file with tables and figures that opens anywhere, also offline."""
    from brigand.studies.report import write_report
    from brigand.studies.results import StudyResults

    console = make_console()
    target = out or folder / "report.html"
    results = StudyResults(folder).select(problem, policy, where or ())
    make_folder(target.parent)
    with console.status("drawing"):
        path = write_report(results, target, every=every)
    _say_left_out(console, results)
    say_where(console, "The report is ", path)


def _say_some(console: Console, shown: StudyResults, results: StudyResults) -> None:
    """Say which problems are shown, if these are not all."""
    if len(shown.problems) < len(results.problems):
        say(
            console,
            f"These are {len(shown.problems)} of {len(results.problems):,} problems, on which the order of "
            "policies is least like that of all together; --all takes every problem, --problem one.",
        )


def _say_left_out(console: Console, results: StudyResults) -> None:
    """Say what of a study is not complete."""
    if results.left_out:
        console.print(Text(visible(results.left_out), "yellow"), highlight=False, soft_wrap=True)
