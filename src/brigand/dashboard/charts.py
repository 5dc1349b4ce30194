"""The charts of a bandit, as SVG for two widths: a desk's and a telephone's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from brigand.dashboard.drawing import (
    FONT,
    MARKERS,
    Frame,
    element,
    fitting,
    hatch,
    legend,
    look,
    nice,
    number,
    path,
    picture,
    tick,
    width_of,
)

WIDE, NARROW = 720.0, 340.0
BOLD = 1.1 * FONT
"""What is bold is as wide as if it were so large."""
Floats = NDArray[np.float64]


class Arm(NamedTuple):
    """An arm in a forest plot: NaN and infinite where nothing is known.

    Attributes
    ----------
    row : int
        Its look.
    name : str
        Stands at the beginning of its line.
    mean, lower, upper : float
    note : str
        Stands at the end, if there is room.
    hollow, bold : bool
        Its sign; its name.
    """

    row: int
    name: str
    mean: float
    lower: float
    upper: float
    note: str
    hollow: bool = False
    bold: bool = False


class Layer(NamedTuple):
    """A curve, or a layer of a stack; without a row it is no arm's, and has a class of its own."""

    row: int | None
    name: str
    values: Floats
    style: str = ""


class Time(NamedTuple):
    """The axis of steps.

    Attributes
    ----------
    width : int
        Steps in a bucket.
    steps : int
    first_at : ndarray of float
        When each bucket begins, in seconds since 1970.
    marks : list of (int, str)
        Steps, and the signs that stand there.
    """

    width: int
    steps: int
    first_at: Floats
    marks: Sequence[tuple[int, str]]


Draw = Callable[[float, str], Markup]
"""Draws a chart of a width; ids begin with the text."""


def forest(arms: Sequence[Arm], title: str, description: str, looks: Sequence[tuple[str, int]] = ()) -> Draw:
    """Return a chart of means with their intervals, one line an arm; above it, what looks stand for."""

    def draw(width: float, key: str) -> Markup:
        entries = [(name, _sign(row, 11, 0)) for name, row in looks]
        names_of_looks, end = legend(entries, 8, width - 8, 0) if looks else ([], -10.0)
        names = max((width_of(arm.name, BOLD if arm.bold else FONT) for arm in arms), default=0.0)
        left = min(max(names, 40.0), 0.3 * width) + 22
        notes = max((width_of(arm.note, 12) for arm in arms), default=0.0) if width >= WIDE else 0.0
        low, high = _range(arms)
        height = 22.0 * len(arms)
        frame = Frame(left, end + 16, width - notes - 18, end + 16 + height, (low, high), (0.0, 1.0))
        parts = names_of_looks + frame.columns(nice(low, high, 6 if width >= WIDE else 4), tick)
        for place, arm in enumerate(arms):
            y = frame.top + 22.0 * place + 11
            parts += _line_of(arm, frame, y, left, width)
        parts.append(
            element(
                "text",
                "mean reward",
                x=(frame.left + frame.right) / 2,
                y=frame.bottom + 34,
                text_anchor="middle",
                class_="tick",
            )
        )
        return picture(title, description, width, frame.bottom + 42, parts, key)

    return draw


def _range(arms: Sequence[Arm]) -> tuple[float, float]:
    known = [end for arm in arms for end in (arm.lower, arm.mean, arm.upper) if math.isfinite(end)]
    low, high = min(known, default=0.0), max(known, default=1.0)
    room = 0.04 * (high - low) or max(0.5, abs(high) / 2)
    return low - room, high + room


def _line_of(arm: Arm, frame: Frame, y: float, left: float, width: float) -> list[Markup]:
    colour = f"c{look(arm.row).colour}"
    kind, size = ("name here", BOLD) if arm.bold else ("name", FONT)
    parts = [
        element(
            "text", fitting(arm.name, left - 16, size), x=left - 10, y=y + 4, text_anchor="end", class_=kind
        )
    ]
    if math.isfinite(arm.upper - arm.lower):
        start, end = frame.across(arm.lower), frame.across(arm.upper)
        ends = "".join(f"M{number(x)} {number(y - 4)}v8" for x in (start, end))
        shape = f"M{number(start)} {number(y)}H{number(end)}{ends}"
        parts.append(element("path", d=shape, class_=f"interval {colour}"))
    if math.isfinite(arm.mean):
        parts.append(_sign(arm.row, frame.across(arm.mean), y, arm.hollow))
    if width >= WIDE:
        parts.append(element("text", arm.note, x=width - 4, y=y + 4, text_anchor="end", class_="tick"))
    return parts


