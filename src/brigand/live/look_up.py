"""Some decisions of many: the last ones, those of an arm, and one by its id or by whom it was for."""

from __future__ import annotations

from typing import Any

from brigand.live import beside, history
from brigand.live.settings import LONGEST_KEY, PLAIN
from brigand.storage.events import ASK

FAR = 100_000
"""Decisions that are looked through for those of one arm."""

Rows = list[dict[str, Any]]


def latest(bandit: Any, limit: int, row: int | None = None) -> Rows:
    """Return the last decisions, the latest first; with `row`, those of an arm among the last `FAR`.

    Raises
    ------
    StorageError
        The store cannot be read.
    """
    with bandit._session.apart() as log:
        steps = log.steps()
        wanted = None if row is None else log.steps_of(row, max(0, steps - FAR), limit)
    if wanted is None:
        return _rows(bandit, max(0, steps - limit), limit)[::-1]
    return [found for step in wanted for found in _rows(bandit, step - 1, 1)]


def find(bandit: Any, text: str) -> Rows:
    """Return the decision that has an id, or the latest one for a unit or a request; none if there is none.

    Raises
    ------
    StorageError
        The store cannot be read.
    """
    step = bandit._ids.step_of(text)
    if step is None and 0 < len(text) <= LONGEST_KEY:
        unit = text if bandit._settings.units == PLAIN else bandit._ids.tag(text)
        with bandit._session.apart() as log:
            found = [beside.find(log, key) for key in (f"u:{unit}", f"r:{text}")]
        step = next((event.step for event in found if event is not None and event.kind == ASK), None)
    return [] if step is None else [row for row in _rows(bandit, step - 1, 1) if row["step"] == step]


def _rows(bandit: Any, after: int, limit: int) -> Rows:
    return [row for page in history.pages(bandit, after, limit) for row in history.rows(page)]
