"""Skip-ahead simulation against stepping: the same numbers for constants, the same law otherwise."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import brigand as br
from brigand.environments.totals import safe_pulls
from brigand.simulation import blocks
from brigand.simulation.blocks import earn, earn_many
from brigand.simulation.plan import make_plan
from brigand.simulation.skip_ahead import SkipRunner
from brigand.simulation.step import Runner
from strength import runs, some

SEQUENCES = [
    br.Exponential(),
    br.Exponential(1.02, shift=-1),
    br.Exponential(1e9),
    br.Linear(),
    br.Linear(shift=-1),
    br.Linear(0.3),
    br.Linear(7.5),
    br.Constant(),
    br.Constant(0),
    br.Constant(2.5),
    br.Constant(40),
    br.Constant(math.inf),
    br.Power(0.5),
    br.Power(2),
    br.Sequence([1, 1, 2.5, 10, 10, 30]),
]


def both(environment, policy, horizon, runs, checkpoints=None, **seeds):
    return [
        br.simulate(
            environment,
            {"x": policy},
            horizon,
            runs,
            seeds.get(method, 0),
            method=method,
            checkpoints=checkpoints,
        ).dataset.sel(policy="x")
        for method in ("step", "skip")
    ]


def constants(*values):
    return br.Environment.stationary([br.Gaussian(value, 0) for value in values])


@pytest.mark.every(4)
@pytest.mark.parametrize("sequence", SEQUENCES, ids=repr)
@pytest.mark.parametrize(
    "values",
    [(0.3,), (0.3, 0.7), (0.7, 0.3), (0.1, 0.9, 0.2), tuple(i / 7 for i in (3, 1, 4, 6, 5, 0, 2))],
    ids=len,
)
def test_with_constant_rewards_every_count_is_the_same(sequence, values):
    step, skip = both(constants(*values), br.ForcedExploration(sequence), 5000, 1)
    for name in ("pulls", "forced", "regret"):
        assert np.array_equal(step[name], skip[name]), name


def random_sequence(rng):
    """Return one of which few thresholds are whole, and some last + threshold are rounded."""
    number = float(rng.choice([rng.uniform(0, 0.5), rng.uniform(0, 5), rng.integers(1, 400) / 100]))
    return [
        br.Linear(number, shift=int(rng.integers(-1, 3))),
        br.Constant(10 * number),
        br.Exponential(1 + number / 10),
        br.Power(number),
        br.Sequence(np.cumsum(rng.random(30) * number)),
    ][rng.integers(5)]


@pytest.mark.every(4)
@pytest.mark.parametrize("part", range(10))
def test_random_sequences_end_and_have_the_counts_of_stepping(part):
    """With slopes of 0.28 or 1.1 a rounded sum once said that an arm was due, and no step was made."""
    rng = np.random.default_rng(part)
    found = [br.Linear(slope) for slope in (0.14, 0.28, 1.1, 2.2, 2.7)] if part == 0 else []
    found += [random_sequence(rng) for _ in range(runs(100, 10_000))]
    for sequence in found:
        environment = constants(*rng.permutation(int(rng.integers(1, 6))) / 5)  # no ties
        horizon, policy = int(rng.integers(1, 3000)), br.ForcedExploration(sequence)
        plan = make_plan(environment, {"x": policy}, horizon, 1, 0, [horizon])
        step, skip = (runner(plan, policy).run((0,)) for runner in (Runner, SkipRunner))
        for name in ("pulls", "forced"):
            assert np.array_equal(getattr(step, name), getattr(skip, name)), (sequence, environment, horizon)


@pytest.mark.parametrize("horizon", [10**12 + 1, 10**15, 2**53 - 1, 2**53])
@pytest.mark.parametrize("sequence", [br.Constant(), br.Exponential(), br.Linear()], ids=repr)
def test_long_runs_end(sequence, horizon):
    """Up to the longest horizon: there, too, every sum of a step and a threshold must be exact."""
    regret = br.simulate(
        constants(0.0, 1.0), {"x": br.ForcedExploration(sequence)}, horizon, 1, method="skip"
    ).dataset["regret"]
    assert 0 < float(regret[..., -1].squeeze()) < 10 * math.sqrt(horizon)


@pytest.mark.parametrize("sequence", SEQUENCES, ids=repr)
def test_with_constants_that_change_every_count_is_the_same(sequence):
    """Means then move, and the lead changes at a step that both must find."""
    phases = [[br.Gaussian(v, 0) for v in values] for values in ((0.1, 0.7, 0.4), (0.9, 0.2, 0.4), (0, 0, 1))]
    environment = br.Environment.piecewise(phases, [1, 1000, 2500])
    step, skip = both(environment, br.ForcedExploration(sequence), 6000, 1, list(range(1, 6000, 7)))
    for name in ("pulls", "forced", "regret"):
        assert np.array_equal(step[name], skip[name]), name


def exact_pulls(means, threshold, horizon):
    """Return the law of the pulls of FE on Bernoulli rewards, by following every outcome and every tie."""
    n_arms = len(means)
    law = {}

    def go(step, round_, seen, arms, chance):
        if step == horizon:
            key = tuple(pulls for pulls, _, _ in arms)
            law[key] = law.get(key, 0) + chance
            return
        oldest = min(range(n_arms), key=lambda k: arms[k][2])
        limit = threshold(round_) if round_ else 0
        if arms[oldest][2] == 0 or step - arms[oldest][2] >= limit:
            chosen = [oldest]
        else:
            values = [Fraction(paid, pulls) for pulls, paid, _ in arms]
            chosen = [k for k in range(n_arms) if values[k] == max(values)]
        for arm in chosen:
            now = seen | {arm}
            ended = len(now) == n_arms
            for reward, likely in ((1, means[arm]), (0, 1 - means[arm])):
                pulls, paid, _ = arms[arm]
                after = (*arms[:arm], (pulls + 1, paid + reward, step + 1), *arms[arm + 1 :])
                go(
                    step + 1,
                    round_ + ended,
                    frozenset() if ended else now,
                    after,
                    chance * likely / len(chosen),
                )

    go(0, 0, frozenset(), ((0, 0, 0),) * n_arms, 1.0)
    return law


@pytest.mark.every(9)
@pytest.mark.parametrize("method", ["step", "skip"])
@pytest.mark.parametrize("means", [(0.5, 0.5), (0.3, 0.8), (0.95, 0.4)], ids=str)
@pytest.mark.parametrize("sequence", [br.Linear(2), br.Constant(3), br.Constant(math.inf)], ids=repr)
@pytest.mark.parametrize("horizon", [3, 6])
def test_short_runs_have_the_enumerated_distribution(method, means, sequence, horizon):
    """Chi-square at level 1e-5."""
    n = runs(5000, 20_000)
    form = sequence.form(horizon)
    law = exact_pulls(means, lambda r: form.number * (r if isinstance(sequence, br.Linear) else 1), horizon)
    environment = br.Environment.stationary([br.Bernoulli(p) for p in means])
    results = br.simulate(environment, {"x": br.ForcedExploration(sequence)}, horizon, n, method=method)
    pulls = results.dataset["pulls"].sel(policy="x", step=horizon).to_numpy()
    seen = {key: 0 for key in law}
    for row in pulls.tolist():
        seen[tuple(row)] += 1  # an outcome that cannot be is an error
    expected = np.array(list(law.values())) * n
    if len(law) > 1:
        assert stats.chisquare(list(seen.values()), expected).pvalue > 1e-5


FAMILIES = {
    "Gaussian": lambda mean, rng: br.Gaussian(mean, rng.uniform(0.05, 1)),
    "Bernoulli": lambda mean, rng: br.Bernoulli(mean),
    "exponential": lambda mean, rng: br.ExponentialReward(mean),
    "Poisson": lambda mean, rng: br.Poisson(mean),
    "finite": lambda mean, rng: br.FiniteSupport([0, 0.5, 1], [1 - mean, mean / 3, 2 * mean / 3]),
    "beta": lambda mean, rng: br.Beta(4 * mean, 4 * (1 - mean)),
    "Student": lambda mean, rng: br.StudentT(4, mean, 0.3),
    "empirical": lambda mean, rng: br.Empirical([0, mean, 2 * mean]),
}
N_PROBLEMS = 30
RUNS = runs(1500, 20_000)


def problem(number):
    """Return the environment, the policy and the horizon of a random problem."""
    rng = np.random.default_rng(number)
    family = list(FAMILIES)[number % len(FAMILIES)]
    n_arms = [1, 2, 3, 10][rng.integers(4)]
    gap = math.exp(rng.uniform(math.log(0.01), 0)) / 2
    means = 0.5 - gap * rng.uniform(-0.8, 0.8, n_arms)
    environment = br.Environment.stationary([FAMILIES[family](float(m), rng) for m in means])
    sequence = SEQUENCES[rng.integers(len(SEQUENCES))]
    horizon = int(math.exp(rng.uniform(math.log(10), math.log(20_000))))
    return environment, br.ForcedExploration(sequence), horizon


def p_values(number):
    """Return p values of Kolmogorov-Smirnov tests of stepping against skipping, on integer counts."""
    environment, policy, horizon = problem(number)
    thirds = sorted({max(1, horizon // 9), max(1, horizon // 3), horizon})
    step, skip = both(environment, policy, horizon, RUNS, thirds, skip=1)
    pairs = [
        (step["pulls"].sel(step=t, arm=k), skip["pulls"].sel(step=t, arm=k))
        for t, k in itertools.product(thirds, range(environment.n_arms))
    ]
    pairs += [(step["forced"].sel(arm=k), skip["forced"].sel(arm=k)) for k in range(environment.n_arms)]
    return [stats.ks_2samp(a.to_numpy(), b.to_numpy(), method="asymp").pvalue for a, b in pairs]


@pytest.mark.every(5)
@pytest.mark.parametrize("number", some(range(N_PROBLEMS), range(10)))
def test_skipping_has_the_distribution_of_stepping(number):
    """Pulls at three steps and forced pulls, of every arm: 1 % for all problems together.

    Holm's procedure rejects something if and only if the smallest p value is below 1 % over their number.
    20,000 runs of each show a shift of a distribution function of 0.03, and 1500 one of 0.11.
    """
    values = p_values(number)
    assert min(values) > 0.01 / N_PROBLEMS / len(values)


def test_skipping_changing_rewards_has_the_distribution_of_stepping():
    """As above, on the first of the paper's piecewise problems, at one step in each phase."""
    environment = br.random_environment("bernoulli", 5, 2000, 4, seed=0)
    policy = br.ForcedExploration(br.Exponential())
    step, skip = both(environment, policy, 2000, RUNS, [600, 1100, 2000], skip=1)
    for t, k in itertools.product([600, 1100, 2000], range(5)):
        a, b = (results["pulls"].sel(step=t, arm=k).to_numpy() for results in (step, skip))
        assert stats.ks_2samp(a, b, method="asymp").pvalue > 0.01 / 15


