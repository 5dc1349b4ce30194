"""WR-SDA, RB-SDA, LB-SDA: against slow references written from the definition, and the published regrets."""

import math
from copy import deepcopy
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

import brigand as br
from brigand.policies.kernels.randomness import uniform_at
from brigand.policies.subsampling.besa import BESA
from brigand.policies.subsampling.lb_sda import LBSDALM
from brigand.policies.subsampling.ssmc import SSMC
from brigand.policies.subsampling.sub_sampling import LBSDA, RBSDA, WRSDA
from brigand.policies.subsampling.sw_lb_sda import SlidingWindowLBSDA
from policies.play import play, regret
from strength import runs

POWERS = {"none": None, "sqrt_log": 0.5, "cbrt_log": 1 / 3}


def reference(rewards, block, power, key):
    """Rounds on lists of rewards; `block(r, k, n, m)` is where the leader's n of m rewards begin."""
    horizon, n_arms = rewards.shape
    history = [[] for _ in range(n_arms)]
    chosen, r = [], 1
    while len(chosen) < horizon:
        leader = max(range(n_arms), key=lambda k: (len(history[k]), sum(history[k])))
        entrants = list(range(n_arms)) if r == 1 else []
        for k in range(n_arms):
            n, m = len(history[k]), len(history[leader])
            if r == 1 or k == leader:
                continue
            if power is not None and n < math.log(r) ** power:
                entrants.append(k)
            elif n < m:
                first = block(r, k, n, m)
                if np.mean(history[k]) >= np.mean(history[leader][first : first + n]):
                    entrants.append(k)
        for k in sorted(entrants or [leader], key=lambda k: uniform_at(key, r * (2 * n_arms + 1) + 1 + k)):
            if len(chosen) < horizon:
                history[k].append(rewards[len(chosen), k])
                chosen.append(k)
        r += 1
    return np.array(chosen)


def last_block(r, k, n, m):
    return m - n


@pytest.mark.every(3)
@pytest.mark.parametrize("forced", ["none", "sqrt_log", "cbrt_log"])
@pytest.mark.parametrize("key", range(3))
def test_lb_sda_is_its_definition_arm_by_arm(forced, key):
    rewards = np.random.default_rng(key).normal([0, 0.3, 0.5, 0.6, 0.2], 1, (800, 5))
    chosen, _ = play(LBSDA(forced), rewards, key)
    assert np.array_equal(chosen, reference(rewards, last_block, POWERS[forced], key))


@pytest.mark.every(2)
@pytest.mark.parametrize("key", range(3))
def test_rb_sda_is_its_definition_arm_by_arm(key):
    rewards = np.random.default_rng(key).normal([0, 0.3, 0.5, 0.6], 1, (800, 4))

    def random_block(r, k, n, m):
        return int(uniform_at(key, r * 9 + 1 + 4 + k) * (m - n + 1))

    chosen, _ = play(RBSDA(), rewards, key)
    assert np.array_equal(chosen, reference(rewards, random_block, None, key))


def duel_state(policy, challenger, leader, key=0):
    """Return the parameters and the state after the two arms' rewards, however they came."""
    parameters, state = policy.parameters(2, 100), policy.start(2, 100, key)
    for arm, rewards in enumerate((challenger, leader)):
        for reward in rewards:
            policy.kernels.pull(parameters, *state, arm)
            policy.kernels.learn(parameters, *state, arm, reward, 1)
    return parameters, state


def round_set(state):
    return [arm for arm in range(len(state.arms)) if state.arms["turn"][arm] < math.inf]


