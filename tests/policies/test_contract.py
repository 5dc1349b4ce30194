"""What every policy in the catalogue must do. A new line in the catalogue adds its tests.

The checks are those of `brigand.testing`, with what `policies.expectations` says of each policy.
"""

import math
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import brigand as br
import own_policy
import strength
from brigand import testing
from brigand.simulation.step import trace_loop
from brigand.testing.contract import index_of
from policies.expectations import OTHERS, expected
from strength import runs, some

ENVIRONMENT = br.Environment.stationary([br.Bernoulli(p) for p in (0.3, 0.5, 0.5, 0.7)])
POLICIES = {name: policy.informed(ENVIRONMENT) for name, policy in br.CATALOGUE.items()}
SETTINGS = POLICIES | OTHERS
WITHOUT_PROPENSITIES = {
    *("PHE", "GIRO", "NPTS", "TS-Multinomial", "BESA", "WR-SDA", "RB-SDA", "LB-SDA", "LB-SDA-LM", "SSMC"),
    *("SSTC", "SW-LB-SDA", "AdSwitch"),
}


@pytest.fixture(params=POLICIES)
def policy(request: pytest.FixtureRequest) -> br.Policy:
    return POLICIES[request.param]


@pytest.fixture(params=some(SETTINGS, quick=POLICIES))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def setting(name: str) -> br.Policy:
    return SETTINGS[name]


@pytest.mark.parametrize("name", some(SETTINGS))
@pytest.mark.parametrize("kind", ["0/1", "unit", "normal", "huge"])
def test_compiled_code_and_plain_python_make_the_same_decisions(name, kind):
    testing.check_compiled(SETTINGS[name], [kind])


@pytest.mark.parametrize("name", some(POLICIES))
def test_a_second_run_with_other_numbers_does_not_compile_again(name):
    testing.check_compiled_once(POLICIES[name])
    signatures = trace_loop(POLICIES[name].kernels).signatures
    assert len(signatures) <= 1 + ("derived" in signatures[0][0].fields)  # that is a number, or None


@pytest.mark.every(5)
def test_selecting_changes_nothing_and_chooses_a_candidate(name):
    testing.check_select(SETTINGS[name], every_arm=not expected(name).knows_the_arms)


@pytest.mark.every(3)
def test_propensities_are_the_probabilities_with_which_arms_are_chosen(name):
    testing.check_propensities(SETTINGS[name], selects=runs(150, 1000))
    if strength.full:
        testing.check_propensities(SETTINGS[name], steps=[42], selects=100_000)


@pytest.mark.parametrize("name", br.CATALOGUE)
def test_propensities_are_known_unless_they_are_no_closed_number(name):
    policy = POLICIES[name]
    state = policy.start(4, 400)
    known = policy.kernels.propensity(policy.parameters(4, 400), *state, np.arange(4), 0)
    assert math.isnan(known) == (name in WITHOUT_PROPENSITIES)


@pytest.mark.every(3)
def test_a_state_saved_and_restored_goes_on_as_if_nothing_had_happened(policy):
    testing.check_restored_state(policy)


def test_the_json_form_is_lossless(setting):
    testing.check_json(setting)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_rewards_that_are_not_finite_are_refused(policy, bad):
    testing.check_refused_rewards(policy, [bad])


@pytest.mark.every(3)
@pytest.mark.parametrize("shape", [(1, 1), (60, 1), (1, 4), (3, 4), (4, 4)], ids=str)
def test_one_arm_one_step_and_fewer_steps_than_arms_work(setting, shape):
    testing.check_small_problems(setting, [shape])


@pytest.mark.every(7)
@pytest.mark.parametrize("reward", [0.0, 1.0, 0.1, 0.3, -5.0, 1e150, 1e300, -1e300, 1e-300], ids=str)
def test_constant_and_extreme_rewards_work(name, reward):
    every_arm = not (expected(name).prior or expected(name).knows_the_arms)
    testing.check_constant_rewards(SETTINGS[name], [reward], every_arm=every_arm)


@pytest.mark.parametrize("name", some(POLICIES, ["UCB1"]))
def test_a_seed_gives_the_same_bits_whatever_else_is_run(name):
    testing.check_same_bits(POLICIES[name])


@pytest.mark.parametrize("name", some([name for name in SETTINGS if not expected(name).knows_the_arms]))
def test_rewards_that_come_late_in_any_order_or_never(name):
    testing.check_late_rewards(
        SETTINGS[name],
        rewards_needed=expected(name).rewards_needed,
        unpaid=expected(name).unpaid,
        best_pulls=expected(name).best_pulls,
    )


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "name", some([n for n in POLICIES if not (expected(n).knows_the_arms or expected(n).commits)])
)
def test_without_any_reward_no_arm_is_preferred(name):
    testing.check_without_rewards(POLICIES[name])


