"""FE and SW-FE, forced exploration: greedy, except that an arm left alone for too long is pulled.

Rule
----
Rewards are sub-Gaussian with an unknown parameter. At step t (t - 1 pulls made), in round r, with threshold
f(r), which is 0 in round 0:

    if the least recently pulled arm was last pulled at least f(r) steps before the latest pull: pull it
    else: pull the arm with the largest mean
    if every arm was pulled since the last round ended: r += 1

While the threshold is f, an arm is due ceil(f) + 1 steps after its last pull. Ties between means are broken
uniformly; arms never pulled are taken in order of index.

SW-FE takes means over the last `window` pulls of all arms together, and sets r = 1 after every step t with t
mod window = 0.

Source
------
Qi, Zhu, Guo, "Forced Exploration in Bandit Problems", AAAI 2024, Algorithms 1 and 2.

Deviations
----------
The paper does not say what happens to an arm that is absent from the window, and thus has no mean. Here it is
pulled: the threshold is min(f(r), window). An arm that was never pulled is always due. `reset_round` and
`reset_offset` make SW-FE reset as the authors' scripts do.

Late rewards
------------
Rounds and thresholds depend on pulls, means on the rewards that have arrived. An arm without a reward is
pulled only when it is due; if no arm has a reward, the least recently pulled one is. A reward of a pull that
has left the window is left out.

Absent arms: an arm that is away when it is due misses its turn, and one that joins late catches up (see
`brigand.policies.forced.turns`).

Cost
----
O(1) a step while the leader's mean stays ahead. At other steps O(log K) on average, by a tree
(`brigand.policies.forced.standings`); up to K = 100 all arms are looked at instead, which is quicker. All are
looked at, too, at the end of a round, which takes K steps or more; at a reset, every `window` steps, so that
a window shorter than K costs O(K / window) a step; and where not all arms are candidates. Memory O(K), and
O(window).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from brigand import checks
from brigand.jit import kernel
from brigand.policies.base import Estimated, Header, Kernels, State, Table, record, ring_length
from brigand.policies.forced import standings, turns
from brigand.policies.forced.standings import mean_moved, means_moved, move_on
from brigand.policies.forced.turns import ForcedPolicy, count_pull, miss
from brigand.policies.kernels import window
from brigand.policies.kernels.estimates import known_mean, windowed

HEADER = record(step=0, next_reset=0, leader=-1, second=0.0, slot=0, block=1, **turns.HEADER)
ARM = record(**turns.ARM, **window.ARM)
MEMORY = record(**window.SLOT, f=0.0)  # row i: slot i of the window, and f(i + 1) of a tabulated sequence


class ForcedExplorationParameters(NamedTuple):
    """The sequence (see `sequences.Form`), the length of its table, the window (0: none), the resets.

    And the row of the memory where the tree of many arms begins (`standings`), None if there is none.
    """

    kind: int
    number: float
    shift: int
    table: int
    window: int
    reset_round: int
    derived: int | None


@kernel
def select(
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    candidates: Any,
    rng: np.random.Generator,
) -> int:
    return standings.choose(parameters.derived, header, arms, memory, candidates, rng.random())


@kernel
def propensity(
    parameters: Any, header: Header, arms: Table, memory: Table, candidates: Any, arm: int
) -> float:
    return standings.chance(parameters.derived, header, arms, memory, candidates, arm)


@kernel
def pull(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    if count_pull(header, arms, arm):
        move_on(parameters.derived, parameters, header, arms, memory, arm)
    if parameters.window > 0:
        gone = window.advance(header, arms, memory, arm, parameters.window)
        if gone >= 0:
            mean_moved(parameters.derived, header, arms, memory, gone)
        elif gone == -2:
            means_moved(parameters.derived, header, arms, memory)


@kernel
def learn(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int, reward: float, step: int
) -> None:
    if parameters.window > 0:
        if not window.learn_in_window(header, arms, memory, arm, reward, step, parameters.window):
            return
    else:
        window.add_recent(arms, arm, reward)
        window.refresh(arms, arm)
    mean_moved(parameters.derived, header, arms, memory, arm)


@kernel
def correct(
    parameters: Any,
    header: Header,
    arms: Table,
    memory: Table,
    arm: int,
    was: float,
    reward: float,
    step: int,
) -> None:
    if parameters.window > 0:
        return
    window.correct_recent(arms, arm, was, reward)
    window.refresh(arms, arm)
    mean_moved(parameters.derived, header, arms, memory, arm)


@dataclass(frozen=True)
class ForcedExploration(ForcedPolicy):
    """FE, and with a window SW-FE: greedy, except that an arm left alone for f(r) steps is forced.

    Source: Qi, Zhu, Guo, "Forced Exploration in Bandit Problems", AAAI 2024, Algorithms 1 and 2.

    Parameters
    ----------
    sequence : ExplorationSequence
        f(r): `Exponential`, `Linear`, `Constant`, `Power`, `AnytimeExponential` or `Sequence`.
    window : int, optional
        Means are taken over the last `window` steps, for rewards that change. None: over all steps.
    reset_round : int
        The round entered at each reset: 1 in the paper, 0 in the authors' scripts (where all arms are
        then pulled in turn). Used with a window only.
    reset_offset : int
        Resets follow the steps t with (t - reset_offset) mod window = 0: 0 in the paper, 1 in the
        authors' scripts.

    Raises
    ------
    InvalidValueError
        A setting is not allowed; or, when it is used, the sequence needs a horizon that is not known.

    Notes
    -----
    The arms table counts ``pulls`` and, among them, ``forced`` pulls.

    Examples
    --------
    >>> import numpy as np
    >>> from brigand import Constant, ForcedExploration, trace
    >>> rewards = np.tile([0.9, 0.5, 0.1], (11, 1))
    >>> trace(ForcedExploration(Constant(3)), rewards)
    array([0, 1, 2, 0, 0, 1, 2, 0, 0, 1, 2])
    """

    window: int | None = None
    reset_round: int = 1
    reset_offset: int = 0

    kernels: ClassVar[Kernels] = Kernels(select, pull, learn, miss, known_mean, propensity, correct)
    narrow: ClassVar[bool] = True
    grows: ClassVar[bool] = True
    header: ClassVar[Table] = HEADER
    arm: ClassVar[Table] = ARM
    assumption: ClassVar[str] = "sub-Gaussian, parameter unknown"
    known_from: ClassVar[str] = "published"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window is not None:
            self._keep(window=checks.integer("window", self.window, 1, checks.MAX_INTEGER))
        self._keep(reset_round=checks.integer("reset_round", self.reset_round, 0, checks.MAX_INTEGER))
        self._keep(reset_offset=checks.integer("reset_offset", self.reset_offset, 0, self.window))

    @property
    def must_know(self) -> str:
        if self.window is not None:
            return "T and B_T, for the window"
        return super().must_know

    @property
    def memory_cost(self) -> str:
        return "O(K)" if self.window is None else "O(K + window)"

    @property
    def corrects(self) -> bool:
        return self.window is None

    def parameters(self, n_arms: int, horizon: int | None) -> ForcedExplorationParameters:
        form = self.sequence.form(horizon if self.window is None else self.window)
        table, window = len(self._table(n_arms, horizon, self.reset_round)), self._window(horizon)
        tree = max(window, table) if self.derived(n_arms) else None
        return ForcedExplorationParameters(*form, table, window, self.reset_round, tree)

    def memory(self, n_arms: int, horizon: int | None) -> Table:
        table = self._table(n_arms, horizon, self.reset_round)
        n_rows = max(self._window(horizon), len(table)) + self.derived(n_arms)
        memory = np.repeat(MEMORY, n_rows)
        memory["f"][: len(table)] = table
        return memory

    def derived(self, n_arms: int) -> int:
        return standings.n_rows(n_arms)

    def start(self, n_arms: int, horizon: int | None, key: int = 0) -> State:
        state = super().start(n_arms, horizon, key)
        if self.window is not None:
            state.header["next_reset"] = self.reset_offset or self.window
        return state

    def grown(self, header: Header, arms: Table) -> None:
        if arms[header["first"]]["last"] > 0:
            header["first"] = len(arms) - 1
        header["due"] = 0.0

    @property
    def estimated(self) -> Estimated:
        return super().estimated if self.window is None else windowed(self.window)

    def _window(self, horizon: int | None) -> int:
        """Return the ring's length: at most the horizon; 0 without a window."""
        return 0 if self.window is None else ring_length(self.window, horizon)
