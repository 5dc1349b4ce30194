"""The pieces that a study is computed in: a policy, a problem, a block of runs.

The runs of a policy on a problem are a table: instances of the problem in rows, replications in columns. It
is cut into blocks of a size that does not depend on how many rows and columns a study wants, so that a study
with one more finds what another has computed. A block has a key, made from all that its numbers depend on:
policy, problem, horizon, seed, its place in the table, and the code behind it. A piece of work is what is
missing of a block, described by plain data, so that it can be sent to another machine. Its numbers do not
depend on who computes it, nor on what else is computed.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brigand.errors import PolicyError
from brigand.policies.base import Policy
from brigand.simulation.plan import make_plan
from brigand.simulation.run import runner_of
from brigand.simulation.stamp import code_stamp
from brigand.studies.expand import NamedPolicy, Problem, Study, conditions_of, environment_of

FORMAT = 3
"""Since 3, blocks do not depend on how many runs a study wants."""
STEPS = 5_000_000
"""About this many steps make a block: some tenths of a second for most policies."""
SKIPPED_RUNS = 2_000
LARGEST = 8_000_000
"""About so many bytes may a block have."""
USUAL_CHECKPOINTS = 400
"""Up to so many, the size of blocks does not depend on their number."""

HEAD = 10_000
"""Bytes that the list of a block's arrays has at most."""

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Block:
    """A block of the table of runs of one policy on one problem.

    Attributes
    ----------
    key : str
        A hash of all that its numbers depend on.
    place : tuple of int
        Its first instance and its first replication, counted from 0.
    shape : tuple of int
        How many instances and replications of it a study wants: the first ones.
    """

    key: str
    place: tuple[int, int]
    shape: tuple[int, int]


