"""BESA: best empirical sampled average, duels on histories sub-sampled to the same length.

Rule, two arms a and b with N_a <= N_b rewards: draw N_a rewards of b without replacement; the arm with the
larger sum (its own N_a rewards against the sub-sample) wins, ties go to the arm with fewer pulls, then to
either. K arms: shuffled, then a knockout tournament, in which an arm without an opponent goes on; the winner
is pulled. Every arm is pulled `n0` times first, fewest pulls first, in random order (`n0=1` is the published
rule; 10 spares it most of its rare bad runs). If some of these rewards are late or lost, it is pulled on, up
to 2 n0 + log(n + 1) times after n pulls; then it duels with what it has, and without any loses to any other.

Source: Baransi, Maillard, Mannor, "Sub-sampling for multi-armed bandits", ECML PKDD 2014. The tie rule is
that of the package SMPyBandits; the code of Baudry, Kaufmann, Maillard (NeurIPS 2020) tosses a coin.

If all rewards of the longer history are 0 or 1, the number of ones in the sub-sample is hypergeometric and is
drawn as such: the same law, without a look at the history.

Sums of rewards are kept with what rounding took from them (`kernels.two_sum`), and compared up to the
rounding of the rewards themselves, if these are of one sign: ties are ties, and 0.1 + 0.2 ties with 0.3.

Cost: O(K) duels a step, each O(n) for sub-samples of n rewards, or O(sqrt n) for rewards of 0 and 1;
memory O(T), and an array of 4 n numbers while a sub-sample is drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.jit import kernel
from brigand.policies.base import Header, Kernels, Policy, Table, record
from brigand.policies.history import SEGMENTS, append, new_history, reward_at
from brigand.policies.kernels import argmax, is_due, two_sum

HEADER = record(step=0, used=0)
# others: rewards that are neither 0 nor 1; level: the number of the history's last segment
ARM = record(pulls=0, count=0, sum=0.0, residue=0.0, others=0, level=-1)
EXACT_ROW = record(segment=0, reward=0.0, total=0.0, residue=0.0)  # `history.ROW`, and the rest of `total`

LOW = np.uint64(0xFFFFFFFF)
WORD = np.uint64(32)
ROUNDING = 2.0**-52
MULTIPLIER = np.uint64(4294883355)


class BESAParameters(NamedTuple):
    """The number of initial pulls of each arm."""

    n0: int


def exact_history(policy: str, n_arms: int, horizon: int | None) -> Table:
    """Return an empty history as `new_history` does, for exact sums."""
    return np.repeat(EXACT_ROW, len(new_history(policy, n_arms, horizon)))


@kernel
def last_row(arms: Table, memory: Table, arm: int, count: int) -> int:
    """Return the row of the last of the arm's first `count` rewards: `row_of`, faster near the end."""
    level = arms[arm]["level"]
    while count < 1 << level:
        level -= 1
    return memory[arm * SEGMENTS + level]["segment"] + (count - (1 << level))


@kernel
def difference(a: float, a_residue: float, b: float, b_residue: float) -> float:
    """Return the sum (a, a_residue) less (b, b_residue): 0 if no more than rounding of terms of one sign."""
    result = (a - b) + (a_residue - b_residue)
    return 0.0 if abs(result) <= ROUNDING * (abs(a) + abs(b)) else result


@kernel
def remember(header: Header, arms: Table, memory: Table, arm: int, reward: float) -> None:
    """Add a reward to the arm's history, and to all of the fields of `ARM` but ``pulls``."""
    append(header, arms, memory, arm, reward)
    total, lost = two_sum(arms[arm]["sum"], reward)
    arms[arm]["sum"] = total
    arms[arm]["residue"] += lost
    count = arms[arm]["count"]
    if count == 1 << (arms[arm]["level"] + 1):
        arms[arm]["level"] += 1
    memory[last_row(arms, memory, arm, count)]["residue"] = arms[arm]["residue"]
    if reward != 0.0 and reward != 1.0:
        arms[arm]["others"] += 1


@kernel
def prefix(arms: Table, memory: Table, arm: int, count: int) -> tuple[float, float]:
    """Return the sum of the arm's first `count` rewards, and what rounding took from it."""
    if count == 0:
        return 0.0, 0.0
    row = last_row(arms, memory, arm, count)
    return memory[row]["total"], memory[row]["residue"]


@kernel
def block_excess(arms: Table, memory: Table, arm: int, leader: int, first: int) -> float:
    """Return the sum of the arm's rewards less that of as many of the leader's, from number `first` on."""
    begin, begin_residue = prefix(arms, memory, leader, first)
    end, end_residue = arms[leader]["sum"], arms[leader]["residue"]
    if first + arms[arm]["count"] < arms[leader]["count"]:
        end, end_residue = prefix(arms, memory, leader, first + arms[arm]["count"])
    block, lost = two_sum(end, -begin)
    lost += end_residue - begin_residue
    return difference(arms[arm]["sum"], arms[arm]["residue"], block, lost)


@kernel
def log_choose(n: int, k: int) -> float:
    """Return the logarithm of a binomial coefficient."""
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


