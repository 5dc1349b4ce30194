"""The files that hold the blocks of a study: at most 16 packs, and logs of what was added since.

::

    pieces/a-HASH.pack     the blocks of which the key begins with a, in order; HASH is of their first lines
    pieces/a-TOKEN.log     blocks in the order in which a process computed them
    pieces/a-TOKEN.part    a log that nobody adds to any more
    pieces/ab/KEY.block    a block alone, as earlier versions of Brigand kept it

All of them are blocks (`brigand.studies.kept`), one after the other. When a run ends, `Packs.fold` puts them
into packs; so what is there at last depends on the blocks alone, not on who computed them, when, and how
often he was killed.

No file is locked, and none is ever changed but a log, to which one process adds. Who folds reads some files,
writes one that has all that is in them, and removes them after that: so at any moment each block is in some
file, whoever is killed or folds, too. Before he reads a log he gives it another name; the process that adds
to it looks after each block whether it still has its name, and if not, adds the block to a new log.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import time
import zlib
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from brigand.errors import ResultFileError
from brigand.files import atomic, make_folder
from brigand.studies import kept
from brigand.studies.kept import LONGEST, DamagedBlockError, Kept

DIGITS = "0123456789abcdef"
BEGIN = re.compile(rb'[0-9a-f]{8} \{"brigand": "block"')
CHUNK = 1 << 20
AGAIN = 20
"""So often a block is looked for again that somebody has folded meanwhile, even during the look."""
PAUSE = 0.005
"""Seconds before the second time, and so much more before each that follows."""


class Place(NamedTuple):
    """Where a block is, and what its first line says.

    Attributes
    ----------
    path : Path
    start, line : int
        Where it begins, and how many bytes its first line has.
    sum : int
        The CRC-32 of this line.
    kept : Kept
    """

    path: Path
    start: int
    line: int
    sum: int
    kept: Kept

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.line + self.kept.size


class Stretch(NamedTuple):
    """Bytes of a file that are no block, as it was written."""

    path: Path
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.path}, bytes {self.start:,} to {self.end:,}"


class GoneError(Exception):
    """A file is not there any more: somebody has folded it."""


class Packs:
    """The blocks of a study.

    Parameters
    ----------
    folder : Path
        ``DIR/pieces``; need not be there.

    Raises
    ------
    ResultFileError
        A file cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read: dict[Path, int] = {}  # how far
        self._places: dict[str, list[Place]] = {}
        self._damage: dict[tuple[Path, int], Stretch] = {}
        self._logs: dict[str, Path] = {}
        self.look()

    def look(self) -> None:
        """Find out what is there now: others may add to it.

        Raises
        ------
        ResultFileError
            A file cannot be read.
        """
        there = dict(_files(self.folder))
        if gone := self._read.keys() - there.keys():
            self._forget(gone, self._places)
        for path, size in there.items():
            if path not in self._read or (path.suffix == ".log" and size > self._read[path]):
                self._scan(path)

    def _forget(self, gone: Collection[Path], keys: Collection[str]) -> None:
        for path in gone:
            del self._read[path]
        self._damage = {at: stretch for at, stretch in self._damage.items() if stretch.path not in gone}
        for key in list(keys):
            left = [place for place in self._places.pop(key, []) if place.path not in gone]
            if left:
                self._places[key] = left

    def _scan(self, path: Path) -> None:
        """Read the first lines of the blocks in a file, from where it was read the last time."""
        try:
            with path.open("rb") as file:
                self._read_lines(file, path)
        except FileNotFoundError:
            if path in self._read:
                self._forget([path], self._places)
        except OSError as error:
            raise ResultFileError(f"{str(path)!r} cannot be read: {error.strerror}.") from error

    def _read_lines(self, file: BinaryIO, path: Path) -> None:
        end, named, is_right = file.seek(0, os.SEEK_END), hashlib.sha256(), True
        position = self._read.setdefault(path, 0)
        while position < end:
            file.seek(position)
            line = file.readline(LONGEST)
            key, what = kept.parsed(line) or ("", kept.NOTHING)
            place = Place(path, position, len(line), zlib.crc32(line), what)
            if _belongs(path, key) and position + place.size <= end:
                self._places.setdefault(key, []).append(place)
                named.update(line)
                position += place.size
            else:
                after = _next(file, position + 1, end)
                if after == end and path.suffix in (".log", ".part"):
                    return  # it is being written, or who wrote it was killed
                is_right = False
                self._damaged(path, position, after)
                position = after
            self._read[path] = position
        if (path.suffix == ".block" and end == 0) or (
            path.suffix == ".pack" and is_right and path != self._pack(path.name[0], named.hexdigest())
        ):
            self._damaged(path, end, end)  # it is cut off between two blocks

    def _pack(self, digit: str, named: str) -> Path:
        """Return where the pack of a digit is, whose first lines have some hash."""
        return self.folder / f"{digit}-{named[:16]}.pack"

    def _damaged(self, path: Path, start: int, end: int) -> None:
        self._damage[path, start] = Stretch(path, start, end)

    @property
    def damage(self) -> list[Stretch]:
        """What was found so far that is no block, as it was written."""
        return sorted(self._damage.values())

    def leave_out(self, damage: Collection[Stretch]) -> None:
        """Take it from another that some bytes are damaged."""
        starts = {(path, start) for path, start, _ in damage}
        self._damage |= {(one.path, one.start): one for one in damage if one.path in self._read}
        for key, places in list(self._places.items()):
            if left := [place for place in places if (place.path, place.start) not in starts]:
                self._places[key] = left
            else:
                del self._places[key]

    @property
    def loose(self) -> int:
        """How many files are there that are no packs."""
        return sum(path.suffix != ".pack" for path in self._read)

    def keys(self) -> Collection[str]:
        """Return the keys of all blocks."""
        return self._places.keys()

    def kept(self, key: str) -> Kept | None:
        """Return what the first line of a block says; None if it is not there."""
        places = self._ranked(key)
        return places[0].kept if places else None

    def size(self, keys: Collection[str]) -> int:
        """Return how many bytes some blocks have."""
        return sum(place.size for key in keys for place in self._places[key])

    def content(self, key: str) -> tuple[Kept, bytes, memoryview]:
        """Return what the first line of a block says, this line, and what follows it, checked.

        Raises
        ------
        DamagedBlockError
            It is not as it was written, or not there.
        ResultFileError
            A file cannot be read.
        """
        for attempt in range(AGAIN):
            places = self._ranked(key)
            try:
                for place in places:
                    found = self._content(key, place)
                    if found is not None:
                        return place.kept, *found
            except GoneError:
                places = []
            if places:
                where = self._damage[places[0].path, places[0].start]
                raise DamagedBlockError(
                    f"{where} is damaged: `brigand run`, with the same study and folder, computes it again."
                )
            time.sleep(PAUSE * attempt)
            self.look()
        raise DamagedBlockError(f"the piece {key} is not in {str(self.folder)!r}: run the study again.")

    def _ranked(self, key: str) -> list[Place]:
        """Return where a block is, what has most first: a log may have more of it than a pack."""
        places = self._places.get(key, [])
        if len(places) < 2:
            return places[:]
        return sorted(places, key=lambda place: place.kept.worth, reverse=True)

    def _content(self, key: str, place: Place) -> tuple[bytes, memoryview] | None:
        """Return a block's first line and what follows it; None, and a note of it, if it is damaged.

        Raises
        ------
        GoneError
            The file is not there any more.
        """
        try:
            with open(place.path, "rb", buffering=0) as file:
                file.seek(place.start)
                content = memoryview(file.read(place.size))
        except FileNotFoundError:
            raise GoneError from None
        except OSError as error:
            raise ResultFileError(f"{str(place.path)!r} cannot be read: {error.strerror}.") from error
        line, payload = bytes(content[: place.line]), content[place.line :]
        if zlib.crc32(line) == place.sum and kept.is_whole(place.kept, payload):
            return line, payload
        self._damaged(place.path, place.start, place.start + place.size)
        self._places[key].remove(place)
        if not self._places[key]:
            del self._places[key]
        return None

    def add(self, key: str, content: bytes) -> None:
        """Add a block, or more of it.

        Raises
        ------
        ResultFileError
            It cannot be written; what was there stays.
        """
        if not self.folder.is_dir():
            make_folder(self.folder)
        found = kept.parsed(content[: content.index(b"\n") + 1])
        assert found is not None
        try:
            start = None
            while start is None:
                is_new = key[0] not in self._logs
                path = self._logs.setdefault(key[0], self.folder / f"{key[0]}-{secrets.token_hex(8)}.log")
                start = _append(path, content, is_new)
                if start is None:  # somebody took it
                    del self._logs[key[0]]
        except OSError as error:
            del self._logs[key[0]]
            raise ResultFileError(f"{str(path)!r} cannot be written: {error.strerror or error}.") from error
        line = content[: len(content) - found[1].size]
        place = Place(path, start, len(line), zlib.crc32(line), found[1])
        self._places.setdefault(key, []).append(place)
        self._read[path] = start + len(content)

    def fold(self, aside: Path, drop: Collection[str] = ()) -> None:
        """Put all blocks into packs, whoever wrote them.

        Parameters
        ----------
        aside : Path
            A folder for what is damaged.
        drop : collection of str
            Keys of blocks that are left out.

        Raises
        ------
        ResultFileError
            Something cannot be written; what was there stays.
        """
        try:
            for log in list(self.folder.glob("[0-9a-f]-*.log")):
                with suppress(FileNotFoundError):
                    log.replace(log.with_suffix(".part"))
            self.look()
            for digit in DIGITS:
                while self._fold(digit, aside, drop):
                    self.look()
        except OSError as error:
            if isinstance(error, ResultFileError):
                raise
            raise ResultFileError(f"{error.filename!r} cannot be written: {error.strerror}.") from error

    def _fold(self, digit: str, aside: Path, drop: Collection[str]) -> bool:
        """Make one pack of the files of a digit; return whether there was something to do."""
        files = {path for path in self._read if path.name[0] == digit and path.suffix != ".log"}
        keys = sorted(
            key
            for key, places in self._places.items()
            if key[0] == digit and any(place.path in files for place in places)
        )
        dropped = any(key in drop for key in keys)
        damaged = any(stretch.path in files for stretch in self._damage.values())
        if not dropped and not damaged and (not files or [path.suffix for path in files] == [".pack"]):
            return False
        part, named = self.folder / f"{digit}-{secrets.token_hex(8)}.part", hashlib.sha256()
        written: list[tuple[str, int, Place]] = []
        try:
            with atomic(part) as temporary, temporary.open("wb") as file:
                for key in keys:
                    for place in self._ranked(key) if key not in drop else []:
                        if place.path in files and (found := self._content(key, place)):
                            line, payload = found
                            named.update(line)
                            written.append((key, file.tell(), place))
                            file.write(line)
                            file.write(payload)
                            break
            self._put_aside([stretch for stretch in self._damage.values() if stretch.path in files], aside)
            pack = self._pack(digit, named.hexdigest())
            part.replace(pack)
        except (FileNotFoundError, GoneError):  # somebody else folds
            return True
        if not written:
            pack.unlink(missing_ok=True)
        for path in files:
            if path != pack:
                path.unlink(missing_ok=True)
                if path.suffix == ".block":
                    with suppress(OSError):
                        path.parent.rmdir()
        self._forget(files & self._read.keys(), keys)
        self._read[pack] = sum(place.size for _, _, place in written)
        for key, start, place in written:
            self._places.setdefault(key, []).append(place._replace(path=pack, start=start))
        return True

    def _put_aside(self, damage: Collection[Stretch], aside: Path) -> None:
        for path, start, end in damage:
            with path.open("rb") as file:
                file.seek(start)
                content = file.read(end - start)
            with atomic(make_folder(aside) / f"{path.name}-{start}", durable=False) as temporary:
                temporary.write_bytes(content)


