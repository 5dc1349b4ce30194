"""Reading a study: the numbers are the simulator's, the statistics SciPy's, and what lacks is said."""

import contextlib
import functools
import json
import math
import operator
import shutil

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import brigand as br
from brigand.figures.regret import regret as draw_regret
from brigand.studies import statistics, work
from brigand.studies.manifest import configuration
from brigand.studies.results import StudyResults, load
from brigand.studies.run import run_study
from strength import runs
from studies.packed import alone

T = 200
TEXT = """
name: a small study
environments:
  - name: one
    arms: [{type: Bernoulli, p: 0.2}, {type: Bernoulli, p: 0.7}, {type: Bernoulli, p: 0.5}]
  - name: several
    random: {family: bernoulli, arms: 3, instances: 7, seed: 5}
horizon: 200
replications: 4
checkpoints: [1, 50, 200]
policies:
  - Oracle
  - FE-Exp
  - policy: SW-FE-Linear
    name: SW-FE
    sweep: {window: [20, 60]}
  - UCB1
baseline: UCB1
"""
NAMES = ("Oracle", "FE-Exp", "SW-FE (window = 20)", "SW-FE (window = 60)", "UCB1")
ARMS = br.Environment.stationary([br.Bernoulli(p) for p in (0.2, 0.7, 0.5)])


def run(folder, text):
    """Run a study, three runs a piece."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work, "STEPS", 3 * T)
        study = folder / "study-file.yaml"
        study.write_text(text, encoding="utf-8")
        run_study(study, folder / "results", workers=2)
    return folder / "results"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return run(tmp_path_factory.mktemp("study"), TEXT)


@pytest.fixture
def results(folder):
    return StudyResults(folder)


@pytest.fixture
def copy(tmp_path):
    """A study of one's own, to damage."""
    small = TEXT.replace("  - Oracle\n", "").replace("[20, 60]", "[20]")
    return run(tmp_path, small)


def direct(results, policy, instance=None):
    """What `simulate` gives: the same problem, policy and seed."""
    environment = ARMS if instance is None else br.random_environment("bernoulli", 3, T, seed=5 + instance)
    policies = {policy: br.Policy.from_json(results.policy(policy)["policy"])}
    return br.simulate(environment, policies, T, 4, seed=0, checkpoints=[1, 50, 200]).dataset.sel(
        policy=policy
    )


def test_names_carry_what_was_swept_over(results):
    assert results.problems == ("one", "several")
    assert results.policies == NAMES
    assert results.policy(NAMES[2])["swept"] == {"window": 20}
    assert results.missing == 0
    assert results.baseline == "UCB1"
    text = repr(results)
    assert "a small study" in text
    assert "complete" in text
    assert all(name in text for name in NAMES)


@pytest.mark.parametrize("policy", NAMES[1:4:2])
def test_numbers_are_those_of_the_simulator(results, policy):
    one = direct(results, policy)
    for ours, theirs in ((results.regret, "regret"), (results.pulls, "pulls"), (results.forced, "forced")):
        np.testing.assert_array_equal(ours("one", policy), one[theirs].to_numpy()[None])
    for i in range(7):
        part = direct(results, policy, i)
        np.testing.assert_array_equal(results.regret("several", policy)[i], part["regret"])
        np.testing.assert_array_equal(results.pulls("several", policy)[i], part["pulls"])
        np.testing.assert_array_equal(results.final("several", policy)[i], part["regret"][:, -1])
    assert results.forced("one", "UCB1") is None
    assert len(list(results.blocks("several", policy, "regret"))) == 14


def test_results_of_a_problem_are_like_those_of_simulate(results, tmp_path):
    one = results.results("one", NAMES[1:])
    assert dict(one.dataset.sizes) == {"policy": 4, "replication": 4, "step": 3, "arm": 3}
    assert one.environments == (ARMS,)
    assert one.seed == 0
    assert one.policies["UCB1"] == br.CATALOGUE["UCB1"]
    theirs = br.simulate(ARMS, one.policies, T, 4, seed=0, checkpoints=[1, 50, 200])
    pd.testing.assert_frame_equal(one.summary(), theirs.summary())
    assert np.isnan(one.dataset["forced"].sel(policy="UCB1")).all()
    again = load(one.save(tmp_path / "x.nc"))
    assert again.dataset.identical(one.dataset)
    several = results.results("several")
    assert several.dataset["regret"].dims == ("policy", "instance", "replication", "step")
    assert len(several.environments) == 7
    assert several.summary()["replications"].eq(7).all()
    assert len(draw_regret(several, "x").axes) == 2
    pd.testing.assert_frame_equal(results.statistics("several"), several.statistics())


