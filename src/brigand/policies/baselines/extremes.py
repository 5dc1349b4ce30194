"""The two ends of every comparison: a policy that knows nothing, and one that knows everything.

Rule
----
`UniformRandom` pulls a uniformly random arm at every step: its regret is T times the mean gap. `Oracle`
always pulls the arm with the largest mean of the step: its dynamic regret is 0, and its static regret, which
is against one arm, at most 0. It breaks ties uniformly. Where means depend on what was pulled before
(`Rested`) the best arm of a step is not known beforehand, and `Oracle` is refused.

Source
------
None: both are definitions.

Deviations
----------
None.

Late rewards
------------
Rewards are not used. Absent arms: both choose among the candidates.

Cost
----
`UniformRandom`: O(1) a step, memory O(K). `Oracle`: O(K) a step, memory O(K phases); where means move with
time (`Restless`) each step is a phase.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from brigand.errors import InvalidValueError
from brigand.jit import kernel
from brigand.policies.base import Header, Kernels, Policy, Table, need_horizon, record
from brigand.policies.kernels.choices import index_propensity, index_select
from brigand.spec import later

if TYPE_CHECKING:
    from brigand.environments.world import World

RANDOM_HEADER = record(step=0)
ORACLE_HEADER = record(step=0, phase=0)
ARM = record(pulls=0)
MEAN = record(start=0, mean=0.0)  # of one arm in one phase, phase by phase; the phase's first step


class BaselineParameters(NamedTuple):
    """The number of phases the oracle knows; 0 for the random policy."""

    phases: int


@kernel
def select_random(
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    candidates: Any,
    rng: np.random.Generator,
) -> int:
    return candidates[int(rng.random() * len(candidates))]


@kernel
def propensity_random(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, arm: int
) -> float:
    return 1.0 / len(candidates)


@kernel
def pull_random(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    arms[arm]["pulls"] += 1


@kernel
def best_index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    return memory[header["phase"] * len(arms) + arm]["mean"]


select_best = index_select(best_index)


propensity_best = index_propensity(best_index)


@kernel
def pull_best(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    arms[arm]["pulls"] += 1
    following = header["phase"] + 1
    if following < parameters.phases and header["step"] + 1 >= memory[following * len(arms)]["start"]:
        header["phase"] = following


@kernel
def learn_nothing(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    return


@dataclass(frozen=True)
class UniformRandom(Policy):
    """Pulls a uniformly random arm at every step."""

    kernels: ClassVar[Kernels] = Kernels(
        select_random, pull_random, learn_nothing, propensity=propensity_random
    )
    grows: ClassVar[bool] = True
    header: ClassVar[Table] = RANDOM_HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "none"
    known_from: ClassVar[str] = "published"

    @property
    def must_know(self) -> str:
        return "nothing"

    def parameters(self, n_arms: int, horizon: int | None) -> BaselineParameters:
        return BaselineParameters(0)


@dataclass(frozen=True)
class Oracle(Policy):
    """Always pulls an arm with the largest mean of the step; made by `oracle`.

    Parameters
    ----------
    starts : tuple of int
        The first step of each phase. Filled in by `simulate`, like the means.
    means : tuple of tuples of float
        The arms' means in each phase.
    world : Restless, optional
        In their place, by keyword: the world whose means move with time. Also filled in.
    """

    starts: tuple[int, ...] = ()
    means: tuple[tuple[float, ...], ...] = ()
    world: Any = later(None)

    kernels: ClassVar[Kernels] = Kernels(select_best, pull_best, learn_nothing, propensity=propensity_best)
    header: ClassVar[Table] = ORACLE_HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "none"
    known_from: ClassVar[str] = "published"

    @property
    def must_know(self) -> str:
        return "every mean at every step"

    @property
    def memory_cost(self) -> str:
        return "O(K phases)"

    def parameters(self, n_arms: int, horizon: int | None) -> BaselineParameters:
        if not self.means and self.world is None:
            raise InvalidValueError(
                "an oracle knows an environment: use it in simulate(), or make it with "
                "oracle().informed(environment)."
            )
        _, means = self._known(horizon)
        if len(means[0]) != n_arms:
            raise InvalidValueError(f"this oracle knows {len(means[0])} arms, not {n_arms}.")
        return BaselineParameters(len(means))

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        starts, means = self._known(horizon)
        memory = np.repeat(MEAN, len(means) * n_arms)
        memory["start"] = np.repeat(starts, n_arms)
        memory["mean"] = np.ravel(means)
        return memory

    def _known(self, horizon: int | None) -> tuple[Any, Any]:
        """Return the first step of each phase, and its means."""
        if self.world is None:
            return self.starts, self.means
        steps = need_horizon("an oracle in a world whose means move", horizon)
        return np.arange(1, steps + 1), self.world.table(steps)[:steps]

    def informed(self, environment: World) -> Self:
        known: Any = environment
        if hasattr(known, "phases"):
            return type(self)(known.starts, tuple(tuple(row) for row in known.means.tolist()))
        if getattr(known, "by_pulls", True):
            raise InvalidValueError(
                "an oracle knows the best arm of each step beforehand, which in "
                f"{type(environment).__name__} depends on what was pulled."
            )
        return type(self)(world=environment)


def oracle() -> Oracle:
    """Return the policy that always pulls the best arm: the zero line of every regret plot."""
    return Oracle()
