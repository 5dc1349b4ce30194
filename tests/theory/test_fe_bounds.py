"""The bounds for FE and SW-FE: against direct sums, against simulation, and in their orders."""

import math

import numpy as np
import pytest

import brigand as br
from brigand.theory import Schedule, bounds
from brigand.theory.forced_exploration import powers_sum
from strength import runs, some

THREE = {"constant": br.Constant(), "linear": br.Linear(), "exponential": br.Exponential()}
FAMILIES = {
    "Gaussian": lambda mean, rng: br.Gaussian(mean, rng.uniform(0.05, 1)),
    "Bernoulli": lambda mean, rng: br.Bernoulli(mean),
    "finite": lambda mean, rng: br.FiniteSupport([0, 0.5, 1], [1 - mean, mean / 3, 2 * mean / 3]),
    "beta": lambda mean, rng: br.Beta(4 * mean, 4 * (1 - mean)),
    "uniform": lambda mean, rng: br.Uniform(mean - 0.3, mean + 0.3),
    "clipped": lambda mean, rng: br.ClippedGaussian(mean, 0.3),
}


def gaussians(*means, sigma=1.0):
    return br.Environment.stationary([br.Gaussian(mean, sigma) for mean in means])


def named(found, name, version):
    return next(b for b in found if (b.name, b.version) == (name, version))


def random_problem(number):
    """Return an environment, a sequence and a horizon; gaps up to 3, so that bounds are not all trivial."""
    rng = np.random.default_rng(number)
    family = list(FAMILIES)[number % len(FAMILIES)]
    n_arms = int(rng.integers(2, 7))
    means = np.sort(rng.uniform(0.05, 0.95, n_arms))
    if family == "Gaussian":
        means = means * 4
    environment = br.Environment.stationary([FAMILIES[family](float(mean), rng) for mean in means])
    sequence = [
        br.Exponential(),
        br.Exponential(float(rng.uniform(1.01, 2))),
        br.Linear(),
        br.Linear(float(rng.uniform(0.1, 5))),
        br.Constant(),
        br.Constant(float(rng.uniform(0, 60))),
        br.Power(float(rng.uniform(0.3, 2))),
    ][rng.integers(7)]
    return environment, sequence, int(math.exp(rng.uniform(math.log(30), math.log(20_000))))


