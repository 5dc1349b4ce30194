"""Every policy of the package by name. The common tests and `brigand policies` are read from here.

To add a policy: write its file, enter its paper in ``references.bib``, and import it below, ``as`` itself,
which makes it public (`brigand.MOSS`); then give it a line in the catalogue, with settings that the common
tests may use. If it differs from most in what the tests expect, ``tests/policies/expectations.py`` says how.
"""

from __future__ import annotations

from brigand.policies.adversarial.exp3 import EXP3 as EXP3, EXP3S as EXP3S
from brigand.policies.adversarial.tsallis_inf import TsallisINF as TsallisINF
from brigand.policies.baselines.epsilon_greedy import EpsilonGreedy as EpsilonGreedy
from brigand.policies.baselines.extremes import Oracle as Oracle, UniformRandom as UniformRandom
from brigand.policies.changes.ad_switch import AdSwitch as AdSwitch
from brigand.policies.changes.ada_iltcb import AdaILTCB as AdaILTCB
from brigand.policies.changes.cusum_ucb import CUSUMUCB as CUSUMUCB, PHTUCB as PHTUCB
from brigand.policies.changes.fewa import FEWA as FEWA
from brigand.policies.changes.forgetting_thompson import (
    DiscountedThompson as DiscountedThompson,
    SlidingWindowThompson as SlidingWindowThompson,
    SlidingWindowThompsonGaussian as SlidingWindowThompsonGaussian,
)
from brigand.policies.changes.garivier_moulines import (
    DiscountedUCB as DiscountedUCB,
    SlidingWindowUCB as SlidingWindowUCB,
)
from brigand.policies.changes.glr_klucb import GLRKLUCB as GLRKLUCB
from brigand.policies.changes.m_ucb import MUCB as MUCB
from brigand.policies.changes.raw_ucb import RAWUCB as RAWUCB
from brigand.policies.commit.explore_then_commit import ExploreThenCommit as ExploreThenCommit
from brigand.policies.commit.sequential_etc import (
    BestArmETC as BestArmETC,
    FixedBudgetETC as FixedBudgetETC,
    SequentialETC as SequentialETC,
)
from brigand.policies.divergence.dmed import DMED as DMED
from brigand.policies.divergence.imed import IMED as IMED
from brigand.policies.forced.forced_exploration import ForcedExploration as ForcedExploration
from brigand.policies.forced.restarting import RestartingForcedExploration as RestartingForcedExploration
from brigand.policies.forced.sequences import (
    AnytimeExponential as AnytimeExponential,
    Constant as Constant,
    Exponential as Exponential,
    Linear as Linear,
)
from brigand.policies.forced.trimmed import TrimmedForcedExploration as TrimmedForcedExploration
from brigand.policies.heavy_tails.empirical_variance_ucb import EmpiricalVarianceUCB as EmpiricalVarianceUCB
from brigand.policies.heavy_tails.extended_robust_ucb import ExtendedRobustUCB as ExtendedRobustUCB
from brigand.policies.heavy_tails.lattimore import Lattimore as Lattimore
from brigand.policies.heavy_tails.robust_ucb import RobustUCB as RobustUCB
from brigand.policies.named import Catalogue
from brigand.policies.randomised.giro import GIRO as GIRO
from brigand.policies.randomised.npts import NPTS as NPTS, MultinomialTS as MultinomialTS
from brigand.policies.randomised.phe import PHE as PHE
from brigand.policies.randomised.reboot import ReBoot as ReBoot
from brigand.policies.randomised.thompson import (
    ThompsonBeta as ThompsonBeta,
    ThompsonGaussian as ThompsonGaussian,
)
from brigand.policies.subsampling.besa import BESA as BESA
from brigand.policies.subsampling.lb_sda import LBSDALM as LBSDALM
from brigand.policies.subsampling.ssmc import SSMC as SSMC
from brigand.policies.subsampling.sstc import SSTC as SSTC
from brigand.policies.subsampling.sub_sampling import LBSDA as LBSDA, RBSDA as RBSDA, WRSDA as WRSDA
from brigand.policies.subsampling.sw_lb_sda import SlidingWindowLBSDA as SlidingWindowLBSDA
from brigand.policies.ucb.bayes_ucb import BayesUCB as BayesUCB, BayesUCBGaussian as BayesUCBGaussian
from brigand.policies.ucb.kl_ucb import KLUCB as KLUCB, SlidingWindowKLUCB as SlidingWindowKLUCB
from brigand.policies.ucb.kl_ucb_plus_plus import KLUCBPlusPlus as KLUCBPlusPlus
from brigand.policies.ucb.moss import MOSS as MOSS
from brigand.policies.ucb.ucb1 import UCB1 as UCB1
from brigand.policies.ucb.ucb_normal import UCBNormal as UCBNormal
from brigand.policies.ucb.ucb_v import UCBV as UCBV

CATALOGUE = Catalogue(
    {
        "FE-Exp": ForcedExploration(Exponential()),
        "FE-Linear": ForcedExploration(Linear()),
        "FE-Constant": ForcedExploration(Constant()),
        "FE-Anytime": ForcedExploration(AnytimeExponential()),
        "FE-Trimmed": TrimmedForcedExploration(),
        "FE-Restart": RestartingForcedExploration(),
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
        "Bayes-UCB": BayesUCB(),
        "Bayes-UCB-Gaussian": BayesUCBGaussian(0.5),
        "UCB-Normal": UCBNormal(),
        "IMED": IMED(),
        "IMED-Gaussian": IMED("gaussian", sigma=0.5),
        "DMED": DMED(),
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
        "RAW-UCB": RAWUCB(0.5, growth=2),
        "FEWA": FEWA(0.5, alpha=0.06, growth=2),
        "EXP3": EXP3(),
        "EXP3.S": EXP3S(),
        "Tsallis-INF": TsallisINF(),
        "Tsallis-INF-IW": TsallisINF("IW"),
        "Random": UniformRandom(),
        "Oracle": Oracle(),
    }
)
