"""A user's own policy, as they would write it: the authors' UCB1, which is not the standard one."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import brigand as br


class AuthorsUCB1Parameters(NamedTuple):
    scale: float


def index(step: int, count: int, mean: float, scale: float) -> float:
    return mean + scale * math.sqrt(max(math.log(step - 1), 1.0) / count)


br.kernel(index)


def select(parameters, header, arms, memory, candidates, rng):
    best = candidates[0]
    for i in range(len(candidates)):
        arm = candidates[i]
        if arms[arm]["count"] == 0:
            return arm
    highest = -math.inf
    for i in range(len(candidates)):
        arm = candidates[i]
        value = index(header["step"], arms[arm]["count"], arms[arm]["mean"], parameters.scale)
        if value > highest:
            highest = value
            best = arm
    return best


def pull(parameters, header, arms, memory, arm):
    header["step"] += 1


def learn(parameters, header, arms, memory, arm, reward, step):
    arms[arm]["count"] += 1
    arms[arm]["sum"] += reward
    arms[arm]["mean"] = arms[arm]["sum"] / arms[arm]["count"]


@dataclass(frozen=True)
class AuthorsUCB1(br.Policy):
    scale: float = 1.0

    kernels = br.Kernels(select, pull, learn)
    header = br.record(step=0)
    arm = br.record(count=0, sum=0.0, mean=math.nan)
    assumption = "any"

    @property
    def must_know(self) -> str:
        return "nothing"

    def parameters(self, n_arms, horizon):
        return AuthorsUCB1Parameters(float(self.scale))
