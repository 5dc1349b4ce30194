"""How often FE is stuck, and what it costs: the law of the time that a random walk is below zero. Ours.

Arm A pays a constant, arm B pays N(d, sigma^2) more. B's rewards, less A's, add up to a random walk S with
drift. While S < 0 the run is stuck: A is pulled greedily, B only when it is forced. Let X be how many of S_1,
S_2, ... are below zero. In a run that goes on for long enough A is pulled at least W(X) times while it is
stuck, W(q) = ceil f(1) + ... + ceil f(q).

The law of X is known (Sparre Andersen; Spitzer; Feller, volume II, chapter XII): P(X = k) = p_0 u_k with
u_0 = 1, k u_k = sum over j = 1, ..., k of P(S_j < 0) u_(k-j), and p_0 = exp(-sum over n of P(S_n < 0) / n),
the probability that S is never below zero. In the diffusion limit, d -> 0, d^2 X / sigma^2 has the law of the
time that a Brownian motion with drift 1 is below zero, `time_below_zero`. The regret that is built on it is
an estimate, and where A is constant mostly too low: rounds that end while S >= 0 make later waits longer.

``docs/results.md`` has proofs, and says what is measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erfc, ndtr

from brigand import checks
from brigand.errors import InvalidValueError
from brigand.policies.forced.sequences import ExplorationSequence
from brigand.theory.bound import Floats, Steps
from brigand.theory.schedule import Schedule
from brigand.theory.worst_case import waited

EXACT = 10_000
"""So many steps of the walk are followed; beyond them the law is the limit's, made to join."""
NEVER = 1400.0
"""d^2 n / sigma^2 from which on the walk is below zero with a probability that is no float."""
HARDLY = 80.0
"""The same, where it is no more than rounding of what is added up: 2e-20."""
MOST = 5_000_000
EXTREME = 1e100
"""Drifts are at most this, and at least its inverse: beyond, all probabilities are 0 or 1."""


@dataclass(frozen=True)
class StuckRuns:
    """The law of stuck runs.

    Attributes
    ----------
    rounds : int64 array of shape (n,)
        q = 0, 1, ..., n - 1: in so many rounds the better arm looks worse.
    probability : float64 array of shape (n,)
        P(X >= q).
    pulls : float64 array of shape (n,)
        W(q), at most T: how often the wrong arm is pulled in them at least.
    regret : float64 array of shape (n,)
        At T, of a run with X = q, estimated: in all other rounds the wrong arm is pulled once.
    """

    rounds: Steps
    probability: Floats
    pulls: Floats
    regret: Floats

    @property
    def mean(self) -> float:
        """The mean regret, estimated."""
        return float(self.regret[0] + self.probability[1:] @ np.diff(self.regret))

    def exceeds(self, regret: ArrayLike) -> Floats:
        """Return the probability, estimated, that the regret exceeds each of these numbers."""
        place = np.searchsorted(self.regret, np.asarray(regret, np.float64), side="right")
        return np.append(self.probability, 0.0)[place]


def stuck_runs(sequence: ExplorationSequence, gap: float, sigma: float, horizon: int) -> StuckRuns:
    """Return how often FE is stuck on an arm that is worse by `gap`, and the regret of these runs.

    Parameters
    ----------
    sequence : ExplorationSequence
        f; known beforehand.
    gap, sigma : float
        d > 0, and the standard deviation of the better arm's rewards, positive.
    horizon : int
        T, at least 1.

    Raises
    ------
    InvalidValueError
        An argument is not allowed, f is not known beforehand, or the walk would have to be followed for more
        than `MOST` rounds.

    Examples
    --------
    FE-Exp, a gap of half a standard deviation, a million steps: the mean regret, and how often it is more
    than 1,000.

    >>> import brigand as br
    >>> law = br.theory.stuck_runs(br.Exponential(), gap=0.5, sigma=1.0, horizon=10**6)
    >>> print(f"{law.mean:.1f} {law.exceeds(1000):.1e}")
    78.6 3.6e-06
    """
    gap = checks.number("gap", gap, above=0.0)
    sigma = checks.number("sigma", sigma, above=0.0)
    schedule = Schedule(sequence, 2, checks.steps("horizon", horizon))
    drift = min(max(gap / sigma, 1.0 / EXTREME), EXTREME)
    in_all = float(schedule.rounds([horizon])[0])
    last = min(in_all + 1.0, NEVER / drift**2 + 1.0)
    if not last <= MOST:
        raise InvalidValueError(
            f"the walk of a gap of {gap:g} would have to be followed for {last:,.0f} rounds, more than "
            f"{MOST:,}."
        )
    rounds = np.arange(int(last) + 1)
    pulls = np.minimum(waited(schedule, rounds + 1), float(horizon))
    regret = np.maximum.accumulate(np.minimum(pulls + np.maximum(in_all - rounds, 0.0), float(horizon)))
    return StuckRuns(rounds, below_zero_law(drift, len(rounds)), pulls, gap * regret)


