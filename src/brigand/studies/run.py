"""Running a study: what is missing, on threads or on a cluster."""

from __future__ import annotations

import importlib.metadata
import json
import math
import platform
import sys
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from brigand.environments.world import World
from brigand.errors import InvalidValueError, ResultFileError
from brigand.files import make_folder
from brigand.policies.base import Policy
from brigand.simulation.ahead import compile_ahead
from brigand.simulation.plan import check_workers
from brigand.studies.expand import Study, environment_of, expand
from brigand.studies.folder import MANIFEST, MANY, StudyFolder
from brigand.studies.kept import NOTHING, DamagedBlockError, digest
from brigand.studies.manifest import configuration
from brigand.studies.packs import Stretch
from brigand.studies.read import Source, read_study
from brigand.studies.results import StudyResults
from brigand.studies.running import Running
from brigand.studies.work import FORMAT, Block, Piece, cell_of, work


@dataclass(frozen=True)
class Load:
    """How much work a study is.

    Attributes
    ----------
    cells : list of dict
        For each problem and policy: their names, and how its blocks are found.
    blocks, runs : int
        Of all.
    steps : float
        Of all runs, as if each was stepped.
    missing : list of Piece
        What is not in the folder.
    unused : int
        Blocks in the folder that belong to an earlier version of the study, or of the code.
    damaged : list of Stretch
        What is not as it was written; blocks that were there are missing.
    """

    cells: list[dict[str, Any]]
    blocks: int
    runs: int
    steps: float
    missing: list[Piece]
    unused: int
    damaged: list[Stretch]


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
    where = None if folder is None else StudyFolder(folder)
    there: set[str] = set()
    if where is not None:
        where.require_own(path, file.name)
        there = set(where.keys())
    cells, missing = [], list[Piece]()
    wanted: set[str] = set()
    blocks, runs, steps = 0, 0, 0.0
    for problem in study.problems:
        for named in study.policies:
            if not named.plays(problem):
                continue
            cell, task = cell_of(study, problem, named)
            task |= {"checkpoints": list(study.checkpoints(problem.horizon)), "size": list(cell.size)}
            task |= {"pulls": "pulls" in file.metrics}
            for block in cell:
                wanted.add(block.key)
                found = where if block.key in there else None
                try:
                    piece = _lacking(block, task, found)
                except DamagedBlockError:
                    piece = _lacking(block, task, None)
                if piece is not None:
                    missing.append(piece)
            blocks += len(cell)
            runs += math.prod(cell.shape)
            steps += math.prod(cell.shape) * float(problem.horizon)
            cells.append(
                {
                    "problem": problem.name,
                    "policy": named.name,
                    "method": task["method"],
                    "key": cell.key,
                    "size": list(cell.size),
                }
            )
    damaged = [] if where is None else where.damage
    return study, source, Load(cells, blocks, runs, steps, missing, len(there - wanted), damaged)


def _lacking(block: Block, task: dict[str, Any], where: StudyFolder | None) -> Piece | None:
    """Return what is to be computed of a block; None if all that is wanted of it is there."""
    task = task | {"place": list(block.place)}
    kept = NOTHING if where is None else where.check(block.key)
    if where is not None:
        steps = task["checkpoints"]
        if kept.steps != digest(steps):
            steps = where.get(block.key, ("steps",))[1]["steps"].tolist()
        if kept.pulls < task["pulls"] or not set(steps) >= set(task["checkpoints"]):
            # All again, and with what is there already, so that who wanted that finds it, too.
            steps = sorted({*steps, *task["checkpoints"]})
            task["pulls"] |= kept.pulls
            kept = NOTHING
        else:
            task["pulls"] = kept.pulls
        task["checkpoints"] = steps
    parts = kept.lacks(block)
    return Piece(task | {"parts": list(map(list, parts))}, block.key) if parts else None


