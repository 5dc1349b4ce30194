"""SSTC: sub-sample t-comparisons, SSMC for Gaussian rewards whose variances are unknown and unequal.

Rule
----
Rounds, leader and forced exploration are as in `brigand.policies.subsampling.challenges`. A challenger k with
N_k < N_l wins if N_k < max(2, sqrt(log r)), or if for *some* block of N_k consecutive rewards of the leader

    (mean_k - c) sd_block >= (mean_block - c) sd_k,    c the mean of all of the leader's rewards:

the t-statistics, multiplied out. On rewards of 0 and 1 the rule is that of SSMC.

Source
------
Chan, "The multi-armed bandit problem: an efficient nonparametric solution", Annals of Statistics 48(1), 2020.
**A reconstruction**: the rule is recalled, for the text was not available. What speaks for the recollection:
about a share (1 + d^2/s^2)^(-n/2) of the leader's blocks of n have a t-statistic below -d/s. So a challenger
with gap d and standard deviation s is pulled about 2 log T / log(1 + d^2/s^2) times, which is the lower bound
of Burnetas and Katehakis for Gaussian arms of unknown variance.

Deviations
----------
If both sides are zero, a win takes mean_k >= mean_block too: a leader that always pays the same would lose
every comparison otherwise.

Sums are exact, and ties are ties (see `brigand.policies.kernels.exact_history`). Squares are of deviations
from the arm's first reward: fine while that is within 10^7 standard deviations of the others. Squares of
deviations above 1e154 overflow: a block then has an infinite standard deviation, and so have all later ones.
Where both standard deviations are infinite, means are compared.

Late rewards
------------
As in `brigand.policies.subsampling.challenges`, and so for absent arms. But an arm needs two rewards: with
fewer it is in the round until it has been pulled 4 + log(n + 1) times, n the number of all pulls, and then
waits for its second one.

Cost
----
O(K) a round, and O(N_l) where a challenger or the leader has changed; memory O(T).

A block lets the challenger win on a half line of c: if sd_block < sd_k, for c from some number on; if larger,
up to some number; if equal, everywhere or nowhere. So each block is looked at once, and the union of the half
lines is kept as long as the leader and the challenger's rewards stay the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from brigand.jit import kernel
from brigand.policies.base import Header, Kernels, Policy, Table, record
from brigand.policies.kernels.arithmetic import ROUNDING, difference, quotient, two_sum
from brigand.policies.kernels.choices import needs_pull
from brigand.policies.kernels.exact_history import last_row, remember
from brigand.policies.kernels.history import new_history, reward_at
from brigand.policies.subsampling.challenges import SUM, TURN, challenge_kernels
from brigand.policies.subsampling.ssmc import HEADER, SSMCParameters

# square: the sum of squared deviations from the arm's first reward, and what rounding took from it.
# With `size` rewards, the arm beats one of the first `seen` blocks of `rival` if c >= above or c <= below.
ARM = record(
    **TURN,
    **SUM,
    square=0.0,
    square_residue=0.0,
    rival=-1,
    size=0,
    seen=0,
    above=math.inf,
    below=-math.inf,
)
ROW = record(segment=0, reward=0.0, total=0.0, residue=0.0, square=0.0, square_residue=0.0)

ALIKE = 1.0 - 2.0**-30  # standard deviations whose ratio is above are equal: the rest is rounding


@kernel
def remember_square(arms: Table, memory: Table, arm: int, reward: float) -> None:
    """Add the squared deviation of the arm's newest reward to the sums of squares."""
    # As Python's floats: with NumPy's, an overflow is a warning.
    deviation = float(reward) - float(reward_at(memory, arm, 0))
    total = float(arms[arm]["square"]) + deviation * deviation
    if total < math.inf:
        total, lost = two_sum(arms[arm]["square"], deviation * deviation)
        arms[arm]["square_residue"] += lost
    arms[arm]["square"] = total
    row = last_row(arms, memory, arm, arms[arm]["count"])
    memory[row]["square"] = total
    memory[row]["square_residue"] = arms[arm]["square_residue"]


