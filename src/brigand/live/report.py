"""The table of a bandit's arms: what it knows of each.

Rows are plain dicts. Users get them as a data frame, or as they are where pandas is not installed.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import math
from typing import Any

import numpy as np

from brigand import checks
from brigand.errors import InvalidValueError
from brigand.live import confidence
from brigand.logs.arm_means import arm_means
from brigand.logs.log import Log

Rows = list[dict[str, Any]]

# Columns, and what they are in a data frame.
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
OVER_TIME = {"over_time": "float64", "over_time_lower": "float64", "over_time_upper": "float64"}


def table(rows: Rows, columns: dict[str, str]) -> Any:
    """Return rows as a data frame, whose index is the first column; as they are where pandas is missing."""
    try:
        import pandas as pd
    except ImportError:
        return rows
    frame = pd.DataFrame(rows, columns=list(columns), dtype=object)
    return frame.astype(columns).set_index(next(iter(columns)))


def has_pandas() -> bool:
    """Return whether pandas is installed."""
    return importlib.util.find_spec("pandas") is not None


def check_support(support: object) -> tuple[float, float] | None:
    """Return a range of rewards as two floats, or None if it is not given."""
    if support is None:
        return None
    ends = checks.numbers_tuple("support", support, infinite=True)
    if len(ends) != 2 or not ends[0] < ends[1]:
        raise InvalidValueError(f"support must be (low, high) with low < high, not {support!r}.")
    return ends[0], ends[1]


def over_time(log: Log, level: float) -> dict[str, tuple[float, float, float]]:
    """Return, by arm, the mean over the log's time and its interval; nothing if the log tells none."""
    checks.package("scipy.stats", "means over time need SciPy: pip install scipy.")
    if log.propensity is not None and np.isnan(log.propensity).any():
        log = dataclasses.replace(log, propensity=None)
    try:
        found = arm_means(log, level=level)
    except InvalidValueError:  # it is empty, or has one arm, or one reward
        return {}
    return {mean.arm: (mean.value, mean.lower, mean.upper) for mean in found.means}


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
