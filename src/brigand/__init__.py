"""Brigand: multi-armed bandits that need to know nothing about the reward distribution.

Names are loaded when they are first used: ``import brigand`` itself loads no other package.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brigand import theory as theory
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
        ConflictingRewardError as ConflictingRewardError,
        InvalidValueError as InvalidValueError,
        PolicyError as PolicyError,
        ResultFileError as ResultFileError,
        StorageError as StorageError,
        UnknownDecisionError as UnknownDecisionError,
        UnknownNameError as UnknownNameError,
        UnsupportedRewardError as UnsupportedRewardError,
    )
    from brigand.jit import kernel as kernel
    from brigand.live.bandit import Bandit as Bandit
    from brigand.live.decision import Decision as Decision, Told as Told
    from brigand.policies.ad_switch import AdSwitch as AdSwitch
    from brigand.policies.ada_iltcb import AdaILTCB as AdaILTCB
    from brigand.policies.base import (
        BoundedPolicy as BoundedPolicy,
        Kernels as Kernels,
        Policy as Policy,
        record as record,
    )
    from brigand.policies.baselines import Oracle as Oracle, UniformRandom as UniformRandom, oracle as oracle
    from brigand.policies.besa import BESA as BESA
    from brigand.policies.catalogue import CATALOGUE as CATALOGUE
    from brigand.policies.cusum_ucb import CUSUMUCB as CUSUMUCB, PHTUCB as PHTUCB
    from brigand.policies.empirical_variance_ucb import EmpiricalVarianceUCB as EmpiricalVarianceUCB
    from brigand.policies.epsilon_greedy import EpsilonGreedy as EpsilonGreedy
    from brigand.policies.exp3 import EXP3 as EXP3, EXP3S as EXP3S
    from brigand.policies.explore_then_commit import ExploreThenCommit as ExploreThenCommit
    from brigand.policies.extended_robust_ucb import ExtendedRobustUCB as ExtendedRobustUCB
    from brigand.policies.forced_exploration import ForcedExploration as ForcedExploration
    from brigand.policies.forgetting_thompson import (
        DiscountedThompson as DiscountedThompson,
        SlidingWindowThompson as SlidingWindowThompson,
        SlidingWindowThompsonGaussian as SlidingWindowThompsonGaussian,
    )
    from brigand.policies.garivier_moulines import (
        DiscountedUCB as DiscountedUCB,
        SlidingWindowUCB as SlidingWindowUCB,
    )
    from brigand.policies.giro import GIRO as GIRO
    from brigand.policies.glr_klucb import GLRKLUCB as GLRKLUCB
    from brigand.policies.kl_ucb import KLUCB as KLUCB, SlidingWindowKLUCB as SlidingWindowKLUCB
    from brigand.policies.kl_ucb_plus_plus import KLUCBPlusPlus as KLUCBPlusPlus
    from brigand.policies.lattimore import Lattimore as Lattimore
    from brigand.policies.lb_sda import LBSDALM as LBSDALM
    from brigand.policies.m_ucb import MUCB as MUCB
    from brigand.policies.moss import MOSS as MOSS
    from brigand.policies.npts import NPTS as NPTS, MultinomialTS as MultinomialTS
    from brigand.policies.phe import PHE as PHE
    from brigand.policies.reboot import ReBoot as ReBoot
    from brigand.policies.robust_ucb import RobustUCB as RobustUCB
    from brigand.policies.sequences import (
        AnytimeExponential as AnytimeExponential,
        Constant as Constant,
        ExplorationSequence as ExplorationSequence,
        Exponential as Exponential,
        Linear as Linear,
        Power as Power,
        Sequence as Sequence,
    )
    from brigand.policies.sequential_etc import (
        BestArmETC as BestArmETC,
        FixedBudgetETC as FixedBudgetETC,
        SequentialETC as SequentialETC,
    )
    from brigand.policies.ssmc import SSMC as SSMC
    from brigand.policies.sstc import SSTC as SSTC
    from brigand.policies.sub_sampling import LBSDA as LBSDA, RBSDA as RBSDA, WRSDA as WRSDA
    from brigand.policies.sw_lb_sda import SlidingWindowLBSDA as SlidingWindowLBSDA
    from brigand.policies.thompson import ThompsonBeta as ThompsonBeta, ThompsonGaussian as ThompsonGaussian
    from brigand.policies.ucb1 import UCB1 as UCB1
    from brigand.policies.ucb_normal import UCBNormal as UCBNormal
    from brigand.policies.ucb_v import UCBV as UCBV
    from brigand.simulation.results import Results as Results
    from brigand.simulation.run import simulate as simulate
    from brigand.simulation.trace import trace as trace
    from brigand.studies.compare import Comparison as Comparison
    from brigand.studies.results import StudyResults as StudyResults, load as load

_HOME = {
    "environments.continuous": "Beta ClippedGaussian ExponentialReward Gaussian Pareto StudentT Uniform",
    "environments.discrete": "Bernoulli Empirical FiniteSupport Poisson",
    "environments.distribution": "Distribution",
    "environments.environment": "Environment",
    "environments.instances": "random_environment",
    "errors": (
        "BrigandError ConflictingRewardError InvalidValueError PolicyError ResultFileError StorageError "
        "UnknownDecisionError UnknownNameError UnsupportedRewardError"
    ),
    "jit": "kernel",
    "live.bandit": "Bandit",
    "live.decision": "Decision Told",
    "policies.base": "BoundedPolicy Kernels Policy record",
    "policies.baselines": "Oracle UniformRandom oracle",
    "policies.catalogue": "CATALOGUE",
    "policies.epsilon_greedy": "EpsilonGreedy",
    "policies.explore_then_commit": "ExploreThenCommit",
    "policies.forced_exploration": "ForcedExploration",
    "policies.exp3": "EXP3 EXP3S",
    "policies.forgetting_thompson": "DiscountedThompson SlidingWindowThompson SlidingWindowThompsonGaussian",
    "policies.garivier_moulines": "DiscountedUCB SlidingWindowUCB",
    "policies.giro": "GIRO",
    "policies.kl_ucb": "KLUCB SlidingWindowKLUCB",
    "policies.kl_ucb_plus_plus": "KLUCBPlusPlus",
    "policies.moss": "MOSS",
    "policies.npts": "NPTS MultinomialTS",
    "policies.phe": "PHE",
    "policies.reboot": "ReBoot",
    "policies.ucb_normal": "UCBNormal",
    "policies.ucb_v": "UCBV",
    "policies.ad_switch": "AdSwitch",
    "policies.ada_iltcb": "AdaILTCB",
    "policies.besa": "BESA",
    "policies.cusum_ucb": "CUSUMUCB PHTUCB",
    "policies.empirical_variance_ucb": "EmpiricalVarianceUCB",
    "policies.extended_robust_ucb": "ExtendedRobustUCB",
    "policies.glr_klucb": "GLRKLUCB",
    "policies.lattimore": "Lattimore",
    "policies.lb_sda": "LBSDALM",
    "policies.sw_lb_sda": "SlidingWindowLBSDA",
    "policies.m_ucb": "MUCB",
    "policies.robust_ucb": "RobustUCB",
    "policies.sequential_etc": "BestArmETC FixedBudgetETC SequentialETC",
    "policies.ssmc": "SSMC",
    "policies.sstc": "SSTC",
    "policies.sub_sampling": "LBSDA RBSDA WRSDA",
    "policies.sequences": "AnytimeExponential Constant Exponential ExplorationSequence Linear Power Sequence",
    "policies.thompson": "ThompsonBeta ThompsonGaussian",
    "policies.ucb1": "UCB1",
    "simulation.results": "Results",
    "simulation.run": "simulate",
    "simulation.trace": "trace",
    "studies.compare": "Comparison",
    "studies.results": "StudyResults load",
}
_MODULE = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = sorted(_MODULE)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("brigand")
    if name == "theory":
        return importlib.import_module("brigand.theory")
    if name not in _MODULE:
        raise AttributeError(f"module 'brigand' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"brigand.{_MODULE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
