"""What every policy in the catalogue must do. A new line in the catalogue adds its tests."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import brigand as br
from brigand.citations import entries
from brigand.policies.base import State
from brigand.simulation.step import trace_loop

ENVIRONMENT = br.Environment.stationary([br.Bernoulli(p) for p in (0.3, 0.5, 0.5, 0.7)])
POLICIES = {name: policy.informed(ENVIRONMENT) for name, policy in br.CATALOGUE.items()}
CATALOGUE_OF = {POLICIES[name]: policy for name, policy in br.CATALOGUE.items()}
SCHEDULED = (
    br.ForcedExploration,
    br.ExploreThenCommit,
    br.FixedBudgetETC,
    br.SequentialETC,
    br.BestArmETC,
    br.MUCB,
    br.AdSwitch,
)


@pytest.fixture(params=POLICIES)
def policy(request: pytest.FixtureRequest) -> br.Policy:
    return POLICIES[request.param]


def run(policy: br.Policy, rewards: np.ndarray, state: State, rng: np.random.Generator) -> np.ndarray:
    """Run on from `state`, changing it."""
    horizon, n_arms = rewards.shape
    chosen = np.empty(horizon, np.int64)
    parameters = policy.parameters(n_arms, 400)
    trace_loop(policy.kernels)(parameters, *state, np.arange(n_arms), rewards, rng, chosen)
    return chosen


def test_compiled_code_and_plain_python_make_the_same_decisions(policy, rewards01):
    compiled = br.trace(policy, rewards01, seed=3)
    plain = br.trace(policy, rewards01, seed=3, compiled=False)
    assert np.array_equal(compiled, plain)


def test_a_second_run_with_other_numbers_does_not_compile_again(policy, rewards01):
    br.trace(policy, rewards01)
    loop = trace_loop(policy.kernels)
    before = len(loop.signatures)
    br.trace(policy, rewards01[:50] / 2)
    assert len(loop.signatures) == before == 1


def test_selecting_changes_nothing(policy, rewards01):
    rng = np.random.default_rng(1)
    state = policy.start(4, 400)
    run(policy, rewards01[:100], state, rng)
    before = [table.tobytes() for table in state]
    parameters = policy.parameters(4, 400)
    policy.kernels.select(parameters, *state, np.arange(4), rng)
    assert [table.tobytes() for table in state] == before


def test_only_candidates_are_chosen(policy, rewards01):
    rng = np.random.default_rng(1)
    state = policy.start(4, 400)
    parameters = policy.parameters(4, 400)
    allowed = [np.array(c) for c in ([0, 1, 2, 3], [1], [0, 2], [1, 2, 3])]
    for step in range(1, 200):
        candidates = allowed[step % 4]
        arm = policy.kernels.select(parameters, *state, candidates, rng)
        assert arm in candidates
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, rewards01[step, arm], step)


def play(policy, rewards, state, rng, steps):
    """Run the kernels in plain Python at the given steps, from `state` on; return the arms."""
    parameters = policy.parameters(4, 400)
    chosen = []
    for step in steps:
        arm = policy.kernels.select(parameters, *state, np.arange(4), rng)
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, rewards[step - 1, arm], step)
        chosen.append(int(arm))
    return chosen


def test_a_state_saved_and_restored_goes_on_as_if_nothing_had_happened(policy, rewards01):
    rng = np.random.default_rng(5)
    state = policy.start(4, 400)
    play(policy, rewards01, state, rng, range(1, 151))
    saved = [np.frombuffer(table.tobytes(), table.dtype).copy() for table in state]
    restored = State(saved[0][0], saved[1], saved[2])
    twin = np.random.default_rng()
    twin.bit_generator.state = rng.bit_generator.state
    rest = range(151, 301)
    assert play(policy, rewards01, state, rng, rest) == play(policy, rewards01, restored, twin, rest)


def test_the_json_form_is_lossless(policy):
    text = json.dumps(policy.to_json())
    assert br.Policy.from_json(json.loads(text)) == policy


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rewards_that_are_not_finite_are_refused(policy, rewards01, bad):
    rewards = rewards01.copy()
    rewards[17, 2] = bad
    with pytest.raises(br.InvalidValueError, match=r"arm 2 pays (nan|inf|-inf) at step 18"):
        br.trace(policy, rewards)


@pytest.mark.parametrize("shape", [(1, 1), (5, 1), (1, 4), (3, 4), (4, 4)], ids=str)
def test_one_arm_one_step_and_fewer_steps_than_arms_work(policy, shape):
    if isinstance(policy, br.Oracle):
        policy = br.Oracle((1,), (tuple([0.5] * shape[1]),))
    arms = br.trace(policy, np.full(shape, 0.5))
    assert arms.shape == shape[:1]
    assert (arms < shape[1]).all()


@pytest.mark.parametrize("reward", [0.0, 1.0, 0.3, -5.0, 1e300, -1e300, 1e-300], ids=str)
def test_constant_and_extreme_rewards_work(policy, reward):
    low, high = policy.reward_support
    if not low <= reward <= high:
        with pytest.raises(br.UnsupportedRewardError, match="needs rewards in"):
            br.trace(policy, np.full((200, 4), reward))
        return
    state = policy.start(4, 200)
    run(policy, np.full((200, 4), reward), state, np.random.default_rng(0))
    if "mean" in state.arms.dtype.names:
        assert state.arms["mean"] == pytest.approx(np.full(4, reward), rel=1e-12)


@pytest.mark.parametrize("name", [n for n, p in POLICIES.items() if not isinstance(p, SCHEDULED)])
def test_tied_arms_are_pulled_equally_often(name):
    """All arms alike: the 41st pull is uniform over seeds. Policies with a schedule have tests of their own.

    Chi-square at level 1e-5 for each policy; 2000 seeds show a preference of 0.33 over 0.25.
    """
    policy = POLICIES[name]
    if isinstance(policy, br.Oracle):
        policy = br.Oracle((1,), ((0.5,) * 4,))
    parameters = policy.parameters(4, 41)
    last = []
    for seed in range(2000):
        state = policy.start(4, 41, key=seed)
        chosen = np.empty(41, np.int64)
        rng = np.random.default_rng(seed)
        trace_loop(policy.kernels)(parameters, *state, np.arange(4), np.full((41, 4), 0.5), rng, chosen)
        last.append(chosen[-1])
    counts = np.bincount(last, minlength=4)
    assert stats.chisquare(counts).pvalue > 1e-5, counts


def test_permuting_arms_permutes_pulls_in_law(policy):
    """Mean pulls per arm agree within 4.7 standard errors: level 2.6e-6 an arm, 2e-4 for all 64.

    Policies with a schedule begin it in order of index, so that it may stand one pull further for an arm.
    """
    order = [2, 3, 0, 1]
    arms = [br.Bernoulli(p) for p in (0.2, 0.45, 0.55, 0.7)]
    plain = br.Environment.stationary(arms)
    permuted = br.Environment.stationary([arms[k] for k in order])
    name = {"p": CATALOGUE_OF[policy]}
    a, b = (
        br.simulate(environment, name, 300, 2000, seed=11, checkpoints=[300]).dataset["pulls"][0, :, 0]
        for environment in (plain, permuted)
    )
    a, b = a.to_numpy()[:, order], b.to_numpy()
    error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / len(a))
    difference = a.mean(axis=0) - b.mean(axis=0)
    slack = 1.0 if isinstance(policy, SCHEDULED) else 0.0
    assert (np.abs(difference) <= 4.7 * error + slack).all(), difference / np.maximum(error, 1e-12)


def test_the_class_says_what_it_assumes(policy):
    assert policy.assumption
    assert policy.must_know
    assert type(policy).__doc__
    assert policy.reference == "" or policy.reference in entries()
    low, high = policy.reward_support
    assert low < high


def test_tables_hold_64_bit_integers_and_floats_only(policy):
    for table in policy.start(4, 400):
        assert {table.dtype[name].str for name in table.dtype.names} <= {"<i8", "<f8"}


def test_parameters_are_plain_numbers_and_their_classes_have_unique_names():
    names = {}
    for policy in POLICIES.values():
        parameters = policy.parameters(4, 400)
        assert {type(number) for number in parameters} <= {int, float}
        names.setdefault(type(parameters).__name__, set()).add(type(parameters))
    assert all(len(classes) == 1 for classes in names.values())


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


PROCESS = """
import json, sys
import numpy as np
import brigand as br
from brigand.simulation.step import simulation_loop, trace_loop
import own_policy

environment = br.Environment.stationary([br.Bernoulli(p) for p in (0.3, 0.5, 0.5, 0.7)])
policies = br.CATALOGUE | {"own": own_policy.AuthorsUCB1()}
results = br.simulate(environment, policies, 50, 2)
loops = [simulation_loop(policy.kernels) for policy in policies.values()]
for policy in policies.values():
    br.trace(policy.informed(environment), np.full((50, 4), 0.5))
    loops.append(trace_loop(policy.kernels))
hits = sum(sum(loop.stats.cache_hits.values()) for loop in loops)
misses = sum(sum(loop.stats.cache_misses.values()) for loop in loops)
print(json.dumps([hits, misses, results.dataset["regret"].values.tolist()]))
"""


def test_a_new_process_finds_everything_compiled_and_gives_the_same_bits(tmp_path):
    """A user's own policy too. The first process fills the cache, whatever was in it."""
    outcomes = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", PROCESS],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": python_path(Path(__file__).parents[1])},
        )
        outcomes.append(json.loads(done.stdout))
    (_, _, first), (hits, misses, second) = outcomes
    assert misses == 0
    assert hits > 0
    assert first == second
