"""The policy contract, for the compiled simulation and the live API alike.

A policy is a frozen dataclass (what the user sets) and three kernels over three plain NumPy tables (what
it does). A policy file holds, in this order: a docstring, the state layout, the kernels, the class.

State
-----
header : one record
    Field ``step`` is always there: the number of pulls made so far.
arms : shape (K,), one record per arm
memory : shape (n,), a window or a history; n = 0 for policies that need none

The layout of a table is declared by its first record (`record`), and every field is an int64 or a
float64. Fields are read and written by item, ``arms[i]["mean"]``, which runs alike in Python and
compiled. By convention ``mean`` is NaN until a reward has arrived, so that no comparison prefers it.

Kernels
-------
``select(parameters, header, arms, memory, candidates, rng) -> arm``
    Chooses one of `candidates` (int64 array of the arms allowed now, ascending, never empty). Changes
    no table; may draw from `rng`, a `numpy.random.Generator`.
``pull(parameters, header, arms, memory, arm)``
    The decision is made. Clocks, ages, rounds and windows move here.
``learn(parameters, header, arms, memory, arm, reward, step)``
    The reward of the pull made at `step` (counted from 1) arrives, maybe late, maybe out of order.
``miss(parameters, header, arms, memory, arm)``, optional
    An arm is not among the candidates of this step; called for each such arm between `select` and `pull`.
    Only for policies whose clocks wait for every arm: most do nothing.
``estimate(parameters, header, arms, memory, arm) -> (float, float)``, optional
    What the policy knows of an arm before a pull: an estimate, in units of the rewards and NaN if there is
    none, and the number of rewards that it is made of, 0 if it knows none. Changes no table. Decisions are
    explained by it. For policies that forget, or whose estimate is no mean: for others it is the mean of all
    rewards, which is not theirs to keep.
``propensity(parameters, header, arms, memory, candidates, arm) -> float``, optional
    The probability with which `select` chooses `arm`, one of `candidates`, given the tables: the mixture of
    a policy that draws arms, 1 / n among n tied ones where only ties are drawn. NaN where it is no number
    that can be computed. Changes no table.
``correct(parameters, header, arms, memory, arm, was, reward, step)``, optional
    The reward of the pull made at `step`, which was learned as `was`, is `reward`. For policies that keep no
    more of rewards than sums. Others learn no corrections: see `Policy.corrects`.

With immediate rewards the three in turn are exactly the published algorithm. Kernels are plain
functions marked by `brigand.jit.kernel`; `parameters` is a NamedTuple of ints and floats, whose class
name is unique among all policies (Numba tells NamedTuple classes apart by name and fields alone).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from brigand import checks
from brigand.errors import InvalidValueError, PolicyError, UnsupportedRewardError
from brigand.jit import kernel
from brigand.spec import Spec

if TYPE_CHECKING:
    from brigand.environments.world import World

Table = NDArray[np.void]
"""A structured array: `arms`, `memory`, or the declaration of a layout."""
Header = Any
"""One record (`numpy.void`) of the header's layout."""


def record(**fields: int | float) -> Table:
    """Declare a table's layout by its first record.

    Parameters
    ----------
    **fields : int or float
        Initial values. An int makes an int64 field, a float a float64 field.

    Returns
    -------
    ndarray of shape (1,)

    Examples
    --------
    >>> record(count=0, mean=float("nan")).dtype.names
    ('count', 'mean')
    """
    dtype = np.dtype([(name, type(value)) for name, value in fields.items()], align=True)
    return np.array([tuple(fields.values())], dtype=dtype)


KNOWN_FROM = {
    "published": "the rule stands in the paper",
    "authors' code": "the rule is that of the authors' code",
    "reconstruction": "the rule is our reading, from an abstract, a second source or memory",
    "ours": "the rule is Brigand's own",
}
"""How a policy's rule can be known, and what that says."""
NO_MEMORY = record(unused=0)[:0]
"""The memory of a policy that needs none: an empty table."""