def left_over(folder: Path) -> Iterator[Path]:
    """Yield the files of ``DIR/pieces`` that kills left, and those of versions with another format."""
    known = {path for path, _ in _files(folder)}
    yield from (path for path in folder.rglob("*") if path not in known and not path.is_dir())


def _files(folder: Path) -> Iterator[tuple[Path, int]]:
    """Yield the files that hold blocks, and their sizes."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                path = Path(entry.path)
                if entry.is_dir():
                    yield from ((block, 0) for block in path.glob("*.block") if block.name[0] != ".")
                elif path.suffix in (".pack", ".part", ".log") and entry.name[0] in DIGITS:
                    with suppress(FileNotFoundError):
                        yield path, entry.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise ResultFileError(f"{str(folder)!r} cannot be read: {error.strerror}.") from error


def _belongs(path: Path, key: str) -> bool:
    """Return whether a block of this key may be in a file."""
    return path.stem == key if path.suffix == ".block" else path.name[0] == key[:1]


def _next(file: BinaryIO, start: int, end: int) -> int:
    """Return where, from a place on, a block begins that has the checksum of its first line; else the end."""
    while start < end:
        file.seek(start)
        chunk = file.read(CHUNK)
        for found in BEGIN.finditer(chunk):
            file.seek(start + found.start())
            if kept.parsed(file.readline(LONGEST)) is not None:
                return start + found.start()
        start += max(1, len(chunk) - 64)  # a beginning may stand across the end of a chunk
    return end


def _append(path: Path, content: bytes, is_new: bool) -> int | None:
    """Add to a log, and return where; None if it had another name before all was there."""
    try:
        number = os.open(path, os.O_WRONLY | os.O_APPEND | (os.O_CREAT | os.O_EXCL if is_new else 0), 0o666)
    except FileNotFoundError:
        if is_new:
            raise
        return None
    try:
        start = os.fstat(number).st_size
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(number, rest) :]
        except OSError:
            os.ftruncate(number, start)
            if not start:
                path.unlink(missing_ok=True)
            raise
        try:
            named = path.stat()
        except FileNotFoundError:
            return None
        return start if os.path.samestat(named, os.fstat(number)) else None
    finally:
        os.close(number)
