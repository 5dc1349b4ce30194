"""What every policy in the catalogue must do. A new line in the catalogue adds its tests.

The checks are those of `brigand.testing`, with what is expected of each policy.
"""

import math
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import brigand as br
import own_policy
from brigand import testing
from brigand.simulation.step import trace_loop
from brigand.testing.contract import index_of
from strength import REPRESENTATIVE, full, runs, some

ENVIRONMENT = br.Environment.stationary([br.Bernoulli(p) for p in (0.3, 0.5, 0.5, 0.7)])
POLICIES = {name: policy.informed(ENVIRONMENT) for name, policy in br.CATALOGUE.items()}
SCHEDULED = (
    br.ForcedExploration,
    br.ExploreThenCommit,
    br.FixedBudgetETC,
    br.SequentialETC,
    br.BestArmETC,
    br.MUCB,
    br.AdSwitch,
)
WITH_A_PRIOR = (br.ThompsonBeta, br.DiscountedThompson, br.SlidingWindowThompson, br.MultinomialTS, br.Oracle)
# Settings with which the code takes other ways than with those of the catalogue.
OTHERS = {
    "AdSwitch, quick": br.AdSwitch(0.2, 10, 0.05),
    "Ada-ILTCB+, quick": br.AdaILTCB(0.2, 0.1, 0.3),
    "BESA, n0 = 2": br.BESA(2),
    "CUSUM-UCB, forced": br.CUSUMUCB(0.1, 3.0, M=10, forced=True),
    "D-UCB, gamma = 1": br.DiscountedUCB(1),
    "EV-UCB, the authors'": br.EmpiricalVarianceUCB(initial_pulls=1, c=0),
    "Extended-Robust-UCB, finite": br.ExtendedRobustUCB(3, 1.5, 2, 0.01),
    "GIRO, a = 1/3": br.GIRO(1 / 3),
    "GLR-klUCB, no test": br.GLRKLUCB(delta=0.0, omega=0.0),
    "GLR-klUCB, quick": br.GLRKLUCB(delta=0.5, omega=0.2, every=3, spacing=4),
    "KL-UCB, c = 3": br.KLUCB(c=3),
    "KL-UCB++, Gaussian": br.KLUCBPlusPlus("gaussian"),
    "KL-UCB++, exponential": br.KLUCBPlusPlus("exponential"),
    "KL-UCB++, Poisson": br.KLUCBPlusPlus("poisson"),
    "LB-SDA, forced": br.LBSDA("sqrt_log"),
    "LB-SDA-LM, all": br.LBSDALM(math.inf, forced="none"),
    "Lattimore, finite": br.Lattimore(3, 0.5),
    "M-UCB, quick": br.MUCB(20, 4.0, 0.3),
    "M-UCB, all forced": br.MUCB(8, 2.0, 1.0),
    "M-UCB, tuned": br.MUCB(None, changes=0, least_change=0.9),
    "PHT-UCB, quick": br.PHTUCB(0.05, 2.0),
    "RB-SDA, forced": br.RBSDA("cbrt_log"),
    "Robust-UCB-median, 1.5": br.RobustUCB("median", 0.5, v=0.05),
    "Robust-UCB-truncated, 1.5": br.RobustUCB("truncated", 0.5, u=0.7),
    "SW-KL-UCB, Gaussian": br.SlidingWindowKLUCB(50, "gaussian", 1),
    "SW-KL-UCB, exponential": br.SlidingWindowKLUCB(50, "exponential", 1),
    "SW-KL-UCB, Poisson": br.SlidingWindowKLUCB(50, "poisson", 1),
    "SW-KL-UCB, 1": br.SlidingWindowKLUCB(1),
    "SW-KL-UCB, 7": br.SlidingWindowKLUCB(7),
    "SW-LB-SDA, 1": br.SlidingWindowLBSDA(1),
    "SW-LB-SDA, 2": br.SlidingWindowLBSDA(2),
    "TS-Multinomial, 1": br.MultinomialTS(1),
    "UCB-Normal, 5": br.UCBNormal(5),
}
SETTINGS = POLICIES | OTHERS


@pytest.fixture(params=POLICIES)
def policy(request: pytest.FixtureRequest) -> br.Policy:
    return POLICIES[request.param]


@pytest.fixture(params=SETTINGS)
def setting(request: pytest.FixtureRequest) -> br.Policy:
    return SETTINGS[request.param]


@pytest.mark.parametrize("kind", ["0/1", "unit", "normal", "huge"])
def test_compiled_code_and_plain_python_make_the_same_decisions(setting, kind):
    testing.check_compiled(setting, [kind])


