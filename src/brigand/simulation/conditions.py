"""The conditions under which a policy works: when its rewards come, if they do, and which arms are there.

At step t an arm is chosen among those that are there, and pulled. Its reward comes d steps later, for
d = 0, 1, ...: with d = 0 it is learned before the choice of step t + 1, as in a plain simulation. Arms may be
chosen in batches: what has come is learned after the last step of a batch, in the order in which it came; of
what came at the same step, the reward of the earlier pull first.

A reward is that of its pull, whenever it comes: in `Restless` it is drawn with the means of the step of the
pull, and in `Rested` with the mean of the arm after as many pulls as had been made of it then, whether their
rewards were known or not.
"""

from __future__ import annotations

import functools
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from brigand import checks
from brigand.environments.discrete import FiniteSupport
from brigand.environments.distribution import Distribution
from brigand.environments.draw import GEOMETRIC, NORMALS
from brigand.environments.environment import CompiledEnvironment, Environment, as_distribution
from brigand.environments.functions import FunctionReward
from brigand.environments.moving import CompiledMoving, Moving
from brigand.environments.world import Floats, World
from brigand.errors import InvalidValueError, UnknownNameError
from brigand.policies.base import Policy
from brigand.spec import Spec

PENDING = ("ignored", "imputed")
"""What a policy makes of a pull whose reward has not come."""


@dataclass(frozen=True)
class Arrivals(Spec):
    """Which arms are there at which steps: each comes once, and may go for good.

    Parameters
    ----------
    starts : sequence of int
        The first step (counted from 1) at which each arm is there.
    ends : sequence of int or None, optional
        The last one; None if it stays. By default all stay.

    Examples
    --------
    >>> import brigand as br
    >>> late = br.Arrivals([1, 1, 500], ends=[None, 800, None])  # a third arm comes, the second goes
    """

    starts: Sequence[int]
    ends: Sequence[int | None] | None = None

    def __post_init__(self) -> None:
        starts = tuple(
            checks.integer("an arm's first step", step, 1, checks.MAX_STEPS)
            for step in checks.listed("starts", self.starts)
        )
        ends = (None,) * len(starts) if self.ends is None else checks.listed("ends", self.ends)
        if not starts or len(ends) != len(starts):
            raise InvalidValueError(
                f"Arrivals needs a first and a last step of each arm, not {len(starts)} and {len(ends)}."
            )
        self._keep(starts=starts)
        self._keep(ends=tuple(_end(k, *both) for k, both in enumerate(zip(starts, ends, strict=True))))

    def there(self, step: int) -> NDArray[np.bool_]:
        """Return which arms are there at a step, shape (K,)."""
        return np.array(
            [
                start <= step and (end is None or step <= end)
                for start, end in zip(self.starts, self.ends or (), strict=True)
            ]
        )

    @property
    def changes(self) -> set[int]:
        """Steps at which arms come, and those after which they go."""
        return {*self.starts, *(end + 1 for end in self.ends or () if end is not None)}