def _sign(row: int, x: float, y: float, hollow: bool = False) -> Markup:
    kind = look(row)
    style = f"hollow c{kind.colour}" if hollow else f"mark f{kind.colour}"
    shape = element("path", d=MARKERS[kind.marker], class_=style)
    return element("g", shape, transform=f"translate({number(x)} {number(y)})")


def stacked(layers: Sequence[Layer], time: Time, title: str, description: str) -> Draw:
    """Return a chart of shares, which add up to 1 in each bucket, over time."""
    top = np.cumsum([layer.values for layer in layers], axis=0)
    bottom = top - np.array([layer.values for layer in layers])

    def draw(width: float, key: str) -> Markup:
        entries = [(layer.name, _swatch(layer, key)) for layer in layers]
        parts, end = legend(entries, 44, width - 8, 0)
        frame = Frame(44, end + 16, width - 14, end + 186, (0.0, float(time.steps)), (0.0, 1.0))
        patterns = sorted({look(layer.row).pattern for layer in layers if layer.row is not None} - {0})
        defs = element("defs", *(hatch(key, pattern) for pattern in patterns))
        areas = [
            area
            for layer, low, high in zip(layers, bottom, top, strict=True)
            for area in _area(layer, low, high, time, frame, key)
        ]
        axis = frame.rows([0.0, 0.25, 0.5, 0.75, 1.0], lambda value: f"{100 * value:g}%")
        return _over_time([defs, *areas, *parts, *axis], frame, time, title, description, width, key)

    return draw


def _area(layer: Layer, low: Floats, high: Floats, time: Time, frame: Frame, key: str) -> list[Markup]:
    """Return an area with steps at the ends of buckets, drawn over with its pattern; gaps are left out."""
    words = []
    for place, (below, above) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        if above - below > 0.0:
            start = frame.across(float(place * time.width))
            end = frame.across(float(min((place + 1) * time.width, time.steps)))
            low_, high_ = number(frame.up(below)), number(frame.up(above))
            words.append(f"M{number(start)} {low_}H{number(end)}V{high_}H{number(start)}Z")
    if not words:
        return []
    shape = "".join(words)
    found = [element("path", d=shape, class_=layer.style or f"area f{look(layer.row or 0).colour}")]
    if layer.row is not None and look(layer.row).pattern:
        found.append(element("path", d=shape, fill=f"url(#{key}-p{look(layer.row).pattern})"))
    return found


def _swatch(layer: Layer, key: str) -> Markup:
    box = {"x": 0, "y": -6, "width": 22, "height": 12}
    if layer.row is None:
        return element("rect", **box, class_=layer.style)
    kind = look(layer.row)
    parts = [element("rect", **box, class_=f"area f{kind.colour}")]
    if kind.pattern:
        parts.append(element("rect", **box, fill=f"url(#{key}-p{kind.pattern})"))
    return element("g", *parts)