def test_a_second_run_with_other_numbers_does_not_compile_again(policy):
    testing.check_compiled_once(policy)
    assert len(trace_loop(policy.kernels).signatures) == 1


def test_selecting_changes_nothing_and_chooses_a_candidate(setting):
    testing.check_select(setting, every_arm=not isinstance(setting, br.Oracle))


def test_a_state_saved_and_restored_goes_on_as_if_nothing_had_happened(policy):
    testing.check_restored_state(policy)


def test_the_json_form_is_lossless(setting):
    testing.check_json(setting)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_rewards_that_are_not_finite_are_refused(policy, bad):
    testing.check_refused_rewards(policy, [bad])


@pytest.mark.parametrize("shape", [(1, 1), (60, 1), (1, 4), (3, 4), (4, 4)], ids=str)
def test_one_arm_one_step_and_fewer_steps_than_arms_work(setting, shape):
    testing.check_small_problems(setting, [shape])


@pytest.mark.parametrize("reward", [0.0, 1.0, 0.1, 0.3, -5.0, 1e150, 1e300, -1e300, 1e-300], ids=str)
def test_constant_and_extreme_rewards_work(setting, reward):
    testing.check_constant_rewards(setting, [reward], every_arm=not isinstance(setting, WITH_A_PRIOR))


@pytest.mark.parametrize("name", some(POLICIES))
def test_a_seed_gives_the_same_bits_whatever_else_is_run(name):
    testing.check_same_bits(POLICIES[name])


# What pulls an arm whose rewards are still to come besides `kernels.choices.needs_pull`, by the definition.
UNPAID = {
    "prior": (br.AdSwitch, br.MultinomialTS, br.ThompsonBeta),
    "random": (
        br.AdaILTCB,
        br.CUSUMUCB,
        br.EpsilonGreedy,
        br.EXP3,
        br.EXP3S,
        br.ExtendedRobustUCB,
        br.Lattimore,
        br.PHTUCB,
        br.SlidingWindowKLUCB,
        br.UniformRandom,
    ),
    "schedule": (br.GLRKLUCB, br.MUCB, br.SlidingWindowLBSDA),  # or a window
}
# The rewards without which an arm has no index after 1000 steps, where they are more than one.
LEAST = {
    **{"EV-UCB": 2, "Robust-UCB-median": 2, "Robust-UCB-median, 1.5": 2, "TS-Gaussian-unknown": 5},
    **{"UCB-Normal": 3, "UCB-Normal, 5": 5, "Robust-UCB-Catoni": 8 * math.log(1000)},
    **{"Extended-Robust-UCB, finite": 57, "Lattimore, finite": 15},
    **{"BESA, n0 = 2": 2, "SSTC": 2},
}
# The least pulls of the best arm, of 1000, where they are fewer than 800.
OF_THE_BEST = {
    700: {"SW-FE-Exp", "SW-FE-Linear", "EXP3", "EXP3.S", "M-UCB, quick", "Robust-UCB-Catoni"}
    | {"Extended-Robust-UCB, finite"},
    500: {"D-UCB", "Robust-UCB-truncated", "Robust-UCB-truncated, 1.5", "Robust-UCB-median, 1.5"}
    | {"SW-KL-UCB, Gaussian", "SW-KL-UCB, exponential", "SW-KL-UCB, Poisson", "SW-KL-UCB, 7"},
    280: {"Ada-ILTCB+", "Ada-ILTCB+, quick", "Robust-UCB-median", "eps-greedy-gap"},
    200: {"AdSwitch", "AdSwitch, quick", "Extended-Robust-UCB", "Lattimore", "M-UCB, all forced", "Random"}
    | {"SW-KL-UCB, 1", "SW-LB-SDA, 1", "SW-LB-SDA, 2"},
}


@pytest.mark.parametrize("name", [name for name in SETTINGS if name != "Oracle"])
def test_rewards_that_come_late_in_any_order_or_never(name):
    policy = SETTINGS[name]
    testing.check_late_rewards(
        policy,
        rewards_needed=LEAST.get(name, 1),
        unpaid=next((kind for kind, classes in UNPAID.items() if isinstance(policy, classes)), "due"),
        best_pulls=next((least for least, names in OF_THE_BEST.items() if name in names), 800),
    )


@pytest.mark.parametrize("name", [n for n in POLICIES if n not in ("Oracle", "ETC", "FB-ETC")])
def test_without_any_reward_no_arm_is_preferred(name):
    testing.check_without_rewards(POLICIES[name])


