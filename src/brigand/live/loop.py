"""The compiled loop of a live bandit: choices, pulls and rewards, one after the other.

One loop does all three, so that a policy is compiled once. Beside the policy's state it keeps the ledger:
counts, mean and spread of each arm's rewards, for people to read, the same for every policy.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brigand import jit
from brigand.live.holdout import POLICY, draw, mixed
from brigand.policies.base import Policy, Table, all_rewards, record
from brigand.policies.kernels.arithmetic import quotient, two_sum
from brigand.shortcuts import lend, unpack

CHOOSE, PULL, LEARN, DEFAULT, CORRECT = range(5)
"""Kinds of calls: choose an arm and pull it; pull one that is known; learn a reward, or a default value; or
learn one in the place of another, which is in the column `WAS`."""

COLUMNS = 13
KIND, ARM, STEP, REWARD, EXPLORED, TOLD, MEAN, *MORE = range(COLUMNS)
BEST, BEST_TOLD, BEST_MEAN, TIES, PROPENSITY, DRAWN = MORE
WAS = TOLD
"""A call is a row of floats, which hold integers up to 2^53: a table of records costs 4 microseconds to make.

``MEAN`` and ``TOLD`` are the policy's estimate of the arm before the pull, and the number of rewards behind
it: all of them, for most policies. ``BEST`` is the candidate with the highest estimate, -1 if there is none,
and ``TIES`` the number of candidates that have it. ``PROPENSITY`` is the probability with which the arm was
chosen, NaN if there is no number; ``DRAWN`` is who chose it (`brigand.live.holdout`).
"""
Calls = NDArray[np.float64]

LEDGER = record(
    asked=0,
    explored=0,
    told=0,  # rewards that were learned, default values among them
    defaulted=0,
    unlearned=0,  # decisions whose reward came for history only
    sum=0.0,
    residue=0.0,
    mean=math.nan,
    squares=0.0,  # sum of squared deviations from the mean
    least=math.inf,
    greatest=-math.inf,
)


@jit.kernel
def enter(ledger: Table, arm: int, reward: float) -> None:
    """Add a reward to the ledger. Source of the squares: Welford, Technometrics 4 (1962)."""
    before = ledger[arm]["mean"]
    ledger[arm]["told"] += 1
    total, lost = two_sum(ledger[arm]["sum"], reward)
    ledger[arm]["sum"] = total
    ledger[arm]["residue"] += lost
    mean = quotient(total, ledger[arm]["residue"], ledger[arm]["told"])
    ledger[arm]["mean"] = mean
    ledger[arm]["least"] = min(ledger[arm]["least"], reward)
    ledger[arm]["greatest"] = max(ledger[arm]["greatest"], reward)
    if ledger[arm]["told"] > 1:
        ledger[arm]["squares"] += (reward - before) * (reward - mean)


@jit.kernel
def replace(ledger: Table, arm: int, was: float, reward: float) -> None:
    """Put a reward in the place of another. The least and the greatest one that were seen stay."""
    before = ledger[arm]["mean"]
    for change in (-was, reward):
        total, lost = two_sum(ledger[arm]["sum"], change)
        ledger[arm]["sum"] = total
        ledger[arm]["residue"] += lost
    mean = quotient(ledger[arm]["sum"], ledger[arm]["residue"], ledger[arm]["told"])
    ledger[arm]["mean"] = mean
    ledger[arm]["least"] = min(ledger[arm]["least"], reward)
    ledger[arm]["greatest"] = max(ledger[arm]["greatest"], reward)
    squares = ledger[arm]["squares"] + (reward - was) * (reward - mean + was - before)
    ledger[arm]["squares"] = max(squares, 0.0)


@jit.kernel
def in_ledger(
    parameters: Any, header: Any, arms: Table, memory: Table, ledger: Table, arm: int
) -> tuple[float, float]:
    """Return the mean of all of an arm's rewards, and their number."""
    return ledger[arm]["mean"], float(ledger[arm]["told"])


@jit.kernel
def compare(
    known: Any,
    parameters: Any,
    header: Any,
    arms: Table,
    memory: Table,
    ledger: Table,
    candidates: Any,
    arm: int,
    call: Calls,
) -> None:
    """Note what is known of an arm and of the best one; explored: it is not known to be the best."""
    best, most, ties = -1, -math.inf, 0
    for i in range(len(candidates)):
        estimate = known(parameters, header, arms, memory, ledger, candidates[i])[0]
        if estimate > most:
            best, most, ties = candidates[i], estimate, 1
        elif estimate == most:
            ties += 1
    call[MEAN], call[TOLD] = known(parameters, header, arms, memory, ledger, arm)
    call[BEST], call[TIES], call[EXPLORED] = best, ties, 1.0
    if best >= 0:
        call[BEST_MEAN], call[BEST_TOLD] = known(parameters, header, arms, memory, ledger, best)
        call[EXPLORED] = not call[MEAN] >= call[BEST_MEAN]


