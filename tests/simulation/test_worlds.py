"""Worlds whose means move: the loop against a slow definition, the rewards against their means."""

import math

import numpy as np
import pytest

import brigand as br
import own_world
from brigand.environments.functions import paying
from brigand.environments.moving import reward_about
from brigand.rng import Stream
from brigand.simulation.plan import make_plan
from brigand.simulation.step import Runner
from simulation.paid import Paid
from strength import runs

SEASONS = br.SeasonalMeans([0.5, 0.4, 0.3], [0.3, 0.2, 0.3], 25, [0, 0.25, 0.5])
JACKPOT = br.FunctionReward(own_world.jackpot, 0.595)
ROT = br.PowerMeans([1.0, 0.8, 0.6], [0.5, 0.1, 0.0])
RISE = br.SaturatingMeans([1.0, 0.8, 0.6], [0.01, 0.02, 0.5])
WORLDS = {
    "bernoulli": br.Restless(SEASONS),
    "exponential": br.Restless(SEASONS, "exponential"),
    "gaussian": br.Restless(br.RandomWalkMeans([0.5] * 3, 0.1), br.Gaussian(7.0, 0.3)),
    "uniform": br.Restless(br.LinearMeans([0.1, 0.2, 0.9], [0.01, 0.0, -0.01]), br.Uniform(-1, 2)),
    "mixed": br.Restless(SEASONS, [br.Gaussian(0, 0.1), "bernoulli", br.StudentT(3)]),
    "exact": br.Restless(SEASONS, None),
    "switching": br.Restless(br.SwitchingMeans([[0.1, 0.9, 0.5], [0.9, 0.1, 0.5]], [[0.9, 0.1]] * 2)),
    "table": br.Restless.of_rewards(np.random.default_rng(0).random((120, 3))),
    "functions": br.Restless(br.MeanFunction(own_world.waves, 3), [JACKPOT, None, "bernoulli"]),
    "shared": br.Restless(SEASONS, br.Gaussian(0, 0.1), shared=br.SharedNoise([1, -0.5, 0], 0.9)),
    "rotting": br.Rested(ROT, br.Gaussian(0, 0.2)),
    "rising": br.Rested(RISE),
}
POLICIES = {"UCB": br.UCB1(sigma=1.0), "uniform": br.UniformRandom(), "FE": br.ForcedExploration(br.Linear())}
STEPS = 120
CHECKPOINTS = [1, 50, STEPS]


def runner(world, policy, steps=STEPS, seed=3):
    """Return a runner whose loop is plain Python, as it is before it is compiled."""
    found = Runner(
        make_plan(world, {"x": policy}, steps, 1, seed, [c for c in CHECKPOINTS if c < steps]), policy
    )
    found._loop = getattr(found._loop, "py_func", found._loop)
    return found


def by_definition(world, policy, replication, steps=STEPS, seed=3):
    """Play a run, slowly: return regret, pulls and rewards after each step."""
    choices, pay = Stream(seed, policy).generator(replication), Paid(world, seed, replication, steps)
    state = policy.start(world.n_arms, steps, int(choices.integers(2**63)))
    parameters, candidates = policy.parameters(world.n_arms, steps), np.arange(world.n_arms)
    counts, paid, earned, found = [0] * world.n_arms, 0.0, 0.0, []
    for t in range(steps):
        arm = policy.kernels.select(parameters, *state, candidates, choices)
        policy.kernels.pull(parameters, *state, arm)
        reward = pay(arm)
        policy.kernels.learn(parameters, *state, arm, reward, t + 1)
        counts[arm] += 1
        paid, earned = paid + pay.means[-1], earned + reward
        found.append((float(world.best_total(t + 1)) - paid, list(counts), earned))
    return found


@pytest.mark.parametrize("name", WORLDS)
def test_runs_are_those_of_the_definition(name):
    world = WORLDS[name]
    for policy in POLICIES.values():
        found = runner(world, policy).run((0, 5))
        for i, replication in enumerate((0, 5)):
            run = by_definition(world, policy, replication)
            expected = [run[c - 1] for c in CHECKPOINTS]
            np.testing.assert_array_equal(found.pulls[i], [counts for _, counts, _ in expected])
            np.testing.assert_allclose(found.regret[i], [regret for regret, *_ in expected], atol=1e-12)
            realized = world.best_total(CHECKPOINTS) - [earned for *_, earned in expected]
            np.testing.assert_allclose(found.realized[i], realized, atol=1e-12)


