"""FE-Trimmed, forced exploration without moments: FE that is greedy by a trimmed mean.

Rule
----
As FE (`brigand.policies.forced.forced_exploration`), but that the greedy step takes the largest trimmed mean
in the place of the largest mean. Of an arm's last rewards in order of arrival, n = 1024 or all if there are
fewer, the k smallest and the k largest are left out, and the estimate is the mean of the rest. After t pulls
of all arms

    k = floor(a n),    a = min(1 / 8, c / ceil(log(t + 1))).

**The share a is the same for all arms.** So arms are compared fairly, however many rewards each has, if the
laws of their rewards are symmetric, or differ by place only. Otherwise an arm may be underrated whose rewards
are more skewed to the right than those of another. The share goes to 0, but as slowly as 1 / log t. (Rounding
down leaves out fewer where rewards are few: where they are skewed to the right, such an arm is overrated, and
pulled more.)

**What is as rare as a is not seen.** Of rewards that are 0 but for a share less than a, the trimmed mean is
0: Bernoulli arms with means of 5 % are nearly always equal up to about t = e^16, for c = 1. Where rewards are
bounded, take FE.

With the default sequence, an arm that is pulled only when it is forced has about (log t)^2 rewards, fewer
than 1349 after 2^53 steps: it forgets next to nothing. The estimate of an arm that is pulled all the time is
that of its last 1024 rewards, and does not become more exact than that. So regret is in the end linear in T,
which shows for gaps below about sigma / 10.

Source
------
Ours. The turns are those of Qi, Zhu, Guo, "Forced Exploration in Bandit Problems", AAAI 2024. The trimmed
mean is that of Lugosi, Mendelson, "Robust multivariate mean estimation: the optimality of trimmed mean",
Annals of Statistics 49, 2021.

Deviations
----------
None: there is no other definition.

Late rewards
------------
Rounds and thresholds depend on pulls, estimates on the rewards that have arrived. An arm without a reward is
pulled only when it is due; if no arm has a reward, the least recently pulled one is. A reward cannot be
corrected.

Absent arms: an arm that is away when it is due misses its turn, and one that joins late catches up (see
`brigand.policies.forced.turns`).

Cost
----
O(1024) a step, some 1.3 us for an arm with so many rewards, and O(K) at a forced pull; O(1024 K) when the
share changes, 37 times at most. Memory O(1024 K): of each arm the last 1024 rewards are kept, in order of
arrival and in order of size.

What is not left out is added up anew at every reward: nothing is ever subtracted, and a reward of 1e300 that
is left out leaves nothing behind. Sums are kept with what rounding took from them, so that equal means are
equal floats, and none overflows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.jit import kernel
from brigand.policies.base import Estimated, Header, Kernels, Table, record
from brigand.policies.forced import turns
from brigand.policies.forced.sequences import AnytimeExponential, ExplorationSequence
from brigand.policies.forced.turns import ForcedPolicy, count_pull, miss, move_on, propensity, select
from brigand.policies.kernels.arithmetic import quotient, two_sum
from brigand.policies.kernels.choices import mean_moved, rank
from brigand.policies.kernels.estimates import ROBUST, known_mean

# log: ceil(log(t + 1)), at least 1; until: the step before which it stays as it is
HEADER = record(step=0, next_reset=0, leader=-1, second=0.0, log=1, until=0.0, **turns.HEADER)
# count: n; next: where the next reward goes in order of arrival; mean: the estimate
ARM = record(**turns.ARM, count=0, next=0, mean=float("nan"))
ROOM = 1024
"""So many of an arm's last rewards are kept."""
# Rows ROOM i to ROOM (i + 1) - 1: the last rewards of arm i, in a ring by arrival, and in ascending order.
# Row i: f(i + 1) of a table
ROW = record(arrived=0.0, sorted=0.0, f=0.0)
SHARE = 8
"""At most one reward in so many is left out on each side."""
EARLY = 2.0**-40
"""The logarithm is computed a little before the step at which it changes, for the sake of rounding."""
HUGE = 2.0**1000
"""With a reward beyond it, the sum is in units of 1 / `SMALL`: `ROOM` rewards do not overflow then."""
SMALL = 2.0**-24


class TrimmedForcedExplorationParameters(NamedTuple):
    """The sequence (see `sequences.Form`), the length of its table, no window, no resets; c."""

    kind: int
    number: float
    shift: int
    table: int
    window: int
    reset_round: int
    c: float


