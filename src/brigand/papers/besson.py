"""Tables of Besson's thesis (2019), chapter 2, and of Besson, Kaufmann, Maillard, Seznec, JMLR 23, 2022.

Bernoulli rewards; mean and standard deviation of 1000 runs (500 for problems 3 and 5). The problems' means
are those of the configuration of SMPyBandits, with which the tables were made.

The horizons of two problems are interchanged. The paper gives T = 20,000 for problem 3 and T = 100,000 for
problem 5, but in 20,000 steps of problem 3 no policy can lose more than 889. With T = 100,000 for problem 3
and T = 20,000 for problem 5 we get 537 and 106 for kl-UCB (printed: 529 and 106), 1007 and 93 for TS (1019
and 88), 1792 and 228 for SW-kl-UCB (1794 and 228). So these horizons are used here.

Left out: Oracle-restart, CUSUM-klUCB, M-klUCB, D-klUCB and DTS. Either Brigand combines the detector with UCB
and not with kl-UCB, or the package ran another algorithm than the one that is named.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from importlib.resources import files

from brigand.environments.discrete import Bernoulli
from brigand.environments.environment import Environment
from brigand.papers.validation import Fixed, Row, grid, printed
from brigand.policies.adversarial.exp3 import EXP3S
from brigand.policies.base import Policy
from brigand.policies.baselines.epsilon_greedy import EpsilonGreedy
from brigand.policies.baselines.extremes import UniformRandom
from brigand.policies.changes.glr_klucb import GLRKLUCB
from brigand.policies.commit.explore_then_commit import ExploreThenCommit
from brigand.policies.forced.forced_exploration import ForcedExploration
from brigand.policies.forced.sequences import Constant
from brigand.policies.randomised.thompson import ThompsonBeta
from brigand.policies.ucb.kl_ucb import KLUCB, SlidingWindowKLUCB
from brigand.policies.ucb.ucb1 import UCB1

THESIS = "Besson's thesis, stationary"
PIECEWISE = "Besson et al., piecewise stationary"

TABLE_STATIONARY = """
 | 100 | 10000
uniform | 19 | 1900
greedy | 8.3 | 653
eps-greedy | 18.7 | 542
ETC | 12.9 | 1207
UCB | 9.8 | 79
klUCB | 9.3 | 72
TS | 9.6 | 49
"""
STATIONARY: dict[str, Policy] = {
    "uniform": UniformRandom(),
    "greedy": ForcedExploration(Constant(math.inf)),
    "eps-greedy": EpsilonGreedy(c=600, d=1),
    "ETC": ExploreThenCommit(1287),
    "UCB": UCB1(sigma=0.5),
    "klUCB": KLUCB(),
    "TS": ThompsonBeta(),
}
NOTES = {
    "eps-greedy": "The printed schedule min(1, 3000 / t) explores 3000 (1 + log(10/3)) = 6612 of 10,000 "
    "steps. This alone costs 0.19 a step, 1256 in all, so 542 must belong to another schedule.",
    "ETC": "The printed T0 = 2000 log(T / 400) is negative at T = 100. At T = 10,000 it is 6438 steps of "
    "exploration, which cost 0.19 each, 1223 in all, without any randomness. So 1207 must belong to "
    "another T0.",
}

TABLE_PIECEWISE = """
 | 1 | 2 | 3 | 4, T = 5000 | 4, T = 10000 | 5
