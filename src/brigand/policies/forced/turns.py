"""Whose turn it is: the rounds of forced exploration, and which arm is due.

An arm is due when it was left alone for as long as it may ``wait``: for f(r) steps in round r. An arm that
was never pulled is due at once. The round ends when every arm has had its turn. Where all arms are there from
the beginning, that is the paper's rule. Beyond it:

- An arm that joins later, or comes back, has n < r pulls: it waits for f(n) steps until it has caught up.
  (Arms that are there from the beginning have n >= r, unless a reset enters a later round: see `is_new`.)
- An arm that is not available when it is due misses its turn. A missed turn counts as a turn: the round goes
  on to its end as if the arm had been pulled. The arm stays due, and comes first once it is back.

Fields: `HEADER`, with ``step``, ``next_reset`` (0: none) and what `brigand.policies.kernels.choices` relies
on; `ARM`; ``f`` of the memory, for a tabulated sequence. Parameters: as in
`forced_exploration.ForcedExplorationParameters`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from brigand.errors import InvalidValueError
from brigand.jit import kernel
from brigand.policies.base import Explanation, Header, Policy, Table
from brigand.policies.forced import sequences
from brigand.policies.forced.sequences import ExplorationSequence, Exponential
from brigand.policies.kernels.choices import greedy, greedy_propensity, is_only, least_recently_pulled
from brigand.words import counted

HEADER: dict[str, int | float] = {
    "round": 0,
    "threshold": 0.0,
    "lap": 1,  # like the round, but never reset: marks the arms that had their turn in this round
    "seen": 0,  # how many had
    "first": 0,  # the least recently pulled arm
    "due": 0.0,  # the least last + wait: with fewer pulls made, no arm is due; 0 if one was never pulled
}
ARM: dict[str, int | float] = {"pulls": 0, "forced": 0, "last": 0, "wait": 0.0, "missed": 0, "lap": 0}
"""Pulls, the forced ones among them; steps of the last pull and the last missed turn; how long it may be left
alone; the last lap it was in."""


@kernel
def is_due(header: Header, arms: Table, arm: int) -> bool:
    last = arms[arm]["last"]
    return last == 0 or header["step"] - last >= arms[arm]["wait"]


@kernel
def next_due(header: Header, arms: Table, candidates: Any) -> int:
    """Return the least recently pulled of the candidates that are due, -1 if none is."""
    all_there = len(candidates) == len(arms)
    oldest = header["first"] if all_there else least_recently_pulled(arms, candidates)
    if is_due(header, arms, oldest):
        return oldest
    chosen = -1
    for i in range(len(candidates)):  # one that catches up waits less than others
        arm = candidates[i]
        if is_due(header, arms, arm) and (chosen < 0 or arms[arm]["last"] < arms[chosen]["last"]):
            chosen = arm
    return chosen


@kernel
def is_new(header: Header, arms: Table, arm: int) -> bool:
    """Return whether the arm has fewer pulls than the round's number, since it joined later or was away.

    A reset may enter a round whose number no arm has reached yet: then none is new.
    """
    return arms[arm]["pulls"] < min(header["round"], header["lap"] - 1)


@kernel
def limit(parameters: Any, header: Header, memory: Table, round_: int) -> float:
    """Return the threshold of a round."""
    if round_ == 0:
        return 0.0
    kind, number, shift = parameters.kind, parameters.number, parameters.shift
    threshold = sequences.value(kind, number, shift, memory, parameters.table, round_, header["step"])
    return min(threshold, float(parameters.window)) if parameters.window > 0 else threshold


@kernel
def enter_round(parameters: Any, header: Header, arms: Table, memory: Table, round_: int) -> None:
    threshold = limit(parameters, header, memory, round_)
    if round_ > header["round"]:
        threshold = max(threshold, header["threshold"])  # f of `AnytimeExponential` may want to decrease
    header["round"] = round_
    header["threshold"] = threshold
    for arm in range(len(arms)):
        if not is_new(header, arms, arm):
            arms[arm]["wait"] = threshold


@kernel
def reschedule(header: Header, arms: Table) -> None:
    """Find the least recently pulled arm, and the step at which one is due."""
    first, oldest, due = 0, arms[0]["last"], arms[0]["last"] + arms[0]["wait"]
    for arm in range(1, len(arms)):
        last = arms[arm]["last"]
        if last < oldest:
            first, oldest = arm, last
        due = min(due, last + arms[arm]["wait"])
    header["first"] = first
    header["due"] = due if oldest > 0 else 0.0


@kernel
def miss(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    if arms[arm]["lap"] == header["lap"]:
        return
    turn = max(arms[arm]["last"], arms[arm]["missed"])
    if turn == 0 or header["step"] - turn >= header["threshold"]:
        arms[arm]["missed"] = header["step"] + 1
        arms[arm]["lap"] = header["lap"]
        header["seen"] += 1


@kernel
def select(
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    candidates: Any,
    rng: np.random.Generator,
) -> int:
    uniform = rng.random()
    if header["step"] >= header["due"]:
        arm = next_due(header, arms, candidates)
        if arm >= 0:
            return arm
    return greedy(header, arms, candidates, uniform)


@kernel
def propensity(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, arm: int
) -> float:
    if header["step"] >= header["due"]:
        due = next_due(header, arms, candidates)
        if due >= 0:
            return is_only(arm, due)
    return greedy_propensity(header, arms, candidates, arm)


@kernel
def count_pull(header: Header, arms: Table, arm: int) -> bool:
    """Count a pull; return whether `move_on` must be called."""
    if is_due(header, arms, arm):
        arms[arm]["forced"] += 1
    catches_up = is_new(header, arms, arm)
    arms[arm]["pulls"] += 1
    header["step"] += 1
    arms[arm]["last"] = header["step"]
    if arms[arm]["lap"] != header["lap"]:
        arms[arm]["lap"] = header["lap"]
        header["seen"] += 1
    at_an_end = header["seen"] == len(arms) or header["step"] == header["next_reset"]
    return catches_up or at_an_end or arm == header["first"]


@kernel
def end_round(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> bool:
    """End the round, or reset it, where that is due; return whether all arms wait otherwise from now on."""
    catches_up = arms[arm]["pulls"] <= min(header["round"], header["lap"] - 1)  # it was new before this pull
    ends, resets = header["seen"] == len(arms), header["step"] == header["next_reset"]
    if ends:
        header["seen"] = 0
        header["lap"] += 1
        enter_round(parameters, header, arms, memory, header["round"] + 1)
    if resets:
        header["next_reset"] += parameters.window
        enter_round(parameters, header, arms, memory, parameters.reset_round)
    if catches_up:
        arms[arm]["wait"] = min(header["threshold"], limit(parameters, header, memory, arms[arm]["pulls"]))
    return ends or resets


@kernel
def move_on(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    """End the round where that is due, and find out which arm is due next: O(K).

    Apart from `count_pull`, so that most steps go without a call: see `brigand.jit`.
    """
    end_round(parameters, header, arms, memory, arm)
    reschedule(header, arms)


@dataclass(frozen=True)
class ForcedPolicy(Policy):
    """Base of the policies that force arms: greedy, except that an arm left alone for f(r) steps is forced.

    Parameters
    ----------
    sequence : ExplorationSequence
        f(r): `Exponential`, `Linear`, `Constant`, `Power`, `AnytimeExponential` or `Sequence`.
    """

    sequence: ExplorationSequence = Exponential()

    reference: ClassVar[str] = "qi2024forced"

    def __post_init__(self) -> None:
        if not isinstance(self.sequence, ExplorationSequence):
            raise InvalidValueError(
                f"{type(self).__name__}'s sequence must be Constant, Linear, Exponential, Power, "
                f"AnytimeExponential or Sequence, not {self.sequence!r}."
            )

    @property
    def must_know(self) -> str:
        return "T" if self.sequence.needs_span else "nothing"

    def explain(self, arm: str, header: Header, row: Header, among: str) -> Explanation | None:
        last, count = int(row["last"]), int(row["count"])
        if last == 0:
            return Explanation("forced", f"{arm} was never chosen before", {})
        waited, wait, round_ = int(header["step"]) - last, float(row["wait"]), int(header["round"])
        if waited >= wait:
            data = {"waited": waited, "limit": wait, "round": round_}
            due = math.ceil(wait)
            late = f"is due after {counted(due, 'step')}" if waited > due else ""
            rule = f"in round {round_} " + (f"an arm {late}" if late else f"no arm waits longer than {due}")
            if row["pulls"] < min(round_, header["lap"] - 1):
                pulls = counted(row["pulls"], "pull")
                rule = f"a new arm with {pulls} {late or f'waits no longer than {due}'}"
            return Explanation("forced", f"{arm} was last chosen {counted(waited, 'step')} ago; {rule}", data)
        if count == 0:
            return Explanation("greedy", f"no mean{among} is known, and {arm} was chosen longest ago", {})
        return None

    def _table(self, n_arms: int, horizon: int | None, reset_round: int = 0) -> NDArray[np.float64]:
        """Return a sequence without a formula as numbers, as far as the rounds can get."""
        if horizon is None:
            return self.sequence.table(None, None)
        # A round takes at least K steps; the first may begin with a reset.
        return self.sequence.table(horizon, reset_round + horizon // n_arms + 1)
