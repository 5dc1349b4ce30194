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
    Geometric as Geometric,
    Poisson as Poisson,
)
from .environments.distribution import Distribution as Distribution
from .environments.environment import Environment as Environment
from .environments.functions import FunctionReward as FunctionReward, MeanFunction as MeanFunction
from .environments.instances import random_environment as random_environment
from .environments.moving import Rested as Rested, Restless as Restless, SharedNoise as SharedNoise
from .environments.of_scipy import SciPyReward as SciPyReward
from .environments.paths import (
    LinearMeans as LinearMeans,
    MeanPath as MeanPath,
    MeanTable as MeanTable,
    PowerMeans as PowerMeans,
    RandomWalkMeans as RandomWalkMeans,
    SaturatingMeans as SaturatingMeans,
    SeasonalMeans as SeasonalMeans,
    SwitchingMeans as SwitchingMeans,
)
from .environments.world import World as World
from .errors import (
    AccessError as AccessError,
    BrigandError as BrigandError,
    ClusterError as ClusterError,
    ConflictingRewardError as ConflictingRewardError,
    InvalidValueError as InvalidValueError,
    MissingPackageError as MissingPackageError,
    NameTakenError as NameTakenError,
    NotServingError as NotServingError,
    PolicyError as PolicyError,
    ResultFileError as ResultFileError,
    ServiceError as ServiceError,
    StorageError as StorageError,
    UnknownDecisionError as UnknownDecisionError,
    UnknownNameError as UnknownNameError,
    UnsupportedRewardError as UnsupportedRewardError,
)
from .jit import kernel as kernel
from .live.bandit import Bandit as Bandit
from .live.decision import Decision as Decision, Past as Past, Told as Told
from .live.fleet import Fleet as Fleet
from .live.gain import Gain as Gain
from .live.propensities import propensities as propensities
from .live.segments import Bandits as Bandits
from .live.verdict import Verdict as Verdict
from .logs.arm_means import ArmMeans as ArmMeans, arm_means as arm_means
from .logs.evaluate import Evaluation as Evaluation, evaluate as evaluate
from .logs.log import Log as Log
from .logs.replay import replay as replay
from .logs.replayed import Replay as Replay
from .policies.base import (
    BoundedPolicy as BoundedPolicy,
    Estimated as Estimated,
    Kernels as Kernels,
    Policy as Policy,
    record as record,
)
from .policies.baselines.extremes import oracle as oracle
from .policies.catalogue import *  # every policy
from .policies.catalogue import CATALOGUE as CATALOGUE
from .policies.forced.sequences import (
    ExplorationSequence as ExplorationSequence,
    Power as Power,
    Sequence as Sequence,
)
from .simulation.conditions import Arrivals as Arrivals, Conditions as Conditions
from .simulation.rare import RareRegret as RareRegret, rare_regret as rare_regret
from .simulation.results import Results as Results
from .simulation.run import simulate as simulate
from .simulation.trace import trace as trace
from .studies.compare import Comparison as Comparison
from .studies.results import StudyResults as StudyResults, load as load

__version__: str
