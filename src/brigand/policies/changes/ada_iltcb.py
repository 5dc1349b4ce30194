"""Ada-ILTCB+ for K arms: inverse-gap sampling in blocks, with replays of old blocks that find changes.

Rule
----
Rewards lie in [0, 1]. Let C0 = log(8 T^4 K^2) (so delta = 1 / T), and let L be 4 length K C0, rounded up. An
epoch has blocks j = 0, 1, ... of 2^j L steps; nu_j = sqrt(C0 / (K 2^j L)). The importance-weighted means r of
an interval give the regrets Reg(a) = max r - r(a). Block 0 samples uniformly. Block j samples from (1 - K
nu_j) Q_j + nu_j,

    Q_j(a) = 1 / (lambda + Reg(a) / (C nu_j)),    lambda in [1, K] such that Q_j sums to 1,

with Reg from all of the epoch's blocks before j.

At each step of block j, a replay of index m < j begins with probability 2^(-j/2) 2^(-m/2) / L. It lasts 2^m L
steps, or until the block ends. While replays run, one of them, chosen uniformly, samples from the
distribution of the block of its index.

Tests are made at the end of a replay, with nu = nu_m, and at the end of a block j >= 1, with nu = nu_j. They
compare the replay's or the block's own interval I with the data B from before block j. A new epoch begins if
for some arm

    Reg_I(a) > 4 Reg_B(a) + D K nu    or    Reg_B(a) > 4 Reg_I(a) + D K nu

There are no ties: all choices are random.

Source
------
Chen, Lee, Luo, Wei, "A new algorithm for non-stationary contextual bandits: efficient, optimal, and
parameter-free", COLT 2019. **A reconstruction**: the structure of the published policy, without contexts, and
with constants from memory.

Deviations
----------
- C and D are 1. The published ones are in the tens to hundreds, and find no change at T = 100000; ours can.
- A replay that is cut off by the end of its block is not tested.
- Weights are for the probability under the mixture of all running replays.
- At most 32 replays run at once (at most 2.4 are expected).

Late rewards
------------
A late reward enters the intervals that run when it arrives, and none if its pull was before the epoch. A lost
reward counts as 0.

Absent arms: where only some arms are allowed, these keep their odds, and the others keep their means. An arm
that is away for L steps is left out of the max of r and of the tests until it is back. An arm that is there
for the first time begins an epoch.

Cost
----
O(K) a step; memory O(T + K log T).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.jit import kernel
from brigand.policies.base import (
    BoundedPolicy,
    Estimated,
    Header,
    Kernels,
    State,
    Table,
    need_horizon,
    record,
)
from brigand.policies.kernels import availability
from brigand.policies.kernels.arithmetic import unit_reward
from brigand.policies.kernels.availability import miss, missing_at
from brigand.policies.kernels.randomness import uniform_at

# closed: the last step whose ends and tests are done; origin: the last step before the epoch; next_end: of
# the block or a replay; chance: of a new replay, at each step; seen: so many arms have ever been there
BLOCK = {"closed": 0, "epoch": 1, "origin": 0, "block": 0, "next_end": 0, "chance": 0.0}
HEADER = record(step=0, key=0, **BLOCK, seen=0, **availability.HEADER)
# total: of weighted rewards; regret: Reg_B, which is `distance` less the least; away: for how many steps, for
# L or more (gone)
REGRET = {"probability": 0.0, "total": 0.0, "regret": 0.0, "distance": 0.0}
ARM = record(**REGRET, seen=0, away=0, gone=0, **availability.ARM)
# In this order: the probabilities of the T pulls; BLOCKS rows of (1 - K nu) Q + nu; the totals before the
# epoch; for the block and each replay, its index, the step before it, its last (0: none), the totals before.
MEMORY = record(value=0.0)
BLOCKS = 54
SLOTS = 33  # the block and 32 replays


class AdaILTCBParameters(NamedTuple):
    """The range of the rewards; C; D; L; nu_0; T."""

    low: float
    width: float
    C: float
    D: float
    length: int
    nu: float
    horizon: int


@kernel
def save_totals(arms: Table, memory: Table, row: int) -> None:
    for arm in range(len(arms)):
        memory[row + arm]["value"] = arms[arm]["total"]


@kernel
def best_since(arms: Table, memory: Table, row: int) -> float:
    best = -math.inf
    for arm in range(len(arms)):
        if arms[arm]["gone"] == 0:
            best = max(best, arms[arm]["total"] - memory[row + arm]["value"])
    return best


@kernel
def set_regrets(arms: Table) -> None:
    """Make the least distance of those that are not gone a regret of 0."""
    least = math.inf
    for arm in range(len(arms)):
        if arms[arm]["gone"] == 0:
            least = min(least, arms[arm]["distance"])
    for arm in range(len(arms)):
        arms[arm]["regret"] = max(arms[arm]["distance"] - least, 0.0)


@kernel
def passes(parameters: Any, arms: Table, memory: Table, row: int, step: int) -> bool:
    """Return whether the block or replay at `row`, which ends with `step`, agrees with Reg_B."""
    allowed = parameters.D * len(arms) * parameters.nu * math.pow(2.0, -0.5 * memory[row]["value"])
    best = best_since(arms, memory, row + 3)
    for arm in range(len(arms)):
        if arms[arm]["gone"] == 1:
            continue
        now = best - (arms[arm]["total"] - memory[row + 3 + arm]["value"])
        now /= step - memory[row + 1]["value"]
        before = arms[arm]["regret"]
        if now > 4.0 * before + allowed or before > 4.0 * now + allowed:
            return False
    return True


@kernel
def solve(parameters: Any, arms: Table, memory: Table, block: int) -> None:
    """Write the block's (1 - K nu) Q + nu to the memory; lambda is found by bisection."""
    nu, row = parameters.nu * math.pow(2.0, -0.5 * block), parameters.horizon + block * len(arms)
    low, high = 1.0, float(len(arms))
    for _ in range(60):
        middle = 0.5 * (low + high)
        mass = 0.0
        for arm in range(len(arms)):
            mass += 1.0 / (middle + arms[arm]["regret"] / (parameters.C * nu))
        if mass > 1.0:
            low = middle
        else:
            high = middle
    for arm in range(len(arms)):
        q = 1.0 / (high + arms[arm]["regret"] / (parameters.C * nu))
        memory[row + arm]["value"] = (1.0 - len(arms) * nu) * q + nu


