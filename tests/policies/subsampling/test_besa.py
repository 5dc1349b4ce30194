"""BESA: the laws of its sub-samples and its tournament, exact small cases, and the published regrets."""

import math
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy import stats

import brigand as br
from brigand.policies.subsampling import besa, samples
from brigand.policies.subsampling.besa import BESA
from policies.play import regret
from strength import runs


def taught(histories, key=0, policy=None):
    """Return the parameters and the state after these rewards of each arm."""
    policy = policy or BESA()
    size = sum(len(rewards) for rewards in histories)
    parameters, state = policy.parameters(len(histories), size), policy.start(len(histories), size, key)
    for arm, rewards in enumerate(histories):
        for reward in rewards:
            policy.kernels.pull(parameters, *state, arm)
            policy.kernels.learn(parameters, *state, arm, reward, 1)
    return parameters, state


@pytest.mark.parametrize(
    ("ones", "zeros", "draws"),
    [(3, 5, 4), (1, 9, 3), (9, 1, 10), (6, 0, 2), (0, 6, 2), (40, 60, 1), (700, 300, 200), (50_000, 3, 90)],
)
def test_hypergeometric_has_its_distribution(ones, zeros, draws):
    """Exact: equally spaced uniform numbers hit each value by its probability, to their spacing."""
    grid = (np.arange(20_000) + 0.5) / 20_000
    values = np.array([samples.hypergeometric(ones, zeros, draws, u) for u in grid])
    support = np.arange(draws + 1)
    share = np.bincount(values, minlength=draws + 1) / len(grid)
    expected = stats.hypergeom(ones + zeros, ones, draws).pmf(support)
    assert share == pytest.approx(expected, abs=1.01e-4)


@pytest.mark.parametrize(("count", "size"), [(5, 1), (5, 2), (5, 4), (6, 3)])
def test_every_subset_is_equally_likely(count, size):
    """Rewards 1, 2, 4, ...: a sum tells the subset. Chi-square at level 1e-5."""
    _, state = taught([[2.0**i for i in range(count)]])
    rng = np.random.default_rng(count + size)
    sums = [samples.subsample_sum(state.memory, 0, count, size, rng.random())[0] for _ in range(6000)]
    subsets = [sum(2.0**i for i in c) for c in combinations(range(count), size)]
    counts = [sums.count(s) for s in subsets]
    assert sum(counts) == 6000
    assert stats.chisquare(counts).pvalue > 1e-5


def test_the_closed_form_has_the_distribution_of_the_draws():
    """Two-sample chi-square at level 1e-5: 8 of 20 rewards, 12 of them ones."""
    _, state = taught([[1.0] * 12 + [0.0] * 8])
    rng = np.random.default_rng(0)
    drawn = [int(samples.subsample_sum(state.memory, 0, 20, 8, rng.random())[0]) for _ in range(5000)]
    closed = [samples.hypergeometric(12, 8, 8, rng.random()) for _ in range(5000)]
    table = np.array([np.bincount(x, minlength=9) for x in (drawn, closed)])
    assert stats.chi2_contingency(table[:, table.sum(axis=0) > 10]).pvalue > 1e-5


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([1.0, 0.0], [0.0, 1.0, 1.0], {0: 2 / 3, 1: 1 / 3}),  # two ones in one case of three; a tie is a's
        ([0.5], [0.2, 0.5, 0.9], {0: 2 / 3, 1: 1 / 3}),
        ([0.3, 0.0], [0.1, 0.2], {0: 0.5, 1: 0.5}),  # decimals tie as decimals: a coin
        ([0.3, 0.1], [0.1, 0.2], {0: 1.0}),
    ],
)
def test_comparisons_by_hand(a, b, expected):
    """Shares over 3000 duels within 4.5 standard errors."""
    _, state = taught([a, b])
    rng = np.random.default_rng(3)
    won = [besa.winner(state.arms, state.memory, 0, 1, rng.random(), rng.random()) for _ in range(3000)]
    for arm, chance in expected.items():
        assert abs(won.count(arm) - 3000 * chance) <= 4.5 * math.sqrt(3000 * chance * (1 - chance))


def test_a_waiting_arm_loses_and_two_of_them_go_by_pulls():
    policy = BESA()
    parameters, state = policy.parameters(3, 10), policy.start(3, 10)
    for arm in (0, 1, 1, 2):
        policy.kernels.pull(parameters, *state, arm)
    policy.kernels.learn(parameters, *state, 2, -9.0, 4)
    for pair, arm in (((0, 2), 2), ((2, 1), 2), ((0, 1), 0), ((1, 0), 0)):
        assert besa.winner(state.arms, state.memory, *pair, 0.3, 0.3) == arm


@pytest.mark.parametrize("n_arms", [2, 3, 4, 5])
def test_the_tournament_is_a_shuffled_knockout(n_arms):
    """The best always wins; equals are equally likely to win, byes included. Chi-square at level 1e-5."""
    _, state = taught([[float(k)] * 10 for k in range(n_arms)])
    rng = np.random.default_rng(1)
    arms = np.arange(n_arms)
    assert {besa.tournament(state.arms, state.memory, arms, rng) for _ in range(50)} == {n_arms - 1}
    assert arms.tolist() == list(range(n_arms))
    _, state = taught([[0.5] * 10] * n_arms)
    won = [besa.tournament(state.arms, state.memory, arms, rng) for _ in range(4000)]
    assert stats.chisquare(np.bincount(won, minlength=n_arms)).pvalue > 1e-5


