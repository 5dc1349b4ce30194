"""The pieces that a study is computed in: a policy, a problem, a block of runs.

A piece of work is described by plain data, so that it can be sent to another machine, and has a key made from
all that its numbers depend on: the description, and the code behind it. Its numbers do not depend on who
computes it, nor on what else is computed.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from brigand.errors import PolicyError
from brigand.policies.base import Policy
from brigand.simulation.plan import make_plan
from brigand.simulation.run import runner_of
from brigand.simulation.stamp import code_stamp
from brigand.studies.expand import NamedPolicy, Problem, Study, environment_of

FORMAT = 2
STEPS = 5_000_000
"""About this many steps make a piece: some tenths of a second for most policies."""
SKIPPED_RUNS = 2_000
LARGEST = 8_000_000
"""Bytes that a piece may have."""

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Piece:
    """A block of runs of one policy on one problem.

    Attributes
    ----------
    task : dict
        What `compute` needs, as JSON.
    key : str
        A hash of the task and of the code.
    """

    task: dict[str, Any]
    key: str

    @property
    def runs(self) -> int:
        """How many."""
        return int(self.task["end"] - self.task["first"])


def pieces(study: Study, problem: Problem, named: NamedPolicy) -> Iterator[Piece]:
    """Yield the pieces of a policy on a problem. Run r is replication r mod R on instance r // R."""
    file = study.file
    checkpoints = study.checkpoints(problem.horizon)
    method = study.methods[problem.name, named.name]
    task = {
        "format": FORMAT,
        "policy": named.policy.to_json(),
        **problem.recipe,
        "horizon": problem.horizon,
        "checkpoints": list(checkpoints),
        "seed": file.seed,
        "method": method,
        "replications": file.replications,
        "pulls": "pulls" in file.metrics,
    }
    n_arms = problem.first.n_arms
    total = problem.instances * file.replications
    width = 8 * (len(checkpoints) * (1 + n_arms * task["pulls"]) + n_arms)
    size = SKIPPED_RUNS if method == "skip" else max(1, STEPS // problem.horizon)
    size = max(1, min(size, LARGEST // width, total))
    code = stamp(named.policy, method)
    for first in range(0, total, size):
        block = task | {"first": first, "end": min(first + size, total)}
        yield Piece(block, key_of(block, code))


def key_of(task: dict[str, Any], code: str) -> str:
    """Return the key of a task that is computed by code with this `stamp`."""
    text = json.dumps([task, code], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def stamp(policy: Policy, method: str) -> str:
    """Return a hash of the code behind a piece."""
    return code_stamp(policy, method, compute, environment_of)


def compute(task: dict[str, Any]) -> Arrays:
    """Run a piece of work.

    Parameters
    ----------
    task : dict
        See `pieces`.

    Returns
    -------
    dict of arrays
        ``regret``, float64 of shape (runs, checkpoints); ``pulls``, int64 of shape (runs, checkpoints, K), if
        asked for; ``forced``, int64 of shape (runs, K), if the policy counts them.
    """
    policy = Policy.from_json(task["policy"])
    runner = runner_of(task["method"])
    parts = []
    each = task["replications"]
    for instance in range(task["first"] // each, (task["end"] - 1) // each + 1):
        numbers = range(max(task["first"] - instance * each, 0), min(task["end"] - instance * each, each))
        environment = environment_of(task, task["horizon"], instance)
        plan = make_plan(
            environment, {"x": policy}, task["horizon"], numbers, task["seed"], task["checkpoints"]
        )
        parts.append(runner(plan, policy).run(plan.replications))
    found: Arrays = {"regret": np.concatenate([part.regret for part in parts])}
    if task["pulls"]:
        found["pulls"] = np.concatenate([part.pulls for part in parts])
    forced = [part.forced for part in parts if part.forced is not None]
    if forced:
        found["forced"] = np.concatenate(forced)
    return found


def pack(arrays: Arrays) -> bytes:
    """Return arrays as the bytes of an .npz file, the same for equal arrays.

    Pulls are kept as those since the checkpoint before, in few bytes, and compressed little: to write more
    took as long as to play the runs.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w") as file:
                if name == "pulls":
                    array = np.diff(array, axis=1, prepend=0)
                    array = array.astype(np.min_scalar_type(array.max()))
                np.lib.format.write_array(file, np.ascontiguousarray(array))
    return buffer.getvalue()


def unpack(file: BinaryIO, names: Sequence[str] | None = None) -> Arrays:
    """Return what `pack` packed: all arrays, or those of some names that are there.

    Raises
    ------
    OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error
        The bytes are damaged.
    """
    with np.load(file) as kept:
        found = {name: kept[name] for name in kept.files if names is None or name in names}
    if "pulls" in found:
        found["pulls"] = np.cumsum(found["pulls"], axis=1, dtype=np.int64)
    return found


def work(task: dict[str, Any], key: str) -> bytes:
    """Compute a piece and pack it: what a worker, maybe on another machine, is asked for.

    Raises
    ------
    PolicyError
        The worker has other code than the process that made the key, or a policy breaks the contract.
    """
    if key_of(task, stamp(Policy.from_json(task["policy"]), task["method"])) != key:
        raise PolicyError(
            "a worker has another version of Brigand, or of a policy's module, than this process; install "
            "the same on both."
        )
    return pack(compute(task))
