"""``brigand paper``: the paper's experiments again."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from brigand import checks
from brigand.cli.console import make_console, say_where
from brigand.errors import InvalidValueError, UnknownNameError
from brigand.files import atomic, make_folder
from brigand.words import INTERVAL, number, share

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

    from brigand.simulation.results import Results

BESIDE = ("horizon", "delays", "worst-case", "stuck", "changing", "heavy-tails")
"""Figures that are not the paper's."""


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
        if name not in (*experiments.FIGURES, *BESIDE):
            raise UnknownNameError("figure", name, (*experiments.FIGURES, *BESIDE))
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
            if name == "horizon":
                _horizon(console, folder, horizon, runs, seed, workers)
                continue
            if name == "worst-case":
                _worst_case(console, folder, horizon, runs, seed, workers)
                continue
            if name == "changing":
                _changing(console, folder, horizon, runs, seed, workers)
                continue
            if name == "stuck":
                _stuck(console, folder, horizon, runs, seed, workers)
                continue
            if name == "heavy-tails":
                _heavy_tails(console, folder, steps, runs, seed, workers)
                continue
            if name == "delays":
                _delays(console, folder, steps, runs, seed, workers)
                continue
            if name == "instance":
                _instance(console, folder, protocol, steps)
                continue
            with _progress(console) as progress:
                results = experiments.run_experiment(
                    name,
                    protocol,
                    horizon=steps,
                    runs=runs,
                    instances=instances,
                    seed=seed,
                    workers=workers,
                    progress=partial(_advance, progress, progress.add_task(name, total=None)),
                )
            results.save(folder / f"{name}.nc")
            _write_csv(results.statistics(), folder / f"{name}.csv")
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
    _write_csv(data.to_dataframe(), folder / "instance.csv")
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


def _horizon(
    console: Console, folder: Path, last: int | None, runs: int | None, seed: int, workers: int | None
) -> None:
    """Write the figure and the data of the horizon study, and print its medians and stuck runs."""
    from brigand.papers import horizon as study

    horizons = tuple(t for t in study.HORIZONS if last is None or t <= last) or study.HORIZONS[:1]
    run = partial(study.study, horizons, runs=runs or study.RUNS, seed=seed, workers=workers)
    data = _studied(console, folder, "horizon", run, study.draw_study)
    for problem in data["problem"].to_numpy():
        table = Table(title=f"{problem}: median regret, runs that end on a wrong arm", title_justify="left")
        table.add_column("T", justify="right")
        for policy in data["policy"].to_numpy():
            table.add_column(policy, justify="right")
        for t in horizons:
            row = data.sel(problem=problem, horizon=t)
            cells = zip(row["median"].to_numpy(), row["stuck"].to_numpy(), strict=True)
            table.add_row(f"{t:,}", *(f"{median:,.0f} {stuck:7.1%}" for median, stuck in cells))
        console.print(table)


def _delays(
    console: Console, folder: Path, horizon: int, runs: int | None, seed: int, workers: int | None
) -> None:
    """Write the figure and the data of the study of delays, and print its means."""
    from brigand.papers import delays as study

    run = partial(study.study, horizon, runs=runs or study.RUNS, seed=seed, workers=workers)
    data = _studied(console, folder, "delays", run, study.draw_study)
    for problem in data["problem"].to_numpy():
        part = data.sel(problem=problem)
        table = Table(
            title=f"{problem} rewards: mean regret at T = {horizon:,}, and half of its 95 % interval",
            title_justify="left",
        )
        for column in ("delay", "least", *part["policy"].to_numpy()):
            table.add_column(column, justify="right")
        for delay in data["delay"].to_numpy():
            row = part.sel(delay=delay)
            cells = zip(row["mean"].to_numpy(), row["high"].to_numpy(), strict=True)
            table.add_row(
                f"{delay:,}",
                f"{float(row['least']):,.0f}",
                *(f"{mean:,.0f} ± {high - mean:,.0f}" for mean, high in cells),
            )
        console.print(table)


