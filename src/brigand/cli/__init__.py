"""The command ``brigand``: parses, calls, prints."""

from __future__ import annotations

import sys

import typer
from rich.console import Console

from brigand.errors import BrigandError

app = typer.Typer(
    help="Brigand: multi-armed bandits that need to know nothing about the reward distribution.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=False,
)


def main() -> None:
    """Run the command; a mistake of the user's ends in one line, never in a traceback."""
    from brigand.cli import catalogue, paper

    app.command("paper")(paper.paper)
    app.command("policies")(catalogue.policies)
    app.command("cite")(catalogue.cite)
    try:
        app()
    except BrigandError as error:
        Console(stderr=True, soft_wrap=True, highlight=False).print(f"[red]Error:[/] {_plain(error)}")
        sys.exit(2)
    except BrokenPipeError:  # the reader of a pipe has gone: not an error
        sys.stderr.close()
        sys.exit(0)
    except KeyboardInterrupt:
        Console(stderr=True).print("Stopped. Whatever was written is whole.")
        sys.exit(130)


def _plain(error: Exception) -> str:
    from rich.markup import escape

    return escape(str(error.args[0] if len(error.args) == 1 else error))


@app.callback(invoke_without_command=True)
def version(
    show: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True),
) -> None:
    """Multi-armed bandits that need to know nothing about the reward distribution."""
    if show:
        from brigand import __version__

        typer.echo(__version__)
        raise typer.Exit
