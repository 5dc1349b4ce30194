"""``brigand bounds``: a policy's bounds on one problem, as numbers, and beside the measured regret."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from brigand import checks
from brigand.cli.bandit_text import visible
from brigand.cli.console import make_console, say, say_where
from brigand.errors import InvalidValueError
from brigand.files import make_folder
from brigand.words import counted

if TYPE_CHECKING:
    from brigand.environments.environment import Environment
    from brigand.simulation.results import Results
    from brigand.theory.bound import Bound


def bounds(
    policy: Annotated[str, typer.Option(help="Name of a policy, see 'brigand policies'.")] = "FE-Exp",
    environment: Annotated[
        Path | None, typer.Option(help="A JSON file of one environment, in place of a random instance.")
    ] = None,
    family: Annotated[
        str | None,
        typer.Option(
            help="Rewards of the random instance: bernoulli, gaussian (by default), exponential, poisson."
        ),
    ] = None,
    arms: Annotated[int | None, typer.Option(help="K of the random instance, by default 10.")] = None,
    instance_seed: Annotated[
        int | None,
        typer.Option(help="Seed of the random instance, by default 1: the paper's authors' instance."),
    ] = None,
    horizon: Annotated[int, typer.Option(help="T, the number of steps.")] = 100_000,
    plot: Annotated[
        bool, typer.Option("--plot", help="Simulate the policy, and draw its regret among the bounds.")
    ] = False,
    runs: Annotated[int, typer.Option(help="Replications for --plot.")] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the runs.")] = 0,
    workers: Annotated[int | None, typer.Option(help="Threads. By default all processors.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the figure; made if it is not there.")] = Path(
        "bounds"
    ),
) -> None:
    """Print the bounds on a policy's regret at T: as the paper prints them, corrected, and standard ones.

    With --plot, also the measured regret, and the figure POLICY.png, .svg and .pdf.
    """
    from brigand.policies.catalogue import CATALOGUE

    policy = CATALOGUE.name_of(policy)
    checks.steps("horizon", horizon)
    checks.integer("runs", runs, 1, checks.MAX_STEPS)
    checks.integer("seed", seed, 0)
    if workers is not None:
        checks.integer("workers", workers, 1)
    problem, title = _problem(environment, family, arms, instance_seed, horizon)
    folder = make_folder(out) if plot else None
    from brigand import theory

    console = make_console()
    title = f"{policy} on {title}"
    given = theory.bounds(problem, CATALOGUE[policy], horizon)
    if given:
        _print(console, title, given, horizon, float(problem.worst_regret(horizon)))
    else:
        say(console, f"{title}: no bounds are known here.")
    if folder is not None:
        try:
            results = _simulate(console, problem, policy, horizon, runs, seed, workers)
        except KeyboardInterrupt:
            console.print("Stopped; no figure was written.")
            raise typer.Exit(130) from None
        _draw(console, results, policy, title, given, folder)


def _problem(
    path: Path | None, family: str | None, arms: int | None, instance_seed: int | None, horizon: int
) -> tuple[Environment, str]:
    """Return the environment, and what to call it."""
    from brigand.environments.environment import read_environment
    from brigand.environments.instances import random_environment

    if path is not None:
        if (family, arms, instance_seed) != (None, None, None):
            raise InvalidValueError(
                "--environment is one problem, --family, --arms and --instance-seed make another: give one."
            )
        given = read_environment(path)
        return given, f"{path.name}, K = {given.n_arms}"
    family = "gaussian" if family is None else family
    arms = 10 if arms is None else checks.integer("arms", arms, 1)
    number = 1 if instance_seed is None else checks.integer("instance-seed", instance_seed, 0, 2**32 - 1)
    instance = random_environment(family, arms, horizon, seed=number)
    return instance, f"{family} rewards, K = {arms}, instance {number}"


def _print(console: Console, title: str, given: Sequence[Bound], horizon: int, trivial: float) -> None:
    """Print the table of bounds, and below it why some have no number."""
    from brigand.theory.bound import KINDS

    table = Table(title=visible(title), title_justify="left", caption_justify="left")
    for column in ("bound", "version", "what it says"):
        table.add_column(column, overflow="fold")
    table.add_column(f"regret at\nT = {horizon:,}", justify="right", no_wrap=True)
    table.add_column("source", overflow="fold")
    for bound in given:
        cell = "–"
        if bound.holds:
            value = float(bound.regret([horizon])[0])
            cell = _number(value)
            if value >= trivial * (1 - 1e-9):
                cell = f"* {cell}"
                table.caption = (
                    f"* trivial: no policy can lose more than T times the largest gap, {_number(trivial)}."
                )
        table.add_row(bound.name, bound.version, KINDS[bound.kind], cell, bound.source)
    console.print(table)
    failed: dict[str, list[str]] = {}
    for bound in given:
        if not bound.holds:
            failed.setdefault(bound.missing, []).append(f"{bound.name} {bound.version}")
    if failed:
        console.print("–: what is needed and not so here")
    for missing, names in failed.items():
        listed = ", ".join(dict.fromkeys(names))
        say(console, f"  {listed}: {missing}")


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "infinite" if value > 0 else "–"
    if value >= 1e9:
        return f"{value:.3g}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:,.1f}"


def _simulate(
    console: Console,
    problem: Environment,
    policy: str,
    horizon: int,
    runs: int,
    seed: int,
    workers: int | None,
) -> Results:
    from brigand.policies.catalogue import CATALOGUE
    from brigand.simulation.run import simulate

    with console.status("simulating") as status:
        return simulate(
            problem,
            {policy: CATALOGUE[policy]},
            horizon,
            runs,
            seed,
            method="auto",
            workers=workers,
            progress=lambda done, total: status.update(f"simulating: {done:,} of {total:,} runs"),
        )


def _draw(
    console: Console, results: Results, policy: str, title: str, given: Sequence[Bound], folder: Path
) -> None:
    """Print the measured regret, and write the figure."""
    from brigand.figures import style
    from brigand.figures.bounds import bounds as draw

    row = results.summary().loc[policy]
    runs = int(row["replications"])
    interval = f", 95 % interval {_number(row['low'])} to {_number(row['high'])}" if runs > 1 else ""
    console.print(
        f"Measured: mean regret {_number(row['mean'])} at T{interval}; median {_number(row['median'])}; "
        f"{counted(runs, 'run')}.",
        soft_wrap=True,
        highlight=False,
    )
    style.save(draw(results, policy, title, given), folder, policy)
    say_where(console, "The figure is in ", folder)
