"""The experiments of Qi, Zhu, Guo, "Forced Exploration in Bandit Problems", AAAI 2024.

Two protocols: ``paper`` follows the text, ``authors`` the published scripts; ``docs/paper.md`` lists every
difference. The number of phases, and B_T in the tunings, is 5 in the text and 4 in the scripts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from brigand.environments.environment import Environment
from brigand.environments.instances import random_environment
from brigand.errors import UnknownNameError
from brigand.figures.instance import instance as draw_instance
from brigand.figures.regret import regret as draw_regret
from brigand.policies.base import Policy
from brigand.policies.changes.cusum_ucb import CUSUMUCB
from brigand.policies.changes.forgetting_thompson import SlidingWindowThompson, SlidingWindowThompsonGaussian
from brigand.policies.changes.m_ucb import MUCB
from brigand.policies.forced.forced_exploration import ForcedExploration
from brigand.policies.forced.sequences import Constant, ExplorationSequence, Exponential, Linear
from brigand.policies.heavy_tails.empirical_variance_ucb import EmpiricalVarianceUCB
from brigand.policies.randomised.thompson import ThompsonBeta, ThompsonGaussian
from brigand.policies.subsampling.lb_sda import LBSDALM
from brigand.policies.subsampling.sw_lb_sda import SlidingWindowLBSDA
from brigand.policies.ucb.ucb1 import UCB1
from brigand.simulation.plan import default_checkpoints
from brigand.simulation.results import Results
from brigand.simulation.run import simulate

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

HORIZON = 100_000
LINEAR_CHECKPOINTS = 100


@dataclass(frozen=True)
class Protocol:
    """What the text and the scripts do differently.

    Attributes
    ----------
    phases : int
        Of the piecewise stationary problems; also B_T in the tunings.
    shift : int
        f is evaluated at r + shift.
    reset_round, reset_offset : int
        Of SW-FE, see `ForcedExploration`.
    forced_cusum : bool
        Whether CUSUM-UCB pulls every arm M times in a row after its restart.
    limited_memory : bool
        Whether the curve of LB-SDA-LM is that policy: the scripts run SW-LB-SDA with a window of T.
    coded_rounds : bool
        Whether LB-SDA-LM and SW-LB-SDA count rounds as the scripts do, see `SlidingWindowLBSDA`.
    """

    phases: int
    shift: int
    reset_round: int
    reset_offset: int
    forced_cusum: bool
    limited_memory: bool
    coded_rounds: bool

    def windows(self, horizon: int) -> tuple[int, int]:
        """Return the windows of SW-FE-Exp, and of all other policies with a window."""
        log = math.log(max(horizon, 2))
        exponential = int(math.sqrt(horizon / self.phases) * log)
        other = int(math.sqrt(horizon * log / self.phases))
        return max(exponential, 1), max(other, 1)

    def forced_exploration(self, sequence: ExplorationSequence, window: int | None = None) -> Policy:
        """Return FE, or with a window SW-FE."""
        if window is None:
            return ForcedExploration(sequence)
        return ForcedExploration(sequence, window, self.reset_round, self.reset_offset)


PROTOCOLS = {
    "paper": Protocol(
        phases=5,
        shift=0,
        reset_round=1,
        reset_offset=0,
        forced_cusum=False,
        limited_memory=True,
        coded_rounds=False,
    ),
    "authors": Protocol(
        phases=4,
        shift=-1,
        reset_round=0,
        reset_offset=1,
        forced_cusum=True,
        limited_memory=False,
        coded_rounds=True,
    ),
}


@dataclass(frozen=True)
class Experiment:
    """One figure of the paper.

    Attributes
    ----------
    title : str
    family : str
        Of rewards, see `random_environment`.
    piecewise : bool
    n_arms, runs, instance_seed : int
        The instance's seed is the one that the authors published.
    """

    title: str
    family: str
    piecewise: bool
    n_arms: int
    runs: int
    instance_seed: int

    def environment(self, protocol: Protocol, horizon: int, seed: int) -> Environment:
        """Return the instance that `seed` gives."""
        phases = min(protocol.phases, horizon) if self.piecewise else 1
        return random_environment(self.family, self.n_arms, horizon, phases, seed)

    def policies(self, protocol: Protocol, horizon: int) -> dict[str, Policy]:
        """Return the curves of the figure, in the legend's order: the paper's, then two classics."""
        curves = self._piecewise(protocol, horizon) if self.piecewise else self._stationary(protocol, horizon)
        if self.family == "bernoulli":
            return curves | {"UCB1": UCB1(0, 1), "TS": ThompsonBeta()}
        return curves | {"UCB1": UCB1(sigma=1), "TS": ThompsonGaussian()}

    def _stationary(self, protocol: Protocol, horizon: int) -> dict[str, Policy]:
        curves: dict[str, Policy] = {
            "FE-Exp": protocol.forced_exploration(Exponential(shift=protocol.shift)),
            "FE-Linear": protocol.forced_exploration(Linear(shift=protocol.shift)),
            "FE-Constant": protocol.forced_exploration(Constant()),
        }
        if protocol.limited_memory:
            curves["LB-SDA-LM"] = LBSDALM(authors_code=protocol.coded_rounds)
        else:
            everything = SlidingWindowLBSDA(horizon, authors_code=protocol.coded_rounds)
            curves["SW-LB-SDA, window T"] = everything
        return curves | {"Lattimore, plug-in": EmpiricalVarianceUCB(initial_pulls=1, c=0)}

    def _piecewise(self, protocol: Protocol, horizon: int) -> dict[str, Policy]:
        wide, narrow = protocol.windows(horizon)
        exponential = Exponential(shift=protocol.shift)
        curves: dict[str, Policy] = {
            "SW-FE-Exp": protocol.forced_exploration(exponential, wide),
            "SW-FE-Linear": protocol.forced_exploration(Linear(shift=protocol.shift), narrow),
            "SW-FE-Constant": protocol.forced_exploration(Constant(), narrow),
            "FE-Exp": protocol.forced_exploration(exponential),
            "SW-LB-SDA": SlidingWindowLBSDA(narrow, authors_code=protocol.coded_rounds),
        }
        if self.family != "bernoulli":
            return curves | {"SW-TS": SlidingWindowThompsonGaussian(narrow, sigma=1)}
        changes = protocol.phases
        gamma = min(1.0, math.sqrt(self.n_arms * changes * math.log(max(horizon, 2)) / horizon))
        return curves | {
            "SW-TS": SlidingWindowThompson(narrow),
            "CUSUM-UCB": CUSUMUCB(M=50, eps=0.05, forced=protocol.forced_cusum, changes=changes),
            "M-UCB": MUCB(800, gamma=gamma),
        }


EXPERIMENTS = {
    "stationary-bernoulli": Experiment("Stationary, Bernoulli rewards", "bernoulli", False, 10, 100, 1),
    "stationary-gaussian": Experiment("Stationary, Gaussian rewards", "gaussian", False, 10, 100, 1),
    "piecewise-bernoulli": Experiment("Piecewise stationary, Bernoulli rewards", "bernoulli", True, 5, 10, 0),
    "piecewise-gaussian": Experiment("Piecewise stationary, Gaussian rewards", "gaussian", True, 5, 10, 0),
}
FIGURES = (
    "stationary-bernoulli",
    "stationary-gaussian",
    "instance",
    "piecewise-bernoulli",
    "piecewise-gaussian",
)


def protocol_named(name: str) -> Protocol:
    """Return a protocol; `UnknownNameError` if there is none of that name."""
    if name not in PROTOCOLS:
        raise UnknownNameError("protocol", name, PROTOCOLS)
    return PROTOCOLS[name]


def players(names: Iterable[str], protocol: str, horizon: int) -> Iterator[tuple[Environment, Policy]]:
    """Yield the policies of some figures, each with the environment in which it plays."""
    rules = protocol_named(protocol)
    for name in names:
        if name in EXPERIMENTS:
            experiment = EXPERIMENTS[name]
            environment = experiment.environment(rules, horizon, experiment.instance_seed)
            for policy in experiment.policies(rules, horizon).values():
                yield environment, policy


def run_experiment(
    name: str,
    protocol: str = "paper",
    *,
    horizon: int = HORIZON,
    runs: int | None = None,
    instances: int | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Results:
    """Run one of the paper's experiments.

    Parameters
    ----------
    name : str
        One of `EXPERIMENTS`.
    protocol : str
        ``"paper"`` or ``"authors"``.
    horizon : int
    runs : int, optional
        Replications; by default the paper's (100 stationary, 10 piecewise), or 1 for each of many
        `instances`.
    instances : int, optional
        Average over so many random instances, in place of the authors' one.
    seed : int
        Seed of the runs; with `instances`, that of instance i is (seed + i) mod 2^32, and its replications
        are numbered from i `runs` on, so that instances share no random numbers. The authors' instance does
        not depend on it.
    workers, progress
        As in `simulate`.
    """
    if name not in EXPERIMENTS:
        raise UnknownNameError("experiment", name, EXPERIMENTS)
    experiment, rules = EXPERIMENTS[name], protocol_named(protocol)
    policies = experiment.policies(rules, horizon)
    if runs is None:
        runs = experiment.runs if instances is None else 1
    even = np.linspace(1, horizon, min(LINEAR_CHECKPOINTS, horizon)).astype(int)
    checkpoints = np.union1d(default_checkpoints(horizon), even).tolist()
    seeds = (
        [experiment.instance_seed] if instances is None else [(seed + i) % 2**32 for i in range(instances)]
    )
    total = len(policies) * runs * len(seeds)
    parts = []
    for place, instance_seed in enumerate(seeds):
        before = place * len(policies) * runs

        def report(done: int, _: int, before: int = before) -> None:
            if progress is not None:
                progress(before + done, total)

        environment = experiment.environment(rules, horizon, instance_seed)
        parts.append(
            simulate(
                environment,
                policies,
                horizon,
                range(place * runs, (place + 1) * runs),
                seed,
                workers=workers,
                checkpoints=checkpoints,
                progress=report,
            )
        )
    return parts[0] if instances is None else Results.over_instances(parts)


def draw_experiment(name: str, results: Results, bounds: bool = False) -> Figure:
    """Draw the figure of `run_experiment`'s results; with bounds only if they are of one instance."""
    return draw_regret(results, EXPERIMENTS[name].title, results.environments[0].breakpoints, bounds)