@pytest.mark.parametrize("m", some([1, 7, 100], [7]))
@pytest.mark.parametrize("family", ["bernoulli", "gaussian"])
def test_skipping_etc_has_the_distribution_of_stepping(m, family):
    environment = br.random_environment(family, 4, 300, 2, seed=3)
    step, skip = both(environment, br.ExploreThenCommit(m), 300, runs(250, RUNS), [10, 160, 300], skip=1)
    for t, k in itertools.product([10, 160, 300], range(4)):
        a, b = (results["pulls"].sel(step=t, arm=k).to_numpy() for results in (step, skip))
        assert stats.ks_2samp(a, b, method="asymp").pvalue > 0.01 / 12 / 6


@pytest.mark.parametrize("horizon", [10**12, 10**15])
@pytest.mark.parametrize("sequence", [br.Exponential(), br.Linear(), br.Constant()], ids=repr)
def test_huge_horizons(sequence, horizon):
    """Counts add up, each arm is forced at most once a round, and every round has its length."""
    environment = br.random_environment("gaussian", 10, horizon, seed=1)
    results = br.simulate(
        environment, {"x": br.ForcedExploration(sequence)}, horizon, 20, method="skip", checkpoints=[10**6]
    )
    data = results.dataset.sel(policy="x")
    assert (data["pulls"].sum("arm") == data["step"]).all()
    assert (data["forced"] <= data["pulls"].sel(step=horizon)).all()
    form = sequence.form(horizon)
    if isinstance(sequence, br.Constant):
        rounds = horizon / (math.ceil(form.number) + 1)
    elif isinstance(sequence, br.Linear):
        rounds = math.sqrt(2 * horizon)
    else:
        rounds = None
    if rounds:
        # All arms but the leader are forced once a round; the first rounds are longer than that.
        assert data["forced"].max("arm").to_numpy() == pytest.approx(np.full(20, rounds), rel=0.01)


