"""What belongs to a decision beside its arm and its reward: whom it is for, which request, other metrics."""

from __future__ import annotations

import json
import reprlib
from typing import Any, NamedTuple

from brigand.errors import InvalidValueError, StorageError
from brigand.live.backends import Log
from brigand.live.engine import Engine
from brigand.live.identity import Identity
from brigand.live.settings import PLAIN, Settings, check_key
from brigand.storage.events import ASK, Event, keys_in


class Sticky(NamedTuple):
    """Whom a decision is for, and which request.

    Attributes
    ----------
    unit, request : str or None
        As they are kept.
    """

    unit: str | None
    request: str | None

    @classmethod
    def of(cls, ids: Identity, settings: Settings, unit: object, request: object) -> Sticky | None:
        """Return them, checked; None if neither is given."""
        if unit is None and request is None:
            return None
        if unit is not None:
            name = check_key("unit", unit)
            unit = name if settings.units == PLAIN else ids.tag(name)
        return cls(unit, None if request is None else check_key("request", request))

    @property
    def data(self) -> dict[str, Any]:
        """What the log says of them."""
        found = {} if self.unit is None else {"unit": self.unit}
        return {**found, "keys": self._keys}

    @property
    def _keys(self) -> list[str]:
        keys = [("r", self.request), ("u", self.unit)]
        return [f"{kind}:{name}" for kind, name in keys if name is not None]

    def find(self, log: Log, engine: Engine, rows: list[int] | None) -> tuple[int, int, str] | None:
        """Return step, arm and data of the decision that they have already; None if they need a new one."""
        for key in self._keys:
            event = find(log, key)
            if event is None or event.kind != ASK or event.step is None:
                continue
            if key.startswith("u:"):
                known = log.decisions([event.step]).get(event.step)
                is_open = known is not None and known.told is None and known.default is None
                there = engine.serves(event.arm) if rows is None else event.arm in rows
                if not (is_open and there):
                    continue
            return event.step, event.arm, event.data
        return None


def find(log: Log, key: str) -> Event | None:
    """Return the latest event with a key.

    Raises
    ------
    StorageError
        The event that the store gives has not that key.
    """
    event = log.found(key)
    if event is not None and key not in keys_in(event.data):
        raise StorageError("the store is damaged: what it finds by a key is another line of the log.")
    return event


def data_of(step: int, **more: Any) -> str:
    """Return the data of an event that belongs to a decision, without its step in the column."""
    return json.dumps({"step": step, **more})


def step_in(event: Event) -> int:
    """Return the step in the data of such an event."""
    step: int = json.loads(event.data)["step"]
    return step


def check_value(name: str, value: object) -> str:
    """Return a text for the log: who did something, or a note.

    Raises
    ------
    InvalidValueError
        It is no text, or too long.
    """
    if not isinstance(value, str) or len(value) > 10_000:
        raise InvalidValueError(
            f"{name} must be a text of at most 10,000 characters, not {reprlib.repr(value)}."
        )
    return value


def metric_in(event: Event) -> str:
    """Return the name of the metric in its data."""
    name: str = json.loads(event.data)["metric"]
    return name
