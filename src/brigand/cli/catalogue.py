"""``brigand policies`` and ``brigand cite``: the list of policies, and the papers behind them."""

from __future__ import annotations

import json
import math
from typing import Annotated

import typer
from rich.table import Table

from brigand.cli.console import make_console


def policies(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of a table.")] = False,
) -> None:
    """List every policy: what it assumes, what it must know, how its rule is known, which rewards it accepts.

    The paper's Table 1, read from the classes themselves.
    """
    from brigand.policies.base import KNOWN_FROM
    from brigand.policies.catalogue import CATALOGUE

    if as_json:
        rows = {
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
        typer.echo(json.dumps(rows, indent=2))
        return
    table = Table(title="Policies, with the settings of the common tests", title_justify="left")
    for column in ("name", "rewards assumed", "must be known", "accepts", "memory", "known from"):
        table.add_column(column, no_wrap=column in ("name", "known from"), overflow="fold")
    for name, policy in CATALOGUE.items():
        table.add_row(
            name,
            policy.assumption,
            policy.must_know,
            _support(*policy.reward_support),
            policy.memory_cost,
            policy.known_from,
        )
    make_console().print(table)
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
