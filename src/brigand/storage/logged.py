"""Decisions with all that a log says about them, a column each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from brigand.storage.events import ASK, DEFAULT, REPLACE, TELL, Logged
from brigand.storage.schema import KINDS

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
OF_DECISIONS = [KINDS[kind] for kind in (ASK, TELL, DEFAULT, REPLACE)]


class Page(NamedTuple):
    """The fields of `Logged`, each of many decisions: arrays of one length, with NaN for None.

    Attributes
    ----------
    step, arm : int64 array
    asked_at : float64 array
    data : list of str
    value, told_at, default, default_at, replaced, replaced_at : float64 array
    counted, default_counted, replaced_counted : bool array
    """

    step: NDArray[np.int64]
    arm: NDArray[np.int64]
    asked_at: Floats
    data: list[str]
    value: Floats
    counted: Flags
    told_at: Floats
    default: Floats
    default_counted: Flags
    default_at: Floats
    replaced: Floats
    replaced_counted: Flags
    replaced_at: Floats

    @classmethod
    def of(cls, rows: Sequence[Logged]) -> Self:
        """Return some decisions, at least one, as columns."""
        step, arm, asked_at, data, *rewards = zip(*rows, strict=True)
        kinds = (np.float64, np.bool_, np.float64) * 3
        return cls(
            np.array(step, np.int64),
            np.array(arm, np.int64),
            np.array(asked_at, np.float64),
            list(data),
            *(np.array(values, kind) for values, kind in zip(rewards, kinds, strict=True)),
        )

    @classmethod
    def of_lines(
        cls,
        kind: Sequence[Any],
        step: Sequence[Any],
        arm: Sequence[Any],
        value: Sequence[Any],
        counted: Sequence[Any],
        at: Sequence[Any],
        data: Sequence[Any],
    ) -> Self:
        """Return decisions from the lines of a log that are about them, in the order of steps and kinds.

        Each parameter is a column of these lines, at least one; `kind` has the codes.

        Raises
        ------
        ValueError
            A decision is not there or there twice, or a reward is of another arm than its decision.
        TypeError, ValueError, OverflowError
            The lines are of no log.
        """
        kinds, steps, arms = (np.array(column, np.int64) for column in (kind, step, arm))
        columns = np.array(value, np.float64), np.array(counted, np.bool_), np.array(at, np.float64)
        asks = np.flatnonzero(kinds == KINDS[ASK])
        one_each = len(asks) == steps[-1] - steps[0] + 1 and (np.diff(steps[asks]) == 1).all()
        if not one_each or steps[asks[0]] != steps[0] or not np.isin(kinds, OF_DECISIONS).all():
            raise ValueError("there is not one decision for each step")
        rewards: list[Any] = []
        for other in (TELL, DEFAULT, REPLACE):
            told = np.flatnonzero(kinds == KINDS[other])
            ask = steps[told] - steps[0]
            if (arms[told] != arms[asks[ask]]).any():
                raise ValueError("a reward is of another arm than its decision")
            for column, nothing in zip(columns, (np.nan, False, np.nan), strict=True):
                rewards.append(np.full(len(asks), nothing))
                rewards[-1][ask] = column[told]
        said = [data[line] for line in asks.tolist()]
        return cls(steps[asks], arms[asks], columns[-1][asks], said, *rewards)

    def rows(self) -> Iterator[Logged]:
        """Yield the decisions one by one."""
        columns = [column if isinstance(column, list) else _plain(column) for column in self]
        return map(Logged._make, zip(*columns, strict=True))


def _plain(column: NDArray[Any]) -> list[Any]:
    return [None if value != value else value for value in column.tolist()]
