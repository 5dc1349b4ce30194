"""Rotting bandits of Seznec, Locatelli, Carpentier, Lazaric, Valko, AISTATS 2019, by the first author's code.

The mean of an arm falls once, after so many pulls of it. Of two arms, one pays 0, and the other mu, but -mu
from its 2,502nd pull on. Of ten arms, the means are 0 and 0.001 to 10, each sqrt(10) times the one before,
with the other sign from an arm's 1,001st pull on. Gaussian noise of standard deviation 1; policy regret.

The paper draws these two problems as curves (Figures 1 and 2), and prints no number. What stands here as
published are 100 runs that we made of the policies in SMPyBandits (FEWA.py, RAWUCB.py, UCB.py,
SlidingWindowUCB.py), with the settings of its scripts for these figures: a mean and the standard deviation of
a run. Left out: wSWA, which Brigand has not, D-UCB, and where the code takes too long, a loop over all
windows at each step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from brigand.environments.continuous import Gaussian
from brigand.environments.instances import Floats
from brigand.environments.moving import Rested
from brigand.environments.paths import MeanTable
from brigand.papers.validation import Fixed, Row, grid, printed
from brigand.policies.base import Policy
from brigand.policies.changes.fewa import FEWA
from brigand.policies.changes.garivier_moulines import SlidingWindowUCB
from brigand.policies.changes.raw_ucb import RAWUCB
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
TITLE = "Rotting bandits by their author's code"
LAST_FULL = (
    "With windows of 1, 2, 4, ... rewards the code takes the means of those that were last full, to save "
    "memory: a window ends up to h - 1 rewards before the latest. In Brigand each ends with the latest."
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
                yield Row(TITLE, problem, name, policy, {problem.horizon: theirs}, RUNS, differs)