def test_the_summary_is_over_independent_draws(results):
    summary = results.summary()
    assert list(summary.index.names) == ["problem", "policy"]
    assert summary.loc["one"].index.tolist() == list(NAMES)
    for problem, axis in (("one", results.regret("one", "FE-Exp")[0, :, -1]), ("several", None)):
        draws = results.regret(problem, "FE-Exp")[..., -1].mean(axis=1) if axis is None else axis
        row = summary.loc[problem, "FE-Exp"]
        interval = stats.ttest_1samp(draws, 0).confidence_interval()
        np.testing.assert_allclose([row["low"], row["high"] - row["unseen"]], interval)
        instances = [results.environment(problem, i) for i in range(1 if problem == "one" else 7)]
        worst = max(
            float(environment.worst_regret(results.problem(problem)["horizon"])) for environment in instances
        )
        assert row["unseen"] == pytest.approx(worst * (1 - 0.05 ** (1 / len(draws))))
        expected = [draws.mean(), *np.quantile(draws, [0.5, 0.1, 0.9, 0.99]), draws.std(ddof=1)]
        np.testing.assert_allclose(row[["mean", "median", "q10", "q90", "q99", "sd"]].to_list(), expected)
        assert row["instances"] == (1 if problem == "one" else 7)
        assert row["replications"] == 4


def test_differences_are_paired(results):
    compared = results.compare()
    assert compared.baseline == "UCB1"
    for problem in results.problems:
        regret = {name: results.regret(problem, name)[..., -1] for name in ("FE-Exp", "UCB1")}
        ours, base = (r[0] if problem == "one" else r.mean(axis=1) for r in regret.values())
        row = compared.differences.loc[problem, "FE-Exp"]
        instances = [results.environment(problem, i) for i in range(results.problem(problem)["instances"])]
        worst = max(e.worst_regret(results.problem(problem)["horizon"]) for e in instances)
        unseen = float(worst) * (1 - 0.05 ** (1 / len(ours)))
        low, high = stats.ttest_rel(ours, base).confidence_interval()
        np.testing.assert_allclose(
            row[["low", "high", "unseen"]].astype(float), [low - unseen, high + unseen, unseen]
        )
        assert row["mean"] == pytest.approx((ours - base).mean())
        assert row["pairs"] == (4 if problem == "one" else 7)
        assert row["paired"]
    assert "UCB1" not in compared.differences.index.get_level_values("policy")
    assert results.compare("FE-Exp").differences.loc["one", "UCB1"]["mean"] == pytest.approx(
        -compared.differences.loc["one", "FE-Exp"]["mean"]
    )
    assert "UCB1" in repr(compared)