@dataclass(frozen=True)
class Conditions(Spec):
    """When rewards come, if they do, and which arms are there; see `brigand.simulate`.

    Parameters
    ----------
    delay : int, Distribution, or sequence of these
        Steps from a pull to its reward, rounded down: as many, by a distribution, or by that of each arm. A
        distribution has a finite mean.
    lost : float or sequence of float
        Probability that a reward never comes: of all arms, or of each.
    batch : int
        So many arms are chosen at once, before anything is learned.
    arms : Arrivals, optional
        Which arms are there; by default all.
    pending : {"ignored", "imputed"}
        What a policy learns at a pull whose reward does not come at once: nothing; or the arm's mean so far,
        if there is one, in whose place the reward is put when it comes. An index that was told nothing stays,
        and its arm is chosen again and again.

    Raises
    ------
    InvalidValueError
        A delay may be negative, or a value is not allowed.
    UnknownNameError
        There is no such way with pending pulls.

    Examples
    --------
    >>> import brigand as br
    >>> br.Conditions(delay=br.Geometric(mean=500), lost=0.02).is_plain
    False
    """

    delay: Any = 0
    lost: float | Sequence[float] = 0.0
    batch: int = 1
    arms: Arrivals | None = None
    pending: str = "ignored"

    def __post_init__(self) -> None:
        delay = self.delay
        if _is_several(delay):
            delay = tuple(map(_delay, delay))
            if not delay:
                raise InvalidValueError("delay needs a distribution for each arm, not none.")
        elif isinstance(delay, numbers.Integral):
            delay = checks.integer("delay", delay, 0, checks.MAX_STEPS)
        else:
            delay = _delay(delay)
        for one in delay if isinstance(delay, tuple) else (_delay(delay),):
            if isinstance(one, FunctionReward):
                raise InvalidValueError(f"a delay cannot be a function of yours, as {one!r} is.")
            if one.support[0] < 0:
                raise InvalidValueError(
                    f"no reward comes before its pull: a delay of {one!r} may be {one.support[0]:g}."
                )
        if _is_several(self.lost):
            chances = tuple(checks.number("a probability in lost", p, 0.0, 1.0) for p in self.lost)
            self._keep(lost=chances)
        else:
            self._keep(lost=checks.number("lost", self.lost, 0.0, 1.0))
        if self.arms is not None and not isinstance(self.arms, Arrivals):
            raise InvalidValueError(f"arms must be Arrivals, or None, not {self.arms!r}.")
        if not isinstance(self.pending, str) or self.pending not in PENDING:
            raise UnknownNameError("way with pending pulls", str(self.pending), PENDING)
        self._keep(delay=delay, batch=checks.integer("batch", self.batch, 1, checks.MAX_STEPS))

    @property
    def is_plain(self) -> bool:
        """Whether these are the conditions of a plain simulation."""
        return self == Conditions()

    def check(self, environment: World, horizon: int) -> None:
        """Refuse a world of another number of arms, steps without an arm, and regret that is not defined.

        The best arm of each step is the best of those that are there. What is best in hindsight is not as
        simple: a policy in `Rested` would have to pull an arm while it is there, and save those that stay.

        Raises
        ------
        InvalidValueError
        """
        n_arms = environment.n_arms
        parts = {"delay": self.delay, "lost": self.lost, "arms": self.arms and self.arms.starts}
        for name, part in parts.items():
            if isinstance(part, tuple) and len(part) != n_arms:
                raise InvalidValueError(f"{name} is given for {len(part)} arms, but there are {n_arms}.")
        if self.arms is None:
            return
        steps = [step for step in sorted({1, *self.arms.changes}) if step <= horizon]
        for step in steps:
            if not self.arms.there(step).any():
                raise InvalidValueError(f"no arm is there at step {step}.")
        for step in steps:
            if environment.regret_kind != "dynamic" and not self.arms.there(step).all():
                raise InvalidValueError(
                    f"{environment.regret_kind} regret of {type(environment).__name__} is defined only where "
                    f"all arms are there, and not all are at step {step}."
                )

    def check_policy(self, name: str, policy: Policy) -> None:
        """Refuse a policy that cannot put a reward in the place of another, where it would have to.

        Raises
        ------
        InvalidValueError
        """
        if self.pending == "imputed" and not policy.corrects:
            raise InvalidValueError(
                f"{name!r} learns no corrections, which pending='imputed' needs: use pending='ignored'."
            )


class Parted(NamedTuple):
    """A world, cut where arms come or go, as the loop takes it.

    ``starts[p]`` is the 0-based first step of phase p, the first ``sizes[p]`` of ``there[p]`` are the arms
    that are there, and the rest those that are not. `gaps` has the shape (phases, K) in an `Environment`: the
    largest mean among the arms that are there, less the arm's; else (1, K), and is 0: what is lost there,
    the loop adds up by itself. `best_total` is what the regret is measured against, at each checkpoint.
    """

    world: CompiledEnvironment | CompiledMoving
    starts: NDArray[np.int64]
    gaps: Floats
    there: NDArray[np.int64]
    sizes: NDArray[np.int64]
    best_total: Floats


