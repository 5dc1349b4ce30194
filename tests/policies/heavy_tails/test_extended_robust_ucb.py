"""Extended robust UCB (our reconstruction): the index from its definition; Lattimore's as a special case."""

import math

import numpy as np
import pytest
from scipy import optimize

import brigand as br
from brigand.policies.heavy_tails import extended_robust_ucb, lattimore
from brigand.policies.heavy_tails.extended_robust_ucb import ExtendedRobustUCB
from brigand.policies.heavy_tails.lattimore import Lattimore
from policies.play import regret

EXACT = ExtendedRobustUCB(4, 2, 3)
HEURISTIC = ExtendedRobustUCB(3, 1.5, 2, 0.01)
POLICIES = [EXACT, HEURISTIC, ExtendedRobustUCB(4, 2, 3, 0.05), ExtendedRobustUCB(2, 1.8, 1.5, 1e-15)]


def blocks(x, log):
    k = max(1, math.floor(min(8 * log, len(x) / 2)))
    return x[: k * (len(x) // k)].reshape(k, -1)


def gap(policy, x, log, theta):
    """Return theta minus the right-hand side of the rule."""
    p, q, share = policy.p, policy.q, policy.c * log / len(x)
    r = min(p / q, 2)
    factor = math.sqrt(12 * (policy.C - 1)) if (p, q) == (4, 2) else (24 * policy.C) ** (1 / r)
    denominator = 1 - factor * share ** ((r - 1) / r)
    if denominator <= 0:
        return -math.inf
    b = blocks(x, log)
    v = np.median((np.abs(b - theta) ** q).mean(axis=1)) / denominator
    return theta - np.median(b.mean(axis=1)) - (12 * v) ** (1 / q) * share ** ((q - 1) / q)


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


@pytest.mark.every(4)
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@pytest.mark.parametrize("noise", ["normal", "heavy"])
def test_every_index_and_choice_follow_the_definition(policy, noise):
    rng = np.random.default_rng(4)
    table = rng.standard_normal((150, 3)) if noise == "normal" else rng.standard_t(2.5, (150, 3))
    rewards = np.array([0.1, 0.4, 0.6]) + 0.4 * table
    parameters, state = policy.parameters(3, 150), policy.start(3, 150)
    seen = [[], [], []]
    for step in range(1, 151):
        expected = [reference(policy, np.array(x), step) for x in seen]
        found = [extended_robust_ucb.index(parameters, *state, k, rng) for k in range(3)]
        assert found == pytest.approx(expected, rel=1e-10)
        arm = policy.kernels.select(parameters, *state, np.arange(3), rng)
        assert expected[arm] >= max(expected) - 1e-9
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, rewards[step - 1, arm], step)
        seen[arm].append(rewards[step - 1, arm])
    assert policy is EXACT or math.isfinite(found[0])


@pytest.mark.parametrize(("c", "steps"), [(16.0, 40), (0.05, 150)])
def test_with_p_4_and_q_2_it_is_lattimores_rule(c, steps):
    """C1^2 = 12 c."""
    one, other = ExtendedRobustUCB(4, 2, 2.5, c), Lattimore(2.5, math.sqrt(12 * c))
    first, second = one.parameters(1, steps), other.parameters(1, steps)
    assert first.least == pytest.approx(second.least, rel=1e-9)
    a, b = one.start(1, steps), other.start(1, steps)
    for step, reward in enumerate(np.random.default_rng(0).exponential(size=steps), start=1):
        for policy, parameters, state in ((one, first, a), (other, second, b)):
            policy.kernels.pull(parameters, *state, 0)
            policy.kernels.learn(parameters, *state, 0, float(reward), step)
        x = extended_robust_ucb.index(first, *a, 0, None)
        assert x == pytest.approx(lattimore.index(second, *b, 0, None), rel=1e-11)


def test_the_index_by_hand():
    """Two blocks 0 0 and 1 1, q = 1.5: the median is the middle of theta^1.5 and |theta - 1|^1.5."""
    policy = ExtendedRobustUCB(3, 1.5, 1, 1e-6)
    parameters, state = policy.parameters(1, 9), policy.start(1, 9)
    for step, reward in enumerate([0.0, 0.0, 1.0, 1.0], start=1):
        policy.kernels.pull(parameters, *state, 0)
        policy.kernels.learn(parameters, *state, 0, reward, step)
    theta = extended_robust_ucb.index(parameters, *state, 0, None)
    share = 1e-6 * (1 / 8 + math.log(25 * math.log(6))) / 4
    v = (theta**1.5 + (1 - theta) ** 1.5) / 2 / (1 - math.sqrt(24) * math.sqrt(share))
    assert 0.5 < theta < 1
    assert theta == pytest.approx(0.5 + (12 * v) ** (1 / 1.5) * share ** (0.5 / 1.5), rel=1e-13)


@pytest.mark.parametrize("policy", [*POLICIES, ExtendedRobustUCB(1.011, 1.01, 5)], ids=repr)
def test_the_number_of_pulls_for_a_finite_index(policy):
    """At n = least L the slope far out is 1: 12 y^(q-1) + factor y^((r-1)/r) = 1 with y = c / least."""
    parameters = policy.parameters(2, 100)
    if policy.q == 1.01:
        assert parameters.least == math.inf
        return
    y = parameters.c / parameters.least
    assert 12 * y ** (policy.q - 1) + parameters.factor * y**parameters.exponent == pytest.approx(1, abs=1e-9)


@pytest.mark.full
def test_the_heuristic_finds_the_better_arm():
    """Random pulls cost 100. 20 runs."""
    environment = br.Environment.stationary([br.Bernoulli(0.3), br.Bernoulli(0.7)])
    policy = ExtendedRobustUCB(4, 2, 1.8, 0.02)
    assert regret(environment, policy, 500, 20, seed=2)[:, -1].mean() < 40


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((4, 1, 3), r"q must be in \(1, 2\], not 1"),
        ((4, 2.5, 3), r"q must be in \(1, 2\], not 2.5"),
        ((2, 2, 3), "needs p > q, not p = 2 and q = 2"),
        ((4, 2, 0.5), "C must be >= 1, not 0.5"),
        ((4, 2, 3, 0), "c must be > 0, not 0"),
    ],
)
def test_bad_settings_are_refused_by_name(arguments, message):
    with pytest.raises(br.InvalidValueError, match=message):
        ExtendedRobustUCB(*arguments)