def _worst_case(
    console: Console, folder: Path, last: int | None, runs: int | None, seed: int, workers: int | None
) -> None:
    """Write the figure and the data of the study of the worst gap, and print its means and slopes."""
    from brigand.papers import worst_case as study

    run = partial(study.study, last, runs=runs or study.RUNS, seed=seed, workers=workers)
    data = _studied(console, folder, "worst-case", run, study.draw_study)
    table = Table(
        title="Mean regret on the worst gap, half of its 95 % interval, and what is proved at least",
        title_justify="left",
    )
    names = data["sequence"].to_numpy()
    for column in ("T", *names):
        table.add_column(str(column), justify="right")
    for t in data["horizon"].to_numpy():
        row = data.sel(horizon=t)
        parts = (row[key].to_numpy() for key in ("mean", "high", "floor"))
        cells = (
            f"{mean:.3g} ± {high - mean:.2g}; {floor:.3g}" if math.isfinite(mean) else ""
            for mean, high, floor in zip(*parts, strict=True)
        )
        table.add_row(f"{t:.0e}".replace("e+0", "e").replace("e+", "e"), *cells)
    slopes = (data[key].to_numpy() for key in ("slope", "slope_low", "slope_high"))
    spans = zip(*slopes, strict=True)
    table.add_row("slope", *(f"{slope:.2f} ({low:.2f} to {high:.2f})" for slope, low, high in spans))
    console.print(table)


def _stuck(
    console: Console, folder: Path, horizon: int | None, runs: int | None, seed: int, workers: int | None
) -> None:
    """Write the figure and the data of the study of stuck runs, and print its probabilities and means."""
    from brigand.papers import stuck as study

    run = partial(study.study, horizon or study.HORIZON, runs=runs or study.RUNS, seed=seed, workers=workers)
    data = _studied(console, folder, "stuck", run, study.draw_study)
    half = 1.96
    often = Table(
        title="FE-Exp: P(regret > x times that of a run that is never stuck), half of its 95 % interval; the "
        "same where the other arm is constant; and the law",
        title_justify="left",
    )
    dear = Table(title="f(r) = exp(r / a): mean regret, in the same way", title_justify="left")
    often.add_column("x", justify="right")
    dear.add_column("a d² / 2", justify="right")
    for gap in data["gap"].to_numpy():
        often.add_column(f"gap {gap:g}", justify="right")
        dear.add_column(f"gap {gap:g}", justify="right")
    for factor in data["factor"].to_numpy():
        row = data.sel(factor=factor)
        varies, still = row["probability"].to_numpy()
        parts = zip(varies, row["probability_error"].to_numpy()[0], still, row["law"].to_numpy(), strict=True)
        often.add_row(
            f"{factor:,g}", *(f"{p:.2g} ± {half * e:.1g}; {q:.2g}; {x:.2g}" for p, e, q, x in parts)
        )
    for rate in data["rate"].to_numpy():
        row = data.sel(rate=rate)
        varies, still = row["mean"].to_numpy()
        parts = zip(varies, row["mean_error"].to_numpy()[0], still, row["law_mean"].to_numpy(), strict=True)
        dear.add_row(
            f"{rate:g}", *(f"{p:,.0f} ± {half * e:,.2g}; {q:,.0f}; {x:,.0f}" for p, e, q, x in parts)
        )
    console.print(often)
    console.print(dear)