def test_sums_keep_their_precision_over_10_to_the_15_rewards():
    """Against exact sums: relative error of the mean below 1e-9, and of a constant's 1e-15."""
    rng = np.random.default_rng(0)
    arms = np.repeat(blocks.ARM, 2)
    drawn, sizes = [], []
    for n in np.geomspace(1, 1e14, 300).astype(int).tolist():
        drawn.append(n * 0.1 + math.sqrt(n) * rng.standard_normal())
        sizes.append(n)
        earn(arms, 0, drawn[-1], 0.0, n)
        earn_many(arms, 1, br.Environment.stationary([br.Gaussian(0.3, 0)]).totals[0, 0], None, None, n, rng)
    assert arms[0]["count"] == sum(sizes) > 10**14
    assert arms[0]["mean"] == pytest.approx(math.fsum(drawn) / sum(sizes), rel=1e-9)
    assert arms[1]["mean"] == pytest.approx(0.3, rel=1e-15)


@pytest.mark.parametrize("drift", [-0.2, -0.01, 0.0, 0.003, 0.1])
@pytest.mark.parametrize("cap", [math.inf, 0.5])
def test_the_bound_on_losing_the_lead_holds(drift, cap):
    """With a doubt of log 20, a random walk is caught within the steps granted in at most 5 % of 4000 runs.

    Level 1e-5 (binomial).
    """
    ahead = 12.0
    n = int(min(safe_pulls(ahead, drift, 1.0, cap, math.log(20)), 3000))
    walks = ahead + np.cumsum(np.random.default_rng(1).standard_normal((4000, max(n, 1))) + drift, axis=1)
    caught = int((walks.min(axis=1) <= 0).sum())
    assert n > 0
    assert stats.binomtest(caught, 4000, 0.05, alternative="greater").pvalue > 1e-5


