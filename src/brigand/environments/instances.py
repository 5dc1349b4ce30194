"""Random instances, as in the paper's experiments."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from brigand import checks
from brigand.environments.continuous import ExponentialReward, Gaussian
from brigand.environments.discrete import Bernoulli, Poisson
from brigand.environments.distribution import Distribution
from brigand.environments.environment import Environment
from brigand.errors import InvalidValueError, UnknownNameError

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def _gaussian(rng: np.random.RandomState, n_arms: int) -> list[Distribution]:
    means = rng.random_sample(n_arms)
    deviations = rng.random_sample(n_arms)
    return [Gaussian(float(m), float(s)) for m, s in zip(means, deviations, strict=True)]


def _by_mean(make: Callable[[float], Distribution]) -> Callable[..., list[Distribution]]:
    def arms(rng: np.random.RandomState, n_arms: int) -> list[Distribution]:
        return [make(float(mean)) for mean in rng.random_sample(n_arms)]

    return arms


FAMILIES: dict[str, Callable[[np.random.RandomState, int], list[Distribution]]] = {
    "bernoulli": _by_mean(Bernoulli),
    "gaussian": _gaussian,
    "exponential": _by_mean(ExponentialReward),
    "poisson": _by_mean(Poisson),
}


def random_environment(family: str, n_arms: int, horizon: int, phases: int = 1, seed: int = 0) -> Environment:
    """Return an environment with random means: the paper's, with the authors' seed the authors' own.

    In each phase the means are independent and uniform on [0, 1), and so are the standard deviations of
    Gaussian arms (the paper says "variances", its scripts use them as standard deviations). Phases are of
    equal length: phase i begins at step floor(i horizon / phases) + 1.

    Parameters
    ----------
    family : str
        ``"bernoulli"``, ``"gaussian"``, ``"exponential"`` or ``"poisson"``.
    n_arms, horizon, phases : int
        K, T and the number of phases, at least 1.
    seed : int
        0 to 2^32 - 1. Numbers are drawn as in the authors' scripts, by NumPy's legacy generator: in each
        phase K means, and for Gaussian arms K standard deviations after them. So 10 arms and one phase
        with seed 1, or 5 arms and four phases with seed 0, are the instances of those scripts.

    Raises
    ------
    UnknownNameError
        There is no such family.
    InvalidValueError
        A number is out of range, or there are more phases than steps.

    Examples
    --------
    >>> random_environment("bernoulli", n_arms=3, horizon=100, seed=1).means.round(4)
    array([[4.170e-01, 7.203e-01, 1.000e-04]])
    """
    if not isinstance(family, str) or family not in FAMILIES:
        raise UnknownNameError("family of rewards", family, FAMILIES)
    n_arms = checks.integer("n_arms", n_arms, 1)
    horizon = checks.steps("horizon", horizon)
    phases = checks.integer("phases", phases, 1)
    if phases > horizon:
        raise InvalidValueError(f"{phases} phases need at least as many steps, not {horizon}.")
    rng = np.random.RandomState(checks.integer("seed", seed, 0, 2**32 - 1))
    arms = [FAMILIES[family](rng, n_arms) for _ in range(phases)]
    return Environment.piecewise(arms, [i * horizon // phases + 1 for i in range(phases)])
