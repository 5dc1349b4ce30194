"""Parts of skip-ahead simulation: whole rounds of FE at once, while every arm stays on its side of a bar."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from brigand.environments.totals import safe_pulls
from brigand.jit import kernel
from brigand.policies.base import Table
from brigand.policies.forced import sequences
from brigand.simulation.blocks import DOUBT, earn_many, earn_tilted, enter_round, whole
from brigand.simulation.tilt import Tilt, is_tilted

MARGIN = 3.0
"""The bar lies this many times as far below the leader's mean as the leader's whole future needs."""


@kernel
def count_rounds(parameters: Any, memory: Table, round_: int, room: int, most: float) -> tuple[int, int]:
    """Return how many rounds fit into `room` steps, at most `most`, and their steps, ceil(f(r)) + 1 each."""
    rounds, steps = 0, 0
    if parameters.kind == sequences.CONSTANT:
        steps = whole(np.ceil(parameters.number)) + 1
        rounds = min(room // steps, whole(most))
        return rounds, rounds * steps
    if parameters.kind == sequences.LINEAR and parameters.number == 1.0:
        first = round_ + parameters.shift + 1  # and one more each round
        b = first - 0.5
        rounds = min(whole(math.sqrt(b * b + 2.0 * room) - b) + 1, whole(most))
        while rounds > 0 and rounds * first + rounds * (rounds - 1) // 2 > room:
            rounds -= 1
        return rounds, rounds * first + rounds * (rounds - 1) // 2
    while rounds + 1 <= most:
        threshold = sequences.value(
            parameters.kind, parameters.number, parameters.shift, memory, parameters.table, round_ + rounds, 0
        )
        length = whole(np.ceil(threshold)) + 1
        if steps + length > room:
            break
        steps += length
        rounds += 1
    return rounds, steps


@kernel
def safe_rounds(
    parameters: Any,
    clock: Any,
    arms: Table,
    memory: Table,
    totals: Any,
    leader: int,
    second: float,
    stop: int,
    most: float,
) -> tuple[int, int, int]:
    """Return how many rounds from now on are certain, the steps by which last pulls move, and the new step.

    A round has just begun, and the threshold is at least K. No more than `most` rounds are returned.
    """
    step = clock["step"]
    wait = whole(np.ceil(clock["threshold"]))
    edge = 0
    for k in range(len(arms)):
        # Every arm must be in time: then each is pulled wait + 1 steps after its last pull.
        if arms[k]["last"] + wait < step + (len(arms) if k == leader else 0):
            return 0, 0, step
        if k != leader:
            edge = max(edge, arms[k]["last"])
    if edge + wait + 1 < step + len(arms):  # the leader might not be pulled in this round
        return 0, 0, step
    doubt = DOUBT + math.log(len(arms))
    lead = arms[leader]["mean"] - second
    n = float(arms[leader]["count"])
    proxy = totals[leader]["lower"]
    # The bar is close to the leader's mean, but not closer than the leader's future needs.
    margin = lead / 2.0
    if proxy > 0.0:
        margin = min(margin, MARGIN * math.sqrt(doubt * proxy / (2.0 * n)))
    bar = arms[leader]["mean"] - margin
    pulls = safe_pulls(margin * n, totals[leader]["mean"] - bar, proxy, np.inf, doubt)
    room = min(stop - edge, whole(pulls))
    for k in range(len(arms)):
        if k != leader:
            below = bar - arms[k]["mean"]
            safe = safe_pulls(
                below * arms[k]["count"], bar - totals[k]["mean"], totals[k]["upper"], totals[k]["cap"], doubt
            )
            most = min(most, safe)
            if most < 1.0:
                return 0, 0, step
    rounds, moved = count_rounds(parameters, memory, clock["round"], room, most)
    return rounds, moved, edge + moved


@kernel
def play_rounds(
    parameters: Any,
    clock: Any,
    arms: Table,
    memory: Table,
    totals: Any,
    laws: Any,
    table: Any,
    leader: int,
    rounds: int,
    moved: int,
    step: int,
    rng: np.random.Generator,
    tilt: Tilt | None,
) -> None:
    """Play whole rounds: every other arm is forced once in each, the leader has the other steps."""
    for k in range(len(arms)):
        n = rounds
        if k == leader:
            n = step - clock["step"] - rounds * (len(arms) - 1)
        else:
            arms[k]["last"] += moved
            arms[k]["forced"] += n
        # The bound that these rounds rest on allows for tilts away from the bar only.
        if (
            tilt is not None
            and leader != tilt.pair.best
            and (k == tilt.pair.best or (k == leader and is_tilted(tilt, k)))
        ):
            earn_tilted(arms, k, totals[k], laws[k], table, n, rng, tilt, clock)
            continue
        earn_many(arms, k, totals[k], laws[k], table, n, rng)
    last = step
    k = 0
    while k < len(arms):  # the last step at which nobody else was pulled
        if k != leader and arms[k]["last"] == last:
            last -= 1
            k = -1
        k += 1
    arms[leader]["last"] = last
    clock["step"] = step
    clock["lap"] += rounds
    enter_round(parameters, clock, memory, clock["round"] + rounds)
