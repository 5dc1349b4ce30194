"""FE-Restart, forced exploration that forgets all when an arm's rewards change: no window, no T, no B_T.

Rule
----
As FE (`brigand.policies.forced.forced_exploration`) with f(r) = r^2, with three additions.

Evidence. Let R be the n-th reward of an arm since the last restart, and u the share of its earlier rewards in
the reference that are less than R; those that are equal, and R itself, count with one uniform number in
[0, 1). The reference are the arm's rewards since the restart; when there are `room` of them, the older half
is dropped, and the evidence begins anew from 0. With x = 2 u - 1, and s = 0.3 and 0.9,

    up_s = (up_s + 1 / n) (1 + s x),    down_s = (down_s + 1 / n) (1 - s x).

`up` and `down` are the means of both. While rewards do not change, x is uniform in (-1, 1), whatever their
distribution is.

Restart. The favourite is the arm that was last chosen for its mean. If the arm is the favourite and down >=
K / alpha, or if it is not and up >= K / alpha, all arms are forgotten, and FE begins anew, with round 0. (A
favourite that rises and another that falls change no choice.)

Suspicion. If the arm is not the favourite and up >= K `suspicion`, it is pulled again at the next step. So
what a forced pull makes likely is looked into at once, and not at the next turn.

Source
------
Ours. The turns are those of Qi, Zhu, Guo, "Forced Exploration in Bandit Problems", AAAI 2024; u is a
conformal p-value and 1 + s x a bet (Vovk, Gammerman, Shafer, "Algorithmic Learning in a Random World", 2005);
the sum over the times at which a change may have come is Shiryaev's and Roberts'.

**False alarms.** If rewards do not change, an alarm comes within the first n rewards of each arm after a
restart with a probability of at most 2 alpha (1 + 1/2 + ... + 1/n), whatever their distribution and whatever
is pulled when. ``docs/results.md`` has the proof, and the rates that were measured. It is not for rewards
that depend on each other (a daily rhythm, say).

Deviations
----------
None: there is no other definition.

Late rewards
------------
Rounds and thresholds depend on pulls; means and evidence on the rewards that have arrived, in order of
arrival. A reward of a pull before the last restart is left out. An arm without a reward is pulled only when
it is due; if no arm has a reward, the least recently pulled one is. A reward cannot be corrected. **Where a
reward is the later the smaller it is**, as of a conversion that counts as 0 when its time is over, rewards
fall after every restart, and false alarms follow each other: then use another policy.

Absent arms: an arm that is away when it is due, or is to be pulled again, misses its turn, and one that joins
late catches up (see `brigand.policies.forced.turns`).

Cost
----
O(room) a step, some 0.5 us for 1,000 rewards in the reference, and O(K) at a forced pull. Memory O(K room).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.jit import kernel
from brigand.policies.base import Estimated, Explanation, Header, Kernels, Table, record
from brigand.policies.forced import turns
from brigand.policies.forced.sequences import ExplorationSequence, Power
from brigand.policies.forced.turns import ForcedPolicy, count_pull, is_due, move_on
from brigand.policies.kernels import window
from brigand.policies.kernels.choices import is_only, mean_moved
from brigand.policies.kernels.estimates import REMEMBERED, known_mean
from brigand.policies.kernels.randomness import uniform_at

# since: the step of the last restart; told: all rewards so far; favourite: the arm that was last chosen for
# its mean, again: the arm to be pulled again, both -1 for none
HEADER = record(
    step=0,
    next_reset=0,
    leader=-1,
    second=0.0,
    key=0,
    since=0,
    restarts=0,
    told=0,
    favourite=-1,
    again=-1,
    **turns.HEADER,
)
# kept: rewards in the reference; again: whether it is to be pulled again; evidence, of small and large bets
ARM = record(
    **turns.ARM,
    **window.ARM,
    kept=0,
    again=0,
    up_small=0.0,
    up_large=0.0,
    down_small=0.0,
    down_large=0.0,
)
# Row i: reward i mod room in the reference of arm floor(i / room); f(i + 1) of a table
ROW = record(reward=0.0, f=0.0)
SMALL, LARGE = 0.3, 0.9
"""The bets, s."""


class RestartingForcedExplorationParameters(NamedTuple):
    """The sequence (see `sequences.Form`), the length of its table, no window, no resets by step; more."""

    kind: int
    number: float
    shift: int
    table: int
    window: int
    reset_round: int
    room: int
    enough: float
    suspicious: float


@kernel
def is_asked_again(header: Header, arms: Table, candidates: Any) -> bool:
    """Return whether an arm is to be pulled again, and can be."""
    if header["again"] < 0 or len(candidates) == len(arms):
        return header["again"] >= 0
    found = 0
    for i in range(len(candidates)):
        found += candidates[i] == header["again"]
    return found > 0


@kernel
def select(
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    candidates: Any,
    rng: np.random.Generator,
) -> int:
    arm = turns.select(parameters, header, arms, memory, candidates, rng)
    return header["again"] if is_asked_again(header, arms, candidates) else arm


@kernel
def propensity(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, arm: int
) -> float:
    if is_asked_again(header, arms, candidates):
        return is_only(arm, header["again"])
    return turns.propensity(parameters, header, arms, memory, candidates, arm)


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    if arm == header["again"]:
        arms[arm]["forced"] += not is_due(header, arms, arm)
        not_again(header, arms)
    elif not is_due(header, arms, arm):
        header["favourite"] = arm
    if count_pull(header, arms, arm):
        move_on(parameters, header, arms, memory, arm)


@kernel
def miss(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    if arm == header["again"]:
        not_again(header, arms)
    turns.miss(parameters, header, arms, memory, arm)


@kernel
def not_again(header: Header, arms: Table) -> None:
    """Let no arm be pulled again."""
    if header["again"] >= 0:
        arms[header["again"]]["again"] = 0
    header["again"] = -1


@kernel
def place_among(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float
) -> float:
    """Put a reward into the arm's reference, and return x."""
    first, kept = arm * parameters.room, arms[arm]["kept"]
    if kept == parameters.room:
        kept = parameters.room // 2
        older = parameters.room - kept
        for row in range(first, first + kept):
            memory[row]["reward"] = memory[row + older]["reward"]
        no_evidence(arms, arm)
    less, equal = 0, 1
    for row in range(first, first + kept):
        other = memory[row]["reward"]
        less += other < reward
        equal += other == reward
    memory[first + kept]["reward"] = reward
    arms[arm]["kept"] = kept + 1
    header["told"] += 1
    return 2.0 * (less + uniform_at(header["key"], header["told"]) * equal) / (kept + 1.0) - 1.0


