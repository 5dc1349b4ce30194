"""The compiled loops that run a policy step by step."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brigand import jit
from brigand.environments.environment import Environment
from brigand.environments.functions import paying
from brigand.environments.moving import CompiledMoving, Moving, reward_about
from brigand.environments.world import World
from brigand.errors import InvalidValueError
from brigand.policies.base import Header, Kernels, Policy, Table, check_choices
from brigand.rng import Stream
from brigand.shortcuts import lend, wind
from brigand.simulation.plan import Plan, Runs

Functions = tuple[Callable[..., float], ...]
BLOCK = 1024
"""Random numbers are drawn for this many steps at a time: faster than one by one, and the same numbers."""
MOST_AT_ONCE = 50
STEPS_AT_ONCE = 200_000
"""So many replications, of no more steps, are played in one call of compiled code, which costs 0.1 ms."""


@jit.kernel
def score(
    counts: NDArray[np.int64],
    gaps: NDArray[np.float64],
    pulls: NDArray[np.int64],
    regret: NDArray[np.float64],
) -> None:
    """Write pulls (K,) and regret (1,) from the pulls of each phase and arm.

    From integer counts: exact, and the same for every way of simulating.
    """
    pulls[:] = 0
    regret[0] = 0.0
    for p in range(counts.shape[0]):
        for k in range(counts.shape[1]):
            pulls[k] += counts[p, k]
            regret[0] += counts[p, k] * gaps[p, k]


def simulation_loop(kernels: Kernels, functions: Functions = ()) -> Callable[..., int]:
    """Return the compiled loop that runs `kernels` against an environment.

    Parameters
    ----------
    kernels : Kernels
        Plain functions, see `brigand.policies.base`.
    functions : tuple of functions
        Those that the environment calls, see `brigand.environments.functions`.

    Returns
    -------
    callable
        ``loop(parameters, headers, arms, memory, fresh, candidates, laws, table, starts, uses_uniform,
        uses_normal, gaps, checkpoints, *wound, pulls, regret, earned)``. For n replications it takes states
        of shapes (n,) and (n, K), a memory that it makes ``fresh`` for each, and their generators for
        rewards and for choices (`brigand.shortcuts.wind`). It changes the states,
        and fills ``pulls``, int64 of shape (n, checkpoints, K), and ``regret`` and ``earned`` (the rewards),
        float64 of shape (n, checkpoints), up to and including each checkpoint. It returns 0, or the step at
        which the policy chose an arm that is not there.
    """
    return _simulation_loop(kernels, functions)


@functools.cache
def _simulation_loop(kernels: Kernels, functions: Functions) -> Callable[..., int]:
    select, pull, learn = jit.kernel(kernels.select), jit.kernel(kernels.pull), jit.kernel(kernels.learn)
    pay = paying(functions)

    def simulate(
        parameters: Any,
        headers: Table,
        states: Table,
        memory: Table,
        fresh: Table,
        candidates: NDArray[np.int64],
        laws: NDArray[np.void],
        table: NDArray[np.float64],
        starts: NDArray[np.int64],
        uses_uniform: bool,
        uses_normal: bool,
        gaps: NDArray[np.float64],
        checkpoints: NDArray[np.int64],
        reward_states: NDArray[np.uint64],
        choice_states: NDArray[np.uint64],
        reward_rng: np.random.Generator,
        reward_state: NDArray[np.uint64],
        reward_half: NDArray[np.uint32],
        rng: np.random.Generator,
        choice_state: NDArray[np.uint64],
        choice_half: NDArray[np.uint32],
        pulls: NDArray[np.int64],
        regret: NDArray[np.float64],
        earned: NDArray[np.float64],
    ) -> int:
        uniforms = np.zeros(BLOCK)
        normals = np.zeros(BLOCK)
        counts = np.zeros((len(starts), states.shape[1]), np.int64)
        memory, candidates, table = lend(memory), lend(candidates), lend(table)
        for run in range(len(headers)):
            header, arms = headers[run], lend(states[run])
            for row in range(len(memory)):
                memory[row] = fresh[row]
            reward_state[:] = reward_states[run]
            choice_state[:] = choice_states[run]
            reward_half[:] = 0
            choice_half[:] = 0
            counts[:] = 0
            done = 0
            phase = 0
            total = 0.0
            for checkpoint in range(len(checkpoints)):
                while done < checkpoints[checkpoint]:
                    if phase + 1 < len(starts) and done == starts[phase + 1]:
                        phase += 1
                    end = min(done + BLOCK, checkpoints[checkpoint])
                    if phase + 1 < len(starts):
                        end = min(end, starts[phase + 1])
                    for i in range(end - done):
                        if uses_uniform:
                            uniforms[i] = reward_rng.random()
                        if uses_normal:
                            normals[i] = reward_rng.standard_normal()
                    block = 0.0  # summed by blocks, which rounds less
                    for i in range(end - done):
                        arm = select(parameters, header, arms, memory, candidates, rng)
                        if not 0 <= arm < len(arms):
                            return done + i + 1
                        pull(parameters, header, arms, memory, arm)
                        reward = pay(laws[phase, arm], table, uniforms[i], normals[i])
                        learn(parameters, header, arms, memory, arm, reward, done + i + 1)
                        counts[phase, arm] += 1
                        block += reward
                    total += block
                    done = end
                score(counts, gaps, pulls[run, checkpoint], regret[run, checkpoint : checkpoint + 1])
                earned[run, checkpoint] = total
        return 0

    return jit.compile_loop(simulate, *kernels, *functions)


@functools.cache
def moving_loop(kernels: Kernels, functions: Functions) -> Callable[..., int]:
    """Return the compiled loop that runs `kernels` in a world whose means move.

    Returns
    -------
    callable
        ``loop(parameters, headers, arms, memory, fresh, candidates, world, checkpoints, *wound, pulls, lost,
        earned)``, as `simulation_loop`, but for ``world``, a `CompiledMoving`, and ``lost``: the largest mean
        of the row less the mean of the arm, summed over the pulls that were made, float64 of shape (n,
        checkpoints).
    """
    select, pull, learn = jit.kernel(kernels.select), jit.kernel(kernels.pull), jit.kernel(kernels.learn)
    pay = paying(functions)

    def move(
        parameters: Any,
        headers: Table,
        states: Table,
        memory: Table,
        fresh: Table,
        candidates: NDArray[np.int64],
        world: CompiledMoving,
        checkpoints: NDArray[np.int64],
        reward_states: NDArray[np.uint64],
        choice_states: NDArray[np.uint64],
        reward_rng: np.random.Generator,
        reward_state: NDArray[np.uint64],
        reward_half: NDArray[np.uint32],
        rng: np.random.Generator,
        choice_state: NDArray[np.uint64],
        choice_half: NDArray[np.uint32],
        pulls: NDArray[np.int64],
        lost: NDArray[np.float64],
        earned: NDArray[np.float64],
    ) -> int:
        uniforms = np.zeros(BLOCK)
        normals = np.zeros(BLOCK)
        shared = np.zeros(BLOCK)
        counts = np.zeros(states.shape[1], np.int64)
        means, best, noise, laws, table = world.means, world.best, world.noise, world.laws, world.table
        loads, persistence, uses_shared = world.loads, world.persistence, world.uses_shared
        anew = math.sqrt(1.0 - persistence * persistence)
        memory, candidates = lend(memory), lend(candidates)
        for run in range(len(headers)):
            header, arms = headers[run], lend(states[run])
            for row in range(len(memory)):
                memory[row] = fresh[row]
            reward_state[:] = reward_states[run]
            choice_state[:] = choice_states[run]
            reward_half[:] = 0
            choice_half[:] = 0
            counts[:] = 0
            done = 0
            total, block, behind, gap = 0.0, 0.0, 0.0, 0.0  # summed by blocks, which rounds less
            common = reward_rng.standard_normal() if uses_shared else 0.0
            for checkpoint in range(len(checkpoints)):
                while done < checkpoints[checkpoint]:
                    end = min((done // BLOCK + 1) * BLOCK, checkpoints[checkpoint])
                    for i in range(end - done):
                        if world.uses_uniform:
                            uniforms[i] = reward_rng.random()
                        if world.uses_normal:
                            normals[i] = reward_rng.standard_normal()
                        if uses_shared:
                            shared[i] = common
                            common = persistence * common + anew * reward_rng.standard_normal()
                    for i in range(end - done):
                        arm = select(parameters, header, arms, memory, candidates, rng)
                        if not 0 <= arm < len(arms):
                            return done + i + 1
                        pull(parameters, header, arms, memory, arm)
                        at = counts[arm] if world.by_pulls else done + i
                        mean = means[at, arm]
                        drawn = pay(laws[arm], table, uniforms[i], normals[i])
                        reward = reward_about(noise[arm], mean, drawn, uniforms[i])
                        if uses_shared:
                            reward += loads[arm] * shared[i]
                        learn(parameters, header, arms, memory, arm, reward, done + i + 1)
                        counts[arm] += 1
                        block += reward
                        gap += best[at] - mean
                    done = end
                    if done % BLOCK == 0:  # whatever the checkpoints are
                        total, block, behind, gap = total + block, 0.0, behind + gap, 0.0
                pulls[run, checkpoint] = counts
                lost[run, checkpoint] = behind + gap
                earned[run, checkpoint] = total + block
        return 0

    return jit.compile_loop(move, *kernels, *functions)


def loop_in(world: World, kernels: Kernels) -> Callable[..., int]:
    """Return the compiled loop that runs `kernels` in a world."""
    if isinstance(world, Moving):
        return moving_loop(kernels, world.drawn.functions)
    return simulation_loop(kernels, world.functions)


@functools.cache
def trace_loop(kernels: Kernels) -> Callable[..., int]:
    """Return the compiled loop that runs `kernels` on a table of rewards.

    Returns
    -------
    callable
        ``loop(parameters, header, arms, memory, candidates, rewards, rng, chosen)``. It changes the state,
        and fills ``chosen``, int64 of shape (T,), with the arms pulled. A reward that is NaN never comes. It
        returns 0, or the step at which the policy chose an arm that is not there.
    """
    select, pull, learn = jit.kernel(kernels.select), jit.kernel(kernels.pull), jit.kernel(kernels.learn)

    def trace(
        parameters: Any,
        header: Header,
        arms: Table,
        memory: Table,
        candidates: NDArray[np.int64],
        rewards: NDArray[np.float64],
        rng: np.random.Generator,
        chosen: NDArray[np.int64],
    ) -> int:
        arms, memory, candidates = lend(arms), lend(memory), lend(candidates)
        for i in range(len(chosen)):
            arm = select(parameters, header, arms, memory, candidates, rng)
            if not 0 <= arm < len(arms):
                return i + 1
            pull(parameters, header, arms, memory, arm)
            if not math.isnan(rewards[i, arm]):
                learn(parameters, header, arms, memory, arm, rewards[i, arm], i + 1)
            chosen[i] = arm
        return 0

    return jit.compile_loop(trace, *kernels)


class Runner:
    """Runs replications of one policy step by step; safe to share between threads."""

    def __init__(self, plan: Plan, policy: Policy) -> None:
        informed = policy.informed(plan.environment)
        n_arms = plan.environment.n_arms
        self.at_once = max(1, min(MOST_AT_ONCE, STEPS_AT_ONCE // plan.horizon))
        self._plan = plan
        self._policy = policy
        self._rewards = Stream(plan.seed, plan.environment)
        self._choices = Stream(plan.seed, policy)
        self._parameters = informed.parameters(n_arms, plan.horizon)
        self._start = informed.start(n_arms, plan.horizon)
        self._loop = loop_in(plan.environment, informed.kernels)
        self._candidates = np.arange(n_arms)
        self._world = _compiled(plan.environment, plan.horizon)

    def run(self, replications: Sequence[int]) -> Runs:
        """Run some replications."""
        environment, checkpoints = self._plan.environment, self._plan.checkpoints
        n, n_arms = len(replications), environment.n_arms
        regret, earned = np.empty((2, n, len(checkpoints)))
        pulls = np.empty((*regret.shape, n_arms), np.int64)
        headers = np.repeat(np.array([self._start.header]), n)
        arms = np.tile(self._start.arms, (n, 1))
        keys, choices = self._choices.keyed_starts(replications)
        if "key" in (headers.dtype.names or ()):
            headers["key"] = keys
        for some, wound in wind(self._rewards.starts(replications), choices):
            failed = self._loop(
                self._parameters,
                headers[some],
                arms[some],
                np.empty_like(self._start.memory),
                self._start.memory,
                self._candidates,
                *self._world,
                checkpoints,
                *wound,
                pulls[some],
                regret[some],
                earned[some],
            )
            check_choices(self._policy, failed)
        if environment.functions and not np.isfinite(earned).all():
            raise InvalidValueError("rewards must be finite, but a reward function has returned NaN or inf.")
        forced = arms["forced"] if "forced" in (arms.dtype.names or ()) else None
        if isinstance(environment, Moving):
            regret = environment.regret_of(regret, pulls, checkpoints)
        return Runs(regret, pulls, forced, environment.best_total(checkpoints) - earned)


def _compiled(world: World, horizon: int) -> tuple[Any, ...]:
    """Return what the loop takes of a world.

    Raises
    ------
    InvalidValueError
        It is of a kind that no loop plays.
    """
    if isinstance(world, Moving):
        return (world.compiled(horizon),)
    if isinstance(world, Environment):
        return (*world.compiled, world.gaps)
    raise InvalidValueError(f"no loop plays a {type(world).__name__}.")
