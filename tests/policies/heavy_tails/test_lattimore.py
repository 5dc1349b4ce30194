"""Lattimore's scale-free UCB: the index from its definition, where it is finite, in law; the medians."""

import math

import numpy as np
import pytest
from scipy import optimize

import brigand as br
from brigand.policies.heavy_tails import lattimore, median_of_means
from brigand.policies.heavy_tails.lattimore import Lattimore
from policies.play import regret
from strength import some

EXACT = Lattimore(3)
HEURISTIC = Lattimore(3, 0.5)
POLICIES = [EXACT, HEURISTIC, Lattimore(1.8, 1.0)]


def blocks(x, log):
    k = max(1, math.floor(min(8 * log, len(x) / 2)))
    return x[: k * (len(x) // k)].reshape(k, -1)


def gap(policy, x, log, theta):
    """Return theta - MM - C1 sqrt(sig2(theta) L / n) and the denominator in sig2."""
    u = policy.c1 * math.sqrt(log / len(x))
    denominator = 1 - u * math.sqrt(policy.kurtosis - 1)
    if denominator <= 0:
        return -math.inf
    b = blocks(x, log)
    sigma2 = np.median(((b - theta) ** 2).mean(axis=1)) / denominator
    return theta - np.median(b.mean(axis=1)) - u * math.sqrt(sigma2)


def reference(policy, x, t):
    """Return the sup: +inf where theta stays feasible far out, else the root, bracketed from the right."""
    if len(x) == 0:
        return math.inf
    log = 1 / 8 + 2 * math.log(t) + math.log(math.log(1 + t))
    middle, unit = np.median(blocks(x, log).mean(axis=1)), x.std() + 1e-3
    if gap(policy, x, log, middle + 1e9 * unit) < 0:
        return math.inf
    step = unit
    while gap(policy, x, log, middle + step) < 0:
        step *= 2
    for further in np.linspace(1, 50, 20):  # no larger root
        assert gap(policy, x, log, middle + further * step) >= 0
    if gap(policy, x, log, middle) >= 0:
        return middle
    return optimize.brentq(lambda theta: gap(policy, x, log, theta), middle, middle + step, xtol=1e-14)


@pytest.mark.every(3)
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@pytest.mark.parametrize("noise", some(["normal", "heavy", "skew"], ["skew"]))
def test_every_index_and_choice_follow_the_definition(policy, noise):
    rng = np.random.default_rng(4)
    table = {
        "normal": rng.standard_normal((160, 3)),
        "heavy": rng.standard_t(3, (160, 3)),
        "skew": rng.exponential(size=(160, 3)),
    }[noise]
    rewards = np.array([1000.1, 1000.4, 1000.6]) + 0.4 * table
    parameters, state = policy.parameters(3, 160), policy.start(3, 160)
    seen = [[], [], []]
    for step in range(1, 161):
        expected = [reference(policy, np.array(x), step) for x in seen]
        found = [lattimore.index(parameters, *state, k, rng) for k in range(3)]
        assert found == pytest.approx(expected, rel=1e-12)
        arm = policy.kernels.select(parameters, *state, np.arange(3), rng)
        assert expected[arm] >= max(expected) - 1e-9
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, rewards[step - 1, arm], step)
        seen[arm].append(rewards[step - 1, arm])
    assert policy is EXACT or math.isfinite(found[0])


def test_the_index_by_hand():
    """Two blocks 0 0, 1 1 have means 0 and 1; the median of (X - theta)^2 is (theta^2 + (theta - 1)^2) / 2.

    With x = theta - 1/2 that is x^2 + 1/4, so x = w / (2 sqrt(1 - w^2)), w = u / sqrt(1 - u sqrt 2).
    """
    policy = Lattimore(3, 0.1)
    parameters, state = policy.parameters(1, 9), policy.start(1, 9)
    for step, reward in enumerate([0.0, 0.0, 1.0, 1.0], start=1):
        policy.kernels.pull(parameters, *state, 0)
        policy.kernels.learn(parameters, *state, 0, reward, step)
    u = 0.1 * math.sqrt((1 / 8 + math.log(25 * math.log(6))) / 4)
    w = u / math.sqrt(1 - u * math.sqrt(2))
    expected = 0.5 + w / (2 * math.sqrt(1 - w * w))
    assert lattimore.index(parameters, *state, 0, None) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(("kurtosis", "pulls"), [(3, 18_340), (1.8, 11_695), (9, 48_645)])
def test_indices_are_infinite_at_usual_horizons(kurtosis, pulls):
    """The least number of pulls for a finite index at t = 100,000, as the specification has it."""
    least = Lattimore(kurtosis).parameters(10, 100_000).least * lattimore.confidence(99_999)
    assert math.floor(least) + 1 == pytest.approx(pulls, abs=1)


@pytest.mark.full
def test_ten_arms_are_sampled_uniformly():
    """T = 20,000: pulls are binomial; 5 sigma, 10 arms: level 6e-6."""
    environment = br.random_environment("gaussian", 10, 20_000, seed=1)
    pulls = br.simulate(environment, {"x": EXACT}, 20_000, 1, seed=2).dataset["pulls"].to_numpy()
    assert np.abs(pulls[0, 0, -1].ravel() - 2000).max() < 5 * math.sqrt(1800)


@pytest.mark.full
def test_shifting_and_scaling_the_rewards_changes_no_choice():
    """A shift and a scale by powers of two of rewards with few digits, so that nothing is rounded."""
    rewards = np.round(np.random.default_rng(3).standard_normal((300, 3)) * 1024) / 1024
    plain = br.trace(HEURISTIC, rewards)
    assert np.array_equal(plain, br.trace(HEURISTIC, rewards * 2.0**400))
    assert np.array_equal(plain, br.trace(HEURISTIC, rewards * 2.0**-200))
    assert np.array_equal(plain, br.trace(HEURISTIC, rewards + 4096.0))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 101, 184])
