"""A whole bandit as plain data: its settings, its log and its state."""

from __future__ import annotations

import gc
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from brigand.checks import MAX_STEPS
from brigand.errors import BrigandError, InvalidValueError, StorageError
from brigand.live import bases
from brigand.live.backends import Log, require_importable
from brigand.live.bases import Base
from brigand.live.damage import GENERATOR, LogCheck
from brigand.live.engine import Engine
from brigand.live.identity import Identity
from brigand.live.names import needs_row
from brigand.live.settings import Settings
from brigand.spec import importing_only
from brigand.storage.events import ASK, Event

SCHEMA = 2
"""Since 2 there is a checksum."""
PART = 10_000
"""Items that are written at once."""


def write(ids: Identity, settings: Settings, state: dict[str, Any], seq: int, log: Log) -> dict[str, Any]:
    """Return a bandit as plain data: its state, and the log up to event `seq`.

    Raises
    ------
    InvalidValueError
        No other process could make its policy.
    """
    from brigand import __version__

    require_importable(settings)
    base = log.base()
    left = seq if base is None else seq + 1 - base[0]
    columns: list[list[Any]] = [[] for _ in Event._fields]
    with _no_collection():
        for page in log.pages():
            for column, values in zip(columns, zip(*page, strict=True), strict=True):
                column.extend(values)
    for column in columns:
        del column[left:]  # came later than the state
    snapshot = {
        "schema": SCHEMA,
        "brigand": __version__,
        "uid": ids.text,
        "settings": settings.to_json(),
        "fields": list(Event._fields),
        "events": columns,
        "state": state,
    }
    if base is not None:
        snapshot["base"] = {"seq": base[0], "state": bases.state_of(base)}
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
    for part in written({key: value for key, value in snapshot.items() if key != "sha256"}):
        found.update(part.encode())
    return found.hexdigest()


def written(value: Any) -> Iterator[str]:
    """Yield what `json.dumps` returns, in parts: a log is long."""
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        for number, key in enumerate(sorted(value)):
            yield f"{', ' if number else '{'}{json.dumps(key)}: "
            yield from written(value[key])
        yield "}" if value else "{}"
    elif isinstance(value, list) and len(value) > PART:
        for start in range(0, len(value), PART):
            yield f"{', ' if start else '['}{json.dumps(value[start : start + PART], sort_keys=True)[1:-1]}"
        yield "]"
    elif isinstance(value, list) and any(isinstance(item, list) for item in value):
        for number, item in enumerate(value):
            yield ", " if number else "["
            yield from written(item)
        yield "]"
    else:
        yield json.dumps(value, sort_keys=True)


class Snapshot(NamedTuple):
    """What is read of a snapshot: the identity of a copy, a log with its base, and the state after it."""

    ids: Identity
    settings: Settings
    events: list[Event]
    state: dict[str, Any]
    base: Base | None


def read(snapshot: Any, allow: Iterable[str] = ()) -> Snapshot:
    """Read what `write` gave.

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
        if not events:
            raise InvalidValueError("this snapshot of a bandit is damaged: its log is empty.")
        base, engine = _engine(settings, events, snapshot.get("base"))
        if not GENERATOR.fullmatch(snapshot["state"]["rng"]):
            raise InvalidValueError("this snapshot is damaged: the state of its generator is none.")
        engine.wind_to(snapshot["state"]["rng"])
        return Snapshot(ids.copied(engine.steps), settings, events, engine.to_json(), base)
    except StorageError as error:
        raise InvalidValueError(f"this snapshot of a bandit is damaged: {error}") from None
    except BrigandError:
        raise
    except (KeyError, TypeError, IndexError, ValueError, AttributeError, RecursionError) as error:
        raise InvalidValueError(f"this snapshot of a bandit is damaged: {error!r}.") from None


def _engine(settings: Settings, events: Sequence[Event], data: Any) -> tuple[Base | None, Engine]:
    """Return the base, and the engine that the log leads to: the state in a snapshot is not believed.

    Whoever forges a state can make its checksum, too. A log in memory does not have the generator, though.
    """
    if data is None:
        LogCheck(settings).check(events, 1)
        return None, Engine.replay(settings, events)
    seq, state = data["seq"], data["state"]
    if type(seq) is not int or not 0 < seq <= MAX_STEPS:
        raise InvalidValueError("this snapshot of a bandit is damaged: its base has no number.")
    engine = bases.engine_of(settings, state)
    base = bases.write(seq, engine)
    first, serving = events[0], engine.row_of.values()
    if first.kind != ASK or first.step != engine.steps or any(map(needs_row, events)):
        raise InvalidValueError("this snapshot of a bandit is damaged: its log does not go on from its base.")
    LogCheck(settings, engine.names, serving, engine.steps - 1).check([first], seq)
    LogCheck(settings, engine.names, serving, engine.steps).check(events[1:], seq + 1)
    engine.apply(events[1:])
    return base, engine
