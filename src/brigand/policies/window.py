"""An exact sliding window over the last `window` pulls of all arms together, at O(1) a pull.

A running sum from which old rewards are subtracted drifts: the residue of 1e300 outweighs every later
reward. Here nothing is ever subtracted. The memory is a ring, and the pulls are cut into blocks of
`window`: the current block's rewards are added up per arm (``recent``), and when a block ends, each of
its slots is given the sum of the *later* rewards of its arm in that block (``rest``). So when the slot
leaves the window, what remains of its arm's older rewards is at hand (``older = rest``). Sums of the
same rewards may differ in the last digit from one block to the next; sums of integers are exact.

Fields: ``count``, ``recent``, ``older``, ``mean`` of an arm; ``step``, ``slot``, ``block`` of the header;
memory as declared by `SLOT`. ``count`` counts rewards that have arrived for pulls inside the window.
"""

from __future__ import annotations

from brigand.jit import kernel
from brigand.policies.base import Header, Table

SLOT = {"arm": 0, "told": 0, "reward": 0.0, "rest": 0.0}
"""Fields of one pull, for `record`: its arm, whether its reward has arrived, the reward, and see above."""


@kernel
def refresh(arms: Table, arm: int) -> None:
    """Recompute the arm's mean from its sums: NaN without a reward."""
    count = arms[arm]["count"]
    arms[arm]["mean"] = (arms[arm]["older"] + arms[arm]["recent"]) / count if count > 0 else float("nan")


@kernel
def turn(header: Header, arms: Table, memory: Table, window: int) -> None:
    """Begin a new block at the current step: the finished block becomes the older one."""
    for arm in range(len(arms)):
        arms[arm]["older"] = 0.0
        arms[arm]["recent"] = 0.0
    for slot in range(window - 1, -1, -1):
        arm = memory[slot]["arm"]
        memory[slot]["rest"] = arms[arm]["older"]
        if memory[slot]["told"]:
            arms[arm]["older"] += memory[slot]["reward"]
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
        arms[arm]["recent"] += reward
    else:
        slot = step - header["block"] + window
        arms[arm]["older"] += reward
        for earlier in range(header["slot"], slot):
            if memory[earlier]["arm"] == arm:
                memory[earlier]["rest"] += reward
    memory[slot]["told"] = 1
    memory[slot]["reward"] = reward
    arms[arm]["count"] += 1
    refresh(arms, arm)
    return True