def lines(
    curves: Sequence[Layer], time: Time, unit: str, title: str, description: str, share: bool = False
) -> Draw:
    """Return a chart of curves over time: a value a bucket, NaN where there is none."""

    def draw(width: float, key: str) -> Markup:
        entries = [(curve.name, element("g", *_curve_sign(curve))) for curve in curves]
        parts, end = legend(entries, 44, width - 8, 0)
        known = np.concatenate([curve.values for curve in curves] or [np.empty(0)])
        known = known[np.isfinite(known)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        low, high = (0.0, high or 1.0) if 0.0 <= low < 0.5 * high or share else (low, high)
        if high == low:
            low, high = low - 0.5, high + 0.5
        ticks = nice(low, high, 4)
        text = (lambda value: f"{100 * value:g}%") if share else tick
        left = max(36.0, 12 + max((width_of(text(value)) for value in ticks), default=0.0))
        frame = Frame(left, end + 32, width - 14, end + 202, (0.0, float(time.steps)), (low, high))
        axis = frame.rows(ticks, text)
        drawn = [piece for curve in curves for piece in _curve(curve, time, frame)]
        label = element("text", unit, x=frame.left, y=frame.top - 20, class_="tick")
        return _over_time([*parts, *axis, *drawn, label], frame, time, title, description, width, key)

    return draw


def _curve(curve: Layer, time: Time, frame: Frame) -> list[Markup]:
    middles = [
        frame.across((place * time.width + min((place + 1) * time.width, time.steps)) / 2)
        for place in range(len(curve.values))
    ]
    points = [(x, frame.up(value)) for x, value in zip(middles, curve.values.tolist(), strict=True)]
    if curve.row is None:
        return [element("path", d=path(points), class_=f"curve {curve.style}")]
    kind = look(curve.row)
    dashes = kind.dashes or None
    drawn = [element("path", d=path(points), class_=f"curve c{kind.colour}", stroke_dasharray=dashes)]
    there = [point for point in points if not math.isnan(point[1])]
    every = max(1, len(there) // 6)
    return drawn + [_sign(curve.row, x, y) for x, y in there[every // 2 :: every]]


def _curve_sign(curve: Layer) -> list[Markup]:
    if curve.row is None:
        return [element("path", d="M0 0H22", class_=f"curve {curve.style}")]
    kind = look(curve.row)
    stroke = element(
        "path", d="M0 0H22", class_=f"curve c{kind.colour}", stroke_dasharray=kind.dashes or None
    )
    return [stroke, _sign(curve.row, 11, 0)]


def _over_time(
    parts: list[Markup], frame: Frame, time: Time, title: str, description: str, width: float, key: str
) -> Markup:
    """Return a picture whose axis has steps, and the times at which they were; marks are above it."""
    ticks = [value for value in nice(0.0, float(time.steps), 5 if width >= WIDE else 3) if value >= 0]
    parts = [*parts, *frame.columns(ticks, tick)]
    for value, text in zip(ticks, _moments(ticks, time), strict=True):
        at = min(max(frame.across(value), frame.left + 10), frame.right - 24)
        parts.append(element("text", text, x=at, y=frame.bottom + 32, text_anchor="middle", class_="tick"))
    parts.append(
        element(
            "text",
            "decisions, and when (UTC)",
            x=frame.right,
            y=frame.bottom + 48,
            text_anchor="end",
            class_="tick",
        )
    )
    taken = -math.inf
    for step, sign in time.marks:
        x = frame.across(float(min(step, time.steps)))
        parts.append(
            element("path", d=f"M{number(x)} {number(frame.top)}V{number(frame.bottom)}", class_="event")
        )
        if x - taken > 9 * len(sign) + 4:
            parts.append(element("text", sign, x=x, y=frame.top - 4, text_anchor="middle", class_="sign"))
            taken = x
    return picture(title, description, width, frame.bottom + 54, parts, key)


def _moments(steps: Sequence[float], time: Time) -> list[str]:
    """Return the times at which steps were, as short as the span allows."""
    known = time.first_at[np.isfinite(time.first_at)]
    if not len(known):
        return [""] * len(steps)
    span = float(known[-1] - known[0])
    form = (
        "%H:%M:%S"
        if span < 600
        else "%H:%M"
        if span < 86_400
        else "%d %b"
        if span < 300 * 86_400
        else "%b %Y"
    )
    found = []
    for step in steps:
        at = time.first_at[min(int(step // time.width), len(time.first_at) - 1)]
        found.append(f"{datetime.fromtimestamp(at, UTC):{form}}" if math.isfinite(at) else "")
    return found


def spark(values: Sequence[float], description: str) -> Markup:
    """Return a small line without axes."""
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return Markup("")
    low, high = min(known), max(known)
    span = (high - low) or 1.0
    points = [
        (3 + 94 * place / max(1, len(values) - 1), 23 - 20 * (value - low) / span if high > low else 13.0)
        for place, value in enumerate(values)
    ]
    x, y = next(point for point in reversed(points) if not math.isnan(point[1]))
    return element(
        "svg",
        element("path", d=path(points), class_="curve whole"),
        element("circle", cx=x, cy=y, r=2.5, class_="dot"),
        viewBox="0 0 100 26",
        width=100,
        height=26,
        role="img",
        aria_label=description,
        class_="spark",
    )
