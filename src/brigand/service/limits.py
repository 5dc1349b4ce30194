"""What a request may ask for at most, and how often."""

from __future__ import annotations

import math
import time
from collections import OrderedDict

MAX_BODY = 2**20
"""Bytes of a request."""
MAX_ARMS = 1000
MAX_AT_ONCE = 1000
"""Decisions in one ask, rewards in one tell."""
MAX_NAME = 500
"""Characters of the name of a bandit or an arm."""
MAX_PAGE = 1000
"""Rows in one answer."""
MAX_WAITING = 10_000
"""Calls that wait for one bandit; beyond it the service says that it is busy."""
BUCKETS = 10_000


class Rate:
    """Token buckets: each key may ask so often in a second, and as much at once.

    Parameters
    ----------
    per_second : float or None
        None: as often as it likes.

    Examples
    --------
    >>> rate = Rate(1.0)
    >>> rate.wait("key", at=0.0), rate.wait("key", at=0.25), rate.wait("other", at=0.25)
    (0.0, 0.75, 0.0)
    """

    def __init__(self, per_second: float | None) -> None:
        self._rate = per_second
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, and when

    def wait(self, key: str, at: float | None = None) -> float:
        """Take a token and return 0, or return the seconds until there is one."""
        if self._rate is None:
            return 0.0
        now = time.monotonic() if at is None else at
        most = max(self._rate, 1.0)
        tokens, since = self._buckets.pop(key, (most, now))
        tokens = min(most, tokens + self._rate * (now - since))
        taken = tokens >= 1.0
        self._buckets[key] = (tokens - taken, now)
        if len(self._buckets) > BUCKETS:
            self._buckets.popitem(last=False)
        return 0.0 if taken else (1.0 - tokens) / self._rate


class Failures:
    """How often each address has failed of late; after some failures it has to wait.

    Parameters
    ----------
    most : int
        So many failures are let pass in `seconds`.
    seconds : float

    Examples
    --------
    >>> failures = Failures(2, 60.0)
    >>> failures.add("a", at=0.0), failures.wait("a", at=1.0)
    (None, 0.0)
    >>> failures.add("a", at=2.0), failures.wait("a", at=3.0), failures.wait("b", at=3.0)
    (None, 57.0, 0.0)
    """

    def __init__(self, most: int, seconds: float) -> None:
        self._most, self._seconds = most, seconds
        self._failed: OrderedDict[str, list[float]] = OrderedDict()

    def add(self, address: str, at: float | None = None) -> None:
        """Note a failure."""
        now = time.monotonic() if at is None else at
        self._failed[address] = [*self._recent(address, now), now][-self._most :]
        self._failed.move_to_end(address)
        if len(self._failed) > BUCKETS:
            self._failed.popitem(last=False)

    def wait(self, address: str, at: float | None = None) -> float:
        """Return the seconds that an address has to wait."""
        now = time.monotonic() if at is None else at
        recent = self._recent(address, now)
        return recent[0] + self._seconds - now if len(recent) >= self._most else 0.0

    def _recent(self, address: str, now: float) -> list[float]:
        return [at for at in self._failed.get(address, ()) if now - at < self._seconds]


def retry_after(seconds: float) -> str:
    """Return seconds as HTTP tells them."""
    return str(max(1, math.ceil(seconds)))
