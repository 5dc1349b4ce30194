"""FE-MoM, forced exploration without moments: FE that is greedy by the median of means.

Rule
----
As FE (`brigand.policies.forced.forced_exploration`), but that the greedy step takes the largest median of
means in the place of the largest mean.

An arm's rewards, in order of arrival, are cut into atoms of equal length; the rewards after the last whole
atom are left out. Atoms have one reward at first. Whenever there are 2 M of them, neighbours are joined in
pairs, which leaves M atoms of twice the length; M = ceil(36.8 c) + 1. After t pulls of all arms, with a atoms
and

    B = max(1, ceil(c log(t + 1))),    g = max(1, floor(a / B)),

each g atoms in turn make a block, and less than g are left over and left out. The estimate is the median of
the blocks' means; of an even number of blocks, the middle of the two middle ones. There are from B to 2 B - 1
blocks once there are B rewards. Before that, each reward is a block, and the estimate is their median.

**The median of means of skewed rewards is not their mean**; it is nearer the longer the blocks are, and an
arm with less than 2 B rewards has blocks of one. An arm that is only pulled when it is forced has short
blocks. If its rewards are skewed to the right, it is underrated, and may stay below a worse arm that is
pulled all the time. Forced pulls, about (log t)^2 of them, are more than 2 B for log t > 2 c only.

Source
------
Ours. The turns are those of Qi, Zhu, Guo, "Forced Exploration in Bandit Problems", AAAI 2024. Medians of
about 16 log t means stand in the indices of Bubeck, Cesa-Bianchi, Lugosi, "Bandits with heavy tail", IEEE
Transactions on Information Theory 59, 2013. The widths there are made of the order of a finite moment and a
bound on it; forced exploration has no width, and needs neither.

Deviations
----------
None: there is no other definition.

Late rewards
------------
Rounds and thresholds depend on pulls, blocks on the rewards that have arrived, in order of arrival. An arm
without a reward is pulled only when it is due; if no arm has a reward, the least recently pulled one is. A
reward cannot be corrected.

Absent arms: an arm that is away when it is due misses its turn, and one that joins late catches up (see
`brigand.policies.forced.turns`).

Cost
----
O(1) a step, and O(c log T) with each whole atom: an arm with n rewards has had O(c log T log n) of them.
O(K c log T) at each of the c log T steps at which B changes; O(K) at a forced pull. Memory O(c K), whatever T
is: there are at most 2^53 steps, so that B <= M.

Atoms hold means, and are of lengths that are powers of two. So nothing overflows, and nothing is rounded but
by sums; each is kept with what rounding took from it, and nothing is ever subtracted. A reward of 1e300
spoils its own block alone, and equal means are equal floats.
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
from brigand.policies.kernels.median import median

# blocks: B; until: the step before which it stays as it is
HEADER = record(step=0, next_reset=0, leader=-1, second=0.0, blocks=1, until=0.0, **turns.HEADER)
# mean: the estimate; atoms: how many are whole, of `length` rewards each. begun: the rewards in the next one;
# total, residue: their sum / length. blocks, group: how many there are, of g atoms each
ARM = record(
    **turns.ARM,
    count=0,
    mean=float("nan"),
    atoms=0,
    length=1,
    begun=0,
    total=0.0,
    residue=0.0,
    blocks=0,
    group=0,
)
# Row i: atom i mod 2 M of arm floor(i / 2 M): its mean, and what rounding took; f(i + 1) of a table
ATOM = record(mean=0.0, residue=0.0, f=0.0)
MOST_LOG = 36.8
"""Above the logarithm of 2^53, the most steps."""
EARLY = 2.0**-40
"""B is computed a little before the step at which it changes, for the sake of rounding."""


class RobustForcedExplorationParameters(NamedTuple):
    """The sequence (see `sequences.Form`), the length of its table, no window, no resets; c; 2 M."""

    kind: int
    number: float
    shift: int
    table: int
    window: int
    reset_round: int
    c: float
    atoms: int


@kernel
def set_blocks(parameters: Any, header: Header) -> bool:
    """Let B follow the step; return whether it has changed."""
    if header["step"] < header["until"]:
        return False
    before = header["blocks"]
    header["blocks"] = max(1, math.ceil(parameters.c * math.log(header["step"] + 1.0)))
    header["until"] = math.exp(min(header["blocks"] / parameters.c, 700.0)) * (1.0 - EARLY) - 1.0
    return header["blocks"] != before


@kernel
def end_atom(parameters: Any, arms: Table, memory: Table, arm: int) -> None:
    """Write down the arm's atom that is whole now, and begin another."""
    row = arm * parameters.atoms + arms[arm]["atoms"]
    memory[row]["mean"] = arms[arm]["total"]
    memory[row]["residue"] = arms[arm]["residue"]
    arms[arm]["atoms"] += 1
    arms[arm]["begun"] = 0
    arms[arm]["total"] = 0.0
    arms[arm]["residue"] = 0.0
    if arms[arm]["atoms"] == parameters.atoms:
        join(parameters, arms, memory, arm)


