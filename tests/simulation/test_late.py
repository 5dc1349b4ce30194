"""Rewards that come late or never, batches, and arms that come and go: bits, laws, and mistakes."""

import math

import numpy as np
import pytest
from scipy import stats

import brigand as br
from brigand.environments.draw import GEOMETRIC, draw
from brigand.rng import Stream
from brigand.simulation import late
from brigand.simulation.conditions import delivery_of
from brigand.simulation.late import LateRunner
from brigand.simulation.plan import make_plan
from brigand.simulation.step import Runner
from simulation.paid import Paid
from strength import full, runs, some

T = 300
ARMS = br.Environment.piecewise(
    [
        [br.Bernoulli(0.4), br.Bernoulli(0.5), br.Beta(2, 2), br.Bernoulli(0.7)],
        [br.Bernoulli(0.6), br.Uniform(0, 1), br.ClippedGaussian(0.5, 0.3), br.Bernoulli(0.2)],
    ],
    starts=[1, 140],
)
CONDITIONS = {
    "none": {},
    "3 steps": {"delay": 3},
    "geometric": {"delay": br.Geometric(mean=20)},
    "by arm": {"delay": [br.Geometric(5), 0, br.ClippedGaussian(4, 3, 0, 20), br.Pareto(1.5, 3.0)]},
    "lost": {"lost": 0.3},
    "lost by arm": {"lost": [0.0, 1.0, 0.5, 0.1], "delay": 2},
    "batches": {"batch": 7},
    "late batches": {"batch": 20, "delay": br.Geometric(mean=10), "lost": 0.1},
    "longer than all": {"batch": 1000},
    "later than all": {"delay": 10**9},
    "arms come": {"arms": br.Arrivals([1, 1, 100, 200])},
    "and go": {"arms": br.Arrivals([1, 50, 1, 1], [139, None, 250, 60]), "delay": 30},
    "imputed": {"delay": br.Geometric(mean=20), "pending": "imputed", "lost": 0.1},
    "imputed batches": {"batch": 10, "pending": "imputed"},
}
POLICIES = {
    name: br.CATALOGUE[name]
    for name in ("FE-Linear", "SW-FE-Exp", "UCB1", "TS-Beta", "LB-SDA", "EXP3.S", "ETC", "CUSUM-UCB", "M-UCB")
}
CASES = [
    (policy, case)
    for policy, entry in POLICIES.items()
    for case, given in CONDITIONS.items()
    if entry.corrects or given.get("pending") != "imputed"
]
LEVELS = br.SeasonalMeans([0.5, 0.4, 0.5, 0.6], [0.3, 0.2, 0.4, 0.1], 70, [0, 0.25, 0.5, 0.7])
WORLDS = {
    "restless": br.Restless(LEVELS, ["bernoulli", None, br.Uniform(-0.1, 0.1), br.Gaussian(0, 0.1)]),
    "static": br.Restless(LEVELS, "exponential", "static"),
    "shared": br.Restless(LEVELS, None, shared=br.SharedNoise([1, -0.5, 0, 0.1], 0.9)),
    "rotting": br.Rested(br.PowerMeans([1.0, 0.8, 0.6, 0.7], [0.5, 0.1, 0.0, 0.2])),
    "rising": br.Rested(br.SaturatingMeans([1.0, 0.8, 0.6, 0.3], [0.01, 0.02, 0.5, 1]), br.Gaussian(0, 0.2)),
}
UNBOUNDED = {name: br.CATALOGUE[name] for name in ("FE-Linear", "SW-FE-Exp", "UCB1-sigma")}
WORLD_CASES = [
    (policy, case, world)
    for policy, entry in UNBOUNDED.items()
    for case, given in CONDITIONS.items()
    if entry.corrects or given.get("pending") != "imputed"
    for world in WORLDS
    if "arms" not in given or WORLDS[world].regret_kind == "dynamic"
]