def instances_of(protocol: str = "paper", horizon: int = HORIZON) -> dict[str, Environment]:
    """Return the two piecewise stationary problems by the name of their family."""
    rules = protocol_named(protocol)
    experiments = [EXPERIMENTS[name] for name in ("piecewise-bernoulli", "piecewise-gaussian")]
    return {e.family: e.environment(rules, horizon, e.instance_seed) for e in experiments}


def instance_table(environments: dict[str, Environment]) -> xr.Dataset:
    """Return mean and standard deviation of every arm in every phase, with each phase's first step."""
    import xarray as xr

    first = next(iter(environments.values()))
    dims = ("family", "phase", "arm")
    means = [environment.means for environment in environments.values()]
    variances = [[[arm.variance for arm in arms] for arms in e.phases] for e in environments.values()]
    return xr.Dataset(
        {
            "mean": (dims, np.array(means)),
            "sd": (dims, np.sqrt(variances)),
            "start": ("phase", list(first.starts)),
        },
        {
            "family": list(environments),
            "phase": np.arange(1, len(first.starts) + 1),
            "arm": np.arange(first.n_arms),
        },
    )


def draw_instances(environments: dict[str, Environment], horizon: int = HORIZON) -> Figure:
    """Draw the means of `instances_of` over time."""
    panels = {f"{family.capitalize()} rewards": e for family, e in environments.items()}
    return draw_instance(panels, horizon, "The authors' piecewise stationary problems")
