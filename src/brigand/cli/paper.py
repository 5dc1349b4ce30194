"""``brigand paper``: the paper's experiments again."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from brigand import checks
from brigand.errors import UnknownNameError
from brigand.files import atomic, make_folder

if TYPE_CHECKING:
    from brigand.simulation.results import Results


def paper(
    figure: Annotated[
        list[str] | None,
        typer.Option(
            help="Which figure, may be given several times: stationary-bernoulli, stationary-gaussian, "
            "instance, piecewise-bernoulli, piecewise-gaussian. By default all."
        ),
    ] = None,
    protocol: Annotated[
        str, typer.Option(help="'paper' follows the text of the paper, 'authors' the published scripts.")
    ] = "paper",
    runs: Annotated[
        int | None,
        typer.Option(help="Replications. By default the paper's: 100 stationary, 10 piecewise."),
    ] = None,
    instances: Annotated[
        int | None,
        typer.Option(help="Average over so many random instances (1 run each, unless --runs is given)."),
    ] = None,
    horizon: Annotated[int, typer.Option(help="Steps of a run; the tunings follow it.")] = 100_000,
    seed: Annotated[int, typer.Option(help="Seed of the runs.")] = 0,
    workers: Annotated[int | None, typer.Option(help="Threads. By default all processors.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for figures and data; made if it is not there.")] = Path(
        "figures"
    ),
) -> None:
    """Reproduce the experiments of "Forced Exploration in Bandit Problems" (Qi, Zhu, Guo; AAAI 2024).

    For each figure: NAME.png, .svg and .pdf, the results as NAME.nc (read them with brigand.load), the
    statistics of every checkpoint as NAME.csv, and a table of the regret at the last step.
    """
    from brigand.figures import style
    from brigand.papers import forced_exploration as experiments

    console = Console()
    names = figure or list(experiments.FIGURES)
    for name in names:
        if name not in experiments.FIGURES:
            raise UnknownNameError("figure", name, experiments.FIGURES)
    experiments.protocol_named(protocol)
    checks.integer("horizon", horizon, 1)
    checks.integer("seed", seed, 0)
    for option, value in (("runs", runs), ("instances", instances), ("workers", workers)):
        if value is not None:
            checks.integer(option, value, 1)
    folder = make_folder(out)
    for name in names:
        if name == "instance":
            style.save(experiments.draw_instances(protocol, horizon), folder, name)
            continue
        with _progress(console) as progress:
            task = progress.add_task(name, total=None)
            results = experiments.run_experiment(
                name,
                protocol,
                horizon=horizon,
                runs=runs,
                instances=instances,
                seed=seed,
                workers=workers,
                progress=partial(_advance, progress, task),
            )
        results.save(folder / f"{name}.nc")
        with atomic(folder / f"{name}.csv") as temporary:
            results.statistics().to_csv(temporary)
        style.save(experiments.draw_experiment(name, results), folder, name)
        console.print(_table(f"{experiments.EXPERIMENTS[name].title}, protocol '{protocol}'", results))
    console.print(f"Figures and data are in [bold]{folder.resolve()}[/]", soft_wrap=True)


def _advance(progress: Progress, task: TaskID, done: int, total: int) -> None:
    progress.update(task, completed=done, total=total)


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("runs"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )


def _table(title: str, results: Results) -> Table:
    """Return the table of regret at the last step."""
    summary = results.summary()
    step = int(results.dataset["step"][-1])
    unit = "instances" if "instance" in results.dataset.dims else "runs"
    table = Table(
        title=f"{title}\nregret at step {step:,}, {int(summary['replications'].iloc[0])} {unit}",
        title_justify="left",
        caption="± 95 %: Student interval of the mean. 10 %, 90 %: quantiles.",
        caption_justify="left",
    )
    table.add_column("policy")
    for column in ("mean", "± 95 %", "median", "10 %", "90 %"):
        table.add_column(column, justify="right")
    for name, row in summary.iterrows():
        half = "–" if math.isnan(row["high"]) else f"{row['high'] - row['mean']:,.1f}"
        numbers = (f"{row[key]:,.1f}" for key in ("median", "q10", "q90"))
        table.add_row(str(name), f"{row['mean']:,.1f}", half, *numbers)
    return table
