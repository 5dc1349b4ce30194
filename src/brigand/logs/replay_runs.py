"""The runs of a replay: on a log as queues, or row by row; on threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from brigand.errors import InvalidValueError
from brigand.logs.log import Log
from brigand.logs.replay_loops import ITSELF, queue_loop, rejection_loop
from brigand.policies.base import Policy, check_choices
from brigand.rng import Stream
from brigand.shortcuts import wind
from brigand.simulation.plan import check_sum
from brigand.simulation.run import run_all
from brigand.spec import Spec
from brigand.words import counted

DRAWN = 2**31
"""Runs on drawn logs are numbered from here."""
MOST_AT_ONCE = 50
ROWS_AT_ONCE = 1_000_000
"""So many runs, on no more rows, are made in one call of compiled code, which costs 0.1 ms."""


def check_log(log: Log) -> None:
    """Refuse what is no log, or one on which no policy can be replayed.

    Raises
    ------
    InvalidValueError
        It has no rows, fewer than two arms, an arm that was never shown, or rewards that are all equal.
    """
    if not isinstance(log, Log):
        raise InvalidValueError(f"log must be a Log, not {type(log).__name__}.")
    n, n_arms = len(log), len(log.arms)
    if n == 0:
        raise InvalidValueError("the log is empty.")
    if n_arms < 2:
        raise InvalidValueError(
            "the log has one arm: there is nothing to choose, and all policies are equal."
        )
    never = np.flatnonzero(np.bincount(log.arm, minlength=n_arms) == 0)
    if len(never):
        raise InvalidValueError(
            f"{counted(len(never), 'arm')} of the log never shown, first {log.arms[never[0]]!r}: nothing is "
            "known of what it pays. Leave it out of the log's arms."
        )
    if log.reward.min() == log.reward.max():
        raise InvalidValueError(
            f"all rewards of the log are {log.reward[0]:g}: every policy would earn that."
        )


def check_rewards(log: Log, policies: Mapping[str, Policy], horizon: int) -> None:
    """Refuse rewards that a policy cannot work with.

    Raises
    ------
    UnsupportedRewardError
        They are outside of a policy's support.
    InvalidValueError
        They add up to more than policies can compute with.
    """
    low, high = float(log.reward.min()), float(log.reward.max())
    for policy in policies.values():
        policy.check_rewards(low, high, "the log")
    check_sum("the log", max(-low, high), horizon)


class Queues:
    """A log as a queue of rewards for each arm.

    Parameters
    ----------
    log : Log
    endless : bool
        Whether rewards are drawn with replacement.

    Raises
    ------
    InvalidValueError
        Some arms were not always available.
    """

    def __init__(self, log: Log, *, endless: bool) -> None:
        if log.available is not None and log.sets is not None and not log.sets.all():
            raise InvalidValueError(
                "in this log some arms were not available at times, which only method='rejection' heeds."
            )
        counts = np.bincount(log.arm, minlength=len(log.arms))
        small = log.arm.astype(np.min_scalar_type(len(log.arms)))  # whose sort is ten times as fast
        rewards = log.reward[np.argsort(small, kind="stable")]
        self.n_arms = len(log.arms)
        self.rows = len(log)
        self.loop = queue_loop
        centre = float(log.reward.mean())
        self.arguments = (np.arange(self.n_arms), rewards, np.append(0, counts.cumsum()), endless, centre)


class Rows:
    """A log as rows in their order, that count with a probability.

    Parameters
    ----------
    log : Log

    Raises
    ------
    InvalidValueError
        Propensities are not all known, or an arm was chosen that was not available.
    """

    def __init__(self, log: Log) -> None:
        self.n_arms = len(log.arms)
        self.rows = len(log)
        self.loop = rejection_loop
        which, available = np.zeros(len(log), np.int32), np.ones((1, self.n_arms), bool)
        if log.available is not None and log.sets is not None:
            which, available = np.array(log.available), log.sets
            gone = ~available[which, log.arm]
            if gone.any():
                row = int(np.argmax(gone))
                raise InvalidValueError(
                    f"row {row + 1} has arm {log.arms[log.arm[row]]!r}, which was not available."
                )
        chances = _propensities(log)
        least = chances.min()
        centre = float(log.reward.mean())
        self.arguments = (
            *_ragged(available),
            *_ragged(~available),
            which,
            np.array(log.arm),  # a copy: compiled code takes what can be written, and else is compiled twice
            np.array(log.reward),
            np.where(chances <= least * (1 + 1e-9), 1.0, least / chances),
            centre,
        )


def _propensities(log: Log) -> NDArray[np.float64]:
    if log.propensity is None:
        raise InvalidValueError(
            "method='rejection' needs the log's propensities. If each arm was drawn with the same "
            "probability, say so by a column of 1/K; if nothing is known of it, only method='queue' is left."
        )
    unknown = np.isnan(log.propensity)
    if unknown.any():
        raise InvalidValueError(
            f"method='rejection' needs every propensity: {int(unknown.sum()):,} of {len(log):,} rows have "
            f"none, the first is row {int(np.argmax(unknown)) + 1}."
        )
    return log.propensity


def _ragged(sets: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the members of all sets, one after the other, and where each begins."""
    return np.nonzero(sets)[1].astype(np.int64), np.append(0, sets.sum(axis=1).cumsum()).astype(np.int64)


