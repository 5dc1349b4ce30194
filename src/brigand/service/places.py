"""Where the bandits of a service are: in a store, or in its own memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from brigand.errors import InvalidValueError, NameTakenError, UnknownNameError
from brigand.live import batch, stores
from brigand.live.bandit import Bandit
from brigand.live.listing import bandits
from brigand.service.errors import Refused
from brigand.storage.place import Place, store_url
from brigand.storage.store import Store, open_store

BUSY_TIMEOUT = 10.0
"""Seconds that a call waits for other processes; then its answer is 503."""


def no_such_bandit(name: str) -> Refused:
    """Return what is said of a name that no bandit has; it does not say which names there are."""
    return Refused(404, f"there is no bandit {name!r}.", "unknown bandit")


class Bandits(Protocol):
    """All bandits of a service. Its methods are called in threads, and raise StorageError."""

    at_once: bool
    """Whether calls take so little time that they need no thread."""

    def start(self) -> Store | None: ...  # noqa: D102
    def check(self) -> None: ...  # noqa: D102
    def create(self, name: str, settings: dict[str, Any]) -> None: ...  # noqa: D102
    def open(self, name: str) -> Bandit: ...  # noqa: D102
    def delete(self, name: str) -> None: ...  # noqa: D102
    def listed(self, after: str | None, limit: int) -> list[dict[str, Any]]: ...  # noqa: D102
    def close(self) -> None: ...  # noqa: D102


class InStore:
    """Bandits in a store.

    Parameters
    ----------
    store : str or path
    allow : iterable of str
        Modules that stored policies may need.
    """

    at_once = False

    def __init__(self, store: Place, allow: Iterable[str] = ()) -> None:
        self._url = store_url(store)
        self._allow = list(allow)
        self._store: Store | None = None

    def start(self) -> Store:
        """Open the store, and make it if it is not there."""
        self._store = open_store(self._url, create=True, busy_timeout=BUSY_TIMEOUT)
        return self._store

    def check(self) -> None:
        """Raise an error if the store cannot be read, or its tables are of another version."""
        with open_store(self._url, create=False, busy_timeout=BUSY_TIMEOUT) as store:
            store.names(limit=1)

    def create(self, name: str, settings: dict[str, Any]) -> None:
        """Make a bandit."""
        Bandit(store=self._url, name=name, busy_timeout=BUSY_TIMEOUT, **settings).close()

    def open(self, name: str) -> Bandit:
        """Open a bandit."""
        if "\0" in name:  # which no store can hold
            raise no_such_bandit(name)
        try:
            return Bandit.open(self._url, name, allow=self._allow, busy_timeout=BUSY_TIMEOUT)
        except UnknownNameError as error:
            if error.args[0] != "bandit":
                raise
            raise no_such_bandit(name) from None
        except InvalidValueError:
            why = f"the policy of {name!r} needs a module that this service was not allowed to import."
            raise Refused(409, why, "policy not allowed") from None

    def delete(self, name: str) -> None:
        """Delete a bandit."""
        try:
            stores.delete(self._url, name)
        except UnknownNameError:
            raise no_such_bandit(name) from None

    def listed(self, after: str | None, limit: int) -> list[dict[str, Any]]:
        """Return bandits by name: those after a name, `limit` at most."""
        return [
            {
                "name": found.name,
                "policy": found.policy,
                "arms": found.arms,
                "decisions": found.decisions,
                "status": "damaged" if found.damaged else found.status,
            }
            for found in bandits(self._url, after, limit)
        ]

    def close(self) -> None:
        """Close the store."""
        if self._store is not None:
            self._store.close()


class InMemory:
    """Bandits that end with the service: to try it out."""

    at_once = True

    def __init__(self) -> None:
        self._bandits: dict[str, Bandit] = {}

    def start(self) -> None:
        """Do nothing."""

    check = close = start

    def create(self, name: str, settings: dict[str, Any]) -> None:
        """Make a bandit, ready to be asked."""
        bandit = Bandit(**settings)
        batch.run(bandit, [])
        if self._bandits.setdefault(name, bandit) is not bandit:
            raise NameTakenError(f"there is a bandit named {name!r} already.")

    def open(self, name: str) -> Bandit:
        """Return a bandit."""
        try:
            return self._bandits[name]
        except KeyError:
            raise no_such_bandit(name) from None

    def delete(self, name: str) -> None:
        """Delete a bandit."""
        self.open(name)
        self._bandits.pop(name, None)

    def listed(self, after: str | None, limit: int) -> list[dict[str, Any]]:
        """Return bandits by name: those after a name, `limit` at most."""
        names = sorted(name for name in self._bandits if after is None or name > after)
        return [self._shown(name, self._bandits[name]) for name in names[:limit]]

    def _shown(self, name: str, bandit: Bandit) -> dict[str, Any]:
        rows = bandit.summary(plain=True, removed=True)
        return {
            "name": name,
            "policy": bandit.policy.to_json(),
            "arms": [row["arm"] for row in rows if row["in_service"]],
            "decisions": sum(row["asked"] for row in rows),
            "status": bandit.status,
        }
