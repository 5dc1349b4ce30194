"""SSMC: sub-sample mean comparisons, and the rounds that all duels with the most pulled arm share.

Rounds r = 1, 2, ...; round 1 pulls every arm. Later, the leader l is the arm with most rewards N; ties go to
the largest sum of rewards, then to the previous leader, then are broken uniformly. Challengers k with
N_k < N_l duel with the leader; the round pulls those that win, in random order, or the leader if none does.
An SSMC challenger wins if N_k < sqrt(log r), or if its mean is at least that of *some* N_k consecutive
rewards of the leader.

Source: Chan, "The multi-armed bandit problem: an efficient nonparametric solution", Annals of Statistics
48(1), 2020, for one-parameter exponential families. sqrt(log r) is that of the code of Baudry, Kaufmann,
Maillard (NeurIPS 2020); the theory asks for any c_r with c_r = o(log r), loglog r = o(c_r). That arms with
N_k = N_l do not duel is quoted from memory.

Late rewards: a round begins with what has arrived by then (a later arrival redraws a round not yet begun). An
arm counts as pulled too rarely by its pulls; it duels by its rewards. An arm without any is in the round
until it has been pulled 2 + log(n + 1) times, n the number of all pulls, and then waits for its first one.
Candidates: the next arm of the round that is one; if none is, the leader, else the least pulled candidate,
and the rest of the round is dropped. A round's random choices depend on the run's key and r alone.

Cost: O(K) a round, and O(N_l) where a challenger or the leader has changed: a block of the leader that a
challenger has lost to is not looked at again as long as both stay the same. Memory O(T).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand.jit import kernel
from brigand.policies.base import Header, Kernels, Policy, Table, record
from brigand.policies.besa import block_excess, difference, exact_history, remember
from brigand.policies.kernels import is_due, uniform_at

# left, next: how many arms of the round are still to be pulled, and the next of them. started: 1 once the
# round has been begun, or 0. previous: the leader of the last round that was begun.
ROUNDS: dict[str, int | float] = {
    "step": 0,
    "key": 0,
    "round": 0,
    "started": 1,
    "left": 0,
    "next": 0,
    "leader": -1,
    "previous": -1,
}
# turn: the arms of the round are pulled in order of it; inf for others
TURN: dict[str, int | float] = {"pulls": 0, "count": 0, "turn": math.inf}
SUM: dict[str, int | float] = {"sum": 0.0, "residue": 0.0, "others": 0, "level": -1}
HEADER = record(**ROUNDS, used=0)
# The challenger with `size` rewards has lost to the blocks of `rival` that begin before `lost`.
ARM = record(**TURN, **SUM, rival=-1, size=0, lost=0)


class SSMCParameters(NamedTuple):
    """The exponent of log r in forced exploration."""

    forced: float


class Duels(NamedTuple):
    """A round's number, its leader, pulls below which arms are forced, whether (1) to write caches."""

    round: int
    leader: int
    forced: float
    keep: int


@kernel
def counter(header: Header, arms: Table, number: int, use: int) -> int:
    """Return the counter for `uniform_at`: 0 the leader, 1 + k the turn of arm k, 1 + K + k its duels."""
    return number * (2 * len(arms) + 1) + use


@kernel
def lead_of(arms: Table, a: int, b: int) -> float:
    """Return by how many rewards `a` is ahead of `b`; if by none, by which sum."""
    lead = float(arms[a]["count"] - arms[b]["count"])
    if lead != 0.0:
        return lead
    return difference(arms[a]["sum"], arms[a]["residue"], arms[b]["sum"], arms[b]["residue"])


@kernel
def most_rewards(header: Header, arms: Table, number: int) -> int:
    """Return the leader: most rewards, then largest sum, then the previous leader, then uniform."""
    best = 0
    ties = 1
    uniform = 0.0
    for arm in range(1, len(arms)):
        lead = lead_of(arms, arm, best)
        if lead > 0.0:
            best = arm
            ties = 1
        elif lead == 0.0:
            if ties == 1:
                uniform = uniform_at(header["key"], counter(header, arms, number, 0))
            # As in `kernels.argmax`: the n-th of equals takes the place with probability 1/n.
            ties += 1
            uniform *= ties
            if uniform < 1.0:
                best = arm
            else:
                uniform = (uniform - 1.0) / (ties - 1.0)
    previous = header["previous"]
    # Without any reward, nothing speaks for the previous leader.
    if ties > 1 and previous >= 0 and arms[best]["count"] > 0 and lead_of(arms, previous, best) == 0.0:
        return previous
    return best


@kernel
def turn_of(header: Header, arms: Table, number: int, arm: int) -> float:
    """Return the arm's place in the order of the round, if it has one."""
    return uniform_at(header["key"], counter(header, arms, number, 1 + arm))


