"""Which arms are not available, for a while or for ever: notes of policies that must know.

Most policies only compare the candidates, and need no notes. But the decisions of some depend on what all
arms have done (a leader, a turn, a weight): they note which arms were no candidates at a step. `miss` is
their fourth kernel; fields: `HEADER` and `ARM`, and ``step`` of the header.
"""

from __future__ import annotations

from typing import Any

from brigand.jit import kernel
from brigand.policies.base import Header, Table

HEADER: dict[str, int | float] = {"missed": -1, "missing": 0}
"""The last step at which an arm was no candidate, and how many were none."""
ARM: dict[str, int | float] = {"missed": -1}
"""The last step at which the arm was no candidate."""


@kernel
def miss(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    """Note that an arm is no candidate of the step to come."""
    step = header["step"] + 1
    if header["missed"] != step:
        header["missed"] = step
        header["missing"] = 0
    if arms[arm]["missed"] != step:
        arms[arm]["missed"] = step
        header["missing"] += 1


@kernel
def missing_at(header: Header, step: int) -> int:
    """Return how many arms were no candidates at a step: the latest one, or the one to come."""
    return header["missing"] if header["missed"] == step else 0


@kernel
def is_available(arms: Table, candidates: Any, arm: int, step: int) -> bool:
    """Return whether an arm (-1: none) is a candidate; of None, whether it was one at `step`."""
    if candidates is None:
        return arm >= 0 and arms[arm]["missed"] != step
    found = False
    for i in range(len(candidates)):
        found = found or candidates[i] == arm
    return found


@kernel
def n_available(header: Header, arms: Table, candidates: Any, step: int) -> int:
    """Return how many candidates there are; of None, how many there were at `step`."""
    return len(arms) - missing_at(header, step) if candidates is None else len(candidates)


@kernel
def n_places(arms: Table, candidates: Any) -> int:
    """Return for how many places to ask `available`."""
    return len(arms) if candidates is None else len(candidates)


@kernel
def available(arms: Table, candidates: Any, place: int, step: int) -> int:
    """Return the candidate at a place; of None, the arm there, or -1 if it was no candidate at `step`.

    So one loop serves `select`, which has candidates, and `pull` and `learn`, which have not.
    """
    if candidates is None:
        return place if arms[place]["missed"] != step else -1
    return candidates[place]
