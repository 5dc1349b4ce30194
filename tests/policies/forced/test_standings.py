"""FE among many arms: every choice is that of looking at all arms one by one, and few are looked at."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import brigand as br
from brigand.policies.forced import standings
from brigand.policies.kernels.window import SLOT
from brigand.simulation.step import trace_loop
from strength import runs

NONE = 10**9
"""So many arms have no tree."""


class Run:
    """A bandit in plain Python whose arms come, go and join, and whose rewards come late.

    Parameters
    ----------
    policy : ForcedExploration
    n_arms : int
    many : int
        For `standings.MANY`.
    """

    def __init__(self, policy, n_arms, many):
        self.policy, self.many, self.rng = policy, many, np.random.default_rng(7)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(standings, "MANY", many)
            self.state = policy.start(n_arms, None)
            self.parameters = policy.parameters(n_arms, None)

    def join(self):
        """Add an arm, as a live bandit does."""
        header, arms, memory = self.state
        n_rows = len(memory) - (self.many < NONE) * standings.n_rows(len(arms))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(standings, "MANY", self.many)
            fresh = self.policy.start(len(arms) + 1, None)
            made = self.policy.derived(len(arms) + 1)
            self.parameters = self.policy.parameters(len(arms) + 1, None)
        arms = np.concatenate([arms, fresh.arms[-1:]])
        memory = np.concatenate([memory[:n_rows], fresh.memory[len(fresh.memory) - made :]])
        self.policy.grown(header, arms)
        self.state = self.state._replace(arms=arms, memory=memory)

    def ask(self, absent):
        """Choose an arm that is not absent; return it, all propensities, and the header after the pull."""
        kernels, n_arms = self.policy.kernels, len(self.state.arms)
        there = np.array([arm for arm in range(n_arms) if arm not in absent])
        given_ = [kernels.propensity(self.parameters, *self.state, there, arm) for arm in there]
        arm = int(kernels.select(self.parameters, *self.state, there, self.rng))
        for other in sorted(absent):
            kernels.miss(self.parameters, *self.state, other)
        kernels.pull(self.parameters, *self.state, arm)
        return arm, given_, self.state.header.item()

    def tell(self, arm, reward, step):
        self.policy.kernels.learn(self.parameters, *self.state, arm, reward, step)
        return self.state.header.item()

    def correct(self, arm, was, reward, step):
        self.policy.kernels.correct(self.parameters, *self.state, arm, was, reward, step)
        return self.state.header.item()


@pytest.fixture
def small(monkeypatch):
    """Leaves of two arms, and a tree for two arms or more."""
    monkeypatch.setattr(standings, "MANY", 1)
    monkeypatch.setattr(standings, "BUCKET", 2)


@settings(max_examples=runs(10, 400), deadline=None, derandomize=True)
@given(
    sequence=st.sampled_from(
        [br.Linear(), br.Linear(0.3), br.Constant(9.5), br.Exponential(1.2), br.AnytimeExponential()]
    ),
    window=st.one_of(st.none(), st.integers(1, 60)),
    n_arms=st.integers(2, 19),
    joins=st.integers(0, 9),
    absent=st.sampled_from([0.0, 0.0, 0.1, 0.6]),
    delay=st.sampled_from([0, 0, 3, 40]),
    values=st.sampled_from([2, 3, 1000]),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_choice_is_that_of_looking_at_all_arms(
    sequence, window, n_arms, joins, absent, delay, values, seed
):
    """And so are propensities and the header, which has the leader, the next mean, and who is due when."""
    rng = np.random.default_rng(seed)
    policy = br.ForcedExploration(sequence, window, reset_round=int(rng.integers(3)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(standings, "MANY", 1)
        patch.setattr(standings, "BUCKET", 2)
        one, other = Run(policy, n_arms, 1), Run(policy, n_arms, NONE)
        assert len(one.state.memory) - len(other.state.memory) == policy.derived(n_arms) >= 2
        waiting = []
        joined = set(rng.integers(0, 160, joins).tolist())
        for step in range(1, 161):
            if step in joined:
                one.join()
                other.join()
            n = len(one.state.arms)
            away = set(np.flatnonzero(rng.random(n) < absent).tolist()) - {int(rng.integers(n))}
            found = one.ask(away)
            assert found == other.ask(away), f"step {step}"
            waiting.append((step + int(rng.integers(delay + 1)), step, found[0]))
            for entry in [entry for entry in waiting if entry[0] <= step]:
                waiting.remove(entry)
                if rng.random() < 0.1:
                    continue
                told = entry[2], float(rng.integers(values)) / values, entry[1]
                assert one.tell(*told) == other.tell(*told)
                if window is None and rng.random() < 0.1:
                    right = told[0], told[1], 1.0 - told[1], told[2]
                    assert one.correct(*right) == other.correct(*right)


@pytest.mark.full
@pytest.mark.parametrize("window", [None, 150])
@pytest.mark.parametrize("n_arms", [101, 200])
def test_so_it_is_in_compiled_code(n_arms, window, monkeypatch):
    rng = np.random.default_rng(n_arms)
    policy = br.ForcedExploration(br.Linear(), window)
    rewards = (rng.random((5 * n_arms, n_arms)) < rng.random(n_arms)).astype(float)
    chosen = br.trace(policy, rewards, seed=2)
    monkeypatch.setattr(standings, "MANY", NONE)
    assert chosen.tolist() == br.trace(policy, rewards, seed=2).tolist()


def test_few_arms_are_looked_at(monkeypatch):
    """Of K = 1,000 arms: a leaf or two at a step, and all at the end of a round."""
    counts = dict.fromkeys(("write_leaf", "build"), 0)

    def counted(name, function):
        def call(*arguments):
            counts[name] += 1
            return function(*arguments)

        return call

    for name in counts:
        monkeypatch.setattr(standings, name, counted(name, getattr(standings, name)))
    for module, name in (
        (standings, "reschedule"),
        (standings.choices, "rank"),
        (standings.choices, "mean_moved"),
    ):
        monkeypatch.setattr(module, name, None)
    n_arms, horizon = 1000, 2500
    run = Run(br.ForcedExploration(br.Linear(20)), n_arms, 64)
    rng = np.random.default_rng(0)
    kernels, there = run.policy.kernels, np.arange(n_arms)
    for step in range(1, horizon + 1):
        arm = kernels.select(run.parameters, *run.state, there, rng)
        kernels.pull(run.parameters, *run.state, arm)
        kernels.learn(run.parameters, *run.state, arm, float(rng.integers(2)), step)
    rounds = int(run.state.header["round"])
    assert rounds == 2
    assert counts["build"] == rounds + 1
    assert counts["write_leaf"] - counts["build"] * len(run.state.memory) // 2 <= 6 * horizon


def test_of_many_arms_that_catch_up_few_are_looked_at(small, monkeypatch):
    """An arm that joined is due before the least recently pulled one: its leaf is found."""
    run = Run(br.ForcedExploration(br.Constant(40.0)), 40, 1)
    for step in range(1, 201):
        arm, _, _ = run.ask(set())
        run.tell(arm, float(arm == 3), step)
    for _ in range(6):
        run.join()
    monkeypatch.setattr(standings.turns, "next_due", lambda header, arms, candidates: int(header["first"]))
    chosen = [run.ask(set())[0] for _ in range(6)]
    assert chosen == [40, 41, 42, 43, 44, 45]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_tree_that_is_none_harms_nobody(compiled):
    """Arms that are there are chosen, soon, whatever the rows of the tree are."""
    n_arms, rng = 101, np.random.default_rng(3)
    policy = br.ForcedExploration(br.Linear())
    loop = trace_loop(policy.kernels)
    loop = loop if compiled else loop.py_func
    for _ in range(runs(4, 100)):
        parameters, state = policy.parameters(n_arms, None), policy.start(n_arms, None)
        chosen, rewards = np.empty(150, np.int64), rng.random((150, n_arms)).round(1)
        loop(parameters, *state, np.arange(n_arms), rewards, rng, chosen)
        for field in SLOT:
            wrong = rng.choice([-1, 0, 1, 50, 150], len(state.memory))
            if state.memory.dtype[field].kind == "f":
                wrong = np.where(
                    rng.random(len(wrong)) < 0.5, wrong, rng.choice([np.nan, np.inf, -np.inf, 0.5])
                )
            state.memory[field] = wrong
        state.memory[standings.BUILT][0] = 1
        state.header["leader"] = -1
        assert loop(parameters, *state, np.arange(n_arms), rewards, rng, chosen) == 0
        assert 0 <= chosen.min() <= chosen.max() < n_arms
