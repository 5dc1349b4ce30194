"""A history, as in `brigand.policies.kernels.history`, whose sums lose nothing to rounding.

Fields: ``count``, ``sum``, ``residue``, ``others`` (rewards that are neither 0 nor 1), ``level`` (the number
of the history's last segment) of an arm; ``used`` of the header; memory as made by `new_exact_history`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brigand.jit import kernel
from brigand.policies.base import Header, Table, record
from brigand.policies.kernels.arithmetic import difference, two_sum
from brigand.policies.kernels.history import SEGMENTS, append, new_history

EXACT_ROW = record(segment=0, reward=0.0, total=0.0, residue=0.0)  # `history.ROW`, and the rest of `total`


def new_exact_history(policy: str, n_arms: int, horizon: int | None) -> Table:
    """Return an empty history as `new_history` does, for exact sums."""
    return np.repeat(EXACT_ROW, len(new_history(policy, n_arms, horizon)))


@kernel
def last_row(arms: Table, memory: Table, arm: int, count: int) -> int:
    """Return the row of the last of the arm's first `count` rewards: `row_of`, faster near the end."""
    level = arms[arm]["level"]
    while count < 1 << level:
        level -= 1
    return memory[arm * SEGMENTS + level]["segment"] + (count - (1 << level))


@kernel
def remember(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    """Add a reward to the arm's history and fields: the kernel `learn` of policies that keep no more."""
    append(header, arms, memory, arm, reward)
    total, lost = two_sum(arms[arm]["sum"], reward)
    arms[arm]["sum"] = total
    arms[arm]["residue"] += lost
    count = arms[arm]["count"]
    if count == 1 << (arms[arm]["level"] + 1):
        arms[arm]["level"] += 1
    memory[last_row(arms, memory, arm, count)]["residue"] = arms[arm]["residue"]
    if reward != 0.0 and reward != 1.0:
        arms[arm]["others"] += 1


@kernel
def prefix(arms: Table, memory: Table, arm: int, count: int) -> tuple[float, float]:
    """Return the sum of the arm's first `count` rewards, and what rounding took from it."""
    if count == 0:
        return 0.0, 0.0
    row = last_row(arms, memory, arm, count)
    return memory[row]["total"], memory[row]["residue"]


@kernel
def block_excess(arms: Table, memory: Table, arm: int, leader: int, first: int) -> float:
    """Return the sum of the arm's rewards less that of as many of the leader's, from number `first` on."""
    begin, begin_residue = prefix(arms, memory, leader, first)
    end, end_residue = arms[leader]["sum"], arms[leader]["residue"]
    if first + arms[arm]["count"] < arms[leader]["count"]:
        end, end_residue = prefix(arms, memory, leader, first + arms[arm]["count"])
    block, lost = two_sum(end, -begin)
    lost += end_residue - begin_residue
    return difference(arms[arm]["sum"], arms[arm]["residue"], block, lost)