def run_study(
    path: Path,
    folder: Path,
    *,
    workers: int | None = None,
    dask: str | None = None,
    patience: float | None = None,
    shard: tuple[int, int] | None = None,
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
    patience : float, optional
        Seconds that the cluster may be without any worker; by default a minute.
    shard : (int, int), optional
        ``(k, n)``: only the k-th of n parts, 1 <= k <= n, so that n machines do all, each in a folder of its
        own (`brigand.studies.merge`).
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
    if shard is not None:
        load = _part(load, *shard)
    kept = StudyFolder(make_folder(folder))
    kept.leave_out(load.damaged)
    if announce is not None:
        announce(load)
    with (
        Running(folder) as running,
        closing(_compute(study, source, load, kept, threads, dask, patience, shard is None)) as steps,
    ):
        kept.fold(many=MANY)
        for done in steps:
            running.progress(done, load.runs)
            if progress is not None:
                progress(done, load.runs)
        kept.fold()
    return load


def _compute(
    study: Study,
    source: Source,
    load: Load,
    kept: StudyFolder,
    threads: int,
    dask: str | None,
    patience: float | None,
    whole: bool,
) -> Generator[int, None, None]:
    """Compute what is missing, and yield how many runs are there: before the first piece, and after each."""
    manifest = _manifest(study, load)
    late = bool(load.missing) and whole and _hides(kept, manifest)
    if not load.missing:
        _keep(kept, source, manifest)
    done = load.runs - sum(piece.runs for piece in load.missing)
    yield done
    todo = (piece for piece in load.missing if kept.lacks(piece))  # another process may have been there
    if dask is None:
        compile_ahead(_players(load.missing), threads)
        finished = on_threads(todo, threads)
    else:
        from brigand.studies.cluster import PATIENCE, on_dask

        finished = on_dask(todo, dask, PATIENCE if patience is None else patience)
    is_first = True
    for piece, content in finished:
        kept.put(piece.key, piece.task, content)
        if is_first and not late:
            _keep(kept, source, manifest)
        is_first = False
        done += piece.runs
        yield done
    if load.missing and (late or is_first):
        _keep(kept, source, manifest)


def _part(load: Load, k: int, n: int) -> Load:
    """Return one of n parts of what is missing; it has about as many pieces as the others."""
    if not 1 <= k <= n:
        raise InvalidValueError(f"shard must be K/N with 1 <= K <= N, not {k}/{n}.")
    missing = [piece for piece in load.missing if int(piece.key[:8], 16) % n == k - 1]
    others = sum(piece.runs for piece in load.missing) - sum(piece.runs for piece in missing)
    return replace(load, missing=missing, runs=load.runs - others)


def _players(pieces: Iterable[Piece]) -> Iterator[tuple[World, Policy]]:
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
    done = wait(running, return_when=FIRST_COMPLETED).done
    for future in [future for future in running if future in done]:  # in the order of the study
        yield running.pop(future), future.result()


def _hides(kept: StudyFolder, manifest: dict[str, Any]) -> bool:
    """Return whether under a new manifest something that is complete could not be read until all is done."""
    try:
        old = StudyResults(kept.folder)
    except ResultFileError:
        return False
    return bool(_complete(old.manifest, old.incomplete) - _complete(manifest, ()))


def _complete(manifest: dict[str, Any], incomplete: Collection[tuple[str, str]]) -> set[str]:
    """Return descriptions of the runs that a manifest wants, but for those that are not complete."""
    shared = [manifest["replications"], manifest["metrics"]]
    problems = {entry["name"]: [entry["instances"], entry["checkpoints"]] for entry in manifest["problems"]}
    return {
        json.dumps([cell, shared, problems[cell["problem"]]], sort_keys=True)
        for cell in manifest["cells"]
        if (cell["problem"], cell["policy"]) not in incomplete
    }


def _keep(kept: StudyFolder, source: Source, manifest: dict[str, Any]) -> None:
    """Make the folder that of this study."""
    copied = kept.keep_study(source.path, source.text)
    kept.write_text(MANIFEST, json.dumps(manifest | {"copy": copied}, indent=1))


def _manifest(study: Study, load: Load) -> dict[str, Any]:
    """Return all that is needed to read the results, without the study file."""
    file = study.file
    found = {
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
    }
    return found | {"configuration": configuration(found)}
