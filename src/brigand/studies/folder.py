"""Where a study's results are kept: one file for each piece of work, named by its key.

::

    DIR/study.yaml           the file as it was last run
    DIR/manifest.json        the pieces of that study, by problem and policy
    DIR/pieces/ab/KEY.npz    the numbers of one piece

Every file is written whole or not at all, and a piece's name says what is in it. So a killed process loses
what it had in work and no more, two processes in one folder write the same files, and pieces that another
version of the study has in common with this one are found again.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from brigand.errors import ResultFileError
from brigand.files import atomic, make_folder
from brigand.studies.work import Arrays, unpack

MANIFEST = "manifest.json"
STUDY = "study.yaml"


class StudyFolder:
    """A study's folder.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, key: str) -> Path:
        """Return where a piece is, or would be."""
        return self.folder / "pieces" / key[:2] / f"{key}.npz"

    def has(self, key: str) -> bool:
        """Return whether a piece is there."""
        return self.path(key).is_file()

    def keys(self) -> Iterator[str]:
        """Yield the keys of all pieces that are there, of whatever version of the study."""
        for path in (self.folder / "pieces").glob("??/*.npz"):
            if not path.name.startswith("."):
                yield path.stem

    def put(self, key: str, content: bytes) -> None:
        """Write a piece.

        Raises
        ------
        ResultFileError
            It cannot be written; nothing is left behind.
        """
        path = self.path(key)
        if not path.parent.is_dir():
            make_folder(path.parent)
        with atomic(path) as temporary:
            temporary.write_bytes(content)

    def get(self, key: str, names: Sequence[str] | None = None) -> Arrays:
        """Read a piece: all of its arrays, or those of some names that it has.

        Raises
        ------
        ResultFileError
            It is not there, or damaged.
        """
        path = self.path(key)
        try:
            with path.open("rb") as file:
                return unpack(file, names)
        except FileNotFoundError:
            raise ResultFileError(f"there is no file {str(path)!r}: run the study again.") from None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise ResultFileError(
                f"{str(path)!r} is damaged ({error}): delete it and run the study again."
            ) from error

    def write_text(self, name: str, text: str) -> None:
        """Write a text file of the folder."""
        with atomic(self.folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")

    def keep_study(self, path: Path, text: str) -> str:
        """Keep a copy of the study file, and return its digest; "" if the file itself stands there."""
        if _same(path, self.folder / STUDY):
            return ""
        self.write_text(STUDY, text)
        return digest(text.encode())

    def require_own(self, path: Path) -> None:
        """Make sure that no file is replaced but those that a study left here.

        Parameters
        ----------
        path : Path
            The study file, which may stand in the folder itself.

        Raises
        ------
        ResultFileError
            A file that is not ours has one of our names.
        """
        copy, manifest = self.folder / STUDY, self.folder / MANIFEST
        ours = self._kept_digest()
        if os.path.lexists(manifest) and ours is None and not self._is_damaged():
            raise _in_the_way(manifest)
        if not os.path.lexists(copy) or _same(path, copy):
            return
        found = b"" if copy.is_symlink() else _content(copy)
        if found != _content(path) and (ours is None or digest(found) != ours or copy.is_symlink()):
            raise _in_the_way(copy)

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
            return (self.folder / "pieces").is_dir() or not _content(self.folder / MANIFEST).strip()
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
        except (OSError, ValueError) as error:
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
