"""The study of changing rewards: its problems, its choices, and what docs/results.md says first of all."""

import numpy as np
import pytest

import brigand as br
from brigand.papers import changing
from brigand.papers.slope import slope_of


def test_problems_are_those_that_are_named():
    found = changing.problems()
    assert [(p.horizon, p.changes, p.bounded) for p in found.values()] == [
        (5_000, 4, True),
        (5_000, 4, True),
        (100_000, 8, True),
        (10_000, 4, True),
        (100_000, 3, True),
        (100_000, 3, False),
    ]


def test_policies_that_need_a_range_are_left_out_where_there_is_none():
    *_, gaussian = changing.problems().values()
    accepted = {name: len(changing.candidates(name, gaussian)) for name in changing.POLICIES}
    assert accepted.pop("FE-Restart") == 1
    assert accepted.pop("SW-FE, best f and window") == 3 * len(changing.WINDOWS)
    assert accepted.pop("SW-LB-SDA, best window") == len(changing.WINDOWS)
    assert set(accepted.values()) == {0}
    assert changing.TOLD.keys() == set(changing.POLICIES)


def test_arms_change_places():
    environment = changing.switching(1_000, 3)
    assert environment.means.tolist() == [[0.75, 0.25], [0.25, 0.75], [0.75, 0.25], [0.25, 0.75]]
    assert list(environment.starts) == [1, 251, 501, 751]


def test_the_best_policy_is_chosen_by_other_runs_than_those_that_count():
    problem = br.Environment.stationary([br.Bernoulli(0.9), br.Bernoulli(0.1)])
    best, regret = changing.best_of(problem, [br.UniformRandom(), br.UCB1(0, 1)], 500, 8, 0, 1)
    assert best == 1
    alone = br.simulate(problem, {"0": br.UCB1(0, 1)}, 500, 8, 0, workers=1).dataset["regret"]
    np.testing.assert_array_equal(regret, alone.to_numpy()[0, :, -1])


def test_slopes_are_those_of_powers():
    x = np.log([10.0, 100.0, 1000.0])
    slope, error = slope_of(x, 2.0 * np.exp(0.3 * x), np.full(3, 0.1))
    assert slope == pytest.approx(0.3)
    assert 0 < error < 0.1
    assert np.isnan(slope_of(x[:1], np.ones(1), np.ones(1))[0])


@pytest.mark.full
@pytest.mark.parametrize("name", ["CUSUM-UCB", "M-UCB, best w", "Ada-ILTCB+", "SW-FE, best f and window"])
def test_fe_restart_has_less_regret_than_others_that_are_told_more(name):
    """On Besson's problem 2, at 4 standard errors; GLR-klUCB is not among them."""
    problem = changing.problems()["Besson et al. 2"]
    number = 100
    regrets = [
        changing.best_of(problem.environment, changing.candidates(x, problem), 5_000, number, 0, 1)[1]
        for x in ("FE-Restart", name)
    ]
    ours, theirs = (regret.mean() for regret in regrets)
    spread = np.sqrt(sum(regret.var(ddof=1) for regret in regrets) / number)
    assert ours < theirs - 4 * spread


@pytest.mark.full
def test_what_restarts_though_nothing_changes_is_counted():
    found = changing.restarts("Gaussian, 2 arms", 1_000, 20, 0)
    assert found.shape == (20,)
    assert 0 <= (found > 0).mean() < 0.6
