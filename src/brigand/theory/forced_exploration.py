"""Bounds for FE, rewards that do not change: Theorem 1, Corollaries 1 to 3, Remark 1, and eq. (1).

Notation, for an arm i of gap d: sigma is the largest sub-Gaussian parameter of an arm, m = 8 sigma^2 / d^2;
rho, H and h are those of `brigand.theory.schedule`. Proofs of what is called corrected are in
``docs/errata.md``, by number.

Source: Qi, Zhu, Guo, "Forced Exploration in Bandit Problems", AAAI 2024. What is called printed is put
together from notes on the paper, its factors m exp(1/m), exp(2/m) and exp(3/m) among them: an additive
constant may differ from the page.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator

import numpy as np

from brigand.environments.environment import Environment
from brigand.policies.forced.forced_exploration import ForcedExploration
from brigand.policies.forced.sequences import Constant, ExplorationSequence, Exponential, Linear
from brigand.theory.bound import (
    CORRECTED,
    FLOOR,
    ORDER,
    PRINTED,
    UPPER,
    Bound,
    Floats,
    Steps,
    is_sub_gaussian,
    stationary,
    weigh,
)
from brigand.theory.schedule import Schedule, accumulate, doubt, exp_sum
from brigand.theory.sub_gaussian import of_environment

PAPER = "Qi, Zhu, Guo 2024"
ERRATA = {
    "Theorem 1": 8,
    "Corollary 1": 9,
    "Corollary 2": 10,
    "Corollary 3": 11,
    "eq. (1)": 14,
    "Theorem 2": 15,
    "Corollary 4": 16,
    "Corollary 5": 16,
    "Corollary 6": 16,
    "Remark 2": 17,
}
"""The entry of ``docs/errata.md`` that corrects and proves each statement."""


def forced_exploration_bounds(
    environment: Environment, policy: ForcedExploration, horizon: int
) -> Iterator[Bound]:
    """Yield the bounds for FE without a window, at steps up to the horizon that f is made for.

    Parameters
    ----------
    environment : Environment
    policy : ForcedExploration
        Without a window, its f known beforehand.
    horizon : int
        T.

    Raises
    ------
    InvalidValueError
        f is not known beforehand.
    """
    schedule = Schedule(policy.sequence, environment.n_arms, horizon)
    needs = (stationary(environment), is_sub_gaussian(environment))
    gaps = environment.gaps[0]
    widths = widths_of(of_environment(environment) if needs[1].holds else math.nan, gaps)

    def bound(name: str, version: str, legend: str, pulls: Callable[[float, Steps], Floats]) -> Bound:
        """Return a bound whose pulls of an arm depend on its m."""
        each = arm_by_arm(pulls, gaps, widths)
        source = source_of(name, version)
        return Bound(name, version, UPPER, source, legend, needs, weigh(each, gaps), each)

    yield bound(
        "Theorem 1",
        PRINTED,
        "Theorem 1 as printed: h + 2 m exp(1/m) times the sum of exp(-h/m)",
        functools.partial(printed_theorem, schedule),
    )
    yield bound(
        "Theorem 1",
        CORRECTED,
        "Theorem 1, corrected: most forced pulls, and the doubt left by the rounds that are surely complete",
        lambda m, steps: schedule.most_forced(steps) + doubt(schedule, m, steps),
    )
    for name, version, legend, pulls in corollaries(policy.sequence, environment.n_arms, horizon):
        yield bound(name, version, legend, pulls)
    for name, legend, order in orders(policy.sequence):
        yield Bound(name, PRINTED, ORDER, f"{PAPER}, {name}", legend, needs, order)
    yield Bound(
        "eq. (1)",
        CORRECTED,
        FLOOR,
        source_of("eq. (1)", CORRECTED),
        "eq. (1), corrected: every arm is pulled in every round that is surely complete",
        needs[:1],
        lambda steps: schedule.rounds(steps) * gaps.sum(),
        lambda steps: np.where(gaps > 0, schedule.rounds(steps)[:, None], np.nan),
    )


def source_of(name: str, version: str) -> str:
    """Return where a statement of the paper stands, with its erratum if it is the corrected one."""
    return f"{PAPER}, {name}" + (f"; erratum {ERRATA[name]}" if version == CORRECTED else "")


def widths_of(sigma: float, gaps: Floats) -> Floats:
    """Return m = 8 sigma^2 / gap^2, infinite for a gap of 0."""
    with np.errstate(over="ignore"):
        return np.asarray(8.0 * np.square(np.where(gaps > 0, sigma / np.where(gaps > 0, gaps, 1.0), np.inf)))


def arm_by_arm(
    pulls: Callable[[float, Steps], Floats], gaps: Floats, widths: Floats
) -> Callable[[Steps], Floats]:
    """Return bounds of shape (n, K) from one that takes an arm's m; never more than t, NaN without a gap."""

    def each(steps: Steps) -> Floats:
        result = np.full((len(steps), len(gaps)), np.nan)
        for k in np.flatnonzero(gaps > 0):
            result[:, k] = np.minimum(pulls(float(widths[k]), steps), steps)
        return result

    return each


