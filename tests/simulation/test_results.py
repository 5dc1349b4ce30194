"""Results: labels, statistics, provenance; files that are whole or refused."""

import gc
import json
import os
import pickle
import resource

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import brigand as br
from brigand.files import atomic, make_folder

ENVIRONMENT = br.Environment.stationary([br.Bernoulli(0.4), br.Bernoulli(0.6)])
POLICIES = {
    "FE": br.ForcedExploration(),
    "TS": br.ThompsonBeta(),
    "lambda": br.ForcedExploration(br.Linear()),
}


@pytest.fixture(scope="module")
def results():
    return br.simulate(ENVIRONMENT, POLICIES, 500, 30, seed=2)


def test_dimensions_are_named(results):
    data = results.dataset
    assert data["regret"].dims == ("policy", "replication", "step")
    assert data["pulls"].dims == ("policy", "replication", "step", "arm")
    assert data["forced"].dims == ("policy", "replication", "arm")
    assert data["policy"].to_numpy().tolist() == list(POLICIES)
    assert int(data["step"][0]) == 1
    assert int(data["step"][-1]) == 500
    assert data["regret"].attrs["units"] == "reward"


def test_forced_pulls_are_counted_for_fe_and_unknown_for_others(results):
    forced = results.dataset["forced"]
    assert forced.sel(policy="TS").isnull().all()
    pulls = results.dataset["pulls"].sel(policy="FE", step=500)
    assert (forced.sel(policy="FE") <= pulls).all()
    assert (forced.sel(policy="FE") > 0).all()


def test_the_summary_is_that_of_scipy(results):
    final = results.dataset["regret"].sel(step=500, policy="TS").to_numpy()
    row = results.summary().loc["TS"]
    interval = stats.t.interval(0.95, 29, final.mean(), stats.sem(final))
    assert row["unseen"] == pytest.approx((1 - 0.05 ** (1 / 30)) * 500 * 0.2)
    assert (row["low"], row["high"] - row["unseen"]) == pytest.approx(interval, rel=1e-12)
    assert row["top"] == pytest.approx(final.max() / final.sum())
    assert row["mean"] == pytest.approx(final.mean())
    assert row["median"] == pytest.approx(np.median(final))
    assert (row["q10"], row["q90"]) == pytest.approx(tuple(np.quantile(final, [0.1, 0.9])))
    assert row["sd"] == pytest.approx(final.std(ddof=1))
    assert row["replications"] == 30


def test_the_summary_at_another_step(results):
    assert results.summary(step=1)["mean"].between(0, 0.2 + 1e-12).all()
    with pytest.raises(br.InvalidValueError, match="step 499 is no checkpoint"):
        results.summary(step=499)


def test_one_replication_has_no_interval():
    summary = br.simulate(ENVIRONMENT, POLICIES, 50, 1).summary()
    assert summary[["low", "high", "sd"]].isna().all(axis=None)
    assert summary["mean"].notna().all()


def test_saved_and_loaded_results_are_the_same_and_can_be_run_again(results, tmp_path):
    path = results.save(tmp_path / "x.nc")
    loaded = br.load(path)
    xr.testing.assert_identical(loaded.dataset, results.dataset)
    again = br.simulate(loaded.environments[0], loaded.policies, 500, 30, seed=loaded.seed)
    assert np.array_equal(again.dataset["regret"], results.dataset["regret"])
    assert os.listdir(tmp_path) == ["x.nc"]


def test_provenance_is_complete(results):
    attributes = results.dataset.attrs
    assert json.loads(attributes["versions"]).keys() == {"numpy", "numba", "scipy", "xarray"}
    assert attributes["brigand_version"] == br.__version__
    assert attributes["horizon"] == 500
    assert results.environments == (ENVIRONMENT,)
    assert results.policies == POLICIES


def test_a_lambda_simulates_and_saves_but_says_that_it_cannot_be_read_back(tmp_path):
    policy = br.ForcedExploration(br.Sequence(lambda r: r**2))
    results = br.simulate(ENVIRONMENT, {"x": policy}, 100, 2)
    loaded = br.load(results.save(tmp_path / "x.nc"))
    assert np.array_equal(loaded.dataset["regret"], results.dataset["regret"])
    with pytest.raises(br.InvalidValueError, match="lambda"):
        _ = loaded.policies


@pytest.mark.parametrize("size", [1e290, 1e-300])
def test_the_interval_is_right_for_very_large_and_very_small_rewards(size):
    arms = [br.Gaussian(size, 0.1 * size), br.Gaussian(0.9 * size, 0.1 * size)]
    greedy = br.ForcedExploration(br.Constant(50))
    results = br.simulate(br.Environment.stationary(arms), {"x": greedy}, 500, 8)
    row = results.summary().loc["x"]
    regret = results.dataset["regret"].sel(policy="x", step=500).to_numpy() / size
    assert row["unseen"] / size == pytest.approx((1 - 0.05 ** (1 / 8)) * 500 * 0.1)
    assert (row["low"] / size, (row["high"] - row["unseen"]) / size) == pytest.approx(
        stats.t.interval(0.95, 7, regret.mean(), stats.sem(regret)), rel=1e-9
    )


