"""What a rule would do in each row of a log: its probabilities, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from brigand import checks
from brigand.errors import InvalidValueError, UnknownNameError
from brigand.logs.log import Log

UNIFORM = "uniform"
SUM = 1e-9
"""So far from 1 may probabilities sum."""

Floats = NDArray[np.float64]
Probabilities: TypeAlias = Mapping[str, float]
Target: TypeAlias = str | Probabilities | Mapping[str, Probabilities] | Log


class Rule(NamedTuple):
    """A rule's probabilities in the rows of a log.

    Rows with the same segment and the same available arms are of one kind.

    Attributes
    ----------
    table : float64 array of shape (kinds, K)
        Each row sums to 1.
    kind : int64 array of shape (n,)
        Of each row of the log.
    segment : int64 array of shape (kinds,)
        Place of each kind's segment; 0 where the log has none.
    text : str
        What the rule is, in words.
    """

    table: Floats
    kind: NDArray[np.int64]
    segment: NDArray[np.int64]
    text: str

    def chosen(self, log: Log) -> Floats:
        """Return the rule's probability of what was chosen in each row."""
        chances: Floats = self.table[self.kind, log.arm]
        return chances


def resolve(log: Log, target: Target) -> Rule:
    """Return the probabilities that a target gives to the arms in each row of a log.

    Raises
    ------
    InvalidValueError
        They are negative, do not sum to 1, or a row has none of the target's arms available.
    UnknownNameError
        The target names an arm or a segment that the log does not have.
    """
    segments, text = _by_segment(log, target)
    code = np.zeros(len(log), np.int64) if log.segment is None else log.segment.astype(np.int64)
    if log.available is None or log.sets is None:
        kinds, kind = np.unique(code, return_inverse=True)
        segment, allowed = kinds, np.ones((len(kinds), len(log.arms)), bool)
    else:
        kinds, kind = np.unique(code * len(log.sets) + log.available, return_inverse=True)
        segment, allowed = kinds // len(log.sets), log.sets[kinds % len(log.sets)]
    table = np.where(allowed, segments[segment if len(segments) > 1 else np.zeros_like(segment)], 0)
    total = table.sum(axis=1, keepdims=True)
    if (total == 0).any():
        row = int(np.argmax((total == 0)[kind, 0]))
        raise InvalidValueError(f"in row {row} of the log no arm is available that the target would choose.")
    return Rule(table / total, kind.astype(np.int64), segment.astype(np.int64), text)


def _by_segment(log: Log, target: Target) -> tuple[Floats, str]:
    """Return probabilities of shape (1, K), or one row a segment, and the target in words."""
    if isinstance(target, Log):
        return _shares(log, target)
    if isinstance(target, str):
        if target == UNIFORM:
            return np.full((1, len(log.arms)), 1 / len(log.arms)), "uniform over the available arms"
        return np.eye(len(log.arms))[[_place("arm", target, log.arms)]], f"always {target!r}"
    if not isinstance(target, Mapping) or not target:
        raise InvalidValueError(
            "target must be 'uniform', the name of an arm, a mapping of arms to probabilities, one of "
            f"segments to such mappings, or a log, not {target!r}."
        )
    nested = [isinstance(value, Mapping) for value in target.values()]
    if not any(nested):
        return _probabilities("target", target, log)[None], _words(target)
    if not all(nested):
        raise InvalidValueError("target must be a mapping of arms, or of segments: it is both.")
    if log.segment is None:
        raise InvalidValueError("target has probabilities per segment, and the log has no segments.")
    table = np.full((len(log.segments), len(log.arms)), np.nan)
    for name, chances in target.items():
        table[_place("segment", name, log.segments)] = _probabilities(f"target[{name!r}]", chances, log)
    absent = np.isnan(table[:, 0]) & (np.bincount(log.segment, minlength=len(log.segments)) > 0)
    if absent.any():
        raise InvalidValueError(f"target has no probabilities for segment {_first(log.segments, absent)!r}.")
    return np.nan_to_num(table), "; ".join(
        f"{name}: {_words(chances)}" for name, chances in target.items() if isinstance(chances, Mapping)
    )


def _probabilities(name: str, given: object, log: Log) -> Floats:
    assert isinstance(given, Mapping)
    chances = np.zeros(len(log.arms))
    for arm, chance in given.items():
        chances[_place("arm", arm, log.arms)] = checks.number(f"{name}[{arm!r}]", chance, 0, 1)
    if abs(chances.sum() - 1) > SUM:
        raise InvalidValueError(f"the probabilities of {name} must sum to 1, not {chances.sum():.12g}.")
    return chances


def _shares(log: Log, other: Log) -> tuple[Floats, str]:
    """Return how often another log chose each arm, per segment if both have segments."""
    if not len(other):
        raise InvalidValueError("the log that is the target is empty.")
    known = {name: place for place, name in enumerate(log.arms)}
    used = np.bincount(other.arm, minlength=len(other.arms)) > 0
    for name in np.array(other.arms, dtype=object)[used]:
        _place("arm", name, log.arms)
    place = np.array([known.get(name, 0) for name in other.arms])
    if log.segment is None or other.segment is None:
        counts = np.bincount(place[other.arm], minlength=len(log.arms))[None]
    else:
        of = np.array([log.segments.index(s) if s in log.segments else -1 for s in other.segments])
        rows = of[other.segment]
        kept = rows >= 0
        flat = rows[kept] * len(log.arms) + place[other.arm[kept]]
        counts = np.bincount(flat, minlength=len(log.segments) * len(log.arms))
        counts = counts.reshape(len(log.segments), len(log.arms))
        empty = (counts.sum(axis=1) == 0) & (np.bincount(log.segment, minlength=len(log.segments)) > 0)
        if empty.any():
            raise InvalidValueError(
                f"the log that is the target has no rows of segment {_first(log.segments, empty)!r}."
            )
    shares: Floats = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return shares, "the shares of another log"


def _place(kind: str, name: object, names: tuple[str, ...]) -> int:
    try:
        return names.index(str(name))
    except ValueError:
        raise UnknownNameError(kind, str(name), names) from None


def _first(names: tuple[str, ...], where: NDArray[np.bool_]) -> str:
    return names[int(np.argmax(where))]


def _words(chances: Mapping[str, Any]) -> str:
    shown = ", ".join(f"{arm} {chance:g}" for arm, chance in list(chances.items())[:6])
    return shown + (f" and {len(chances) - 6} more" if len(chances) > 6 else "")
