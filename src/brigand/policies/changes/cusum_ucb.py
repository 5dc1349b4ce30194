"""CUSUM-UCB and PHT-UCB: a UCB index of the rewards since each arm's last restart, and a test for changes.

Rule
----
Rewards lie in [0, 1], and changes are of more than about 3 eps. An arm has N pulls since its last restart,
and n is the sum of all arms' N. With probability alpha, pull a uniformly random arm, else the one with the
largest

    mean + sqrt(xi log n / N).

An arm that was just restarted comes first, and ties are broken uniformly. The j-th reward x since the arm's
restart moves two walks,

    rise = max(0, rise + x - u - eps),    fall = max(0, fall + u - x - eps).

For CUSUM, u is the mean of the first M rewards, and the walks begin with j = M + 1. For PHT (Page-Hinkley), u
is the mean of the first j rewards. When a walk reaches h, the arm is restarted: it forgets all (a local
restart).

By default h = log(T / changes) and alpha = sqrt((changes / T) log(T / changes)).

**With this published h, false alarms are the rule** where nothing changes. Of 1000 runs with one arm and T =
2000 at rewards of Bernoulli(0.2), CUSUM-UCB has restarted the arm within 1000 rewards in 75 %, and PHT-UCB
in 34 %; within 10,000 at Bernoulli(0.5), both have in all runs (docs/detectors.md). With
`false_alarms=p`, which is not in the paper, h, and where it must be eps, are such that an arm whose rewards
do not change is ever restarted with probability p at most (`brigand.policies.changes.false_alarms`).

Source
------
Liu, Lee, Shroff, "A change-detection based framework for piecewise-stationary multi-armed bandit problem",
AAAI 2018. **A reconstruction**: its constants are quoted from memory, that is h, alpha, and xi = 1 in the
theory. The defaults xi = 1/2, M = 50 and eps = 0.05 are those of the scripts of the authors of LB-SDA and of
forced exploration.

Deviations
----------
T / changes is taken to be at least e, where alpha is largest, so that h >= 1. With `forced=True`, which is
off by default, CUSUM-UCB is as in those scripts: every arm is pulled M times, before anything else, at first
and after each of its restarts. The published policy does not do that.

Late rewards
------------
Late rewards enter in the order in which they arrive; those of pulls before the arm's restart are left out. An
arm that was pulled since its restart, and has no reward yet, comes first until it has had 2 + log(t) pulls
since then, and last from then on (`kernels.choices.needs_pull`).

Cost
----
O(K) a step; memory O(K).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.errors import InvalidValueError
from brigand.jit import kernel
from brigand.policies.base import (
    BoundedPolicy,
    Estimated,
    Header,
    Kernels,
    State,
    Table,
    need_horizon,
    record,
)
from brigand.policies.changes import false_alarms
from brigand.policies.kernels.arithmetic import learn_mean, unit_reward
from brigand.policies.kernels.choices import argmax, argmax_propensity, needs_pull
from brigand.policies.kernels.estimates import REMEMBERED, known_unit_mean
from brigand.policies.kernels.randomness import uniform_at
from brigand.spec import later

# total: n; width: sqrt(xi log n); owed: forced pulls that are still to be made
HEADER = record(step=0, key=0, total=0, width=0.0, owed=0)
# All since the arm's restart. level: u of CUSUM; restart: the step of the latest pull before it
MEAN = {"pulls": 0, "count": 0, "sum": 0.0, "residue": 0.0, "mean": math.nan, "inverse_root": math.nan}
ARM = record(**MEAN, level=0.0, rise=0.0, fall=0.0, restart=0, restarts=0)


class CUSUMUCBParameters(NamedTuple):
    """The range of the rewards, alpha, h, M, eps, xi, and the number of forced pulls after a restart."""

    low: float
    width: float
    alpha: float
    h: float
    M: int
    eps: float
    xi: float
    forced: int


class PHTUCBParameters(NamedTuple):
    """The range of the rewards, alpha, h, eps, xi; no forced pulls."""

    low: float
    width: float
    alpha: float
    h: float
    eps: float
    xi: float
    forced: int


@kernel
def index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    if arms[arm]["count"] == 0:
        return math.inf if needs_pull(arms[arm]["pulls"], 1.0, header["step"]) else math.nan
    return arms[arm]["mean"] + header["width"] * arms[arm]["inverse_root"]


@kernel
def owed_arm(parameters: Any, header: Header, arms: Table, candidates: Any) -> int:
    """Return a candidate, drawn by its number of forced pulls that are still to be made; -1 if none is."""
    total = 0
    for i in range(len(candidates)):
        total += max(parameters.forced - arms[candidates[i]]["pulls"], 0)
    place = int(uniform_at(header["key"], header["step"]) * total)
    for i in range(len(candidates)):
        place -= max(parameters.forced - arms[candidates[i]]["pulls"], 0)
        if place < 0:
            return candidates[i]
    return -1


@kernel
def select(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, rng: np.random.Generator
) -> int:
    uniform = rng.random()
    best = argmax(index, parameters, header, arms, memory, candidates, rng)
    arm = owed_arm(parameters, header, arms, candidates) if header["owed"] > 0 else -1
    if arm >= 0:
        return arm
    if uniform < parameters.alpha:
        return candidates[min(int(uniform / parameters.alpha * len(candidates)), len(candidates) - 1)]
    return best


@kernel
def propensity(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, arm: int
) -> float:
    if header["owed"] > 0 and owed_arm(parameters, header, arms, candidates) >= 0:
        return math.nan  # drawn by the key, which is in the header
    best = argmax_propensity(index, parameters, header, arms, memory, candidates, arm)
    return parameters.alpha / len(candidates) + (1.0 - parameters.alpha) * best


@kernel
def set_total(parameters: Any, header: Header, total: int) -> None:
    header["total"] = total
    header["width"] = math.sqrt(parameters.xi * math.log(max(total, 1)))


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    if arms[arm]["pulls"] < parameters.forced:
        header["owed"] -= 1
    arms[arm]["pulls"] += 1
    set_total(parameters, header, header["total"] + 1)


@kernel
def restart(parameters: Any, header: Header, arms: Table, arm: int) -> None:
    """Forget all about one arm."""
    header["owed"] += min(arms[arm]["pulls"], parameters.forced)
    set_total(parameters, header, header["total"] - arms[arm]["pulls"])
    arms[arm]["pulls"] = 0
    arms[arm]["count"] = 0
    arms[arm]["sum"] = 0.0
    arms[arm]["residue"] = 0.0
    arms[arm]["mean"] = math.nan
    arms[arm]["rise"] = 0.0
    arms[arm]["fall"] = 0.0
    arms[arm]["restart"] = header["step"]
    arms[arm]["restarts"] += 1


@kernel
def walk(parameters: Any, header: Header, arms: Table, arm: int, distance: float) -> None:
    """Move both walks by the reward's distance from u; restart the arm if one reaches h."""
    arms[arm]["inverse_root"] = 1.0 / math.sqrt(arms[arm]["count"])
    arms[arm]["rise"] = max(0.0, arms[arm]["rise"] + distance - parameters.eps)
    arms[arm]["fall"] = max(0.0, arms[arm]["fall"] - distance - parameters.eps)
    if max(arms[arm]["rise"], arms[arm]["fall"]) >= parameters.h:
        restart(parameters, header, arms, arm)


