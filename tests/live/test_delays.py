"""Rewards that come late, in any order, or never: exploration follows the asks, estimates the rewards."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import brigand as br
from live.common import FE, POLICIES, SW_FE, arms, rewards_for, table
from policies.expectations import CHANGES, expected
from stores import folder
from strength import LIVE, runs, some

SEEDS = st.integers(0, 2**32)


# Forced pulls are those of the schedule.


class Schedule:
    """FE's schedule from the arm sequence alone, written from the rule: slow, and without the package's code.

    Parameters
    ----------
    k : int
    f : callable
        Threshold of a round r >= 1 that begins after so many steps: ``f(r, steps)``.
    window, reset_round, reset_offset
        As of `ForcedExploration`.
    """

    def __init__(self, k, f, window=math.inf, reset_round=1, reset_offset=0):
        self.f, self.window, self.reset_round, self.reset_offset = f, window, reset_round, reset_offset
        self.last, self.step, self.round, self.threshold, self.seen = [0] * k, 0, 0, 0.0, set()
        self.laps = 1

    def forced(self):
        """Return the arm that must be pulled now, None if there is none."""
        oldest = min(range(len(self.last)), key=self.last.__getitem__)
        due = self.last[oldest] == 0 or self.step - self.last[oldest] >= self.threshold
        return oldest if due else None

    def pull(self, arm):
        self.step += 1
        self.last[arm] = self.step
        self.seen.add(arm)
        if len(self.seen) == len(self.last):
            self.seen.clear()
            self.laps += 1
            self.enter(self.round + 1)
        if self.window < math.inf and (self.step - self.reset_offset) % self.window == 0:
            self.enter(self.reset_round)

    def enter(self, new):
        threshold = min(self.f(new, self.step), self.window) if new else 0.0
        self.threshold = max(threshold, self.threshold) if new > self.round else threshold
        self.round = new


def linear(r, steps):
    return float(r)


SCHEDULES = {
    "linear": (FE, linear, {}),
    "slope 2.5": (br.ForcedExploration(br.Linear(2.5)), lambda r, steps: 2.5 * r, {}),
    "exponential": (br.ForcedExploration(br.Exponential(1.3)), lambda r, steps: 1.3**r, {}),
    "anytime": (
        br.ForcedExploration(br.AnytimeExponential()),
        lambda r, steps: min(math.exp(r / math.log(max(steps, 2))), steps),
        {},
    ),
    "constant": (br.ForcedExploration(br.Constant(12)), lambda r, steps: 12.0, {}),
    "power": (br.ForcedExploration(br.Power(1.5, shift=1)), lambda r, steps: (r + 1) ** 1.5, {}),
    "array": (
        br.ForcedExploration(br.Sequence([0, 2, 2, 7, 30])),
        lambda r, steps: [0, 2, 2, 7, 30][min(r, 5) - 1],
        {},
    ),
    "window": (br.ForcedExploration(br.Linear(), window=50), linear, {"window": 50}),
    "window of the authors": (
        br.ForcedExploration(br.Linear(), window=50, reset_round=0, reset_offset=1),
        linear,
        {"window": 50, "reset_round": 0, "reset_offset": 1},
    ),
    "window 9": (
        br.ForcedExploration(br.Constant(math.inf), window=9),
        lambda r, steps: math.inf,
        {"window": 9},
    ),
}


def ask_and_delay(bandit, k, steps, rng, delays):
    """Ask, and tell each reward so many asks later; return the decisions and how many rewards were told."""
    names, due, decisions, told = bandit.arms(), {}, [], 0
    for step in range(1, steps + 1):
        decisions.append(bandit.ask())
        arm = names.index(decisions[-1].arm)
        delay = delays(step, arm)
        if delay is not None:
            due.setdefault(step + delay, []).append((decisions[-1].id, rng.random() * (1 + arm)))
        now = due.pop(step, [])
        rng.shuffle(now)
        bandit.tell_many(now)
        told += len(now)
    rest = [pair for pairs in reversed(due.values()) for pair in reversed(pairs)]
    bandit.tell_many(rest)
    return decisions, told + len(rest)


def delays_of(kind, steps, rng):
    return {
        "none": lambda step, arm: 0,
        "random": lambda step, arm: int(rng.geometric(0.05)),
        "at the end": lambda step, arm: steps,
        "reversed": lambda step, arm: 2 * (50 - step % 50),
        "not for one arm": lambda step, arm: None if arm == 1 else 3,
        "only for the worst": lambda step, arm: 0 if arm == 0 else None,
        "never": lambda step, arm: None,
    }[kind]


DELAYS = ["none", "random", "at the end", "reversed", "not for one arm", "only for the worst", "never"]


@pytest.mark.every(12)
@pytest.mark.parametrize("delay", DELAYS)
@pytest.mark.parametrize("name", SCHEDULES)
def test_forced_pulls_are_those_of_the_schedule_whatever_the_delays(name, delay):
    policy, f, resets = SCHEDULES[name]
    for k, steps in ((1, 60), (2, 200), (5, 700)):
        rng = np.random.default_rng(k)
        bandit = br.Bandit(arms(k), policy, seed=k)
        decisions, _ = ask_and_delay(bandit, k, steps, rng, delays_of(delay, steps, rng))
        schedule, counts, of_lap = Schedule(k, f, **resets), np.zeros(k, int), set()
        for decision in decisions:
            arm, must = bandit.arms().index(decision.arm), schedule.forced()
            assert decision.explored == (must is not None) == (decision.data["kind"] == "forced")
            if must is not None:
                assert arm == must
                counts[arm] += 1
                assert (schedule.laps, arm) not in of_lap  # an arm is forced at most once from lap to lap
                of_lap.add((schedule.laps, arm))
            schedule.pull(arm)
        header, rows = table(bandit, "header"), table(bandit, "arms")
        assert header["round"] == [schedule.round]
        assert math.isclose(header["threshold"][0], schedule.threshold, rel_tol=1e-12)
        assert (
            rows["forced"]
            == counts.tolist()
            == [round(share * asked) for share, asked in bandit.summary()[["explored", "asked"]].to_numpy()]
        )
        assert counts.sum() <= k * schedule.laps


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "policy",
    [FE, br.ForcedExploration(br.AnytimeExponential()), br.ForcedExploration(br.Constant(100)), SW_FE],
    ids=["linear", "anytime", "constant", "window"],
)
def test_without_any_reward_asks_are_spread_evenly(policy):
    """FE takes the arm that was chosen longest ago, forced or not: turn by turn."""
    bandit = br.Bandit(arms(10), policy, seed=1)
    decisions = [*bandit.ask(9_000), *(bandit.ask() for _ in range(1000))]
    assert [decision.arm for decision in decisions] == arms(10) * 1000


# What is known when all rewards have come does not depend on their order.

HARMLESS = {"second"}
"""Of the header: no less than the second mean (`kernels.mean_moved`), which changes no choice."""


def same_up_to_rounding(one, other):
    for name in ("header", "arms", "memory", "ledger"):
        for field, left in table(one, name).items():
            right = table(other, name)[field]
            if field in HARMLESS:
                continue
            if isinstance(left[:1], list) and all(isinstance(value, int) for value in left):
                assert left == right, (name, field)
            else:
                np.testing.assert_allclose(right, left, rtol=1e-12, atol=1e-12, err_msg=f"{name} {field}")


def told_in_order(policy, k, arms_asked, rewards, order, seed, horizon):
    """Return a bandit of which each decision is recorded, and told when `order` has come to it."""
    bandit = br.Bandit(arms(k), policy, seed=seed, horizon=horizon)
    ids = bandit.record((arms(k)[arm], None) for arm in arms_asked)
    for place in order:
        assert bandit.tell(ids[place], float(rewards[place, 0])) is br.Told.LEARNED
    return bandit


@pytest.mark.parametrize("name", some(POLICIES, LIVE[1:3]))
@settings(max_examples=4, deadline=None)
@given(seed=SEEDS, k=st.integers(2, 4), n=st.integers(1, 70))
def test_the_order_of_rewards_does_not_matter(name, seed, k, n):
    """For those that say otherwise, at least the numbers of rewards, the ledger and the intervals agree.

    What a policy that looks for changes has counted does not: one order may raise an alarm, which forgets.
    """
    policy, rng = POLICIES[name], np.random.default_rng(seed)
    rewards = rewards_for(policy, (n, 1), seed)
    asked = rng.integers(0, k, n)
    one, other = (
        told_in_order(policy, k, asked, rewards, order, seed, 2 * n + 30)
        for order in (range(n), rng.permutation(n))
    )
    columns = ["asked", "told", "pending", "mean", "lower", "upper"]
    np.testing.assert_allclose(
        one.summary()[columns].to_numpy(float),
        other.summary()[columns].to_numpy(float),
        rtol=1e-9,
        atol=1e-12,
    )
    why = expected(name).order_matters
    if why:
        assert why == CHANGES or held(one) == held(other)
        return
    same_up_to_rounding(one, other)
    assert [d.arm for d in one.ask(20)] == [d.arm for d in other.ask(20)]


def held(bandit):
    """Return how many pulls and rewards of each arm the policy has counted."""
    counts = ("pulls", "count", "zeros", "ones", "successes", "failures")
    return {name: values for name, values in table(bandit, "arms").items() if name in counts}


@pytest.mark.every(2)
@pytest.mark.parametrize("name", ["FE-Linear", "FE-Anytime", "SW-FE-Exp", "SW-FE-Linear", "SW-7"])
@settings(max_examples=runs(10, 15), deadline=None)
@given(seed=SEEDS, k=st.integers(1, 4), n=st.integers(1, 60), delay=st.floats(0, 20))
def test_the_place_of_rewards_among_the_asks_does_not_matter(name, seed, k, n, delay):
    """Decisions are recorded one by one, and rewards come between them: at once, or any delays later.

    The rewards in the window at the end count, whenever they came, unless their pull had left it by then.
    """
    policy = SW_FE if name == "SW-7" else POLICIES[name]
    window = policy.window or math.inf
    rng = np.random.default_rng(seed)
    asked, rewards = rng.integers(0, k, n), rng.random(n)
    rewards[rng.random(n) < 0.3] = 0.5
    late = np.minimum(rng.exponential(delay, n).astype(int), n)
    bandits = []
    for delays in (np.zeros(n, int), late):
        bandit = br.Bandit(arms(k), policy, seed=1, horizon=1000)
        ids = []
        for step in range(n):
            ids += bandit.record([(arms(k)[asked[step]], None)])
            now = [i for i in range(step + 1) if i + delays[i] == step]
            rng.shuffle(now)
            bandit.tell_many([(ids[i], rewards[i]) for i in now])
        rest = rng.permutation([i for i in range(n) if i + delays[i] >= n])
        bandit.tell_many([(ids[i], rewards[i]) for i in rest])
        bandits.append(bandit)
    for bandit in bandits:
        rows = table(bandit, "arms")
        first = max(0, n - window)
        for arm in range(k):
            known = [rewards[i] for i in range(n) if asked[i] == arm and i >= first]
            assert rows["count"][arm] == len(known)
            if known:
                assert math.isclose(rows["mean"][arm], math.fsum(known) / len(known), rel_tol=1e-12)
            else:
                assert math.isnan(rows["mean"][arm])
            assert rows["pulls"][arm] == (asked == arm).sum()
    one, other = (table(bandit, "arms") for bandit in bandits)
    for field in ("last", "wait", "missed", "lap", "pulls", "forced", "count"):
        assert one[field] == other[field]
    assert [d.arm for d in bandits[0].ask(30)] == [d.arm for d in bandits[1].ask(30)]


# The window.


@pytest.mark.parametrize("where", ["memory", "store"])
def test_a_reward_whose_pull_has_left_the_window_is_history_only(where):
    with folder() as path:
        home = {} if where == "memory" else {"store": f"sqlite:///{path}/x.db", "name": "x"}
        bandit = br.Bandit(arms(3), SW_FE, seed=0, **home)
        first = bandit.ask(2)
        rest = bandit.ask(6)
        bandit.tell_many([(decision.id, 0.25) for decision in rest])
        before = table(bandit, "header"), table(bandit, "arms"), table(bandit, "memory")
        assert bandit.tell(first[0].id, 0.875) is br.Told.LEARNED
        assert repr((table(bandit, "header"), table(bandit, "arms"), table(bandit, "memory"))) == repr(before)
        line = bandit.history().loc[1]
        assert (line["status"], line["reward"]) == ("learned", 0.875)
        # The pull of step 2 is the oldest of the last 7.
        assert bandit.tell(first[1].id, 0.875) is br.Told.LEARNED
        arm = arms(3).index(first[1].arm)
        assert table(bandit, "arms")["count"][arm] == before[1]["count"][arm] + 1
        assert table(bandit, "arms")["mean"][arm] == (0.875 + before[1]["count"][arm] * 0.25) / (
            before[1]["count"][arm] + 1
        )
        bandit.close()
