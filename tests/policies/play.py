"""What the tests of single policies share: ways to run their kernels."""

import functools

import numpy as np

from brigand import jit
from brigand.testing import check_follows_index as assert_follows, play, told

__all__ = ["assert_follows", "of", "play", "told", "unsteady_loop"]


def of(history, arm):
    """Return the arm's rewards in a history."""
    return np.array([x for a, x in history if a == arm])


@functools.cache
def unsteady_loop(kernels):
    """Return a compiled loop in which arms come and go, as in a live bandit, and rewards are lost.

    ``available[i, k]`` says if arm k is there at step i, and ``told[n, k]`` if the reward of its pull number
    n, from 0, comes.
    """
    select, pull, learn, miss = (jit.kernel(function) for function in kernels)

    def unsteady(parameters, header, arms, memory, available, rewards, told, rng, chosen):
        pulls = np.zeros(len(arms), np.int64)
        for i in range(len(chosen)):
            arm = select(parameters, header, arms, memory, np.flatnonzero(available[i]), rng)
            for k in range(len(arms)):
                if not available[i, k]:
                    miss(parameters, header, arms, memory, k)
            pull(parameters, header, arms, memory, arm)
            if told[pulls[arm], arm]:
                learn(parameters, header, arms, memory, arm, rewards[i, arm], i + 1)
            pulls[arm] += 1
            chosen[i] = arm

    return jit.compile_loop(unsteady, *kernels)
