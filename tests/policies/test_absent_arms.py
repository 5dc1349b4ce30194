"""Arms that are no candidates: never, no more, or for a while. What every policy does, and some by hand."""

import functools
import math
import re
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

import brigand as br
from brigand import jit, testing
from brigand.policies.adversarial import exp3
from brigand.policies.forced import sequences
from brigand.policies.kernels import availability
from brigand.policies.ucb import ucb1
from policies.expectations import SETTINGS, expected
from strength import runs, some

SEQUENCES = [br.Linear(), br.Linear(2.5), br.Constant(30), br.Exponential(1.3), br.AnytimeExponential()]


@functools.cache
def live_loop(policy_kernels):
    """Return a compiled loop that is told at each step which arms are available, as a live bandit is."""
    select, pull, learn, miss = (jit.kernel(function) for function in policy_kernels[:4])

    def live(parameters, header, arms, memory, available, rewards, rng, chosen):
        for i in range(len(chosen)):
            arm = select(parameters, header, arms, memory, np.flatnonzero(available[i]), rng)
            for k in range(len(arms)):
                if not available[i, k]:
                    miss(parameters, header, arms, memory, k)
            pull(parameters, header, arms, memory, arm)
            learn(parameters, header, arms, memory, arm, rewards[i, arm], i + 1)
            chosen[i] = arm

    return jit.compile_loop(live, *policy_kernels)


class Live:
    """A run that goes on from call to call; rewards are constant, or drawn by their means."""

    def __init__(self, policy, means, horizon=5000, compiled=False, draw=False):
        self.policy, self.means, self.compiled, self.draw = policy, np.array(means), compiled, draw
        self.parameters = policy.parameters(len(means), horizon)
        self.state = policy.start(len(means), horizon, 7)
        self.rng, self.data = np.random.default_rng(0), np.random.default_rng(1)

    def go(self, steps, candidates):
        """Make some steps among candidates; return the arms."""
        available = np.zeros((steps, len(self.means)), bool)
        available[:, candidates] = True
        return self.go_by(available)

    def go_by(self, available):
        """Make a step for each row of a table that says which arms are available."""
        chosen, before = np.empty(len(available), np.int64), int(self.state.header["step"])
        uniforms = self.data.random(available.shape)
        rewards = (
            (uniforms < self.means).astype(float) if self.draw else np.tile(self.means, (len(chosen), 1))
        )
        loop = live_loop(self.policy.kernels)
        run = loop if self.compiled else loop.py_func
        if before == 0:
            run(self.parameters, *self.state, available, rewards, self.rng, chosen)
            return chosen.tolist()
        for i in range(len(chosen)):  # the loop counts its own steps
            kernels, tables = self.policy.kernels, (self.parameters, *self.state)
            chosen[i] = kernels.select(*tables, np.flatnonzero(available[i]), self.rng)
            for arm in np.flatnonzero(~available[i]):
                kernels.miss(*tables, int(arm))
            kernels.pull(*tables, chosen[i])
            kernels.learn(*tables, chosen[i], rewards[i, chosen[i]], before + i + 1)
        return chosen.tolist()


# The check of all policies, and one that fails it.


@pytest.mark.every(4)
@pytest.mark.parametrize("name", some(SETTINGS))
def test_the_best_of_the_arms_that_are_left_is_found(name):
    testing.check_absent_arms(SETTINGS[name], best_pulls=expected(name).best_pulls_left)


def select_when_all_had_their_turn(parameters, header, arms, memory, candidates, rng):
    if arms["pulls"].min() < 10:
        return candidates[np.argmin(arms["pulls"][candidates])]
    return ucb1.select(parameters, header, arms, memory, candidates, rng)


@dataclass(frozen=True)
class Waiting(br.UCB1):
    """Explores until all arms have ten pulls: those that are not there, too."""

    kernels = br.UCB1.kernels._replace(select=select_when_all_had_their_turn)


def select_among_all(parameters, header, arms, memory, candidates, rng):
    return ucb1.select(parameters, header, arms, memory, np.arange(len(arms)), rng)


@dataclass(frozen=True)
class Outside(br.UCB1):
    """Does not look at the candidates."""

    kernels = br.UCB1.kernels._replace(select=select_among_all)


