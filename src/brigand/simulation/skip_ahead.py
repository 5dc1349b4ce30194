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
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brigand import jit
from brigand.environments.environment import Environment
from brigand.environments.world import World
from brigand.errors import InvalidValueError
from brigand.jit import kernel
from brigand.policies.base import Policy, Table
from brigand.policies.commit.explore_then_commit import ExploreThenCommit
from brigand.policies.forced.forced_exploration import ForcedExploration
from brigand.rng import Stream
from brigand.shortcuts import wind
from brigand.simulation.blocks import (
    ARM,
    CLOCK,
    advance,
    all_known,
    earn,
    earn_some,
    earn_tilted,
    enter_round,
    find_leader,
    next_stop,
    play_greedy,
    pull_once,
    whole,
)
from brigand.simulation.plan import Plan, Runs
from brigand.simulation.rounds import play_rounds, safe_rounds
from brigand.simulation.step import score
from brigand.simulation.tilt import Tilt, aim_greedy, draw_aimed, is_tilted, most_rounds, note, weigh

AT_ONCE = 50
"""So many replications are played in one call of compiled code, which costs 30 microseconds."""


class CompiledWorld(NamedTuple):
    """An environment as the loops take it: see `CompiledEnvironment`; `totals` and `gaps`: (phases, K)."""

    laws: NDArray[np.void]
    table: NDArray[np.float64]
    starts: NDArray[np.int64]
    totals: NDArray[np.void]
    gaps: NDArray[np.float64]


@kernel
def play_fe(
    parameters: Any,
    clock: Any,
    arms: Table,
    memory: Table,
    world: CompiledWorld,
    checkpoints: NDArray[np.int64],
    rng: np.random.Generator,
    pulls: NDArray[np.int64],
    regret: NDArray[np.float64],
    tilt: Tilt | None = None,
) -> None:
    """Play FE without a window; ``clock["events"]`` counts what was decided at once.

    With a `tilt`, rewards of the best arm and its rival are tilted, and the run is weighed at checkpoints.
    """
    n_arms = len(arms)
    counts = np.zeros((len(world.starts), n_arms), np.int64)
    for checkpoint in range(len(checkpoints)):
        while clock["step"] < checkpoints[checkpoint]:
            stop = next_stop(clock, world.starts, checkpoints[checkpoint])
            step, phase = clock["step"], clock["phase"]
            clock["events"] += 1
            uniform = rng.random()

            if clock["seen"] == 0 and clock["round"] > 0 and clock["threshold"] >= n_arms > 1:
                leader, second = find_leader(arms, uniform)
                if arms[leader]["mean"] > second and all_known(world.totals[phase]):
                    limit = np.inf
                    if tilt is not None:
                        limit = most_rounds(tilt, clock, leader)
                    rounds, moved, end = safe_rounds(
                        parameters, clock, arms, memory, world.totals[phase], leader, second, stop, limit
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
                            world.totals[phase],
                            world.laws[phase],
                            world.table,
                            leader,
                            rounds,
                            moved,
                            end,
                            rng,
                            tilt,
                        )
                        continue

            oldest = 0
            for k in range(1, n_arms):
                if arms[k]["last"] < arms[oldest]["last"]:
                    oldest = k
            wait = whole(np.ceil(clock["threshold"]))  # whole steps: sums of floats are rounded
            if arms[oldest]["last"] == 0 or step - arms[oldest]["last"] >= wait:
                arms[oldest]["forced"] += 1
                counts[phase, oldest] += 1
                if tilt is not None and is_tilted(tilt, oldest):
                    total, law = world.totals[phase, oldest], world.laws[phase, oldest]
                    earn_tilted(arms, oldest, total, law, world.table, 1, rng, tilt, clock)
                    advance(parameters, clock, arms, memory, oldest, 1)
                    continue
                pull_once(
                    parameters, clock, arms, memory, world.laws[phase, oldest], world.table, oldest, rng
                )
                continue
            if n_arms == 1:  # never due again, since f does not decrease; its mean decides nothing
                counts[phase, 0] += stop - step
                arms[0]["last"] = stop
                clock["step"] = stop
                enter_round(parameters, clock, memory, clock["round"] + stop - step)
                continue

            leader, second = find_leader(arms, uniform)
            if tilt is not None and leader == tilt.pair.best and aim_greedy(tilt, clock, arms, second):
                total, law = world.totals[phase, leader], world.laws[phase, leader]
                reward = draw_aimed(tilt, total, law, world.table, 1, rng)
                note(tilt, total, law, world.table, 1, reward)
                earn(arms, leader, reward, 0.0, 1)
                advance(parameters, clock, arms, memory, leader, 1)
                counts[phase, leader] += 1
                continue
            most = 1
            # A tie is decided anew at every step, and so is a pull that ends the round.
            if arms[leader]["mean"] > second and (
                arms[leader]["lap"] == clock["lap"] or clock["seen"] < n_arms - 1
            ):
                most = stop - step
                for k in range(n_arms):
                    if k != leader:
                        most = min(most, arms[k]["last"] + wait - step)
            n = play_greedy(
                arms,
                world.totals[phase, leader],
                world.laws[phase, leader],
                world.table,
                leader,
                second,
                most,
                rng,
                tilt,
                clock,
            )
            advance(parameters, clock, arms, memory, leader, n)
            counts[phase, leader] += n
        score(counts, world.gaps, pulls[checkpoint], regret[checkpoint : checkpoint + 1])
        if tilt is not None:
            tilt.weight[checkpoint] = weigh(tilt)


