"""Ada-ILTCB+ for arms: the sampling distribution, the blocks and replays, the tests."""

import math

import numpy as np
import pytest
from scipy import stats

import brigand as br
from brigand.policies.changes import ada_iltcb
from brigand.policies.changes.ada_iltcb import AdaILTCB
from policies.play import play, regret
from strength import runs

LEARNERS = [AdaILTCB(C=0.1, D=2.0, length=0.25)]
BAD = [
    ((AdaILTCB, {"C": 0}), "AdaILTCB's C must be > 0, not 0"),
    ((AdaILTCB, {"D": -1}), "AdaILTCB's D must be > 0"),
    ((AdaILTCB, {"length": 0.1}), "AdaILTCB's length must be >= 0.25"),
    ((AdaILTCB, {"C": math.inf}), "AdaILTCB's C must be finite"),
]


def test_the_distribution_by_its_definition():
    """Q sums to 1; its regret is at most C K nu, and 1 / Q(a) at most K + Reg(a) / (C nu)."""
    policy = AdaILTCB(C=0.7, length=0.25)
    parameters, state = policy.parameters(5, 1000), policy.start(5, 1000)
    state.arms["regret"] = regret = np.array([0.3, 0.0, 0.1, 0.8, 0.05])
    for block in (0, 3, 8):
        ada_iltcb.solve(parameters, state.arms, state.memory, block)
        nu = parameters.nu * 2 ** (-block / 2)
        row = 1000 + 5 * block
        p = state.memory["value"][row : row + 5]
        assert p.sum() == pytest.approx(1, rel=1e-12)
        assert p.min() >= nu
        if block == 0:
            continue  # K nu = 1: uniform
        q = (p - nu) / (1 - 5 * nu)
        scaled = regret / (0.7 * nu)
        assert 1 / q - scaled == pytest.approx(np.full(5, (1 / q - scaled)[0]), rel=1e-8)
        assert q @ regret <= 0.7 * 5 * nu
        assert (1 / q <= 5 + scaled + 1e-9).all()


def test_the_schedule_of_the_first_blocks():
    """Without rewards all means are equal, nothing fails: blocks of L, 2 L, 4 L steps."""
    policy = AdaILTCB(length=0.25)
    parameters = policy.parameters(2, 900)
    assert parameters.length == math.ceil(2 * math.log(8 * 900.0**4 * 4))
    assert parameters.nu == pytest.approx(math.sqrt(math.log(8 * 900.0**4 * 4) / (2 * parameters.length)))
    blocks = []
    for steps in (1, 1, 2, 4):
        _, state = play(policy, np.zeros((900, 2))[: parameters.length * steps], horizon=900)
        blocks.append(int(state.header["block"]))
    assert blocks == [1, 1, 1, 2]


def test_replays_come_at_their_rate_and_draw_their_index():
    """Block 3 for ever: chi-square on 20,000 coins, level 1e-5."""
    policy = AdaILTCB(D=math.inf)
    parameters, state = policy.parameters(2, 1000), policy.start(2, 1000)
    ada_iltcb.begin_block(parameters, *state, 3, 0)
    chances = np.array([2 ** (-1.5 - m / 2) / parameters.length for m in range(3)])
    assert state.header["chance"] == pytest.approx(chances.sum())
    rng = np.random.default_rng(0)
    counts = np.zeros(3)
    row = ada_iltcb.row_of(parameters, state.arms, 1)
    for _ in range(3000):
        state.memory["value"][row + 2] = 0.0
        ada_iltcb.replay(parameters, *state, 10, rng.random() * state.header["chance"])
        index = int(state.memory["value"][row])
        assert state.memory["value"][row + 2] == 10 + parameters.length * 2**index
        counts[index] += 1
    assert stats.chisquare(counts, 3000 * chances / chances.sum()).pvalue > 1e-5


def test_arms_are_drawn_from_the_distribution():
    """Chi-square at level 1e-5."""
    policy = AdaILTCB()
    parameters, state = policy.parameters(3, 10), policy.start(3, 10)
    state.arms["probability"] = [0.6, 0.3, 0.1]
    rng = np.random.default_rng(0)
    every = np.arange(3)
    drawn = [policy.kernels.select(parameters, *state, every, rng) for _ in range(9000)]
    assert stats.chisquare(np.bincount(drawn), 9000 * np.array([0.6, 0.3, 0.1])).pvalue > 1e-5


