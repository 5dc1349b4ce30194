"""How often the interval of the mean in `summary` holds it, where rare runs carry the mean."""

import importlib.util
from pathlib import Path

import pytest
from scipy import stats

import brigand as br
from strength import runs, some

spec = importlib.util.spec_from_file_location("means", Path(__file__).parents[2] / "benchmarks" / "means.py")
table = importlib.util.module_from_spec(spec)
spec.loader.exec_module(table)


@pytest.mark.parametrize("name", some(table.PROBLEMS, ["gap 0.3, T = 10^5"]))
def test_the_interval_holds_the_mean_at_least_as_often_as_stated(name):
    """93 % is asked for, the true rate is 97 % and more. False alarm: below 1e-6 where it is 96 %."""
    environment, horizon = table.PROBLEMS[name]
    regrets = table.pool(environment, horizon, runs(5000, 100_000), seed=1)
    samples = runs(300, 2000)
    for size in (20, 100, 1000, 10_000)[: runs(3, 4)]:
        student, ours = table.coverage(regrets, float(environment.worst_regret(horizon)), size, samples)
        assert ours >= 0.93
        if size == 100 and name != "gap 0.5, T = 10^5":
            assert student < 0.6  # which is why


def test_so_does_the_interval_of_a_difference():
    """As above; the test of `compare` has its formula."""
    environment, horizon = table.PROBLEMS["gap 0.3, T = 10^5"]
    found = table.differences(environment, horizon, runs(5000, 50_000), seed=1)
    worst = float(environment.worst_regret(horizon))
    student, ours = table.coverage(found, worst, 100, runs(300, 2000), below=worst)
    assert student < 0.6 < 0.93 <= ours


def test_the_table_uses_the_interval_of_the_summary():
    environment, horizon = table.gaussians(0, 0.3), 1000
    results = br.simulate(environment, {"x": br.ForcedExploration()}, horizon, 50, method="skip")
    row = results.summary().loc["x"]
    regrets = results.dataset["regret"].sel(policy="x", step=horizon).to_numpy()
    low, high = stats.t.interval(0.95, 49, regrets.mean(), stats.sem(regrets))
    unseen = float(environment.worst_regret(horizon)) * (1 - 0.05 ** (1 / 50))
    assert (row["low"], row["high"]) == pytest.approx((low, high + unseen), rel=1e-12)


def test_a_mean_that_hangs_on_few_runs_is_marked():
    environment = br.Environment.stationary([br.Gaussian(0, 1), br.Gaussian(0.3, 1)])
    policies = {"FE": br.ForcedExploration(), "UCB": br.UCB1(sigma=1)}
    results = br.simulate(environment, policies, 10_000, 1000, method="auto")
    top = results.summary()["top"]
    assert top["FE"] > 0.2 > 0.05 > top["UCB"]
    labels = [text.get_text() for text in results.plot()[0].figure.legends[0].get_texts()]
    assert labels == ["FE*", "UCB"]
