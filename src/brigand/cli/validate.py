"""``brigand validate``: our regrets beside published ones."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from brigand import checks
from brigand.cli.console import make_console, say, say_where
from brigand.files import atomic, make_folder

if TYPE_CHECKING:
    from brigand.papers.validation import Check


def validate(
    quick: Annotated[
        bool,
        typer.Option("--quick", help="The first problem of each table, fewer runs: some minutes."),
    ] = False,
    table: Annotated[
        list[str] | None,
        typer.Option(help="Only the tables whose title begins so, may be given several times."),
    ] = None,
    at_most: Annotated[
        int | None, typer.Option(help="So many runs of a policy on a problem at the most, to be sooner done.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Threads. By default all processors.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the report; made if it is not there.")] = Path(
        "validation"
    ),
) -> None:
    """Compare our regrets with published ones, number by number, and say which agree.

    Writes validation.md. The whole takes hours; what is found is kept in validation.json, so that it can be
    stopped and goes on where it was. Ends with 1 if a number differs for no known reason.
    """
    from brigand.papers import published

    console = make_console()
    for option, value in (("at-most", at_most), ("workers", workers)):
        if value is not None:
            checks.integer(option, value, 2 if option == "at-most" else 1)
    chosen = published.rows(table or (), quick=quick)
    folder = make_folder(out)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task("comparing", total=len(chosen))

            def show(done: int, found: list[Check]) -> None:
                for c in found:
                    _print(bar.console, c)
                bar.update(task, completed=done)

            found = published.run(
                chosen,
                folder / "validation.json",
                most=at_most,
                budget=published.QUICK if quick else None,
                workers=workers,
                progress=show,
            )
    except KeyboardInterrupt:
        say(console, f"Stopped. Run it again with --out {shlex.quote(str(out))} to go on.")
        raise typer.Exit(130) from None
    path = folder / "validation.md"
    with atomic(path) as temporary:
        temporary.write_text(
            "# Published numbers beside ours\n\n" + published.report(found), encoding="utf-8"
        )
    say_where(console, f"{published.summary(found)} The report is ", path)
    if any(c.verdict == "differs" for c in found):
        raise typer.Exit(1)


def _print(console: Console, c: Check) -> None:
    colour = {"agrees": "green", "differs": "red"}.get(c.verdict, "yellow")
    what = f"{c.row.name}: {c.row.table}, {c.row.problem.name}, step {c.step:,}"
    numbers = (
        f" z = {c.z:5.1f}   published {c.published.mean:10,.7g}   "
        f"ours {c.mean:10,.2f} ± {c.error:.2f}   {what}"
    )
    verdict = Text(f"{c.verdict:13}", colour)
    console.print(Text.assemble(verdict, numbers), soft_wrap=True, highlight=False)
