"""Exact simulation of FE in time that grows with the number of its forced pulls, not with T.

Between forced pulls FE pulls the arm with the largest mean, and only that arm's mean moves. A block of such
pulls is drawn at once, as one sum of rewards, where the arm cannot lose its lead inside the block but for a
probability below 2^-64 (`brigand.environments.totals.safe_pulls`, a bound that is known before anything is
drawn); otherwise its rewards are drawn one by one. Where the leader and all other arms stay on their sides of
a bar between them, whole rounds are drawn at once: each takes ceil(f(r)) + 1 steps, every other arm is forced
once, in the order of their last pulls, and the leader is pulled at the other steps.

So the result has the law of the step loop up to a total variation of 2^-64 a block. ``docs/skip_ahead.md``
has the theorem and its proof.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brigand import jit
from brigand.environments.totals import UNKNOWN
from brigand.jit import kernel
from brigand.policies.base import Policy, Table
from brigand.policies.explore_then_commit import ExploreThenCommit
from brigand.policies.forced_exploration import ForcedExploration
from brigand.rng import Stream
from brigand.simulation.blocks import (
    ARM,
    CLOCK,
    advance,
    earn_one,
    earn_some,
    enter_round,
    find_leader,
    play_greedy,
    whole,
)
from brigand.simulation.plan import Plan
from brigand.simulation.rounds import play_rounds, safe_rounds
from brigand.simulation.step import score


@kernel
def next_stop(clock: Any, starts: Any, checkpoint: int) -> int:
    """Enter the phase of the next step; return the step before the next phase, or the checkpoint."""
    if clock["phase"] + 1 < len(starts) and clock["step"] == starts[clock["phase"] + 1]:
        clock["phase"] += 1
    if clock["phase"] + 1 < len(starts):
        checkpoint = min(checkpoint, starts[clock["phase"] + 1])
    return checkpoint


@kernel
def pull_once(
    parameters: Any,
    clock: Any,
    arms: Table,
    memory: Table,
    law: Any,
    table: Any,
    arm: int,
    rng: np.random.Generator,
) -> None:
    """Pull an arm and draw its reward."""
    earn_one(arms, arm, law, table, rng)
    advance(parameters, clock, arms, memory, arm, 1)


@kernel
def all_known(totals: Any) -> bool:
    """Return whether every arm's sums have a known law."""
    unknown = 0
    for k in range(len(totals)):
        unknown += totals[k]["kind"] == UNKNOWN
    return unknown == 0


@functools.cache
def fe_loop() -> Callable[..., None]:
    """Return the compiled loop that plays FE without a window.

    Returns
    -------
    callable
        ``loop(parameters, clock, arms, memory, laws, table, totals, starts, gaps, checkpoints, reward_rng,
        rng, pulls, regret)``: as `brigand.simulation.step.simulation_loop`, but with `blocks.CLOCK` and
        `blocks.ARM` as state, and with `totals` of shape (phases, K). ``clock["events"]`` counts what was
        decided at once.
    """

    def skip(
        parameters: Any,
        clock: Any,
        arms: Table,
        memory: Table,
        laws: NDArray[np.void],
        table: NDArray[np.float64],
        totals: NDArray[np.void],
        starts: NDArray[np.int64],
        gaps: NDArray[np.float64],
        checkpoints: NDArray[np.int64],
        reward_rng: np.random.Generator,
        rng: np.random.Generator,
        pulls: NDArray[np.int64],
        regret: NDArray[np.float64],
    ) -> None:
        n_arms = len(arms)
        counts = np.zeros((len(starts), n_arms), np.int64)
        for checkpoint in range(len(checkpoints)):
            while clock["step"] < checkpoints[checkpoint]:
                stop = next_stop(clock, starts, checkpoints[checkpoint])
                step, phase = clock["step"], clock["phase"]
                clock["events"] += 1
                uniform = rng.random()

                if clock["seen"] == 0 and clock["round"] > 0 and clock["threshold"] >= n_arms > 1:
                    leader, second = find_leader(arms, uniform)
                    if arms[leader]["mean"] > second and all_known(totals[phase]):
                        rounds, moved, end = safe_rounds(
                            parameters, clock, arms, memory, totals[phase], leader, second, stop
                        )
                        if rounds > 0:
                            for k in range(n_arms):
                                counts[phase, k] += rounds
                            counts[phase, leader] += end - step - rounds * n_arms
                            play_rounds(
                                parameters,
                                clock,
                                arms,
                                memory,
                                totals[phase],
                                laws[phase],
                                table,
                                leader,
                                rounds,
                                moved,
                                end,
                                reward_rng,
                            )
                            continue

                oldest = 0
                for k in range(1, n_arms):
                    if arms[k]["last"] < arms[oldest]["last"]:
                        oldest = k
                if arms[oldest]["last"] == 0 or step - arms[oldest]["last"] >= clock["threshold"]:
                    arms[oldest]["forced"] += 1
                    counts[phase, oldest] += 1
                    pull_once(parameters, clock, arms, memory, laws[phase, oldest], table, oldest, reward_rng)
                    continue
                if n_arms == 1:  # never due again, since f does not decrease; its mean decides nothing
                    counts[phase, 0] += stop - step
                    arms[0]["last"] = stop
                    clock["step"] = stop
                    enter_round(parameters, clock, memory, clock["round"] + stop - step)
                    continue

                leader, second = find_leader(arms, uniform)
                most = 1
                # A tie is decided anew at every step, and so is a pull that ends the round.
                if arms[leader]["mean"] > second and (
                    arms[leader]["lap"] == clock["lap"] or clock["seen"] < n_arms - 1
                ):
                    most = stop - step
                    for k in range(n_arms):
                        if k != leader:
                            due = whole(np.ceil(arms[k]["last"] + clock["threshold"]))
                            most = min(most, due - step)
                n = play_greedy(
                    arms, totals[phase, leader], laws[phase, leader], table, leader, second, most, reward_rng
                )
                advance(parameters, clock, arms, memory, leader, n)
                counts[phase, leader] += n
            score(counts, gaps, pulls[checkpoint], regret[checkpoint : checkpoint + 1])

    return jit.compile_loop(skip, play_greedy)


