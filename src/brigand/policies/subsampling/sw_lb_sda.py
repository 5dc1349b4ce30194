"""SW-LB-SDA: LB-SDA on a sliding window, for rewards that change.

Rule
----
Rounds are as in `brigand.policies.subsampling.challenges`. Counts N, means and blocks are over the last tau
pulls. In round r:

1. leader: if the previous leader has N_l < min(r, tau) / (2 K), the arm with the largest N; else the one with
   the largest N among the previous leader and the arms pulled in the last round with N >= min(r, tau) / K;
2. forced: arms with N < (log tau)^(1/3), and in any case those with N = 0, are pulled, the leader included;
3. challenges: a challenger wins with a mean at least that of the leader's last min(N_k, N_l) rewards;
4. diversity: with D = floor((K - 1) (log tau)^2), if the leader has not changed and was not pulled for D
   rounds, challengers not pulled for D rounds with N <= (log tau)^2 are pulled.

Source
------
Baudry, Russac, Cappe, "On limited-memory subsampling strategies for bandits", ICML 2021, by its authors'
code; the paper's text was not at hand.

Deviations
----------
From the paper, not from the code: the code forces with the cube root of the logarithm. For the paper's
sqrt(log), quoted from memory, set `forced="sqrt_log"`.

From the code: it does not count the first pulls as a round, so that its r is one less than here; it takes
(log tau)^0.333, which is another number of pulls for tau = 2981 to 3031; and the leader and challengers that
were last pulled D rounds ago have not been pulled for D rounds there, but only one round later here. With
`authors_code=True`, the three are as in the code. It makes the first pulls in order of index; here the order
is random.

Sums are exact, and ties are ties (see `brigand.policies.kernels.exact_history`).

Late rewards
------------
As in `brigand.policies.subsampling.challenges`, and so for absent arms. An arm is forced by its pulls in the
window: one whose rewards are all lost comes back when its pulls have left the window.

Cost
----
O(K) a round, O(tau) where the leader changes, O(K tau) where a late reward of it arrives; memory O(K + tau).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.jit import kernel
from brigand.policies.base import Estimated, Header, Kernels, Policy, Table, record, ring_length
from brigand.policies.kernels import window
from brigand.policies.kernels.arithmetic import difference, two_sum
from brigand.policies.kernels.availability import available, n_places
from brigand.policies.kernels.choices import break_tie
from brigand.policies.kernels.estimates import known_mean, windowed
from brigand.policies.kernels.randomness import uniform_at
from brigand.policies.subsampling.challenges import (
    ROUNDS,
    TURN,
    challenge_kernels,
    check_authors_code,
    check_forced,
    counter,
    power_of,
    take_turn,
)
from brigand.policies.subsampling.lb_sda import last_sum, push
from brigand.spec import later

# since: the round in which the leader became it. listed, lap, newest: whose rewards are in the ring of prefix
# sums, how many in its current turn, and the step of the newest.
WINDOW_HEADER = record(**ROUNDS, slot=0, block=1, since=0, listed=-1, lap=0, newest=0)
WINDOW_ARM = record(**{**TURN, **window.ARM}, recent_pulls=0, last_round=0)
WINDOW_MEMORY = record(**window.SLOT, total=0.0, residue=0.0)


class SlidingWindowLBSDAParameters(NamedTuple):
    """tau, (log tau)^forced or 1, (log tau)^2, D, and r of the first pulls, less 1."""

    span: float
    forced: float
    few: float
    patience: int
    uncounted: int


class WindowChallenges(NamedTuple):
    """As `Challenges`, and whether (1) or not (0) there is diversity."""

    round: int
    leader: int
    now: int
    diverse: int


@kernel
def window_lead(arms: Table, a: int, b: int) -> float:
    """Return by how many rewards `a` is ahead of `b`; if by none, by which mean."""
    lead = float(arms[a]["count"] - arms[b]["count"])
    if lead != 0.0 or arms[a]["count"] == 0:
        return lead
    return difference(arms[a]["mean"], 0.0, arms[b]["mean"], 0.0)


@kernel
def window_leader(
    parameters: Any, header: Header, arms: Table, candidates: Any, number: int, now: int
) -> int:
    """Return the leader of round `number`: one of the `available` arms, ties as in `most_rewards`."""
    there = 0
    previous = -1
    for place in range(n_places(arms, candidates)):
        arm = available(arms, candidates, place, now)
        there += arm >= 0
        if arm == header["previous"]:
            previous = arm
    share = min(float(number - parameters.uncounted), parameters.span) / there
    bound = previous >= 0 and arms[previous]["count"] >= 0.5 * share
    best = previous if bound else -1
    ties = 1
    uniform = 0.0
    for place in range(n_places(arms, candidates)):
        arm = available(arms, candidates, place, now)
        if arm < 0 or arm == best:
            continue
        challenges = arms[arm]["last_round"] == number - 1 and arms[arm]["count"] >= share
        if bound and (arm == previous or not challenges):
            continue
        lead = window_lead(arms, arm, best) if best >= 0 else 1.0
        if lead > 0.0:
            best = arm
            ties = 1
        elif lead == 0.0:
            if ties == 1:
                uniform = uniform_at(header["key"], counter(header, arms, number, 0))
            ties += 1
            best, uniform = break_tie(best, arm, ties, uniform)
    if ties > 1 and previous >= 0 and arms[best]["count"] > 0 and window_lead(arms, previous, best) == 0.0:
        return previous
    return best


@kernel
def relist(header: Header, memory: Table, leader: int) -> None:
    """List the leader's rewards in the window, oldest first, in the ring of prefix sums."""
    header["listed"] = leader
    header["lap"] = 0
    header["newest"] = 0
    length = len(memory) - 1
    used = min(header["step"], length)
    slot = header["slot"] if used == length else 0
    for i in range(used):
        if memory[slot]["told"] and memory[slot]["arm"] == leader:
            header["lap"] = push(memory, 0, length + 1, header["lap"], memory[slot]["reward"])
            header["newest"] = header["step"] - used + 1 + i
        slot = slot + 1 if slot + 1 < length else 0