def test_the_median_is_that_of_numpy(n):
    rng = np.random.default_rng(n)
    for _ in range(50):
        for values in (rng.standard_normal(n), rng.integers(0, 3, n).astype(float), np.full(n, 0.1)):
            assert median_of_means.median(values.copy()) == pytest.approx(np.median(values), rel=1e-15)


@pytest.mark.parametrize("slope", [1e-9, 0.3, 0.999, 1 - 1e-9])
def test_the_solver_finds_the_fixed_point(slope):
    for data in (np.array([2.0, -1.0, 0.5, 0.1, 0.2, 0.3]), np.zeros(6), np.array([0.0, 1.0, 3.0, 0, 0, 0])):
        x = lattimore.solve(lattimore.root_mean_square, data, np.empty(3), 2.0, slope)
        y = slope * lattimore.root_mean_square(data, np.empty(3), 2.0, x)
        assert x == pytest.approx(y, rel=1e-13 / (1 - slope), abs=1e-300)


@pytest.mark.full
def test_the_heuristic_finds_the_better_arm():
    """Random pulls cost 400. 100 runs."""
    environment = br.Environment.stationary([br.Bernoulli(0.3), br.Bernoulli(0.7)])
    assert regret(environment, Lattimore(1.8, 0.5), 2000, 100, seed=2)[:, -1].mean() < 150


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0.9,), "kurtosis must be >= 1, not 0.9"), ((3, 0), "c1 must be > 0"), (("x",), "must be a number")],
)
def test_bad_settings_are_refused_by_name(arguments, message):
    with pytest.raises(br.InvalidValueError, match=message):
        Lattimore(*arguments)


def test_the_horizon_is_needed():
    with pytest.raises(br.InvalidValueError, match="Lattimore needs the horizon"):
        EXACT.start(2, None)


def bound_after(policy, rewards):
    """Return the index of the only arm after these rewards."""
    parameters, state = policy.parameters(1, len(rewards)), policy.start(1, len(rewards))
    for step, reward in enumerate(rewards, start=1):
        policy.kernels.pull(parameters, *state, 0)
        policy.kernels.learn(parameters, *state, 0, float(reward), step)
    return lattimore.index(parameters, *state, 0, None)


@pytest.mark.every(3)
@pytest.mark.parametrize("place", some([0, 1, 200, 398], [1]))
@pytest.mark.parametrize("outlier", [1e6, -1e8, 1e9, 1e12, 1e150, -1e200, 1e300])
def test_an_outlier_of_any_size_spoils_its_own_block_alone(place, outlier):
    """As one of 1e3 does; an index from sums of squares about the first reward had lost all digits at 1e9."""
    policy, rewards = Lattimore(3, 0.7), np.random.default_rng(3).standard_normal(400)
    rewards[place] = math.copysign(1e3, outlier)
    expected = reference(policy, rewards, 401)
    assert bound_after(policy, rewards) == pytest.approx(expected, rel=1e-12)
    rewards[place] = outlier
    assert bound_after(policy, rewards) == pytest.approx(expected, rel=1e-12)


def test_several_outliers_spoil_their_own_blocks_alone():
    """The block means are exact to 1e-16 of the second largest."""
    policy, rewards = Lattimore(3, 0.7), np.random.default_rng(3).standard_normal(400)
    places, sizes = [0, 30, 31, 90, 250], np.array([1e300, 1e9, -1e9, 1e8, -1e4])
    rewards[places] = 1e3 * np.sign(sizes)
    expected = reference(policy, rewards, 401)
    rewards[places] = sizes
    assert bound_after(policy, rewards) == pytest.approx(expected, abs=1e-6)


def test_rewards_far_from_the_first_one():
    """The rewards themselves are rounded to 1.5e-8."""
    policy, rewards = Lattimore(3, 0.7), np.random.default_rng(3).standard_normal(400)
    rewards[0] = 0.0
    shifted = rewards + 1e8
    expected = bound_after(policy, shifted - 1e8)
    assert bound_after(policy, shifted) - 1e8 == pytest.approx(expected, abs=1e-7)
    shifted[0] = 0.0
    rewards[0] = -1e8
    assert bound_after(policy, shifted) - 1e8 == pytest.approx(bound_after(policy, rewards), abs=1e-7)


def test_a_spread_whose_square_overflows_gives_an_infinite_index():
    policy, rewards = Lattimore(3, 0.7), np.random.default_rng(3).standard_normal(400)
    assert bound_after(policy, 1e150 * rewards) == pytest.approx(1e150 * bound_after(policy, rewards))
    assert bound_after(policy, 1e160 * rewards) == math.inf
