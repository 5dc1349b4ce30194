"""An exact sliding window over the last `window` pulls of all arms together, at O(1) a pull.

A running sum from which old rewards are subtracted drifts: the residue of 1e300 outweighs every later
reward. Here nothing is ever subtracted. The memory is a ring, and the pulls are cut into blocks of
`window`: the current block's rewards are added up per arm (``recent``), and when a block ends, each of
its slots is given the sum of the *later* rewards of its arm in that block (``rest``). So when the slot
leaves the window, what remains of its arm's older rewards is at hand (``older = rest``). Each sum is kept
with what rounding took from it (`arithmetic.two_sum`), so that equal means are equal floats.

Fields: `ARM` of an arm; ``step``, ``slot``, ``block`` of the header; `SLOT` of the memory. ``count`` counts
rewards that have arrived for pulls inside the window.
"""

from __future__ import annotations

import math

from brigand.jit import kernel
from brigand.policies.base import Header, Table
from brigand.policies.kernels.arithmetic import quotient, two_sum

ARM: dict[str, int | float] = {
    "count": 0,
    "recent": 0.0,
    "recent_residue": 0.0,
    "older": 0.0,
    "older_residue": 0.0,
    "mean": float("nan"),
}
SLOT: dict[str, int | float] = {"arm": 0, "told": 0, "reward": 0.0, "rest": 0.0, "rest_residue": 0.0}
"""Fields of one pull, for `record`: its arm, whether its reward has arrived, the reward, and see above."""


@kernel
def refresh(arms: Table, arm: int) -> None:
    """Recompute the arm's mean from its sums: NaN without a reward."""
    if arms[arm]["count"] == 0:
        arms[arm]["mean"] = math.nan
        return
    total, lost = two_sum(arms[arm]["older"], arms[arm]["recent"])
    residue = arms[arm]["older_residue"] + arms[arm]["recent_residue"] + lost
    arms[arm]["mean"] = quotient(total, residue, arms[arm]["count"])


@kernel
def add_recent(arms: Table, arm: int, reward: float) -> None:
    """Count a reward of the current block."""
    arms[arm]["count"] += 1
    total, lost = two_sum(arms[arm]["recent"], reward)
    arms[arm]["recent"] = total
    arms[arm]["recent_residue"] += lost


@kernel
def correct_recent(arms: Table, arm: int, was: float, reward: float) -> None:
    """Put a reward in the place of another of the current block, where that is the only one."""
    for change in (-was, reward):
        total, lost = two_sum(arms[arm]["recent"], change)
        arms[arm]["recent"] = total
        arms[arm]["recent_residue"] += lost


@kernel
def add_older(arms: Table, arm: int, reward: float) -> None:
    """Add a reward of the older block, without counting it."""
    total, lost = two_sum(arms[arm]["older"], reward)
    arms[arm]["older"] = total
    arms[arm]["older_residue"] += lost


@kernel
def turn(header: Header, arms: Table, memory: Table, window: int) -> None:
    """Begin a new block at the current step: the finished block becomes the older one."""
    for arm in range(len(arms)):
        arms[arm]["older"] = 0.0
        arms[arm]["older_residue"] = 0.0
        arms[arm]["recent"] = 0.0
        arms[arm]["recent_residue"] = 0.0
    for slot in range(window - 1, -1, -1):
        arm = memory[slot]["arm"]
        memory[slot]["rest"] = arms[arm]["older"]
        memory[slot]["rest_residue"] = arms[arm]["older_residue"]
        if memory[slot]["told"]:
            add_older(arms, arm, memory[slot]["reward"])
    for arm in range(len(arms)):
        refresh(arms, arm)
    header["block"] = header["step"]


@kernel
def advance(header: Header, arms: Table, memory: Table, arm: int, window: int) -> int:
    """Move the window on to the current step, at which `arm` was pulled.

    Returns
    -------
    int
        The arm of the pull that left the window; -1 if none did, -2 if all means were recomputed.
    """
    slot = header["slot"]
    gone = -1
    if slot == 0 and header["step"] > 1:
        turn(header, arms, memory, window)
        gone = -2
    if header["step"] > window:
        leaving = memory[slot]["arm"]
        arms[leaving]["count"] -= memory[slot]["told"]
        arms[leaving]["older"] = memory[slot]["rest"]
        arms[leaving]["older_residue"] = memory[slot]["rest_residue"]
        refresh(arms, leaving)
        if gone == -1:
            gone = leaving
    memory[slot]["arm"] = arm
    memory[slot]["told"] = 0
    header["slot"] = slot + 1 if slot + 1 < window else 0
    return gone


@kernel
def learn_in_window(
    header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int, window: int
) -> bool:
    """Take in the reward of the pull made at `step`; False if that pull has left the window.

    O(1) for a pull of the current block, O(window) for a late reward of the older one.
    """
    if header["step"] - step >= window:
        return False
    if step >= header["block"]:
        slot = step - header["block"]
        add_recent(arms, arm, reward)
    else:
        slot = step - header["block"] + window
        arms[arm]["count"] += 1
        add_older(arms, arm, reward)
        for earlier in range(header["slot"], slot):
            if memory[earlier]["arm"] == arm:
                total, lost = two_sum(memory[earlier]["rest"], reward)
                memory[earlier]["rest"] = total
                memory[earlier]["rest_residue"] += lost
    memory[slot]["told"] = 1
    memory[slot]["reward"] = reward
    refresh(arms, arm)
    return True
