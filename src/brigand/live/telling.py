"""What is told of decisions: rewards, parts of rewards that add up, corrections, other metrics.

Each function runs inside an operation that writes. It refuses all or nothing: what is wrong is found before
anything moves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from brigand.errors import ConflictingRewardError, UnknownDecisionError, UnsupportedRewardError
from brigand.live.beside import data_of, find
from brigand.live.decision import Told
from brigand.live.session import Session
from brigand.live.settings import check_key
from brigand.storage.events import METRIC, PART, REPLACE, TELL, Event, Found


def tell(bandit: Any, session: Session, given: Iterable[tuple[int, float]]) -> list[Told]:
    """Tell rewards by step: see `brigand.Bandit.tell`."""
    given = list(given)
    now = bandit._now()
    found = session.log.decisions([step for step, _ in given])
    fresh: dict[int, float] = {}
    for step, reward in given:
        made = require_made(bandit, session, found, step)
        before = fresh.setdefault(step, reward) if made.told is None else made.told
        if before != reward and made.replaced != reward:
            raise ConflictingRewardError(
                f"decision {step} of bandit {bandit._title} was told {before!r} before, and now "
                f"{reward!r}: a reward is told once; replace=True corrects it."
            )
    overdue = bandit._settle(session, now)
    events: dict[int, Event] = {}
    results = []
    for step, reward in given:
        if step not in fresh or step in events:
            results.append(Told.REPEATED)
            continue
        made = found[step]
        counted = made.default is None and step not in overdue and session.engine.serves(made.arm)
        events[step] = Event(TELL, step, made.arm, reward, counted, now, "")
        results.append(Told.LEARNED if counted else Told.HISTORY)
    if events:
        told_now = list(events.values())
        session.moving().take(told_now)
        session.keep(told_now)
    return results


def require_made(bandit: Any, session: Session, found: dict[int, Found], step: int) -> Found:
    """Return a decision and what is known of it.

    Raises
    ------
    UnknownDecisionError
        It was not made, or dropped.
    """
    if step in found:
        return found[step]
    was = f"has made no decision number {step} yet"
    if step <= session.engine.steps:
        was = f"has dropped decision {step}, to which no reward can be told any more (prune)"
    raise UnknownDecisionError(f"bandit {bandit._title} {was}.")


def add_parts(
    bandit: Any, session: Session, given: Iterable[tuple[int, float]], request: str | None
) -> list[Told]:
    """Add to rewards that add up, each by step; with `request`, of one decision."""
    given, results = list(given), []
    low, high = bandit._support
    now = bandit._now()
    found = session.log.decisions([step for step, _ in given])
    for step, _ in given:
        require_made(bandit, session, found, step)
    bandit._settle(session, now)
    key = None if request is None else f"p:{given[0][0]}:{check_key('request', request)}"
    if key is not None:
        before = find(session.log, key)
        if before is not None:
            return _again(bandit, "part", before.value, given[0])
    events, sums = [], {step: list(session.engine.parts.get(step, ())) for step, _ in given}
    for step, part in given:
        arm, is_open = found[step].arm, session.engine.waiting.has(step)
        sums[step].append(part)
        total = math.fsum(sums[step])
        if is_open and not low <= total <= high:
            raise UnsupportedRewardError(
                f"decision {step}: with {part!r} its rewards add up to {total!r}, and "
                f"{type(bandit.policy).__name__} needs rewards in [{low:g}, {high:g}]. Nothing was told."
            )
        more = {} if key is None else {"keys": [key]}
        events.append(Event(PART, None, arm, part, is_open, now, data_of(step, **more)))
        results.append(Told.ADDED if is_open else Told.HISTORY)
    session.moving().take(events)
    session.keep(events)
    return results


def tell_metric(
    bandit: Any, session: Session, given: tuple[int, float], metric: str, replace: bool
) -> list[Told]:
    """Tell another metric of a decision: its step, and the value."""
    step, value = given
    now = bandit._now()
    made = require_made(bandit, session, session.log.decisions([step]), step)
    key = f"m:{step}:{metric}"
    before = find(session.log, key)
    if before is not None and (before.value == value or not replace):
        return _again(bandit, metric, before.value, given)
    event = Event(METRIC, None, made.arm, value, False, now, data_of(step, metric=metric, keys=[key]))
    session.moving().take([event])
    session.keep([event])
    return [Told.HISTORY]


def _again(bandit: Any, what: str, before: Any, given: tuple[int, float]) -> list[Told]:
    step, value = given
    if before != value:
        raise ConflictingRewardError(
            f"decision {step} of bandit {bandit._title} was told the {what} {before!r} before, and now "
            f"{value!r}."
        )
    return [Told.REPEATED]


def correct(bandit: Any, session: Session, step: int, reward: float) -> list[Told]:
    """Put a reward in the place of the one that was told."""
    now = bandit._now()
    made = require_made(bandit, session, session.log.decisions([step]), step)
    bandit._settle(session, now)
    if made.told is None:
        raise UnknownDecisionError(
            f"decision {step} of bandit {bandit._title} was told no reward that another could replace."
        )
    if made.replaced is not None:
        if made.replaced == reward:
            return [Told.REPEATED]
        raise ConflictingRewardError(
            f"the reward of decision {step} of bandit {bandit._title} was replaced before, by "
            f"{made.replaced!r}, and now {reward!r}: it is replaced once."
        )
    learned = made.counted and session.engine.serves(made.arm) and bandit.policy.corrects
    event = Event(REPLACE, step, made.arm, reward, learned, now, f'{{"was": {made.told!r}}}')
    session.moving().take([event])
    session.keep([event])
    return [Told.REPLACED if learned else Told.HISTORY]
