"""Policies that are given as such, or by their name in the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brigand import checks
from brigand.errors import InvalidValueError
from brigand.policies.base import Policy


def policy_of(name: str, value: object) -> Policy:
    """Return a policy that is given as such, or by its name in the catalogue.

    Parameters
    ----------
    name : str
        What is given, for messages.
    value : Policy or str

    Raises
    ------
    UnknownNameError
        No policy has that name.
    InvalidValueError
        It is something else.

    Examples
    --------
    >>> policy_of("policy", "ucb1")
    UCB1(low=0.0, high=1.0, sigma=None)
    """
    if isinstance(value, Policy):
        return value
    if isinstance(value, str):
        from brigand.policies.catalogue import CATALOGUE  # here, for it loads all policies

        return CATALOGUE[value]
    if isinstance(value, type) and issubclass(value, Policy):
        raise InvalidValueError(f"{name} must be a policy: {value.__name__}(...), with its settings.")
    raise InvalidValueError(
        f"{name} must be a policy such as ForcedExploration(Linear()) or UCB1(0, 1), not {value!r}."
    )


def policies_of(policies: Mapping[str, Any]) -> dict[str, Policy]:
    """Return policies by names of the user's, in the order given, each given as `policy_of` says.

    Raises
    ------
    UnknownNameError, InvalidValueError
        There is none, a name is no text, or as `policy_of`.
    """
    if not isinstance(policies, Mapping) or not policies:
        raise InvalidValueError(f"policies must be a dict of name to policy, not {policies!r}.")
    checked = {}
    for name, policy in policies.items():
        if not isinstance(name, str) or not name:
            raise InvalidValueError(f"a policy's name must be a non-empty string, not {name!r}.")
        checks.storable("a policy's name", name)
        checked[name] = policy_of(repr(name), policy)
    return checked
