"""Where a store is, as people give it; loads nothing."""

from __future__ import annotations

import os
import re

Place = str | os.PathLike[str]
"""Where a store is: its URL, or the path of its file."""


PASSWORD = re.compile(r"(://[^/:@]*:)[^@]*(?=@)|([?&](?:ssl)?password=)[^&]*")


def without_password(store: str) -> str:
    """Return a URL as it may be shown.

    Examples
    --------
    >>> without_password("postgresql://me:secret@host/x?sslpassword=key&sslmode=require")
    'postgresql://me:***@host/x?sslpassword=***&sslmode=require'
    """
    return PASSWORD.sub(lambda found: f"{found[1] or found[2]}***", store)


def store_url(store: Place) -> str:
    """Return the URL of a store that is given by its URL or by the path of its file.

    Examples
    --------
    >>> store_url("shop.db"), store_url("sqlite:////srv/shop.db")
    ('sqlite:///shop.db', 'sqlite:////srv/shop.db')
    """
    if isinstance(store, os.PathLike):
        store = os.fspath(store)
    elif not isinstance(store, str) or "://" in store:
        return store
    return "sqlite:///" + store.replace("%", "%25").replace("?", "%3F")
