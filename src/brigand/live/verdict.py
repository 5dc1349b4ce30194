"""Which arm leads, how sure that is, and what is missing, in words.

An arm is called the best one once its interval is above those of all others. The intervals are those of
`brigand.live.confidence`, each of K arms with the level 1 - (1 - level) / K: so with probability `level` no
arm is ever called the best one that is not, however often one looks, if means do not change.

What is missing is what it would take if means and variances stayed what they are now, and each arm went on to
be asked as often as of late: then counts grow, and the intervals with them.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brigand import checks
from brigand.live import confidence
from brigand.live.decision import plain
from brigand.live.report import check_support
from brigand.storage.events import ASK
from brigand.words import counted

RECENT = 1_000
"""Decisions that tell how often each arm is asked of late."""
MOST = 10**9
"""More asks than this are not foretold."""

Floats = NDArray[np.float64]


class Known(NamedTuple):
    """What is known of the arms in service: an array each, in units of reward."""

    asked: Floats
    told: Floats
    mean: Floats
    squares: Floats


class Verdict(NamedTuple):
    """Which arm leads, how sure that is, and what is missing.

    Attributes
    ----------
    leader : str or None
        The arm with the highest mean; None as long as there is no reward.
    decided : bool
        Whether its interval is above those of all other arms.
    rivals : tuple of str
        Arms that may be as good or better: their intervals reach the leader's.
    missing : int or None
        About so many more asks would decide, if the differences are what they look like and arms are asked
        as often as of late; 0 if it is decided, None if no number can be told.
    level : float
    text : str
        All of that in words: a sentence or two.
    """

    leader: str | None
    decided: bool
    rivals: tuple[str, ...]
    missing: int | None
    level: float
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data that JSON can hold."""
        return plain(self._asdict()) | {"rivals": list(self.rivals)}


def verdict(bandit: Any, level: float, support: tuple[float, float] | None) -> Verdict:
    """Return what can be said of a bandit: see `brigand.Bandit.verdict`."""
    level = checks.number("level", level, 0.0, 1.0, above=0.0)
    ends = check_support(support) or bandit._support
    with bandit._session.reading() as session:
        engine = session.engine
        rows = [row for row in range(len(engine.names)) if engine.serves(row)]
        names, steps = [engine.names[row] for row in rows], engine.steps
        ledger = engine.ledger[rows]
    found = Known(*(ledger[name].astype(float) for name in Known._fields))
    return verdict_of(names, found, _shares(bandit, rows, steps), level, ends)


def _shares(bandit: Any, rows: list[int], steps: int) -> Floats:
    """Return how often arms were asked for of late, by their rows."""
    with bandit._session.apart() as log:
        found = log.tally_steps(max(0, steps - RECENT), MOST)
    asked = Counter[int]()
    for one in found:
        asked[one.arm] += one.number if one.kind == ASK else 0
    return np.array([asked[row] / max(1, asked.total()) for row in rows])


def verdict_of(
    names: list[str], known: Known, shares: Floats, level: float, support: tuple[float, float]
) -> Verdict:
    """Return the verdict by what is known of each arm, and the share of asks that each gets of late."""
    if not (known.told > 0).any():
        return Verdict(None, False, tuple(names), None, level, "There is no reward yet.")
    means = np.where(known.told > 0, known.mean, -np.inf)
    best = int(means.argmax())
    lower, upper = intervals(known, level, support)
    open_ = [row for row in range(len(names)) if row != best and upper[row] >= lower[best]]
    rivals = tuple(names[row] for row in open_)
    leader = _cut(names[best])
    mean, ends = f"{known.mean[best]:.3g}", _ends(lower[best], upper[best])
    if len(names) == 1:
        text = f"{leader} is the only arm: its mean reward is {mean}{ends}."
        return Verdict(names[best], True, (), 0, level, text)
    if not rivals:
        next_ = max((row for row in range(len(names)) if row != best), key=lambda row: upper[row])
        text = (
            f"{leader} is the best arm: its mean reward is {mean}{ends}, above the interval of every other "
            f"arm; the nearest is {_cut(names[next_])}{_ends(lower[next_], upper[next_])}."
        )
        return Verdict(names[best], True, (), 0, level, text)
    missing = _missing(known, shares, best, open_, level, support)
    unlike = math.isfinite(support[1] - support[0]) | (known.squares > 0)
    others = _listed(rivals, len(names) - 1)
    text = f"{leader} leads so far, with a mean reward of {mean}{ends}, but {others} could be as good or "
    text += "better. " + _what_is_missing(names, known, shares, unlike, [best, *open_], missing)
    return Verdict(names[best], False, rivals, missing, level, text)