@kernel
def set_log(header: Header) -> bool:
    """Let the logarithm follow the step; return whether it has changed."""
    if header["step"] < header["until"]:
        return False
    before = header["log"]
    header["log"] = max(1, math.ceil(math.log(header["step"] + 1.0)))
    header["until"] = math.exp(header["log"]) * (1.0 - EARLY) - 1.0
    return header["log"] != before


@kernel
def trimmed(parameters: Any, header: Header, count: int) -> int:
    """Return k: how many of an arm's last rewards are left out on each side."""
    return min(count // SHARE, int(parameters.c * count / header["log"]))


@kernel
def place(memory: Table, first: int, count: int, reward: float) -> int:
    """Return the row of a reward in the order of size, of `count` rows that begin with `first`."""
    low, high = first, first + count - 1
    while low < high:
        middle = (low + high) // 2
        if memory[middle]["sorted"] < reward:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def keep(arms: Table, memory: Table, arm: int, reward: float) -> None:
    """Put the arm's newest reward among its last, in the place of the oldest where there is no room."""
    first, count, newest = ROOM * arm, arms[arm]["count"], ROOM * arm + arms[arm]["next"]
    if count < ROOM:
        row = first + count
        count += 1
    else:
        row = place(memory, first, count, memory[newest]["arrived"])
    while row > first and memory[row - 1]["sorted"] > reward:
        memory[row]["sorted"] = memory[row - 1]["sorted"]
        row -= 1
    while row + 1 < first + count and memory[row + 1]["sorted"] < reward:
        memory[row]["sorted"] = memory[row + 1]["sorted"]
        row += 1
    memory[row]["sorted"] = reward
    memory[newest]["arrived"] = reward
    arms[arm]["count"] = count
    arms[arm]["next"] = (arms[arm]["next"] + 1) % ROOM


@kernel
def set_mean(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    """Set the estimate."""
    count = arms[arm]["count"]
    trim = trimmed(parameters, header, count)
    first, last = ROOM * arm + trim, ROOM * arm + count - trim - 1
    smallest, largest = memory[first]["sorted"], memory[last]["sorted"]
    unit = SMALL if max(-smallest, largest) > HUGE else 1.0
    total, residue = 0.0, 0.0
    for row in range(first, last + 1):
        total, lost = two_sum(total, unit * memory[row]["sorted"])
        residue += lost
    mean = quotient(total, residue, count - 2 * trim) / unit
    arms[arm]["mean"] = min(max(mean, smallest), largest)  # it may be rounded to more


@kernel
def trim_all(parameters: Any, header: Header, arms: Table, memory: Table) -> None:
    """Let the estimates of all arms follow the share."""
    for arm in range(len(arms)):
        if arms[arm]["count"] > 0:
            set_mean(parameters, header, arms, memory, arm)
    rank(header, arms)


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    if count_pull(header, arms, arm):
        move_on(parameters, header, arms, memory, arm)
    if set_log(header):
        trim_all(parameters, header, arms, memory)


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    keep(arms, memory, arm, reward)
    set_mean(parameters, header, arms, memory, arm)
    mean_moved(header, arms, arm)


@dataclass(frozen=True)
class TrimmedForcedExploration(ForcedPolicy):
    """FE that is greedy by a trimmed mean: for rewards with heavy tails, of which nothing is known.

    It needs no range, no variance, no order of a finite moment, and with `AnytimeExponential` no horizon.

    Parameters
    ----------
    sequence : ExplorationSequence
        f(r): `AnytimeExponential`, `Exponential`, `Linear`, `Constant`, `Power` or `Sequence`.
    c : float
        Of an arm's last rewards, 1024 at most, the share c / log t is left out on each side, but no more than
        an eighth. A larger share withstands more outliers; a smaller one has a mean nearer that of all. The
        default was tuned (see docs/decisions.md).

    Notes
    -----
    The arms table counts ``pulls`` and, among them, ``forced`` pulls.
    """

    sequence: ExplorationSequence = AnytimeExponential()
    c: float = 1.0

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, miss, known_mean, propensity)
    narrow: ClassVar[bool] = True
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "finite moment of some order above 1"
    known_from: ClassVar[str] = "ours"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keep(c=checks.number("TrimmedForcedExploration's c", self.c, 0.0, 1000.0, above=0.0))

    @property
    def estimated(self) -> Estimated:
        return ROBUST

    def parameters(self, n_arms: int, horizon: int | None) -> TrimmedForcedExplorationParameters:
        form, table = self.sequence.form(horizon), len(self._table(n_arms, horizon))
        return TrimmedForcedExplorationParameters(*form, table, 0, 0, self.c)

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        table = self._table(n_arms, horizon)
        memory = np.repeat(ROW, max(ROOM * n_arms, len(table)))
        memory["f"][: len(table)] = table
        return memory
