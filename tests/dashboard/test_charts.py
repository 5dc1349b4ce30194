"""Charts: whole pictures of any numbers and names, with one arm and with five hundred."""

import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from brigand.dashboard import charts
from brigand.dashboard.charts import NARROW, WIDE, Arm, Layer, Time
from brigand.dashboard.drawing import MARKERS, PATTERNS, look, nice
from dashboard.shop import STRANGE

SVG = "{http://www.w3.org/2000/svg}"
NAMES = [*STRANGE, "", " ", "\ud800", "\x00", "&amp;"]


def picture(draw, width=WIDE):
    """Return a chart as XML, in which all numbers are numbers."""
    text = str(draw(width, "key"))
    assert not re.search(r"\b(nan|inf)\b", re.sub(r">[^<]*<", "><", text))
    text.encode()
    return ET.fromstring(text)


def arms(n, known=True):
    return [
        Arm(
            row,
            NAMES[row % len(NAMES)],
            *((0.5, 0.4, 0.6) if known else (math.nan, -math.inf, math.inf)),
            "9 rewards",
        )
        for row in range(n)
    ]


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("n", [0, 1, 20, 500])
@pytest.mark.parametrize("known", [True, False])
def test_forests(n, known, width):
    root = picture(charts.forest(arms(n, known), "Arms", "<said>"), width)
    assert root.get("role") == "img"
    assert root.find(f"{SVG}title").text == "Arms"
    assert root.find(f"{SVG}desc").text == "<said>"
    ids = {one.get("id") for one in root.iter() if one.get("id")}
    assert set(root.get("aria-labelledby").split()) <= ids
    intervals = [one for one in root.iter(f"{SVG}path") if "interval" in one.get("class", "")]
    assert len(intervals) == (n if known else 0)
    left, _, right, height = map(float, root.get("viewBox").split())
    for text in root.iter(f"{SVG}text"):
        assert left <= float(text.get("x")) <= right
        assert 0 < float(text.get("y")) <= height


def test_intervals_are_where_their_numbers_are():
    root = picture(
        charts.forest([Arm(0, "a", 0.5, 0.25, 0.75, ""), Arm(1, "b", 0.0, 0.0, 1.0, "")], "t", "d")
    )
    ends = []
    for one in root.iter(f"{SVG}path"):
        if "interval" in one.get("class", ""):
            ends.append([float(x) for x in re.match(r"M([\d.]+) [\d.]+H([\d.]+)", one.get("d")).groups()])
    (a, b), (low, high) = ends
    assert (a - low) / (high - low) == pytest.approx(0.25, abs=1e-3)
    assert (b - low) / (high - low) == pytest.approx(0.75, abs=1e-3)


def time(n, width=1, marks=()):
    return Time(width, n * width, np.linspace(1e9, 1e9 + 3600 * n, n), list(marks))


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("n", [1, 2, 128])
def test_stacks_fill_their_panel(n, width):
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(5), n)
    layers = [Layer(row, NAMES[row], shares[:, row]) for row in range(4)] + [
        Layer(None, "others", shares[:, 4], "area other")
    ]
    root = picture(charts.stacked(layers, time(n, 3, [(0, "1"), (n, "2")]), "t", "d"), width)
    areas = [one for one in root.iter(f"{SVG}path") if one.get("class", "").startswith("area")]
    assert len(areas) == 5
    covered = 0.0
    for area in areas:
        for x0, y0, x1, y1 in re.findall(r"M([\d.]+) ([\d.]+)H([\d.]+)V([\d.]+)", area.get("d")):
            covered += (float(x1) - float(x0)) * (float(y0) - float(y1))
    frame = (width - 14 - 44) * 170
    assert covered == pytest.approx(frame, rel=0.01)


@pytest.mark.parametrize(
    "values", [[], [math.nan], [1.0], [0.0, 0.0], [1e-12, 1e12], [-5.0, math.nan, 5.0], [1e100, -1e100]]
)
def test_curves_of_any_numbers(values):
    curves = [Layer(None, "all", np.array(values), "whole"), Layer(3, "b", np.array(values))]
    picture(charts.lines(curves, time(max(1, len(values))), "reward", "t", "d"))
    charts.spark(values, "d")


def test_what_is_not_known_is_a_gap_and_a_lone_point_a_dot():
    curve = Layer(None, "all", np.array([1.0, math.nan, 2.0, 3.0]), "whole")
    root = picture(charts.lines([curve], time(4), "reward", "t", "d"))
    drawn = next(
        one.get("d")
        for one in root.iter(f"{SVG}path")
        if one.get("class") == "curve whole" and len(one.get("d")) > 8
    )
    assert [drawn.count(letter) for letter in "ML"] == [2, 1]
    assert drawn.count("h0") == 2


def test_an_arm_looks_the_same_everywhere_and_arms_can_be_told_apart_without_colour():
    assert look(3) == look(3)
    assert len({look(row) for row in range(60)}) == 60
    assert len({(one.pattern, one.marker) for one in map(look, range(10))}) == 10
    assert all(one.pattern < len(PATTERNS) and one.marker in MARKERS for one in map(look, range(500)))


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0.301, 0.302), (-7, 1e9), (0, 3e-9), (1e15, 1e15 + 64)])
def test_ticks_are_few_round_and_within(low, high):
    found = nice(low, high)
    assert 2 <= len(found) <= 7
    assert all(low - 1e-9 * abs(low) <= value <= high + 1e-9 * abs(high) for value in found)
    assert nice(2.0, 2.0) == [2.0]