@kernel
def no_evidence(arms: Table, arm: int) -> None:
    """Let the arm's evidence begin anew."""
    arms[arm]["up_small"] = 0.0
    arms[arm]["up_large"] = 0.0
    arms[arm]["down_small"] = 0.0
    arms[arm]["down_large"] = 0.0


@kernel
def bet(arms: Table, arm: int, x: float) -> None:
    """Bring the arm's evidence up to date."""
    share = 1.0 / arms[arm]["count"]
    arms[arm]["up_small"] = (arms[arm]["up_small"] + share) * (1.0 + SMALL * x)
    arms[arm]["up_large"] = (arms[arm]["up_large"] + share) * (1.0 + LARGE * x)
    arms[arm]["down_small"] = (arms[arm]["down_small"] + share) * (1.0 - SMALL * x)
    arms[arm]["down_large"] = (arms[arm]["down_large"] + share) * (1.0 - LARGE * x)


@kernel
def forget(header: Header, arms: Table) -> None:
    """Begin anew: as before the first step, but for the clocks."""
    header["since"] = header["step"]
    header["restarts"] += 1
    header["favourite"] = -1
    not_again(header, arms)
    header["leader"] = -1
    header["second"] = 0.0
    header["round"] = 0
    header["threshold"] = 0.0
    header["lap"] = 1
    header["seen"] = 0
    header["first"] = 0
    header["due"] = 0.0
    for arm in range(len(arms)):
        arms[arm]["pulls"] = 0
        arms[arm]["forced"] = 0
        arms[arm]["last"] = 0
        arms[arm]["wait"] = 0.0
        arms[arm]["missed"] = 0
        arms[arm]["lap"] = 0
        arms[arm]["count"] = 0
        arms[arm]["recent"] = 0.0
        arms[arm]["recent_residue"] = 0.0
        arms[arm]["mean"] = math.nan
        arms[arm]["kept"] = 0
        no_evidence(arms, arm)


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    if step <= header["since"]:
        return
    window.add_recent(arms, arm, reward)
    window.refresh(arms, arm)
    mean_moved(header, arms, arm)
    bet(arms, arm, place_among(parameters, header, arms, memory, arm, reward))
    evidence = 0.5 * (arms[arm]["up_small"] + arms[arm]["up_large"])
    if arm == header["favourite"]:
        evidence = 0.5 * (arms[arm]["down_small"] + arms[arm]["down_large"])
    if arm != header["favourite"] and evidence >= parameters.suspicious:
        not_again(header, arms)
        header["again"] = arm
        arms[arm]["again"] = 1
    elif arm == header["again"]:
        not_again(header, arms)
    if evidence >= parameters.enough:
        forget(header, arms)


