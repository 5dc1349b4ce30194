"""What a bound is: numbers for any step, the conditions under which it holds, and where it comes from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brigand import checks
from brigand.environments.environment import Environment
from brigand.errors import InvalidValueError, UnsupportedRewardError
from brigand.theory.sub_gaussian import of_environment

Floats = NDArray[np.float64]
Steps = NDArray[np.int64]

UPPER, FLOOR, SLOPE, ORDER, AVERAGE, WORST = "upper", "floor", "slope", "order", "average", "worst"
KINDS = {
    UPPER: "at most this, in expectation",
    FLOOR: "at least this, in every run",
    SLOPE: "an asymptotic slope: no floor at a finite step",
    ORDER: "an order of growth: its constant means nothing",
    AVERAGE: "on average over problems drawn from a prior, not on each",
    WORST: "for every policy, at least this on some problem of the class",
}
PRINTED, CORRECTED, STANDARD = "as printed", "corrected", "standard"


class Condition(NamedTuple):
    """Something that a bound needs, and whether it is so."""

    text: str
    holds: bool


@dataclass(frozen=True, eq=False)
class Bound:
    """A bound on the pulls of suboptimal arms, or on regret, of one policy in one environment.

    Attributes
    ----------
    name : str
        ``"Theorem 1"``.
    version : {"as printed", "corrected", "standard"}
        The paper's statement; ours, proved in ``docs/errata.md``; or one of another source.
    kind : {"upper", "floor", "slope", "order", "average", "worst"}
        What it says, see `KINDS`.
    source : str
        Where it stands.
    legend : str
        A plain sentence.
    conditions : tuple of Condition
        What it needs.
    """

    name: str
    version: str
    kind: str
    source: str
    legend: str
    conditions: tuple[Condition, ...]
    _regret: Callable[[Steps], Floats]
    _pulls: Callable[[Steps], Floats] | None = None

    @property
    def holds(self) -> bool:
        """Whether all conditions hold. A printed bound may be unproved all the same, or wrong."""
        return all(condition.holds for condition in self.conditions)

    @property
    def missing(self) -> str:
        """The conditions that do not hold, joined; empty if all do."""
        return "; ".join(condition.text for condition in self.conditions if not condition.holds)

    @property
    def speaks_of_pulls(self) -> bool:
        """Whether there is a bound for each arm."""
        return self._pulls is not None

    def regret(self, steps: ArrayLike) -> Floats:
        """Return the bound on the regret after some steps, of the shape of `steps`, in units of reward.

        Raises
        ------
        InvalidValueError
            A condition does not hold, or a step is not a positive integer.
        """
        return self._evaluate(self._regret, steps)

    def pulls(self, steps: ArrayLike) -> Floats:
        """Return the bound on each arm's pulls after some steps, shape ``(*steps.shape, K)``.

        NaN for arms that are optimal throughout.

        Raises
        ------
        InvalidValueError
            As `regret`; or the bound is one on regret alone.
        """
        if self._pulls is None:
            raise InvalidValueError(f"{self.name} is a bound on the regret, not on the pulls of each arm.")
        return self._evaluate(self._pulls, steps)

    def _evaluate(self, function: Callable[[Steps], Floats], steps: ArrayLike) -> Floats:
        if not self.holds:
            raise InvalidValueError(f"{self.name} does not hold here: {self.missing}.")
        given = check_steps(steps)
        with np.errstate(over="ignore"):  # m exp(1/m) is infinite for large gaps, and means that
            values = function(given.ravel())
        return np.reshape(values, (*given.shape, *values.shape[1:]))

    def __repr__(self) -> str:
        return f"Bound({self.name}, {self.version}: {self.legend})"


def check_steps(steps: ArrayLike) -> Steps:
    """Return steps as an array of int64.

    Raises
    ------
    InvalidValueError
        One of them is not a positive integer.
    """
    flat = np.ravel(np.asarray(steps, dtype=object))
    checked = [checks.integer("a step", step, 1, checks.MAX_STEPS) for step in flat.tolist()]
    return np.array(checked, np.int64).reshape(np.shape(steps))


def weigh(pulls: Callable[[Steps], Floats], gaps: Sequence[float] | Floats) -> Callable[[Steps], Floats]:
    """Return the regret that bounded pulls give: sum of gap times pulls, and no more than T times the gap.

    Parameters
    ----------
    pulls : callable
        Of steps, shape (n,), to bounds of shape (n, K); NaN where the gap is 0.
    gaps : float array of shape (K,)
    """
    costs = np.asarray(gaps, np.float64)

    def regret(steps: Steps) -> Floats:
        total = np.nansum(np.where(costs > 0, pulls(steps) * costs, 0.0), axis=1)
        return np.asarray(np.minimum(total, steps * costs.max()))

    return regret


def stationary(environment: Environment) -> Condition:
    """Return the condition that rewards do not change."""
    return Condition("rewards that do not change", len(environment.phases) == 1)


def is_sub_gaussian(environment: Environment) -> Condition:
    """Return the condition that all rewards are sub-Gaussian, with the reason where one is not."""
    try:
        of_environment(environment)
    except UnsupportedRewardError as error:
        return Condition(f"sub-Gaussian rewards ({error})", False)
    return Condition("sub-Gaussian rewards", True)