@kernel
def hypergeometric(ones: int, zeros: int, draws: int, uniform: float) -> int:
    """Return how many ones are among `draws` of the rewards, drawn without replacement.

    By inversion of a uniform number, values taken from the mode outwards: O(sqrt(draws)) steps.
    """
    lowest = max(0, draws - zeros)
    highest = min(draws, ones)
    mode = int((draws + 1.0) * (ones + 1.0) / (ones + zeros + 2.0))
    mode = min(max(mode, lowest), highest)
    chance = math.exp(
        log_choose(ones, mode) + log_choose(zeros, draws - mode) - log_choose(ones + zeros, draws)
    )
    left = uniform - chance
    up = down = mode
    above = below = chance
    while left >= 0.0 and (up < highest or down > lowest):
        if up < highest:
            above *= (ones - up) / (up + 1.0) * ((draws - up) / (zeros - draws + up + 1.0))
            up += 1
            left -= above
            if left < 0.0:
                return up
        if down > lowest:
            below *= down / (ones - down + 1.0) * ((zeros - draws + down) / (draws - down + 1.0))
            down -= 1
            left -= below
            if left < 0.0:
                return down
    return mode


@kernel
def subsample_sum(memory: Table, arm: int, count: int, size: int, uniform: float) -> tuple[float, float]:
    """Return the sum, and what rounding took from it, of `size` of the arm's first `count` rewards.

    Drawn without replacement by Floyd's method, with a hash table for the places taken (Bentley, Floyd,
    "A sample of brilliance", CACM 1987). The random numbers are those of MWC64X, started from `uniform`.
    """
    length = 4
    while length < 2 * size:
        length *= 2
    taken = np.full(length, -1)
    word = np.uint64(uniform * 2.0**53) + np.uint64(1)
    total = 0.0
    residue = 0.0
    for last in range(count - size, count):
        word = MULTIPLIER * (word & LOW) + (word >> WORD)
        place = int(np.float64((word & LOW) ^ (word >> WORD)) * 2.0**-32 * (last + 1.0))
        slot = place & (length - 1)
        while taken[slot] >= 0 and taken[slot] != place:
            slot = (slot + 1) & (length - 1)
        if taken[slot] == place:
            place = last
            slot = place & (length - 1)
            while taken[slot] >= 0:
                slot = (slot + 1) & (length - 1)
        taken[slot] = place
        total, lost = two_sum(total, reward_at(memory, arm, place))
        residue += lost
    return total, residue


@kernel
def sampled_excess(arms: Table, memory: Table, short: int, long: int, uniform: float) -> float:
    """Return the sum of the shorter history less that of as many rewards of the longer one."""
    size = arms[short]["count"]
    count = arms[long]["count"]
    if size == count:
        total, residue = arms[long]["sum"], arms[long]["residue"]
    elif arms[long]["others"] == 0:
        ones = int(arms[long]["sum"])
        total, residue = float(hypergeometric(ones, count - ones, size, uniform)), 0.0
    else:
        total, residue = subsample_sum(memory, long, count, size, uniform)
    return difference(arms[short]["sum"], arms[short]["residue"], total, residue)


@kernel
def winner(arms: Table, memory: Table, a: int, b: int, uniform: float, coin: float) -> int:
    """Return the winner of a duel."""
    short, long = (a, b) if arms[a]["count"] <= arms[b]["count"] else (b, a)
    if arms[short]["count"] == 0 and arms[long]["count"] > 0:
        return long
    excess = sampled_excess(arms, memory, short, long, uniform)
    if excess != 0.0:
        return short if excess > 0.0 else long
    if arms[a]["pulls"] != arms[b]["pulls"]:
        return a if arms[a]["pulls"] < arms[b]["pulls"] else b
    return a if coin < 0.5 else b


@kernel
def tournament(arms: Table, memory: Table, candidates: Any, rng: np.random.Generator) -> int:
    """Return the winner of a knockout tournament between the candidates in random order."""
    entrants = candidates.copy()
    left = len(entrants)
    for i in range(left - 1, 0, -1):
        other = int(rng.random() * (i + 1))
        entrants[i], entrants[other] = entrants[other], entrants[i]
    while left > 1:
        for pair in range(left // 2):
            a, b = entrants[2 * pair], entrants[2 * pair + 1]
            entrants[pair] = winner(arms, memory, a, b, rng.random(), rng.random())
        if left % 2 == 1:
            entrants[left // 2] = entrants[left - 1]
        left = (left + 1) // 2
    return entrants[0]


@kernel
def rarity(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    due = arms[arm]["count"] < parameters.n0 and is_due(arms[arm]["pulls"], parameters.n0, header["step"])
    return (header["step"] + 1.0 if due else 0.0) - arms[arm]["pulls"]


@kernel
def select(
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    candidates: Any,
    rng: np.random.Generator,
) -> int:
    chosen = argmax(rarity, parameters, header, arms, memory, candidates, rng)
    if rarity(parameters, header, arms, memory, chosen, rng) > 0.0:
        return chosen
    return tournament(arms, memory, candidates, rng)


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    arms[arm]["pulls"] += 1


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    remember(header, arms, memory, arm, reward)


@dataclass(frozen=True)
class BESA(Policy):
    """BESA: a knockout tournament of sub-sampled histories; nothing to tune, nothing to know.

    Parameters
    ----------
    n0 : int
        Initial pulls of each arm.

    Notes
    -----
    With more than two arms it is clearly worse than `WRSDA`, which duels with the most pulled arm only.
    """

    n0: int = 1

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn)
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "bounded"
    reference: ClassVar[str] = "baransi2014sub"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n0", checks.integer("BESA's n0", self.n0, 1, checks.MAX_STEPS))

    @property
    def must_know(self) -> str:
        return "nothing but T, for its memory"

    @property
    def memory_cost(self) -> str:
        return "O(T)"

    def parameters(self, n_arms: int, horizon: int | None) -> BESAParameters:
        return BESAParameters(self.n0)

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        return exact_history("BESA", n_arms, horizon)