class Delivery(NamedTuple):
    """When rewards come, as the loop takes it."""

    laws: NDArray[np.void]
    table: NDArray[np.float64]
    uses_uniform: bool
    uses_normal: bool
    uses_exponential: bool
    lost: NDArray[np.float64]
    loses: bool
    batch: int
    imputes: bool
    longest: float


def parted(world: World, arms: Arrivals | None, checkpoints: NDArray[np.int64]) -> Parted:
    """Return a world cut where arms come or go.

    Raises
    ------
    InvalidValueError
        It is of a kind that no loop plays.
    """
    if not isinstance(world, (Environment, Moving)):
        raise InvalidValueError(f"no loop plays a {type(world).__name__}.")
    changes = set() if arms is None else {change - 1 for change in arms.changes}
    starts = np.array(sorted({0, *changes, *(start - 1 for start in world.breakpoints)}), np.int64)
    all_there = np.ones(world.n_arms, np.bool_)
    present = np.array([all_there if arms is None else arms.there(int(start) + 1) for start in starts])
    present[~present.any(axis=1)] = True  # after the last step: unused
    there = np.argsort(~present, axis=1, kind="stable")
    sizes = present.sum(axis=1)
    if isinstance(world, Moving):
        horizon = int(checkpoints[-1])
        moving, total = world.compiled(horizon), world.best_total(checkpoints)
        if (sizes[starts < horizon] < world.n_arms).any():  # means by step, then: `Conditions.check`
            phases = np.searchsorted(starts, np.arange(horizon), "right") - 1
            best = np.where(present[phases], moving.means[:horizon], -np.inf).max(axis=1)
            moving = moving._replace(best=best)
            total = np.cumsum(best, dtype=np.longdouble)[checkpoints - 1].astype(float)
        return Parted(moving, starts, np.zeros((1, world.n_arms)), there, sizes, total)
    compiled = world.compiled
    phases = np.searchsorted(compiled.starts, starts, "right") - 1
    means = world.means[phases]
    best = np.where(present, means, -np.inf).max(axis=1)
    compiled = compiled._replace(laws=np.ascontiguousarray(compiled.laws[phases]), starts=starts)
    ends = np.append(starts[1:].astype(float), np.inf)
    spent = np.clip(np.minimum(checkpoints[:, None].astype(float), ends) - starts, 0, None)
    return Parted(compiled, starts, best[:, None] - means, there, sizes, (spent * best).sum(axis=1))


@functools.lru_cache(64)
def delivery_of(conditions: Conditions, n_arms: int) -> Delivery:
    """Return when rewards come."""
    delay = conditions.delay
    delays = delay if isinstance(delay, tuple) else (_delay(delay),) * n_arms
    late = Environment.stationary(delays)
    compiled = late.compiled
    geometric = compiled.laws["kind"] == GEOMETRIC
    uniform = ~(geometric | np.isin(compiled.laws["kind"], NORMALS))
    lost = np.broadcast_to(np.asarray(conditions.lost, float), n_arms).copy()
    return Delivery(
        compiled.laws[0],
        compiled.table,
        bool(uniform.any()),
        compiled.uses_normal,
        bool(geometric.any()),
        lost,
        bool(lost.any()),
        conditions.batch,
        conditions.pending == "imputed",
        late.reach,
    )


def _delay(value: object) -> Distribution:
    if isinstance(value, Distribution):
        return value
    if isinstance(value, numbers.Integral):
        return FiniteSupport((float(checks.integer("a delay", value, 0, checks.MAX_STEPS)),))
    named = as_distribution(value)
    if named is None:
        raise InvalidValueError(
            "a delay must be a number of steps, or a distribution such as Geometric(mean=500) "
            f"({{type: Geometric, mean: 500}}), not {value!r}."
        )
    return named


def _is_several(value: object) -> TypeGuard[Sequence[Any]]:
    """Return whether something is given for each arm."""
    return isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _end(arm: int, start: int, end: object) -> int | None:
    if end is None:
        return None
    return checks.integer(
        f"the last step of arm {arm}, which comes at {start},", end, start, checks.MAX_STEPS
    )