@dataclass(frozen=True)
class Keys(Spec):
    """Names a stream of keys: of what shuffles and thins each run, or of what draws each log."""

    of: str


@dataclass(frozen=True)
class Runs:
    """Which runs are made: their numbers, the keys of their logs, and how many in a row share a log."""

    numbers: range
    keys: NDArray[np.int64]
    together: int

    @classmethod
    def on_log(cls, replications: int) -> Self:
        """Return runs on the log itself."""
        return cls(range(replications), np.full(replications, ITSELF), 1)

    @classmethod
    def on_drawn(cls, seed: int, logs: int, each: int) -> Self:
        """Return runs on logs that are drawn, so many on each."""
        keys, _ = Stream(seed, Keys("logs")).keyed_starts(range(logs))
        return cls(range(DRAWN, DRAWN + logs * each), np.repeat(np.array(keys, np.int64), each), each)


class Played(NamedTuple):
    """What n runs of one policy gave.

    Attributes
    ----------
    steps : int64 array of shape (n,)
        Decisions of each run.
    means : float64 array of shape (n, marks)
        The mean reward up to each mark; NaN where there was no decision yet.
    spreads : float64 array of shape (n,)
        The mean squared distance of rewards from the log's mean reward.
    logged : float64 array of shape (n,)
        The mean of all rewards of the run's log.
    """

    steps: NDArray[np.int64]
    means: NDArray[np.float64]
    spreads: NDArray[np.float64]
    logged: NDArray[np.float64]

    @classmethod
    def empty(cls, runs: int, marks: int) -> Self:
        """Return arrays to be filled."""
        return cls(np.zeros(runs, np.int64), np.empty((runs, marks)), np.empty(runs), np.empty(runs))


class Player:
    """Replays one policy; safe to share between threads."""

    def __init__(self, source: Queues | Rows, policy: Policy, horizon: int, seed: int) -> None:
        self.source = source
        self._policy = policy
        self._horizon = horizon
        self._seed = seed
        self._choices = Stream(seed, policy)
        self._parameters = policy.parameters(source.n_arms, horizon)
        self._start = policy.start(source.n_arms, horizon)
        self._loop = source.loop(policy.kernels)

    def play(self, runs: Runs, some: slice, marks: NDArray[np.int64], into: Played) -> None:
        """Make some runs, and fill in what they gave."""
        numbers = runs.numbers[some]
        keys, _ = Stream(self._seed, Keys("runs")).keyed_starts(numbers)
        own, choices = self._choices.keyed_starts(numbers)
        headers = np.repeat(np.array([self._start.header]), len(numbers))
        arms = np.tile(self._start.arms, (len(numbers), 1))
        if "key" in (headers.dtype.names or ()):
            headers["key"] = own
        keys_of_runs, keys_of_logs = np.array(keys, np.int64), runs.keys[some]
        filled = [array[some] for array in into]
        for part, wound in wind(choices):
            failed = self._loop(
                self._parameters,
                headers[part],
                arms[part],
                np.empty_like(self._start.memory),
                self._start.memory,
                *self.source.arguments,
                keys_of_runs[part],
                keys_of_logs[part],
                self._horizon,
                marks,
                *wound,
                *(array[part] for array in filled),
            )
            check_choices(self._policy, failed)


@dataclass
class Pool:
    """Threads, and how much they have done of what there is to do."""

    threads: int
    total: int
    progress: Callable[[int, int], None] | None
    done: int = 0

    def play(self, players: Sequence[Player], runs: Runs, marks: Sequence[NDArray[np.int64]]) -> list[Played]:
        """Make all runs of all players."""
        count = len(runs.numbers)
        found = [Played.empty(count, len(some)) for some in marks]
        if count == 0:
            return found

        def work(
            player: Player, marks: NDArray[np.int64], into: Played, some: slice, stop: threading.Event
        ) -> int:
            if not stop.is_set():
                player.play(runs, some, marks, into)
            return len(range(count)[some])

        at_once = max(1, min(MOST_AT_ONCE, ROWS_AT_ONCE // players[0].source.rows))
        at_once = -(-at_once // runs.together) * runs.together  # a log is drawn once for all its runs
        jobs = [
            partial(work, player, at, into, slice(first, first + at_once))
            for player, at, into in zip(players, marks, found, strict=True)
            for first in range(0, count, at_once)
        ]
        before = self.done

        def show(done: int, total: int) -> None:
            self.done = before + done
            if self.progress is not None:
                self.progress(self.done, self.total)

        run_all(jobs, self.threads, count * len(players), show)
        return found
