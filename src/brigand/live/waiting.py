"""Decisions whose rewards have not come, for bandits whose decisions become overdue."""

from __future__ import annotations

import heapq


class Waiting:
    """Decisions that wait for their rewards. All methods take O(log n) time, but for what they return."""

    def __init__(self) -> None:
        self._arms: dict[int, int] = {}  # by step, which only grows
        self._times: list[tuple[float, int]] = []  # a heap: times and steps, also of some that do not wait

    def add(self, step: int, arm: int, at: float) -> None:
        """Add a decision that was made at some time."""
        self._arms[step] = arm
        heapq.heappush(self._times, (at, step))

    def remove(self, step: int) -> bool:
        """Let a decision wait no more, and return whether it did."""
        return self._arms.pop(step, None) is not None

    def has(self, step: int) -> bool:
        """Return whether a decision waits."""
        return step in self._arms

    def first(self) -> int | None:
        """Return the first step that waits; None if none does."""
        return next(iter(self._arms), None)

    def decisions(self) -> list[tuple[int, int, float]]:
        """Return step, arm and time of each decision that waits, by step."""
        return sorted((step, self._arms[step], at) for at, step in self._times if step in self._arms)

    def any_until(self, time: float) -> bool:
        """Return whether a decision waits that was made at that time, or before."""
        while self._times and self._times[0][1] not in self._arms:
            heapq.heappop(self._times)
        return bool(self._times) and self._times[0][0] <= time

    def take_until(self, time: float) -> list[tuple[int, int]]:
        """Return steps and arms of the decisions made until then, by time: once, though they wait still."""
        found = []
        while self.any_until(time):
            step = heapq.heappop(self._times)[1]
            found.append((step, self._arms[step]))
        return found
