"""AdSwitch for K arms: arms are eliminated, then sampled again at random, in episodes between changes.

Rule
----
Rewards lie in [0, 1]. Episode l begins after step t_l with all arms GOOD. An arm that is eliminated becomes
BAD, and keeps the mean mu and the gap D that it had then. At step t:

1. For every BAD arm and every i >= 1 with d = 2^-i >= D / 16, an obligation is made with probability d
   sqrt(l / (K T log T)): to pull the arm ceil(c2 log(T) / d^2) times from t on.
2. Of the arms that are GOOD or have an obligation, the least recently pulled one is pulled. Ties go to the
   lowest index.
3. The tests look at intervals inside of the episode. In the steps s to t, an arm has n[s, t] rewards, of mean
   m[s, t], with w[s, t] = sqrt(c2 log(T) / n[s, t]). The next episode begins if

       for a GOOD arm    |m[s1, s2] - m[s, t]| > w[s1, s2] + w[s, t]
       for a BAD arm     |m[s, t] - mu| > D / 4 + w[s, t]

4. If none begins, a GOOD arm becomes BAD if n[s, t] >= 2 and, with m* the best mean of GOOD arms in [s, t],

       m*[s, t] - m[s, t] > sqrt(c1 log(T) / (n[s, t] - 1))

Source
------
Auer, Gajane, Ortner, "Adaptively tracking the best bandit arm with an unknown number of distribution
changes", COLT 2019. **A reconstruction**: the constants (c1 > 16, c2 = 2, the 16 and the 4) are quoted from
memory and second hand.

Deviations
----------
The published policy tests all intervals at every step. Here tests are made every `checks_every` steps, the
longest interval first, and their s, s1, s2 are the points t - 2^j checks_every and the beginning of the
episode. Intervals without a reward of the arm are left out.

Late rewards
------------
A late reward counts as of the step at which it arrives; one of a pull before the episode is left out. A GOOD
arm whose rewards never arrive takes its turn for ever.

Absent arms: at a check, an arm that was away at all steps since the last check eliminates no arm, and the
arms that it has eliminated are GOOD again. If no candidate is GOOD or has an obligation, the candidate with
the largest mu is pulled.

Cost
----
O(K) a step, and O(K log^2 T) a check; memory O(K T / checks_every).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.jit import kernel
from brigand.policies.base import BoundedPolicy, Estimated, Header, Kernels, Table, need_horizon, record
from brigand.policies.kernels.arithmetic import unit_reward
from brigand.policies.kernels.estimates import REMEMBERED
from brigand.policies.kernels.randomness import uniform_at

# Row r of the memory, for each arm, holds count and sum at check number r. `origin`: the row at the beginning
# of the episode; `start`: the step there; `uniform`: the random number of the step to come, from step 2 on.
HEADER = record(step=0, key=0, episode=1, start=0, origin=0, row=0, next_check=0, checked=0, uniform=0.0)
# mean, gap, levels, rival of a BAD arm: mu, D, the largest i, the arm with m*; target: the pulls that fulfil
# all obligations; missed: at how many steps since the last check it was no candidate
BAD = {"bad": 0, "evicted_mean": 0.0, "gap": 0.0, "levels": 0, "rival": -1, "target": 0}
ARM = record(last=0, pulls=0, count=0, sum=0.0, missed=0, **BAD)
MEMORY = record(count=0, sum=0.0)


class AdSwitchParameters(NamedTuple):
    """Range; c1 log T; c2 log T; sqrt(1 / (K T log T)); the divisors 16 and 4; steps between checks."""

    low: float
    width: float
    evict: float
    noise: float
    rate: float
    sampling_divisor: float
    change_divisor: float
    checks_every: int


@kernel
def since(arms: Table, memory: Table, arm: int, start: int, end: int) -> tuple[int, float]:
    """Return the number of the arm's rewards between two rows, and their mean: NaN if there was none."""
    first, last = start * len(arms) + arm, end * len(arms) + arm
    count = memory[last]["count"] - memory[first]["count"]
    if count == 0:
        return 0, math.nan
    return count, (memory[last]["sum"] - memory[first]["sum"]) / count


@kernel
def longer(header: Header, start: int) -> int:
    """Return the grid's next row before `start`, at twice the distance; -1 after the episode's first row."""
    if start == header["origin"]:
        return -1
    return max(header["origin"], header["row"] - max(1, 2 * (header["row"] - start)))


