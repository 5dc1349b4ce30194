"""Where a study's results are kept.

::

    DIR/study.yaml       the file as it was last run
    DIR/manifest.json    what that study wants: problems, policies, how many runs of each
    DIR/pieces/          the numbers, in blocks, each under a key (`brigand.studies.packs`)
    DIR/damaged/         what was found damaged there, and was computed again

Every block and every file is written whole or not at all, and a block's key says what is in it. So a killed
process loses what it had in work and no more, two processes in one folder write the same blocks, and runs
that another version of the study has in common with this one are found again.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from brigand.errors import ResultFileError
from brigand.files import atomic
from brigand.studies import kept
from brigand.studies.kept import DamagedBlockError, Kept
from brigand.studies.packs import Packs, Stretch, left_over
from brigand.studies.work import Arrays, Piece, unpack

MANIFEST = "manifest.json"
STUDY = "study.yaml"
PIECES = "pieces"
DAMAGED = "damaged"
OFTEN = 1.0
"""Seconds after which it is looked again what other processes have written, at least."""
MANY = 100
"""More logs than this, which kills left, are folded before a run begins."""


class StudyFolder:
    """A study's folder.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._looked = time.monotonic()

    @cached_property
    def _packs(self) -> Packs:
        return Packs(self.folder / PIECES)

    def keys(self) -> Collection[str]:
        """Return the keys of all blocks that are there, of whatever version of the study."""
        return self._packs.keys()

    def size(self, keys: Collection[str]) -> int:
        """Return how many bytes some blocks have."""
        return self._packs.size(keys)

    @property
    def damage(self) -> list[Stretch]:
        """What was found so far that is not as it was written."""
        return self._packs.damage

    def leave_out(self, damage: Collection[Stretch]) -> None:
        """Take it from another that some bytes are damaged."""
        self._packs.leave_out(damage)

    def left_over(self) -> Iterator[Path]:
        """Yield the files that kills left, and those of versions of Brigand with another format."""
        yield from left_over(self.folder / PIECES)
        yield from (self.folder / DAMAGED).glob("*")

    def kept(self, key: str) -> Kept | None:
        """Return what there is of a block, as far as its first line tells; None if there is nothing."""
        return self._packs.kept(key)

    def check(self, key: str) -> Kept:
        """Read a whole block, and return what there is of it.

        Raises
        ------
        ResultFileError
            It is not there, or damaged.
        """
        return self._packs.content(key)[0]

    def lacks(self, piece: Piece) -> bool:
        """Return whether something of a piece of work is not there; nobody may have done it meanwhile."""
        if time.monotonic() - self._looked > OFTEN:
            self._packs.look()
            self._looked = time.monotonic()
        task = piece.task
        found = self.kept(piece.key)
        if found is None or not found.has(task):
            return True
        first, column = task["place"]
        done = dict(enumerate(found.done, first))
        return any(done.get(instance, 0) < end - column for instance, _, end in task["parts"])

    def put(self, key: str, task: dict[str, Any], content: bytes) -> None:
        """Write the runs of a piece of work, as `work` returns them, to those of its block that are there.

        Raises
        ------
        ResultFileError
            It cannot be written; what was there stays.
        """
        done = kept.done_by(task)
        if done is not None and self.kept(key) is None:  # it is a block already
            self._packs.add(key, kept.with_line(key, task, done, content))
        else:
            arrays = unpack(content)
            del arrays["steps"]
            self.join(key, task, arrays)

    def join(self, key: str, task: dict[str, Any], new: Arrays) -> None:
        """Write runs to those of their block that are there; see `put`."""
        old = None
        if self.kept(key) is not None:
            try:
                found = self.get(key)
                old = found if found[0].has(task) else None
            except DamagedBlockError:
                pass
        done, arrays = kept.joined(old, task, new)
        self._packs.add(key, kept.content_of(key, task, done, arrays))

    def get(self, key: str, names: Sequence[str] | None = None) -> tuple[Kept, Arrays]:
        """Read a block: all of its arrays, or those of some names that it has.

        Raises
        ------
        ResultFileError
            It is not there, or damaged.
        """
        found, _, payload = self._packs.content(key)
        return found, kept.unpacked(found, payload, names)

    def whole(self, key: str) -> tuple[dict[str, Any], Arrays]:
        """Read a block: the task of which it is the result, and its arrays.

        Raises
        ------
        ResultFileError
            It is not there, or damaged.
        """
        found, line, payload = self._packs.content(key)
        arrays = kept.unpacked(found, payload)
        return kept.task_of(line, found, arrays.pop("steps").tolist()), arrays

    def fold(self, drop: Collection[str] = (), *, many: int = 0) -> None:
        """Bring all blocks into few files, but for some that are dropped, and put aside what is damaged.

        Parameters
        ----------
        drop : collection of str
            Keys of blocks.
        many : int
            Do nothing as long as no more files than this stand beside the packs.

        Raises
        ------
        ResultFileError
            Something cannot be written; nothing is lost.
        """
        if not many or self._packs.loose > many:
            self._packs.fold(self.folder / DAMAGED, drop)

    def write_text(self, name: str, text: str) -> None:
        """Write a text file of the folder."""
        with atomic(self.folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")

    def keep_study(self, path: Path, text: str) -> str:
        """Keep a copy of the study file, and return its digest; "" if the file itself stands there."""
        if _same(path, self.folder / STUDY):
            ours = self._kept_digest()
            return ours if ours == digest(text.encode()) else ""  # the copy may be run, too
        self.write_text(STUDY, text)
        return digest(text.encode())

    def require_own(self, path: Path, name: str) -> None:
        """Make sure that no file is replaced but those that this study left here.

        Parameters
        ----------
        path : Path
            The study file, which may stand in the folder itself.
        name : str
            Of the study.

        Raises
        ------
        ResultFileError
            A file that is not ours has one of our names, or the folder holds a study of another name.
        """
        copy, manifest = self.folder / STUDY, self.folder / MANIFEST
        ours = self._kept_digest()
        if os.path.lexists(manifest) and ours is None and not self._is_damaged():
            raise _in_the_way(manifest)
        if _same(path, copy):
            return
        if os.path.lexists(copy):
            found = b"" if copy.is_symlink() else _content(copy)
            if found != _content(path) and (ours is None or digest(found) != ours or copy.is_symlink()):
                raise _in_the_way(copy)
        if ours is not None and (other := str(self.manifest().get("name"))) != name:
            raise ResultFileError(
                f"{str(self.folder)!r} holds the study {other!r}, and this one is called {name!r}: give "
                "another folder for its results."
            )

    def _kept_digest(self) -> str | None:
        """Return the digest of the copy that the manifest speaks of; None if there is no manifest of ours."""
        try:
            data = self.manifest()
        except ResultFileError:
            return None
        kept = data.get("copy")  # older manifests do not have it
        return digest(_content(self.folder / STUDY)) if kept is None else str(kept)

    def _is_damaged(self) -> bool:
        """Return whether a manifest that cannot be read was ours: it is empty, or pieces are beside it."""
        try:
            json.loads(_content(self.folder / MANIFEST))
        except ValueError:
            return (self.folder / PIECES).is_dir() or not _content(self.folder / MANIFEST).strip()
        return False

    def manifest(self) -> dict[str, Any]:
        """Read the manifest.

        Raises
        ------
        ResultFileError
            The folder holds no study, or the file is damaged.
        """
        path = self.folder / MANIFEST
        if not path.is_file():
            raise ResultFileError(f"{str(self.folder)!r} holds no study; `brigand run` makes one.")
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ResultFileError(f"{str(path)!r} cannot be read: {error.strerror}.") from error
        except ValueError as error:
            raise ResultFileError(f"{str(path)!r} is damaged: {error}.") from error
        if not isinstance(data, dict) or "cells" not in data:
            raise ResultFileError(f"{str(path)!r} is no manifest of a study.")
        return data


def digest(content: bytes) -> str:
    """Return a hash of a file, in whatever way its lines end."""
    return hashlib.sha256(b"\n".join(content.splitlines())).hexdigest()


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _in_the_way(path: Path) -> ResultFileError:
    return ResultFileError(
        f"{str(path)!r} is in the way, and not of `brigand run`: give another folder for the results."
    )
