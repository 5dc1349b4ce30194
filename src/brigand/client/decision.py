"""Decisions as clients have them."""

from __future__ import annotations

import dataclasses
import uuid
from typing import Any

from brigand.client import answers

FALLBACK = "fallback-"
"""Ids of decisions that the service does not know begin so."""


@dataclasses.dataclass(frozen=True)
class Decision:
    """An arm that was chosen.

    Attributes
    ----------
    id : str
        Tell the reward with this.
    arm : str
    step : int
        Its number among the bandit's decisions, from 1; 0 if it `is_fallback`.
    explored : bool
        Whether it was chosen in spite of what is known.
    propensity : float or None
        The probability with which the arm was chosen; None where it is not known.
    holdout : bool
        Whether chance alone has chosen the arm, for the sake of `Client.gain`.
    reason : str
        Why the arm was chosen, or why there is a fallback, in one sentence.

    Examples
    --------
    >>> decision = Decision.fall_back("red", "the service did not answer within 0.2 seconds")
    >>> decision.arm, decision.is_fallback
    ('red', True)
    >>> decision.reason
    'fallback: the service did not answer within 0.2 seconds'
    """

    id: str
    arm: str
    step: int
    explored: bool
    propensity: float | None
    holdout: bool
    reason: str

    @property
    def is_fallback(self) -> bool:
        """Whether the bandit did not choose the arm: a fallback, or the arm of a bandit that has ended."""
        return self.step == 0

    @classmethod
    def fall_back(cls, arm: str, why: str) -> Decision:
        """Return an arm that nobody chose."""
        return cls(f"{FALLBACK}{uuid.uuid4().hex[:12]}", arm, 0, False, None, False, f"fallback: {why}")

    @classmethod
    def read(cls, answer: Any) -> Decision:
        """Return what the service has answered.

        Raises
        ------
        ServiceError
            That is no decision.
        """
        propensity = answers.field(answer, "propensity", (float, int, type(None)))
        return cls(
            answers.field(answer, "id", str),
            answers.field(answer, "arm", str),
            answers.field(answer, "step", int),
            answers.field(answer, "explored", bool),
            None if propensity is None else float(propensity),
            answers.field(answer, "holdout", bool),
            answers.field(answer, "reason", str),
        )