@pytest.mark.parametrize(
    ("challenger", "leader", "winner"),
    [
        ([0.5], [0.9, 0.1, 0.4], 0),
        ([0.5], [0.1, 0.1, 0.6], 1),
        ([0.6], [0.1, 0.1, 0.6], 0),  # a tie wins
        ([0.1, 0.2, 0.3], [0.9, 0.7, 0.3, 0.2, 0.1], 0),  # a tie of sums that rounding would break
        ([0.3, 0.0], [0.9, 0.9, 0.1, 0.2], 0),  # decimals tie as decimals
        ([0.1, 0.2], [0.5, 0.2, 0.2], 1),
        ([5.0], [5.0], None),  # as many rewards: no duel, and a tied leader
    ],
)
def test_lb_comparisons_by_hand(challenger, leader, winner):
    _, state = duel_state(LBSDA(), challenger, leader)
    assert state.header["left"] == 1
    if winner is not None:
        assert round_set(state) == [winner]


@pytest.mark.parametrize("ones", [True, False], ids=["hypergeometric", "floyd"])
def test_wr_comparisons_have_the_distribution_of_the_definition(ones):
    """The challenger's 2 rewards against 2 of the leader's 6: binomial test over 2000 keys, 4.5 sigma."""
    leader = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0] if ones else [0.9, 0.1, 0.7, 0.8, 0.2, 0.6]
    challenger = [1.0, 0.0] if ones else [0.5, 0.5]
    pairs = [(a, b) for a in range(6) for b in range(a)]
    exact = [Fraction(str(x)) for x in leader]
    total = sum(Fraction(str(x)) for x in challenger)
    chance = sum(total >= exact[a] + exact[b] for a, b in pairs) / len(pairs)
    wins = 0
    n = runs(500, 2000)
    for key in range(n):
        _, state = duel_state(WRSDA(), challenger, leader, key)
        wins += round_set(state) == [0]
    assert abs(wins - n * chance) < 4.5 * math.sqrt(n * chance * (1 - chance))


@pytest.mark.full
@pytest.mark.parametrize(
    ("policy", "laws", "mean", "sd"),
    [
        (LBSDA(), (br.Bernoulli(0.8), br.Bernoulli(0.9)), 12.2, 7.4),
        (LBSDA(), (br.Bernoulli(0.5), br.Bernoulli(0.6)), 24.0, 24.6),
        (LBSDA(), (br.Gaussian(0.5, 1), br.Gaussian(0, 1)), 25.1, 17.9),
        (RBSDA(), (br.Bernoulli(0.8), br.Bernoulli(0.9)), 11.5, 10.1),
        (WRSDA(), (br.Bernoulli(0.8), br.Bernoulli(0.9)), 11.6, 10.2),
    ],
    ids=["LB-B1", "LB-B2", "LB-G1", "RB-B1", "WR-B1"],
)
def test_the_published_regret(policy, laws, mean, sd):
    """Baudry, Kaufmann, Maillard (5000 runs): z test with both standard errors, |z| < 4."""
    environment, n = br.Environment.stationary(list(laws)), 400
    ours = regret(environment, policy, 20_000, n)[:, -1]
    error = math.hypot(ours.std(ddof=1) / math.sqrt(n), sd / math.sqrt(5000))
    assert abs(ours.mean() - mean) < 4 * error


def test_an_unbegun_round_is_redrawn_when_a_late_reward_arrives():
    policy = LBSDA()
    parameters, state = policy.parameters(2, 20), policy.start(2, 20)
    for arm in (0, 1):
        policy.kernels.pull(parameters, *state, arm)
    policy.kernels.learn(parameters, *state, 1, 0.5, 2)
    assert round_set(state) == [0]  # its reward may be lost
    policy.kernels.learn(parameters, *state, 0, 0.1, 1)
    assert round_set(state) == [1]


