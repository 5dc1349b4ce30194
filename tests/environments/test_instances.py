"""Random instances: the numbers of the authors' scripts, and what holds for every seed."""

import math

import numpy as np
import pytest

from brigand import (
    Bernoulli,
    ExponentialReward,
    Gaussian,
    InvalidValueError,
    Poisson,
    UnknownNameError,
    random_environment,
)

FAMILIES = {
    "bernoulli": Bernoulli,
    "gaussian": Gaussian,
    "exponential": ExponentialReward,
    "poisson": Poisson,
}

STATIONARY = [0.4170, 0.7203, 0.0001, 0.3023, 0.1468, 0.0923, 0.1863, 0.3456, 0.3968, 0.5388]
STATIONARY_DEVIATIONS = [0.4192, 0.6852, 0.2045, 0.8781, 0.0274, 0.6705, 0.4173, 0.5587, 0.1404, 0.1981]
# Seed 0, blocks of five numbers in the order in which they are drawn.
BLOCKS = [
    [0.5488, 0.7152, 0.6028, 0.5449, 0.4237],
    [0.6459, 0.4376, 0.8918, 0.9637, 0.3834],
    [0.7917, 0.5289, 0.5680, 0.9256, 0.0710],
    [0.0871, 0.0202, 0.8326, 0.7782, 0.8700],
]


def deviations(environment):
    return np.array([[arm.sigma for arm in arms] for arms in environment.phases])


def test_seed_1_gives_the_stationary_bernoulli_instance_of_the_paper():
    environment = random_environment("bernoulli", n_arms=10, horizon=100_000, seed=1)
    np.testing.assert_array_equal(environment.means.round(4), [STATIONARY])
    assert environment.starts == (1,)


def test_seed_1_gives_the_stationary_gaussian_instance_of_the_paper():
    environment = random_environment("gaussian", n_arms=10, horizon=100_000, seed=1)
    np.testing.assert_array_equal(environment.means.round(4), [STATIONARY])
    np.testing.assert_array_equal(deviations(environment).round(4), [STATIONARY_DEVIATIONS])


def test_seed_0_gives_the_piecewise_bernoulli_instance_of_the_paper():
    environment = random_environment("bernoulli", n_arms=5, horizon=100_000, phases=4, seed=0)
    np.testing.assert_array_equal(environment.means.round(4), BLOCKS)
    assert environment.starts == (1, 25_001, 50_001, 75_001)


def test_seed_0_gives_the_piecewise_gaussian_instance_of_the_paper():
    environment = random_environment("gaussian", n_arms=5, horizon=100_000, phases=4, seed=0)
    np.testing.assert_array_equal(environment.means[:2].round(4), BLOCKS[0::2])
    np.testing.assert_array_equal(deviations(environment)[:2].round(4), BLOCKS[1::2])
    assert environment.starts == (1, 25_001, 50_001, 75_001)


def test_the_seed_is_0_and_the_environment_stationary_by_default():
    environment = random_environment("bernoulli", 5, 100)
    np.testing.assert_array_equal(environment.means.round(4), BLOCKS[:1])


@pytest.mark.parametrize("family", FAMILIES)
def test_every_arm_is_of_the_family_that_was_asked_for(family):
    environment = random_environment(family, n_arms=3, horizon=10, phases=2, seed=5)
    assert {type(arm) for arms in environment.phases for arm in arms} == {FAMILIES[family]}
    assert environment.means.shape == (2, 3)


@pytest.mark.parametrize("family", ["exponential", "poisson"])
def test_families_of_one_number_have_the_same_means(family):
    bernoulli, other = (random_environment(f, 4, 100, 3, seed=9).means for f in ("bernoulli", family))
    np.testing.assert_array_equal(bernoulli, other)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_arguments_give_the_same_instance_and_another_seed_another_one(family):
    assert random_environment(family, 3, 10, 2, seed=4) == random_environment(family, 3, 10, 2, seed=4)
    assert random_environment(family, 3, 10, 2, seed=4) != random_environment(family, 3, 10, 2, seed=5)


@pytest.mark.parametrize("family", FAMILIES)
def test_more_phases_keep_the_arms_of_the_earlier_ones(family):
    two, four = (random_environment(family, 3, 100, phases, seed=4).phases for phases in (2, 4))
    assert two == four[:2]


@pytest.mark.parametrize("horizon", [7, 10, 100_003])
@pytest.mark.parametrize("phases", [1, 2, 3, 7])
def test_phases_differ_in_length_by_at_most_one_step(horizon, phases):
    starts = random_environment("bernoulli", 2, horizon, phases).starts
    lengths = np.diff([*starts, horizon + 1])
    assert len(lengths) == phases
    assert np.ptp(lengths) <= 1
    assert starts == tuple(math.floor(i * horizon / phases) + 1 for i in range(phases))


@pytest.mark.parametrize("seed", [0, np.int64(7), 2**32 - 1], ids=["0", "NumPy's", "largest"])
def test_every_seed_of_the_range_is_accepted(seed):
    assert random_environment("gaussian", 1, 1, seed=seed).n_arms == 1


def test_numpys_global_random_state_is_neither_used_nor_changed():
    before = np.random.get_state()  # noqa: NPY002 - the very thing that must stay as it is
    first = random_environment("gaussian", 5, 100, 4, seed=3)
    np.testing.assert_equal(np.random.get_state(), before)  # noqa: NPY002
    np.random.random_sample(3)  # noqa: NPY002
    try:
        assert random_environment("gaussian", 5, 100, 4, seed=3) == first
    finally:
        np.random.set_state(before)  # noqa: NPY002


@pytest.mark.parametrize("family", ["cauchy", "Bernoulli", "", None])
def test_an_unknown_family_is_refused_by_name_with_those_that_are_known(family):
    with pytest.raises(UnknownNameError, match=f"{family!r}.*bernoulli, exponential, gaussian, poisson"):
        random_environment(family, 3, 10)


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ({"n_arms": 0}, "n_arms must be >= 1, not 0"),
        ({"n_arms": 2.0}, "n_arms must be an integer, not 2.0"),
        ({"n_arms": True}, "n_arms must be an integer, not True"),
        ({"horizon": 0}, "horizon must be >= 1, not 0"),
        ({"horizon": 1.5}, "horizon must be an integer, not 1.5"),
        ({"phases": 0}, "phases must be >= 1, not 0"),
        ({"phases": None}, "phases must be an integer, not None"),
        ({"phases": 11}, "11 phases .* not 10"),
        ({"seed": 1.5}, "seed must be an integer, not 1.5"),
        ({"seed": None}, "seed must be an integer, not None"),
        ({"seed": True}, "seed must be an integer, not True"),
        ({"seed": -1}, "seed must be .*not -1"),
        ({"seed": 2**32}, "seed must be .*not 4294967296"),
    ],
    ids=str,
)
def test_a_bad_number_is_refused_by_an_error_that_names_it(arguments, given):
    with pytest.raises(InvalidValueError, match=given):
        random_environment(**{"family": "bernoulli", "n_arms": 3, "horizon": 10} | arguments)


def test_a_small_integer_type_of_numpy_does_not_overflow():
    expected = random_environment("bernoulli", 2, 2_000_000_000, 4)
    assert random_environment("bernoulli", 2, np.int32(2_000_000_000), np.int32(4)) == expected
