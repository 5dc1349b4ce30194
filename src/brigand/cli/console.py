"""What the commands print on: texts appear as they are, whatever stands in a name or a path."""

from __future__ import annotations

import sys
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from brigand.cli.bandit_text import visible
from brigand.errors import InvalidValueError


def make_console(*, stderr: bool = False) -> Console:
    """Return a console that reads neither markup, as in ``a[b]``, nor names of emoji."""
    return Console(stderr=stderr, markup=False, emoji=False)


def say_where(console: Console, before: str, path: Path, after: str = "") -> None:
    """Print where something is, on one line."""
    place = Text(visible(str(path.resolve())), style="bold")
    console.print(Text.assemble(before, place, after), soft_wrap=True, highlight=False)


def say(console: Console, text: str) -> None:
    """Print a sentence that may have names in it, on one line."""
    console.print(visible(text), soft_wrap=True, highlight=False)


def confirm(what: str, yes: bool) -> None:
    """Ask whether something shall be done that cannot be undone, unless that was said."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidValueError(f"{what}? Say so with --yes.")
    typer.confirm(f"{what[0].upper()}{visible(what[1:])}?", abort=True)