@kernel
def row_of(parameters: Any, arms: Table, slot: int) -> int:
    """Return where the block (slot 0) or a replay begins in the memory."""
    return parameters.horizon + (BLOCKS + 1) * len(arms) + slot * (len(arms) + 3)


@kernel
def open_slot(parameters: Any, arms: Table, memory: Table, slot: int, block: int, step: int) -> None:
    """Let the block, or a replay of it, begin after `step`."""
    row = row_of(parameters, arms, slot)
    memory[row]["value"] = block
    memory[row + 1]["value"] = step
    memory[row + 2]["value"] = step + parameters.length * (1 << block)
    save_totals(arms, memory, row + 3)


@kernel
def probability_of(header: Header, arms: Table, arm: int) -> float:
    """Return the probability with which the arm was drawn from those that are there."""
    now, total = header["step"] + 1, 0.0
    if missing_at(header, now) == 0:
        return arms[arm]["probability"]
    for other in range(len(arms)):
        if arms[other]["missed"] != now:
            total += arms[other]["probability"]
    return arms[arm]["probability"] / total


@kernel
def select(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, rng: np.random.Generator
) -> int:
    total = 0.0
    for i in range(len(candidates)):
        total += arms[candidates[i]]["probability"]
    uniform = rng.random() * total
    for i in range(len(candidates)):
        uniform -= arms[candidates[i]]["probability"]
        if uniform < 0.0:
            return candidates[i]
    return candidates[len(candidates) - 1]


@kernel
def propensity(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, arm: int
) -> float:
    total = 0.0
    for i in range(len(candidates)):
        total += arms[candidates[i]]["probability"]
    return arms[arm]["probability"] / total


