"""``brigand errata``: what in the paper does not hold as stated."""

from __future__ import annotations

from typing import Annotated

import typer

from brigand.cli.console import make_console
from brigand.errors import UnknownNameError


def errata(
    number: Annotated[int | None, typer.Argument(help="Show this entry; all titles by default.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show the whole page.")] = False,
) -> None:
    """List what in the paper does not hold as stated, with counterexamples, corrections and proofs."""
    from rich.markdown import Markdown

    from brigand.theory import errata as found

    console = make_console()
    if everything:
        console.print(Markdown(found.page()))
        return
    entries = {entry.number: entry for entry in found.errata()}
    if number is None:
        for entry in entries.values():
            console.print(f"{entry.number:>3}  {entry.title}", highlight=False)
        console.print("\n'brigand errata 7' shows an entry, 'brigand errata --all' all of them.")
        return
    if number not in entries:
        raise UnknownNameError("erratum", str(number), [str(n) for n in entries])
    console.print(Markdown(f"# {number}. {entries[number].title}\n\n{entries[number].text}"))
