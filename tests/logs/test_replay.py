"""Replay on logs: each run is the definition's, step by step; what depends on what; what is refused."""

import numpy as np
import pytest

import brigand as br
from brigand.logs import replay_loops, replay_runs
from brigand.policies.kernels.randomness import uniform_at
from brigand.rng import Stream
from logs.replayed import MEANS, Always, coins
from strength import some


def play_queue(log, policy, horizon, number, seed, endless=False):
    """Return the arms and rewards of one run, by lists and shuffles that are done beforehand."""
    k = len(log.arms)
    key = Stream(seed, replay_runs.Keys("runs")).keyed_starts([number])[0][0]
    queues = [log.reward[log.arm == arm].tolist() for arm in range(k)]
    if not endless:
        for arm, queue in enumerate(queues):
            for place in range(len(queue)):
                other = place + int(uniform_at(key, place * k + arm) * (len(queue) - place))
                queue[place], queue[other] = queue[other], queue[place]
    rng = Stream(seed, policy).generator(number)
    state = policy.start(k, horizon, int(rng.integers(2**63)))
    parameters = policy.parameters(k, horizon)
    select, pull, learn = policy.kernels[:3]
    arms, rewards, taken = [], [], [0] * k
    while len(arms) < horizon:
        arm = int(select(parameters, *state, np.arange(k), rng))
        if endless:
            reward = queues[arm][int(uniform_at(key, taken[arm] * k + arm) * len(queues[arm]))]
        elif taken[arm] == len(queues[arm]):
            break
        else:
            reward = queues[arm][taken[arm]]
        taken[arm] += 1
        pull(parameters, *state, arm)
        learn(parameters, *state, arm, reward, len(arms) + 1)
        arms.append(arm)
        rewards.append(reward)
    return arms, rewards


def play_rejection(log, policy, horizon, number, seed):
    """Return the rows that count in one run."""
    k = len(log.arms)
    key = Stream(seed, replay_runs.Keys("runs")).keyed_starts([number])[0][0]
    rng = Stream(seed, policy).generator(number)
    state = policy.start(k, horizon, int(rng.integers(2**63)))
    parameters = policy.parameters(k, horizon)
    select, pull, learn, miss = policy.kernels[:4]
    sets = np.ones((1, k), bool) if log.sets is None else log.sets
    which = np.zeros(len(log), int) if log.available is None else log.available
    least = log.propensity.min()
    rows, arm, of = [], None, None
    for row in range(len(log)):
        if arm is None or which[row] != of:
            of = which[row]
            arm = select(parameters, *state, np.flatnonzero(sets[of]), rng)
        thinned = log.propensity[row] > least * (1 + 1e-9)
        if log.arm[row] != arm or (thinned and uniform_at(key, row + 1) >= least / log.propensity[row]):
            continue
        for absent in np.flatnonzero(~sets[of]):
            miss(parameters, *state, absent)
        pull(parameters, *state, arm)
        learn(parameters, *state, arm, log.reward[row], len(rows) + 1)
        rows.append(row)
        arm = None
    return rows


def running(rewards):
    """Return the running means, with sums as they are made one by one."""
    total, found = 0.0, []
    for i, reward in enumerate(rewards, 1):
        total += reward
        found.append(total / i)
    return found


def run_on(log, policy, source, horizon, marks, seed=0, number=3, drawn=replay_loops.ITSELF):
    player = replay_runs.Player(source, policy, horizon, seed)
    runs = replay_runs.Runs(range(number, number + 1), np.array([drawn]), 1)
    into = replay_runs.Played.empty(1, len(marks))
    player.play(runs, slice(0, 1), np.array(marks), into)
    return into


@pytest.mark.parametrize("name", some(br.CATALOGUE, ("FE-Linear", "TS-Beta")))
@pytest.mark.parametrize("endless", [False, True])
def test_a_run_on_queues_is_the_definitions(name, endless):
    policy = br.CATALOGUE[name]
    if name == "Oracle":
        policy = br.oracle().informed(br.Environment.stationary([br.Bernoulli(mean) for mean in MEANS[:3]]))
    log = coins(5, 90, MEANS[:3], [0.5, 0.2, 0.3])
    arms, rewards = play_queue(log, policy, 90, 3, 0, endless)
    marks = list(range(1, len(arms) + 1))
    found = run_on(log, policy, replay_runs.Queues(log, endless=endless), 90, marks)
    assert found.steps.tolist() == [len(arms)]
    assert found.means[0].tolist() == running(rewards)
    assert found.spreads[0] == pytest.approx(np.mean((np.array(rewards) - log.reward.mean()) ** 2))


