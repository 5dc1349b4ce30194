"""Brigand: multi-armed bandits that need to know nothing about the reward distribution.

Names are loaded when they are first used: ``import brigand`` itself loads no other package.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brigand.environments.continuous import (
        Beta as Beta,
        ClippedGaussian as ClippedGaussian,
        ExponentialReward as ExponentialReward,
        Gaussian as Gaussian,
        Pareto as Pareto,
        StudentT as StudentT,
        Uniform as Uniform,
    )
    from brigand.environments.discrete import (
        Bernoulli as Bernoulli,
        Empirical as Empirical,
        FiniteSupport as FiniteSupport,
        Poisson as Poisson,
    )
    from brigand.environments.distribution import Distribution as Distribution
    from brigand.environments.environment import Environment as Environment
    from brigand.environments.instances import random_environment as random_environment
    from brigand.errors import (
        BrigandError as BrigandError,
        InvalidValueError as InvalidValueError,
        PolicyError as PolicyError,
        ResultFileError as ResultFileError,
        UnknownNameError as UnknownNameError,
        UnsupportedRewardError as UnsupportedRewardError,
    )
    from brigand.jit import kernel as kernel
    from brigand.policies.base import Kernels as Kernels, Policy as Policy, record as record
    from brigand.policies.baselines import Oracle as Oracle, UniformRandom as UniformRandom, oracle as oracle
    from brigand.policies.catalogue import CATALOGUE as CATALOGUE
    from brigand.policies.epsilon_greedy import EpsilonGreedy as EpsilonGreedy
    from brigand.policies.explore_then_commit import ExploreThenCommit as ExploreThenCommit
    from brigand.policies.forced_exploration import ForcedExploration as ForcedExploration
    from brigand.policies.sequences import (
        Constant as Constant,
        ExplorationSequence as ExplorationSequence,
        Exponential as Exponential,
        Linear as Linear,
        Power as Power,
        Sequence as Sequence,
    )
    from brigand.policies.thompson import ThompsonBeta as ThompsonBeta, ThompsonGaussian as ThompsonGaussian
    from brigand.policies.ucb1 import UCB1 as UCB1
    from brigand.simulation.results import Results as Results, load as load
    from brigand.simulation.run import simulate as simulate
    from brigand.simulation.trace import trace as trace

_HOME = {
    "environments.continuous": "Beta ClippedGaussian ExponentialReward Gaussian Pareto StudentT Uniform",
    "environments.discrete": "Bernoulli Empirical FiniteSupport Poisson",
    "environments.distribution": "Distribution",
    "environments.environment": "Environment",
    "environments.instances": "random_environment",
    "errors": (
        "BrigandError InvalidValueError PolicyError ResultFileError UnknownNameError UnsupportedRewardError"
    ),
    "jit": "kernel",
    "policies.base": "Kernels Policy record",
    "policies.baselines": "Oracle UniformRandom oracle",
    "policies.catalogue": "CATALOGUE",
    "policies.epsilon_greedy": "EpsilonGreedy",
    "policies.explore_then_commit": "ExploreThenCommit",
    "policies.forced_exploration": "ForcedExploration",
    "policies.sequences": "Constant Exponential ExplorationSequence Linear Power Sequence",
    "policies.thompson": "ThompsonBeta ThompsonGaussian",
    "policies.ucb1": "UCB1",
    "simulation.results": "Results load",
    "simulation.run": "simulate",
    "simulation.trace": "trace",
}
_MODULE = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = sorted(_MODULE)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("brigand")
    if name not in _MODULE:
        raise AttributeError(f"module 'brigand' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"brigand.{_MODULE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
