"""Where a store is, as people give it; loads nothing."""

from __future__ import annotations

import os

Place = str | os.PathLike[str]
"""Where a store is: its URL, or the path of its file."""


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
