"""The colours of all figures: readable in print, in grey, and by the colour-blind. Needs no Matplotlib."""

from __future__ import annotations

from typing import Any, NamedTuple


class Line(NamedTuple):
    """How one policy, or one arm, is drawn."""

    color: str
    linestyle: Any
    marker: str


# Okabe and Ito's palette (yellow left out: too light on white), with dashes and markers that tell the
# lines apart without colour.
LINES = (
    Line("#D55E00", "-", "^"),
    Line("#0072B2", "-", "s"),
    Line("#009E73", "-", "o"),
    Line("#CC79A7", (0, (5, 1.5)), "D"),
    Line("#E69F00", (0, (5, 1.5)), "v"),
    Line("#56B4E9", (0, (5, 1.5)), "P"),
    Line("#000000", (0, (1.5, 1.2)), "X"),
    Line("#7F7F7F", (0, (1.5, 1.2)), "*"),
    Line("#8C564B", (0, (4, 1, 1, 1)), "<"),
    Line("#332288", (0, (4, 1, 1, 1)), ">"),
)
