"""The file of a block: a line of JSON that says what it is, and its arrays.

::

    CRC {"brigand": "block", "key": KEY, "task": ..., "done": [100, 100, 31], "steps": ..., "crc": ...}
    the arrays (`brigand.studies.work.pack`)

``done`` has for each instance how many of its replications are there, the first ones. The line also has the
length and the CRC-32 of what follows it, and begins with its own. So a file that is cut off, emptied or
changed, or that is another block's, is known as such.
"""

from __future__ import annotations

import hashlib
import io
import json
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brigand.errors import ResultFileError
from brigand.studies.work import Arrays, Block, pack, unpack

LONGEST = 1 << 20
"""Bytes that the first line may have."""


class DamagedBlockError(ResultFileError):
    """The file of a block is not as it was written."""


class Kept(NamedTuple):
    """What the first line of a block's file says.

    Attributes
    ----------
    done : list of int
        How many replications are there, for each instance from the first.
    steps : str
        The `digest` of its checkpoints.
    pulls : bool
        Whether it has pulls.
    task : dict
        What its runs have in common, as `brigand.studies.work.compute` takes it.
    size, crc : int
        Length and CRC-32 of what follows.
    """

    done: list[int]
    steps: str
    pulls: bool
    task: dict[str, Any]
    size: int
    crc: int

    def lacks(self, block: Block) -> list[tuple[int, int, int]]:
        """Return what a study wants of the block and is not there: instance, first replication, end."""
        first, column = block.place
        done = self.done + [0] * (block.shape[0] - len(self.done))
        end = column + block.shape[1]
        return [
            (first + row, column + done[row], end)
            for row in range(block.shape[0])
            if done[row] < block.shape[1]
        ]

    def all_of(self, steps: Sequence[int]) -> dict[str, Any]:
        """Return the task of which the result is all that is there, with its checkpoints."""
        first, column = self.task["place"]
        parts = [[row, column, column + n] for row, n in enumerate(self.done, first) if n]
        return self.task | {"checkpoints": list(steps), "pulls": self.pulls, "parts": parts}


NOTHING = Kept([], "", False, {}, 0, 0)
"""Of a block that is not there."""


def digest(steps: Iterable[int]) -> str:
    """Return a hash of checkpoints."""
    return hashlib.sha256(json.dumps(list(steps)).encode()).hexdigest()[:16]


def first_line(path: Path, key: str) -> Kept | None:
    """Return what the file of block `key` says of itself; None if there is no such file.

    Raises
    ------
    DamagedBlockError
        It says something else, or has another length.
    """
    try:
        with path.open("rb") as file:
            line = file.readline(LONGEST)
            size = file.seek(0, io.SEEK_END) - len(line)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DamagedBlockError(f"{str(path)!r} cannot be read: {error.strerror}.") from error
    return _parsed(line, size, path, key)


def _parsed(line: bytes, size: int, path: Path, key: str) -> Kept:
    try:
        crc, _, text = line.partition(b" ")
        data = json.loads(text)
        found = Kept(data["done"], data["steps"], data["pulls"], data["task"], data["size"], data["crc"])
        if int(crc, 16) == zlib.crc32(text) and data["key"] == key and found.size == size:
            return found
    except (ValueError, LookupError, TypeError, RecursionError):
        pass
    raise damaged(path)


def damaged(path: Path) -> DamagedBlockError:
    """Return the error for a block that is not as it was written."""
    return DamagedBlockError(
        f"{str(path)!r} is damaged: `brigand run`, with the same study and folder, computes it again."
    )


def _content(path: Path, key: str) -> tuple[Kept, memoryview]:
    """Return what the first line says, and what follows it, which fits the checksum."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise ResultFileError(f"there is no file {str(path)!r}: run the study again.") from None
    except OSError as error:
        raise DamagedBlockError(f"{str(path)!r} cannot be read: {error.strerror}.") from error
    line = content[: content.find(b"\n") + 1]
    kept = _parsed(line, len(content) - len(line), path, key)
    payload = memoryview(content)[len(line) :]
    if zlib.crc32(payload) != kept.crc:
        raise damaged(path)
    return kept, payload


def check(path: Path, key: str) -> Kept:
    """Read a whole block, and return what its first line says.

    Raises
    ------
    ResultFileError
        It is not there, or damaged.
    """
    return _content(path, key)[0]


def read(path: Path, key: str, names: Sequence[str] | None = None) -> tuple[Kept, Arrays]:
    """Read a block: all of its arrays, or those of some names that it has.

    Raises
    ------
    ResultFileError
        It is not there, or damaged.
    """
    kept, payload = _content(path, key)
    try:
        arrays = unpack(payload, names)
    except (ValueError, TypeError, zlib.error) as error:
        raise damaged(path) from error
    if any(len(array) != sum(kept.done) for name, array in arrays.items() if name != "steps"):
        raise damaged(path)
    return kept, arrays


def content_of(key: str, task: dict[str, Any], done: Sequence[int], arrays: Arrays) -> bytes:
    """Return the bytes of a block's file, the same for the same runs."""
    payload = pack({"steps": np.array(task["checkpoints"], np.int64)} | arrays)
    what = {name: value for name, value in task.items() if name not in ("parts", "checkpoints", "pulls")}
    line = {
        "brigand": "block",
        "key": key,
        "task": what,
        "done": list(done),
        "steps": digest(task["checkpoints"]),
        "pulls": "pulls" in arrays,
        "size": len(payload),
        "crc": zlib.crc32(payload),
    }
    text = json.dumps(line, sort_keys=True).encode() + b"\n"
    return b"%08x %b%b" % (zlib.crc32(text), text, payload)


def joined(old: tuple[Kept, Arrays] | None, task: dict[str, Any], new: Arrays) -> tuple[list[int], Arrays]:
    """Return the runs of a block that were there, and those of a piece of work that goes on from them."""
    (first, column), done, there = task["place"], list[int](), Arrays()
    if old is not None:
        done, there = list(old[0].done), old[1]
    taken = 0
    parts = {}
    for instance, start, end in task["parts"]:
        parts[instance - first] = (start - column, end - column, taken)
        taken += end - start
    height = max(len(done), *(row + 1 for row in parts))
    done += [0] * (height - len(done))
    order: list[NDArray[np.int64]] = []
    before = sum(done)
    place = 0
    for row in range(height):
        order.append(np.arange(place, place + done[row]))
        place += done[row]
        start, end, at = parts.get(row, (done[row], done[row], 0))
        if start <= done[row] < end:
            order.append(before + np.arange(at + done[row] - start, at + end - start))
            done[row] = end
    index = np.concatenate(order)
    if old is None:
        return done, {name: array[index] for name, array in new.items()}
    both = {name: np.concatenate([there[name], array])[index] for name, array in new.items() if name in there}
    return done, both
