"""The colours of all figures: readable in print, in grey, and by the colour-blind. Needs no Matplotlib."""

from __future__ import annotations

from typing import Any, NamedTuple


class Line(NamedTuple):
    """How one policy, or one arm, is drawn."""

    color: str
    linestyle: Any
    marker: str


COLORS = (
    "#D55E00",
    "#0072B2",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#646464",
    "#7A3B1E",
    "#332288",
)
"""Okabe and Ito's palette without yellow, which is too light on white, and three more.

Also the colour-blind tell each from each other.
"""
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (4, 1, 1, 1)))
MARKERS = ("^", "s", "o", "D", "v", "P", "X", "*", "<", ">")
FIRST = (0, 0, 0, 1, 1, 1, 2, 2, 3, 3)
"""The dashes of the first ten lines: so they can be told apart in grey, too."""


def line(place: int) -> Line:
    """Return the look of the line at `place` in the legend (0, 1, ...).

    The first ten have ten colours. Those that follow have the same colours with other dashes and other
    markers: forty lines differ in colour or dashes, and two hundred in some way.
    """
    color, again = place % len(COLORS), place // len(COLORS)
    dash = DASHES[(FIRST[color] + again) % len(DASHES)]
    return Line(COLORS[color], dash, MARKERS[(color + again) % len(MARKERS)])


LINES = tuple(line(place) for place in range(len(COLORS)))
