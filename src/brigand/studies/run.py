"""Running a study: what is missing, on threads or on a cluster."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brigand.environments.environment import Environment
from brigand.files import make_folder
from brigand.policies.base import Policy
from brigand.simulation.ahead import compile_ahead
from brigand.simulation.plan import check_workers
from brigand.studies.expand import Study, environment_of, expand
from brigand.studies.folder import MANIFEST, StudyFolder
from brigand.studies.read import Source, read_study
from brigand.studies.work import FORMAT, Piece, pieces, work


@dataclass(frozen=True)
class Load:
    """How much work a study is.

    Attributes
    ----------
    cells : list of dict
        For each problem and policy: names, JSON forms, keys of the pieces.
    pieces : list of Piece
        All of them.
    missing : list of Piece
        Those that are not in the folder.
    unused : int
        Files in the folder that belong to an earlier version of the study, or of the code.
    """

    cells: list[dict[str, Any]]
    pieces: list[Piece]
    missing: list[Piece]
    unused: int

    @property
    def runs(self) -> int:
        """Runs of all pieces."""
        return sum(piece.runs for piece in self.pieces)

    @property
    def steps(self) -> int:
        """Steps of all runs, as if each was stepped."""
        return sum(piece.runs * int(piece.task["horizon"]) for piece in self.pieces)


def plan_study(path: Path, folder: Path | None) -> tuple[Study, Source, Load]:
    """Read a study file and find out what there is to do.

    Parameters
    ----------
    path : Path
        The study file.
    folder : Path, optional
        Of the results.

    Raises
    ------
    InvalidValueError, ResultFileError
        The file is not right, or cannot be read; or the folder has files in the way.
    """
    file, source = read_study(path)
    beside = str(path.resolve().parent)
    if beside not in sys.path:  # a policy of the user's may stand beside the study
        sys.path.insert(0, beside)
    study = expand(file, source)
    there: set[str] = set()
    if folder is not None:
        StudyFolder(folder).require_own(path)
        there = set(StudyFolder(folder).keys())
    cells, found = [], []
    for problem in study.problems:
        for named in study.policies:
            if not named.plays(problem):
                continue
            of_cell = list(pieces(study, problem, named))
            found += of_cell
            cells.append(
                {
                    "problem": problem.name,
                    "policy": named.name,
                    "method": of_cell[0].task["method"],
                    "keys": [piece.key for piece in of_cell],
                }
            )
    wanted = {piece.key for piece in found}
    missing = [piece for piece in found if piece.key not in there]
    return study, source, Load(cells, found, missing, len(there - wanted))


def run_study(
    path: Path,
    folder: Path,
    *,
    workers: int | None = None,
    dask: str | None = None,
    announce: Callable[[Load], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Load:
    """Compute what is missing of a study.

    Parameters
    ----------
    path : Path
        The study file.
    folder : Path
        Where results are, and are put; made if it is not there.
    workers : int, optional
        Threads; by default as many as the process may use.
    dask : str, optional
        A Dask cluster in place of threads: the address of its scheduler, or ``local:2`` for two processes.
    announce : callable, optional
        Called once with the load, before anything is computed.
    progress : callable, optional
        Called as ``progress(done, total)`` with numbers of runs, those that were there among them.

    Returns
    -------
    Load
        As it was at the start.

    Raises
    ------
    InvalidValueError, ResultFileError
        The file is not right, or results cannot be written; what is in the folder stays.
    """
    threads = check_workers(workers)
    study, source, load = plan_study(path, folder)
    kept = StudyFolder(make_folder(folder))
    if announce is not None:
        announce(load)
    copied = kept.keep_study(path, source.text)
    kept.write_text(MANIFEST, json.dumps(_manifest(study, load) | {"copy": copied}, indent=1))
    total = load.runs
    done = total - sum(piece.runs for piece in load.missing)
    if progress is not None:
        progress(done, total)
    todo = (piece for piece in load.missing if not kept.has(piece.key))  # another process may have been there
    if dask is None:
        compile_ahead(_players(load.missing), threads)
        finished = on_threads(todo, threads)
    else:
        from brigand.studies.cluster import on_dask

        finished = on_dask(todo, dask)
    for piece, content in finished:
        kept.put(piece.key, content)
        done += piece.runs
        if progress is not None:
            progress(done, total)
    return load


def _players(pieces: Iterable[Piece]) -> Iterator[tuple[Environment, Policy]]:
    """Yield the policies that are stepped, each with an environment in which it plays."""
    tasks = {
        json.dumps(piece.task["policy"]): piece.task for piece in pieces if piece.task["method"] == "step"
    }
    for task in tasks.values():
        yield environment_of(task, task["horizon"], 0), Policy.from_json(task["policy"])


def on_threads(todo: Iterator[Piece], threads: int) -> Iterator[tuple[Piece, bytes]]:
    """Yield pieces as they are done, a few ahead of what is taken; an error or a stop ends all."""
    running: dict[Future[bytes], Piece] = {}
    pool = ThreadPoolExecutor(threads)
    try:
        for piece in todo:
            running[pool.submit(work, piece.task, piece.key)] = piece
            while len(running) >= 2 * threads:
                yield from _done(running)
        while running:
            yield from _done(running)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _done(running: dict[Future[bytes], Piece]) -> Iterator[tuple[Piece, bytes]]:
    for future in wait(running, return_when=FIRST_COMPLETED).done:
        yield running.pop(future), future.result()


def _manifest(study: Study, load: Load) -> dict[str, Any]:
    """Return all that is needed to read the results, without the study file."""
    file = study.file
    return {
        "format": FORMAT,
        "version": importlib.metadata.version("brigand"),
        "versions": {"python": platform.python_version()}
        | {name: importlib.metadata.version(name) for name in ("numpy", "numba", "scipy")},
        "name": file.name,
        "description": file.description,
        "seed": file.seed,
        "replications": file.replications,
        "method": file.method,
        "metrics": list(file.metrics),
        "baseline": file.baseline,
        "figures": file.figures,
        "problems": [
            {
                "name": problem.name,
                "label": problem.label,
                "horizon": problem.horizon,
                "instances": problem.instances,
                "recipe": problem.recipe,
                "swept": problem.swept,
                "checkpoints": list(study.checkpoints(problem.horizon)),
                "arms": problem.first.n_arms,
            }
            for problem in study.problems
        ],
        "policies": [
            {
                "name": named.name,
                "label": named.label,
                "policy": named.policy.to_json(),
                "swept": named.swept,
            }
            for named in study.policies
        ],
        "cells": load.cells,
        "configuration": hashlib.sha256(
            json.dumps([piece.task for piece in load.pieces], sort_keys=True).encode()
        ).hexdigest(),
    }
