"""Policies that are given as such, or by their name in the catalogue."""

from __future__ import annotations

from typing import Any

from brigand.errors import InvalidValueError, UnknownNameError
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


class UnknownPolicyError(UnknownNameError, KeyError):
    """No policy of the catalogue has that name."""


class Catalogue(dict[str, Policy]):
    """Policies by name; a name may be written in small letters, and without its dashes."""

    def __missing__(self, name: Any) -> Policy:
        """Return the policy that a name plainly means, or raise as `name_of`."""
        return self[self.name_of(name)]

    def name_of(self, name: object) -> str:
        """Return the name of the policy that is meant.

        Raises
        ------
        UnknownPolicyError
            None has that name, or more than one; it is also a KeyError.
        """
        if isinstance(name, str):
            found = [name] if name in self else [known for known in self if _bare(known) == _bare(name)]
            if len(found) == 1:
                return found[0]
        raise UnknownPolicyError("policy", name, self)


def _bare(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum() or c == "+")
