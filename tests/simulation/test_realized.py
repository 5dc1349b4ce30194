"""Regret from the rewards that were earned, beside the pseudo-regret."""

import numpy as np
import pytest

import brigand as br

FE = {"FE": br.ForcedExploration(br.Linear())}


def test_it_is_what_the_best_arm_of_each_phase_pays_less_the_rewards():
    """Of arms whose rewards are constant both regrets are one; by hand, with a window over two phases."""
    arms = [br.Empirical([0.25]), br.Empirical([1.0])]
    environment = br.Environment([arms, arms[::-1]], [1, 51])
    results = br.simulate(environment, FE, 100, 3, realized=True)
    np.testing.assert_allclose(results.dataset["realized_regret"], results.dataset["regret"], atol=1e-12)
    np.testing.assert_array_equal(environment.best_total([1, 50, 100]), [1, 50, 100])


def test_of_one_arm_it_is_the_noise():
    environment = br.Environment.stationary([br.Bernoulli(0.3)])
    results = br.simulate(environment, FE, 5000, 400, seed=1, realized=True)
    assert (results.dataset["regret"] == 0).all()
    found = results.dataset["realized_regret"].sel(policy="FE", step=5000).to_numpy()
    earned = 1500 - found
    np.testing.assert_allclose(earned, np.round(earned), atol=1e-6)
    deviation = (5000 * 0.3 * 0.7) ** 0.5
    assert abs(found.mean()) < 5 * deviation / 20  # false alarm: below 1e-6
    assert 0.8 < found.std() / deviation < 1.2  # 5.6 standard errors


def test_its_mean_is_that_of_the_pseudo_regret_and_nothing_else_changes():
    environment = br.Environment.stationary([br.Gaussian(0, 1), br.Gaussian(0.5, 1)])
    plain = br.simulate(environment, FE, 2000, 200)
    results = br.simulate(environment, FE, 2000, 200, realized=True)
    assert "realized_regret" not in plain.dataset
    for name in ("regret", "pulls"):
        np.testing.assert_array_equal(plain.dataset[name], results.dataset[name])
    table = results.statistics(realized=True)
    assert (table["unseen"] == 0).all()
    noise = table.loc[("FE", 2000), "mean"] - plain.summary().loc["FE", "mean"]
    assert 0 < abs(noise) < 5 * (2000 / 200) ** 0.5  # false alarm: below 1e-6
    assert results.summary(realized=True).loc["FE", "sd"] > plain.summary().loc["FE", "sd"]
    labels = [axes.get_ylabel() for axes in results.plot(realized=True)]
    assert labels == ["cumulative realized regret"] * 2
    assert [axes.get_ylabel() for axes in plain.plot()] == ["cumulative pseudo-regret"] * 2


def test_it_is_saved(tmp_path):
    environment = br.Environment.stationary([br.Bernoulli(0.3), br.Bernoulli(0.5)])
    results = br.simulate(environment, FE, 100, 2, realized=True)
    again = br.load(results.save(tmp_path / "x.nc"))
    np.testing.assert_array_equal(again.dataset["realized_regret"], results.dataset["realized_regret"])


def test_where_it_is_not_it_says_what_to_ask_for():
    environment = br.Environment.stationary([br.Bernoulli(0.3), br.Bernoulli(0.5)])
    plain = br.simulate(environment, FE, 100, 2)
    for call in (plain.summary, plain.statistics, plain.plot):
        with pytest.raises(br.InvalidValueError, match="realized=True"):
            call(realized=True)
    for method in ("skip", "auto"):
        with pytest.raises(br.InvalidValueError, match="method='step'"):
            br.simulate(environment, FE, 100, 2, method=method, realized=True)
