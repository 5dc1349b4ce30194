"""What T does to FE: regret and runs that end on a wrong arm, for T from 10^2 to 10^12.

The paper's Remark 1 claims (log T)^2 for a fixed problem and sqrt(T) log T for all problems together;
``docs/horizon.md`` says what the picture shows. Possible only by skipping (`brigand.simulation.skip_ahead`).
FE-Exp's means are carried by rare runs, and are those of weighted runs (`brigand.simulation.rare`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from brigand.environments.continuous import Gaussian
from brigand.environments.environment import Environment
from brigand.environments.instances import random_environment
from brigand.policies.forced.forced_exploration import ForcedExploration
from brigand.policies.forced.sequences import Constant, ExplorationSequence, Exponential, Linear
from brigand.simulation.rare import FEWEST, Estimate, rare_regret
from brigand.simulation.run import simulate

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

HORIZONS = tuple(10**e for e in range(2, 13))
RUNS = 10_000
SEQUENCES: dict[str, ExplorationSequence] = {
    "FE-Exp": Exponential(),
    "FE-Linear": Linear(),
    "FE-Constant": Constant(),
}
QUANTILE = 0.99
WEIGHTED = 4
"""One weighted run for so many plain ones."""
END = 0.1
"""A run ends on the arm that it pulled most often in this last share of its steps."""


def problems() -> dict[str, Environment]:
    """Return the authors' Gaussian instance, and pairs of arms N(0, 1) and N(gap, 1)."""
    pairs = {
        f"K = 2, gap {gap:g}": Environment.stationary([Gaussian(0, 1), Gaussian(gap, 1)])
        for gap in (0.5, 0.1, 0.02)
    }
    return {"K = 10, the authors' Gaussian instance": random_environment("gaussian", 10, 1, seed=1)} | pairs


def study(
    horizons: tuple[int, ...] = HORIZONS,
    *,
    runs: int = RUNS,
    seed: int = 0,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> xr.Dataset:
    """Run the study.

    Parameters
    ----------
    horizons : tuple of int
        Increasing; each at least 10.
    runs : int
        Replications of each policy, problem and horizon; for FE-Exp's mean a quarter as many weighted ones.
    seed, workers, progress
        As in `simulate`.

    Returns
    -------
    xarray.Dataset
        Of the regret: ``mean``, ``low`` and ``high`` (1.96 standard errors on both sides), ``median``,
        ``quantile`` (99 %). And ``stuck``, the share of runs that end on a wrong arm. All over (problem,
        policy, horizon).
    """
    import xarray as xr

    environments = problems()
    names = ("mean", "low", "high", "median", "quantile", "stuck")
    shape = (len(environments), len(SEQUENCES), len(horizons))
    values = np.empty((len(names), *shape))
    done, total = 0, int(np.prod(shape)) * runs
    for p, environment in enumerate(environments.values()):
        for s, sequence in enumerate(SEQUENCES.values()):
            # Linear needs no T: one run for all of them.
            groups = [tuple(horizons)] if not sequence.needs_span else [(t,) for t in horizons]
            for group in groups:
                ends = [step for t in group for step in (int(t * (1 - END)), t)]
                results = simulate(
                    environment,
                    {"x": ForcedExploration(sequence)},
                    group[-1],
                    runs,
                    seed,
                    method="skip",
                    workers=workers,
                    checkpoints=ends,
                ).dataset.sel(policy="x")
                for t in group:
                    at = horizons.index(t)
                    regret = results["regret"].sel(step=t).to_numpy()
                    pulls = results["pulls"].sel(step=t) - results["pulls"].sel(step=int(t * (1 - END)))
                    mean = Estimate(regret.mean(), regret.std(ddof=1) / np.sqrt(runs) if runs > 1 else np.nan)
                    if isinstance(sequence, Exponential):
                        # Another seed: weighted runs of the same seed would begin with the same rewards.
                        weighted = max(runs // WEIGHTED, FEWEST)
                        policy = ForcedExploration(sequence)
                        found = rare_regret(environment, policy, t, weighted, seed + 1, workers=workers)
                        mean = found.mean()
                    wrong = environment.gaps[0][pulls.argmax("arm").to_numpy()] > 0
                    values[:, p, s, at] = (
                        mean.value,
                        mean.value - 1.96 * mean.error,
                        mean.value + 1.96 * mean.error,
                        np.median(regret),
                        np.quantile(regret, QUANTILE),
                        wrong.mean(),
                    )
                done += runs * len(group)
                if progress is not None:
                    progress(done, total)
    dims = ("problem", "policy", "horizon")
    return xr.Dataset(
        {name: (dims, values[i]) for i, name in enumerate(names)},
        {"problem": list(environments), "policy": list(SEQUENCES), "horizon": list(horizons)},
        {"runs": runs, "seed": seed, "quantile": QUANTILE},
    )


def draw_study(data: xr.Dataset) -> Figure:
    """Draw `study`'s result."""
    from brigand.figures.horizon import horizon

    return horizon(data)