@kernel
def play_etc(
    parameters: Any,
    clock: Any,
    arms: Table,
    memory: Table,
    world: CompiledWorld,
    checkpoints: NDArray[np.int64],
    rng: np.random.Generator,
    pulls: NDArray[np.int64],
    regret: NDArray[np.float64],
) -> None:
    """Play ETC."""
    n_arms = len(arms)
    order = rng.permutation(n_arms)
    counts = np.zeros((len(world.starts), n_arms), np.int64)
    explored = parameters.m * n_arms
    leader = -1
    for checkpoint in range(len(checkpoints)):
        while clock["step"] < checkpoints[checkpoint]:
            stop = next_stop(clock, world.starts, checkpoints[checkpoint])
            step, phase = clock["step"], clock["phase"]
            clock["events"] += 1
            uniform = rng.random()
            if step < explored:
                stop = min(stop, explored)
                for place in range(n_arms):  # order[place] is pulled when step modulo K is place
                    k = order[place]
                    n = (stop - place + n_arms - 1) // n_arms - (step - place + n_arms - 1) // n_arms
                    counts[phase, k] += n
                    earn_some(arms, k, world.totals[phase, k], world.laws[phase, k], world.table, n, rng)
            else:
                if leader < 0:
                    leader, _ = find_leader(arms, uniform)
                counts[phase, leader] += stop - step
            clock["step"] = stop
        score(counts, world.gaps, pulls[checkpoint], regret[checkpoint : checkpoint + 1])


@functools.cache
def skip_loop(play: Callable[..., None]) -> Callable[..., None]:
    """Return the compiled loop over replications that calls `play_fe` or `play_etc`.

    Returns
    -------
    callable
        ``loop(parameters, clocks, arms, memory, world, checkpoints, *wound, pulls, regret)``. For n
        replications it takes `blocks.CLOCK` n times, `blocks.ARM` n times K, and their generators
        (`brigand.shortcuts.wind`), and fills ``pulls``, int64 of shape (n, checkpoints, K), and ``regret``,
        float64 of shape (n, checkpoints).
    """

    def skip(
        parameters: Any,
        clocks: Table,
        arms: Table,
        memory: Table,
        world: CompiledWorld,
        checkpoints: NDArray[np.int64],
        states: NDArray[np.uint64],
        rng: np.random.Generator,
        state: NDArray[np.uint64],
        half: NDArray[np.uint32],
        pulls: NDArray[np.int64],
        regret: NDArray[np.float64],
    ) -> None:
        for i in range(len(clocks)):
            state[:] = states[i]
            half[:] = 0
            play(parameters, clocks[i], arms[i], memory, world, checkpoints, rng, pulls[i], regret[i])

    return jit.compile_loop(skip, play)


def can_skip(policy: Policy) -> bool:
    """Return whether it can be run by skipping: FE without a window, if f is known beforehand, and ETC."""
    if type(policy) is ForcedExploration:
        return policy.window is None and not policy.sequence.needs_steps
    return type(policy) is ExploreThenCommit


def check_skippable(world: World) -> Environment:
    """Return a world in which blocks of pulls can be drawn at once.

    Raises
    ------
    InvalidValueError
        Its means move other than at breakpoints, or it calls a function.
    """
    if not isinstance(world, Environment):
        raise InvalidValueError(
            f"nothing can be skipped in {type(world).__name__}, whose means move all the time; only in an "
            "Environment. Use method='step'."
        )
    if world.functions:
        raise InvalidValueError("nothing can be skipped where rewards are functions. Use method='step'.")
    return world


class SkipRunner:
    """Runs replications of one policy by skipping; safe to share between threads."""

    def __init__(self, plan: Plan, policy: Policy) -> None:
        environment = check_skippable(plan.environment)
        compiled = environment.compiled
        # Reward by reward, a run may be as long as its horizon.
        self.at_once = AT_ONCE if all_known(environment.totals.ravel()) else 1
        self._world = CompiledWorld(
            compiled.laws, compiled.table, compiled.starts, environment.totals, environment.gaps
        )
        self._checkpoints = plan.checkpoints
        self._rewards = Stream(plan.seed, environment)
        self._arms = np.repeat(ARM, environment.n_arms)
        self._parameters = policy.parameters(environment.n_arms, plan.horizon)
        self._memory = policy.memory(environment.n_arms, plan.horizon)
        self._counts_forced = type(policy) is ForcedExploration
        self._loop = skip_loop(play_fe if self._counts_forced else play_etc)

    def run(self, replications: Sequence[int]) -> Runs:
        """Run some replications in one call of compiled code, which cannot be stopped."""
        return self.play(replications)[0]

    def play(self, replications: Sequence[int]) -> tuple[Runs, Table, NDArray[np.int64]]:
        """Return the runs, their arms (`blocks.ARM`, shape (n, K)) and events, decided at once each, (n,)."""
        n, n_arms = len(replications), len(self._arms)
        clocks, arms = np.repeat(CLOCK, n), np.tile(self._arms, (n, 1))
        pulls = np.empty((n, len(self._checkpoints), n_arms), np.int64)
        regret = np.empty(pulls.shape[:2])
        for some, wound in wind(self._rewards.starts(replications)):
            self._loop(
                self._parameters,
                clocks[some],
                arms[some],
                self._memory,
                self._world,
                self._checkpoints,
                *wound,
                pulls[some],
                regret[some],
            )
        return Runs(regret, pulls, arms["forced"] if self._counts_forced else None), arms, clocks["events"]
