"""``brigand tune``: the best exploration sequence for a family of problems."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from brigand import checks
from brigand.cli.bandit_text import visible
from brigand.cli.console import make_console, say, say_where
from brigand.errors import InvalidValueError
from brigand.files import make_folder

if TYPE_CHECKING:
    from brigand.tuning.search import Tuned


def tune(
    family: Annotated[
        str, typer.Option(help="Rewards of random instances: bernoulli, gaussian, exponential, poisson.")
    ] = "gaussian",
    arms: Annotated[int, typer.Option(help="K, the number of arms of random instances.")] = 10,
    environment: Annotated[
        Path | None, typer.Option(help="A JSON file of one environment, in place of random instances.")
    ] = None,
    horizon: Annotated[int, typer.Option(help="T, the number of steps.")] = 100_000,
    quantile: Annotated[
        float | None,
        typer.Option(help="Make this quantile of the regret small, say 0.99; else the mean."),
    ] = None,
    held_out: Annotated[int, typer.Option(help="New problems for the final estimates.")] = 10_000,
    seed: Annotated[
        int, typer.Option(help="Seed of the problems and runs: another one gives other problems.")
    ] = 0,
    workers: Annotated[int | None, typer.Option(help="Threads. By default all processors.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the figure; made if it is not there.")] = Path(
        "tuning"
    ),
) -> None:
    """Find the exploration sequence with the least regret, and compare it with other policies."""
    from brigand.figures import style
    from brigand.tuning import search
    from brigand.tuning.evaluate import Objective, Problems

    console = make_console()
    checks.steps("horizon", horizon, 2)
    checks.integer("held-out", held_out, 2)
    checks.integer("seed", seed, 0)
    if workers is not None:
        checks.integer("workers", workers, 1)
    if quantile is not None and not 0 < quantile < 1:
        raise InvalidValueError(f"quantile must be in (0, 1), not {quantile!r}.")
    if environment is None:
        problems = Problems.random(family, arms, horizon, workers, seed)
        title = f"{family} rewards, K = {arms}, random instances, T = {horizon:,}"
    else:
        from brigand.environments.environment import read_environment

        given = read_environment(environment)
        problems, arms = Problems.fixed(given, horizon, workers, seed), given.n_arms
        title = f"{environment.name}, K = {arms}, T = {horizon:,}"
    folder = make_folder(out)
    try:
        with console.status("tuning") as status:
            found = search.tune(
                problems,
                arms,
                Objective(quantile),
                held_out=held_out,
                progress=lambda text: status.update(text),
            )
    except KeyboardInterrupt:
        console.print("Stopped; nothing was written.")
        raise typer.Exit(130) from None
    console.print(_table(title, found))
    low, high = found.difference
    verdict = "less" if found.better else "not shown to be less"
    if found.winner == search.PAPER["FE-Exp"]:
        console.print("No candidate was better than FE-Exp itself.")
    else:
        console.print(
            f"The {found.objective.name} of the winner's regret is {verdict} than FE-Exp's, on problems that "
            f"no choice has seen: difference {low:,.1f} to {high:,.1f} (95 %).",
            soft_wrap=True,
        )
    say(console, found.line)
    style.save(search.draw(found, horizon, title), folder, "tuning")
    say_where(console, "The figure is in ", folder)


def _table(title: str, found: Tuned) -> Table:
    from brigand.tuning.evaluate import Objective

    name = found.objective.name
    table = Table(
        title=f"{visible(title)}\nregret at T on new problems",
        title_justify="left",
        caption="95 % intervals over problems; the difference to FE-Exp is paired. The mean of FE is of mean "
        "regrets, rare runs included, where these can be had; quantiles are of single runs.",
        caption_justify="left",
    )
    table.add_column("policy")
    for column in ("problems", name, "95 %", "median", "99 %", "less FE-Exp"):
        table.add_column(column, justify="right")
    paper = found.measured["FE-Exp"].judged[:, -1]
    for label, measured in found.measured.items():
        regret, judged = measured.regret[:, -1], measured.judged[:, -1]
        low, high = found.objective.interval(judged)
        paired = min(len(judged), len(paper))
        gap = found.objective.difference(judged[:paired], paper[:paired])
        table.add_row(
            label,
            f"{len(judged):,}",
            f"{found.objective.value(judged):,.1f}",
            f"{low:,.1f} – {high:,.1f}",
            *(f"{Objective(q).value(regret):,.1f}" for q in (0.5, 0.99)),
            "–" if label == "FE-Exp" else f"{gap[0]:,.1f} – {gap[1]:,.1f}",
        )
    return table
