"""Names that people typed: policies, problems, studies and parameters in figures."""

import re
import warnings

import pandas as pd
import pytest

import brigand as br
from brigand.figures import comparison, layout, style, text
from brigand.figures.curves import curves as draw_curves
from brigand.studies.draw import drawings
from brigand.studies.report import report
from brigand.studies.results import StudyResults
from brigand.studies.run import run_study

AS_TYPED = [
    "$5_vs_$10",
    "$5 vs $10",
    "A$$AP",
    "$",
    "$$",
    "a$b",
    r"C:\new\$x$y",
    "$HOME/$USER",
    "$5 (US$)",
    "$^$",
    "_x",
    "__",
    "100 %_off",
    "a{b}^c",
    "<b>&amp;",
]
FORMULAS = ["$c=0$", r"$\epsilon$-greedy", "order (log T)$^2$", "$x$, $5"]


def curves(*names):
    index = pd.MultiIndex.from_product([names, [1, 10, 100]], names=["policy", "step"])
    columns = ("mean", "median", "q10", "q90")
    table = pd.DataFrame({column: [1.0, 5, 9] * len(names) for column in columns}, index)
    return table.assign(top=0.0, replications=100)


def drawn(figure, tmp_path):
    """Return the texts in the figure's SVG file, as they are seen."""
    (path,) = style.save(figure, tmp_path, "x", ["svg"])
    found = re.findall(r"<text[^>]*>(.*?)</text>", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [part.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") for part in found]


def test_names_are_drawn_as_they_were_typed(tmp_path):
    figure = draw_curves(curves(*AS_TYPED), "\n".join(AS_TYPED), "5 runs")
    found = drawn(figure, tmp_path)
    assert {name: found.count(name) for name in AS_TYPED} == dict.fromkeys(AS_TYPED, 3)
    figure, (axes,) = layout.panel_grid(1, "x", "y")
    layout.name_rows(axes, AS_TYPED)
    assert set(AS_TYPED) <= set(drawn(figure, tmp_path))


@pytest.mark.parametrize("name", FORMULAS)
def test_mathematics_stays_mathematics(name):
    assert text.typed(name).replace(r"\$5", "") == name.replace("$5", "")


def test_formulas_are_drawn(tmp_path):
    found = drawn(draw_curves(curves(*FORMULAS), "", "5 runs"), tmp_path)
    assert sum(part.count("$") for part in found) == 1


def test_a_sweep_shows_names_as_they_were_typed(tmp_path):
    row = {"panel": "$5 vs $10", "mean": 1.0, "q10": 0.5, "q90": 1.5}
    table = pd.DataFrame([row | {"line": line, "x": x} for line in ("_x", "A$$AP") for x in (1, 2)])
    found = drawn(comparison.sweep(table, "a$b$c", "$5_vs_$10", "5 runs"), tmp_path)
    assert {"$5 vs $10", "_x", "A$$AP", "a$b$c", "$5_vs_$10"} <= set(found)


def test_results_are_drawn_with_such_names(tmp_path):
    env = br.Environment.stationary([br.Bernoulli(0.4), br.Bernoulli(0.6)])
    res = br.simulate(env, dict.fromkeys(["_x", "$5_vs_$10"], br.UniformRandom()), 50, 3)
    figure = res.plot(tmp_path / "$5_vs_$10.png", title="A$$AP")[0].figure
    assert (tmp_path / "$5_vs_$10.png").exists()
    assert {"_x", "$5_vs_$10", "A$$AP"} <= set(drawn(figure, tmp_path))


STUDY = """
name: A$$AP
environments:
  - name: $5_vs_$10
    random: {family: bernoulli, arms: 3, instances: 6}
horizon: 60
replications: 2
checkpoints: 8
policies:
  - {policy: FE-Exp, name: _x}
  - {policy: UniformRandom, name: $5_vs_$10}
  - {policy: UniformRandom, name: "[red]a[/red]"}
"""


@pytest.mark.full
def test_a_study_is_drawn_and_reported_with_such_names(tmp_path):
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    run_study(tmp_path / "study.yaml", tmp_path / "out", workers=1)
    results = StudyResults(tmp_path / "out")
    for drawing in drawings(results):
        found = drawn(drawing.figure, tmp_path)
        assert any("A$$AP" in part for part in found), drawing.kind
        if drawing.kind in ("regret", "final", "profiles", "ranks"):
            assert {"_x", "$5_vs_$10"} <= {part.partition("  ")[0] for part in found}, drawing.kind
    page = report(results)
    assert "A$$AP" in page
    assert "\\$" not in page


@pytest.mark.full
def test_what_no_font_has_is_warned_of_once(tmp_path):
    figure = draw_curves(curves("緑のボタン", "赤"), "ボタン", "5 runs")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)  # of pyparsing, by old Matplotlib
        for suffix in style.FORMATS:
            style.save(figure, tmp_path, "x", [suffix])
    messages = {str(warning.message) for warning in caught}
    assert len(messages) <= 1
    assert all(re.match("no font here has .*緑", message) for message in messages)


def test_a_character_that_another_font_has_is_drawn_with_that(tmp_path):
    assert "⃝" not in text._characters(text.font_manager.findfont("DejaVu Sans"))
    style.save(draw_curves(curves("a⃝"), "", "5 runs"), tmp_path, "x")
