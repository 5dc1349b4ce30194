"""Reading the results of a study."""

from __future__ import annotations

import collections
import copy
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brigand import checks, display
from brigand.environments.world import World
from brigand.errors import InvalidValueError, ResultFileError, UnknownNameError
from brigand.simulation import results as of_simulation
from brigand.simulation.results import Results, array_statistics
from brigand.studies import manifest
from brigand.studies.chosen import condition
from brigand.studies.compare import Comparison, compare
from brigand.studies.expand import conditions_of, environment_of
from brigand.studies.folder import MANIFEST, StudyFolder
from brigand.studies.kept import DamagedBlockError, Kept, digest
from brigand.studies.statistics import summarise
from brigand.studies.work import FORMAT, Block, Cell

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def load(path: str | os.PathLike[str]) -> Any:
    """Read results: a file that `Results.save` wrote, or a folder that ``brigand run`` filled.

    Parameters
    ----------
    path : path

    Returns
    -------
    Results or StudyResults
        Of a file, or of a folder; type checkers take it for either.

    Raises
    ------
    ResultFileError
        There is no such file or folder, it is damaged, or it does not hold results.
    """
    place = checks.path("the file or folder", path)
    return StudyResults(path) if place.is_dir() else of_simulation.load(place)


class Runs(NamedTuple):
    """Some runs of a policy on a problem.

    Attributes
    ----------
    instances, replications : int64 arrays of shape (runs,)
        Which they are, counted from 0.
    values : array of shape (runs, ...)
    """

    instances: Integers
    replications: Integers
    values: NDArray[Any]


