"""What a study's folder holds: for each policy on each problem, a cell, the numbers of all runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brigand.environments.environment import Environment
from brigand.errors import InvalidValueError, ResultFileError, UnknownNameError
from brigand.studies.expand import environment_of
from brigand.studies.store import MANIFEST, Store
from brigand.studies.work import FORMAT

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Cells:
    """The cells of a study; see `brigand.studies.results.StudyResults`, which users meet."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._store = Store(self.folder)
        self.manifest = self._store.manifest()
        path = str(self.folder / MANIFEST)
        try:
            written = int(self.manifest["format"])
            self._problems = {entry["name"]: entry for entry in self.manifest["problems"]}
            self._policies = {entry["name"]: entry for entry in self.manifest["policies"]}
            self._cells = {(cell["problem"], cell["policy"]): cell for cell in self.manifest["cells"]}
            self._replications = int(self.manifest["replications"])
        except (KeyError, TypeError, ValueError) as error:
            raise ResultFileError(f"{path!r} is damaged ({error!r}): run the study again.") from error
        if written > FORMAT:
            raise ResultFileError(
                f"{path!r} was written in format {written} by Brigand {self.manifest.get('version')}; this "
                f"version reads up to format {FORMAT}."
            )
        self.problems = tuple(self._problems)
        self.policies = tuple(self._policies)

    @property
    def written(self) -> datetime:
        """When the study was last started."""
        return datetime.fromtimestamp((self.folder / MANIFEST).stat().st_mtime, UTC)

    @property
    def missing(self) -> int:
        """How many pieces are not there yet."""
        there = set(self._store.keys())
        return sum(key not in there for cell in self._cells.values() for key in cell["keys"])

    def problem(self, name: str) -> dict[str, Any]:
        """Return a problem's entry in the manifest: horizon, instances, recipe, checkpoints, arms, ..."""
        if name not in self._problems:
            raise UnknownNameError("problem", name, self.problems)
        return dict(self._problems[name])

    def policy(self, name: str) -> dict[str, Any]:
        """Return a policy's entry in the manifest: its JSON form, and what was swept over."""
        if name not in self._policies:
            raise UnknownNameError("policy", name, self.policies)
        return dict(self._policies[name])

    def policies_of(self, problem: str) -> tuple[str, ...]:
        """Return the policies that play on a problem: all, unless the study says otherwise."""
        self.problem(problem)
        return tuple(name for name in self.policies if (problem, name) in self._cells)

    def method(self, problem: str, policy: str) -> str:
        """Return how a policy was run: ``"step"`` or ``"skip"``."""
        return str(self._cell(problem, policy)["method"])

    def environment(self, problem: str, instance: int = 0) -> Environment:
        """Return an instance of a problem: 0, 1, ..."""
        entry = self.problem(problem)
        if not 0 <= instance < entry["instances"]:
            raise InvalidValueError(f"instance must be in [0, {entry['instances'] - 1}], not {instance}.")
        return environment_of(entry["recipe"], entry["horizon"], instance)

    def steps(self, problem: str) -> Integers:
        """Return the checkpoints of a problem, counted from 1; the last is the horizon."""
        return np.array(self.problem(problem)["checkpoints"], np.int64)

    def regret(self, problem: str, policy: str) -> Floats:
        """Return cumulative pseudo-regret, shape (instances, replications, steps), in units of reward."""
        found = self._joined(problem, policy, "regret")
        if found is None:
            raise ResultFileError(f"the pieces of {policy!r} on {problem!r} hold no regret.")
        return found

    def pulls(self, problem: str, policy: str) -> Integers:
        """Return cumulative pulls, shape (instances, replications, steps, arms).

        Raises
        ------
        InvalidValueError
            The study does not store them.
        """
        found = self._joined(problem, policy, "pulls")
        if found is None:
            raise InvalidValueError("this study stores no pulls: they are not among its metrics.")
        return found

    def forced(self, problem: str, policy: str) -> Integers | None:
        """Return forced pulls by T, shape (instances, replications, arms); None if it does not count them."""
        return self._joined(problem, policy, "forced")

    def blocks(self, problem: str, policy: str, array: str) -> Iterator[NDArray[Any]]:
        """Yield an array of one piece after the other: for what needs not all runs in memory together.

        Parameters
        ----------
        problem, policy : str
        array : str
            ``"regret"``, ``"pulls"`` or ``"forced"``, with shapes as `brigand.studies.work.compute` has them.
            Nothing is yielded if the pieces lack it. Run r is replication r mod R on instance r // R.

        Raises
        ------
        ResultFileError
            Pieces are missing or damaged.
        """
        for key in self._complete(problem, policy):
            found = self._store.get(key, (array,))
            if array in found:
                yield found[array]

    def _joined(self, problem: str, policy: str, array: str) -> NDArray[Any] | None:
        joined, done = None, 0
        runs = self.problem(problem)["instances"] * self._replications
        for block in self.blocks(problem, policy, array):
            if joined is None:
                joined = np.empty((runs, *block.shape[1:]), block.dtype)
            part = joined[done : done + len(block)]
            if part.shape != block.shape:
                break
            part[:] = block
            done += len(block)
        if joined is None:
            return None
        if done != runs:
            raise ResultFileError(
                f"the pieces of {policy!r} on {problem!r} do not fit the manifest in {str(self.folder)!r}: "
                "delete its folder pieces and run the study again."
            )
        return joined.reshape(-1, self._replications, *joined.shape[1:])

    def _complete(self, problem: str, policy: str) -> list[str]:
        """Return the keys of a cell, or say how many pieces it lacks."""
        keys: list[str] = self._cell(problem, policy)["keys"]
        missing = sum(not self._store.has(key) for key in keys)
        if missing:
            raise ResultFileError(
                f"{missing:,} of {len(keys):,} pieces of {policy!r} on {problem!r} are missing in "
                f"{str(self.folder)!r}: run `brigand run` again, with the same study and folder."
            )
        return keys

    def _cell(self, problem: str, policy: str) -> dict[str, Any]:
        playing = self.policies_of(problem)
        if policy not in playing:
            raise UnknownNameError(f"policy on {problem!r}", policy, playing)
        cell: dict[str, Any] = self._cells[problem, policy]
        return cell