@pytest.mark.parametrize("name", some(br.CATALOGUE, ("FE-Linear", "TS-Beta")))
@pytest.mark.parametrize("absent", [False, True])
def test_a_run_by_rejection_is_the_definitions(name, absent):
    policy = br.CATALOGUE[name]
    if name == "Oracle":
        policy = br.oracle().informed(br.Environment.stationary([br.Bernoulli(mean) for mean in MEANS[:3]]))
    log = coins(6, 150, MEANS[:3], [0.5, 0.2, 0.3])
    if absent:
        rng = np.random.default_rng(1)
        sets = np.array([[True] * 3, [True, True, False], [False, True, True]])
        without = np.array([1, 0, 2])[log.arm]  # a set that has the arm, beside that of all
        available = np.where(rng.random(150) < 0.5, without, 0).astype(np.int32)
        log = br.Log(log.arms, log.arm, log.reward, log.propensity, sets=sets, available=available)
    rows = play_rejection(log, policy, 150, 3, 0)
    found = run_on(log, policy, replay_runs.Rows(log), 150, range(1, 151))
    means = running(log.reward[rows])
    expected = [
        means[counted - 1] if (counted := int(np.searchsorted(rows, row, "right"))) else np.nan
        for row in range(150)
    ]
    assert found.steps.tolist() == [len(rows)]
    np.testing.assert_array_equal(found.means[0], expected)


@pytest.mark.parametrize("of", ["queue", "rejection"])
def test_the_loops_do_the_same_in_plain_python(of):
    log = coins(7, 300, MEANS[:3], [0.5, 0.2, 0.3])
    policy = br.CATALOGUE["TS-Beta"]
    source = replay_runs.Rows(log) if of == "rejection" else replay_runs.Queues(log, endless=False)
    compiled = run_on(log, policy, source, 300, range(10, 50, 10), drawn=12345)
    loop = source.loop
    source.loop = lambda kernels: loop(kernels).py_func
    plain = run_on(log, policy, source, 300, range(10, 50, 10), drawn=12345)
    for one, other in zip(compiled, plain, strict=True):
        np.testing.assert_array_equal(one, other)


def test_logs_that_are_drawn_have_as_many_rows_of_each_arm_for_queues():
    log = coins(8, 400)
    drawn = run_on(log, Always(2), replay_runs.Queues(log, endless=False), 400, [1], drawn=99)
    assert drawn.steps[0] == (log.arm == 2).sum()
    assert drawn.logged[0] != log.reward.mean()


@pytest.mark.parametrize("method", ["queue", "rejection", "resample"])
def test_numbers_depend_on_seed_and_policy_alone(method):
    log = coins(1, 1500)
    both = {"TS-Beta": "TS-Beta", "FE": br.ForcedExploration(br.Linear())}
    options = {"method": method, "replications": 12, "resamples": 3, "seed": 4, "horizon": 1500}
    found = br.replay(log, both, workers=1, **options)
    for other in (
        br.replay(log, both, workers=3, **options),
        br.replay(log, dict(reversed(both.items())), **options),
        br.replay(log, {"FE": both["FE"]}, **options),
    ):
        for name in other.replayed:
            assert other.summary().loc[name].equals(found.summary().loc[name])
            assert other.curves().loc[name].equals(found.curves().loc[name])
    assert br.replay(log, both, **options | {"seed": 5}).summary().loc["FE", "reward"] != pytest.approx(
        found.summary().loc["FE", "reward"], abs=1e-12
    )


def test_names_stand_for_policies():
    log = coins(1, 600)
    options = {"replications": 3, "resamples": 0}
    found = br.replay(log, ["TS-Beta", "FE-Linear"], **options).summary()
    other = br.replay(log, {"TS-Beta": br.ThompsonBeta(), "FE-Linear": "fe-linear"}, **options).summary()
    assert found.equals(other)
    assert found[["lower", "upper", "ess", "gain_lower"]].isna().all(axis=None)


