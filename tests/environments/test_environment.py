"""Environments: phases of arms, their JSON form, and their tables for the compiled loop."""

import json
import math
import pickle

import numpy as np
import pytest
from scipy import stats

from brigand import (
    Bernoulli,
    Beta,
    ClippedGaussian,
    Distribution,
    Empirical,
    Environment,
    ExponentialReward,
    FiniteSupport,
    FunctionReward,
    Gaussian,
    Geometric,
    InvalidValueError,
    LinearMeans,
    Pareto,
    Poisson,
    Restless,
    SciPyReward,
    StudentT,
    Uniform,
    UnknownNameError,
)
from brigand.environments.draw import draw
from brigand.spec import Spec, canonical

ONE_OF_EACH = [
    Bernoulli(0.4),
    Gaussian(-0.5, 1e-3),
    ClippedGaussian(0.9, 0.2, -1, 2),
    Uniform(-1, 3),
    Beta(0.3, 0.3),
    ExponentialReward(2),
    Poisson(0.05),
    Geometric(7),
    StudentT(1.5, -2, 0.1),
    Pareto(1.2),
    FiniteSupport([5, 1e-300, -2.5], [0.1, 0.2, 0.7]),
    Empirical([0.1, 0.2, 0.1]),
    SciPyReward("weibull_min", [1.5], 2, 3),
]
ENVIRONMENTS = {arm.__class__.__name__: Environment.stationary([arm]) for arm in ONE_OF_EACH} | {
    "mixed": Environment.stationary(ONE_OF_EACH),
    "piecewise": Environment.piecewise([ONE_OF_EACH, ONE_OF_EACH[::-1], ONE_OF_EACH], [1, 2, 1000]),
    "enormous": Environment.stationary([Gaussian(1e300, 1e299), Gaussian(0, 5e-324)]),
}
TWO = [Bernoulli(0.2), Bernoulli(0.7)]


def test_every_family_is_among_the_environments_tested_here():
    ours = {family for family in Distribution.__subclasses__() if family.__module__.startswith("brigand.")}
    assert {type(arm) for arm in ONE_OF_EACH} == ours - {FunctionReward}  # test_functions.py


def test_a_stationary_environment_has_one_phase_from_step_1_on():
    environment = Environment.stationary(arm for arm in TWO)
    assert environment.starts == (1,)
    assert environment.phases == (tuple(TWO),)
    assert environment.n_arms == 2
    assert environment == Environment.piecewise([TWO], [1])


def test_means_and_gaps_are_those_of_each_phase():
    phases = [[Gaussian(-1), Bernoulli(0.25), Uniform(0, 3)], [Pareto(1.5), Poisson(3), Gaussian(2.5)]]
    environment = Environment.piecewise(phases, [1, 11])
    np.testing.assert_allclose(environment.means, [[-1, 0.25, 1.5], [3, 3, 2.5]], rtol=1e-15)
    np.testing.assert_allclose(environment.gaps, [[2.5, 1.25, 0], [0, 0, 0.5]], rtol=1e-15)
    assert environment.means.dtype == environment.gaps.dtype == np.float64


def test_gaps_of_equal_and_of_single_arms_are_exactly_0():
    assert not Environment.stationary([Bernoulli(0.1)] * 3).gaps.any()
    assert not Environment.stationary([StudentT(1.5, -7)]).gaps.any()


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environments_come_back_from_json_text_unchanged(name):
    environment = ENVIRONMENTS[name]
    text = json.dumps(environment.to_json(), allow_nan=False)
    for read in (Environment, Spec):
        again = read.from_json(json.loads(text))
        assert again == environment
        assert hash(again) == hash(environment)
        assert canonical(again) == canonical(environment)
        assert again.starts == environment.starts
        assert all(isinstance(start, int) for start in again.starts)


def test_environments_come_back_from_a_pickle_unchanged_also_after_use():
    environment = ENVIRONMENTS["piecewise"]
    np.testing.assert_array_equal(environment.gaps, pickle.loads(pickle.dumps(environment)).gaps)
    assert pickle.loads(pickle.dumps(environment)) == environment


