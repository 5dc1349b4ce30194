"""Rare events: weights that average 1, the law of plain runs, exact probabilities, and known means."""

import json
import math

import numpy as np
import pytest

import brigand as br
from brigand.environments.tilts import draw_tilted, tilted
from conftest import DATA
from strength import runs

LEVEL = 4.5
"""Standard errors: a normal number is beyond with probability 7e-6, one of the 200 below with 0.2 %."""


def pair(*arms):
    return br.Environment.stationary(arms)


PROBLEMS = {
    "Gaussian": (pair(br.Gaussian(0.2, 0.5), br.Gaussian(0.5, 1)), br.Exponential(), 2000),
    "three": (pair(br.Gaussian(0.6, 1), br.Gaussian(0, 1), br.Gaussian(0.3, 0)), br.Exponential(1.1), 1000),
    "ten": (br.random_environment("gaussian", 10, 1000, 1, seed=1), br.Linear(), 1000),
    "constant f": (pair(br.Gaussian(0, 1), br.Gaussian(1, 0.5)), br.Constant(), 5000),
    "Bernoulli": (pair(br.Bernoulli(0.3), br.Bernoulli(0.6), br.Bernoulli(0.5)), br.Linear(), 2000),
    "worst possible rival": (pair(br.Bernoulli(0), br.Bernoulli(0.4)), br.Exponential(), 500),
    "exponential": (pair(br.ExponentialReward(1), br.ExponentialReward(0.6)), br.Exponential(), 2000),
    "Poisson": (pair(br.Poisson(3), br.Poisson(2.2)), br.Power(1.3), 1000),
    "finite": (
        pair(br.FiniteSupport([0, 1, 3], [0.2, 0.5, 0.3]), br.FiniteSupport([0.2, 2], [0.6, 0.4])),
        br.Exponential(),
        1500,
    ),
    "others": (pair(br.Beta(1, 2), br.Bernoulli(0.5), br.Pareto(1.5, 0.1)), br.Exponential(), 300),
}


@pytest.mark.full
@pytest.mark.parametrize("aimed", [False, True])
@pytest.mark.parametrize("name", PROBLEMS)
def test_weighted_runs_have_the_law_of_plain_runs(name, aimed):
    """Means and distribution functions of the regret at two steps; weights average 1."""
    environment, sequence, horizon = PROBLEMS[name]
    policy = br.ForcedExploration(sequence)
    n, early = runs(3000, 30_000), horizon // 5
    plain = br.simulate(environment, {"x": policy}, horizon, n, 1, method="skip", checkpoints=[early])
    regret = plain.dataset["regret"].sel(policy="x").to_numpy()
    found = br.rare_regret(
        environment,
        policy,
        horizon,
        n,
        2,
        checkpoints=[early],
        threshold=float(np.quantile(regret[:, 1], 0.999)) if aimed else None,
    )
    for at, step in enumerate((early, horizon)):
        pairs = [(found.mean(step), regret[:, at])]
        for q in (0.2, 0.5, 0.9):
            x = float(np.quantile(regret[:, at], q)) + 1e-9
            pairs.append((found.exceeds(x, step), regret[:, at] > x))
        for (value, error), values in pairs:
            assert (
                abs(value - values.mean()) <= LEVEL * math.hypot(error, values.std() / math.sqrt(n)) + 1e-12
            )
        total = found.exceeds(-1.0, step)
        assert abs(total.value - 1) <= LEVEL * total.error


def exact_probability(means, threshold, horizon, pulls):
    """Return P(arm 0 is pulled more than `pulls` times) under FE with two Bernoulli arms, by all outcomes."""
    states = {(0, 0, (), ((0, 0, 0), (0, 0, 0))): 1.0}
    for step in range(horizon):
        after = {}
        for (round_, _, seen, arms), chance in states.items():
            oldest = 0 if arms[0][2] <= arms[1][2] else 1
            if arms[oldest][2] == 0 or step - arms[oldest][2] >= (threshold(round_) if round_ else 0):
                # Before their first pulls both are due: the first one is pulled first.
                chosen = [oldest]
            else:
                left, right = arms[0][1] * arms[1][0], arms[1][1] * arms[0][0]
                chosen = [0, 1] if left == right else [int(right > left)]
            for arm in chosen:
                now = tuple(sorted({*seen, arm}))
                ended = len(now) == 2
                for reward, likely in ((1, means[arm]), (0, 1 - means[arm])):
                    count, paid, _ = arms[arm]
                    new = list(arms)
                    new[arm] = (count + 1, paid + reward, step + 1)
                    key = (round_ + ended, 0, () if ended else now, tuple(new))
                    after[key] = after.get(key, 0.0) + chance * likely / len(chosen)
        states = after
    return sum(chance for (*_, arms), chance in states.items() if arms[0][0] > pulls)


