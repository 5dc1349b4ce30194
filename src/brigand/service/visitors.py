"""Who looks at the pages: signed in by a cookie that scripts cannot read, and not sent by other sites.

The cookie has a random secret of its own, not the key, and is known by its hash, as keys are. A form carries
a token that only this service can make of that secret, masked anew each time, so that what is compressed
with it tells nothing.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from typing import NamedTuple
from urllib.parse import urlsplit

from fastapi import Request, Response

from brigand.service.errors import Refused
from brigand.service.gate import LOOPBACK
from brigand.service.keys import ADMIN, READ, ROLES, SIGNED_IN, Keyring
from brigand.service.limits import Failures, retry_after

COOKIE = "brigand_session"
FAILURES, WITHIN = 10, 60.0
"""So many wrong keys, and in so many seconds, are let pass from an address."""
SITES = ("same-origin", "none")


class SignInNeeded(Exception):
    """Nobody is signed in."""


class Visitor(NamedTuple):
    """Who looks.

    Attributes
    ----------
    key : str or None
        The id of the key; None where no keys are asked for.
    may : frozenset of str
        Of READ and ADMIN.
    bandit : str or None
        The only one that there is for this key.
    secret : bytes
        What tokens are made of.
    """

    key: str | None
    may: frozenset[str]
    bandit: str | None
    secret: bytes

    @property
    def shown(self) -> str:
        """Who it is, for the head of the page."""
        role = "admin" if ADMIN in self.may else "read only"
        return role if self.key is None else f"key {self.key} ({role})"

    def token(self) -> str:
        """Return a token for a form."""
        mask = secrets.token_bytes(len(self._token))
        return base64.urlsafe_b64encode(mask + _xor(mask, self._token)).decode()

    def sent(self, token: str) -> bool:
        """Return whether a token is one of this visitor's."""
        try:
            found = base64.urlsafe_b64decode(token)
        except ValueError:
            return False
        half = len(self._token)
        return len(found) == 2 * half and hmac.compare_digest(_xor(found[:half], found[half:]), self._token)

    @property
    def _token(self) -> bytes:
        return hmac.digest(self.secret, b"brigand: a form of the dashboard", hashlib.sha256)


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


class Door:
    """Lets visitors of the pages in.

    Parameters
    ----------
    keyring : Keyring or None
        None: no keys are asked for, on this machine alone.
    read_only : bool
        Whether nobody may change anything.
    """

    def __init__(self, keyring: Keyring | None, read_only: bool) -> None:
        self._keyring = keyring
        self._failures = Failures(FAILURES, WITHIN)
        may = frozenset({READ} if read_only else {READ, ADMIN})
        self._anybody = Visitor(None, may, None, secrets.token_bytes(32))

    @property
    def has_keys(self) -> bool:
        """Whether keys are asked for."""
        return self._keyring is not None

    async def visitor(self, request: Request) -> Visitor:
        """Return who looks.

        Raises
        ------
        SignInNeeded
            Nobody is signed in.
        Refused
            Another site has sent the request, or it is for another machine.
        StorageError
            The store cannot be read.
        """
        if self._keyring is None:
            host = urlsplit(f"//{request.headers.get('host', '')}").hostname
            if host not in LOOPBACK:
                raise Refused(403, "without keys, this service is for this machine alone.")
            return self._anybody
        cookie = request.cookies.get(COOKIE, "")
        key = await self._keyring.signed_in(cookie)
        if key is None:
            raise SignInNeeded
        request.scope["brigand.key"] = key.id
        may = frozenset(ROLES.get(key.role, ())) & {READ, ADMIN}
        return Visitor(key.id, may, key.bandit, cookie.encode())

    async def sign_in(self, request: Request, text: str) -> str:
        """Return the cookie for somebody who gives a key.

        Raises
        ------
        Refused
            The key is wrong, or may not look; or there were too many wrong ones.
        StorageError
            The store cannot be read or written.
        """
        check_origin(request)
        address = request.client.host if request.client else ""
        if (seconds := self._failures.wait(address)) > 0.0:
            why = f"There were too many wrong keys. Try again in {retry_after(seconds)} seconds."
            raise Refused(429, why, Retry_After=retry_after(seconds))
        key = None if self._keyring is None else await self._keyring.find(text.strip())
        if self._keyring is None or key is None or not ROLES.get(key.role):
            self._failures.add(address)
            raise Refused(403, "This key is not valid.")
        if READ not in ROLES[key.role]:
            raise Refused(403, f"A key of role {key.role} may not look: take one of role read or admin.")
        request.scope["brigand.key"] = key.id
        return await self._keyring.sign_in(key)

    async def sign_out(self, request: Request) -> None:
        """Forget who is signed in."""
        if self._keyring is not None:
            await self._keyring.sign_out(request.cookies.get(COOKIE, ""))


def check_origin(request: Request) -> None:
    """Refuse what the page of another site has sent: browsers say who did.

    Raises
    ------
    Refused
        Another site has sent it.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    own = request.headers.get("host", "")
    if (site is not None and site not in SITES) or (origin is not None and urlsplit(origin).netloc != own):
        raise Refused(403, "This form was sent by a page of another site: nothing was done.")


def give_cookie(request: Request, response: Response, cookie: str) -> None:
    """Give a browser its cookie; an empty one takes it away."""
    response.set_cookie(
        COOKIE,
        cookie,
        max_age=int(86_400 * SIGNED_IN) if cookie else 0,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
