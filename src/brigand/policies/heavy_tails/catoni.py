"""Catoni's estimator for robust UCB: the kernels behind ``RobustUCB("catoni")``.

Rule
----
With L = 2 log t at step t, n rewards of the arm, and v at least their variance, the estimate is the root
theta of

    sum psi(alpha (X - theta)) = 0,   psi(x) = sign(x) log(1 + |x| + x^2 / 2),
    alpha = sqrt(2 L / (n (v + 2 v L / (n - 2 L)))),

and the index is theta + 2 sqrt(v L / n). Of the functions psi that the analysis admits, this is the widest.
An arm with fewer than 4 L = 8 log t rewards comes first.

Source
------
As for robust UCB (`brigand.policies.heavy_tails.robust_ucb`).

Deviations
----------
None.

Late rewards
------------
Once an arm has had 17 log t pulls and still has fewer than 8 log t rewards, it comes last until that many
have arrived (`kernels.choices.needs_pull`).

Cost
----
O(t) a step, once or twice; memory O(K + T).

alpha moves with t, so that every arm has a new root at every step. It is found by one or two Newton steps
from the last root. These are kept between the least and the largest reward, and shrink that bracket; a step
that leaves the bracket is replaced by its middle. Newton's steps stop at 1e-7 of the width. The error left is
the square of that, so the root is exact to rounding. Two arms with the same rewards in another order may
differ in the last digit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from brigand.jit import kernel
from brigand.policies.base import Header, Kernels, Table, record
from brigand.policies.kernels.choices import index_propensity, index_select, needs_pull
from brigand.policies.kernels.estimates import known_estimate
from brigand.policies.kernels.history import SEGMENTS, append

HEADER = record(step=0, used=0, log=0.0)  # log: L for the next step
ARM = record(
    pulls=0,
    count=0,
    low=float("inf"),
    high=float("-inf"),
    estimate=float("nan"),
    moment=0,  # the number of pulls after which the estimate was made
)
LARGE = 1e100  # beyond this, x^2 / 2 is all of 1 + x + x^2 / 2
FORCED = 4.0  # times L: the pulls of the forced phase
MOST = 3000  # halvings that bring any bracket of floats down to one


@kernel
def newton_step(arms: Table, memory: Table, arm: int, alpha: float, theta: float) -> float:
    """Return what Newton's method adds to theta."""
    total = 0.0
    slopes = 0.0
    up, down = 1.0, 1.0  # logarithms are slow: one for a product of many terms
    left = arms[arm]["count"]
    level = 0
    while left > 0:
        first = memory[arm * SEGMENTS + level]["segment"]
        here = min(left, 1 << level)
        for row in range(first, first + here):
            x = alpha * (memory[row]["reward"] - theta)
            size = abs(x)
            if size > LARGE:
                value = 2.0 * math.log(size) - math.log(2.0)
                total += value if x > 0.0 else -value
                slopes += 2.0 / size
            else:
                inside = 1.0 + size + 0.5 * size * size
                slopes += (1.0 + size) / inside
                up *= inside if x > 0.0 else 1.0
                down *= inside if x < 0.0 else 1.0
                if up > LARGE or down > LARGE:
                    total += math.log(up / down)
                    up, down = 1.0, 1.0
        left -= here
        level += 1
    total += math.log(up / down)
    return total / (alpha * slopes)


@kernel
def root(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> float:
    """Return Catoni's estimate at the current L; needs more than 2 L rewards."""
    count = arms[arm]["count"]
    log = header["log"]
    v = parameters.bound
    alpha = math.sqrt(2.0 * log / (count * (v + 2.0 * v * log / (count - 2.0 * log))))
    tolerance = 1e-7 * parameters.width * math.sqrt(log / count)
    low = arms[arm]["low"]
    high = arms[arm]["high"]
    theta = arms[arm]["estimate"]
    if not low <= theta <= high:
        theta = 0.5 * low + 0.5 * high
    for _ in range(MOST):
        change = newton_step(arms, memory, arm, alpha, theta)
        if change > 0.0:
            low = theta
        else:
            high = theta
        following = theta + change
        if abs(change) <= tolerance or following == theta:
            return following
        if not low < following < high:
            following = 0.5 * low + 0.5 * high
            if not low < following < high:
                return following
        theta = following
    return theta


@kernel
def refresh(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    """Bring the arm's estimate up to the current step, if it has one."""
    if header["log"] > 0.0 and arms[arm]["count"] >= FORCED * header["log"]:
        arms[arm]["estimate"] = root(parameters, header, arms, memory, arm)
        arms[arm]["moment"] = header["step"]


@kernel
def index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    least = FORCED * header["log"]
    if arms[arm]["count"] == 0 or arms[arm]["count"] < least:
        return math.inf if needs_pull(arms[arm]["pulls"], max(least, 1.0), header["step"]) else math.nan
    theta = arms[arm]["estimate"]
    if arms[arm]["moment"] != header["step"]:
        theta = root(parameters, header, arms, memory, arm)
    return theta + parameters.width * math.sqrt(header["log"] / arms[arm]["count"])


select = index_select(index)


propensity = index_propensity(index)


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    header["log"] = 2.0 * math.log(header["step"] + 1.0)
    arms[arm]["pulls"] += 1
    for other in range(len(arms)):
        if other != arm:  # the pulled arm's reward is to come: learn will refresh it
            refresh(parameters, header, arms, memory, other)


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    append(header, arms, memory, arm, reward)
    arms[arm]["low"] = min(arms[arm]["low"], reward)
    arms[arm]["high"] = max(arms[arm]["high"], reward)
    refresh(parameters, header, arms, memory, arm)


KERNELS = Kernels(select, pull, learn, estimate=known_estimate, propensity=propensity)