@pytest.mark.every(2)
@pytest.mark.parametrize("number", some(range(200), range(40)))
def test_measured_pulls_and_regret_stay_below_every_corrected_bound(number):
    """Mean over 200 runs, plus three standard errors; and every run above the floor of eq. (10)."""
    environment, sequence, horizon = random_problem(number)
    policy = br.ForcedExploration(sequence)
    steps = sorted({max(1, horizon // 10), horizon})
    runs = br.simulate(environment, {"x": policy}, horizon, 200, method="auto", checkpoints=steps)
    regret = runs.dataset["regret"].sel(policy="x").to_numpy()
    pulls = runs.dataset["pulls"].sel(policy="x").to_numpy()
    found = [b for b in bounds(environment, policy, horizon) if b.version == "corrected"]
    assert {"Theorem 1", "Equation 10"} <= {b.name for b in found}
    wrong = environment.gaps[0] > 0
    for b in found:
        assert b.holds
        if b.kind == "floor":
            assert (regret >= b.regret(steps) - 1e-9).all()
            continue
        error = 3 * regret.std(axis=0, ddof=1) / math.sqrt(200)
        assert (regret.mean(axis=0) + error <= b.regret(steps) * (1 + 1e-12)).all(), b
        error = 3 * pulls.std(axis=0, ddof=1) / math.sqrt(200)
        assert (pulls.mean(axis=0) + error <= b.pulls(steps) + 1e-9)[:, wrong].all(), b
        assert np.isnan(b.pulls(steps)[:, ~wrong]).all()


@pytest.mark.parametrize("number", some(range(60), range(12)))
def test_pulls_keep_to_lemma_a_at_every_step_of_every_run(number):
    environment, sequence, _ = random_problem(number)
    horizon = 400
    runs = br.simulate(
        environment, {"x": br.ForcedExploration(sequence)}, horizon, 50, checkpoints=range(1, horizon + 1)
    )
    least = runs.dataset["pulls"].sel(policy="x").min("arm").to_numpy()
    assert (least >= Schedule(sequence, environment.n_arms, horizon).rounds(np.arange(1, horizon + 1))).all()


@pytest.mark.every(2)
@pytest.mark.parametrize("name", THREE)
@pytest.mark.parametrize("gap", [0.02, 0.5, 4.0])
def test_theorem_1_is_its_sum(name, gap):
    horizon, n_arms = 5000, 3
    sequence = THREE[name]
    schedule = Schedule(sequence, n_arms, horizon)
    steps = np.arange(1, horizon + 1)
    rho = np.concatenate(([0], schedule.rounds(steps)))
    m = 8 / gap**2
    environment = gaussians(0, 0, gap)
    found = bounds(environment, br.ForcedExploration(sequence), horizon)
    greedy = np.append(0, steps) >= n_arms * schedule.without_greed
    phi = np.where(greedy, np.minimum(1, 2 * np.exp(-rho / m)), 0)
    corrected = np.minimum(schedule.most_forced(steps) + np.cumsum(phi[:-1]), steps)
    assert named(found, "Theorem 1", "corrected").pulls(steps)[:, 0] == pytest.approx(corrected, rel=1e-10)
    as_printed = rho[1:] + 2 * m * math.exp(1 / m) * np.cumsum(np.exp(-rho[1:] / m))
    as_printed = np.minimum(as_printed, steps)
    assert named(found, "Theorem 1", "as printed").pulls(steps)[:, 0] == pytest.approx(as_printed, rel=1e-10)


@pytest.mark.parametrize("name", THREE)
def test_corollaries_are_weaker_than_the_theorem(name):
    for horizon in (10, 1000, 10**7):
        steps = np.unique(np.geomspace(1, horizon, 40).astype(np.int64))
        for gap in (0.1, 1, 5, 50):
            found = bounds(gaussians(0, 0.5, gap), br.ForcedExploration(THREE[name]), horizon)
            theorem = named(found, "Theorem 1", "corrected").pulls(steps)[:, 0]
            corollary = next(b for b in found if "Corollary" in b.name and b.version == "corrected")
            assert (corollary.pulls(steps)[:, 0] >= theorem - 1e-9).all()


@pytest.mark.parametrize("name", THREE)
@pytest.mark.parametrize("window", [None, 300])
def test_upper_bounds_grow_with_sigma_with_one_over_the_gap_and_with_t(name, window):
    horizon = 100_000
    policy = br.ForcedExploration(THREE[name], window)
    steps = np.unique(np.geomspace(1, horizon, 60).astype(np.int64))

    def values(sigma, gap):
        found = bounds(gaussians(0, gap, sigma=sigma), policy, horizon)
        return [b.pulls(steps)[:, 0] for b in found if b.kind == "upper" and b.version == "corrected"]

    for row in values(0.3, 1.0):
        assert (np.diff(row) >= -1e-9).all()
    for low, high in ((0.1, 0.2), (0.2, 0.7), (0.7, 3.0)):
        for small, large in zip(values(low, 1.0), values(high, 1.0), strict=True):
            assert (small <= large + 1e-9).all()
        for small, large in zip(values(0.3, 1 / low), values(0.3, 1 / high), strict=True):
            assert (small <= large + 1e-9).all()


def slope(x, y):
    return np.polyfit(np.log(x), np.log(y), 1)[0]


@pytest.mark.full
def test_orders_of_growth():
    """Pulls of the worse of two arms, m = 2: bound and simulation, T from 10^6 to 10^12."""
    environment = gaussians(0, 2)
    horizons = 10 ** np.arange(6, 13)

    def bound(sequence, t):
        found = bounds(environment, br.ForcedExploration(sequence), int(t))
        return float(named(found, "Theorem 1", "corrected").pulls(t)[0])

    def measured(sequence, t):
        runs = br.simulate(environment, {"x": br.ForcedExploration(sequence)}, int(t), 20, method="skip")
        return float(runs.dataset["pulls"].sel(policy="x", step=t, arm=0).mean())

    for of in (bound, measured):
        exponential = [of(br.Exponential(), t) for t in horizons]
        assert slope(np.log(horizons), exponential) == pytest.approx(2, rel=0.1)
        for sequence in (br.Linear(), br.Constant()):
            assert slope(horizons, [of(sequence, t) for t in horizons]) == pytest.approx(0.5, rel=0.02)


def test_a_sum_of_powers_is_its_sum():
    last = np.arange(0.0, 80.0)
    for a in (1.001, 1.1, 2.0, 7.0):
        for m in (0.0, 0.01, 0.5, 1 / math.log(a), 50.0):
            for first in (1, 5):
                q = math.exp(-1 / m) if m else 0.0
                exact = [sum((a * q) ** r for r in range(first, int(n) + 1)) for n in last]
                assert powers_sum(a, m, first, last) == pytest.approx(exact, rel=1e-11)


def changing(number):
    """Return an environment with 2 to 4 phases, a policy and a horizon."""
    rng = np.random.default_rng(number)
    n_arms, n_phases = int(rng.integers(2, 5)), int(rng.integers(1, 5))
    horizon = int(rng.integers(500, 20_000))
    starts = [1, *sorted(rng.choice(np.arange(2, horizon), n_phases - 1, replace=False).tolist())]
    kind = number % 3
    arms = [
        lambda mean: br.Gaussian(4 * mean, 0.3),
        br.Bernoulli,
        lambda mean: br.ClippedGaussian(mean, 0.1),
    ][kind]
    means = rng.uniform(0.05, 0.95, (n_phases, n_arms)).tolist()
    environment = br.Environment.piecewise([[arms(mean) for mean in phase] for phase in means], starts)
    window = int(rng.integers(n_arms, 1500)) if number % 5 else 10 ** int(rng.integers(5, 8))
    sequence = [br.Exponential(), br.Linear(), br.Constant(), br.Constant(3.5), br.Power(2)][rng.integers(5)]
    return environment, br.ForcedExploration(sequence, window, reset_round=int(rng.integers(2))), horizon


@pytest.mark.every(2)
@pytest.mark.parametrize("number", some(range(100), range(20)))
def test_measured_regret_stays_below_theorem_2_corrected(number):
    """Mean over 60 runs, plus three standard errors."""
    environment, policy, horizon = changing(number)
    steps = sorted({horizon // 10, horizon // 2, horizon})
    runs = br.simulate(environment, {"x": policy}, horizon, 60, checkpoints=steps)
    regret = runs.dataset["regret"].sel(policy="x").to_numpy()
    error = 3 * regret.std(axis=0, ddof=1) / math.sqrt(60)
    found = [b for b in bounds(environment, policy, horizon) if b.version == "corrected"]
    assert "Theorem 2" in {b.name for b in found}
    for b in found:
        assert b.holds
        if b.kind == "upper":
            assert (regret.mean(axis=0) + error <= b.regret(steps) * (1 + 1e-12)).all(), b


@pytest.mark.parametrize("number", range(12))
def test_theorem_2_is_its_sum(number):
    """Step by step: mixed steps, forced pulls of each block, phi for the others."""
    environment, policy, horizon = changing(number)
    horizon = min(horizon, 4000)
    sigma = max(br.theory.sub_gaussian(arm) for phase in environment.phases for arm in phase)
    tau, n_arms = policy.window, environment.n_arms
    schedule = Schedule(policy.sequence, n_arms, horizon, tau)
    tau = min(tau, horizon)
    ends = np.cumsum(np.repeat(schedule.lengths, np.minimum(schedule.counts, horizon)))
    silent = n_arms * max(schedule.without_greed - 2, 0)
    pulls = np.zeros(n_arms)
    for p, gaps in enumerate(environment.gaps):
        start = environment.starts[p]
        end = min(environment.starts[p + 1] - 1 if p + 1 < len(environment.starts) else horizon, horizon)
        clean = start + tau if p > 0 else 1
        for k in np.flatnonzero(gaps > 0):
            m = 8 * sigma**2 / gaps[k] ** 2
            total = 0.0
            for block in range((clean - 1) // tau, (end - 1) // tau + 1):
                since, until = max(clean - 1 - block * tau, 0), min(end - block * tau, tau)
                if since >= until:
                    continue
                total += float(schedule.most_forced(until))
                both = best = 0.0
                for s in range(max(since, silent), until):
                    n = max(int(np.searchsorted(ends, s, side="right")) - 1, 1)
                    both += min(1.0, 2 * math.exp(-n / m))
                    best += math.exp(-n / m)
                steps = until - since
                total += min(both, best + min(n + steps * math.exp(-n / m) for n in range(steps + 1)))
            room = max(end - clean + 1, 0)
            pulls[k] += max(min(end - start + 1, clean - start), 0) + (min(total, room) if room else 0)
    found = named(bounds(environment, policy, horizon), "Theorem 2", "corrected").pulls(horizon)
    assert found[~np.isnan(found)] == pytest.approx(pulls[~np.isnan(found)], rel=1e-9)


def test_corollaries_4_to_6_are_weaker_than_theorem_2():
    for number in range(runs(15, 60)):
        environment, policy, horizon = changing(number)
        steps = np.unique(np.geomspace(1, horizon, 30).astype(np.int64))
        found = bounds(environment, policy, horizon)
        theorem = named(found, "Theorem 2", "corrected")
        for b in found:
            if b.name.startswith("Corollary") and b.version == "corrected":
                assert (b.pulls(steps) >= theorem.pulls(steps) - 1e-6)[:, ~np.isnan(theorem.pulls(1))].all()


def test_a_window_beyond_the_horizon_sets_the_default_sequence_all_the_same():
    environment = gaussians(0, 2.5)
    for window in (10**6, 10**8):
        policy = br.ForcedExploration(window=window)
        pulls = br.simulate(environment, {"x": policy}, 2000, 200).dataset["pulls"].sel(step=2000, arm=0)
        for b in bounds(environment, policy, 2000):
            if b.kind == "upper" and b.version == "corrected":
                assert float(pulls.mean()) <= b.pulls(2000)[0]


def test_orders_belong_to_the_sequences_of_the_paper():
    environment = gaussians(0, 1)
    for sequence in (br.Constant(0), br.Constant(5), br.Linear(0), br.Exponential(1.0), br.Power(2)):
        for window in (None, 100):
            found = bounds(environment, br.ForcedExploration(sequence, window), 1000)
            assert "order" not in {b.kind for b in found}


def test_conditions_that_fail_are_named():
    heavy = br.Environment.stationary([br.StudentT(3, 0, 1), br.StudentT(3, 1, 1)])
    theorem = named(bounds(heavy, br.ForcedExploration(), 1000), "Theorem 1", "corrected")
    assert not theorem.holds
    assert "sub-Gaussian rewards (" in theorem.missing
    with pytest.raises(br.InvalidValueError, match="Theorem 1 does not hold here: sub-Gaussian"):
        theorem.regret(100)
    floor = named(bounds(heavy, br.ForcedExploration(), 1000), "Equation 10", "corrected")
    assert float(floor.regret(1000)) > 0
    changes = br.random_environment("gaussian", 3, 1000, 2)
    assert "rewards that do not change" in bounds(changes, br.ForcedExploration(), 1000)[0].missing
    scripts = br.ForcedExploration(window=100, reset_offset=1)
    assert "resets after" in named(bounds(changes, scripts, 1000), "Theorem 2", "corrected").missing
    remark = named(
        bounds(gaussians(0, 1, sigma=0.5), br.ForcedExploration(), 1000), "Equation 13", "as printed"
    )
    assert remark.missing == "Gaussian rewards of variance 1"
    early = named(bounds(gaussians(0, 1), br.ForcedExploration(), 1000), "Equation 14", "as printed")
    assert early.missing == "T so large that m, 8, is less than log T"
    order = next(
        b
        for b in bounds(gaussians(0, 1), br.ForcedExploration(br.Exponential(2.0)), 1000)
        if b.kind == "order"
    )
    assert order.missing == "m log a, 5.55, less than 1"


def test_equal_arms_and_one_arm_and_no_noise():
    for environment in (gaussians(0.5, 0.5), gaussians(0.5)):
        for policy in (br.ForcedExploration(), br.ForcedExploration(window=50)):
            for b in bounds(environment, policy, 1000):
                if b.holds and b.kind in ("upper", "floor"):
                    assert (b.regret([1, 10, 1000]) == 0).all()
    exact = named(bounds(gaussians(0, 1, sigma=0), br.ForcedExploration(), 10_000), "Theorem 1", "corrected")
    assert exact.pulls(10_000)[0] == Schedule(br.Exponential(), 2, 10_000).most_forced(10_000)


def test_bad_arguments_are_refused():
    with pytest.raises(br.InvalidValueError, match="environment must be"):
        bounds(3, br.UCB1(), 10)
    with pytest.raises(br.InvalidValueError, match="policy must be"):
        bounds(gaussians(0, 1), "UCB1", 10)
    with pytest.raises(br.InvalidValueError, match="horizon must be >= 1"):
        bounds(gaussians(0, 1), br.UCB1(), 0)
    order = next(b for b in bounds(gaussians(0, 1), br.ForcedExploration(), 10) if b.kind == "order")
    with pytest.raises(br.InvalidValueError, match="not on the pulls"):
        order.pulls(5)
