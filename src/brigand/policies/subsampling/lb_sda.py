"""LB-SDA-LM: LB-SDA with limited memory.

Rule
----
Rounds and leader are as in `brigand.policies.subsampling.challenges`, and comparisons as in LB-SDA: with the
leader's last rewards (`brigand.policies.subsampling.sub_sampling`). But an arm keeps only its last m_r
rewards, m_r = max(least, log(r)^2 + extra) in round r: if it holds m_r or more, the oldest is dropped before
a new one is added. Counts and sums for the choice of the leader are of all rewards. A challenger with N_k <
N_l challenges with the n_k rewards that it keeps, against the last n_k that the leader keeps.

Forced exploration: a challenger with fewer pulls than the cube root of log r wins without a comparison.

Source
------
Baudry, Russac, Cappe, "On limited-memory subsampling strategies for bandits", ICML 2021, by its authors'
code; the paper's text was not at hand.

Deviations
----------
From the paper, not from the code: the code forces with the cube root of the logarithm. For the paper's
sqrt(log), quoted from memory, set `forced="sqrt_log"`.

From the code: it does not count the first pulls as a round, so that the first comparisons have r = 1 there,
and r = 2 here. Arms with one pull are forced from r = 3 on, thus one round earlier here. And its cube root is
(log r)^0.333, which forces a third pull from r = 3032 on, in place of 2981. With `authors_code=True`, both
are as in the code. It makes the first pulls in order of index; here the order is random.

Sums are exact, and ties are ties (see `brigand.policies.kernels.exact_history`). The kept rewards are a ring,
and prefix sums begin anew each time round, so that dropped rewards leave no rounding behind.

Late rewards
------------
As in `brigand.policies.subsampling.challenges`, and so for absent arms.

Cost
----
O(K) a round; memory O(K m_T).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.jit import kernel
from brigand.policies.base import Estimated, Header, Kernels, Policy, State, Table, need_horizon, record
from brigand.policies.kernels.arithmetic import difference, quotient, two_sum
from brigand.policies.kernels.estimates import REMEMBERED
from brigand.policies.subsampling.challenges import (
    ROUNDS,
    TURN,
    Challenges,
    challenge_kernels,
    check_authors_code,
    check_forced,
    most_rewards,
    power_of,
)
from brigand.spec import later

HEADER = record(**ROUNDS, capacity=0)  # rows of an arm's ring
# kept: how many rewards are kept, and their sum; lap: how many are in the current turn of the ring
ARM = record(**TURN, sum=0.0, residue=0.0, kept=0, kept_sum=0.0, kept_residue=0.0, lap=0)
MEMORY = record(total=0.0, residue=0.0)  # K rings of prefix sums


class LBSDALMParameters(NamedTuple):
    """The exponent of log r in forced exploration (0: none), m_r, and r of the first pulls, less 1."""

    forced: float
    least: float
    extra: float
    uncounted: int


@kernel
def push(memory: Table, base: int, capacity: int, lap: int, reward: float) -> int:
    """Add a reward to the ring of prefix sums at `base`; returns the new `lap`."""
    if lap == capacity:
        lap = 0
    total, residue = 0.0, 0.0
    if lap > 0:
        total, residue = memory[base + lap - 1]["total"], memory[base + lap - 1]["residue"]
    total, lost = two_sum(total, reward)
    memory[base + lap]["total"] = total
    memory[base + lap]["residue"] = residue + lost
    return lap + 1


@kernel
def span_sum(memory: Table, base: int, begin: int, end: int) -> tuple[float, float]:
    """Return the sum of a turn's rewards from number `begin` up to `end`, and what rounding took from it."""
    if begin == end:
        return 0.0, 0.0
    total, residue = memory[base + end - 1]["total"], memory[base + end - 1]["residue"]
    if begin == 0:
        return total, residue
    total, lost = two_sum(total, -memory[base + begin - 1]["total"])
    return total, lost + (residue - memory[base + begin - 1]["residue"])


@kernel
def last_sum(memory: Table, base: int, capacity: int, lap: int, size: int) -> tuple[float, float]:
    """Return the sum of the last `size` < `capacity` rewards, and what rounding took from it."""
    if size <= lap:
        return span_sum(memory, base, lap - size, lap)
    total, residue = span_sum(memory, base, 0, lap)
    older, older_residue = span_sum(memory, base, capacity - (size - lap), capacity)
    total, lost = two_sum(total, older)
    return total, residue + older_residue + lost


