"""``brigand replay``: what other policies would have earned on a log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from brigand.cli.bandit import stoppable
from brigand.cli.console import make_console, print_table, say_where
from brigand.cli.log_columns import Arm, Available, LogFile, Propensity, Reward, Skip, Time, TimeUnit, given


def replay(
    file: LogFile,
    policy: Annotated[
        list[str], typer.Option(help="A name of 'brigand policies'; may be given several times.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the files; made if it is not there.")],
    method: Annotated[
        str,
        typer.Option(
            help="'queue': rates do not change, uses most of the log; 'rejection': row by row, rates may "
            "change; 'resample': a simulation."
        ),
    ] = "queue",
    replications: Annotated[int, typer.Option(help="Runs of each policy.")] = 100,
    resamples: Annotated[int, typer.Option(help="Logs drawn from the log for the intervals.")] = 100,
    horizon: Annotated[
        int | None, typer.Option(help="The most decisions of a run. By default the log's rows.")
    ] = None,
    least: Annotated[int, typer.Option(help="So many rows must count, for 'rejection'.")] = 100,
    seed: Annotated[int, typer.Option(help="Seed of shuffles and choices.")] = 0,
    workers: Annotated[int | None, typer.Option(help="Threads. By default all processors.")] = None,
    arm: Arm = "arm",
    reward: Reward = "reward",
    propensity: Propensity = None,
    time: Time = None,
    available: Available = None,
    time_unit: TimeUnit = None,
    skip: Skip = False,
) -> None:
    """Replay policies that learn on a log: what they would have earned.

    Writes replay.html, a report; the figure replay.png and .svg; the tables replay.csv and replay_curves.csv;
    and replay.json, which says how they were made.
    """
    from brigand.logs.log import Log
    from brigand.logs.replay import replay as play
    from brigand.logs.replay_files import prepare, table, write

    prepare(out)
    columns = {"arm": arm, "reward": reward, "propensity": propensity, "time": time}
    columns |= {"available": available, "time_unit": time_unit}
    console = make_console()
    with stoppable("nothing was written"):
        with make_console(stderr=True).status("reading"):
            log = Log.read(file, **given(skip, **columns))
        with Progress(
            TextColumn("replaying"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("runs"),
            TimeRemainingColumn(),
            console=make_console(stderr=True),
            transient=True,
        ) as bar:
            task = bar.add_task("", total=None)
            found = play(
                log,
                policy,
                method=method,
                replications=replications,
                resamples=resamples,
                horizon=horizon,
                least=least,
                seed=seed,
                workers=workers,
                progress=lambda done, total: bar.update(task, completed=done, total=total),
            )
        with make_console(stderr=True).status("drawing"):
            write(found, out, file.name)
    print_table(console, table(found))
    say_where(console, "The report is ", out / "replay.html")
