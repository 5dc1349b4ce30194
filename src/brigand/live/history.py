"""The decisions of a bandit, a page at a time: who reads them waits for nobody, and nobody for who reads."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brigand.errors import StorageError
from brigand.live.identity import Identity
from brigand.live.times import EARLIEST, LATEST
from brigand.storage.logged import Page

Columns = dict[str, Any]
"""Columns of one length, by the names in `HISTORY`; numbers are arrays, times seconds; NaN: nothing."""

HISTORY = {
    "step": "int64",
    "decision": "object",
    "arm": "object",
    "explored": "bool",
    "propensity": "float64",
    "holdout": "bool",
    "reason": "object",
    "asked_at": "datetime64[us, UTC]",
    "told_at": "datetime64[us, UTC]",
    "reward": "float64",
    "learned": "float64",
    "status": "object",
}
"""Names of the columns, and what they are in a data frame. Arms may have names that its texts cannot hold."""
TIMES = ("asked_at", "told_at")
NUMBERS = ("reward", "learned", "propensity")
STATUSES = np.array(["pending", "history", "default", "late", "learned", "replaced"], object)
USUAL = re.compile(
    r'\{"explored": (true|false)(?:, "propensity": ([\d.e-]+))?(, "holdout": true)?, "reason": "([^"\\]*)"'
)
"""How the data of a decision begin, if its reason needs no JSON."""


def pages(bandit: Any, after: int, limit: int | None) -> Iterator[Columns]:
    """Yield the decisions after a step, `limit` at most.

    Raises
    ------
    StorageError
        The store cannot be read, or a line of the log is damaged.
    """
    for names, page in bandit._session.history(after, limit):
        try:
            yield _columns(page, names, bandit._ids)
        except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
            raise StorageError(
                f"the log is damaged at one of the decisions {page.step[0]} to {page.step[-1]}: {error}."
            ) from error


def _columns(page: Page, names: Sequence[str], ids: Identity) -> Columns:
    arms, told, default, replaced = page.arm, page.value, page.default, page.replaced
    if arms.min() < 0 or arms.max() >= len(names):
        raise ValueError(f"there is no arm number {arms[(arms < 0) | (arms >= len(names))][0]}")
    for times in (page.asked_at, page.told_at, page.default_at, page.replaced_at):
        if (times < EARLIEST).any() or (times > LATEST).any():
            raise ValueError(f"a time is {times[(times < EARLIEST) | (times > LATEST)][0]}")
    if any(np.isinf(values).any() for values in (told, default, replaced)):
        raise ValueError("a reward is not finite")
    was_told, was_defaulted, was_replaced = ~np.isnan(told), ~np.isnan(default), ~np.isnan(replaced)
    learned = page.default_counted
    told_of = list(map(said, page.data))
    explored, propensity, holdout, reason = ([one[place] for one in told_of] for place in range(4))
    chances = np.array(propensity, float)
    if not ((chances > 0.0) & (chances <= 1.0) | np.isnan(chances)).all():
        raise ValueError("a propensity is not in (0, 1]")
    status = np.select(
        [was_replaced, page.counted, learned & was_told, learned, was_told | was_defaulted],
        [5, 4, 3, 2, 1],
        default=0,
    )
    return {
        "step": page.step,
        "decision": list(map(ids.id_of, page.step.tolist())),
        "arm": np.array(names, object)[arms],
        "explored": np.array(explored, np.bool_),
        "propensity": chances,
        "holdout": np.array(holdout, np.bool_),
        "reason": reason,
        "asked_at": page.asked_at,
        "told_at": np.where(np.isnan(page.told_at), page.default_at, page.told_at),
        "reward": np.where(was_replaced, replaced, np.where(was_told, told, default)),
        "learned": np.select(
            [page.replaced_counted, page.counted, learned], [replaced, told, default], default=np.nan
        ),
        "status": STATUSES[status],
    }


Said = tuple[bool, float, bool, str]


def said(text: str) -> Said:
    """Return what the data of a decision say: did it explore, its propensity, the holdout, the reason."""
    usual = USUAL.match(text)
    if usual:
        explored, propensity, holdout, reason = usual.groups()
        return explored == "true", float(propensity or math.nan), bool(holdout), reason
    return _parsed(text)


@functools.lru_cache
def _parsed(text: str) -> Said:
    """Return the same of data that say little else, as those of recorded decisions do."""
    data = json.loads(text) if text else {}
    return (
        bool(data.get("explored", False)),
        float(data.get("propensity", math.nan)),
        bool(data.get("holdout", False)),
        str(data.get("reason", "")),
    )


def moments(seconds: NDArray[np.float64]) -> NDArray[np.datetime64]:
    """Return times with microseconds, rounded as `datetime.fromtimestamp` does; NaT for NaN."""
    rest, whole = np.modf(seconds)
    there = ~np.isnan(seconds)
    found = np.full(len(seconds), np.datetime64("NaT", "us"))
    micro = np.rint(1e6 * rest[there]).astype(np.int64) + 1_000_000 * whole[there].astype(np.int64)
    found[there] = micro.astype("datetime64[us]")
    return found


def texts(seconds: NDArray[np.float64]) -> list[str]:
    """Return times as ISO 8601, UTC, with microseconds; empty for NaN."""
    written = np.datetime_as_string(moments(seconds), unit="us").tolist()
    return ["" if text == "NaT" else f"{text}Z" for text in written]


def rows(columns: Columns) -> list[dict[str, Any]]:
    """Return a page as dicts: times as `datetime`, None for what is missing."""
    plain = [_plain(name, values) for name, values in columns.items()]
    return [dict(zip(columns, values, strict=True)) for values in zip(*plain, strict=True)]


def _plain(name: str, values: Any) -> list[Any]:
    if name in TIMES:
        return [
            None if micro is None else micro.replace(tzinfo=UTC) for micro in moments(values).astype(datetime)
        ]
    found: list[Any] = values if isinstance(values, list) else values.tolist()
    return [None if value != value else value for value in found] if name in NUMBERS else found


def frame(found: Iterator[Columns]) -> Any:
    """Return pages as a data frame; as a list of dicts where pandas is not installed."""
    try:
        import pandas as pd
    except ImportError:
        return [row for page in found for row in rows(page)]
    parts: dict[str, list[Any]] = {name: [] for name in HISTORY}
    for page in found:
        for name, values in page.items():
            parts[name].append(values if isinstance(values, np.ndarray) else np.array(values, object))
    columns = {}
    for name, kind in HISTORY.items():
        values = np.concatenate(parts.pop(name) or [np.empty(0)])
        if name in TIMES:
            columns[name] = pd.Series(moments(values)).dt.tz_localize(UTC).astype(kind)
        else:
            columns[name] = pd.Series(values.astype(kind), dtype=kind, copy=False)
    return pd.DataFrame(columns, copy=False).set_index("step")
