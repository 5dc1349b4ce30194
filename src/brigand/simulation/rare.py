"""Rare events of FE, exactly: its mean regret and the probabilities of runs that are stuck on a wrong arm.

FE's mean regret is carried by rare runs in which the best arm looks bad for very long. Runs are drawn from a
mixture. Its first component is the simulation by skipping itself; in the others the rewards of the best arm
and of the second best are tilted so that the best arm looks bad until round n (`brigand.simulation.tilt`). A
run has the weight 1 / sum_s share_s L_s, where L_s is its likelihood under component s relative to no tilt
(the balance heuristic of Veach, Guibas, SIGGRAPH 1995). So weighted means are unbiased, and no weight is
above 1 / share_0. ``docs/rare_events.md`` has the proof and measurements.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brigand import checks, jit
from brigand.environments.environment import Environment
from brigand.environments.tilts import tilted
from brigand.environments.totals import UNKNOWN
from brigand.errors import InvalidValueError, UnsupportedRewardError
from brigand.policies.base import Policy, Table
from brigand.policies.forced import sequences
from brigand.policies.forced.forced_exploration import ForcedExploration
from brigand.rng import Stream
from brigand.shortcuts import wind
from brigand.simulation.blocks import ARM, CLOCK
from brigand.simulation.plan import Plan, check_workers, make_plan
from brigand.simulation.run import CHUNK_SKIPS, run_all
from brigand.simulation.skip_ahead import AT_ONCE, CompiledWorld, can_skip, check_skippable, play_fe
from brigand.simulation.tilt import Pair, Tilt

FOR_MEAN, FOR_THRESHOLD = 0.6, 0.6
"""The share of the runs that are tilted for the mean, and those for a threshold where there is one."""
FOR_MEAN_BESIDE = 0.15
"""The share for the mean where there is a threshold."""
RATIO = 2.0
"""From one target to the next."""
USUAL = 1.0
RARE = 5.0
"""Targets are where the best arm looks bad with a probability p < exp(-USUAL), and p step > exp(-RARE)."""
FEWEST = 100

Floats = NDArray[np.float64]


class Estimate(NamedTuple):
    """An unbiased estimate and its standard error."""

    value: float
    error: float


@dataclass(frozen=True)
class RareRegret:
    """Weighted runs: the mean of weight times any function of a run's regret estimates its expectation.

    Attributes
    ----------
    steps : int64 array of shape (checkpoints,)
    regret : float64 array of shape (runs, checkpoints)
        Pseudo-regret up to and including each step.
    weights : float64 array of shape (runs, checkpoints)
        Of mean 1; at most 2.5, or 4 where there is a threshold.
    targets : int64 array of shape (runs,)
        Until which round the best arm was to look bad; 0 where nothing was tilted. Each value is had by a
        fixed number of runs, a stratum.
    usual: float64 array of shape (checkpoints,)
        About the regret of a run that is never stuck, known without any run.
    """

    steps: NDArray[np.int64]
    regret: Floats
    weights: Floats
    targets: NDArray[np.int64]
    usual: Floats

    def mean(self, step: int | None = None) -> Estimate:
        """Return the mean regret at a checkpoint, by default the last.

        As weights have the expectation 1, the mean of weight times (regret - usual) is what is added to the
        usual regret: so the weights' own noise counts only for what is not usual.
        """
        at = self._at(step)
        added = self._estimate(self.regret[:, at] - self.usual[at], step)
        return Estimate(float(self.usual[at]) + added.value, added.error)

    def exceeds(self, threshold: float, step: int | None = None) -> Estimate:
        """Return the probability that the regret exceeds a threshold: best the one that the runs aimed at."""
        threshold = checks.number("threshold", threshold)
        return self._estimate(self.regret[:, self._at(step)] > threshold, step)

    def quantile(self, q: float, step: int | None = None) -> float:
        """Return a quantile of the regret: the least value that has at least q of the weight up to it.

        It is consistent, not unbiased.
        """
        q = checks.number("q", q, 0.0, 1.0)
        at = self._at(step)
        order = np.argsort(self.regret[:, at])
        upto = np.cumsum(self.weights[order, at])
        place = np.searchsorted(upto, q * upto[-1])
        return float(self.regret[order[min(place, len(order) - 1)], at])

    def effective_sample_size(self, step: int | None = None) -> float:
        """Return (sum of weights)^2 / (sum of their squares), Kish's effective sample size.

        It tells how many plain runs tell as much about what is not rare; about rare events they tell less.
        """
        weights = self.weights[:, self._at(step)]
        return float(weights.sum() ** 2 / np.square(weights).sum())

    def _estimate(self, values: NDArray[Any], step: int | None) -> Estimate:
        products = self.weights[:, self._at(step)] * values
        variance = 0.0
        for target in np.unique(self.targets):
            stratum = products[self.targets == target]
            variance += len(stratum) * stratum.var(ddof=1)
        return Estimate(float(products.mean()), math.sqrt(variance) / len(products))

    def _at(self, step: int | None) -> int:
        if step is None:
            return -1
        found = np.flatnonzero(self.steps == checks.integer("step", step, 1))
        if not len(found):
            raise InvalidValueError(f"step must be one of the checkpoints, not {step}.")
        return int(found[0])


def rare_regret(
    environment: Environment,
    policy: Policy,
    horizon: int,
    runs: int = 10_000,
    seed: int | None = 0,
    *,
    threshold: float | None = None,
    workers: int | None = None,
    checkpoints: Sequence[int] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> RareRegret:
    """Return weighted runs of FE, many of them stuck: for its mean regret and probabilities of rare events.

    Parameters
    ----------
    environment : Environment
        With one phase and a single best arm. Its rewards are Gaussian, Bernoulli, exponential, Poisson or of
        finitely many values; those of other arms may be any.
    policy : ForcedExploration
        Without a window, f known beforehand.
    horizon : int
        T.
    runs : int
        At least 100.
    seed : int or None
        Same seed, same bits, for any number of workers. None draws a seed.
    threshold : float, optional
        A regret at T of which the probability to be exceeded is wanted: most runs aim at it. Without one they
        aim at the mean.
    workers : int, optional
        Threads; by default as many as the process may use.
    checkpoints : sequence of int, optional
        Steps at which regret is recorded; T is added. By default T alone.
    progress : callable, optional
        Called as ``progress(done, total)`` with numbers of runs, from the calling thread.

    Raises
    ------
    InvalidValueError, UnsupportedRewardError
        An argument is not allowed; nothing was run.

    Examples
    --------
    >>> import brigand as br
    >>> env = br.Environment.stationary([br.Gaussian(0, 1), br.Gaussian(0.5, 1)])
    >>> found = br.rare_regret(env, br.ForcedExploration(), horizon=100_000, runs=1000)
    >>> found.mean().error < 0.02 * found.mean().value
    True
    """
    runs = checks.integer("runs", runs, FEWEST)
    plan = make_plan(environment, {"policy": policy}, horizon, runs, seed, checkpoints or [horizon])
    if threshold is not None:
        threshold = checks.number("threshold", threshold)
    runner = RareRunner(plan, plan.policies["policy"], threshold)
    regret = np.empty((runs, len(plan.checkpoints)))
    weights = np.empty_like(regret)

    def work(chunk: range, stop: threading.Event) -> int:
        for first in range(chunk.start, chunk.stop, AT_ONCE):
            if stop.is_set():
                break
            some = slice(first, min(first + AT_ONCE, chunk.stop))
            regret[some], weights[some] = runner.run(plan.replications[some])
        return len(chunk)

    chunks = [range(first, min(first + CHUNK_SKIPS, runs)) for first in range(0, runs, CHUNK_SKIPS)]
    run_all([partial(work, chunk) for chunk in chunks], check_workers(workers), runs, progress)
    return RareRegret(plan.checkpoints, regret, weights, runner.targets[runner.components], runner.usual)


@functools.cache
def rare_loop() -> Callable[..., None]:
    """Return the compiled loop over replications that are tilted; as `skip_ahead.skip_loop`, and weights."""

    def skip(
        parameters: Any,
        clocks: Table,
        arms: Table,
        memory: Table,
        world: CompiledWorld,
        checkpoints: NDArray[np.int64],
        tilt: Tilt,
        components: NDArray[np.int64],
        states: NDArray[np.uint64],
        rng: np.random.Generator,
        state: NDArray[np.uint64],
        half: NDArray[np.uint32],
        pulls: NDArray[np.int64],
        regret: Floats,
        weights: Floats,
    ) -> None:
        for i in range(len(clocks)):
            state[:] = states[i]
            half[:] = 0
            tilt.component[0] = components[i]
            tilt.logs[:] = 0.0
            play_fe(parameters, clocks[i], arms[i], memory, world, checkpoints, rng, pulls, regret[i], tilt)
            weights[i] = tilt.weight

    return jit.compile_loop(skip, play_fe)


class RareRunner:
    """Runs replications of FE, each from its component of the mixture; safe to share between threads.

    Attributes
    ----------
    targets : int64 array of shape (components,)
    components : int64 array of shape (runs,)
    usual : float64 array of shape (checkpoints,)
    """

    def __init__(self, plan: Plan, policy: Policy, threshold: float | None = None) -> None:
        environment = check_skippable(plan.environment)
        check(environment, policy)
        compiled = environment.compiled
        n_arms, runs = environment.n_arms, len(plan.replications)
        self._world = CompiledWorld(
            compiled.laws, compiled.table, compiled.starts, environment.totals, environment.gaps
        )
        self._checkpoints = plan.checkpoints
        self._rewards = Stream(plan.seed, environment)
        self._arms = np.repeat(ARM, n_arms)
        self._parameters = policy.parameters(n_arms, plan.horizon)
        self._memory = policy.memory(n_arms, plan.horizon)
        self._pair = pair_of(environment)
        rounds, steps = planned(self._parameters, self._memory, n_arms, plan.horizon)
        aims, shares = mixture(self._pair, environment.gaps[0], rounds, steps, threshold)
        sizes = [max(2, int(share * runs)) for share in shares[1:]]
        sizes = [runs - sum(sizes), *sizes]
        self.targets = np.array(aims)
        self._ends = np.interp(self.targets, rounds, steps)
        self.usual = np.interp(plan.checkpoints, steps, rounds) * environment.gaps[0].sum()
        self.components = np.repeat(np.arange(len(sizes)), sizes)
        self._shares = np.array(sizes) / runs

    def run(self, replications: Sequence[int]) -> tuple[Floats, Floats]:
        """Return regret and weights of some replications, both of shape (n, checkpoints)."""
        n, n_arms = len(replications), len(self._arms)
        clocks, arms = np.repeat(CLOCK, n), np.tile(self._arms, (n, 1))
        pulls = np.empty((len(self._checkpoints), n_arms), np.int64)
        regret = np.empty((n, len(self._checkpoints)))
        weights = np.empty_like(regret)
        components = self.components[list(replications)]
        tilt = Tilt(
            self._pair,
            self.targets,
            self._ends,
            self._shares,
            np.zeros(1, np.int64),
            np.zeros(len(self.targets)),
            np.zeros(len(self.targets)),
            np.zeros(len(self._checkpoints)),
        )
        loop = rare_loop()
        for some, wound in wind(self._rewards.starts(replications)):
            loop(
                self._parameters,
                clocks[some],
                arms[some],
                self._memory,
                self._world,
                self._checkpoints,
                tilt,
                components[some],
                *wound,
                pulls,
                regret[some],
                weights[some],
            )
        return regret, weights


def pair_of(environment: Environment) -> Pair:
    """Return the best arm and its rival."""
    rival, best = (int(k) for k in np.argsort(environment.means[0], kind="stable")[-2:])
    arm, second = environment.phases[0][best], environment.phases[0][rival]
    total, law, table = environment.totals[0], environment.compiled.laws[0], environment.compiled.table
    # No mean is at the end of the support.
    low = arm.support[0]
    level = max(second.mean, low + (arm.mean - low) / 100) if low > -math.inf else second.mean
    theta = _solve(lambda x: tilted(total[best], law[best], table, x)[1] - level)
    log_mgf, _, variance = tilted(total[best], law[best], table, theta)
    spread = second.variance if total[rival]["kind"] != UNKNOWN else 0.0
    return Pair(best, rival, second.mean, -theta * variance, variance, spread, theta * level - log_mgf)


def planned(parameters: Any, memory: Table, n_arms: int, horizon: int) -> tuple[Floats, Floats]:
    """Return some rounds and the steps at which they begin, about, where a wrong arm leads; up to T."""
    n, step = 1, float(n_arms)
    rounds, steps = [n], [step]
    while step < horizon:
        more = n // 100 + 1
        threshold = sequences.value(
            parameters.kind, parameters.number, parameters.shift, memory, parameters.table, n + more // 2, 0
        )
        n += more
        step = min(step + more * max(math.ceil(min(threshold, horizon)) + 1, n_arms), float(horizon))
        rounds.append(n)
        steps.append(step)
    return np.array(rounds, float), np.array(steps)


def mixture(
    pair: Pair, gaps: Floats, rounds: Floats, steps: Floats, threshold: float | None
) -> tuple[list[int], list[float]]:
    """Return until which rounds the best arm is to look bad, first 0, and which share of the runs each has.

    For the mean: from where that is not rare to where it matters least, or to the number of rounds in T. For
    a threshold: until the regret exceeds it.
    """
    worth = rounds[rounds * pair.rate - np.log(steps) <= RARE]
    found: list[int] = []
    aim = float(worth[-1]) if len(worth) else 0.0
    while aim >= 1 and (not found or aim * pair.rate >= USUAL):
        found.append(round(aim))
        aim /= RATIO
    aimed: list[int] = []
    if threshold is not None:
        others = gaps.sum() - gaps[pair.rival]
        stuck = gaps[pair.rival] * (steps - rounds * (len(gaps) - 1)) + rounds * others
        freed = (rounds[-1] - rounds) * gaps.sum()  # every wrong arm is forced once a round from then on
        aimed = [math.ceil(np.interp(threshold, stuck + freed, rounds))]
    targets, shares = [0], [1.0]
    for some, share in ((found, FOR_MEAN_BESIDE if aimed else FOR_MEAN), (aimed, FOR_THRESHOLD)):
        targets += some
        shares += [share / len(some) for _ in some]
    return targets, shares


def check(environment: Environment, policy: Policy) -> None:
    """Raise unless rare events of the policy can be simulated.

    Raises
    ------
    InvalidValueError, UnsupportedRewardError
    """
    if type(policy) is not ForcedExploration or not can_skip(policy):
        raise InvalidValueError(
            "rare events are those of ForcedExploration without a window whose f(r) is known beforehand, "
            f"not of {policy!r}."
        )
    if len(environment.phases) > 1:
        raise InvalidValueError("rare events are simulated where rewards never change, in a single phase.")
    gaps = environment.gaps[0]
    if (gaps == 0).sum() != 1 or len(gaps) == 1:
        raise InvalidValueError("rare events need a single best arm and another: a run is stuck on that one.")
    best = int(np.argmin(gaps))
    arm, total = environment.phases[0][best], environment.totals[0, best]
    if total["kind"] == UNKNOWN:
        raise UnsupportedRewardError(
            "rare events need a best arm whose rewards are Gaussian, Bernoulli, ExponentialReward, Poisson "
            f"or FiniteSupport, not {arm!r}: its tilted law has no closed form."
        )
    if total["lower"] == 0.0:
        raise UnsupportedRewardError(f"rare events need a best arm that can look bad, not {arm!r}.")


def _solve(excess: Callable[[float], float]) -> float:
    """Return the negative zero of an increasing function."""
    from scipy import optimize

    low = -1.0
    while excess(low) > 0.0:
        low *= 2.0
    return float(optimize.brentq(excess, low, 0.0, xtol=1e-14, rtol=1e-12))
