"""Explore-then-commit for two Gaussian arms: fixed budget, sequential test, best-arm identification.

Rule
----
Arms are pulled in turn (by FB-ETC in random order, by the others in order of index). With D = gap / sigma,
the arm with the largest mean is then pulled for ever after

    FB-ETC      n = ceil(2 W(T^2 D^4 / (32 pi)) / D^2) pulls of each arm (W: Lambert's function)
    SPRT-ETC    the first r pulls of each arm with r D |difference| >= log(T D^2)
    BAI-ETC     the first r pulls of each arm with |difference| >= sqrt(c log(T / s) / s), s = 2 r, c = 8

where `difference` is that of the two means, divided by sigma. The first two must know the gap between the two
means. The rule is looked at after complete turns, and ties are broken uniformly. With sigma = 1 the regret
grows like 4 log T / D, log T / D and 4 log T / D.

Source
------
Garivier, Lattimore, Kaufmann, "On explore-then-commit strategies", NeurIPS 2016. **A reconstruction**: the
formula of FB-ETC is known from an independent implementation; the rule of SPRT-ETC and the 8 of BAI-ETC are
from memory. SPRT-ETC's constant was checked by its law. The 8 agrees with the variance 4 / s of the
difference and with BAI-ETC's regret; a well-known implementation has 4.

Deviations
----------
The rules are for two arms. More than two are ours: the arms are pulled in turn, and the largest mean must be
that far from each of the others after r pulls of each arm. `gap` is then the least gap to the best arm.

Late rewards
------------
The rule compares the rewards that have arrived. The commitment is final, whatever later rewards say. It is
made at the first pull after the rule was met, and to the arm pulled then, unless only arms with smaller means
were allowed.

An arm of which no reward has arrived holds up the commitment of SPRT-ETC and BAI-ETC for 2 + log t turns
(`kernels.choices.needs_pull`), and is then left out; they need two arms with rewards. FB-ETC leaves it out at
once, and needs one arm with rewards.

Absent arms: an arm that is away is not waited for. An arm may be back that was away at the commitment, or may
join after it. FB-ETC then does as ETC (`explore_then_commit`). The others compare it with the arm that they
are committed to, or with all arms that are there where that one is not: these are pulled in turn until the
rule, looked at before every pull, is met and commits again.

Cost
----
O(K) a step while exploring, O(1) then; memory O(K).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.jit import kernel
from brigand.policies.base import Header, Kernels, Policy, Table, need_horizon, record
from brigand.policies.commit import explore_then_commit
from brigand.policies.commit.explore_then_commit import ExploreThenCommitParameters, exploration
from brigand.policies.kernels import availability
from brigand.policies.kernels.arithmetic import learn_mean
from brigand.policies.kernels.availability import available, is_available, miss, n_available, n_places
from brigand.policies.kernels.choices import (
    greedy,
    greedy_propensity,
    is_only,
    least_recently_pulled,
    needs_pull,
)

# unsettled: how many arms are not settled; settled: whether (1) it was there when the commitment was made
HEADER = record(step=0, committed=-1, leader=-1, unsettled=0, **availability.HEADER)
MEAN = {"last": 0, "pulls": 0, "count": 0, "sum": 0.0, "residue": 0.0, "mean": math.nan}
ARM = record(**MEAN, settled=0, **availability.ARM)


class SequentialETCParameters(NamedTuple):
    """The distance asked for is barrier / r + width sqrt(log(T / s) / s): one of the two is 0."""

    barrier: float
    width: float
    horizon: float


@kernel
def distance(parameters: Any, count: int) -> float:
    """Return how far two means must be apart after `count` rewards of each."""
    both = 2.0 * count
    log = math.log(max(parameters.horizon / both, 1.0))
    return parameters.barrier / count + parameters.width * math.sqrt(log / both)


@kernel
def racer(header: Header, arms: Table, candidates: Any, place: int, stands: bool) -> int:
    """Return the `available` arm at a place, -1 if it is not to be compared with others.

    All are to be compared or, if the arm that is committed to `stands`, that one and those not settled.
    """
    arm = available(arms, candidates, place, header["step"] + 1)
    return -1 if stands and arm >= 0 and arms[arm]["settled"] == 1 and arm != header["committed"] else arm


@kernel
def is_over(parameters: Any, header: Header, arms: Table, candidates: Any, stands: bool) -> bool:
    """Say whether a turn is complete and the best arm separate from all others: the next pull commits."""
    if (
        header["committed"] < 0
        and header["step"] % n_available(header, arms, candidates, header["step"] + 1) != 0
    ):
        return False
    best, others = -1, 0
    for place in range(n_places(arms, candidates)):
        arm = racer(header, arms, candidates, place, stands)
        if arm >= 0 and arms[arm]["count"] > 0 and (best < 0 or arms[arm]["mean"] > arms[best]["mean"]):
            best = arm
    for place in range(n_places(arms, candidates)):
        arm = racer(header, arms, candidates, place, stands)
        if arm < 0 or arm == best:
            continue
        if arms[arm]["count"] == 0:
            if needs_pull(arms[arm]["pulls"], 1.0, header["step"]):
                return False
            continue
        others += 1
        count = min(arms[arm]["count"], arms[best]["count"])
        if arms[best]["mean"] - arms[arm]["mean"] < distance(parameters, count):
            return False
    return others > 0


@kernel
def is_reopened(header: Header, arms: Table, candidates: Any) -> bool:
    """Return whether an `available` arm is not settled."""
    found = False
    for place in range(n_places(arms, candidates)):
        arm = available(arms, candidates, place, header["step"] + 1)
        found = found or (arm >= 0 and arms[arm]["settled"] == 0)
    return found


@kernel
def next_racer(header: Header, arms: Table, candidates: Any, over: bool) -> int:
    """Return the best of the arms to be compared while the commitment stands, or the next in turn."""
    chosen = header["committed"]
    for place in range(len(candidates)):
        arm = racer(header, arms, candidates, place, True)
        if arm < 0:
            continue
        if over:
            if arms[arm]["mean"] > arms[chosen]["mean"]:
                chosen = arm
        elif arms[arm]["last"] < arms[chosen]["last"]:
            chosen = arm
    return chosen


@kernel
def certain(parameters: Any, header: Header, arms: Table, candidates: Any) -> int:
    """Return the candidate that is to be chosen, -1 if it is the one with the largest mean."""
    stands = False
    if header["committed"] >= 0:
        if header["unsettled"] == 0 or not is_reopened(header, arms, candidates):
            for i in range(len(candidates)):
                if candidates[i] == header["committed"]:
                    return candidates[i]
            return -1
        stands = is_available(arms, candidates, header["committed"], 0)
    over = is_over(parameters, header, arms, candidates, stands)
    if stands:
        return next_racer(header, arms, candidates, over)
    return -1 if over else least_recently_pulled(arms, candidates)


@kernel
def select(
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    candidates: Any,
    rng: np.random.Generator,
) -> int:
    uniform = rng.random()
    arm = certain(parameters, header, arms, candidates)
    return arm if arm >= 0 else greedy(header, arms, candidates, uniform)


@kernel
def propensity(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, arm: int
) -> float:
    chosen = certain(parameters, header, arms, candidates)
    return is_only(arm, chosen) if chosen >= 0 else greedy_propensity(header, arms, candidates, arm)


@kernel
def commit(parameters: Any, header: Header, arms: Table, arm: int, stands: bool) -> None:
    """Commit to `arm`, which is being pulled, or to one of those compared with a larger mean."""
    best = arm
    header["unsettled"] = 0
    for other in range(len(arms)):
        here = racer(header, arms, None, other, stands) >= 0
        if here and (arms[best]["count"] == 0 or arms[other]["mean"] > arms[best]["mean"]):
            best = other
    for other in range(len(arms)):
        missed = arms[other]["missed"] == header["step"] + 1
        arms[other]["settled"] = 0 if missed else 1
        header["unsettled"] += missed
    header["committed"] = best


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    if header["committed"] < 0 or (header["unsettled"] > 0 and is_reopened(header, arms, None)):
        stands = is_available(arms, None, header["committed"], header["step"] + 1)
        if is_over(parameters, header, arms, None, stands):
            commit(parameters, header, arms, arm, stands)
    header["step"] += 1
    arms[arm]["last"] = header["step"]
    arms[arm]["pulls"] += 1


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    learn_mean(arms, arm, reward)


@dataclass(frozen=True)
class FixedBudgetETC(Policy):
    """FB-ETC: the number of pulls of each arm that is best for a known gap and horizon.

    Parameters
    ----------
    gap : float
        The difference between the two means; for K > 2 (ours) the least difference from the best one.
    sigma : float
        The rewards' standard deviation.
    """

    gap: float
    sigma: float = 1.0

    kernels: ClassVar[Kernels] = Kernels(*explore_then_commit.ExploreThenCommit.kernels)
    header: ClassVar[Table] = explore_then_commit.HEADER
    arm: ClassVar[Table] = explore_then_commit.ARM
    assumption: ClassVar[str] = "Gaussian"
    reference: ClassVar[str] = "garivier2016explore"
    known_from: ClassVar[str] = "reconstruction"

    def __post_init__(self) -> None:
        self._keep(gap=checks.number("FixedBudgetETC's gap", self.gap, above=0.0))
        self._keep(sigma=checks.number("FixedBudgetETC's sigma", self.sigma, above=0.0))

    @property
    def must_know(self) -> str:
        return "T, sigma and the gap"

    def parameters(self, n_arms: int, horizon: int | None) -> ExploreThenCommitParameters:
        special = checks.package("scipy.special", "FixedBudgetETC needs SciPy: pip install scipy.")

        squared = (self.gap / self.sigma) * (self.gap / self.sigma)
        argument = need_horizon("FB-ETC", horizon) * squared
        argument *= argument / (32.0 * math.pi)
        if argument == 0.0 or math.isinf(argument):  # W is the argument, or its logarithm: n = 1
            return ExploreThenCommitParameters(1)
        n = math.ceil(2.0 * float(special.lambertw(argument).real) / squared)
        return exploration(max(1, n), n_arms)


@dataclass(frozen=True)
class SequentialETC(Policy):
    """SPRT-ETC: arms in turn until a sequential test with a known gap tells them apart.

    Parameters
    ----------
    gap : float
        The difference between the two means; for K > 2 (ours) the least difference from the best one.
    sigma : float
        The rewards' standard deviation.
    """

    gap: float
    sigma: float = 1.0

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, miss, propensity=propensity)
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "Gaussian"
    reference: ClassVar[str] = "garivier2016explore"
    known_from: ClassVar[str] = "reconstruction"

    def __post_init__(self) -> None:
        self._keep(gap=checks.number("SequentialETC's gap", self.gap, above=0.0))
        self._keep(sigma=checks.number("SequentialETC's sigma", self.sigma, above=0.0))

    @property
    def must_know(self) -> str:
        return "T, sigma and the gap"

    def parameters(self, n_arms: int, horizon: int | None) -> SequentialETCParameters:
        log = math.log(need_horizon("SPRT-ETC", horizon)) + 2.0 * (math.log(self.gap) - math.log(self.sigma))
        return SequentialETCParameters(log * (self.sigma / self.gap) * self.sigma, 0.0, 1.0)


@dataclass(frozen=True)
class BestArmETC(Policy):
    """BAI-ETC: arms in turn until the best one is identified, with no knowledge of the gap.

    Parameters
    ----------
    sigma : float
        The rewards' standard deviation.
    c : float
        The constant of the bound: 8, quoted from memory.
    """

    sigma: float = 1.0
    c: float = 8.0

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, miss, propensity=propensity)
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "Gaussian"
    reference: ClassVar[str] = "garivier2016explore"
    known_from: ClassVar[str] = "reconstruction"

    def __post_init__(self) -> None:
        self._keep(sigma=checks.number("BestArmETC's sigma", self.sigma, above=0.0))
        self._keep(c=checks.number("BestArmETC's c", self.c, above=0.0))

    @property
    def must_know(self) -> str:
        return "T and sigma"

    def parameters(self, n_arms: int, horizon: int | None) -> SequentialETCParameters:
        known = float(need_horizon("BAI-ETC", horizon))
        return SequentialETCParameters(0.0, self.sigma * math.sqrt(self.c), known)
