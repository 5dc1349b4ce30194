"""Pieces of a study on a Dask cluster.

A worker gets a piece's description (JSON: policy, environment, seeds) and returns the bytes of its file; it
needs the same Brigand, and the modules of the user's policies, and compiles for itself. The scheduler needs
Dask alone, for what it hands on is a function that is sent as code. A piece whose worker
was lost is given to another one. The process that runs the study writes all files: workers need no common
disk.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import importlib
import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from brigand import checks
from brigand.errors import BrigandError, ClusterError, InvalidValueError
from brigand.studies.work import STEPS, Piece

LOCAL = "local:"
AHEAD = 3
"""So many batches a worker thread are given out at a time."""
LARGEST_BATCH = 512
"""Pieces that travel together, at most."""
LONG = 0.5
"""Seconds that a batch shall take."""
USUAL = 1e-7
"""Seconds a step, as long as nobody knows better."""
TIMEOUT = 20
"""Seconds to wait for a scheduler."""
PATIENCE = 60.0
"""Seconds to wait for a worker."""
LOOK = 2.0
"""Seconds after which it is looked again how many workers there are: some come late, some go."""


# Sent as code, since it belongs to no module: one that lacks Brigand would end a worker, and the next one.
_work: Callable[..., list[tuple[bytes, float]]] = eval(
    "lambda batch: [__import__('brigand.studies.work', fromlist=['work']).timed(*one) for one in batch]",
    {"__name__": "sent by Brigand"},
)


def on_dask(todo: Iterator[Piece], address: str, patience: float = PATIENCE) -> Iterator[tuple[Piece, bytes]]:
    """Yield pieces as they are done.

    Parameters
    ----------
    todo : iterator of Piece
        Taken from as workers become free.
    address : str
        Of a scheduler, ``tcp://host:8786``; or ``local:N`` for N processes on this machine.
    patience : float
        Seconds that the cluster may be without any worker.

    Raises
    ------
    InvalidValueError
        Dask is not installed, or there is no such cluster.
    ClusterError
        Workers were lost again and again, or the scheduler was, or there is no worker.
    BrigandError
        A piece failed.
    """
    distributed = checks.package("distributed", "a cluster needs Dask: pip install 'brigand[cluster]'.")
    with _silent(), _client(distributed, address) as client:
        running: dict[Any, list[Piece]] = {}
        pace: dict[str, float] = {}
        waiting = batches(todo, pace)
        threads, looked, seen = 1, -LOOK, time.monotonic()
        try:
            while True:
                if time.monotonic() - looked > LOOK:
                    there, looked = sum(client.nthreads().values()), time.monotonic()
                    threads, seen = max(1, there), looked if there else seen
                    if looked - seen > patience:
                        raise ClusterError(
                            f"the cluster at {address!r} has had no worker for {patience:.0f} s; what was "
                            "done is kept. Start workers, or wait longer for them with --wait."
                        )
                while len(running) < AHEAD * threads and (batch := next(waiting, None)):
                    tasks = [(piece.task, piece.key) for piece in batch]
                    running[client.submit(_work, tasks, key=f"pieces-{batch[0].key}")] = batch
                if not running:
                    return
                try:
                    done = distributed.wait(list(running), timeout=LOOK, return_when="FIRST_COMPLETED").done
                except TimeoutError:
                    continue
                for future in done:
                    found = _result(distributed, future, address)
                    for piece, (content, seconds) in zip(running.pop(future), found, strict=True):
                        pace[_kind(piece)] = seconds / _steps(piece)
                        yield piece, content
                    future.release()
        except (OSError, asyncio.CancelledError, concurrent.futures.CancelledError) as error:
            if isinstance(error, BrigandError):
                raise
            raise ClusterError(
                f"the scheduler at {address!r} is gone; what was done is kept, and the same command goes on "
                f"from there ({type(error).__name__})."
            ) from error


def batches(todo: Iterator[Piece], pace: Mapping[str, float]) -> Iterator[list[Piece]]:
    """Yield pieces in batches of half a second; the first are small, so that all begin soon.

    Parameters
    ----------
    todo : iterator of Piece
    pace : mapping of str to float
        For each kind of piece the seconds a step that the last one took; may change meanwhile.
    """
    batch: list[Piece] = []
    seconds, number = 0.0, 0
    for piece in todo:
        batch.append(piece)
        seconds += _steps(piece) * pace.get(_kind(piece), USUAL)
        if seconds >= LONG or len(batch) >= min(LARGEST_BATCH, 2 ** (number // 16)):
            yield batch
            batch, seconds, number = [], 0.0, number + 1
    if batch:
        yield batch


def _steps(piece: Piece) -> int:
    return piece.runs * min(int(piece.task["horizon"]), STEPS)


def _kind(piece: Piece) -> str:
    """Return what tells pieces apart that take long from those that do not, a step."""
    return json.dumps([piece.task["policy"], piece.task["method"], piece.task["horizon"]])


def _result(distributed: Any, future: Any, address: str) -> list[tuple[bytes, float]]:
    try:
        content: list[tuple[bytes, float]] = future.result()
    except distributed.KilledWorker as error:
        raise ClusterError(f"the cluster lost every worker that had a piece of work: {error}") from error
    except ModuleNotFoundError as error:
        raise InvalidValueError(
            f"a worker of {address!r} has no module {error.name!r}: it needs Brigand and the modules "
            "of your policies, as they are here."
        ) from error
    return content


@contextmanager
def _silent() -> Iterator[None]:
    """Let Dask log nothing meanwhile: a connection that is lost is said in one line, by an error."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


@contextmanager
def _client(distributed: Any, address: str) -> Iterator[Any]:
    """Connect to a cluster, or start one that ends with this."""
    gc.collect()  # were a client that found no scheduler collected while this one starts, both would wait
    if not address.startswith(LOCAL):
        try:
            client = distributed.Client(address, timeout=TIMEOUT)
        except (OSError, ValueError, ImportError, TypeError, AssertionError) as error:
            # A TimeoutError is an OSError; Dask asserts that its thread begins within ten seconds.
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
    dask = importlib.import_module("dask")
    with (
        dask.config.set({"distributed.worker.profile.enabled": False}),  # it took a sixth of all time
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