@pytest.mark.full
@pytest.mark.parametrize("name", WORLDS)
def test_compiled_runs_are_those_of_plain_python(name):
    results = br.simulate(WORLDS[name], POLICIES, STEPS, 6, 3, checkpoints=CHECKPOINTS, realized=True)
    for policy in POLICIES:
        plain = runner(WORLDS[name], POLICIES[policy]).run(range(6))
        data = results.dataset.sel(policy=policy)
        np.testing.assert_array_equal(data["pulls"], plain.pulls)
        np.testing.assert_allclose(data["regret"], plain.regret, atol=1e-12)
        np.testing.assert_allclose(data["realized_regret"], plain.realized, atol=1e-12)
    assert data["regret"].attrs["kind"] == WORLDS[name].regret_kind
    assert results.environments == (WORLDS[name],)


@pytest.mark.parametrize("name", WORLDS)
def test_rewards_have_the_stated_means(name):
    """z-tests of each arm at two rows. False alarm: 1e-6 for all worlds together."""
    world, n = WORLDS[name], runs(2000, 200_000)
    compiled, pay = world.compiled(STEPS), paying(world.drawn.functions)
    rng = np.random.default_rng(list(name.encode()))
    for row in (0, 99):
        for arm in range(3):
            mean = float(world.table(STEPS)[row, arm])
            rewards = np.empty(n)
            for i in range(n):
                uniform, normal = rng.random(), rng.standard_normal()
                drawn = pay(compiled.laws[arm], compiled.table, uniform, normal)
                rewards[i] = reward_about(compiled.noise[arm], mean, drawn, uniform)
            error = rewards.std() / math.sqrt(n)
            assert abs(rewards.mean() - mean) <= 5.8 * error + 1e-12


def test_a_constant_path_gives_the_numbers_of_a_stationary_environment():
    arms = [0.2, 0.7]
    still = br.Environment.stationary([br.Bernoulli(p) for p in arms])
    world = br.Restless(br.LinearMeans(arms))
    for policy in POLICIES.values():
        one, other = runner(still, policy), runner(world, policy)
        other._rewards = one._rewards
        for found, expected in zip(other.run((0, 1)), one.run((0, 1)), strict=True):
            if expected is not None:
                np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_policy_that_pulls_the_best_arm_of_each_step_has_no_dynamic_regret():
    world = br.Restless(br.LinearMeans([0.9, 0.1], [-0.01, 0.01]), None)
    found = runner(world, br.ForcedExploration(br.Constant(math.inf)), 40).run((0,))
    assert found.regret[0, -1] == pytest.approx(0.8 if found.pulls[0, 0, 1] else 0.78, abs=1e-12)


@pytest.mark.parametrize("name", [name for name in WORLDS if isinstance(WORLDS[name], br.Restless)])
def test_the_oracle_pulls_the_best_arm_of_each_step(name):
    world = WORLDS[name]
    oracle = br.oracle().informed(world)
    assert type(oracle).from_json(oracle.to_json()) == oracle
    found = runner(world, br.oracle()).run((0, 1)).regret
    if world.regret_kind == "dynamic":
        assert (found == 0).all()
    else:
        best_arm = world.table(STEPS).cumsum(axis=0).max(axis=1)
        expected = best_arm - world.table(STEPS).max(axis=1).cumsum()
        np.testing.assert_allclose(found[0], expected[np.array(CHECKPOINTS) - 1], atol=1e-12)


def test_static_regret_is_against_one_arm():
    world = br.Restless.of_rewards([[1, 0], [0, 1], [1, 0], [0, 1]])
    found = runner(world, br.ForcedExploration(br.Constant(0)), 4).run((0, 1, 2, 3))
    for regret, pulls, realized in zip(found.regret, found.pulls, found.realized, strict=True):
        right = pulls[-1].tolist() == [2, 2]
        assert right
        assert regret[-1] in (-2, 2)  # in turn, in step with the rewards or out of step
        assert realized[-1] == regret[-1]


