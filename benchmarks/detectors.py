"""False alarms and delays of the policies that look for changes: the tables of docs/detectors.md.

Run as ``python benchmarks/detectors.py``; ``--runs`` sets how many runs there are of each problem. One arm is
pulled at every step, so that a detector sees T rewards of one law, or of two.
"""

import argparse

import numpy as np

import brigand as br
from brigand import jit

LEVEL = 0.05
DEFAULT = {
    "CUSUM-UCB": br.CUSUMUCB(changes=1),
    "PHT-UCB": br.PHTUCB(changes=1),
    "M-UCB, w = 200": br.MUCB(200, changes=1),
    "M-UCB, w = 800": br.MUCB(800, changes=1),
    "GLR-klUCB": br.GLRKLUCB(),
    "AdSwitch": br.AdSwitch(),
    "FE-Restart, as with two arms": br.RestartingForcedExploration(alpha=0.05),
}
BOUNDED = {
    "CUSUM-UCB, M = 50": br.CUSUMUCB(changes=1, false_alarms=LEVEL),
    "CUSUM-UCB, M = 200": br.CUSUMUCB(M=200, changes=1, false_alarms=LEVEL),
    "PHT-UCB, eps = 0.05": br.PHTUCB(changes=1, false_alarms=LEVEL),
    "PHT-UCB, eps = 0.15": br.PHTUCB(eps=0.15, changes=1, false_alarms=LEVEL),
    "M-UCB, w = 200": br.MUCB(200, changes=1, false_alarms=LEVEL),
    "M-UCB, w = 800": br.MUCB(800, changes=1, false_alarms=LEVEL),
    "GLR-klUCB": br.GLRKLUCB(false_alarms=LEVEL),
}
LAWS = {
    "0.2": lambda rng, shape: (rng.random(shape) < 0.2).astype(float),
    "0.5": lambda rng, shape: (rng.random(shape) < 0.5).astype(float),
    "uniform": lambda rng, shape: rng.random(shape),
    "Gaussian": lambda rng, shape: np.clip(rng.normal(0.5, 0.25, shape), 0.0, 1.0),
}
"""Bernoulli rewards of mean 0.2 and 0.5, uniform ones, and Gaussian ones clipped to [0, 1]."""


@jit.kernel
def in_arm(header, arms):
    return arms[0]["restarts"]


@jit.kernel
def in_header(header, arms):
    return header["restarts"]


@jit.kernel
def in_episode(header, arms):
    return header["episode"] - 1


def watcher(policy):
    """Return a compiled loop that writes how many alarms there have been after each reward of one arm."""
    pull, learn = jit.kernel(policy.kernels.pull), jit.kernel(policy.kernels.learn)
    restarts = in_header if "restarts" in policy.header.dtype.names else in_episode
    count = in_arm if "restarts" in policy.arm.dtype.names else restarts

    def watch(parameters, header, arms, memory, rewards, alarms):
        for i in range(len(rewards)):
            pull(parameters, header[0], arms, memory, 0)
            learn(parameters, header[0], arms, memory, 0, rewards[i], i + 1)
            alarms[i] = count(header[0], arms)

    return jit.compile_loop(watch, pull, learn)


def alarms(policy, rewards):
    """Return the number of alarms up to each step, for rewards of shape (runs, T)."""
    loop, found = watcher(policy), np.zeros(rewards.shape, np.int64)
    parameters = policy.parameters(1, rewards.shape[1])
    for run, row in enumerate(rewards):
        state = policy.start(1, rewards.shape[1], key=run)
        loop(parameters, np.array([state.header]), state.arms, state.memory, row, found[run])
    return found


def false_alarms(policy, law, horizon, within, runs, seed=0):
    """Return the share of runs with an alarm among the first rewards of an arm that does not change."""
    rewards = LAWS[law](np.random.default_rng(seed), (runs, horizon))
    return float((alarms(policy, rewards)[:, within - 1] > 0).mean())


def delays(policy, before, after, runs, change=1000, horizon=10_000, seed=1):
    """Return how many rewards after a change the next alarm came in each run; inf if it never did."""
    means = np.where(np.arange(horizon) < change, before, after)
    rewards = (np.random.default_rng(seed).random((runs, horizon)) < means).astype(float)
    found = alarms(policy, rewards)
    later = found[:, change:] > found[:, [change - 1]]
    return np.where(later.any(axis=1), later.argmax(axis=1) + 1.0, np.inf)


def row(name, policy, runs):
    """Return one line of the tables."""
    shares = [
        false_alarms(policy, *problem, runs)
        for problem in (
            ("0.2", 2000, 1000),
            ("0.5", 2000, 2000),
            ("0.5", 10_000, 10_000),
            ("uniform", 10_000, 10_000),
            ("Gaussian", 10_000, 10_000),
        )
    ]
    found = []
    for before, after in ((0.3, 0.7), (0.7, 0.3), (0.5, 0.7), (0.7, 0.5)):
        median = np.median(delays(policy, before, after, runs))
        found.append("never" if np.isinf(median) else f"{median:.0f}")
    return [name, *(f"{share:.3f}" for share in shares), *found]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    heads = ["", "0.2, 1,000 of 2,000", "0.5, 2,000", "0.5, 10,000", "uniform, 10,000", "Gaussian, 10,000"]
    heads += ["0.3 to 0.7", "0.7 to 0.3", "0.5 to 0.7", "0.7 to 0.5"]
    for policies in (DEFAULT, BOUNDED):
        print("| " + " | ".join(heads) + " |")
        print("| --- " + "| ---: " * (len(heads) - 1) + "|")
        for name, policy in policies.items():
            print("| " + " | ".join(row(name, policy, runs)) + " |", flush=True)
        print()


if __name__ == "__main__":
    main()
