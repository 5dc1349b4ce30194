"""Keys of the service, in a store: who may do what, until when. The keys themselves are not stored.

A row has a hash of its key, from which the key cannot be had.
"""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import bindparam

from brigand.storage.schema import SERVICE_KEYS as KEYS
from brigand.storage.store import Store

ALL = sa.select(KEYS).order_by(KEYS.c.created_at, KEYS.c.id)
ADD = KEYS.insert()
_this = KEYS.c.id == bindparam("key")
REVOKE = KEYS.update().where(_this & KEYS.c.revoked_at.is_(None)).values(revoked_at=bindparam("at"))
DROP = KEYS.delete().where(_this)
OLD = KEYS.delete().where((KEYS.c.role == bindparam("of")) & (KEYS.c.expires_at < bindparam("now")))
USE = KEYS.update().where(_this).values(used_at=bindparam("at"))


class KeyRecord(NamedTuple):
    """What is known of a key. Times are seconds since the epoch, UTC.

    Attributes
    ----------
    id : str
        The part of the key that anybody may know.
    digest : str
        A hash of the other part.
    role : str
    bandit : str or None
        The only bandit that it is for; None for all.
    label : str
        Whose it is.
    created_at : float
    expires_at, revoked_at, used_at : float or None
    """

    id: str
    digest: str
    role: str
    bandit: str | None
    label: str
    created_at: float
    expires_at: float | None = None
    revoked_at: float | None = None
    used_at: float | None = None


def keys(store: Store) -> list[KeyRecord]:
    """Return all keys, also those that are revoked, by age.

    Raises
    ------
    StorageError
        The store cannot be read.
    """
    with store.connections.reading() as transaction:
        return [KeyRecord(*row) for row in transaction.rows(ALL, {})]


def add(store: Store, key: KeyRecord) -> None:
    """Add a key.

    Raises
    ------
    StorageError
        The store cannot be written.
    """
    with store.connections.writing() as transaction:
        transaction.run(ADD, key._asdict())


def revoke(store: Store, id: str, at: float) -> bool:
    """Revoke a key, and return whether there is one that was not revoked.

    Raises
    ------
    StorageError
        The store cannot be written.
    """
    with store.connections.writing() as transaction:
        return transaction.run(REVOKE, {"key": id, "at": at}) > 0


def used(store: Store, id: str, at: float) -> None:
    """Note when a key was used last.

    Raises
    ------
    StorageError
        The store cannot be written.
    """
    with store.connections.writing() as transaction:
        transaction.run(USE, {"key": id, "at": at})


def sign_in(store: Store, record: KeyRecord) -> None:
    """Keep what a browser holds in place of a key, and drop what has expired of its kind.

    Raises
    ------
    StorageError
        The store cannot be written.
    """
    with store.connections.writing() as transaction:
        transaction.run(OLD, {"of": record.role, "now": record.created_at})
        transaction.run(ADD, record._asdict())


def drop(store: Store, id: str) -> None:
    """Drop a row.

    Raises
    ------
    StorageError
        The store cannot be written.
    """
    with store.connections.writing() as transaction:
        transaction.run(DROP, {"key": id})
