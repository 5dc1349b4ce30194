"""UCB1, Thompson sampling, epsilon-greedy, explore-then-commit, the baselines: exact small cases."""

import dataclasses
import json
import math
from fractions import Fraction

import numba
import numpy as np
import pytest
from scipy import stats

import brigand as br
import own_policy
from brigand.policies.base import NO_MEMORY
from brigand.policies.kernels import arithmetic, choices, randomness
from brigand.policies.randomised import thompson
from brigand.policies.ucb import ucb1
from strength import runs


def test_the_authors_ucb1_as_a_users_own_policy_gives_their_sequence(traces):
    assert np.array_equal(br.trace(own_policy.AuthorsUCB1(), traces["rewards"]), traces["UCB1"])


def test_a_users_own_policy_simulates_saves_and_loads(tmp_path):
    environment = br.random_environment("bernoulli", 3, 100, seed=1)
    results = br.simulate(environment, {"mine": own_policy.AuthorsUCB1(0.7)}, 100, 3)
    loaded = br.load(results.save(tmp_path / "x.nc"))
    assert loaded.policies == {"mine": own_policy.AuthorsUCB1(0.7)}


@pytest.mark.parametrize(
    ("policy", "width"), [(br.UCB1(0, 1), 1.0), (br.UCB1(-1, 3), 4.0), (br.UCB1(sigma=0.5), 0.5)]
)
def test_the_ucb1_index_by_hand(policy, width):
    parameters, state = policy.parameters(2, None), policy.start(2, None)
    for step, reward in enumerate([0.5, 0.25, 1.0], start=1):
        policy.kernels.pull(parameters, *state, 0)
        policy.kernels.learn(parameters, *state, 0, reward, step)
    expected = 1.75 / 3 + width * math.sqrt(2 * math.log(3) / 3)
    assert ucb1.index(parameters, *state, 0, None) == pytest.approx(expected, rel=1e-15)
    assert ucb1.index(parameters, *state, 1, None) == math.inf


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"low": 1, "high": 1}, "low < high, not low = 1 and high = 1"),
        ({"low": 0, "high": math.inf}, "high must be finite"),
        ({"sigma": 0}, "sigma must be > 0, not 0"),
        ({"low": 0, "high": 1, "sigma": 1}, "not both"),
    ],
)
def test_bad_settings_of_ucb1_are_refused(arguments, message):
    with pytest.raises(br.InvalidValueError, match=message):
        br.UCB1(**arguments)


