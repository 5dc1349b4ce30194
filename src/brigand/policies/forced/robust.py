"""FE-MoM, forced exploration without moments: FE that is greedy by the median of means.

Rule
----
As FE (`brigand.policies.forced.forced_exploration`), but that the greedy step takes the largest median of
means in the place of the largest mean.

An arm's rewards, in order of arrival, are cut into a atoms of equal length; the rewards after the last whole
atom are left out. Atoms have one reward at first. Whenever there are 2 M of them, neighbours are joined in
pairs, which leaves M atoms of twice the length; M = ceil(36.8 c) + 1. After t pulls of all
arms, with

    B = max(1, ceil(c log(t + 1))),    g = max(1, floor(a / B)),

the first g atoms make a block, and so on; the floor(a / g) blocks are of equal length, and less than g atoms
are left out. The estimate is the median of the blocks' means, which for an even number of blocks is the
middle of the two middle ones. So there are from B to 2 B - 1 blocks once there are B rewards; before, each
reward is a block.

Source
------
Ours. The turns are those of Qi, Zhu, Guo, "Forced Exploration in Bandit Problems", AAAI 2024. Bubeck,
Cesa-Bianchi, Lugosi, "Bandits with heavy tail", IEEE Transactions on Information Theory 59, 2013, have medians
of about 16 log t means as indices. Their width has the order of a finite moment and a bound on it, which
forced exploration does without.

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
O(1) a step, O(c log T) when an atom is complete, which is once in n / (c log T) rewards of an arm that has n;
O(K c log T) each of the c log T times at which B changes; O(K) at a forced pull. Memory O(c K), whatever T is:
2 M atoms suffice for 2^53 steps, for c log 2^53 < 36.8 c.

Atoms hold means, for a mean cannot overflow where a sum does. Lengths are powers of two, so nothing is
rounded in going from one to the other. Each is kept with what rounding took from it, and nothing is ever
subtracted: a reward of 1e300 spoils its own block alone, and equal means are equal floats.
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

# blocks: B; until: the step before which B stays as it is
HEADER = record(step=0, next_reset=0, leader=-1, second=0.0, blocks=1, until=0.0, **turns.HEADER)
# mean: the estimate. atoms: whole ones; length: of each; begun: rewards in the next, which add up to total and
# residue, each divided by length. blocks, group: B' and g of the estimate
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
# Row i: the mean of atom i % (2 M) of arm i // (2 M), and what rounding took from it; f(i + 1), if tabulated.
ATOM = record(mean=0.0, residue=0.0, f=0.0)
MOST_LOG = 36.8
"""At least log(2^53 + 1): there are no more steps."""

EARLY = 2.0**-40
"""B is computed a little before it changes, for rounding's sake."""


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
    least: int


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
def add(parameters: Any, arms: Table, memory: Table, arm: int, reward: float) -> bool:
    """Add a reward to the arm's next atom; return whether that is whole."""
    arms[arm]["count"] += 1
    arms[arm]["begun"] += 1
    total, lost = two_sum(arms[arm]["total"], reward / arms[arm]["length"])
    arms[arm]["total"] = total
    arms[arm]["residue"] += lost
    if arms[arm]["begun"] < arms[arm]["length"]:
        return False
    row = arm * parameters.atoms + arms[arm]["atoms"]
    memory[row]["mean"] = total
    memory[row]["residue"] = arms[arm]["residue"]
    arms[arm]["atoms"] += 1
    arms[arm]["begun"] = 0
    arms[arm]["total"] = 0.0
    arms[arm]["residue"] = 0.0
    if arms[arm]["atoms"] == parameters.atoms:
        join(parameters, arms, memory, arm)
    return True


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
    wanted = max(1, min(header["blocks"], atoms * arms[arm]["length"] // parameters.least))
    group = max(1, atoms // wanted)
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
    if add(parameters, arms, memory, arm, reward) and refresh(parameters, header, arms, memory, arm):
        mean_moved(header, arms, arm)


@dataclass(frozen=True)
class RobustForcedExploration(ForcedPolicy):
    """FE without moments: greedy by the median of means, except that an arm left alone for f(r) steps is forced.

    It needs no range, no variance, no order of a finite moment, and with its default f no horizon.

    Parameters
    ----------
    sequence : ExplorationSequence
        f(r): `AnytimeExponential`, `Exponential`, `Linear`, `Constant`, `Power` or `Sequence`.
    c : float
        There are about c log t blocks: more withstand more outliers, fewer are nearer the mean.

    Notes
    -----
    The arms table counts ``pulls`` and, among them, ``forced`` pulls.
    """

    sequence: ExplorationSequence = AnytimeExponential()
    c: float = 1.0
    least: int = 1

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
        return RobustForcedExplorationParameters(*form, table, 0, 0, self.c, 2 * self._half, self.least)

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        table = self._table(n_arms, horizon)
        memory = np.repeat(ATOM, max(2 * self._half * n_arms, len(table)))
        memory["f"][: len(table)] = table
        return memory

    @property
    def _half(self) -> int:
        """M."""
        return math.ceil(MOST_LOG * self.c) + 1
