"""FE-Trimmed, forced exploration without moments: FE that is greedy by a trimmed mean.

Rule
----
As FE (`brigand.policies.forced.forced_exploration`), but that the greedy step takes the largest trimmed mean
in the place of the largest mean. After t pulls of all arms, of an arm with n rewards the k smallest and the k
largest are left out, where

    k = min(ceil(c log(t + 1)), floor(n / 8)),

and the estimate is the mean of the rest.

**The trimmed mean of skewed rewards is not their mean.** While n < 8 c log t, an eighth is left out on each
side, later less, and the estimate approaches the mean. So arms whose laws differ by place or scale only are
compared fairly as long as all have few rewards. But an arm that is only pulled when it is forced keeps few,
about (log t)^2, while the arm that is pulled all the time gets many: if rewards are skewed to the right, the
first is underrated, and may stay below a worse arm. It has n >= 8 c log t from log t = 8 c on only.

Tried before, with more regret over ten problems together, though less with Student's t (see
docs/decisions.md): the median of means, of 8 log t blocks in order of arrival. An arm with few rewards had
blocks of one, so that medians were compared.

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
Rounds and thresholds depend on pulls, estimates on the rewards that have arrived, in whatever order. An arm
without a reward is pulled only when it is due; if no arm has a reward, the least recently pulled one is. A
reward cannot be corrected.

Absent arms: an arm that is away when it is due misses its turn, and one that joins late catches up (see
`brigand.policies.forced.turns`).

Cost
----
Of each arm the M smallest and the M largest rewards are kept in order, M = ceil(36.8 c) + 1, and of the
others the sum. There are at most 2^53 steps, so that k <= M. A step costs O(1), and O(M) if the reward is
among those kept, O(M log T) times an arm where rewards have one law, or if k changes, O(c log T) times; O(K)
at a forced pull. Memory O(c K), whatever T is.

Sums only grow while k stays as it is, and are made anew when it changes: nothing is ever subtracted, and a
reward of 1e300 that is left out leaves nothing behind. Sums are kept with what rounding took from them, so
that equal means are equal floats, and none overflows.
"""

from __future__ import annotations

import math
import sys
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

# most: the k of an arm with many rewards; until: the step before which it stays as it is
HEADER = record(step=0, next_reset=0, leader=-1, second=0.0, most=1, until=0.0, **turns.HEADER)
# mean: the estimate; trim: k. sum: of the rewards that are not left out; inner: of those that are not in the
# memory; each with its residue, and times the unit
ARM = record(
    **turns.ARM,
    count=0,
    mean=float("nan"),
    trim=0,
    sum=0.0,
    residue=0.0,
    inner=0.0,
    inner_residue=0.0,
    unit=1.0,
)
# Rows 2 M i to 2 M (i + 1) - 1: rewards of arm i in ascending order, all of them if it has no more than 2 M,
# else the M smallest and the M largest; and f(i + 1) of a table in row i
KEPT = record(reward=0.0, f=0.0)
SHARE = 8
"""At most one reward in so many is left out on each side."""
MOST_LOG = 36.8
"""Above the logarithm of 2^53, the most steps."""
EARLY = 2.0**-40
"""The k of all arms is computed a little before the step at which it changes, for the sake of rounding."""
HUGE = 2.0**960
"""With a reward beyond it, an arm's sums are in units of 1 / `SMALL`: 2^53 rewards do not overflow then."""
SMALL = 2.0**-60
LARGEST = sys.float_info.max


class TrimmedForcedExplorationParameters(NamedTuple):
    """The sequence (see `sequences.Form`), the length of its table, no window, no resets; c; M."""

    kind: int
    number: float
    shift: int
    table: int
    window: int
    reset_round: int
    c: float
    half: int


@kernel
def set_most(parameters: Any, header: Header) -> bool:
    """Let the largest k follow the step; return whether it has changed."""
    if header["step"] < header["until"]:
        return False
    before = header["most"]
    header["most"] = max(1, math.ceil(parameters.c * math.log(header["step"] + 1.0)))
    header["until"] = math.exp(min(header["most"] / parameters.c, 700.0)) * (1.0 - EARLY) - 1.0
    return header["most"] != before