ENUMERATED = 5.095082742823336e-08
"""`exact_probability` of the last of the cases below, which takes minutes."""


@pytest.mark.full
def test_the_enumerated_probability():
    assert exact_probability((0.05, 0.8), lambda r: 1.25**r, 60, 45) == pytest.approx(ENUMERATED, rel=1e-9)


@pytest.mark.parametrize(
    ("means", "base", "horizon", "pulls", "exact"),
    [
        ((0.2, 0.9), 1.3, 26, 18, None),
        ((0.3, 0.8), 1.2, 26, 17, None),
        ((0.05, 0.8), 1.25, 60, 45, ENUMERATED),
    ],
)
def test_probabilities_are_the_enumerated_ones(means, base, horizon, pulls, exact):
    """Down to 5e-8."""
    if exact is None:
        exact = exact_probability(means, lambda r: base**r, horizon, pulls)
    environment = pair(*(br.Bernoulli(p) for p in means))
    threshold = (pulls + 0.5) * (means[1] - means[0])
    found = br.rare_regret(
        environment,
        br.ForcedExploration(br.Exponential(base)),
        horizon,
        runs(5000, 50_000),
        threshold=threshold,
    ).exceeds(threshold)
    assert found.error < 0.15 * exact
    assert abs(found.value - exact) <= LEVEL * found.error