def test_summary_and_curves():
    log = coins(2, 1500)
    found = br.replay(log, ["TS-Beta"], replications=10, resamples=10)
    row = found.summary().loc["TS-Beta"]
    assert list(found.summary()) == [
        "reward", "lower", "upper", "steps", "matched", "ess", "gain", "gain_lower", "gain_upper"
    ]  # fmt: skip
    assert row["lower"] < row["reward"] < row["upper"]
    assert row["gain"] == pytest.approx(row["reward"] - log.reward.mean())
    assert row["steps"] <= row["matched"] <= 1500
    curve = found.curves().loc["TS-Beta"]
    assert curve.index[-1] == row["steps"]
    assert curve["reward"].iloc[-1] == row["reward"]
    assert "queue" in repr(found)
    assert found.logged.reward[-1] == pytest.approx(log.reward.mean())
    in_order = br.replay(log, ["TS-Beta"], method="rejection", replications=2, resamples=0).logged
    assert in_order.reward[4] == pytest.approx(log.reward[: in_order.marks[4]].mean())


def test_a_fixed_rule_on_queues_is_the_arms_mean_and_its_interval_the_usual_one():
    log = coins(3, 3000)
    found = br.replay(log, {"it": Always(3)}, replications=5, resamples=2000).summary().loc["it"]
    own = log.reward[log.arm == 3]
    assert found["reward"] == pytest.approx(own.mean())
    assert found["steps"] == found["matched"] == len(own)
    # 2000 logs tell a standard error within 7 % (4.4 of its own standard errors: level 1e-5).
    assert found["upper"] - own.mean() == pytest.approx(1.96 * own.std() / len(own) ** 0.5, rel=0.07)
    assert found["ess"] == pytest.approx(len(own), rel=0.15)


def one(**columns):
    given = {"arms": ("a", "b"), "arm": [0, 1, 0, 1], "reward": [0.0, 1.0, 1.0, 0.0]} | columns
    return br.Log(**{
        name: np.array(values, np.int32 if name == "arm" else float) if name != "arms" else values
        for name, values in given.items()
    })  # fmt: skip


@pytest.mark.parametrize(
    ("log", "options", "message"),
    [
        ("x.csv", {}, "log must be a Log, not str"),
        (one(arm=[], reward=[]), {}, "the log is empty"),
        (one(arms=("a",), arm=[0] * 4), {}, "the log has one arm"),
        (one(arms=("a", "b", "c")), {}, "1 arm of the log never shown, first 'c'"),
        (one(reward=[1.0] * 4), {}, "all rewards of the log are 1"),
        (
            one(reward=[0.0, 1, 2, 0]),
            {"policies": ["TS-Beta"]},
            r" needs rewards in \[0, 1\], but the log pays rewards in \[0, 2\]",
        ),
        (
            one(reward=[0.0, 1e298, 1, 0]),
            {"policies": {"it": br.ForcedExploration()}},
            "more than policies can",
        ),
        (one(), {"method": "replay"}, "unknown method 'replay'.*Known: queue, rejection, resample"),
        (one(), {"policies": {}}, "policies must be a dict"),
        (one(), {"policies": []}, "policies must be a dict"),
        (one(), {"policies": ["UCB9"]}, "unknown policy 'UCB9'"),
        (one(), {"policies": ["Oracle"]}, "an oracle knows an environment"),
        (one(), {"replications": 0}, "replications must be in"),
        (one(), {"resamples": 1}, "resamples must be 0, or at least 2"),
        (one(), {"horizon": 0}, "horizon must be >= 1"),
        (one(), {"seed": -1}, "seed must be >= 0"),
        (one(), {"workers": 0}, "workers must be >= 1"),
        (one(), {"method": "rejection"}, "needs the log's propensities"),
        (
            one(propensity=[0.5, np.nan, 0.5, 0.5]),
            {"method": "rejection"},
            "1 of 4 rows have none, the first is row 2",
        ),
        (
            one(propensity=[0.5] * 4),
            {"method": "rejection"},
            r"'TS-Beta' chose what the log chose in \d.\d of 4 rows",
        ),
    ],
)
def test_what_is_refused(log, options, message):
    with pytest.raises(br.BrigandError, match=message):
        br.replay(log, **({"policies": ["TS-Beta"], "resamples": 0, "replications": 2} | options))


