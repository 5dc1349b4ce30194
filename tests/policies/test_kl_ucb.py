"""KL-UCB, KL-UCB++ and SW-KL-UCB: the definition step by step, and the identities between them."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

import brigand as br
from brigand.errors import UnsupportedRewardError
from brigand.policies import kl_ucb, kl_ucb_plus_plus
from brigand.policies.kl_ucb import KLUCB, SlidingWindowKLUCB
from brigand.policies.kl_ucb_plus_plus import KLUCBPlusPlus

POLICIES = [KLUCB(), KLUCBPlusPlus(), SlidingWindowKLUCB(150)]
FAMILIES = [("bernoulli", 1.0), ("gaussian", 0.3), ("exponential", 1.0), ("poisson", 1.0)]


def told(policy, rewards, n_arms=2, horizon=1000):
    """Return the state after these rewards of arm 0."""
    parameters, state = policy.parameters(n_arms, horizon), policy.start(n_arms, horizon)
    for step, reward in enumerate(rewards, start=1):
        policy.kernels.pull(parameters, *state, 0)
        policy.kernels.learn(parameters, *state, 0, reward, step)
    return parameters, state


def d(kind, p, q, sigma):
    if kind == "bernoulli":
        first = p * math.log(p / q) if p > 0 else 0.0
        return first + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)
    if kind == "gaussian":
        return (p - q) ** 2 / (2 * sigma**2)
    return p / q - 1 - math.log(p / q) if kind == "exponential" else q - p + p * math.log(p / q)


def upper(kind, mean, bound, sigma):
    """Return the largest q by scipy, from the definition."""
    far = 1 - 1e-12 if kind == "bernoulli" else mean + 1
    while kind != "bernoulli" and d(kind, mean, far, sigma) < bound:
        far *= 2
    if d(kind, mean, far, sigma) <= bound:
        return far
    return optimize.brentq(lambda q: d(kind, mean, q, sigma) - bound, mean, far, xtol=1e-14)


def assert_follows(policy, rewards, index, first=True):
    """The policy pulls an arm with the largest `index` (of the pulls so far); late steps are sampled."""
    n_arms = rewards.shape[1]
    arms = br.trace(policy, rewards)
    assert not first or sorted(arms[:n_arms]) == list(range(n_arms))
    history = [(int(arm), rewards[t, arm]) for t, arm in enumerate(arms)]
    for t in [*range(n_arms, 60), *range(60, len(arms), 4)]:
        values = [index(history[:t], k) for k in range(n_arms)]
        assert values[arms[t]] >= max(values) - 1e-9, t


def positive_rewards(kind, steps=300):
    rng = np.random.default_rng(4)
    if kind == "bernoulli":
        return rng.beta([0.6, 1.0, 1.5, 2.0], 1.2, (steps, 4))
    return rng.gamma(2.0, [0.2, 0.3, 0.4, 0.5], (steps, 4))


@pytest.mark.parametrize("c", [0.0, 3.0])
@pytest.mark.parametrize(("kind", "sigma"), FAMILIES)
def test_kl_ucb_follows_its_definition(kind, sigma, c):
    def index(history, arm):
        rewards = [x for a, x in history if a == arm]
        log = math.log(len(history))
        level = log + c * max(0.0, math.log(log))
        return upper(kind, sum(rewards) / len(rewards), level / len(rewards), sigma)

    assert_follows(KLUCB(kind, c, sigma), positive_rewards(kind), index)


@pytest.mark.parametrize(("kind", "sigma"), FAMILIES)
def test_kl_ucb_plus_plus_follows_its_definition(kind, sigma):
    def log_plus(x):
        return max(0.0, math.log(x))

    def index(history, arm):
        rewards = [x for a, x in history if a == arm]
        y = 300 / (4 * len(rewards))
        bound = log_plus(y * (1 + log_plus(y) ** 2)) / len(rewards)
        mean = sum(rewards) / len(rewards)
        return upper(kind, mean, bound, sigma) if bound > 0 else mean

    assert_follows(KLUCBPlusPlus(kind, sigma), positive_rewards(kind), index)


@pytest.mark.parametrize("window", [1, 3, 40])
@pytest.mark.parametrize(("kind", "sigma"), FAMILIES)
def test_sw_kl_ucb_follows_its_definition(kind, sigma, window):
    def index(history, arm):
        rewards = [x for a, x in history[-window:] if a == arm]
        if not rewards:
            return math.inf
        level = math.log(min(len(history), window))
        mean = sum(rewards) / len(rewards)
        return upper(kind, mean, level / len(rewards), sigma) if level > 0 else mean

    policy = SlidingWindowKLUCB(window, kind, 0.0, sigma)
    assert_follows(policy, positive_rewards(kind, 200), index, first=window > 3)


def test_the_index_by_hand():
    parameters, state = told(KLUCB(), [1.0, 0.0, 0.0, 0.0])
    value = kl_ucb.index(parameters, state.header, state.arms, 0)
    assert 4 * d("bernoulli", 0.25, value, 1) == pytest.approx(math.log(4), rel=1e-12)
    assert kl_ucb.index(parameters, state.header, state.arms, 1) == math.inf
    parameters, state = told(KLUCB("gaussian", 3, 2), [1.0, 3.0, 5.0])
    level = math.log(3) + 3 * math.log(math.log(3))
    expected = 3 + 2 * math.sqrt(2 * level / 3)
    assert kl_ucb.index(parameters, state.header, state.arms, 0) == pytest.approx(expected, rel=1e-14)
    parameters, state = told(KLUCBPlusPlus("gaussian"), [1.0, 3.0], 5, 100)
    expected = 2 + math.sqrt(math.log(10 * (1 + math.log(10) ** 2)))
    assert kl_ucb_plus_plus.index(parameters, *state, 0, None) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(("kind", "sigma"), FAMILIES)
@pytest.mark.parametrize("c", [0.0, 3.0])
def test_a_window_of_the_horizon_is_no_window(kind, sigma, c, rewards01):
    tables = [positive_rewards(kind)]
    if kind != "exponential":
        tables.append(rewards01)
    for rewards in tables:
        expected, horizon = played(KLUCB(kind, c, sigma), rewards), len(rewards)
        for window in (horizon, 10 * horizon):
            policy = SlidingWindowKLUCB(window, kind, c, sigma)
            assert np.array_equal(played(policy, rewards), expected)
        shorter = SlidingWindowKLUCB(horizon // 4, kind, c, sigma)
        assert not np.array_equal(played(shorter, rewards), expected)


def played(policy, rewards):
    """Return the arms pulled, with one generator for all policies."""
    parameters, state = policy.parameters(4, len(rewards)), policy.start(4, len(rewards))
    rng, arms = np.random.default_rng(5), []
    for step in range(1, len(rewards) + 1):
        arm = policy.kernels.select(parameters, *state, np.arange(4), rng)
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, rewards[step - 1, arm], step)
        arms.append(arm)
    return arms


@pytest.mark.parametrize("policy", [KLUCB(), KLUCB("poisson"), SlidingWindowKLUCB(60)], ids=repr)
def test_passing_arms_over_changes_no_choice(policy, rewards01):
    """The choice is that of `kernels.argmax` over all indices."""
    parameters, state = policy.parameters(4, 400), policy.start(4, 400)
    rng = np.random.default_rng(0)
    for step in range(1, 401):
        arm = policy.kernels.select(parameters, *state, np.arange(4), rng)
        values = np.array([kl_ucb.index(parameters, state.header, state.arms, k) for k in range(4)])
        best = np.flatnonzero(values == values.max())
        assert arm in best
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, rewards01[step - 1, arm], step)


def test_ties_are_broken_uniformly():
    """Chi-square at level 1e-5: arms 0, 1 and 3 have the same rewards, arm 2 is worse."""
    policy = KLUCB()
    parameters, state = policy.parameters(4, 100), policy.start(4, 100)
    for arm, reward in enumerate([0.6, 0.6, 0.1, 0.6]):
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, reward, arm + 1)
    rng = np.random.default_rng(0)
    chosen = [policy.kernels.select(parameters, *state, np.arange(4), rng) for _ in range(6000)]
    counts = np.bincount(chosen, minlength=4)
    assert counts[2] == 0
    assert stats.chisquare(counts[[0, 1, 3]]).pvalue > 1e-5


@pytest.mark.parametrize(
    "policy",
    [
        *POLICIES,
        KLUCB(c=3),
        *(KLUCB(kind, 0, sigma) for kind, sigma in FAMILIES[1:]),
        *(KLUCBPlusPlus(kind, sigma) for kind, sigma in FAMILIES[1:]),
        *(SlidingWindowKLUCB(50, kind, 1, sigma) for kind, sigma in FAMILIES[1:]),
    ],
    ids=repr,
)
def test_compiled_equals_plain_python(policy, rewards01):
    tables = [rewards01[:300], np.random.default_rng(1).random((300, 4))]
    if policy.divergence == "gaussian":
        tables.append(np.random.default_rng(2).normal([0, 1, 2, 3], 2, (300, 4)))
    for rewards in tables:
        compiled = br.trace(policy, rewards, seed=3)
        assert np.array_equal(compiled, br.trace(policy, rewards, seed=3, compiled=False))


@pytest.mark.parametrize(
    "policy",
    [*POLICIES[:2], SlidingWindowKLUCB(500), KLUCB("gaussian", sigma=0.5), KLUCB("poisson"), KLUCB(c=3)],
    ids=repr,
)
def test_it_learns(policy):
    """Uniform pulls have a regret of 400."""
    environment = br.Environment.stationary([br.Bernoulli(0.3), br.Bernoulli(0.7)])
    results = br.simulate(environment, {"it": policy}, 2000, 200)
    assert results.summary().loc["it", "mean"] < 60


def test_the_window_follows_a_change():
    """Measured: a regret of 86 with the window, of 450 without."""
    phases = [[br.Bernoulli(0.1), br.Bernoulli(0.6)], [br.Bernoulli(0.9), br.Bernoulli(0.6)]]
    environment = br.Environment.piecewise(phases, starts=[1, 3001])
    policies = {"SW": SlidingWindowKLUCB(400), "all": SlidingWindowKLUCB(6000)}
    means = br.simulate(environment, policies, 6000, 50).summary()["mean"]
    assert means["SW"] < 0.5 * means["all"]


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_late_and_shuffled_rewards(policy):
    parameters, state = policy.parameters(3, 600), policy.start(3, 600)
    rng, waiting, learnt = np.random.default_rng(0), [], 0
    for step in range(1, 601):
        arm = policy.kernels.select(parameters, *state, np.arange(3), rng)
        policy.kernels.pull(parameters, *state, arm)
        waiting.append((arm, float(rng.random() < [0.2, 0.5, 0.8][arm]), step))
        while waiting and rng.random() < 0.6:
            policy.kernels.learn(parameters, *state, *waiting.pop(rng.integers(len(waiting))))
            learnt += 1
    if isinstance(policy, SlidingWindowKLUCB):
        assert state.arms["pulls"].sum() == 150
        assert state.arms["count"].sum() <= 150
    else:
        assert state.arms["pulls"].sum() == 600
        assert state.arms["count"].sum() == learnt
    assert np.argmax(state.arms["pulls"]) == 2


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_an_arm_whose_rewards_never_arrive_does_not_catch_the_policy(policy):
    parameters, state = policy.parameters(3, 2000), policy.start(3, 2000)
    rng, pulls = np.random.default_rng(0), np.zeros(3, int)
    for step in range(1, 2001):
        arm = policy.kernels.select(parameters, *state, np.arange(3), rng)
        policy.kernels.pull(parameters, *state, arm)
        pulls[arm] += 1
        if arm != 2:
            policy.kernels.learn(parameters, *state, arm, float(rng.random() < [0.2, 0.8][arm]), step)
    assert pulls[2] < 100
    assert pulls[1] > 1000


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_candidates_are_respected(policy):
    parameters, state = policy.parameters(5, 400), policy.start(5, 400)
    rng = np.random.default_rng(0)
    for step in range(1, 401):
        candidates = np.sort(rng.choice(5, rng.integers(1, 6), replace=False))
        arm = policy.kernels.select(parameters, *state, candidates, rng)
        assert arm in candidates
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, rng.random(), step)


@pytest.mark.parametrize("policy", [*POLICIES, SlidingWindowKLUCB(1), SlidingWindowKLUCB(7)], ids=repr)
def test_small_and_constant_tables(policy):
    assert br.trace(policy, [[0.5]], compiled=False).tolist() == [0]
    assert br.trace(policy, np.full((20, 1), 0.5), compiled=False).tolist() == [0] * 20
    for value in (0.0, 0.3, 1.0):
        arms = br.trace(policy, np.full((200, 3), value), compiled=False)
        assert set(arms) == {0, 1, 2}


@pytest.mark.parametrize("kind", ["gaussian", "exponential", "poisson"])
def test_huge_rewards(kind):
    for policy in (KLUCB(kind), KLUCBPlusPlus(kind), SlidingWindowKLUCB(20, kind)):
        rewards = 1e150 * np.random.default_rng(0).random((200, 3)) * [1, 2, 3]
        plain = br.trace(policy, rewards, compiled=False)
        assert np.array_equal(plain, br.trace(policy, rewards))
        assert set(plain) == {0, 1, 2}


def test_another_range_is_rescaled(rewards01):
    for policy in (KLUCB, KLUCBPlusPlus):
        arms = played(policy(low=-1, high=3), 4 * rewards01 - 1)
        assert np.array_equal(arms, played(policy(), rewards01))


def test_rewards_outside_of_the_support_are_refused():
    for kind in ("bernoulli", "exponential", "poisson"):
        with pytest.raises(UnsupportedRewardError, match="KLUCB needs rewards in"):
            br.trace(KLUCB(kind), [[-0.5, 0.5]])
    with pytest.raises(UnsupportedRewardError):
        br.trace(KLUCB(), [[1.5, 0.5]])


@pytest.mark.parametrize("cls", [KLUCB, KLUCBPlusPlus, lambda **kw: SlidingWindowKLUCB(9, **kw)])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"divergence": "gamma"}, "divergence must be one of bernoulli, gaussian, exponential, poisson"),
        ({"divergence": ["gaussian"]}, r"not \['gaussian'\]"),
        ({"divergence": "gaussian", "sigma": 0}, "sigma must be > 0, not 0"),
        ({"sigma": 2}, "sigma = 2.0 needs divergence = 'gaussian'"),
        ({"divergence": "poisson", "high": 2}, "low and high need divergence = 'bernoulli'"),
        ({"low": 1}, "low < high"),
    ],
)
def test_bad_settings(cls, arguments, message):
    with pytest.raises(br.InvalidValueError, match=message):
        cls(**arguments)


def test_bad_settings_of_one_policy_and_the_horizon():
    with pytest.raises(br.InvalidValueError, match="KLUCB's c must be >= 0"):
        KLUCB(c=-1)
    with pytest.raises(br.InvalidValueError, match="window must be"):
        SlidingWindowKLUCB(0)
    with pytest.raises(br.InvalidValueError, match="SlidingWindowKLUCB's c must be >= 0"):
        SlidingWindowKLUCB(5, c=-1)
    with pytest.raises(br.InvalidValueError, match="KLUCBPlusPlus needs the horizon"):
        KLUCBPlusPlus().parameters(3, None)


def test_json_and_descriptions():
    for policy in [*POLICIES, KLUCB("gaussian", 3, 2), SlidingWindowKLUCB(9, "poisson")]:
        assert type(policy).from_json(policy.to_json()) == policy
    assert KLUCB("gaussian").must_know == "the family of rewards, sigma"
    assert KLUCBPlusPlus().must_know == "the range [0, 1], T"
    assert SlidingWindowKLUCB(9).memory_cost == "O(K + window)"
    assert KLUCB("gaussian").reward_support == (-math.inf, math.inf)