def test_the_horizon_is_needed():
    with pytest.raises(br.InvalidValueError, match="ExtendedRobustUCB needs the horizon"):
        EXACT.start(2, None)


@pytest.mark.every(4)
@pytest.mark.parametrize("policy", [ExtendedRobustUCB(4, 2, 3, 0.04), ExtendedRobustUCB(3, 1.5, 2, 0.005)])
@pytest.mark.parametrize("place", [0, 200])
@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e100])
def test_an_outlier_of_any_size_spoils_its_own_block_alone(policy, place, scale):
    """As one of 1e3 does. In units of the largest reward, ordinary ones beside 1e300 had no squares."""
    found = []
    for outlier in (1e3, 1e9, 1e150, 1e160, 1e300):
        parameters, state = policy.parameters(1, 400), policy.start(1, 400)
        for step, reward in enumerate(np.random.default_rng(3).standard_normal(400), start=1):
            policy.kernels.pull(parameters, *state, 0)
            paid = min(outlier, 1e300 / scale) if step == place + 1 else reward
            policy.kernels.learn(parameters, *state, 0, float(paid * scale), step)
        found.append(extended_robust_ucb.index(parameters, *state, 0, None) / scale)
    assert found == pytest.approx([found[0]] * 5, rel=1e-12)
    assert 0.1 < found[0] < 0.4