@kernel
def never_mind(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    """Do nothing about an arm that is not available."""


@kernel
def all_rewards(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> tuple[float, float]:
    """Stand for the mean of all rewards, which whoever runs the policy keeps."""
    return math.nan, 0.0


@kernel
def no_number(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, arm: int
) -> float:
    """Stand for a propensity that cannot be computed."""
    return math.nan


@kernel
def never_corrected(
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    arm: int,
    was: float,
    reward: float,
    step: int,
) -> None:
    """Stand for a correction that cannot be learned."""


class Kernels(NamedTuple):
    """What a policy does: plain functions, see the module's docstring."""

    select: Callable[..., Any]
    pull: Callable[..., None]
    learn: Callable[..., None]
    miss: Callable[..., None] = never_mind
    estimate: Callable[..., tuple[float, float]] = all_rewards
    propensity: Callable[..., float] = no_number
    correct: Callable[..., None] = never_corrected


class Estimated(NamedTuple):
    """How to speak of what the kernel ``estimate`` gives: "mean 0.42 over 812 rewards of the last 900 steps".

    Attributes
    ----------
    name : str
        Of the estimate.
    over : str
        What stands before the number.
    thing : str
        What the number counts.
    scope : str
        Which of them, after a space.
    none : str
        What is said where there are none; ``{arm}`` is the arm's name.
    """

    name: str = "mean"
    over: str = "over"
    thing: str = "reward"
    scope: str = ""
    none: str = "no reward of {arm} is known yet"


class Explanation(NamedTuple):
    """Why an arm was chosen: a sentence that a product manager can read, and the numbers in it."""

    kind: str
    sentence: str
    data: dict[str, int | float]


class State(NamedTuple):
    """The state of one run: three tables."""

    header: Header
    arms: Table
    memory: Table


@dataclass(frozen=True)
class Policy(Spec, ABC):
    """Base of all policies; a user's own policy has every right that ours have.

    A subclass sets the class attributes below and defines `parameters`, and `memory` if it needs one.
    """

    kernels: ClassVar[Kernels]
    header: ClassVar[Table]
    arm: ClassVar[Table]
    assumption: ClassVar[str]
    """What the policy's guarantee assumes of the rewards."""
    reference: ClassVar[str] = ""
    """Key of the paper in ``references.bib``."""
    grows: ClassVar[bool] = False
    """Whether a live bandit may give a new arm a fresh row at any time, as if it had never been a candidate.

    Then what the header and the other rows hold does not depend on how many rows there are, but for what
    `grown` mends; and `parameters` may not, but for their field ``derived``. For others all is done again
    from the beginning.
    """
    narrow: ClassVar[bool] = False
    """Whether integers in `arm` fit into 32 bits as long as the number of steps does."""
    known_from: ClassVar[str] = ""
    """How the rule is known: a key of `KNOWN_FROM`, or ``""`` if it is not said."""

    @property
    @abstractmethod
    def must_know(self) -> str:
        """What the user must know beforehand, for these settings."""

    @property
    def memory_cost(self) -> str:
        """How memory grows."""
        return "O(K)"

    @property
    def reward_support(self) -> tuple[float, float]:
        """The least and greatest reward that the policy can work with at all."""
        return (-math.inf, math.inf)

    @property
    def reward_range(self) -> tuple[float, float]:
        """The range of the rewards for which the guarantee holds; the policy may work with others, too."""
        return self.reward_support

    @abstractmethod
    def parameters(self, n_arms: int, horizon: int | None) -> Any:
        """Resolve what depends on K and T into numbers for the kernels.

        Parameters
        ----------
        n_arms : int
            K, at least 1.
        horizon : int or None
            T, at least 1; None if it is not known.

        Returns
        -------
        NamedTuple of int and float
            A field ``derived`` may be None, see there.

        Raises
        ------
        InvalidValueError
            The policy needs the horizon and was given None.
        """

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        """Return a fresh memory table (same arguments as `parameters`)."""
        return NO_MEMORY.copy()

    def derived(self, n_arms: int) -> int:
        """Return how many of the last rows of `memory` follow from the rest of the state.

        They are not stored. The kernels make them anew where they are fresh. The field ``derived`` of the
        parameters, if there is one, says where they begin, or None: then there are none, and Numba compiles
        no code for them.
        """
        return 0

    def start(self, n_arms: int, horizon: int | None, key: int = 0) -> State:
        """Return the state before the first pull.

        Parameters
        ----------
        n_arms, horizon
            As in `parameters`.
        key : int
            A random 63-bit number for policies that randomise what they learn; it is stored in the
            header's field ``key`` if there is one (`brigand.policies.kernels.randomness.uniform_at`).
        """
        checks.integer("n_arms", n_arms, 1)
        header = self.header.copy()[0]
        if "key" in self.header.dtype.names:  # type: ignore[operator]
            header["key"] = key
        return State(header, np.repeat(self.arm, n_arms), self.memory(n_arms, horizon))

    def grown(self, header: Header, arms: Table) -> None:
        """Take notice of a fresh last row in the table of arms, if the policy `grows`."""

    @property
    def corrects(self) -> bool:
        """Whether the policy can learn another reward in the place of one that it has learned."""
        return self.kernels.correct is not never_corrected

    @property
    def estimated(self) -> Estimated:
        """How to speak of the policy's estimates."""
        return Estimated()

    def explain(self, arm: str, header: Header, row: Header, among: str) -> Explanation | None:
        """Say why an arm was chosen, where there is more to say than how its estimate compares.

        Parameters
        ----------
        arm : str
            Its name.
        header, row
            The header, and the arm's record, before the pull.
        among : str
            ``""``, or ``" of the available arms"`` where some were not candidates.
        """
        return None

    def _repr_html_(self) -> str:
        """Return tables of the settings and of what is needed, for notebooks."""
        from brigand.policies.shown import html  # in here, for stored results hang on what a policy imports

        return html(self)

    def informed(self, environment: World) -> Self:
        """Return the policy that knows `environment`: itself, for all but oracles."""
        return self

    def check_rewards(self, low: float, high: float, source: str) -> None:
        """Refuse rewards in ``[low, high]`` that the policy cannot work with.

        Raises
        ------
        UnsupportedRewardError
            Some are outside of `reward_support`; `source` says where they come from.
        """
        least, greatest = self.reward_support
        if low < least or high > greatest:
            paid = f"{low:g}" if low == high else f"rewards in [{low:g}, {high:g}]"
            raise UnsupportedRewardError(
                f"{type(self).__name__} needs rewards in [{least:g}, {greatest:g}], but {source} pays {paid}."
            )


@dataclass(frozen=True)
class BoundedPolicy(Policy):
    """Base of policies for rewards in [0, 1]; rewards in another range are rescaled to it.

    Parameters
    ----------
    low, high : float
        The range of the rewards, by keyword. Rewards outside of it are refused.
    """

    low: float = field(default=0.0, kw_only=True)
    high: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        low, high = checks.interval(type(self).__name__, self.low, self.high)
        self._keep(low=low, high=high)

    @property
    def reward_support(self) -> tuple[float, float]:
        return (float(self.low), float(self.high))

    @property
    def must_know(self) -> str:
        return f"the range [{self.low:g}, {self.high:g}]"


def need_horizon(policy: str, horizon: int | None) -> int:
    """Return the horizon, or raise if it is not known."""
    if horizon is None:
        raise InvalidValueError(f"{policy} needs the horizon (the number of steps T), and none was given.")
    return horizon


def ring_length(window: int, horizon: int | None) -> int:
    """Return how long a ring of the last `window` steps is: what is beyond the horizon is never used."""
    return window if horizon is None else min(window, horizon)


def check_choices(policy: Policy, step: int) -> None:
    """Raise if a loop returned a step at which the policy chose an arm that is not there.

    Raises
    ------
    PolicyError
        `step` is not 0.
    """
    if step:
        name = type(policy).__name__
        raise PolicyError(f"{name}'s select returned an arm that is not there, at step {step}.")