def test_the_bound_at_its_limits():
    assert safe_pulls(0.0, 1.0, 1.0, math.inf, 44.0) == 0
    assert safe_pulls(-1.0, 1.0, 1.0, math.inf, 44.0) == 0
    assert safe_pulls(1.0, 0.1, 0.0, math.inf, 44.0) == math.inf
    assert safe_pulls(1.0, -0.25, 0.0, math.inf, 44.0) == 4
    assert safe_pulls(1000.0, 0.1, 1.0, math.inf, 44.0) == math.inf


def test_the_result_says_which_method_was_used():
    environment = constants(0.2, 0.4)
    policies = {"FE": br.ForcedExploration(), "ETC": br.ExploreThenCommit(3), "UCB1": br.UCB1(0, 1)}
    results = br.simulate(environment, policies, 100, 2, method="auto")
    assert dict(zip(results.dataset["policy"].values, results.dataset["method"].values, strict=True)) == {
        "FE": "skip",
        "ETC": "skip",
        "UCB1": "step",
    }
    assert set(br.simulate(environment, policies, 100, 2).dataset["method"].values) == {"step"}


def test_what_cannot_be_skipped_is_refused():
    environment = constants(0.2, 0.4)
    for policy in (br.UCB1(0, 1), br.ForcedExploration(window=10)):
        with pytest.raises(br.InvalidValueError, match="'x' cannot be skipped"):
            br.simulate(environment, {"x": policy}, 100, 2, method="skip")
    with pytest.raises(br.UnknownNameError, match="unknown method 'jump'"):
        br.simulate(environment, {"x": br.ForcedExploration()}, 100, 2, method="jump")


def test_skipped_results_do_not_depend_on_workers_or_on_other_runs(tmp_path):
    environment = br.random_environment("gaussian", 4, 10**9, seed=2)
    policies = {"FE": br.ForcedExploration(br.Linear())}
    whole = br.simulate(environment, policies, 10**9, 300, method="skip", workers=2)
    part = br.simulate(environment, policies, 10**9, range(250, 260), method="skip", workers=1)
    assert np.array_equal(whole.dataset["pulls"].sel(replication=range(250, 260)), part.dataset["pulls"])
    whole.save(tmp_path / "x.nc")
    assert br.load(tmp_path / "x.nc").dataset["method"].values.tolist() == ["skip"]
