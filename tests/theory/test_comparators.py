"""Upper bounds of other policies: worked by hand, computed again in another way, conditions, simulation."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import integrate, special

import brigand as br
from brigand.theory.comparators import comparator_bounds


def stationary(*arms):
    return br.Environment.stationary(arms)


COINS = stationary(br.Bernoulli(0.3), br.Bernoulli(0.8), br.Bernoulli(0.5))


def bound_of(environment, policy, horizon=1000):
    (bound,) = comparator_bounds(environment, policy, horizon)
    return bound


# Worked by hand


@pytest.mark.parametrize(
    ("environment", "policy", "width"),
    [
        (COINS, br.UCB1(0, 1), 1.0),
        (COINS, br.UCB1(-1, 2), 3.0),
        (COINS, br.UCB1(sigma=1.5), 1.5),
        (stationary(br.Gaussian(0.3, 1), br.Gaussian(0.8, 0.5), br.Gaussian(0.5, 1)), br.UCB1(sigma=2), 2.0),
    ],
)
def test_the_bound_of_ucb1_by_hand(environment, policy, width):
    bound = bound_of(environment, policy)
    assert bound.holds
    assert bound.kind == "upper"
    t = 10**6
    first, third = (8 * (width / gap) ** 2 * math.log(t) + 1 + math.pi**2 / 3 for gap in (0.5, 0.3))
    assert bound.pulls(t) == pytest.approx([first, math.nan, third], rel=1e-12, nan_ok=True)
    assert bound.regret(t) == pytest.approx(0.5 * first + 0.3 * third, rel=1e-12)


def test_the_bound_of_explore_then_commit_by_hand():
    bound = bound_of(
        stationary(br.Gaussian(0, 2), br.Gaussian(1, 2), br.Gaussian(0.5, 1)), br.ExploreThenCommit(4)
    )
    chosen = math.exp(-4 * 1 / 16), math.exp(-4 * 0.25 / 16)
    quiet = bound_of(stationary(br.Gaussian(0, 0), br.Gaussian(1e-3, 0)), br.ExploreThenCommit(5))
    assert quiet.pulls(10**6)[0] == 5
    assert bound.pulls(3)[0] == 3
    assert bound.pulls([4, 12])[:, 2].tolist() == [4, 4]
    assert bound.pulls(112)[[0, 2]] == pytest.approx([4 + 100 * chosen[0], 4 + 100 * chosen[1]], rel=1e-12)
    assert np.isnan(bound.pulls(112)[1])


def test_the_bound_of_thompson_sampling_by_hand():
    bound = bound_of(COINS, br.ThompsonBeta())
    assert bound.kind == "average"
    assert not bound.speaks_of_pulls
    assert bound.regret([1, 1000]) == pytest.approx([1, math.sqrt(1500 * math.log(3))])
    assert bound_of(stationary(br.Bernoulli(0.5)), br.ThompsonBeta()).regret(1000) == 0


# KL-UCB's formula again: d from quadrature, d' from differences, the variance from a grid

FAMILIES = {
    "bernoulli": (br.Bernoulli, lambda x: x * (1 - x)),
    "gaussian": (lambda mean: br.Gaussian(mean, 1.5), lambda x: 2.25 + 0 * x),
    "exponential": (br.ExponentialReward, lambda x: x * x),
    "poisson": (br.Poisson, lambda x: x),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("mean", "best"), [(0.3, 0.8), (0.05, 0.1), (0.6, 0.95), (0.49, 0.51)])
def test_kl_ucb_against_another_evaluation(family, mean, best):
    make, variance = FAMILIES[family]

    def d(p):
        return integrate.quad(lambda x: (x - p) / variance(x), p, best, epsabs=0, epsrel=1e-12)[0]

    slope = (d(mean + 1e-5) - d(mean - 1e-5)) / 2e-5
    v = max(variance(np.linspace(mean, best, 10_001)))
    policy = br.KLUCB(family, 3.0, 1.5) if family == "gaussian" else br.KLUCB(family, 3.0)
    bound = bound_of(stationary(make(mean), make(best)), policy)
    assert bound.holds
    for t in (3, 10**3, 10**6, 10**12):
        log, loglog = math.log(t), math.log(math.log(t))
        root = math.sqrt(2 * math.pi * v * slope**2 / d(mean) ** 3) * math.sqrt(log + 3 * loglog)
        lower = (4 * math.e + 3 / d(mean)) * loglog + 8 * v * (slope / d(mean)) ** 2 + 6
        expected = log / d(mean) + 2 * root + lower
        assert bound.pulls(t)[0] == pytest.approx(min(t, expected), rel=1e-5)


def test_kl_ucb_rescales_rewards_and_takes_any_in_the_range():
    here = bound_of(stationary(br.Bernoulli(0.2), br.Bernoulli(0.7)), br.KLUCB(c=3.0))
    arms = br.FiniteSupport([-1, 9], [0.8, 0.2]), br.Uniform(3, 9)
    there = bound_of(stationary(*arms, br.Uniform(3, 9)), br.KLUCB(c=3.0, low=-1, high=9))
    steps = [1, 2, 10**4, 10**7]
    assert there.holds
    assert there.pulls(steps)[:, 0] == pytest.approx(here.pulls(steps)[:, 0], rel=1e-9)
    assert there.regret(steps) == pytest.approx(10 * here.regret(steps), rel=1e-9)


def test_the_sum_in_the_proof_for_kl_ucb():
    n = np.arange(3.0, 10**6)
    log = np.log(n)
    level = log + 3 * np.log(log)
    wrong = np.minimum(1, math.e * np.ceil(level * log) * np.exp(-level))
    for_t = np.arange(4.0, 10**6 + 1)
    # 1 for n = 2, where nothing is claimed
    assert (1 + np.cumsum(wrong) <= 3 + 4 * math.e * np.log(np.log(for_t))).all()
    # Beyond, each term adds less than the bound grows: f log n + 1 <= 4 log^2 n.
    assert (level * log + 1 <= 4 * log**2)[100:].all()


# SW-UCB

CHANGING = br.Environment.piecewise(
    [
        [br.Bernoulli(0.9), br.Bernoulli(0.1), br.Bernoulli(0.2)],
        [br.Bernoulli(0.1), br.Bernoulli(0.8), br.Bernoulli(0.2)],
        [br.Bernoulli(0.1), br.Bernoulli(0.8), br.Bernoulli(0.6)],
    ],
    [1, 5001, 12_001],
)


def test_sw_ucb_worked_by_hand():
    bound = bound_of(CHANGING, br.SlidingWindowUCB(1000, xi=1.0))
    h, log = math.log(1 + 4 * math.sqrt(0.5)), math.log(1000)
    rest = (log**2 + 0.25) / h + 2 * log
    doubts = 2 * math.ceil(log / h)
    gaps = np.array([0.7, 0.8, 0.2])
    for t, blocks, breakpoints in ((3000, 3, 0), (5001, 6, 1), (12_000, 12, 1), (20_000, 20, 2)):
        expected = blocks * (4 * log / gaps**2 + 1) + doubts * (t - 1000) / 1000 + 1000 * breakpoints + rest
        assert bound.pulls(t) == pytest.approx(np.minimum(t, expected), rel=1e-12)
    largest = np.array([0.7, 0.8, 0.7])
    assert bound.regret(10**9) == pytest.approx(largest @ bound.pulls(10**9), rel=1e-12)


def test_sw_ucb_before_its_window_is_full_is_ucb():
    steps = [2, 50, 999]
    short, long = (bound_of(COINS, br.SlidingWindowUCB(window, xi=0.8)) for window in (1000, 10**6))
    assert short.pulls(steps) == pytest.approx(long.pulls(steps), rel=1e-12, nan_ok=True)


def printed_sw_ucb(t, tau, gap, xi, breakpoints):
    """Return Garivier and Moulines' theorem as it is quoted."""
    h = math.log(1 + 4 * math.sqrt(1 - 1 / (2 * xi)))
    factor = 4 * xi / gap**2 * math.ceil(t / tau) / (t / tau)
    factor += 2 / math.log(tau) * math.ceil(math.log(tau) / h)
    return factor * t * math.log(tau) / tau + tau * breakpoints + math.log(tau) ** 2


