"""All problems of a study together, a part of it, and all of it in one table."""

import functools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import brigand as br
from brigand.studies.chosen import condition
from brigand.studies.pooled import pool
from brigand.studies.run import run_study
from cli.command import in_this_process

STUDY = """\
name: pooled
horizon: 60
replications: 3
checkpoints: [20, 60]
environments:
  - {name: few, random: {family: bernoulli, arms: 2, instances: 2}, sweep: {seed: [0, 10, 20, 30, 40, 50]}}
  - {name: many, random: {family: bernoulli, arms: 4, instances: 2}, sweep: {seed: [0, 10, 20, 30, 40, 50]}}
policies:
  - {policy: FE-Linear, name: SW, sweep: {window: [10, 30]}}
  - {policy: FE-Constant, name: fixed, parameters: {window: 7}}
  - UCB1
  - Oracle
baseline: UCB1
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("pooled")
    (made / "study.yaml").write_text(STUDY, encoding="utf-8")
    run_study(made / "study.yaml", made / "out", workers=1)
    return made


@pytest.fixture(scope="module")
def results(folder):
    return br.load(folder / "out")


def test_each_problem_counts_once(results):
    pooled = pool(results)
    names = ["SW (window = 10)", "SW (window = 30)", "fixed", "UCB1"]
    assert pooled.means.columns.tolist() == names
    matrix = np.array([[results.final(p, name).mean() for name in names] for p in results.problems])
    np.testing.assert_array_equal(pooled.means, matrix)
    ranks = stats.rankdata(matrix, axis=1)
    np.testing.assert_allclose(pooled.table["rank"][names], ranks.mean(axis=0))
    assert pooled.table["rank"].is_monotonic_increasing
    expected = stats.friedmanchisquare(*matrix.T)
    assert (pooled.statistic, pooled.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    times = matrix / matrix.min(axis=1, keepdims=True)
    np.testing.assert_allclose(pooled.table["relative"][names], np.median(times, axis=0))
    np.testing.assert_allclose(pooled.table["worst"][names], times.max(axis=0))
    assert pooled.table["best"].sum() >= 12
    assert pooled.profiles().iloc[-1].max() <= 1
    distance = ((ranks - ranks.mean(axis=0)) ** 2).sum(axis=1)
    assert results.problems[int(distance.argmax())] == pooled.unlike(1)[0]
    assert sorted(pooled.unlike(99)) == sorted(results.problems)


def test_too_little_is_not_pooled_or_not_tested(results):
    assert pool(results.select([results.problems[0]])) is None
    assert pool(results.select(policies=["UCB1"])) is None
    few = pool(results.select(results.problems[:4]))
    assert np.isnan([few.statistic, few.p_value, few.critical_difference]).all()
    assert len(few.table) == 4


def test_a_part_is_chosen_by_name_label_or_what_was_swept(results):
    part = results.select(["few"], ["SW", "UCB1"], ["window > 10"])
    assert part.policies == ("SW (window = 30)", "UCB1")
    assert part.problems == tuple(name for name in results.problems if name.startswith("few"))
    assert results.select(where=["seed = 10"]).problems == ("few (seed = 10)", "many (seed = 10)")
    assert results.select(where=["seed >= 10", "seed != 30", "window<=10"]).policies[0] == "SW (window = 10)"
    assert len(results.problems) == 12  # as before
    pd.testing.assert_frame_equal(part.summary(), results.summary().loc[part.summary().index], rtol=1e-12)
    assert part.compare().baseline == "UCB1"
    assert results.select(policies=["SW"]).baseline == "SW (window = 10)"
    for wrong, message in (
        ({"problems": ["fw"]}, "unknown problem 'fw'. Did you mean 'few"),
        ({"policies": ["UCB2"]}, "unknown policy 'UCB2'. Did you mean 'UCB1'"),
        ({"where": ["windw > 3"]}, "unknown swept parameter 'windw'. Did you mean 'window'"),
        ({"where": ["window"]}, "a condition is such as 'window > 100', not 'window'"),
        ({"where": ["window > wide"]}, "window is a number, so 'wide' is nothing to compare with"),
    ):
        with pytest.raises(br.BrigandError, match=message):
            results.select(**wrong)
    with pytest.raises(br.ResultFileError, match="nothing of the study"):
        results.select(policies=["SW"], where=["window > 99"]).summary()


def test_conditions_compare_numbers_as_numbers_and_texts_as_texts():
    assert condition("a < 9", ["a"])({"a": 10}) is False
    assert condition("a == 'x y'", ["a"])({"a": "x y"}) is True
    assert condition("part.a != 1e1", ["part.a"])({"part.a": 10.0}) is False


def test_all_is_in_one_table(results, tmp_path):
    table = results.table()
    assert len(table) == 12 * 5
    assert table.columns.tolist()[:6] == ["problem", "policy", "seed", "window", "T", "mean"]
    assert set(table["policy"]) == {"SW", "fixed", "UCB1", "Oracle"}
    row = table.query("problem == 'few' and policy == 'SW' and seed == 10 and window == 30").squeeze()
    assert row["mean"] == pytest.approx(results.final("few (seed = 10)", "SW (window = 30)").mean())
    assert (row["T"], row["instances"], row["replications"]) == (60, 2, 3)
    table.to_parquet(tmp_path / "x.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "x.parquet"), table)


@pytest.fixture
def run(folder):
    """A function that runs a command beside the study."""
    return functools.partial(in_this_process, cwd=folder, columns=150)


@pytest.mark.full
def test_of_many_problems_some_are_drawn_one_by_one(folder, results, run):
    assert run("report", "out", "--out", "all.html").returncode == 0
    html = (folder / "all.html").read_text(encoding="utf-8")
    assert "Here and below are 10 of 12 problems" in html
    assert "All problems together" in html
    assert "pooled: each problem" in html
    leader = pool(results).table.index[0]
    assert f"of {leader}" in html
    assert html.count("; 2 instances × 3 runs</h3>") == 10
    assert "These are 10 of 12 problems" in run("plot", "out", "--figure", "profiles", "--out", "few").stdout
    run("plot", "out", "--figure", "regret", "--out", "few")
    assert len(list((folder / "few").glob("regret-*.png"))) == 10
    run("plot", "out", "--figure", "regret", "--out", "every", "--all")
    assert len(list((folder / "every").glob("regret-*.png"))) == 12


def test_the_command_prints_all_together_and_of_many_problems_some(folder, results, run):
    text = run("compare", "out").stdout
    assert "pooled: 12 problems together" in text
    assert "These are 10 of 12 problems" in text
    assert sum(f"{name}, T = 60; 2 instances" in text for name in results.problems) == 10
    text = run("compare", "out", "--all").stdout
    assert sum(f"{name}, T = 60; 2 instances" in text for name in results.problems) == 12
    text = run("compare", "out", "--problem", "few (seed = 10)", "--policy", "SW", "--policy", "fixed").stdout
    assert "problems together" not in text
    assert "UCB1" not in text
    text = run("compare", "out", "--where", "seed < 20", "--where", "window = 10").stdout
    assert "4 problems together" in text
    assert "window = 30" not in text
    done = run("plot", "out", "--figure", "ranks", "--out", "figures", "--where", "window = 10")
    assert done.returncode == 0, done.stderr
    assert (folder / "figures" / "ranks-all.png").exists()
    done = run("report", "out", "--problem", "few (seed = 10)", "--out", "part.html")
    assert "many (seed" not in (folder / "part.html").read_text(encoding="utf-8").split("study.yaml")[0]
    assert "Did you mean 'window'" in run("compare", "out", "--where", "windov > 3").stderr
