"""Rounds in which arms challenge the most pulled one: what SSMC, SSTC and the sub-sampling policies share.

Rounds are counted r = 1, 2, ...; round 1 pulls every arm. Later, the leader l is the arm with most rewards
N_l. Ties go to the largest sum of rewards, then to the previous leader, then are broken uniformly. The arms k
with N_k < N_l challenge the leader. The round pulls those that win, in random order, or the leader if none
does. A round's random choices depend on the run's key and r alone.

Sources: Chan, Annals of Statistics 48(1), 2020; Baudry, Kaufmann, Maillard, NeurIPS 2020.

Late rewards: a round is decided by the rewards that have arrived before its first pull. Whether an arm was
pulled too rarely (forced exploration) depends on its pulls; in a challenge its rewards count. An arm without
any reward is in every round until it has been pulled 2 + log(n + 1) times, n the number of all pulls, and
then waits for its first one.

Absent arms: a round is made for the arms that were available at the latest decision, and its leader is one of
them. Other arms may be available at the next one. Then the next arm of the round that is a candidate is
pulled. If no arm that is left in the round is a candidate, the round ends, and the first arm of a new round,
made for the candidates, is pulled. Arms that join late and all beat the leader are pulled equally often,
until one of them has more rewards than the leader.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from brigand.errors import InvalidValueError
from brigand.jit import kernel, kernel_beside
from brigand.policies.base import Header, Table
from brigand.policies.kernels import availability
from brigand.policies.kernels.arithmetic import difference
from brigand.policies.kernels.availability import available, is_available, miss, missing_at, n_places
from brigand.policies.kernels.choices import break_tie, needs_pull
from brigand.policies.kernels.randomness import uniform_at

# left, next: how many arms of the round are still to be pulled, and the next of them. started: 1 once the
# round has been begun, or 0. previous: the leader of the last round that was begun. left_out: so many arms
# are not in the round because they were no candidates at step `drawn`.
ROUNDS: dict[str, int | float] = {
    "step": 0,
    "key": 0,
    "round": 0,
    "started": 1,
    "left": 0,
    "next": 0,
    "leader": -1,
    "previous": -1,
    "drawn": 0,
    "left_out": 0,
    **availability.HEADER,
}
# turn: the arms of the round are pulled in order of it; inf for others
TURN: dict[str, int | float] = {"pulls": 0, "count": 0, "turn": math.inf, **availability.ARM}
SUM: dict[str, int | float] = {"sum": 0.0, "residue": 0.0, "others": 0, "level": -1}

FORCED = {"none": 0.0, "sqrt_log": 0.5, "cbrt_log": 1.0 / 3.0}
"""Forced exploration as a power of log r; 0: none."""
CODED_CBRT = 0.333
"""The exponent in the code of Baudry, Russac, Cappe, in place of 1/3."""


Enters = Callable[..., bool]
"""The kernel that tells whether an arm is in a round."""


class Challenges(NamedTuple):
    """A round's number, its leader, pulls below which arms are forced, and `now`.

    Arms that were no candidates at step `now` are not in the round; 0 in `select`, which writes no caches.
    """

    round: int
    leader: int
    forced: float
    now: int


def check_forced(policy: str, forced: object) -> None:
    """Refuse what is no kind of forced exploration."""
    if not isinstance(forced, str) or forced not in FORCED:
        raise InvalidValueError(f"{policy}'s forced must be one of {', '.join(FORCED)}, not {forced!r}.")


def check_authors_code(policy: str, value: object) -> None:
    """Refuse what is no answer to whether a policy is to be as its authors' code."""
    if not isinstance(value, bool):
        raise InvalidValueError(f"{policy}'s authors_code must be True or False, not {value!r}.")


def power_of(forced: str, authors_code: bool) -> float:
    """Return the exponent of a kind of forced exploration."""
    return CODED_CBRT if authors_code and forced == "cbrt_log" else FORCED[forced]


@kernel
def counter(header: Header, arms: Table, number: int, use: int) -> int:
    """Return the counter for `uniform_at`: 0 the leader, 1 + k the turn of arm k, 1 + K + k its challenge."""
    return number * (2 * len(arms) + 1) + use


@kernel
def lead_of(arms: Table, a: int, b: int) -> float:
    """Return by how many rewards `a` is ahead of `b`; if by none, by which sum."""
    lead = float(arms[a]["count"] - arms[b]["count"])
    if lead != 0.0:
        return lead
    return difference(arms[a]["sum"], arms[a]["residue"], arms[b]["sum"], arms[b]["residue"])


@kernel
def most_rewards(header: Header, arms: Table, candidates: Any, number: int, now: int) -> int:
    """Return the leader: most rewards, then largest sum, then the previous leader, then uniform.

    It is one of the `available` arms.
    """
    first = 0
    while available(arms, candidates, first, now) < 0:
        first += 1
    best = available(arms, candidates, first, now)
    ties = 1
    uniform = 0.0
    for place in range(first + 1, n_places(arms, candidates)):
        arm = available(arms, candidates, place, now)
        if arm < 0:
            continue
        lead = lead_of(arms, arm, best)
        if lead > 0.0:
            best = arm
            ties = 1
        elif lead == 0.0:
            if ties == 1:
                uniform = uniform_at(header["key"], counter(header, arms, number, 0))
            ties += 1
            best, uniform = break_tie(best, arm, ties, uniform)
    # Without any reward, nothing speaks for the previous leader.
    previous = header["previous"]
    if ties == 1 or arms[best]["count"] == 0 or not is_available(arms, candidates, previous, now):
        return best
    return previous if lead_of(arms, previous, best) == 0.0 else best