@kernel
def learn_cusum(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    if step <= arms[arm]["restart"]:
        return
    x = unit_reward(parameters, reward)
    learn_mean(arms, arm, x)
    if arms[arm]["count"] <= parameters.M:
        arms[arm]["level"] = arms[arm]["mean"]
        x = arms[arm]["level"]  # the walks stay where they are, at 0
    walk(parameters, header, arms, arm, x - arms[arm]["level"])


@kernel
def learn_pht(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    if step <= arms[arm]["restart"]:
        return
    x = unit_reward(parameters, reward)
    learn_mean(arms, arm, x)
    walk(parameters, header, arms, arm, x - arms[arm]["mean"])


def check_settings(policy: CUSUMUCB | PHTUCB) -> None:
    """Keep the settings that the two policies share as numbers; refuse bad values."""
    name = type(policy).__name__
    if policy.alpha is not None:
        policy._keep(alpha=checks.number(f"{name}'s alpha", policy.alpha, 0.0, 1.0))
    if policy.h is not None:
        policy._keep(h=checks.number(f"{name}'s h", policy.h, above=0.0, infinite=True))
    policy._keep(eps=checks.number(f"{name}'s eps", policy.eps, 0.0))
    policy._keep(xi=checks.number(f"{name}'s xi", policy.xi, 0.0))
    policy._keep(false_alarms=false_alarms.check(name, policy.false_alarms, "h", policy.h))
    if policy.changes is not None:
        policy._keep(changes=checks.integer(f"{name}'s changes", policy.changes, 1, checks.MAX_INTEGER))
    elif policy.alpha is None or (policy.h is None and policy.false_alarms is None):
        raise InvalidValueError(f"{name} needs alpha and h, or changes, the number of breakpoints.")


def tuned(policy: CUSUMUCB | PHTUCB, horizon: int | None) -> tuple[float, float]:
    """Return alpha and the published h, from T and the number of changes where they are not set."""
    alpha, h = policy.alpha, policy.h
    if policy.changes is not None and (alpha is None or h is None):
        ratio = max(need_horizon(type(policy).__name__, horizon) / policy.changes, math.e)
        alpha = math.sqrt(math.log(ratio) / ratio) if alpha is None else alpha
        h = math.log(ratio) if h is None else h
    return float(alpha or 0.0), float(h or 0.0)


def tuning(policy: CUSUMUCB | PHTUCB) -> str:
    """Return what must be known for alpha and h."""
    if policy.alpha is None or (policy.h is None and policy.false_alarms is None):
        return ", T, the number of breakpoints"
    return "" if policy.false_alarms is None else ", T"


@dataclass(frozen=True)
class CUSUMUCB(BoundedPolicy):
    """CUSUM-UCB: UCB that forgets an arm when its rewards have moved away from its first M.

    Parameters
    ----------
    alpha : float, optional
        The rate of uniform exploration. None: tuned from T and `changes`.
    h : float, optional
        The threshold of the walks; ``math.inf`` never restarts. None: tuned from T and `changes`.
    M : int
        How many rewards of an arm settle its level.
    eps : float
        The drift that the walks tolerate; changes should be of more than about 3 eps.
    xi : float
        The factor of log n in the index.
    forced : bool
        M pulls of every arm at first and after its restart, as in the authors' scripts; not in the paper.
    changes : int, optional
        The number of breakpoints, at least 1; needed where `alpha` or `h` is not set.
    false_alarms : float, optional
        By keyword, in place of `h`: the probability that an arm whose rewards do not change is ever restarted
        is at most this. `eps` is raised to what M rewards allow.
    low, high : float
        The range of the rewards, by keyword; [0, 1] by default.

    The arms table counts ``restarts``.
    """

    alpha: float | None = None
    h: float | None = None
    M: int = 50
    eps: float = 0.05
    xi: float = 0.5
    forced: bool = False
    changes: int | None = None
    false_alarms: float | None = later(None)

    kernels: ClassVar[Kernels] = Kernels(
        select, pull, learn_cusum, estimate=known_unit_mean, propensity=propensity
    )
    grows: ClassVar[bool] = True
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "bounded, piecewise stationary"
    reference: ClassVar[str] = "liu2018change"
    known_from: ClassVar[str] = "reconstruction"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(self)
        self._keep(M=checks.integer("CUSUMUCB's M", self.M, 1, checks.MAX_INTEGER))
        if not isinstance(self.forced, bool):
            raise InvalidValueError(f"CUSUMUCB's forced must be True or False, not {self.forced!r}.")

    @property
    def must_know(self) -> str:
        return f"{super().must_know}, the smallest change, M rewards between changes{tuning(self)}"

    @property
    def estimated(self) -> Estimated:
        return REMEMBERED

    def parameters(self, n_arms: int, horizon: int | None) -> CUSUMUCBParameters:
        alpha, h = tuned(self, horizon)
        eps = float(self.eps)
        if self.false_alarms is not None:
            steps = need_horizon("CUSUMUCB with false_alarms", horizon)
            eps, h = false_alarms.cusum(self.false_alarms, steps, self.M, eps)
        scale = (float(self.low), float(self.high - self.low))
        forced = self.M if self.forced else 0
        return CUSUMUCBParameters(*scale, alpha, h, self.M, eps, float(self.xi), forced)

    def start(self, n_arms: int, horizon: int | None, key: int = 0) -> State:
        state = super().start(n_arms, horizon, key)
        state.header["owed"] = n_arms * self.M if self.forced else 0
        return state


@dataclass(frozen=True)
class PHTUCB(BoundedPolicy):
    """PHT-UCB: UCB that forgets an arm when its rewards have moved away from their running mean.

    Parameters
    ----------
    alpha, h, eps, xi, changes, false_alarms, low, high
        As in `CUSUMUCB`; `eps` stays what it is.
    """

    alpha: float | None = None
    h: float | None = None
    eps: float = 0.05
    xi: float = 0.5
    changes: int | None = None
    false_alarms: float | None = later(None)

    kernels: ClassVar[Kernels] = Kernels(
        select, pull, learn_pht, estimate=known_unit_mean, propensity=propensity
    )
    grows: ClassVar[bool] = True
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "bounded, piecewise stationary"
    reference: ClassVar[str] = "liu2018change"
    known_from: ClassVar[str] = "reconstruction"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(self)

    @property
    def must_know(self) -> str:
        return f"{super().must_know}, the smallest change{tuning(self)}"

    @property
    def estimated(self) -> Estimated:
        return REMEMBERED

    def parameters(self, n_arms: int, horizon: int | None) -> PHTUCBParameters:
        alpha, h = tuned(self, horizon)
        if self.false_alarms is not None:
            steps = need_horizon("PHTUCB with false_alarms", horizon)
            h = false_alarms.page_hinkley(self.false_alarms, steps, float(self.eps))
        width = float(self.high - self.low)
        return PHTUCBParameters(float(self.low), width, alpha, h, float(self.eps), float(self.xi), 0)