@pytest.mark.parametrize("name", br.CATALOGUE)
def test_numbers_of_any_kind_are_kept_as_numbers_or_refused(name):
    policy = br.CATALOGUE[name]
    for field in dataclasses.fields(policy):
        value = getattr(policy, field.name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        kinds = [Fraction(value), np.float64(value)] if isinstance(value, float) else [np.int32(value)]
        for given in [*kinds, 10**25, 10**400] if math.isfinite(value) else [10**400]:
            try:
                found = dataclasses.replace(policy, **{field.name: given})
                found.start(3, 100)
                found.parameters(3, 100)
            except br.InvalidValueError:
                assert given > 1  # too large
                continue
            assert type(getattr(found, field.name)) in (int, float)
            assert given != value or found == policy
            assert type(found).from_json(json.loads(json.dumps(found.to_json()))) == found


def test_the_beta_posterior_counts_ones_and_zeros():
    policy = br.ThompsonBeta()
    parameters, state = policy.parameters(2, None), policy.start(2, None, key=5)
    for step, reward in enumerate([1.0, 0.0, 1.0, 1.0], start=1):
        policy.kernels.learn(parameters, *state, 1, reward, step)
    assert state.arms["successes"].tolist() == [0, 3]
    assert state.arms["failures"].tolist() == [0, 1]


def test_fractional_rewards_are_binarised_with_their_mean_and_whatever_the_order():
    """Many rewards of 0.3: binomial test at level 1e-5."""
    policy = br.ThompsonBeta()
    parameters = policy.parameters(1, None)
    forward, backward = policy.start(1, None, key=9), policy.start(1, None, key=9)
    steps = list(range(1, runs(5000, 20_000) + 1))
    for state, order in ((forward, steps), (backward, steps[::-1])):
        for step in order:
            policy.kernels.learn(parameters, *state, 0, 0.3, step)
    assert forward.arms.tolist() == backward.arms.tolist()
    ones = int(forward.arms["successes"][0])
    assert stats.binomtest(ones, len(steps), 0.3).pvalue > 1e-5


def test_uniform_at_is_philox_and_uniform():
    """The published test vector of Philox 4x32-10 at zero; Kolmogorov-Smirnov at level 1e-5."""
    assert randomness.uniform_at(0, 0) == ((0x6627E8D5 << 21) | (0xE169C58D >> 11)) * 2.0**-53
    for key in (0, 1, 2**63 - 1):
        draws = [randomness.uniform_at(key, step) for step in range(runs(5000, 20_000))]
        assert stats.kstest(draws, "uniform").pvalue > 1e-5
        assert stats.pearsonr(draws[1:], draws[:-1]).pvalue > 1e-5


def gaussian_state(policy, rewards):
    parameters, state = policy.parameters(1, None), policy.start(1, None)
    for step, reward in enumerate(rewards, start=1):
        policy.kernels.pull(parameters, *state, 0)
        policy.kernels.learn(parameters, *state, 0, reward, step)
    return parameters, state


@pytest.mark.parametrize(
    ("policy", "law"),
    [
        (br.ThompsonGaussian(2.0), lambda x: stats.norm(x.mean(), 2 / math.sqrt(len(x)))),
        (
            br.ThompsonGaussian(),
            lambda x: stats.t(len(x) - 3, x.mean(), math.sqrt(x.var() / (len(x) - 3))),
        ),
    ],
    ids=["known", "unknown"],
)
def test_gaussian_posteriors_have_their_distribution(policy, law):
    """Kolmogorov-Smirnov on 20,000 draws at level 1e-5."""
    rewards = np.random.default_rng(2).normal(3, 1.5, 7)
    parameters, state = gaussian_state(policy, rewards)
    rng = np.random.default_rng(8)
    draws = [thompson.gaussian_index(parameters, *state, 0, rng) for _ in range(20_000)]
    assert stats.kstest(draws, law(rewards).cdf).pvalue > 1e-5


def test_unknown_variance_pulls_every_arm_five_times_first():
    arms = br.trace(br.ThompsonGaussian(), np.random.default_rng(0).standard_normal((20, 4)))
    assert np.bincount(arms).tolist() == [5] * 4


def test_the_spread_does_not_overflow():
    _, state = gaussian_state(br.ThompsonGaussian(), [1e300, -1e300, 1e300, 0.0])
    rewards = np.array([1.0, -1.0, 1.0, 0.0])
    expected = 1e300 * math.sqrt(((rewards - rewards.mean()) ** 2).sum())
    assert state.arms["spread"][0] == pytest.approx(expected, rel=1e-12)


def explored(policy, horizon=2000, n_arms=5, seeds=20):
    """Return how often the greedy choice, arm 0, was not taken at each step, averaged over seeds."""
    rewards = np.tile([1.0] + [0.0] * (n_arms - 1), (horizon, 1))
    return np.mean([br.trace(policy, rewards, seed=s) != 0 for s in range(seeds)], axis=0)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("policy", "epsilon"),
    [
        (br.EpsilonGreedy(0.1), lambda t: np.full(t.shape, 0.1)),
        (br.EpsilonGreedy(), lambda t: t ** (-1 / 3)),
        (br.EpsilonGreedy(exponent=0.5), lambda t: t**-0.5),
        (br.EpsilonGreedy(c=2, d=0.5), lambda t: np.minimum(1, 2 * 5 / (0.25 * t))),
    ],
    ids=["constant", "cube root", "root", "gap"],
)
def test_epsilon_greedy_explores_at_its_rate(policy, epsilon):
    """The number of pulls of other arms is a sum of independent Bernoulli numbers: 4.5 sigma, level 7e-6."""
    seeds, steps = 20, np.arange(6, 2001)
    chance = 0.8 * epsilon(steps)  # the random arm is the greedy one in one case of five
    count = explored(policy, seeds=seeds)[5:].sum() * seeds
    sigma = math.sqrt(seeds * (chance * (1 - chance)).sum())
    assert abs(count - seeds * chance.sum()) < 4.5 * sigma


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"exponent": -1}, "exponent must be >= 0"),
        ({"c": 1}, "c and d together"),
        ({"exponent": 0.5, "c": 1, "d": 0.1}, "an exponent, or c and d together"),
        ({"epsilon": 0.5, "exponent": 0.1}, "takes an epsilon, or an exponent, or c and d"),
        ({"epsilon": 1.5}, r"epsilon must be in \[0, 1\]"),
        ({"c": 0, "d": 0.1}, "c must be > 0"),
        ({"c": 1, "d": 0}, r"d must be in \(0, 1\], not 0"),
        ({"c": 1, "d": 2}, "d must be in"),
    ],
)
def test_bad_settings_of_epsilon_greedy_are_refused(arguments, message):
    with pytest.raises(br.InvalidValueError, match=message):
        br.EpsilonGreedy(**arguments)


