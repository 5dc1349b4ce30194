"""Where the bandits of a service are: in a store, or in its own memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from brigand.errors import InvalidValueError, NameTakenError, UnknownNameError
from brigand.live import batch, stores
from brigand.live.bandit import Bandit
from brigand.live.listing import Listed, bandits, search
from brigand.live.series import glance
from brigand.service.errors import Refused
from brigand.storage.place import Place, store_url
from brigand.storage.store import Store, open_store

Found = tuple[list[dict[str, Any]], int]
"""Bandits, and how many there are in all."""
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
    def search(self, text: str, order: str, offset: int, limit: int, since: float) -> Found: ...  # noqa: D102
    def largest(self, prefix: str, limit: int) -> tuple[list[str], int]: ...  # noqa: D102
    def close(self) -> None: ...  # noqa: D102


class InStore:
    """Bandits in a store.

    Parameters
    ----------
    store : str or path
    allow : iterable of str
        Modules that stored policies may need.
    create : bool
        Whether the store is made if it is not there.
    """

    at_once = False

    def __init__(self, store: Place, allow: Iterable[str] = (), create: bool = True) -> None:
        self._url = store_url(store)
        self._create = create
        self._allow = list(allow)
        self._store: Store | None = None

    def start(self) -> Store:
        """Open the store."""
        self._store = open_store(self._url, create=self._create, busy_timeout=BUSY_TIMEOUT)
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
        return [_shown(found) for found in bandits(self._url, after, limit)]

    def search(self, text: str, order: str, offset: int, limit: int, since: float) -> Found:
        """Return some bandits whose names hold a text, with how they do; and how many there are."""
        assert self._store is not None
        found, number = search(self._store, text, order, offset, limit, since)
        return [_shown(one.listed) | {"glance": one.glance} for one in found], number

    def largest(self, prefix: str, limit: int) -> tuple[list[str], int]:
        """Return names that begin with a text, of the most decisions; and how many there are in all."""
        assert self._store is not None
        return self._store.largest(prefix, limit)

    def close(self) -> None:
        """Close the store."""
        if self._store is not None:
            self._store.close()


def _shown(found: Listed) -> dict[str, Any]:
    return {
        "name": found.name,
        "policy": found.policy,
        "arms": found.arms,
        "decisions": found.decisions,
        "status": "damaged" if found.damaged else found.status,
    }


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

    def search(self, text: str, order: str, offset: int, limit: int, since: float) -> Found:
        """Return some bandits whose names hold a text, with how they do; and how many there are."""
        names = [name for name in self._bandits.copy() if text.lower() in name.lower()]  # by age
        if order.endswith("name"):
            names.sort()
        elif order.endswith("decisions"):
            names.sort(key=lambda name: self._shown(name, self._bandits[name])["decisions"])
        if order.startswith("-"):
            names.reverse()
        shown = names[offset : offset + limit]
        return [self._seen(name, self._bandits[name], since) for name in shown], len(names)

    def largest(self, prefix: str, limit: int) -> tuple[list[str], int]:
        """Return names that begin with a text, of the most decisions; and how many there are in all."""
        names = sorted(name for name in self._bandits.copy() if name.startswith(prefix))
        names.sort(key=lambda name: -self._shown(name, self._bandits[name])["decisions"])
        return names[:limit], len(names)

    def _seen(self, name: str, bandit: Bandit, since: float) -> dict[str, Any]:
        with bandit._session.apart() as log:
            found = glance(log, since)
        return self._shown(name, bandit) | {"glance": found}

    def _shown(self, name: str, bandit: Bandit) -> dict[str, Any]:
        rows = bandit.summary(plain=True, removed=True)
        return {
            "name": name,
            "policy": bandit.policy.to_json(),
            "arms": [row["arm"] for row in rows if row["in_service"]],
            "decisions": sum(row["asked"] for row in rows),
            "status": bandit.status,
        }
