"""SVG in pieces: elements, text that fits, axes. Colours come from classes of the style sheet."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from brigand.palette import LINES
from brigand.words import visible

FONT = 13.0
CHARACTER = 0.57
"""Width of a character, in units of the font's size; of one of East Asia twice."""
ISOLATE = "\u2068{}\u2069"
"""Around a name, whatever direction it is written in."""
PATTERNS = (
    "",
    "M0 8 8 0",
    "M4 0V8",
    "M0 0 8 8",
    "M0 4H8",
    "M0 8 8 0M0 0 8 8",
    "M4 3V5M3 4H5",
)
"""Drawn over areas, 8 by 8, to tell them apart without colour."""
MARKERS = {
    "^": "M0-5 5 4H-5Z",
    "s": "M-4-4H4V4H-4Z",
    "o": "M-4.5 0A4.5 4.5 0 1 0 4.5 0A4.5 4.5 0 1 0-4.5 0Z",
    "D": "M0-5.5 5.5 0 0 5.5-5.5 0Z",
    "v": "M0 5 5-4H-5Z",
    "P": "M-2-5H2V-2H5V2H2V5H-2V2H-5V-2H-2Z",
    "X": "M-5-3-3-5 0-2 3-5 5-3 2 0 5 3 3 5 0 2-3 5-5 3-2 0Z",
    "*": "M0-6 2-2 6-1 3 2 4 6 0 4-4 6-3 2-6-1-2-2Z",
    "<": "M-5 0 4 5V-5Z",
    ">": "M5 0-4 5V-5Z",
}
"""Paths of the palette's markers, around (0, 0)."""


class Look(NamedTuple):
    """How an arm is drawn, everywhere."""

    colour: int
    pattern: int
    marker: str
    dashes: str


def look(row: int) -> Look:
    """Return the look of an arm, by its row; after ten, colours come again with other patterns."""
    line = LINES[row % len(LINES)]
    again = row + row // len(LINES)
    dashes = "" if line.linestyle == "-" else " ".join(f"{2 * part:g}" for part in line.linestyle[1])
    return Look(row % len(LINES), again % len(PATTERNS), LINES[again % len(LINES)].marker, dashes)


def element(name: str, *children: object, **attributes: object) -> Markup:
    """Return an element; of the names of attributes, ``class_`` is ``class`` and ``_`` is ``-``.

    Examples
    --------
    >>> element("text", "<a>", x=1.25, text_anchor="end", class_="name")
    Markup('<text x="1.25" text-anchor="end" class="name">&lt;a&gt;</text>')
    """
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = "".join(str(escape(child)) for child in children)
    return Markup(f"<{name}{pairs}>{inside}</{name}>" if inside else f"<{name}{pairs}/>")


def number(value: object) -> str:
    """Return a coordinate with two decimals at most; anything else as text."""
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return str(value)


def width_of(text: str, size: float = FONT) -> float:
    """Return about how wide a text is."""
    return size * CHARACTER * sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def fitting(text: str, room: float, size: float = FONT) -> str:
    """Return a text fit to draw, cut to the room there is."""
    text = visible(text) or "''"
    if width_of(text, size) > room:
        text = text[: int(room / (size * CHARACTER)) + 1]
        while len(text) > 1 and width_of(f"{text}…", size) > room:
            text = text[:-1]
        text = f"{text}…"
    return ISOLATE.format(text)


def nice(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers from `low` to `high`, `most` at most.

    Examples
    --------
    >>> nice(0, 1), nice(0.31, 0.38), nice(0, 1234)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.32, 0.34, 0.36, 0.38], [0.0, 500.0, 1000.0])
    """
    span = high - low
    if not span > 0.0:
        return [low]
    unit = 10.0 ** math.floor(math.log10(span / most))
    step = next(unit * factor for factor in (1, 2, 5, 10, 20) if span / (unit * factor) <= most + 1e-9)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(place * step, 12) + 0.0 for place in range(first, last + 1)]


def tick(value: float) -> str:
    """Return a number on an axis.

    Examples
    --------
    >>> [tick(value) for value in (0.0, 0.25, 500, 20_000, 1.5e6)]
    ['0', '0.25', '500', '20k', '1.5M']
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if letter == 'k' else size):g}{letter}"
    return f"{value:g}"