def test_etc_explores_in_turn_commits_once_and_freezes():
    """Arm 1 is best while exploring, and worst ever after."""
    rewards = np.tile([0.5, 0.9, 0.1], (100, 1))
    rewards[12:] = [0.5, -9.0, 5.0]
    arms = br.trace(br.ExploreThenCommit(4), rewards)
    assert sorted(arms[:3]) == [0, 1, 2]
    assert arms[:12].tolist() == arms[:3].tolist() * 4
    assert set(arms[12:]) == {1}


def test_etc_breaks_ties_uniformly():
    """Chi-square over 4000 seeds, level 1e-5."""
    rewards = np.full((6, 4), 0.5)
    arms = np.array(
        [br.trace(br.ExploreThenCommit(1), rewards, seed=seed) for seed in range(runs(1000, 4000))]
    )
    for step in (0, 1, 5):
        assert stats.chisquare(np.bincount(arms[:, step], minlength=4)).pvalue > 1e-5


def test_epsilon_greedy_meets_the_arms_in_random_order():
    """Chi-square over 4000 seeds, level 1e-5."""
    first = [
        br.trace(br.EpsilonGreedy(), np.full((1, 5), 0.5), seed=seed)[0] for seed in range(runs(1000, 4000))
    ]
    assert stats.chisquare(np.bincount(first, minlength=5)).pvalue > 1e-5


def test_etc_with_m_zero_is_refused():
    with pytest.raises(br.InvalidValueError, match="m must be >= 1, not 0"):
        br.ExploreThenCommit(0)


def test_the_quotient_is_rounded_once():
    rng = np.random.default_rng(0)
    for _ in range(300):
        x, m = rng.standard_normal() * 10.0 ** rng.integers(-300, 300), int(rng.integers(1, 1000))
        total = residue = 0.0
        for _ in range(m):
            total, lost = arithmetic.two_sum(total, x)
            residue += lost
        assert arithmetic.quotient(total, residue, m) == x
        exact = Fraction(total) + Fraction(residue)
        assert arithmetic.quotient(total, residue, 7 * m) == float(exact / (7 * m))


def test_the_hypotenuse_has_the_same_bits_compiled_and_does_not_overflow():
    compiled = numba.njit(error_model="numpy")(arithmetic.hypotenuse)
    rng = np.random.default_rng(0)
    pairs = rng.random((3000, 2)) * 10.0 ** rng.integers(-307, 308, (3000, 1))
    for a, b in [*pairs, (0.0, 0.0), (0.0, 1e300), (1e300, 1e-300), (math.inf, 1.0), (math.inf, math.inf)]:
        value = arithmetic.hypotenuse(a, b)
        assert compiled(a, b) == value
        assert value == pytest.approx(math.hypot(a, b), rel=1e-15)


def test_the_oracle_follows_the_breakpoints():
    environment = br.Environment.piecewise(
        [[br.Bernoulli(0.1), br.Bernoulli(0.9)], [br.Bernoulli(0.8), br.Bernoulli(0.2)]], starts=[1, 5]
    )
    arms = br.trace(br.oracle().informed(environment), np.zeros((8, 2)))
    assert arms.tolist() == [1, 1, 1, 1, 0, 0, 0, 0]


