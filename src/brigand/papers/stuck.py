"""How often FE is stuck, and what that costs, beside the law of `brigand.theory.stuck`. Ours.

Arm A pays N(0, 1), arm B N(d, 1). Means and probabilities are those of weighted runs
(`brigand.rare_regret`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from brigand.environments.continuous import Gaussian
from brigand.environments.environment import Environment
from brigand.policies.forced.forced_exploration import ForcedExploration
from brigand.policies.forced.sequences import Exponential
from brigand.simulation.rare import rare_regret
from brigand.theory.stuck import stuck_runs

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

GAPS = (0.2, 0.3, 0.4, 0.5)
FACTORS = (2.0, 5.0, 20.0, 100.0, 1000.0)
"""Thresholds, as multiples of the regret of a run that is never stuck."""
RATES = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0)
"""a = 1 / log base, in units of the critical 2 sigma^2 / d^2."""
RUNS = 20_000
HORIZON = 10**6


def problem(gap: float) -> Environment:
    """Return the problem of a gap."""
    return Environment.stationary([Gaussian(0, 1), Gaussian(gap, 1)])


def base_of(rate: float, gap: float) -> float:
    """Return the base of f(r) = base^r whose a is `rate` times the critical one."""
    return math.exp(gap**2 / (2.0 * rate))


def study(
    horizon: int = HORIZON,
    *,
    runs: int = RUNS,
    seed: int = 0,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> xr.Dataset:
    """Run the study.

    Returns
    -------
    xarray.Dataset
        Of FE-Exp, over (gap, factor): ``probability`` that the regret at T exceeds ``threshold``, ``factor``
        times the regret of a run that is never stuck; its ``probability_error``, one standard error; and
        ``law``, what the law says. Of f(r) = base^r, over (gap, rate): ``mean`` regret, ``mean_error``, and
        ``law_mean``, for ``base``.
    """
    import xarray as xr

    shape, shape_rates = (len(GAPS), len(FACTORS)), (len(GAPS), len(RATES))
    threshold, probability, probability_error, law = np.full((4, *shape), np.nan)
    base, mean, mean_error, law_mean = np.full((4, *shape_rates), np.nan)
    total, done = len(GAPS) * (len(FACTORS) + len(RATES)), 0
    fe = Exponential()
    for g, gap in enumerate(GAPS):
        stuck = stuck_runs(fe, gap, 1.0, horizon)
        for k, factor in enumerate(FACTORS):
            threshold[g, k] = limit = factor * stuck.regret[0]
            if limit < gap * horizon:
                found = rare_regret(
                    problem(gap),
                    ForcedExploration(fe),
                    horizon,
                    runs,
                    seed,
                    threshold=limit,
                    workers=workers,
                )
                probability[g, k], probability_error[g, k] = found.exceeds(limit)
                law[g, k] = stuck.exceeds(limit)
            done += 1
            if progress is not None:
                progress(done, total)
        for k, rate in enumerate(RATES):
            base[g, k] = base_of(rate, gap)
            sequence = Exponential(base[g, k])
            found = rare_regret(
                problem(gap), ForcedExploration(sequence), horizon, runs, seed + 1, workers=workers
            )
            mean[g, k], mean_error[g, k] = found.mean()
            law_mean[g, k] = stuck_runs(sequence, gap, 1.0, horizon).mean
            done += 1
            if progress is not None:
                progress(done, total)
    over, over_rates = ("gap", "factor"), ("gap", "rate")
    return xr.Dataset(
        {
            "threshold": (over, threshold),
            "probability": (over, probability),
            "probability_error": (over, probability_error),
            "law": (over, law),
            "base": (over_rates, base),
            "mean": (over_rates, mean),
            "mean_error": (over_rates, mean_error),
            "law_mean": (over_rates, law_mean),
        },
        {"gap": list(GAPS), "factor": list(FACTORS), "rate": list(RATES)},
        {"runs": runs, "seed": seed, "horizon": horizon},
    )


def draw_study(data: xr.Dataset) -> Figure:
    """Draw `study`'s result."""
    from brigand.figures.stuck import stuck

    return stuck(data)
