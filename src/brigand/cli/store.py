"""``brigand store``: a whole store, from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from brigand.cli.bandit import DEFAULT_STORE, Store, stoppable, store_named
from brigand.cli.bandit_text import store_label, visible

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=False,
)


@app.callback()
def store() -> None:
    """Keep whole stores of live bandits."""


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new SQLite file.")],
    store: Store = DEFAULT_STORE,
) -> None:
    """Write a store, as it is at one moment, to a new file, while others go on with it.

    A plain copy of a file in use may lack what its write-ahead log holds. For PostgreSQL there is pg_dump.
    """
    from brigand.live.stores import backup

    with stoppable("nothing was written"), store_named():
        backup(store, file)
    typer.echo(f"{store_label(store)} is in {visible(str(file))}, too")
