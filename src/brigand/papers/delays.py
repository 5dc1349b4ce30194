"""What a delay costs: regret at T against the steps that a reward is late. Ours, not the paper's.

``docs/results.md`` says what the picture shows, and proves the bounds (`brigand.theory.delays`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from brigand.environments.environment import Environment
from brigand.environments.instances import random_environment
from brigand.policies.base import Policy
from brigand.policies.catalogue import CATALOGUE
from brigand.policies.forced.forced_exploration import ForcedExploration
from brigand.simulation.run import simulate
from brigand.theory.delays import delayed_bounds

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

DELAYS = (0, 10, 30, 100, 300, 1_000, 3_000, 10_000)
HORIZON = 100_000
RUNS = 100
POLICIES = {
    "Bernoulli": ("FE-Exp", "FE-Linear", "UCB1", "KL-UCB", "TS-Beta"),
    "Gaussian": ("FE-Exp", "FE-Linear", "UCB1-sigma", "KL-UCB-Gaussian", "TS-Gaussian-unknown"),
}
"""By the rewards of the problem; with the settings of the catalogue."""


def problems() -> dict[str, Environment]:
    """Return the authors' stationary instances, with 10 arms."""
    return {name: random_environment(name.lower(), 10, 1, seed=1) for name in POLICIES}


def study(
    horizon: int = HORIZON,
    *,
    runs: int = RUNS,
    seed: int = 0,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> xr.Dataset:
    """Run the study: every policy with every delay below the horizon.

    Returns
    -------
    xarray.Dataset
        Of the regret at T: ``mean``, ``low`` and ``high`` (1.96 standard errors on both sides), over
        (problem, place, delay), the places of a problem's policies, whose names are ``policy``; the bound
        ``upper`` of those that are FE, else NaN; and over (problem, delay) ``least``, what every policy loses
        on average over the orders of the arms.
    """
    import xarray as xr

    delays = [delay for delay in DELAYS if delay < horizon]
    shape = len(POLICIES), len(POLICIES["Gaussian"]), len(delays)
    mean, error, upper = np.full((3, *shape), np.nan)
    least = np.empty((shape[0], shape[2]))
    for p, (problem, environment) in enumerate(problems().items()):
        policies: dict[str, Policy] = {name: CATALOGUE[name] for name in POLICIES[problem]}
        for d, delay in enumerate(delays):
            results = simulate(environment, policies, horizon, runs, seed, workers=workers, delay=delay)
            regret = results.dataset["regret"].sel(step=horizon).to_numpy()
            mean[p, :, d] = regret.mean(axis=1)
            error[p, :, d] = regret.std(axis=1, ddof=1) / np.sqrt(runs) if runs > 1 else np.nan
            for i, policy in enumerate(policies.values()):
                if isinstance(policy, ForcedExploration):
                    of_fe, of_all = delayed_bounds(environment, policy, horizon, delay)
                    upper[p, i, d] = of_fe.regret(horizon)
                    least[p, d] = of_all.regret(horizon)
            if progress is not None:
                progress(p * len(delays) + d + 1, len(POLICIES) * len(delays))
    dims = ("problem", "place", "delay")
    return xr.Dataset(
        {
            "mean": (dims, mean),
            "low": (dims, mean - 1.96 * error),
            "high": (dims, mean + 1.96 * error),
            "upper": (dims, upper),
            "least": (("problem", "delay"), least),
        },
        {
            "problem": list(POLICIES),
            "delay": delays,
            "policy": (("problem", "place"), np.array(list(POLICIES.values()), object)),
        },
        {"horizon": horizon, "runs": runs, "seed": seed},
    )


def draw_study(data: xr.Dataset) -> Figure:
    """Draw `study`'s result."""
    from brigand.figures.delays import delays

    return delays(data)
