"""The compiled loop for rewards that come late, or never, and arms that come and go.

Rewards that have not come lie in a timing wheel (Varghese and Lauck, SOSP 1987): a ring of slots, one for
each of the next steps, each with a list of the rewards that are due then, or whole turns later. So a step
costs the same, however many rewards are pending, as long as they are due within `MOST_SLOTS` steps.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brigand import jit
from brigand.environments.draw import GEOMETRIC, draw
from brigand.environments.functions import paying
from brigand.environments.moving import Moving, reward_about
from brigand.errors import InvalidValueError
from brigand.policies.base import Kernels, Policy, Table, check_choices, record
from brigand.rng import Stream
from brigand.shortcuts import lend, wind
from brigand.simulation.conditions import Delivery, delivery_of, parted
from brigand.simulation.plan import Plan, Runs
from brigand.simulation.step import BLOCK, MOST_AT_ONCE, STEPS_AT_ONCE, Functions, score

PULL = record(step=0, due=0, arm=0, next=-1, reward=0.0, imputed=math.nan)
"""A pull whose reward has not come: when it is due, the next one of its list, what was learned meanwhile."""
ROOM = 1024
"""For so many such pulls at first."""
MOST_SLOTS = 1 << 20
"""Of the wheel, which has no more than there are steps, or steps that a reward may be late."""


@jit.kernel
def longer(pulls: Table) -> Table:
    """Return a copy with twice the room, whose new half is a list of free places."""
    n = len(pulls)
    result = np.empty(2 * n, pulls.dtype)
    result[:n] = pulls
    chain(result, n)
    return result


@jit.kernel
def chain(pulls: Table, first: int) -> None:
    """Make a list of the free places from `first` on."""
    for i in range(first, len(pulls)):
        pulls[i]["next"] = i + 1
    pulls[len(pulls) - 1]["next"] = -1


@jit.kernel
def delay_by(law: Any, table: Any, uniform: float, normal: float, exponential: float) -> float:
    """Return how many steps late a reward is; fractions are still to be rounded down.

    A geometric delay is an exponential one, rounded down: NumPy draws it sooner than a logarithm is taken.
    """
    if law["kind"] == GEOMETRIC:
        return float(law["a"]) * exponential
    return draw(law, table, uniform, normal)


@functools.cache
def late_loop(kernels: Kernels, functions: Functions, moves: bool) -> Callable[..., int]:
    """Return the compiled loop that runs `kernels` under some conditions.

    Parameters
    ----------
    kernels : Kernels
        Plain functions, see `brigand.policies.base`.
    functions : tuple of functions
        Those that the environment calls, see `brigand.environments.functions`.
    moves : bool
        Whether the world is one whose means move.

    Returns
    -------
    callable
        ``loop(parameters, headers, arms, memory, fresh, world, starts, gaps, there, sizes, delivery, pending,
        slots, checkpoints, *wound, pulls, regret, earned)``: as `brigand.simulation.step.simulation_loop`, or
        as `moving_loop` there, with a third generator for delays and losses; ``world`` to ``sizes`` are
        those of a `brigand.simulation.conditions.Parted`; ``pending`` is `PULL` so often as there is room at
        first, and ``slots``, int32 of shape (n, 2), the wheel, n a power of 2.
    """
    select, pull, learn = jit.kernel(kernels.select), jit.kernel(kernels.pull), jit.kernel(kernels.learn)
    miss, correct = jit.kernel(kernels.miss), jit.kernel(kernels.correct)
    pay = paying(functions)

    def late(
        parameters: Any,
        headers: Table,
        states: Table,
        memory: Table,
        fresh: Table,
        world: Any,
        starts: NDArray[np.int64],
        gaps: NDArray[np.float64],
        there: NDArray[np.int64],
        sizes: NDArray[np.int64],
        delivery: Delivery,
        pending: Table,
        slots: NDArray[np.int32],
        checkpoints: NDArray[np.int64],
        reward_states: NDArray[np.uint64],
        choice_states: NDArray[np.uint64],
        delay_states: NDArray[np.uint64],
        reward_rng: np.random.Generator,
        reward_state: NDArray[np.uint64],
        reward_half: NDArray[np.uint32],
        rng: np.random.Generator,
        choice_state: NDArray[np.uint64],
        choice_half: NDArray[np.uint32],
        delay_rng: np.random.Generator,
        delay_state: NDArray[np.uint64],
        delay_half: NDArray[np.uint32],
        pulls: NDArray[np.int64],
        regret: NDArray[np.float64],
        earned: NDArray[np.float64],
    ) -> int:
        uniforms = np.zeros(BLOCK)
        normals = np.zeros(BLOCK)
        delay_uniforms = np.zeros(BLOCK)
        delay_normals = np.zeros(BLOCK)
        delay_exponentials = np.zeros(BLOCK)
        losses = np.ones(BLOCK)
        counts = np.zeros(gaps.shape, np.int64)
        sums = np.zeros(states.shape[1])  # of the rewards that came, and
        told = np.zeros(states.shape[1], np.int64)  # their number: what is imputed
        horizon = checkpoints[-1]
        turn = len(slots) - 1
        memory = lend(memory)
        laws, table = world.laws, lend(world.table)
        uses_uniform, uses_normal = world.uses_uniform, world.uses_normal
        if moves:
            means, best, noise, by_pulls = world.means, world.best, world.noise, world.by_pulls
            loads, persistence, uses_shared = world.loads, world.persistence, world.uses_shared
            anew = math.sqrt(1.0 - persistence * persistence)
            shared = np.zeros(BLOCK)
        for run in range(len(headers)):
            header, arms = headers[run], lend(states[run])
            for row in range(len(memory)):
                memory[row] = fresh[row]
            reward_state[:] = reward_states[run]
            choice_state[:] = choice_states[run]
            delay_state[:] = delay_states[run]
            reward_half[:] = 0
            choice_half[:] = 0
            delay_half[:] = 0
            counts[:] = 0
            sums[:] = 0.0
            told[:] = 0
            slots[:] = -1
            chain(pending, 0)
            free = 0
            done = 0
            since = 0  # the last batch
            phase = 0
            total, block, behind, gap = 0.0, 0.0, 0.0, 0.0  # summed by blocks, which rounds less
            if moves:
                common = reward_rng.standard_normal() if uses_shared else 0.0
            for checkpoint in range(len(checkpoints)):
                while done < checkpoints[checkpoint]:
                    if phase + 1 < len(starts) and done == starts[phase + 1]:
                        phase += 1
                    end = min(done + BLOCK - (done % BLOCK if moves else 0), checkpoints[checkpoint])
                    if phase + 1 < len(starts):
                        end = min(end, starts[phase + 1])
                    for i in range(end - done):
                        if uses_uniform:
                            uniforms[i] = reward_rng.random()
                        if uses_normal:
                            normals[i] = reward_rng.standard_normal()
                        if moves and uses_shared:
                            shared[i] = common
                            common = persistence * common + anew * reward_rng.standard_normal()
                        if delivery.uses_uniform:
                            delay_uniforms[i] = delay_rng.random()
                        if delivery.uses_normal:
                            delay_normals[i] = delay_rng.standard_normal()
                        if delivery.uses_exponential:
                            delay_exponentials[i] = delay_rng.standard_exponential()
                        if delivery.loses:
                            losses[i] = delay_rng.random()
                    candidates = lend(there[phase, : sizes[phase]])
                    absent = there[phase, sizes[phase] :]
                    for i in range(end - done):
                        step = done + i + 1
                        arm = select(parameters, header, arms, memory, candidates, rng)
                        if not 0 <= arm < len(arms):
                            return step
                        for j in range(len(absent)):
                            if absent[j] == arm:
                                return step
                            miss(parameters, header, arms, memory, absent[j])
                        pull(parameters, header, arms, memory, arm)
                        if moves:
                            row = counts[0, arm] if by_pulls else step - 1
                            mean = means[row, arm]
                            drawn = pay(laws[arm], table, uniforms[i], normals[i])
                            reward = reward_about(noise[arm], mean, drawn, uniforms[i])
                            if uses_shared:
                                reward += loads[arm] * shared[i]
                            counts[0, arm] += 1
                            gap += best[row] - mean
                        else:
                            reward = pay(laws[phase, arm], table, uniforms[i], normals[i])
                            counts[phase, arm] += 1
                        block += reward
                        law = delivery.laws[arm]
                        delay = delay_by(
                            law, delivery.table, delay_uniforms[i], delay_normals[i], delay_exponentials[i]
                        )
                        is_lost = losses[i] < delivery.lost[arm]
                        since += 1
                        waits = is_lost or delay >= 1.0 or since < delivery.batch
                        imputed = math.nan
                        if waits and delivery.imputes and told[arm] > 0:
                            imputed = sums[arm] / told[arm]
                            learn(parameters, header, arms, memory, arm, imputed, step)
                        comes = not is_lost and delay <= horizon - step
                        if waits and comes:
                            if free < 0:
                                free = len(pending)
                                pending = longer(pending)
                            place, free = free, pending[free]["next"]
                            due = step + int(delay)
                            pending[place]["step"], pending[place]["due"] = step, due
                            pending[place]["arm"], pending[place]["reward"] = arm, reward
                            pending[place]["imputed"], pending[place]["next"] = imputed, -1
                            slot = due & turn
                            if slots[slot, 0] < 0:
                                slots[slot, 0] = place
                            else:
                                pending[slots[slot, 1]]["next"] = place
                            slots[slot, 1] = place
                        if since < delivery.batch:
                            continue
                        since = 0
                        for now in range(step - delivery.batch + 1, step + 1):
                            slot = now & turn
                            place, before = slots[slot, 0], -1
                            while place >= 0:
                                after = pending[place]["next"]
                                if pending[place]["due"] > now:  # in another turn of the wheel
                                    before = place
                                else:
                                    if before < 0:
                                        slots[slot, 0] = after
                                    else:
                                        pending[before]["next"] = after
                                    if after < 0:
                                        slots[slot, 1] = before
                                    one = pending[place]["arm"]
                                    came = pending[place]["reward"]
                                    at = pending[place]["step"]
                                    was = pending[place]["imputed"]
                                    if math.isnan(was):
                                        learn(parameters, header, arms, memory, one, came, at)
                                    else:
                                        correct(parameters, header, arms, memory, one, was, came, at)
                                    sums[one] += came
                                    told[one] += 1
                                    pending[place]["next"] = free
                                    free = place
                                place = after
                        if not waits:
                            learn(parameters, header, arms, memory, arm, reward, step)
                            sums[arm] += reward
                            told[arm] += 1
                    done = end
                    if not moves or done % BLOCK == 0:  # as in the plain loops
                        total, block, behind, gap = total + block, 0.0, behind + gap, 0.0
                score(counts, gaps, pulls[run, checkpoint], regret[run, checkpoint : checkpoint + 1])
                regret[run, checkpoint] += behind + gap
                earned[run, checkpoint] = total + block
        return 0

    return jit.compile_loop(late, *kernels, *functions)


class LateRunner:
    """Runs replications of one policy under some conditions; safe to share between threads."""

    def __init__(self, plan: Plan, policy: Policy) -> None:
        conditions, environment = plan.conditions, plan.environment
        informed = policy.informed(environment)
        n_arms = environment.n_arms
        self.at_once = max(1, min(MOST_AT_ONCE, STEPS_AT_ONCE // plan.horizon))
        self._policy = policy
        self._environment = environment
        self._parted = parted(environment, conditions.arms, plan.checkpoints)
        self._delivery = delivery_of(conditions, n_arms)
        self._streams = Stream(plan.seed, environment), Stream(plan.seed, conditions)
        self._choices = Stream(plan.seed, policy)
        self._checkpoints = plan.checkpoints
        self._parameters = informed.parameters(n_arms, plan.horizon)
        self._start = informed.start(n_arms, plan.horizon)
        paid = environment.drawn if isinstance(environment, Moving) else environment
        self._loop = late_loop(informed.kernels, paid.functions, isinstance(environment, Moving))
        self._slots = min(MOST_SLOTS, 1 << int(min(plan.horizon, self._delivery.longest)).bit_length())

    def run(self, replications: Sequence[int]) -> Runs:
        """Run some replications."""
        n, n_arms = len(replications), len(self._start.arms)
        regret, earned = np.empty((2, n, len(self._checkpoints)))
        pulls = np.empty((*regret.shape, n_arms), np.int64)
        headers = np.repeat(np.array([self._start.header]), n)
        arms = np.tile(self._start.arms, (n, 1))
        keys, choices = self._choices.keyed_starts(replications)
        if "key" in (headers.dtype.names or ()):
            headers["key"] = keys
        rewards, delays = (stream.starts(replications) for stream in self._streams)
        for some, wound in wind(rewards, choices, delays):
            failed = self._loop(
                self._parameters,
                headers[some],
                arms[some],
                np.empty_like(self._start.memory),
                self._start.memory,
                *self._parted[:-1],
                self._delivery,
                np.repeat(PULL, ROOM),
                np.empty((self._slots, 2), np.int32),
                self._checkpoints,
                *wound,
                pulls[some],
                regret[some],
                earned[some],
            )
            check_choices(self._policy, failed)
        if self._environment.functions and not np.isfinite(earned).all():
            raise InvalidValueError("rewards must be finite, but a reward function has returned NaN or inf.")
        forced = arms["forced"] if "forced" in (arms.dtype.names or ()) else None
        if isinstance(self._environment, Moving):
            regret = self._environment.regret_of(regret, pulls, self._checkpoints)
        return Runs(regret, pulls, forced, self._parted.best_total - earned)
