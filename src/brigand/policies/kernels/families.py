"""What policies share that know the family of the rewards, and compare by its divergence."""

from __future__ import annotations

import math
from typing import ClassVar

from brigand import checks
from brigand.errors import InvalidValueError
from brigand.policies.base import BoundedPolicy
from brigand.policies.kernels.divergences import KINDS


class FamilyPolicy(BoundedPolicy):
    """Base of policies that compare by a divergence: the rewards' family and its sigma are fields of each."""

    divergence: str
    sigma: float

    assumption: ClassVar[str] = "bounded, or of a one-parameter exponential family"

    def __post_init__(self) -> None:
        super().__post_init__()
        name = type(self).__name__
        if not isinstance(self.divergence, str) or self.divergence not in KINDS:
            raise InvalidValueError(
                f"{name}'s divergence must be one of {', '.join(KINDS)}, not {self.divergence!r}."
            )
        self._keep(sigma=checks.number(f"{name}'s sigma", self.sigma, above=0.0))
        if self.divergence != "gaussian" and self.sigma != 1:
            raise InvalidValueError(f"{name}'s sigma = {self.sigma!r} needs divergence = 'gaussian'.")
        if self.divergence != "bernoulli" and (self.low, self.high) != (0, 1):
            raise InvalidValueError(f"{name}'s low and high need divergence = 'bernoulli'.")

    @property
    def reward_support(self) -> tuple[float, float]:
        if self.divergence == "bernoulli":
            return super().reward_support
        return (-math.inf if self.divergence == "gaussian" else 0.0, math.inf)

    @property
    def must_know(self) -> str:
        if self.divergence == "bernoulli":
            return super().must_know
        return "the family of rewards" + (", sigma" if self.divergence == "gaussian" else "")

    def _family(self) -> tuple[float, float, int, float]:
        return float(self.low), float(self.high - self.low), KINDS[self.divergence], float(self.sigma)
