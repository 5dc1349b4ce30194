"""A dict of policies that knows which one a name plainly means."""

from __future__ import annotations

from typing import Any

from brigand.errors import UnknownNameError
from brigand.policies.base import Policy


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
