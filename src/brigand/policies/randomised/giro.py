"""GIRO: the largest mean of a bootstrap of each arm's rewards, with ones and zeros mixed in.

Rule
----
Rewards lie in [0, 1]. An arm with s >= 1 rewards has a history of these and of m = a s zeros and m ones. (For
an a s that is no integer, m is at every step its floor or, with probability a s - floor(a s), its ceiling.)
Draw n = s + 2 m times from the history, with replacement, and pull the arm with the largest mean of the
draws. Every arm is pulled once first, in random order. Ties are broken uniformly.

a = 1 is safe by the theory; 1/3 and 0.1 do better in practice.

Source
------
Kveton, Szepesvari, Vaswani, Wen, Lattimore, Ghavamzadeh, "Garbage in, reward out: bootstrapping exploration
in multi-armed bandits", ICML 2019, Algorithm 1. For an a s that is no integer, as in
github.com/DataWraith/banditbench.

Deviations
----------
None in law: zeros and ones are counted and never drawn one by one. With c other rewards, z zeros and o ones,
pseudo-rewards included, the draw has

    B ~ Binomial(n, c / n) of the others, uniform ones, and Binomial(n - B, o / (o + z)) ones:

for {0, 1} rewards a single number, Binomial(n, o / n) / n.

Late rewards
------------
An arm that was pulled, and has no reward yet, is pulled before others until it has had 2 + log t pulls, then
after them (`kernels.choices.needs_pull`).

Cost
----
O(K) a step for {0, 1} rewards, otherwise O(number of all rewards so far that are neither 0 nor 1); memory
O(K + T).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.jit import kernel
from brigand.policies.base import BoundedPolicy, Header, Kernels, Table, record
from brigand.policies.kernels.arithmetic import unit_reward
from brigand.policies.kernels.choices import index_select, needs_pull
from brigand.policies.kernels.history import append, new_history, reward_at

HEADER = record(step=0, used=0)
# count: rewards in the history, those that are neither 0 nor 1
ARM = record(pulls=0, zeros=0, ones=0, count=0)
MOST = 1000.0  # so that n is a 64-bit integer for every horizon up to 2^52


class GIROParameters(NamedTuple):
    """The range of the rewards; the pairs of pseudo-rewards for each of them."""

    low: float
    width: float
    a: float


@kernel
def bootstrap_sum(
    memory: Table, arm: int, zeros: int, ones: int, others: int, rng: np.random.Generator
) -> float:
    """Return the sum of a bootstrap of `zeros` + `ones` + `others` rewards, the others in the history."""
    size = zeros + ones + others
    drawn = rng.binomial(size, others / size)
    # Without zeros and ones all draws are of the others, and the share is that of nothing.
    total = float(rng.binomial(size - drawn, ones / max(zeros + ones, 1)))
    for _ in range(drawn):
        total += reward_at(memory, arm, int(rng.random() * others))
    return total


@kernel
def index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    rounding = rng.random()
    zeros, ones, others = arms[arm]["zeros"], arms[arm]["ones"], arms[arm]["count"]
    rewards = zeros + ones + others
    if rewards == 0:
        return math.inf if needs_pull(arms[arm]["pulls"], 1.0, header["step"]) else math.nan
    pairs = math.floor(parameters.a * rewards + rounding)
    total = bootstrap_sum(memory, arm, zeros + pairs, ones + pairs, others, rng)
    return total / (rewards + 2 * pairs)


select = index_select(index)


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    arms[arm]["pulls"] += 1


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    unit = unit_reward(parameters, reward)
    if unit == 0.0:
        arms[arm]["zeros"] += 1
    elif unit == 1.0:
        arms[arm]["ones"] += 1
    else:
        append(header, arms, memory, arm, unit)


@dataclass(frozen=True)
class GIRO(BoundedPolicy):
    """Bootstrapping with pseudo-rewards ("garbage in, reward out") for bounded rewards.

    Parameters
    ----------
    a : float
        Pairs of pseudo-rewards, one 0 and one 1, for each reward, in (0, 1000].
    low, high : float
        The range of the rewards, by keyword; [0, 1] by default.

    Notes
    -----
    The horizon must be known, as room for the rewards.
    """

    a: float = 1.0

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn)
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "bounded"
    reference: ClassVar[str] = "kveton2019garbage"
    known_from: ClassVar[str] = "published"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keep(a=checks.number("GIRO's a", self.a, 0.0, MOST, above=0.0))

    @property
    def must_know(self) -> str:
        return f"{super().must_know}, T for the memory"

    @property
    def memory_cost(self) -> str:
        return "O(K + T)"

    def parameters(self, n_arms: int, horizon: int | None) -> GIROParameters:
        return GIROParameters(float(self.low), float(self.high - self.low), float(self.a))

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        return new_history("GIRO", n_arms, horizon)
