"""How things show themselves in notebooks: tables, small figures and progress bars, as plain HTML.

Nothing is imported for it but the standard library, so that it costs microseconds, and works where only the
packages for serving are installed. All text is escaped.
"""

from __future__ import annotations

import functools
import itertools
import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

from brigand.palette import COLORS

MOST = 12
"""Rows that a table shows."""
LONGEST = 160
"""Characters of a cell."""
WIDTH, HEIGHT, EDGE, LINE, NAMES = 320, 110, 6, 15, 100
"""Pixels of a small figure, of its edges, of a line of text, and of the names of rows."""
AFTER, EVERY = 0.5, 0.1
"""Seconds after which a progress bar appears, and between its changes."""


def html_repr(method: Callable[[Any], str]) -> Callable[[Any], str]:
    """Make a ``_repr_html_`` that raises nothing: what fails is shown as its plain repr."""

    @functools.wraps(method)
    def shown(self: Any) -> str:
        try:
            return method(self)
        except Exception:
            try:
                text = repr(self)
            except Exception:
                text = object.__repr__(self)
            return f"<pre>{escape(text)}</pre>"

    return shown


def block(heading: str, *parts: str) -> str:
    """Return a heading with what is below it: tables, figures, paragraphs.

    Parameters
    ----------
    heading : str
        Is escaped.
    *parts : str
        HTML.
    """
    return f"<div><p><strong>{escape(heading)}</strong></p>{''.join(parts)}</div>"


def paragraph(text: str) -> str:
    """Return a sentence as HTML."""
    return f"<p>{escape(text)}</p>"


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], left: int = 1, colored: bool = False
) -> str:
    """Return a table as HTML; of many rows, the first.

    Parameters
    ----------
    columns : sequence of str
    rows : iterable of sequences
        Cells; floats are written as short as a reader needs them.
    left : int
        So many columns hold text, and stand at the left.
    colored : bool
        Whether each row has the colour of its line in `lines`.
    """
    listed = list(rows)
    head = "".join(_cell("th", name, place < left) for place, name in enumerate(columns))
    body = []
    for row, color in zip(listed[:MOST], itertools.cycle(COLORS)):
        cells = [_cell("td", cell, place < left) for place, cell in enumerate(row)]
        if colored:
            cells[0] = cells[0].replace(">", f'><span style="color: {color}">■</span> ', 1)
        body.append(f"<tr>{''.join(cells)}</tr>")
    more = len(listed) - MOST
    rest = paragraph(f"and {more:,} more") if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>{rest}"


def _cell(tag: str, value: object, left: bool) -> str:
    side = "left" if left else "right"
    return f'<{tag} style="text-align: {side}">{escape(_text(value))}</{tag}>'