@kernel
def mix(parameters: Any, header: Header, arms: Table, memory: Table) -> None:
    """Set the probabilities of the next step, and when they change next."""
    running = 0
    header["next_end"] = int(memory[row_of(parameters, arms, 0) + 2]["value"])
    for slot in range(SLOTS):
        row = row_of(parameters, arms, slot)
        if memory[row + 2]["value"] > 0.0:
            running += 1 if slot > 0 else 0
            header["next_end"] = min(header["next_end"], int(memory[row + 2]["value"]))
            source = parameters.horizon + int(memory[row]["value"]) * len(arms)
            for arm in range(len(arms)):
                change = memory[source + arm]["value"] - arms[arm]["probability"]
                arms[arm]["probability"] += change / max(running, 1)  # the first replay replaces the block


@kernel
def begin_block(parameters: Any, header: Header, arms: Table, memory: Table, block: int, step: int) -> None:
    """Begin a block after `step`: settle Reg_B and Q_j, clear the replays."""
    table = parameters.horizon + BLOCKS * len(arms)
    if block == 0:
        header["origin"] = step
        save_totals(arms, memory, table)
    best, steps = best_since(arms, memory, table), max(step - header["origin"], 1)
    for arm in range(len(arms)):
        arms[arm]["distance"] = (best - (arms[arm]["total"] - memory[table + arm]["value"])) / steps
    set_regrets(arms)
    solve(parameters, arms, memory, block)
    header["block"], header["chance"] = block, 0.0
    for index in range(block):
        header["chance"] += math.pow(2.0, -0.5 * (block + index)) / parameters.length
    open_slot(parameters, arms, memory, 0, block, step)
    for slot in range(1, SLOTS):
        memory[row_of(parameters, arms, slot) + 2]["value"] = 0.0


@kernel
def finish(parameters: Any, header: Header, arms: Table, memory: Table, step: int) -> None:
    """Test what ends with `step`, and begin the next block or epoch."""
    passed = True
    for slot in range(SLOTS):
        row = row_of(parameters, arms, slot)
        if memory[row + 2]["value"] == step:
            memory[row + 2]["value"] = 0.0
            passed = passed and (header["block"] == 0 or passes(parameters, arms, memory, row, step))
    if not passed:
        header["epoch"] += 1
        begin_block(parameters, header, arms, memory, 0, step)
    elif memory[row_of(parameters, arms, 0) + 2]["value"] == 0.0:
        begin_block(parameters, header, arms, memory, header["block"] + 1, step)


@kernel
def replay(parameters: Any, header: Header, arms: Table, memory: Table, step: int, uniform: float) -> None:
    """Begin a replay after `step`, of a block that `uniform`, below the chance of any, draws."""
    block = 0
    while block < header["block"] - 1:
        uniform -= math.pow(2.0, -0.5 * (header["block"] + block)) / parameters.length
        if uniform < 0.0:
            break
        block += 1
    for slot in range(1, SLOTS):
        if memory[row_of(parameters, arms, slot) + 2]["value"] == 0.0:
            open_slot(parameters, arms, memory, slot, block, step)
            return


@kernel
def close(parameters: Any, header: Header, arms: Table, memory: Table) -> None:
    """Do all that lies between two steps."""
    step = header["closed"] + 1
    header["closed"] = step
    ends = step >= header["next_end"]
    if ends:
        finish(parameters, header, arms, memory, step)
    if header["chance"] > 0.0:
        uniform = uniform_at(header["key"], step)
        if uniform < header["chance"]:
            replay(parameters, header, arms, memory, step, uniform)
            ends = True
    if ends:
        mix(parameters, header, arms, memory)


@kernel
def welcome(parameters: Any, header: Header, arms: Table, memory: Table) -> None:
    """Begin an epoch if some arm is there for the first time, but for the first step."""
    before = header["seen"]
    for arm in range(len(arms)):
        if arms[arm]["seen"] == 0 and arms[arm]["missed"] != header["step"] + 1:
            arms[arm]["seen"] = 1
            header["seen"] += 1
    if header["seen"] > before > 0:
        header["epoch"] += 1
        begin_block(parameters, header, arms, memory, 0, header["step"])
        mix(parameters, header, arms, memory)


