"""Regret of policies on a family of problems, one run on each, and its statistics."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brigand.environments.environment import Environment
from brigand.environments.instances import random_environment
from brigand.errors import InvalidValueError, UnsupportedRewardError
from brigand.policies.base import Policy
from brigand.simulation.plan import check_workers, make_plan
from brigand.simulation.rare import check as check_rare, rare_regret
from brigand.simulation.skip_ahead import SkipRunner, can_skip
from brigand.simulation.step import Runner

Floats = NDArray[np.float64]


INSTANCES = 2**20
"""Problems of one seed that no other seed near it has."""
WEIGHTED = 100
"""Runs of FE on a problem, many of them stuck on purpose, of which its mean regret is estimated."""


@dataclass(frozen=True)
class Problems:
    """A family of problems, numbered from 0, and the horizon.

    Parameters
    ----------
    environment : callable
        ``environment(i)`` is problem i.
    horizon : int
        T.
    workers : int, optional
        Threads.
    seed : int
        Of the runs.
    """

    environment: Callable[[int], Environment]
    horizon: int
    workers: int | None = None
    seed: int = 0
    _drawn: dict[int, Environment] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def random(
        cls, family: str, n_arms: int, horizon: int, workers: int | None = None, seed: int = 0
    ) -> Problems:
        """Return random instances, as `brigand.random_environment`: problem i has seed i + 2^20 `seed`."""
        draw = functools.partial(random_environment, family, n_arms, horizon, 1)
        draw(0)  # a bad argument is an error now
        return cls(lambda i: draw((i + seed * INSTANCES) % 2**32), horizon, workers, seed)

    @classmethod
    def fixed(
        cls, environment: Environment, horizon: int, workers: int | None = None, seed: int = 0
    ) -> Problems:
        """Return one environment, again and again."""
        return cls(lambda i: environment, horizon, workers, seed)

    def regret(self, policy: Policy, numbers: Sequence[int], steps: Sequence[int] | None = None) -> Floats:
        """Return the regret on some problems, shape (problems, steps); by default at T alone.

        Run i on problem i meets the same random numbers whatever the policy, as far as its way of
        simulating uses them alike.
        """
        checkpoints = [self.horizon] if steps is None else steps
        runner = SkipRunner if can_skip(policy) else Runner

        def one(i: int) -> Any:
            plan = make_plan(self._problem(i), {"x": policy}, self.horizon, (i,), self.seed, checkpoints)
            return runner(plan, policy).run((i,)).regret[0]

        return self._each(one, numbers)

    def mean_regret(
        self, policy: Policy, numbers: Sequence[int], steps: Sequence[int] | None = None
    ) -> Floats:
        """Return unbiased estimates of the mean regret on some problems, shape (problems, steps).

        Each is of `WEIGHTED` runs of `rare_regret` on the problem. Where that cannot be, it is one plain run.
        """
        try:
            for i in numbers:
                check_rare(self._problem(i), policy)
        except (InvalidValueError, UnsupportedRewardError):
            return self.regret(policy, numbers, steps)
        checkpoints = [self.horizon] if steps is None else list(steps)

        def one(i: int) -> Any:
            seed = (i + self.seed * INSTANCES) % 2**32
            found = rare_regret(
                self._problem(i), policy, self.horizon, WEIGHTED, seed, workers=1, checkpoints=checkpoints
            )
            return [found.mean(step).value for step in checkpoints]

        return self._each(one, numbers)

    def _each(self, one: Callable[[int], Any], numbers: Sequence[int]) -> Floats:
        with ThreadPoolExecutor(check_workers(self.workers)) as pool:
            return np.array(list(pool.map(one, numbers)))

    def _problem(self, i: int) -> Environment:
        if i not in self._drawn:
            self._drawn[i] = self.environment(i)
        return self._drawn[i]


@dataclass(frozen=True)
class Objective:
    """What is to be small: the mean of the regret, or a quantile.

    Parameters
    ----------
    quantile : float, optional
        In (0, 1). None: the mean.
    """

    quantile: float | None = None

    @property
    def name(self) -> str:
        """What it is called in tables."""
        return "mean" if self.quantile is None else f"{self.quantile:.4g} quantile"

    def value(self, regret: Floats) -> float:
        """Return it for regrets of shape (runs,)."""
        return float(np.mean(regret) if self.quantile is None else np.quantile(regret, self.quantile))

    def interval(self, regret: Floats) -> tuple[float, float]:
        """Return a 95 % interval: Student's for the mean, the bootstrap's percentiles for a quantile."""
        from scipy import stats

        if self.quantile is None:
            half = stats.t.ppf(0.975, len(regret) - 1) * regret.std(ddof=1) / np.sqrt(len(regret))
            return float(regret.mean() - half), float(regret.mean() + half)
        q = self.quantile
        return self._bootstrap((regret,), lambda x: float(np.quantile(x, q)))

    def difference(self, regret: Floats, other: Floats) -> tuple[float, float]:
        """Return a 95 % interval of the paired difference, regret less other."""
        if self.quantile is None:
            return self.interval(regret - other)
        q = self.quantile
        return self._bootstrap((regret, other), lambda x, y: float(np.quantile(x, q) - np.quantile(y, q)))

    @staticmethod
    def _bootstrap(data: tuple[Floats, ...], statistic: Callable[..., float]) -> tuple[float, float]:
        from scipy import stats

        found = stats.bootstrap(
            data, statistic, paired=True, vectorized=False, n_resamples=1000, method="percentile", rng=0
        ).confidence_interval
        return float(found.low), float(found.high)
