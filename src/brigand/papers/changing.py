"""Rewards that change when nobody says so: FE-Restart beside policies that are told more. Ours.

Four problems of Besson et al. (JMLR 23, 2022) and the authors' two: none of them was looked at when
FE-Restart's constants were chosen. And SW-FE with the best of many windows, as T and the number of changes
grow, and where an arm rises that is only pulled by force.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brigand.environments.continuous import Gaussian
from brigand.environments.environment import Environment
from brigand.environments.instances import random_environment
from brigand.papers.besson import HORIZONS, piecewise
from brigand.papers.slope import slope_of
from brigand.policies.base import Policy
from brigand.policies.changes.ada_iltcb import AdaILTCB
from brigand.policies.changes.cusum_ucb import CUSUMUCB
from brigand.policies.changes.glr_klucb import GLRKLUCB
from brigand.policies.changes.m_ucb import MUCB
from brigand.policies.forced.forced_exploration import ForcedExploration
from brigand.policies.forced.restarting import RestartingForcedExploration
from brigand.policies.forced.sequences import Constant, ExplorationSequence, Exponential, Linear
from brigand.policies.subsampling.sw_lb_sda import SlidingWindowLBSDA
from brigand.rng import Stream
from brigand.simulation.run import simulate
from brigand.simulation.step import trace_loop

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

RUNS = 200
FEWER = 4
"""So many times fewer runs on problems of 100,000 steps."""
LONG = 100_000
WINDOWS = (50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800)
"""Of SW-FE; the best is chosen by other runs than those that count."""
M_UCB_WINDOWS = (50, 200, 800)
POLICIES = (
    "FE-Restart",
    "SW-FE, best f and window",
    "SW-LB-SDA, best window",
    "GLR-klUCB, global",
    "GLR-klUCB, local",
    "CUSUM-UCB",
    "M-UCB, best w",
    "Ada-ILTCB+",
)
TOLD = {
    "FE-Restart": "nothing",
    "SW-FE, best f and window": "the best f and window",
    "SW-LB-SDA, best window": "the best window",
    "GLR-klUCB, global": "the range, T",
    "GLR-klUCB, local": "the range, T",
    "CUSUM-UCB": "the range, T, the number of changes",
    "M-UCB, best w": "the range, T, the number of changes, the best w and threshold",
    "Ada-ILTCB+": "the range, T",
}
SEQUENCES: dict[str, ExplorationSequence] = {
    "SW-FE-Linear": Linear(),
    "SW-FE-Constant": Constant(),
    "SW-FE-Exp": Exponential(),
}
LENGTHS = (10_000, 30_000, 100_000, 300_000)
"""T, with `FIXED_CHANGES` changes."""
FIXED_CHANGES = 4
CHANGES = (1, 3, 9, 27)
"""With `FIXED_LENGTH` steps."""
FIXED_LENGTH = 100_000


class Problem(NamedTuple):
    """A problem with its horizon; whether rewards are in [0, 1]."""

    environment: Environment
    horizon: int
    bounded: bool

    @property
    def changes(self) -> int:
        """The number of changes."""
        return len(self.environment.starts) - 1


def problems() -> dict[str, Problem]:
    """Return the six problems."""
    besson = {
        f"Besson et al. {label[0]}": Problem(piecewise(label), HORIZONS[label], True)
        for label in ("1", "2", "3", "4, T = 10000")
    }
    authors = {
        f"the authors', {family.capitalize()}": Problem(
            random_environment(family, 5, LONG, 4, seed=0), LONG, family == "bernoulli"
        )
        for family in ("bernoulli", "gaussian")
    }
    return besson | authors


def candidates(name: str, problem: Problem) -> list[Policy]:
    """Return the policies of which the best one counts; none if it does not accept the rewards."""
    if name == "FE-Restart":
        return [RestartingForcedExploration()]
    windows = [w for w in WINDOWS if w < problem.horizon]
    if name.startswith("SW-FE"):
        return [ForcedExploration(f, window=w) for f in SEQUENCES.values() for w in windows]
    if name.startswith("SW-LB-SDA"):
        return [SlidingWindowLBSDA(w) for w in windows]
    if not problem.bounded:
        return []
    if name.startswith("GLR"):
        return [GLRKLUCB(local=name.endswith("local"))]
    if name == "CUSUM-UCB":
        return [CUSUMUCB(changes=problem.changes)]
    if name.startswith("M-UCB"):
        # The threshold as published, or for a probability of false alarms.
        published = [MUCB(w, changes=problem.changes) for w in M_UCB_WINDOWS]
        return [*published, *(MUCB(w, changes=problem.changes, false_alarms=0.05) for w in M_UCB_WINDOWS)]
    return [AdaILTCB(length=0.25)]


def switching(horizon: int, changes: int) -> Environment:
    """Return two Gaussian arms whose means, 0.25 and 0.75, change places."""
    phases = [[Gaussian(0.25 + 0.5 * (k == p % 2), 0.5) for k in range(2)] for p in range(changes + 1)]
    return Environment.piecewise(phases, [p * horizon // (changes + 1) + 1 for p in range(changes + 1)])


def best_of(
    environment: Environment, policies: list[Policy], horizon: int, runs: int, seed: int, workers: int | None
) -> tuple[int, NDArray[np.float64]]:
    """Return which policy has the least mean regret in a quarter of the runs, and its regret in others."""

    def regret(some: list[Policy], number: int, first: int) -> NDArray[np.float64]:
        named = {str(place): policy for place, policy in enumerate(some)}
        found = simulate(environment, named, horizon, number, first, workers=workers, checkpoints=[horizon])
        values: NDArray[np.float64] = found.dataset["regret"].to_numpy()[:, :, -1]
        return values

    best = 0
    if len(policies) > 1:
        best = int(regret(policies, max(runs // 4, 2), seed + 1).mean(axis=1).argmin())
    return best, regret([policies[best]], runs, seed)[0]


def rising(horizon: int) -> Environment:
    """Return two Gaussian arms: the one that is worse becomes the better one after half of the steps."""
    phases = [[Gaussian(0.5, 0.5), Gaussian(mean, 0.5)] for mean in (0.25, 1.0)]
    return Environment.piecewise(phases, [1, horizon // 2 + 1])


STILL: dict[str, tuple[int, Callable[[np.random.Generator, tuple[int, int]], NDArray[np.float64]]]] = {
    "Bernoulli, 2 arms": (2, lambda rng, shape: (rng.random(shape) < [0.5, 0.3]).astype(float)),
    "Gaussian, 2 arms": (2, lambda rng, shape: rng.normal([0.5, 0.3], 0.5, shape)),
    "Student t 1.5, 2 arms": (2, lambda rng, shape: np.array([1.0, 0.0]) + rng.standard_t(1.5, shape)),
    "Bernoulli, 10 arms": (10, lambda rng, shape: (rng.random(shape) < [0.5, *[0.3] * 9]).astype(float)),
    "Bernoulli, 50 arms": (50, lambda rng, shape: (rng.random(shape) < [0.5, *[0.3] * 49]).astype(float)),
}
"""Problems in which nothing changes: how many arms there are, and what they pay."""


def restarts(law: str, horizon: int, runs: int, seed: int) -> NDArray[np.int64]:
    """Return how often FE-Restart began anew in each run of a problem in which nothing changes."""
    policy, loop = RestartingForcedExploration(), trace_loop(RestartingForcedExploration.kernels)
    n_arms, pay = STILL[law]
    stream = Stream(seed, policy)
    parameters, found = policy.parameters(n_arms, horizon), np.empty(runs, np.int64)
    for run in range(runs):
        rng = stream.generator(run)
        rewards = pay(rng, (horizon, n_arms))
        state = policy.start(n_arms, horizon, int(rng.integers(2**63)))
        loop(parameters, *state, np.arange(n_arms), rewards, rng, np.empty(horizon, np.int64))
        found[run] = state.header["restarts"]
    return found


def study(
    longest: int | None = None,
    *,
    runs: int = RUNS,
    seed: int = 0,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> xr.Dataset:
    """Run the study; problems with more than `longest` steps are left out, if it is given.

    Returns
    -------
    xarray.Dataset
        Over (problem, policy), NaN where a policy does not accept the rewards: ``mean`` of the regret at T,
        ``low`` and ``high`` (1.96 standard errors on both sides), ``median`` and ``q95``. Over (sequence,
        length), T, and over (sequence, change), the number of changes, the same of SW-FE with its best window
        on `switching`, ``length_mean``, ``change_mean`` and so on, and those windows; over (sequence,
        length) also on `rising`, ``rise_mean``; FE-Restart is the last sequence. ``length_slope``,
        ``change_slope`` and ``rise_slope`` of log regret, with their standard errors. Over (still):
        ``restarted``, the share of runs in which FE-Restart began anew though nothing changed, in 10,000
        steps, and ``restarts``, how often on average.
    """
    import xarray as xr

    limit = longest or LONG * 10
    given = {name: problem for name, problem in problems().items() if problem.horizon <= limit}
    names = [*SEQUENCES, "FE-Restart"]
    lengths = [length for length in LENGTHS if length <= limit] or [limit]
    fixed = min(FIXED_LENGTH, limit)
    axes: dict[str, list[tuple[int, Environment]]] = {
        "length": [(length, switching(length, FIXED_CHANGES)) for length in lengths],
        "change": [(fixed, switching(fixed, c)) for c in CHANGES],
        "rise": [(length, rising(length)) for length in lengths],
    }
    total = len(given) * len(POLICIES) + sum(map(len, axes.values())) * len(names) + len(STILL)
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    table = np.full((4, len(given), len(POLICIES)), np.nan)
    for i, problem in enumerate(given.values()):
        number = max(runs // FEWER, 2) if problem.horizon >= LONG else runs
        for j, name in enumerate(POLICIES):
            choices = candidates(name, problem)
            if choices:
                _, regret = best_of(problem.environment, choices, problem.horizon, number, seed, workers)
                table[:2, i, j] = regret.mean(), regret.std(ddof=1) / np.sqrt(len(regret))
                table[2:, i, j] = np.quantile(regret, [0.5, 0.95])
            advance()
    variables: dict[str, tuple[object, object]] = _interval(("problem", "policy"), table[:2], "")
    variables |= {
        name: (("problem", "policy"), x) for name, x in zip(("median", "q95"), table[2:], strict=True)
    }
    for axis, points in axes.items():
        found, windows = np.full((2, len(names), len(points)), np.nan), np.zeros((len(names), len(points)))
        for i, name in enumerate(names):
            for j, (horizon, environment) in enumerate(points):
                some = [w for w in WINDOWS if w < horizon]
                choices = (
                    [ForcedExploration(SEQUENCES[name], window=w) for w in some] if i < len(SEQUENCES) else []
                )
                number = max(runs // FEWER, 2)
                best, regret = best_of(
                    environment,
                    choices or [RestartingForcedExploration()],
                    horizon,
                    number,
                    seed,
                    workers,
                )
                found[:, i, j] = regret.mean(), regret.std(ddof=1) / np.sqrt(number)
                windows[i, j] = some[best] if choices else np.nan
                advance()
        over = "change" if axis == "change" else "length"
        x = np.log(CHANGES if axis == "change" else lengths)
        slopes = np.array([slope_of(x, *pair) for pair in zip(*found, strict=True)])
        variables |= _interval(("sequence", over), found, f"{axis}_")
        variables |= {
            f"{axis}_window": (("sequence", over), windows),
            f"{axis}_slope": ("sequence", slopes[:, 0]),
            f"{axis}_slope_error": ("sequence", slopes[:, 1]),
        }
    again = []
    for law in STILL:
        again.append(restarts(law, min(10_000, limit), runs, seed))
        advance()
    variables["restarted"] = "still", [float((x > 0).mean()) for x in again]
    variables["restarts"] = "still", [float(x.mean()) for x in again]
    return xr.Dataset(
        variables,
        {
            "problem": list(given),
            "policy": list(POLICIES),
            "sequence": names,
            "length": lengths,
            "change": list(CHANGES),
            "still": list(STILL),
        },
        {"runs": runs, "seed": seed, "fixed": fixed, "still_steps": min(10_000, limit)},
    )


def _interval(
    dims: tuple[str, ...], found: NDArray[np.float64], prefix: str
) -> dict[str, tuple[object, object]]:
    """Return mean, low and high of means and standard errors."""
    mean, error = found
    low, high = mean - 1.96 * error, mean + 1.96 * error
    return {f"{prefix}{key}": (dims, x) for key, x in (("mean", mean), ("low", low), ("high", high))}


def draw_study(data: xr.Dataset) -> Figure:
    """Draw `study`'s result."""
    from brigand.figures.changing import changing

    return changing(data)
