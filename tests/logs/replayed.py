"""Logs to replay, and a fixed rule."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import brigand as br

MEANS = np.array([0.2, 0.3, 0.4, 0.5, 0.7])


class AlwaysParameters(NamedTuple):
    arm: int


@br.kernel
def select_always(parameters, header, arms, memory, candidates, rng):
    return parameters.arm


@br.kernel
def pull_always(parameters, header, arms, memory, arm):
    header["step"] += 1


@br.kernel
def learn_nothing(parameters, header, arms, memory, arm, reward, step):
    arms[arm]["told"] += 1


@dataclass(frozen=True)
class Always(br.Policy):
    """A fixed rule: one arm."""

    chosen: int = 1

    kernels = br.Kernels(select_always, pull_always, learn_nothing)
    header = br.record(step=0)
    arm = br.record(told=0)
    assumption = "none"

    @property
    def must_know(self):
        return "the arm"

    def parameters(self, n_arms, horizon):
        return AlwaysParameters(self.chosen)


POLICIES = {
    "FE": br.ForcedExploration(br.Linear()),
    "UCB1": br.UCB1(),
    "TS": br.CATALOGUE["TS-Beta"],
    "Always": Always(),
}


def coins(seed, rows=2000, means=MEANS, probabilities=None):
    """Return a log of coins whose arms are drawn with fixed probabilities, by default evenly."""
    rng = np.random.default_rng(seed)
    k = len(means)
    p = np.full(k, 1 / k) if probabilities is None else np.asarray(probabilities)
    arm = rng.choice(k, rows, p=p).astype(np.int32)
    reward = (rng.random(rows) < np.asarray(means)[arm]).astype(float)
    return br.Log(arms=tuple("abcdefghij"[:k]), arm=arm, reward=reward, propensity=p[arm])


def earned(policy, steps, horizon, means=MEANS, replications=20_000):
    """Return the mean reward over the first 1, 2, ... `steps` steps on the true arms."""
    environment = br.Environment.stationary([br.Bernoulli(mean) for mean in means])
    t = np.arange(1, steps + 1)
    regret = np.zeros(steps)
    for first in range(0, replications, 4000):  # a few, because pulls at every step take much memory
        numbers = range(first, min(first + 4000, replications))
        found = br.simulate(environment, {"it": policy}, horizon, numbers, seed=1, checkpoints=t)
        regret += found.dataset["regret"].sel(policy="it", step=t).sum("replication").to_numpy()
    return max(means) - regret / replications / t