@kernel
def mean_above(origin: float, total: float, residue: float, count: int) -> float:
    """Return (total + residue) / count - origin, without the rounding of the mean."""
    # Split as in `quotient`.
    scaled = 134217729.0 * origin
    high = scaled - (scaled - origin)
    low = origin - high
    return (((total - high * count) - low * count) + residue) / count


@kernel
def block(
    arms: Table, memory: Table, arm: int, origin: float, first: int, size: int
) -> tuple[float, float, float]:
    """Return the sum of `size` rewards from number `first` on, what rounding took from it, and their spread.

    The spread is sqrt(size) times the standard deviation; `origin` is the arm's first reward.
    """
    end = last_row(arms, memory, arm, first + size)
    total, residue = memory[end]["total"], memory[end]["residue"]
    square, square_residue = float(memory[end]["square"]), memory[end]["square_residue"]
    if first > 0:
        begin = last_row(arms, memory, arm, first)
        total, lost = two_sum(total, -memory[begin]["total"])
        residue = lost + (residue - memory[begin]["residue"])
        square -= float(memory[begin]["square"])
        square_residue -= memory[begin]["square_residue"]
    if not square < math.inf:
        return total, residue, math.inf
    square += square_residue
    shift = float(mean_above(origin, total, residue, size))
    variation = square - size * shift * shift
    # What rounding may have left of a variance of zero is zero.
    return total, residue, math.sqrt(variation) if variation > 8.0 * ROUNDING * square else 0.0


@kernel
def enters(parameters: Any, header: Header, arms: Table, memory: Table, challenges: Any, arm: int) -> bool:
    leader = challenges.leader
    size, count = arms[arm]["count"], arms[leader]["count"]
    if arm == leader or size >= count:
        return False
    if arms[arm]["pulls"] < max(2.0, challenges.forced):
        return True
    if size < 2:
        return needs_pull(arms[arm]["pulls"], 2.0, header["step"])
    seen, above, below = 0, math.inf, -math.inf
    if arms[arm]["rival"] == leader and arms[arm]["size"] == size:
        seen, above, below = arms[arm]["seen"], arms[arm]["above"], arms[arm]["below"]
    center = quotient(arms[leader]["sum"], arms[leader]["residue"], count)
    total, residue, spread = block(arms, memory, arm, reward_at(memory, arm, 0), 0, size)
    origin = reward_at(memory, leader, 0)
    # Stops at the first block won.
    while below < center < above and seen + size <= count:
        rival, rival_residue, rival_spread = block(arms, memory, leader, origin, seen, size)
        excess = float(difference(total, residue, rival, rival_residue) / size)
        if rival_spread < ALIKE * spread:
            bound = quotient(rival, rival_residue, size)
            bound -= excess * (rival_spread / (spread - rival_spread))
            if rival_spread == 0.0 and excess < 0.0:
                bound = np.nextafter(bound, math.inf)
            above = min(above, bound)
        elif spread < ALIKE * rival_spread:
            bound = quotient(total, residue, size)
            bound += excess * (spread / (rival_spread - spread))
            if spread == 0.0 and excess < 0.0:
                bound = np.nextafter(bound, -math.inf)
            below = max(below, bound)
        elif excess >= 0.0:
            above = -math.inf
        seen += 1
    if challenges.now > 0:
        arms[arm]["rival"] = leader
        arms[arm]["size"] = size
        arms[arm]["seen"] = seen
        arms[arm]["above"] = above
        arms[arm]["below"] = below
    return not below < center < above


@kernel
def keep(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    remember(parameters, header, arms, memory, arm, reward, step)
    remember_square(arms, memory, arm, reward)


select, pull, learn, miss = challenge_kernels(enters, keep)


@dataclass(frozen=True)
class SSTC(Policy):
    """SSTC: a challenger is pulled if some block of the leader's rewards has no larger t-statistic."""

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, miss)
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "Gaussian, unknown and unequal variances"
    reference: ClassVar[str] = "chan2020multi"
    known_from: ClassVar[str] = "reconstruction"

    @property
    def must_know(self) -> str:
        return "nothing but T, for its memory"

    @property
    def memory_cost(self) -> str:
        return "O(T)"

    def parameters(self, n_arms: int, horizon: int | None) -> SSMCParameters:
        return SSMCParameters(0.5)

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        return new_history("SSTC", n_arms, horizon, ROW)
