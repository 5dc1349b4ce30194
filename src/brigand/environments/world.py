"""What every world is: K arms that pay rewards, and the regret that is defined there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brigand.spec import Spec

Floats = NDArray[np.float64]


class World(Spec, ABC):
    """Base of all worlds: `Environment`, whose rewards change at breakpoints, `Restless` and `Rested`.

    Attributes
    ----------
    regret_kind : str
        What regret is measured against: ``"dynamic"``: the best arm of each step; ``"static"``: the one arm
        that is best in hindsight; ``"policy"``: the policy that is best in hindsight.
    """

    regret_kind: ClassVar[str] = "dynamic"

    @property
    @abstractmethod
    def n_arms(self) -> int:
        """K."""

    @property
    def breakpoints(self) -> tuple[int, ...]:
        """The first steps of all phases but the first; none where there are no phases."""
        return ()

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """The functions of the user's that it calls."""
        return ()

    @abstractmethod
    def arm_supports(self, horizon: int) -> list[tuple[str, float, float]]:
        """Return what each arm, by a description, pays within `horizon` steps at least and at most.

        Raises
        ------
        InvalidValueError
            The world does not last as long, or its means are not allowed.
        """

    @abstractmethod
    def largest(self, horizon: int) -> float:
        """Return the largest absolute reward that can be drawn within `horizon` steps, a finite number."""

    @abstractmethod
    def mean_gaps(self, horizon: int) -> Floats:
        """Return how much worse than the best each arm is, a mean over the first `horizon` steps, (K,)."""

    @abstractmethod
    def worst_regret(self, steps: ArrayLike) -> Floats:
        """Return the largest regret that is possible after some steps, of the shape of `steps`."""

    @abstractmethod
    def best_total(self, steps: ArrayLike) -> Floats:
        """Return what the regret is measured against: its expected rewards over some steps in all."""

    def instance(self, number: int) -> World:
        """Return the world of which the seeds are larger by `number`; itself, if nothing in it is drawn."""
        return self
