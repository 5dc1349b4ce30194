"""Figures with bounds: what is drawn, what is said, and axes that keep their limits."""

import numpy as np
import pytest

import brigand as br
from brigand import theory
from brigand.figures import bounds as figures
from brigand.papers import forced_exploration as paper
from brigand.theory import bound as kinds
from brigand.theory.bound import Bound, Condition

HORIZON = 400
EASY = br.Environment.stationary([br.Gaussian(0, 0.1), br.Gaussian(1, 0.1)])
POLICIES = {"FE": br.ForcedExploration(br.Linear()), "UCB1": br.UCB1(sigma=0.1)}


@pytest.fixture(scope="module")
def results():
    return br.simulate(EASY, POLICIES, HORIZON, 5)


@pytest.fixture(scope="module")
def instances():
    parts = [
        br.simulate(br.random_environment("gaussian", 2, HORIZON, seed=i), POLICIES, HORIZON, 1)
        for i in range(2)
    ]
    return br.Results.over_instances(parts)


def make(name, regret, kind=kinds.UPPER, version=kinds.CORRECTED, holds=True):
    needs = (Condition("fair weather", holds),)
    return Bound(name, version, kind, "a source", f"{name}: a sentence", needs, regret)


def constant(value):
    return lambda steps: np.full(len(steps), float(value))


GIVEN = (
    make("Order", np.sqrt, kinds.ORDER, kinds.PRINTED),
    make("Printed", constant(90), version=kinds.PRINTED),
    make("Corrected", constant(60)),
    make("Infinite", constant(np.inf)),
    make("Failed", constant(1), holds=False),
    make("Floor", constant(1), kinds.FLOOR),
    make("Slope", lambda steps: 3 * np.log(steps), kinds.SLOPE, kinds.STANDARD),
    make("Worst", np.sqrt, kinds.WORST, kinds.STANDARD),
    make("Average", constant(20), kinds.AVERAGE, kinds.STANDARD),
)


def line(axes, name):
    return next(line for line in axes.lines if line.get_label().startswith(name))


@pytest.fixture(scope="module")
def figure(results):
    return figures.bounds(results, "FE", "a title", GIVEN)


def test_every_bound_that_holds_is_in_the_legend_under_what_it_says(figure):
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    names = [text.split(":")[0].replace("\n", " ") for text in texts]
    assert names[:3] == ["measured mean, and 10 % to 90 % of 5 runs", "measured median", "trivial"]
    assert names[3:] == [
        "At most this, in expectation",
        "Printed, as printed",
        "Corrected, corrected",
        "On average over problems drawn from a prior, not on each",
        "Average, standard",
        "At least this, in every run",
        "Floor, corrected",
        "An asymptotic slope",
        "Slope, standard",
        "For every policy, at least this on some problem of the class",
        "Worst, standard",
        "An order of growth",
        "Order, as printed",
    ]
    assert figure.axes[0].get_xlabel().endswith("trivial at all steps: Infinite, corrected")


def test_the_axes_are_logarithmic_labelled_and_end_near_the_trivial_bound(figure):
    (axes,) = figure.axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.get_xlabel().startswith("step t\n")
    assert axes.get_ylabel() == "cumulative pseudo-regret"
    assert axes.get_title() == "a title"
    assert axes.get_xlim() == (1, HORIZON)
    assert 0.05 < axes.get_ylim()[0] < axes.get_ylim()[1] == 2 * HORIZON


def test_bounds_are_drawn_only_below_the_trivial_one(figure):
    (axes,) = figure.axes
    steps = line(axes, "Corrected").get_xdata()
    assert (steps[0], steps[-1]) == (1, HORIZON)
    drawn = line(axes, "Corrected").get_ydata()
    np.testing.assert_array_equal(np.isnan(drawn), steps <= 60)
    assert (drawn[steps > 60] == 60).all()
    assert np.isnan(line(axes, "Infinite").get_ydata()).all()
    np.testing.assert_allclose(line(axes, "trivial").get_ydata(), steps)


def test_versions_and_kinds_of_bounds_are_drawn_differently(figure):
    assert figures.DASHES.keys() == kinds.KINDS.keys()
    (axes,) = figure.axes
    looks = {
        name: (line(axes, name).get_color(), str(line(axes, name)._dash_pattern))
        for name in ("Printed", "Corrected", "Average", "Floor", "Slope", "Worst", "Order")
    }
    assert len(set(looks.values())) == len(looks)
    assert looks["Printed"][0] != looks["Corrected"][0] == looks["Floor"][0]
    markers = [line(axes, name).get_marker() for name in looks]
    assert len(set(markers)) == len(markers)


