"""What a policy knows of an arm: for policies that forget, or whose estimate is not the mean of all rewards.

Each kernel is an ``estimate`` (`brigand.policies.base`): it returns the estimate, and the number of rewards
behind it. The words are how decisions speak of them.
"""

from __future__ import annotations

from typing import Any

from brigand.jit import kernel
from brigand.policies.base import Estimated, Header, Table

REMEMBERED = Estimated(thing="remembered reward", none="no reward of {arm} is remembered")

ROBUST = Estimated("robust mean")


def windowed(window: int) -> Estimated:
    """Return the words for a window of so many steps."""
    scope = f" of the last {window} steps"
    return Estimated(scope=scope, none=f"no reward of {{arm}}{scope} is known")


@kernel
def known_mean(parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> tuple[float, float]:
    """Return ``mean`` and ``count``."""
    return arms[arm]["mean"], float(arms[arm]["count"])


@kernel
def known_unit_mean(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int
) -> tuple[float, float]:
    """Return ``mean``, which is of rewards scaled to [0, 1], in units of the rewards, and ``count``."""
    return parameters.low + parameters.width * arms[arm]["mean"], float(arms[arm]["count"])


@kernel
def known_estimate(
    parameters: Any, header: Header, arms: Table, memory: Table, arm: int
) -> tuple[float, float]:
    """Return ``estimate`` and ``count``."""
    return arms[arm]["estimate"], float(arms[arm]["count"])