@kernel
def recent_sum(header: Header, memory: Table, leader: int, size: int) -> tuple[float, float]:
    """Return the sum of the leader's last `size` rewards in the window, and what rounding took from it."""
    if header["listed"] == leader:
        return last_sum(memory, 0, len(memory), header["lap"], size)
    # Before the list is made: only where rewards are late.
    total, residue = 0.0, 0.0
    slot = header["slot"]
    left = size
    while left > 0:
        slot = slot - 1 if slot > 0 else len(memory) - 2
        if memory[slot]["told"] and memory[slot]["arm"] == leader:
            total, lost = two_sum(total, memory[slot]["reward"])
            residue += lost
            left -= 1
    return total, residue


@kernel
def rounds_since(parameters: Any, number: int, before: int) -> int:
    """Return how many rounds lie between two, of which the first may be that of the first pulls."""
    return number - parameters.uncounted - max(before - parameters.uncounted, parameters.uncounted)


@kernel
def is_idle(parameters: Any, number: int, last: int) -> bool:
    """Return whether an arm was not pulled for D rounds; in the authors' code, the last counts, too."""
    return rounds_since(parameters, number, last) + parameters.uncounted > parameters.patience


@kernel
def window_challenges(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, now: int
) -> WindowChallenges:
    """Return the challenges of the round to come, or of the one that is stored and not yet begun."""
    number = header["round"] + header["started"]
    leader = window_leader(parameters, header, arms, candidates, number, now)
    diverse = 0
    kept = rounds_since(parameters, number, header["since"])
    if leader == header["previous"] and kept >= parameters.patience:
        diverse = 1 if is_idle(parameters, number, arms[leader]["last_round"]) else 0
    if now > 0 and leader != header["listed"]:
        relist(header, memory, leader)
    return WindowChallenges(number, leader, now, diverse)


