"""Which f? FE's regret on the worst of several gaps, beside what no f can avoid. Ours, not the paper's.

``docs/results.md`` has the theorem and says what the picture shows. Arm A pays 0, arm B pays N(d, 1); or -1,
which is the gap of 1. Runs skip ahead (`brigand.simulation.skip_ahead`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from brigand.environments.continuous import Gaussian
from brigand.environments.environment import Environment
from brigand.papers.slope import slope_of
from brigand.policies.forced.forced_exploration import ForcedExploration
from brigand.policies.forced.sequences import Constant, ExplorationSequence, Exponential, Linear, Power
from brigand.simulation.run import simulate
from brigand.theory.schedule import Schedule
from brigand.theory.worst_case import worst_case_floor

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

SEQUENCES: dict[str, tuple[ExplorationSequence, int]] = {
    "r^(1/4)": (Power(0.25), 6),
    "r^(1/2)": (Power(0.5), 8),
    "FE-Linear": (Linear(), 12),
    "FE-Constant": (Constant(), 12),
    "FE-Exp": (Exponential(), 12),
}
"""With the exponent of the largest T: a run takes as long as it has rounds."""
FIRST = 3
RUNS = 1_600
MANY, FEWER = 100_000, 3
"""Where a run has so many rounds or more, so many times fewer runs are made."""
CHOOSING = 16
"""The worst gap is chosen by so many times fewer runs; those that count are others."""
FACTORS = (0.25, 0.5, 0.7, 1.0, 2.0, 4.0)
"""The gaps are these, divided by the root of the number of rounds; and 1."""


def worst(
    sequence: ExplorationSequence, horizon: int, runs: int, seed: int, workers: int | None
) -> tuple[float, ...]:
    """Return the mean regret on the worst of the gaps, its standard error, and that gap."""
    rounds = int(Schedule(sequence, 2, horizon).rounds([horizon])[0])
    runs = max(runs // FEWER, 2) if rounds >= MANY else runs
    problems = {1.0: Environment.stationary([Gaussian(0, 0), Gaussian(-1, 0)])}
    for factor in FACTORS:
        gap = factor / np.sqrt(rounds)
        if gap < 1:
            problems[gap] = Environment.stationary([Gaussian(0, 0), Gaussian(gap, 1)])

    def measured(gap: float, number: int, first: int) -> tuple[float, float]:
        results = simulate(
            problems[gap],
            {"x": ForcedExploration(sequence)},
            horizon,
            number,
            first,
            method="skip",
            workers=workers,
            checkpoints=[horizon],
        )
        regret = results.dataset["regret"].to_numpy()[0, :, -1]
        return float(regret.mean()), float(regret.std(ddof=1) / np.sqrt(number))

    gap = max(problems, key=lambda gap: measured(gap, max(runs // CHOOSING, 2), seed)[0])
    return *measured(gap, runs, seed + 1), gap


def study(
    largest: int | None = None,
    *,
    runs: int = RUNS,
    seed: int = 0,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> xr.Dataset:
    """Run the study for T = 10^3, 10^4, ..., up to `largest` if it is given.

    Returns
    -------
    xarray.Dataset
        Over (sequence, horizon), NaN where a run would take too long: ``mean``, ``low`` and ``high`` of the
        regret on the worst gap (1.96 standard errors on both sides), which is ``gap``; and ``floor``, what is
        proved. Over (sequence): ``slope`` of log regret over log T in the last three decades, with
        ``slope_low`` and ``slope_high``, its 95 % interval for the runs' chance.
    """
    import xarray as xr

    ends = [end for _, end in SEQUENCES.values()]
    horizons = [10**e for e in range(FIRST, max(ends) + 1) if largest is None or 10**e <= largest]
    horizons = horizons or [10**FIRST]
    shape = len(SEQUENCES), len(horizons)
    mean, error, gap, floor = np.full((4, *shape), np.nan)
    jobs = [
        (s, h)
        for s, (_, end) in enumerate(SEQUENCES.values())
        for h, horizon in enumerate(horizons)
        if horizon <= 10**end
    ]
    sequences = [sequence for sequence, _ in SEQUENCES.values()]
    for done, (s, h) in enumerate(jobs):
        mean[s, h], error[s, h], gap[s, h] = worst(sequences[s], horizons[h], runs, seed, workers)
        floor[s, h] = worst_case_floor(sequences[s], horizons[h])
        if progress is not None:
            progress(done + 1, len(jobs))
    slope, spread = np.array([slope_at_the_end(horizons, *pair) for pair in zip(mean, error, strict=True)]).T
    dims = ("sequence", "horizon")
    return xr.Dataset(
        {
            "mean": (dims, mean),
            "low": (dims, mean - 1.96 * error),
            "high": (dims, mean + 1.96 * error),
            "gap": (dims, gap),
            "floor": (dims, floor),
            "slope": ("sequence", slope),
            "slope_low": ("sequence", slope - 1.96 * spread),
            "slope_high": ("sequence", slope + 1.96 * spread),
        },
        {"sequence": list(SEQUENCES), "horizon": horizons},
        {"runs": runs, "seed": seed},
    )


def slope_at_the_end(
    horizons: list[int], mean: NDArray[np.float64], error: NDArray[np.float64]
) -> tuple[float, float]:
    """Return the slope of log mean over log T at the last four horizons, and its standard error."""
    at = np.flatnonzero(np.isfinite(mean))[-4:]
    return slope_of(np.log([horizons[i] for i in at]), mean[at], error[at])


def draw_study(data: xr.Dataset) -> Figure:
    """Draw `study`'s result."""
    from brigand.figures.worst_case import worst_case

    return worst_case(data)
