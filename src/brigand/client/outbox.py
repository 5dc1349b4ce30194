"""Rewards that wait until the service is back: so many at most, in order for each decision."""

from __future__ import annotations

import itertools
from collections import OrderedDict, deque

from brigand.client.calls import Call

About = tuple[str, str]
"""A bandit's path and a decision."""


class Outbox:
    """A bounded queue of tells.

    A tell stays here while it is on its way. If there is no room, the oldest makes room: its decision is the
    most likely to be settled without it.

    Parameters
    ----------
    room : int

    Attributes
    ----------
    pending, dropped, refused : int
        Tells that wait; that had to make room, and did not get through; that the service refused.
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self.pending = self.dropped = self.refused = 0
        self._waiting: OrderedDict[About, deque[Call]] = OrderedDict()
        self._about: dict[Call, About] = {}

    def put(self, call: Call, decision: str) -> None:
        """Keep a tell of a decision."""
        if self.pending >= self.room:
            oldest = next(iter(self._waiting.values()))[0]
            self._take(oldest)
            self.dropped += 1
        about = self._about[call] = (call.path, decision)
        self._waiting.setdefault(about, deque()).append(call)
        self.pending += 1

    def first(self, n: int) -> list[Call]:
        """Return the n first tells, of different decisions."""
        return [calls[0] for calls in itertools.islice(self._waiting.values(), n)]

    def sent(self, call: Call) -> None:
        """Take out a tell that got through."""
        if not self._take(call):
            self.dropped -= 1  # it had to make room while it was on its way

    def refuse(self, call: Call) -> None:
        """Take out a tell that the service has refused."""
        if self._take(call):
            self.refused += 1

    def put_off(self, call: Call) -> None:
        """Let all others go first, since the service could not take this one."""
        if call in self._about:
            self._waiting.move_to_end(self._about[call])

    def drop_all(self) -> None:
        """Give up all that waits."""
        self.dropped += self.pending
        self.pending = 0
        self._waiting.clear()
        self._about.clear()

    def _take(self, call: Call) -> bool:
        about = self._about.pop(call, None)
        if about is None:
            return False
        self._waiting[about].remove(call)
        if not self._waiting[about]:
            del self._waiting[about]
        self.pending -= 1
        return True
