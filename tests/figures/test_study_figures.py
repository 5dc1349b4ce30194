"""The figures of studies: what is on the axes, for few policies and for many, with and without zeros."""

import numpy as np
import pandas as pd
import pytest

import brigand as br
from brigand.figures import comparison, studies, text
from brigand.figures.curves import curves
from brigand.studies.draw import drawings
from brigand.studies.model import FIGURES
from brigand.studies.results import StudyResults
from brigand.studies.run import run_study
from brigand.studies.sweeps import sweeps

TEXT = """
name: sweeps
environments:
  - name: random
    random: {family: bernoulli, arms: 12, instances: 6}
    sweep: {phases: [1, 2]}
  - name: fixed
    arms: [{type: Bernoulli, p: 0.2}, {type: Bernoulli, p: 0.7}]
horizon: [60, 300]
replications: 6
checkpoints: 8
policies:
  - Oracle
  - FE-Exp
  - policy: SW-FE-Linear
    name: grid
    sweep: {window: [20, 60], sequence.slope: [1, 2]}
  - policy: SW-FE-Linear
    name: list
    sweep: [{window: 20, sequence.slope: 1}, {window: 50, sequence.slope: 3}]
  - policy: UCB1-sigma
    sweep: {sigma: [0.25, 0.5, 1, 2]}
  - Random
baseline: Random
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    (folder / "study.yaml").write_text(TEXT, encoding="utf-8")
    run_study(folder / "study.yaml", folder / "results", workers=2)
    return StudyResults(folder / "results")


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def named(figure):
    """Return the names of the lines of the first panel, in a legend or at the ends of lines."""
    _, names = text.labels(figure.axes[0])
    written = legend(figure) if figure.legends else [one.get_text() for one in figure.axes[0].texts]
    assert {name.partition(" ↑")[0] for name in written} == set(names)
    return names


def spread(rows):
    """Quantiles of so many policies, as `final` takes them."""
    data = {f"policy {i}": np.array([1, 2, 3, 4, 6, 20, 5]) * 1.1**i for i in range(rows)}
    return pd.DataFrame(data, ["q10", "q25", "median", "q75", "q90", "q99", "mean"]).T


def test_curves_show_means_and_medians():
    index = pd.MultiIndex.from_product([["A", "B"], [1, 10, 100]], names=["policy", "step"])
    column = np.array([1.0, 5, 9, 0, 2, 4])
    table = pd.DataFrame({n: column for n in ("mean", "median", "q10", "q90")}, index)
    table = table.assign(top=[0.2] * 3 + [0.9] * 3, replications=5)
    figure = curves(table, "a title", "5 runs", (50,))
    left, right = figure.axes
    assert figure.get_suptitle() == "a title"
    assert legend(figure) == ["A", "B*"]
    assert left.get_xlabel() == "step t\n* few runs carry the mean"
    assert left.get_title() == "mean; 10 % to 90 %\nof 5 runs"
    assert (left.get_xscale(), right.get_xscale(), right.get_yscale()) == ("linear", "linear", "log")
    assert left.get_ylabel() == "cumulative pseudo-regret"
    for axes in (left, right):
        assert [line.get_xdata()[0] for line in axes.lines] == [50, 1, 1]
    assert curves(table, "", "5 runs").axes[1].get_xscale() == "log"  # nothing changes
    table[["mean", "median", "q10", "q90"]] = 0.0
    assert curves(table, "", "5 runs").axes[1].get_yscale() == "linear"


def test_ranges_of_many_policies_stand_beside_the_axes():
    names = [f"policy {i}" for i in range(10)]
    index = pd.MultiIndex.from_product([names, [1, 100]], names=["policy", "step"])
    table = pd.DataFrame({"mean": 2.0, "median": 2.0, "q10": 1.0, "q90": 9.0}, index)
    table = table.assign(top=0.2, replications=5)
    left, right = curves(table, "", "5 runs").axes
    for axes in (left, right):
        assert not axes.collections
        bars = axes.lines[len(names) : 2 * len(names)]
        assert len({line.get_xdata()[0] for line in bars}) == len(names)
        edge = axes.get_window_extent().x1
        assert all(line.get_window_extent().x0 >= edge for line in bars)
        assert axes.get_title().endswith("bars: 10 % to 90 %\nat T of 5 runs")
    assert [line.get_ydata()[1] for line in left.lines[len(names) : 2 * len(names)]] == [
        left.get_ylim()[1]
    ] * len(names)
    assert len(curves(table.head(4), "", "5 runs").axes[0].collections) == 2


@pytest.mark.parametrize("rows", [1, 62])
def test_final_regret_has_a_row_for_each_policy(rows):
    figure = studies.final(spread(rows), "title", "5 runs")
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [f"policy {i}" for i in range(rows)]
    assert axes.get_ylim() == (rows - 0.4, -0.6)  # the first on top
    assert axes.get_xlabel() == "pseudo-regret at T, in units of reward"
    assert axes.get_xscale() == "log"
    assert legend(figure) == ["mean", "99 % quantile"]
    assert figure.get_figheight() < 13


def test_zeros_have_a_place_on_a_logarithmic_axis():
    table = spread(3)
    table.loc["policy 0", ["q10", "q25"]] = 0.0
    (axes,) = studies.final(table, "", "").axes
    assert axes.get_xscale() == "symlog"
    assert axes.get_xlim()[0] < 0
    (axes,) = studies.final(table * 0, "", "").axes
    assert axes.get_xscale() == "linear"


def test_forced_pulls_stand_beside_greedy_ones():
    table = pd.DataFrame({"forced": [30.0, 0.0], "greedy": [970.0, 1000.0]}, ["FE", "other"])
    figure = studies.forced(table, "title")
    (axes,) = figure.axes
    assert legend(figure) == ["forced pulls", "greedy pulls"]
    (right,) = axes.child_axes
    assert [label.get_text() for label in right.get_yticklabels()] == ["3 %", "0 %"]
    assert axes.get_xscale() == "symlog"


def test_pulls_have_a_panel_for_each_policy():
    table = pd.DataFrame({"best": [1, 2, 90], "2nd": [0, 1, 10]}, [1, 10, 100])
    figure = studies.pulls({f"policy {i}": table for i in range(4)}, "title", "arms by gap", (5,))
    assert [axes.get_title() for axes in figure.axes] == [f"policy {i}" for i in range(4)]
    assert legend(figure) == ["best", "2nd"]
    assert figure.legends[0].get_title().get_text() == "arms by gap"
    assert [axes.get_xlabel() for axes in figure.axes] == ["", "", "step t", "step t"]
    assert np.isnan(figure.axes[0].lines[-1].get_ydata()[0])  # a logarithm shows no zeros


def test_sweeps_have_logarithmic_axes_where_values_are_far_apart():
    rows = [
        ("p", "A", 1.0, 1.0, 0.5, 1.5),
        ("p", "A", 100.0, 50.0, 40.0, 60.0),
        ("p", "B", np.nan, 3.0, 2.0, 4.0),
        ("q", "A", 10.0, 5.0, np.nan, np.nan),
    ]
    table = pd.DataFrame(rows, columns=["panel", "line", "x", "mean", "q10", "q90"])
    figure = comparison.sweep(table, "window", "title", "9 runs")
    first, second = figure.axes
    assert (first.get_title(), second.get_title()) == ("p", "q")
    assert (first.get_xscale(), first.get_yscale(), second.get_yscale()) == ("log", "log", "linear")
    assert first.get_xlabel() == "window"
    assert legend(figure) == ["A", "B"]
    assert "bars: 10 % to 90 % of 9 runs" in figure.get_suptitle()
    assert first.lines[-1].get_ydata() == [3.0, 3.0]


def test_profiles_are_steps_of_shares():
    table = pd.DataFrame({"A": [0.5, 0.75, 1.0], "B": [0.5, 0.5, 0.5]}, pd.Index([1.0, 2.0, 40.0]))
    figure = comparison.profiles(table, "title")
    (axes,) = figure.axes
    assert axes.get_xlim() == (1, 40)
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "2", "5", "10", "20"]
    assert legend(figure) == ["A", "B"]


def test_ranks_join_what_does_not_differ():
    table = pd.Series([1.2, 2.0, 2.8], ["A", "B", "C"])
    figure = comparison.ranks(table, 1.0, [(0, 1), (1, 2)], "title")
    (axes,) = figure.axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["A  1.20", "B  2.00", "C  2.80"]
    bars = [line for line in axes.lines if line.get_linewidth() > 2]
    assert [list(bar.get_ydata()) for bar in bars] == [[-0.25, 1.25], [0.75, 2.25]]
    assert bars[0].get_xdata()[0] < bars[1].get_xdata()[0]  # they overlap, so side by side
    assert any("CD = 1.00" in text.get_text() for text in axes.texts)
    assert "less than CD apart" in legend(figure)[0]


@pytest.mark.full
def test_swept_parameters_become_lines(results):
    found = {parameter: (table, note) for parameter, table, note in sweeps(results, 10)}
    assert list(found) == ["window", "sequence.slope", "sigma", "phases", "T"]
    table, note = found["window"]
    assert note == ""
    lines = set(table["line"])
    # A grid has a line for each value of the other parameter; in a list it follows.
    assert {"grid (sequence.slope = 1)", "grid (sequence.slope = 2)", "list", "FE-Exp", "Random"} <= lines
    assert "Oracle" not in lines
    row = table[(table["panel"] == "fixed (T = 300)") & (table["line"] == "list") & (table["x"] == 50)]
    mean = results.final("fixed (T = 300)", "list (window = 50, sequence.slope = 3)").mean()
    assert row["mean"].item() == pytest.approx(mean)
    assert table[table["line"] == "Random"]["x"].isna().all()
    table, note = found["phases"]
    assert set(table["panel"]) == {"random (T = 60)", "random (T = 300)"}
    assert table["line"].nunique() == 10
    assert note in ("\nthe 10 best of 12 lines", "\nthe 9 best of 12 lines and Random")
    assert set(found["T"][0]["panel"]) == {"random (phases = 1)", "random (phases = 2)", "fixed"}


@pytest.mark.full
def test_all_figures_that_make_sense_are_drawn(results):
    found = list(drawings(results))
    assert list(dict.fromkeys(drawing.kind for drawing in found)) == list(FIGURES)
    files = [drawing.file for drawing in found]
    assert len(set(files)) == len(files)
    assert "regret-random-phases-1-t-60" in files
    for drawing in found:
        assert drawing.figure.get_suptitle().startswith("sweeps: ")
        assert drawing.caption
        if drawing.kind in ("regret", "profiles"):
            assert " best of 12 policies" in drawing.figure.get_suptitle()
            assert len(named(drawing.figure)) == 10
    kinds = [drawing.kind for drawing in found]
    assert (kinds.count("regret"), kinds.count("ranks"), kinds.count("sweep")) == (
        6,
        5,
        5,
    )  # ranks also of all
    last = next(d for d in found if d.file == "pulls-random-phases-2-t-300")
    assert legend(last.figure)[0] == "best"
    assert legend(last.figure)[-1].endswith("to 12th, each")
    assert last.figure.legends[0].get_title().get_text() == "arms by mean gap over time, within each instance"


@pytest.mark.full
def test_a_policy_looks_the_same_in_every_figure_of_a_study_and_in_every_part(results):
    def looks(part, kinds):
        found = {}
        for drawing in drawings(part, kinds, part.problems[:2]):
            for axes in drawing.figure.axes:
                for line in axes.lines:
                    name = str(line.get_label()).removesuffix("*")
                    if name in results.policies:
                        found.setdefault(name, set()).add((line.get_color(), line.get_marker()))
        return found

    whole = looks(results, ["regret", "profiles"])
    assert len(whole) >= 10
    assert all(len(look) == 1 for look in whole.values())
    part = looks(results.select(policies=["FE-Exp", "list", "Random"]), ["regret"])
    both = part.keys() & whole.keys()
    assert len(both) >= 3
    assert {name: part[name] for name in both} == {name: whole[name] for name in both}
    assert results.select(policies=["FE-Exp"]).places == results.places


@pytest.mark.full
def test_of_many_policies_the_best_are_drawn_and_the_baseline(results):
    means = results.draws("fixed (T = 300)").mean().sort_values(kind="stable")
    again = StudyResults(results.folder)
    again.manifest["baseline"] = worst = means.index[-1]
    (drawing,) = (d for d in drawings(again, ["regret"]) if d.file == "regret-fixed-t-300")
    assert drawing.figure.get_suptitle().endswith(f"\nthe 9 best of 12 policies and {worst}")
    drawn = [name.removesuffix("*") for name in named(drawing.figure)]
    assert drawn == [*means.index[1:10], worst]  # the first is the oracle


def test_pulls_are_in_the_order_of_gaps(results):
    (drawing,) = (d for d in drawings(results, ["pulls"]) if d.file == "pulls-fixed-t-300")
    assert legend(drawing.figure) == ["arm 1, gap 0", "arm 0, gap 0.5"]
    panel = next(a for a in drawing.figure.axes if a.get_title() == "FE-Exp")
    pulls = results.pulls("fixed (T = 300)", "FE-Exp")[0].mean(axis=0)
    np.testing.assert_allclose(panel.lines[0].get_ydata(), np.where(pulls > 0, pulls, np.nan)[:, 1])


def test_figures_that_make_no_sense_are_refused(results, tmp_path):
    with pytest.raises(br.UnknownNameError, match=r"unknown figure 'swep'\. Did you mean 'sweep'"):
        list(drawings(results, ["swep"]))
    text = "name: x\nenvironments: [{arms: [{type: Bernoulli, p: 0.5}]}]\nhorizon: 5\nreplications: 1\n"
    (tmp_path / "study.yaml").write_text(text + "policies: [UCB1]\nmetrics: []\n", encoding="utf-8")
    run_study(tmp_path / "study.yaml", tmp_path / "results", workers=1)
    small = StudyResults(tmp_path / "results")
    assert [drawing.file for drawing in drawings(small)] == ["regret"]
    for kind in set(FIGURES) - {"regret"}:
        with pytest.raises(br.InvalidValueError, match=f"nothing to draw in the figure '{kind}': it needs"):
            list(drawings(small, [kind]))
