"""Who may do what."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from urllib.parse import urlsplit

from fastapi import Request

from brigand.errors import StorageError
from brigand.service.errors import Refused
from brigand.service.keys import ROLES, Keyring
from brigand.service.limits import Rate, retry_after

LOOPBACK = ("localhost", "127.0.0.1", "::1")
NOBODY = "nobody"


class Gate:
    """Lets a request in, or refuses it.

    Parameters
    ----------
    keyring : Keyring or None
        None: no keys are asked for. Then only who addresses the service as this machine is let in, and no
        page of another site that is open in a browser here.
    cors : collection of str
        Other sites whose pages may call.
    rate : Rate
    """

    def __init__(self, keyring: Keyring | None, cors: Collection[str], rate: Rate) -> None:
        self._keyring, self._cors, self._rate = keyring, cors, rate

    async def admit(self, request: Request, role: str) -> None:
        """Let a request in whose key has a role, for the bandit of its path.

        Raises
        ------
        Refused
            It is not let in.
        StorageError
            Keys cannot be read.
        """
        if self._keyring is None:
            self._check_local(request)
            who = NOBODY
        else:
            who = await self._check_key(self._keyring, request, role)
        seconds = self._rate.wait(who)
        if seconds > 0.0:
            raise Refused(
                429, "this key was used too often in the last second.", Retry_After=retry_after(seconds)
            )

    async def _check_key(self, keyring: Keyring, request: Request, role: str) -> str:
        kind, _, text = request.headers.get("authorization", "").partition(" ")
        key = await keyring.find(text.strip()) if kind.lower() == "bearer" else None
        if key is None:
            raise Refused(401, "a valid key is needed: Authorization: Bearer KEY.", WWW_Authenticate="Bearer")
        request.scope["brigand.key"] = key.id
        if role not in ROLES.get(key.role, ()):
            raise Refused(403, f"this needs a key with a role that may {role}, not {key.role}.")
        if key.bandit is not None and request.path_params.get("name") != key.bandit:
            raise Refused(403, "this key is for one bandit alone, and not for this.")
        with suppress(StorageError):  # a store that cannot be written can still be read
            await keyring.used(key)
        return key.id

    def _check_local(self, request: Request) -> None:
        """Refuse other sites: a page anywhere can send requests to the machine of who looks at it."""
        host = urlsplit(f"//{request.headers.get('host', '')}").hostname
        origin = request.headers.get("origin")
        own = f"{request.url.scheme}://{request.headers.get('host', '')}"
        if host not in LOOPBACK or (origin is not None and origin != own and origin not in self._cors):
            raise Refused(403, "without keys, this service is for this machine alone.")
