"""Every error that Brigand raises on purpose.

::

    BrigandError
    ├── InvalidValueError (also a ValueError)     a value that is not allowed
    │   ├── UnsupportedRewardError                a reward outside of what a policy accepts
    │   ├── ConflictingRewardError                a second, different reward of one decision
    │   ├── NameTakenError                        a name that something else has
    │   └── MissingPackageError (an ImportError)  a value that needs a package that is not installed
    ├── UnknownNameError (also a LookupError)     a name that nothing here has
    ├── UnknownDecisionError (also a LookupError) a decision that the bandit has not made
    ├── NotServingError                           a bandit that is paused
    ├── PolicyError                               a policy that broke the contract
    ├── AccessError                               a key that is missing, wrong, or not allowed this
    ├── ServiceError (also an OSError)            a service that does not answer, or not as it should
    ├── ResultFileError (also an OSError)         a result file that cannot be read or written
    └── StorageError (also an OSError)            a store of bandits that cannot be read or written

Each message says what was given and what is allowed.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class BrigandError(Exception):
    """Base of all errors of this package."""


class InvalidValueError(BrigandError, ValueError):
    """A value that is not allowed."""


class UnsupportedRewardError(InvalidValueError):
    """A reward, or a reward distribution, outside of what a policy accepts."""


LISTED = 100
"""So many known names are listed at most."""
CLOSE = 0.75
"""How like what was given a name is, to be meant rather than one that goes on from it after a hyphen."""
SEARCHED = 5000
"""Among so many names a similar one is looked for, which takes some microseconds each."""


class UnknownNameError(BrigandError, LookupError):
    """A name that nothing here has.

    Parameters
    ----------
    kind : str
        What was looked for: ``"policy"``, ``"figure"``, ...
    name : str
        The name given.
    allowed : iterable of str
        The names that exist.
    place : str
        Where it was given, if there are many places: ``"row 3: "``.
    """

    def __init__(self, kind: str, name: object, allowed: Iterable[str], place: str = "") -> None:
        super().__init__(kind, name, sorted(allowed), place)  # so that the error can be pickled

    def __str__(self) -> str:
        kind, name, names, place = self.args
        given = str(name).lower()
        near = difflib.get_close_matches(str(name), names[:SEARCHED], 1, CLOSE)
        near = near or [known for known in names if given and known.lower().startswith(f"{given}-")][:4]
        near = near or difflib.get_close_matches(str(name), names[:SEARCHED], 1)
        near = near or [known for known in names if given and known.lower().startswith(given)][:4]
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
        return f"{place}unknown {kind} {name!r}.{hint} Known: {', '.join(names[:LISTED])}{more}."


class ConflictingRewardError(InvalidValueError):
    """A second reward of one decision, and another one than the first."""


class NameTakenError(InvalidValueError):
    """A name that something else has."""


class MissingPackageError(InvalidValueError, ImportError):
    """A value that needs a package that is not installed."""


class UnknownDecisionError(BrigandError, LookupError):
    """A decision that the bandit has not made."""


class PolicyError(BrigandError):
    """A policy that broke the contract: it chose an arm that is not there."""


class NotServingError(BrigandError):
    """A bandit that is paused, and was asked."""


class AccessError(BrigandError):
    """A service's key that is missing, wrong, over, or not allowed to do this."""


class ServiceError(BrigandError, OSError):
    """A service that does not answer, or not as it should.

    Attributes
    ----------
    status : int or None
        That of its answer; None if there was none.
    retry_after : float
        Seconds after which it wants to be asked again.
    """

    status: int | None = None
    retry_after: float = 0.0


class ClusterError(BrigandError):
    """A cluster was lost in the middle of its work; what was done is kept."""


class ResultFileError(BrigandError, OSError):
    """A result file that cannot be read or written."""


class StorageError(BrigandError, OSError):
    """A store of bandits that cannot be read or written."""
