"""A whole bandit as plain data: its settings, its log and its state."""

from __future__ import annotations

import gc
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from brigand.errors import BrigandError, InvalidValueError, StorageError
from brigand.live.backends import require_importable
from brigand.live.damage import GENERATOR, LogCheck
from brigand.live.engine import Engine
from brigand.live.identity import Identity
from brigand.live.settings import Settings
from brigand.spec import importing_only
from brigand.storage.events import ASK, Event

SCHEMA = 2
"""Since 2 there is a checksum."""
PART = 10_000
"""Items that are written at once."""


def write(
    ids: Identity, settings: Settings, state: dict[str, Any], pages: Iterable[Sequence[Event]]
) -> dict[str, Any]:
    """Return a bandit as plain data: its log, and its state after that.

    Raises
    ------
    InvalidValueError
        No other process could make its policy.
    """
    from brigand import __version__

    require_importable(settings)
    columns: list[list[Any]] = [[] for _ in Event._fields]
    with _no_collection():
        for page in pages:
            for column, values in zip(columns, zip(*page, strict=True), strict=True):
                column.extend(values)
    snapshot = {
        "schema": SCHEMA,
        "brigand": __version__,
        "uid": ids.text,
        "settings": settings.to_json(),
        "fields": list(Event._fields),
        "events": columns,
        "state": state,
    }
    return snapshot | {"sha256": _checksum(snapshot)}


@contextmanager
def _no_collection() -> Iterator[None]:
    """Let Python not look for garbage meanwhile: there is none, and it takes longer than all the rest."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _checksum(snapshot: dict[str, Any]) -> str:
    """Return the SHA-256 of all but the checksum, as JSON with sorted keys."""
    found = hashlib.sha256()
    for part in _written({key: value for key, value in snapshot.items() if key != "sha256"}):
        found.update(part.encode())
    return found.hexdigest()


def _written(value: Any) -> Iterator[str]:
    """Yield what `json.dumps` returns, in parts: a log is long."""
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        for number, key in enumerate(sorted(value)):
            yield f"{', ' if number else '{'}{json.dumps(key)}: "
            yield from _written(value[key])
        yield "}" if value else "{}"
    elif isinstance(value, list) and len(value) > PART:
        for start in range(0, len(value), PART):
            yield f"{', ' if start else '['}{json.dumps(value[start : start + PART], sort_keys=True)[1:-1]}"
        yield "]"
    elif isinstance(value, list) and any(isinstance(item, list) for item in value):
        for number, item in enumerate(value):
            yield ", " if number else "["
            yield from _written(item)
        yield "]"
    else:
        yield json.dumps(value, sort_keys=True)


def read(snapshot: Any, allow: Iterable[str] = ()) -> tuple[Identity, Settings, list[Event], dict[str, Any]]:
    """Read what `write` gave: the identity of a copy, settings, events, and the state after them.

    Raises
    ------
    InvalidValueError
        It is something else, damaged, of a newer version, or needs a module that is not in `allow`.
    """
    from brigand import __version__

    schema = snapshot.get("schema") if isinstance(snapshot, dict) else None
    if type(schema) is not int or schema < 1:
        raise InvalidValueError("this is no snapshot of a bandit: it has no schema version.")
    if schema > SCHEMA:
        raise InvalidValueError(
            f"this snapshot has schema {schema}, written by brigand {snapshot.get('brigand')}; this is "
            f"brigand {__version__}, which reads schemas up to {SCHEMA}."
        )
    try:
        if schema > 1 and snapshot["sha256"] != _checksum(snapshot):
            raise InvalidValueError("this snapshot of a bandit is damaged: its checksum does not fit.")
        ids = Identity(snapshot["uid"])
        with importing_only(allow):
            settings = Settings.from_json(snapshot["settings"])
        events = [Event(*row) for row in zip(*snapshot["events"], strict=True)]
        LogCheck(settings).check(events, 1)
        if not events:
            raise InvalidValueError("this snapshot of a bandit is damaged: its log is empty.")
        ids = ids.copied(sum(event.kind == ASK for event in events))
        return ids, settings, events, _state(settings, events, snapshot["state"])
    except StorageError as error:
        raise InvalidValueError(f"this snapshot of a bandit is damaged: {error}") from None
    except BrigandError:
        raise
    except (KeyError, TypeError, IndexError, ValueError, AttributeError, RecursionError) as error:
        raise InvalidValueError(f"this snapshot of a bandit is damaged: {error!r}.") from None


def _state(settings: Settings, events: Sequence[Event], state: Any) -> dict[str, Any]:
    """Return the state that the log leads to, with the generator that the given one has.

    Whoever forges a state can make its checksum, too; a log in memory does not have the generator.
    """
    engine = Engine.replay(settings, events)
    if not GENERATOR.fullmatch(state["rng"]):
        raise InvalidValueError("this snapshot of a bandit is damaged: the state of its generator is none.")
    engine.wind_to(state["rng"])
    return engine.to_json()
