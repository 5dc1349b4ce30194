"""Every arm's rewards in order of arrival, with prefix sums, in one table and at O(1) an access.

An arm's history grows by segments of 1, 2, 4, ... rows, taken from the table in order of need, so that n
rewards take at most 2 n + K rows, whoever gets them. The first `SEGMENTS` rows for each arm hold where its
segments begin. The sum of any block of consecutive rewards is a difference of two prefix sums. There is room
for the T rewards of the horizon, and no check: the caller must not tell more.

Fields: ``count`` of an arm; ``used`` of the header (rows taken); memory as made by `new_history`.
"""

from __future__ import annotations

import math

import numpy as np

from brigand.jit import kernel
from brigand.policies.base import Header, Table, need_horizon, record

SEGMENTS = 54
ROW = record(segment=0, reward=0.0, total=0.0)  # where a segment begins; a reward; the sum up to it


def new_history(policy: str, n_arms: int, horizon: int | None, row: Table = ROW) -> Table:
    """Return an empty history with room for `horizon` rewards, whose rows are as `row`: `ROW`, or more.

    Raises
    ------
    InvalidValueError
        The horizon is not known; `policy` is named in the message.
    """
    return np.repeat(row, (SEGMENTS + 1) * n_arms + 2 * need_horizon(policy, horizon))


@kernel
def row_of(memory: Table, arm: int, place: int) -> int:
    """Return the row of the arm's reward number `place`, counted from 0."""
    level = math.frexp(place + 1.0)[1] - 1
    return memory[arm * SEGMENTS + level]["segment"] + (place + 1 - (1 << level))


@kernel
def append(header: Header, arms: Table, memory: Table, arm: int, reward: float) -> int:
    """Add a reward to the arm's history and its ``count``; return its row."""
    place = arms[arm]["count"]
    level = math.frexp(place + 1.0)[1] - 1
    offset = place + 1 - (1 << level)
    if offset > 0:
        row = memory[arm * SEGMENTS + level]["segment"] + offset
        before = memory[row - 1]["total"]
    else:
        if header["used"] == 0:
            header["used"] = SEGMENTS * len(arms)
        row = header["used"]
        memory[arm * SEGMENTS + level]["segment"] = row
        header["used"] += 1 << level
        before = prefix_sum(memory, arm, place)
    memory[row]["reward"] = reward
    memory[row]["total"] = before + reward
    arms[arm]["count"] += 1
    return row


@kernel
def reward_at(memory: Table, arm: int, place: int) -> float:
    """Return the arm's reward number `place`, counted from 0."""
    return memory[row_of(memory, arm, place)]["reward"]


@kernel
def prefix_sum(memory: Table, arm: int, count: int) -> float:
    """Return the sum of the arm's first `count` rewards."""
    if count == 0:
        return 0.0
    return memory[row_of(memory, arm, count - 1)]["total"]


@kernel
def block_mean(memory: Table, arm: int, first: int, count: int) -> float:
    """Return the mean of `count` consecutive rewards of the arm, from number `first` on."""
    return (prefix_sum(memory, arm, first + count) - prefix_sum(memory, arm, first)) / count
