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
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brigand import jit
from brigand.environments.draw import NORMAL, draw
from brigand.environments.totals import UNKNOWN, draw_total, safe_pulls
from brigand.jit import kernel
from brigand.policies import sequences
from brigand.policies.base import Table, record
from brigand.policies.kernels import quotient, two_sum

DOUBT = 64 * math.log(2.0)
MARGIN = 3.0
FAR = 2**62
"""More steps than any run has."""

ARM = record(pulls=0, count=0, sum=0.0, residue=0.0, mean=math.nan, last=0, lap=0, forced=0)
CLOCK = record(step=0, round=0, threshold=0.0, lap=1, seen=0, phase=0, events=0)


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
def advance(parameters: Any, clock: Any, arms: Table, memory: Table, arm: int, n: int) -> None:
    """Note n pulls in a row of an arm; they end no round, or are a single one."""
    clock["step"] += n
    arms[arm]["pulls"] += n
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
    clock["round"] = round_
    clock["threshold"] = sequences.value(
        parameters.kind, parameters.number, parameters.shift, memory, parameters.table, round_
    )


@kernel
def find_leader(arms: Table, uniform: float) -> tuple[int, float]:
    """Return an arm with the largest mean, uniformly chosen among equals, and the largest mean of the others."""
    best, second, ties, chosen = -np.inf, -np.inf, 0, 0
    for k in range(len(arms)):
        mean = arms[k]["mean"]
        if mean > best:
            best, second, ties, chosen = mean, best, 1, k
        elif mean == best:
            second = best
            ties += 1
            uniform *= ties
            if uniform < 1.0:
                chosen = k
            else:
                uniform = (uniform - 1.0) / (ties - 1.0)
        else:
            second = max(second, mean)
    return chosen, second


@kernel
def whole(number: float) -> int:
    """Return the number rounded down, but no more than any run has steps."""
    return int(number) if number < FAR else FAR


@kernel
def count_rounds(
    parameters: Any, memory: Table, round_: int, room: int, most: float
) -> tuple[int, int]:
    """Return how many rounds fit into `room` steps, at most `most`, and their steps, ceil(f(r)) + 1 each."""
    rounds, steps = 0, 0
    if parameters.kind == sequences.CONSTANT:
        steps = whole(math.ceil(parameters.number)) + 1
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
            parameters.kind, parameters.number, parameters.shift, memory, parameters.table, round_ + rounds
        )
        length = whole(math.ceil(threshold)) + 1
        if steps + length > room:
            break
        steps += length
        rounds += 1
    return rounds, steps


@kernel
def safe_rounds(
    parameters: Any, clock: Any, arms: Table, memory: Table, totals: Any, leader: int, second: float, stop: int
) -> tuple[int, int, int]:
    """Return how many rounds from now on are certain, the steps by which last pulls move, and the new step.

    A round has just begun, and the threshold is at least K.
    """
    step = clock["step"]
    wait = math.ceil(clock["threshold"])
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
    most = np.inf
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
    counts: Any,
    leader: int,
    rounds: int,
    moved: int,
    step: int,
    rng: np.random.Generator,
) -> None:
    """Play whole rounds: every other arm is forced once in each, the leader has the other steps."""
    for k in range(len(arms)):
        n = rounds
        if k == leader:
            n = step - clock["step"] - rounds * (len(arms) - 1)
        else:
            arms[k]["last"] += moved
            arms[k]["forced"] += n
        arms[k]["pulls"] += n
        counts[k] += n
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


@kernel
def play_greedy(
    arms: Table, total: Any, law: Any, table: Any, leader: int, second: float, most: int, rng: np.random.Generator
) -> int:
    """Pull the leader until it has lost its lead, or `most` times; return how often."""
    done = 0
    while done < most and (done == 0 or arms[leader]["mean"] > second):
        n = 1
        if total["kind"] != UNKNOWN and most - done > 1:
            ahead = (arms[leader]["mean"] - second) * arms[leader]["count"]
            safe = safe_pulls(ahead, total["mean"] - second, total["lower"], np.inf, DOUBT)
            n = min(most - done, max(1, whole(safe)))
        if n == 1:
            earn_one(arms, leader, law, table, rng)
        else:
            earn_many(arms, leader, total, law, table, n, rng)
        done += n
    return done


@functools.cache
def fe_loop() -> Callable[..., int]:
    """Return the compiled loop that plays FE without a window.

    Returns
    -------
    callable
        ``loop(parameters, clock, arms, memory, laws, table, totals, starts, gaps, checkpoints, reward_rng,
        rng, pulls, regret)``: as `brigand.simulation.step.simulation_loop`, but with `CLOCK` and `ARM` as
        state, and with `totals` of shape (phases, K). ``clock["events"]`` counts what was drawn or decided
        at once.
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
                step = clock["step"]
                if clock["phase"] + 1 < len(starts) and step == starts[clock["phase"] + 1]:
                    clock["phase"] += 1
                phase = clock["phase"]
                stop = checkpoints[checkpoint]
                if phase + 1 < len(starts):
                    stop = min(stop, starts[phase + 1])
                clock["events"] += 1
                uniform = rng.random()

                if clock["seen"] == 0 and clock["round"] > 0 and clock["threshold"] >= n_arms > 1:
                    leader, second = find_leader(arms, uniform)
                    known = arms[leader]["mean"] > second
                    for k in range(n_arms):
                        known = known and totals[phase, k]["kind"] != UNKNOWN
                    if known:
                        rounds, moved, end = safe_rounds(
                            parameters, clock, arms, memory, totals[phase], leader, second, stop
                        )
                        if rounds > 0:
                            play_rounds(
                                parameters,
                                clock,
                                arms,
                                memory,
                                totals[phase],
                                laws[phase],
                                table,
                                counts[phase],
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
                    earn_one(arms, oldest, laws[phase, oldest], table, reward_rng)
                    advance(parameters, clock, arms, memory, oldest, 1)
                    counts[phase, oldest] += 1
                    continue
                if n_arms == 1:  # never due again, since f does not decrease; its mean decides nothing
                    counts[phase, 0] += stop - step
                    arms[0]["pulls"] += stop - step
                    arms[0]["last"] = stop
                    clock["step"] = stop
                    enter_round(parameters, clock, memory, clock["round"] + stop - step)
                    continue

                leader, second = find_leader(arms, uniform)
                if arms[leader]["mean"] == second:
                    earn_one(arms, leader, laws[phase, leader], table, reward_rng)
                    advance(parameters, clock, arms, memory, leader, 1)
                    counts[phase, leader] += 1
                    continue

                due = FAR  # the number of pulls made when another arm is due
                for k in range(n_arms):
                    if k != leader:
                        due = min(due, whole(math.ceil(arms[k]["last"] + clock["threshold"])))
                most = min(stop, due) - step
                if arms[leader]["lap"] != clock["lap"] and clock["seen"] == n_arms - 1:
                    most = 1  # it ends the round
                n = play_greedy(
                    arms, totals[phase, leader], laws[phase, leader], table, leader, second, most, reward_rng
                )
                advance(parameters, clock, arms, memory, leader, n)
                counts[phase, leader] += n

            pulls[checkpoint] = 0
            regret[checkpoint] = 0.0
            for p in range(len(starts)):
                for k in range(n_arms):
                    pulls[checkpoint, k] += counts[p, k]
                    regret[checkpoint] += counts[p, k] * gaps[p, k]

    return jit.compile_loop(skip, play_greedy)
