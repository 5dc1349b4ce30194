"""The options of commands that read a log: its file, and which columns hold what."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def _column(what: str) -> Any:
    return typer.Option(metavar="COLUMN", help=what)


LogFile = Annotated[Path, typer.Argument(metavar="FILE", help="Its name ends in .csv, .csv.gz or .parquet.")]
Arm = Annotated[str, _column("What was chosen.")]
Reward = Annotated[str, _column("What came of it: a number.")]
Propensity = Annotated[str | None, _column("Probability with which the arm was chosen.")]
Time = Annotated[str | None, _column("When it was chosen: ISO 8601.")]
Told = Annotated[str | None, _column("When the reward came.")]
Segment = Annotated[str | None, _column("What the decision was made for: a country, a page.")]
Available = Annotated[str | None, _column("Arms that were available: a|b|c.")]
Unit = Annotated[str | None, _column("Who the decision was made for: a user, a session.")]
TimeUnit = Annotated[
    str | None, typer.Option(metavar="s|ms|us", help="Of times that are numbers, since 1970.")
]
Skip = Annotated[bool, typer.Option("--skip", help="Leave bad rows out, and count them.")]


def given(skip: bool = False, **columns: str | None) -> Any:
    """Return what was given as arguments of `brigand.Log.read`."""
    found = {name: value for name, value in columns.items() if value is not None}
    return found | {"errors": "skip" if skip else "raise"}