EXP3.S | 352 (51) | 310 (62) | 665 (93) | 551 (63) | 860 (109) | 723 (121)
klUCB | 270 (76) | 162 (59) | 529 (148) | 615 (74) | 1218 (123) | 106 (36)
TS | 493 (175) | 388 (147) | 1019 (245) | 756 (65) | 1476 (137) | 88 (39)
SW-klUCB | 177 (34) | 182 (34) | 1794 (71) | 202 (33) | 322 (47) | 228 (27)
GLR-klUCB, local | 74 (31) | 113 (34) | 513 (97) | 99 (32) | 128 (42) | 149 (34)
GLR-klUCB, global | 97 (32) | 134 (33) | 621 (103) | 128 (32) | 185 (47) | 152 (32)
"""
_PACKAGE = (
    "The table was made with SMPyBandits, which sets delta to 3.16 whatever T is, and keeps the last "
    "reward at a restart. Brigand follows the definition, and its regret is the smaller one. The paper's "
    "own study of the spacing of tests prints 41 to 53 for problem 1, while this table has 74."
)
DIFFERENCES = {
    "EXP3.S": "A plain loop of the definition, with S = 5 or S = 4, gives 333 or 339 on problem 1 and "
    "440 or 456 on problem 4, T = 5000, like Brigand. The tuning behind the printed numbers is not known. "
    "On problem 5 no policy can lose more than 490 in its 20,000 steps, but 723 is printed.",
    "GLR-klUCB, local": _PACKAGE,
    "GLR-klUCB, global": _PACKAGE,
}
PROBLEMS: dict[str, list[tuple[float, ...]]] = {
    "1": [(0.3, 0.5, 0.9), (0.3, 0.2, 0.9), (0.3, 0.2, 0.1), (0.7, 0.2, 0.1), (0.7, 0.5, 0.1)],
    "2": [(0.4, 0.5, 0.9), (0.5, 0.4, 0.7), (0.6, 0.3, 0.5), (0.7, 0.2, 0.3), (0.8, 0.1, 0.1)],
    "3": [
        (0.071, 0.041, 0.032, 0.030, 0.020, 0.011),
        (0.055, 0.053, 0.032, 0.030, 0.008, 0.011),
        (0.040, 0.063, 0.032, 0.030, 0.008, 0.011),
        (0.040, 0.042, 0.043, 0.030, 0.008, 0.011),
        (0.030, 0.032, 0.055, 0.030, 0.008, 0.011),
        (0.030, 0.032, 0.020, 0.030, 0.008, 0.021),
        (0.020, 0.022, 0.020, 0.045, 0.008, 0.021),
        (0.020, 0.022, 0.020, 0.057, 0.008, 0.011),
        (0.020, 0.022, 0.034, 0.057, 0.022, 0.011),
    ],
    "4": [(0.1, 0.5, 0.9), (0.3, 0.4, 0.1), (0.5, 0.3, 0.2), (0.7, 0.4, 0.3), (0.1, 0.5, 0.2)],
}
HORIZONS = {"1": 5000, "2": 5000, "3": 100_000, "4, T = 5000": 5000, "4, T = 10000": 10_000, "5": 20_000}


def rows() -> Iterator[Row]:
    """Yield all rows."""
    means = (0.6, 0.2, 0.55, 0.7, 0.5)
    problem = Fixed(
        "means " + " ".join(map(str, means)), Environment.stationary([Bernoulli(p) for p in means])
    )
    for name, cells in grid(TABLE_STATIONARY).items():
        # The tuning of ETC belongs to the later step alone.
        published = {int(t): printed(c, 1000) for t, c in cells.items() if name != "ETC" or t == "10000"}
        yield Row(THESIS, problem, name, STATIONARY[name], published, 4000, NOTES.get(name, ""))
    for name, cells in grid(TABLE_PIECEWISE).items():
        for label, cell in cells.items():
            published = {HORIZONS[label]: printed(cell, 500 if label in "35" else 1000)}
            environment = piecewise(label)
            policy = tuned(name, environment, HORIZONS[label])
            problem = Fixed(f"problem {label}", environment)
            runs = 200 if name.startswith("GLR") and label == "3" else 1000
            yield Row(PIECEWISE, problem, name, policy, published, runs, DIFFERENCES.get(name, ""))


def piecewise(label: str) -> Environment:
    """Return a problem of the table, named as in its columns."""
    number, horizon = label[0], HORIZONS[label]
    means = slowly_varying() if number == "5" else PROBLEMS[number]
    if number == "4":
        starts = [0, *(int(share * horizon) for share in (0.5, 0.625, 0.75, 0.875))]
    else:
        starts = [i * horizon // len(means) for i in range(len(means))]
    phases = [[Bernoulli(p) for p in arms] for arms in means]
    return Environment.piecewise(phases, [start + 1 for start in starts])


def slowly_varying() -> list[tuple[float, ...]]:
    """Return the means of problem 5, 82 phases of 5 arms."""
    text = files("brigand.papers").joinpath("data/slowly_varying.csv").read_text(encoding="utf-8")
    return [tuple(map(float, line.split(","))) for line in text.split()]


def tuned(name: str, environment: Environment, horizon: int) -> Policy:
    """Return a policy tuned, as in the tables, with the number of breakpoints known."""
    changes = len(environment.starts) - 1
    if name == "SW-klUCB":
        return SlidingWindowKLUCB(int(2 * math.sqrt(horizon * math.log(horizon) / changes)))
    if name == "EXP3.S":
        return EXP3S(segments=changes + 1)
    if name.startswith("GLR"):
        return GLRKLUCB(local=name.endswith("local"), changes=changes)
    return {"klUCB": KLUCB(), "TS": ThompsonBeta()}[name]
