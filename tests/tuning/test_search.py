"""Tuning: candidates, the step function, what is reported."""

import numpy as np
import pytest

import brigand as br
from brigand.tuning import search
from brigand.tuning.evaluate import Objective, Problems
from strength import runs

PROBLEMS = Problems.random("bernoulli", 3, 300)


@pytest.mark.parametrize(
    "sequence",
    [br.Exponential(), br.Exponential(1.25), br.Linear(0.5), br.Power(2.0), br.Constant(12.0), br.Constant()],
    ids=repr,
)
def test_the_line_of_python_makes_the_sequence(sequence):
    assert eval(search.python_line(sequence), {"br": br, "np": np}) == sequence


def test_the_line_of_a_step_function_is_short():
    sequence = search.step_function([1.0, 2.5, 2.5, 40.0])
    line = search.python_line(sequence)
    assert line == "br.Sequence(np.repeat([1.0, 2.5, 40.0], [1, 6, 8]))"
    assert eval(line, {"br": br, "np": np}) == sequence


def test_candidates_are_of_four_families_and_valid():
    found = list(search.candidates(10, 100_000))
    assert {type(sequence) for sequence in found} == {br.Constant, br.Linear, br.Power, br.Exponential}
    for sequence in found:
        br.ForcedExploration(sequence).parameters(10, 100_000)
    assert list(search.candidates(2, 2))


def test_levels_follow_the_sequence_as_far_as_a_run_gets():
    levels = search._levels(br.Linear(), 1000)
    # 43 rounds take 989 steps, so a run of 1000 begins the 44th.
    assert levels == [1.0, 3.0, 6.0, 12.0, 24.0, 44.0]


@pytest.mark.full
def test_moving_steps_never_makes_things_worse_on_the_problems_it_sees():
    start = br.Constant(100.0)
    moved = search._move(start, PROBLEMS, Objective(), lambda text: None)
    values = [search._value(s, PROBLEMS, Objective(), range(search.MOVED)) for s in (start, moved)]
    assert values[1] <= values[0]
    assert np.all(np.diff(moved.values) >= 0)


@pytest.mark.full
def test_tuning_reports_problems_that_it_did_not_see():
    seen = set()

    def environment(i):
        seen.add(i)
        return br.random_environment("bernoulli", 3, 300, seed=i)

    said = []
    problems = Problems(environment, 300)
    found = search.tune(problems, 3, held_out=400, progress=said.append)
    assert list(found.measured)[:4] == ["tuned", "FE-Exp", "FE-Linear", "FE-Constant"]
    assert {"TS-Beta", "KL-UCB", "LB-SDA"} < set(found.measured)
    assert found.measured["tuned"].regret.shape == (400, len(found.measured["tuned"].steps))
    assert len(said) > 5
    again = problems.regret(br.ForcedExploration(found.winner), range(10_000, 10_400))[:, 0]
    # The estimate is of the same size as on yet other problems: 4 standard errors, level 6e-5.
    estimate = found.measured["tuned"].regret[:, -1]
    error = np.hypot(estimate.std(), again.std()) / 20
    assert abs(estimate.mean() - again.mean()) < 4 * error
    assert found.better == (found.difference[1] < 0)


def test_policies_that_cannot_work_with_the_rewards_are_left_out():
    problems = Problems.fixed(br.Environment.stationary([br.Gaussian(0), br.Gaussian(1)]), 100)
    measured = search._measure(br.Linear(), problems, Objective(), range(10), lambda text: None)
    assert "TS-Beta" not in measured
    assert "TS-Gaussian-unknown" in measured


def test_mean_regrets_are_those_of_very_many_runs():
    env = br.Environment.stationary([br.Gaussian(0.0, 1.0), br.Gaussian(0.5, 1.0)])
    policy, n = br.ForcedExploration(), runs(50, 500)
    found = Problems.fixed(env, 10_000).mean_regret(policy, range(n), [1000, 10_000])
    plain = br.simulate(
        env, {"x": policy}, 10_000, 200 * n, seed=7, checkpoints=[1000, 10_000], method="skip"
    )
    regret = plain.dataset["regret"].values.reshape(200 * n, 2)
    # Level 6e-5 a step.
    error = np.hypot(found.std(axis=0) / n**0.5, regret.std(axis=0) / (200 * n) ** 0.5)
    assert np.all(abs(found.mean(axis=0) - regret.mean(axis=0)) < 4 * error)
    assert np.all(
        found.std(axis=0) < regret.std(axis=0) / 5
    )  # 100 weighted runs are as good as 25 plain ones


def test_where_rare_runs_cannot_be_had_mean_regrets_are_single_runs():
    for env in (
        br.Environment.stationary([br.Beta(1, 2), br.Beta(2, 1)]),
        br.Environment.stationary([br.Bernoulli(0.5), br.Bernoulli(0.5), br.Bernoulli(0.2)]),
    ):
        problems = Problems.fixed(env, 100)
        found = problems.mean_regret(br.ForcedExploration(), range(3))
        assert np.array_equal(found, problems.regret(br.ForcedExploration(), range(3)))


def test_objectives_have_intervals():
    rng = np.random.default_rng(0)
    regret, other = rng.normal(5, 1, 500), rng.normal(4, 1, 500)
    for objective, value in ((Objective(), 5.0), (Objective(0.9), 6.28)):
        low, high = objective.interval(regret)
        assert low < objective.value(regret) < high
        assert low < value < high
        low, high = objective.difference(regret, other)
        assert 0 < low < 1 < high


def test_the_same_problem_is_met_by_all():
    a = PROBLEMS.regret(br.ForcedExploration(), range(5))
    assert np.array_equal(a, PROBLEMS.regret(br.ForcedExploration(), range(5)))
    assert np.array_equal(a[3:], PROBLEMS.regret(br.ForcedExploration(), range(3, 5)))


def test_another_seed_gives_other_problems_and_runs():
    policy = br.ForcedExploration()
    first, same, other = (
        Problems.random("bernoulli", 3, 50, 1, seed).regret(policy, range(4)) for seed in (0, 0, 1)
    )
    assert np.array_equal(first, same)
    assert not np.isin(other, first).all()