def test_candidates_by_hand():
    """The round is {0}: without it the leader, 1, is pulled; without that 2, which then leads 3."""
    policy = LBSDA()
    parameters, state = policy.parameters(4, 50), policy.start(4, 50)
    for arm, reward in ((0, 0.9), (1, 0.5), (2, 0.2), (3, 0.1), (1, 0.5), (2, 0.2), (1, 0.5)):
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, reward, 1)
    assert round_set(state) == [0]
    for candidates, expected in (([0, 1, 3], 0), ([1, 2, 3], 1), ([2, 3], 2), ([2], 2)):
        assert policy.kernels.select(parameters, *state, np.array(candidates), None) == expected
    policy.kernels.pull(parameters, *state, 3)
    assert state.header["left"] == 0


@pytest.mark.parametrize("bad", ["sqrt", None, 1])
def test_bad_settings_are_refused(bad):
    with pytest.raises(br.InvalidValueError, match="LBSDA's forced must be one of none, sqrt_log, cbrt_log"):
        LBSDA(bad)


def test_the_horizon_is_needed():
    with pytest.raises(br.InvalidValueError, match="WRSDA needs the horizon"):
        WRSDA().start(3, None)


@pytest.mark.every(4)
@pytest.mark.parametrize("reward", [0.0, 1.0, 0.1, -3.0, 1e150, 1e290])
@pytest.mark.parametrize(
    ("policy", "apart"),
    [
        (BESA(), 2),
        (WRSDA(), 1),
        (RBSDA("cbrt_log"), 1),
        (LBSDA(), 1),
        (LBSDA("sqrt_log"), 1),
        (SSMC(), 1),
        (LBSDALM(), 2),
        (LBSDALM(math.inf, forced="none"), 2),
        (SlidingWindowLBSDA(100), 2),
    ],
    ids=repr,
)
def test_arms_that_are_alike_are_pulled_in_turn(policy, apart, reward):
    """Every duel is a tie, whatever the rounding of sums (in a window, up to its edge)."""
    chosen = br.trace(policy, np.full((200, 4), reward), compiled=False)
    assert np.ptp(np.bincount(chosen, minlength=4)) <= apart


@pytest.mark.every(4)
@pytest.mark.parametrize(
    "policy",
    [
        SSMC(),
        WRSDA(),
        RBSDA("cbrt_log"),
        LBSDA(),
        LBSDA("sqrt_log"),
        LBSDALM(),
        SlidingWindowLBSDA(20),
        SlidingWindowLBSDA(5),
    ],
    ids=repr,
)
@pytest.mark.parametrize(("early", "waiting"), [(0, 3), (0, 4), (30, 3), (30, 4)])
def test_leader_and_rounds_do_not_depend_on_the_order_in_which_rewards_arrive(policy, early, waiting):
    """An arm pays the same at every pull, and many tie; after `early` immediate rewards, some wait."""
    parameters = policy.parameters(3, 100)
    for key in range(runs(2, 12)):
        pays = np.random.default_rng(key).choice([0.25, 0.5, 0.5, 0.5], 3)
        state, late = policy.start(3, 100, key), []
        for step in range(1, early + waiting + 1):
            arm = policy.kernels.select(parameters, *state, np.arange(3), None)
            policy.kernels.pull(parameters, *state, arm)
            if step <= early:
                policy.kernels.learn(parameters, *state, arm, pays[arm], step)
            else:
                late.append((arm, pays[arm], step))
        outcomes = set()
        for order in permutations(late):
            twin = deepcopy(state)
            for arm, reward, step in order:
                policy.kernels.learn(parameters, *twin, arm, reward, step)
            header = {name: int(twin.header[name]) for name in twin.header.dtype.names}
            kept = [header.get(name) for name in ("leader", "previous", "since", "round", "left", "next")]
            outcome = [*kept, *twin.arms["turn"].tolist()]
            for step in range(early + waiting + 1, early + 25):
                arm = policy.kernels.select(parameters, *twin, np.arange(3), None)
                policy.kernels.pull(parameters, *twin, arm)
                policy.kernels.learn(parameters, *twin, arm, pays[arm], step)
                outcome.append(int(arm))
            outcomes.add(tuple(outcome))
        assert len(outcomes) == 1, key