def _changing(
    console: Console, folder: Path, longest: int | None, runs: int | None, seed: int, workers: int | None
) -> None:
    """Write the figure and the data of the study of changing rewards, and print its means and slopes."""
    from brigand.papers import changing as study

    run = partial(study.study, longest, runs=runs or study.RUNS, seed=seed, workers=workers)
    data = _studied(console, folder, "changing", run, study.draw_study)
    problems = [str(name) for name in data["problem"].to_numpy()]
    table = Table(title="Mean regret, and half of its 95 % interval", title_justify="left")
    for column in ("policy", "is told", *problems):
        table.add_column(column, justify="left" if column in ("policy", "is told") else "right")
    for name in data["policy"].to_numpy():
        row = data.sel(policy=name)
        cells = zip(row["mean"].to_numpy(), row["high"].to_numpy(), strict=True)
        table.add_row(
            str(name),
            study.TOLD[str(name)],
            *(f"{m:,.0f} ± {high - m:,.0f}" if math.isfinite(m) else "–" for m, high in cells),
        )
    for key, words in (("median", "its median"), ("q95", "its 95 % quantile")):
        values = data[key].sel(policy="FE-Restart").to_numpy()
        table.add_row("", words, *(f"{value:,.0f}" for value in values))
    console.print(table)
    titles = {
        "length": "4 changes",
        "change": f"{data.attrs['fixed']:,} steps",
        "rise": "an arm rises at T / 2",
    }
    for axis, title in titles.items():
        over = "change" if axis == "change" else "length"
        sizes = Table(title=f"{title}: mean regret, half of its interval; window", title_justify="left")
        sizes.add_column("changes" if axis == "change" else "T", justify="right")
        for name in data["sequence"].to_numpy():
            sizes.add_column(str(name), justify="right")
        for value in data[over].to_numpy():
            row = data.sel({over: value})
            parts = (row[f"{axis}_{key}"].to_numpy() for key in ("mean", "high", "window"))
            shown = [
                f"{m:,.0f} ± {high - m:,.0f}" + (f"; {w:,.0f}" if math.isfinite(w) else "")
                for m, high, w in zip(*parts, strict=True)
            ]
            sizes.add_row(f"{value:,}", *shown)
        slopes = zip(data[f"{axis}_slope"].to_numpy(), data[f"{axis}_slope_error"].to_numpy(), strict=True)
        sizes.add_row("slope", *(f"{slope:.2f} ± {1.96 * error:.2f}" for slope, error in slopes))
        console.print(sizes)
    for law in data["still"].to_numpy():
        row = data.sel(still=law)
        console.print(
            f"{law}, nothing changes in {data.attrs['still_steps']:,} steps: FE-Restart begins anew in "
            f"{float(row['restarted']):.0%} of the runs, {float(row['restarts']):.2f} times on average."
        )


def _heavy_tails(
    console: Console, folder: Path, horizon: int, runs: int | None, seed: int, workers: int | None
) -> None:
    """Write the figure and the data of the study of heavy tails, and print its means."""
    from brigand.papers import heavy_tails as study

    run = partial(study.study, horizon, runs=runs or study.RUNS, seed=seed, workers=workers)
    data = _studied(console, folder, "heavy-tails", run, study.draw_study)
    table = Table(
        title="Mean regret, half of its 95 % interval; median; stuck runs (*: constants chosen on this kind)",
        title_justify="left",
    )
    for column in ("problem", *data["policy"].to_numpy()):
        table.add_column(str(column), justify="left" if column == "problem" else "right")
    for problem in data["problem"].to_numpy():
        row = data.sel(problem=problem)
        parts = (row[key].to_numpy() for key in ("mean", "high", "median", "stuck"))
        cells = (
            f"{mean:,.0f} ± {high - mean:,.0f}; {median:,.0f}; {stuck:.0%}" if math.isfinite(mean) else "–"
            for mean, high, median, stuck in zip(*parts, strict=True)
        )
        table.add_row(f"{problem} *" if bool(row["tuned"]) else str(problem), *cells)
    console.print(table)


def _studied(
    console: Console,
    folder: Path,
    name: str,
    run: Callable[..., xr.Dataset],
    draw: Callable[[xr.Dataset], Figure],
) -> xr.Dataset:
    """Run a study that is not the paper's, and write its figure and its data."""
    from brigand.figures import style
    from brigand.simulation.results import write_netcdf

    with _progress(console) as progress:
        data = run(progress=partial(_advance, progress, progress.add_task(name, total=None)))
    write_netcdf(data, folder / f"{name}.nc")
    _write_csv(data.to_dataframe(), folder / f"{name}.csv")
    style.save(draw(data), folder, name)
    return data


def _write_csv(table: pd.DataFrame, path: Path) -> None:
    with atomic(path) as temporary:
        table.to_csv(temporary)


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
