"""A check of arms that are not available: from the beginning, from some step on, or for a while."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brigand.policies.base import Policy
from brigand.testing.base import PLAIN, check, fit, generator, knowing, require, require_known

STEPS = 1500
ABSENT_MEANS = (0.2, 0.4, 0.8, 0.9, 0.95)
GONE, BACK = 300, 400
"""After so many steps arm 3 is gone for ever, and arm 2 until it is back."""


@check(PLAIN)
def check_absent_arms(policy: Policy, *, best_pulls: int = 500) -> None:
    """Check that arms may be unavailable for ever, from some step on, or for a while.

    Of 5 arms with means 0.2, 0.4, 0.8, 0.9 and 0.95 the last one is never a candidate, arm 3 is one for 300
    of 1500 steps, and arm 2 is away in steps 301 to 400. As in a live bandit, the kernel `miss` is called for
    those that are none. Then candidates are chosen and nothing becomes NaN; and arm 2, the best of those that
    are left, is found again.

    Rewards are 0 or 1, in the range of `fit`. Those of arm 2 are 1 in the first 20 steps: an arm that begins
    with 0 is given up by some policies.

    Parameters
    ----------
    policy : Policy
    best_pulls : int
        Arm 2 must have at least so many of the last 1100 pulls. Of those of chance it has 367, and of turns
        400: that is, less than 500 is for policies that explore at random, or in turn, for ever.
    """
    policy = knowing(policy, ABSENT_MEANS)
    rewards = fit(policy, absent_rewards())
    parameters = policy.parameters(5, STEPS)
    state, fresh = (policy.start(5, STEPS, 3) for _ in range(2))
    rng = generator(0)
    pulls = 0
    for step in range(1, STEPS + 1):
        candidates, absent = candidates_at(step)
        arm = int(policy.kernels.select(parameters, *state, np.array(candidates), rng))
        require(arm in candidates, f"select chose arm {arm} at step {step}, where {candidates} may be chosen")
        for other in absent:
            policy.kernels.miss(parameters, *state, other)
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, float(rewards[step - 1, arm]), step)
        pulls += step > BACK and arm == 2
        if step % 50 == 0:
            require_known(state, fresh)
    require(
        pulls >= best_pulls,
        f"the best arm that is left was pulled {pulls} times of {STEPS - BACK}; at least {best_pulls} "
        "are wanted: does it wait for arms that are gone, or compare with them "
        "(brigand.policies.kernels.availability)?",
    )


def candidates_at(step: int) -> tuple[list[int], list[int]]:
    """Return the candidates of a step, and the arms that are none."""
    absent = [2] * (GONE < step <= BACK) + [3] * (step > GONE) + [4]
    return [arm for arm in range(5) if arm not in absent], absent


def absent_rewards() -> NDArray[np.float64]:
    """Return the rewards of the check, in [0, 1]."""
    rewards = (generator(7).random((STEPS, 5)) < ABSENT_MEANS).astype(float)
    rewards[:20, 2] = 1.0
    return rewards
