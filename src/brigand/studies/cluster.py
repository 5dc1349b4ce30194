"""Pieces of a study on a Dask cluster.

A worker gets a piece's description (JSON: policy, environment, seeds) and returns the bytes of its file; it
needs the same Brigand, and the modules of the user's policies, and compiles for itself. The scheduler needs
Dask alone, for what it hands on is a function that is sent as code. A piece whose worker
was lost is given to another one. The process that runs the study writes all files: workers need no common
disk.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from brigand import checks
from brigand.errors import BrigandError, InvalidValueError
from brigand.studies.work import Piece

LOCAL = "local:"
AHEAD = 3
"""So many pieces a worker thread are given out at a time."""
TIMEOUT = 20
"""Seconds to wait for a scheduler."""


# Sent as code, since it belongs to no module: one that lacks Brigand would end a worker, and the next one.
_work: Callable[..., bytes] = eval(
    "lambda task, key: __import__('brigand.studies.work', fromlist=['work']).work(task, key)",
    {"__name__": "sent by Brigand"},
)


def on_dask(todo: Iterator[Piece], address: str) -> Iterator[tuple[Piece, bytes]]:
    """Yield pieces as they are done.

    Parameters
    ----------
    todo : iterator of Piece
        Taken from as workers become free.
    address : str
        Of a scheduler, ``tcp://host:8786``; or ``local:N`` for N processes on this machine.

    Raises
    ------
    InvalidValueError
        Dask is not installed, or there is no such cluster.
    BrigandError
        A piece failed, or its workers were lost again and again.
    """
    distributed = checks.package("distributed", "a cluster needs Dask: pip install 'brigand[cluster]'.")
    with _client(distributed, address) as client:
        running: dict[Any, Piece] = {}
        finished = distributed.as_completed()

        def give() -> bool:
            piece = next(todo, None)
            if piece is not None:
                future = client.submit(_work, piece.task, piece.key, key=f"piece-{piece.key}")
                running[future] = piece
                finished.add(future)
            return piece is not None

        _wait_for_workers(client, address)
        threads = max(1, sum(client.nthreads().values()))
        while len(running) < AHEAD * threads and give():
            pass
        for future in finished:
            try:
                content: bytes = future.result()
            except distributed.KilledWorker as error:
                raise BrigandError(
                    f"the cluster lost every worker that had a piece of work: {error}"
                ) from error
            except ModuleNotFoundError as error:
                raise InvalidValueError(
                    f"a worker of {address!r} has no module {error.name!r}: it needs Brigand and the modules "
                    "of your policies, as they are here."
                ) from error
            yield running.pop(future), content
            future.release()
            give()


def _wait_for_workers(client: Any, address: str) -> None:
    """Wait a while for a worker, and say so if there is none: it may stand in a queue."""
    try:
        client.wait_for_workers(1, timeout=TIMEOUT)
    except TimeoutError:
        warnings.warn(f"{address!r} has no worker yet; the study waits for one.", stacklevel=2)


@contextmanager
def _client(distributed: Any, address: str) -> Iterator[Any]:
    """Connect to a cluster, or start one that ends with this."""
    if not address.startswith(LOCAL):
        try:
            client = distributed.Client(address, timeout=TIMEOUT)
        except (OSError, ValueError, ImportError, TypeError) as error:  # TimeoutError is an OSError
            raise InvalidValueError(
                f"no Dask scheduler answers at {address!r} ({error}); give tcp://host:port, or local:2."
            ) from error
        with client:
            yield client
        return
    count = address.removeprefix(LOCAL)
    if not count.isdigit():
        raise InvalidValueError(f"dask must be the address of a scheduler or local:N, not {address!r}.")
    workers = checks.integer("the number of local workers", int(count), 1)
    with (
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
