"""Run a policy on a given table of rewards."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from brigand.errors import InvalidValueError
from brigand.policies.base import Policy, check_choices
from brigand.policies.given import policy_of
from brigand.rng import Stream, check_seed
from brigand.simulation.plan import check_sum
from brigand.simulation.step import trace_loop


def trace(policy: Policy, rewards: Any, *, seed: int | None = 0, compiled: bool = True) -> NDArray[np.int64]:
    """Return the arms that a policy pulls on a table of rewards.

    Parameters
    ----------
    policy : Policy
    rewards : array-like of shape (T, K)
        ``rewards[t, k]`` is what arm k pays at step t + 1. Finite.
    seed : int or None
        Seed of the policy's own choices (ties, posterior draws); None draws one.
    compiled : bool
        False runs the same kernels in plain Python, to read along with a debugger.

    Returns
    -------
    ndarray of int64, shape (T,)
        Arms, counted from 0.

    Raises
    ------
    InvalidValueError
        The table is no table, empty, or holds NaN or infinities.
    UnsupportedRewardError
        It holds rewards that the policy cannot work with.
    PolicyError
        The policy chose an arm that is not there.
    """
    policy = policy_of("policy", policy)
    table = _check_rewards(rewards)
    horizon, n_arms = table.shape
    for place in (int(table.argmin()), int(table.argmax())):
        t, k = divmod(place, n_arms)
        reward = float(table[t, k])
        policy.check_rewards(reward, reward, f"arm {k} at step {t + 1}")
    check_sum("the table", float(np.abs(table).max()), horizon)
    rng = Stream(check_seed(seed), policy).generator(0)
    parameters = policy.parameters(n_arms, horizon)
    state = policy.start(n_arms, horizon, int(rng.integers(2**63)))
    chosen = np.empty(horizon, np.int64)
    loop: Any = trace_loop(policy.kernels)
    run = loop if compiled else loop.py_func
    check_choices(policy, run(parameters, *state, np.arange(n_arms), table, rng, chosen))
    return chosen


def _check_rewards(rewards: Any) -> NDArray[np.float64]:
    try:
        table = np.array(rewards, dtype=float, order="C")
    except (TypeError, ValueError):
        raise InvalidValueError("rewards must be a table of numbers of shape (T, K).") from None
    if table.ndim != 2 or table.size == 0:
        raise InvalidValueError(
            f"rewards must be a table of shape (T, K), T and K at least 1, not of shape {table.shape}."
        )
    if not np.isfinite(table).all():
        t, k = np.argwhere(~np.isfinite(table))[0]
        raise InvalidValueError(f"rewards must be finite, but arm {k} pays {table[t, k]} at step {t + 1}.")
    return table