@kernel
def turn_of(header: Header, arms: Table, number: int, arm: int) -> float:
    """Return the arm's place in the order of the round, if it has one."""
    return uniform_at(header["key"], counter(header, arms, number, 1 + arm))


@kernel
def draw_round(
    enters: Enters, parameters: Any, header: Header, arms: Table, memory: Table, challenges: Any
) -> None:
    """Fix the arms of the round and their order: those for which ``enters``, else the leader."""
    size = 0
    header["drawn"] = challenges.now
    header["left_out"] = missing_at(header, challenges.now)
    for arm in range(len(arms)):
        inside = enters(parameters, header, arms, memory, challenges, arm)
        inside = inside or (arms[arm]["count"] == 0 and needs_pull(arms[arm]["pulls"], 1.0, header["step"]))
        if inside and arms[arm]["missed"] != challenges.now:
            arms[arm]["turn"] = 0.0
            header["next"] = arm
            size += 1
        else:
            arms[arm]["turn"] = math.inf
    if size == 0:
        arms[challenges.leader]["turn"] = 0.0
        header["next"] = challenges.leader
        size = 1
    elif size > 1:
        for arm in range(len(arms)):
            if arms[arm]["turn"] == 0.0:
                arms[arm]["turn"] = turn_of(header, arms, challenges.round, arm)
        find_next(header, arms)
    header["left"] = size
    header["leader"] = challenges.leader
    header["round"] = challenges.round
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
def take_turn(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
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
def is_back(header: Header, arms: Table, arm: int) -> bool:
    """Return whether an arm that is available now was left out of a round that is not yet begun."""
    return header["started"] == 0 and arms[arm]["missed"] == header["drawn"]


@kernel
def is_stale(header: Header, arms: Table) -> bool:
    """Return whether the stored round is to be drawn anew: some arm is back that it does not know."""
    if header["left_out"] > 0:
        for arm in range(len(arms)):
            if is_back(header, arms, arm):
                return True
    return False


@kernel
def stored_turn(header: Header, arms: Table, candidates: Any) -> int:
    """Return the candidate whose turn it is in the round that is stored, -1 if a new one is to be drawn."""
    if header["left"] == 0:
        return -1
    if len(candidates) == len(arms) and header["left_out"] == 0:
        return header["next"]
    chosen = -1
    least = math.inf
    for i in range(len(candidates)):
        arm = candidates[i]
        if is_back(header, arms, arm):
            return -1
        if arms[arm]["turn"] < least:
            least = arms[arm]["turn"]
            chosen = arm
    return chosen


@kernel
def choose(
    enters: Enters,
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    candidates: Any,
    challenges: Any,
) -> int:
    """Return the candidate that is first in the round of `challenges`, whose leader is a candidate."""
    chosen = challenges.leader
    least = math.inf
    for i in range(len(candidates)):
        arm = candidates[i]
        due = arms[arm]["count"] == 0 and needs_pull(arms[arm]["pulls"], 1.0, header["step"])
        if enters(parameters, header, arms, memory, challenges, arm) or due:
            turn = turn_of(header, arms, challenges.round, arm)
            if turn < least:
                least = turn
                chosen = arm
    return chosen


@kernel
def next_challenges(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, now: int
) -> Challenges:
    """Return the challenges of the round to come, or of the one that is stored and not yet begun."""
    number = header["round"] + header["started"]
    forced = math.log(number) ** parameters.forced if parameters.forced > 0.0 else 0.0
    return Challenges(number, most_rewards(header, arms, candidates, number, now), forced, now)


def challenge_kernels(
    enters: Enters,
    keep: Callable[..., None],
    take_turn: Callable[..., None] = take_turn,
    following: Callable[..., Any] = next_challenges,
) -> tuple[Callable[..., Any], ...]:
    """Return `select`, `pull`, `learn` and `miss` of a policy that pulls round by round.

    Parameters
    ----------
    enters : callable
        ``enters(parameters, header, arms, memory, challenges, arm)``: whether an arm is in a round. It is
        called ``enters``, or ``enters_x``; its module assigns what is returned to ``select``, ``pull`` and
        ``learn``, or to ``select_x`` and so on.
    keep : callable
        What `learn` does before a round is drawn.
    take_turn : callable
        What `pull` does after a round was drawn: `take_turn`, or more.
    following : callable
        As `next_challenges`; what it returns has at least ``round``, ``leader`` and ``now``.
    """

    def beside(word: str) -> Callable[..., Any]:
        return kernel_beside(enters, enters.__name__.replace("enters", word))

    @beside("select")
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
        challenges = following(parameters, header, arms, memory, candidates, 0)
        return choose(enters, parameters, header, arms, memory, candidates, challenges)

    @beside("pull")
    def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
        if header["left"] == 0 or is_stale(header, arms):
            challenges = following(parameters, header, arms, memory, None, header["step"] + 1)
            draw_round(enters, parameters, header, arms, memory, challenges)
        take_turn(parameters, header, arms, memory, arm)

    @beside("learn")
    def learn(
        parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
    ) -> None:
        keep(parameters, header, arms, memory, arm, reward, step)
        if header["left"] == 0 or header["started"] == 0:
            challenges = following(parameters, header, arms, memory, None, header["step"])
            draw_round(enters, parameters, header, arms, memory, challenges)

    return select, pull, learn, miss