@kernel
def enters(parameters: Any, header: Header, arms: Table, memory: Table, challenges: Any, arm: int) -> bool:
    leader = challenges.leader
    if arm == leader:
        return False
    if arms[arm]["pulls"] < challenges.forced:
        return True
    if arms[arm]["count"] == 0 or arms[arm]["count"] >= arms[leader]["count"]:
        return False
    kept = arms[arm]["kept"]
    size = min(kept, arms[leader]["kept"])
    capacity = header["capacity"]
    total, residue = last_sum(memory, leader * capacity, capacity, arms[leader]["lap"], size)
    if size == kept:
        return difference(arms[arm]["kept_sum"], arms[arm]["kept_residue"], total, residue) >= 0.0
    mean = quotient(arms[arm]["kept_sum"], arms[arm]["kept_residue"], kept)
    return difference(mean, 0.0, quotient(total, residue, size), 0.0) >= 0.0


@kernel
def keep(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    arms[arm]["count"] += 1
    total, lost = two_sum(arms[arm]["sum"], reward)
    arms[arm]["sum"] = total
    arms[arm]["residue"] += lost
    log = math.log(max(header["round"] - parameters.uncounted, 1))
    capacity = header["capacity"]
    if arms[arm]["kept"] < min(max(parameters.least, log * log + parameters.extra), capacity - 1.0):
        arms[arm]["kept"] += 1
    arms[arm]["lap"] = push(memory, arm * capacity, capacity, arms[arm]["lap"], reward)
    total, lost = last_sum(memory, arm * capacity, capacity, arms[arm]["lap"], arms[arm]["kept"])
    arms[arm]["kept_sum"] = total
    arms[arm]["kept_residue"] = lost


@kernel
def estimate(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> tuple[float, float]:
    kept = arms[arm]["kept"]
    if kept == 0:
        return math.nan, 0.0
    return quotient(arms[arm]["kept_sum"], arms[arm]["kept_residue"], kept), float(kept)


@kernel
def limited_challenges(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, now: int
) -> Challenges:
    """As `next_challenges`, with the r of the policy in forced exploration."""
    number = header["round"] + header["started"]
    log = math.log(max(number - parameters.uncounted, 1))
    forced = log**parameters.forced if parameters.forced > 0.0 else 0.0
    return Challenges(number, most_rewards(header, arms, candidates, number, now), forced, now)


select, pull, learn, miss = challenge_kernels(enters, keep, following=limited_challenges)


@dataclass(frozen=True)
class LBSDALM(Policy):
    """LB-SDA-LM: comparisons with the last rewards, of which each arm keeps about log(r)^2.

    Parameters
    ----------
    least, extra : float
        Each arm keeps m_r = max(least, log(r)^2 + extra) rewards in round r. ``extra=50`` is what the paper's
        experiments used; ``least=math.inf`` keeps all, which is `LBSDA`.
    forced : {"none", "sqrt_log", "cbrt_log"}
        Forced exploration: of arms with fewer pulls than the (square or cube) root of log r.
    authors_code : bool
        By keyword: count rounds, and take the cube root, as the authors' code does (see above).
    """

    least: float = 10.0
    extra: float = 0.0
    forced: str = "cbrt_log"
    authors_code: bool = later(False)

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, miss, estimate)
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "one-parameter exponential family"
    reference: ClassVar[str] = "baudry2021limited"
    known_from: ClassVar[str] = "authors' code"

    def __post_init__(self) -> None:
        least = checks.number("LBSDALM's least", self.least, 1.0, infinite=True)
        extra = checks.number("LBSDALM's extra", self.extra, 0.0, 1e6)
        object.__setattr__(self, "least", least)
        object.__setattr__(self, "extra", extra)
        check_forced("LBSDALM", self.forced)
        check_authors_code("LBSDALM", self.authors_code)

    @property
    def must_know(self) -> str:
        return "nothing but T, for its memory" if math.isinf(self.least) else "nothing"

    @property
    def estimated(self) -> Estimated:
        return REMEMBERED

    @property
    def memory_cost(self) -> str:
        return "O(K T)" if math.isinf(self.least) else "O(K (log T)^2)"

    def parameters(self, n_arms: int, horizon: int | None) -> LBSDALMParameters:
        power = power_of(self.forced, self.authors_code)
        return LBSDALMParameters(power, self.least, self.extra, int(self.authors_code))

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        if math.isinf(self.least):
            return np.repeat(MEMORY, n_arms * (need_horizon("LBSDALM with least = inf", horizon) + 1))
        steps = checks.MAX_STEPS if horizon is None else horizon
        kept = math.ceil(max(self.least, math.log(steps) ** 2 + self.extra))
        return np.repeat(MEMORY, n_arms * (min(kept, steps) + 1))

    def start(self, n_arms: int, horizon: int | None, key: int = 0) -> State:
        state = super().start(n_arms, horizon, key)
        state.header["capacity"] = len(state.memory) // n_arms
        return state