def test_arms_that_were_not_always_there():
    sets = np.array([[True, True], [False, True]])
    log = one()
    log = br.Log(log.arms, log.arm, log.reward, sets=sets, available=np.array([0, 1, 0, 0], np.int32))
    with pytest.raises(br.InvalidValueError, match="only method='rejection' heeds"):
        br.replay(log, ["TS-Beta"])
    wrong = br.Log(
        log.arms, log.arm, log.reward, np.full(4, 0.5), sets=sets, available=np.array([1, 1, 0, 0], np.int32)
    )
    with pytest.raises(br.InvalidValueError, match="row 1 has arm 'a', which was not available"):
        br.replay(wrong, ["TS-Beta"], method="rejection")


def test_a_log_of_many_arms_is_refused_by_rejection_and_not_by_queues():
    rng = np.random.default_rng(0)
    arm = np.append(np.arange(850), rng.integers(850, size=9150)).astype(np.int32)
    log = br.Log(
        tuple(map(str, range(850))), arm, (rng.random(10_000) < 0.1).astype(float), np.full(10_000, 1 / 850)
    )
    with pytest.raises(br.InvalidValueError, match="at least 100 are asked for"):
        br.replay(log, ["TS-Beta"], method="rejection", replications=5)
    assert br.replay(log, ["TS-Beta"], replications=2, resamples=0).summary().loc["TS-Beta", "steps"] > 850


def test_what_must_be_known_is_said():
    notes = {}
    for method, p in (("queue", [0.4, 0.3, 0.1, 0.1, 0.1]), ("rejection", None), ("resample", None)):
        log = coins(1, 1500, probabilities=p)
        found = br.replay(log, ["TS-Beta"], method=method, replications=2, resamples=0, horizon=900)
        notes[method] = " ".join(found.notes)
    assert "every replication reached" in notes["queue"]
    assert "propensities differ" in notes["queue"]
    assert "rows that counted" in notes["rejection"]
    assert "A simulation" in notes["resample"]
    two = br.replay(coins(1, 1500), {"one": Always(0), "TS-Beta": "TS-Beta"}, replications=2, resamples=0)
    assert "compares them at the same step" in " ".join(two.notes)


def test_a_policy_that_chooses_an_arm_that_is_not_there():
    for method in ("queue", "rejection"):
        with pytest.raises(br.PolicyError, match="returned an arm that is not there, at step 1"):
            br.replay(coins(1), {"it": Always(7)}, method=method, replications=1, resamples=0)


def test_figures(tmp_path):
    for method in ("queue", "rejection", "resample"):
        found = br.replay(
            coins(1, 1500), ["TS-Beta", "FE-Linear"], method=method, replications=3, resamples=3
        )
        axes = np.atleast_1d(found.plot(tmp_path / f"{method}.svg", title="$5 vs $10"))
        assert len(axes) == (1 if method == "resample" else 2)
        assert axes[0].get_ylabel() == "reward per 1,000 decisions, 95 % bands"
        text = (tmp_path / f"{method}.svg").read_text()
        for name in ("TS-Beta", "FE-Linear", "what really ran"):
            assert name in text
    with pytest.raises(br.InvalidValueError, match=r"must end in .png, .svg or .pdf"):
        found.plot("x.jpg")


def test_resampling_is_the_simulator_on_empirical_distributions():
    """Level 1e-5."""
    log = coins(9, 500)
    options = {"method": "resample", "replications": 2000, "resamples": 0, "horizon": 200}
    found = br.replay(log, {"FE": br.ForcedExploration()}, **options)
    arms = [br.Empirical(log.reward[log.arm == arm]) for arm in range(5)]
    simulated = br.simulate(
        br.Environment.stationary(arms), {"FE": br.ForcedExploration()}, 200, 2000, seed=1, realized=True
    )
    lost = simulated.dataset["realized_regret"].sel(policy="FE", step=200).to_numpy() / 200
    expected = max(arm.mean for arm in arms) - lost
    gap = found.summary().loc["FE", "reward"] - expected.mean()
    assert abs(gap) < 4.42 * (2 * expected.var() / 2000) ** 0.5
