"""SSTC: against an exact reference written from the definition, and the growth of its pulls."""

import math
from itertools import accumulate

import numpy as np
import pytest

import brigand as br
from brigand.policies.kernels.randomness import uniform_at
from brigand.policies.subsampling.challenges import Challenges
from brigand.policies.subsampling.ssmc import SSMC
from brigand.policies.subsampling.sstc import SSTC, enters
from policies.play import regret


def beats(challenger, leader):
    """Scan every block, every time. Rewards are whole numbers, and so is all that follows."""
    n, size = len(challenger), len(leader)
    sums, squares = (list(accumulate(numbers, initial=0)) for numbers in (leader, [x * x for x in leader]))
    own, total = sum(challenger), sums[-1]
    variation = n * sum(x * x for x in challenger) - own * own  # n^2 times the variance
    for first in range(size - n + 1):
        block = sums[first + n] - sums[first]
        block_variation = n * (squares[first + n] - squares[first]) - block * block
        # a sqrt(block_variation) >= b sqrt(variation), by the squares with their signs
        a, b = size * own - n * total, size * block - n * total
        left, right = a * abs(a) * block_variation, b * abs(b) * variation
        if left > right or (left == right and (left != 0 or own >= block)):
            return True
    return False


def wins(challenger, leader, r):
    if len(challenger) >= len(leader):
        return False
    return len(challenger) < max(2, math.sqrt(math.log(r))) or beats(challenger, leader)


def gaussian_table(seed, n_arms):
    """Whole numbers: Gaussian rewards with unequal means and standard deviations, times 2^20."""
    rng = np.random.default_rng(seed)
    rewards = rng.normal(rng.normal(0, 0.5, n_arms), rng.uniform(0.5, 2, n_arms), (300, n_arms))
    return np.rint(rewards * 2**20).astype(int)


def play(policy, rewards, key=0, check=None):
    """Run the kernels in plain Python; `check(chosen, state)` is called after each step."""
    horizon, n_arms = rewards.shape
    parameters, state = policy.parameters(n_arms, horizon), policy.start(n_arms, horizon, key)
    chosen = []
    for t in range(horizon):
        arm = int(policy.kernels.select(parameters, *state, np.arange(n_arms), None))
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, rewards[t, arm], t + 1)
        chosen.append(arm)
        if check is not None:
            check(chosen, state)
    return chosen


@pytest.mark.every(5)
@pytest.mark.parametrize("n_arms", [2, 3, 4, 5])
@pytest.mark.parametrize("key", range(3))
def test_it_is_its_definition_arm_by_arm(key, n_arms):
    """For rewards of the size of 1, 1e150 and 1e-120, and of 1 on top of a million."""
    table = gaussian_table(10 * key + n_arms, n_arms)
    history, expected, r = [[] for _ in range(n_arms)], [], 1
    while len(expected) < len(table):
        leader = max(range(n_arms), key=lambda k: (len(history[k]), sum(history[k])))
        entrants = [k for k in range(n_arms) if r == 1 or wins(history[k], history[leader], r)] or [leader]
        for k in sorted(entrants, key=lambda k: uniform_at(key, r * (2 * n_arms + 1) + 1 + k)):
            if len(expected) < len(table):
                history[k].append(int(table[len(expected), k]))
                expected.append(k)
        r += 1
    rewards = table * 2.0**-20
    for scaled in (rewards, rewards * 2.0**496, rewards * 2.0**-400, rewards + 1e6):
        assert play(SSTC(), scaled, key) == expected


@pytest.mark.every(3)
@pytest.mark.parametrize("unit", [1.0, 0.01])
@pytest.mark.parametrize("values", [2, 4])
@pytest.mark.parametrize("seed", range(4))
def test_rounds_are_exact_with_ties_and_variances_of_zero(seed, values, unit):
    """Rewards on a grid: many ties. In units of 0.01 on 1e6, they are ties only up to rounding."""
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.ones(values), 3)
    table = np.column_stack([rng.choice(values, 200, p=p) for p in chances])

    def check(chosen, state):
        if state.header["started"]:
            return
        history = [[int(table[t, k]) for t, arm in enumerate(chosen) if arm == k] for k in range(3)]
        leader, r = int(state.header["leader"]), int(state.header["round"])
        entrants = [k for k in range(3) if wins(history[k], history[leader], r)] or [leader]
        assert [k for k in range(3) if state.arms["turn"][k] < math.inf] == entrants

    play(SSTC(), table * unit + (1e6 if unit < 1 else 0.0), seed, check)


