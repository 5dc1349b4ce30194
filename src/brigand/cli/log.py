"""``brigand log``: logs of decisions, from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from brigand.cli.bandit import stoppable
from brigand.cli.console import make_console, say
from brigand.errors import InvalidValueError

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=False,
)


@app.callback()
def log() -> None:
    """Tell what is in a log of decisions that were made, and what it is good for."""


def _column(what: str) -> Any:
    return typer.Option(metavar="COLUMN", help=what)


@app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Its name ends in .csv, .csv.gz or .parquet.")],
    arm: Annotated[str, _column("What was chosen.")] = "arm",
    reward: Annotated[str, _column("What came of it: a number.")] = "reward",
    propensity: Annotated[str | None, _column("Probability with which the arm was chosen.")] = None,
    time: Annotated[str | None, _column("When it was chosen: ISO 8601.")] = None,
    told: Annotated[str | None, _column("When the reward came.")] = None,
    segment: Annotated[str | None, _column("What the decision was made for: a country, a page.")] = None,
    available: Annotated[str | None, _column("Arms that were available: a|b|c.")] = None,
    unit: Annotated[str | None, _column("Who the decision was made for: a user, a session.")] = None,
    time_unit: Annotated[
        str | None, typer.Option(metavar="s|ms|us", help="Of times that are numbers, since 1970.")
    ] = None,
    skip: Annotated[bool, typer.Option("--skip", help="Leave bad rows out, and count them.")] = False,
) -> None:
    """Check each row of a log, and say what is in it and what it is good for.

    Columns that are not given by name are read if they are there: propensity, time, told, segment, available,
    unit. Bad rows are told by their lines, and the command ends with status 1.
    """
    from brigand.logs.log import Log

    options: Any = {
        "arm": arm,
        "reward": reward,
        "propensity": propensity,
        "time": time,
        "told": told,
        "segment": segment,
        "available": available,
        "unit": unit,
        "time_unit": time_unit,
        "errors": "skip" if skip else "raise",
    }
    given: Any = {name: value for name, value in options.items() if value is not None}
    try:
        with stoppable("nothing was checked"), make_console(stderr=True).status("reading"):
            summary = Log.read(file, **given).summary()
    except InvalidValueError as error:
        say(make_console(stderr=True), f"Error: {error}")
        raise typer.Exit(1) from None
    typer.echo(str(summary))
