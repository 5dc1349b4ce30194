"""Arms whose means move: by themselves (`Restless`), or by being pulled (`Rested`).

The reward of a step is a function of the arm's mean m then, and of one draw X of its noise::

    "bernoulli"         1 with probability m, else 0
    "exponential"       m X, X exponential with mean 1
    a distribution      m + X - E X
    None                m

To it may be added a noise that is shared by all arms, `SharedNoise`.

A step draws its random numbers as in an `Environment` (`brigand.environments.draw`), so at a given step all
policies meet the same ones.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brigand import checks
from brigand.environments.continuous import ExponentialReward, Uniform
from brigand.environments.distribution import Distribution
from brigand.environments.environment import Environment, as_distribution
from brigand.environments.paths import MeanPath, MeanTable
from brigand.environments.world import Floats, World
from brigand.errors import InvalidValueError
from brigand.jit import kernel
from brigand.spec import Spec, later

SHIFTED, SCALED, CHANCE = range(3)
NOISE = np.dtype([("way", int), ("center", float)], align=True)
KINDS: dict[str | None, tuple[int, Distribution]] = {
    "bernoulli": (CHANCE, Uniform()),
    "exponential": (SCALED, ExponentialReward(1.0)),
    None: (SHIFTED, Uniform(0.0, 0.0)),
}
Noise = Distribution | str | None


@kernel
def reward_about(noise: Any, mean: float, drawn: float, uniform: float) -> float:
    """Return the reward of an arm whose mean is `mean`.

    Parameters
    ----------
    noise : record
        How the reward depends on the mean, ``way``, and the mean of the noise, ``center``.
    mean : float
    drawn : float
        What `brigand.environments.draw.draw` returns for the noise.
    uniform : float
        The uniform number of the step.
    """
    if noise["way"] == CHANCE:
        return 1.0 if uniform < mean else 0.0
    if noise["way"] == SCALED:
        return mean * drawn
    return mean + (drawn - float(noise["center"]))


@dataclass(frozen=True)
class SharedNoise(Spec):
    """Noise that all arms share: load_k z at each step, z Gaussian with mean 0, variance 1, and a memory.

    Rewards of arms i and j at one step so have the covariance load_i load_j. z is an autoregression, drawn
    anew in each replication: z(t + 1) = persistence z(t) + sqrt(1 - persistence^2) N(0, 1). It changes no
    mean, and no regret is due to it.

    A policy sees one arm a step. So without persistence nothing that it does depends on the arms'
    correlation: the law of its pulls is that of independent noise of variance load_k^2.

    Parameters
    ----------
    loads : float or sequence of float
        Of all arms, or of each; of either sign.
    persistence : float
        Correlation of z at neighbouring steps, in [0, 1).
    """

    loads: float | Sequence[float]
    persistence: float = 0.0

    def __post_init__(self) -> None:
        if np.ndim(self.loads) == 0:
            self._keep(loads=checks.number("SharedNoise's loads", self.loads))
        else:
            self._keep(loads=checks.numbers_tuple("SharedNoise's loads", self.loads))
        self._keep(persistence=checks.number("SharedNoise's persistence", self.persistence, 0.0, 1.0))
        if self.persistence == 1.0:
            raise InvalidValueError("SharedNoise's persistence must be below 1: noise returns to its mean.")


class CompiledMoving(NamedTuple):
    """A world whose means move as the step loop takes it.

    `means` has shape (rows, K), `best` is the largest mean of each row, `laws` and `noise` have shape (K,).
    `by_pulls` says whether an arm's row is that of its own pulls, or that of the step. `loads`, (K,), are
    those of the shared noise.
    """

    means: Floats
    best: Floats
    noise: NDArray[np.void]
    laws: NDArray[np.void]
    table: Floats
    by_pulls: bool
    uses_uniform: bool
    uses_normal: bool
    loads: Floats
    persistence: float
    uses_shared: bool


@dataclass(frozen=True)
class Moving(World):
    """Base of worlds whose means move.

    Parameters
    ----------
    means : MeanPath
    noise : Distribution, str or None, or a sequence of K of these
        How rewards are spread about the mean, see the module: of all arms, or of each.
    shared : SharedNoise, optional
        Noise that all arms share, by keyword.
    """

    means: MeanPath
    noise: Noise | Sequence[Noise] = "bernoulli"
    shared: SharedNoise | None = later(None)

    by_pulls: ClassVar[bool]

    def __post_init__(self) -> None:
        if not isinstance(self.means, MeanPath):
            raise InvalidValueError(
                f"{type(self).__name__}'s means must be a path such as MeanTable or LinearMeans, "
                f"not {self.means!r}."
            )
        several = isinstance(self.noise, (tuple, list))
        noise = tuple(map(_check_noise, self.noise)) if several else _check_noise(self.noise)  # type: ignore[arg-type]
        if isinstance(noise, tuple) and len(noise) != self.means.n_arms:
            raise InvalidValueError(
                f"{type(self).__name__}'s noise must be one, or {self.means.n_arms} as there are arms, "
                f"not {len(noise)}."
            )
        self._keep(noise=noise)
        if self.shared is not None and not isinstance(self.shared, SharedNoise):
            raise InvalidValueError(f"shared must be a SharedNoise, not {self.shared!r}.")
        if self._loads.shape != (self.n_arms,):
            raise InvalidValueError(
                f"SharedNoise's loads must be one, or {self.n_arms} as there are arms, "
                f"not {len(self._loads)}."
            )

    @property
    def _loads(self) -> Floats:
        loads: Any = 0.0 if self.shared is None else self.shared.loads
        return np.full(self.n_arms, loads) if np.ndim(loads) == 0 else np.array(loads)

    @property
    def n_arms(self) -> int:
        return self.means.n_arms

    @property
    def _noises(self) -> tuple[Noise, ...]:
        return self.noise if isinstance(self.noise, tuple) else (self.noise,) * self.n_arms  # type: ignore[return-value]

    @functools.cached_property
    def drawn(self) -> Environment:
        """The noise as an environment of K arms."""
        return Environment.stationary(
            noise if isinstance(noise, Distribution) else KINDS[noise][1] for noise in self._noises
        )

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """The functions of the user's that it calls."""
        own = getattr(self.means, "function", None)
        return (*self.drawn.functions, *(() if own is None else (own,)))

    @functools.cached_property
    def _tables(self) -> dict[str, Any]:
        return {}

    def table(self, horizon: int) -> Floats:
        """Return the means of at least the first `horizon` rows, shape (rows, K).

        Raises
        ------
        InvalidValueError
            There are not as many, or one is not allowed.
        """
        known: Floats | None = self._tables.get("means")
        if known is None or len(known) < horizon:
            known = self.means.table(horizon)
            self._check_table(known)
            self._tables.clear()
            self._tables["means"] = known
        return known

    def _check_table(self, table: Floats) -> None:
        for arm, noise in enumerate(self._noises):
            low, high = {"bernoulli": (0.0, 1.0), "exponential": (0.0, math.inf)}.get(
                noise if isinstance(noise, str) else "", (-math.inf, math.inf)
            )
            wrong = (table[:, arm] < low) | (table[:, arm] > high)
            if wrong.any():
                row = int(np.argmax(wrong))
                allowed = "in [0, 1]" if high == 1 else ">= 0"
                raise InvalidValueError(
                    f"means of {noise} rewards must be {allowed}, but that of arm {arm} is "
                    f"{table[row, arm]:g} in row {row + 1}."
                )

    def _kept(self, name: str, horizon: int, make: Callable[[Floats], Any]) -> Any:
        """Return what is made of the table, once for each table."""
        table = self.table(horizon)
        known = self._tables.get(name)
        if known is None or known[0] is not table:
            known = self._tables[name] = (table, make(table))
        return known[1]

    def arm_supports(self, horizon: int) -> list[tuple[str, float, float]]:
        table = self.table(horizon)[:horizon]
        found = []
        for arm, noise in enumerate(self._noises):
            least, most = float(table[:, arm].min()), float(table[:, arm].max())
            if noise == "bernoulli":
                ends = 0.0, 1.0
            elif noise == "exponential":
                ends = 0.0, math.inf
            else:
                law = self.drawn.phases[0][arm]
                low, high = law.support
                ends = least + (low - law.mean), most + (high - law.mean)
            if self._loads[arm] != 0:
                ends = -math.inf, math.inf
            found.append((f"arm {arm} of {type(self).__name__}", *ends))
        return found

    def largest(self, horizon: int) -> float:
        table = self.table(horizon)[:horizon]
        most = float(np.abs(table).max()) + 12.0 * float(np.abs(self._loads).max())
        if any(noise == "exponential" for noise in self._noises):
            return max(most, 1.0) * self.drawn.reach
        centers = max(abs(arm.mean) for arm in self.drawn.phases[0])
        return most + self.drawn.reach + centers

    def compiled(self, horizon: int) -> CompiledMoving:
        """Return the world as the step loop takes it."""
        noise = np.zeros(self.n_arms, NOISE)
        for arm, law in enumerate(self.drawn.phases[0]):
            way = SHIFTED if isinstance(self._noises[arm], Distribution) else KINDS[self._noises[arm]][0]  # type: ignore[index]
            noise[arm] = (way, law.mean)
        laws, table, _, uses_uniform, uses_normal = self.drawn.compiled
        best = self._kept("best", horizon, lambda means: means.max(axis=1))
        return CompiledMoving(
            self.table(horizon),
            best,
            noise,
            laws[0],
            table,
            self.by_pulls,
            uses_uniform,
            uses_normal,
            self._loads,
            0.0 if self.shared is None else float(self.shared.persistence),
            self.shared is not None,
        )

    @abstractmethod
    def regret_of(self, lost: Floats, pulls: NDArray[np.int64], checkpoints: NDArray[np.int64]) -> Floats:
        """Return the regret at checkpoints, from what was lost against the best of each row, and pulls.

        Parameters
        ----------
        lost : float64 array of shape (n, checkpoints)
        pulls : int64 array of shape (n, checkpoints, K)
        checkpoints : int64 array
        """

    def instance(self, number: int) -> Self:
        changed: Self = dataclasses.replace(self, means=self.means.reseeded(number))
        return changed


