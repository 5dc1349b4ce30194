"""What things show in notebooks: tables and small figures, escaped; never an error, never a write."""

import time
import xml.etree.ElementTree as ET
from html import escape
from types import SimpleNamespace

import numpy as np
import pytest

import brigand as br
from brigand import display, stamps

TAG = "<b>&amp;"
COINS = br.Environment.stationary([br.Bernoulli(0.4), br.Bernoulli(0.6)])


@pytest.fixture(scope="module")
def things():
    results = br.simulate(COINS, {TAG: br.UniformRandom(), "UCB1": br.UCB1(0, 1)}, 200, 5)
    bandit = br.Bandit(["<i>a", "b"], br.UCB1(0, 1), seed=0, floor=0.1)
    for place, decision in enumerate(bandit.ask(60)):
        bandit.tell(decision, float(place % 3 == 0))
    log = bandit.log()
    return {
        "environment": br.Environment.stationary([br.Bernoulli(0.4), br.Pareto(1.5), br.StudentT(1.5)]),
        "phases": br.random_environment("gaussian", 5, 1000, phases=4),
        "many phases": br.random_environment("bernoulli", 30, 1000, phases=100),
        "results": results,
        "instances": br.Results.over_instances([results, results]),
        "bandit": bandit,
        "empty bandit": br.Bandit([TAG, "b"], br.UCB1(0, 1)),
        "log": log,
        "evaluation": br.evaluate(log, "uniform"),
        "replay": br.replay(log, {TAG: br.UniformRandom()}, replications=3, resamples=3),
    } | {name: policy for name, policy in br.CATALOGUE.items()}


def parsed(thing):
    return ET.fromstring(thing._repr_html_())


def test_everything_shows_a_table_that_is_well_formed(things):
    for name, thing in things.items():
        page = parsed(thing)
        assert page.tag == "div", name
        assert page.find("table") is not None, name
        assert page.find("p/strong").text, name


def test_what_has_numbers_shows_a_figure_with_words_for_it(things):
    for name in (
        "environment",
        "phases",
        "results",
        "instances",
        "bandit",
        "log",
        "evaluation",
        "replay",
        "FE-Exp",
    ):
        (figure,) = parsed(things[name]).iter("{http://www.w3.org/2000/svg}svg")
        assert figure.get("role") == "img", name
        assert len(figure.get("aria-label")) > 10, name
        assert list(figure), name


def test_names_are_escaped(things):
    for name in ("results", "instances", "empty bandit", "replay"):
        assert TAG in "".join(parsed(things[name]).itertext()), name
    assert "<i>a" in "".join(parsed(things["bandit"]).itertext())


def test_a_repr_never_raises_and_is_quick(things):
    class Broken(br.UCB1):
        must_know = property(lambda self: 1 / 0)

    assert Broken()._repr_html_() == f"<pre>{escape(repr(Broken()))}</pre>"
    broken = br.Results(lambda: 1 / 0)
    assert broken._repr_html_().startswith("<pre>&lt;brigand.simulation.results.Results object at")
    for name, thing in things.items():
        start = time.perf_counter()
        thing._repr_html_()
        assert time.perf_counter() - start < 1, name


def test_the_numbers_of_results_are_those_of_their_summary(things):
    rows = parsed(things["results"]).findall("table/tbody/tr")
    for row, (_, found) in zip(rows, things["results"].summary().iterrows(), strict=True):
        cells = [cell.text for cell in row.findall("td")[1:]]
        assert cells == [
            display._text(float(found[c])) for c in ("mean", "low", "high", "median", "q10", "q90")
        ]


def test_a_repr_of_a_bandit_writes_nothing(tmp_path):
    path, now = tmp_path / "x.db", [0.0]
    bandit = br.Bandit(
        ["a", "b"],
        br.UCB1(0, 1),
        store=f"sqlite:///{path}",
        name="x",
        reward_timeout=1.0,
        default_reward=0.0,
        clock=lambda: now[0],
    )
    bandit.ask()
    now[0] = 10.0
    for _ in range(2):
        rows = parsed(bandit).findall("table/tbody/tr")
        assert sum(row[3].text == "1" for row in rows) == 1  # pending, though the default value is due
    assert bandit.summary()["pending"].sum() == 0
    bandit.close()


def test_how_things_are_shown_is_no_part_of_the_code_that_stored_results_hang_on():
    found = {}
    for module in (
        "brigand.policies.forced.forced_exploration",
        "brigand.simulation.step",
        "brigand.environments.instances",
    ):
        stamps._collect(module, "brigand", found)
    assert "brigand.policies.base" in found
    assert "brigand.environments.environment" in found
    assert not [name for name in found if name.endswith((".shown", ".display"))]


def test_small_figures_leave_out_what_is_not_finite():
    assert display.lines([("x", [1, 2], [np.nan, np.inf])], "words") == ""
    assert display.forest([("x", None, None, None)], "words") == ""
    rows = [("x", 1.0, -np.inf, np.inf), ("y", 2.0, np.nan, np.nan)]
    figure = ET.fromstring(display.forest(rows, "words"))
    (interval,) = figure.iter("{http://www.w3.org/2000/svg}line")
    assert (interval.get("x1"), interval.get("x2")) == (f"{display.NAMES:.1f}", f"{display.WIDTH:.1f}")


def test_long_tables_and_cells_are_cut():
    page = ET.fromstring(f"<div>{display.table(('a',), [['x' * 1000]] * 1000)}</div>")
    assert len(page.findall("table/tbody/tr")) == display.MOST
    assert page.find("p").text == "and 988 more"
    assert len(page.find("table/tbody/tr/td").text) == display.LONGEST


def test_progress_is_shown_in_notebooks_only(monkeypatch):
    assert display.progress_of(None, "runs") is None
    given = []
    br.simulate(COINS, {"x": br.UniformRandom()}, 10, 2, progress=lambda *at: given.append(at))
    assert given == [(2, 2)]
    shown = []
    shell = SimpleNamespace(kernel=object())
    handle = SimpleNamespace(update=lambda html: shown.append(html._repr_html_()))

    def show(html, display_id):
        shown.append(html._repr_html_())
        return handle

    fake = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=show))
    monkeypatch.setitem(__import__("sys").modules, "IPython", fake)
    monkeypatch.setattr(display, "AFTER", 0.0)
    monkeypatch.setattr(display, "EVERY", 0.0)
    assert display.progress_of(False, "runs") is None
    bar = display.progress_of(None, "runs")
    for done in (1, 2, 4):
        bar(done, 4)
    assert [text[:28] for text in shown] == [
        '<progress value="1" max="4" ',
        '<progress value="2" max="4" ',
        "",
    ]
    assert shown[0].endswith("1 of 4 runs")
