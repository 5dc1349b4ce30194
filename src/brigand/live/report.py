"""Tables of a bandit: what it decided, and what it knows of each arm."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from brigand import checks
from brigand.errors import InvalidValueError
from brigand.live import confidence
from brigand.live.engine import Engine
from brigand.storage.events import Logged

if TYPE_CHECKING:
    import pandas as pd


COLUMNS = (
    "step",
    "decision",
    "arm",
    "explored",
    "reason",
    "asked_at",
    "told_at",
    "reward",
    "learned",
    "status",
)


def history(engine: Engine, logged: Iterable[Logged], uid: str) -> pd.DataFrame:
    """Return decisions as a table: see `brigand.Bandit.history`."""
    import pandas as pd

    rows = []
    for line in logged:
        data = json.loads(line.data) if line.data else {}
        learned = line.value if line.counted else line.default if line.default_counted else None
        rows.append(
            (
                line.step,
                f"{uid}-{line.step}",
                engine.names[line.arm],
                bool(data.get("explored", False)),
                data.get("reason", ""),
                line.asked_at,
                line.told_at if line.told_at is not None else line.default_at,
                line.value if line.value is not None else line.default,
                learned,
                _status(line),
            )
        )
    # Arms may have names that Arrow, behind the texts of pandas, cannot hold: hence objects.
    table = (
        pd.DataFrame(rows, columns=list(COLUMNS), dtype=object).astype({"step": np.int64}).set_index("step")
    )
    for name in ("asked_at", "told_at"):
        table[name] = pd.to_datetime(table[name].astype(float), unit="s", utc=True).dt.as_unit("us")
    return table.astype({"explored": bool, "reward": float, "learned": float})


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


def summary(engine: Engine, level: float, support: tuple[float, float], removed: bool) -> pd.DataFrame:
    """Return what is known of each arm as a table: see `brigand.Bandit.summary`."""
    import pandas as pd

    rows = [row for row in range(len(engine.names)) if removed or engine.serves(row)]
    ledger = engine.ledger[rows]
    told, mean, asked = ledger["told"], ledger["mean"], ledger["asked"]
    exact = bool(np.isfinite(support).all())
    for row in rows:
        if engine.ledger["told"][row] and not support[0] <= engine.ledger["mean"][row] <= support[1]:
            mean_of = f"the mean reward of {engine.names[row]!r} is {engine.ledger['mean'][row]:.6g}"
            raise InvalidValueError(f"support cannot be [{support[0]:g}, {support[1]:g}]: {mean_of}.")
    if not rows:
        lower = upper = np.empty(0)
    elif exact:
        lower, upper = confidence.bounded(told, mean, *support, level)
    else:
        lower, upper = confidence.asymptotic(told, mean, ledger["squares"], level)
    with np.errstate(invalid="ignore"):
        forced = ledger["explored"] / asked
    table = pd.DataFrame(
        {
            "asked": asked,
            "told": told,
            "pending": asked - told - ledger["unlearned"],
            "defaulted": ledger["defaulted"],
            "mean": mean,
            "lower": lower,
            "upper": upper,
            "interval": "exact" if exact else "asymptotic",
            "forced": forced,
            "greedy": 1.0 - forced,
        },
        index=pd.Index([engine.names[row] for row in rows], name="arm", dtype=object),
    )
    if removed:
        table["in_service"] = [engine.serves(row) for row in rows]
    return table
