"""What in the paper does not hold as stated: ``docs/errata.md``, entry by entry.

An installed package has the page beside this file; a source tree has it in ``docs``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

INSTALLED = Path(__file__).with_suffix(".md")
SOURCE = Path(__file__).parents[3] / "docs" / "errata.md"


class Erratum(NamedTuple):
    """A number, a title, and the entry in Markdown."""

    number: int
    title: str
    text: str


def page() -> str:
    """Return the whole page, in Markdown."""
    return (INSTALLED if INSTALLED.is_file() else SOURCE).read_text(encoding="utf-8")


def errata() -> tuple[Erratum, ...]:
    """Return all entries, in the order of their numbers."""
    parts = re.split(r"^### (\d+)\. (.+)\n", page(), flags=re.MULTILINE)
    entries = zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
    # What follows an entry's text is the heading of the next section.
    return tuple(
        Erratum(int(number), title, re.split(r"^## ", text, flags=re.MULTILINE)[0].strip())
        for number, title, text in entries
    )
