"""Policies that people name whom nobody trusts: of this package alone, and of a bounded size."""

from __future__ import annotations

import reprlib
from typing import Any

from brigand import checks
from brigand.errors import BrigandError, InvalidValueError
from brigand.policies.base import Policy
from brigand.policies.given import policy_of
from brigand.spec import importing_only, names_in

LARGEST = 100_000
"""The most that a number in a policy's JSON form may be that says how much is kept: a window, say."""
RANGE = ("low", "high")
"""Fields in units of rewards, which may be larger."""
MOST_ROWS = 2_000_000
"""Rows of memory that a bandit may have."""
TRIED = (200_000, 400_000)
"""Horizons at which it is seen whether a policy's memory grows with the horizon."""


def policy_from(value: object, n_arms: int, horizon: int | None) -> Policy:
    """Return a policy by its name in the catalogue, or by its JSON form.

    Parameters
    ----------
    value : str or dict
    n_arms : int
    horizon : int or None
        Of the bandit that it is for.

    Raises
    ------
    UnknownNameError
        There is no policy of this name.
    InvalidValueError
        The JSON form is none, names a module, or needs too much memory.

    Examples
    --------
    >>> policy_from("UCB1", 2, None)
    UCB1(low=0.0, high=1.0, sigma=None)
    >>> policy_from({"type": "os:system"}, 2, None)
    Traceback (most recent call last):
      ...
    brigand.errors.InvalidValueError: 'os:system' is not allowed: only policies of this package are.
    """
    if isinstance(value, dict):
        for name in names_in(value):
            raise InvalidValueError(f"{name!r} is not allowed: only policies of this package are.")
        _check_numbers(value, "")
    try:
        with importing_only(()):
            if isinstance(value, dict):
                policy = Policy.from_json(value)
            else:
                policy = policy_of("policy", checks.text("policy", value))
        _check_memory(policy, n_arms, horizon)
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        if isinstance(error, BrigandError):
            raise
        raise InvalidValueError(f"no policy can be made of {reprlib.repr(value)}.") from error
    return policy


def _check_numbers(value: Any, name: str) -> None:
    """Refuse what would make a state too large to be made."""
    if isinstance(value, dict):
        for key, item in value.items():
            _check_numbers(item, key)
    elif isinstance(value, list):
        for item in value:
            _check_numbers(item, name)
    elif isinstance(value, (int, float)) and name not in RANGE and abs(value) > LARGEST:
        raise InvalidValueError(f"{name} must be at most {LARGEST:,} here, not {value}.")


def _check_memory(policy: Policy, n_arms: int, horizon: int | None) -> None:
    if horizon is None:
        horizon = TRIED[0]  # a policy that needs one says so later
    few, many = (len(policy.memory(2, steps)) for steps in TRIED)
    grows = many > 1.5 * few
    rows = horizon * n_arms if grows else few * n_arms
    if rows > MOST_ROWS:
        raise InvalidValueError(
            f"{type(policy).__name__} would need {rows:,} rows with {n_arms:,} arms and a horizon of "
            f"{horizon:,}: {MOST_ROWS:,} are allowed here."
        )
