"""``brigand run`` and ``brigand schema``: studies that are declared in a file."""

from __future__ import annotations

import json
import math
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from brigand import checks
from brigand.cli.console import confirm, make_console, say, say_where
from brigand.errors import InvalidValueError, ResultFileError
from brigand.words import counted, duration

if TYPE_CHECKING:
    from brigand.studies.run import Load


MINUTE = 60.0
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A folder that brigand run filled.")]


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
    wait: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="How long the Dask cluster may lack any worker; by default 60."),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="K/N",
            help="Only part K of N, as 1/4: so that N machines do the whole; see brigand merge.",
        ),
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
    if wait is not None:
        checks.number("wait", wait, 0)
    part = None if shard is None else _part(shard)
    folder = out or study.with_suffix("")
    if check:
        _, _, load = plan_study(study, folder)
        _announce(console, load)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    try:
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
            task = bar.add_task("runs", total=None)
            lines = None if console.is_terminal else Lines(console)

            def progress(done: int, total: int) -> None:
                bar.update(task, completed=done, total=total)
                if lines is not None:
                    lines.say(done, total)

            run_study(
                study,
                folder,
                workers=workers,
                dask=dask,
                patience=wait,
                shard=part,
                announce=lambda load: _announce(console, load),
                progress=progress,
            )
    except KeyboardInterrupt:
        console.print("Stopped; the same command goes on from here.")
        raise typer.Exit(130) from None
    say_where(console, "Results are in ", folder, "; look at them with")
    say(console, f"  brigand report {shlex.quote(str(folder))}")


class Lines:
    """Progress where there is no terminal: a line a minute."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._began = self._said = time.monotonic()
        self._first: int | None = None

    def say(self, done: int, total: int) -> None:
        """Say how much is done, if it is time."""
        now = time.monotonic()
        if self._first is None:
            self._first = done
        if now - self._said < MINUTE or done <= self._first:
            return
        left = (total - done) * (now - self._began) / (done - self._first)
        say(self._console, f"{done:,} of {total:,} runs, about {duration(left)} left")
        self._said = now


def _part(text: str) -> tuple[int, int]:
    """Return K and N of ``"K/N"``."""
    k, slash, n = text.partition("/")
    if not (slash and k.isascii() and n.isascii() and k.isdigit() and n.isdigit()):
        raise InvalidValueError(f"shard must be K/N with 1 <= K <= N, such as 1/4, not {text!r}.")
    return int(k), int(n)


def merge(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folders that brigand run filled.")],
    out: Annotated[Path, typer.Option(help="Folder for all of it; a new one, or of the same study.")],
) -> None:
    """Put parts of a study together that were computed in several folders: brigand run --shard, say."""
    from brigand.studies.merge import merge

    console = make_console()
    with console.status("copying"):
        merged = merge(folders, out)
    for stretch in merged.damaged:
        say(console, f"damaged, and left out: {stretch}")
    say_where(console, f"{counted(merged.pieces, 'piece')} are in ", out)
    if merged.missing:
        say(console, f"{counted(merged.missing, 'piece')} are still missing: brigand run goes on from there")


def status(folder: Folder) -> None:
    """Say how far a study is, who is computing it, and what failed."""
    from brigand.studies.results import StudyResults
    from brigand.studies.running import notes

    console = make_console()
    at_work = list(notes(folder))
    try:
        results = StudyResults(folder)
    except ResultFileError:
        if not at_work:
            raise
    else:
        cells, pieces = results.progress()
        say(
            console,
            f"{results.name}: {cells} combinations of policy and problem, {pieces} pieces are there",
        )
        if results.left_out:
            say(console, results.left_out)
    for note in at_work:
        where = f"process {note.pid} on {note.host}"
        runs = f"{note.done:,} of {note.total:,} runs"
        if note.failed:
            say(console, f"failed at {note.at:%Y-%m-%d %H:%M} UTC, {where}, after {runs}: {note.failed}")
        elif note.alive:
            left = "" if math.isnan(note.left) else f", about {duration(note.left)} left"
            say(console, f"running since {note.began:%Y-%m-%d %H:%M} UTC, {where}: {runs}{left}")
        else:
            say(console, f"ended without a word after {note.at:%Y-%m-%d %H:%M} UTC, {where}: {runs}")


def verify(
    folder: Folder,
    repair: Annotated[
        bool, typer.Option("--repair", help="Compute what is damaged or missing again, from DIR/study.yaml.")
    ] = False,
) -> None:
    """Read all pieces of a study, and say which are not as they were written; then the status is 1."""
    from brigand.studies import upkeep

    console = make_console()
    with console.status("reading"):
        found = upkeep.verify(folder)
    for stretch in found.damaged:
        say(console, f"damaged: {stretch}")
    say(
        console,
        f"{counted(found.pieces, 'piece')}: {found.missing:,} missing or damaged, "
        f"{found.pieces - found.missing:,} as they were written",
    )
    bad = bool(found.missing or found.damaged)
    if bad and not repair:
        raise typer.Exit(1)
    if bad:
        with console.status("computing"):
            upkeep.repair(folder)
        aside = f"; what was damaged is in {folder / 'damaged'}" if found.damaged else ""
        say(console, f"{counted(found.missing, 'piece')} computed{aside}")


def clean(
    folder: Folder,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove what a study does not want any more: pieces of its earlier versions, and what kills left."""
    from brigand.studies import upkeep

    console = make_console()
    found = upkeep.unused(folder)
    what = f"{counted(len(found.pieces), 'piece')} and {counted(len(found.files), 'file')}"
    if found.pieces or found.files:
        confirm(f"remove {what} ({found.size / 1e6:.1f} MB) from {str(folder)!r}", yes)
        upkeep.remove(folder, found)
    say(console, f"{what} removed")


def schema() -> None:
    """Print the JSON Schema of study files, by which editors complete and check them."""
    from brigand.studies.model import schema as of_file

    typer.echo(json.dumps(of_file(), indent=2))


def _announce(console: Console, load: Load) -> None:
    """Say how much work there is, and how much of it is done."""
    console.print(
        f"{len(load.cells):,} combinations of policy and problem, {load.runs:,} runs, {load.steps:.3g} "
        f"steps, in {load.blocks:,} pieces",
        highlight=False,
        soft_wrap=True,
    )
    done = load.blocks - len(load.missing)
    if done:
        console.print(f"{done:,} pieces are there, {len(load.missing):,} are to be done", highlight=False)
    if load.damaged:
        for stretch in load.damaged:
            say(console, f"damaged: {stretch}")
        say(console, "that goes into the folder damaged, and is computed again")
    if load.unused:
        console.print(
            f"{load.unused:,} pieces in the folder are of an earlier version of the study, or of the code, "
            "and are not used; brigand clean removes them",
            highlight=False,
            soft_wrap=True,
        )
