"""A log: decisions that were made, each with its reward, as columns of one length."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class Log:
    """Decisions that were made, in the order of time, with their rewards.

    Attributes
    ----------
    arms : tuple of str
        Names of the arms, K of them.
    arm : int32 array of shape (n,)
        What was chosen: places in `arms`.
    reward : float64 array of shape (n,)
        Finite.
    propensity : float64 array of shape (n,), or None
        The probability with which the arm was chosen, given what was known; NaN where it is not known.
    time, told : int64 array of shape (n,), or None
        When the arm was chosen, and when its reward came: microseconds since 1970, UTC.
    segments : tuple of str
        Names of the segments.
    segment : int32 array of shape (n,), or None
        Places in `segments`.
    sets : bool array of shape (m, K), or None
        The different sets of arms that were available.
    available : int32 array of shape (n,), or None
        Which of the `sets`; None if all arms always were.
    unit : int64 array of shape (n,), or None
        Numbers of the units (users, sessions) that the decisions were made for.
    """

    arms: tuple[str, ...]
    arm: NDArray[np.int32]
    reward: NDArray[np.float64]
    propensity: NDArray[np.float64] | None = None
    time: NDArray[np.int64] | None = None
    told: NDArray[np.int64] | None = None
    segments: tuple[str, ...] = ()
    segment: NDArray[np.int32] | None = None
    sets: NDArray[np.bool_] | None = None
    available: NDArray[np.int32] | None = None
    unit: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            values = getattr(self, field.name)
            if isinstance(values, np.ndarray):
                values.flags.writeable = False

    def __len__(self) -> int:
        return len(self.arm)