class Frame(NamedTuple):
    """A panel between two axes.

    Attributes
    ----------
    left, top, right, bottom : float
        In the picture.
    x, y : (float, float)
        What stands at its ends: left and right, bottom and top.
    """

    left: float
    top: float
    right: float
    bottom: float
    x: tuple[float, float]
    y: tuple[float, float]

    def across(self, value: float) -> float:
        """Return where a value of x is."""
        low, high = self.x
        return self.left + (value - low) / ((high - low) or 1.0) * (self.right - self.left)

    def up(self, value: float) -> float:
        """Return where a value of y is."""
        low, high = self.y
        return self.bottom - (value - low) / ((high - low) or 1.0) * (self.bottom - self.top)

    def rows(self, values: Sequence[float], text: Callable[[float], str]) -> list[Markup]:
        """Return lines of the grid at values of y, with their numbers at the left."""
        return [
            piece
            for value in values
            for piece in (
                element(
                    "path",
                    d=f"M{number(self.left)} {number(self.up(value))}H{number(self.right)}",
                    class_="grid",
                ),
                element(
                    "text",
                    text(value),
                    x=self.left - 6,
                    y=self.up(value) + 4,
                    text_anchor="end",
                    class_="tick",
                ),
            )
        ]

    def columns(self, values: Sequence[float], text: Callable[[float], str], line: float = 1) -> list[Markup]:
        """Return lines of the grid at values of x, with their numbers below."""
        return [
            piece
            for value in values
            for piece in (
                element(
                    "path",
                    d=f"M{number(self.across(value))} {number(self.top)}V{number(self.bottom)}",
                    class_="grid",
                ),
                element(
                    "text",
                    text(value),
                    x=self.across(value),
                    y=self.bottom + 4 + 14 * line,
                    text_anchor="middle",
                    class_="tick",
                ),
            )
        ]


def picture(
    title: str, description: str, width: float, height: float, parts: Sequence[Markup], key: str
) -> Markup:
    """Return an ``<svg>`` element with a name and a description for those who cannot see it."""
    return element(
        "svg",
        element("title", title, id=f"{key}-t"),
        element("desc", description, id=f"{key}-d"),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=width,
        height=height,
        role="img",
        aria_labelledby=f"{key}-t {key}-d",
        class_="chart",
    )


def legend(
    entries: Sequence[tuple[str, Markup]], left: float, right: float, top: float
) -> tuple[list[Markup], float]:
    """Return names with their signs, 24 wide, in lines; and where the last line ends."""
    parts: list[Markup] = []
    x, y = left, top + 12.0
    for name, sign in entries:
        text = fitting(name, min(180.0, right - left - 34))
        needed = 28 + width_of(text) + 14
        if x > left and x + needed > right:
            x, y = left, y + 20.0
        parts.append(element("g", sign, transform=f"translate({number(x)} {number(y - 4)})"))
        parts.append(element("text", text, x=x + 28, y=y, class_="name"))
        x += needed
    return parts, y + 10.0


def hatch(key: str, pattern: int) -> Markup:
    """Return the definition of a pattern, for areas to be drawn over."""
    return element(
        "pattern",
        element("path", d=PATTERNS[pattern], class_="hatch"),
        id=f"{key}-p{pattern}",
        width=8,
        height=8,
        patternUnits="userSpaceOnUse",
    )


def path(points: Sequence[tuple[float, float]]) -> str:
    """Return lines through points; where a number is NaN there is a gap."""
    words, pen = [], "M"
    for x, y in points:
        if math.isnan(x) or math.isnan(y):
            pen = "M"
            continue
        words.append(f"{pen}{number(x)} {number(y)}{'h0' if pen == 'M' else ''}")  # a lone point is a dot
        pen = "L"
    return "".join(words)
