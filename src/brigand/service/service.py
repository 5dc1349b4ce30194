"""What all routes of one service share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

from brigand import shortcuts
from brigand.errors import BrigandError
from brigand.live.bandit import Bandit
from brigand.service.errors import Refused
from brigand.service.gate import Gate
from brigand.service.keys import Keyring
from brigand.service.limits import Rate
from brigand.service.metrics import Metrics
from brigand.service.places import Bandits
from brigand.service.shelf import Held, Shelf
from brigand.service.visitors import Door

T = TypeVar("T")
WRITERS = 8
READERS = 4
"""Threads. Readers do not keep those waiting that ask and tell."""


class Service:
    """A service, from the beginning of `running` to its end.

    Parameters
    ----------
    bandits : Bandits
    auth : bool
        Whether keys are asked for.
    cors : collection of str
    rate : float or None
        Requests of a key in a second.
    read_only : bool
        Whether the pages let nobody change anything.

    Attributes
    ----------
    metrics : Metrics
    shelf : Shelf
    gate : Gate
    door : Door
    """

    shelf: Shelf
    gate: Gate
    door: Door

    def __init__(
        self,
        bandits: Bandits,
        auth: bool,
        cors: Collection[str] = (),
        rate: float | None = None,
        read_only: bool = False,
    ) -> None:
        self.metrics = Metrics()
        self.bandits = bandits
        self._read_only = read_only
        self._auth, self._cors, self._rate = auth, cors, Rate(rate)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Open the store, and close it when all that was begun has ended."""
        with (
            ThreadPoolExecutor(WRITERS, "brigand-writer") as self._writers,
            ThreadPoolExecutor(READERS, "brigand-reader") as self._readers,
        ):
            self._readers.submit(shortcuts.packs)  # takes up to a second in each process, at the first bandit
            store = await self.read(self.bandits.start)
            keyring = None
            if self._auth:
                assert store is not None  # `create_app` has seen to it
                keyring = Keyring(store, self.read)
            self.gate = Gate(keyring, self._cors, self._rate)
            self.door = Door(keyring, self._read_only)
            self.shelf = Shelf(self.bandits, self._writers, self._readers, self.metrics)
            try:
                yield
            finally:
                await self.read(self.bandits.close)

    async def read(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run what reads, or changes little, in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, function, *arguments)

    async def of(self, name: str, function: Callable[[Bandit], T]) -> T:
        """Return what a function makes of a bandit, in a thread."""
        held = await self.shelf.get(name)
        return await self.read(held.do, function)

    async def stream(self, pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
        """Yield pieces that are made in threads, one at a time."""
        while (piece := await self.read(next, pieces, None)) is not None:
            yield piece

    async def count_pending(self) -> None:
        """Bring the numbers of decisions that wait for their rewards up to date, of bandits that are open."""
        pending: dict[str, int] = {}
        for name, held in self.shelf.open_now().items():
            label = self.metrics.label(name)
            pending[label] = pending.get(label, 0) + await self.read(partial(_pending, held))
        self.metrics.pending.clear()
        for label, number in pending.items():
            self.metrics.pending.labels(label).set(number)


def _pending(held: Held) -> int:
    try:
        rows = held.do(lambda bandit: bandit.summary(plain=True))
        return sum(int(row["pending"]) for row in rows)
    except (BrigandError, Refused):  # the others have their numbers
        return 0
