"""Names that people typed, drawn as they typed them.

Matplotlib reads what stands between two dollar signs as mathematics, leaves what begins with an underscore
out of legends, and warns of every character that its font lacks.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser
from matplotlib.text import Text

FORMULA = re.compile(r"(?<!\\)\$(?![\s$])((?:[^$\\]|\\.)*)(?<![\s\\])\$(?!\w)")
"""As in Markdown: no space within the dollars, and neither a digit nor a letter after them."""
SIGNS = re.compile(r"[\\^_=<>+]")
HIDDEN = "\N{ZERO WIDTH SPACE}"
"""Stands before an underscore, until the legend is made."""


def typed(text: str) -> str:
    r"""Return a text as Matplotlib has to get it: mathematics stays, all other dollar signs are escaped.

    Examples
    --------
    >>> typed("$c=0$"), typed("$5 vs $10"), typed("A$$AP")
    ('$c=0$', '\\$5 vs \\$10', 'A\\$\\$AP')
    """
    return "\n".join(map(_typed_line, text.split("\n")))


def as_given(text: str) -> str:
    """Return the text of which `typed` made this one."""
    return text.replace(r"\$", "$")


def _typed_line(line: str) -> str:
    parts = []
    end = 0
    for found in FORMULA.finditer(line):
        if _is_formula(found[0]):
            parts += [line[end : found.start()].replace("$", r"\$"), found[0]]
            end = found.end()
    return "".join([*parts, line[end:].replace("$", r"\$")])


def _is_formula(text: str) -> bool:
    if " " in text and not SIGNS.search(text):  # two amounts of money, say
        return False
    try:
        MathTextParser("path").parse(text)
    except Exception:  # whatever the parser meets in a text that is no formula
        return False
    return True


def label(name: object) -> str:
    """Return a name as the label of a line, which `labels` gives back to the legend."""
    text = typed(str(name))
    return HIDDEN + text if text.startswith("_") else text


def labels(axes: Axes) -> tuple[list[Any], list[str]]:
    """Return what is drawn and has a `label`, and the texts for the legend."""
    handles, found = axes.get_legend_handles_labels()
    return handles, [text.removeprefix(HIDDEN) for text in found]


@contextmanager
def fonts(figure: Figure) -> Iterator[None]:
    """Draw a figure with fonts that have all of its characters; one warning says which no font has."""
    usual = _characters(font_manager.findfont(font_manager.FontProperties()))
    beyond = {
        artist: odd for artist in _texts(figure) if (odd := {*artist.get_text()} - usual - {"\n", HIDDEN})
    }
    missing = set().union(*beyond.values())
    more = []
    if missing:
        for entry in _installed():
            has = missing & _characters(entry.fname)
            if has:
                more.append(entry.name)
                missing -= has
    if missing:
        _warn_of(" ".join(sorted(missing)))
    for artist in beyond:
        artist.set_fontfamily([*artist.get_fontfamily(), *more])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        yield


@functools.cache
def _warn_of(characters: str) -> None:
    """Say once in a process which characters are drawn as boxes."""
    warnings.warn(
        f"no font here has {characters}: install one that does, such as Noto Sans CJK.", stacklevel=6
    )


def _texts(figure: Figure) -> Iterator[Text]:
    for artist in figure.findobj(Text):
        if isinstance(artist, Text):
            yield artist


def _installed() -> Iterator[Any]:
    """Yield the upright fonts of normal weight, those without serifs first."""
    found = [
        entry
        for entry in font_manager.fontManager.ttflist
        if entry.style == "normal" and entry.weight == 400 and not entry.name.startswith("Last Resort")
    ]
    yield from sorted(found, key=lambda entry: ("Sans" not in entry.name, entry.name))


@functools.cache
def _characters(path: str) -> set[str]:
    try:
        return set(map(chr, font_manager.get_font(path).get_charmap()))
    except (OSError, RuntimeError):  # a font that was removed, or is damaged
        return set()
