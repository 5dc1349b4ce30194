"""Our regrets beside published ones: what ``brigand validate`` runs.

A `Row` is a policy on a problem with the numbers that somebody published; `check` simulates it, and gives
for each number a z: the difference of the two means in standard errors of both, less half a unit of the last
digit printed. |z| < 4 agrees: if all means were equal, one comparison in 16,000 would fail.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from brigand.environments.environment import Environment
from brigand.environments.instances import Floats
from brigand.environments.world import World
from brigand.policies.base import Policy
from brigand.simulation.plan import check_workers, make_plan
from brigand.simulation.run import simulate
from brigand.simulation.step import Runner

LIMIT = 4.0


@dataclass(frozen=True)
class Published:
    """A mean regret as printed.

    Attributes
    ----------
    mean : float
    runs : int
        Replications behind it.
    sd : float or None
        Standard deviation of a run; None if it was not printed (then ours is taken for both).
    unit : float
        Of the last digit printed.
    """

    mean: float
    runs: int
    sd: float | None = None
    unit: float = 0.0


def printed(text: str, runs: int) -> Published:
    """Read ``"22.9 (29.2)"``, a mean with a standard deviation, or ``"22.9"``."""
    numbers = re.fullmatch(r"\s*([\d.]+)(?:\s*\(([\d.]+)\))?\s*", text)
    if numbers is None:
        raise ValueError(f"{text!r} is no printed mean.")
    mean, sd = numbers.groups()
    decimals = len(mean.partition(".")[2])
    return Published(float(mean), runs, float(sd) if sd else None, 10.0**-decimals)


def grid(text: str) -> dict[str, dict[str, str]]:
    """Read a table of cells between ``|``; return the text by row's and column's name, less empty cells."""
    head, *lines = ([cell.strip() for cell in line.split("|")] for line in text.strip().splitlines())
    return {
        name: {column: cell for column, cell in zip(head[1:], cells, strict=True) if cell}
        for name, *cells in lines
    }


class Problem(Protocol):
    """What a policy is run on."""

    @property
    def name(self) -> str:
        """Where to find it in its source."""

    def regret(self, policy: Policy, steps: Sequence[int], runs: int, workers: int | None) -> Floats:
        """Return the regret of shape (runs, steps) at increasing steps, the last of which is the horizon."""


@dataclass(frozen=True)
class Fixed:
    """One environment, run again and again."""

    name: str
    environment: World

    def regret(self, policy: Policy, steps: Sequence[int], runs: int, workers: int | None) -> Floats:
        """Return the regret, see `Problem`."""
        results = simulate(
            self.environment, {"x": policy}, steps[-1], runs, workers=workers, checkpoints=steps
        )
        values: Floats = results.dataset["regret"].sel(policy="x").to_numpy()
        return values


@dataclass(frozen=True)
class Instances:
    """One run on each of many random environments."""

    name: str
    draw: Callable[[np.random.Generator], Environment]

    def regret(self, policy: Policy, steps: Sequence[int], runs: int, workers: int | None) -> Floats:
        """Return the regret, see `Problem`; environment i is drawn with seed i."""

        def one(i: int) -> Any:
            environment = self.draw(np.random.Generator(np.random.PCG64(i)))
            plan = make_plan(environment, {"x": policy}, steps[-1], (i,), 0, steps)
            return Runner(plan, policy).run((i,)).regret[0]

        with ThreadPoolExecutor(check_workers(workers)) as pool:
            return np.array(list(pool.map(one, range(runs))))


@dataclass(frozen=True)
class Row:
    """A policy on a problem, and what was published about it.

    Attributes
    ----------
    table : str
        Title of the table.
    problem : Problem
    name : str
        Of the policy, in the source.
    policy : Policy
    published : dict of int to Published
        By step.
    runs : int
        Ours.
    differs : str
        Why the two must differ, where we know that they do; else empty.
    """

    table: str
    problem: Problem
    name: str
    policy: Policy
    published: Mapping[int, Published]
    runs: int
    differs: str = ""


@dataclass(frozen=True)
class Check:
    """One published number beside ours.

    Attributes
    ----------
    row : Row
    step : int
    mean, sd : float
        Of our runs.
    runs : int
        Ours.
    """

    row: Row = field(repr=False)
    step: int
    mean: float
    sd: float
    runs: int

    @property
    def published(self) -> Published:
        """What it is compared with."""
        return self.row.published[self.step]

    @property
    def error(self) -> float:
        """Standard error of our mean."""
        return self.sd / math.sqrt(self.runs)

    @property
    def published_error(self) -> float:
        """Standard error of the published mean; from our standard deviation if none was printed."""
        sd = self.sd if self.published.sd is None else self.published.sd
        return sd / math.sqrt(self.published.runs)

    @property
    def z(self) -> float:
        """The difference in standard errors of both, less half a unit of the last digit printed."""
        difference = self.mean - self.published.mean
        gap = max(0.0, abs(difference) - self.published.unit / 2)
        both = math.hypot(self.error, self.published_error)
        return math.copysign(gap / both if both > 0 else math.inf, difference) if gap else 0.0

    @property
    def verdict(self) -> str:
        """``"agrees"``, ``"differs"``, or ``"differs (why)"`` where the row says why."""
        if abs(self.z) < LIMIT:
            return "agrees"
        return "differs (why)" if self.row.differs else "differs"


def check(row: Row, runs: int, workers: int | None = None) -> list[Check]:
    """Simulate a row with so many runs and compare."""
    steps = sorted(row.published)
    regret = row.problem.regret(row.policy, steps, runs, workers)
    means, sds = regret.mean(0).tolist(), regret.std(0, ddof=1).tolist()
    return [Check(row, t, mean, sd, runs) for t, mean, sd in zip(steps, means, sds, strict=True)]
