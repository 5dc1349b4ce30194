"""A whole bandit as plain data: its settings, its log and its state."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from brigand.errors import BrigandError, InvalidValueError, StorageError
from brigand.live.backends import require_importable
from brigand.live.damage import GENERATOR, LogCheck, digest
from brigand.live.engine import Engine
from brigand.live.settings import Settings
from brigand.spec import importing_only
from brigand.storage.events import Event

SCHEMA = 2
"""Since 2 there is a checksum."""
UID = re.compile("[0-9a-f]{1,64}")


def write(uid: str, settings: Settings, engine: Engine, events: Sequence[Event]) -> dict[str, Any]:
    """Return a bandit as plain data.

    Raises
    ------
    InvalidValueError
        No other process could make its policy.
    """
    from brigand import __version__

    require_importable(settings)

    snapshot = {
        "schema": SCHEMA,
        "brigand": __version__,
        "uid": uid,
        "settings": settings.to_json(),
        "fields": list(Event._fields),
        "events": [list(column) for column in zip(*events, strict=True)],
        "state": engine.to_json(),
    }
    return snapshot | {"sha256": _checksum(snapshot)}


def _checksum(snapshot: dict[str, Any]) -> str:
    """Return the checksum of all but the checksum."""
    rest = {key: value for key, value in snapshot.items() if key != "sha256"}
    return digest(json.dumps(rest, sort_keys=True))


def read(snapshot: Any, allow: Iterable[str] = ()) -> tuple[str, Settings, list[Event], dict[str, Any]]:
    """Read what `write` gave: identity, settings, events, and the state after them.

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
        uid = snapshot["uid"]
        if not UID.fullmatch(uid):
            raise InvalidValueError(f"this snapshot of a bandit is damaged: its uid is {uid!r}.")
        with importing_only(allow):
            settings = Settings.from_json(snapshot["settings"])
        events = [Event(*row) for row in zip(*snapshot["events"], strict=True)]
        LogCheck(settings).check(events, 1)
        if not events:
            raise InvalidValueError("this snapshot of a bandit is damaged: its log is empty.")
        return uid, settings, events, _state(settings, events, snapshot["state"])
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
