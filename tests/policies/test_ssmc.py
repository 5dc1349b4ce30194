"""SSMC: against a slow reference written from the definition, and the published regrets."""

import math

import numpy as np
import pytest

import brigand as br
from brigand.policies.kernels import uniform_at
from brigand.policies.ssmc import SSMC


def play(rewards, key=0):
    horizon, n_arms = rewards.shape
    policy = SSMC()
    parameters, state = policy.parameters(n_arms, horizon), policy.start(n_arms, horizon, key)
    chosen = []
    for t in range(horizon):
        arm = policy.kernels.select(parameters, *state, np.arange(n_arms), None)
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, rewards[t, arm], t + 1)
        chosen.append(arm)
    return chosen, state


def wins(challenger, leader, r):
    """Scan every block, every time."""
    n = len(challenger)
    if n >= len(leader):
        return False
    blocks = np.convolve(leader, np.ones(n), "valid")
    return n < math.sqrt(math.log(r)) or sum(challenger) >= blocks.min()


@pytest.mark.parametrize("key", range(6))
def test_it_is_its_definition_arm_by_arm(key):
    rng = np.random.default_rng(key)
    rewards = rng.normal(rng.normal(0, 0.5, 5), 1, (1000, 5))
    chosen, _ = play(rewards, key)
    history, expected, r = [[] for _ in range(5)], [], 1
    while len(expected) < 1000:
        leader = max(range(5), key=lambda k: (len(history[k]), sum(history[k])))
        entrants = [k for k in range(5) if r == 1 or wins(history[k], history[leader], r)] or [leader]
        for k in sorted(entrants, key=lambda k: uniform_at(key, r * 11 + 1 + k)):
            if len(expected) < 1000:
                history[k].append(rewards[len(expected), k])
                expected.append(k)
        r += 1
    assert chosen == expected


@pytest.mark.parametrize(
    ("challenger", "leader", "winner"),
    [
        ([0.5], [0.9, 0.4, 0.9, 0.9], 0),
        ([0.3], [0.9, 0.4, 0.9, 0.9], 1),
        ([0.4, 0.5], [0.9, 0.4, 0.9, 0.9], 1),  # blocks are consecutive: (.4, .9) is the worst
        ([0.6, 0.7], [0.9, 0.4, 0.9, 0.9], 0),  # a tie wins
        ([0.3, 0.0], [0.9, 0.1, 0.2, 0.9], 0),
    ],
)
def test_duels_by_hand(challenger, leader, winner):
    policy = SSMC()
    parameters, state = policy.parameters(2, 50), policy.start(2, 50)
    for arm, rewards in enumerate((challenger, leader)):
        for reward in rewards:
            state.header["round"] = 1  # nobody is forced before round 3
            policy.kernels.pull(parameters, *state, arm)
            policy.kernels.learn(parameters, *state, arm, reward, 1)
    in_round = [arm for arm in range(2) if state.arms["turn"][arm] < math.inf]
    assert in_round == [winner]


def test_a_challenger_is_tested_again_against_old_blocks_when_it_has_grown():
    """The leader's bad block lies far back; the challenger's mean falls to it only with its second reward."""
    policy = SSMC()
    parameters, state = policy.parameters(2, 50), policy.start(2, 50)
    steps = [(1, 0.2), (1, 0.3)] + [(1, 0.9)] * 4 + [(0, 0.1), (0, 0.4)]
    for arm, reward in steps:
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, reward, 1)
    assert state.arms["turn"][0] < math.inf
    assert state.arms["lost"][0] == 0


@pytest.mark.parametrize("rewards", ["bits", "unit", "gaussian"])
def test_compiled_equals_plain(rewards):
    rng = np.random.default_rng(4)
    table = {
        "bits": (rng.random((300, 4)) < [0.3, 0.5, 0.5, 0.7]).astype(float),
        "unit": rng.random((300, 4)) ** [2, 1, 1, 0.5],
        "gaussian": rng.normal([0, 1, 1, 2], 1, (300, 4)),
    }[rewards]
    assert np.array_equal(br.trace(SSMC(), table, seed=3), br.trace(SSMC(), table, seed=3, compiled=False))


def test_it_learns():
    """Random choice costs 400."""
    environment = br.Environment.stationary([br.Bernoulli(0.3), br.Bernoulli(0.7)])
    regret = br.simulate(environment, {"x": SSMC()}, 2000, 200, checkpoints=[2000]).dataset["regret"]
    assert float(regret.sel(step=2000).mean()) < 20


@pytest.mark.parametrize(
    ("laws", "mean", "sd"),
    [
        ((br.Bernoulli(0.8), br.Bernoulli(0.9)), 12.3, 7.3),
        ((br.Gaussian(0.5, 1), br.Gaussian(0, 1)), 26.9, 52.8),
    ],
    ids=["B1", "G1"],
)
def test_the_published_regret(laws, mean, sd):
    """Baudry, Kaufmann, Maillard (5000 runs): z test with both standard errors, |z| < 4."""
    environment = br.Environment.stationary(list(laws))
    results = br.simulate(environment, {"x": SSMC()}, 20_000, 400, checkpoints=[20_000])
    regret = results.dataset["regret"].sel(policy="x", step=20_000).to_numpy()
    error = math.hypot(regret.std(ddof=1) / math.sqrt(400), sd / math.sqrt(5000))
    assert abs(regret.mean() - mean) < 4 * error


def test_late_rewards_in_any_order():
    """The third arm's never come; the others' wait up to 30 steps. Selecting changes nothing."""
    policy = SSMC()
    parameters, state = policy.parameters(3, 1000), policy.start(3, 1000, 5)
    rng = np.random.default_rng(0)
    pulls, told, waiting = np.zeros(3, int), np.zeros(3, int), []
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
                told[late] += 1
            waiting.remove((made, late))
    assert state.arms["pulls"].tolist() == pulls.tolist()
    assert state.arms["count"].tolist() == told.tolist()
    assert pulls[2] < 150
    assert pulls[1] > 600


def test_only_candidates_are_chosen():
    rng = np.random.default_rng(1)
    policy = SSMC()
    parameters, state = policy.parameters(4, 400), policy.start(4, 400)
    allowed = [np.array(c) for c in ([0, 1, 2, 3], [1], [0, 2], [1, 2, 3])]
    for step in range(1, 400):
        candidates = allowed[step % 4]
        arm = policy.kernels.select(parameters, *state, candidates, rng)
        assert arm in candidates
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, rng.random(), step)
    assert state.arms["pulls"].min() > 0


def test_the_horizon_is_needed_and_nothing_else():
    with pytest.raises(br.InvalidValueError, match="SSMC needs the horizon"):
        SSMC().start(3, None)
    with pytest.raises(TypeError):
        SSMC(1)


def test_small_and_extreme():
    for shape in ((1, 1), (5, 1), (1, 4), (3, 4)):
        assert br.trace(SSMC(), np.full(shape, 0.5)).shape == shape[:1]
    for reward in (0.0, 1.0, 0.1, -3.0, 1e150, 1e290):
        # Arms that are alike: every duel is a tie, so that all are pulled in turn.
        pulls = np.bincount(br.trace(SSMC(), np.full((200, 4), reward), compiled=False), minlength=4)
        assert np.ptp(pulls) <= 1
