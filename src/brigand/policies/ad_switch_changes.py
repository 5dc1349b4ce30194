"""The tests for changes of `brigand.policies.ad_switch`: an arm's means over intervals of the episode."""

from __future__ import annotations

import math
from typing import Any

from brigand.jit import kernel
from brigand.policies.base import Header, Table


@kernel
def since(arms: Table, memory: Table, arm: int, start: int, end: int) -> tuple[int, float]:
    """Return the number of the arm's rewards between two rows, and their mean: NaN if there was none."""
    first, last = start * len(arms) + arm, end * len(arms) + arm
    count = memory[last]["count"] - memory[first]["count"]
    if count == 0:
        return 0, math.nan
    return count, (memory[last]["sum"] - memory[first]["sum"]) / count


@kernel
def longer(header: Header, start: int) -> int:
    """Return the grid's next row before `start`, at twice the distance; -1 after the episode's first row."""
    if start == header["origin"]:
        return -1
    return max(header["origin"], header["row"] - max(1, 2 * (header["row"] - start)))


@kernel
def good_changed(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> bool:
    """Return whether two of a GOOD arm's confidence intervals, one of them up to now, are disjoint."""
    row = header["row"]
    low_any, high_any, low_now, high_now = -math.inf, math.inf, -math.inf, math.inf
    end = row
    while end >= 0:
        start = longer(header, end)
        while start >= 0:
            count, mean = since(arms, memory, arm, start, end)
            if count > 0:
                width = math.sqrt(parameters.noise / count)
                low_any = max(low_any, mean - width)
                high_any = min(high_any, mean + width)
                if end == row:
                    low_now = max(low_now, mean - width)
                    high_now = min(high_now, mean + width)
            start = longer(header, start)
        end = longer(header, end)
    return low_any > high_now or low_now > high_any


@kernel
def bad_changed(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> bool:
    """Return whether a BAD arm's mean has left what it was when the arm was eliminated."""
    start = longer(header, header["row"])
    while start >= 0:
        count, mean = since(arms, memory, arm, start, header["row"])
        if count > 0:
            allowed = arms[arm]["gap"] / parameters.change_divisor + math.sqrt(parameters.noise / count)
            if abs(mean - arms[arm]["evicted_mean"]) > allowed:
                return True
        start = longer(header, start)
    return False
