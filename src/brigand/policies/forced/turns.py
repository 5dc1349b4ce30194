"""Whose turn it is: the rounds of forced exploration, and which arm is due.

An arm is due when it was left alone for as long as it may ``wait``: for f(r) steps in round r. An arm that
was never pulled is due at once. The round ends when every arm has had its turn. Where all arms are there from
the beginning, that is the paper's rule. Beyond it:

- An arm that joins later, or comes back, has n < r pulls: it waits for f(n) steps until it has caught up.
  (Arms that are there from the beginning have n >= r, unless a reset enters a later round: see `is_new`.)
- An arm that is not available when it is due misses its turn. A missed turn counts as a turn: the round goes
  on to its end as if the arm had been pulled. The arm stays due, and comes first once it is back.

Fields: `HEADER`, with ``step``; `ARM`, with ``pulls``. Parameters: the sequence, as in
`forced_exploration.ForcedExplorationParameters`.
"""

from __future__ import annotations

from typing import Any

from brigand.jit import kernel
from brigand.policies.base import Header, Table
from brigand.policies.forced import sequences
from brigand.policies.kernels.choices import least_recently_pulled

HEADER: dict[str, int | float] = {
    "round": 0,
    "threshold": 0.0,
    "lap": 1,  # like the round, but never reset: marks the arms that had their turn in this round
    "seen": 0,  # how many had
    "first": 0,  # the least recently pulled arm
    "due": 0.0,  # the least last + wait: with fewer pulls made, no arm is due; 0 if one was never pulled
}
ARM: dict[str, int | float] = {"last": 0, "wait": 0.0, "missed": 0, "lap": 0}
"""Steps of the last pull and the last missed turn; how long it may be left alone; the last lap it was in."""


@kernel
def is_due(header: Header, arms: Table, arm: int) -> bool:
    last = arms[arm]["last"]
    return last == 0 or header["step"] - last >= arms[arm]["wait"]


@kernel
def next_due(header: Header, arms: Table, candidates: Any) -> int:
    """Return the least recently pulled of the candidates that are due, -1 if none is."""
    all_there = len(candidates) == len(arms)
    oldest = header["first"] if all_there else least_recently_pulled(arms, candidates)
    if is_due(header, arms, oldest):
        return oldest
    chosen = -1
    for i in range(len(candidates)):  # one that catches up waits less than others
        arm = candidates[i]
        if is_due(header, arms, arm) and (chosen < 0 or arms[arm]["last"] < arms[chosen]["last"]):
            chosen = arm
    return chosen


@kernel
def is_new(header: Header, arms: Table, arm: int) -> bool:
    """Return whether the arm has fewer pulls than the round's number, since it joined later or was away.

    A reset may enter a round whose number no arm has reached yet: then none is new.
    """
    return arms[arm]["pulls"] < min(header["round"], header["lap"] - 1)


@kernel
def limit(parameters: Any, header: Header, memory: Table, round_: int) -> float:
    """Return the threshold of a round."""
    if round_ == 0:
        return 0.0
    kind, number, shift = parameters.kind, parameters.number, parameters.shift
    threshold = sequences.value(kind, number, shift, memory, parameters.table, round_, header["step"])
    return min(threshold, float(parameters.window)) if parameters.window > 0 else threshold


@kernel
def enter_round(parameters: Any, header: Header, arms: Table, memory: Table, round_: int) -> None:
    threshold = limit(parameters, header, memory, round_)
    if round_ > header["round"]:
        threshold = max(threshold, header["threshold"])  # f of `AnytimeExponential` may want to decrease
    header["round"] = round_
    header["threshold"] = threshold
    for arm in range(len(arms)):
        if not is_new(header, arms, arm):
            arms[arm]["wait"] = threshold


@kernel
def reschedule(header: Header, arms: Table) -> None:
    """Find the least recently pulled arm, and the step at which one is due."""
    first, oldest, due = 0, arms[0]["last"], arms[0]["last"] + arms[0]["wait"]
    for arm in range(1, len(arms)):
        last = arms[arm]["last"]
        if last < oldest:
            first, oldest = arm, last
        due = min(due, last + arms[arm]["wait"])
    header["first"] = first
    header["due"] = due if oldest > 0 else 0.0


@kernel
def miss(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    if arms[arm]["lap"] == header["lap"]:
        return
    turn = max(arms[arm]["last"], arms[arm]["missed"])
    if turn == 0 or header["step"] - turn >= header["threshold"]:
        arms[arm]["missed"] = header["step"] + 1
        arms[arm]["lap"] = header["lap"]
        header["seen"] += 1
