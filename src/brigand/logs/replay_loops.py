"""The compiled loops that replay a policy on a log.

Both play n runs in a call. A run is on the log itself, or on one drawn from it: as many rows, with
replacement, by a key. What a run meets depends on its keys alone, and not on the policy: policies are
compared on the same queues, and on the same rows thinned.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brigand import jit
from brigand.policies.base import Kernels, Table
from brigand.policies.kernels.randomness import uniform_at
from brigand.shortcuts import lend

ITSELF = -1
"""In the place of a key: the log itself."""
STRETCHES = 20
LEAST_ROWS = 100
"""A log in its order is drawn stretch by stretch, as rates may change; each has so many rows at least."""


@jit.kernel
def mean_of(values: NDArray[np.float64]) -> float:
    """Return the mean, with the same bits in plain Python."""
    total = 0.0
    for i in range(len(values)):
        total += values[i]
    return total / len(values)


@functools.cache
def queue_loop(kernels: Kernels) -> Callable[..., int]:
    """Return the compiled loop that takes an arm's rewards from its queue.

    Returns
    -------
    callable
        ``loop(parameters, headers, arms, memory, fresh, candidates, rewards, firsts, endless, centre, keys,
        drawn, horizon, marks, *wound, steps, means, spreads, logged)``. The rewards of arm k are
        ``rewards[firsts[k]:firsts[k + 1]]``; ``keys`` shuffle them, ``drawn`` draw a log (or are `ITSELF`).
        The run ends after ``horizon`` steps, or when the arm asked for is out of rewards; if ``endless``,
        none ever is: rewards are drawn with replacement. It fills ``steps`` (n,), the mean reward up to each
        of the ``marks`` (steps; up to the run's end, where it came sooner) in ``means`` (n, marks), the mean
        squared distance of its rewards from ``centre`` in ``spreads`` (n,) and the mean of all rewards of
        the log drawn in ``logged`` (n,). It returns 0, or the step at which the policy chose an arm that is
        not there.
    """
    select, pull, learn = jit.kernel(kernels.select), jit.kernel(kernels.pull), jit.kernel(kernels.learn)

    def queue(
        parameters: Any,
        headers: Table,
        states: Table,
        memory: Table,
        fresh: Table,
        candidates: NDArray[np.int64],
        rewards: NDArray[np.float64],
        firsts: NDArray[np.int64],
        endless: bool,
        centre: float,
        keys: NDArray[np.int64],
        drawn: NDArray[np.int64],
        horizon: int,
        marks: NDArray[np.int64],
        choice_states: NDArray[np.uint64],
        rng: np.random.Generator,
        choice_state: NDArray[np.uint64],
        choice_half: NDArray[np.uint32],
        steps: NDArray[np.int64],
        means: NDArray[np.float64],
        spreads: NDArray[np.float64],
        logged: NDArray[np.float64],
    ) -> int:
        n, n_arms = len(rewards), len(firsts) - 1
        paid = rewards.copy()
        order = np.empty(n, np.int32)
        taken = np.empty(n_arms, np.int64)
        of, mean = ITSELF, mean_of(rewards)
        memory, candidates = lend(memory), lend(candidates)
        for run in range(len(headers)):
            if drawn[run] != of:
                of = drawn[run]
                for arm in range(n_arms):
                    first, size = firsts[arm], firsts[arm + 1] - firsts[arm]
                    for i in range(first, first + size):
                        paid[i] = rewards[first + int(uniform_at(of, i) * size)] if of >= 0 else rewards[i]
                mean = mean_of(paid)
            logged[run] = mean
            for i in range(n):
                order[i] = i
            taken[:] = 0
            header, arms = headers[run], lend(states[run])
            for row in range(len(memory)):
                memory[row] = fresh[row]
            choice_state[:] = choice_states[run]
            choice_half[:] = 0
            total = squares = 0.0
            step = mark = 0
            while step < horizon:
                arm = select(parameters, header, arms, memory, candidates, rng)
                if not 0 <= arm < n_arms:
                    return step + 1
                first, place = firsts[arm], taken[arm]
                size = firsts[arm + 1] - first
                uniform = uniform_at(keys[run], place * n_arms + arm)
                if endless:
                    reward = paid[first + int(uniform * size)]
                elif place == size:
                    break
                else:  # the next of a shuffle, of which only what is needed is done
                    other = first + place + int(uniform * (size - place))
                    place += first
                    order[place], order[other] = order[other], order[place]
                    reward = paid[order[place]]
                taken[arm] += 1
                pull(parameters, header, arms, memory, arm)
                step += 1
                learn(parameters, header, arms, memory, arm, reward, step)
                total += reward
                squares += (reward - centre) * (reward - centre)
                if mark < len(marks) and step == marks[mark]:
                    means[run, mark] = total / step
                    mark += 1
            means[run, mark:] = total / step
            steps[run] = step
            spreads[run] = squares / step
        return 0

    return jit.compile_loop(queue, *kernels)


@functools.cache
def rejection_loop(kernels: Kernels) -> Callable[..., int]:
    """Return the compiled loop that goes through the log and counts the rows whose arm the policy chooses.

    Returns
    -------
    callable
        ``loop(parameters, headers, arms, memory, fresh, sets, bounds, rest, rest_bounds, which, chosen,
        rewards, accepted, centre, keys, drawn, horizon, marks, *wound, steps, means, spreads, logged)``. At
        row i, arms ``sets[bounds[s]:bounds[s + 1]]`` are candidates and ``rest``, likewise, are not, where s
        is ``which[i]``; the log has arm ``chosen[i]``, and the row is accepted with probability
        ``accepted[i]`` if the policy chooses it, too. The ``marks`` are rows; means are NaN where no row was
        accepted yet. All else is as in `queue_loop`; where the policy may choose no row, ``steps`` is 0.

    Notes
    -----
    A choice is kept until a row with that arm is accepted, or the candidates are others. Every arm is
    accepted with the same probability at a row, so that the law of the run is that of new choices at each.
    """
    select, pull = jit.kernel(kernels.select), jit.kernel(kernels.pull)
    learn, miss = jit.kernel(kernels.learn), jit.kernel(kernels.miss)

    def rejection(
        parameters: Any,
        headers: Table,
        states: Table,
        memory: Table,
        fresh: Table,
        sets: NDArray[np.int64],
        bounds: NDArray[np.int64],
        rest: NDArray[np.int64],
        rest_bounds: NDArray[np.int64],
        which: NDArray[np.int32],
        chosen: NDArray[np.int32],
        rewards: NDArray[np.float64],
        accepted: NDArray[np.float64],
        centre: float,
        keys: NDArray[np.int64],
        drawn: NDArray[np.int64],
        horizon: int,
        marks: NDArray[np.int64],
        choice_states: NDArray[np.uint64],
        rng: np.random.Generator,
        choice_state: NDArray[np.uint64],
        choice_half: NDArray[np.uint32],
        steps: NDArray[np.int64],
        means: NDArray[np.float64],
        spreads: NDArray[np.float64],
        logged: NDArray[np.float64],
    ) -> int:
        n = len(rewards)
        stretch = max(LEAST_ROWS, -(-n // STRETCHES))
        rows = np.arange(n).astype(np.int32)
        of, mean = ITSELF, mean_of(rewards)
        memory = lend(memory)
        for run in range(len(headers)):
            if drawn[run] != of:
                of = drawn[run]
                mean = 0.0
                for i in range(n):
                    first = i // stretch * stretch
                    size = min(stretch, n - first)
                    rows[i] = first + int(uniform_at(of, i) * size) if of >= 0 else i
                    mean += rewards[rows[i]]
                mean /= n
            logged[run] = mean
            header, arms = headers[run], lend(states[run])
            for row in range(len(memory)):
                memory[row] = fresh[row]
            choice_state[:] = choice_states[run]
            choice_half[:] = 0
            total = squares = 0.0
            step = mark = place = 0
            while place < n and step < horizon:
                s = which[rows[place]]
                candidates = lend(sets[bounds[s] : bounds[s + 1]])
                arm = select(parameters, header, arms, memory, candidates, rng)
                if not 0 <= arm < len(arms):
                    return step + 1
                while place < n:
                    row = rows[place]
                    if which[row] != s:
                        break
                    place += 1
                    if chosen[row] == arm and (
                        accepted[row] >= 1.0 or uniform_at(keys[run], place) < accepted[row]
                    ):
                        while mark < len(marks) and marks[mark] < place:
                            means[run, mark] = total / step if step else np.nan
                            mark += 1
                        for i in range(rest_bounds[s], rest_bounds[s + 1]):
                            miss(parameters, header, arms, memory, rest[i])
                        pull(parameters, header, arms, memory, arm)
                        step += 1
                        reward = rewards[row]
                        learn(parameters, header, arms, memory, arm, reward, step)
                        total += reward
                        squares += (reward - centre) * (reward - centre)
                        break
            means[run, mark:] = total / step if step else np.nan
            steps[run] = step
            spreads[run] = squares / step if step else np.nan
        return 0

    return jit.compile_loop(rejection, *kernels)