def test_environments_are_equal_however_their_numbers_are_given():
    one = Environment.piecewise([[Gaussian(0, 1)], [Empirical([1, 2])]], [1, 5])
    other = Environment(
        ((Gaussian(np.float64(0.0)),), (Empirical(np.array([1.0, 2.0])),)), tuple(np.array([1, 5], np.int32))
    )
    assert one == other
    assert hash(one) == hash(other)
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(
    "other",
    [
        Environment.stationary(TWO),
        Environment.piecewise([TWO, TWO], [1, 6]),
        Environment.piecewise([TWO[::-1], TWO], [1, 5]),
        Environment.piecewise([TWO, [*TWO[:1], Bernoulli(0.7000001)]], [1, 5]),
        Environment.piecewise([TWO * 2, TWO * 2], [1, 5]),
        Environment.piecewise([TWO, [Bernoulli(0.2), Uniform(0.7, 0.7)]], [1, 5]),
    ],
    ids=["one phase", "start", "order", "parameter", "arms", "family"],
)
def test_environments_that_differ_in_one_thing_are_not_equal(other):
    environment = Environment.piecewise([TWO, TWO], [1, 5])
    assert environment != other
    assert canonical(environment) != canonical(other)


def test_using_an_environment_changes_neither_its_hash_nor_its_json_form():
    used, fresh = (Environment.stationary(TWO) for _ in range(2))
    _ = used.means, used.gaps, used.compiled
    assert used == fresh
    assert hash(used) == hash(fresh)
    assert canonical(used) == canonical(fresh)


def test_compiled_phases_start_at_0_based_steps():
    compiled = Environment.piecewise([TWO, TWO, TWO], [1, 2, 1001]).compiled
    assert compiled.laws.shape == (3, 2)
    np.testing.assert_array_equal(compiled.starts, [0, 1, 1000])
    assert compiled.starts.dtype == np.int64
    assert compiled.table.dtype == np.float64


@pytest.mark.parametrize(
    ("arms", "uniform", "normal"),
    [
        ([Bernoulli(0.5), Uniform(), Beta(2, 3), Empirical([1])], True, False),
        ([Gaussian(0), ClippedGaussian(0)], False, True),
        ([Gaussian(0), Bernoulli(0.5)], True, True),
    ],
    ids=["uniform", "normal", "both"],
)
def test_compiled_environments_say_which_random_numbers_a_step_needs(arms, uniform, normal):
    compiled = Environment.stationary(arms).compiled
    assert (compiled.uses_uniform, compiled.uses_normal) == (uniform, normal)


def test_random_numbers_that_only_a_later_phase_needs_are_drawn_from_step_1():
    for phases in ([[Bernoulli(0.5)], [Gaussian(0)]], [[Gaussian(0)], [Bernoulli(0.5)]]):
        compiled = Environment.piecewise(phases, [1, 5]).compiled
        assert (compiled.uses_uniform, compiled.uses_normal) == (True, True)


def test_equal_arms_share_their_numbers_in_the_table():
    once = len(Environment.stationary([Beta(2, 3), Empirical([1, 2, 3])]).compiled.table)
    arms = [Beta(2, 3), Empirical([1, 2, 3]), Beta(2.0, 3.0)]
    assert len(Environment.piecewise([arms, arms[::-1]], [1, 5]).compiled.table) == once


def test_arms_of_equal_numbers_but_different_families_do_not_share_a_table():
    environment = Environment.stationary([FiniteSupport([1, 2]), Empirical([1, 2])])
    laws, table, *_ = environment.compiled
    for arm in range(2):
        assert [draw(laws[0, arm], table, u, 0.0) for u in (0.0, 0.49, 0.5, 0.99)] == [1, 1, 2, 2]


def test_an_arm_pays_the_same_next_to_others_as_alone():
    # A wrong offset into the common table would show here.
    laws, table, *_ = ENVIRONMENTS["piecewise"].compiled
    arms = ENVIRONMENTS["piecewise"].phases
    for phase, arm in np.ndindex(laws.shape):
        alone = Environment.stationary([arms[phase][arm]]).compiled
        for uniform, normal in [(0.0, -8.0), (0.3, -0.1), (0.8, 1.0), (1 - 2.0**-53, 8.0)]:
            expected = draw(alone.laws[0, 0], alone.table, uniform, normal)
            assert draw(laws[phase, arm], table, uniform, normal) == expected


