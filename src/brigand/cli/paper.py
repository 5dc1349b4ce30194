"""``brigand paper``: the paper's experiments again."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from brigand import checks
from brigand.cli.console import make_console, say_where
from brigand.cli.own_results import STUDIES, advance, progress_bar, write_csv
from brigand.errors import InvalidValueError, UnknownNameError
from brigand.files import make_folder
from brigand.words import INTERVAL, number, share

if TYPE_CHECKING:
    from brigand.simulation.results import Results


def paper(
    figure: Annotated[
        list[str] | None,
        typer.Option(
            help="Which figure, may be given several times: stationary-bernoulli, stationary-gaussian, "
            "instance, piecewise-bernoulli, piecewise-gaussian; by default these. And horizon: T up to "
            "10^12; delays: rewards that come late; worst-case: which f is best on the worst gap; stuck: how "
            "often FE is stuck, and what that costs; changing: FE-Restart where rewards change; "
            "heavy-tails: FE-Trimmed, which needs no moments."
        ),
    ] = None,
    protocol: Annotated[
        str, typer.Option(help="'paper' follows the text of the paper, 'authors' the published scripts.")
    ] = "paper",
    runs: Annotated[
        int | None,
        typer.Option(
            help="Replications. By default the paper's: 100 stationary, 10 piecewise; 10,000 for horizon, "
            "100 for delays, 1,600 for worst-case, 10,000 for stuck, 200 for changing, 100 for heavy-tails."
        ),
    ] = None,
    instances: Annotated[
        int | None,
        typer.Option(help="Average over so many random instances (1 run each, unless --runs is given)."),
    ] = None,
    horizon: Annotated[
        int | None,
        typer.Option(
            help="Steps of a run, by default 100,000, for stuck 10^6; the tunings follow it. For the figure "
            "horizon, its last T, by default 10^12."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the runs.")] = 0,
    with_bounds: Annotated[
        bool,
        typer.Option(
            "--with-bounds",
            help="Show in the figures of regret the smallest proved upper bound of each policy.",
        ),
    ] = False,
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
    from brigand.simulation.ahead import compile_ahead
    from brigand.simulation.plan import check_workers

    console = make_console()
    # The instance figure shows the authors' instance: with random ones, only if it is asked for.
    names = figure or [name for name in experiments.FIGURES if instances is None or name != "instance"]
    for name in names:
        if name not in (*experiments.FIGURES, *STUDIES):
            raise UnknownNameError("figure", name, (*experiments.FIGURES, *STUDIES))
    experiments.protocol_named(protocol)
    checks.integer("seed", seed, 0)
    for option, value in (
        ("horizon", horizon),
        ("runs", runs),
        ("instances", instances),
        ("workers", workers),
    ):
        if value is not None:
            checks.integer(option, value, 1, checks.MAX_STEPS)
    if with_bounds and instances is not None:
        raise InvalidValueError(
            "--with-bounds needs the authors' instance: bounds belong to one, not to many."
        )
    folder = make_folder(out)
    steps = horizon or experiments.HORIZON
    try:
        with console.status("compiling"):
            compile_ahead(experiments.players(names, protocol, steps), check_workers(workers))
        for name in names:
            if name in STUDIES:
                STUDIES[name](console, folder, horizon, runs, seed, workers)
                continue
            if name == "instance":
                _instance(console, folder, protocol, steps)
                continue
            with progress_bar(console) as progress:
                results = experiments.run_experiment(
                    name,
                    protocol,
                    horizon=steps,
                    runs=runs,
                    instances=instances,
                    seed=seed,
                    workers=workers,
                    progress=partial(advance, progress, progress.add_task(name, total=None)),
                )
            results.save(folder / f"{name}.nc")
            write_csv(results.statistics(), folder / f"{name}.csv")
            style.save(experiments.draw_experiment(name, results, with_bounds), folder, name)
            console.print(_table(f"{experiments.EXPERIMENTS[name].title}, protocol '{protocol}'", results))
    except KeyboardInterrupt:
        say_where(console, "Stopped. What is in ", folder, " is whole.")
        raise typer.Exit(130) from None
    say_where(console, "Figures and data are in ", folder)


def _instance(console: Console, folder: Path, protocol: str, horizon: int) -> None:
    """Write the figure and the data of the two piecewise stationary problems, and print their means."""
    from brigand.figures import style
    from brigand.papers import forced_exploration as experiments
    from brigand.simulation.results import write_netcdf

    environments = experiments.instances_of(protocol, horizon)
    data = experiments.instance_table(environments)
    write_netcdf(data, folder / "instance.nc")
    write_csv(data.to_dataframe(), folder / "instance.csv")
    style.save(experiments.draw_instances(environments, horizon), folder, "instance")
    table = Table(
        title=f"The authors' piecewise problems, protocol '{protocol}': means", title_justify="left"
    )
    for column in ("rewards", "from step", *(f"arm {k}" for k in data["arm"].to_numpy())):
        table.add_column(column, justify="right" if column != "rewards" else "left")
    for family, environment in environments.items():
        for start, means in zip(environment.starts, environment.means, strict=True):
            best = means.max()
            cells = (Text(f"{mean:.3f}", "bold" if mean == best else "") for mean in means)
            table.add_row(family, f"{start:,}", *cells)
    console.print(table)


def _table(title: str, results: Results) -> Table:
    """Return the table of regret at the last step."""
    summary = results.summary()
    step = int(results.dataset["step"][-1])
    unit = "instances" if "instance" in results.dataset.dims else "runs"
    table = Table(
        title=f"{title}\nregret at step {step:,}, {int(summary['replications'].iloc[0])} {unit}",
        title_justify="left",
        caption=f"{INTERVAL} 10 %, 90 %: quantiles.",
        caption_justify="left",
    )
    table.add_column("policy")
    for column in ("mean", "95 %", "unseen", "worst 1 %", "median", "10 %", "90 %"):
        table.add_column(column, justify="right")
    for name, row in summary.iterrows():
        interval = "–" if math.isnan(row["high"]) else f"{number(row['low'])} to {number(row['high'])}"
        numbers = (number(row[key]) for key in ("median", "q10", "q90"))
        unseen, top = number(row["unseen"]), share(row["top"], int(row["replications"]))
        table.add_row(str(name), number(row["mean"]), interval, unseen, top, *numbers)
    return table
