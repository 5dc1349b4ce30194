"""Environments: the arms' reward distributions over time."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brigand import checks
from brigand.environments import draw
from brigand.environments.distribution import Distribution
from brigand.environments.totals import TOTAL
from brigand.environments.world import World
from brigand.errors import InvalidValueError, ResultFileError

LAW = np.dtype(
    [("kind", int), ("a", float), ("b", float), ("c", float), ("d", float), ("start", int), ("size", int)],
    align=True,
)


class CompiledEnvironment(NamedTuple):
    """An environment as the step loop takes it.

    `laws` has shape (phases, K), `starts` holds the 0-based first steps of the phases.
    """

    laws: NDArray[np.void]
    table: NDArray[np.float64]
    starts: NDArray[np.int64]
    uses_uniform: bool
    uses_normal: bool


@dataclass(frozen=True)
class Environment(World):
    """K arms whose reward distributions stay the same within a phase.

    Make one with `stationary` or `piecewise`.

    Parameters
    ----------
    phases : sequence of sequences of Distribution
        ``phases[i][k]`` is what arm k pays in phase i.
    starts : sequence of int
        The first step (counted from 1) of each phase; the first is 1. The reward and the regret of that
        step already use the new phase.
    """

    phases: tuple[tuple[Distribution, ...], ...]
    starts: tuple[int, ...]

    def __post_init__(self) -> None:
        phases = tuple(
            _check_arms(i, arms) for i, arms in enumerate(checks.listed("phases", self.phases), start=1)
        )
        starts = tuple(
            checks.integer("a phase's start", s, 1, checks.MAX_STEPS)
            for s in checks.listed("starts", self.starts)
        )
        if not phases:
            raise InvalidValueError("an environment needs at least one phase.")
        if len(starts) != len(phases):
            raise InvalidValueError(f"{len(phases)} phases need as many starts, not {len(starts)}.")
        if starts[0] != 1 or any(b <= a for a, b in itertools.pairwise(starts)):
            raise InvalidValueError(f"starts must begin with 1 and increase, not {list(starts)}.")
        if len({len(arms) for arms in phases}) > 1:
            raise InvalidValueError(
                f"every phase needs the same number of arms, not {[len(arms) for arms in phases]}."
            )
        object.__setattr__(self, "phases", phases)
        object.__setattr__(self, "starts", starts)

    @classmethod
    def stationary(cls, arms: Iterable[Distribution]) -> Self:
        """Return an environment whose rewards never change.

        Examples
        --------
        >>> from brigand import Bernoulli, Environment, Gaussian
        >>> Environment.stationary([Bernoulli(0.4), Gaussian(0.5, 0.2)]).means
        array([[0.4, 0.5]])
        """
        return cls((checks.listed("arms", arms),), (1,))

    @classmethod
    def piecewise(cls, phases: Sequence[Iterable[Distribution]], starts: Sequence[int]) -> Self:
        """Return an environment whose rewards change at the `starts` (see the class)."""
        return cls(
            tuple(checks.listed("arms", arms) for arms in checks.listed("phases", phases)),
            checks.listed("starts", starts),
        )

    @property
    def n_arms(self) -> int:
        """K."""
        return len(self.phases[0])

    @property
    def breakpoints(self) -> tuple[int, ...]:
        """The first steps of all phases but the first."""
        return self.starts[1:]

    @functools.cached_property
    def means(self) -> NDArray[np.float64]:
        """Expected rewards, shape (phases, K)."""
        return np.array([[arm.mean for arm in arms] for arms in self.phases])

    @functools.cached_property
    def gaps(self) -> NDArray[np.float64]:
        """Regret of one pull, shape (phases, K): the phase's largest mean less the arm's mean."""
        best = self.means.max(axis=1, keepdims=True)
        return np.asarray(best - self.means)

    def worst_regret(self, steps: ArrayLike) -> NDArray[np.float64]:
        """Return the regret after some steps, of the shape of `steps`, of always pulling the worst arm."""
        return self._over_phases(steps, self.gaps.max(axis=1))

    def best_total(self, steps: ArrayLike) -> NDArray[np.float64]:
        """Return what each step's best arm pays in the mean over some steps, of the shape of `steps`."""
        return self._over_phases(steps, self.means.max(axis=1))

    def _over_phases(self, steps: ArrayLike, each: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add a number for each step, which depends on the phase, up to and including some steps."""
        at = np.asarray(steps, np.float64)[..., None]
        starts = np.array(self.starts, np.float64)
        ends = np.append(starts[1:] - 1, np.inf)
        spent = np.clip(np.minimum(at, ends) - (starts - 1), 0, None)
        return np.asarray((spent * each).sum(axis=-1))

    def arm_supports(self, horizon: int) -> list[tuple[str, float, float]]:
        return [(f"arm {k}, {arm!r},", *arm.support) for arms in self.phases for k, arm in enumerate(arms)]

    def largest(self, horizon: int) -> float:
        return self.reach

    def mean_gaps(self, horizon: int) -> NDArray[np.float64]:
        lengths = np.diff(np.minimum([*self.starts, horizon + 1], horizon + 1))
        return np.asarray(lengths @ self.gaps / lengths.sum())

    @functools.cached_property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """The functions of the user's that arms call, each once."""
        called = (getattr(arm, "function", None) for arms in self.phases for arm in arms)
        return tuple(dict.fromkeys(function for function in called if function is not None))

    @functools.cached_property
    def reach(self) -> float:
        """The largest absolute reward that can be drawn: finite, though not the bound of a heavy tail."""
        laws, table, *_ = self.compiled
        own = max((arm.reach for arms in self.phases for arm in arms if hasattr(arm, "reach")), default=0.0)
        laws = laws[laws["kind"] != draw.FUNCTION]
        ends = ((0.0, -12.0), (1.0 - 2 * draw.HALF_ULP, 12.0))
        with np.errstate(over="ignore"):  # infinite, then
            return float(max([own, *(abs(draw.draw(law, table, *end)) for law in laws for end in ends)]))

    @functools.cached_property
    def totals(self) -> NDArray[np.void]:
        """The laws of the arms' sums (`brigand.environments.totals`), shape (phases, K)."""
        return np.array([[tuple(arm.total()) for arm in arms] for arms in self.phases], TOTAL)

    @functools.cached_property
    def compiled(self) -> CompiledEnvironment:
        """The environment as the step loop takes it."""
        laws = np.zeros((len(self.phases), self.n_arms), LAW)
        tables: list[NDArray[np.float64]] = []
        at: dict[Distribution, int] = {}
        used = 0
        for i, arms in enumerate(self.phases):
            for k, arm in enumerate(arms):
                law = arm.law()
                if arm not in at:
                    at[arm] = used
                    tables.append(law.table)
                    used += len(law.table)
                size = self.functions.index(arm.function) if law.kind == draw.FUNCTION else law.size  # type: ignore[attr-defined]
                laws[i, k] = (law.kind, law.a, law.b, law.c, law.d, at[arm], size)
        normal = np.isin(laws["kind"], draw.NORMALS)
        both = bool((laws["kind"] == draw.FUNCTION).any())
        return CompiledEnvironment(
            laws,
            np.concatenate(tables),
            np.array(self.starts, np.int64) - 1,
            bool((~normal).any()),
            bool(normal.any()) or both,
        )

    def _repr_html_(self) -> str:
        """Return a table of the arms, or of the phases, and a small figure of the means, for notebooks."""
        from brigand.environments.shown import html  # in here, for stored results hang on what this imports

        return html(self)


def read_environment(path: Path) -> Environment:
    """Return the environment in a JSON file.

    Raises
    ------
    ResultFileError
        The file cannot be read.
    InvalidValueError, UnknownNameError
        It holds none.
    """
    return Environment.from_json(_read(path))


def read_world(path: Path) -> World:
    """Return the world in a JSON file; errors as of `read_environment`."""
    return World.from_json(_read(path))


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ResultFileError(f"{str(path)!r} cannot be read: {error}") from error


def as_distribution(arm: object) -> Distribution | None:
    """Return a reward distribution that is given as such, or as a frozen one of SciPy; None if it is none."""
    if isinstance(arm, Distribution):
        return arm
    if hasattr(arm, "dist") and hasattr(arm, "ppf"):  # one of SciPy's
        from brigand.environments.of_scipy import SciPyReward

        return SciPyReward.of(arm)
    return None


def _check_arms(phase: int, given: Iterable[object]) -> tuple[Distribution, ...]:
    result = checks.listed("arms", given)
    if not result:
        raise InvalidValueError(f"phase {phase} has no arms; at least one is needed.")
    arms = []
    for k, arm in enumerate(result):
        found = as_distribution(arm)
        if found is None:
            example = arm if isinstance(arm, float) and 0 <= arm <= 1 else 0.5
            raise InvalidValueError(
                f"arm {k} of phase {phase} must be a reward distribution such as Bernoulli({example}), "
                f"not {arm!r}."
            )
        arms.append(found)
    return tuple(arms)