SOME = {"x": POLICIES["FE"]}
REFUSED = {
    "skip": (lambda: br.simulate(WORLDS["bernoulli"], SOME, 9, 1, method="skip"), "skipped in Restless"),
    "rare": (lambda: br.rare_regret(WORLDS["bernoulli"], POLICIES["FE"], 99), "skipped in Restless"),
    "oracle": (
        lambda: br.simulate(WORLDS["rising"], {"x": br.oracle()}, 9, 1),
        "in Rested depends on what was pulled",
    ),
    "short": (lambda: br.simulate(WORLDS["table"], SOME, 121, 1), "120 rows, too few for a horizon of 121"),
    "range": (lambda: br.simulate(WORLDS["uniform"], {"x": br.KLUCB()}, 9, 1), "arm 0 of Restless"),
    "bounds": (lambda: br.theory.bounds(WORLDS["rotting"], POLICIES["UCB"], 99), "must be an Environment"),
    "number": (lambda: br.simulate(0.5, POLICIES, 9, 1), "another world"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_world_does_not_support_is_refused(name):
    make, message = REFUSED[name]
    with pytest.raises(br.InvalidValueError, match=message):
        make()


def test_a_stationary_environment_pays_what_functions_return():
    environment = br.Environment.stationary([JACKPOT, br.Gaussian(0.55, 0.1)])
    for policy in POLICIES.values():
        found = runner(environment, policy, 60)
        rng, choices = found._rewards.generator(2), found._choices.generator(2)
        state = policy.start(2, 60, int(choices.integers(2**63)))
        parameters, earned = policy.parameters(2, 60), 0.0
        for t in range(60):
            uniform, normal = rng.random(), rng.standard_normal()
            arm = policy.kernels.select(parameters, *state, np.arange(2), choices)
            policy.kernels.pull(parameters, *state, arm)
            reward = 0.55 + 0.1 * normal if arm else own_world.jackpot(uniform, normal)
            policy.kernels.learn(parameters, *state, arm, reward, t + 1)
            earned += reward
        assert found.run((2,)).realized[0, -1] == pytest.approx(60 * 0.595 - earned, abs=1e-12)


@pytest.mark.full
def test_compiled_functions_give_the_numbers_of_plain_python_and_are_checked():
    environment = br.Environment.stationary([JACKPOT, br.FunctionReward(own_world.product, 0.3989423)])
    results = br.simulate(environment, POLICIES, 60, 4, 3)
    for policy in POLICIES:
        plain = runner(environment, POLICIES[policy], 60).run(range(4))
        np.testing.assert_array_equal(results.dataset["pulls"].sel(policy=policy)[:, -1], plain.pulls[:, -1])
    rarely = br.Environment.stationary([br.FunctionReward(own_world.rarely, 0.5)])
    with pytest.raises(br.InvalidValueError, match="has returned NaN or inf"):
        br.simulate(rarely, {"x": br.UniformRandom()}, 10**6, 300)


def test_shared_noise_has_the_stated_covariances():
    """Of rewards of two arms, one step apart, over replications: z-tests. False alarm: 1e-6."""
    n, rho = runs(1000, 20_000), 0.8
    world = br.Restless(br.LinearMeans([0.0, 0.0]), None, shared=br.SharedNoise([1.0, -2.0], rho))
    robin = runner(world, br.ForcedExploration(br.Constant(0.0)), 2)
    robin._plan = make_plan(world, {"x": br.UniformRandom()}, 2, 1, 3, [1])
    found = robin.run(range(n))
    first = found.pulls[:, 0].argmax(axis=1)
    rewards = -np.diff(found.realized, axis=1, prepend=0) / np.array([1.0, -2.0])[np.c_[first, 1 - first]]
    assert (found.pulls[:, 1] == 1).all()
    z = 5.1
    assert np.all(abs(rewards.mean(axis=0)) < z / math.sqrt(n))
    assert np.all(abs(rewards.var(axis=0) - 1) < z * math.sqrt(2 / n))
    assert abs((rewards[:, 0] * rewards[:, 1]).mean() - rho) < z * math.sqrt((1 + rho**2) / n)
