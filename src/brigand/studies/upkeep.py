"""Keeping a study's folder in order: what is damaged, and what is of no use any more."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from brigand.errors import ResultFileError
from brigand.studies.folder import STUDY, StudyFolder
from brigand.studies.kept import DamagedBlockError
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
        How many are not there, or not all of them.
    damaged : list of str
        Keys of those that are not as they were written.
    """

    pieces: int
    missing: int
    damaged: list[str]


def verify(folder: Path) -> Verified:
    """Read all that a study wants, and check it.

    Raises
    ------
    ResultFileError
        The folder holds no study.
    """
    results, kept = StudyResults(folder), StudyFolder(folder)
    total, missing, damaged = 0, 0, []
    for block, lacks in results.wanted():
        total += 1
        if not kept.path(block.key).exists():
            missing += 1
            continue
        try:
            kept.check(block.key)
            missing += lacks
        except DamagedBlockError:
            damaged.append(block.key)
    return Verified(total, missing, damaged)


def repair(folder: Path, progress: Callable[[int, int], None] | None = None) -> Load:
    """Compute what is damaged or missing, from the study file in the folder.

    Raises
    ------
    ResultFileError
        The folder holds no study, or cannot be written.
    """
    StudyResults(folder)
    return run_study(folder / STUDY, folder, progress=progress)


def unused(folder: Path) -> list[Path]:
    """Return the files that the study in a folder does not want.

    These are blocks of earlier versions of it, or of the code; what was put aside; what kills left; notes of
    runs that are over.

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
    found = [kept.path(key) for key in set(kept.keys()) - wanted]
    found += kept.left_over()
    found += (folder / "damaged").glob("*.block")
    found += [note.path for note in notes(folder)]
    return sorted(found)


def remove(folder: Path, files: Iterable[Path]) -> None:
    """Remove files, and the folders in which nothing is left.

    Raises
    ------
    ResultFileError
        One of them cannot be removed.
    """
    try:
        for path in files:
            path.unlink(missing_ok=True)
            if path.parent != folder and not any(path.parent.iterdir()):
                path.parent.rmdir()
    except OSError as error:
        raise ResultFileError(f"{error.filename!r} cannot be removed: {error.strerror}.") from error
