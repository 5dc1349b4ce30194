"""Robust UCB: upper confidence bounds of robust means, for rewards with heavy tails.

Rule
----
With L = 2 log t at step t, and n rewards X_1, ..., X_n of the arm, pull the arm with the largest index

    truncated   1/n sum X_j 1{|X_j| <= (u j / L)^(1/(1+eps))} + 4 u^(1/(1+eps)) (L / n)^(eps/(1+eps))
    median      the median of k block means + (12 v)^(1/(1+eps)) (16 (L + 1/8) / n)^(eps/(1+eps))
    catoni      Catoni's estimate + 2 sqrt(v L / n), eps = 1: see `brigand.policies.heavy_tails.catoni`

where u >= E |X|^(1+eps) is a raw moment, v >= E |X - mean|^(1+eps) a central one, and 0 < eps <= 1. The k =
max(1, floor(min(8 (L + 1/8), n / 2))) blocks have floor(n / k) rewards each, and the rest is left out. The
median of an even number of means is the middle of the two middle ones.

An arm with fewer than n0 rewards comes first: n0 is one for the truncated mean, two for the median, and 8 log
t for Catoni's estimate. Ties are broken uniformly.

Source
------
Bubeck, Cesa-Bianchi, Lugosi, "Bandits with heavy tail", IEEE Transactions on Information Theory 59, 2013. **A
reconstruction**: the constants are those of two independent implementations, not read in the paper.

Deviations
----------
None known.

Late rewards
------------
The j and the blocks follow the order in which rewards arrive. An arm with fewer than n0 rewards is pulled
before others until it has had 2 n0 + log t pulls, then after them (`kernels.choices.needs_pull`).

Cost
----
O(K) a step, but for the following; memory O(K + T). Catoni's estimate costs more.

Truncated: L grows, so a reward once truncated stays so. Each arm knows the L at which the next of its rewards
goes, and sums anew only then, O(n). That happens at most once for each truncated reward, and on average there
are at most 2 log T log n of them. Nothing is subtracted, since 1e300 would leave its rounding behind.

Median: the means are kept until k or the block length changes, about once in k pulls. They then cost O(k)
from prefix sums, which are kept with what rounding took from them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.errors import InvalidValueError
from brigand.jit import kernel
from brigand.policies.base import Estimated, Header, Kernels, Policy, Table, record
from brigand.policies.heavy_tails import catoni
from brigand.policies.heavy_tails.median_of_means import refresh_median, set_blocks
from brigand.policies.kernels.arithmetic import quotient, two_sum
from brigand.policies.kernels.choices import index_propensity, index_select, needs_pull
from brigand.policies.kernels.estimates import ROBUST, known_estimate
from brigand.policies.kernels.exact_history import EXACT_ROW, append_exactly
from brigand.policies.kernels.history import ROW, append, new_history, reward_at

# log: L for the next step (L + 1/8 for the median); power: that of it in the width; expiry: the least of all
TRUNCATED_HEADER = record(step=0, used=0, log=0.0, power=0.0, expiry=float("inf"))
MEDIAN_HEADER = record(step=0, used=0, log=0.0, power=0.0, blocks=1)
# shrink: n^(-eps/(1+eps)); expiry: the L beyond which the next reward is truncated
TRUNCATED_ARM = record(
    pulls=0, count=0, sum=0.0, residue=0.0, estimate=float("nan"), shrink=0.0, expiry=float("inf")
)
MEDIAN_ARM = record(pulls=0, count=0, estimate=float("nan"), shrink=0.0, blocks=0, length=0)
FAR = 1e100


class RobustUCBParameters(NamedTuple):
    """u or v; its root u^(1/(1+eps)); 1 + eps; eps / (1+eps); the factor of the width; the first pulls."""

    bound: float
    scale: float
    order: float
    exponent: float
    width: float
    initial: int


@kernel
def power(base: float, exponent: float) -> float:
    """Return a power; by a root where it is one, as for eps = 1."""
    return math.sqrt(base) if exponent == 0.5 else math.pow(base, exponent)


@kernel
def index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    if arms[arm]["count"] < parameters.initial:
        return math.inf if needs_pull(arms[arm]["pulls"], parameters.initial, header["step"]) else math.nan
    return arms[arm]["estimate"] + parameters.width * header["power"] * arms[arm]["shrink"]


select = index_select(index)


propensity = index_propensity(index)


@kernel
def lifetime(parameters: Any, reward: float, place: int) -> float:
    """Return the largest L at which the arm's reward number `place`, from 1, is not truncated."""
    size = abs(reward) / parameters.scale
    if size > FAR:
        return 0.0
    if size < 1.0 / FAR:
        return math.inf
    return place / (size * size if parameters.order == 2.0 else math.pow(size, parameters.order))