@kernel
def good_changed(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> bool:
    """Return whether two of a GOOD arm's confidence intervals, one of them up to now, are disjoint."""
    row = header["row"]
    low_any, high_any, low_now, high_now = -math.inf, math.inf, -math.inf, math.inf
    end = row
    while end >= 0:
        start = longer(header, end)
        while start >= 0:
            count, mean = since(arms, memory, arm, start, end)
            if count > 0:
                width = math.sqrt(parameters.noise / count)
                low_any = max(low_any, mean - width)
                high_any = min(high_any, mean + width)
                if end == row:
                    low_now = max(low_now, mean - width)
                    high_now = min(high_now, mean + width)
            start = longer(header, start)
        end = longer(header, end)
    return low_any > high_now or low_now > high_any


@kernel
def bad_changed(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> bool:
    """Return whether a BAD arm's mean has left what it was when the arm was eliminated."""
    start = longer(header, header["row"])
    while start >= 0:
        count, mean = since(arms, memory, arm, start, header["row"])
        if count > 0:
            allowed = arms[arm]["gap"] / parameters.change_divisor + math.sqrt(parameters.noise / count)
            if abs(mean - arms[arm]["evicted_mean"]) > allowed:
                return True
        start = longer(header, start)
    return False


@kernel
def obliged(header: Header, arms: Table, arm: int, parameters: Any, uniform: float) -> tuple[int, float]:
    """Return the arm's target after this step's coins, and a number that is uniform again.

    Only the longest new obligation matters: coins are thrown from the largest i to the first success.
    """
    target = arms[arm]["target"]
    if arms[arm]["bad"] == 0:
        return target, uniform
    size = math.pow(0.5, arms[arm]["levels"])
    for _ in range(arms[arm]["levels"]):
        chance = min(size * parameters.rate * math.sqrt(header["episode"]), 1.0)
        if uniform < chance:
            pulls = int(min(math.ceil(min(parameters.noise / (size * size), 1e15)), 10**15))
            return max(target, arms[arm]["pulls"] + pulls), uniform / chance
        uniform = (uniform - chance) / (1.0 - chance)
        size *= 2.0
    return target, uniform


@kernel
def coins(parameters: Any, header: Header, arms: Table) -> float:
    """Return this step's random number; -1 if it is beyond the sum of all chances (by far the most often)."""
    uniform = header["uniform"] if header["step"] > 0 else uniform_at(header["key"], 1)
    if uniform >= len(arms) * parameters.rate * math.sqrt(header["episode"]):
        return -1.0
    return uniform


@kernel
def select(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, rng: np.random.Generator
) -> int:
    uniform = coins(parameters, header, arms)
    chosen = -1
    place = 0
    for arm in range(len(arms)):
        target = arms[arm]["target"]
        if uniform >= 0.0:
            target, uniform = obliged(header, arms, arm, parameters, uniform)
        if place == len(candidates) or candidates[place] != arm:
            continue
        place += 1
        is_open = arms[arm]["bad"] == 0 or arms[arm]["pulls"] < target
        if is_open and (chosen < 0 or arms[arm]["last"] < arms[chosen]["last"]):
            chosen = arm
    if chosen < 0:
        chosen = candidates[0]
        for i in range(len(candidates)):
            if arms[candidates[i]]["evicted_mean"] > arms[chosen]["evicted_mean"]:
                chosen = candidates[i]
    return chosen


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    uniform = coins(parameters, header, arms)
    if uniform >= 0.0:
        for other in range(len(arms)):
            target, uniform = obliged(header, arms, other, parameters, uniform)
            arms[other]["target"] = target
    header["step"] += 1
    header["uniform"] = uniform_at(header["key"], header["step"] + 1)
    arms[arm]["last"] = header["step"]
    arms[arm]["pulls"] += 1


@kernel
def miss(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    arms[arm]["missed"] += 1


@kernel
def estimate(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> tuple[float, float]:
    first = header["origin"] * len(arms) + arm
    count = float(arms[arm]["count"] - memory[first]["count"])
    if count == 0.0:
        return math.nan, 0.0
    mean = (arms[arm]["sum"] - memory[first]["sum"]) / count
    return parameters.low + parameters.width * mean, count


@kernel
def is_away(header: Header, arms: Table, arm: int) -> bool:
    """Return whether the arm has been no candidate since the last check."""
    return arms[arm]["missed"] > 0 and arms[arm]["missed"] >= header["step"] - header["checked"]


@kernel
def evict(parameters: Any, header: Header, arms: Table, memory: Table, start: int) -> None:
    """Make BAD the GOOD arms that are worse than the best since row `start`."""
    best, rival = -math.inf, -1
    for arm in range(len(arms)):
        count, mean = since(arms, memory, arm, start, header["row"])
        if arms[arm]["bad"] == 0 and mean > best and not is_away(header, arms, arm):
            best = mean
            rival = arm
    for arm in range(len(arms)):
        count, mean = since(arms, memory, arm, start, header["row"])
        if arms[arm]["bad"] == 1 or count < 2:
            continue
        if best - mean > math.sqrt(parameters.evict / (count - 1)):
            arms[arm]["bad"] = 1
            arms[arm]["rival"] = rival
            arms[arm]["evicted_mean"] = mean
            arms[arm]["gap"] = best - mean
            arms[arm]["levels"] = max(int(math.log2(parameters.sampling_divisor / (best - mean))), 0)
            arms[arm]["target"] = 0


@kernel
def check(parameters: Any, header: Header, arms: Table, memory: Table) -> None:
    """Begin a new episode if some arm has changed; else make GOOD and BAD what is to be."""
    changed = False
    for arm in range(len(arms)):
        if arms[arm]["bad"] == 0:
            changed = changed or good_changed(parameters, header, arms, memory, arm)
        else:
            changed = changed or bad_changed(parameters, header, arms, memory, arm)
    if changed:
        header["episode"] += 1
        header["origin"] = header["row"]
        header["start"] = header["step"]
        for arm in range(len(arms)):
            arms[arm]["bad"] = 0
            arms[arm]["target"] = 0
        return
    for arm in range(len(arms)):
        if arms[arm]["bad"] == 1 and is_away(header, arms, arms[arm]["rival"]):
            arms[arm]["bad"] = 0
            arms[arm]["target"] = 0
    evict(parameters, header, arms, memory, header["origin"])
    distance = 1
    while 2 * distance < header["row"] - header["origin"]:
        distance *= 2
    while distance > 0:
        evict(parameters, header, arms, memory, max(header["row"] - distance, header["origin"]))
        distance //= 2


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    if step <= header["start"]:
        return
    arms[arm]["count"] += 1
    arms[arm]["sum"] += unit_reward(parameters, reward)
    row = header["row"] + 1
    if header["step"] < max(header["next_check"], parameters.checks_every) or row * len(arms) >= len(memory):
        return
    header["next_check"] = header["step"] + parameters.checks_every
    header["row"] = row
    for other in range(len(arms)):
        memory[row * len(arms) + other]["count"] = arms[other]["count"]
        memory[row * len(arms) + other]["sum"] = arms[other]["sum"]
    check(parameters, header, arms, memory)
    header["checked"] = header["step"]
    for other in range(len(arms)):
        arms[other]["missed"] = 0


@dataclass(frozen=True)
class AdSwitch(BoundedPolicy):
    """AdSwitch: arms are eliminated, sampled again at random, and all is forgotten when one has changed.

    Parameters
    ----------
    c1 : float
        The constant of the elimination, more than 16 in the theory; ``math.inf`` never eliminates.
    checks_every : int
        Steps between two checks.
    c2 : float
        The constant of the confidence intervals; ``math.inf`` never begins a new episode.
    sampling_divisor, change_divisor : float
        The 16 of D / 16 and the 4 of D / 4.
    low, high : float
        The range of the rewards, by keyword; [0, 1] by default.

    The header counts the ``episode``. At T = 100000, a gap of 0.3 is found after some 2000 pulls of each arm.
    """

    c1: float = 16.1
    checks_every: int = 50
    c2: float = 2.0
    sampling_divisor: float = 16.0
    change_divisor: float = 4.0

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, miss, estimate)
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "bounded, piecewise stationary"
    reference: ClassVar[str] = "auer2019adaptively"
    known_from: ClassVar[str] = "reconstruction"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keep(c1=checks.number("AdSwitch's c1", self.c1, above=0.0, infinite=True))
        self._keep(
            checks_every=checks.integer("AdSwitch's checks_every", self.checks_every, 1, checks.MAX_INTEGER)
        )
        self._keep(c2=checks.number("AdSwitch's c2", self.c2, above=0.0, infinite=True))
        self._keep(
            sampling_divisor=checks.number("AdSwitch's sampling_divisor", self.sampling_divisor, above=0.0)
        )
        self._keep(change_divisor=checks.number("AdSwitch's change_divisor", self.change_divisor, above=0.0))

    @property
    def must_know(self) -> str:
        return f"{super().must_know}, T"

    @property
    def estimated(self) -> Estimated:
        return REMEMBERED

    @property
    def memory_cost(self) -> str:
        return "O(K T / checks_every)"

    def parameters(self, n_arms: int, horizon: int | None) -> AdSwitchParameters:
        steps = need_horizon("AdSwitch", horizon)
        log = math.log(max(steps, 2))
        scale = (float(self.low), float(self.high - self.low))
        constants = (float(self.c1) * log, float(self.c2) * log, 1 / math.sqrt(n_arms * steps * log))
        divisors = (float(self.sampling_divisor), float(self.change_divisor))
        return AdSwitchParameters(*scale, *constants, *divisors, self.checks_every)

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        return np.repeat(MEMORY, n_arms * (need_horizon("AdSwitch", horizon) // self.checks_every + 1))
