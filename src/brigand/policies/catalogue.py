"""Every policy of the package by name. The paper's Table 1, and the common tests, are read from here.

To add a policy: write its file, and add one line below, with settings that the common tests may use.
"""

from __future__ import annotations

from brigand.policies.base import Policy
from brigand.policies.baselines import Oracle, UniformRandom
from brigand.policies.epsilon_greedy import EpsilonGreedy
from brigand.policies.explore_then_commit import ExploreThenCommit
from brigand.policies.forced_exploration import ForcedExploration
from brigand.policies.sequences import Constant, Exponential, Linear
from brigand.policies.thompson import ThompsonBeta, ThompsonGaussian
from brigand.policies.ucb1 import UCB1

CATALOGUE: dict[str, Policy] = {
    "FE-Exp": ForcedExploration(Exponential()),
    "FE-Linear": ForcedExploration(Linear()),
    "FE-Constant": ForcedExploration(Constant()),
    "SW-FE-Exp": ForcedExploration(Exponential(), window=200),
    "SW-FE-Linear": ForcedExploration(Linear(), window=200),
    "SW-FE-Constant": ForcedExploration(Constant(), window=200),
    "UCB1": UCB1(0, 1),
    "UCB1-sigma": UCB1(sigma=0.5),
    "TS-Beta": ThompsonBeta(),
    "TS-Gaussian": ThompsonGaussian(sigma=0.5),
    "TS-Gaussian-unknown": ThompsonGaussian(),
    "eps-greedy": EpsilonGreedy(),
    "eps-greedy-gap": EpsilonGreedy(c=5, d=0.2),
    "ETC": ExploreThenCommit(20),
    "Random": UniformRandom(),
    "Oracle": Oracle(),
}
