"""M-UCB: UCB with a schedule of forced pulls, which forgets all when two halves of a window differ.

Rule
----
Rewards lie in [0, 1]. At step t, with the latest restart at step tau (0 at first), let A = (t - tau - 1) mod
floor(K / gamma). If A < K, pull arm A (counted from 0), else the arm with the largest

    mean + sqrt(2 log(t - tau) / N)

over what came since the restart. An arm not pulled since then comes first, and ties are broken uniformly.
When an arm has w rewards or more since the restart, and the sum of its last w/2 rewards differs by more than
b from the sum of the w/2 before, all arms forget all (a global restart).

Tuning of the paper: b = sqrt((w / 2) log(2 K T^2)); gamma = sqrt(changes K (2 b + 3 sqrt(w)) / (2 T)), at
most 1; w = (4 / d^2) (sqrt(log(2 K T^2)) + sqrt(log(2 T)))^2 for changes of d or more, made even. This w is
often longer than a phase: users set 150 to 800, and gamma = sqrt(changes K log(T) / T).

With the paper's b, an arm whose rewards do not change gives an alarm with probability 1 / (K T) at most. With
`false_alarms=p`, which is not in the paper, b is less, and that probability p at most
(`brigand.policies.changes.false_alarms`).

Source
------
Cao, Wen, Kveton, Xie, "Nearly optimal adaptive procedure with change detection for piecewise-stationary
bandit", AISTATS 2019.

Deviations
----------
The paper counts arms from 1 and forces one where 1 <= (t - tau) mod floor(K / gamma) <= K. That is the same,
except where floor(K / gamma) = K, that is gamma > K / (K + 1): there arm K would never be forced.

Late rewards
------------
Late rewards enter in the order in which they arrive; those of pulls before the restart are left out. An arm
that was pulled since the restart, and has no reward yet, comes first until it has had 2 + log(t) pulls since
then, and last from then on (`kernels.choices.needs_pull`).

Absent arms: where only some arms are allowed, A counts these, and floor(K / gamma) shrinks in proportion to
their number.

Cost
----
O(K) a step; memory O(K w).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.errors import InvalidValueError
from brigand.jit import kernel
from brigand.policies.base import BoundedPolicy, Estimated, Header, Kernels, Table, need_horizon, record
from brigand.policies.changes import false_alarms
from brigand.policies.kernels.arithmetic import learn_mean, unit_reward
from brigand.policies.kernels.choices import argmax, argmax_propensity, is_only, needs_pull
from brigand.policies.kernels.estimates import REMEMBERED, known_unit_mean
from brigand.spec import later

HEADER = record(step=0, restart=0, restarts=0, place=0, width=0.0)  # A; sqrt(2 log(t - tau)) of the next step
ARM = record(
    pulls=0,
    count=0,
    sum=0.0,
    residue=0.0,
    mean=float("nan"),
    inverse_root=float("nan"),
    slot=0,  # where the next reward goes
    recent=0.0,  # the sum of the last w/2 rewards
    older=0.0,  # the sum of the w/2 before
)
MEMORY = record(reward=0.0)


class MUCBParameters(NamedTuple):
    """The range of the rewards, w, b, and the period of the forced pulls (0: none)."""

    low: float
    width: float
    w: int
    b: float
    period: int


@kernel
def index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    if arms[arm]["count"] == 0:
        return math.inf if needs_pull(arms[arm]["pulls"], 1.0, header["step"]) else math.nan
    return arms[arm]["mean"] + header["width"] * arms[arm]["inverse_root"]


@kernel
def forced_place(parameters: Any, header: Header, arms: Table, candidates: Any) -> int:
    """Return the place of the candidate that must be chosen now; their number or more if none must."""
    if parameters.period <= 0:
        return len(candidates)
    if len(candidates) == len(arms):
        place: int = header["place"]
        return place
    period = int(float(parameters.period) / len(arms) * len(candidates))
    found: int = (header["step"] - header["restart"]) % max(period, len(candidates))
    return found


@kernel
def select(
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    candidates: Any,
    rng: np.random.Generator,
) -> int:
    best = argmax(index, parameters, header, arms, memory, candidates, rng)
    place = forced_place(parameters, header, arms, candidates)
    return candidates[place] if place < len(candidates) else best


@kernel
def propensity(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, arm: int
) -> float:
    place = forced_place(parameters, header, arms, candidates)
    if place < len(candidates):
        return is_only(arm, candidates[place])
    return argmax_propensity(index, parameters, header, arms, memory, candidates, arm)


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    header["place"] += 1
    if header["place"] == parameters.period:
        header["place"] = 0
    header["width"] = math.sqrt(2.0 * math.log(header["step"] + 1 - header["restart"]))
    arms[arm]["pulls"] += 1


@kernel
def restart(header: Header, arms: Table) -> None:
    """Forget all about all arms."""
    header["restart"] = header["step"]
    header["restarts"] += 1
    header["place"] = 0
    header["width"] = 0.0
    for arm in range(len(arms)):
        arms[arm]["pulls"] = 0
        arms[arm]["count"] = 0
        arms[arm]["sum"] = 0.0
        arms[arm]["residue"] = 0.0
        arms[arm]["mean"] = math.nan
        arms[arm]["slot"] = 0
        arms[arm]["recent"] = 0.0
        arms[arm]["older"] = 0.0


@kernel
def move_window(parameters: Any, arms: Table, memory: Table, arm: int, reward: float) -> None:
    """Put the reward, counted already, into the arm's ring and both sums."""
    half = parameters.w // 2
    first = arm * parameters.w
    slot = arms[arm]["slot"]
    middle = slot - half if slot >= half else slot + half
    gone = memory[first + slot]["reward"] if arms[arm]["count"] > parameters.w else 0.0
    aged = memory[first + middle]["reward"] if arms[arm]["count"] > half else 0.0
    memory[first + slot]["reward"] = reward
    arms[arm]["recent"] += reward - aged
    arms[arm]["older"] += aged - gone
    if slot + 1 < parameters.w:
        arms[arm]["slot"] = slot + 1
        return
    # Once a lap the sums are made anew, so that rounding does not pile up.
    arms[arm]["slot"] = 0
    arms[arm]["recent"] = 0.0
    arms[arm]["older"] = 0.0
    for i in range(half):
        arms[arm]["older"] += memory[first + i]["reward"]
        arms[arm]["recent"] += memory[first + half + i]["reward"]


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    if step <= header["restart"]:
        return
    x = unit_reward(parameters, reward)
    learn_mean(arms, arm, x)
    arms[arm]["inverse_root"] = 1.0 / math.sqrt(arms[arm]["count"])
    move_window(parameters, arms, memory, arm, x)
    change = abs(arms[arm]["recent"] - arms[arm]["older"])
    if arms[arm]["count"] >= parameters.w and change > parameters.b:
        restart(header, arms)


