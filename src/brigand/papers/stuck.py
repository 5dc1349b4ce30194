"""How often FE is stuck, and what that costs, beside the law of `brigand.theory.stuck`. Ours.

Arm A pays N(0, 1), or always 0; arm B pays N(d, 1). Means and probabilities are those of weighted runs
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
RIVALS = (1.0, 0.0)
"""Standard deviations of arm A's rewards; the law is made for 0."""
FACTORS = (2.0, 5.0, 20.0, 100.0, 1000.0)
"""Thresholds, as multiples of the regret of a run that is never stuck."""
RATES = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0)
"""a = 1 / log base, in units of the critical 2 sigma^2 / d^2."""
RUNS = 10_000
HORIZON = 10**6


def problem(gap: float, rival: float) -> Environment:
    """Return the problem of a gap and a standard deviation of arm A's rewards."""
    return Environment.stationary([Gaussian(0, rival), Gaussian(gap, 1)])


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
        Of FE-Exp, over (rival, gap, factor): ``probability`` that the regret at T exceeds ``threshold``,
        ``factor`` times the regret of a run that is never stuck, and ``probability_error``, one standard
        error; over (gap, factor) ``law``, what the law says. Of f(r) = base^r, over (rival, gap, rate):
        ``mean`` regret and ``mean_error``; over (gap, rate) ``law_mean``, and ``base``.
    """
    import xarray as xr

    shape, shape_rates = (len(GAPS), len(FACTORS)), (len(GAPS), len(RATES))
    threshold, law = np.full((2, *shape), np.nan)
    base, law_mean = np.full((2, *shape_rates), np.nan)
    probability, probability_error = np.full((2, len(RIVALS), *shape), np.nan)
    mean, mean_error = np.full((2, len(RIVALS), *shape_rates), np.nan)
    fe = ForcedExploration(Exponential())
    jobs = [(r, g) for r in range(len(RIVALS)) for g in range(len(GAPS))]
    for done, (r, g) in enumerate(jobs):
        gap, environment = GAPS[g], problem(GAPS[g], RIVALS[r])
        stuck = stuck_runs(fe.sequence, gap, 1.0, horizon)
        threshold[g] = np.array(FACTORS) * stuck.regret[0]
        law[g] = stuck.exceeds(threshold[g])
        for k in range(len(FACTORS)):
            limit = float(threshold[g, k])
            if limit >= gap * horizon:
                continue
            found = rare_regret(environment, fe, horizon, runs, seed, threshold=limit, workers=workers)
            probability[r, g, k], probability_error[r, g, k] = found.exceeds(limit)
        for k, rate in enumerate(RATES):
            base[g, k] = base_of(rate, gap)
            sequence = Exponential(base[g, k])
            law_mean[g, k] = stuck_runs(sequence, gap, 1.0, horizon).mean
            found = rare_regret(
                environment, ForcedExploration(sequence), horizon, runs, seed + 1, workers=workers
            )
            mean[r, g, k], mean_error[r, g, k] = found.mean()
            if progress is not None:
                progress(done * len(RATES) + k + 1, len(jobs) * len(RATES))
    over, over_rates = ("gap", "factor"), ("gap", "rate")
    return xr.Dataset(
        {
            "threshold": (over, threshold),
            "law": (over, law),
            "probability": (("rival", *over), probability),
            "probability_error": (("rival", *over), probability_error),
            "base": (over_rates, base),
            "law_mean": (over_rates, law_mean),
            "mean": (("rival", *over_rates), mean),
            "mean_error": (("rival", *over_rates), mean_error),
        },
        {"rival": list(RIVALS), "gap": list(GAPS), "factor": list(FACTORS), "rate": list(RATES)},
        {"runs": runs, "seed": seed, "horizon": horizon},
    )


def draw_study(data: xr.Dataset) -> Figure:
    """Draw `study`'s result."""
    from brigand.figures.stuck import stuck

    return stuck(data)