@dataclass(frozen=True)
class Restless(Moving):
    """K arms whose means move with time, whatever is pulled.

    Parameters
    ----------
    means : MeanPath
        Row t holds the means of step t.
    noise : Distribution, str or None, or a sequence of K of these
        How rewards are spread about the mean m: ``"bernoulli"``: 1 with probability m, else 0;
        ``"exponential"``: exponential with mean m; a distribution: of which the mean is moved to m; None:
        the reward is m. Of all arms, or of each.
    regret : {"dynamic", "static"}
        Against the best arm of each step; or against the one arm that is best in hindsight over the steps
        so far, as is usual for adversarial rewards. Static regret can be negative, and fall.
    shared : SharedNoise, optional
        Noise that all arms share, by keyword.

    Examples
    --------
    >>> import brigand as br
    >>> world = br.Restless(br.SeasonalMeans([0.5, 0.5], 0.3, 1000, phase=[0, 0.5]))
    >>> world.table(750)[[0, 249, 749]].round(3)  # of steps 1, 250 and 750
    array([[0.5, 0.5],
           [0.8, 0.2],
           [0.2, 0.8]])
    >>> world.best_total([1, 500]).round(3)
    array([  0.5  , 345.493])
    """

    regret: str = "dynamic"

    by_pulls: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.regret not in ("dynamic", "static"):
            raise InvalidValueError(f"regret must be 'dynamic' or 'static', not {self.regret!r}.")

    @classmethod
    def of_rewards(cls, rewards: ArrayLike, regret: str = "static") -> Self:
        """Return the world that pays what a table says, made by an adversary or taken from a log.

        Parameters
        ----------
        rewards : array-like of shape (T, K)
            ``rewards[t, k]`` is what arm k pays at step t + 1. Finite. No run may be longer.
        regret : {"dynamic", "static"}
        """
        return cls(MeanTable(rewards), None, regret)  # type: ignore[arg-type]

    @property
    def regret_kind(self) -> str:  # type: ignore[override]
        """``"dynamic"`` or ``"static"``."""
        return self.regret

    def mean_gaps(self, horizon: int) -> Floats:
        means = self.table(horizon)[:horizon].mean(axis=0)
        best = self.best_total(horizon) / horizon
        return np.asarray(best - means)

    def worst_regret(self, steps: ArrayLike) -> Floats:
        at = np.asarray(steps, np.int64)
        lost = self._kept("worst", int(at.max(initial=1)), lambda t: _summed(t.max(axis=1) - t.min(axis=1)))
        return np.asarray(lost[at] - self._head_start(at))

    def best_total(self, steps: ArrayLike) -> Floats:
        at = np.asarray(steps, np.int64)
        total = self._kept("total", int(at.max(initial=1)), lambda t: _summed(t.max(axis=1)))
        return np.asarray(total[at] - self._head_start(at))

    def _head_start(self, at: NDArray[np.int64]) -> Floats:
        """Return how much more the best arms of each step pay than the one that is best in hindsight."""
        if self.regret == "dynamic":
            return np.zeros(at.shape)

        def lead(table: Floats) -> Floats:
            return np.asarray(_summed(table.max(axis=1)) - _summed(table).max(axis=1))

        return np.asarray(self._kept("lead", int(at.max(initial=1)), lead)[at])

    def regret_of(self, lost: Floats, pulls: NDArray[np.int64], checkpoints: NDArray[np.int64]) -> Floats:
        return np.asarray(lost - self._head_start(checkpoints))


