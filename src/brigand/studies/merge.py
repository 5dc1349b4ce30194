"""Putting parts of a study together that were computed in several folders."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from brigand.errors import InvalidValueError
from brigand.files import make_folder
from brigand.studies.folder import MANIFEST, STUDY, StudyFolder
from brigand.studies.kept import DamagedBlockError
from brigand.studies.packs import Stretch
from brigand.studies.results import StudyResults
from brigand.studies.work import Block

DEFINITION = ("name", "seed", "replications", "method", "metrics", "problems", "policies")
"""Keys of a manifest in which the parts of one study agree."""


class Merged(NamedTuple):
    """What was put together.

    Attributes
    ----------
    pieces : int
        How many are there now, as the study wants them.
    missing : int
        How many are not.
    damaged : list of Stretch
        What was not as it was written.
    """

    pieces: int
    missing: int
    damaged: list[Stretch]


def merge(folders: Sequence[Path], out: Path) -> Merged:
    """Copy what several folders have of one study into another folder.

    Parameters
    ----------
    folders : sequence of Path
        What ``brigand run`` filled, with the same study and the same code.
    out : Path
        May be there, if it holds the same study.

    Raises
    ------
    InvalidValueError
        The folders hold different studies, or were computed by different code.
    ResultFileError
        A folder holds no study, or `out` cannot be written.
    """
    if not folders:
        raise InvalidValueError("merge needs a folder at least.")
    if (out / MANIFEST).exists() and out.resolve() not in [folder.resolve() for folder in folders]:
        folders = [out, *folders]
    parts = [StudyResults(folder) for folder in folders]
    for other in parts[1:]:
        _require_same(parts[0], other)
    target = StudyFolder(make_folder(out))
    sources = [StudyFolder(part.folder) for part in parts if part.folder.resolve() != out.resolve()]
    for block, _ in parts[0].wanted():
        _copy(block, sources, target)
    target.fold()
    if not (out / MANIFEST).exists():
        study = parts[0].folder / STUDY
        copied = target.keep_study(study, study.read_text(encoding="utf-8")) if study.exists() else ""
        target.write_text(MANIFEST, json.dumps(parts[0].manifest | {"copy": copied}, indent=1))
    done = StudyResults(out)
    total = sum(1 for _ in done.wanted())
    return Merged(total - done.missing, done.missing, [one for source in sources for one in source.damage])


def _require_same(one: StudyResults, other: StudyResults) -> None:
    for key in DEFINITION:
        if one.manifest.get(key) != other.manifest.get(key):
            raise InvalidValueError(
                f"{str(one.folder)!r} and {str(other.folder)!r} hold different studies: they differ in {key}."
            )
    if one.manifest["cells"] != other.manifest["cells"]:
        raise InvalidValueError(
            f"{str(one.folder)!r} and {str(other.folder)!r} hold the same study, but it was computed by "
            "different code: by another version of Brigand, or of a policy's module."
        )


def _copy(block: Block, sources: Sequence[StudyFolder], target: StudyFolder) -> None:
    """Copy what there is of a block, and not in the target."""
    for source in sources:
        there = target.kept(block.key)
        if there is not None and not there.lacks(block):
            break
        if source.kept(block.key) is None:
            continue
        with suppress(DamagedBlockError):
            target.join(block.key, *source.whole(block.key))
