"""Tsallis-INF: one rule that is optimal for stochastic rewards and for those of an adversary.

Rule
----
Rewards lie in [0, 1]; the loss of a reward x is 1 - x. With L_k the estimated losses of the arms so far, step
t draws an arm with the probabilities

    w_k = 4 / (eta (L_k - z))^2,    z < min L such that they sum to 1,

which minimise sum_k w_k L_k - (4 / eta) sum_k sqrt(w_k), the last term being Tsallis' entropy with power 1/2.
When the arm a was drawn, and its loss was l, then L_k grows by

    IW (importance weighted)    1(k = a) l / w_k                            eta = 2 / sqrt(t)
    RV (reduced variance)       1(k = a) (l - B_k) / w_k + B_k              eta = 4 / sqrt(t)

with B_k = 1/2 if w_k >= eta^2, and else 0. Nothing is tuned, and no horizon is needed. Ties do not occur,
since arms are drawn.

Source
------
Zimmert, Seldin, "Tsallis-INF: an optimal algorithm for stochastic and adversarial bandits", Journal of
Machine Learning Research 22, 2021; first in AISTATS 2019. **A reconstruction**: the rule and its constants
are from memory of that paper, and the same in two libraries of others. The paper shows regrets as curves, so
that there are no numbers of theirs to compare with. Those of SMPyBandits are larger, since it does not always
find z, and agree once it does (`brigand validate`).

Deviations
----------
Newton's iteration for z never goes beyond the point at which the arm with the least loss alone has the
probability 1: so it always converges. The probabilities are then divided by their sum, which is 1 but for
rounding.
Probabilities below 1e-12, at which the rule draws no arm, but others may, count as 1e-12 where they divide.

Late rewards
------------
A pull counts as one of reward 0 at once, and is corrected when its reward x arrives: by x / w_a with the w_a
of the step at which its arm was drawn. These probabilities are remembered for the last `PENDING` pulls (for
all, if T is less). A reward that comes even later counts as 0, and so does one that never comes.

Absent arms: where only some arms are allowed, the rule is applied to these arms alone. When their estimated
losses change, those of the arms that are away change as much as z does, so that an arm neither wins nor loses
by being away; a late reward is handled as if the arms that are away were those at the latest decision.

Cost
----
O(K) a step, for Newton's few steps; memory O(K + min(T, PENDING)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand.errors import InvalidValueError
from brigand.jit import kernel
from brigand.policies.adversarial.exp3 import ring
from brigand.policies.base import BoundedPolicy, Estimated, Header, Kernels, Table, record
from brigand.policies.kernels import availability
from brigand.policies.kernels.arithmetic import unit_reward
from brigand.policies.kernels.availability import available, missing_at, n_places

# distance: eta (min L - z) at the latest pull
HEADER = record(step=0, distance=2.0, **availability.HEADER)
ARM = record(pulls=0, count=0, loss=0.0, **availability.ARM)
ESTIMATORS: dict[str, int] = {"IW": 0, "RV": 1}
ITERATIONS = 100  # never reached: 3 to 10 do
LEAST = 1e-12  # the least probability that divides
CLOSE = 1e-12  # a relative step of this size is not made


class TsallisINFParameters(NamedTuple):
    """The range of the rewards; whether (1) or not (0) the variance is reduced; eta at step 1."""

    low: float
    width: float
    reduced: int
    rate: float


@kernel
def normalise(
    header: Header, arms: Table, candidates: Any, step: int, eta: float
) -> tuple[float, float, float]:
    """Return the least loss, eta times its distance from z, and the sum of the probabilities.

    Of the candidates; if they are None, of the arms that were candidates at `step`.
    """
    least = math.inf
    for place in range(n_places(arms, candidates)):
        arm = available(arms, candidates, place, step)
        if arm >= 0:
            least = min(least, arms[arm]["loss"])
    distance, total = header["distance"], 1.0
    if not 2.0 <= distance <= 2.0 * math.sqrt(len(arms)):  # one arm alone; all equal
        distance = 2.0
    for _ in range(ITERATIONS):
        total, slope = 0.0, 0.0
        for place in range(n_places(arms, candidates)):
            arm = available(arms, candidates, place, step)
            if arm >= 0:
                root = 2.0 / (eta * (arms[arm]["loss"] - least) + distance)
                total += root * root
                slope += root * root * root
        move = (total - 1.0) / slope
        if not abs(move) > CLOSE * distance:
            break
        distance = max(distance + move, 2.0)
    return least, distance, total


@kernel
def probability(arms: Table, arm: int, eta: float, least: float, distance: float, total: float) -> float:
    """Return w of an arm, by what `normalise` gives."""
    root = 2.0 / (eta * (arms[arm]["loss"] - least) + distance)
    return root * root / total


@kernel
def select(
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    candidates: Any,
    rng: np.random.Generator,
) -> int:
    left = rng.random()
    eta = parameters.rate / math.sqrt(header["step"] + 1.0)
    least, distance, total = normalise(header, arms, candidates, 0, eta)
    for i in range(len(candidates)):
        left -= probability(arms, candidates[i], eta, least, distance, total)
        if left < 0.0:
            return candidates[i]
    return candidates[len(candidates) - 1]


@kernel
def propensity(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, arm: int
) -> float:
    eta = parameters.rate / math.sqrt(header["step"] + 1.0)
    least, distance, total = normalise(header, arms, candidates, 0, eta)
    return float(probability(arms, arm, eta, least, distance, total))


@kernel
def take_along(header: Header, arms: Table, eta: float, before: float) -> None:
    """Move the losses of the arms that are away as much as z has moved, from `before`."""
    step = header["step"]
    least, distance, _ = normalise(header, arms, None, step, eta)
    move = least - distance / eta - before
    for arm in range(len(arms)):
        if arms[arm]["missed"] == step:
            arms[arm]["loss"] += move


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    header["step"] += 1
    step = header["step"]
    eta = parameters.rate / math.sqrt(step)
    least, distance, total = normalise(header, arms, None, step, eta)
    header["distance"] = distance
    own = max(probability(arms, arm, eta, least, distance, total), LEAST)
    arms[arm]["pulls"] += 1
    memory[step & (len(memory) - 1)]["probability"] = own
    baseline = 0.0
    if parameters.reduced == 1:
        for place in range(len(arms)):
            other = available(arms, None, place, step)
            if other >= 0 and probability(arms, other, eta, least, distance, total) >= eta * eta:
                arms[other]["loss"] += 0.5
                baseline = 0.5 if other == arm else baseline
    arms[arm]["loss"] += (1.0 - baseline) / own
    if missing_at(header, step) > 0:
        take_along(header, arms, eta, least - distance / eta)


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    arms[arm]["count"] += 1
    if header["step"] - step >= len(memory):
        return
    change = unit_reward(parameters, reward) / memory[step & (len(memory) - 1)]["probability"]
    if missing_at(header, header["step"]) == 0:
        arms[arm]["loss"] -= change
        return
    eta = parameters.rate / math.sqrt(header["step"])
    least, distance, _ = normalise(header, arms, None, header["step"], eta)
    arms[arm]["loss"] -= change
    take_along(header, arms, eta, least - distance / eta)


@kernel
def gain(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> tuple[float, float]:
    """Return the negative of the estimated loss, NaN before the first reward: the kernel `estimate`."""
    count = float(arms[arm]["count"])
    return float(-arms[arm]["loss"]) if count > 0.0 else math.nan, count


@dataclass(frozen=True)
class TsallisINF(BoundedPolicy):
    """Tsallis-INF with power 1/2, for any rewards in a range; nothing is tuned.

    Parameters
    ----------
    estimator : str
        ``"RV"``, of reduced variance, or ``"IW"``, importance weighted: the losses' estimates, each with its
        learning rate.
    low, high : float
        The range of the rewards, by keyword; [0, 1] by default.
    """

    estimator: str = "RV"

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, availability.miss, gain, propensity=propensity)
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "bounded, stochastic or adversarial"
    reference: ClassVar[str] = "zimmert2021tsallis"
    known_from: ClassVar[str] = "reconstruction"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.estimator, str) or self.estimator not in ESTIMATORS:
            raise InvalidValueError(
                f"TsallisINF's estimator must be one of {', '.join(ESTIMATORS)}, not {self.estimator!r}."
            )

    @property
    def estimated(self) -> Estimated:
        return Estimated("estimated gain", "after")

    @property
    def memory_cost(self) -> str:
        return "O(K + min(T, 65536))"

    def parameters(self, n_arms: int, horizon: int | None) -> TsallisINFParameters:
        reduced = ESTIMATORS[self.estimator]
        return TsallisINFParameters(
            float(self.low), float(self.high - self.low), reduced, 4.0 if reduced else 2.0
        )

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        return ring(horizon)
