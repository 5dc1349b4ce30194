"""The two ends of every comparison: a policy that knows nothing, and one that knows everything.

Rule
----
`UniformRandom` pulls a uniformly random arm at every step: its regret is T times the mean gap. `Oracle`
always pulls the arm with the largest mean: its regret is 0. It breaks ties uniformly.

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
`UniformRandom`: O(1) a step, memory O(K). `Oracle`: O(K) a step, memory O(K phases).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from brigand.errors import InvalidValueError
from brigand.jit import kernel
from brigand.policies.base import Header, Kernels, Policy, Table, record
from brigand.policies.kernels.choices import index_propensity, index_select

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
    """Always pulls an arm with the largest mean, also after every breakpoint; made by `oracle`.

    Parameters
    ----------
    starts : tuple of int
        The first step of each phase. Filled in by `simulate`, like the means.
    means : tuple of tuples of float
        The arms' means in each phase.
    """

    starts: tuple[int, ...] = ()
    means: tuple[tuple[float, ...], ...] = ()

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
        if not self.means:
            raise InvalidValueError(
                "an oracle knows an environment: use it in simulate(), or make it with "
                "oracle().informed(environment)."
            )
        if len(self.means[0]) != n_arms:
            raise InvalidValueError(f"this oracle knows {len(self.means[0])} arms, not {n_arms}.")
        return BaselineParameters(len(self.means))

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        memory = np.repeat(MEAN, len(self.means) * n_arms)
        memory["start"] = np.repeat(self.starts, n_arms)
        memory["mean"] = np.ravel(self.means)
        return memory

    def informed(self, environment: World) -> Self:
        known: Any = environment
        if not hasattr(known, "phases"):
            raise InvalidValueError(
                f"an oracle knows the phases of an Environment, and {type(environment).__name__} has none."
            )
        return type(self)(known.starts, tuple(tuple(row) for row in known.means.tolist()))


def oracle() -> Oracle:
    """Return the policy that always pulls the best arm: the zero line of every regret plot."""
    return Oracle()