@dataclass(frozen=True)
class MUCB(BoundedPolicy):
    """M-UCB: UCB with forced pulls and a window test for changes, after which all arms start anew.

    Parameters
    ----------
    w : int, optional
        The length of each arm's window, even. None: tuned from K, T and `least_change`.
    b : float, optional
        The threshold of the test; ``math.inf`` never restarts. None: tuned from w, K and T.
    gamma : float, optional
        The rate of forced pulls, in [0, 1]. None: tuned from b, w, K, T and `changes`.
    changes : int, optional
        The number of breakpoints; needed where `gamma` is not set.
    least_change : float, optional
        The smallest change of a mean, for rewards in [0, 1]; needed where `w` is not set.
    false_alarms : float, optional
        By keyword, in place of `b`: the probability that an arm whose rewards do not change ever gives an
        alarm is at most this.
    low, high : float
        The range of the rewards, by keyword; [0, 1] by default.

    Notes
    -----
    The header counts ``restarts``.
    """

    w: int | None = 800
    b: float | None = None
    gamma: float | None = None
    changes: int | None = None
    least_change: float | None = None
    false_alarms: float | None = later(None)

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, estimate=known_unit_mean, propensity=propensity)
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "bounded, piecewise stationary"
    reference: ClassVar[str] = "cao2019nearly"
    known_from: ClassVar[str] = "published"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.w is not None:
            self._keep(w=checks.integer("MUCB's w", self.w, 2, checks.MAX_INTEGER))
            if self.w % 2 != 0:
                raise InvalidValueError(f"MUCB's w must be even, not {self.w}.")
        elif self.least_change is None:
            raise InvalidValueError("MUCB needs w, or least_change.")
        if self.least_change is not None:
            self._keep(
                least_change=checks.number("MUCB's least_change", self.least_change, 0.0, 1.0, above=0.0)
            )
        self._keep(false_alarms=false_alarms.check("MUCB", self.false_alarms, "b", self.b))
        if self.b is not None:
            self._keep(b=checks.number("MUCB's b", self.b, 0.0, infinite=True))
        if self.gamma is not None:
            self._keep(gamma=checks.number("MUCB's gamma", self.gamma, 0.0, 1.0))
        elif self.changes is None:
            raise InvalidValueError("MUCB needs gamma, or changes, the number of breakpoints.")
        if self.changes is not None:
            self._keep(changes=checks.integer("MUCB's changes", self.changes, 0, checks.MAX_INTEGER))

    @property
    def must_know(self) -> str:
        known = f"{super().must_know}, the smallest change"
        if self.gamma is None:
            return f"{known}, T, the number of breakpoints"
        return known + (", T" if None in (self.w, self.b) else "")

    @property
    def estimated(self) -> Estimated:
        return REMEMBERED

    @property
    def memory_cost(self) -> str:
        return "O(K w)"

    def parameters(self, n_arms: int, horizon: int | None) -> MUCBParameters:
        w = self._w(n_arms, horizon)
        b, gamma = self.b, self.gamma
        if self.false_alarms is not None:
            b = false_alarms.window(self.false_alarms, need_horizon("MUCB", horizon), w)
        if b is None:
            b = math.sqrt(w / 2 * math.log(2 * n_arms * need_horizon("MUCB", horizon) ** 2))
        if gamma is None:
            rate = 0.0 if not self.changes else self.changes * n_arms * (2 * b + 3 * math.sqrt(w))
            gamma = min(math.sqrt(rate / (2 * need_horizon("MUCB", horizon))), 1.0)
        # A period beyond any horizon is none, but for the round of forced pulls at the start.
        period = math.floor(min(n_arms / gamma, checks.MAX_STEPS)) if gamma > 0 else 0
        return MUCBParameters(float(self.low), float(self.high - self.low), w, float(b), period)

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        return np.repeat(MEMORY, n_arms * self._w(n_arms, horizon))

    def _w(self, n_arms: int, horizon: int | None) -> int:
        """Return w as set, or as tuned: no longer than 2 T, which no arm can fill."""
        if self.w is not None:
            return self.w
        steps = need_horizon("MUCB", horizon)
        roots = math.sqrt(math.log(2 * n_arms * steps**2)) + math.sqrt(math.log(2 * steps))
        return 2 * min(math.ceil(2 * (roots / (self.least_change or 1.0)) ** 2), steps)
