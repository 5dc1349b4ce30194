"""AdSwitch: its tests by hand and against a slow reference, the law of its obligations."""

import math

import numpy as np
import pytest
from scipy import stats

import brigand as br
from brigand.policies.changes import ad_switch
from brigand.policies.changes.ad_switch import AdSwitch
from brigand.policies.kernels.randomness import uniform_at
from policies.play import play, regret

LEARNERS = [AdSwitch(1.0, 10, 0.3, 1.0), AdSwitch(1.0, 10, 0.5, 1.0)]
BAD = [
    ((AdSwitch, {"c1": 0}), "AdSwitch's c1 must be > 0, not 0"),
    ((AdSwitch, {"c2": -1}), "AdSwitch's c2 must be > 0"),
    ((AdSwitch, {"checks_every": 0}), "AdSwitch's checks_every must be"),
    ((AdSwitch, {"sampling_divisor": 0}), "sampling_divisor must be > 0"),
    ((AdSwitch, {"change_divisor": 0}), "change_divisor must be > 0"),
]


def test_without_alarms_it_is_round_robin():
    rewards = np.random.default_rng(0).random((400, 4)) * [0.1, 0.3, 0.9, 1.0]
    arms = br.trace(AdSwitch(c1=math.inf, c2=math.inf), rewards)
    assert arms.tolist() == [0, 1, 2, 3] * 100


class Reference:
    """The definition on the same grid, with the whole past in lists and every coin thrown."""

    def __init__(self, policy, n_arms, horizon, key):
        self.p, self.k, self.key = policy, n_arms, key
        self.log, self.horizon = math.log(horizon), horizon
        self.t, self.start, self.episode = 0, 0, 1
        self.past, self.bad, self.obligations = [], {}, [[] for _ in range(n_arms)]
        self.events = []

    def throw(self):
        """Coins of the next step, from the longest obligation down, all from one number."""
        uniform = uniform_at(self.key, self.t + 1)
        for arm in range(self.k):
            if arm not in self.bad:
                continue
            gap = self.bad[arm][1]
            sizes = [2.0**-i for i in range(1, 60) if 2.0**-i >= gap / self.p.sampling_divisor]
            for d in reversed(sizes):
                chance = d * math.sqrt(self.episode / (self.k * self.horizon * self.log))
                if uniform < chance:
                    self.obligations[arm].append((math.ceil(self.p.c2 * self.log / d**2), self.t + 1))
                    uniform /= chance
                    break
                uniform = (uniform - chance) / (1 - chance)

    def choose(self):
        last = [
            max((s for s, (a, _) in enumerate(self.past, 1) if a == arm), default=0) for arm in range(self.k)
        ]
        return min(
            (a for a in range(self.k) if a not in self.bad or self.obligations[a]), key=lambda a: last[a]
        )

    def tally(self, arm, s, t):
        x = [r for a, r in self.past[s:t] if a == arm]
        return len(x), np.mean(x) if x else math.nan

    def grid(self, end):
        found, distance = [], 0
        while not found or found[-1] > self.start:
            distance = (
                max(self.p.checks_every, 2 * distance)
                if found
                else max(self.p.checks_every, 2 * (self.t - end))
            )
            found.append(max(self.start, self.t - distance))
        return found if end > self.start else []

    def changed(self, arm):
        t, noise = self.t, self.p.c2 * self.log
        now = [self.tally(arm, s, t) for s in self.grid(t)]
        now = [(m, math.sqrt(noise / n)) for n, m in now if n]
        if arm in self.bad:
            mean, gap = self.bad[arm]
            return any(abs(m - mean) > gap / self.p.change_divisor + w for m, w in now)
        points = [t, *self.grid(t)]
        old = [self.tally(arm, s, e) for e in points for s in points if s < e]
        old = [(m, math.sqrt(noise / n)) for n, m in old if n]
        return any(abs(m - mm) > w + ww for m, w in now for mm, ww in old)

    def learn(self, arm, reward):
        self.t += 1
        self.past.append((arm, reward))
        for a in range(self.k):
            since = [(n, self.tally(a, s - 1, self.t)[0]) for n, s in self.obligations[a]]
            self.obligations[a] = [o for o, (n, m) in zip(self.obligations[a], since, strict=True) if m < n]
        if self.t % self.p.checks_every:
            return
        if any(self.changed(a) for a in range(self.k)):
            self.start, self.bad, self.obligations = self.t, {}, [[] for _ in range(self.k)]
            self.episode += 1
            self.events.append("restart")
            return
        for s in reversed(self.grid(self.t)):
            tallies = [self.tally(a, s, self.t) for a in range(self.k)]
            best = max((m for a, (n, m) in enumerate(tallies) if n and a not in self.bad), default=-math.inf)
            for a, (n, m) in enumerate(tallies):
                if a not in self.bad and n >= 2 and best - m > math.sqrt(self.p.c1 * self.log / (n - 1)):
                    self.bad[a], self.obligations[a] = (m, best - m), []
                    self.events.append("evict")


