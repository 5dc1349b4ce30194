"""What the tests of single policies share: ways to run their kernels."""

import numpy as np

import brigand as br
from brigand.simulation.step import trace_loop


def play(policy, rewards, key=0, seed=0, horizon=None, compiled=False):
    """Run a policy on a table of rewards; return the list of arms pulled and the state at the end."""
    steps, n_arms = rewards.shape
    horizon = horizon or steps
    parameters, state = policy.parameters(n_arms, horizon), policy.start(n_arms, horizon, key)
    loop = trace_loop(policy.kernels)
    run = loop if compiled else loop.py_func
    chosen = np.empty(steps, np.int64)
    run(parameters, *state, np.arange(n_arms), rewards, np.random.default_rng(seed), chosen)
    return chosen.tolist(), state


def told(policy, rewards, n_arms=2, horizon=1000, key=0):
    """Return the parameters, and the state after these rewards of arm 0."""
    parameters, state = policy.parameters(n_arms, horizon), policy.start(n_arms, horizon, key)
    for step, reward in enumerate(rewards, start=1):
        policy.kernels.pull(parameters, *state, 0)
        policy.kernels.learn(parameters, *state, 0, reward, step)
    return parameters, state


def assert_follows(policy, rewards, index, initial=1, late=1):
    """Every pull is of an arm with the largest index, ``index(history, arm)``; history: (arm, reward) so far.

    First come `initial` pulls of each arm. From step 60 on every `late`-th is looked at.
    """
    n_arms = rewards.shape[1]
    arms = br.trace(policy, rewards)
    first = n_arms * initial
    assert np.bincount(arms[:first], minlength=n_arms).tolist() == [initial] * n_arms
    history = [(int(arm), rewards[t, arm]) for t, arm in enumerate(arms)]
    for t in [*range(first, 60), *range(max(first, 60), len(arms), late)]:
        values = [index(history[:t], k) for k in range(n_arms)]
        assert values[arms[t]] >= max(values) * (1 - 1e-10), t


def of(history, arm):
    """Return the arm's rewards in a history."""
    return np.array([x for a, x in history if a == arm])