@pytest.mark.parametrize(
    ("challenger", "leader", "won"),
    [
        # The leader's mean is 3. Its block with the least t-statistic is (4, 0): mean 2, sd 2, t -1/2.
        ([0, 4], [4, 0, 8, 0], True),  # a tie
        ([-6, 6], [4, 0, 8, 0], True),  # a tie of t-statistics, not of means
        ([-7, 5], [4, 0, 8, 0], False),
        ([1, 3], [4, 0, 8, 0], False),  # mean 2 as well, but sd 1
        ([-4, 6], [4, 0, 8, 0], True),  # mean 1, but sd 5
        ([2, 2], [4, 0, 8, 0], False),
        ([3, 3], [4, 0, 8, 0], True),
        ([0.1, 0.1], [4, 4, 0, 4], False),  # both zero, and less than (4, 4)
        ([0, 1], [4, 4, 4, 4], False),  # a leader that always pays the same
        ([3, 6], [4, 4, 4, 4], True),
        ([0.1] * 3, [0.3, 0.1, 0.1, 0.1], True),  # both zero, up to rounding
        ([0, 1], [4, 4, 0, 4], False),
        ([0], [4, 4, 0, 4], True),
        ([4, 4], [4, 0], False),  # as many rewards as the leader: no duel
    ],
)
def test_comparisons_by_hand(challenger, leader, won):
    policy = SSTC()
    parameters, state = policy.parameters(2, 50), policy.start(2, 50)
    for arm, rewards in enumerate((challenger, leader)):
        for reward in rewards:
            policy.kernels.pull(parameters, *state, arm)
            policy.kernels.learn(parameters, *state, arm, reward, 1)
    assert enters(parameters, *state, Challenges(2, 1, 0.0, 0), 0) == won


@pytest.mark.parametrize("seed", range(4))
def test_on_rewards_of_0_and_1_it_is_ssmc(seed):
    """There the t-statistic grows with the mean."""
    rng = np.random.default_rng(seed)
    rewards = (rng.random((400, 3)) < rng.choice([0.0, 0.1, 0.5, 0.9, 0.99, 1.0], 3)).astype(float)
    assert play(SSTC(), rewards, seed) == play(SSMC(), rewards, seed)


def test_squares_that_overflow_leave_a_comparison_of_means():
    """Then all standard deviations are infinite from the second reward on: SSTC is SSMC."""
    rewards = np.random.default_rng(2).normal([0, 0.3, 0.6], 1, (400, 3))
    assert play(SSTC(), rewards * 1e200, 5) == play(SSMC(), rewards, 5)
    for scale in (1.0, 1e200):
        compiled, plain = (br.trace(SSTC(), rewards * scale, compiled=mode) for mode in (True, False))
        assert np.array_equal(compiled, plain)


@pytest.mark.full
@pytest.mark.parametrize(("gap", "sd"), [(0.5, 1.0), (2.0, 1.0), (0.5, 2.0)])
def test_pulls_grow_with_log_t_at_the_rate_of_the_lower_bound(gap, sd):
    """From T = 500 to 20,000, by 2 / log(1 + gap^2 / sd^2) for each unit of log T, times 0.65 to 1.05.

    A little less than 1 is expected: among T overlapping blocks of n only T / n are disjoint, and
    n = rate log(T / n) grows at 0.76 to 0.86 times the rate here. Measured: 0.80 to 0.86 with a standard
    error of 0.03 in 400 runs, so that the false-alarm level is below 1e-5 (also with fewer runs, which get
    more room). SSMC has 0.74, 0.33 and 0.18.
    """
    environment = br.Environment.stationary([br.Gaussian(0, sd), br.Gaussian(gap, 1)])
    n = 400
    early, late = regret(environment, SSTC(), 20_000, n, [500]).mean(axis=0) / gap
    rate = 2 / math.log(1 + gap**2 / sd**2)
    more = 4.5 * 0.03 * (math.sqrt(400 / n) - 1)
    assert 0.65 - more < (late - early) / math.log(20_000 / 500) / rate < 1.05 + more


def test_late_rewards_in_any_order():
    """The third arm's never come; the others' wait up to 30 steps."""
    policy = SSTC()
    parameters, state = policy.parameters(3, 1000), policy.start(3, 1000, 5)
    rng = np.random.default_rng(0)
    pulls, waiting = np.zeros(3, int), []
    for step in range(1, 1001):
        before = [table.tobytes() for table in state]
        arm = policy.kernels.select(parameters, *state, np.arange(3), rng)
        assert [table.tobytes() for table in state] == before
        policy.kernels.pull(parameters, *state, arm)
        pulls[arm] += 1
        waiting.append((step, arm))
        rng.shuffle(waiting)
        for made, late in waiting[30:] if step % 3 else waiting[:5]:
            if late != 2:
                reward = [0.2, 0.8][late] + 0.1 * rng.standard_normal()
                policy.kernels.learn(parameters, *state, late, reward, made)
            waiting.remove((made, late))
    assert state.arms["pulls"].tolist() == pulls.tolist()
    assert pulls[2] < 150
    assert pulls[1] > 600


def test_the_horizon_is_needed_and_nothing_else():
    with pytest.raises(br.InvalidValueError, match="SSTC needs the horizon"):
        SSTC().start(3, None)
    with pytest.raises(TypeError):
        SSTC(1)
