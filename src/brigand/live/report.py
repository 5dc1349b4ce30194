"""Tables of a bandit: what it decided, and what it knows of each arm.

Rows are plain dicts. Users get them as a data frame, or as they are where pandas is not installed.
"""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any

import numpy as np

from brigand import checks
from brigand.errors import InvalidValueError
from brigand.live import confidence
from brigand.storage.events import Logged

Rows = list[dict[str, Any]]

# Columns, and what they are in a data frame. Arms may have names that its texts cannot hold: hence objects.
HISTORY = {
    "step": "int64",
    "decision": "object",
    "arm": "object",
    "explored": "bool",
    "reason": "object",
    "asked_at": "datetime64[us, UTC]",
    "told_at": "datetime64[us, UTC]",
    "reward": "float64",
    "learned": "float64",
    "status": "object",
}
SUMMARY = {
    "arm": "object",
    "asked": "int64",
    "told": "int64",
    "pending": "int64",
    "defaulted": "int64",
    "mean": "float64",
    "lower": "float64",
    "upper": "float64",
    "interval": "str",
    "explored": "float64",
    "greedy": "float64",
}


def table(rows: Rows, columns: dict[str, str]) -> Any:
    """Return rows as a data frame, whose index is the first column; as they are where pandas is missing."""
    try:
        import pandas as pd
    except ImportError:
        return rows
    frame = pd.DataFrame(rows, columns=list(columns), dtype=object)
    for name, kind in columns.items():
        if kind.startswith("datetime64"):
            frame[name] = pd.to_datetime(frame[name], utc=True)
    return frame.astype(columns).set_index(next(iter(columns)))


def history(bandit: Any, after: int, limit: int | None) -> Rows:
    """Return decisions: see `brigand.Bandit.history`."""
    with bandit._session.reading() as session:
        names = session.engine.names
        return [_decision(line, names, bandit._uid) for line in session.log.history(after, limit)]


def _decision(line: Logged, names: list[str], uid: str) -> dict[str, Any]:
    data = json.loads(line.data) if line.data else {}
    return {
        "step": line.step,
        "decision": f"{uid}-{line.step}",
        "arm": names[line.arm],
        "explored": bool(data.get("explored", False)),
        "reason": data.get("reason", ""),
        "asked_at": _time(line.asked_at),
        "told_at": _time(line.told_at if line.told_at is not None else line.default_at),
        "reward": line.value if line.value is not None else line.default,
        "learned": line.value if line.counted else line.default if line.default_counted else None,
        "status": _status(line),
    }


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _status(line: Logged) -> str:
    if line.counted:
        return "learned"
    if line.default_counted:
        return "default" if line.value is None else "late"
    return "pending" if line.value is None and line.default is None else "history"


def check_support(support: object) -> tuple[float, float] | None:
    """Return a range of rewards as two floats, or None if it is not given."""
    if support is None:
        return None
    ends = checks.numbers_tuple("support", support, infinite=True)
    if len(ends) != 2 or not ends[0] < ends[1]:
        raise InvalidValueError(f"support must be (low, high) with low < high, not {support!r}.")
    return ends[0], ends[1]


def summary(bandit: Any, level: float, support: tuple[float, float] | None, removed: bool) -> Rows:
    """Return what is known of each arm: see `brigand.Bandit.summary`."""
    low, high = check_support(support) or bandit._support
    with bandit._session.reading() as session:
        engine = session.engine
        rows = [row for row in range(len(engine.names)) if removed or engine.serves(row)]
        names = [engine.names[row] for row in rows]
        in_service = [engine.serves(row) for row in rows]
        ledger = engine.ledger[rows]
    told, mean, asked = ledger["told"], ledger["mean"], ledger["asked"]
    for name, *ends in zip(names, ledger["least"].tolist(), ledger["greatest"].tolist(), strict=True):
        outside = [reward for reward in ends if math.isfinite(reward) and not low <= reward <= high]
        if outside:
            raise InvalidValueError(
                f"support cannot be [{low:g}, {high:g}]: a reward of {name!r} was {outside[0]!r}."
            )
    exact = bool(np.isfinite([low, high]).all())
    if not rows:
        lower = upper = np.empty(0)
    elif exact:
        lower, upper = confidence.bounded(told, mean, low, high, level)
    else:
        lower, upper = confidence.asymptotic(told, mean, ledger["squares"], level)
    with np.errstate(invalid="ignore"):
        explored = ledger["explored"] / asked
    columns = {
        "arm": names,
        "asked": asked.tolist(),
        "told": told.tolist(),
        "pending": (asked - told - ledger["unlearned"]).tolist(),
        "defaulted": ledger["defaulted"].tolist(),
        "mean": mean.tolist(),
        "lower": lower.tolist(),
        "upper": upper.tolist(),
        "interval": ["exact" if exact else "asymptotic"] * len(rows),
        "explored": explored.tolist(),
        "greedy": (1.0 - explored).tolist(),
    }
    if removed:
        columns["in_service"] = in_service
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