def below_zero_law(drift: float, n: int) -> Floats:
    """Return P(X >= q) for q = 0, ..., n - 1, for a walk with standard normal steps and a drift.

    Parameters
    ----------
    drift : float
        d / sigma, positive.
    n : int
        At least 1.

    Returns
    -------
    float64 array of shape (n,)
    """
    known = int(min(EXACT, max(n, HARDLY / drift**2 + 1.0)))
    below = ndtr(-drift * np.sqrt(np.arange(1, known)))
    u = np.ones(known)
    for k in range(1, known):
        u[k] = below[:k] @ u[k - 1 :: -1] / k
    first = never_below_zero(drift) * u
    rest = 1.0 - first.sum() if known == EXACT else 0.0
    if rest < 1e-9:  # what is left is rounding
        rest = float(time_below_zero(drift**2 * known))
    tail: Floats = np.cumsum(first[::-1])[::-1] + rest
    if n <= known:
        return tail[:n]
    limit = time_below_zero(drift**2 * np.arange(known, n + 1))
    return np.concatenate((tail, limit[:-1] * (rest / limit[0] if limit[0] > 0 else 0.0)))


def never_below_zero(drift: float) -> float:
    """Return p_0, the probability that a walk with standard normal steps and a drift is never below zero."""
    n = np.arange(1, 100_001)
    total = float((ndtr(-drift * np.sqrt(n)) / n).sum())
    # The rest of the sum as an integral over x = log n, by the midpoint rule: n from 100,000.5 on.
    low, high = math.log(100_000.5), max(2.0 * math.log(40.0 / drift), math.log(100_001.0))
    x, step = np.linspace(low, high, 20_001, retstep=True)
    total += float(ndtr(-drift * np.exp(0.5 * (x[1:] - 0.5 * step))).sum() * step)
    return math.exp(-total)


def time_below_zero(x: ArrayLike) -> NDArray[np.float64]:
    """Return the probability that a Brownian motion with drift 1 is below zero for a time of x or more.

    It is 2 ((1 + x) Phi(-sqrt x) - sqrt x phi(sqrt x)), of mean 1/2, with E exp(y time) = 2 / (1 + sqrt(1 -
    2 y)) for y <= 1/2 and infinite beyond.

    Examples
    --------
    >>> time_below_zero([0, 1, 10]).round(4).tolist()
    [1.0, 0.1507, 0.0002]
    """
    root = np.sqrt(np.asarray(x, np.float64))
    density = np.exp(-0.5 * root**2) / math.sqrt(2.0 * math.pi)
    return np.asarray((1.0 + root**2) * erfc(root / math.sqrt(2.0)) - 2.0 * root * density)


def exponential_cost(base: float, gap: float, sigma: float) -> float:
    """Return the expected sum of f over the rounds in which the better arm looks worse, for f(r) = base^r.

    It is the integral of f(r) P(X > r) over r > 0 in the diffusion limit, without a horizon: with a = 1 / log
    base and h = 2 sigma^2 / (a gap^2), it is a (1 - sqrt(1 - h)) / (1 + sqrt(1 - h)), and infinite for h > 1.
    At h = 1, base = exp(gap^2 / (2 sigma^2)), it is a. A wait is ceil f(r), which for small gaps makes the
    pulls of the wrong arm 1.2 (h = 1) to 1.8 times (h = 1/4) as many.

    Examples
    --------
    >>> print(f"{exponential_cost(math.exp(0.125), 0.5, 1.0):.1f}")
    8.0
    """
    base = checks.number("base", base, above=1.0)
    gap = checks.number("gap", gap, above=0.0)
    sigma = checks.number("sigma", sigma, above=0.0)
    a = 1.0 / math.log(base)
    h = 2.0 / (a * min(max(gap / sigma, 1.0 / EXTREME), EXTREME) ** 2)
    if h > 1.0 + 1e-12:
        return math.inf
    root = math.sqrt(max(1.0 - h, 0.0))
    return a * (1.0 - root) / (1.0 + root)