def corollaries(
    sequence: ExplorationSequence, n_arms: int, horizon: int
) -> Iterator[tuple[str, str, str, Callable[[float, Steps], Floats]]]:
    """Yield name, version, legend and bound of the corollary for a sequence of the paper's.

    The corrected ones hold for finite c >= 0, and for K >= 2 and a > 1 in the third (errata 9 to 11)::

        1   f(r) = c      1 + (t - 1) / (ceil(c) + 1) + 2 m (1 + m) max(K, ceil(c) + 1)
        2   f(r) = r      sqrt(2 t + 1/4) - 1/2 + 2 (1 + m) (K m + m^2)
        3   f(r) = a^r    1 + log(1 + (t - 1) (1 - 1/a)) / log a + 2 (1 + m) (K m + G)

    where G bounds the sum of (a exp(-1/m))^r over the rounds, see `growth`.
    """
    form = sequence.form(horizon)
    if isinstance(sequence, Constant) and math.isfinite(form.number):
        c = form.number
        length = max(n_arms, math.ceil(c) + 1)
        if c > 0:
            yield (
                "Corollary 1",
                PRINTED,
                "Corollary 1, in the form that is printed for f = sqrt(T): t/f + 1 + 2 m^2 exp(2/m) f",
                lambda m, steps: steps / c + 1 + product(2, m) * m * c,
            )
        yield (
            "Corollary 1",
            CORRECTED,
            "Corollary 1, corrected: the period is ceil(f) + 1",
            lambda m, steps: 1 + (steps - 1) / (math.ceil(c) + 1) + 2 * m * (1 + m) * length,
        )
    if isinstance(sequence, Linear) and form.number == 1.0 and form.shift == 0:
        yield (
            "Corollary 2",
            PRINTED,
            "Corollary 2 as printed: sqrt(2 t) + 1 + 2 m^3 exp(3/m)",
            lambda m, steps: np.sqrt(2.0 * steps) + 1 + product(3, m) * m * m,
        )
        yield (
            "Corollary 2",
            CORRECTED,
            "Corollary 2, corrected: round r takes r + 1 steps",
            lambda m, steps: np.sqrt(2.0 * steps + 0.25) - 0.5 + 2 * (1 + m) * (n_arms * m + m * m),
        )
    if isinstance(sequence, Exponential) and form.number > 1.0 and form.shift == 0 and n_arms > 1:
        a = form.number
        yield (
            "Corollary 3",
            CORRECTED,
            "Corollary 3, corrected: bounded apart from log t / log a, where m log a < 1",
            lambda m, steps: (
                1
                + exponential_rounds(a, steps - 1)
                + 2 * (1 + m) * (n_arms * m + growth(a, m, 1 + exponential_rounds(a, steps)))
            ),
        )


def exponential_rounds(a: float, steps: Steps) -> Floats:
    """Return log(1 + steps (1 - 1/a)) / log a: no more rounds 1, 2, ... of lengths a^r fit into the steps."""
    return np.asarray(np.log1p(steps * (1.0 - 1.0 / a)) / math.log(a))


def growth(a: float, m: float, rounds: Floats) -> Floats:
    """Return a bound on the sum of (a exp(-1/m))^r over r = 1, ..., rounds.

    With b = log a - 1/m it is at most rounds max(1, exp(b rounds)), 1 / -b for b < 0, and
    exp(b rounds) (1 + 1 / b) for b > 0.
    """
    if m == 0.0:
        return np.zeros(np.shape(rounds))
    b = math.log(a) - 1.0 / m
    with np.errstate(over="ignore"):
        largest = np.exp(np.maximum(b * rounds, 0.0))
        geometric = 1.0 / -b if b < 0 else largest * (1.0 + 1.0 / b) if b > 0 else np.inf
        return np.asarray(np.minimum(rounds * largest, geometric))


def orders(sequence: ExplorationSequence) -> Iterator[tuple[str, str, Callable[[Steps], Floats]]]:
    """Yield name, legend and values of the orders that the paper claims for one problem, constant 1."""
    if not has_order(sequence):
        return
    if isinstance(sequence, Exponential):
        yield "Remark 1", "Remark 1: order (log T)^2", lambda steps: np.log(steps) ** 2
        # Also claimed for all problems at once: sqrt(T) log T, which is false (erratum 13).
    else:
        name = "Corollary 1" if isinstance(sequence, Constant) else "Corollary 2"
        yield f"{name}, order", f"{name}: order sqrt(T)", lambda steps: np.sqrt(np.asarray(steps, np.float64))


def has_order(sequence: ExplorationSequence) -> bool:
    """Return whether it is one of the paper's three sequences, with its tuning."""
    if isinstance(sequence, Linear):
        return sequence.slope > 0
    return isinstance(sequence, (Constant, Exponential)) and sequence.needs_span


def product(n: int, m: float) -> float:
    """Return 2 m exp(n / m), infinite where that overflows and in the limit m = 0."""
    return 2 * m * math.exp(n / m) if n < 700.0 * m else math.inf


def printed_theorem(schedule: Schedule, m: float, steps: Steps) -> Floats:
    """Return h_t + 2 m exp(1/m) times the sum of exp(-h_s / m) over s <= t.

    h is taken from the last arm in the order, with the others led by one arm: rho.
    """
    round_0 = np.minimum(steps, schedule.n_arms - 1)
    factor = product(1, m)
    if factor == math.inf:
        return np.full(len(steps), math.inf)
    total = round_0 + accumulate(schedule, functools.partial(exp_sum, m), steps + 1)
    return np.asarray(schedule.rounds(steps) + factor * total)
