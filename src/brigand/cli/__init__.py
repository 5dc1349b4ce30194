"""The command ``brigand``: parses, calls, prints."""

from __future__ import annotations

import sys
from functools import cache
from io import TextIOWrapper

import typer
from rich.console import Console
from rich.markup import escape

from brigand.cli.bandit_text import visible
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
    _register()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ± gets a question mark
    try:
        app()
    except (BrigandError, ModuleNotFoundError) as error:
        message = str(error)
        if isinstance(error, ModuleNotFoundError):
            message = f"{message}, which this needs: 'pip install brigand' installs all of it."
        console = Console(stderr=True, soft_wrap=True, highlight=False, emoji=False)
        console.print(f"[red]Error:[/] {escape(visible(message))}")
        sys.exit(2)


@cache
def _register() -> None:
    """Register all commands: late, so that those who import one of them do not load the others."""
    from brigand.cli import bandit, bounds, catalogue, errata, paper, results, studies, tune, validate

    app.command("paper")(paper.paper)
    app.command("run")(studies.run)
    app.command("schema")(studies.schema)
    app.command("compare")(results.compare)
    app.command("plot")(results.plot)
    app.command("report")(results.report)
    app.command("validate")(validate.validate)
    app.command("tune")(tune.tune)
    app.command("bounds")(bounds.bounds)
    app.command("errata")(errata.errata)
    app.add_typer(bandit.app, name="bandit")
    app.command("policies")(catalogue.policies)
    app.command("cite")(catalogue.cite)


@app.callback(invoke_without_command=True)
def version(
    show: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True),
) -> None:
    """Multi-armed bandits that need to know nothing about the reward distribution."""
    if show:
        from brigand import __version__

        typer.echo(__version__)
        raise typer.Exit
