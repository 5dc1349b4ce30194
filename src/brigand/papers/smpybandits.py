"""Regrets of policies in SMPyBandits, whose papers print none; we ran its code (commit 012fc13).

Rotting bandits of Seznec, Locatelli, Carpentier, Lazaric, Valko, AISTATS 2019, Figures 1 and 2, by the first
author's policies (FEWA.py, RAWUCB.py) and others, with the settings of his scripts for these figures. The
mean of an arm falls once, after so many pulls of it. Of two arms, one pays 0, and the other mu, but -mu from
its 2,502nd pull on. Of ten arms, the means are 0 and 0.001 to 10, each sqrt(10) times the one before, with
the other sign from an arm's 1,001st pull on. Gaussian noise of standard deviation 1; policy regret; 100 runs.
Left out: wSWA, which Brigand has not, D-UCB, and where the code takes too long, a loop over all windows at
each step.

Bayes-UCB, DMED (the code's `genuine` variant, DMED+) and Tsallis-INF on the arms of Besson's thesis; 100 to
1000 runs. A mean is followed by the standard deviation of a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from brigand.environments.continuous import Gaussian
from brigand.environments.discrete import Bernoulli
from brigand.environments.environment import Environment
from brigand.environments.instances import Floats
from brigand.environments.moving import Rested
from brigand.environments.paths import MeanTable
from brigand.papers.validation import Fixed, Row, grid, printed
from brigand.policies.adversarial.tsallis_inf import TsallisINF
from brigand.policies.base import Policy
from brigand.policies.changes.fewa import FEWA
from brigand.policies.changes.garivier_moulines import SlidingWindowUCB
from brigand.policies.changes.raw_ucb import RAWUCB
from brigand.policies.divergence.dmed import DMED
from brigand.policies.ucb.bayes_ucb import BayesUCB
from brigand.policies.ucb.ucb1 import UCB1

TABLE = """
 | two arms, mu = 0.284 | two arms, mu = 0.867 | ten arms
FEWA, alpha 0.06 | | 30.6 (18.3) |
EFF-FEWA, alpha 0.06 | | | 359 (108)
RAW-UCB, alpha 1.4 | 60.5 (37.6) | 24.2 (10.2) |
EFF-RAW-UCB, alpha 1.4 | | | 352 (61)
UCB | 732 (86) | 2179 (106) | 14854 (116)
SW-UCB, window 200 | 300 (47) | 257 (33) | 3357 (57)
"""
RUNS = 100
CODE = "Policies by SMPyBandits' code"
ROTTING = "Rotting bandits by their author's code"
LAST_FULL = (
    "With windows of 1, 2, 4, ... rewards the code takes the means of those that were last full, to save "
    "memory: a window ends up to h - 1 rewards before the latest. In Brigand each ends with the latest."
)
TABLE_STATIONARY = """
 | 1000 | 10000
Bayes-UCB | 28.1 (12.5) | 57.1 (22.9)
DMED | 35.6 (16.8) | 53.0 (21.6)
Tsallis-INF | 64.1 (17.3) |
"""
STATIONARY: dict[str, tuple[Policy, tuple[int, int]]] = {
    "Bayes-UCB": (BayesUCB(), (1000, 300)),
    "DMED": (DMED(), (500, 100)),
    "Tsallis-INF": (TsallisINF("IW"), (500, 0)),
}
"""Policies, and runs at the two steps."""
MINIMISED = (
    "The code finds z by minimising the square of the error of the sum, and does not always find it. With z "
    "by Brent's method from a bracket, the same loop gives 57.5 (standard error 0.9)."
)
POLICIES: dict[str, Policy] = {
    "FEWA, alpha 0.06": FEWA(1, alpha=0.06),
    "EFF-FEWA, alpha 0.06": FEWA(1, alpha=0.06, growth=2),
    "RAW-UCB, alpha 1.4": RAWUCB(1, alpha=1.4),
    "EFF-RAW-UCB, alpha 1.4": RAWUCB(1, alpha=1.4, growth=2),
    "UCB": UCB1(sigma=1),
    "SW-UCB, window 200": SlidingWindowUCB(window=200, xi=1),  # mean + sqrt(log min(n, 200) / N)
}


@dataclass(frozen=True)
class Rotting:
    """Arms whose means change their sign after some pulls.

    Attributes
    ----------
    name : str
    means : tuple of float
        Before, of each arm.
    pulls : int
        Before.
    horizon : int
    """

    name: str
    means: tuple[float, ...]
    pulls: int
    horizon: int

    def regret(self, policy: Policy, steps: Sequence[int], runs: int, workers: int | None) -> Floats:
        """Return the regret, see `brigand.papers.validation.Problem`."""
        before = np.arange(steps[-1])[:, np.newaxis] < self.pulls
        world = Rested(MeanTable((np.where(before, 1.0, -1.0) * self.means).tolist()), Gaussian(0.0, 1.0))
        return Fixed(self.name, world).regret(policy, steps, runs, workers)


PROBLEMS = (
    *(
        Rotting(f"two arms, mu = {mu:.3f}", (mu, 0.0), 2_501, 10_000)
        for mu in (0.01 * 1.25**i for i in (15, 20))
    ),
    Rotting("ten arms", (0.0, *(0.001 * 10 ** (i / 2) for i in range(9))), 1_000, 25_000),
)


def rows() -> Iterator[Row]:
    """Yield all rows."""
    table = grid(TABLE)
    for problem in PROBLEMS:
        for name, policy in POLICIES.items():
            if problem.name in table[name]:
                theirs = printed(table[name][problem.name], RUNS)
                differs = LAST_FULL if name.startswith("EFF-RAW") else ""
                yield Row(ROTTING, problem, name, policy, {problem.horizon: theirs}, RUNS, differs)
    arms = Environment.stationary([Bernoulli(p) for p in (0.6, 0.2, 0.55, 0.7, 0.5)])
    for name, cells in grid(TABLE_STATIONARY).items():
        policy, runs = STATIONARY[name]
        theirs_at = {
            int(step): printed(cells[step], n)
            for step, n in zip(("1000", "10000"), runs, strict=True)
            if step in cells
        }
        differs = MINIMISED if name == "Tsallis-INF" else ""
        yield Row(CODE, Fixed("means 0.6 0.2 0.55 0.7 0.5", arms), name, policy, theirs_at, 1000, differs)