@pytest.mark.parametrize("asked", [False, True])
def test_results_can_be_pickled(asked):
    """A process pool sends them so, whether or not their arrays have been labelled."""
    results = br.simulate(
        br.Environment.stationary([br.Bernoulli(0.3), br.Bernoulli(0.7)]), {"x": br.UCB1(0, 1)}, 1e2, 3
    )
    if asked:
        assert "regret" in results.dataset
    again = pickle.loads(pickle.dumps(results))
    assert again.dataset.identical(results.dataset)
    assert again.policies == results.policies


def test_an_unknown_name_error_can_be_pickled():
    error = pickle.loads(pickle.dumps(br.UnknownNameError("policy", "UCB", ["UCB1"])))
    assert str(error) == "unknown policy 'UCB'. Did you mean 'UCB1'? Known: UCB1."


def test_a_saved_file_has_the_users_usual_permissions_and_links_stay_links(results, tmp_path):
    old = os.umask(0o077)
    try:
        path = results.save(tmp_path / "x.nc")
    finally:
        os.umask(old)
    assert path.stat().st_mode & 0o777 == 0o600
    (tmp_path / "link.nc").symlink_to(path)
    path.write_bytes(b"")
    results.save(tmp_path / "link.nc")
    assert (tmp_path / "link.nc").is_symlink()
    br.load(path)


def test_instances_are_the_unit_of_statistics():
    parts = [
        br.simulate(br.random_environment("bernoulli", 3, 100, seed=s), POLICIES, 100, 4) for s in range(6)
    ]
    joined = br.Results.over_instances(parts)
    assert joined.dataset["regret"].dims == ("policy", "instance", "replication", "step")
    assert len(joined.environments) == 6
    means = [float(part.dataset["regret"].sel(policy="FE", step=100).mean()) for part in parts]
    row = joined.summary().loc["FE"]
    assert row["mean"] == pytest.approx(np.mean(means))
    assert row["sd"] == pytest.approx(np.std(means, ddof=1))
    assert row["replications"] == 6


def test_a_truncated_file_is_refused(results, tmp_path):
    path = results.save(tmp_path / "x.nc")
    whole = path.read_bytes()
    for length in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(br.ResultFileError, match=r"x\.nc"):
            br.load(path)


def test_files_that_are_no_results_are_refused(tmp_path):
    with pytest.raises(br.ResultFileError, match="there is no file"):
        br.load(tmp_path / "none.nc")
    other = tmp_path / "other.nc"
    xr.Dataset({"a": 1}).to_netcdf(other, engine="h5netcdf")
    with pytest.raises(br.ResultFileError, match="not one of Brigand's results"):
        br.load(other)


@pytest.mark.parametrize("path", ["", "a\0.nc", None, b"x.nc", 3], ids=repr)
def test_what_is_no_path_is_refused(results, path):
    for call in (results.save, br.load, br.Log.read):
        with pytest.raises(
            br.InvalidValueError, match=r"the (file|file or folder) (is empty|cannot have|must be)"
        ):
            call(path)


def test_what_is_there_and_no_file_is_said_to_be_none(results):
    with pytest.raises(br.ResultFileError, match="'/dev/null' is not a file"):
        br.load("/dev/null")
    with pytest.raises(br.ResultFileError, match=r"'\.' cannot be written"):  # as it was given
        results.save(".")


def test_a_newer_format_is_refused_with_both_versions(results, tmp_path):
    newer = br.Results(results.dataset.assign_attrs(brigand_format=99, brigand_version="9.9"))
    with pytest.raises(
        br.ResultFileError, match=r"format 99 by Brigand 9\.9; this version reads up to format 1"
    ):
        br.load(newer.save(tmp_path / "x.nc"))


def test_a_folder_that_is_not_there_is_named(results, tmp_path):
    with pytest.raises(br.ResultFileError, match="cannot be written: No such file or directory"):
        results.save(tmp_path / "none" / "x.nc")


def test_a_failed_write_keeps_the_old_file_and_leaves_nothing(tmp_path):
    target = tmp_path / "x.txt"
    target.write_text("old")

    def write_half():
        with atomic(target) as temporary:
            temporary.write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_half()
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["x.txt"]


@pytest.mark.full
@pytest.mark.parametrize("suffix", ["nc", "png", "svg", "pdf"])
def test_a_full_disk_is_one_clear_error_and_leaves_nothing(results, tmp_path, suffix):
    """A limit on file sizes stands for a full disk: the write fails half-way."""
    path = tmp_path / f"x.{suffix}"
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    import signal

    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        with pytest.raises(br.ResultFileError, match=rf"x\.{suffix}' cannot be written"):
            results.save(path) if suffix == "nc" else results.plot(path)
        gc.collect()  # nothing complains later
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        signal.signal(signal.SIGXFSZ, old)
    assert os.listdir(tmp_path) == []


def test_a_file_in_place_of_a_folder_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(br.ResultFileError, match="cannot be written"):
        make_folder(tmp_path / "file")
