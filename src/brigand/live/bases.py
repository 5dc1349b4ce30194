"""Bases: states that stand for the beginning of a log, which was pruned.

A log that was pruned begins with a decision, which is the last that its base has seen: so the two can be told
to belong together. A state elsewhere is a shortcut, and is made anew when in doubt; a base is all there is.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from brigand.errors import InvalidValueError, StorageError
from brigand.live.damage import LogCheck, seal, unseal
from brigand.live.engine import Engine
from brigand.live.names import needs_row
from brigand.live.settings import Settings
from brigand.storage.events import ASK, RESUME, Event

Base = tuple[int, str]
"""The number of the last event that it has seen, and a sealed state (`brigand.live.damage.seal`)."""


def write(seq: int, engine: Engine) -> Base:
    """Return the base of a log that begins with the event `seq`, which the engine has seen last."""
    return seq, seal(seq, engine.to_json() | {"step": engine.steps, "waiting": engine.waiting.decisions()})


def state_of(base: Base) -> dict[str, Any]:
    """Return the state in a base.

    Raises
    ------
    StorageError
        It is damaged.
    """
    state = unseal(*base)
    if not isinstance(state, dict) or type(state.get("step")) is not int or not _has_arms(state):
        raise StorageError(
            "the state that the pruned decisions of this bandit led to is damaged in the store, and they "
            "cannot be replayed: put a backup in its place."
        )
    return state


def _has_arms(state: dict[str, Any]) -> bool:
    """Return whether a state has names of arms, and rows of some of them."""
    names, rows = state.get("names"), state.get("rows")
    return (
        isinstance(names, list)
        and isinstance(rows, list)
        and all(type(name) is str for name in names)
        and all(type(row) is int and 0 <= row < len(names) for row in rows)
    )


def read(settings: Settings, base: Base) -> Engine:
    """Return the engine of a base.

    Raises
    ------
    StorageError
        It is damaged, or was written by another version of Brigand.
    """
    return engine_of(settings, state_of(base))


def engine_of(settings: Settings, state: dict[str, Any]) -> Engine:
    """Return the engine of the state in a base; see `read`."""
    engine = Engine.from_json(settings, state)
    if engine is None or not _wait(engine, state.get("waiting")):
        raise StorageError(
            "the state that the pruned decisions of this bandit led to is impossible, or of a version of "
            "Brigand that keeps this policy in another way, and they cannot be replayed."
        )
    return engine


def first_step(base: Base) -> int:
    """Return the number of the decision with which the log begins."""
    return int(state_of(base)["step"])


def names(base: Base | None) -> tuple[list[str], list[int]]:
    """Return the names of all arms that there were, and the rows of those in service."""
    if base is None:
        return [], []
    state = state_of(base)
    return state["names"], state["rows"]


def status(base: Base | None) -> str:
    """Return what was said last of whether the bandit serves: a kind of event."""
    return str(RESUME if base is None else state_of(base).get("status", [RESUME])[0])


def _wait(engine: Engine, decisions: Any) -> bool:
    """Let an engine wait for rewards; False if what is to come is none."""
    if not isinstance(decisions, list):
        return False
    for decision in decisions:
        if not isinstance(decision, list) or list(map(type, decision)) != [int, int, float]:
            return False
        step, arm, at = decision
        if not (0 < step <= engine.steps and 0 <= arm < len(engine.names) and math.isfinite(at)):
            return False
        engine.waiting.add(step, arm, at)
    return True


class Advance(NamedTuple):
    """How a log can be pruned.

    Attributes
    ----------
    base : Base
        With which it begins then.
    first : Event
        The decision with which it begins, which the base has seen.
    decisions : int
        How many are dropped.
    """

    base: Base
    first: Event
    decisions: int


def advance(
    settings: Settings,
    base: Base | None,
    arms: Sequence[tuple[int, Event]],
    pages: Iterable[Sequence[Event]],
    before: float,
    keep: Collection[int],
) -> Advance | None:
    """Find what can be dropped of a log: all before the first decision that is young, or to be kept.

    Parameters
    ----------
    settings : Settings
    base : Base or None
        Where the log begins.
    arms : sequence of tuple
        The events since then that add an arm, with their numbers.
    pages : iterable of sequence of Event
        The log, from the last event that the base has seen.
    before : float
        Seconds since the epoch, UTC.
    keep : collection of int
        Decisions that are not to be dropped, one of which there must be.

    Returns
    -------
    Advance or None
        None if nothing can be dropped.

    Raises
    ------
    StorageError
        A line of the log is damaged, or the base.
    InvalidValueError
        The state of this policy could not be read again.
    """
    rows = [number for number, event in arms if needs_row(event)]
    if base is None:
        engine, number, start = Engine(settings, len(rows)), 1, 1
        check = LogCheck(settings)
    else:
        engine, number = read(settings, base), base[0]
        start = engine.steps
        check = LogCheck(settings, engine.names, engine.row_of.values(), start)
    known = number if base is not None else 0
    for page in pages:
        kept = (event.kind == ASK and (event.at >= before or event.step in keep) for event in page)
        place = next((place for place, is_kept in enumerate(kept) if is_kept), len(page))
        seen = page[: place + 1]
        fresh = seen[max(0, known + 1 - number) :]
        check.check(fresh, max(number, known + 1))
        engine.apply(fresh)
        number += len(seen)
        if place < len(page):
            found = write(number - 1, engine)
            break
    else:
        return None
    if engine.steps <= start or (rows and rows[-1] >= number):
        return None
    try:
        read(settings, found)
    except StorageError:
        raise InvalidValueError(
            f"the state of {settings.policy!r} could not be read again, so the log has to stay whole."
        ) from None
    return Advance(found, seen[-1], engine.steps - start)
