"""Rewards and means that are functions of the user's, compiled into the loop."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from brigand import checks, jit
from brigand.environments.distribution import Distribution, Law
from brigand.environments.draw import FUNCTION, HALF_ULP, draw
from brigand.environments.paths import MeanPath
from brigand.environments.world import Floats
from brigand.errors import InvalidValueError
from brigand.spec import function_name, import_name, type_name

Function = Callable[..., float]
DRAWS = 2**17
"""So many rewards are drawn to check a mean that is given."""
ERRORS = 6.0
"""So many standard errors the mean of the draws may be away: for a Gaussian mean, once in 5 x 10^8 times."""


@functools.cache
def paying(functions: tuple[Function, ...]) -> Callable[..., float]:
    """Return the kernel `draw` where laws of kind FUNCTION have a ``size``: their place among functions."""
    if not functions:
        return draw
    rest, own, place = paying(functions[:-1]), jit.kernel(functions[-1]), len(functions) - 1

    def pay(law: Any, table: Any, uniform: float, normal: float) -> float:
        if law["kind"] == FUNCTION and law["size"] == place:
            return float(own(uniform, normal))
        return rest(law, table, uniform, normal)

    return jit.kernel(pay)


@dataclass(frozen=True)
class FunctionReward(Distribution):
    """A reward that is a function of the step's uniform and standard normal number.

    Parameters
    ----------
    function : callable or str
        ``function(uniform, normal)`` returns a number; uniform is in [0, 1). Written in the subset of Python
        that Numba compiles. A string ``"module:function"`` is imported.
    mu : float
        The mean. It is checked by 2^17 draws, of which the mean may be six standard errors away.
    sigma : float
        The standard deviation; infinite if nothing is known.
    low, high : float
        What it returns at least and at most; may be infinite. Checked by the same draws.

    Raises
    ------
    InvalidValueError
        The function does not compile, returns NaN or what is outside of [low, high], or has another mean.

    Examples
    --------
    >>> def jackpot(uniform, normal):
    ...     return 10.0 if uniform < 0.01 else 0.5 + 0.1 * normal
    >>> FunctionReward(jackpot, mu=0.595).mean
    0.595
    """

    function: Function | str
    mu: float
    sigma: float = math.inf
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        self._keep(function=_function_of("FunctionReward's function", self.function))
        self._keep(mu=checks.number("FunctionReward's mean", self.mu))
        sigma = checks.number("FunctionReward's standard deviation", self.sigma, 0.0, infinite=True)
        low, high = (
            checks.number(f"FunctionReward's {name}", end, infinite=True)
            for name, end in (("low", self.low), ("high", self.high))
        )
        self._keep(sigma=sigma, low=low, high=high)
        self._check_draws()

    def _check_draws(self) -> None:
        rewards = _rewards_of(self.function)
        name = _called(self.function)
        if not np.isfinite(rewards).all():
            wrong = rewards[~np.isfinite(rewards)][0]
            raise InvalidValueError(f"rewards must be finite, but {name} returned {wrong}.")
        least, most = float(rewards.min()), float(rewards.max())
        if least < self.low or most > self.high:
            raise InvalidValueError(
                f"rewards of {name} are to be in [{self.low:g}, {self.high:g}], but it returned "
                f"{least if least < self.low else most:g}."
            )
        drawn = rewards[:DRAWS]
        mean, error = float(drawn.mean()), float(drawn.std()) / math.sqrt(DRAWS)
        if abs(mean - self.mu) > ERRORS * error + 1e-9 * (1 + abs(self.mu)):
            raise InvalidValueError(
                f"the mean of {name} is given as {self.mu:g}, but that of {DRAWS:,} draws is {mean:.6g}, "
                f"with a standard error of {error:.2g}."
            )

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, with the name of the function.

        A function that cannot be imported by name is written with a hash of what it returns, which tells it
        apart from others; it cannot be read back.
        """
        others = {"mu": self.mu, "sigma": self.sigma, "low": self.low, "high": self.high}
        plain = {name: value if math.isfinite(value) else str(value) for name, value in others.items()}
        named = function_name(self.function, lambda: _rewards_of(self.function)[:64].tolist())
        return {"type": type_name(type(self)), "function": named} | plain

    @property
    def mean(self) -> float:
        return self.mu

    @property
    def variance(self) -> float:
        return self.sigma * self.sigma

    @property
    def support(self) -> tuple[float, float]:
        return (self.low, self.high)

    @property
    def reach(self) -> float:
        """The largest absolute reward among the draws, and at the ends of what can be drawn."""
        return float(np.abs(_rewards_of(self.function)).max())

    def law(self) -> Law:
        return Law(FUNCTION)