@pytest.mark.parametrize(
    "policy",
    [AdSwitch(0.3, 10, 0.05), AdSwitch(0.3, 1, 0.08), AdSwitch(0.5, 7, 0.05, 8.0, 2.0)],
    ids=repr,
)
def test_every_choice_is_the_definitions(policy):
    rng = np.random.default_rng(3)
    means = np.repeat([[0.2, 0.5, 0.6], [0.85, 0.2, 0.5]], 150, axis=0)
    rewards = means + rng.uniform(-0.1, 0.1, means.shape)
    reference = Reference(policy, 3, len(rewards), key=11)
    arms, _ = play(policy, rewards, key=11)
    for step, arm in enumerate(arms):
        reference.throw()
        assert arm == reference.choose(), step
        reference.learn(arm, rewards[step, arm])
    assert {"restart", "evict"} <= set(reference.events)


def test_obligations_come_at_their_rate():
    """One BAD arm of gap 0.5 (i = 1 to 5) at 20,000 steps: chi-square at level 1e-5."""
    policy = AdSwitch()
    parameters, state = policy.parameters(2, 500), policy.start(2, 500)
    state.arms["bad"][1], state.arms["gap"][1], state.arms["levels"][1] = 1, 0.5, 5
    sizes = 0.5 ** np.arange(1, 6)
    chances = sizes / math.sqrt(2 * 500 * math.log(500))
    longest = chances * np.cumprod(np.concatenate([1 - chances[1:], [1.0]])[::-1])[::-1]
    pulls = [math.ceil(2 * math.log(500) / d**2) for d in sizes]
    rng, found = np.random.default_rng(1), []
    for _ in range(20_000):
        found.append(ad_switch.obliged(state.header, state.arms, 1, parameters, rng.random())[0])
    counts = [found.count(n) for n in pulls]
    assert sum(counts) + found.count(0) == 20_000
    expected = 20_000 * np.array([*longest, 1 - longest.sum()])
    assert stats.chisquare([*counts, found.count(0)], expected).pvalue > 1e-5


def test_it_needs_the_horizon():
    with pytest.raises(br.InvalidValueError, match="AdSwitch needs the horizon"):
        AdSwitch().parameters(5, None)


@pytest.mark.full
@pytest.mark.parametrize("policy", LEARNERS, ids=repr)
def test_it_learns(policy):
    """200 runs; random pulls cost 400. With the published constants nothing is eliminated in 2000 steps."""
    environment = br.Environment.stationary([br.Bernoulli(0.3), br.Bernoulli(0.7)])
    assert regret(environment, policy, 2000, 200)[:, -1].mean() < 100


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_settings_are_refused(arguments, message):
    policy, settings = arguments
    with pytest.raises(br.InvalidValueError, match=message):
        policy(**settings)
