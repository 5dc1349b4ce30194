"""What every reward distribution is: a frozen dataclass that knows its mean, its variance and its support.

It describes itself to the compiled simulation as a law (`brigand.environments.draw`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brigand.environments.totals import Total
from brigand.spec import Spec

Floats = NDArray[np.float64]


class Law(NamedTuple):
    """A distribution as the kernel `draw` takes it."""

    kind: int
    a: float = 0.0
    b: float = 0.0
    c: float = -math.inf
    d: float = math.inf
    table: Floats = np.empty(0)
    size: int = 0


@dataclass(frozen=True)
class Distribution(Spec, ABC):
    """Base of all reward distributions.

    Raises
    ------
    InvalidValueError
        A parameter is NaN, infinite, no number, or outside of its range; all subclasses raise it.
    """

    @property
    @abstractmethod
    def mean(self) -> float:
        """The expectation, exact."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance; may be infinite."""

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """The least and the greatest possible reward; may be infinite."""

    @abstractmethod
    def law(self) -> Law:
        """Return the distribution as the kernel takes it."""

    def total(self) -> Total:
        """Return the law of its sums, if one is known."""
        return Total()
