"""Whether a bandit serves, notes of people, and who changed what."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from brigand.errors import InvalidValueError, NotServingError
from brigand.live import bases
from brigand.live.backends import Reading
from brigand.live.beside import check_value
from brigand.live.decision import ENDED, Decision
from brigand.live.engine import Engine
from brigand.live.names import name_of
from brigand.storage.events import ADD, END, NOTE, PAUSE, REMOVE, RESUME, STATUS, Event

SAID = {RESUME: "serving", PAUSE: "paused", END: "ended"}
AUDIT = {"at": "datetime64[us, UTC]", "by": "object", "action": "object", "arm": "object", "note": "object"}


def said_by(by: str | None, note: str = "") -> dict[str, str]:
    """Return what the log says of who did something, and why."""
    found = {} if by is None else {"by": check_value("by", by)}
    return found | ({"note": check_value("note", note)} if note else {})


def change(bandit: Any, kind: str, arm: str | None, by: str | None, note: str) -> None:
    """Let a bandit pause, go on or end, or note something."""
    said = said_by(by, note)
    with bandit._session.lock, bandit._session as session:
        now, engine = bandit._now(), session.engine
        if engine.status == END and kind != NOTE:
            raise InvalidValueError(f"bandit {bandit._title} has ended, which is for good.")
        if kind == engine.status:
            return
        row = 0 if arm is None else bandit._row(engine, arm)
        bandit._settle(session, now)
        bandit._apply(session, [Event(kind, None, row, None, True, now, json.dumps(said))])


def instead(title: str, engine: Engine) -> Decision:
    """Return what an ask gets of a bandit that has ended.

    Raises
    ------
    NotServingError
        It is paused.
    """
    if engine.status == PAUSE:
        raise NotServingError(f"bandit {title} is paused: it chooses no arms until it is resumed.")
    arm = engine.names[engine.ended_with]
    return Decision.without_bandit(arm, ENDED, f"the bandit has ended with {arm}")


def audit(bandit: Any) -> list[dict[str, Any]]:
    """Return who changed what, and when, one row each: see `brigand.Bandit.audit`."""
    with bandit._session.apart() as log:
        names = list(bases.names(log.base())[0])
        names += [name_of(event) for _, event in log.arms()]
        return [row for _, row in audit_rows(log, names)]


def audit_rows(log: Reading, names: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the same from a log, with the numbers of the events; names are those of all arms, by row."""
    for seq, event in log.of_kinds(ADD, REMOVE, *STATUS):
        yield seq, _row(event, names)


def _row(event: Event, names: list[str]) -> dict[str, Any]:
    said = json.loads(event.data) if event.data else {}
    arm = names[event.arm] if event.kind in (ADD, REMOVE, END) else ""
    by, note = (str(said.get(name, "")) for name in ("by", "note"))
    at = datetime.fromtimestamp(event.at, UTC)
    return {"at": at, "by": by, "action": event.kind, "arm": arm, "note": note}
