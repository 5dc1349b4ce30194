"""A whole bandit as plain data: its settings, its log and its state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from brigand.errors import BrigandError, InvalidValueError
from brigand.live.engine import Engine
from brigand.live.settings import Settings
from brigand.storage.events import ADD, ASK, Event

SCHEMA = 1


def write(uid: str, settings: Settings, engine: Engine, events: Sequence[Event]) -> dict[str, Any]:
    """Return a bandit as plain data."""
    from brigand import __version__

    return {
        "schema": SCHEMA,
        "brigand": __version__,
        "uid": uid,
        "settings": settings.to_json(),
        "fields": list(Event._fields),
        "events": [list(column) for column in zip(*events, strict=True)],
        "state": engine.to_json(),
    }


def read(snapshot: Any) -> tuple[str, Settings, list[Event], dict[str, Any] | None]:
    """Read what `write` gave: identity, settings, events, and the state.

    Raises
    ------
    InvalidValueError
        It is something else, or of a newer version.
    """
    from brigand import __version__

    schema = snapshot.get("schema") if isinstance(snapshot, dict) else None
    if not isinstance(schema, int):
        raise InvalidValueError("this is no snapshot of a bandit: it has no schema version.")
    if schema > SCHEMA:
        raise InvalidValueError(
            f"this snapshot has schema {schema}, written by brigand {snapshot.get('brigand')}; this is "
            f"brigand {__version__}, which reads schemas up to {SCHEMA}."
        )
    try:
        settings = Settings.from_json(snapshot["settings"])
        events = [Event(*row) for row in zip(*snapshot["events"], strict=True)]
        engine = Engine.from_json(settings, snapshot["state"])
        _check_log(events, engine)
        return snapshot["uid"], settings, events, None if engine is None else snapshot["state"]
    except BrigandError:
        raise
    except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
        raise InvalidValueError(f"this snapshot of a bandit is damaged: {error!r}.") from None


def _check_log(events: Sequence[Event], engine: Engine | None) -> None:
    """Refuse a log that names arms which are not there, or does not lead to this state.

    Raises
    ------
    InvalidValueError
        It does.
    """
    kinds = Counter(event.kind for event in events)
    fits = all(0 <= event.arm < kinds[ADD] for event in events)
    if engine is not None:
        fits &= (len(engine.names), engine.steps) == (kinds[ADD], kinds[ASK])
    if not fits:
        raise InvalidValueError("this snapshot of a bandit is damaged: its log does not fit its state.")