@functools.cache
def etc_loop() -> Callable[..., None]:
    """Return the compiled loop that plays ETC, with the same arguments as `fe_loop`'s."""

    def skip(
        parameters: Any,
        clock: Any,
        arms: Table,
        memory: Table,
        laws: NDArray[np.void],
        table: NDArray[np.float64],
        totals: NDArray[np.void],
        starts: NDArray[np.int64],
        gaps: NDArray[np.float64],
        checkpoints: NDArray[np.int64],
        reward_rng: np.random.Generator,
        rng: np.random.Generator,
        pulls: NDArray[np.int64],
        regret: NDArray[np.float64],
    ) -> None:
        n_arms = len(arms)
        order = rng.permutation(n_arms)
        counts = np.zeros((len(starts), n_arms), np.int64)
        explored = parameters.m * n_arms
        leader = -1
        for checkpoint in range(len(checkpoints)):
            while clock["step"] < checkpoints[checkpoint]:
                stop = next_stop(clock, starts, checkpoints[checkpoint])
                step, phase = clock["step"], clock["phase"]
                clock["events"] += 1
                uniform = rng.random()
                if step < explored:
                    stop = min(stop, explored)
                    for place in range(n_arms):  # order[place] is pulled when step modulo K is place
                        k = order[place]
                        n = (stop - place + n_arms - 1) // n_arms - (step - place + n_arms - 1) // n_arms
                        counts[phase, k] += n
                        earn_some(arms, k, totals[phase, k], laws[phase, k], table, n, reward_rng)
                else:
                    if leader < 0:
                        leader, _ = find_leader(arms, uniform)
                    counts[phase, leader] += stop - step
                clock["step"] = stop
            score(counts, gaps, pulls[checkpoint], regret[checkpoint : checkpoint + 1])

    return jit.compile_loop(skip, next_stop)


def can_skip(policy: Policy) -> bool:
    """Return whether the policy can be run by skipping: FE without a window, and ETC."""
    fe = type(policy) is ForcedExploration and policy.window is None
    return fe or type(policy) is ExploreThenCommit


class SkipRunner:
    """Runs single replications of one policy by skipping; safe to share between threads."""

    def __init__(self, plan: Plan, policy: Policy) -> None:
        environment = plan.environment
        self._plan = plan
        self._rewards = Stream(plan.seed, environment)
        self._choices = Stream(plan.seed, policy)
        self._parameters = policy.parameters(environment.n_arms, plan.horizon)
        self._memory = policy.memory(environment.n_arms, plan.horizon)
        self._counts_forced = type(policy) is ForcedExploration
        self._loop = fe_loop() if self._counts_forced else etc_loop()

    def run(
        self, replication: int
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64] | None]:
        """Return regret (checkpoints,), pulls (checkpoints, K), and forced pulls (K,) if they are counted."""
        environment, checkpoints = self._plan.environment, self._plan.checkpoints
        arms = np.repeat(ARM, environment.n_arms)
        pulls = np.empty((len(checkpoints), environment.n_arms), np.int64)
        regret = np.empty(len(checkpoints))
        compiled = environment.compiled
        self._loop(
            self._parameters,
            CLOCK.copy()[0],
            arms,
            self._memory,
            compiled.laws,
            compiled.table,
            environment.totals,
            compiled.starts,
            environment.gaps,
            checkpoints,
            self._rewards.generator(replication),
            self._choices.generator(replication),
            pulls,
            regret,
        )
        return regret, pulls, arms["forced"] if self._counts_forced else None