@kernel
def note_away(parameters: Any, header: Header, arms: Table, memory: Table) -> None:
    """Let the means of arms that are away stay; make Q anew if one is gone or back."""
    steps, table = header["step"] - header["origin"], parameters.horizon + BLOCKS * len(arms)
    changed = False
    for arm in range(len(arms)):
        away = arms[arm]["missed"] == header["step"] + 1
        arms[arm]["away"] = arms[arm]["away"] + 1 if away else 0
        if away and steps > 0:
            arms[arm]["total"] += (arms[arm]["total"] - memory[table + arm]["value"]) / steps
        gone = 1 if arms[arm]["away"] >= parameters.length else 0
        changed = changed or gone != arms[arm]["gone"]
        arms[arm]["gone"] = gone
    if changed:
        set_regrets(arms)
        solve(parameters, arms, memory, header["block"])
        mix(parameters, header, arms, memory)


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    if header["step"] < parameters.horizon:
        memory[header["step"]]["value"] = probability_of(header, arms, arm)
    while header["closed"] < header["step"]:
        close(parameters, header, arms, memory)
    if header["seen"] < len(arms):
        welcome(parameters, header, arms, memory)
    if missing_at(header, header["step"] + 1) > 0 or missing_at(header, header["step"]) > 0:
        note_away(parameters, header, arms, memory)
    header["step"] += 1


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    if header["origin"] < step <= parameters.horizon:
        arms[arm]["total"] += unit_reward(parameters, reward) / memory[step - 1]["value"]
    if step == header["step"] and header["closed"] == step - 1:
        close(parameters, header, arms, memory)


@kernel
def estimate(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> tuple[float, float]:
    steps = float(header["step"] - header["origin"])
    if steps <= 0.0:
        return math.nan, 0.0
    before = memory[parameters.horizon + BLOCKS * len(arms) + arm]["value"]
    return parameters.low + parameters.width * ((arms[arm]["total"] - before) / steps), steps


WEIGHTED = Estimated(
    "weighted mean",
    thing="step",
    scope=" of the epoch",
    none="nothing of {arm} is known in the epoch that has just begun",
)


@dataclass(frozen=True)
class AdaILTCB(BoundedPolicy):
    """Ada-ILTCB+ for K arms, our reconstruction: sampling by inverse gaps, replays that look for changes.

    Parameters
    ----------
    C, D, length : float
        The less C, the greedier the sampling. D is the tests' tolerance; ``math.inf`` never begins a new
        epoch. The factor of L is at least 1/4, so that K nu <= 1.
    low, high : float
        The range of the rewards, by keyword; [0, 1] by default.

    The header counts the ``epoch``. Its first blocks, of hundreds of steps or more, sample almost uniformly.
    """

    C: float = 1.0
    D: float = 1.0
    length: float = 1.0

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, miss, estimate, propensity=propensity)
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "bounded, changing"
    reference: ClassVar[str] = "chen2019new"
    known_from: ClassVar[str] = "reconstruction"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keep(C=checks.number("AdaILTCB's C", self.C, above=0.0))
        self._keep(D=checks.number("AdaILTCB's D", self.D, above=0.0, infinite=True))
        self._keep(length=checks.number("AdaILTCB's length", self.length, 0.25))

    @property
    def must_know(self) -> str:
        return f"{super().must_know}, T"

    @property
    def estimated(self) -> Estimated:
        return WEIGHTED

    @property
    def memory_cost(self) -> str:
        return "O(T + K log T)"

    def parameters(self, n_arms: int, horizon: int | None) -> AdaILTCBParameters:
        steps = need_horizon("AdaILTCB", horizon)
        c0 = math.log(8 * steps**4 * n_arms**2)
        length = math.ceil(min(4 * self.length * n_arms * c0, checks.MAX_STEPS))
        nu = math.sqrt(c0 / (n_arms * length))
        scale = (float(self.low), float(self.high - self.low))
        return AdaILTCBParameters(*scale, float(self.C), float(self.D), length, nu, steps)

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        rows = (BLOCKS + 1) * n_arms + SLOTS * (n_arms + 3)
        return np.repeat(MEMORY, need_horizon("AdaILTCB", horizon) + rows)

    def start(self, n_arms: int, horizon: int | None, key: int = 0) -> State:
        state, parameters = super().start(n_arms, horizon, key), self.parameters(n_arms, horizon)
        begin_block(parameters, *state, 0, 0)
        mix(parameters, *state)
        return state
