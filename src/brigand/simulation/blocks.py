"""Parts of skip-ahead simulation: rewards of several pulls at once, the clock, one arm's blocks of pulls."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from brigand.environments.draw import NORMAL, draw
from brigand.environments.totals import UNKNOWN, draw_total, safe_pulls
from brigand.jit import kernel
from brigand.policies.base import Table, record
from brigand.policies.forced import sequences
from brigand.policies.kernels.arithmetic import quotient, two_sum
from brigand.policies.kernels.choices import break_tie
from brigand.simulation.tilt import Tilt, aim, draw_aimed, is_tilted, note

DOUBT = 64 * math.log(2.0)
"""A block is drawn at once where something else could happen with probability exp(-DOUBT) at most."""
FAR = 2**62
"""More steps than any run has."""

ARM = record(count=0, sum=0.0, residue=0.0, mean=math.nan, last=0, lap=0, forced=0)
CLOCK = record(step=0, round=0, threshold=0.0, lap=1, seen=0, phase=0, events=0)


@kernel
def whole(number: float) -> int:
    """Return the number rounded down, but no more than any run has steps."""
    return int(number) if number < FAR else FAR


@kernel
def earn(arms: Table, arm: int, reward: float, residue: float, n: int) -> None:
    """Add n rewards of which the sum is given."""
    arms[arm]["count"] += n
    total, lost = two_sum(arms[arm]["sum"], reward)
    arms[arm]["sum"] = total
    arms[arm]["residue"] += lost + residue
    arms[arm]["mean"] = quotient(total, arms[arm]["residue"], arms[arm]["count"])


@kernel
def earn_one(arms: Table, arm: int, law: Any, table: Any, rng: np.random.Generator) -> None:
    """Draw one reward."""
    if law["kind"] == NORMAL:
        earn(arms, arm, draw(law, table, 0.0, rng.standard_normal()), 0.0, 1)
    else:
        earn(arms, arm, draw(law, table, rng.random(), 0.0), 0.0, 1)


@kernel
def earn_many(
    arms: Table, arm: int, total: Any, law: Any, table: Any, n: int, rng: np.random.Generator
) -> None:
    """Draw n rewards as one sum."""
    if total["lower"] == 0.0:  # a constant: n times it, exactly
        value = total["mean"]
        product = n * value
        scaled = 134217729.0 * value
        high = scaled - (scaled - value)
        wide = 134217729.0 * n
        upper = wide - (wide - n)
        low, lower = value - high, n - upper
        earn(arms, arm, product, ((upper * high - product) + upper * low + lower * high) + lower * low, n)
    else:
        earn(arms, arm, draw_total(total, law, table, n, rng), 0.0, n)


@kernel
def earn_some(
    arms: Table, arm: int, total: Any, law: Any, table: Any, n: int, rng: np.random.Generator
) -> None:
    """Draw n rewards, n >= 0: as one sum if its law is known, else one by one."""
    if n > 1 and total["kind"] != UNKNOWN:
        earn_many(arms, arm, total, law, table, n, rng)
    else:
        for _ in range(n):
            earn_one(arms, arm, law, table, rng)


@kernel
def earn_tilted(
    arms: Table,
    arm: int,
    total: Any,
    law: Any,
    table: Any,
    n: int,
    rng: np.random.Generator,
    tilt: Tilt,
    clock: Any,
) -> None:
    """Draw n rewards of the best arm or its rival as one sum, tilted."""
    aim(tilt, clock, arms, arm)
    reward = draw_aimed(tilt, total, law, table, n, rng)
    note(tilt, total, law, table, n, reward)
    earn(arms, arm, reward, 0.0, n)


@kernel
def advance(parameters: Any, clock: Any, arms: Table, memory: Table, arm: int, n: int) -> None:
    """Note n pulls in a row of an arm; they end no round, or are a single one."""
    clock["step"] += n
    arms[arm]["last"] = clock["step"]
    if arms[arm]["lap"] != clock["lap"]:
        arms[arm]["lap"] = clock["lap"]
        clock["seen"] += 1
        if clock["seen"] == len(arms):
            clock["seen"] = 0
            clock["lap"] += 1
            enter_round(parameters, clock, memory, clock["round"] + 1)


@kernel
def enter_round(parameters: Any, clock: Any, memory: Table, round_: int) -> None:
    """Begin a round."""
    clock["round"] = round_
    clock["threshold"] = sequences.value(
        parameters.kind, parameters.number, parameters.shift, memory, parameters.table, round_, clock["step"]
    )


@kernel
def find_leader(arms: Table, uniform: float) -> tuple[int, float]:
    """Return an arm with the largest mean, chosen uniformly among equals, and the others' largest mean."""
    best, second, ties, chosen = -np.inf, -np.inf, 0, 0
    for k in range(len(arms)):
        mean = arms[k]["mean"]
        if mean > best:
            best, second, ties, chosen = mean, best, 1, k
        elif mean == best:
            second = best
            ties += 1
            chosen, uniform = break_tie(chosen, k, ties, uniform)
        else:
            second = max(second, mean)
    return chosen, second


@kernel
def play_greedy(
    arms: Table,
    total: Any,
    law: Any,
    table: Any,
    leader: int,
    second: float,
    most: int,
    rng: np.random.Generator,
    tilt: Tilt | None,
    clock: Any,
) -> int:
    """Pull the leader until it has lost its lead, or `most` times; return how often."""
    done, gained, aimed = 0, 0.0, False
    if tilt is not None:
        aimed = leader == tilt.pair.rival and is_tilted(tilt, leader)
        if aimed:
            aim(tilt, clock, arms, leader)
    while done < most and (done == 0 or arms[leader]["mean"] > second):
        n = 1
        if total["kind"] != UNKNOWN and most - done > 1:
            ahead = (arms[leader]["mean"] - second) * arms[leader]["count"]
            safe = safe_pulls(ahead, total["mean"] - second, total["lower"], np.inf, DOUBT)
            n = min(most - done, max(1, whole(safe)))
        done += n
        if tilt is not None and aimed:
            reward = draw_aimed(tilt, total, law, table, n, rng)
            gained += reward
            earn(arms, leader, reward, 0.0, n)
            continue
        if n == 1:
            earn_one(arms, leader, law, table, rng)
        else:
            earn_many(arms, leader, total, law, table, n, rng)
    if tilt is not None and aimed:
        note(tilt, total, law, table, done, gained)
    return done


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
