"""Parts of rare events: rewards are tilted so that the best arm looks worse than its rival for n rounds.

Say that until round n the best arm will be pulled once a round, s times, and its rival C times. The best arm
looks bad then if D = rho (sum of the rival's rewards) - (sum of the best arm's) is positive, where rho is the
ratio of their numbers of pulls. If D is Gaussian with mean d and variance V, then P(D > 0) = Phi(d / sqrt V).
Conditioned on D > 0, a process is its h-transform with this h: the tilt of the best arm's next reward is -q,
and of the rival's rho q, with q = phi(d / sqrt V) / (sqrt V Phi(d / sqrt V)). It is computed anew before each
pull. Weights account for every tilt exactly; the approximation decides only about their variance.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brigand.environments.tilts import draw_tilted, tilted
from brigand.environments.totals import GAMMA
from brigand.jit import kernel
from brigand.policies.base import Table

AFTER = 0.15
LONGEST_AFTER = 0.25
"""The tilt is that for some more rounds than n: else it would be violent in the last of them. AFTER times
those in which the best arm can be told from its rival, but no more than this share of n."""
BLOCK = 8.0
"""A tilt stays the same for one round in so many of those left."""
BACK = 1.5
"""While the best arm leads, its tilt is so many times the one that gives it the rival's mean."""
GIVE_UP = 8.0
"""The best arm is not tilted where its lead times that tilt is more than this: it would hardly lose it."""


class Pair(NamedTuple):
    """The best arm and its rival, the second best.

    Attributes
    ----------
    best, rival : int
    level : float
        The rival's mean.
    drift, variance : float
        The tilt that gives the best arm the rival's mean is -drift / variance; `variance` is the best arm's
        under that tilt.
    spread : float
        The rival's variance; 0 if it is not tilted.
    rate : float
        The best arm looks bad for n rounds with a probability of about exp(-n rate).
    """

    best: int
    rival: int
    level: float
    drift: float
    variance: float
    spread: float
    rate: float


class Tilt(NamedTuple):
    """How arms are tilted, and the likelihoods of a run under every component of the mixture.

    Attributes
    ----------
    pair : Pair
    targets : int64 array of shape (components,)
        Until which round the best arm is to look bad; 0: not tilted.
    ends : float64 array of shape (components,)
        The step at which that round begins if it does.
    shares : float64 array of shape (components,)
        Of the runs.
    component : int64 array of shape (1,)
        From which the run is drawn.
    logs : float64 array of shape (components,)
        Log-likelihoods of the run so far, relative to no tilt.
    thetas : float64 array of shape (components,)
        The tilts of the next reward.
    weight : float64 array of shape (checkpoints,)
    """

    pair: Pair
    targets: NDArray[np.int64]
    ends: NDArray[np.float64]
    shares: NDArray[np.float64]
    component: NDArray[np.int64]
    logs: NDArray[np.float64]
    thetas: NDArray[np.float64]
    weight: NDArray[np.float64]


@kernel
def mills(x: float) -> float:
    """Return (1 - Phi(x)) / phi(x), for x > -37."""
    if x < 30.0:
        return math.sqrt(math.pi / 2.0) * math.erfc(x / math.sqrt(2.0)) * math.exp(0.5 * x * x)
    return (1.0 - (1.0 - 3.0 / (x * x)) / (x * x)) / x


@kernel
def is_tilted(tilt: Tilt, arm: int) -> bool:
    """Return whether the rewards of an arm may be tilted."""
    return arm == tilt.pair.best or (arm == tilt.pair.rival and tilt.pair.spread > 0.0)


@kernel
def aim(tilt: Tilt, clock: Any, arms: Table, arm: int) -> None:
    """Choose the tilts of the next reward of an arm, the best one or its rival."""
    pulls = float(arms[tilt.pair.best]["count"])
    others = float(arms[tilt.pair.rival]["count"])
    deficit = pulls * (tilt.pair.level - arms[tilt.pair.best]["mean"]) if pulls > 0.0 else 0.0
    excess = others * (arms[tilt.pair.rival]["mean"] - tilt.pair.level) if others > 0.0 else 0.0
    for i in range(len(tilt.targets)):
        tilt.thetas[i] = 0.0
        left = float(tilt.targets[i] - clock["round"])
        if left > 0.0:
            left += min(
                LONGEST_AFTER * tilt.targets[i],
                AFTER * tilt.pair.variance / (tilt.pair.drift * tilt.pair.drift),
            )
            more = max(tilt.ends[i] - clock["step"], 1.0)
            ratio = (pulls + left) / (others + more)
            deviation = math.sqrt(left * tilt.pair.variance + ratio * ratio * more * tilt.pair.spread)
            x = (left * tilt.pair.drift - deficit - ratio * excess) / deviation
            if x > -6.0:
                tilt.thetas[i] = (ratio if arm == tilt.pair.rival else -1.0) / (deviation * mills(x))


@kernel
def aim_greedy(tilt: Tilt, clock: Any, arms: Table, second: float) -> bool:
    """Choose the tilts of the best arm's next reward while it leads; return whether there are any.

    A Brownian motion that is to come back to zero against its drift has the drift reversed: BACK would be 2.
    A little less has a smaller variance.
    """
    lead = arms[tilt.pair.best]["count"] * (arms[tilt.pair.best]["mean"] - second)
    theta = -BACK * tilt.pair.drift / tilt.pair.variance
    if -theta * lead > GIVE_UP:
        return False
    found = False
    for i in range(len(tilt.targets)):
        tilt.thetas[i] = 0.0
        if tilt.targets[i] > clock["round"]:
            tilt.thetas[i] = theta
            found = True
    return found


@kernel
def most_rounds(tilt: Tilt, clock: Any, leader: int) -> float:
    """Return how many rounds may be played at once: while the best arm leads, nothing is tilted."""
    most = np.inf
    if leader != tilt.pair.best:
        for i in range(len(tilt.targets)):
            left = tilt.targets[i] - clock["round"]
            if left > 0:
                most = min(most, max(1.0, left / BLOCK))
    return most


@kernel
def allowed(total: Any, theta: float) -> float:
    """Return the tilt, or the largest for which the law of the rewards has all its moments."""
    return min(theta, 0.5 / total["mean"]) if total["kind"] == GAMMA else theta


@kernel
def draw_aimed(tilt: Tilt, total: Any, law: Any, table: Any, n: int, rng: np.random.Generator) -> float:
    """Return the sum of n rewards of an arm, by the run's component."""
    return draw_tilted(total, law, table, allowed(total, tilt.thetas[tilt.component[0]]), n, rng)


@kernel
def note(tilt: Tilt, total: Any, law: Any, table: Any, n: int, reward: float) -> None:
    """Note the likelihoods of the sum of n rewards."""
    for i in range(len(tilt.targets)):
        if tilt.thetas[i] != 0.0:
            theta = allowed(total, tilt.thetas[i])
            tilt.logs[i] += theta * reward - n * tilted(total, law, table, theta)[0]


@kernel
def weigh(tilt: Tilt) -> float:
    """Return the run's weight: its likelihood without tilts over that under the mixture."""
    mixture = 0.0
    for i in range(len(tilt.targets)):
        mixture += tilt.shares[i] * math.exp(min(tilt.logs[i], 700.0))
    return 1.0 / mixture