def test_the_oracle_keeps_to_the_candidates_and_to_its_number_of_arms():
    oracle = br.oracle().informed(br.Environment.stationary([br.Bernoulli(p) for p in (0.1, 0.5, 0.9)]))
    parameters, state = oracle.parameters(3, None), oracle.start(3, None)
    rng = np.random.default_rng(0)
    assert oracle.kernels.select(parameters, *state, np.array([0, 1]), rng) == 1
    with pytest.raises(br.InvalidValueError, match="this oracle knows 3 arms, not 2"):
        br.trace(oracle, np.zeros((8, 2)))


def test_an_oracle_without_an_environment_is_refused():
    with pytest.raises(br.InvalidValueError, match="an oracle knows an environment"):
        br.trace(br.oracle(), np.zeros((8, 2)))


def test_the_least_recently_pulled_of_untouched_arms_is_the_first():
    arms = np.zeros(3, [("last", int)])
    assert choices.least_recently_pulled(arms, np.arange(3)) == 0
    arms["last"] = [5, 2, 9]
    assert choices.least_recently_pulled(arms, np.arange(3)) == 1
    assert choices.least_recently_pulled(arms, np.array([0, 2])) == 0


def test_argmax_takes_each_of_equals_equally_often():
    """Chi-square at level 1e-5; the index of arm 1 is lower."""
    arms = np.zeros(4, [("mean", float)])
    arms["mean"] = [2, 1, 2, 2]

    def index(parameters, header, arms, memory, arm, rng):
        return arms[arm]["mean"]

    rng = np.random.default_rng(0)
    chosen = [choices.argmax(index, None, None, arms, NO_MEMORY, np.arange(4), rng) for _ in range(9000)]
    counts = np.bincount(chosen, minlength=4)
    assert counts[1] == 0
    assert stats.chisquare(counts[[0, 2, 3]]).pvalue > 1e-5


def test_means_of_the_largest_rewards_are_known():
    """Beyond 1.3e300 the splitting in `quotient` overflows, beside a residue."""
    arms = br.UCB1().start(1, None).arms
    for reward in (1.5e300, 1.7e300, 1.1e300):
        arithmetic.learn_mean(arms, 0, reward)
    assert arms["residue"][0] != 0.0
    assert arms["mean"][0] == pytest.approx(4.3e300 / 3, rel=1e-15)
    assert arithmetic.quotient(3e301, 1e280, 3) == 1e301


@pytest.mark.parametrize("policy", [br.UCB1, br.ThompsonBeta, br.KLUCB, br.MOSS, br.NPTS])
def test_a_range_whose_length_overflows_is_refused(policy):
    with pytest.raises(br.InvalidValueError, match=r"needs high - low to be finite, not 1\.5e\+308 - -1\.5"):
        policy(low=-1.5e308, high=1.5e308)


@pytest.mark.parametrize(
    "policy",
    [
        br.BestArmETC(np.float32(0.3), np.float32(7)),
        br.EmpiricalVarianceUCB(np.float32(20), np.int64(3), np.float32(0.3)),
        br.ExploreThenCommit(np.int64(3)),
        br.ExtendedRobustUCB(np.int64(4), np.float32(1.7), np.float32(3.3), np.float32(0.3)),
        br.FixedBudgetETC(np.float32(0.3), np.float32(0.7)),
        br.GIRO(np.float32(0.3)),
        br.Lattimore(np.float32(3.3), np.float32(0.7)),
        br.MultinomialTS(np.int64(7)),
        br.PHE(np.float32(1.1)),
        br.ReBoot(np.float32(0.3)),
        br.RobustUCB("median", np.float32(0.3), v=np.float32(0.7)),
        br.RobustUCB("truncated", np.float32(0.3), u=np.float32(0.7)),
        br.SequentialETC(np.float32(0.3), np.float32(0.7)),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_settings_are_kept_as_plain_numbers(policy):
    again = br.Policy.from_json(policy.to_json())
    assert again == policy
    assert {type(value) for value in vars(policy).values()}.isdisjoint({np.float32, np.int64})
    assert {type(number) for number in policy.parameters(2, 100)} <= {int, float}
    assert again.parameters(2, 100) == policy.parameters(2, 100)


@pytest.mark.parametrize("name", br.CATALOGUE)
def test_policies_that_need_the_horizon_say_so(name):
    policy = br.CATALOGUE[name]
    try:
        policy.parameters(2, None)
        policy.start(2, None)
    except br.InvalidValueError:
        assert "T" in policy.must_know.replace(",", "").split() or name == "Oracle"