def intervals(known: Known, level: float, support: tuple[float, float]) -> tuple[Floats, Floats]:
    """Return intervals that hold the means of all arms at once, at all times."""
    each = 1.0 - (1.0 - level) / max(1, len(known.told))
    told, low, high = np.floor(known.told), *support
    if math.isfinite(low) and math.isfinite(high):
        return confidence.bounded(told, known.mean, low, high, each)
    return confidence.asymptotic(told, known.mean, known.squares, each)


def _missing(
    known: Known, shares: Floats, best: int, open_: list[int], level: float, support: tuple[float, float]
) -> int | None:
    """Return about how many more asks would decide, None if no number can be told."""
    rows = np.array([best, *open_])
    few = Known(*(values[rows] for values in known))
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = shares[rows] * np.where(few.asked > 0, few.told / few.asked, 0.0)
    if (few.told < 1).any() or (few.mean[1:] >= few.mean[0]).any():
        return None
    each = 1.0 - (1.0 - level) * len(rows) / len(known.told)  # `intervals` divides by these few

    def decides(asks: float) -> bool:
        told = few.told + asks * rates
        later = Known(few.asked, told, few.mean, few.squares * told / few.told)
        lower, upper = intervals(later, each, support)
        return bool((upper[1:] < lower[0]).all())

    above = max(1.0, float(known.told.sum()))
    while decides(above) and above > 1.0:
        above /= 4.0
    while not decides(above):
        above *= 4.0
        if above > MOST:
            return None
    below = above / 4.0
    while above / below > 1.05:
        middle = math.sqrt(below * above)
        below, above = (below, middle) if decides(middle) else (middle, above)
    return about(above)


def about(number: float) -> int:
    """Return a number with one digit, or two where the first is 1, rounded up.

    Examples
    --------
    >>> [about(number) for number in (0.5, 7, 12.3, 3810, 123_456)]
    [1, 7, 13, 4000, 130000]
    """
    size = max(1.0, number)
    power = math.floor(math.log10(size))
    unit = int(10.0 ** max(0, power - (size < 2.0 * 10.0**power)))
    return math.ceil(size / unit) * unit


def _what_is_missing(
    names: list[str], known: Known, shares: Floats, unlike: Any, open_: list[int], missing: int | None
) -> str:
    """Say it of the leader, which is the first, and its rivals."""
    if missing is not None:
        return (
            f"About {counted(missing, 'more ask')} at today's rates would tell, if the differences are what "
            "they look like."
        )

    def those(condition: Any) -> str:
        return _listed(tuple(names[row] for row in open_ if condition[row]), len(names))

    if (known.told < 1)[open_].any():
        return f"There is no reward of {those(known.told < 1)} yet."
    if not unlike[open_].all():
        return f"All rewards of {those(~unlike)} were alike, which says nothing of the next ones."
    equal = known.mean >= known.mean[open_[0]]
    if equal[open_[1:]].any():
        return f"As it looks, {those(equal)} earn the same: then no number of asks will tell."
    if (shares == 0.0)[open_].any():
        return f"Of late {those(shares == 0.0)} was not asked for: at such rates nothing more will be known."
    return "At today's rates it would take more than a billion asks to tell."


def _ends(lower: float, upper: float) -> str:
    if not math.isfinite(upper - lower):
        return " (no interval yet)"
    return f" ({lower:.3g} to {upper:.3g})"


def _listed(names: tuple[str, ...], all_: int) -> str:
    if len(names) == all_ > 2:
        return f"all {all_:,} others"
    if len(names) > 3:
        return f"{len(names):,} others"
    shown = [_cut(name) for name in names]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _cut(name: str) -> str:
    """Return a name fit for a sentence: not too long, and in quotes if it has more than one word."""
    short = name if len(name) <= 60 else f"{name[:59]}…"
    return short if short.split() == [short] else f"“{short}”"