def runner_of(policy, conditions, runner=LateRunner, environment=ARMS):
    """Return a runner whose checkpoints are all steps; without --full its loop is plain Python."""
    plan = make_plan(environment, {"it": policy}, T, 3, 7, range(1, T + 1), conditions)
    made = runner(plan, policy)
    if not full:
        made._loop = getattr(made._loop, "py_func", made._loop)
    return made


class Delays:
    """The delays and losses of one run, by their definition: call it at each step, with the arm."""

    def __init__(self, conditions, replication, n_arms=4):
        self._delivery, self._rng = (
            delivery_of(conditions, n_arms),
            Stream(7, conditions).generator(replication),
        )

    def __call__(self, arm):
        """Return the delay, and whether the reward is lost."""
        delivery, law = self._delivery, self._delivery.laws[arm]
        uniform = self._rng.random() if delivery.uses_uniform else 0.0
        normal = self._rng.standard_normal() if delivery.uses_normal else 0.0
        exponential = self._rng.standard_exponential() if delivery.uses_exponential else 0.0
        delay = law["a"] * exponential  # of a geometric one
        if law["kind"] != GEOMETRIC:
            delay = draw(law, delivery.table, uniform, normal)
        return math.floor(delay), delivery.loses and self._rng.random() < delivery.lost[arm]


def defined(policy, conditions, replication, world=ARMS):
    """Play one run by the definition, step by step: return the arms, and what was paid."""
    n_arms, choices = world.n_arms, Stream(7, policy).generator(replication)
    parameters = policy.parameters(n_arms, T)
    state = policy.start(n_arms, T, int(choices.integers(2**63)))
    kernels = policy.kernels
    pay, delay_of = Paid(world, 7, replication, T), Delays(conditions, replication)
    pending, chosen, told = [], [], [[] for _ in range(n_arms)]
    for step in range(1, T + 1):
        there = np.ones(n_arms, bool) if conditions.arms is None else conditions.arms.there(step)
        arm = int(kernels.select(parameters, *state, np.flatnonzero(there), choices))
        assert there[arm]
        for absent in np.flatnonzero(~there):
            kernels.miss(parameters, *state, absent)
        kernels.pull(parameters, *state, arm)
        chosen.append(arm)
        reward = pay(arm, there)
        delay, lost = delay_of(arm)
        waits = lost or delay > 0 or step % conditions.batch > 0
        was = None
        if waits and conditions.pending == "imputed" and told[arm]:
            total = 0.0  # as the loop adds
            for one in told[arm]:
                total += one
            was = total / len(told[arm])
            kernels.learn(parameters, *state, arm, was, step)
        if not lost:
            pending.append((step + delay, step, arm, reward, was))
        if step % conditions.batch == 0:
            for one in sorted(one for one in pending if one[0] <= step):
                pending.remove(one)
                _, at, arm, reward, was = one
                told[arm].append(reward)
                if was is None:
                    kernels.learn(parameters, *state, arm, reward, at)
                else:
                    kernels.correct(parameters, *state, arm, was, reward, at)
    return np.array(chosen), pay


def arms_of(found):
    """Return the arms that were chosen, shape (replications, T)."""
    return np.diff(found.pulls, axis=1, prepend=0).argmax(axis=2)


