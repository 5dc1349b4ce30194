"""A history, as in `brigand.policies.kernels.history`, whose sums lose nothing to rounding.

Fields: ``count``, ``sum``, ``residue``, ``others`` (rewards that are neither 0 nor 1), ``level`` (the number
of the history's last segment) of an arm; ``used`` of the header; memory as made by `new_history`,
of `EXACT_ROW`, or more. `append_exactly` needs ``count`` and ``used`` alone.
"""

from __future__ import annotations

from typing import Any

from brigand.jit import kernel
from brigand.policies.base import Header, Table, record
from brigand.policies.kernels.arithmetic import difference, two_sum
from brigand.policies.kernels.history import SEGMENTS, append, row_of

EXACT_ROW = record(segment=0, reward=0.0, total=0.0, residue=0.0)
"""As `history.ROW`, and what rounding took from the total."""


@kernel
def last_row(arms: Table, memory: Table, arm: int, count: int) -> int:
    """Return the row of the last of the arm's first `count` rewards: `row_of`, faster near the end."""
    level = arms[arm]["level"]
    while count < 1 << level:
        level -= 1
    return memory[arm * SEGMENTS + level]["segment"] + (count - (1 << level))


@kernel
def append_exactly(header: Header, arms: Table, memory: Table, arm: int, reward: float) -> None:
    """Add a reward to the arm's history, with what rounding took from the sum up to it."""
    count = arms[arm]["count"]
    total, residue = 0.0, 0.0
    if count > 0:
        before = row_of(memory, arm, count - 1)
        total, residue = memory[before]["total"], memory[before]["residue"]
    row = append(header, arms, memory, arm, reward)
    memory[row]["residue"] = residue + two_sum(total, reward)[1]


@kernel
def remember(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    """Add a reward to the arm's history and fields: the kernel `learn` of policies that keep no more."""
    # As `append_exactly`, from the arm's sum: to look up the last row costs a step of RB-SDA 3 %.
    row = append(header, arms, memory, arm, reward)
    total, lost = two_sum(arms[arm]["sum"], reward)
    arms[arm]["sum"] = total
    arms[arm]["residue"] += lost
    memory[row]["residue"] = arms[arm]["residue"]
    if arms[arm]["count"] == 1 << (arms[arm]["level"] + 1):
        arms[arm]["level"] += 1
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
