"""Other metrics of decisions than the reward: a table of what was told."""

from __future__ import annotations

from typing import Any

import numpy as np

from brigand.live import bases, confidence
from brigand.live.beside import metric_in, step_in
from brigand.live.names import name_of
from brigand.storage.events import METRIC

COLUMNS = {
    "metric": "object",
    "arm": "object",
    "told": "int64",
    "mean": "float64",
    "lower": "float64",
    "upper": "float64",
}


def metrics(bandit: Any, level: float) -> list[dict[str, Any]]:
    """Return what was told of other metrics, one row for each and arm: see `brigand.Bandit.metrics`."""
    latest: dict[tuple[int, str], tuple[int, float]] = {}
    with bandit._session.apart() as log:
        names = list(bases.names(log.base())[0])
        names += [name_of(event) for _, event in log.arms()]
        for _, event in log.of_kinds(METRIC):  # one that was corrected comes again
            latest[step_in(event), metric_in(event)] = event.arm, event.value or 0.0
    values: dict[tuple[str, int], list[float]] = {}
    for (_, metric), (arm, value) in latest.items():
        values.setdefault((metric, arm), []).append(value)
    rows = []
    for (metric, arm), told in sorted(values.items()):
        numbers = np.array(told)
        squares = float(((numbers - numbers.mean()) ** 2).sum())
        lower, upper = confidence.asymptotic([len(told)], [numbers.mean()], [squares], level)
        found = (metric, names[arm], len(told), float(numbers.mean()), float(lower[0]), float(upper[0]))
        rows.append(dict(zip(COLUMNS, found, strict=True)))
    return rows
