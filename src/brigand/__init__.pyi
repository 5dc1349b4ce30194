"""The public names, and where each is defined: `__init__.py` loads a name when it is first used."""

from . import theory as theory
from .environments.continuous import (
    Beta as Beta,
    ClippedGaussian as ClippedGaussian,
    ExponentialReward as ExponentialReward,
    Gaussian as Gaussian,
    Pareto as Pareto,
    StudentT as StudentT,
    Uniform as Uniform,
)
from .environments.discrete import (
    Bernoulli as Bernoulli,
    Empirical as Empirical,
    FiniteSupport as FiniteSupport,
    Poisson as Poisson,
)
from .environments.distribution import Distribution as Distribution
from .environments.environment import Environment as Environment
from .environments.instances import random_environment as random_environment
from .errors import (
    BrigandError as BrigandError,
    ConflictingRewardError as ConflictingRewardError,
    InvalidValueError as InvalidValueError,
    MissingPackageError as MissingPackageError,
    PolicyError as PolicyError,
    ResultFileError as ResultFileError,
    StorageError as StorageError,
    UnknownDecisionError as UnknownDecisionError,
    UnknownNameError as UnknownNameError,
    UnsupportedRewardError as UnsupportedRewardError,
)
from .jit import kernel as kernel
from .live.bandit import Bandit as Bandit
from .live.decision import Decision as Decision, Told as Told
from .policies.adversarial.exp3 import EXP3 as EXP3, EXP3S as EXP3S
from .policies.base import (
    BoundedPolicy as BoundedPolicy,
    Kernels as Kernels,
    Policy as Policy,
    record as record,
)
from .policies.baselines.epsilon_greedy import EpsilonGreedy as EpsilonGreedy
from .policies.baselines.extremes import (
    Oracle as Oracle,
    UniformRandom as UniformRandom,
    oracle as oracle,
)
from .policies.catalogue import CATALOGUE as CATALOGUE
from .policies.changes.ad_switch import AdSwitch as AdSwitch
from .policies.changes.ada_iltcb import AdaILTCB as AdaILTCB
from .policies.changes.cusum_ucb import CUSUMUCB as CUSUMUCB, PHTUCB as PHTUCB
from .policies.changes.forgetting_thompson import (
    DiscountedThompson as DiscountedThompson,
    SlidingWindowThompson as SlidingWindowThompson,
    SlidingWindowThompsonGaussian as SlidingWindowThompsonGaussian,
)
from .policies.changes.garivier_moulines import (
    DiscountedUCB as DiscountedUCB,
    SlidingWindowUCB as SlidingWindowUCB,
)
from .policies.changes.glr_klucb import GLRKLUCB as GLRKLUCB
from .policies.changes.m_ucb import MUCB as MUCB
from .policies.commit.explore_then_commit import ExploreThenCommit as ExploreThenCommit
from .policies.commit.sequential_etc import (
    BestArmETC as BestArmETC,
    FixedBudgetETC as FixedBudgetETC,
    SequentialETC as SequentialETC,
)
from .policies.forced.forced_exploration import ForcedExploration as ForcedExploration
from .policies.forced.sequences import (
    AnytimeExponential as AnytimeExponential,
    Constant as Constant,
    ExplorationSequence as ExplorationSequence,
    Exponential as Exponential,
    Linear as Linear,
    Power as Power,
    Sequence as Sequence,
)
from .policies.heavy_tails.empirical_variance_ucb import (
    EmpiricalVarianceUCB as EmpiricalVarianceUCB,
)
from .policies.heavy_tails.extended_robust_ucb import ExtendedRobustUCB as ExtendedRobustUCB
from .policies.heavy_tails.lattimore import Lattimore as Lattimore
from .policies.heavy_tails.robust_ucb import RobustUCB as RobustUCB
from .policies.randomised.giro import GIRO as GIRO
from .policies.randomised.npts import NPTS as NPTS, MultinomialTS as MultinomialTS
from .policies.randomised.phe import PHE as PHE
from .policies.randomised.reboot import ReBoot as ReBoot
from .policies.randomised.thompson import (
    ThompsonBeta as ThompsonBeta,
    ThompsonGaussian as ThompsonGaussian,
)
from .policies.subsampling.besa import BESA as BESA
from .policies.subsampling.lb_sda import LBSDALM as LBSDALM
from .policies.subsampling.ssmc import SSMC as SSMC
from .policies.subsampling.sstc import SSTC as SSTC
from .policies.subsampling.sub_sampling import LBSDA as LBSDA, RBSDA as RBSDA, WRSDA as WRSDA
from .policies.subsampling.sw_lb_sda import SlidingWindowLBSDA as SlidingWindowLBSDA
from .policies.ucb.kl_ucb import KLUCB as KLUCB, SlidingWindowKLUCB as SlidingWindowKLUCB
from .policies.ucb.kl_ucb_plus_plus import KLUCBPlusPlus as KLUCBPlusPlus
from .policies.ucb.moss import MOSS as MOSS
from .policies.ucb.ucb1 import UCB1 as UCB1
from .policies.ucb.ucb_normal import UCBNormal as UCBNormal
from .policies.ucb.ucb_v import UCBV as UCBV
from .simulation.results import Results as Results
from .simulation.run import simulate as simulate
from .simulation.trace import trace as trace
from .studies.compare import Comparison as Comparison
from .studies.results import StudyResults as StudyResults, load as load

__version__: str
