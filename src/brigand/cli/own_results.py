"""The studies of ``brigand paper`` that are not the paper's: ``docs/results.md`` says what they show."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from brigand.files import atomic

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure


def horizon(
    console: Console, folder: Path, last: int | None, runs: int | None, seed: int, workers: int | None
) -> None:
    """Write the figure and the data of the horizon study, and print its medians and stuck runs."""
    from brigand.papers import horizon as study

    horizons = tuple(t for t in study.HORIZONS if last is None or t <= last) or study.HORIZONS[:1]
    run = partial(study.study, horizons, runs=runs or study.RUNS, seed=seed, workers=workers)
    data = studied(console, folder, "horizon", run, study.draw_study)
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


def delays(
    console: Console, folder: Path, horizon: int | None, runs: int | None, seed: int, workers: int | None
) -> None:
    """Write the figure and the data of the study of delays, and print its means."""
    from brigand.papers import delays as study

    run = partial(study.study, horizon or study.HORIZON, runs=runs or study.RUNS, seed=seed, workers=workers)
    data = studied(console, folder, "delays", run, study.draw_study)
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


def worst_case(
    console: Console, folder: Path, last: int | None, runs: int | None, seed: int, workers: int | None
) -> None:
    """Write the figure and the data of the study of the worst gap, and print its means and slopes."""
    from brigand.papers import worst_case as study

    run = partial(study.study, last, runs=runs or study.RUNS, seed=seed, workers=workers)
    data = studied(console, folder, "worst-case", run, study.draw_study)
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


def stuck(
    console: Console, folder: Path, horizon: int | None, runs: int | None, seed: int, workers: int | None
) -> None:
    """Write the figure and the data of the study of stuck runs, and print its probabilities and means."""
    from brigand.papers import stuck as study

    run = partial(study.study, horizon or study.HORIZON, runs=runs or study.RUNS, seed=seed, workers=workers)
    data = studied(console, folder, "stuck", run, study.draw_study)
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


def changing(
    console: Console, folder: Path, longest: int | None, runs: int | None, seed: int, workers: int | None
) -> None:
    """Write the figure and the data of the study of changing rewards, and print its means and slopes."""
    from brigand.papers import changing as study

    run = partial(study.study, longest, runs=runs or study.RUNS, seed=seed, workers=workers)
    data = studied(console, folder, "changing", run, study.draw_study)
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


def heavy_tails(
    console: Console, folder: Path, horizon: int | None, runs: int | None, seed: int, workers: int | None
) -> None:
    """Write the figure and the data of the study of heavy tails, and print its means."""
    from brigand.papers import heavy_tails as study

    run = partial(study.study, horizon or study.HORIZON, runs=runs or study.RUNS, seed=seed, workers=workers)
    data = studied(console, folder, "heavy-tails", run, study.draw_study)
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


def studied(
    console: Console,
    folder: Path,
    name: str,
    run: Callable[..., xr.Dataset],
    draw: Callable[[xr.Dataset], Figure],
) -> xr.Dataset:
    """Run a study that is not the paper's, and write its figure and its data."""
    from brigand.figures import style
    from brigand.simulation.results import write_netcdf

    with progress_bar(console) as progress:
        data = run(progress=partial(advance, progress, progress.add_task(name, total=None)))
    write_netcdf(data, folder / f"{name}.nc")
    write_csv(data.to_dataframe(), folder / f"{name}.csv")
    style.save(draw(data), folder, name)
    return data


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """Write a table, whole or not at all."""
    with atomic(path) as temporary:
        table.to_csv(temporary)


def advance(progress: Progress, task: TaskID, done: int, total: int) -> None:
    """Show how many runs are done."""
    progress.update(task, completed=done, total=total)


def progress_bar(console: Console) -> Progress:
    """Return a bar that counts runs, and goes when it is done."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("runs"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )


STUDIES: dict[str, Callable[[Console, Path, int | None, int | None, int, int | None], None]] = {
    "horizon": horizon,
    "delays": delays,
    "worst-case": worst_case,
    "stuck": stuck,
    "changing": changing,
    "heavy-tails": heavy_tails,
}
"""By the name of the figure: each takes console, folder, horizon, runs, seed, workers."""
