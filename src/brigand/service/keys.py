"""Keys and what they allow.

A key is ``brg_ID_SECRET``. The secret has 256 random bits, so its SHA-256 can be stored as it is: who has the
hash would have to try 2^255 secrets. Slow hashes are for passwords, which people choose from far fewer.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable
from typing import Any

from brigand import checks
from brigand.errors import InvalidValueError, UnknownNameError
from brigand.storage import service_keys
from brigand.storage.place import Place, store_url
from brigand.storage.service_keys import KeyRecord
from brigand.storage.store import Store, open_store

READ, DECIDE, ADMIN = "read", "decide", "admin"
SESSION = "session"
"""The role of what a browser holds for somebody who has signed in with a key: for pages, not the API."""
ROLES = {READ: {READ}, DECIDE: {DECIDE}, ADMIN: {READ, DECIDE, ADMIN}}
"""What each role may do: see what there is, ask and tell, and all."""
FORM = re.compile(r"brg_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
FRESH = 1.0
"""Seconds that what was read of keys is believed: a revoked key works no longer than that."""
USED_EVERY = 60.0
"""Seconds between two notes of when a key was used."""
DAY = 86400.0
SIGNED_IN = 0.5
"""Days that somebody stays signed in."""
COOKIE = re.compile(r"([0-9a-f]{12})\.([A-Za-z0-9_-]{43})")


def digest(secret: str) -> str:
    """Return the hash of a key's secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def create(
    store: Place, role: str, *, bandit: str | None = None, expires: float | None = None, label: str = ""
) -> str:
    """Make a key in a store, which is made if it is not there, and return it: it is not stored.

    Parameters
    ----------
    store : str or path
    role : str
        ``"read"``, ``"decide"`` or ``"admin"``.
    bandit : str, optional
        The only bandit that it is for, which need not be there yet.
    expires : float, optional
        Days that it works; by default until it is revoked.
    label : str
        Whose it is.

    Raises
    ------
    InvalidValueError
        A value is not allowed.
    StorageError
        The store cannot be written.
    """
    if role not in ROLES:
        raise InvalidValueError(f"role must be {', '.join(ROLES)}; not {role!r}.")
    now = time.time()
    until = None if expires is None else now + DAY * checks.number("expires", expires, 0.0, 36500.0)
    id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    record = KeyRecord(id, digest(secret), role, bandit, checks.text("label", label), now, until)
    with open_store(store_url(store), create=True) as opened:
        service_keys.add(opened, record)
    return f"brg_{id}_{secret}"


def all_keys(store: Place) -> list[KeyRecord]:
    """Return all keys in a store.

    Raises
    ------
    StorageError
        The store is not there or cannot be read.
    """
    with open_store(store_url(store), create=False) as opened:
        return [key for key in service_keys.keys(opened) if key.role != SESSION]


def revoke(store: Place, id: str) -> None:
    """Revoke a key, by its id.

    Raises
    ------
    UnknownNameError
        No key that works has this id.
    StorageError
        The store cannot be written.
    """
    with open_store(store_url(store), create=False) as opened:
        if not service_keys.revoke(opened, id, time.time()):
            working = [key.id for key in service_keys.keys(opened) if key.revoked_at is None]
            raise UnknownNameError("key", id, working)


def state(key: KeyRecord, now: float) -> str:
    """Return whether a key works: ``"valid"``, ``"revoked"`` or ``"expired"``."""
    if key.revoked_at is not None:
        return "revoked"
    return "expired" if key.expires_at is not None and key.expires_at <= now else "valid"


class Keyring:
    """Knows keys again. All keys are read once in a second, and anew for one that is not known.

    Parameters
    ----------
    store : Store
    run : callable
        Runs a function in another thread, and returns what can be awaited.
    """

    def __init__(self, store: Store, run: Callable[..., Any]) -> None:
        self._store = store
        self._run = run
        self._known: dict[str, KeyRecord] = {}
        self._noted: dict[str, float] = {}
        self._read_at = float("-inf")
        self._reading: asyncio.Task[None] | None = None

    async def find(self, text: str) -> KeyRecord | None:
        """Return what is known of a key that works, else None.

        Raises
        ------
        StorageError
            The store cannot be read.
        """
        form = FORM.fullmatch(text)
        if form is None:
            return None
        return await self._find(*form.groups())

    async def _find(self, id: str, secret: str) -> KeyRecord | None:
        if time.monotonic() - self._read_at > FRESH:
            await self._read()
        for _ in range(2):  # what others read already may be older than a new key
            if id not in self._known:
                await self._read()
        record, now = self._known.get(id), time.time()
        if record is None or not hmac.compare_digest(record.digest, digest(secret)):
            return None
        return record if state(record, now) == "valid" else None

    async def sign_in(self, key: KeyRecord) -> str:
        """Return what a browser may hold in place of a key: it is known again by all services of the store.

        Raises
        ------
        StorageError
            The store cannot be written.
        """
        now, id, secret = time.time(), secrets.token_hex(6), secrets.token_urlsafe(32)
        until = now + DAY * SIGNED_IN
        record = KeyRecord(id, digest(secret), SESSION, key.bandit, key.id, now, until)
        await self._run(service_keys.sign_in, self._store, record)
        return f"{id}.{secret}"

    async def signed_in(self, cookie: str) -> KeyRecord | None:
        """Return the key that somebody has signed in with, if it still works, else None.

        Raises
        ------
        StorageError
            The store cannot be read.
        """
        form = COOKIE.fullmatch(cookie)
        found = None if form is None else await self._find(*form.groups())
        if found is None or found.role != SESSION:
            return None
        key = self._known.get(found.label)
        return key if key is not None and state(key, time.time()) == "valid" else None

    async def sign_out(self, cookie: str) -> None:
        """Forget what a browser holds.

        Raises
        ------
        StorageError
            The store cannot be written.
        """
        form = COOKIE.fullmatch(cookie)
        if form is not None and await self.signed_in(cookie) is not None:
            self._known.pop(form[1], None)
            await self._run(service_keys.drop, self._store, form[1])

    async def used(self, key: KeyRecord) -> None:
        """Note that a key was used, if that was not done a moment ago."""
        now = time.time()
        if now - self._noted.get(key.id, key.used_at or 0.0) < USED_EVERY:
            return
        self._noted[key.id] = now
        await self._run(service_keys.used, self._store, key.id, now)

    async def _read(self) -> None:
        """Read all keys, together with those who want that at the same time."""
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._read_now())
        await asyncio.shield(self._reading)

    async def _read_now(self) -> None:
        try:
            began = time.monotonic()
            found = await self._run(service_keys.keys, self._store)
            self._known, self._read_at = {key.id: key for key in found}, began
        finally:
            self._reading = None
