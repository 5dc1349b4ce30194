"""``brigand run`` and ``brigand schema``: studies that are declared in a file."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from brigand import checks
from brigand.cli.console import make_console, say, say_where
from brigand.errors import InvalidValueError

if TYPE_CHECKING:
    from brigand.studies.run import Load


def run(
    study: Annotated[Path, typer.Argument(help="The study file, YAML; its keys: brigand schema.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the results. By default beside the study file, by its name."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Check the file, say how much work it is, and stop.")
    ] = False,
    workers: Annotated[int | None, typer.Option(help="Threads. By default all processors.")] = None,
    dask: Annotated[
        str | None, typer.Option(help="A Dask cluster in place of threads: tcp://host:port, or local:2.")
    ] = None,
) -> None:
    """Run a study: every policy in every environment. What is already in the folder is not computed again.

    Stop it at any time, also by kill; the same command goes on where it was. Then: brigand compare, brigand
    plot, brigand report.
    """
    from brigand.studies.run import plan_study, run_study

    console = make_console()
    if workers is not None:
        if dask is not None:
            raise InvalidValueError("workers are threads of this process; a Dask cluster has its own.")
        checks.integer("workers", workers, 1)
    folder = out or study.with_suffix("")
    if check:
        _, _, load = plan_study(study, folder)
        _announce(console, load)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    try:
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task("runs", total=None)
            run_study(
                study,
                folder,
                workers=workers,
                dask=dask,
                announce=lambda load: _announce(console, load),
                progress=lambda done, total: bar.update(task, completed=done, total=total),
            )
    except KeyboardInterrupt:
        console.print("Stopped; the same command goes on from here.")
        raise typer.Exit(130) from None
    say_where(console, "Results are in ", folder, "; look at them with")
    say(console, f"  brigand report {shlex.quote(str(folder))}")


def schema() -> None:
    """Print the JSON Schema of study files, by which editors complete and check them."""
    from brigand.studies.model import schema as of_file

    typer.echo(json.dumps(of_file(), indent=2))


def _announce(console: Console, load: Load) -> None:
    """Say how much work there is, and how much of it is done."""
    console.print(
        f"{len(load.cells):,} combinations of policy and problem, {load.runs:,} runs, {load.steps:.3g} "
        f"steps, in {len(load.pieces):,} pieces",
        highlight=False,
        soft_wrap=True,
    )
    done = len(load.pieces) - len(load.missing)
    if done:
        console.print(f"{done:,} pieces are there, {len(load.missing):,} are to be done", highlight=False)
    if load.unused:
        console.print(
            f"{load.unused:,} pieces in the folder are of an earlier version of the study, or of the code, "
            "and are not used",
            highlight=False,
            soft_wrap=True,
        )