@kernel
def enters(parameters: Any, header: Header, arms: Table, memory: Table, challenges: Any, arm: int) -> bool:
    leader = challenges.leader
    recent = arms[arm]["recent_pulls"]
    if recent < parameters.forced:
        return True
    if arm == leader:
        return False
    idle = is_idle(parameters, challenges.round, arms[arm]["last_round"])
    if challenges.diverse and idle and recent <= parameters.few:
        return True
    size = arms[arm]["count"]
    if size == 0:
        return False
    if size >= arms[leader]["count"]:
        return difference(arms[arm]["mean"], 0.0, arms[leader]["mean"], 0.0) >= 0.0
    # The mean is rounded, but by no more than what `difference` overlooks.
    total, residue = recent_sum(header, memory, leader, size)
    return difference(arms[arm]["mean"] * size, 0.0, total, residue) >= 0.0


@kernel
def take_turn_in_window(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    length = len(memory) - 1
    if header["step"] >= length:
        arms[memory[header["slot"]]["arm"]]["recent_pulls"] -= 1
    if header["leader"] != header["previous"]:
        header["since"] = header["round"]
    take_turn(parameters, header, arms, memory, arm)
    arms[arm]["recent_pulls"] += 1
    arms[arm]["last_round"] = header["round"]
    window.advance(header, arms, memory, arm, length)


@kernel
def keep_in_window(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    told = window.learn_in_window(header, arms, memory, arm, reward, step, len(memory) - 1)
    if told and arm == header["listed"]:
        if step > header["newest"]:
            header["lap"] = push(memory, 0, len(memory), header["lap"], reward)
            header["newest"] = step
        else:
            header["listed"] = -1


select, pull, learn, miss = challenge_kernels(enters, keep_in_window, take_turn_in_window, window_challenges)


@dataclass(frozen=True)
class SlidingWindowLBSDA(Policy):
    """SW-LB-SDA: comparisons with the last rewards, within the last `window` pulls, for rewards that change.

    Parameters
    ----------
    window : int
        tau, in pulls of all arms together. With Gamma breakpoints, the authors take 2 sqrt(T log T / Gamma)
        for rewards in [0, 1].
    forced : {"none", "sqrt_log", "cbrt_log"}
        Forced exploration: of arms with fewer pulls in the window than the (square or cube) root of log tau.
        An arm without a pull in it is pulled in any case, or no change of it would ever be seen.
    authors_code : bool
        By keyword: count rounds, take the cube root and be patient as the authors' code is (see above).
    """

    window: int
    forced: str = "cbrt_log"
    authors_code: bool = later(False)

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, miss, known_mean)
    header: ClassVar[Table] = WINDOW_HEADER
    arm: ClassVar[Table] = WINDOW_ARM
    assumption: ClassVar[str] = "one-parameter exponential family, piecewise stationary"
    reference: ClassVar[str] = "baudry2021limited"
    known_from: ClassVar[str] = "authors' code"

    def __post_init__(self) -> None:
        length = checks.integer("SlidingWindowLBSDA's window", self.window, 1, checks.MAX_STEPS)
        object.__setattr__(self, "window", length)
        check_forced("SlidingWindowLBSDA", self.forced)
        check_authors_code("SlidingWindowLBSDA", self.authors_code)

    @property
    def must_know(self) -> str:
        return "T and the number of breakpoints, for the window"

    @property
    def estimated(self) -> Estimated:
        return windowed(self.window)

    @property
    def memory_cost(self) -> str:
        return "O(K + window)"

    def parameters(self, n_arms: int, horizon: int | None) -> SlidingWindowLBSDAParameters:
        log = math.log(self.window)
        # At least 1: an arm without a pull in the window is always forced.
        forced = max(log ** power_of(self.forced, self.authors_code), 1.0)
        patience = int((n_arms - 1) * log * log)
        uncounted = int(self.authors_code)
        return SlidingWindowLBSDAParameters(float(self.window), forced, log * log, patience, uncounted)

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        return np.repeat(WINDOW_MEMORY, ring_length(self.window, horizon) + 1)
