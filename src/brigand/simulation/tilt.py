"""Parts of rare events: the best arm's forced pulls are tilted, so that it looks bad for n of its pulls.

While the best arm does not lead, its rewards are forced pulls, and its deficit (how far the sum of its
rewards is below as many times the leader's mean) is a random walk. Conditioned on staying positive for n
pulls, it is the walk's h-transform. Of a Brownian motion with drift -drift and the walk's variance, h is

    h(d, s) = Phi((d - drift s) / (dev sqrt s)) - exp(2 drift d / dev^2) Phi((-d - drift s) / (dev sqrt s))

for a deficit d with s pulls left, and the tilt is theta = -d log h / d d. Where no greedy decision is near,
the deficit need not stay positive but end so, and h is the first term alone. Weights account for every tilt
exactly; the approximation decides only about their variance.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brigand.environments.tilts import draw_tilted, tilted
from brigand.jit import kernel
from brigand.policies.base import Table
from brigand.simulation.blocks import earn, whole

STEP = 0.5826
"""A walk overshoots zero by this many standard deviations (Siegmund 1985), a Brownian motion does not."""
BLOCK = 8.0
"""A tilt stays the same for one pull in so many of those left."""


class Tilt(NamedTuple):
    """How the best arm is tilted, and the likelihoods of a run under every component of the mixture.

    Attributes
    ----------
    arm : int
        The best arm.
    rival : float
        The largest mean of another.
    drift, deviation : float
        Of the Brownian motion: its own tilt to drift zero, drift / deviation^2, is the tilt that gives the
        best arm the rival's mean; deviation^2 is the variance then.
    targets : int64 array of shape (components,)
        For how many pulls the best arm is to look bad; 0: not tilted.
    settled : float64 array of shape (K,)
        Variances of the arms over that of the best one.
    watched : bool array of shape (components,)
    shares : float64 array of shape (components,)
        Of the runs.
    component : int64 array of shape (1,)
        From which the run is drawn.
    logs : float64 array of shape (components,)
        Log-likelihoods of the run so far, relative to no tilt.
    thetas : float64 array of shape (components,)
    weight : float64 array of shape (checkpoints,)
    """

    arm: int
    rival: float
    drift: float
    deviation: float
    giveup: float
    targets: NDArray[np.int64]
    settled: NDArray[np.float64]
    watched: NDArray[np.bool_]
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
def steer(deficit: float, left: float, drift: float, deviation: float, watched: bool) -> float:
    """Return the tilt that keeps the deficit positive for `left` pulls; at most 0.

    Parameters
    ----------
    deficit : float
    left : float
        At least 1.
    drift, deviation : float
        Positive.
    watched : bool
        Whether it must stay positive on the way, or only end so.
    """
    scale = deviation * math.sqrt(left)
    if watched and deficit > 0.0:
        deficit += STEP * deviation
        near = (drift * left - deficit) / scale
        if near < -6.0:
            return 0.0
        beyond = mills((drift * left + deficit) / scale)
        return -2.0 * (1.0 / scale - drift / (deviation * deviation) * beyond) / (mills(near) - beyond)
    near = (drift * left - deficit) / scale
    return 0.0 if near < -6.0 else -1.0 / (scale * mills(near))


@kernel
def longest(tilt: Tilt, clock: Any, leader: int) -> float:
    """Return how many rounds may be played at once: while the best arm leads, it is not tilted."""
    if leader == tilt.arm:
        return np.inf
    most = np.inf
    for i in range(len(tilt.targets)):
        left = tilt.targets[i] - clock["round"]
        if left > 0:
            most = min(most, max(1.0, left / BLOCK))
    return most


@kernel
def aim(tilt: Tilt, clock: Any, arms: Table) -> None:
    """Choose the tilts of the best arm's next forced pull."""
    arm = tilt.arm
    count = arms[arm]["count"]
    leader = -1
    for k in range(len(arms)):
        if k != arm and arms[k]["count"] > 0 and (leader < 0 or arms[k]["mean"] > arms[leader]["mean"]):
            leader = k
    bar, watched = tilt.rival, False
    if leader >= 0 and count > 0 and whole(np.ceil(clock["threshold"])) >= len(arms):
        watched = arms[leader]["count"] >= tilt.settled[leader] * count * count
        if watched:
            bar = min(arms[leader]["mean"], tilt.rival)
    deficit = count * (bar - arms[arm]["mean"]) if count > 0 else 0.0
    for i in range(len(tilt.targets)):
        left = tilt.targets[i] - clock["round"]
        tilt.thetas[i] = 0.0
        if left > 0:
            tilt.thetas[i] = steer(
                deficit, float(left), tilt.drift + tilt.rival - bar, tilt.deviation, watched and tilt.watched[i]
            )


@kernel
def aim_greedy(tilt: Tilt, clock: Any, arms: Table, second: float) -> bool:
    """Choose the tilts of the best arm's next pull while it leads; return whether there are any."""
    lead = arms[tilt.arm]["count"] * (arms[tilt.arm]["mean"] - second)
    theta = -2.0 * tilt.drift / (tilt.deviation * tilt.deviation)
    if -theta * lead > tilt.giveup:
        return False
    any_ = False
    for i in range(len(tilt.targets)):
        tilt.thetas[i] = 0.0
        if tilt.targets[i] > clock["round"]:
            tilt.thetas[i] = theta
            any_ = True
    return any_


@kernel
def earn_tilted(
    tilt: Tilt, arms: Table, totals: Any, laws: Any, table: Any, n: int, rng: np.random.Generator
) -> None:
    """Draw n rewards of the best arm by the run's component, and note their likelihood under all."""
    arm = tilt.arm
    theta = tilt.thetas[tilt.component[0]]
    reward = draw_tilted(totals[arm], laws[arm], table, theta, n, rng)
    for i in range(len(tilt.targets)):
        theta = tilt.thetas[i]
        if theta != 0.0:
            tilt.logs[i] += theta * reward - n * tilted(totals[arm], laws[arm], table, theta)[0]
    earn(arms, arm, reward, 0.0, n)


@kernel
def weigh(tilt: Tilt) -> float:
    """Return the run's weight: its likelihood without tilt over that under the mixture."""
    mixture = 0.0
    for i in range(len(tilt.targets)):
        mixture += tilt.shares[i] * math.exp(min(tilt.logs[i], 700.0))
    return 1.0 / mixture
