"""Choices with fair ties, the leader, whose turn it is, and which arms must be pulled before others.

They rely on these fields: ``count``, ``mean`` (of rewards so far) and ``last`` (step of the last pull, 0 if
none) of an arm; ``step``, ``leader``, ``second`` of the header. Loops run over indices: iterating over an
array would add 15 ns to a step of FE, because Numba counts references to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from brigand.jit import kernel, kernel_beside
from brigand.policies.base import Header, Table


@kernel
def break_tie(chosen: int, arm: int, ties: int, uniform: float) -> tuple[int, float]:
    """Return which of two equals is chosen, and a number for the next tie, of `uniform` in [0, 1).

    `arm` is number `ties` of equals, of which `chosen` was chosen before: it takes the place with probability
    1 / ties. What is left of the number is uniform again.
    """
    uniform *= ties
    if uniform < 1.0:
        return arm, uniform
    return chosen, (uniform - 1.0) / (ties - 1.0)


@kernel
def argmax(
    index: Callable[..., float],
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    candidates: Any,
    rng: np.random.Generator,
) -> int:
    """Return the candidate with the largest ``index(parameters, header, arms, memory, arm, rng)``.

    Ties are broken uniformly, by one uniform number drawn at every call: to draw it only where there is a
    tie costs more, because Numba counts references to a generator that is used in a branch. An index of
    NaN is never the largest; if all are NaN, the choice is uniform.
    """
    uniform = rng.random()
    best = -np.inf
    chosen = candidates[0]
    ties = 0
    for i in range(len(candidates)):
        arm = candidates[i]
        value = index(parameters, header, arms, memory, arm, rng)
        if value > best:
            best = value
            chosen = arm
            ties = 1
        elif value == best:
            ties += 1
            chosen, uniform = break_tie(chosen, arm, ties, uniform)
    return chosen if ties > 0 else candidates[int(uniform * len(candidates))]


def index_select(index: Callable[..., float]) -> Callable[..., int]:
    """Return the kernel `select` that chooses the candidate with the largest index: see `argmax`.

    Parameters
    ----------
    index : callable
        A kernel called ``index``, or ``x_index``. Its module assigns what is returned to ``select``, or to
        ``select_x``.
    """

    @kernel_beside(index, "_".join(["select", *index.__name__.split("_")[:-1]]))
    def select(
        parameters: Any,
        header: Header,
        arms: Table,
        memory: Table,
        candidates: Any,
        rng: np.random.Generator,
    ) -> int:
        return argmax(index, parameters, header, arms, memory, candidates, rng)

    return select


@kernel
def is_only(arm: int, chosen: int) -> float:
    """Return the propensity of an arm where one is chosen for certain."""
    return 1.0 if arm == chosen else 0.0


@kernel
def argmax_propensity(
    index: Callable[..., float],
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    candidates: Any,
    arm: int,
) -> float:
    """Return the probability with which `argmax` chooses an arm, where the index draws nothing."""
    best, own = -np.inf, np.nan
    ties = 0
    for i in range(len(candidates)):
        value = index(parameters, header, arms, memory, candidates[i], None)
        if candidates[i] == arm:
            own = value
        if value > best:
            best = value
            ties = 1
        elif value == best:
            ties += 1
    if ties == 0:
        return 1.0 / len(candidates)
    return 1.0 / ties if own == best else 0.0


def index_propensity(index: Callable[..., float]) -> Callable[..., float]:
    """Return the kernel `propensity` of the `select` that `index_select` makes of an index.

    Parameters
    ----------
    index : callable
        A kernel that draws nothing, called ``index``, or ``x_index``. Its module assigns what is returned to
        ``propensity``, or to ``propensity_x``.
    """

    @kernel_beside(index, "_".join(["propensity", *index.__name__.split("_")[:-1]]))
    def propensity(
        parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, arm: int
    ) -> float:
        return argmax_propensity(index, parameters, header, arms, memory, candidates, arm)

    return propensity


@kernel
def least_recently_pulled(arms: Table, candidates: Any) -> int:
    """Return the candidate whose last pull is longest ago; of arms never pulled, the lowest index."""
    chosen = candidates[0]
    for i in range(len(candidates)):
        arm = candidates[i]
        if arms[arm]["last"] < arms[chosen]["last"]:
            chosen = arm
    return chosen


@kernel
def next_in_turn(arms: Table, candidates: Any, uniform: float) -> int:
    """As `least_recently_pulled`, but `uniform`, a number in [0, 1), chooses among arms never pulled."""
    untouched = 0
    for i in range(len(candidates)):
        untouched += arms[candidates[i]]["last"] == 0
    place = int(uniform * untouched)
    for i in range(len(candidates)):
        if arms[candidates[i]]["last"] == 0:
            if place == 0:
                return candidates[i]
            place -= 1
    return least_recently_pulled(arms, candidates)


@kernel
def turn_propensity(arms: Table, candidates: Any, arm: int) -> float:
    """Return the probability with which `next_in_turn` chooses an arm."""
    untouched = 0
    for i in range(len(candidates)):
        untouched += arms[candidates[i]]["last"] == 0
    if untouched == 0:
        return is_only(arm, least_recently_pulled(arms, candidates))
    return 1.0 / untouched if arms[arm]["last"] == 0 else 0.0


@kernel
def rank(header: Header, arms: Table) -> None:
    """Find the arm with the strictly largest mean (-1 if tied, or no mean is known), and the next mean."""
    best = -np.inf
    second = -np.inf
    leader = -1
    for arm in range(len(arms)):
        mean = arms[arm]["mean"]
        if mean > best:
            second = best
            best = mean
            leader = arm
        elif mean > second:
            second = mean
    header["leader"] = leader if best > second else -1
    header["second"] = second


@kernel
def mean_moved(header: Header, arms: Table, arm: int) -> None:
    """Keep the leader right after a change of one arm's mean: O(1) as long as the leader stays ahead.

    ``second`` may then be more than the next mean, which costs a needless `rank` later and changes nothing.
    """
    leader, mean = header["leader"], arms[arm]["mean"]
    if arm == leader and mean > header["second"]:
        return
    if arm != leader and leader >= 0 and mean < arms[leader]["mean"]:
        header["second"] = max(header["second"], mean)
        return
    rank(header, arms)


@kernel
def greedy(header: Header, arms: Table, candidates: Any, uniform: float) -> int:
    """Return the candidate with the largest mean; the least recently pulled one if no mean is known.

    Uses the leader kept by `mean_moved` where all arms are candidates. Ties are broken by `uniform`, a
    number in [0, 1) that the caller draws before any branch.
    """
    if header["leader"] >= 0 and len(candidates) == len(arms):
        return header["leader"]
    best = -np.inf
    ties = 0
    for i in range(len(candidates)):
        mean = arms[candidates[i]]["mean"]
        if mean > best:
            best = mean
            ties = 1
        elif mean == best:
            ties += 1
    if ties == 0:
        return least_recently_pulled(arms, candidates)
    place = int(uniform * ties)
    for i in range(len(candidates)):
        if arms[candidates[i]]["mean"] == best:
            if place == 0:
                return candidates[i]
            place -= 1
    return candidates[0]


@kernel
def greedy_propensity(header: Header, arms: Table, candidates: Any, arm: int) -> float:
    """Return the probability with which `greedy` chooses an arm."""
    if header["leader"] >= 0 and len(candidates) == len(arms):
        return is_only(arm, header["leader"])
    best = -np.inf
    ties = 0
    for i in range(len(candidates)):
        mean = arms[candidates[i]]["mean"]
        if mean > best:
            best = mean
            ties = 1
        elif mean == best:
            ties += 1
    if ties == 0:
        return is_only(arm, least_recently_pulled(arms, candidates))
    return 1.0 / ties if arms[arm]["mean"] == best else 0.0


@kernel
def needs_pull(pulls: int, least: float, step: int) -> bool:
    """Return whether an arm that has fewer than `least` rewards must be pulled at once, after `step` pulls.

    It must until 2 least + log(step + 1) of its pulls have told too little; then it waits, chosen last. So
    one lost reward does not end an arm, and an arm whose rewards never come does not hold up the others.
    """
    # Not math.log: LLVM computes it for every arm at every step.
    return pulls < 2.0 * least or pulls < 2.0 * least + math.log1p(step)
