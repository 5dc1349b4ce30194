"""What the tests of single policies share: ways to run their kernels."""

import functools

import numpy as np

import brigand as br
from brigand import jit
from brigand.environments.draw import draw
from brigand.testing import check_follows_index as assert_follows, play, told
from strength import full

__all__ = ["assert_follows", "of", "play", "regret", "told"]


def of(history, arm):
    """Return the arm's rewards in a history."""
    return np.array([x for a, x in history if a == arm])


def regret(environment, policy, horizon, n, steps=(), seed=0):
    """Return the regret of n runs at some steps and at the end, shape (n, steps + 1).

    With --full by the simulator. Else rewards are drawn before they are played: the law is the same, and the
    loop that plays them is compiled for other tests anyway.
    """
    if full:
        data = br.simulate(environment, {"x": policy}, horizon, n, seed, checkpoints=list(steps)).dataset
        return data["regret"].sel(policy="x", step=[*steps, horizon]).to_numpy()
    informed, (laws, table, starts, *_) = policy.informed(environment), environment.compiled
    phase = np.searchsorted(starts, np.arange(horizon), side="right") - 1
    found = np.empty((n, len(steps) + 1))
    for run in range(n):
        rng = np.random.default_rng([seed, run])
        uniforms, normals = rng.random(horizon), rng.standard_normal(horizon)
        rewards = np.empty((horizon, environment.n_arms))
        rewards_loop()(laws, table, phase, uniforms, normals, rewards)
        chosen = br.trace(informed, rewards, seed=10_000 * seed + run)
        found[run] = environment.gaps[phase, chosen].cumsum()[np.array([*steps, horizon]) - 1]
    return found


@functools.cache
def rewards_loop():
    """Return a compiled loop that draws a table of rewards, as the simulator does."""

    def fill(laws, table, phase, uniforms, normals, rewards):
        for i in range(rewards.shape[0]):
            for k in range(rewards.shape[1]):
                rewards[i, k] = draw(laws[phase[i], k], table, uniforms[i], normals[i])

    return jit.compile_loop(fill, draw)
