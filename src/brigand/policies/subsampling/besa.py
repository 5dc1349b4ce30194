"""BESA: best empirical sampled average, of histories sub-sampled to the same length.

Rule
----
Two arms a and b with N_a <= N_b rewards are compared so: draw N_a rewards of b without replacement. The arm
with the larger sum wins (a has its own N_a rewards, b the sub-sample). Ties go to the arm with fewer pulls,
then to either.

K arms are shuffled and play a knockout tournament, in which an arm without an opponent goes on; the winner is
pulled. Every arm is pulled `n0` times first, fewest pulls first, in random order. `n0=1` is the published
rule; 10 spares it most of its rare bad runs.

Source
------
Baransi, Maillard, Mannor, "Sub-sampling for multi-armed bandits", ECML PKDD 2014. **A reconstruction** in one
point: the tie rule is that of the package SMPyBandits. The code of Baudry, Kaufmann, Maillard (NeurIPS 2020)
tosses a coin.

Deviations
----------
None in law. If all rewards of the longer history are 0 or 1, the number of ones in the sub-sample is
hypergeometric and is drawn as such, without a look at the history.

Sums of rewards are kept with what rounding took from them (`kernels.arithmetic.two_sum`). They are compared
up to the rounding of the rewards themselves, if these are of one sign: 0.1 + 0.2 ties with 0.3.

Late rewards
------------
If some rewards of the initial pulls are late or lost, the arm is pulled on, up to 2 n0 + log(n + 1) times
after n pulls of all arms. Then it competes with what it has; an arm without any reward loses to any other.

Cost
----
O(K) comparisons a step, each O(n) for sub-samples of n rewards, or O(sqrt n) for rewards of 0 and 1; memory
O(T), and an array of 4 n numbers while a sub-sample is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.jit import kernel
from brigand.policies.base import Header, Kernels, Policy, Table, record
from brigand.policies.kernels.choices import argmax, needs_pull
from brigand.policies.kernels.exact_history import EXACT_ROW, remember
from brigand.policies.kernels.history import new_history
from brigand.policies.subsampling.samples import sampled_excess

HEADER = record(step=0, used=0)
# others: rewards that are neither 0 nor 1; level: the number of the history's last segment
ARM = record(pulls=0, count=0, sum=0.0, residue=0.0, others=0, level=-1)


class BESAParameters(NamedTuple):
    """The number of initial pulls of each arm."""

    n0: int


@kernel
def winner(arms: Table, memory: Table, a: int, b: int, uniform: float, coin: float) -> int:
    """Return the winner of two arms."""
    short, long = (a, b) if arms[a]["count"] <= arms[b]["count"] else (b, a)
    if arms[short]["count"] == 0 and arms[long]["count"] > 0:
        return long
    excess = sampled_excess(arms, memory, short, long, uniform)
    if excess != 0.0:
        return short if excess > 0.0 else long
    if arms[a]["pulls"] != arms[b]["pulls"]:
        return a if arms[a]["pulls"] < arms[b]["pulls"] else b
    return a if coin < 0.5 else b


@kernel
def tournament(arms: Table, memory: Table, candidates: Any, rng: np.random.Generator) -> int:
    """Return the winner of a knockout tournament between the candidates in random order."""
    entrants = candidates.copy()
    left = len(entrants)
    for i in range(left - 1, 0, -1):
        other = int(rng.random() * (i + 1))
        entrants[i], entrants[other] = entrants[other], entrants[i]
    while left > 1:
        for pair in range(left // 2):
            a, b = entrants[2 * pair], entrants[2 * pair + 1]
            entrants[pair] = winner(arms, memory, a, b, rng.random(), rng.random())
        if left % 2 == 1:
            entrants[left // 2] = entrants[left - 1]
        left = (left + 1) // 2
    return entrants[0]


@kernel
def rarity(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    due = arms[arm]["count"] < parameters.n0 and needs_pull(arms[arm]["pulls"], parameters.n0, header["step"])
    return (header["step"] + 1.0 if due else 0.0) - arms[arm]["pulls"]


@kernel
def select(
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    candidates: Any,
    rng: np.random.Generator,
) -> int:
    chosen = argmax(rarity, parameters, header, arms, memory, candidates, rng)
    if rarity(parameters, header, arms, memory, chosen, rng) > 0.0:
        return chosen
    return tournament(arms, memory, candidates, rng)


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    arms[arm]["pulls"] += 1


@dataclass(frozen=True)
class BESA(Policy):
    """BESA: a knockout tournament of sub-sampled histories; nothing to tune, nothing to know.

    Parameters
    ----------
    n0 : int
        Initial pulls of each arm.

    Notes
    -----
    With more than two arms it is clearly worse than `WRSDA`, which compares with the most pulled arm only.
    """

    n0: int = 1

    kernels: ClassVar[Kernels] = Kernels(select, pull, remember)
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "bounded"
    reference: ClassVar[str] = "baransi2014sub"
    known_from: ClassVar[str] = "reconstruction"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n0", checks.integer("BESA's n0", self.n0, 1, checks.MAX_STEPS))

    @property
    def must_know(self) -> str:
        return "nothing but T, for its memory"

    @property
    def memory_cost(self) -> str:
        return "O(T)"

    def parameters(self, n_arms: int, horizon: int | None) -> BESAParameters:
        return BESAParameters(self.n0)

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        return new_history("BESA", n_arms, horizon, EXACT_ROW)