@pytest.mark.parametrize("xi", [0.51, 0.6, 1.0, 3.0])
@pytest.mark.parametrize("tau", [10, 300, 10**4])
def test_sw_ucb_differs_from_the_theorem_as_stated(xi, tau):
    t, log = 10**7, math.log(tau)
    h = math.log(1 + 4 * math.sqrt(1 - 1 / (2 * xi)))
    ours = bound_of(stationary(br.Bernoulli(0.1), br.Bernoulli(0.9)), br.SlidingWindowUCB(tau, xi=xi))
    stated = printed_sw_ucb(t, tau, 0.8, xi, 0)
    change = math.ceil(t / tau) - 2 * math.ceil(log / h) + (log**2 + 0.25) / h + 2 * log - log**2
    assert ours.pulls(t)[0] == pytest.approx(min(t, stated + change), rel=1e-9)


def test_the_sums_in_the_proof_for_sw_ucb():
    n = np.arange(2.0, 10**6)
    log = np.log(n)
    assert (np.cumsum(log / n) <= log**2 / 2 + 1 / 8).all()
    for xi in (0.51, 0.6, 1.0, 10.0):
        h = math.log(1 + 4 * math.sqrt(1 - 1 / (2 * xi)))
        total = np.cumsum(2 * np.ceil(log / h) / n)
        assert (total <= (log**2 + 0.25) / h + 2 * log).all()