def live_loop(policy: Policy) -> Callable[..., int]:
    """Return the compiled loop for a policy.

    Returns
    -------
    callable
        ``loop(parameters, header, arms, memory, ledger, candidates, absent, holdout, floor, calls, headers,
        rows, packed)``:
        `header` is a table of one record; `absent` are the arms that are not candidates; `packed` is the
        generator (`brigand.shortcuts.pack`). ``calls``, float64 of shape (n, `COLUMNS`), are done in order,
        and filled in; ``headers`` and ``rows``, of n records or more, get the header and the arm's record
        before each pull. It returns 0, or the number (from 1) of the call at which the policy chose an arm
        that is not there.
    """
    return _loop(policy.kernels, "forced" in (policy.arm.dtype.names or ()))


@functools.cache
def _loop(kernels: Any, counts_forced: bool) -> Callable[..., int]:
    select, pull = jit.kernel(kernels.select), jit.kernel(kernels.pull)
    learn, miss = jit.kernel(kernels.learn), jit.kernel(kernels.miss)
    estimate, propensity = jit.kernel(kernels.estimate), jit.kernel(kernels.propensity)
    correct = jit.kernel(kernels.correct)

    @jit.kernel
    def in_state(
        parameters: Any, header: Any, arms: Table, memory: Table, ledger: Table, arm: int
    ) -> tuple[float, float]:
        found: tuple[float, float] = estimate(parameters, header, arms, memory, arm)
        return found

    @jit.kernel
    def note_forced(arms: Table, row: Any, arm: int, call: Calls) -> None:
        call[EXPLORED] = arms[arm]["forced"] - row["forced"]

    @jit.kernel
    def leave(arms: Table, row: Any, arm: int, call: Calls) -> None:
        pass

    known = in_ledger if kernels.estimate is all_rewards else in_state
    note = note_forced if counts_forced else leave

    def live(
        parameters: Any,
        header: Table,
        arms: Table,
        memory: Table,
        ledger: Table,
        candidates: NDArray[np.int64],
        absent: NDArray[np.int64],
        holdout: float,
        floor: float,
        calls: Calls,
        headers: Table,
        rows: Table,
        packed: Any,
    ) -> int:
        rng = unpack(packed)
        arms, memory, ledger, candidates = lend(arms), lend(memory), lend(ledger), lend(candidates)
        for i in range(len(calls)):
            call = lend(calls[i])
            arm = int(call[ARM])
            if call[KIND] == CORRECT:
                step = int(call[STEP])
                correct(parameters, header[0], arms, memory, arm, call[WAS], call[REWARD], step)
                replace(ledger, arm, call[WAS], call[REWARD])
                continue
            if call[KIND] >= LEARN:
                learn(parameters, header[0], arms, memory, arm, call[REWARD], int(call[STEP]))
                enter(ledger, arm, call[REWARD])
                ledger[arm]["defaulted"] += call[KIND] == DEFAULT
                continue
            drawn = POLICY
            if call[KIND] == CHOOSE:
                if holdout + floor > 0.0:
                    drawn, arm = draw(holdout, floor, candidates, rng)
                if drawn == POLICY:
                    arm = select(parameters, header[0], arms, memory, candidates, rng)
                if not 0 <= arm < len(arms):
                    return i + 1
                call[ARM], call[DRAWN] = arm, drawn
                own = propensity(parameters, header[0], arms, memory, candidates, arm)
                call[PROPENSITY] = mixed(own, holdout, floor, len(candidates))
            headers[i] = header[0]
            rows[i] = arms[arm]
            compare(known, parameters, header[0], arms, memory, ledger, candidates, arm, call)
            for j in range(len(absent)):
                miss(parameters, header[0], arms, memory, absent[j])
            pull(parameters, header[0], arms, memory, arm)
            note(arms, rows[i], arm, call)
            if drawn != POLICY:
                call[EXPLORED] = 1.0
            call[STEP] = header[0]["step"]
            ledger[arm]["asked"] += 1
            ledger[arm]["explored"] += int(call[EXPLORED])
        return 0

    return jit.compile_loop(live, *kernels)
