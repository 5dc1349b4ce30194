"""Bandits that are open, and the calls that wait for each: those that wait together share a transaction.

A store's commit waits for a disk. If each call had one of its own, there would be no more calls in a second
than the disk has flushes. So while one transaction is under way, the calls that come wait; then all of them
are done in the next one, and answered when it is on disk.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import Any, TypeVar

from brigand.errors import StorageError
from brigand.live import batch
from brigand.live.bandit import Bandit
from brigand.live.batch import Call
from brigand.service.errors import RETRY, Refused
from brigand.service.limits import MAX_WAITING
from brigand.service.metrics import Metrics
from brigand.service.places import Bandits

T = TypeVar("T")
Make = Callable[[Bandit], Call]
"""Makes of a bandit what is to be done in a transaction."""
TOGETHER = 256
"""So many calls at most share a transaction."""
OPEN = 1000
"""So many bandits are kept open, those that were used last."""


class Held:
    """A bandit that is open.

    Parameters
    ----------
    name : str
    bandit : Bandit
    bandits : Bandits
    writers : Executor
        Where transactions run.
    metrics : Metrics

    Attributes
    ----------
    gone : bool
        Whether it was deleted.
    """

    def __init__(
        self, name: str, bandit: Bandit, bandits: Bandits, writers: Executor, metrics: Metrics
    ) -> None:
        self.gone = False
        self._name, self._bandit, self._bandits = name, bandit, bandits
        self._writers, self._metrics = writers, metrics
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[Make, asyncio.Future[Any]]] = deque()
        self._working = False

    @property
    def idle(self) -> bool:
        """Whether no call waits."""
        return not self._working

    def call(self, make: Make) -> asyncio.Future[Any]:
        """Do a call in one of the next transactions; the result is there when it is on disk.

        Raises
        ------
        Refused
            Too many wait.
        """
        if len(self._waiting) >= MAX_WAITING:
            raise Refused(503, f"{len(self._waiting):,} calls wait for this bandit.", "busy", **RETRY)
        future = self._loop.create_future()
        self._waiting.append((make, future))
        if not self._working:
            self._working = True
            self._start()
        return future

    def do(self, function: Callable[[Bandit], T]) -> T:
        """Return what a function makes of the bandit; if another one is in its place now, of that one.

        Raises
        ------
        Refused
            It was deleted.
        StorageError
            The store cannot be read or written.
        """
        try:
            return function(self._bandit)
        except StorageError:
            if not self._was_replaced():
                raise
            return function(self._bandit)

    def _was_replaced(self) -> bool:
        try:
            found = self._bandits.open(self._name)
        except Refused:
            self.gone = True
            raise
        if batch.is_same(found, self._bandit):
            return False
        self._bandit = found
        return True

    def _start(self) -> None:
        if self._bandits.at_once:
            self._loop.call_soon(self._work, self._deliver)
        else:
            self._writers.submit(self._work, self._deliver_from_thread)

    def _deliver_from_thread(self, futures: list[asyncio.Future[Any]], answers: list[Any]) -> None:
        self._loop.call_soon_threadsafe(self._deliver, futures, answers)

    def _work(self, deliver: Callable[[list[asyncio.Future[Any]], list[Any]], Any]) -> None:
        makes: list[Make] = []
        futures: list[asyncio.Future[Any]] = []
        while self._waiting and len(makes) < TOGETHER:
            make, future = self._waiting.popleft()
            makes.append(make)
            futures.append(future)
        self._metrics.calls.observe(len(makes))
        deliver(futures, self._answers(makes))

    def _answers(self, makes: list[Make]) -> list[Any]:
        """Do calls in one transaction; return what each returned, or its error."""
        try:
            return self.do(lambda bandit: batch.run(bandit, [partial(_made, bandit, make) for make in makes]))
        except (StorageError, Refused) as error:
            return [error] * len(makes)
        except Exception as error:  # of one of them, and nothing was stored
            if len(makes) == 1:
                return [error]
            return [answer for make in makes for answer in self._answers([make])]

    def _deliver(self, futures: list[asyncio.Future[Any]], answers: list[Any]) -> None:
        for future, answer in zip(futures, answers, strict=True):
            if future.done():  # who asked has gone
                continue
            if isinstance(answer, BaseException):
                future.set_exception(answer)
            else:
                future.set_result(answer)
        if self._waiting:
            self._start()
        else:
            self._working = False


def _made(bandit: Bandit, make: Make, session: Any) -> Any:
    return make(bandit)(session)


class Shelf:
    """The bandits that a service has open.

    Parameters
    ----------
    bandits : Bandits
    writers, readers : Executor
    metrics : Metrics
    """

    def __init__(self, bandits: Bandits, writers: Executor, readers: Executor, metrics: Metrics) -> None:
        self._bandits, self._writers, self._readers, self._metrics = bandits, writers, readers, metrics
        self._held: OrderedDict[str, Held] = OrderedDict()
        self._opening: dict[str, asyncio.Task[Held]] = {}

    async def get(self, name: str) -> Held:
        """Return a bandit, opened if it is not yet.

        Raises
        ------
        Refused
            There is none of this name.
        StorageError
            The store cannot be read.
        """
        held = self._held.get(name)
        if held is not None and not held.gone:
            self._held.move_to_end(name)
            return held
        if name not in self._opening:
            self._opening[name] = asyncio.ensure_future(self._open(name))
        return await asyncio.shield(self._opening[name])

    def open_now(self) -> dict[str, Held]:
        """Return what is open, by name."""
        return {name: held for name, held in self._held.items() if not held.gone}

    def forget(self, name: str) -> None:
        """Forget a bandit that was deleted."""
        held = self._held.pop(name, None)
        if held is not None:
            held.gone = True

    async def _open(self, name: str) -> Held:
        try:
            loop = asyncio.get_running_loop()
            bandit = await loop.run_in_executor(self._readers, self._bandits.open, name)
        finally:
            del self._opening[name]
        held = self._held[name] = Held(name, bandit, self._bandits, self._writers, self._metrics)
        self._held.move_to_end(name)
        self._metrics.know(name)
        if len(self._held) > OPEN:
            idle = next((known for known, other in self._held.items() if other.idle), None)
            if idle is not None:
                del self._held[idle]  # closed when nobody uses it any more
        return held