# Conditions, shapes, caps


@dataclass(frozen=True)
class Loud(br.UCB1):
    """A user's own, which may choose otherwise."""


HEAVY = stationary(br.Pareto(3), br.Bernoulli(0.3))


@pytest.mark.parametrize(
    ("environment", "policy", "missing"),
    [
        (CHANGING, br.UCB1(0, 1), "rewards that do not change"),
        (CHANGING, br.KLUCB(c=3.0), "rewards that do not change"),
        (CHANGING, br.ExploreThenCommit(3), "rewards that do not change"),
        (CHANGING, br.ThompsonBeta(), "rewards that do not change"),
        (COINS, br.UCB1(0, 0.5), "rewards in [0, 0.5]"),
        (COINS, br.UCB1(sigma=0.5), "sigma >= 2"),
        (HEAVY, br.UCB1(0, 1), "rewards in [0, 1]"),
        (HEAVY, br.UCB1(sigma=9), "sub-Gaussian"),
        (HEAVY, br.ExploreThenCommit(3), "sub-Gaussian"),
        (HEAVY, br.ThompsonBeta(), "Bernoulli arms"),
        (COINS, br.KLUCB(), "c = 3"),
        (COINS, br.KLUCB(c=3.0, high=0.7), "rewards in [0, 0.7]"),
        (COINS, br.KLUCB("gaussian", 3.0, 0.4), "0.4-sub-Gaussian rewards"),
        (COINS, br.KLUCB("poisson", 3.0), "poisson arms"),
        (COINS, br.KLUCB("exponential", 3.0), "exponential arms"),
        (stationary(br.Bernoulli(0), br.Bernoulli(0.5)), br.KLUCB(c=3.0), "means inside the range"),
        (stationary(br.Bernoulli(1), br.Bernoulli(0.5)), br.KLUCB(c=3.0), "means inside the range"),
        (COINS, br.SlidingWindowUCB(100), "xi > 1/2"),
        (COINS, br.SlidingWindowUCB(1, xi=0.6), "a window of at least 2"),
        (COINS, br.SlidingWindowUCB(100, xi=0.6, low=0.1), "rewards in [0.1, 1]"),
        (COINS, br.ThompsonBeta(high=2), "low = 0 and high = 1"),
    ],
)
def test_a_condition_that_fails_is_named(environment, policy, missing):
    bound = bound_of(environment, policy)
    assert not bound.holds
    assert missing in bound.missing
    with pytest.raises(br.InvalidValueError, match="does not hold here"):
        bound.regret(10)


def test_other_policies_have_no_bound():
    for policy in (br.ForcedExploration(), br.UniformRandom(), br.SlidingWindowKLUCB(100, c=3.0), Loud(0, 1)):
        assert comparator_bounds(COINS, policy, 1000) == ()
    with pytest.raises(br.InvalidValueError, match="horizon"):
        comparator_bounds(COINS, br.UCB1(0, 1), 0)


POLICIES = [
    br.UCB1(0, 1),
    br.UCB1(sigma=1),
    br.KLUCB(c=3.0),
    br.KLUCB("gaussian", 3.0, 0.5),
    br.ExploreThenCommit(30),
    br.ExploreThenCommit(2**53),
    br.SlidingWindowUCB(200, xi=0.6),
]


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_pulls_never_exceed_the_steps_and_never_fall(policy):
    steps = np.unique(np.concatenate([np.arange(1, 500), np.geomspace(500, 2**53, 400).astype(int)]))
    for environment in (COINS, stationary(br.Bernoulli(0.5), br.Bernoulli(0.5 + 1e-12), br.Bernoulli(0.1))):
        bound = bound_of(environment, policy)
        pulls, optimal = bound.pulls(steps), environment.gaps[0] == 0
        assert np.isnan(pulls[:, optimal]).all()
        kept = pulls[:, ~optimal]
        assert (kept <= steps[:, None]).all()
        assert (kept >= np.minimum(1, steps[:, None])).all()
        assert (np.diff(kept, axis=0) >= 0).all()
        assert (bound.regret(steps) <= steps * environment.gaps[0].max()).all()
        assert bound.pulls(steps.reshape(1, -1)).shape == (1, len(steps), 3)
    alone = bound_of(stationary(br.Bernoulli(0.5)), policy)
    assert alone.regret([1, 1000]).tolist() == [0, 0]
    assert np.isnan(alone.pulls(1000)).all()


# Against simulation