class StudyResults:
    """The results of a study: several policies on several problems.

    Numbers are read when they are asked for, one policy on one problem at a time. Of a study that is not done
    yet there is what is complete: all runs of some policies on some problems.

    Parameters
    ----------
    folder : path
        What ``brigand run`` filled.

    Attributes
    ----------
    folder : Path
    manifest : dict
        What was run, as ``manifest.json`` has it.
    problems, policies : tuple of str
        Their names, with what was swept over; those of which something is complete.
    incomplete : dict of (str, str) to (int, int)
        For each problem and policy whose runs are not all there: how many of its pieces are, and of how many.

    Raises
    ------
    ResultFileError
        The folder holds no study, or its manifest is damaged.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = checks.path("the folder", folder)
        self._kept = StudyFolder(self.folder)
        self.manifest = self._kept.manifest()
        path = str(self.folder / MANIFEST)
        try:
            written = int(self.manifest["format"])
            if written == FORMAT:
                manifest.check(self.manifest)
            self._problems = {entry["name"]: entry for entry in self.manifest["problems"]}
            self._policies = {entry["name"]: entry for entry in self.manifest["policies"]}
            self._replications = int(self.manifest["replications"])
            self._digests = {name: digest(entry["checkpoints"]) for name, entry in self._problems.items()}
            if written == FORMAT:
                self._cells = {(cell["problem"], cell["policy"]): cell for cell in self.manifest["cells"]}
                self._tables = {names: self._table(*names) for names in self._cells}
        except (KeyError, TypeError, ValueError) as error:
            why = str(error) if isinstance(error, ValueError) else repr(error)
            raise ResultFileError(f"{path!r} is damaged ({why}): run the study again.") from error
        if written > FORMAT:
            raise ResultFileError(
                f"{path!r} was written in format {written} by Brigand {self.manifest.get('version')}; this "
                f"version reads format {FORMAT}."
            )
        if written < FORMAT:
            raise ResultFileError(
                f"{path!r} was written in format {written} by an older Brigand: run the study again."
            )
        self.incomplete: dict[tuple[str, str], tuple[int, int]] = {}
        for names, table in self._tables.items():
            lacking = sum(self._lacks(block, *names) for block in table)
            if lacking:
                self.incomplete[names] = (len(table) - lacking, len(table))
        self._find_complete()
        self._final: dict[tuple[str, str], Floats] = {}

    def _find_complete(self) -> None:
        complete = self._tables.keys() - self.incomplete.keys()
        problems, policies = {name for name, _ in complete}, {name for _, name in complete}
        self.problems = tuple(name for name in self._problems if name in problems)
        self.policies = tuple(name for name in self._policies if name in policies)

    def select(
        self,
        problems: Iterable[str] | None = None,
        policies: Iterable[str] | None = None,
        where: Iterable[str] = (),
    ) -> Self:
        """Return a part of the results.

        Parameters
        ----------
        problems, policies : iterable of str, optional
            Names, or names without the swept values: ``"SW-FE"`` is all ``"SW-FE (window = 200)"``, ... By
            default all.
        where : iterable of str
            Conditions on what was swept over, such as ``"window > 100"``, all of which must hold. Policies
            and problems without such a parameter stay.

        Raises
        ------
        UnknownNameError, InvalidValueError
            There is no such name, or a condition is none.
        """
        entries = {"problem": self._problems, "policy": self._policies}
        chosen = {"problem": set(self._problems), "policy": set(self._policies)}
        for kind, wanted in (("problem", problems), ("policy", policies)):
            if wanted is not None:
                chosen[kind] = set()
                for given in wanted:
                    same = {n for n, entry in entries[kind].items() if given in (n, entry.get("label"))}
                    if not same:
                        labels = [entry["label"] for entry in entries[kind].values() if "label" in entry]
                        raise UnknownNameError(kind, given, {*labels, *entries[kind]})
                    chosen[kind] |= same
        swept = {kind: {n: e.get("swept", {}) for n, e in of.items()} for kind, of in entries.items()}
        for text in where:
            holds = condition(text, self._swept())
            for kind, of in swept.items():
                chosen[kind] = {name for name in chosen[kind] if holds(of[name])}
        part = copy.copy(self)
        part._tables = {
            names: table
            for names, table in self._tables.items()
            if names[0] in chosen["problem"] and names[1] in chosen["policy"]
        }
        part.incomplete = {names: n for names, n in self.incomplete.items() if names in part._tables}
        part._find_complete()
        return part

    def table(self) -> pd.DataFrame:
        """Return all in one table: a row for each problem and policy, with what was swept over as columns.

        Returns
        -------
        pandas.DataFrame
            ``problem``, ``policy`` (without the swept values), a column for each swept parameter, ``T``, and
            the columns of `summary`. It can be written to CSV or Parquet.
        """
        import pandas as pd

        rows = []
        for (problem, policy), row in self.summary().iterrows():
            about, by = self.problem(problem), self.policy(policy)
            rows.append(
                {"problem": about["label"], "policy": by["label"]}
                | {name: _plain(value) for name, value in (about["swept"] | by["swept"]).items()}
                | {"T": about["horizon"]}
                | row.to_dict()
            )
        swept = [name for name in self._swept() if any(name in row for row in rows)]
        rest = [name for name in {name: None for row in rows for name in row} if name not in swept]
        table = pd.DataFrame(rows)[[*rest[:2], *swept, *rest[2:]]]
        return table.astype({"instances": "int64", "replications": "int64"})

    def _swept(self) -> list[str]:
        """Return the names of all parameters that were swept over."""
        entries = [*self._problems.values(), *self._policies.values()]
        return list({name: None for entry in entries for name in entry.get("swept", {})})

    @display.html_repr
    def _repr_html_(self) -> str:
        """Return a table of the problems, for notebooks; no piece of the results is read."""
        rows = []
        for name in self.problems:
            entry, complete = self.problem(name), len(self.policies_of(name))
            rows.append((name, entry["horizon"], entry["arms"], entry["instances"], complete))
        done, of = self.progress()
        return display.block(
            f"Study {self.name}: {len(self.problems):,} problems, {len(self.policies):,} policies",
            display.table(("problem", "T", "arms", "instances", "policies complete"), rows),
            display.paragraph(f"Complete: {done} combinations of policy and problem, {of} pieces."),
        )

    @property
    def name(self) -> str:
        """The study's name."""
        return str(self.manifest.get("name", self.folder.name))

    @property
    def baseline(self) -> str:
        """The policy that others are compared with: the one that the study names, else its first.

        Raises
        ------
        ResultFileError
            Nothing is complete yet.
        """
        self._require_some()
        named = self.manifest.get("baseline")
        return str(named) if named in self.policies else self.policies[0]

    @property
    def places(self) -> dict[str, int]:
        """The place of each policy in the study, by which figures choose its look: in every part the same.

        Of policies that were swept over, the first of each stand before the second ones, and so on.
        """
        seen: collections.Counter[str] = collections.Counter()
        turns = {}
        for name, entry in self._policies.items():
            label = str(entry.get("label", name))
            turns[name] = seen[label]
            seen[label] += 1
        order = sorted(turns, key=lambda name: turns[name])
        return {name: place for place, name in enumerate(order)}

    @property
    def written(self) -> datetime:
        """When the study was last started."""
        return datetime.fromtimestamp((self.folder / MANIFEST).stat().st_mtime, UTC)

    @property
    def missing(self) -> int:
        """How many pieces were not there when the results were loaded."""
        return sum(total - there for there, total in self.incomplete.values())

    @property
    def left_out(self) -> str:
        """What is not complete, in a sentence; empty if all is."""
        if not self.incomplete:
            return ""
        first, *others = (
            f"{policy} on {problem} ({there:,} of {total:,} pieces)"
            for (problem, policy), (there, total) in self.incomplete.items()
        )
        more = f", and {len(others):,} more" if others else ""
        return f"Not complete, and left out: {first}{more}. `brigand run` goes on."

    def progress(self) -> tuple[str, str]:
        """Return how many combinations of policy and problem are there, and pieces: "3 of 4", "9 of 12"."""
        pieces = sum(map(len, self._tables.values()))
        return (
            f"{len(self._tables) - len(self.incomplete):,} of {len(self._tables):,}",
            f"{pieces - self.missing:,} of {pieces:,}",
        )

    def wanted(self) -> Iterator[tuple[Block, bool]]:
        """Yield all blocks that the study wants, and whether something of each was not there."""
        for names, table in self._tables.items():
            for block in table:
                yield block, self._lacks(block, *names)

    def problem(self, name: str) -> dict[str, Any]:
        """Return a problem's entry in the manifest: horizon, instances, recipe, checkpoints, arms, ..."""
        if name not in self._problems:
            raise UnknownNameError("problem", name, self._problems)
        return dict(self._problems[name])

    def policy(self, name: str) -> dict[str, Any]:
        """Return a policy's entry in the manifest: its JSON form, and what was swept over."""
        if name not in self._policies:
            raise UnknownNameError("policy", name, self._policies)
        return dict(self._policies[name])

    def policies_of(self, problem: str) -> tuple[str, ...]:
        """Return the policies whose runs on a problem are complete; the study may leave some out."""
        self.problem(problem)
        complete = self._tables.keys() - self.incomplete.keys()
        return tuple(name for name in self.policies if (problem, name) in complete)

    def method(self, problem: str, policy: str) -> str:
        """Return how a policy was run: ``"step"``, ``"skip"``, or ``"late"``."""
        return str(self._cell(problem, policy)["method"])

    def environment(self, problem: str, instance: int = 0) -> World:
        """Return an instance of a problem: 0, 1, ..."""
        entry = self.problem(problem)
        if not 0 <= instance < entry["instances"]:
            raise InvalidValueError(f"instance must be in [0, {entry['instances'] - 1}], not {instance}.")
        try:
            return environment_of(entry["recipe"], entry["horizon"], instance)
        except (KeyError, TypeError, AttributeError) as error:
            path = str(self.folder / MANIFEST)
            raise ResultFileError(f"{path!r} is damaged: {problem!r} has no recipe ({error!r}).") from error

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

    def blocks(self, problem: str, policy: str, array: str) -> Iterator[Runs]:
        """Yield the runs of one piece after the other: for what needs not all of them in memory together.

        Parameters
        ----------
        problem, policy : str
        array : str
            ``"regret"``, ``"pulls"`` or ``"forced"``, with shapes as `brigand.studies.work.compute` has them.
            Nothing is yielded if the pieces lack it.

        Raises
        ------
        ResultFileError
            Pieces are missing or damaged.
        """
        for block, values in self._values(problem, policy, array):
            height, width = block.shape
            instances = block.place[0] + np.repeat(np.arange(height), width)
            yield Runs(instances, block.place[1] + np.tile(np.arange(width), height), values)

    def _values(self, problem: str, policy: str, array: str) -> Iterator[tuple[Block, NDArray[Any]]]:
        """Yield blocks, each with its runs that are wanted, by instance and then by replication."""
        steps, usual = self.steps(problem), self._digests[problem]
        for block in self._complete(problem, policy):
            there = self._kept.kept(block.key)
            names = (array,) if there is not None and there.steps == usual else (array, "steps")
            kept, found = self._kept.get(block.key, names)
            if array not in found:
                continue
            values, (height, width) = found[array], block.shape
            if kept.lacks(block):
                raise ResultFileError(self._missing(problem, policy))
            if kept.done != [width] * height:  # there are more than are wanted
                values = values[np.add.outer(_starts(kept)[:height], np.arange(width)).ravel()]
            if kept.steps != usual:
                if "steps" not in found or not set(steps) <= set(found["steps"]):
                    raise ResultFileError(self._missing(problem, policy))
                values = values if array == "forced" else values[:, np.searchsorted(found["steps"], steps)]
            yield block, values

    def rivals(self, problem: str) -> list[str]:
        """Return the policies that are ranked: all but `Oracle`, which loses nothing; it, if it is alone."""
        playing = self.policies_of(problem)
        others = [name for name in playing if self.policy(name)["policy"].get("type") != "Oracle"]
        return others or list(playing)

    def final(self, problem: str, policy: str) -> Floats:
        """Return the regret at T, shape (instances, replications), in units of reward."""
        key = (problem, policy)
        if key not in self._final:
            final = np.empty(self._complete(problem, policy).shape)
            for block, values in self._values(problem, policy, "regret"):
                final[_part(block)] = values[:, -1].reshape(block.shape)
            self._final[key] = final
        return self._final[key]

    def draws(self, problem: str) -> pd.DataFrame:
        """Return regret at T on independent draws: a row for each draw, a column for each policy.

        The draws are the instances, each with its mean over replications, if there are several; else runs.
        """
        import pandas as pd

        several = self.problem(problem)["instances"] > 1
        final = {name: self.final(problem, name) for name in self.policies_of(problem)}
        columns = {name: regret.mean(axis=1) if several else regret[0] for name, regret in final.items()}
        return pd.DataFrame(columns).rename_axis("instance" if several else "replication")

    def results(self, problem: str, policies: Sequence[str] | None = None) -> Results:
        """Return the results on one problem, as those of `brigand.simulate`.

        Parameters
        ----------
        problem : str
        policies : sequence of str, optional
            By default all that play there. Their numbers are in memory together once they are asked for.

        Returns
        -------
        Results
            With a dimension ``instance`` after ``policy`` if there are several, and without ``pulls`` if the
            study does not store them.
        """
        names = list(self.policies_of(problem) if policies is None else policies)
        for name in names:
            self._complete(problem, name)
        return Results(partial(self._dataset, problem, names))

    def statistics(self, problem: str, policies: Sequence[str] | None = None) -> pd.DataFrame:
        """Return `Results.statistics` of a problem, with the runs of one policy in memory at a time.

        Parameters
        ----------
        problem : str
        policies : sequence of str, optional
            By default all that play there.

        Returns
        -------
        pandas.DataFrame
            Indexed by policy and step.
        """
        import pandas as pd

        tables = {}
        steps = pd.Index(self.steps(problem), name="step")
        worst = self._worst(problem, steps)
        for name in self.policies_of(problem) if policies is None else policies:
            regret = self.regret(problem, name)
            drawn = regret.mean(axis=1) if len(regret) > 1 else regret[0]
            found = {"method": self.method(problem, name), **array_statistics(drawn.T, worst)}
            tables[name] = pd.DataFrame(found, steps).assign(replications=len(drawn))
        return pd.concat(tables, names=["policy"])

    def summary(self) -> pd.DataFrame:
        """Return statistics of the regret at T.

        Returns
        -------
        pandas.DataFrame
            Indexed by problem and policy: ``mean``, ``low`` and ``high`` (its 95 % interval; NaN for one
            draw), ``unseen``, ``top`` (see `Results.summary`), ``median``, ``q10``, ``q90``, ``q99`` and
            ``sd`` over independent draws (see `draws`), ``instances``, ``replications``.
        """
        import pandas as pd

        tables = {}
        self._require_some()
        for name in self.problems:
            counts = {"instances": self.problem(name)["instances"], "replications": self._replications}
            worst = float(self._worst(name, self.problem(name)["horizon"]))
            tables[name] = summarise(self.draws(name), worst).assign(**counts)
        return pd.concat(tables, names=["problem", "policy"])

    def compare(self, baseline: str | None = None) -> Comparison:
        """Compare every policy with a baseline, and, over many instances, all with all.

        Parameters
        ----------
        baseline : str, optional
            By default the one that the study names, else its first policy.

        Raises
        ------
        UnknownNameError
            There is no such policy.
        """
        base = self.baseline if baseline is None else baseline
        if base not in self.policies:
            raise UnknownNameError("policy", base, self.policies)
        return compare(
            base,
            {problem: self.draws(problem) for problem in self.problems},
            {problem: self.rivals(problem) for problem in self.problems},
            {
                problem: {name for name in self.policies_of(problem) if self.method(problem, name) != "skip"}
                for problem in self.problems
            },
            {name: float(self._worst(name, self.problem(name)["horizon"])) for name in self.problems},
        )

    def __repr__(self) -> str:
        missing = self.missing
        return (
            f"StudyResults: {self.name!r}; problems: {', '.join(self.problems)}; policies: "
            f"{', '.join(self.policies)}; {f'pieces missing: {missing:,}' if missing else 'complete'}"
        )

    def _require_some(self) -> None:
        if not self.policies:
            raise ResultFileError(f"nothing of the study in {str(self.folder)!r} is complete yet.")

    def _worst(self, problem: str, steps: ArrayLike) -> Floats:
        """Return the largest regret that can be after some steps, in any instance."""
        instances = range(self.problem(problem)["instances"])
        worst = [self.environment(problem, i).worst_regret(steps) for i in instances]
        return np.asarray(np.max(worst, axis=0))

    def _dataset(self, problem: str, names: list[str]) -> xr.Dataset:
        import xarray as xr

        parts = [self._labelled(problem, name) for name in names]
        data = xr.concat(parts, "policy", combine_attrs="override")
        entry = self.problem(problem)
        instances = [self.environment(problem, i).to_json() for i in range(entry["instances"])]
        return data.assign_attrs(
            brigand_format=of_simulation.FORMAT,
            brigand_version=self.manifest["version"],
            created=self.written.isoformat(timespec="seconds"),
            environments=json.dumps(instances),
            conditions=json.dumps(conditions_of(entry["recipe"]).to_json()),
            policies=json.dumps({name: self.policy(name)["policy"] for name in names}),
            horizon=entry["horizon"],
            seed=str(self.manifest["seed"]),
            versions=json.dumps(self.manifest.get("versions", {})),
        )

    def _labelled(self, problem: str, policy: str) -> xr.Dataset:
        """Return one policy's numbers as `Results.dataset` has them."""
        import xarray as xr

        regret, dims = _flat(self.regret(problem, policy))
        arms = self.problem(problem)["arms"]
        forced = self.forced(problem, policy)
        if forced is None:
            forced = np.full((*regret.shape[:-1], arms), np.nan)
        else:
            forced, _ = _flat(forced.astype(float))
        content: dict[str, Any] = {
            "regret": (("policy", *dims, "step"), regret[None], {"units": "reward"}),
            "forced": (("policy", *dims, "arm"), forced[None]),
        }
        if "pulls" in self.manifest["metrics"]:
            pulls, _ = _flat(self.pulls(problem, policy))
            content["pulls"] = (("policy", *dims, "step", "arm"), pulls[None])
        labels: dict[str, Any] = {
            "policy": [policy],
            "method": ("policy", [self.method(problem, policy)]),
            "replication": range(self._replications),
            "step": self.steps(problem),
            "arm": range(arms),
        }
        return xr.Dataset(content, labels)

    def _joined(self, problem: str, policy: str, array: str) -> NDArray[Any] | None:
        joined = None
        for block, values in self._values(problem, policy, array):
            if joined is None:
                shape = (*self._tables[problem, policy].shape, *values.shape[1:])
                joined = np.empty(shape, values.dtype)
            joined[_part(block)] = values.reshape(*block.shape, *values.shape[1:])
        return joined

    def _complete(self, problem: str, policy: str) -> Cell:
        """Return a policy's runs on a problem, or say how many pieces are missing."""
        self._cell(problem, policy)
        if (problem, policy) in self.incomplete:
            raise ResultFileError(self._missing(problem, policy))
        return self._tables[problem, policy]

    def _missing(self, problem: str, policy: str) -> str:
        blocks = list(self._tables[problem, policy])
        missing = sum(self._lacks(block, problem, policy) for block in blocks)
        return (
            f"{missing:,} of {len(blocks):,} pieces of {policy!r} on {problem!r} are missing or damaged in "
            f"{str(self.folder)!r}: run `brigand run` again, with the same study and folder."
        )

    def _table(self, problem: str, policy: str) -> Cell:
        """Return how the runs of a policy on a problem are found."""
        cell = self._cells[problem, policy]
        instances, (height, width) = int(self._problems[problem]["instances"]), cell["size"]
        if min(instances, height, width, self._replications) < 1:
            raise ValueError("sizes that are not positive")
        return Cell(str(cell["key"]), (int(height), int(width)), (instances, self._replications))

    def _lacks(self, block: Block, problem: str, policy: str) -> bool:
        """Return whether something that is wanted of a block is not there."""
        kept = self._kept.kept(block.key)
        if kept is None or kept.lacks(block) or kept.pulls < ("pulls" in self.manifest["metrics"]):
            return True
        steps = self._problems[problem]["checkpoints"]
        if kept.steps == self._digests[problem]:
            return False
        try:
            return not set(steps) <= set(self._kept.get(block.key, ("steps",))[1]["steps"].tolist())
        except DamagedBlockError:
            return True

    def _cell(self, problem: str, policy: str) -> dict[str, Any]:
        if (problem, policy) not in self._cells:
            self.problem(problem)
            playing = [name for name in self._policies if (problem, name) in self._cells]
            raise UnknownNameError(f"policy on {problem!r}", policy, playing)
        cell: dict[str, Any] = self._cells[problem, policy]
        return cell


def _plain(value: Any) -> Any:
    """Return a swept value as a cell of a table."""
    return value if isinstance(value, (bool, int, float, str)) else json.dumps(value)


def _part(block: Block) -> tuple[slice, slice]:
    """Return which instances and replications are those of a block."""
    (row, column), (height, width) = block.place, block.shape
    return slice(row, row + height), slice(column, column + width)


def _starts(kept: Kept) -> list[int]:
    """Return where the runs of each instance begin in the arrays of a block."""
    return [int(start) for start in np.cumsum([0, *kept.done])]


def _flat(array: Any) -> tuple[Any, tuple[str, ...]]:
    """Return an array (instances, replications, ...) without the first axis if there is one; and labels."""
    return (array, ("instance", "replication")) if len(array) > 1 else (array[0], ("replication",))