@pytest.mark.parametrize("name", some(POLICIES, ("FE-Linear", "SW-FE-Exp", "TS-Beta", "CUSUM-UCB")))
def test_plain_conditions_give_the_bits_of_the_plain_simulator(name):
    plain = runner_of(POLICIES[name], br.Conditions(), Runner).run(range(3))
    late = runner_of(POLICIES[name], br.Conditions()).run(range(3))
    for one, other in zip(plain, late, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("world", WORLDS)
def test_plain_conditions_give_the_bits_of_the_plain_simulator_where_means_move(world):
    """Over more than a block of random numbers, which checkpoints cut."""
    policy = POLICIES["FE-Linear"]
    plan = make_plan(WORLDS[world], {"it": policy}, 1500, 3, 7, [5, 1000, 1024, 1400], br.Conditions())
    found = []
    for runner in (Runner(plan, policy), LateRunner(plan, policy)):
        if not full:
            runner._loop = getattr(runner._loop, "py_func", runner._loop)
        found.append(runner.run(range(runs(1, 3))))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.every(5)
@pytest.mark.parametrize(("name", "case"), CASES)
def test_every_choice_is_the_definitions(name, case):
    policy, conditions = POLICIES[name], br.Conditions(**CONDITIONS[case])
    found = arms_of(runner_of(policy, conditions).run(range(runs(1, 3))))
    for replication, chosen in enumerate(found):
        np.testing.assert_array_equal(chosen, defined(policy, conditions, replication)[0])


@pytest.mark.every(12)
@pytest.mark.parametrize(("name", "case", "world"), WORLD_CASES)
def test_every_choice_and_all_regret_is_the_definitions_where_means_move(name, case, world):
    policy, conditions, environment = UNBOUNDED[name], br.Conditions(**CONDITIONS[case]), WORLDS[world]
    found = runner_of(policy, conditions, environment=environment).run(range(runs(1, 3)))
    for replication, chosen in enumerate(arms_of(found)):
        expected, paid = defined(policy, conditions, replication, environment)
        np.testing.assert_array_equal(chosen, expected)
        dynamic = environment.regret_kind == "dynamic"
        best = np.cumsum(paid.best) if dynamic else environment.best_total(range(1, T + 1))
        np.testing.assert_allclose(found.regret[replication], best - np.cumsum(paid.means), atol=1e-10)
        np.testing.assert_allclose(found.realized[replication], best - np.cumsum(paid.rewards), atol=1e-10)


@pytest.mark.every(5)
@pytest.mark.parametrize(
    ("name", "case"), [case for case in CASES if full or case[0] in ("FE-Linear", "UCB1")]
)
def test_a_live_bandit_that_is_told_in_the_same_order_chooses_the_same(name, case):
    check_live(POLICIES[name], br.Conditions(**CONDITIONS[case]), ARMS)


@pytest.mark.every(24)
@pytest.mark.parametrize(("name", "case", "world"), WORLD_CASES)
def test_a_live_bandit_chooses_the_same_where_means_move(name, case, world):
    check_live(UNBOUNDED[name], br.Conditions(**CONDITIONS[case]), WORLDS[world])


def check_live(policy, conditions, world):
    """Check that a live bandit that is told in the same order chooses the same arms."""
    found = arms_of(runner_of(policy, conditions, environment=world).run([0]))[0]
    pay, delay_of = Paid(world, 7, 0, T), Delays(conditions, 0)
    bandit = br.Bandit(list("abcd"), policy, seed=7, horizon=T)
    pending, chosen, told = [], [], {arm: [] for arm in "abcd"}
    for step in range(1, T + 1):
        there = [True] * 4 if conditions.arms is None else conditions.arms.there(step)
        decision = bandit.ask(among=[arm for arm, is_there in zip("abcd", there, strict=True) if is_there])
        arm = "abcd".index(decision.arm)
        chosen.append(arm)
        reward = pay(arm)
        delay, lost = delay_of(arm)
        known = told[decision.arm]
        imputes = conditions.pending == "imputed" and known and (lost or delay or step % conditions.batch)
        if imputes:
            bandit.tell(decision, sum(known) / len(known))
        if not lost:
            pending.append((step + delay, step, decision, reward, bool(imputes)))
        if step % conditions.batch == 0:
            for one in sorted((one for one in pending if one[0] <= step), key=lambda one: one[:2]):
                pending.remove(one)
                bandit.tell(*one[2:4], replace=one[4])
                told[one[2].arm].append(one[3])
    np.testing.assert_array_equal(found, chosen)


def test_policies_and_workers_change_nobody_elses_numbers():
    policies = {name: POLICIES[name] for name in ("FE-Linear", "TS-Beta", "UCB1")}
    given = {"delay": br.Geometric(mean=30), "lost": 0.1, "batch": 3, "arms": br.Arrivals([1, 1, 60, 1])}
    whole = br.simulate(ARMS, policies, T, 60, workers=1, **given)
    other = br.simulate(ARMS, {"UCB1": policies["UCB1"]}, T, range(20, 50), workers=2, **given)
    part = whole.dataset.sel(policy=["UCB1"], replication=range(20, 50))
    np.testing.assert_array_equal(part["pulls"], other.dataset["pulls"])
    np.testing.assert_array_equal(part["regret"], other.dataset["regret"])
    assert (whole.dataset["method"] == "late").all()


def test_the_oracle_pulls_the_best_arm_that_is_there():
    conditions = br.Conditions(arms=br.Arrivals([1, 1, 100, 200], [250, None, 180, None]), delay=3)
    for world in (ARMS, WORLDS["restless"]):
        assert (runner_of(br.oracle(), conditions, environment=world).run([0]).regret == 0).all()


@pytest.mark.full
@pytest.mark.parametrize("world", WORLDS)
def test_policies_and_workers_change_nobody_elses_numbers_where_means_move(world):
    given = {"delay": br.Geometric(mean=30), "lost": 0.1, "batch": 3}
    if WORLDS[world].regret_kind == "dynamic":
        given["arms"] = br.Arrivals([1, 1, 60, 1], [None, 200, None, 100])
    whole = br.simulate(WORLDS[world], UNBOUNDED, T, 60, workers=1, **given)
    one = {"UCB1-sigma": UNBOUNDED["UCB1-sigma"]}
    other = br.simulate(WORLDS[world], one, T, range(20, 50), workers=2, **given)
    part = whole.dataset.sel(policy=list(one), replication=range(20, 50))
    np.testing.assert_array_equal(part["pulls"], other.dataset["pulls"])
    np.testing.assert_array_equal(part["regret"], other.dataset["regret"])
    assert whole.dataset["regret"].attrs["kind"] == WORLDS[world].regret_kind


@pytest.mark.parametrize("mean", [0.1, 5.0, 1000.0])
def test_geometric_delays_have_scipys_law(mean):
    """Chi-square of 20 cells or fewer, of like probability. False alarm: 1e-7 each."""
    n, law = runs(10_000, 1_000_000), delivery_of(br.Conditions(br.Geometric(mean)), 1).laws[0]
    drawn = np.random.default_rng([1, int(mean)]).standard_exponential(n)
    delays = [math.floor(late.delay_by(law, None, 0.0, 0.0, one)) for one in drawn]
    expected = stats.geom(1 / (1 + mean), loc=-1)
    ends = np.unique(expected.ppf(np.arange(1, 20) / 20))
    chances = np.diff(expected.cdf(ends), prepend=0.0, append=1.0)
    found = np.bincount(np.searchsorted(ends, delays), minlength=len(chances))
    assert stats.chisquare(found, n * chances).pvalue > 1e-7


def test_as_many_rewards_may_wait_as_there_are_steps():
    """The table of pending pulls grows, and the wheel turns."""
    environment = br.Environment.stationary([br.Bernoulli(0.0), br.Bernoulli(1.0)])
    policy, horizon = br.CATALOGUE["UCB1"], 200_000
    found = br.simulate(environment, {"it": policy}, horizon, 1, delay=150_000, checkpoints=[150_001])
    first, last = found.dataset["pulls"].sel(policy="it", replication=0).to_numpy()
    assert first.sum() == 150_001
    assert abs(first[0] - first[1]) < 5 * 150_000**0.5  # nothing is known: at random; false alarm 6e-7
    assert last[1] - first[1] > 0.999 * (horizon - 150_001)  # then what is known decides


def test_regret_is_against_the_best_arm_that_is_there():
    environment = br.Environment.stationary([br.Bernoulli(0.2), br.Bernoulli(0.5), br.Bernoulli(0.9)])
    arms = br.Arrivals([1, 11, 51], ends=[None, None, 80])
    found = br.simulate(
        environment,
        {"it": br.CATALOGUE["UCB1"]},
        100,
        50,
        arms=arms,
        checkpoints=[10, 50, 80],
        realized=True,
    ).dataset.sel(policy="it")
    pulls = found["pulls"].diff("step", label="upper").sel(step=[50, 80, 100]).to_numpy()
    assert (found["regret"].sel(step=10) == 0).all()
    gaps = np.array([[0.3, 0.0, 0.0], [0.7, 0.4, 0.0], [0.3, 0.0, 0.0]])
    np.testing.assert_allclose(found["regret"].sel(step=100), (pulls * gaps).sum(axis=(1, 2)), rtol=1e-12)
    assert (pulls[:, [0, 2], 2] == 0).all()
    # Of 50 runs of 100 rewards, in 5 standard deviations of a reward of at most 1/2 each: false alarm 6e-7.
    assert abs(float((found["realized_regret"] - found["regret"]).sel(step=100).mean())) < 5 * 5 / 50**0.5


def test_imputing_spreads_a_batch_over_the_arms():
    """An index that is told nothing chooses one arm for a whole batch."""
    environment = br.Environment.stationary([br.Bernoulli(0.5)] * 5)

    def most(pending):
        policies = {"it": br.CATALOGUE["UCB1"]}
        found = br.simulate(
            environment, policies, 1000, 20, batch=50, pending=pending, checkpoints=range(500, 1001, 50)
        )
        return float(found.dataset["pulls"].diff("step").max("arm").mean())

    assert most("ignored") > 48
    assert most("imputed") < 25


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"delay": -1}, "delay.*-1"),
        ({"delay": 1.5}, "1.5"),
        ({"delay": math.nan}, "nan"),
        ({"delay": br.Gaussian(500, 1)}, "no reward comes before its pull"),
        ({"delay": [1, 2]}, "2 arms, but there are 4"),
        ({"delay": []}, "for each arm"),
        ({"delay": "soon"}, "soon"),
        ({"delay": {"mean": 10}}, "type: Geometric"),
        ({"delay": np.array(5)}, "a delay must be"),
        ({"lost": np.array(0.5)}, "lost must be a number"),
        ({"pending": np.array(["ignored", "x"])}, "unknown way"),
        ({"lost": 1.1}, "1.1"),
        ({"lost": math.nan}, "nan"),
        ({"lost": [0.1, 0.2]}, "2 arms, but there are 4"),
        ({"lost": None}, "None"),
        ({"batch": 0}, "batch"),
        ({"batch": 2.5}, "2.5"),
        ({"arms": [1, 2, 3, 4]}, "Arrivals"),
        ({"arms": br.Arrivals([1, 2, 3])}, "3 arms, but there are 4"),
        ({"arms": br.Arrivals([2, 2, 3, 5])}, "no arm is there at step 1"),
        ({"arms": br.Arrivals([1, 1, 1, 9], [5, 7, 3, None])}, "no arm is there at step 8"),
        ({"pending": "guessed"}, "guessed"),
        ({"delay": 5, "method": "skip"}, "cannot be skipped"),
    ],
)
@pytest.mark.parametrize("world", ["still", "restless", "rising"])
def test_a_mistake_is_told(given, message, world):
    with pytest.raises(br.BrigandError, match=message):
        br.simulate(WORLDS.get(world, ARMS), {"FE": br.ForcedExploration()}, T, 1, **given)


