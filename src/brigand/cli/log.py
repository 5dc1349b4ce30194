"""``brigand log``: logs of decisions, from the command line."""

from __future__ import annotations

import typer

from brigand.cli.bandit import stoppable
from brigand.cli.console import make_console, say
from brigand.cli.log_columns import (
    Arm,
    Available,
    LogFile,
    Propensity,
    Reward,
    Segment,
    Skip,
    Time,
    TimeUnit,
    Told,
    Unit,
    given,
)
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


@app.command()
def check(
    file: LogFile,
    arm: Arm = "arm",
    reward: Reward = "reward",
    propensity: Propensity = None,
    time: Time = None,
    told: Told = None,
    segment: Segment = None,
    available: Available = None,
    unit: Unit = None,
    time_unit: TimeUnit = None,
    skip: Skip = False,
) -> None:
    """Check each row of a log, and say what is in it and what it is good for.

    Columns that are not given by name are read if they are there: propensity, time, told, segment, available,
    unit. Bad rows are told by their lines. If there are some, or the file is no log, the command ends with
    status 1.
    """
    from brigand.logs.log import Log

    columns = {"arm": arm, "reward": reward, "propensity": propensity, "time": time, "told": told}
    columns |= {"segment": segment, "available": available, "unit": unit, "time_unit": time_unit}
    try:
        with stoppable("nothing was checked"), make_console(stderr=True).status("reading"):
            summary = Log.read(file, **given(skip, **columns)).summary()
    except InvalidValueError as error:
        say(make_console(stderr=True), f"Error: {error}")
        raise typer.Exit(1) from None
    typer.echo(str(summary))
