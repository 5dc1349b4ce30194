"""What a bandit earns over an even split, by its holdout.

An ask is in the holdout with probability h, whatever was seen before; then chance alone chooses. With Z = 1
in the holdout, else 0, X the reward, and c any number that was known before, ::

    D = (X - c) ((1 - Z) / (1 - h) - Z / h)

has the expectation of the reward of an ask that the policy answers, less that of one that chance answers,
both given what was before: also where rewards move, and rates of arms with them. c is the mean of the rewards
before, which makes the variance small. The interval is for the average of these expectations over all asks
that have a reward so far, and holds at every number of them: `brigand.logs.sequences` where the range of the
rewards is known; else the asymptotic one of `brigand.live.confidence`.

What is assumed: whether a reward ever arrives does not depend on its value, given the arm; else arms are
compared by the rewards that do.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brigand import checks
from brigand.errors import InvalidValueError
from brigand.live import confidence, history
from brigand.live.decision import plain
from brigand.live.report import check_support
from brigand.logs import sequences
from brigand.storage.events import ASK, DEFAULT, REPLACE, TELL

BY_CHANCE, ELSEWHERE = 1, 2
"""Flags of decisions."""


class Gain(NamedTuple):
    """What a bandit earns over an even split, in units of reward.

    Attributes
    ----------
    gain : float
        By a decision of the policy over one by chance, on average; NaN without rewards.
    lower, upper : float
        Its interval, which holds whenever and however often one looks.
    earned, even : float
        Mean reward of the policy's decisions, and of those in the holdout. Their difference may be another
        than the gain where rewards move.
    decisions, holdout : int
        How many rewards of either there are.
    level : float
    interval : str
        ``"exact"`` if the range of the rewards is known. Else ``"asymptotic"``, and infinite until 30 rewards
        of either kind are not the most common one.
    """

    gain: float
    lower: float
    upper: float
    earned: float
    even: float
    decisions: int
    holdout: int
    level: float
    interval: str

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain data that JSON can hold: None for those that are not finite."""
        return plain(self._asdict())


def gain(bandit: Any, level: float, support: tuple[float, float] | None) -> Gain:
    """Return what a bandit earns: see `brigand.Bandit.gain`."""
    share = bandit._settings.holdout
    level = checks.number("level", level, 0.0, 1.0, above=0.0)
    low, high = check_support(support) or bandit._support
    if share == 0.0:
        raise InvalidValueError(
            f"bandit {bandit._title} has no holdout to compare with: make one with Bandit(..., holdout=0.05)."
        )
    rewards, by_chance = _told(bandit)
    outside = rewards[(rewards < low) | (rewards > high)]
    if len(outside):
        raise InvalidValueError(f"support cannot be [{low:g}, {high:g}]: a reward was {float(outside[0])!r}.")
    return gain_of(rewards, by_chance, share, level, (low, high))


class Earned:
    """What `gain` is made of, for those who look often: only what has come since the last look is read.

    Checksums of the log are not looked at.

    Parameters
    ----------
    bandit : Bandit
        With a holdout.
    """

    def __init__(self, bandit: Any) -> None:
        self._bandit = bandit
        self._clear()

    def _clear(self) -> None:
        self._seq = 0
        self._reward = np.empty(0)
        self._flag = np.empty(0, np.int8)

    def gain(self, level: float = 0.95) -> Gain:
        """Return what the bandit earns now: see `brigand.Bandit.gain`.

        Raises
        ------
        StorageError
            The store cannot be read.
        """
        self._refresh()
        there = ~np.isnan(self._reward) & (self._flag != ELSEWHERE)
        by_chance = self._flag[there] == BY_CHANCE
        bandit = self._bandit
        return gain_of(self._reward[there], by_chance, bandit._settings.holdout, level, bandit._support)

    def _refresh(self) -> None:
        with self._bandit._session.apart() as log:
            last = log.last()
            if last < self._seq:  # a backup was put in place of the store
                self._clear()
            found = log.rewards(self._seq, last) if last > self._seq else []
            self._seq = last
        if not found:
            return
        kinds, steps, values, flags = (np.array(column) for column in zip(*found, strict=True))
        places = steps.astype(np.int64) - 1
        more = max(0, int(places.max()) + 1 - len(self._reward))
        self._reward = np.pad(self._reward, (0, more), constant_values=np.nan)
        self._flag = np.pad(self._flag, (0, more), constant_values=ELSEWHERE)
        asked = kinds == ASK
        self._flag[places[asked]] = flags[asked]
        for kind in (DEFAULT, TELL, REPLACE):  # in this order, for each decision
            told = kinds == kind
            self._reward[places[told]] = values[told].astype(float)