def knockout_law(histories):
    """Return each arm's chance to win, by enumeration of orders and sub-samples."""

    def beats(a, b):
        short, long = sorted((a, b), key=lambda k: len(histories[k]))
        n = len(histories[short])
        draws = list(combinations(histories[long], n))
        sums = [sum(histories[short]) - sum(draw) for draw in draws]
        tie = 0.5 if len(histories[long]) == n else 1.0
        chance = sum((s > 0) + tie * (s == 0) for s in sums) / len(sums)
        return chance if short == a else 1 - chance

    def law(order):
        if len(order) == 1:
            return {order[0]: 1.0}
        result = {}
        pairs = [order[i : i + 2] for i in range(0, len(order), 2)]
        outcomes = [(1.0, ())]
        for pair in pairs:
            if len(pair) == 1:
                outcomes = [(p, (*w, pair[0])) for p, w in outcomes]
            else:
                q = beats(*pair)
                outcomes = [
                    (p * r, (*w, x)) for p, w in outcomes for x, r in ((pair[0], q), (pair[1], 1 - q))
                ]
        for p, winners in outcomes:
            for arm, q in law(winners).items():
                result[arm] = result.get(arm, 0.0) + p * q
        return result

    orders = list(permutations(range(len(histories))))
    total = np.zeros(len(histories))
    for order in orders:
        for arm, p in law(order).items():
            total[arm] += p / len(orders)
    return total


@pytest.mark.parametrize("bits", [False, True])
def test_choices_have_the_distribution_of_the_definition(bits):
    """Chi-square at level 1e-5, against all orders and sub-samples."""
    n = runs(2500, 6000)
    histories = [[0.75], [0.5, 1.0, 0.25], [0.25, 0.5], [0.5, 0.25, 0.75, 1.0], [0.125, 0.75]]
    if bits:
        histories = [[1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 0.0, 1.0], [0.0, 1.0], [1.0, 1.0, 0.0, 0.0, 1.0]]
    parameters, state = taught(histories)
    rng = np.random.default_rng(5)
    chosen = [BESA().kernels.select(parameters, *state, np.arange(5), rng) for _ in range(n)]
    law = knockout_law(histories)
    possible = law > 0
    counts = np.bincount(chosen, minlength=5)
    assert counts[~possible].sum() == 0
    assert stats.chisquare(counts[possible], n * law[possible]).pvalue > 1e-5


@pytest.mark.parametrize("n0", [1, 3])
def test_initial_pulls_fewest_first(n0):
    arms = br.trace(BESA(n0), np.random.default_rng(0).standard_normal((4 * n0, 4)), seed=2)
    assert all(sorted(arms[4 * i : 4 * i + 4]) == [0, 1, 2, 3] for i in range(n0))


@pytest.mark.full
@pytest.mark.parametrize(
    ("laws", "mean", "sd"),
    [
        ((br.Bernoulli(0.8), br.Bernoulli(0.9)), 11.7, 12.1),
        ((br.Bernoulli(0.5), br.Bernoulli(0.6)), 22.1, 25.2),
    ],
    ids=["B1", "B2"],
)
def test_the_published_regret(laws, mean, sd):
    """Baudry, Kaufmann, Maillard (5000 runs): z test with both standard errors, |z| < 4."""
    environment, n = br.Environment.stationary(list(laws)), 400
    ours = regret(environment, BESA(), 20_000, n)[:, -1]
    error = math.hypot(ours.std(ddof=1) / math.sqrt(n), sd / math.sqrt(5000))
    assert abs(ours.mean() - mean) < 4 * error


@pytest.mark.parametrize(
    ("n0", "message"), [(0, "BESA's n0 must be >= 1, not 0"), (1.5, "must be an integer")]
)
def test_bad_settings_are_refused(n0, message):
    with pytest.raises(br.InvalidValueError, match=message):
        BESA(n0)


def test_the_horizon_is_needed():
    with pytest.raises(br.InvalidValueError, match="BESA needs the horizon"):
        BESA().start(3, None)


def test_an_arm_whose_first_rewards_are_lost_is_pulled_on_up_to_2_n0_and_a_logarithm():
    """Arm 0 pays nothing: 2 n0 + log(n + 1) = 6 + log(n + 1) pulls; arm 1 and 2 stop at n0 = 3."""
    policy = BESA(3)
    parameters, state = policy.parameters(3, 400), policy.start(3, 400)
    rng, pulls = np.random.default_rng(0), np.zeros(3, int)
    for step in range(1, 401):
        arm = policy.kernels.select(parameters, *state, np.arange(3), rng)
        if arm == 0:
            assert pulls[0] < 6 + math.log(step)
        elif pulls[arm] >= 3:
            assert pulls[1:].min() >= 3
            assert pulls[0] >= 6 + math.log(step)
        policy.kernels.pull(parameters, *state, arm)
        pulls[arm] += 1
        if arm != 0:
            policy.kernels.learn(parameters, *state, arm, float(arm), step)
    assert pulls[0] == math.ceil(6 + math.log(400))
