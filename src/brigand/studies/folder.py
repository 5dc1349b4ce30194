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

import json
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
            temporary.write_text(text, encoding="utf-8")

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