@dataclass(frozen=True)
class RestartingForcedExploration(ForcedPolicy):
    """FE that forgets all when its favourite arm's rewards fall or another's rise, whatever they are.

    It needs no range and no family of rewards, no horizon, and no number of changes.

    Parameters
    ----------
    sequence : ExplorationSequence
        f(r), by default r^2: `Power`, `Linear`, `AnytimeExponential`, ...
    alpha : float
        In (0, 1]. An arm is taken to have changed when the evidence reaches K / alpha.
    suspicion : float
        Evidence, times K, with which an arm is pulled again at once; ``math.inf`` for never.
    room : int
        Rewards of an arm to compare a new one with, at least 2. Changes that do not show in half as many
        rewards are not found.

    Notes
    -----
    The arms table counts ``pulls`` and, among them, ``forced`` pulls since the last restart; the header
    counts ``restarts``.
    """

    sequence: ExplorationSequence = Power(2.0)
    alpha: float = 0.1
    suspicion: float = 1.5
    room: int = 2048

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, miss, known_mean, propensity)
    narrow: ClassVar[bool] = True
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "rewards that change now and then"
    known_from: ClassVar[str] = "ours"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keep(
            alpha=checks.number("RestartingForcedExploration's alpha", self.alpha, 0.0, 1.0, above=0.0)
        )
        suspicion = checks.number(
            "RestartingForcedExploration's suspicion", self.suspicion, 0.0, above=0.0, infinite=True
        )
        self._keep(suspicion=suspicion)
        self._keep(room=checks.integer("RestartingForcedExploration's room", self.room, 2, 2**20))

    @property
    def memory_cost(self) -> str:
        return "O(K room)"

    @property
    def estimated(self) -> Estimated:
        return REMEMBERED

    def parameters(self, n_arms: int, horizon: int | None) -> RestartingForcedExplorationParameters:
        form, table = self.sequence.form(horizon), len(self._table(n_arms, horizon))
        return RestartingForcedExplorationParameters(
            *form, table, 0, 0, self.room, n_arms / self.alpha, n_arms * self.suspicion
        )

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        table = self._table(n_arms, horizon)
        memory = np.repeat(ROW, max(self.room * n_arms, len(table)))
        memory["f"][: len(table)] = table
        return memory

    def explain(self, arm: str, header: Header, row: Header, among: str) -> Explanation | None:
        if row["again"]:
            sentence = f"the last rewards of {arm} seem larger than those before"
            evidence = 0.5 * float(row["up_small"] + row["up_large"])
            return Explanation("forced", sentence, {"evidence": evidence})
        if row["last"] == 0 and header["restarts"] > 0:
            sentence = f"{arm} was not chosen since all was forgotten at a change"
            return Explanation("forced", sentence, {"restarts": int(header["restarts"])})
        return super().explain(arm, header, row, among)