def above(values):
    """Return the mean over the first axis, and 3 standard errors more: a false alarm has about 0.1 %."""
    return values.mean(axis=0) + 3 * values.std(axis=0, ddof=1) / math.sqrt(len(values))


def check(environment, policies, horizon, replications):
    """Check that means over runs, and 3 standard errors, are below the bounds where these say something."""
    steps = np.unique(np.geomspace(2, horizon, 12).astype(int))
    run = br.simulate(
        environment, policies, horizon, replications, seed=3, checkpoints=steps.tolist()
    ).dataset
    for name, policy in policies.items():
        bound = bound_of(environment, policy, horizon)
        regret, pulls = (run[what].sel(policy=name).to_numpy() for what in ("regret", "pulls"))
        limits = bound.regret(steps)
        assert (regret.mean(axis=0) <= limits * (1 + 1e-12)).all(), name
        assert (above(regret) <= limits)[limits < 0.99 * steps * environment.gaps.max()].all(), name
        assert limits[-1] < 0.9 * horizon * environment.gaps.max(), name
        if len(environment.phases) == 1:
            limits = bound.pulls(steps)
            assert (above(pulls) <= limits)[limits < 0.99 * steps[:, None]].all(), name


def test_simulated_coins_stay_below_the_bounds():
    policies = {
        "UCB1": br.UCB1(0, 1),
        "UCB1, sigma": br.UCB1(sigma=1),
        "KL-UCB": br.KLUCB(c=3.0),
        "KL-UCB, Gaussian": br.KLUCB("gaussian", 3.0, 0.5),
        "ETC": br.ExploreThenCommit(50),
        "SW-UCB": br.SlidingWindowUCB(3000, xi=0.6),
    }
    environment = stationary(br.Bernoulli(0.1), br.Bernoulli(0.9), br.Bernoulli(0.4))
    check(environment, policies, 10_000, 200)


@pytest.mark.parametrize(
    ("environment", "policy"),
    [
        (stationary(br.Gaussian(0, 1), br.Gaussian(1, 1)), br.KLUCB("gaussian", 3.0)),
        (stationary(br.Gaussian(0, 1), br.Gaussian(1, 1)), br.UCB1(sigma=2)),
        (stationary(br.Gaussian(0, 1), br.Gaussian(1, 1)), br.ExploreThenCommit(20)),
        (stationary(br.Poisson(1), br.Poisson(3)), br.KLUCB("poisson", 3.0)),
        (stationary(br.ExponentialReward(0.3), br.ExponentialReward(1)), br.KLUCB("exponential", 3.0)),
        (stationary(br.Beta(2, 8), br.Uniform(0.4, 1), br.Empirical([0, 0.5])), br.KLUCB(c=3.0)),
    ],
)
def test_simulated_families_stay_below_the_bounds(environment, policy):
    check(environment, {"it": policy}, 3000, 200)


def test_sw_ucb_stays_below_where_rewards_change():
    policy = br.SlidingWindowUCB(1500, xi=0.6)
    check(CHANGING, {"it": policy}, 20_000, 100)
    # The bound on pulls is on those made while the arm is not optimal.
    ends = [5000, 12_000, 20_000]
    run = br.simulate(CHANGING, {"it": policy}, 20_000, 100, seed=4, checkpoints=ends).dataset["pulls"]
    in_phases = np.diff(run.sel(policy="it").to_numpy(), axis=1, prepend=0)
    wrong = (in_phases * (CHANGING.gaps > 0)).sum(axis=1)
    limit = bound_of(CHANGING, policy, 20_000).pulls(20_000)
    assert (above(wrong) <= limit).all()
    assert (limit < 0.9 * 20_000).sum() >= 2


@pytest.mark.full
def test_thompson_sampling_is_below_its_bound_on_average_over_problems():
    rng = np.random.default_rng(8)
    horizon, means = 300, []
    for _ in range(150):
        environment = stationary(*map(br.Bernoulli, rng.random(4)))
        run = br.simulate(environment, {"TS": br.ThompsonBeta()}, horizon, 4, seed=1, checkpoints=[horizon])
        means.append(float(run.dataset["regret"].mean()))
    limit = float(bound_of(environment, br.ThompsonBeta()).regret(horizon))
    assert above(np.array(means)) <= limit


def test_explore_then_commit_is_close_to_the_exact_probability():
    # Two Gaussian arms: the wrong one is chosen with probability Phi(-gap sqrt(m / 2)).
    bound = bound_of(stationary(br.Gaussian(0, 1), br.Gaussian(0.5, 1)), br.ExploreThenCommit(10))
    exact = 10 + 980 * special.ndtr(-0.5 * math.sqrt(5))
    assert exact <= bound.pulls(1000)[0] <= 5 * exact
