"""Blocks and replays of `brigand.policies.ada_iltcb`: what is kept of them, their regrets, tests and Q."""

from __future__ import annotations

import math
from typing import Any

from brigand.jit import kernel
from brigand.policies.absence import missing_at
from brigand.policies.base import Header, Table, record

# In this order: the probabilities of the T pulls; BLOCKS rows of (1 - K nu) Q + nu; the totals before the
# epoch; for the block and each replay, its index, the step before it, its last (0: none), the totals before.
MEMORY = record(value=0.0)
BLOCKS = 54
SLOTS = 33  # the block and 32 replays


@kernel
def save_totals(arms: Table, memory: Table, row: int) -> None:
    for arm in range(len(arms)):
        memory[row + arm]["value"] = arms[arm]["total"]


@kernel
def best_since(arms: Table, memory: Table, row: int) -> float:
    best = -math.inf
    for arm in range(len(arms)):
        if arms[arm]["gone"] == 0:
            best = max(best, arms[arm]["total"] - memory[row + arm]["value"])
    return best


@kernel
def set_regrets(arms: Table) -> None:
    """Make the least distance of those that are not gone a regret of 0."""
    least = math.inf
    for arm in range(len(arms)):
        if arms[arm]["gone"] == 0:
            least = min(least, arms[arm]["distance"])
    for arm in range(len(arms)):
        arms[arm]["regret"] = max(arms[arm]["distance"] - least, 0.0)


@kernel
def passes(parameters: Any, arms: Table, memory: Table, row: int, step: int) -> bool:
    """Return whether the block or replay at `row`, which ends with `step`, agrees with Reg_B."""
    allowed = parameters.D * len(arms) * parameters.nu * math.pow(2.0, -0.5 * memory[row]["value"])
    best = best_since(arms, memory, row + 3)
    for arm in range(len(arms)):
        if arms[arm]["gone"] == 1:
            continue
        now = best - (arms[arm]["total"] - memory[row + 3 + arm]["value"])
        now /= step - memory[row + 1]["value"]
        before = arms[arm]["regret"]
        if now > 4.0 * before + allowed or before > 4.0 * now + allowed:
            return False
    return True


@kernel
def solve(parameters: Any, arms: Table, memory: Table, block: int) -> None:
    """Write the block's (1 - K nu) Q + nu to the memory; lambda is found by bisection."""
    nu, row = parameters.nu * math.pow(2.0, -0.5 * block), parameters.horizon + block * len(arms)
    low, high = 1.0, float(len(arms))
    for _ in range(60):
        middle = 0.5 * (low + high)
        mass = 0.0
        for arm in range(len(arms)):
            mass += 1.0 / (middle + arms[arm]["regret"] / (parameters.C * nu))
        if mass > 1.0:
            low = middle
        else:
            high = middle
    for arm in range(len(arms)):
        q = 1.0 / (high + arms[arm]["regret"] / (parameters.C * nu))
        memory[row + arm]["value"] = (1.0 - len(arms) * nu) * q + nu


@kernel
def row_of(parameters: Any, arms: Table, slot: int) -> int:
    """Return where the block (slot 0) or a replay begins in the memory."""
    return parameters.horizon + (BLOCKS + 1) * len(arms) + slot * (len(arms) + 3)


@kernel
def open_slot(parameters: Any, arms: Table, memory: Table, slot: int, block: int, step: int) -> None:
    """Let the block, or a replay of it, begin after `step`."""
    row = row_of(parameters, arms, slot)
    memory[row]["value"] = block
    memory[row + 1]["value"] = step
    memory[row + 2]["value"] = step + parameters.length * (1 << block)
    save_totals(arms, memory, row + 3)


@kernel
def probability_of(header: Header, arms: Table, arm: int) -> float:
    """Return the probability with which the arm was drawn from those that are there."""
    now, total = header["step"] + 1, 0.0
    if missing_at(header, now) == 0:
        return arms[arm]["probability"]
    for other in range(len(arms)):
        if arms[other]["missed"] != now:
            total += arms[other]["probability"]
    return arms[arm]["probability"] / total
