"""GLR-klUCB: kl-UCB that forgets an arm, or all arms, when a likelihood-ratio test finds a change.

Rule
----
Rewards lie in [0, 1], and kl is the Bernoulli divergence. At step t let A = (t - 1) mod floor(K / omega). If
A < K, pull arm A (counted from 0); else pull the arm with the largest

    max {q : N kl(mean, q) <= f(t - tau)},    f(x) = max(0, log x + 3 log log x),

with tau the arm's latest restart, and N and the mean taken since then. An arm not pulled since then comes
first, and ties are broken uniformly.

When an arm has n rewards since its restart, and n is a multiple of `every`, the test computes, over s =
spacing, 2 spacing, ... < n,

    G = max  s kl(mean of the first s, mean) + (n - s) kl(mean of the last n - s, mean).

If G >= log(3 n^1.5 / delta), the arm is restarted (local), or all arms are (global).

Tuning for a known number of changes, global: delta = 1 / sqrt(changes T), omega = omega_scale
sqrt(changes log(T) / T). Local: the same with K changes in place of changes. Unknown: delta = 1 / sqrt(T)
and, with j - 1 restarts so far, omega = omega_scale sqrt(j K log(T) / T). omega_scale is 1 in the theory and
0.05 in the paper's experiments, where every = spacing = 10; these are the defaults.

For an arm whose rewards do not change, the probability of an alarm is at most (4 / 3) delta sqrt(T) /
spacing, which is 0.13 for delta = 1 / sqrt(T). With `false_alarms=p`, which is not in the paper, delta is
such that it is p at most (`brigand.policies.changes.false_alarms`).

Source
------
Besson, Kaufmann, Maillard, Seznec, "Efficient change-point detection for tackling piecewise-stationary
bandits", JMLR 23, 2022. **A reconstruction** in one point: the tuning for an unknown number of changes, which
is the default, is quoted from memory.

Deviations
----------
None.

Late rewards
------------
Late rewards enter in the order in which they arrive; those of pulls before the restart are left out. An arm
that was pulled since the restart, and has no reward yet, comes first until it has had 2 + log(t) pulls since
then, and last from then on (`kernels.choices.needs_pull`).

Absent arms: where only some arms are allowed, A counts these, and K is their number.

Cost
----
O(K) a step, of which most arms take a few multiplications, and O(n / spacing) a test; memory O(K + T).
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
from brigand.policies.kernels.arithmetic import unit_reward
from brigand.policies.kernels.choices import argmax_propensity, break_tie, is_only, needs_pull
from brigand.policies.kernels.divergences import BERNOULLI, klucb_upper, negentropy
from brigand.policies.kernels.estimates import REMEMBERED
from brigand.policies.kernels.history import append, new_history, prefix_sum
from brigand.spec import later

HEADER = record(step=0, used=0, restarts=0)
# count: rewards in the history, of which `first` came before the restart, tau. All others since then:
# negentropy is mean log mean + (1 - mean) log(1 - mean)
ARM = record(count=0, first=0, restart=0, pulls=0, mean=float("nan"), n=0, negentropy=0.0)
SLACK = 1e-9  # what rounding may do to a test that saves work, and never decides


class GLRKLUCBParameters(NamedTuple):
    """Range; log(1 / delta); K / omega, and whether omega grows; the spacings; local or global restarts."""

    low: float
    width: float
    log_delta: float
    period: float
    growing: int
    every: int
    spacing: int
    local: int


@kernel
def _exploration(time: int) -> float:
    """Return f."""
    if time <= 1:
        return 0.0
    log = math.log(time)
    return max(0.0, log + 3.0 * math.log(log))


@kernel
def index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    if arms[arm]["n"] == 0:
        return math.inf if needs_pull(arms[arm]["pulls"], 1.0, header["step"]) else math.nan
    bound = _exploration(header["step"] + 1 - arms[arm]["restart"]) / arms[arm]["n"]
    return klucb_upper(BERNOULLI, arms[arm]["mean"], bound, 1.0)


@kernel
def best_arm(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, rng: np.random.Generator
) -> int:
    """Return what `kernels.argmax` would, with few indices: N kl(mean, best) > f(t) rules an arm out."""
    uniform = rng.random()
    most = _exploration(header["step"] + 1) * (1.0 + SLACK) + SLACK
    best, log_best, log_rest = -math.inf, 0.0, 0.0
    chosen, ties = candidates[0], 0
    for i in range(len(candidates)):
        arm = candidates[i]
        mean = arms[arm]["mean"]
        if ties > 0 and arms[arm]["pulls"] > 0 and mean < best:
            divergence = arms[arm]["negentropy"] - mean * log_best - (1.0 - mean) * log_rest
            if best > 1.0 or arms[arm]["n"] * divergence > most:
                continue
        value = index(parameters, header, arms, memory, arm, rng)
        if value > best:
            best = value
            chosen = arm
            ties = 1
            log_best, log_rest = 0.0, 0.0  # so that nothing is ruled out by 0 or 1
            if 0.0 < best < 1.0:
                log_best, log_rest = math.log(best), math.log1p(-best)
        elif value == best:
            ties += 1
            chosen, uniform = break_tie(chosen, arm, ties, uniform)
    return chosen if ties > 0 else candidates[int(uniform * len(candidates))]


@kernel
def forced_place(parameters: Any, header: Header, arms: Table, candidates: Any) -> int:
    """Return the place of the candidate that must be chosen now; their number if none must."""
    period = parameters.period
    if period <= 0.0:
        return len(candidates)
    period /= math.sqrt(header["restarts"] + 1.0) if parameters.growing else 1.0
    if len(candidates) < len(arms):
        period *= len(candidates) / len(arms)
    return min(header["step"] % max(int(period), len(candidates)), len(candidates))


@kernel
def select(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, rng: np.random.Generator
) -> int:
    best = best_arm(parameters, header, arms, memory, candidates, rng)
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
    arms[arm]["pulls"] += 1


@kernel
def estimate(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> tuple[float, float]:
    return parameters.low + parameters.width * arms[arm]["mean"], float(arms[arm]["n"])


@kernel
def change_found(parameters: Any, arms: Table, memory: Table, arm: int) -> bool:
    """Return whether G reaches its threshold for some s."""
    first, n = arms[arm]["first"], arms[arm]["n"]
    threshold = math.log(3.0) + 1.5 * math.log(n) + parameters.log_delta
    before = prefix_sum(memory, arm, first)
    total = prefix_sum(memory, arm, first + n) - before
    mean = total / n
    # kl(p, q) <= (p - q)^2 / (q (1 - q)), so most s are ruled out without a logarithm.
    least = threshold * (1.0 - SLACK) * mean * (1.0 - mean) / n
    whole = n * negentropy(mean)
    for s in range(parameters.spacing, n, parameters.spacing):
        head = prefix_sum(memory, arm, first + s) - before
        excess = head - s * mean
        if excess * excess < least * s * (n - s):
            continue
        tail = total - head
        if s * negentropy(head / s) + (n - s) * negentropy(tail / (n - s)) - whole >= threshold:
            return True
    return False


@kernel
def restart(header: Header, arms: Table, arm: int) -> None:
    """Forget all about one arm: its history begins anew, nothing is moved."""
    arms[arm]["first"] = arms[arm]["count"]
    arms[arm]["restart"] = header["step"]
    arms[arm]["pulls"] = 0
    arms[arm]["n"] = 0
    arms[arm]["mean"] = math.nan


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    if step <= arms[arm]["restart"]:
        return
    append(header, arms, memory, arm, unit_reward(parameters, reward))
    first, count = arms[arm]["first"], arms[arm]["count"]
    arms[arm]["n"] = count - first
    total = prefix_sum(memory, arm, count) - prefix_sum(memory, arm, first)
    arms[arm]["mean"] = min(max(total / (count - first), 0.0), 1.0)
    arms[arm]["negentropy"] = negentropy(arms[arm]["mean"])
    if parameters.log_delta == math.inf or (count - first) % parameters.every != 0:
        return
    if change_found(parameters, arms, memory, arm):
        header["restarts"] += 1
        for other in range(len(arms)):
            if other == arm or not parameters.local:
                restart(header, arms, other)


@dataclass(frozen=True)
class GLRKLUCB(BoundedPolicy):
    """GLR-klUCB: kl-UCB with few forced pulls and a generalised likelihood-ratio test for changes.

    Parameters
    ----------
    local : bool
        Restart the arm that changed alone; False: restart all arms.
    delta : float, optional
        The test's false-alarm level, in [0, 1]; 0 never restarts. None: tuned from T, K and `changes`.
    omega : float, optional
        The rate of forced pulls, in [0, 1]. None: tuned from T, K and `changes`.
    changes : int, optional
        The number of breakpoints, at least 1. None: unknown; omega grows with the number of restarts.
    every : int
        An arm is tested after every so many of its rewards.
    spacing : int
        How far apart the change points lie that a test tries.
    omega_scale : float
        The factor of the tuned omega.
    false_alarms : float, optional
        By keyword, in place of `delta`: the probability that an arm whose rewards do not change ever gives an
        alarm is at most this.
    low, high : float
        The range of the rewards, by keyword; [0, 1] by default.

    The header counts ``restarts``.
    """

    local: bool = True
    delta: float | None = None
    omega: float | None = None
    changes: int | None = None
    every: int = 10
    spacing: int = 10
    omega_scale: float = 0.05
    false_alarms: float | None = later(None)

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, estimate=estimate, propensity=propensity)
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "bounded, piecewise stationary"
    reference: ClassVar[str] = "besson2022efficient"
    known_from: ClassVar[str] = "reconstruction"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.local, bool):
            raise InvalidValueError(f"GLRKLUCB's local must be True or False, not {self.local!r}.")
        self._keep(false_alarms=false_alarms.check("GLRKLUCB", self.false_alarms, "delta", self.delta))
        if self.delta is not None:
            self._keep(delta=checks.number("GLRKLUCB's delta", self.delta, 0.0, 1.0))
        if self.omega is not None:
            self._keep(omega=checks.number("GLRKLUCB's omega", self.omega, 0.0, 1.0))
        if self.changes is not None:
            self._keep(changes=checks.integer("GLRKLUCB's changes", self.changes, 1, checks.MAX_INTEGER))
        self._keep(every=checks.integer("GLRKLUCB's every", self.every, 1, checks.MAX_INTEGER))
        self._keep(spacing=checks.integer("GLRKLUCB's spacing", self.spacing, 1, checks.MAX_INTEGER))
        self._keep(omega_scale=checks.number("GLRKLUCB's omega_scale", self.omega_scale, 0.0))

    @property
    def must_know(self) -> str:
        return f"{super().must_know}, T" + ("" if self.changes is None else " and the number of breakpoints")

    @property
    def estimated(self) -> Estimated:
        return REMEMBERED

    @property
    def memory_cost(self) -> str:
        return "O(K + T)"

    def parameters(self, n_arms: int, horizon: int | None) -> GLRKLUCBParameters:
        steps = need_horizon("GLRKLUCB", horizon)
        factor = n_arms if self.local or self.changes is None else 1
        changes = 1 if self.changes is None else self.changes
        delta, omega = self.delta, self.omega
        if self.false_alarms is not None:
            delta = false_alarms.likelihood_ratio(self.false_alarms, steps, self.spacing)
        if delta is None:
            delta = 1 / math.sqrt(steps * (1 if self.changes is None else factor * changes))
        if omega is None:
            omega = min(self.omega_scale * math.sqrt(factor * changes * math.log(steps) / steps), 1.0)
        growing = int(self.changes is None and self.omega is None)
        period = min(n_arms / omega, float(checks.MAX_STEPS)) if omega > 0.0 else 0.0
        log_delta = -math.log(delta) if delta > 0.0 else math.inf
        numbers = (float(self.low), float(self.high - self.low), log_delta, period)
        return GLRKLUCBParameters(*numbers, growing, self.every, self.spacing, int(self.local))

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        return new_history("GLRKLUCB", n_arms, horizon)