@dataclass(frozen=True)
class Rested(Moving):
    """K arms whose means change by being pulled: rotting or rising arms.

    Regret is *policy regret*: what the best policy in hindsight has in the mean over the steps so far, less
    what the pulls that were made have in the mean. If no arm ever rises, that policy always pulls the arm
    whose next mean is the largest (Heidari, Kearns, Roth, IJCAI 2016). If none ever falls, it pulls a
    single arm only. Other worlds are refused: to find their best policy is another problem.

    Parameters
    ----------
    means : MeanPath
        Row n holds the means of each arm at its own n-th pull.
    noise : Distribution, str or None, or a sequence of K of these
        As in `Restless`.
    shared : SharedNoise, optional
        Noise that all arms share, by keyword.

    Examples
    --------
    >>> import brigand as br
    >>> world = br.Rested(br.PowerMeans([1.0, 0.8], decay=[0.5, 0.1]), noise=br.Gaussian(0, 0.2))
    >>> world.best_total([1, 2, 3]).round(3)
    array([1.   , 1.8  , 2.546])
    """

    by_pulls: ClassVar[bool] = True
    regret_kind: ClassVar[str] = "policy"

    def _check_table(self, table: Floats) -> None:
        super()._check_table(table)
        steps = np.diff(table, axis=0)
        if (steps > 0).any() and (steps < 0).any():
            up, down = (np.argwhere(there)[0] for there in (steps > 0, steps < 0))
            raise InvalidValueError(
                "Rested needs arms of which none ever rises, or none ever falls, but after pull "
                f"{up[0] + 1} arm {up[1]} rises, and after pull {down[0] + 1} arm {down[1]} falls."
            )

    def mean_gaps(self, horizon: int) -> Floats:
        means = self.table(horizon)[:horizon].mean(axis=0)
        return np.asarray(means.max() - means)

    def worst_regret(self, steps: ArrayLike) -> Floats:
        at = np.asarray(steps, np.int64)
        worst = self._kept("worst", int(at.max(initial=1)), lambda table: -_best_by_pulls(-table))
        return np.asarray(self.best_total(at) - worst[at])

    def best_total(self, steps: ArrayLike) -> Floats:
        at = np.asarray(steps, np.int64)
        return np.asarray(self._kept("total", int(at.max(initial=1)), _best_by_pulls)[at])

    def regret_of(self, lost: Floats, pulls: NDArray[np.int64], checkpoints: NDArray[np.int64]) -> Floats:
        sums = self._kept("sums", int(checkpoints[-1]), _summed)
        paid = np.take_along_axis(sums, pulls.reshape(-1, self.n_arms), axis=0)
        return np.asarray(self.best_total(checkpoints) - paid.sum(axis=1).reshape(pulls.shape[:2]))


def _best_by_pulls(table: Floats) -> Floats:
    """Return what the best policy has over 0, 1, 2, ... steps, of arms that all fall, or all rise."""
    if (np.diff(table, axis=0) > 0).any():
        return np.asarray(_summed(table).max(axis=1))
    rows = len(table)
    largest = np.partition(table.ravel(), table.size - rows)[table.size - rows :]
    return _summed(np.sort(largest)[::-1])


def _summed(values: Floats) -> Floats:
    """Return the sums of the first 0, 1, 2, ... values, along the first axis."""
    sums = np.zeros((len(values) + 1, *values.shape[1:]))
    sums[1:] = np.cumsum(values, axis=0, dtype=np.longdouble)
    return sums


def _check_noise(noise: object) -> Noise:
    if noise is None or (isinstance(noise, str) and noise in KINDS):
        return noise
    found = as_distribution(noise)
    if found is None:
        raise InvalidValueError(
            "noise must be 'bernoulli', 'exponential', a reward distribution such as Gaussian(0, 0.1), "
            f"or None, not {noise!r}."
        )
    return found