def test_weighted_totals_are_unbiased():
    """Two arms of constant rewards: totals over T within 4.5 standard deviations of the rewards."""
    totals, n = [], runs(15, 40)
    for seed in range(n):
        _, state = play(AdaILTCB(D=math.inf, length=0.25), np.tile([0.4, 0.8], (600, 1)), key=seed, seed=seed)
        totals.append(state.arms["total"] / 600)
    error = np.std(totals, axis=0, ddof=1) / math.sqrt(n)
    assert (abs(np.mean(totals, axis=0) - [0.4, 0.8]) < 4.5 * error).all()


class Reference:
    """The definition, with lists: told the arms, it returns each step's distribution."""

    def __init__(self, policy, parameters, n_arms, key):
        self.p, self.length, self.nu0, self.k, self.key = (
            policy,
            parameters.length,
            parameters.nu,
            n_arms,
            key,
        )
        self.t, self.x, self.epochs = 0, [], 0
        self.new_epoch()

    def new_epoch(self):
        self.epochs += 1
        self.origin, self.q = self.t, []
        self.block(0)

    def block(self, j):
        self.j, self.begin, self.end, self.replays = j, self.t, self.t + self.length * 2**j, []
        self.before = self.regret(self.origin) if j else np.zeros(self.k)
        nu = self.nu0 * 2 ** (-j / 2)
        low, high = 1.0, float(self.k)
        for _ in range(200):
            middle = (low + high) / 2
            if (1 / (middle + self.before / (self.p.C * nu))).sum() > 1:
                low = middle
            else:
                high = middle
        self.q.append((1 - self.k * nu) / (high + self.before / (self.p.C * nu)) + nu)

    def regret(self, start):
        mean = np.mean(self.x[start : self.t], axis=0)
        return mean.max() - mean

    def fails(self, start, m):
        now, allowed = self.regret(start), self.p.D * self.k * self.nu0 * 2 ** (-m / 2)
        return (now > 4 * self.before + allowed).any() or (self.before > 4 * now + allowed).any()

    def distribution(self):
        if self.replays:
            return np.mean([self.q[m] for m, _, _ in self.replays], axis=0)
        return self.q[self.j]

    def learn(self, arm, reward):
        self.x.append(np.eye(self.k)[arm] * reward / self.distribution())
        self.t += 1
        failed = any(self.fails(s, m) for m, s, e in self.replays if e == self.t and self.j)
        self.replays = [r for r in self.replays if r[2] != self.t]
        if self.t == self.end and self.j:
            failed = failed or self.fails(self.begin, self.j)
        if failed:
            self.new_epoch()
        elif self.t == self.end:
            self.block(self.j + 1)
        uniform = br.policies.kernels.randomness.uniform_at(self.key, self.t)
        for m in range(self.j):
            uniform -= 2 ** (-(self.j + m) / 2) / self.length
            if uniform < 0:
                self.replays.append((m, self.t, self.t + self.length * 2**m))
                break


@pytest.mark.parametrize("policy", [AdaILTCB(0.5, 0.3, 0.25), AdaILTCB(1.0, math.inf, 0.3)], ids=repr)
def test_every_distribution_is_the_definitions(policy):
    rng = np.random.default_rng(5)
    rewards = np.clip(
        np.repeat([[0.1, 0.9], [0.9, 0.2]], 1200, axis=0) + rng.uniform(-0.1, 0.1, (2400, 2)), 0, 1
    )
    parameters, state = policy.parameters(2, 2400), policy.start(2, 2400, key=5)
    reference = Reference(policy, parameters, 2, key=5)
    replays = 0
    for step in range(1, 2401):
        assert state.arms["probability"] == pytest.approx(reference.distribution(), rel=1e-9), step
        arm = policy.kernels.select(parameters, *state, np.arange(2), rng)
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, rewards[step - 1, arm], step)
        reference.learn(arm, rewards[step - 1, arm])
        replays += len(reference.replays)
    assert state.header["epoch"] == reference.epochs
    assert (reference.epochs > 1) == (policy.D < 1)
    assert replays > 0


def test_it_needs_the_horizon():
    with pytest.raises(br.InvalidValueError, match="AdaILTCB needs the horizon"):
        AdaILTCB().parameters(5, None)


@pytest.mark.full
@pytest.mark.parametrize("policy", LEARNERS, ids=repr)
def test_it_learns(policy):
    """50 runs of 20,000 steps: the forced exploration fades slowly. Random pulls cost 4000."""
    environment = br.Environment.stationary([br.Bernoulli(0.3), br.Bernoulli(0.7)])
    assert regret(environment, policy, 20_000, 50)[:, -1].mean() < 1800


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_settings_are_refused(arguments, message):
    policy, settings = arguments
    with pytest.raises(br.InvalidValueError, match=message):
        policy(**settings)
