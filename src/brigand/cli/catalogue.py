"""``brigand policies`` and ``brigand cite``: the list of policies, and the papers behind them."""

from __future__ import annotations

import json
import math
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from brigand.cli.console import make_console

WIDE = 100
"""Characters that a line has room for, so that the cost in memory is shown, too."""


def policies(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of a table.")] = False,
) -> None:
    """List every policy: what it assumes, what it must know, how its rule is known, which rewards it accepts.

    The paper's Table 1, read from the classes themselves.
    """
    from brigand.policies.base import KNOWN_FROM
    from brigand.policies.catalogue import CATALOGUE

    if as_json:
        settings = {
            name: {
                "policy": policy.to_json(),
                "assumption": policy.assumption,
                "must_know": policy.must_know,
                "reward_support": [_number(end) for end in policy.reward_support],
                "memory": policy.memory_cost,
                "reference": policy.reference,
                "known_from": policy.known_from,
            }
            for name, policy in CATALOGUE.items()
        }
        typer.echo(json.dumps(settings, indent=2))
        return
    console = make_console()
    wide = console.width >= WIDE
    table = Table(
        title="Policies, with the settings of the common tests",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, int(wide), 0, 0),
        show_edge=False,
    )
    columns = ["name", "rewards assumed", "must be known", "accepts", "known from", "memory"]
    shown = len(columns) - (not wide)  # rather one column less than words that are broken
    rows = [
        [
            name,
            policy.assumption,
            policy.must_know,
            _support(*policy.reward_support),
            policy.known_from,
            policy.memory_cost,
        ][:shown]
        for name, policy in CATALOGUE.items()
    ]
    longest = max(len(word) for policy in CATALOGUE.values() for word in policy.assumption.split())
    for column in columns[:shown]:
        table.add_column(
            column,
            no_wrap=column in ("name", "accepts", "known from"),
            overflow="fold",
            width=longest if column == "rewards assumed" and not wide else None,
        )
    for row in rows:
        table.add_row(*row)
    console.print(table)
    for name, meaning in KNOWN_FROM.items():
        typer.echo(f"{name}: {meaning}.")
    typer.echo("'brigand cite NAME' prints the paper; 'brigand policies --json' the settings.")


def cite(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names of policies, see 'brigand policies'.")
    ] = None,
) -> None:
    """Print the BibTeX entries of policies, and of the paper on forced exploration."""
    from brigand.citations import entries
    from brigand.policies.catalogue import CATALOGUE

    keys = {"qi2024forced"}
    for name in names or []:
        keys.add(CATALOGUE[name].reference)
    for key, entry in entries().items():
        if key in keys:
            typer.echo(entry)


def _support(low: float, high: float) -> str:
    return "any" if math.isinf(low) and math.isinf(high) else f"[{low:g}, {high:g}]"


def _number(end: float) -> float | None:
    return end if math.isfinite(end) else None