@pytest.mark.parametrize("name", some(br.CATALOGUE))
def test_it_learns(name):
    """200 runs; the bounds are at least 5 standard errors above what was measured."""
    testing.check_learns(br.CATALOGUE[name], regret=expected(name).regret)


@pytest.mark.every(4)
@pytest.mark.parametrize(
    "name",
    some(
        [name for name, policy in SETTINGS.items() if index_of(policy) and expected(name).by_index_first],
        quick=POLICIES,
    ),
)
@pytest.mark.parametrize(
    "rewards", [(0, 0), (0.3, 0.3), (1, 1), (1, 0), (1e150, 1e150), (1e150, 0), (-1e150, 1e150)]
)
def test_no_index_is_nan_when_all_rewards_have_come(name, rewards):
    """The first pulls of EV-UCB with c = 0 are not by its index."""
    testing.check_index(SETTINGS[name], [rewards])


@pytest.mark.parametrize("name", some([name for name in POLICIES if not expected(name).scheduled]))
def test_tied_arms_are_pulled_equally_often(name):
    """Policies with a schedule have tests of their own."""
    testing.check_ties(POLICIES[name], runs=runs(500, 2000))


@pytest.mark.parametrize("name", some(POLICIES))
def test_permuting_arms_permutes_pulls_in_distribution(name):
    """A schedule begins in order of index, so that it may stand one pull further for an arm."""
    slack = 1.0 if expected(name).scheduled else 0.0
    testing.check_permutation(POLICIES[name], slack, runs=runs(200, 2000))


def test_the_class_says_what_it_assumes(policy):
    testing.check_description(policy)


def test_tables_hold_64_bit_integers_and_floats_only(policy):
    testing.check_tables(policy)


def test_parameters_are_plain_numbers_and_their_classes_have_unique_names(setting):
    testing.check_parameters(setting, SETTINGS.values())


def python_path(*folders: Path) -> str:
    return os.pathsep.join([*map(str, folders), os.environ.get("PYTHONPATH", "")])


@pytest.mark.full
def test_an_edit_in_a_module_that_a_users_policy_imports_is_noticed(tmp_path):
    """Numba does not look at other files: without a stamp it would run the old code."""
    (tmp_path / "helper.py").write_text("CHOICE = 0\n")
    (tmp_path / "mine.py").write_text(
        "from dataclasses import dataclass\n"
        "import brigand as br\nimport own_policy\nfrom helper import CHOICE\n\n"
        "def select(parameters, header, arms, memory, candidates, rng):\n    return candidates[CHOICE]\n\n"
        "@dataclass(frozen=True)\nclass Mine(own_policy.AuthorsUCB1):\n"
        "    kernels = br.Kernels(select, own_policy.pull, own_policy.learn)\n"
    )
    code = "import brigand as br, mine; print(br.trace(mine.Mine(), [[0, 0, 0]] * 3))"
    paths = python_path(tmp_path, Path(__file__).parents[1])
    outcomes = []
    for choice in (0, 2):
        (tmp_path / "helper.py").write_text(f"CHOICE = {choice}\n")
        done = subprocess.run(
            [sys.executable, "-B", "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONPATH": paths},
        )
        outcomes.append(done.stdout.strip())
    assert outcomes == ["[0 0 0]", "[2 2 2]"]


def choose_number_k(parameters, header, arms, memory, candidates, rng):
    return len(arms)


def choose_minus_1(parameters, header, arms, memory, candidates, rng):
    return -1


@pytest.mark.full
@pytest.mark.parametrize("select", [choose_number_k, choose_minus_1])
def test_a_policy_that_chooses_an_arm_that_is_not_there_is_an_error(select, rewards01):
    @dataclass(frozen=True)
    class Wrong(br.UniformRandom):
        kernels = br.UniformRandom.kernels._replace(select=select)

    with pytest.raises(br.PolicyError, match="Wrong's select returned an arm that is not there, at step 1"):
        br.trace(Wrong(), rewards01)
    with pytest.raises(br.PolicyError, match="at step 1"):
        br.simulate(ENVIRONMENT, {"x": Wrong()}, 1000, 5)


@pytest.mark.full
def test_a_new_process_finds_everything_compiled_and_gives_the_same_bits():
    """A user's own policy too. The first process fills the cache, whatever was in it."""
    testing.check_cache(*br.CATALOGUE.values(), own_policy.AuthorsUCB1())
