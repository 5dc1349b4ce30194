"""What the commands print on: texts appear as they are, whatever stands in a name or a path."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from brigand.cli.bandit_text import visible
from brigand.errors import InvalidValueError

if TYPE_CHECKING:
    from brigand.figures.page import Table

COLOURS = {"better": "green", "worse": "red"}


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


def print_table(console: Console, table: Table) -> None:
    """Print a table, its notes below it."""
    shown = RichTable(
        title=visible(table.title),
        title_justify="left",
        caption="\n".join(map(visible, table.notes)),
        caption_justify="left",
    )
    for column in table.columns:
        text = column in ("policy", "verdict")
        shown.add_column(visible(column), justify="left" if text else "right", overflow="fold")
    for row in table.rows:
        cells = (visible(cell.text) for cell in row)
        shown.add_row(*(Text(cell, COLOURS.get(cell, "")) for cell in cells))
    console.print(shown)
