"""Figures of regret: what leaves the axes, that nothing overlaps, looks, and what they say in words."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text
from PIL import Image

import brigand as br
from brigand import display
from brigand.figures import layout, style
from brigand.figures.curves import curves, readable
from brigand.figures.describe import description
from strength import full, runs

STEPS = [1, 10, 100, 1000, 10_000, 40_000, 100_000]


def table(ends, names=None):
    """Statistics of policies whose regret grows to some ends."""
    names = names or [f"policy {i}" for i in range(len(ends))]
    grown = np.array(STEPS) / STEPS[-1]
    parts = {
        name: pd.DataFrame({"mean": end * grown**0.5}, pd.Index(STEPS, name="step"))
        for name, end in zip(names, ends, strict=True)
    }
    found = pd.concat(parts, names=["policy"])
    return found.assign(
        median=0.9 * found["mean"], q10=0.7 * found["mean"], q90=1.4 * found["mean"], top=0.0, replications=50
    )


def texts(figure):
    """Return the boxes, in pixels, of all texts that are seen."""
    figure.draw_without_rendering()
    found = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
    seen = []
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = {*axis.get_major_ticks(), *axis.get_minor_ticks()}
            out = [tick for tick in ticks if not low <= tick.get_loc() <= high]
            seen += [text for tick in out for text in (tick.label1, tick.label2)]
    return {text: text.get_window_extent() for text in found if text not in seen}


def assert_legible(figure):
    boxes = texts(figure)
    edge = figure.bbox.padded(2)
    for text, box in boxes.items():
        assert text.get_fontsize() >= 6, text
        assert edge.x0 <= box.x0 <= box.x1 <= edge.x1, (text, box)
        assert edge.y0 <= box.y0 <= box.y1 <= edge.y1, (text, box)
    for (one, a), (other, b) in itertools.combinations(boxes.items(), 2):
        over = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert min(over) < 1.5, (one.get_text(), other.get_text())
    for legend in figure.legends:
        assert legend.get_window_extent().height <= 0.45 * figure.bbox.height


ENDS = [500, 90, 700, 8000, 650, 620, 640, 660, 300, 200]
SIZES = [(None, 3), (None, 10), ((3.3, 4.4), 4), ((3.3, 4.6), 10), ((6.9, 3), 10), ((6.9, 2.8), 5)]


@pytest.mark.parametrize(("figsize", "policies"), SIZES)
@pytest.mark.parametrize(
    "breakpoints", [(), (20_000, 60_000), range(1000, 100_000, 1000)], ids=["stationary", "piecewise", "many"]
)
@pytest.mark.every(runs(5, 1))
def test_nothing_overlaps_at_one_and_two_columns_and_letters_are_large_enough(figsize, policies, breakpoints):
    names = ["FE-Exp", "TS", "UCB1", "Lattimore, plug-in", "SW-FE-Constant", *"ABCDE"][:policies]
    figure = curves(table(ENDS[:policies], names), "Title", "50 runs", breakpoints, figsize=figsize)
    assert_legible(figure)
    if figsize is not None:
        assert tuple(figure.get_size_inches()) == figsize


@pytest.mark.parametrize("count", [10, pytest.param(40, marks=pytest.mark.full)])
@pytest.mark.parametrize("length", [60, pytest.param(30, marks=pytest.mark.full)])
def test_long_names_of_many_policies_fit_and_no_legend_is_half_of_the_figure(count, length):
    names = [
        f"{'SW-FE-Linear, a rather long name, and longer' * 2}"[: length - 3] + f" {i}" for i in range(count)
    ]
    assert_legible(curves(table(range(100, 100 + count), names), "", "50 runs"))


def test_a_policy_far_above_the_others_leaves_the_axis_and_is_named_with_its_value():
    figure = curves(table([500, 8000, 700, 450]), "", "5 runs")
    left, right = figure.axes
    assert left.get_ylim() == (0, 1.25 * 700)
    assert [text.get_text() for text in left.texts] == ["policy 1 ↑ 8,000"]
    assert not right.texts
    assert right.get_ylim()[1] > 7000


def test_half_of_the_policies_stay_on_the_axis():
    assert readable({"A": 1.0, "B": 100.0}) == (100.0, [])
    assert readable({"A": 1.0, "B": 100.0, "C": 120.0, "D": 1000.0}) == (120.0, ["D"])
    assert readable({"A": 1.0, "B": 2.0, "C": 4.0, "D": 8.0}) == (8.0, [])
    assert readable({"A": 85.0, "B": 100.0, "C": 420.0, "D": 490.0, "E": 1400.0, "F": 8000.0})[1] == ["F"]
    assert readable({"A": 0.0, "B": 0.0, "C": 0.0, "D": 8.0}) == (8.0, [])


def test_more_than_six_policies_have_their_names_at_the_ends_of_their_lines():
    few, many = (curves(table(range(100, 100 + n)), "", "5 runs") for n in (6, 7))
    assert len(few.legends) == 1
    assert not few.axes[0].texts
    assert many.legends == []
    for axes in many.axes:
        assert {text.get_text() for text in axes.texts} == {f"policy {i}" for i in range(7)}
        heights = sorted(text.get_position()[1] for text in axes.texts)
        assert np.diff(heights).min() * 2.4 * 72 > layout.LABEL


def test_a_policy_without_regret_has_its_name_at_the_lower_edge_of_a_logarithm():
    figure = curves(table([0, *range(100, 107)]), "", "5 runs")
    assert "policy 0 ↓ 0" in [text.get_text() for text in figure.axes[1].texts]


def test_few_breakpoints_are_lines_many_are_marks_and_very_many_a_number():
    found = {}
    for count in (0, 12, 13, 200, 9_999):
        breakpoints = np.linspace(2, 99_999, count).astype(int).tolist()
        left, right = curves(table([5, 6]), "", "5 runs", breakpoints).axes
        assert right.get_xscale() == ("linear" if count else "log")
        found[count] = (len(left.lines) - 2, len(left.collections) - 2, left.get_xlabel())
    assert found == {
        0: (0, 0, "step t"),
        12: (12, 0, "step t"),
        13: (0, 1, "step t\n13 changes, marked"),
        200: (0, 1, "step t\n200 changes, marked"),
        9_999: (0, 0, "step t\n9,999 changes"),
    }


def test_numbers_at_axes_are_written_as_in_tables():
    figure = curves(table([12_000, 20_000]), "", "5 runs")
    figure.draw_without_rendering()
    for axis in (figure.axes[0].xaxis, figure.axes[0].yaxis):
        labels = [label.get_text() for label in axis.get_ticklabels()]
        assert "20,000" in labels or "50,000" in labels
        assert not any("k" in label for label in labels)


def test_a_figure_says_what_it_shows_in_a_file_of_any_format(tmp_path):
    figure = curves(table([500, 8000, 700], ["FE", "<b>", "TS"]), "A & B", "5 runs")
    said = description(figure)
    assert (
        "mean; bars: 10 % to 90 % at T of 5 runs: cumulative pseudo-regret against step t. FE ends at 500.0"
        in said
    )
    style.save(figure, tmp_path, "x", runs(["png", "svg"], style.FORMATS))
    info = Image.open(tmp_path / "x.png").text
    assert (info["Title"], info["Description"]) == ("A & B", said)
    svg = (tmp_path / "x.svg").read_text(encoding="utf-8")
    assert "<title>A &amp; B</title>\n <desc>mean;" in svg
    assert "&lt;b&gt; ends at 8,000" in svg
    if full:
        assert b"/Subject" in (tmp_path / "x.pdf").read_bytes()
    untitled = curves(table([5]), "", "5 runs")
    assert b"<title>mean; 10 % to 90 %, of 5 runs</title>\n <desc>" in style.content(untitled, "svg")


# Looks


def to_lab(color, matrix=None):
    """CIELAB of a colour, as it is seen, or as one of the colour-blind sees it."""
    channels = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    if matrix is not None:
        linear = np.clip(np.array(matrix) @ linear, 0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ linear
    ratio = xyz / [0.9505, 1, 1.089]
    f = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


# Machado, Oliveira, Fernandes 2009, severity 1.
BLIND = {
    "none": np.eye(3),
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


@pytest.mark.parametrize("kind", BLIND)
def test_ten_colours_differ_for_the_colour_blind(kind):
    """A difference of 2.3 is just seen."""
    seen = [to_lab(color, BLIND[kind]) for color in display.COLORS]
    assert min(np.linalg.norm(one - other) for one, other in itertools.combinations(seen, 2)) > 15


def test_forty_lines_differ_in_colour_or_dashes_and_two_hundred_in_some_way():
    looks = [style.line(place) for place in range(200)]
    assert len(set(looks)) == 200
    assert len({(look.color, str(look.linestyle)) for look in looks[:40]}) == 40
    assert len({look.marker for look in looks[:10]}) == 10


# Results draw themselves


@pytest.fixture(scope="module")
def results():
    env = br.Environment.stationary([br.Bernoulli(0.4), br.Bernoulli(0.6)])
    policies = {"UCB1": br.UCB1(), "FE": br.ForcedExploration(br.Linear()), "Random": br.UniformRandom()}
    return br.simulate(env, policies, 200, 5)


def test_plot_returns_the_axes_of_its_panels(results):
    both = results.plot()
    assert both.shape == (2,)
    assert [axes.get_title().partition(";")[0] for axes in both] == ["mean", "median"]
    alone = results.plot(panels="median", figsize=(3.3, 2.4))
    assert alone.get_title().startswith("median")
    assert tuple(alone.figure.get_size_inches()) == (3.3, 2.4)


def test_a_policy_has_the_same_colour_alone_as_among_all(results):
    everyone = {line.get_label(): line.get_color() for line in results.plot()[0].lines}
    some = {line.get_label(): line.get_color() for line in results.plot(policies=["Random", "FE"])[0].lines}
    assert list(some) == ["Random", "FE"]
    assert some == {name: everyone[name] for name in some}


def test_plot_draws_into_given_axes(results):
    figure, axes = plt.subplots(1, 2, layout="constrained")
    try:
        returned = results.plot(ax=axes, policies="FE", title="Title")
        assert list(returned) == list(axes)
        assert results.plot(ax=axes[0], panels="median") is axes[0]
        assert results.plot(ax=axes[1]).get_title().startswith("mean")
        assert axes[0].get_legend() is not None
    finally:
        plt.close(figure)


def test_plot_refuses_what_it_cannot_draw(results):
    with pytest.raises(br.UnknownNameError, match="unknown policy 'UCB'"):
        results.plot(policies=["UCB"])
    with pytest.raises(br.UnknownNameError, match="unknown panel 'means'"):
        results.plot(panels="means")
    with pytest.raises(br.InvalidValueError, match="no policy to draw"):
        results.plot(policies=[])
    with pytest.raises(br.InvalidValueError, match="2 panels need as many axes, not 1"):
        results.plot(ax=[style.new_figure(2, 2).add_subplot()], panels=["mean", "median"])


def test_no_figure_stays_in_pyplot_outside_of_notebooks(results):
    results.plot()
    assert plt.get_fignums() == []