def test_one_policy_needs_no_name_and_of_several_one_is_named(results, instances):
    alone = br.simulate(EASY, {"FE": POLICIES["FE"]}, HORIZON, 1)
    assert figures.bounds(alone, given=GIVEN).axes[0].get_title() == "FE"
    with pytest.raises(br.InvalidValueError, match="which policy"):
        figures.bounds(results)
    with pytest.raises(br.UnknownNameError, match="unknown policy 'UCB'"):
        figures.bounds(results, "UCB")
    with pytest.raises(br.InvalidValueError, match="one environment, and these results are over 2"):
        figures.bounds(instances, "FE")


@pytest.mark.every(4)
@pytest.mark.parametrize("arms", [[br.Bernoulli(0.5)], [br.Bernoulli(0.5)] * 2], ids=len)
@pytest.mark.parametrize("horizon", [1, 30])
def test_environments_without_regret_are_drawn_too(arms, horizon, tmp_path):
    equal = br.simulate(br.Environment.stationary(arms), POLICIES, horizon, 2)
    figures.bounds(equal, "FE").savefig(tmp_path / "x.png")
    equal.plot(tmp_path / "y.png", bounds=True)


def test_the_trivial_bound_follows_the_phases():
    phases = [[br.Bernoulli(0.2), br.Bernoulli(0.7)], [br.Bernoulli(0.5), br.Bernoulli(0.4)]]
    environment = br.Environment.piecewise(phases, [1, 11])
    np.testing.assert_allclose(environment.worst_regret([1, 10, 11, 30]), [0.5, 5, 5.1, 7])
    assert environment.worst_regret(12) == pytest.approx(5.2)


def test_the_bounds_of_the_theory_are_drawn(results):
    figure = figures.bounds(results, "FE")
    texts = " ".join(text.get_text() for text in figure.legends[0].get_texts())
    assert "Theorem 1" in texts


@pytest.fixture
def stub(monkeypatch):
    """Two bounds for FE, none for UCB1."""

    def bounds(environment, policy, horizon):
        return GIVEN if isinstance(policy, br.ForcedExploration) else ()

    monkeypatch.setattr(theory, "bounds", bounds)


def test_the_smallest_proved_bound_is_a_thin_line_of_the_policys_colour(stub, results):
    assert figures.smallest_upper(results, "FE").name == "Corrected"
    assert figures.smallest_upper(results, "UCB1") is None
    plain = results.plot()
    left, right = results.plot(bounds=True)
    (thin,) = (line for line in right.lines if line.get_linewidth() < 1)
    assert thin.get_label() == "FE: Corrected, corrected"
    assert thin.get_color() == right.lines[0].get_color()
    assert "upper bound on the mean" in right.get_legend().get_texts()[0].get_text()
    assert left.get_ylim() == plain[0].get_ylim()
    assert right.get_ylim()[0] == plain[1].get_ylim()[0]
    assert right.get_ylim()[1] <= 10 * HORIZON
    assert plain[1].get_legend() is None


def test_the_legend_says_that_no_upper_bound_is_proved(monkeypatch, results):
    monkeypatch.setattr(theory, "bounds", lambda *_: GIVEN[3:5])
    legend = results.plot(bounds=True)[1].get_legend()
    assert "no proved upper bound" in legend.get_texts()[0].get_text()


@pytest.mark.full
def test_results_plot_writes_the_format_that_is_asked_for(results, tmp_path):
    for suffix in ("png", "svg", "pdf"):
        results.plot(tmp_path / f"x.y.{suffix}", title="words")
        assert (tmp_path / f"x.y.{suffix}").stat().st_size > 1000
    assert results.plot(title="words")[0].figure.get_suptitle() == "words"
    with pytest.raises(br.InvalidValueError, match=r"must end in .*, not 'x\.gif'"):
        results.plot("x.gif")
    with pytest.raises(br.ResultFileError, match="cannot be written"):
        results.plot(tmp_path / "nowhere" / "x.png")


def test_results_plot_marks_breakpoints_but_draws_no_bounds_over_instances(instances):
    phases = br.random_environment("bernoulli", 2, HORIZON, phases=4)
    changing = br.simulate(phases, {"FE": POLICIES["FE"]}, HORIZON, 2)
    assert len(changing.plot()[0].lines) == 4
    assert len(instances.plot()) == 2
    with pytest.raises(br.InvalidValueError, match="one environment, and these results are over 2"):
        instances.plot(bounds=True)


@pytest.mark.full
def test_the_papers_figures_take_bounds():
    for name in ("stationary-gaussian", "piecewise-bernoulli"):
        results = paper.run_experiment(name, horizon=300, runs=2)
        assert paper.draw_experiment(name, results).axes[1].get_legend() is None
        assert paper.draw_experiment(name, results, bounds=True).axes[1].get_legend() is not None