REFERENCE = {known["name"]: known for known in json.loads((DATA / "fe_means.json").read_text())}
KNOWN = {
    "authors": (br.random_environment("gaussian", 10, 100_000, 1, seed=1), 100_000),
    "gap.3": (pair(br.Gaussian(0, 1), br.Gaussian(0.3, 1)), 100_000),
    "gap.5": (pair(br.Gaussian(0, 1), br.Gaussian(0.5, 1)), 100_000),
    "gap.1e12": (pair(br.Gaussian(0, 1), br.Gaussian(0.1, 1)), 10**12),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("name", KNOWN)
def test_means_and_probabilities_are_those_of_600_000_plain_runs(name):
    """And their standard errors are small: at most 5 % and 6 % for 5000 weighted runs, in full."""
    known, (environment, horizon) = REFERENCE[name], KNOWN[name]
    x = 10 * known["median"]
    share = known["share_above_10_medians"]
    policy = br.ForcedExploration()
    mean = br.rare_regret(environment, policy, horizon, runs(2000, 5000)).mean()
    chance = br.rare_regret(environment, policy, horizon, runs(2000, 5000), threshold=x).exceeds(x)
    assert mean.error <= runs(0.08, 0.05) * mean.value
    assert chance.error <= runs(0.09, 0.06) * chance.value
    assert abs(mean.value - known["mean"]) <= LEVEL * math.hypot(mean.error, known["se"])
    error = math.sqrt(share / known["runs"])
    assert abs(chance.value - share) <= LEVEL * math.hypot(chance.error, error)


@pytest.mark.full
def test_a_probability_of_1e_8_by_two_mixtures():
    """Gap 0.75: aimed at its threshold, and at a larger one."""
    environment = pair(br.Gaussian(0, 1), br.Gaussian(0.75, 1))
    policy = br.ForcedExploration()
    one = br.rare_regret(environment, policy, 100_000, 20_000, threshold=790).exceeds(790)
    other = br.rare_regret(environment, policy, 100_000, 200_000, 1, threshold=880).exceeds(790)
    assert 2e-9 < one.value < 5e-8
    assert one.error < 0.05 * one.value
    assert abs(one.value - other.value) <= LEVEL * math.hypot(one.error, other.error)


@pytest.mark.parametrize(
    "arm",
    [
        br.Gaussian(0.3, 2),
        br.Bernoulli(0.7),
        br.ExponentialReward(1.5),
        br.Poisson(4),
        br.FiniteSupport([3, -1, 0], [0.5, 0.2, 0.3]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("theta", [-0.8, -0.01, 0.2])
def test_tilted_laws(arm, theta):
    """Mean and variance of sums of tilted rewards; and both as derivatives of psi."""
    environment = pair(arm)
    total, law, table = environment.totals[0, 0], environment.compiled.laws[0, 0], environment.compiled.table
    psi, mean, variance = tilted(total, law, table, theta)
    low, high = (tilted(total, law, table, theta + h)[0] for h in (-1e-4, 1e-4))
    assert (high - low) / 2e-4 == pytest.approx(mean, rel=1e-4, abs=1e-6)
    assert (high - 2 * psi + low) / 1e-8 == pytest.approx(variance, rel=1e-3)
    assert tilted(total, law, table, 0.0) == pytest.approx((0.0, arm.mean, arm.variance))
    rng = np.random.default_rng(0)
    n, size = 3, 4000
    sums = np.array([draw_tilted(total, law, table, theta, n, rng) for _ in range(size)])
    assert abs(sums.mean() - n * mean) <= LEVEL * sums.std() / math.sqrt(size)
    assert sums.var() == pytest.approx(n * variance, rel=0.2)


def test_same_seed_same_numbers_for_any_number_of_workers():
    environment, policy = pair(br.Gaussian(0, 1), br.Gaussian(0.5, 1)), br.ForcedExploration()
    one, two = (br.rare_regret(environment, policy, 10_000, 500, 3, workers=n) for n in (1, 2))
    other = br.rare_regret(environment, policy, 10_000, 500, 4)
    assert np.array_equal(one.regret, two.regret)
    assert np.array_equal(one.weights, two.weights)
    assert not np.array_equal(one.weights, other.weights)


def test_the_result_in_numbers():
    environment, policy = pair(br.Gaussian(0, 1), br.Gaussian(0.5, 1)), br.ForcedExploration()
    found = br.rare_regret(environment, policy, 10_000, 1000, checkpoints=[100])
    assert found.steps.tolist() == [100, 10_000]
    assert found.weights.shape == found.regret.shape == (1000, 2)
    assert 0 < found.weights.max() <= 2.5
    assert found.quantile(0.0) == found.regret[:, 1].min()
    assert found.quantile(1.0) == found.regret[:, 1].max()
    assert found.quantile(0.5, 100) <= found.quantile(0.9, 100)
    assert 100 < found.effective_sample_size() < 1000
    assert found.mean(100).value < found.mean().value
    with pytest.raises(br.InvalidValueError, match="step must be one of the checkpoints, not 7"):
        found.mean(7)


def test_a_policy_is_given_by_its_name_too():
    env = pair(br.Gaussian(0, 1), br.Gaussian(1, 1))
    named, made = (br.rare_regret(env, policy, 1000, 100) for policy in ("FE-Exp", br.CATALOGUE["FE-Exp"]))
    np.testing.assert_array_equal(named.regret, made.regret)


def test_what_is_not_possible_is_refused():
    good, policy = pair(br.Gaussian(0, 1), br.Gaussian(1, 1)), br.ForcedExploration()
    cases = [
        (good, br.UCB1(0, 1), {}, "rare events are those of ForcedExploration"),
        (good, br.ForcedExploration(window=10), {}, "without a window"),
        (good, br.ForcedExploration(br.AnytimeExponential()), {}, "known beforehand"),
        (br.random_environment("gaussian", 3, 100, 2, seed=0), policy, {}, "a single phase"),
        (pair(br.Gaussian(1, 1), br.Gaussian(1, 2)), policy, {}, "a single best arm"),
        (pair(br.Gaussian(1, 1)), policy, {}, "a single best arm"),
        (pair(br.Gaussian(0, 1), br.Beta(2, 1)), policy, {}, r"FiniteSupport, not Beta\(a=2"),
        (pair(br.Gaussian(0, 1), br.Gaussian(1, 0)), policy, {}, "that can look bad"),
        (good, policy, {"runs": 99}, "runs must be"),
        (good, policy, {"threshold": "x"}, "threshold must be"),
    ]
    for environment, chosen, more, message in cases:
        with pytest.raises(br.InvalidValueError, match=message):
            br.rare_regret(environment, chosen, 100, **more)
