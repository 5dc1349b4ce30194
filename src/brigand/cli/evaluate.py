"""``brigand evaluate``: what a fixed rule would have earned on a log."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer

from brigand.cli.bandit import stoppable
from brigand.cli.bandit_text import visible
from brigand.cli.console import make_console
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
    given,
)
from brigand.errors import InvalidValueError, ResultFileError


def evaluate(
    file: LogFile,
    target: Annotated[
        list[str],
        typer.Option(
            help="'uniform'; an arm; ARM=PROBABILITY, given for each arm; or a file RULE.json with "
            "probabilities by arm, or by segment and arm."
        ),
    ],
    arm: Arm = "arm",
    reward: Reward = "reward",
    propensity: Propensity = None,
    time: Time = None,
    segment: Segment = None,
    available: Available = None,
    time_unit: TimeUnit = None,
    skip: Skip = False,
    interval: Annotated[
        str, typer.Option(help="bootstrap, normal; bernstein, anytime, which need --support.")
    ] = "bootstrap",
    support: Annotated[
        tuple[float, float] | None, typer.Option(metavar="LOW HIGH", help="No reward can leave this range.")
    ] = None,
    max_weight: Annotated[float | None, typer.Option(help="No weight can exceed this.")] = None,
    clip: Annotated[float | None, typer.Option(help="Cut weights above this.")] = None,
    level: Annotated[float, typer.Option(help="Of each interval.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of a table.")] = False,
) -> None:
    """Print what a fixed rule would have earned, had it chosen in place of what chose.

    Columns that are not given by name are read if they are there: propensity, time, segment, available.
    """
    from brigand.logs.evaluate import evaluate as value_of
    from brigand.logs.log import Log

    columns = {"arm": arm, "reward": reward, "propensity": propensity, "time": time}
    columns |= {"segment": segment, "available": available, "time_unit": time_unit}
    rule = _rule(target)
    with stoppable("nothing was written"), make_console(stderr=True).status("evaluating"):
        found = value_of(
            Log.read(file, **given(skip, **columns)),
            rule,
            interval=interval,
            support=support,
            max_weight=max_weight,
            clip=clip,
            level=level,
            seed=seed,
        )
    if as_json:
        estimates = [
            {name: _number(value) for name, value in estimate._asdict().items()}
            for estimate in found.estimates
        ]
        values = {
            "target": found.target,
            "interval": found.interval,
            "level": found.level,
            "estimates": estimates,
            "diagnostics": {name: _number(value) for name, value in found.diagnostics.items()},
            "warnings": found.warnings,
        }
        typer.echo(json.dumps(values, indent=2))
    else:
        for line in repr(found).splitlines():
            typer.echo(visible(line))


def _rule(given: list[str]) -> Any:
    """Return a target from what stands behind --target."""
    if len(given) == 1 and given[0].endswith(".json"):
        try:
            return json.loads(Path(given[0]).read_text(encoding="utf-8"))
        except OSError as error:
            raise ResultFileError(f"{given[0]!r} cannot be read: {error.strerror or error}.") from error
        except ValueError as error:
            raise InvalidValueError(f"{given[0]!r} is no JSON: {error}.") from None
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    chances: dict[str, float] = {}
    for text in given:
        name, found, chance = text.rpartition("=")
        if not found or name in chances:
            raise InvalidValueError(f"--target must be ARM=PROBABILITY, once for each arm, not {text!r}.")
        try:
            chances[name] = float(chance)
        except ValueError:
            raise InvalidValueError(f"--target {text!r}: {chance!r} is no number.") from None
    return chances


def _number(value: object) -> object:
    """Return what JSON has a word for."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