@kernel
def join(parameters: Any, arms: Table, memory: Table, arm: int) -> None:
    """Make one atom of every two of the arm's."""
    first = arm * parameters.atoms
    half = parameters.atoms // 2
    for i in range(half):
        left, right = first + 2 * i, first + 2 * i + 1
        mean, lost = two_sum(0.5 * memory[left]["mean"], 0.5 * memory[right]["mean"])
        memory[first + i]["residue"] = 0.5 * (memory[left]["residue"] + memory[right]["residue"]) + lost
        memory[first + i]["mean"] = mean
    arms[arm]["atoms"] = half
    arms[arm]["length"] *= 2
    arms[arm]["group"] = 0


@kernel
def refresh(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> bool:
    """Bring the estimate of an arm with a reward up to date; return whether its blocks have changed."""
    atoms = arms[arm]["atoms"]
    group = max(1, atoms // header["blocks"])
    blocks = atoms // group
    if group == arms[arm]["group"] and blocks == arms[arm]["blocks"]:
        return False
    arms[arm]["group"] = group
    arms[arm]["blocks"] = blocks
    share = 1.0
    while share * group > 1.0:
        share *= 0.5
    row = arm * parameters.atoms
    means = np.empty(blocks)
    for block in range(blocks):
        total, residue = 0.0, 0.0
        for _ in range(group):
            total, lost = two_sum(total, share * memory[row]["mean"])
            residue += share * memory[row]["residue"] + lost
            row += 1
        means[block] = quotient(total, residue, share * group)
    arms[arm]["mean"] = median(means)
    return True


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    if count_pull(header, arms, arm):
        move_on(parameters, header, arms, memory, arm)
    if set_blocks(parameters, header):
        for other in range(len(arms)):
            if arms[other]["count"] > 0:
                refresh(parameters, header, arms, memory, other)
        rank(header, arms)


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    arms[arm]["count"] += 1
    arms[arm]["begun"] += 1
    total, lost = two_sum(arms[arm]["total"], reward / arms[arm]["length"])
    arms[arm]["total"] = total
    arms[arm]["residue"] += lost
    if arms[arm]["begun"] == arms[arm]["length"]:
        end_atom(parameters, arms, memory, arm)
        if refresh(parameters, header, arms, memory, arm):
            mean_moved(header, arms, arm)


@dataclass(frozen=True)
class RobustForcedExploration(ForcedPolicy):
    """FE that is greedy by the median of means: for rewards with heavy tails, of which nothing is known.

    It needs no range, no variance, no order of a finite moment, and with `AnytimeExponential` no horizon.

    Parameters
    ----------
    sequence : ExplorationSequence
        f(r): `AnytimeExponential`, `Exponential`, `Linear`, `Constant`, `Power` or `Sequence`.
    c : float
        There are about c log t blocks: more withstand more outliers, fewer have a median nearer the mean.
        Of 0.5, 1, 2, 4 and 8, the default had the least regret with heavy tails.

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
        self._keep(c=checks.number("RobustForcedExploration's c", self.c, 0.0, 1000.0, above=0.0))

    @property
    def estimated(self) -> Estimated:
        return ROBUST

    def parameters(self, n_arms: int, horizon: int | None) -> RobustForcedExplorationParameters:
        form = self.sequence.form(horizon)
        table = len(self._table(n_arms, horizon))
        return RobustForcedExplorationParameters(*form, table, 0, 0, self.c, 2 * self._half)

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        table = self._table(n_arms, horizon)
        memory = np.repeat(ATOM, max(2 * self._half * n_arms, len(table)))
        memory["f"][: len(table)] = table
        return memory

    @property
    def _half(self) -> int:
        """M."""
        return math.ceil(MOST_LOG * self.c) + 1
