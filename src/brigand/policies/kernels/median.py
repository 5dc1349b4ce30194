"""The median, for medians of means."""

from __future__ import annotations

from typing import Any

from brigand.jit import kernel


@kernel
def median(values: Any) -> float:
    """Return the median of an array, which is reordered (Hoare's selection; NumPy's compiles for seconds)."""
    middle = len(values) // 2
    first, last = 0, len(values) - 1
    while first < last:
        pivot = values[(first + last) // 2]
        i, j = first, last
        while i <= j:
            while values[i] < pivot:
                i += 1
            while pivot < values[j]:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i, j = i + 1, j - 1
        first = i if middle > j else first
        last = j if middle < i else last
    if len(values) % 2 == 1:
        return values[middle]
    below = values[0]
    for i in range(1, middle):
        below = max(below, values[i])
    return 0.5 * below + 0.5 * values[middle]
