"""Extended robust UCB, our reconstruction: two moments of unknown size, in a known relation.

Rule
----
For rewards with E |X - mean|^p <= C (E |X - mean|^q)^(p/q), p > q, 1 < q <= 2. Let r = min(p / q, 2), L =
log(e^(1/8) / delta) and delta = 1 / (t^2 log(1 + t)) at step t. The arm has n rewards, and MM is the median
of means, as in `brigand.policies.heavy_tails.robust_ucb`. The index is the largest theta with

    theta <= MM(X) + (12 v(theta))^(1/q) (16 L / n)^((q-1)/q),
    v(theta) = MM(|X - theta|^q) / (1 - (24 C)^(1/r) (16 L / n)^((r-1)/r)),

and +inf where the denominator is 0 or less, or where there is no largest theta. Ties are broken uniformly.
For p = 4 and q = 2, C bounds the kurtosis, and sqrt(12 (C - 1)) stands in place of (24 C)^(1/2): the rule is
then that of `brigand.policies.heavy_tails.lattimore`. The proof given there that there is one root, and the
method to find it, hold here with L^q norms.

**It only samples uniformly at usual horizons**: for p = 4, q = 2, C = 3, until n >= 18,340 at t = 100,000. A
smaller `c` in place of 16 is a heuristic.

Source
------
**A reconstruction**, not the published rule. Liu, Chen, Deng, Wu, "Extended UCB policies for multi-armed
bandit problems", arXiv 1112.1768, version 3, 2022, are known to us by their abstract alone. The index was
proved to be an upper confidence bound.

Deviations
----------
Not known: the constants may differ from those of the paper, and delta is Lattimore's.

Late rewards
------------
Let n0 be the number of rewards up to which an arm's index is infinite. An arm with n0 rewards or fewer is
pulled before others until it has had 2 n0 + log t pulls, then after them (`kernels.choices.needs_pull`).

Cost
----
O(K) a step while indices are infinite; a finite one takes about ten passes over the arm's rewards. Memory
O(K + T).

Distances from MM(X) are taken in units of the median of the blocks' largest ones, and cut off at 1e150 of
these units. So the rewards may have any scale, and an outlier of any size spoils its own block alone.
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
from brigand.policies.heavy_tails.lattimore import confidence, solve
from brigand.policies.heavy_tails.median_of_means import refresh_median, set_blocks
from brigand.policies.kernels.choices import index_propensity, index_select, needs_pull
from brigand.policies.kernels.estimates import ROBUST, known_estimate
from brigand.policies.kernels.exact_history import EXACT_ROW, append_exactly
from brigand.policies.kernels.history import new_history, reward_at
from brigand.policies.kernels.median import median

HEADER = record(step=0, used=0, log=0.0, blocks=1)  # L for the next step; floor(8 L)
ARM = record(pulls=0, count=0, estimate=float("nan"), blocks=0, length=0)
FAR = 1e150
LEAST_LOG = -700.0  # of c L / n: below it, no number of rewards makes an index finite


class ExtendedRobustUCBParameters(NamedTuple):
    """q, the 16, the denominator's factor and exponent, the n / L up to which the index is infinite."""

    order: float
    c: float
    factor: float
    exponent: float
    least: float


@kernel
def root_mean_power(rewards: Any, means: Any, order: float, x: float) -> float:
    """Return the q-th root of the median of the means of |X - x|^q; the blocks' means go to `means`."""
    length = len(rewards) // len(means)
    for block in range(len(means)):
        total = 0.0
        for i in range(block * length, (block + 1) * length):
            total += math.pow(abs(rewards[i] - x), order)
        means[block] = total / length
    return math.pow(median(means), 1.0 / order)


