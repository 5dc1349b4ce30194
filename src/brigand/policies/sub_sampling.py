"""Sub-sampling duels with the most pulled arm: WR-SDA, RB-SDA and LB-SDA.

Rounds, leader, late rewards and candidates as in `duels`. A challenger k with fewer rewards than the leader,
N_k < N_l, wins its duel if its mean is at least the mean of N_k of the leader's rewards:

    WR      drawn without replacement (hypergeometric for rewards of 0 and 1)
    RB      a block of consecutive ones, its place uniform among all N_l - N_k + 1
    LB      the last ones

Forced exploration, off by default: a challenger with N_k < sqrt(log r) (or the cube root of log r) wins
without a duel, in round r.

Source: Baudry, Kaufmann, Maillard, "Sub-sampling for efficient non-parametric bandit exploration", NeurIPS
2020. The paper prints ">", its code has ">=", and so has this: with ">" the paper's tables cannot be had. Its
RB leaves out the block at one of the two ends; the effect is invisible. The cube root of log r is from the
code of Baudry, Russac, Cappe (ICML 2021).

Sums are exact (see `besa`), so that ties are ties. Cost: O(K) a round (WR: O(N_k) a duel, or O(sqrt N_k) for
rewards of 0 and 1); memory O(T).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand.jit import kernel
from brigand.policies.absence import miss
from brigand.policies.base import Header, Kernels, Policy, Table, record
from brigand.policies.besa import block_excess, exact_history, remember, sampled_excess
from brigand.policies.duels import (
    FORCED,
    ROUNDS,
    SUM,
    TURN,
    check_forced,
    choose,
    counter,
    draw_round,
    is_stale,
    next_duels,
    stored_turn,
    take_turn,
)
from brigand.policies.kernels import uniform_at

HEADER = record(**ROUNDS, used=0)
ARM = record(**TURN, **SUM)

LAST, BLOCK = range(2)


class SubSamplingParameters(NamedTuple):
    """Which block, and the exponent of log r in forced exploration (0: none)."""

    block: int
    forced: float


@kernel
def duelling(arms: Table, duels: Any, arm: int) -> bool:
    """Return whether the arm has a duel with the leader."""
    return 0 < arms[arm]["count"] < arms[duels.leader]["count"]


@kernel
def duel_uniform(header: Header, arms: Table, duels: Any, arm: int) -> float:
    """Return the random number of the arm's duel."""
    return uniform_at(header["key"], counter(header, arms, duels.round, 1 + len(arms) + arm))


@kernel
def enters(parameters: Any, header: Header, arms: Table, memory: Table, duels: Any, arm: int) -> bool:
    if arm == duels.leader:
        return False
    if arms[arm]["pulls"] < duels.forced:
        return True
    if not duelling(arms, duels, arm):
        return False
    first = arms[duels.leader]["count"] - arms[arm]["count"]
    if parameters.block != LAST:
        first = int(duel_uniform(header, arms, duels, arm) * (first + 1.0))
    return block_excess(arms, memory, arm, duels.leader, first) >= 0.0


@kernel
def select(
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    candidates: Any,
    rng: np.random.Generator,
) -> int:
    arm = stored_turn(header, arms, candidates)
    if arm >= 0:
        return arm
    duels = next_duels(parameters, header, arms, candidates, 0)
    return choose(enters, parameters, header, arms, memory, candidates, duels)


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    if header["left"] == 0 or is_stale(header, arms):
        duels = next_duels(parameters, header, arms, None, header["step"] + 1)
        draw_round(enters, parameters, header, arms, memory, duels)
    take_turn(header, arms, arm)


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    remember(header, arms, memory, arm, reward)
    if header["left"] == 0 or header["started"] == 0:
        duels = next_duels(parameters, header, arms, None, header["step"])
        draw_round(enters, parameters, header, arms, memory, duels)


# The same for WR: apart, because code that makes arrays slows down all that it is compiled with.


@kernel
def enters_sampled(parameters: Any, header: Header, arms: Table, memory: Table, duels: Any, arm: int) -> bool:
    if arm == duels.leader:
        return False
    if arms[arm]["pulls"] < duels.forced:
        return True
    if not duelling(arms, duels, arm):
        return False
    uniform = duel_uniform(header, arms, duels, arm)
    return sampled_excess(arms, memory, arm, duels.leader, uniform) >= 0.0


@kernel
def select_sampled(
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    candidates: Any,
    rng: np.random.Generator,
) -> int:
    arm = stored_turn(header, arms, candidates)
    if arm >= 0:
        return arm
    duels = next_duels(parameters, header, arms, candidates, 0)
    return choose(enters_sampled, parameters, header, arms, memory, candidates, duels)


@kernel
def pull_sampled(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    if header["left"] == 0 or is_stale(header, arms):
        duels = next_duels(parameters, header, arms, None, header["step"] + 1)
        draw_round(enters_sampled, parameters, header, arms, memory, duels)
    take_turn(header, arms, arm)


@kernel
def learn_sampled(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    remember(header, arms, memory, arm, reward)
    if header["left"] == 0 or header["started"] == 0:
        duels = next_duels(parameters, header, arms, None, header["step"])
        draw_round(enters_sampled, parameters, header, arms, memory, duels)


@dataclass(frozen=True)
class SubSampling(Policy):
    """Base of the three: they differ in the leader's sub-sample."""

    forced: str = "none"

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, miss)
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "one-parameter exponential family"
    reference: ClassVar[str] = "baudry2020sub"
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
        return exact_history(type(self).__name__, n_arms, horizon)


@dataclass(frozen=True)
class WRSDA(SubSampling):
    """WR-SDA: duels with rewards of the leader drawn without replacement.

    Parameters
    ----------
    forced : {"none", "sqrt_log", "cbrt_log"}
        Forced exploration, for families other than Bernoulli, Gaussian and the like.
    """

    kernels: ClassVar[Kernels] = Kernels(select_sampled, pull_sampled, learn_sampled, miss)


@dataclass(frozen=True)
class RBSDA(SubSampling):
    """RB-SDA: duels with a random block of the leader's rewards.

    Parameters
    ----------
    forced : {"none", "sqrt_log", "cbrt_log"}
        Forced exploration, for families other than Bernoulli, Gaussian and the like.
    """

    block: ClassVar[int] = BLOCK


@dataclass(frozen=True)
class LBSDA(SubSampling):
    """LB-SDA: duels with the last block of the leader's rewards; no random choice but in ties and order.

    Parameters
    ----------
    forced : {"none", "sqrt_log", "cbrt_log"}
        Forced exploration, for families other than Bernoulli, Gaussian and the like; "sqrt_log" is that of
        Baudry, Russac, Cappe, "On limited-memory subsampling strategies for bandits", ICML 2021.
    """