def miss_and_divide(parameters, header, arms, memory, arm):
    header["root_log"] = math.nan


@dataclass(frozen=True)
class Dividing(br.UCB1):
    """Makes something NaN."""

    kernels = br.UCB1.kernels._replace(miss=miss_and_divide)


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        (
            Waiting(),
            r"was pulled 400 times of 1100; at least 500 are wanted: does it wait for arms that are gone",
        ),
        (Outside(), r"select chose arm 4 at step \d, where \[0, 1, 2, 3\] may be chosen"),
    ],
    ids=repr,
)
def test_a_bad_policy_fails_with_the_reason(policy, why):
    with pytest.raises(AssertionError, match=re.escape(repr(policy)) + " fails check_absent_arms: .*" + why):
        testing.check_absent_arms(policy)


def test_the_check_sees_what_becomes_nan():
    class Kept(Dividing):
        kernels = Dividing.kernels._replace(pull=lambda *_: None)

    with pytest.raises(AssertionError, match="became NaN"):
        testing.check_absent_arms(Kept())


def test_the_check_is_one_of_those_of_check_policy():
    skip = [name for name in testing.CHECKS if name != "absent_arms"]
    testing.check_policy(br.UCB1(0, 1), skip=skip, best_pulls=1100)
    testing.check_policy(br.UniformRandom(), skip=skip, best_pulls=300)
    for policy, options in ((br.UniformRandom(), {}), (br.UCB1(0, 1), {"best_pulls": 1101})):
        with pytest.raises(AssertionError, match="fails check_absent_arms"):
            testing.check_policy(policy, skip=skip, **options)


# Rows that are never candidates.

SAME = [n for n in SETTINGS if not (expected(n).rows_matter or expected(n).knows_the_arms)]


@pytest.mark.every(9)
@pytest.mark.parametrize("policy", [*map(SETTINGS.get, SAME), br.EXP3(0.3), br.EXP3S(0.02, 0.2)], ids=repr)
def test_rows_that_are_never_candidates_change_nothing(policy):
    """In the same random numbers, every decision is that of the policy that never heard of them."""
    rows, means = [1, 2, 4], np.array([0.9, 0.3, 0.5, 0.95, 0.7, 1.0])
    for horizon in (40, 250):
        alone, among = (Live(policy, m, horizon, draw=True) for m in (means[rows], means))
        among.data = np.random.default_rng(1)
        alone.data = Columns(np.random.default_rng(1), rows, 6)
        assert among.go(horizon, rows) == [rows[arm] for arm in alone.go(horizon, [0, 1, 2])]


class Columns:
    """A generator of some columns of what another one draws."""

    def __init__(self, rng, columns, n):
        self.rng, self.columns, self.n = rng, columns, n

    def random(self, shape):
        return self.rng.random((shape[0], self.n))[:, self.columns]


# Compiled code.

BRANCHING = {
    **{
        name: SETTINGS[name]
        for name in ("ETC", "SPRT-ETC", "BAI-ETC", "WR-SDA", "LB-SDA", "LB-SDA-LM", "SSMC")
    },
    **{name: SETTINGS[name] for name in ("SSTC", "AdSwitch, quick", "Ada-ILTCB+, quick", "M-UCB, quick")},
    **{
        name: SETTINGS[name] for name in ("GLR-klUCB, quick", "eps-greedy-gap", "EV-UCB", "CUSUM-UCB, forced")
    },
    **{"EXP3": br.EXP3(0.3), "EXP3.S": br.EXP3S(0.02, 0.2), "SW-LB-SDA": br.SlidingWindowLBSDA(50)},
    **{"KL-UCB": br.KLUCB(), "FE-Linear": br.ForcedExploration(br.Linear())},
    **{
        "SW-FE": br.ForcedExploration(br.Exponential(1.1), 100),
        "FE-Exp": br.ForcedExploration(br.Exponential(1.1)),
    },
    **{"FE-Constant": br.ForcedExploration(br.Constant(30)), "FE-Anytime": SETTINGS["FE-Anytime"]},
}


