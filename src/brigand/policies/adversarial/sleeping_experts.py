"""Sleeping experts: exponential weights where some arms are away.

Where n of the K arms are there, the arm is drawn by the same rule, with the weights of these n arms and with
n in place of K. When a reward arrives, their weights change by the rule and are then scaled, so that their
sum keeps its ratio to the weights of the arms that are away. So an arm neither wins nor loses by being away.
A late reward is handled as if the arms that are away were those that were away at the latest decision.

With arms away, EXP3 compares the logarithms of weights, because the weights of all arms that are there may be
negligible beside one that is away. It still does so in the steps after that, with all arms there, until all
weights are in one unit again (``stale``).

Source: Freund, Schapire, Singer, Warmuth, "Using and combining predictors that specialize", STOC 1997, quoted
from memory. There, too, the experts that sleep keep their weights, and those that are awake share theirs out
among themselves.
"""

from __future__ import annotations

import math
from typing import Any

from brigand.jit import kernel
from brigand.policies.base import Header, Table
from brigand.policies.kernels.availability import available, missing_at, n_places

LARGE = 1e100


@kernel
def weight_among(parameters: Any, arms: Table, arm: int, unit: float) -> float:
    """Return the arm's weight, for EXP3 in a unit with this logarithm."""
    return arms[arm]["weight"] if parameters.alpha > 0.0 else math.exp(arms[arm]["log_weight"] - unit)


@kernel
def sum_among(parameters: Any, arms: Table, candidates: Any, step: int) -> tuple[float, float]:
    """Return the sum of the weights of the `available` arms, after the logarithm of its unit."""
    unit, total = -math.inf, 0.0
    for place in range(n_places(arms, candidates)):
        arm = available(arms, candidates, place, step)
        if arm >= 0:
            unit = max(unit, arms[arm]["log_weight"])
    for place in range(n_places(arms, candidates)):
        arm = available(arms, candidates, place, step)
        if arm >= 0:
            total += weight_among(parameters, arms, arm, unit)
    return unit, total


@kernel
def draw_among(parameters: Any, arms: Table, candidates: Any, left: float) -> int:
    """Return the candidate that a number in [0, 1) draws."""
    unit, total = sum_among(parameters, arms, candidates, 0)
    for i in range(len(candidates)):
        share = weight_among(parameters, arms, candidates[i], unit) / total
        left -= (1.0 - parameters.gamma) * share + parameters.gamma / len(candidates)
        if left < 0.0:
            return candidates[i]
    return candidates[len(candidates) - 1]


@kernel
def lift_absent(parameters: Any, header: Header, arms: Table, arm: int, gain: float) -> None:
    """Let the weights of arms that are away grow as the sum of the others will."""
    now = header["step"]
    header["stale"] = 1
    if arms[arm]["missed"] == now:
        return
    unit, total = sum_among(parameters, arms, None, now)
    growth = math.log1p(weight_among(parameters, arms, arm, unit) / total * math.expm1(gain))
    for other in range(len(arms)):
        if arms[other]["missed"] == now:
            arms[other]["log_weight"] += growth


@kernel
def spread_among(parameters: Any, header: Header, arms: Table, before: float) -> None:
    """Spread weight over the arms that are there; its sum is what it was `before`, or 1 if that was tiny."""
    now = header["step"]
    share = math.e * parameters.alpha * before / (len(arms) - missing_at(header, now))
    after = 0.0
    for k in range(len(arms)):
        if arms[k]["missed"] != now:
            arms[k]["weight"] += share
            after += arms[k]["weight"]
    unit = before if before < 1.0 / LARGE else 1.0
    header["total"] = 0.0
    for k in range(len(arms)):
        factor = before / after if arms[k]["missed"] != now else 1.0
        arms[k]["weight"] = min(arms[k]["weight"] * factor / unit, LARGE)
        header["total"] += arms[k]["weight"]