# The mean regret below is less than this, else less than 250; random pulls cost 400.
REGRET = {
    20: {"BAI-ETC", "BESA", "FE-Exp", "GIRO", "GLR-klUCB-global", "GLR-klUCB-local", "KL-UCB", "KL-UCB++"}
    | {"KL-UCB-Gaussian", "KL-UCB-Poisson", "LB-SDA", "LB-SDA-LM", "MOSS", "MOSS-anytime", "NPTS", "Oracle"}
    | {"PHE", "RB-SDA", "ReBoot", "SPRT-ETC", "SSMC", "TS-Beta", "TS-Gaussian", "TS-Multinomial", "WR-SDA"}
    | {"UCB1-sigma"},
    40: {"ETC", "FB-ETC", "FE-Anytime", "FE-Constant", "FE-Linear", "Robust-UCB-Catoni", "SW-TS"}
    | {"SW-TS-Gaussian", "TS-Gaussian-unknown", "UCB1"},
    90: {"CUSUM-UCB", "D-TS", "EV-UCB", "EXP3", "EXP3.S", "M-UCB", "PHT-UCB", "SW-FE-Constant", "SW-FE-Exp"}
    | {"SW-FE-Linear", "SW-KL-UCB", "SW-LB-SDA", "SW-UCB", "UCB-Normal", "UCB-V", "eps-greedy"},
    math.inf: {"AdSwitch", "Ada-ILTCB+", "Extended-Robust-UCB", "Lattimore", "Random"},
}


@pytest.mark.parametrize("name", br.CATALOGUE)
def test_it_learns(name):
    """200 runs; the bounds are at least 5 standard errors above what was measured."""
    most = next((bound for bound, names in REGRET.items() if name in names), 250)
    testing.check_learns(br.CATALOGUE[name], regret=most)


@pytest.mark.parametrize(
    "name", [name for name, policy in SETTINGS.items() if index_of(policy) and name != "EV-UCB, the authors'"]
)
@pytest.mark.parametrize(
    "rewards", [(0, 0), (0.3, 0.3), (1, 1), (1, 0), (1e150, 1e150), (1e150, 0), (-1e150, 1e150)]
)
def test_no_index_is_nan_when_all_rewards_have_come(name, rewards):
    """The first pulls of EV-UCB with c = 0 are not by its index."""
    testing.check_index(SETTINGS[name], [rewards])


@pytest.mark.parametrize("name", [n for n, p in POLICIES.items() if not isinstance(p, SCHEDULED)])
def test_tied_arms_are_pulled_equally_often(name):
    """Policies with a schedule have tests of their own."""
    testing.check_ties(POLICIES[name], runs=runs(500, 2000))


def test_permuting_arms_permutes_pulls_in_law(policy):
    """A schedule begins in order of index, so that it may stand one pull further for an arm."""
    slack = 1.0 if isinstance(policy, SCHEDULED) else 0.0
    testing.check_permutation(policy, slack, runs=runs(200, 2000))


def test_the_class_says_what_it_assumes(policy):
    testing.check_description(policy)


def test_tables_hold_64_bit_integers_and_floats_only(policy):
    testing.check_tables(policy)


def test_parameters_are_plain_numbers_and_their_classes_have_unique_names(setting):
    testing.check_parameters(setting, SETTINGS.values())


def python_path(*folders: Path) -> str:
    return os.pathsep.join([*map(str, folders), os.environ.get("PYTHONPATH", "")])


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


@pytest.mark.parametrize("select", [choose_number_k, choose_minus_1])
def test_a_policy_that_chooses_an_arm_that_is_not_there_is_an_error(select, rewards01):
    @dataclass(frozen=True)
    class Wrong(br.UniformRandom):
        kernels = br.UniformRandom.kernels._replace(select=select)

    with pytest.raises(br.PolicyError, match="Wrong's select returned an arm that is not there, at step 1"):
        br.trace(Wrong(), rewards01)
    with pytest.raises(br.PolicyError, match="at step 1"):
        br.simulate(ENVIRONMENT, {"x": Wrong()}, 1000, 5)


def test_a_new_process_finds_everything_compiled_and_gives_the_same_bits():
    """A user's own policy too. The first process fills the cache, whatever was in it."""
    names = br.CATALOGUE if full else REPRESENTATIVE
    testing.check_cache(*(br.CATALOGUE[name] for name in names), own_policy.AuthorsUCB1())