@dataclass(frozen=True)
class Cell:
    """All runs of one policy on one problem that a study wants.

    Attributes
    ----------
    key : str
        A hash of the task and of the code behind it.
    size : tuple of int
        How many instances and replications a block has.
    shape : tuple of int
        How many instances and replications are wanted.
    """

    key: str
    size: tuple[int, int]
    shape: tuple[int, int]

    def __iter__(self) -> Iterator[Block]:
        """Yield the blocks, by instance, then by replication."""
        for i in range(0, self.shape[0], self.size[0]):
            for r in range(0, self.shape[1], self.size[1]):
                shape = min(self.size[0], self.shape[0] - i), min(self.size[1], self.shape[1] - r)
                yield Block(key_of_block(self.key, self.size, (i, r)), (i, r), shape)

    def __len__(self) -> int:
        return math.prod(-(-wanted // size) for wanted, size in zip(self.shape, self.size, strict=True))


@dataclass(frozen=True)
class Piece:
    """What is missing of a block.

    Attributes
    ----------
    task : dict
        What `compute` needs, as JSON.
    key : str
        Of the block.
    """

    task: dict[str, Any]
    key: str

    @property
    def runs(self) -> int:
        """How many."""
        return sum(end - first for _, first, end in self.task["parts"])


def cell_of(study: Study, problem: Problem, named: NamedPolicy) -> tuple[Cell, dict[str, Any]]:
    """Return a policy's runs on a problem, and what all of their blocks depend on."""
    method = study.methods[problem.name, named.name]
    task = {
        "format": FORMAT,
        "policy": named.policy.to_json(),
        **problem.recipe,
        "horizon": problem.horizon,
        "seed": study.file.seed,
        "method": method,
    }
    checkpoints, n_arms = len(study.checkpoints(problem.horizon)), problem.first.n_arms
    width = 8 * ((checkpoints if checkpoints > USUAL_CHECKPOINTS else 100) * (1 + n_arms) + n_arms)
    runs = SKIPPED_RUNS if method == "skip" else STEPS // problem.horizon
    power = max(1, min(runs, LARGEST // width)).bit_length() - 1
    size = (1, 2**power) if "environment" in problem.recipe else (2 ** (power // 2), 2 ** ((power + 1) // 2))
    shape = problem.instances, study.file.replications
    code = stamp(named.policy, method, problem.first.functions)
    return Cell(key_of(task, code), size, shape), task


def key_of(task: dict[str, Any], code: str) -> str:
    """Return the key of a cell, of which a task is computed by code with this `stamp`."""
    names = ("format", "policy", "environment", "world", "random", "conditions", "horizon", "seed", "method")
    text = json.dumps([{name: task[name] for name in names if name in task}, code], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def key_of_block(cell: str, size: Sequence[int], place: Sequence[int]) -> str:
    """Return the key of a block of some size that begins at some place."""
    text = f"{cell} {size[0]} x {size[1]} from {place[0]}, {place[1]}"
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def stamp(policy: Policy, method: str, called: Sequence[Callable[..., Any]] = ()) -> str:
    """Return a hash of the code behind a piece; the environment's rewards and means are `called`."""
    return code_stamp(policy, method, compute, environment_of, called=tuple(called))


def compute(task: dict[str, Any]) -> Arrays:
    """Run a piece of work.

    Parameters
    ----------
    task : dict
        What `cell_of` returns, with ``checkpoints``, ``pulls`` (whether they are wanted) and ``parts``: for
        each of some instances the first replication, and that after the last.

    Returns
    -------
    dict of arrays
        ``regret``, float64 of shape (runs, checkpoints); ``pulls``, int64 of shape (runs, checkpoints, K), if
        asked for; ``forced``, int64 of shape (runs, K), if the policy counts them.
    """
    policy = Policy.from_json(task["policy"])
    runner = runner_of(task["method"])
    conditions = conditions_of(task)
    done = []
    for instance, first, end in task["parts"]:
        environment = environment_of(task, task["horizon"], instance)
        plan = make_plan(
            environment,
            {"x": policy},
            task["horizon"],
            range(first, end),
            task["seed"],
            task["checkpoints"],
            conditions,
        )
        done.append(runner(plan, policy).run(plan.replications))
    found: Arrays = {"regret": np.concatenate([part.regret for part in done])}
    if task["pulls"]:
        found["pulls"] = np.concatenate([part.pulls for part in done])
    forced = [part.forced for part in done if part.forced is not None]
    if forced:
        found["forced"] = np.concatenate(forced)
    return found


def pack(arrays: Arrays) -> bytes:
    """Return arrays as bytes, the same for equal arrays: a line of JSON that lists them, and their contents.

    Pulls are kept as those since the checkpoint before, in few bytes, and all is compressed little: to write
    more took as long as to play the runs. An .npz file would take several times as long to read.
    """
    listed, parts = [], []
    for name, array in arrays.items():
        if name == "pulls":
            array = np.diff(array, axis=1, prepend=0)
            array = array.astype(np.min_scalar_type(array.max()))
        array = array.astype(array.dtype.newbyteorder("<"))
        parts.append(zlib.compress(array.tobytes(), 1))
        listed.append([name, array.dtype.str, array.shape, len(parts[-1])])
    return b"".join([json.dumps(listed).encode(), b"\n", *parts])


def unpack(content: bytes | memoryview, names: Sequence[str] | None = None) -> Arrays:
    """Return what `pack` packed: all arrays, or those of some names that are there.

    Raises
    ------
    ValueError, TypeError, zlib.error
        The bytes are damaged.
    """
    found: Arrays = {}
    line = bytes(content[:HEAD])
    end = line.index(b"\n") + 1
    for name, kind, shape, size in json.loads(line[:end]):
        if names is None or name in names:
            data = zlib.decompress(content[end : end + size])
            found[name] = np.frombuffer(data, np.dtype(kind)).reshape(shape)
        end += size
    if "pulls" in found:
        found["pulls"] = np.cumsum(found["pulls"], axis=1, dtype=np.int64)
    return found


def work(task: dict[str, Any], key: str) -> bytes:
    """Compute a piece and pack it, with its checkpoints: what a worker, maybe elsewhere, is asked for.

    Raises
    ------
    PolicyError
        The worker has other code than the process that made the key, or a policy breaks the contract.
    """
    called = () if "random" in task else environment_of(task, task["horizon"], 0).functions
    cell = key_of(task, stamp(Policy.from_json(task["policy"]), task["method"], called))
    if key_of_block(cell, task["size"], task["place"]) != key:
        raise PolicyError(
            "a worker has another version of Brigand, or of a policy's module, than this process; install "
            "the same on both."
        )
    return pack({"steps": np.array(task["checkpoints"], np.int64)} | compute(task))


def timed(task: dict[str, Any], key: str) -> tuple[bytes, float]:
    """Return what `work` does, and the seconds that it took."""
    began = time.perf_counter()
    return work(task, key), time.perf_counter() - began
