"""The bounds exactly as the paper prints them: right-hand sides, without any claim that they hold.

Equations are numbered as in the paper: (1) is the definition of regret, (23) the last of the appendix. K is
the number of arms, T the horizon, m = 8 sigma^2 / gap^2 of an arm. ``docs/paper.md`` lists every statement
and what was found of it; ``docs/errata.md`` what does not hold.

Source: Qi, Zhu, Guo, "Forced Exploration in Bandit Problems", AAAI 2024.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from brigand.policies.forced.sequences import CONSTANT, EXPONENTIAL, LINEAR, Form
from brigand.theory.bound import Floats, Steps
from brigand.theory.schedule import Schedule, accumulate, exp_sum

TERMS = 1000
"""So many terms of a sum are added one by one; the rest is an integral, with its correction."""


def factor(m: float, n: int = 1) -> float:
    """Return m^n exp(n / m), infinite where that overflows and in the limit m = 0."""
    return math.inf if n >= 700.0 * m else float(np.float64(m) ** n * np.exp(n / m))


def theorem_1(schedule: Schedule, m: float, steps: Steps) -> Floats:
    """Return h_t + 2 m exp(1/m) times the sum of exp(-h_s / m) over s <= t, eq. (5).

    h is that of the last arm in the order, with arm 0 the leader throughout.
    """
    return np.asarray(schedule.rounds(steps) + 2 * _greedy(schedule, m, steps))


def _greedy(schedule: Schedule, m: float, steps: Steps) -> Floats:
    """Return m exp(1/m) times the sum of exp(-h_s / m) over s <= t."""
    if factor(m) == math.inf:
        return np.full(len(steps), math.inf)
    # h is 0 before step K; `accumulate` leaves K steps out and counts those before a step.
    begin = np.minimum(steps, schedule.n_arms - 1)
    return np.asarray(factor(m) * (begin + accumulate(schedule, functools.partial(exp_sum, m), steps + 1)))


def corollary_1(f: float, m: float, steps: Steps) -> Floats:
    """Return t / f + 1 + 2 m^2 exp(2/m) f: at t = T and f = sqrt(T) eq. (6), before as in its proof."""
    return steps / f + 1 + 2 * factor(m, 2) * f


def corollary_2(n_arms: int, m: float, steps: Steps) -> Floats:
    """Return sqrt(2 T) + K^2 + 6 m^3 exp(3/m), eq. (7)."""
    return np.asarray(np.sqrt(2.0 * steps) + n_arms**2 + 6 * factor(m, 3))


def corollary_3(a: float, n_arms: int, m: float, steps: Steps) -> Floats:
    """Return eq. (8).

    It is ::

        log(T (a - 1) + 1) / log a + (K + 1) log(K + 1) / log a
            + 2 m exp(1/m) sum over t <= T of (1 + (a - 1) t / (K + 1))^(-1 / (m log a))
    """
    rounds = np.log1p(steps * (a - 1)) / math.log(a) + (n_arms + 1) * math.log(n_arms + 1) / math.log(a)
    return np.asarray(rounds + 2 * factor(m) * power_sum(a, n_arms, m, steps))


def power_sum(a: float, n_arms: int, m: float, steps: Steps) -> Floats:
    """Return the sum over t <= T of (1 + (a - 1) t / (K + 1))^(-1 / (m log a)), of eqs. (8) and (18).

    The first terms are added, the rest is the Euler-Maclaurin formula up to the first derivative.
    """
    if m == 0.0:
        return np.zeros(len(steps))
    slope, exponent = (a - 1) / (n_arms + 1), -1 / (m * math.log(a))

    def term(t: Steps | Floats) -> Floats:
        return np.asarray(np.exp(exponent * np.log1p(slope * t)))

    def integral(t: Steps | Floats) -> Floats:
        logarithm = np.log1p(slope * t)
        if exponent == -1.0:
            return np.asarray(logarithm / slope)
        return np.asarray(np.expm1((exponent + 1) * logarithm) / (slope * (exponent + 1)))

    def derivative(t: Steps | Floats) -> Floats:
        return np.asarray(exponent * slope * term(t) / (1 + slope * t))

    added = np.concatenate(([0.0], np.cumsum(term(np.arange(1, TERMS + 1)))))
    first = np.array([float(TERMS)])
    rest = integral(steps) - integral(first) + (term(steps) - term(first)) / 2
    rest += (derivative(steps) - derivative(first)) / 12
    return np.asarray(added[np.minimum(steps, TERMS)] + np.where(steps > TERMS, rest, 0.0))


class ForcedPulls(NamedTuple):
    """Lemma 3: forced pulls of an arm, at least (also eq. (10)) and at most."""

    least: Floats
    most: Floats


def lemma_3(form: Form, schedule: Schedule, steps: Steps) -> ForcedPulls:
    """Return the largest n for which f(x) + ... + f(n) <= t - t0.

    x is the first round with f(x) >= K + 1 for what is forced at least, with f(x) >= K for what is forced at
    most; t0 is the number of steps with f(r) <= K where one arm leads. For `steps` up to t0, and where f is
    less throughout: 0.

    Parameters
    ----------
    form : Form
        Of a sequence of the paper's: f = c, f(r) = b r, or f(r) = a^r.
    schedule : Schedule
    steps : int64 array of shape (n,)
    """
    place = int(np.searchsorted(schedule.waits, schedule.n_arms, side="right"))
    if place == len(schedule.waits):
        return ForcedPulls(np.zeros(len(steps)), np.zeros(len(steps)))
    room = steps - schedule.begin[place]
    f, total = _sums(form)

    def most(level: int) -> Floats:
        if form.kind == CONSTANT and form.number < level:  # f never gets there
            return np.zeros(len(steps))
        first = _first_round(f, level)
        low, high = np.full(len(steps), first - 1), np.full(len(steps), first + schedule.horizon)
        while (low < high).any():
            middle = (low + high + 1) // 2
            with np.errstate(over="ignore"):
                fits = total(middle) - total(np.array([first - 1])) <= room
            low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
        return np.where(room > 0, low, 0.0)

    return ForcedPulls(most(schedule.n_arms + 1), most(schedule.n_arms))


def _sums(form: Form) -> tuple[Callable[[int], float], Callable[[Steps], Floats]]:
    """Return f, and the sum of f(1), ..., f(n)."""
    b = form.number
    if form.kind == CONSTANT:
        return lambda r: b, lambda n: n * b
    if form.kind == LINEAR:
        return lambda r: b * r, lambda n: b * n * (n + 1.0) / 2
    assert form.kind == EXPONENTIAL
    logarithm = math.log(b)
    return (
        lambda r: math.exp(min(r * logarithm, 700.0)),
        lambda n: np.expm1(np.minimum(n * logarithm, 700.0)) * b / (b - 1),
    )


def _first_round(f: Callable[[int], float], level: int) -> int:
    """Return min{r >= 1 : f(r) >= level}, for an f that gets there."""
    high = 1
    while f(high) < level:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if f(middle) < level else (low, middle)
    return high


def equation_4(c: float, n_arms: int, steps: Steps) -> Floats:
    """Return (K - 1) (T - t) / c with t = 0, eq. (4): the least regret where f < c."""
    return np.asarray((n_arms - 1) * steps / c)


def remark_1_pulls(n_arms: int, m: float, horizon: int) -> float:
    """Return (K + 2) log(T)^2 + e (K + 1) 16 log(T)^2 / gap^2, eq. (13): sigma = 1, so 16 / gap^2 = 2 m."""
    return (n_arms + 2 + 2 * math.e * (n_arms + 1) * m) * math.log(horizon) ** 2


def remark_1_regret(gaps: Floats, horizon: int) -> float:
    """Return 8 sqrt(e) (K + 1) sqrt(T) log T + (K + 2) log(T)^2 times the sum of gaps, eq. (14)."""
    n_arms, log_t = len(gaps), math.log(horizon)
    at_worst = 8 * math.sqrt(math.e) * (n_arms + 1) * math.sqrt(horizon) * log_t
    return at_worst + (n_arms + 2) * log_t**2 * float(gaps.sum())


def theorem_2(schedule: Schedule, tau: int, m: float, steps: Steps, breakpoints: Steps) -> Floats:
    """Return eq. (15), h as in `theorem_1`.

    It is ::

        T/tau (h_tau + m exp(1/m) sum over t <= tau of exp(-h_t / m)) + T/tau (1 + 2 m log tau) + B tau
    """
    end = np.array([tau])
    block = schedule.rounds(end) + _greedy(schedule, m, end)
    return _blocks(float(block[0]), tau, m, steps, breakpoints)


def corollary_4(tau: int, m: float, steps: Steps, breakpoints: Steps) -> Floats:
    """Return eq. (16): B tau + T/tau (1 + 2 m log tau + sqrt(tau) m^2 exp(2/m)) + T/tau (1 + sqrt(tau))."""
    root = math.sqrt(tau)
    return _blocks(root * factor(m, 2) + 1 + root, tau, m, steps, breakpoints)


def corollary_5(n_arms: int, tau: int, m: float, steps: Steps, breakpoints: Steps) -> Floats:
    """Return eq. (17): B tau + T/tau (1 + 2 m log tau + 3 m^3 exp(3/m)) + T/tau (K^2 + sqrt(2 tau))."""
    return _blocks(3 * factor(m, 3) + n_arms**2 + math.sqrt(2 * tau), tau, m, steps, breakpoints)


def corollary_6(a: float, n_arms: int, tau: int, m: float, steps: Steps, breakpoints: Steps) -> Floats:
    """Return eq. (18).

    It is ::

        B tau + T/tau m exp(1/m) sum over t <= tau of (1 + (a - 1) t / (K + 1))^(-1 / (m log a))
            + T/tau (1 + 2 m log tau + (K + 2) log(tau + 1) / log a)
    """
    greedy = factor(m) * float(power_sum(a, n_arms, m, np.array([tau]))[0]) if m else math.inf
    return _blocks(greedy + (n_arms + 2) * math.log(tau + 1) / math.log(a), tau, m, steps, breakpoints)


def _blocks(block: float, tau: int, m: float, steps: Steps, breakpoints: Steps) -> Floats:
    return np.asarray(steps / tau * (block + 1 + 2 * m * math.log(tau)) + breakpoints * tau)
