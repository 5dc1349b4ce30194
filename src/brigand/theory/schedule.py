"""When FE forces: lengths of rounds, completed rounds and forced pulls for every step, without simulation.

Write c_r = ceil(f(r)). The period of a forced arm is c_r + 1, and with l_0 = K and l_r = max(K, c_r + 1):

- round r takes at most l_r steps, whatever the rewards (``docs/errata.md``, lemma A). So after t steps at
  least rho(t) = max{n : l_0 + ... + l_(n-1) <= t} rounds are complete, and every arm was pulled in each.
- an arm is forced at most once a round, and l_r steps or more after its last pull, so at most
  1 + max{n : l_1 + ... + l_n <= t - 1} times.
- in the rounds before the first R with c_R >= K the arms are pulled in turn, K steps a round, all forced.
- if all greedy pulls go to one arm, arm k (0, 1, ...) is forced at the steps k + 1 + l_1 + ... + l_n, n = 0,
  1, ...; the leader only in the rounds before R (lemma B).

Rounds of one length are kept as one group: there are at most sqrt(2 T) groups, and one for a constant f.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brigand import checks, jit
from brigand.errors import InvalidValueError
from brigand.policies.base import Table
from brigand.policies.forced import sequences
from brigand.policies.forced.forced_exploration import ForcedExploration
from brigand.policies.forced.sequences import ExplorationSequence
from brigand.theory.bound import Floats, Steps, check_steps

FAR = 2**61
"""More steps than any run has."""
MOST_GROUPS = 20_000_000


class Schedule:
    """The rounds of FE for one sequence, K and T.

    Parameters
    ----------
    sequence : ExplorationSequence
        A callable is tabulated as far as a run of K arms can get, and its last value goes on: `most_forced`
        may then be larger than it need be.
    n_arms : int
        K.
    horizon : int
        T: the last step that may be asked for, and what the paper's default sequences depend on.
    window : int, optional
        Of SW-FE: then f is at most the window, since an arm absent from it is pulled, and the defaults depend
        on it. The schedule is that of the steps after a reset.

    Raises
    ------
    InvalidValueError
        An argument is not allowed; f is not known beforehand (`AnytimeExponential`); or there are too many
        groups.

    Examples
    --------
    >>> from brigand import Constant
    >>> schedule = Schedule(Constant(4), n_arms=3, horizon=100)
    >>> schedule.rounds([3, 8, 13]).tolist()  # 3 steps, then 5 a round
    [1, 2, 3]
    >>> schedule.forced(100, leader=0).tolist()
    [1, 20, 20]
    """

    def __init__(
        self, sequence: ExplorationSequence, n_arms: int, horizon: int, window: int | None = None
    ) -> None:
        self.n_arms = checks.integer("n_arms", n_arms, 1)
        self.horizon = checks.steps("horizon", horizon)
        policy = ForcedExploration(sequence, window)
        if sequence.needs_steps:
            raise InvalidValueError(
                f"{sequence!r} has no schedule: its f(r) depends on the step at which round r begins, and "
                "so on the rewards; the paper's theorems need f(r) known beforehand."
            )
        form = sequence.form(horizon if window is None else window)
        length = policy.parameters(n_arms, horizon).table
        found: tuple[Any, ...] = (
            *form,
            policy.memory(n_arms, horizon),
            length,
            float(FAR if window is None else window),
            self.horizon,
        )
        find = group_loop()
        n = find(*found, np.empty(0, np.int64), np.empty(0, np.int64))
        if n > MOST_GROUPS:
            raise InvalidValueError(
                f"{sequence!r} has rounds of more than {MOST_GROUPS:,} lengths in {horizon:,} steps."
            )
        self.waits = np.empty(n, np.int64)
        self.counts = np.empty(n, np.int64)
        find(*found, self.waits, self.counts)
        self.lengths = np.maximum(self.n_arms, self.waits + 1)
        # Before each group: how many rounds, round 0 among them, and how many steps.
        self.first = 1 + np.cumsum(self.counts) - self.counts
        self.begin = self.n_arms + np.cumsum(self.lengths * self.counts) - self.lengths * self.counts

    def rounds(self, steps: ArrayLike) -> Steps:
        """Return rho: how many rounds are complete at least, for every reward sequence."""
        t = self._checked(steps)
        return np.where(t < self.n_arms, 0, 1 + self._fits(t - self.n_arms))

    def most_forced(self, steps: ArrayLike) -> Steps:
        """Return H: how often an arm is forced at most, for every reward sequence."""
        return 1 + self._fits(self._checked(steps) - 1)

    def forced(self, steps: ArrayLike, leader: int) -> Steps:
        """Return h: forced pulls of each arm if all greedy pulls go to one, shape ``(*steps.shape, K)``."""
        t, leader = self._checked(steps)[..., None], self._leader(leader)
        places = np.arange(1, self.n_arms + 1)
        pulls = np.where(t < places, 0, 1 + self._fits(np.maximum(t - places, 0)))
        pulls[..., leader] = np.minimum(pulls[..., leader], self.without_greed)
        return pulls

    def completed(self, steps: ArrayLike, leader: int) -> Steps:
        """Return how many rounds are complete where all greedy pulls go to one arm."""
        t, leader = self._checked(steps), self._leader(leader)
        last = self.n_arms - (leader == self.n_arms - 1)
        others = np.where(t < last, 0, 1 + self._fits(np.maximum(t - last, 0)))
        leads = np.where(t <= leader, 0, 1 + self._fits(np.maximum(t - leader - 1, 0)))
        return np.where(others > self.without_greed, others, np.minimum(others, leads))

    @functools.cached_property
    def without_greed(self) -> int:
        """R, the number of rounds in which every pull is forced: those with f(r) <= K - 1."""
        place = int(np.searchsorted(self.waits, self.n_arms))
        return int(self.first[place]) if place < len(self.first) else FAR

    def _fits(self, room: Steps) -> Steps:
        """Return how many rounds 1, 2, ... fit into so many steps."""
        begin = self.begin - self.n_arms
        group = np.searchsorted(begin, room, side="right") - 1
        inside = np.minimum((room - begin[group]) // self.lengths[group], self.counts[group])
        return np.asarray(self.first[group] - 1 + inside)

    def _checked(self, steps: ArrayLike) -> Steps:
        checked = check_steps(steps)
        if checked.size and checked.max() > self.horizon:
            raise InvalidValueError(f"step {checked.max()} is after the horizon, {self.horizon}.")
        return checked

    def _leader(self, leader: int) -> int:
        if self.n_arms == 1:
            raise InvalidValueError("with one arm there is no leader.")
        return checks.integer("leader", leader, 0, self.n_arms - 1)


def doubt(schedule: Schedule, m: float, steps: Steps, *, reset: bool = False, means: int = 2) -> Floats:
    """Return a bound on the expected number of greedy steps, of the first so many, at which a mean misleads.

    Parameters
    ----------
    schedule : Schedule
    m : float
        8 sigma^2 / gap^2 of the arm.
    steps : int64 array of shape (n,)
    reset : bool
        Count from a reset of SW-FE instead of from the start.
    means : {1, 2}
        Of how many arms: of the best and of the wrong one, or of one of them.

    Returns
    -------
    float64 array of shape (n,)
        The sum of phi(pulls) over the steps, phi(n) = min(1, means exp(-n / m)): ``pulls`` are those that
        every arm has for certain before the step. They are rho; after a reset, at
        which a round may have been half complete, one less than the rounds that fit. Steps at which nobody
        is greedy are left out: those before round R, after a reset the first (R - 2) K.
    """
    weigh = functools.partial(phi_sum, m, means)
    in_turn = min(schedule.without_greed, schedule.horizon) - 2 * reset
    silent = np.minimum(steps, schedule.n_arms * max(in_turn, 0))
    of_all = accumulate(schedule, weigh, np.concatenate((steps, silent)), reset=reset)
    return of_all[: len(steps)] - of_all[len(steps) :]


def accumulate(
    schedule: Schedule, total: Callable[[Steps, Steps], Floats], steps: Steps, *, reset: bool = False
) -> Floats:
    """Return sums of a weight of the certain pulls (see `doubt`) over the steps before each of `steps`.

    Rounds of one length are summed at once; ``total(first, end)`` is the sum of the weight of n over first
    <= n < end. The K steps of round 0 are left out.
    """
    begin = schedule.begin - (schedule.n_arms if reset else 0)
    pulls = schedule.first - (2 if reset else 0)
    sums = schedule.lengths * total(pulls, pulls + schedule.counts)
    before = np.concatenate(([0.0], np.cumsum(sums)[:-1]))
    group = np.maximum(np.searchsorted(begin, steps, side="right") - 1, 0)
    inside = np.maximum(steps - begin[group], 0)
    length, first = schedule.lengths[group], pulls[group]
    full = np.minimum(inside // length, schedule.counts[group])
    partial = (inside - full * length) * total(first + full, first + full + 1)
    return np.asarray(before[group] + length * total(first, first + full) + partial)


def phi_sum(m: float, means: int, first: Steps, end: Steps) -> Floats:
    """Return the sum of phi(n) over first <= n < end, see `doubt`.

    phi(n) is phi(1) for n <= 0: nobody is greedy while an arm is absent from the window.
    """
    if m == 0.0:
        return np.zeros(len(first))
    if m == math.inf:
        return np.asarray(end - first, np.float64)
    start = np.maximum(first, 1)
    stop = np.maximum(end, start)
    few = (end - first - (stop - start)) * min(1.0, means * math.exp(-1.0 / m))
    ones = np.clip(math.floor(m * math.log(means)) + 1 - start, 0, stop - start)  # up to here phi is 1
    return np.asarray(few + ones + means * exp_sum(m, start + ones, stop))


def exp_sum(m: float, first: Steps | Floats, end: Steps) -> Floats:
    """Return the sum of exp(-n / m) over first <= n < end, for m > 0."""
    return np.asarray(np.exp(-first / m) * np.expm1((first - end) / m) / math.expm1(-1.0 / m))


@functools.cache
def group_loop() -> Callable[..., int]:
    """Return the compiled loop that finds groups of rounds 1, 2, ... with equal ceil(f(r)).

    Returns
    -------
    callable
        ``loop(kind, number, shift, memory, table, cap, horizon, waits, counts)``: of `sequences.value`, with
        f at most `cap`, until their periods exceed the horizon. It fills ``waits``, ceil(f), and ``counts``
        as far as they have room, and returns the number of groups.
    """

    def find(
        kind: int,
        number: float,
        shift: int,
        memory: Table,
        table: int,
        cap: float,
        horizon: int,
        waits: NDArray[np.int64],
        counts: NDArray[np.int64],
    ) -> int:
        groups, round_, total = 0, 1, 0
        while total <= horizon:
            wait = int(np.ceil(min(sequences.value(kind, number, shift, memory, table, round_, 0), cap)))
            # As many rounds as could be needed; the last of this length is sought by doubling, then halving.
            low, high = round_, round_ + (horizon - total) // (wait + 1) + 1
            stride = 1
            while low < high:
                middle = min(low + stride, high)
                f = min(sequences.value(kind, number, shift, memory, table, middle, 0), cap)
                if int(np.ceil(f)) == wait:
                    low = middle
                    stride *= 2
                else:
                    high = middle - 1
                    stride = max(1, (high - low) // 2)
            if groups < len(waits):
                waits[groups] = wait
                counts[groups] = low - round_ + 1
            groups += 1
            total += (low - round_ + 1) * (wait + 1)
            round_ = low + 1
        return groups

    return jit.compile_loop(find, sequences.value)
