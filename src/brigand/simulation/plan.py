"""What is to be run, validated before anything runs."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brigand import checks
from brigand.environments.world import World
from brigand.errors import InvalidValueError
from brigand.policies.base import Policy
from brigand.policies.given import policies_of
from brigand.rng import check_seed
from brigand.simulation.conditions import Conditions

CHECKPOINTS_PER_DECADE = 24
LARGEST_SUM = 1e298
"""What rewards may add up to: policies weigh such sums by up to 1e9 (D-UCB), or multiply them by 2^27."""


MOST_REPLICATIONS = 10**7
"""In one call: as many as their numbers and results fit into some gigabytes."""


@dataclass(frozen=True)
class Plan:
    """One environment, several policies, and how often and how long they run.

    Attributes
    ----------
    environment : World
    policies : dict of str to Policy
        In the order given.
    horizon : int
        T.
    replications : tuple of int
        The numbers of the replications; each has its own streams.
    seed : int
    checkpoints : int64 array
        The steps at which pulls are recorded, increasing; the last is T.
    conditions : Conditions
        When rewards come, and which arms are there.
    """

    environment: World
    policies: dict[str, Policy]
    horizon: int
    replications: tuple[int, ...]
    seed: int
    checkpoints: NDArray[np.int64]
    conditions: Conditions = Conditions()


class Runs(NamedTuple):
    """What n replications of one policy gave.

    Attributes
    ----------
    regret : float64 array of shape (n, checkpoints)
    pulls : int64 array of shape (n, checkpoints, K)
    forced : int64 array of shape (n, K), or None
        Forced pulls at T, if the policy counts them.
    realized : float64 array of shape (n, checkpoints), or None
        Realized regret: what the best arm of each step pays in the mean, less the rewards that were earned.
        None if runs were skipped: rewards that decide nothing are not drawn there.
    """

    regret: NDArray[np.float64]
    pulls: NDArray[np.int64]
    forced: NDArray[np.int64] | None
    realized: NDArray[np.float64] | None = None


def make_plan(
    environment: World,
    policies: Mapping[str, Policy],
    horizon: int,
    replications: int | Iterable[int],
    seed: int | None,
    checkpoints: Sequence[int] | None,
    conditions: Conditions | None = None,
) -> Plan:
    """Validate the arguments of `simulate` and return the plan.

    Raises
    ------
    InvalidValueError
        Something is not allowed; the message names it.
    UnsupportedRewardError
        A policy cannot work with the environment's rewards.
    """
    if not isinstance(environment, World):
        raise InvalidValueError(f"environment must be an Environment, or another world, not {environment!r}.")
    horizon = checks.steps("horizon", horizon)
    check_sum("the environment", environment.largest(horizon), horizon)
    checked = _check_policies(policies, environment, horizon)
    conditions = Conditions() if conditions is None else conditions
    conditions.check(environment, horizon)
    for name, policy in checked.items():
        conditions.check_policy(name, policy)
    return Plan(
        environment,
        checked,
        horizon,
        _check_replications(replications),
        check_seed(seed),
        default_checkpoints(horizon) if checkpoints is None else _check_checkpoints(checkpoints, horizon),
        conditions,
    )


def default_checkpoints(horizon: int) -> NDArray[np.int64]:
    """Return log-spaced steps from 1 to `horizon`, both included."""
    count = int(CHECKPOINTS_PER_DECADE * np.log10(horizon)) + 2
    steps = np.unique(np.rint(np.geomspace(1, horizon, count)).astype(np.int64))
    steps[-1] = horizon
    return steps


def check_workers(workers: int | None) -> int:
    """Return the number of threads; None means as many as this process may use."""
    if workers is not None:
        return checks.integer("workers", workers, 1)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_sum(source: str, reward: float, horizon: int) -> None:
    """Refuse rewards of up to `reward` whose sum over the horizon is beyond `LARGEST_SUM`."""
    if not reward * horizon < LARGEST_SUM:
        raise InvalidValueError(
            f"{source} may pay rewards of {reward:g}; over {horizon} steps their sum may exceed "
            f"{LARGEST_SUM:g}, more than policies can compute with. Divide the rewards by a constant."
        )


def _check_policies(policies: Mapping[str, Policy], environment: World, horizon: int) -> dict[str, Policy]:
    checked = policies_of(policies)
    supports = environment.arm_supports(horizon)
    for policy in checked.values():
        for arm, low, high in supports:
            policy.check_rewards(low, high, arm)
    return checked


def _check_replications(replications: int | Iterable[int]) -> tuple[int, ...]:
    if isinstance(replications, np.ndarray) and replications.ndim == 0:
        replications = replications.item()
    if not isinstance(replications, Iterable):
        return tuple(range(checks.integer("replications", replications, 1, MOST_REPLICATIONS)))
    most = MOST_REPLICATIONS
    if isinstance(replications, range) and replications[most:]:
        raise InvalidValueError(f"there may be {most:,} replications, not all of {replications}.")
    some = itertools.islice(replications, most + 1)  # an iterator may have no end
    numbers = tuple(checks.integer("a replication's number", i, 0, checks.MAX_STEPS) for i in some)
    if len(numbers) > most:
        raise InvalidValueError(f"there may be {most:,} replications, but more are given.")
    if not numbers:
        raise InvalidValueError("at least one replication is needed.")
    if len(set(numbers)) < len(numbers):
        raise InvalidValueError("replications must be distinct: a repeated one has the same numbers.")
    return numbers


def _check_checkpoints(checkpoints: Sequence[int], horizon: int) -> NDArray[np.int64]:
    if not isinstance(checkpoints, Iterable):
        raise InvalidValueError(f"checkpoints must be a list of steps, not {checkpoints!r}.")
    steps = {checks.integer("a checkpoint", step, 1, horizon) for step in checkpoints}
    return np.array(sorted(steps | {horizon}), np.int64)
