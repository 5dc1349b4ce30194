"""A block as it is kept: a line of JSON that says what it is, and its arrays.

::

    CRC {"brigand": "block", "key": KEY, "task": ..., "done": [100, 100, 31], "steps": ..., "crc": ...}
    the arrays (`brigand.studies.work.pack`)

``done`` has for each instance how many of its replications are there, the first ones. The line also has the
length and the CRC-32 of what follows it, and begins with its own. So what is cut off, emptied or changed is
known as such.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brigand.errors import ResultFileError
from brigand.studies.work import Arrays, Block, pack, unpack

LONGEST = 1 << 20
"""Bytes that the first line may have."""


class DamagedBlockError(ResultFileError):
    """A block is not as it was written, or not there."""


class Kept(NamedTuple):
    """What the first line of a block says.

    Attributes
    ----------
    done : list of int
        How many replications are there, for each instance from the first.
    steps : str
        The `digest` of its checkpoints.
    checkpoints : int
        How many they are; 0 if that was not written.
    pulls : bool
        Whether it has pulls.
    size, crc : int
        Length and CRC-32 of what follows.
    """

    done: list[int]
    steps: str
    checkpoints: int
    pulls: bool
    size: int
    crc: int

    @property
    def worth(self) -> tuple[int, ...]:
        """By which of two versions of a block the one is told that has more; at last by something."""
        return self.checkpoints, self.pulls, sum(self.done), self.crc

    def has(self, task: dict[str, Any]) -> bool:
        """Return whether a piece of work goes on from these runs: with the same checkpoints and pulls."""
        return (self.steps, self.pulls) == (digest(task["checkpoints"]), task["pulls"])

    def lacks(self, block: Block) -> list[tuple[int, int, int]]:
        """Return what a study wants of the block and is not there: instance, first replication, end."""
        if self.done == [block.shape[1]] * block.shape[0]:  # as of most: no more and no less
            return []
        first, column = block.place
        done = self.done + [0] * (block.shape[0] - len(self.done))
        end = column + block.shape[1]
        return [
            (first + row, column + done[row], end)
            for row in range(block.shape[0])
            if done[row] < block.shape[1]
        ]


NOTHING = Kept([], "", 0, False, 0, 0)
"""Of a block that is not there."""


def digest(steps: Iterable[int]) -> str:
    """Return a hash of checkpoints."""
    return hashlib.sha256(json.dumps(list(steps)).encode()).hexdigest()[:16]


def parsed(line: bytes) -> tuple[str, Kept] | None:
    """Return the key of a block and what its first line says; None if it is none, as it was written."""
    try:
        crc, _, text = line.partition(b" ")
        if int(crc, 16) != zlib.crc32(text):
            return None
        data = json.loads(text)
        of = data["done"], data["steps"], data.get("checkpoints", 0), data["pulls"], data["size"], data["crc"]
        return str(data["key"]), Kept(*of)
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def task_of(line: bytes, kept: Kept, steps: Sequence[int]) -> dict[str, Any]:
    """Return the task of which the result is all that is there of a block, with its checkpoints."""
    task: dict[str, Any] = json.loads(line.partition(b" ")[2])["task"]
    first, column = task["place"]
    parts = [[row, column, column + n] for row, n in enumerate(kept.done, first) if n]
    return task | {"checkpoints": list(steps), "pulls": kept.pulls, "parts": parts}


def is_whole(kept: Kept, payload: memoryview) -> bool:
    """Return whether what follows the first line is what was written."""
    return zlib.crc32(payload) == kept.crc


def unpacked(kept: Kept, payload: memoryview, names: Sequence[str] | None = None) -> Arrays:
    """Return the arrays of a block: all, or those of some names that it has.

    Raises
    ------
    DamagedBlockError
        They are not what the first line says.
    """
    try:
        arrays = unpack(payload, names)
    except (ValueError, TypeError, zlib.error) as error:
        raise DamagedBlockError(f"a block has other arrays than its first line says: {error}.") from error
    if any(len(array) != sum(kept.done) for name, array in arrays.items() if name != "steps"):
        raise DamagedBlockError("a block has other runs than its first line says.")
    return arrays


def content_of(key: str, task: dict[str, Any], done: Sequence[int], arrays: Arrays) -> bytes:
    """Return the bytes of a block, the same for the same runs."""
    payload = pack({"steps": np.array(task["checkpoints"], np.int64)} | arrays)
    return with_line(key, task, done, payload)


def done_by(task: dict[str, Any]) -> list[int] | None:
    """Return how many replications of each instance a piece of work makes, if it makes the first ones."""
    (first, column), done = task["place"], list[int]()
    for instance, start, end in task["parts"]:
        if start != column or instance < first + len(done):
            return None
        done += [0] * (instance - first - len(done)) + [end - start]
    return done


def with_line(key: str, task: dict[str, Any], done: Sequence[int], payload: bytes) -> bytes:
    """Return the bytes of a block, of which the arrays are packed."""
    what = {name: value for name, value in task.items() if name not in ("parts", "checkpoints", "pulls")}
    line = {
        "brigand": "block",
        "key": key,
        "task": what,
        "done": list(done),
        "steps": digest(task["checkpoints"]),
        "checkpoints": len(task["checkpoints"]),
        "pulls": task["pulls"],
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
