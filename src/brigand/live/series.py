"""A bandit over time, for charts: decisions and rewards counted in buckets of steps.

The database counts (`brigand.storage.records.Reading.tally`), and only what has come since the last look: a
reward that comes late goes into the bucket of its decision. When the buckets are full, two become one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brigand.live import bases
from brigand.live.backends import Reading
from brigand.live.names import name_of
from brigand.live.status import audit_rows
from brigand.storage.events import ADD, ASK, DEFAULT, REPLACE, TELL, Tally

BUCKETS = 128
"""Buckets at most; half of them are used at least, once there are so many decisions."""
MARKS = 100
"""Changes of arms, and notes, at most: the latest."""
RECENT = 2_000
"""Decisions that a `Glance` looks back."""
POINTS = 20
"""Of the line in a `Glance`."""

Counts = NDArray[np.int64]
Sums = NDArray[np.float64]


class Mark(NamedTuple):
    """A change of arms, of whether the bandit serves, or a note.

    Attributes
    ----------
    step : int
        The last decision before it; 0 if there was none.
    at : datetime
    action, arm, by, note : str
        As in `brigand.Bandit.audit`.
    """

    step: int
    at: Any
    action: str
    arm: str
    by: str
    note: str


class Series:
    """A bandit's decisions and rewards in buckets of steps; `refresh` brings them up to date.

    Parameters
    ----------
    bandit : Bandit

    Attributes
    ----------
    steps : int
        How many decisions there are.
    width : int
        Steps in a bucket, a power of 2.
    names : list of str
        All arms that there were, by row.
    asked, told : ndarray of int
        Decisions, and rewards that were learned, by bucket and arm.
    reward : ndarray of float
        The sum of those rewards.
    explored, defaulted, late : ndarray of int
        By bucket: decisions that explored, default values that were learned, and rewards that are history
        only.
    first_at : ndarray of float
        When the first decision of a bucket was made, in seconds since 1970; infinity where there is none.
    marks : list of Mark
    """

    def __init__(self, bandit: Any) -> None:
        self._bandit = bandit
        self._clear()

    def _clear(self) -> None:
        self._seq, self.steps, self.width = 0, 0, 1
        self.names: list[str] = []
        self.asked: Counts = np.zeros((BUCKETS, 0), np.int64)
        self.told: Counts = self.asked.copy()
        self.reward: Sums = np.zeros((BUCKETS, 0))
        self.explored: Counts = np.zeros(BUCKETS, np.int64)
        self.defaulted: Counts = self.explored.copy()
        self.late: Counts = self.explored.copy()
        self.first_at: Sums = np.full(BUCKETS, np.inf)
        self.marks: list[Mark] = []
        self._steps_of: dict[int, int] = {}

    def refresh(self) -> Series:
        """Take in what has come since the last call.

        Raises
        ------
        StorageError
            The store cannot be read.
        """
        with self._bandit._session.apart() as log:
            last = log.last()
            if last < self._seq:  # a backup was put in place of the store
                self._clear()
            if last > self._seq:
                self.names = bases.names(log.base())[0] + [name_of(event) for _, event in log.arms()]
                self._widen(log.steps())
                found = log.tally(self._seq, last, self.width)
                self.marks = self._marks(log)
                self._seq = last
                self._add(found)
        return self

    @property
    def used(self) -> int:
        """How many buckets are in use."""
        return -(-self.steps // self.width)

    def _widen(self, steps: int) -> None:
        """Make room for so many decisions, and all arms, in new tables: a copy of this has the old ones."""
        more = len(self.names) - self.asked.shape[1]
        self.asked, self.told = (np.pad(table, ((0, 0), (0, more))) for table in (self.asked, self.told))
        self.reward = np.pad(self.reward, ((0, 0), (0, more)))
        for name in ("explored", "defaulted", "late", "first_at"):
            setattr(self, name, getattr(self, name).copy())
        self.steps = steps
        while steps > self.width * BUCKETS:
            self.width *= 2
            self.asked, self.told, self.reward = map(_halved, (self.asked, self.told, self.reward))
            self.explored, self.defaulted, self.late = map(
                _halved, (self.explored, self.defaulted, self.late)
            )
            pairs = self.first_at.reshape(-1, 2).min(axis=1)
            self.first_at = np.concatenate([pairs, np.full(BUCKETS // 2, np.inf)])

    def _add(self, found: list[Tally]) -> None:
        for bucket, arm, kind, counted, number, total, explored, first_at in found:
            if not (0 <= bucket < BUCKETS and 0 <= arm < len(self.names)):
                continue  # the log is damaged there: who reads the decisions is told
            if kind == ASK:
                self.asked[bucket, arm] += number
                self.explored[bucket] += explored
                self.first_at[bucket] = min(self.first_at[bucket], first_at)
            elif counted:
                self.reward[bucket, arm] += total
                self.told[bucket, arm] += 0 if kind == REPLACE else number
                self.defaulted[bucket] += number if kind == DEFAULT else 0
            elif kind in (TELL, DEFAULT):
                self.late[bucket] += number

    def _marks(self, log: Reading) -> list[Mark]:
        """Return the latest changes; arms that were there from the beginning are none."""
        rows, found = list(audit_rows(log, self.names)), []
        began = rows[0][1]["at"] if rows else None
        for seq, row in rows[-MARKS:]:
            if row["action"] == ADD and row["at"] == began:
                continue
            if seq not in self._steps_of:
                self._steps_of[seq] = log.step_before(seq)
            said = (row[name] for name in ("at", "action", "arm", "by", "note"))
            found.append(Mark(self._steps_of[seq], *said))
        return found


def _halved(table: Any) -> Any:
    """Return a table in which two buckets have become one, and the later half is empty."""
    sums = table.reshape(-1, 2, *table.shape[1:]).sum(axis=1)
    return np.concatenate([sums, np.zeros_like(sums)])


class Glance(NamedTuple):
    """How a bandit does, at a glance.

    Attributes
    ----------
    steps : int
    last_at : float or None
        When the last decision was made.
    since : int
        Decisions since a time that was given.
    line : list of float
        Mean rewards of the last `RECENT` decisions, in `POINTS` groups of the same size, the latest last;
        NaN where there was none.
    """

    steps: int
    last_at: float | None
    since: int
    line: list[float]


def glance(log: Reading, since: float) -> Glance:
    """Return how a bandit does, by few lines of its log.

    Decisions are in the order of their times, but for some that were made elsewhere and taken in later: so
    those since a time are found by bisection.

    Raises
    ------
    StorageError
        The store cannot be read.
    """
    steps = log.steps()
    base = log.base()
    low, high = 0 if base is None else max(0, bases.first_step(base) - 1), steps
    while low < high:
        middle = (low + high + 1) // 2
        at = log.asked_at(middle)
        low, high = (low, middle - 1) if at is not None and at >= since else (middle, high)
    return Glance(steps, log.asked_at(steps), steps - low, _line(log, steps))


def _line(log: Reading, steps: int) -> list[float]:
    width = max(1, -(-min(steps, RECENT) // POINTS))
    used = -(-steps // width)
    first = max(0, used - POINTS)
    sums, told = np.zeros(used - first), np.zeros(used - first)
    for one in log.tally_steps(first * width, width):
        place = one.bucket - first
        if one.counted and one.kind in (TELL, DEFAULT) and 0 <= place < len(sums):
            sums[place] += one.total
            told[place] += one.number
    with np.errstate(invalid="ignore"):
        return list(map(float, sums / told))
