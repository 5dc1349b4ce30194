"""Whole bandits and whole stores: copied, deleted, backed up. No policy is made, and nothing is replayed."""

from __future__ import annotations

import os
from pathlib import Path

from brigand.errors import InvalidValueError
from brigand.live.backends import identity_of
from brigand.storage.place import Place, store_url
from brigand.storage.store import open_store


def copy(store: Place, name: str, to: Place, new_name: str | None = None) -> int:
    """Copy a bandit into another store, or beside itself: its log, its state and the ids of its decisions.

    What the copy decides next has ids of its own.

    Parameters
    ----------
    store : str or path
        Where it is. Nobody there waits meanwhile.
    name : str
    to : str or path
        Where its copy shall be; made if it is not there.
    new_name : str, optional
        Of the copy.

    Returns
    -------
    int
        How many events its log has.

    Raises
    ------
    UnknownNameError
        There is no such bandit.
    InvalidValueError
        There is one of the new name.
    StorageError
        A store cannot be read or written.
    """
    with open_store(store_url(store), create=False) as source:
        found = source.find(name)
        with (
            open_store(store_url(to), create=True) as target,
            source.reading(found.id) as reading,
            target.creating(
                name if new_name is None else new_name,
                identity_of(name, found.uid).copied(reading.steps()).text,
                found.definition,
                found.created_at,
            ) as writing,
        ):
            base, last = reading.base(), 0
            if base is not None:
                writing.rebase(*base)
                last = base[0] - 1
            before = last
            for page in reading.pages():
                writing.append(page, last)
                last += len(page)
            snapshot = reading.snapshot()
            if snapshot is not None:
                writing.save(*snapshot)
    return last - before


def delete(store: Place, name: str) -> None:
    """Delete a bandit with its whole log, for good; who has it open gets a StorageError from then on.

    Raises
    ------
    UnknownNameError
        There is no such bandit.
    StorageError
        The store cannot be written.
    """
    with open_store(store_url(store), create=False) as opened:
        opened.delete(name)


def backup(store: Place, file: str | os.PathLike[str]) -> None:
    """Write a store, as it is at one moment, to a new SQLite file, while others go on with it.

    Parameters
    ----------
    store : str or path
        In SQLite: for PostgreSQL there is ``pg_dump``.
    file : str or path
        Must not be there.

    Raises
    ------
    InvalidValueError
        The file is there, or the store is not in SQLite.
    StorageError
        The store cannot be read, or the file not be written.
    """
    path = Path(file)
    if os.path.lexists(path):
        raise InvalidValueError(f"{str(path)!r} is there already.")
    with open_store(store_url(store), create=False) as opened:
        opened.backup(path)
