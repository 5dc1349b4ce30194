"""WR-SDA, RB-SDA and LB-SDA: a sub-sample of the most pulled arm is challenged by the other arms.

Rule
----
Rounds and leader are as in `brigand.policies.subsampling.challenges`. A challenger k with fewer rewards than
the leader, N_k < N_l, wins if its mean is at least the mean of N_k of the leader's rewards:

    WR      drawn without replacement (hypergeometric for rewards of 0 and 1)
    RB      a block of consecutive ones, its place uniform among all N_l - N_k + 1
    LB      the last ones

Forced exploration, off by default: a challenger with N_k < sqrt(log r) (or the cube root of log r) wins
without a comparison, in round r.

Source
------
Baudry, Kaufmann, Maillard, "Sub-sampling for efficient non-parametric bandit exploration", NeurIPS 2020. The
cube root of log r is from the code of Baudry, Russac, Cappe (ICML 2021).

Deviations
----------
The paper prints ">", its code has ">=", and so has this: with ">" the numbers in the paper's tables do not
come out. The paper's RB leaves out the block at one of the two ends; the effect is invisible. In the code of
the cube root, r is one less than here, and the cube root is (log r)^0.333: to have that, take
`LBSDALM(math.inf, authors_code=True)`, which is LB-SDA. Sums are exact
(see `brigand.policies.kernels.exact_history`), so that ties are ties.

Late rewards
------------
As in `brigand.policies.subsampling.challenges`, and so for absent arms.

Cost
----
O(K) a round (WR: O(N_k) a comparison, or O(sqrt N_k) for rewards of 0 and 1); memory O(T).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from brigand.jit import kernel
from brigand.policies.base import Header, Kernels, Policy, Table, record
from brigand.policies.kernels.exact_history import EXACT_ROW, block_excess, remember
from brigand.policies.kernels.history import new_history
from brigand.policies.kernels.randomness import uniform_at
from brigand.policies.subsampling.challenges import (
    FORCED,
    ROUNDS,
    SUM,
    TURN,
    challenge_kernels,
    check_forced,
    counter,
)
from brigand.policies.subsampling.samples import sampled_excess

HEADER = record(**ROUNDS, used=0)
ARM = record(**TURN, **SUM)

LAST, BLOCK = range(2)


class SubSamplingParameters(NamedTuple):
    """Which block, and the exponent of log r in forced exploration (0: none)."""

    block: int
    forced: float


@kernel
def challenging(arms: Table, challenges: Any, arm: int) -> bool:
    """Return whether the arm challenges the leader."""
    return 0 < arms[arm]["count"] < arms[challenges.leader]["count"]


@kernel
def challenge_uniform(header: Header, arms: Table, challenges: Any, arm: int) -> float:
    """Return the random number of the arm's challenge."""
    return uniform_at(header["key"], counter(header, arms, challenges.round, 1 + len(arms) + arm))


@kernel
def enters(parameters: Any, header: Header, arms: Table, memory: Table, challenges: Any, arm: int) -> bool:
    if arm == challenges.leader:
        return False
    if arms[arm]["pulls"] < challenges.forced:
        return True
    if not challenging(arms, challenges, arm):
        return False
    first = arms[challenges.leader]["count"] - arms[arm]["count"]
    if parameters.block != LAST:
        first = int(challenge_uniform(header, arms, challenges, arm) * (first + 1.0))
    return block_excess(arms, memory, arm, challenges.leader, first) >= 0.0


select, pull, learn, miss = challenge_kernels(enters, remember)


# The same for WR: apart, because code that makes arrays slows down all that it is compiled with.


@kernel
def enters_sampled(
    parameters: Any, header: Header, arms: Table, memory: Table, challenges: Any, arm: int
) -> bool:
    if arm == challenges.leader:
        return False
    if arms[arm]["pulls"] < challenges.forced:
        return True
    if not challenging(arms, challenges, arm):
        return False
    uniform = challenge_uniform(header, arms, challenges, arm)
    return sampled_excess(arms, memory, arm, challenges.leader, uniform) >= 0.0


select_sampled, pull_sampled, learn_sampled, _ = challenge_kernels(enters_sampled, remember)


@dataclass(frozen=True)
class SubSampling(Policy):
    """Base of the three: they differ in the leader's sub-sample."""

    forced: str = "none"

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, miss)
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "one-parameter exponential family"
    reference: ClassVar[str] = "baudry2020sub"
    known_from: ClassVar[str] = "published"
    block: ClassVar[int] = LAST

    def __post_init__(self) -> None:
        check_forced(type(self).__name__, self.forced)

    @property
    def must_know(self) -> str:
        return "nothing but T, for its memory"

    @property
    def memory_cost(self) -> str:
        return "O(T)"

    def parameters(self, n_arms: int, horizon: int | None) -> SubSamplingParameters:
        return SubSamplingParameters(self.block, FORCED[self.forced])

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        return new_history(type(self).__name__, n_arms, horizon, EXACT_ROW)


@dataclass(frozen=True)
class WRSDA(SubSampling):
    """WR-SDA: comparisons with rewards of the leader drawn without replacement.

    Parameters
    ----------
    forced : {"none", "sqrt_log", "cbrt_log"}
        Forced exploration, for families other than Bernoulli, Gaussian and the like.
    """

    kernels: ClassVar[Kernels] = Kernels(select_sampled, pull_sampled, learn_sampled, miss)


@dataclass(frozen=True)
class RBSDA(SubSampling):
    """RB-SDA: comparisons with a random block of the leader's rewards.

    Parameters
    ----------
    forced : {"none", "sqrt_log", "cbrt_log"}
        Forced exploration, for families other than Bernoulli, Gaussian and the like.
    """

    block: ClassVar[int] = BLOCK


@dataclass(frozen=True)
class LBSDA(SubSampling):
    """LB-SDA: comparisons with the last block of the leader's rewards; only ties and the order are random.

    Parameters
    ----------
    forced : {"none", "sqrt_log", "cbrt_log"}
        Forced exploration, for families other than Bernoulli, Gaussian and the like; "sqrt_log" is that of
        Baudry, Russac, Cappe, "On limited-memory subsampling strategies for bandits", ICML 2021.
    """