def coming_and_going(steps, n_arms, seed=3):
    """Return a table of who is available: stretches with some arms only, and single steps with other ones."""
    rng = np.random.default_rng(seed)
    available = np.repeat(rng.random((steps // 25 + 1, n_arms)) < 0.6, 25, axis=0)[:steps]
    available ^= rng.random(available.shape) < 0.1
    available[:40] |= np.arange(n_arms) > 0  # arm 0 joins late
    available[~available.any(axis=1), 1] = True
    return available


@pytest.mark.full
@pytest.mark.parametrize("name", BRANCHING)
def test_compiled_code_and_plain_python_make_the_same_decisions(name):
    available = coming_and_going(600, 5)
    runs = [Live(BRANCHING[name], [0.2, 0.4, 0.5, 0.6, 0.8], 600, c, draw=True) for c in (False, True)]
    plain, compiled = (run.go_by(available) for run in runs)
    assert plain == compiled
    assert available[np.arange(600), plain].all()
    for ours, theirs in zip(runs[0].state, runs[1].state, strict=True):
        for field in ours.dtype.names:
            assert ours[field] == pytest.approx(theirs[field], rel=1e-12, nan_ok=True), field


# Forced exploration.


def threshold(sequence, r):
    return sequences.value(*sequence.form(None), None, 0, r, 0)


def rounds(sequence, means, available, window=None):
    run = Live(br.ForcedExploration(sequence, window), means, len(available), compiled=True)
    chosen = run.go_by(available)
    return int(run.state.header["round"]), chosen


MEANS = [0.9, 0.5, 0.3, 0.1, 0.95]


@pytest.mark.every(9)
@pytest.mark.parametrize("window", [None, 400])
@pytest.mark.parametrize("sequence", SEQUENCES, ids=repr)
def test_a_round_does_not_stand_still_while_an_arm_is_away(sequence, window):
    """After 10,000 steps r is that of the arms that are there, whether the other one never came or left."""
    alone, _ = rounds(sequence, MEANS[:4], np.ones((10_000, 4), bool), window)
    for last in (0, 7, 2000):
        available = np.ones((10_000, 5), bool)
        available[last:, 4] = False
        assert abs(rounds(sequence, MEANS, available, window)[0] - alone) <= 2


@pytest.mark.every(5)
@pytest.mark.parametrize("window", [None, 400])
@pytest.mark.parametrize("sequence", SEQUENCES, ids=repr)
def test_rounds_do_not_race_when_only_one_arm_is_available(sequence, window):
    normal, _ = rounds(sequence, MEANS, np.ones((10_000, 5), bool), window)
    alone = np.zeros((10_000, 5), bool)
    alone[:, 0] = True
    found, chosen = rounds(sequence, MEANS, alone, window)
    assert set(chosen) == {0}
    assert abs(found - normal) <= 2


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("sequence", SEQUENCES, ids=repr)
def test_overdue_arms_that_are_away_are_first_once_they_are_back(sequence, compiled):
    """Arm 2 left before arm 1: it is the first."""
    available = np.ones((1003, 3), bool)
    available[100:1000, 2] = False
    available[200:1000, 1] = False
    chosen = (
        rounds(sequence, [0.9, 0.5, 0.1], available)[1]
        if compiled
        else Live(br.ForcedExploration(sequence), [0.9, 0.5, 0.1], 1003).go_by(available)
    )
    assert set(chosen[200:1000]) == {0}
    lasts = [max(i for i in range(200) if chosen[i] == arm) for arm in (1, 2)]
    assert chosen[1000:1002] == ([2, 1] if lasts[1] < lasts[0] else [1, 2])


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("sequence", "gaps"),
    [
        (br.Linear(), [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        (br.Linear(2.5), [4, 6, 9, 11, 14, 16]),
        (br.Constant(30), [31] * 12),
        (br.Exponential(2.0), [3, 5, 9, 17, 33, 65, 129]),
        (br.Exponential(1.3), [3, 3, 4, 4, 5, 6, 8, 10, 12, 15]),
    ],
    ids=repr,
)
def test_an_arm_that_joins_late_is_forced_as_in_a_new_bandit_by_hand(sequence, gaps, compiled):
    """The first pull is at once, and the gap after n pulls is ceil(f(n)) + 1: nobody else is due."""
    run = Live(br.ForcedExploration(sequence), [0.9, 0.1], 2000, compiled)
    available = np.ones((2000, 2), bool)
    available[:1000, 1] = False
    pulls = np.flatnonzero(np.array(run.go_by(available)) == 1)
    assert pulls[0] == 1000
    assert np.diff(pulls)[: len(gaps)].tolist() == gaps
    expected = [math.ceil(threshold(sequence, n)) + 1 for n in range(1, len(pulls))]
    assert np.diff(pulls).tolist() == expected


@pytest.mark.every(3)
@pytest.mark.parametrize("sequence", [br.Linear(), br.Constant(30), br.Exponential(1.3)], ids=repr)
def test_an_arm_that_joins_late_catches_up_and_changes_nothing_for_the_others(sequence):
    """With n pulls, n < r, it waits for f(n) steps, or one more where arm 1 is due at the same step."""
    run = Live(br.ForcedExploration(sequence), [0.9, 0.5, 0.1])
    alone = Live(br.ForcedExploration(sequence), [0.9, 0.5])
    before, pulls = run.go(1000, [0, 1]), []
    assert alone.go(1000, [0, 1]) == before
    joined = []
    for step in range(1001, 5001):
        pulled = run.go(1, [0, 1, 2])[0]
        joined.append(pulled)
        if pulled == 2:
            if pulls:
                last, n, r = pulls[-1]
                delayed = joined[-2] == 1
                gap = step - last
                wait = threshold(sequence, n if n < r else int(run.state.header["round"]))
                assert math.ceil(wait) + 1 <= gap <= math.ceil(wait) + 1 + delayed
            pulls.append((step, int(run.state.arms["pulls"][2]), int(run.state.header["round"])))
    forced = np.flatnonzero(np.array(joined) == 1)
    expected = np.flatnonzero(np.array(alone.go(4000, [0, 1])) == 1)
    assert abs(len(forced) - len(expected)) <= 1
    if not isinstance(sequence, br.Linear):
        assert pulls[-1][1] >= len(expected)


# Duels: the round is of the arms that are there.

DUELS = [br.WRSDA(), br.RBSDA(), br.LBSDA(), br.LBSDALM(), br.SSMC(), br.SSTC(), br.SlidingWindowLBSDA(150)]


@pytest.mark.parametrize("policy", DUELS, ids=repr)
def test_a_leader_that_is_gone_leads_no_more(policy):
    """It has 70 rewards that nobody beats. Once it is back, it wins at once."""
    run = Live(policy, [0.9, 0.5, 0.1], 300)
    assert run.go(80, [0, 1, 2]).count(0) >= 70
    assert run.go(60, [1, 2]).count(1) >= 55
    assert run.go(2, [0, 1, 2])[0] == 0 or isinstance(policy, br.SlidingWindowLBSDA)
    assert run.go(60, [0, 1, 2]).count(0) >= 50


@pytest.mark.parametrize("policy", DUELS, ids=repr)
def test_a_challenger_that_is_gone_is_in_no_round(policy):
    run = Live(policy, [0.5, 0.9, 0.1], 300)
    run.go(2, [0, 1, 2])
    assert run.go(100, [0, 2]).count(0) >= 90
    assert run.state.arms["turn"][1] == math.inf
    assert run.go(60, [0, 1, 2]).count(1) >= 45


@pytest.mark.every(8)
@pytest.mark.parametrize("policy", DUELS, ids=repr)
def test_with_candidates_drawn_anew_at_every_step_the_best_of_them_is_pulled(policy):
    rng = np.random.default_rng(5)
    available = rng.random((800, 4)) < 0.5
    available[~available.any(axis=1), 0] = True
    chosen = np.array(Live(policy, [0.1, 0.35, 0.6, 0.9], 800).go_by(available))
    best = 3 - available[:, ::-1].argmax(axis=1)
    assert (chosen == best)[200:].mean() > 0.85


# Explore, then commit.


@pytest.mark.parametrize("policy", [br.ExploreThenCommit(3), br.FixedBudgetETC(1.0)], ids=repr)
def test_etc_explores_those_that_are_there_and_those_that_join(policy):
    run = Live(policy, [0.5, 0.9, 0.95, 0.99], 1000)
    m = run.parameters.m
    first = run.go(2 * m, [0, 1])
    assert (first.count(0), first.count(1)) == (m, m)
    assert set(run.go(20, [0, 1])) == {1}
    assert run.go(m, [0, 1, 2]) == [2] * m
    assert set(run.go(20, [0, 1, 2])) == {2}
    assert run.state.header["committed"] == 2
    assert set(run.go(20, [0, 1])) == {1}
    assert set(run.go(20, [0, 1, 2])) == {2}


def test_etc_goes_on_with_an_arm_that_left_before_it_was_explored():
    run = Live(br.ExploreThenCommit(5), [0.9, 0.5, 0.1], 1000)
    assert sorted(run.go(6, [0, 1, 2])) == [0, 0, 1, 1, 2, 2]
    assert sorted(run.go(6, [1, 2])) == [1, 1, 1, 2, 2, 2]
    assert set(run.go(30, [1, 2])) == {1}
    assert run.go(3, [0, 1, 2]) == [0, 0, 0]
    assert set(run.go(30, [0, 1, 2])) == {0}


def test_the_sequential_test_is_of_those_that_are_there_by_hand():
    """T = 2000, gap 0.4, sigma 0.5: r pulls of each do where r 0.4 |difference| >= 0.25 log 1280 = 1.789.

    So 0.8 and 0.4 need 12 of them (1.792 for a difference of 0.4 at r = 11.2), 0.95 and 0.8 need 30.
    """
    run = Live(br.SequentialETC(0.4, 0.5), [0.4, 0.8, 0.9, 0.95], 2000)
    assert run.go(6, [0, 1, 2]) == [0, 1, 2] * 2
    assert run.go(20, [0, 1]) == [0, 1] * 10
    assert run.go(40, [0, 1]) == [1] * 40
    joined = run.go(59, [0, 1, 3])
    assert joined == ([3, 1] * 30)[:59]
    assert run.go(40, [0, 1, 3]) == [3] * 40
    assert run.go(10, [0, 1]) == [1] * 10
    assert run.go(10, [0, 1, 3]) == [3] * 10


@pytest.mark.parametrize("policy", [br.SequentialETC(0.4, 0.5), br.BestArmETC(0.1)], ids=repr)
def test_an_arm_that_was_away_at_the_commitment_is_compared_when_it_is_back(policy):
    run = Live(policy, [0.1, 0.5, 0.9], 2000)
    run.go(300, [0, 1, 2])
    assert run.state.header["committed"] == 2
    lone = Live(policy, [0.1, 0.5, 0.9, 0.7], 2000)
    lone.go(300, [0, 1, 2])
    assert set(lone.go(20, [0, 1])) == {1}  # 2 is away, 3 yet to come
    assert 3 in lone.go(200, [0, 1, 3])
    assert lone.state.header["committed"] == 3
    assert set(lone.go(30, [0, 1, 2, 3])[2:]) == {2}
    assert lone.state.header["committed"] == 2


# Exponential weights.


def test_exp3_among_two_of_three_by_hand():
    """p = 1/2, y = exp(1/2 * 1 / (1/2) / 2); the absent one grows as their sum, (e^(1/2) + 1) / 2."""
    policy = br.EXP3(0.5)
    parameters, state = policy.parameters(3, 10), policy.start(3, 10)
    availability.miss(parameters, *state, 2)
    exp3.pull(parameters, *state, 0)
    exp3.learn_exp3(parameters, *state, 0, 1.0, 1)
    growth = math.log((math.exp(0.5) + 1) / 2)
    assert state.arms["log_weight"] == pytest.approx([0.5, 0.0, growth], rel=1e-14)
    exp3.pull(parameters, *state, 1)  # all are there
    exp3.learn_exp3(parameters, *state, 1, 0.0, 2)
    assert state.header["stale"] == 0
    weights = np.exp([0.5, 0.0, growth])
    assert state.arms["weight"] / state.header["total"] == pytest.approx(weights / weights.sum(), rel=1e-14)


def test_exp3s_among_two_of_three_by_hand():
    policy = br.EXP3S(0.1, 0.5)
    parameters, state = policy.parameters(3, 10), policy.start(3, 10)
    availability.miss(parameters, *state, 2)
    exp3.pull(parameters, *state, 0)
    exp3.learn_exp3s(parameters, *state, 0, 1.0, 1)
    expected = np.array([math.exp(0.5), 1.0]) + 0.1 * math.e
    assert state.arms["weight"] == pytest.approx([*(2 * expected / expected.sum()), 1.0], rel=1e-14)
    assert state.header["total"] == pytest.approx(3.0, rel=1e-14)


def shares(state):
    """Return all weights over their sum, whatever their unit."""
    if state.arms["log_weight"].any():
        weights = np.exp(state.arms["log_weight"] - state.arms["log_weight"].max())
    else:
        weights = state.arms["weight"]
    return weights / weights.sum()


@pytest.mark.parametrize("policy", [br.EXP3(0.2), br.EXP3S(0.02, 0.2)], ids=repr)
def test_an_unavailable_arm_keeps_its_share(policy):
    run = Live(policy, [0.9, 0.2, 0.6, 0.4], 1000, draw=True)
    for present in ([0, 1, 2, 3], [0, 1], [1, 2, 3], [3], [0, 2, 3]):
        before = shares(run.state)
        run.go(80, present)
        away = [arm for arm in range(4) if arm not in present]
        assert shares(run.state)[away] == pytest.approx(before[away], rel=1e-9)


@pytest.mark.parametrize("policy", [br.EXP3(0.2), br.EXP3S(0.02, 0.2)], ids=repr)
def test_rewards_are_weighted_by_the_probability_with_which_the_arm_was_drawn(policy):
    """Chi-square at level 1e-5; the memory holds p, times n / K."""
    n = runs(4000, 20_000)
    run = Live(policy, [0.9, 0.2, 0.6, 0.4], 1000, draw=True)
    run.go_by(coming_and_going(300, 4))
    for candidates in ([0, 1], [1, 2, 3], [0, 1, 2, 3]):
        draws = [exp3.select(run.parameters, *run.state, np.array(candidates), run.rng) for _ in range(n)]
        expected = []
        for arm in candidates:
            header, arms, memory = (table.copy() for table in run.state)
            for other in set(range(4)) - set(candidates):
                availability.miss(run.parameters, header, arms, memory, other)
            exp3.pull(run.parameters, header, arms, memory, arm)
            slot = header["step"] & (len(memory) - 1)
            expected.append(memory[slot]["probability"] * 4 / len(candidates))
        assert sum(expected) == pytest.approx(1.0, rel=1e-12)
        counts = np.bincount(draws, minlength=4)[candidates]
        assert stats.chisquare(counts, n * np.array(expected)).pvalue > 1e-5


def test_an_arm_that_outweighs_all_others_and_leaves_is_forgotten():
    """Its weight is e^1000 times theirs: they are drawn by their own."""
    run = Live(br.EXP3(0.1), [0.5, 0.2, 0.8, 0.9], 10**6, draw=True)
    run.state.arms["log_weight"][3] = 1000.0
    exp3.rescale(run.state.header, run.state.arms)
    assert run.state.arms["weight"][:3].max() == 0.0
    assert run.go(2000, [0, 1, 2])[1000:].count(2) > 700
    assert run.go(50, [0, 1, 2, 3]).count(3) > 35
    assert np.isfinite(run.state.arms["weight"]).all()


@pytest.mark.full
@pytest.mark.parametrize("policy", [br.EXP3(0.5), br.EXP3S(1e-9, 0.5)], ids=repr)
def test_hundreds_of_leaders_that_leave_one_after_the_other_take_no_weight_with_them(policy):
    n_arms = 300
    run = Live(policy, np.full(n_arms, 1.0), 10**5)
    parameters, state = run.parameters, run.state
    for gone in range(n_arms - 2):
        for _ in range(3):
            for arm in range(gone):
                availability.miss(parameters, *state, arm)
            exp3.pull(parameters, *state, gone)
            policy.kernels.learn(parameters, *state, gone, 1.0, int(state.header["step"]))
    candidates = np.array([n_arms - 2, n_arms - 1])
    draws = [exp3.select(parameters, *state, candidates, run.rng) for _ in range(2000)]
    assert stats.binomtest(draws.count(n_arms - 1), 2000).pvalue > 1e-5
    assert np.isfinite(state.arms["weight"]).all()


# Detectors and schedules.


def test_adswitch_eliminates_by_no_arm_that_is_gone_and_takes_back_what_it_has_eliminated():
    run = Live(br.AdSwitch(0.2, 10, 0.01), [0.9, 0.5, 0.1], 3000)
    assert run.go(200, [0, 1, 2])[100:].count(0) > 80
    assert run.state.arms["bad"].tolist() == [0, 1, 1]
    assert run.go(60, [1, 2])[30:].count(1) > 25
    assert run.state.arms["bad"].tolist() == [0, 0, 1]
    assert run.state.arms["rival"][2] == 1
    assert run.go(60, [0, 1, 2])[30:].count(0) > 25
    assert run.state.arms["bad"].tolist() == [0, 1, 1]


def test_adswitch_pulls_the_best_of_eliminated_arms_where_nothing_else_is_there():
    run = Live(br.AdSwitch(0.2, 10, 0.01), [0.9, 0.1, 0.5], 3000)
    run.go(200, [0, 1, 2])
    assert run.state.arms["bad"].tolist() == [0, 1, 1]
    assert run.go(3, [1, 2]) == [2, 2, 2]


def test_ada_iltcb_weights_by_the_probability_among_those_that_are_there():
    run = Live(br.AdaILTCB(0.1, 0.1, 0.25), [0.9, 0.2, 0.5], 4000)
    run.go(1500, [0, 1, 2])
    before, step = run.state.arms["probability"].copy(), int(run.state.header["step"])
    arm = run.go(1, [1, 2])[0]
    assert run.state.memory["value"][step] == pytest.approx(before[arm] / before[1:].sum(), rel=1e-14)


def test_ada_iltcb_begins_an_epoch_with_an_arm_that_is_new():
    run = Live(br.AdaILTCB(D=math.inf), [0.9, 0.2, 0.5], 4000)
    run.go(900, [0, 1])
    assert (run.state.header["epoch"], run.state.header["block"] > 0) == (1, True)
    run.go(1, [0, 1, 2])
    assert (run.state.header["epoch"], run.state.header["block"]) == (2, 0)
    run.go(50, [1])
    run.go(50, [0, 1, 2])
    assert run.state.header["epoch"] == 2


def test_ada_iltcb_leaves_an_arm_that_is_gone_out_of_the_best():
    """Means stay what they were; the regrets are distances from the best that is not gone."""
    run = Live(br.AdaILTCB(0.1, math.inf, 0.25), [0.9, 0.2, 0.5], 20_000, draw=True)
    run.go(3000, [0, 1, 2])
    length, regret = run.parameters.length, run.state.arms["regret"].copy()
    assert regret[0] == 0.0
    run.go(length + 1, [1, 2])
    assert run.state.arms["gone"].tolist() == [1, 0, 0]
    assert run.state.arms["regret"][2] == 0.0
    assert run.state.arms["regret"][1] == pytest.approx(0.3, abs=0.1)
    run.go(1, [0, 1, 2])
    assert run.state.arms["gone"].tolist() == [0, 0, 0]
    assert run.state.arms["regret"][0] == 0.0
    assert run.state.arms["regret"][2] == pytest.approx(0.4, abs=0.1)


@pytest.mark.parametrize(
    "policy", [br.MUCB(50, math.inf, 0.3), br.GLRKLUCB(delta=0.0, omega=0.3)], ids=["M-UCB", "GLR-klUCB"]
)
def test_forced_pulls_are_as_frequent_as_without_the_arms_that_are_gone(policy):
    """K / gamma = 20 for 6 arms, and 10 for the 3 that are there: their turns are the first 3 steps of 10."""
    run = Live(policy, [0.9, 0.5, 0.1, 0.9, 0.9, 0.9], 1000)
    chosen = run.go(200, [1, 2, 4])
    for begin in range(0, 200, 10):
        assert chosen[begin : begin + 3] == [1, 2, 4]
    assert chosen[100:].count(4) > 70


def test_an_absence_is_noted_once():
    run = Live(br.LBSDA(), [0.9, 0.5, 0.1])
    run.go(5, [0, 1, 2])
    for arm in (2, 2, 0):
        availability.miss(run.parameters, *run.state, arm)
    assert availability.missing_at(run.state.header, 6) == 2
    assert availability.missing_at(run.state.header, 5) == 0
    places = [availability.available(run.state.arms, None, place, 6) for place in range(3)]
    assert places == [-1, 1, -1]
    assert [availability.available(run.state.arms, np.array([0, 2]), place, 6) for place in range(2)] == [
        0,
        2,
    ]
