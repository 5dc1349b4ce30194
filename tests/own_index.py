"""A user's two policies in one module, each with an index, and with `select` made from it."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import brigand as br
from brigand.policies.kernels import index_select


class OwnIndexParameters(NamedTuple):
    factor: float


@br.kernel
def low_index(parameters, header, arms, memory, arm, rng):
    return -parameters.factor * arm


@br.kernel
def high_index(parameters, header, arms, memory, arm, rng):
    return parameters.factor * arm


select_low = index_select(low_index)
select_high = index_select(high_index)


@br.kernel
def pull(parameters, header, arms, memory, arm):
    header["step"] += 1


@br.kernel
def learn(parameters, header, arms, memory, arm, reward, step):
    arms[arm]["count"] += 1


@dataclass(frozen=True)
class Lowest(br.Policy):
    """Pulls the first candidate."""

    kernels: ClassVar = br.Kernels(select_low, pull, learn)
    header: ClassVar = br.record(step=0)
    arm: ClassVar = br.record(count=0)
    assumption: ClassVar = "any"

    @property
    def must_know(self):
        return "nothing"

    def parameters(self, n_arms, horizon):
        return OwnIndexParameters(1.0)


@dataclass(frozen=True)
class Highest(Lowest):
    """Pulls the last candidate."""

    kernels: ClassVar = br.Kernels(select_high, pull, learn)
