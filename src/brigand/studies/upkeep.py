"""Keeping a study's folder in order: what is damaged, and what is of no use any more."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from brigand.errors import ResultFileError
from brigand.studies.folder import STUDY, StudyFolder
from brigand.studies.kept import DamagedBlockError
from brigand.studies.packs import Stretch
from brigand.studies.results import StudyResults
from brigand.studies.run import Load, run_study
from brigand.studies.running import notes


class Verified(NamedTuple):
    """What was found.

    Attributes
    ----------
    pieces : int
        How many the study wants.
    missing : int
        How many are not there as they were written, or not all of them.
    damaged : list of Stretch
        What is in their place, or elsewhere in the files.
    """

    pieces: int
    missing: int
    damaged: list[Stretch]


def verify(folder: Path) -> Verified:
    """Read all that a study wants, and check it.

    Raises
    ------
    ResultFileError
        The folder holds no study.
    """
    results, kept = StudyResults(folder), StudyFolder(folder)
    total, missing = 0, 0
    for block, lacks in results.wanted():
        total += 1
        there = None
        if kept.kept(block.key) is not None:
            with suppress(DamagedBlockError):
                there = kept.check(block.key)
        missing += lacks or there is None or bool(there.lacks(block))
    return Verified(total, missing, kept.damage)


def repair(folder: Path, progress: Callable[[int, int], None] | None = None) -> Load:
    """Compute what is damaged or missing, from the study file in the folder.

    Raises
    ------
    ResultFileError
        The folder holds no study, or cannot be written.
    """
    StudyResults(folder)
    return run_study(folder / STUDY, folder, progress=progress)


class Unused(NamedTuple):
    """What the study in a folder does not want.

    Attributes
    ----------
    pieces : set of str
        Keys of those of earlier versions of it, or of the code.
    files : list of Path
        What was put aside, what kills left, and notes of runs that are over.
    size : int
        Bytes of all that.
    """

    pieces: set[str]
    files: list[Path]
    size: int


def unused(folder: Path) -> Unused:
    """Return what the study in a folder does not want.

    Raises
    ------
    ResultFileError
        The folder holds no study, or somebody is computing it.
    """
    kept = StudyFolder(folder)
    wanted = {block.key for block, _ in StudyResults(folder).wanted()}
    at_work = [note for note in notes(folder) if note.alive]
    if at_work:
        raise ResultFileError(
            f"{str(folder)!r} is in use by process {at_work[0].pid} on {at_work[0].host}: wait for its end."
        )
    pieces = set(kept.keys()) - wanted
    files = sorted([*kept.left_over(), *(note.path for note in notes(folder))])
    return Unused(pieces, files, kept.size(pieces) + sum(path.stat().st_size for path in files))


def remove(folder: Path, what: Unused) -> None:
    """Remove it, and the folders in which nothing is left.

    Raises
    ------
    ResultFileError
        Something cannot be removed.
    """
    StudyFolder(folder).fold(what.pieces)
    try:
        for path in what.files:
            path.unlink(missing_ok=True)
            if path.parent != folder and not any(path.parent.iterdir()):
                path.parent.rmdir()
    except OSError as error:
        raise ResultFileError(f"{error.filename!r} cannot be removed: {error.strerror}.") from error