@kernel
def add_up(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    """Sum the arm's rewards that are within the present thresholds."""
    arms[arm]["sum"], arms[arm]["residue"] = 0.0, 0.0
    arms[arm]["expiry"] = math.inf
    for place in range(arms[arm]["count"]):
        add(parameters, header, arms, arm, reward_at(memory, arm, place), place + 1)
    arms[arm]["estimate"] = quotient(arms[arm]["sum"], arms[arm]["residue"], arms[arm]["count"])


@kernel
def add(parameters: Any, header: Header, arms: Table, arm: int, reward: float, place: int) -> None:
    """Add a reward to the arm's sum, unless it is truncated."""
    expiry = lifetime(parameters, reward, place)
    if expiry >= header["log"]:
        total, lost = two_sum(arms[arm]["sum"], reward)
        arms[arm]["sum"] = total
        arms[arm]["residue"] += lost
        arms[arm]["expiry"] = min(arms[arm]["expiry"], expiry)


@kernel
def pull_truncated(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    header["log"] = 2.0 * math.log(header["step"] + 1.0)
    header["power"] = power(header["log"], parameters.exponent)
    arms[arm]["pulls"] += 1
    if header["log"] > header["expiry"]:
        expiry = math.inf
        for other in range(len(arms)):
            if header["log"] > arms[other]["expiry"]:
                add_up(parameters, header, arms, memory, other)
            expiry = min(expiry, arms[other]["expiry"])
        header["expiry"] = expiry


@kernel
def learn_truncated(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    append(header, arms, memory, arm, reward)
    count = arms[arm]["count"]
    add(parameters, header, arms, arm, reward, count)
    header["expiry"] = min(header["expiry"], arms[arm]["expiry"])
    arms[arm]["estimate"] = quotient(arms[arm]["sum"], arms[arm]["residue"], count)
    arms[arm]["shrink"] = 1.0 / power(count, parameters.exponent)


@kernel
def pull_median(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    header["log"] = 2.0 * math.log(header["step"] + 1.0) + 0.125
    header["power"] = power(header["log"], parameters.exponent)
    arms[arm]["pulls"] += 1
    set_blocks(header, arms, memory)


@kernel
def learn_median(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    append_exactly(header, arms, memory, arm, reward)
    refresh_median(header, arms, memory, arm)
    arms[arm]["shrink"] = 1.0 / power(arms[arm]["count"], parameters.exponent)


ESTIMATORS = {
    "truncated": (
        Kernels(select, pull_truncated, learn_truncated, estimate=known_estimate, propensity=propensity),
        TRUNCATED_HEADER,
        TRUNCATED_ARM,
    ),
    "median": (
        Kernels(select, pull_median, learn_median, estimate=known_estimate, propensity=propensity),
        MEDIAN_HEADER,
        MEDIAN_ARM,
    ),
    "catoni": (catoni.KERNELS, catoni.HEADER, catoni.ARM),
}


@dataclass(frozen=True)
class RobustUCB(Policy):
    """Robust UCB for rewards with a finite moment of order 1 + eps.

    Parameters
    ----------
    estimator : {"truncated", "median", "catoni"}
        The robust mean.
    eps : float
        In (0, 1]; 1 for "catoni".
    u : float, optional
        For "truncated": at least E |X|^(1+eps) of every arm.
    v : float, optional
        For "median" and "catoni": at least E |X - mean|^(1+eps) of every arm.
    """

    estimator: str = "truncated"
    eps: float = 1.0
    u: float | None = None
    v: float | None = None

    kernels: ClassVar[Kernels] = ESTIMATORS["truncated"][0]
    header: ClassVar[Table] = TRUNCATED_HEADER
    arm: ClassVar[Table] = TRUNCATED_ARM
    assumption: ClassVar[str] = "finite moment of order 1 + eps"
    reference: ClassVar[str] = "bubeck2013bandits"
    known_from: ClassVar[str] = "reconstruction"

    def __post_init__(self) -> None:
        if not isinstance(self.estimator, str) or self.estimator not in ESTIMATORS:
            raise InvalidValueError(
                f"RobustUCB's estimator must be 'truncated', 'median' or 'catoni', not {self.estimator!r}."
            )
        self._keep(eps=checks.number("RobustUCB's eps", self.eps, 0.0, 1.0, above=0.0))
        if self.estimator == "catoni" and self.eps != 1.0:
            raise InvalidValueError(f"RobustUCB's estimator 'catoni' needs eps = 1, not {self.eps!r}.")
        letter = "u" if self.estimator == "truncated" else "v"
        needed, other = (self.u, self.v) if letter == "u" else (self.v, self.u)
        if needed is None or other is not None:
            raise InvalidValueError(
                f"RobustUCB's estimator {self.estimator!r} takes {letter}, and no other moment."
            )
        self._keep(**{letter: checks.number(f"RobustUCB's {letter}", needed, above=0.0)})
        # The estimators share no state: each object has the kernels of its own, in place of the class's.
        for name, value in zip(("kernels", "header", "arm"), ESTIMATORS[self.estimator], strict=True):
            object.__setattr__(self, name, value)

    @property
    def must_know(self) -> str:
        if self.estimator == "catoni":
            return "a bound v on the variance, T for the memory"
        kind = "u on the raw" if self.estimator == "truncated" else "v on the central"
        return f"eps, a bound {kind} moment of order 1 + eps, T for the memory"

    @property
    def estimated(self) -> Estimated:
        return ROBUST

    @property
    def memory_cost(self) -> str:
        return "O(K + T)"

    def parameters(self, n_arms: int, horizon: int | None) -> RobustUCBParameters:
        order = 1.0 + self.eps
        bound = float((self.u if self.v is None else self.v) or 0.0)
        scale = math.pow(bound, 1.0 / order)
        exponent = self.eps / order
        width, initial = 4.0 * scale, 1
        if self.estimator == "median":
            width, initial = math.pow(12.0, 1.0 / order) * scale * math.pow(16.0, exponent), 2
        elif self.estimator == "catoni":
            width = 2.0 * scale
        return RobustUCBParameters(bound, scale, order, exponent, width, initial)

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        row = EXACT_ROW if self.estimator == "median" else ROW
        return new_history("RobustUCB", n_arms, horizon, row)
