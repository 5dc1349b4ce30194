"""What a world pays, step by step, by its definition: what loops are compared with."""

import functools
import math

import numpy as np

import brigand as br
from brigand.environments.functions import paying
from brigand.rng import Stream


class Paid:
    """The rewards of one run: call it once for each step, in turn, with the arm that is pulled.

    Attributes
    ----------
    means, rewards : list of float
        Of the pulls so far.
    best : list of float
        The largest mean of each step so far among arms that are there, where means go by steps.
    """

    def __init__(self, world, seed, replication, steps):
        self._world = world
        self._table = None if isinstance(world, br.Environment) else world.means.table(steps)
        self._rng = Stream(seed, world).generator(replication)
        self._noises = world.drawn.phases[0] if hasattr(world, "drawn") else sum(world.phases, ())
        self._common = self._rng.standard_normal() if getattr(world, "shared", None) else 0.0
        self._pulls = [0] * world.n_arms
        self.means, self.rewards, self.best = [], [], []

    def __call__(self, arm, there=None):
        world, step = self._world, len(self.means) + 1
        kinds = [isinstance(noise, (br.Gaussian, br.ClippedGaussian)) for noise in self._noises]
        both = any(isinstance(noise, br.FunctionReward) for noise in self._noises)
        uniform = self._rng.random() if not all(kinds) else 0.0
        normal = self._rng.standard_normal() if any(kinds) or both else 0.0
        if isinstance(world, br.Environment):
            phase = sum(step >= start for start in world.breakpoints)
            row, reward = world.means[phase], drawn(world.phases[phase][arm], uniform, normal)
        else:
            row = self._table[self._pulls[arm] if isinstance(world, br.Rested) else step - 1]
            noise = world.noise[arm] if isinstance(world.noise, tuple) else world.noise
            reward = reward_about(noise, row[arm], uniform, normal)
        if getattr(world, "shared", None):
            loads, rho = np.broadcast_to(world.shared.loads, world.n_arms), world.shared.persistence
            reward += loads[arm] * self._common
            self._common = rho * self._common + math.sqrt(1 - rho**2) * self._rng.standard_normal()
        self._pulls[arm] += 1
        self.means.append(float(row[arm]))
        self.rewards.append(reward)
        self.best.append(max(row if there is None else row[there]))
        return reward


@functools.cache
def alone(law):
    """Return how a distribution pays, as an environment of one arm is drawn from."""
    environment = br.Environment.stationary([law])
    return paying(environment.functions), environment.compiled.laws[0, 0], environment.compiled.table


def drawn(law, uniform, normal):
    """Return what a distribution pays."""
    pay, *given = alone(law)
    return pay(*given, uniform, normal)


def reward_about(noise, mean, uniform, normal):
    """Return a reward about a mean."""
    if noise == "bernoulli":
        return float(uniform < mean)
    if noise == "exponential":
        return mean * -math.log1p(-uniform)
    if noise is None:
        return float(mean)
    return mean + drawn(noise, uniform, normal) - noise.mean