def _text(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        if not math.isfinite(value):
            return "–" if math.isnan(value) else "∞" if value > 0 else "−∞"
        return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return _cut(text, LONGEST)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def lines(
    series: Iterable[tuple[str, Sequence[float], Sequence[float]]], label: str, *, steps: bool = False
) -> str:
    """Return curves as a small SVG figure, in the colours that figures use.

    Parameters
    ----------
    series : iterable of (name, x, y)
        Names appear when the pointer rests on a line; points that are not finite are left out.
    label : str
        What is read to those who cannot see it.
    steps : bool
        Keep each value until the next.
    """
    found = [(name, _finite(x, y)) for name, x, y in series]
    points = [point for _, part in found for point in part]
    if not points:
        return ""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    across, down = _scale(xs, EDGE, WIDTH - EDGE), _scale(ys, HEIGHT - LINE, LINE)
    drawn = []
    for place, (name, part) in enumerate(found):
        path: list[str] = []
        for x, y in part:
            if steps and path:
                path.append(f"{across(x):.1f},{path[-1].partition(',')[2]}")
            path.append(f"{across(x):.1f},{down(y):.1f}")
        drawn.append(
            f'<polyline fill="none" stroke="{COLORS[place % len(COLORS)]}" stroke-width="1.5" '
            f'points="{" ".join(path)}"><title>{escape(name)}</title></polyline>'
        )
    drawn.append(_words(EDGE, LINE - 4, _text(float(max(ys)))))
    drawn.append(_words(EDGE, HEIGHT - 3, _text(float(min(ys)))))
    drawn.append(_words(WIDTH - EDGE, HEIGHT - 3, _text(float(max(xs))), "end"))
    return _svg(HEIGHT, label, drawn)


def forest(rows: Iterable[tuple[str, float | None, float | None, float | None]], label: str) -> str:
    """Return values with their intervals as a small SVG figure, a row each; of many rows, the first.

    Parameters
    ----------
    rows : iterable of (name, value, lower, upper)
        Ends that are infinite reach the edges; without one there is no interval.
    label : str
        What is read to those who cannot see it.
    """
    shown = [(name, _number(value), _number(low), _number(high)) for name, value, low, high in rows][:MOST]
    ends = [end for row in shown for end in row[1:] if math.isfinite(end)]
    if not ends:
        return ""
    across = _scale(ends, NAMES + EDGE, WIDTH - EDGE)
    height = LINE * (len(shown) + 1)
    color, drawn = COLORS[1], []
    for place, (name, value, lower, upper) in enumerate(shown):
        y = LINE * place + 9
        drawn.append(_words(EDGE, y + 3, _cut(name, 15)))
        if not (math.isnan(lower) or math.isnan(upper)):
            left = across(lower) if math.isfinite(lower) else float(NAMES)
            right = across(upper) if math.isfinite(upper) else float(WIDTH)
            drawn.append(
                f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{y}" y2="{y}" stroke="{color}" '
                'stroke-width="1.5" />'
            )
        if math.isfinite(value):
            drawn.append(f'<circle cx="{across(value):.1f}" cy="{y}" r="3.5" fill="{color}" />')
    drawn.append(_words(NAMES + EDGE, height - 3, _text(min(ends))))
    drawn.append(_words(WIDTH - EDGE, height - 3, _text(max(ends)), "end"))
    return _svg(height, label, drawn)


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _finite(x: Sequence[float], y: Sequence[float]) -> list[tuple[float, float]]:
    pairs = ((float(a), float(b)) for a, b in zip(x, y, strict=True))
    return [pair for pair in pairs if math.isfinite(pair[0]) and math.isfinite(pair[1])]


def _scale(values: Sequence[float], first: float, last: float) -> Callable[[float], float]:
    """Return the function that takes the least value to `first` and the largest to `last`, in pixels."""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    return lambda value: first + (last - first) * (value - low) / span


def _words(x: float, y: float, text: str, anchor: str = "start") -> str:
    return (
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="10" font-family="sans-serif" '
        f'fill="#555">{escape(text)}</text>'
    )


def _svg(height: int, label: str, drawn: Iterable[str]) -> str:
    # On white, whatever the theme: the colours are made for it.
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(label)}" width="{WIDTH}" '
        f'height="{height}" viewBox="0 0 {WIDTH} {height}" style="background: white">{"".join(drawn)}</svg>'
    )


def notebook() -> Any:
    """Return IPython's shell if this is a notebook's kernel, else None."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell if hasattr(shell, "kernel") else None


def progress_of(
    given: Callable[[int, int], None] | bool | None, what: str
) -> Callable[[int, int], None] | None:
    """Return what is called with ``(done, total)``: what was given, or in a notebook a bar; None for nothing.

    The bar appears after half a second, and goes when all is done. It needs no widgets: the browser draws it.
    """
    if callable(given):
        return given
    return None if given is False or notebook() is None else _Bar(what)


class _Bar:
    def __init__(self, what: str) -> None:
        self.what = what
        self.handle: Any = None
        self.due = time.monotonic() + AFTER

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if done >= total:
            if self.handle is not None:
                self.handle.update(_Html(""))
        elif now >= self.due:
            self.due = now + EVERY
            shown = _Html(
                f'<progress value="{done}" max="{total}" aria-label="{escape(self.what)}"></progress> '
                f"{done:,} of {total:,} {escape(self.what)}"
            )
            if self.handle is None:
                self.handle = sys.modules["IPython"].display.display(shown, display_id=True)
            else:
                self.handle.update(shown)


class _Html:
    """Text that notebooks show as HTML."""

    def __init__(self, text: str) -> None:
        self.text = text

    def _repr_html_(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return ""