@kernel
def trimmed(header: Header, arms: Table, arm: int) -> int:
    """Return k: how many of the arm's rewards are left out on each side."""
    return min(header["most"], arms[arm]["count"] // SHARE)


@kernel
def keep(parameters: Any, arms: Table, memory: Table, arm: int, reward: float) -> None:
    """Put the arm's newest reward in its place; what falls out there goes to the inner sum."""
    half = parameters.half
    if abs(reward) > HUGE and arms[arm]["unit"] == 1.0:
        arms[arm]["unit"] = SMALL
        arms[arm]["inner"] *= SMALL
        arms[arm]["inner_residue"] *= SMALL
        arms[arm]["trim"] = -1
    first = 2 * half * arm
    full = arms[arm]["count"] > 2 * half
    if full and reward > memory[first + half]["reward"]:
        row = first + half
        add_inner(arms, arm, memory[row]["reward"])
        while row + 1 < first + 2 * half and memory[row + 1]["reward"] < reward:
            memory[row]["reward"] = memory[row + 1]["reward"]
            row += 1
    else:
        row = first + (half if full else arms[arm]["count"]) - 1
        if full:
            add_inner(arms, arm, memory[row]["reward"])
        while row > first and memory[row - 1]["reward"] > reward:
            memory[row]["reward"] = memory[row - 1]["reward"]
            row -= 1
    memory[row]["reward"] = reward


@kernel
def add_inner(arms: Table, arm: int, reward: float) -> None:
    """Add a reward to the arm's inner sum."""
    total, lost = two_sum(arms[arm]["inner"], arms[arm]["unit"] * reward)
    arms[arm]["inner"] = total
    arms[arm]["inner_residue"] += lost


@kernel
def add_one(parameters: Any, arms: Table, memory: Table, arm: int, reward: float) -> None:
    """Let the sum follow the newest reward while k stays as it is.

    Where the reward itself is left out, it is another one that is not left out any more, and is an end now.
    """
    first = 2 * parameters.half * arm + arms[arm]["trim"]
    last = 2 * parameters.half * arm + min(arms[arm]["count"], 2 * parameters.half) - arms[arm]["trim"] - 1
    added = min(max(reward, memory[first]["reward"]), memory[last]["reward"])
    total, lost = two_sum(arms[arm]["sum"], arms[arm]["unit"] * added)
    arms[arm]["sum"] = total
    arms[arm]["residue"] += lost


@kernel
def add_up(parameters: Any, arms: Table, memory: Table, arm: int, trim: int) -> None:
    """Set the arm's k, and the sum of what is not left out."""
    first = 2 * parameters.half * arm
    total, residue = arms[arm]["inner"], arms[arm]["inner_residue"]
    for row in range(first + trim, first + min(arms[arm]["count"], 2 * parameters.half) - trim):
        total, lost = two_sum(total, arms[arm]["unit"] * memory[row]["reward"])
        residue += lost
    arms[arm]["trim"] = trim
    arms[arm]["sum"] = total
    arms[arm]["residue"] = residue


@kernel
def set_mean(arms: Table, arm: int) -> None:
    """Set the estimate."""
    count = arms[arm]["count"] - 2 * arms[arm]["trim"]
    mean = quotient(arms[arm]["sum"], arms[arm]["residue"], count) / arms[arm]["unit"]
    arms[arm]["mean"] = min(max(mean, -LARGEST), LARGEST)  # it may be rounded to more


@kernel
def trim_all(parameters: Any, header: Header, arms: Table, memory: Table) -> None:
    """Let the estimates of all arms follow k."""
    for arm in range(len(arms)):
        trim = trimmed(header, arms, arm)
        if trim != arms[arm]["trim"]:
            add_up(parameters, arms, memory, arm, trim)
            set_mean(arms, arm)
    rank(header, arms)


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    if count_pull(header, arms, arm):
        move_on(parameters, header, arms, memory, arm)
    if set_most(parameters, header):
        trim_all(parameters, header, arms, memory)


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    arms[arm]["count"] += 1
    middle = (2 * arm + 1) * parameters.half
    full = arms[arm]["count"] > 2 * parameters.half
    if full and memory[middle - 1]["reward"] <= reward <= memory[middle]["reward"]:
        add_inner(arms, arm, reward)
    else:
        keep(parameters, arms, memory, arm, reward)
    trim = trimmed(header, arms, arm)
    if trim == arms[arm]["trim"]:
        add_one(parameters, arms, memory, arm, reward)
    else:
        add_up(parameters, arms, memory, arm, trim)
    set_mean(arms, arm)
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
        About c log t rewards of an arm are left out on each side, but no more than an eighth. More withstand
        more outliers; fewer have a mean nearer that of all. The default was tuned (see docs/decisions.md).

    Notes
    -----
    The arms table counts ``pulls`` and, among them, ``forced`` pulls.
    """

    sequence: ExplorationSequence = AnytimeExponential()
    c: float = 8.0

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
        form = self.sequence.form(horizon)
        table = len(self._table(n_arms, horizon))
        return TrimmedForcedExplorationParameters(*form, table, 0, 0, self.c, self._half)

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        table = self._table(n_arms, horizon)
        memory = np.repeat(KEPT, max(2 * self._half * n_arms, len(table)))
        memory["f"][: len(table)] = table
        return memory

    @property
    def _half(self) -> int:
        """M."""
        return math.ceil(MOST_LOG * self.c) + 1
