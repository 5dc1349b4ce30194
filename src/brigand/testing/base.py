"""What the checks share: how they fail, which rewards they pay, ways to run a policy's kernels."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Concatenate, ParamSpec

import numpy as np
from numpy.typing import NDArray

from brigand.environments.discrete import Bernoulli, FiniteSupport
from brigand.environments.environment import Environment
from brigand.errors import InvalidValueError, UnknownNameError
from brigand.policies.base import Policy, State, check_choices
from brigand.simulation.step import trace_loop

Options = ParamSpec("Options")
Check = Callable[Concatenate[Policy, Options], None]

MEANS = (0.3, 0.5, 0.5, 0.7)
"""Of the arms that most checks play with, where rewards are in [0, 1]."""
PLAIN: dict[str, Check[...]] = {}
"""The checks that run kernels in plain Python, by name."""
COMPILED: dict[str, Check[...]] = {}
"""The checks that also run compiled code, which does not notice an index that is out of bounds."""


def check(group: dict[str, Check[...]] | None) -> Callable[[Check[Options]], Check[Options]]:
    """Make a function a check: whatever it raises becomes an AssertionError that names policy and check.

    Parameters
    ----------
    group : dict, optional
        `PLAIN` or `COMPILED`, if `check_policy` is to run it. It is entered without ``check_``.
    """

    def decorate(function: Check[Options]) -> Check[Options]:
        name = function.__name__

        @functools.wraps(function)
        def checked(policy: Policy, /, *args: Options.args, **kwargs: Options.kwargs) -> None:
            if not isinstance(policy, Policy):
                raise InvalidValueError(f"{name} takes a policy such as UCB1(0, 1), not {policy!r}.")
            try:
                function(policy, *args, **kwargs)
            except AssertionError as error:
                raise AssertionError(f"{policy!r} fails {name}: {error}") from error.__cause__
            except UnknownNameError:  # an option that does not exist
                raise
            except Exception as error:
                raise AssertionError(f"{policy!r} fails {name}: {type(error).__name__}: {error}") from error

        if group is not None:
            group[name.removeprefix("check_")] = checked
        return checked

    return decorate


def require(condition: object, message: str) -> None:
    """Raise an AssertionError unless the condition holds; also where Python leaves out ``assert``."""
    if not condition:
        raise AssertionError(message)


def generator(seed: int) -> np.random.Generator:
    """Return the generator that NumPy makes of a seed by default."""
    return np.random.Generator(np.random.PCG64(seed))


def fit(policy: Policy, rewards: Any) -> NDArray[np.float64]:
    """Return rewards given in [0, 1] in the range of the policy's: the same numbers, where it takes them."""
    low, high = policy.reward_support
    given = np.asarray(rewards, float)
    if math.isfinite(low) and math.isfinite(high):
        return np.clip(low + (high - low) * given, low, high)
    if math.isfinite(low):
        return low + given
    return high - 1.0 + given if math.isfinite(high) else given


def environment_for(policy: Policy, means: Iterable[float] = MEANS) -> Environment:
    """Return arms that pay one of two rewards; `means` and rewards are those of `fit`."""
    low, high = fit(policy, [0.0, 1.0]).tolist()
    if (low, high) == (0.0, 1.0):
        return Environment.stationary([Bernoulli(mean) for mean in means])
    return Environment.stationary([FiniteSupport((low, high), (1.0 - mean, mean)) for mean in means])


def knowing(policy: Policy, means: Iterable[float] = MEANS) -> Policy:
    """Return the policy that knows the arms of `environment_for`: itself, for all but oracles."""
    return policy.informed(environment_for(policy, means))


def rewards01() -> NDArray[np.float64]:
    """Return rewards of 0 and 1 with many ties, shape (400, 4)."""
    return (generator(7).random((400, 4)) < MEANS).astype(float)


def play(
    policy: Policy,
    rewards: NDArray[np.float64],
    key: int = 0,
    seed: int = 0,
    horizon: int | None = None,
    compiled: bool = False,
) -> tuple[list[int], State]:
    """Run a policy on a table of rewards.

    Parameters
    ----------
    policy : Policy
    rewards : ndarray of shape (T, K)
    key : int
        See `brigand.Policy.start`.
    seed : int
        Of the generator that the policy chooses with.
    horizon : int, optional
        The horizon that the policy is told; by default T.
    compiled : bool

    Returns
    -------
    list of int, State
        The arms pulled, and the state at the end.
    """
    steps, n_arms = rewards.shape
    horizon = horizon or steps
    parameters, state = policy.parameters(n_arms, horizon), policy.start(n_arms, horizon, key)
    loop: Any = trace_loop(policy.kernels)
    run = loop if compiled else loop.py_func
    chosen = np.empty(steps, np.int64)
    check_choices(policy, run(parameters, *state, np.arange(n_arms), rewards, generator(seed), chosen))
    return chosen.tolist(), state


def told(
    policy: Policy, rewards: Iterable[float], n_arms: int = 2, horizon: int = 1000, key: int = 0
) -> tuple[Any, State]:
    """Pull arm 0 and pay a reward, for each of some rewards.

    Parameters
    ----------
    policy : Policy
    rewards : iterable of float
    n_arms, horizon, key
        See `brigand.Policy.start`.

    Returns
    -------
    NamedTuple, State
        The parameters, and the state at the end.
    """
    parameters, state = policy.parameters(n_arms, horizon), policy.start(n_arms, horizon, key)
    for step, reward in enumerate(rewards, start=1):
        policy.kernels.pull(parameters, *state, 0)
        policy.kernels.learn(parameters, *state, 0, reward, step)
    return parameters, state


def go_on(
    policy: Policy,
    rewards: NDArray[np.float64],
    state: State,
    rng: np.random.Generator,
    steps: Sequence[int],
) -> list[int]:
    """Run the kernels in plain Python at the given steps, from `state` on; return the arms."""
    n_arms = rewards.shape[1]
    parameters = policy.parameters(n_arms, len(rewards))
    chosen = []
    for step in steps:
        arm = int(policy.kernels.select(parameters, *state, np.arange(n_arms), rng))
        policy.kernels.pull(parameters, *state, arm)
        policy.kernels.learn(parameters, *state, arm, float(rewards[step - 1, arm]), step)
        chosen.append(arm)
    return chosen


def require_known(state: State, fresh: State) -> None:
    """Require that nothing that began as a number is NaN, and the mean of an arm with rewards is known."""
    for title, table, first in zip(State._fields, state, fresh, strict=True):
        for name in table.dtype.names:
            began_unknown = np.isnan(first[name]).any()
            require(began_unknown or not np.isnan(table[name]).any(), f"{title}[{name!r}] became NaN")
    names = state.arms.dtype.names or ()
    count = next((name for name in ("n", "count", "weight") if name in names), None)
    if "mean" in names and count is not None:
        known = np.isfinite(state.arms["mean"][state.arms[count] > 0]).all()
        require(known, "an arm that has rewards has no finite mean")


def options_of(function: Check[...]) -> set[str]:
    """Return the names of a check's options."""
    return set(inspect.signature(function).parameters) - {"policy"}