def test_wins_and_ranks_are_over_instances(results):
    compared = results.compare("FE-Exp")
    means = {name: results.final("several", name).mean(axis=1) for name in NAMES}
    assert set(compared.wins.index.get_level_values("problem")) == {"several"}
    for name in ("UCB1", NAMES[2]):
        row = compared.wins.loc["several", name]
        assert row["rate"] == (means[name] < means["FE-Exp"]).mean()
        assert row["instances"] == 7
    rivals = np.array([means[name] for name in NAMES[1:]]).T
    np.testing.assert_allclose(
        compared.ranks.loc["several"]["rank"], stats.rankdata(rivals, axis=1).mean(axis=0)
    )
    assert compared.ranks.loc["several"].index.tolist() == list(NAMES[1:])
    test = compared.tests.loc["several"]
    assert test["statistic"] == pytest.approx(stats.friedmanchisquare(*rivals.T).statistic)
    assert test[["instances", "policies"]].tolist() == [7, 4]
    profiles = compared.profiles()
    best = (rivals == rivals.min(axis=1, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(profiles.iloc[0], best)
    with pytest.raises(br.UnknownNameError, match="problem with several instances 'one'"):
        compared.profiles("one")


# Demšar (2006), table 6: areas under the curve of four variants of C4.5 on 14 data sets.
DEMSAR = """
.763 .768 .771 .798  .599 .591 .590 .569  .954 .971 .968 .967  .628 .661 .654 .657  .882 .888 .886 .898
.936 .931 .916 .931  .661 .668 .609 .685  .583 .583 .563 .625  .775 .838 .866 .875  1 1 1 1
.940 .962 .965 .962  .619 .666 .614 .669  .972 .981 .9751 .975  .957 .978 .946 .970
"""


def test_ranks_are_those_of_demsars_example():
    regret = 1 - np.array(DEMSAR.split(), float).reshape(14, 4)
    found = statistics.rank_test(regret)
    np.testing.assert_allclose(found.ranks, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    assert found.critical_difference == pytest.approx(1.25, abs=0.005)
    # The paper's statistic is 9.28; SciPy's corrects it for ties, by the sum of t^3 - t over their sizes.
    ties = (4**3 - 4) + 3 * (2**3 - 2)
    corrected = 9.28 / (1 - ties / (14 * 4 * (4**2 - 1)))
    assert found.statistic == pytest.approx(corrected, abs=0.02)
    assert found.p_value == pytest.approx(stats.chi2.sf(found.statistic, 3))
    order = np.sort(found.ranks)
    assert statistics.alike(order, found.critical_difference) == [(0, 3)]
    assert statistics.alike(order, 1.0) == [(0, 2), (2, 3)]


def test_critical_differences_follow_demsars_table():
    for k, q in zip(
        range(2, 11), (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164), strict=True
    ):
        ours = statistics.critical_difference(k, 30) / math.sqrt(k * (k + 1) / 180)
        assert ours == pytest.approx(q, abs=1.1e-3)


def test_ranks_without_differences_and_of_two_policies():
    alike = statistics.rank_test(np.ones((6, 3)))
    assert alike.ranks.tolist() == [2, 2, 2]
    assert (alike.statistic, alike.p_value) == (0, 1)
    two = statistics.rank_test([[1, 2], [1, 2], [2, 1], [1, 2], [3, 3]])
    np.testing.assert_allclose(two.ranks, [1.3, 1.7])
    assert math.isnan(two.p_value)
    assert two.critical_difference == pytest.approx(1.959964 / math.sqrt(5))


def test_groups_of_policies_that_are_alike():
    assert statistics.alike([1, 2, 3, 4], 1) == []
    assert statistics.alike([1, 1.4, 1.8, 3.0, 3.5, 9], 1) == [(0, 2), (3, 4)]
    assert statistics.alike([1, 1.9, 2.8], 1) == [(0, 1), (1, 2)]
    assert statistics.alike([0.1 + 0.2, 1.3], 1) == []  # 0.30000000000000004: rounding joins nobody


def test_win_rates_have_wilsons_interval():
    ours, base = np.arange(10.0), np.array([1, 2, 3, 4, 5, 6, 7, 8, 8, 8.0])
    found = statistics.win_rate(ours, base)
    assert (found["rate"], found["ties"]) == (0.8, 0.1)
    # Wilson (1927): (p + z^2 / 2n +- z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n), z = 1.96
    p, n, z = 0.8, 10, 1.959964
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    ends = (np.array([middle - half, middle + half])) / (1 + z * z / n)
    np.testing.assert_allclose([found["low"], found["high"]], ends, rtol=1e-6)


def test_profiles_by_hand_also_with_regrets_of_zero():
    draws = pd.DataFrame({"A": [1.0, 4.0, 0.0, 0.0], "B": [2.0, 2.0, 5.0, 0.0]})
    np.testing.assert_array_equal(statistics.ratios(draws), [[1, 2], [2, 1], [1, np.inf], [1, 1]])
    found = statistics.profiles(draws, [1, 1.9, 2, 1e9])
    np.testing.assert_array_equal(found["A"], [0.75, 0.75, 1, 1])
    np.testing.assert_array_equal(found["B"], [0.5, 0.5, 0.75, 0.75])
    default = statistics.profiles(draws)
    assert default.index[0] == 1
    assert 2 < default.index[-1] < 2.2
    assert default.iloc[-1].tolist() == [1, 0.75]


def test_a_study_may_store_less(tmp_path):
    text = TEXT.replace("baseline: UCB1", "metrics: []")
    results = StudyResults(run(tmp_path, text))
    with pytest.raises(br.InvalidValueError, match="stores no pulls"):
        results.pulls("one", "UCB1")
    assert "pulls" not in results.results("one").dataset
    assert results.baseline == "Oracle"


def test_policies_that_were_skipped_are_not_paired(copy):
    path = copy / "manifest.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    data["cells"][0]["method"] = "skip"  # as if it had been
    data["configuration"] = configuration(data)
    path.write_text(json.dumps(data), encoding="utf-8")
    results = StudyResults(copy)
    assert results.method("one", "FE-Exp") == "skip"
    assert results.compare().differences.loc["one"]["paired"].tolist() == [False, True]
    assert results.compare("FE-Exp").differences.loc["one"]["paired"].tolist() == [False, False]
    assert results.compare("FE-Exp").differences.loc["several"]["paired"].all()


ODD = (None, -1, 1.5, True, "q", [], {}, 10**12, 10**30)


def places(data, at=()):
    """Yield where values are in a manifest, in the first of each list."""
    for key, value in list(data.items()) if isinstance(data, dict) else list(enumerate(data))[:1]:
        yield (*at, key)
        if isinstance(value, (dict, list)):
            yield from places(value, (*at, key))


@pytest.mark.parametrize("hashed", [True, False], ids=["damaged", "forged"])
def test_a_manifest_with_another_value_is_refused_or_harmless(copy, hashed):
    path = copy / "manifest.json"
    text = path.read_text(encoding="utf-8")
    cases = [(place, odd) for place in places(json.loads(text)) for odd in ODD]
    for place, odd in cases[:: runs(11, 1)]:
        data = json.loads(text)
        inner = functools.reduce(operator.getitem, place[:-1], data)
        inner[place[-1]] = odd
        if not hashed:
            data.pop("configuration", None)
        path.write_text(json.dumps(data), encoding="utf-8")
        with contextlib.suppress(br.errors.BrigandError):
            results = StudyResults(copy)
            for look in (results.summary, results.table, results.compare, results._repr_html_):
                with contextlib.suppress(br.errors.BrigandError):
                    look()
            for problem in results.problems:
                with contextlib.suppress(br.errors.BrigandError):
                    results.environment(problem)


def test_policies_may_play_on_some_problems_only(tmp_path):
    text = TEXT.replace("  - FE-Exp", "  - policy: FE-Exp\n    only: [one]")
    results = StudyResults(run(tmp_path, text))
    assert results.policies_of("several") == tuple(name for name in NAMES if name != "FE-Exp")
    assert ("several", "FE-Exp") not in results.summary().index
    assert results.compare("FE-Exp").wins.empty
    assert set(results.compare("FE-Exp").differences.index.get_level_values("problem")) == {"one"}
    with pytest.raises(br.UnknownNameError, match="policy on 'several' 'FE-Exp'"):
        results.regret("several", "FE-Exp")


def test_unknown_names_are_refused(results):
    for call in (results.regret, results.pulls, results.forced, results.final):
        with pytest.raises(br.UnknownNameError, match="unknown problem 'two'"):
            call("two", "UCB1")
        with pytest.raises(br.UnknownNameError, match=r"'UCB'.*Did you mean 'UCB1'"):
            call("one", "UCB")
    with pytest.raises(br.UnknownNameError, match="Did you mean 'UCB1'"):
        results.compare("UCB")
    with pytest.raises(br.InvalidValueError, match=r"instance must be in \[0, 6\], not 7"):
        results.environment("several", 7)


def test_an_incomplete_study_says_what_lacks(copy):
    paths = alone(copy)
    results = StudyResults(copy)
    first, *others = results._tables["one", "UCB1"]
    paths[first.key].unlink()
    message = rf"1 of {1 + len(others)} pieces of 'UCB1' on 'one' are missing or .*run `brigand run` again"
    for call in (results.summary, results.compare, lambda: results.results("one").dataset):
        with pytest.raises(br.ResultFileError, match="run the study again"):  # it was there a moment ago
            call()
    results = StudyResults(copy)
    assert results.missing == 1
    assert results.incomplete == {("one", "UCB1"): (len(others), 1 + len(others))}
    assert "pieces missing: 1" in repr(results)
    assert ("one", "UCB1") not in results.summary().index
    assert ("several", "UCB1") in results.summary().index
    assert set(results.compare().differences.index.get_level_values("problem")) == {"several"}
    for call in (results.regret, results.final, lambda *names: results.results("one", ["UCB1"])):
        with pytest.raises(br.ResultFileError, match=message):
            call("one", "UCB1")
    assert results.regret("several", "UCB1").shape == (7, 4, 3)
    shutil.rmtree(copy / "pieces")
    empty = StudyResults(copy)
    assert empty.problems == empty.policies == ()
    for call in (empty.compare, empty.summary):
        with pytest.raises(br.ResultFileError, match=r"nothing of the study in .* is complete yet"):
            call()
    run(copy.parent, (copy.parent / "study-file.yaml").read_text(encoding="utf-8"))
    assert len(StudyResults(copy).summary()) == 6


def test_damaged_folders_are_refused(copy):
    paths = alone(copy)
    names = next(iter(StudyResults(copy)._tables))
    first, second, *_ = StudyResults(copy)._tables[names]
    path = paths[first.key]
    whole, other = path.read_bytes(), paths[second.key].read_bytes()
    for content in (b"", whole[:60], whole[:-30], whole[:-150] + b"xxxx" + whole[-146:], other):
        path.write_bytes(whole)
        results = StudyResults(copy)
        path.write_bytes(content)
        with pytest.raises(br.ResultFileError, match=r"is damaged: `brigand run`, .*computes it again"):
            results.regret(*names)


def test_damaged_manifests_are_refused(copy, tmp_path):
    with pytest.raises(br.ResultFileError, match="holds no study"):
        StudyResults(tmp_path / "nowhere")
    path = copy / "manifest.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    for change, message in (
        ({"format": work.FORMAT + 1}, "this version reads format"),
        ({"format": 2}, "written in format 2 by an older Brigand: run the study again"),
        ({"problems": [{}]}, "is damaged"),
        ({"cells": [{"problem": "one", "policy": "UCB1", "key": "x", "size": [0, 1]}]}, "is damaged"),
        ({"replications": None}, "is damaged"),
        ({"cells": 3}, "is damaged"),
    ):
        path.write_text(json.dumps(data | change), encoding="utf-8")
        with pytest.raises(br.ResultFileError, match=message):
            StudyResults(copy)


def test_load_takes_files_and_folders(folder, results, tmp_path):
    assert isinstance(load(folder), StudyResults)
    assert isinstance(load(str(folder)), StudyResults)
    assert isinstance(load(results.results("one").save(tmp_path / "x.nc")), br.Results)
    with pytest.raises(br.ResultFileError, match="there is no file"):
        load(tmp_path / "nowhere")


def test_of_equal_policies_few_tables_call_any_better():
    """Of many tables of 20 equal policies: 5 % at most, and four standard errors; 1 in 30,000 is beyond."""
    rng = np.random.default_rng(3)
    tables, n = runs(200, 1000), 40
    once = false = 0
    for _ in range(tables):
        noise = rng.standard_normal((n, 1))  # of the instances: the same for all
        regret = pd.DataFrame(noise + rng.standard_gamma(4.0, (n, 20)))
        less = regret.iloc[:, 1:].sub(regret[0], axis=0)
        found = statistics.mean_tests(less, np.zeros(19))
        assert (found["p_value"] == found["p_unseen"]).all()
        false += bool((found["p_value"] <= 1 - statistics.LEVEL).any())
        t = less.mean() / (less.std() / np.sqrt(n))
        once += bool((2 * stats.t.sf(abs(t), n - 1) <= 1 - statistics.LEVEL).any())
    assert false <= tables * (1 - statistics.LEVEL) + 4 * np.sqrt(tables * 0.95 * (1 - statistics.LEVEL))
    print(f"{false} and {once} of {tables} tables")
    assert once > 0.2 * tables  # without the correction


def test_tests_of_means_are_students_after_holm():
    rng = np.random.default_rng(0)
    less = pd.DataFrame(rng.normal([0.0, 0.4, 1.0], 1.0, (30, 3)), columns=["a", "b", "c"])
    raw = stats.ttest_1samp(less, 0.0).pvalue
    assert raw.argsort().tolist() == [2, 1, 0]
    found = statistics.mean_tests(less, [0.0, 0.0, 100.0])
    np.testing.assert_allclose(found["p_value"], [raw[0], max(2 * raw[1], 3 * raw[2]), 3 * raw[2]])
    assert found["p_unseen"]["c"] == 1.0
    assert statistics.mean_tests(less.iloc[:1], np.zeros(3)).isna().all(axis=None)
    same = statistics.mean_tests(pd.DataFrame({"a": [0.0, 0.0], "b": [1.0, 1.0]}), [0.0, 0.0])
    assert same["p_value"].tolist() == [1.0, 0.0]
    assert statistics.holm([]).tolist() == []
