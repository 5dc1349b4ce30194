"""Checks of what only some policies claim."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from brigand.policies.base import Policy
from brigand.simulation.trace import trace
from brigand.testing.base import check, generator, require

History = list[tuple[int, float]]
"""Arms pulled, and the rewards that they paid."""


@check(None)
def check_follows_index(
    policy: Policy,
    rewards: NDArray[np.float64],
    index: Callable[[History, int], float],
    initial: int = 1,
    late: int = 1,
) -> None:
    """Check that every pull is of an arm with the largest index, computed from its definition.

    Parameters
    ----------
    policy : Policy
    rewards : ndarray of shape (T, K)
    index : callable
        ``index(history, arm)``, with the pairs (arm, reward) so far.
    initial : int
        So many pulls of each arm come first.
    late : int
        From step 60 on every `late`-th pull is looked at.
    """
    n_arms = rewards.shape[1]
    arms = trace(policy, rewards)
    first = n_arms * initial
    begun = np.bincount(arms[:first], minlength=n_arms).tolist()
    require(begun == [initial] * n_arms, f"the first {first} pulls are {begun} of the arms")
    history = [(int(arm), float(rewards[t, arm])) for t, arm in enumerate(arms)]
    for t in [*range(first, 60), *range(max(first, 60), len(arms), late)]:
        values = [index(history[:t], k) for k in range(n_arms)]
        require(
            values[arms[t]] >= max(values) * (1 - 1e-10),
            f"at step {t + 1} it pulls arm {arms[t]}, where the indices are {values}",
        )


@check(None)
def check_shift_and_scale(policy: Policy, shift: bool = True, scale: bool = True) -> None:
    """Check that shifting or scaling all rewards changes no choice.

    By powers of two, of rewards with few digits, so that nothing is rounded.

    Parameters
    ----------
    policy : Policy
        One that takes any reward.
    shift, scale : bool
        Which of the two is claimed.
    """
    rewards = np.rint(generator(2).normal([0, 1, 1, 2], 1, (400, 4)) * 64) / 64
    expected = trace(policy, rewards)
    for a, b in [(1.0, -8.0), (1.0, 64.0)] * shift + [(0.25, 0.0), (1024.0, 0.0)] * scale:
        arms = trace(policy, a * rewards + b)
        require((arms == expected).all(), f"it chooses otherwise where rewards x are {a:g} x + {b:g}")