@pytest.mark.parametrize("world", ["static", "rotting"])
def test_what_is_best_in_hindsight_needs_all_arms(world):
    environment, policies = WORLDS[world], {"FE": br.ForcedExploration()}
    for arms in (br.Arrivals([1, 1, 7, 1]), br.Arrivals([1] * 4, [T, 6, T, T])):
        with pytest.raises(br.InvalidValueError, match="not all are at step"):
            br.simulate(environment, policies, T, 1, arms=arms)
    away = br.Conditions(arms=br.Arrivals([1] * 4, [T, None, T + 5, T]))
    for one, other in zip(
        runner_of(POLICIES["FE-Linear"], away, environment=environment).run([0]),
        runner_of(POLICIES["FE-Linear"], br.Conditions(), Runner, environment).run([0]),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def waiting(uniform, normal):
    return 10.0 * uniform


def test_a_delay_is_no_function_of_the_users():
    with pytest.raises(br.InvalidValueError, match="cannot be a function"):
        br.Conditions(br.FunctionReward(waiting, 5.0, low=0.0, high=10.0))


def test_numbers_of_numpy_and_scipys_distributions_are_taken():
    given = br.Conditions(np.int64(3), np.float32(0.5), np.int64(2))
    assert given == br.Conditions(3, 0.5, 2)
    assert br.Conditions(lost=np.array([0.5, 0.25])).lost == (0.5, 0.25)
    assert br.Conditions(stats.gamma(2.0)).delay.mean == pytest.approx(2.0)


def test_all_arms_may_go_at_the_end():
    for last in (T, T + 10):
        arms = br.Arrivals([1] * 4, [last] * 4)
        away = runner_of(POLICIES["UCB1"], br.Conditions(arms=arms)).run([0])
        there = runner_of(POLICIES["UCB1"], br.Conditions(), Runner).run([0])
        np.testing.assert_array_equal(away.regret, there.regret)
        np.testing.assert_array_equal(away.realized, there.realized)


def test_the_wheel_may_have_few_slots_and_little_room(monkeypatch):
    whole = runner_of(POLICIES["UCB1"], br.Conditions(br.Geometric(mean=50))).run([0])
    monkeypatch.setattr(late, "ROOM", 1)
    monkeypatch.setattr(late, "MOST_SLOTS", 4)
    small = runner_of(POLICIES["UCB1"], br.Conditions(br.Geometric(mean=50))).run([0])
    np.testing.assert_array_equal(whole.pulls, small.pulls)


def test_bounds_for_rewards_that_come_at_once_are_not_drawn(tmp_path):
    found = br.simulate(
        br.Environment.stationary([br.Bernoulli(0.5)]), {"UCB1": br.CATALOGUE["UCB1"]}, 5, 2, delay=1
    )
    with pytest.raises(br.InvalidValueError, match="come at once"):
        found.plot(tmp_path / "x.png", bounds=True)


@pytest.mark.parametrize(
    ("starts", "ends"),
    [
        ([1, 1], [2**70, None]),
        (np.array(3), None),
        ("ab", None),
        ([], None),
        ([0], None),
        ([1, 2], [3]),
        ([5], [4]),
        (3, None),
        ([1], ["x"]),
    ],
)
def test_arrivals_that_cannot_be_are_refused(starts, ends):
    with pytest.raises(br.InvalidValueError):
        br.Arrivals(starts, ends)


def test_what_learns_no_corrections_cannot_impute():
    with pytest.raises(br.InvalidValueError, match="'LB' learns no corrections"):
        br.simulate(ARMS, {"LB": br.CATALOGUE["LB-SDA"]}, T, 1, delay=5, pending="imputed")


def test_conditions_are_kept_with_the_results(tmp_path):
    given = br.Conditions(br.Geometric(mean=3), 0.25, 2, br.Arrivals([1, 1, 2, 2]), "imputed")
    assert br.Conditions.from_json(given.to_json()) == given
    assert not given.is_plain
    assert br.Conditions(0, 0.0).is_plain
    found = br.simulate(ARMS, {"FE": br.ForcedExploration()}, 20, 2, delay=br.Geometric(mean=3))
    assert '"Geometric"' in found.dataset.attrs["conditions"]
    plain = br.simulate(ARMS, {"FE": br.ForcedExploration()}, 20, 2)
    assert found.dataset.attrs["configuration"] != plain.dataset.attrs["configuration"]
