"""The server: listens, serves until it is told to end, and ends when what was begun has ended."""

from __future__ import annotations

import gc
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import uvicorn
from fastapi import FastAPI

from brigand.errors import InvalidValueError
from brigand.live.bandit import Bandit
from brigand.service.logs import written

GRACE = 30
"""Seconds that open requests have to end."""


BACKLOG = 2048
"""Connections that wait until they are accepted."""


class _Server(uvicorn.Server):
    def capture_signals(self) -> Any:
        """Do nothing: uvicorn would send itself the signal again, and end with another status than 0."""
        return nullcontext()


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises
    ------
    InvalidValueError
        The port is in use, or the address not of this machine.
    """
    found = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, protocol)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(BACKLOG)
    except OSError as error:
        if found is not None:
            found.close()
        why = error.strerror or error
        raise InvalidValueError(f"{host}, port {port}, cannot be listened on: {why}.") from None
    return found


def serve(app: FastAPI, listening: socket.socket) -> bool:
    """Serve until SIGTERM or SIGINT; return whether it began at all."""
    server = _Server(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE,
            ws="none",
        )
    )
    _settle()
    with written(), _ended_by_signals(server), listening:
        server.run(sockets=[listening])
    return server.started


def _settle() -> None:
    """Load and compile what most bandits need, and let Python look for garbage among later objects alone.

    Else it walks through all of Numba's once in a thousand requests, which takes as long as 300 of them.
    """
    Bandit(["a", "b"], "FE-Linear").ask()
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@contextmanager
def _ended_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """Let signals end the server; nothing else shall hear them (`brigand.cli.interrupts`)."""
    woken = signal.set_wakeup_fd(-1)
    before = {number: signal.signal(number, server.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        with suppress(ValueError, OSError):
            signal.set_wakeup_fd(woken)
