"""D-UCB and SW-UCB: UCB that forgets, for rewards that change.

Rule
----
Pull the arm with the largest index. After n pulls, with B = high - low:

    D-UCB     S / N + 2 B sqrt(xi log(sum of all N) / N)      N, S: pulls and rewards, those of the pull made
                                                              j pulls ago weighted by gamma^j
    SW-UCB    S / N + B sqrt(xi log(min(n, window)) / N)      N, S: over the last `window` pulls of all arms

Every arm is pulled once first, in random order, and by SW-UCB again when it is absent from the window. Ties
are broken uniformly. With gamma = 1, or a window of T, both are UCB.

The paper tunes gamma = 1 - sqrt(B_T / T) / (4 B) and window = 2 B sqrt(T log T / B_T), where B_T is the
number of changes. The theory asks for xi > 1/2.

Source
------
Garivier, Moulines, "On upper-confidence bound policies for switching bandit problems", ALT 2011. **A
reconstruction** in one point: the default xi = 1/2, that of the paper's simulations, is quoted from memory.

Deviations
----------
Rewards outside of [low, high] are accepted: only the guarantee is lost. A discounted N is kept from underflow
(above 1e-21).

Late rewards
------------
D-UCB gives a late reward the weight of its pull. SW-UCB leaves out a reward of a pull that has left the
window.

An arm that was pulled, and of which no reward has arrived, waits under SW-UCB until its pulls have left the
window. D-UCB pulls it first until it has had 2 + log(n + 1) pulls, and then last
(`kernels.choices.needs_pull`).

Cost
----
O(K) a step, without a root or a logarithm for each arm; memory O(K), and O(K + window).

D-UCB does not discount every arm at every pull. Instead, a pull at step s weighs gamma^-(s - base), and one
number turns such weights into those of now. From time to time (`LIMIT`) the base is moved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.jit import kernel
from brigand.policies.base import Estimated, Header, Kernels, Policy, Table, record, ring_length
from brigand.policies.kernels import window
from brigand.policies.kernels.arithmetic import quotient, two_sum
from brigand.policies.kernels.choices import index_propensity, index_select, needs_pull
from brigand.policies.kernels.estimates import known_mean, windowed

# n_gamma: sum of gamma^j over all pulls; unit: gamma^-(step - base), the weight of a reward now;
# root_log: sqrt(log(n_gamma) unit)
DISCOUNTED_HEADER = record(step=0, n_gamma=0.0, unit=1.0, base=0, root_log=0.0)
# weight, sum and its residue are in units of the base
DISCOUNTED_ARM = record(
    pulls=0, count=0, weight=0.0, sum=0.0, residue=0.0, mean=float("nan"), inverse_root=float("nan")
)
WINDOW_HEADER = record(step=0, root_log=0.0, slot=0, block=1)
WINDOW_ARM = record(pulls=0, inverse_root=float("nan"), **window.ARM)  # pulls inside the window
WINDOW_MEMORY = record(**window.SLOT)
LIMIT = 1e9
LEAST_WEIGHT = 1e-12


class DiscountedUCBParameters(NamedTuple):
    """The factor of sqrt(log n / N), and gamma."""

    width: float
    gamma: float


class SlidingWindowUCBParameters(NamedTuple):
    """The factor of sqrt(log n / N), and the window."""

    width: float
    window: int


@kernel
def discounted_index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    if arms[arm]["count"] == 0:
        return math.inf if needs_pull(arms[arm]["pulls"], 1.0, header["step"]) else math.nan
    return arms[arm]["mean"] + parameters.width * header["root_log"] * arms[arm]["inverse_root"]


select_discounted = index_select(discounted_index)


propensity_discounted = index_propensity(discounted_index)


@kernel
def index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    if arms[arm]["pulls"] == 0:
        return math.inf
    return arms[arm]["mean"] + parameters.width * header["root_log"] * arms[arm]["inverse_root"]


select = index_select(index)


propensity = index_propensity(index)


@kernel
def move_base(header: Header, arms: Table) -> None:
    """Make the current step the base of all weights."""
    for arm in range(len(arms)):
        weight = arms[arm]["weight"]
        if weight > 0.0:
            factor = max(1.0 / header["unit"], LEAST_WEIGHT / weight)
            arms[arm]["weight"] = max(weight * factor, LEAST_WEIGHT)
            arms[arm]["sum"] *= factor
            arms[arm]["residue"] *= factor
            arms[arm]["inverse_root"] = 1.0 / math.sqrt(arms[arm]["weight"])
    header["base"] = header["step"]
    header["unit"] = 1.0


@kernel
def pull_discounted(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    header["n_gamma"] = parameters.gamma * header["n_gamma"] + 1.0
    header["unit"] /= parameters.gamma
    if header["unit"] > LIMIT:
        move_base(header, arms)
    header["root_log"] = math.sqrt(math.log(header["n_gamma"]) * header["unit"])
    arms[arm]["pulls"] += 1


@kernel
def learn_discounted(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    unit = header["unit"]
    if step < header["step"]:
        unit *= math.exp((header["step"] - step) * math.log(parameters.gamma))
        unit = max(unit, LEAST_WEIGHT)
    arms[arm]["count"] += 1
    arms[arm]["weight"] += unit
    total, lost = two_sum(arms[arm]["sum"], unit * reward)
    arms[arm]["sum"] = total
    arms[arm]["residue"] += lost
    arms[arm]["mean"] = quotient(total, arms[arm]["residue"], arms[arm]["weight"])
    arms[arm]["inverse_root"] = 1.0 / math.sqrt(arms[arm]["weight"])


@kernel
def discounted(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> tuple[float, float]:
    """Return the discounted mean and N: the kernel `estimate` of D-UCB."""
    return arms[arm]["mean"], arms[arm]["weight"] / header["unit"]


@kernel
def refresh_root(arms: Table, arm: int) -> None:
    if arms[arm]["count"] > 0:
        arms[arm]["inverse_root"] = 1.0 / math.sqrt(arms[arm]["count"])


@kernel
def pull_window(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    leaving = -1
    if header["step"] > parameters.window:
        leaving = memory[header["slot"]]["arm"]
        arms[leaving]["pulls"] -= 1
    arms[arm]["pulls"] += 1
    window.advance(header, arms, memory, arm, parameters.window)
    if leaving >= 0:
        refresh_root(arms, leaving)
    header["root_log"] = math.sqrt(math.log(min(header["step"], parameters.window)))


@kernel
def learn_window(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    if window.learn_in_window(header, arms, memory, arm, reward, step, parameters.window):
        refresh_root(arms, arm)


class _ForgettingUCB(Policy):
    """What both policies share: the range and xi, which are fields of each."""

    xi: float
    low: float
    high: float

    arm: ClassVar[Table]
    assumption: ClassVar[str] = "bounded in [low, high], piecewise stationary"
    reference: ClassVar[str] = "garivier2011upper"
    known_from: ClassVar[str] = "reconstruction"

    def __post_init__(self) -> None:
        name = type(self).__name__
        self._keep(xi=checks.number(f"{name}'s xi", self.xi, above=0.0))
        low, high = checks.interval(name, self.low, self.high)
        self._keep(low=low, high=high)

    @property
    def reward_range(self) -> tuple[float, float]:
        return (self.low, self.high)

    def _width(self, factor: float) -> float:
        return factor * math.sqrt(self.xi) * (self.high - self.low)


@dataclass(frozen=True)
class DiscountedUCB(_ForgettingUCB):
    """D-UCB: a reward counts gamma^j after j more pulls.

    Parameters
    ----------
    gamma : float
        In (0, 1]; 1 never forgets.
    xi : float
        The factor of the logarithm, > 0.
    low, high : float
        The range of the rewards; its length scales the bound.
    """

    gamma: float
    xi: float = 0.5
    low: float = 0.0
    high: float = 1.0

    kernels: ClassVar[Kernels] = Kernels(
        select_discounted,
        pull_discounted,
        learn_discounted,
        estimate=discounted,
        propensity=propensity_discounted,
    )
    grows: ClassVar[bool] = True
    header: ClassVar[Table] = DISCOUNTED_HEADER
    arm: ClassVar[Table] = DISCOUNTED_ARM

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keep(gamma=checks.number("DiscountedUCB's gamma", self.gamma, 0.0, 1.0, above=0.0))

    @property
    def must_know(self) -> str:
        return "low and high, T and B_T for gamma"

    @property
    def estimated(self) -> Estimated:
        return Estimated(thing="discounted reward")

    def parameters(self, n_arms: int, horizon: int | None) -> DiscountedUCBParameters:
        return DiscountedUCBParameters(self._width(2.0), float(self.gamma))


@dataclass(frozen=True)
class SlidingWindowUCB(_ForgettingUCB):
    """SW-UCB: UCB over the last `window` pulls of all arms together.

    Parameters
    ----------
    window : int
        How many pulls, at least 1.
    xi, low, high
        As for `DiscountedUCB`.
    """

    window: int
    xi: float = 0.5
    low: float = 0.0
    high: float = 1.0

    kernels: ClassVar[Kernels] = Kernels(
        select, pull_window, learn_window, estimate=known_mean, propensity=propensity
    )
    grows: ClassVar[bool] = True
    header: ClassVar[Table] = WINDOW_HEADER
    arm: ClassVar[Table] = WINDOW_ARM

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keep(window=checks.integer("SlidingWindowUCB's window", self.window, 1, checks.MAX_INTEGER))

    @property
    def must_know(self) -> str:
        return "low and high, T and B_T for the window"

    @property
    def estimated(self) -> Estimated:
        return windowed(self.window)

    @property
    def memory_cost(self) -> str:
        return "O(K + window)"

    def parameters(self, n_arms: int, horizon: int | None) -> SlidingWindowUCBParameters:
        return SlidingWindowUCBParameters(self._width(1.0), len(self.memory(n_arms, horizon)))

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        return np.repeat(WINDOW_MEMORY, ring_length(self.window, horizon))
