"""``brigand key``: who may use the service, from the command line."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated

import typer

from brigand.cli.bandit import DEFAULT_STORE, Store, store_named
from brigand.cli.bandit_text import label as shown, visible

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=False,
)


@app.callback()
def key() -> None:
    """Keys for 'brigand serve'."""


@app.command()
def create(
    role: Annotated[
        str,
        typer.Option(help="read (sees all, changes nothing), decide (asks and tells alone) or admin (all)."),
    ],
    bandit: Annotated[
        str | None, typer.Option(metavar="NAME", help="The only bandit that it is for. By default all.")
    ] = None,
    expires: Annotated[
        float | None, typer.Option(metavar="DAYS", help="How long it works. By default until it is revoked.")
    ] = None,
    label: Annotated[str, typer.Option(help="Whose it is, for 'list'.")] = "",
    store: Store = DEFAULT_STORE,
) -> None:
    """Make a key, and print it: alone on the last line, and only now, for the store has a hash of it."""
    from brigand.service.keys import create

    made = create(store, role, bandit=bandit, expires=expires, label=label)
    typer.echo("Keep this key: it cannot be shown again.", err=True)
    typer.echo(made)


@app.command("list")
def list_keys(store: Store = DEFAULT_STORE) -> None:
    """List keys by age: id, role, bandit, state, when each was made and last used, whose it is."""
    from brigand.service.keys import all_keys, state

    now = time.time()
    with store_named():
        found = all_keys(store)
    for one in found:
        bandit = "all bandits" if one.bandit is None else shown(one.bandit)
        times = [
            f"{what} {_date(at)}"
            for what, at in (("made", one.created_at), ("expires", one.expires_at), ("used", one.used_at))
            if at is not None
        ]
        cells = [one.id, one.role, bandit, state(one, now), *times, visible(one.label)]
        typer.echo("\t".join(cells).rstrip())


@app.command()
def revoke(
    id: Annotated[str, typer.Argument(metavar="ID", help="Of 'brigand key list'; the key's second part.")],
    store: Store = DEFAULT_STORE,
) -> None:
    """Revoke a key: services refuse it within a second."""
    from brigand.service.keys import revoke

    with store_named():
        revoke(store, id)
    typer.echo(f"key {visible(id)} is revoked")


def _date(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")