@kernel
def draw_round(
    enters: Callable[..., bool], parameters: Any, header: Header, arms: Table, memory: Table, duels: Any
) -> None:
    """Fix the arms of the round and their order: those for which ``enters``, else the leader."""
    size = 0
    for arm in range(len(arms)):
        inside = enters(parameters, header, arms, memory, duels, arm)
        if inside or (arms[arm]["count"] == 0 and is_due(arms[arm]["pulls"], 1.0, header["step"])):
            arms[arm]["turn"] = 0.0
            header["next"] = arm
            size += 1
        else:
            arms[arm]["turn"] = math.inf
    if size == 0:
        arms[duels.leader]["turn"] = 0.0
        header["next"] = duels.leader
        size = 1
    elif size > 1:
        for arm in range(len(arms)):
            if arms[arm]["turn"] == 0.0:
                arms[arm]["turn"] = turn_of(header, arms, duels.round, arm)
        find_next(header, arms)
    header["left"] = size
    header["leader"] = duels.leader
    header["round"] = duels.round
    header["started"] = 0


@kernel
def find_next(header: Header, arms: Table) -> None:
    """Find the arm whose turn it is."""
    least = math.inf
    for arm in range(len(arms)):
        if arms[arm]["turn"] < least:
            least = arms[arm]["turn"]
            header["next"] = arm


@kernel
def take_turn(header: Header, arms: Table, arm: int) -> None:
    """Count a pull, and take the arm out of the round; if it is not in it, drop the rest of the round."""
    header["step"] += 1
    header["started"] = 1
    header["previous"] = header["leader"]
    arms[arm]["pulls"] += 1
    if arms[arm]["turn"] == math.inf:
        header["left"] = 0
        return
    arms[arm]["turn"] = math.inf
    header["left"] -= 1
    if header["left"] > 0:
        find_next(header, arms)


@kernel
def among(arms: Table, leader: int, candidates: Any) -> int:
    """Return the leader if it is a candidate, else the least pulled candidate."""
    chosen = candidates[0]
    for i in range(len(candidates)):
        arm = candidates[i]
        if arm == leader:
            return arm
        if arms[arm]["pulls"] < arms[chosen]["pulls"]:
            chosen = arm
    return chosen


@kernel
def choose(
    enters: Callable[..., bool],
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    candidates: Any,
    duels: Any,
) -> int:
    """Return the candidate whose turn it is, in the round that is stored or else in `duels`'."""
    stored = header["left"] > 0
    chosen = -1
    least = math.inf
    for i in range(len(candidates)):
        arm = candidates[i]
        turn = arms[arm]["turn"] if stored else math.inf
        due = arms[arm]["count"] == 0 and is_due(arms[arm]["pulls"], 1.0, header["step"])
        if not stored and (enters(parameters, header, arms, memory, duels, arm) or due):
            turn = turn_of(header, arms, duels.round, arm)
        if turn < least:
            least = turn
            chosen = arm
    return chosen if chosen >= 0 else among(arms, duels.leader, candidates)


@kernel
def next_duels(parameters: Any, header: Header, arms: Table, keep: int) -> Duels:
    """Return the duels of the round to come, or of the one that is stored and not yet begun."""
    number = header["round"] + header["started"]
    forced = math.log(number) ** parameters.forced if parameters.forced > 0.0 else 0.0
    return Duels(number, most_rewards(header, arms, number), forced, keep)


@kernel
def enters(parameters: Any, header: Header, arms: Table, memory: Table, duels: Any, arm: int) -> bool:
    size = arms[arm]["count"]
    blocks = arms[duels.leader]["count"] - size + 1
    if blocks > 1 and arms[arm]["pulls"] < duels.forced:
        return True
    if size == 0 or blocks <= 1:
        return False
    same = arms[arm]["rival"] == duels.leader and arms[arm]["size"] == size
    first = arms[arm]["lost"] if same else 0
    # Stops at the first block won, which is then the first to be looked at again.
    while first < blocks and block_excess(arms, memory, arm, duels.leader, first) < 0.0:
        first += 1
    if duels.keep:
        arms[arm]["rival"] = duels.leader
        arms[arm]["size"] = size
        arms[arm]["lost"] = first
    return first < blocks


@kernel
def select(
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    candidates: Any,
    rng: np.random.Generator,
) -> int:
    if header["left"] > 0:
        if len(candidates) == len(arms):
            return header["next"]
        duels = Duels(header["round"], header["leader"], 0.0, 0)
    else:
        duels = next_duels(parameters, header, arms, 0)
    return choose(enters, parameters, header, arms, memory, candidates, duels)


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    if header["left"] == 0:
        draw_round(enters, parameters, header, arms, memory, next_duels(parameters, header, arms, 1))
    take_turn(header, arms, arm)


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    remember(header, arms, memory, arm, reward)
    if header["left"] == 0 or header["started"] == 0:
        draw_round(enters, parameters, header, arms, memory, next_duels(parameters, header, arms, 1))


@dataclass(frozen=True)
class SSMC(Policy):
    """SSMC: a challenger is pulled if some block of the leader's rewards is no better than its own."""

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn)
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "one-parameter exponential family"
    reference: ClassVar[str] = "chan2020multi"

    @property
    def must_know(self) -> str:
        return "nothing but T, for its memory"

    @property
    def memory_cost(self) -> str:
        return "O(T)"

    def parameters(self, n_arms: int, horizon: int | None) -> SSMCParameters:
        return SSMCParameters(0.5)

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        return exact_history("SSMC", n_arms, horizon)
