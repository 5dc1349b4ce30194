"""The client that blocks: an `AsyncClient` on a thread of its own.

So there is one implementation; a deadline holds whatever a call waits for (names of hosts, connections, slow
answers), which the timeouts of blocking sockets do not give; and tells that wait are sent meanwhile.
"""

from __future__ import annotations

import asyncio
import functools
import os
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from brigand.client.asynchronous import AsyncClient
from brigand.errors import InvalidValueError

if TYPE_CHECKING:
    import httpx

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(
    method: Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Client, P], T]:
    """Return a method of `AsyncClient` as one of `Client`."""

    @functools.wraps(method)
    def blocking(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        thread = self._thread
        return thread.run(method(thread.client, *args, **kwargs))

    return blocking


def _iterating(
    method: Callable[Concatenate[AsyncClient, P], AsyncGenerator[T, None]],
) -> Callable[Concatenate[Client, P], Iterator[T]]:
    """Return a generator of `AsyncClient` as one of `Client`."""

    @functools.wraps(method)
    def iterating(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        thread = self._thread
        rows = method(thread.client, *args, **kwargs)
        while True:
            try:
                yield thread.run(_next(rows))
            except StopAsyncIteration:
                return

    return iterating


async def _next(rows: AsyncGenerator[T, None]) -> T:
    return await anext(rows)


class Client:
    """A service of bandits, reached over HTTP. Threads may share one.

    Parameters
    ----------
    url : str
        Where the service is: ``"https://bandits.example.org"``.
    key : str, optional
        What ``brigand key create`` has printed.
    timeout : float
        Seconds for an `ask`, all attempts together, before it returns its fallback; and for a `tell`, before
        it waits in the queue.
    retries : int
        How often a call that got no answer is sent again within that time. Calls are sent again where that
        does no harm: they read, or have a name that the service knows again, or have not been sent at all.
    queue : int
        So many tells wait at most while the service is away. Of a full queue the oldest is dropped. 0: a tell
        that gets no answer is an error.
    patience : float
        Seconds for all other calls.
    transport : httpx.AsyncBaseTransport, optional
        How requests are sent, as of `httpx.AsyncClient`: for tests, say.

    Examples
    --------
    ::

        with Client("https://bandits.example.org", key) as client:
            decision = client.ask("button", fallback="red")
            client.tell("button", decision, 1.0)
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout: float = 0.2,
        retries: int = 2,
        queue: int = 10_000,
        patience: float = 30.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        make = functools.partial(
            AsyncClient,
            url,
            key,
            timeout=timeout,
            retries=retries,
            queue=queue,
            patience=patience,
            transport=transport,
        )
        self._thread = _Thread(make)
        _ = self._thread.client  # so that what is wrong is said now
        if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
            os.register_at_fork(after_in_child=functools.partial(_renew, weakref.ref(self)))

    ask = _blocking(AsyncClient.ask)
    ask_many = _blocking(AsyncClient.ask_many)
    tell = _blocking(AsyncClient.tell)
    tell_many = _blocking(AsyncClient.tell_many)
    flush = _blocking(AsyncClient.flush)
    create = _blocking(AsyncClient.create)
    delete = _blocking(AsyncClient.delete)
    show = _blocking(AsyncClient.show)
    arms = _blocking(AsyncClient.arms)
    add_arm = _blocking(AsyncClient.add_arm)
    remove_arm = _blocking(AsyncClient.remove_arm)
    pause = _blocking(AsyncClient.pause)
    resume = _blocking(AsyncClient.resume)
    end = _blocking(AsyncClient.end)
    note = _blocking(AsyncClient.note)
    history = _iterating(AsyncClient.history)
    export = _blocking(AsyncClient.export)
    snapshot = _blocking(AsyncClient.snapshot)
    gain = _blocking(AsyncClient.gain)
    metrics = _blocking(AsyncClient.metrics)
    audit = _blocking(AsyncClient.audit)
    ready = _blocking(AsyncClient.ready)
    list = _iterating(AsyncClient.list)

    @property
    def pending(self) -> int:
        """How many tells wait until the service is back."""
        return self._thread.client.pending

    @property
    def dropped(self) -> int:
        """How many tells were given up: the oldest of a full queue, and what is left when it is closed."""
        return self._thread.client.dropped

    @property
    def refused(self) -> int:
        """How many tells had waited when the service refused them; each is in the log `brigand.client`."""
        return self._thread.client.refused

    def close(self, timeout: float = 5.0) -> None:
        """Send the tells that wait, for `timeout` seconds at most; what is left is dropped."""
        self._thread.close(timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self._thread.client).replace("AsyncClient", "Client", 1)


class _Thread:
    """An event loop on a thread of its own, and the client that lives there; begun at the first call.

    Parameters
    ----------
    make : callable
        Makes the client.
    inherited : _Thread, optional
        That of the parent, in a forked process: its loop is shared with the parent's, and must not be closed.
    """

    def __init__(self, make: Callable[[], AsyncClient], inherited: _Thread | None = None) -> None:
        self.make = make
        self.is_closed = False
        self._inherited = inherited
        self._lock = threading.Lock()
        self._client: AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: Callable[[], object] = int  # does nothing

    @property
    def client(self) -> AsyncClient:
        with self._lock:
            self._client = self._client or self.make()
            return self._client

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of the client on the thread, and wait for it."""
        if self.is_closed:
            coroutine.close()
            raise InvalidValueError("the client was closed.")
        future = asyncio.run_coroutine_threadsafe(coroutine, self._running())
        try:
            return future.result()
        finally:
            future.cancel()  # Ctrl-C: nobody waits for it any more

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                runner = asyncio.Runner()
                self._loop = runner.get_loop()
                thread = threading.Thread(target=_serve, args=(runner,), name="brigand-client", daemon=True)
                thread.start()
                self._stop = weakref.finalize(self, _stop, self._loop, thread, os.getpid())
            return self._loop

    def close(self, timeout: float) -> None:
        """Close the client, and end the thread."""
        if not self.is_closed:
            if self._loop is not None:
                self.run(self.client.close(timeout))
            self.is_closed = True
            self._stop()


def _serve(runner: asyncio.Runner) -> None:
    with runner:
        runner.get_loop().run_forever()


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread, process: int) -> None:
    """End the thread, unless it is the parent's; also where a client is forgotten or Python ends."""
    if os.getpid() == process:
        loop.call_soon_threadsafe(loop.stop)
        if thread is not threading.current_thread():
            thread.join()


def _renew(reference: weakref.ref[Client]) -> None:
    """Give the client of a forked process a thread of its own; what waits is the parent's to send."""
    client = reference()
    if client is not None and not client._thread.is_closed:
        client._thread = _Thread(client._thread.make, client._thread)