def gain_of(
    rewards: NDArray[np.float64],
    by_chance: NDArray[np.bool_],
    share: float,
    level: float,
    support: tuple[float, float],
) -> Gain:
    """Return the gain by rewards in their order, and which of their decisions were in the holdout."""
    low, high = support
    n, chance = len(rewards), int(by_chance.sum())
    exact = math.isfinite(low) and math.isfinite(high)
    differences = terms(rewards, by_chance, share, 0.5 * (low + high) if exact else 0.0)
    fewest = min(_unlike(rewards[by_chance]), _unlike(rewards[~by_chance]))
    lower, upper = _interval(differences, fewest, level, share, high - low)
    earned, even = (_mean(some) for some in (rewards[~by_chance], rewards[by_chance]))
    kind = "exact" if exact else "asymptotic"
    return Gain(_mean(differences), lower, upper, earned, even, n - chance, chance, level, kind)


def terms(
    rewards: NDArray[np.float64], by_chance: NDArray[np.bool_], share: float, first: float
) -> NDArray[np.float64]:
    """Return D of each decision; `first` is what c is before the first reward."""
    before = (np.cumsum(rewards) - rewards) / np.maximum(np.arange(len(rewards)), 1)
    before[:1] = first
    return (rewards - before) * np.where(by_chance, -1.0 / share, 1.0 / (1.0 - share))


def _interval(
    differences: NDArray[np.float64], fewest: int, level: float, share: float, span: float
) -> tuple[float, float]:
    """Return the interval, where rewards span a range, maybe an infinite one.

    `fewest` rewards of the one side or the other are not all alike: what is too rare to have been seen says
    nothing of the spread.
    """
    n = len(differences)
    if not math.isfinite(span):
        seen = n if fewest >= confidence.MINIMUM else 0
        mean = _mean(differences)
        squares = float(((differences - mean) ** 2).sum())
        lower, upper = confidence.asymptotic([seen], [mean], [squares], level)
        return float(lower[0]), float(upper[0])
    if n == 0:
        return -span, span
    reach = span / min(share, 1.0 - share)
    lower, upper = sequences.running_mean(differences, -reach, reach, level)
    return max(float(lower[-1]), -span), min(float(upper[-1]), span)


def _unlike(rewards: NDArray[np.float64]) -> int:
    """Return how many rewards are not the most common one."""
    return len(rewards) - int(np.unique(rewards, return_counts=True)[1].max(initial=0))


def _mean(numbers: NDArray[np.float64]) -> float:
    return float(numbers.mean()) if len(numbers) else math.nan


def _told(bandit: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the rewards of the bandit's own decisions, in their order, and which are in the holdout."""
    rewards, by_chance = [np.empty(0)], [np.empty(0, np.bool_)]
    for page in history.pages(bandit, 0, None):
        own = np.array([not reason.startswith("recorded:") for reason in page["reason"]], np.bool_)
        there = own & ~np.isnan(page["reward"])
        rewards.append(page["reward"][there])
        by_chance.append(page["holdout"][there])
    return np.concatenate(rewards), np.concatenate(by_chance)