@kernel
def upper_bound(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> float:
    """Return the index of an arm with enough rewards."""
    q = parameters.order
    share = parameters.c * header["log"] / arms[arm]["count"]
    rest = 1.0 - parameters.factor * math.pow(share, parameters.exponent)
    if rest <= 0.0:
        return math.inf
    slope = math.pow(12.0 / rest, 1.0 / q) * math.pow(share, (q - 1.0) / q)
    if slope >= 1.0:
        return math.inf
    blocks, length = arms[arm]["blocks"], arms[arm]["length"]
    means, rewards = np.empty(blocks), np.empty(blocks * length)
    for block in range(blocks):
        means[block] = 0.0
        for i in range(block * length, (block + 1) * length):
            rewards[i] = reward_at(memory, arm, i) - arms[arm]["estimate"]
            means[block] = max(means[block], abs(rewards[i]))
    scale = float(median(means))
    if scale == 0.0:
        return arms[arm]["estimate"]
    for i in range(blocks * length):  # so that no power overflows, and those of usual rewards do not vanish
        rewards[i] = min(max(float(rewards[i]) / scale, -FAR), FAR)
    return arms[arm]["estimate"] + scale * solve(root_mean_power, rewards, means, q, slope)


@kernel
def index(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, rng: np.random.Generator
) -> float:
    least = parameters.least * header["log"]
    if arms[arm]["count"] == 0 or arms[arm]["count"] <= least:
        return math.inf if needs_pull(arms[arm]["pulls"], max(least, 1.0), header["step"]) else math.nan
    return upper_bound(parameters, header, arms, memory, arm)


select = index_select(index)


propensity = index_propensity(index)


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    header["log"] = confidence(header["step"])
    arms[arm]["pulls"] += 1
    set_blocks(header, arms, memory)


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    append_exactly(header, arms, memory, arm, reward)
    refresh_median(header, arms, memory, arm)


@dataclass(frozen=True)
class ExtendedRobustUCB(Policy):
    """Extended robust UCB (our reconstruction) for E |X - mean|^p <= C (E |X - mean|^q)^(p/q).

    At usual horizons it samples uniformly.

    Parameters
    ----------
    p, q : float
        The orders of the two moments: p > q and 1 < q <= 2.
    C : float
        The factor in their relation, at least 1; for p = 4 and q = 2 it is a bound on the kurtosis.
    c : float
        The factor of L / n: 16 by the proof; smaller values are a heuristic.
    """

    p: float
    q: float
    C: float
    c: float = 16.0

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, estimate=known_estimate, propensity=propensity)
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "p-th moment bounded by the q-th"
    reference: ClassVar[str] = "liu2022extended"
    known_from: ClassVar[str] = "reconstruction"

    def __post_init__(self) -> None:
        self._keep(q=checks.number("ExtendedRobustUCB's q", self.q, 1.0, 2.0, above=1.0))
        self._keep(p=checks.number("ExtendedRobustUCB's p", self.p))
        if not self.p > self.q:
            raise InvalidValueError(f"ExtendedRobustUCB needs p > q, not p = {self.p:g} and q = {self.q:g}.")
        self._keep(C=checks.number("ExtendedRobustUCB's C", self.C, 1.0))
        self._keep(c=checks.number("ExtendedRobustUCB's c", self.c, above=0.0))

    @property
    def must_know(self) -> str:
        return "p, q and C, T for the memory"

    @property
    def estimated(self) -> Estimated:
        return ROBUST

    @property
    def memory_cost(self) -> str:
        return "O(K + T)"

    def parameters(self, n_arms: int, horizon: int | None) -> ExtendedRobustUCBParameters:
        optimize = checks.package("scipy.optimize", "ExtendedRobustUCB needs SciPy: pip install scipy.")

        r = min(self.p / self.q, 2.0)
        factor = math.pow(24.0, 1.0 / r) * math.pow(self.C, 1.0 / r)
        if self.p == 4 and self.q == 2:
            factor = math.sqrt(12.0) * math.sqrt(self.C - 1.0)
        exponent = (r - 1.0) / r

        def excess(log_share: float) -> float:  # an index is finite where this is negative
            return 12.0 * math.exp(log_share * (self.q - 1.0)) + factor * math.exp(log_share * exponent) - 1.0

        least = math.inf
        if excess(LEAST_LOG) < 0.0:
            least = self.c * math.exp(-optimize.brentq(excess, LEAST_LOG, 0.0, xtol=1e-12))
        return ExtendedRobustUCBParameters(float(self.q), float(self.c), factor, exponent, least)

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        return new_history("ExtendedRobustUCB", n_arms, horizon, EXACT_ROW)
