"""Every policy of the package by name. The paper's Table 1, and the common tests, are read from here.

To add a policy: write its file, and add one line below, with settings that the common tests may use.
"""

from __future__ import annotations

from brigand.policies.adversarial.exp3 import EXP3, EXP3S
from brigand.policies.base import Policy
from brigand.policies.baselines.epsilon_greedy import EpsilonGreedy
from brigand.policies.baselines.extremes import Oracle, UniformRandom
from brigand.policies.changes.ad_switch import AdSwitch
from brigand.policies.changes.ada_iltcb import AdaILTCB
from brigand.policies.changes.cusum_ucb import CUSUMUCB, PHTUCB
from brigand.policies.changes.forgetting_thompson import (
    DiscountedThompson,
    SlidingWindowThompson,
    SlidingWindowThompsonGaussian,
)
from brigand.policies.changes.garivier_moulines import DiscountedUCB, SlidingWindowUCB
from brigand.policies.changes.glr_klucb import GLRKLUCB
from brigand.policies.changes.m_ucb import MUCB
from brigand.policies.commit.explore_then_commit import ExploreThenCommit
from brigand.policies.commit.sequential_etc import BestArmETC, FixedBudgetETC, SequentialETC
from brigand.policies.forced.forced_exploration import ForcedExploration
from brigand.policies.forced.sequences import AnytimeExponential, Constant, Exponential, Linear
from brigand.policies.heavy_tails.empirical_variance_ucb import EmpiricalVarianceUCB
from brigand.policies.heavy_tails.extended_robust_ucb import ExtendedRobustUCB
from brigand.policies.heavy_tails.lattimore import Lattimore
from brigand.policies.heavy_tails.robust_ucb import RobustUCB
from brigand.policies.randomised.giro import GIRO
from brigand.policies.randomised.npts import NPTS, MultinomialTS
from brigand.policies.randomised.phe import PHE
from brigand.policies.randomised.reboot import ReBoot
from brigand.policies.randomised.thompson import ThompsonBeta, ThompsonGaussian
from brigand.policies.subsampling.besa import BESA
from brigand.policies.subsampling.lb_sda import LBSDALM
from brigand.policies.subsampling.ssmc import SSMC
from brigand.policies.subsampling.sstc import SSTC
from brigand.policies.subsampling.sub_sampling import LBSDA, RBSDA, WRSDA
from brigand.policies.subsampling.sw_lb_sda import SlidingWindowLBSDA
from brigand.policies.ucb.kl_ucb import KLUCB, SlidingWindowKLUCB
from brigand.policies.ucb.kl_ucb_plus_plus import KLUCBPlusPlus
from brigand.policies.ucb.moss import MOSS
from brigand.policies.ucb.ucb1 import UCB1
from brigand.policies.ucb.ucb_normal import UCBNormal
from brigand.policies.ucb.ucb_v import UCBV

CATALOGUE: dict[str, Policy] = {
    "FE-Exp": ForcedExploration(Exponential()),
    "FE-Linear": ForcedExploration(Linear()),
    "FE-Constant": ForcedExploration(Constant()),
    "FE-Anytime": ForcedExploration(AnytimeExponential()),
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
    "FB-ETC": FixedBudgetETC(0.4, 0.5),
    "SPRT-ETC": SequentialETC(0.4, 0.5),
    "BAI-ETC": BestArmETC(0.5),
    "UCB-V": UCBV(),
    "MOSS": MOSS(),
    "MOSS-anytime": MOSS(anytime=True),
    "KL-UCB": KLUCB(),
    "KL-UCB-Gaussian": KLUCB("gaussian", sigma=0.5),
    "KL-UCB-exponential": KLUCB("exponential"),
    "KL-UCB-Poisson": KLUCB("poisson"),
    "KL-UCB++": KLUCBPlusPlus(),
    "UCB-Normal": UCBNormal(),
    "Robust-UCB-truncated": RobustUCB("truncated", u=1.0),
    "Robust-UCB-median": RobustUCB("median", v=0.25),
    "Robust-UCB-Catoni": RobustUCB("catoni", v=0.25),
    "EV-UCB": EmpiricalVarianceUCB(),
    "Lattimore": Lattimore(3.0),
    "Extended-Robust-UCB": ExtendedRobustUCB(4, 2, 3),
    "ReBoot": ReBoot(0.5),
    "PHE": PHE(),
    "GIRO": GIRO(),
    "NPTS": NPTS(),
    "TS-Multinomial": MultinomialTS(10),
    "BESA": BESA(),
    "WR-SDA": WRSDA(),
    "RB-SDA": RBSDA(),
    "LB-SDA": LBSDA(),
    "LB-SDA-LM": LBSDALM(),
    "SSMC": SSMC(),
    "SSTC": SSTC(),
    "SW-LB-SDA": SlidingWindowLBSDA(200),
    "D-UCB": DiscountedUCB(0.99),
    "SW-UCB": SlidingWindowUCB(window=200),
    "SW-KL-UCB": SlidingWindowKLUCB(window=200),
    "D-TS": DiscountedThompson(0.98),
    "SW-TS": SlidingWindowThompson(200),
    "SW-TS-Gaussian": SlidingWindowThompsonGaussian(200, 0.5),
    "CUSUM-UCB": CUSUMUCB(changes=3, M=20),
    "PHT-UCB": PHTUCB(changes=3),
    "M-UCB": MUCB(50, b=12.0, gamma=0.1),
    "GLR-klUCB-local": GLRKLUCB(),
    "GLR-klUCB-global": GLRKLUCB(local=False),
    "AdSwitch": AdSwitch(),
    "Ada-ILTCB+": AdaILTCB(length=0.25),
    "EXP3": EXP3(),
    "EXP3.S": EXP3S(),
    "Random": UniformRandom(),
    "Oracle": Oracle(),
}
