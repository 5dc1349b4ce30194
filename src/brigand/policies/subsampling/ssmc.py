"""SSMC: sub-sample mean comparisons.

Rule
----
For one-parameter exponential families. Rounds and leader are as in `brigand.policies.subsampling.challenges`.
A challenger k with fewer rewards than the leader, N_k < N_l, wins if N_k < sqrt(log r), or if its mean is at
least that of *some* N_k consecutive rewards of the leader.

Source
------
Chan, "The multi-armed bandit problem: an efficient nonparametric solution", Annals of Statistics 48(1), 2020.
**A reconstruction** in two points. sqrt(log r) is that of the code of Baudry, Kaufmann, Maillard (NeurIPS
2020); the theory asks for any c_r with c_r = o(log r), loglog r = o(c_r). That arms with N_k = N_l do not
challenge the leader is quoted from memory.

Deviations
----------
None known.

Late rewards
------------
As in `brigand.policies.subsampling.challenges`, and so for absent arms.

Cost
----
O(K) a round, and O(N_l) where a challenger or the leader has changed: a block of the leader that a challenger
has lost to is not looked at again as long as both stay the same. Memory O(T).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from brigand.jit import kernel
from brigand.policies.base import Header, Kernels, Policy, Table, record
from brigand.policies.kernels.exact_history import EXACT_ROW, block_excess, remember
from brigand.policies.kernels.history import new_history
from brigand.policies.subsampling.challenges import (
    FORCED,
    ROUNDS,
    SUM,
    TURN,
    challenge_kernels,
    check_forced,
)

HEADER = record(**ROUNDS, used=0)
# The challenger with `size` rewards has lost to the blocks of `rival` that begin before `lost`.
ARM = record(**TURN, **SUM, rival=-1, size=0, lost=0)


class SSMCParameters(NamedTuple):
    """The exponent of log r in forced exploration."""

    forced: float


@kernel
def enters(parameters: Any, header: Header, arms: Table, memory: Table, challenges: Any, arm: int) -> bool:
    size = arms[arm]["count"]
    blocks = arms[challenges.leader]["count"] - size + 1
    if blocks > 1 and arms[arm]["pulls"] < challenges.forced:
        return True
    if size == 0 or blocks <= 1:
        return False
    same = arms[arm]["rival"] == challenges.leader and arms[arm]["size"] == size
    first = arms[arm]["lost"] if same else 0
    # Stops at the first block won, which is then the first to be looked at again.
    while first < blocks and block_excess(arms, memory, arm, challenges.leader, first) < 0.0:
        first += 1
    if challenges.now > 0:
        arms[arm]["rival"] = challenges.leader
        arms[arm]["size"] = size
        arms[arm]["lost"] = first
    return first < blocks


select, pull, learn, miss = challenge_kernels(enters, remember)


@dataclass(frozen=True)
class SSMC(Policy):
    """SSMC: a challenger is pulled if some block of the leader's rewards is no better than its own.

    Parameters
    ----------
    forced : {"sqrt_log", "cbrt_log", "none"}
        Forced exploration: of arms with fewer pulls than the (square or cube) root of log r.
    """

    forced: str = "sqrt_log"

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, miss)
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "one-parameter exponential family"
    reference: ClassVar[str] = "chan2020multi"
    known_from: ClassVar[str] = "reconstruction"

    def __post_init__(self) -> None:
        check_forced("SSMC", self.forced)

    @property
    def must_know(self) -> str:
        return "nothing but T, for its memory"

    @property
    def memory_cost(self) -> str:
        return "O(T)"

    def parameters(self, n_arms: int, horizon: int | None) -> SSMCParameters:
        return SSMCParameters(FORCED[self.forced])

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        return new_history("SSMC", n_arms, horizon, EXACT_ROW)
