"""Rewards in a range, each a success or a failure: a success with the probability of its place there.

Agrawal and Goyal, COLT 2012. Which it is depends on the run's key and the step of the pull alone, so rewards
may come in any order. Fields: ``key`` of the header; ``successes`` and ``failures`` of an arm. Parameters:
see `unit_reward`.
"""

from __future__ import annotations

from typing import Any

from brigand.jit import kernel
from brigand.policies.base import Header, Table
from brigand.policies.kernels.arithmetic import unit_reward
from brigand.policies.kernels.randomness import uniform_at


@kernel
def learn_binarised(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    """Count a reward as a success or a failure."""
    if uniform_at(header["key"], step) < unit_reward(parameters, reward):
        arms[arm]["successes"] += 1
    else:
        arms[arm]["failures"] += 1


@kernel
def correct_binarised(
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    arm: int,
    was: float,
    reward: float,
    step: int,
) -> None:
    """Count a reward in the place of another."""
    uniform = uniform_at(header["key"], step)
    change = int(uniform < unit_reward(parameters, reward)) - int(uniform < unit_reward(parameters, was))
    arms[arm]["successes"] += change
    arms[arm]["failures"] -= change