def test_frozen_distributions_of_scipy_are_arms_and_noise():
    arms = [stats.gamma(2.0, scale=0.25), stats.binom(10, 0.3), Bernoulli(0.5)]
    environment = Environment.stationary(arms)
    assert environment.phases[0] == (
        SciPyReward("gamma", (2.0,), 0, 0.25),
        SciPyReward("binom", (10, 0.3)),
        Bernoulli(0.5),
    )
    np.testing.assert_allclose(environment.means, [[0.5, 3, 0.5]], rtol=1e-14)
    noise = Restless(LinearMeans([0.5]), stats.norm(0, 0.1)).noise
    assert noise == SciPyReward("norm", (), 0.0, 0.1)


class Mine(stats.rv_continuous):
    """A distribution of the user's own."""

    def _pdf(self, x):
        return 2 * x


BAD = {
    "no such distribution": (lambda: SciPyReward("gama", [2.0]), "Did you mean 'gamma'"),
    "shapes": (lambda: SciPyReward("gamma", [2.0, 3.0]), r"1 shapes \(a\), not 2"),
    "bad shape": (lambda: SciPyReward("gamma", [-2.0]), "finite mean, but that of gamma"),
    "scipy's own": (lambda: Environment.stationary([Mine(0, 1, name="mine")()]), "no frozen distribution"),
    "discrete scale": (lambda: SciPyReward("binom", [10, 0.3], 0, 2), "has no scale"),
    "no mean": (lambda: Environment.stationary([stats.cauchy()]), "finite mean, but that of cauchy"),
    "an array": (lambda: Environment.stationary([stats.norm([0, 1])]), "frozen with numbers"),
    "not frozen": (lambda: Environment.stationary([stats.norm]), "must be a reward distribution"),
    "wide": (
        lambda: Environment.stationary([SciPyReward("poisson", [1e15])]).compiled,
        "more than 1,000,000",
    ),
    "hole": (lambda: Environment.stationary([stats.dweibull(2.1)]).compiled, "too extreme for dweibull"),
    "one shape": (lambda: SciPyReward("gamma", 2.0), "a non-empty, one-dimensional list"),
    "no arms": (lambda: Environment.stationary([]), "phase 1 has no arms"),
    "no arms later": (lambda: Environment.piecewise([TWO, []], [1, 5]), "phase 2 has no arms"),
    "no phases": (lambda: Environment.piecewise([], []), "at least one phase"),
    "number as arm": (lambda: Environment.stationary([Bernoulli(0.5), 0.7]), "arm 1 of phase 1 .* not 0.7"),
    "class as arm": (lambda: Environment.stationary([Bernoulli]), "arm 0 of phase 1 .*Bernoulli'>"),
    "None as arm": (lambda: Environment.piecewise([TWO, [None] * 2], [1, 5]), "arm 0 of phase 2 .* not None"),
    "first start": (lambda: Environment.piecewise([TWO, TWO], [2, 5]), r"\[2, 5\]"),
    "start 0": (lambda: Environment.piecewise([TWO, TWO], [0, 5]), ">= 1, not 0"),
    "negative start": (lambda: Environment.piecewise([TWO, TWO], [1, -5]), ">= 1, not -5"),
    "repeated start": (lambda: Environment.piecewise([TWO, TWO, TWO], [1, 5, 5]), r"\[1, 5, 5\]"),
    "falling starts": (lambda: Environment.piecewise([TWO, TWO, TWO], [1, 7, 5]), r"\[1, 7, 5\]"),
    "float start": (lambda: Environment.piecewise([TWO, TWO], [1, 5.0]), "an integer, not 5.0"),
    "boolean start": (lambda: Environment.piecewise([TWO], [True]), "an integer, not True"),
    "text start": (lambda: Environment.piecewise([TWO], ["1"]), "an integer, not '1'"),
    "too few starts": (lambda: Environment.piecewise([TWO, TWO], [1]), "2 phases .* not 1"),
    "too many starts": (lambda: Environment.piecewise([TWO], [1, 5]), "1 phases .* not 2"),
    "unequal arms": (lambda: Environment.piecewise([TWO, TWO * 2], [1, 5]), r"\[2, 4\]"),
    "NaN in an arm": (lambda: Environment.stationary([Gaussian(math.nan)]), "nan"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_not_an_environment_is_refused_by_an_error_that_names_it(name):
    make, given = BAD[name]
    with pytest.raises((InvalidValueError, UnknownNameError), match=given):
        make()