@dataclass(frozen=True)
class MeanFunction(MeanPath):
    """Means that are a function of the step and the arm.

    Parameters
    ----------
    function : callable or str
        ``function(t, arm)`` returns the mean of an arm (from 0) at step t (from 1); in `Rested`, at its pull
        t. Written in the subset of Python that Numba compiles. A string ``"module:function"`` is imported.
    arms : int
        K.

    Examples
    --------
    >>> def halves(t, arm):
    ...     return 0.9 if (t <= 500) == (arm == 0) else 0.1
    >>> MeanFunction(halves, 2).table(1000)[[0, 999]]
    array([[0.9, 0.1],
           [0.1, 0.9]])
    """

    function: Function | str
    arms: int

    def __post_init__(self) -> None:
        self._keep(function=_function_of("MeanFunction's function", self.function))
        self._keep(arms=checks.integer("MeanFunction's arms", self.arms, 1))

    @property
    def n_arms(self) -> int:
        return self.arms

    def rows(self, count: int) -> Floats:
        means = np.empty((count, self.arms))
        _run(_mean_loop, self.function, means)
        return means

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, with the name of the function, as that of `FunctionReward`."""
        named = function_name(self.function, lambda: self.rows(64).tolist())
        return {"type": type_name(type(self)), "function": named, "arms": self.arms}


@functools.cache
def _mean_loop(function: Function) -> Callable[..., None]:
    mean = jit.kernel(function)

    def fill(means: Any) -> None:
        for row in range(means.shape[0]):
            for arm in range(means.shape[1]):
                means[row, arm] = mean(row + 1, arm)

    return jit.compile_loop(fill, function)


@functools.cache
def _reward_loop(function: Function) -> Callable[..., None]:
    reward = jit.kernel(function)

    def fill(uniforms: Any, normals: Any, rewards: Any) -> None:
        for i in range(len(rewards)):
            rewards[i] = reward(uniforms[i], normals[i])

    return jit.compile_loop(fill, function)


@functools.lru_cache(maxsize=64)
def _rewards_of(function: Any) -> Floats:
    """Return rewards of `DRAWS` draws, and then at the ends of what can be drawn."""
    rng = np.random.Generator(np.random.PCG64(1))
    ends = np.meshgrid([0.0, HALF_ULP, 0.5, 1 - 2 * HALF_ULP], [-12.0, 0.0, 12.0])
    uniforms = np.append(rng.random(DRAWS), ends[0])
    normals = np.append(rng.standard_normal(DRAWS), ends[1])
    rewards = np.empty(len(uniforms))
    _run(_reward_loop, function, uniforms, normals, rewards)
    return rewards


def _run(loop: Callable[[Any], Callable[..., None]], function: Any, *arguments: Any) -> None:
    """Run the loop of a function of the user's.

    Raises
    ------
    InvalidValueError
        It does not compile, or raises an error.
    """
    try:
        loop(function)(*arguments)
    except numba.core.errors.NumbaError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise InvalidValueError(f"{_called(function)} does not compile: {' '.join(lines[:3])}") from None
    except Exception as error:  # whatever the user's function does wrong
        raise InvalidValueError(f"{_called(function)} failed: {type(error).__name__}: {error}.") from error


def _function_of(name: str, value: object) -> Function:
    """Return a Python function that is given as such, compiled, or by name."""
    found: Any = import_name(value) if isinstance(value, str) else value
    found = getattr(found, "py_func", found)  # of one that is compiled already
    if not hasattr(found, "__code__"):
        raise InvalidValueError(f"{name} must be a Python function or 'module:function', not {value!r}.")
    plain: Function = found
    return plain


def _called(function: Any) -> str:
    return f"{function.__module__}:{function.__qualname__}"
