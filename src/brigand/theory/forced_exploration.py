"""Bounds for FE, rewards that do not change: Theorem 1, Corollaries 1 to 3, eqs. (4) and (10), Remark 1.

Notation, for an arm i of gap d: sigma is the largest sub-Gaussian parameter of an arm, m = 8 sigma^2 / d^2;
rho, H, h and R are those of `brigand.theory.schedule`. What is printed is in `brigand.theory.printed`; proofs
of what is called corrected are in ``docs/errata.md``, by number.

Source: Qi, Zhu, Guo, "Forced Exploration in Bandit Problems", AAAI 2024.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator

import numpy as np

from brigand.environments.continuous import Gaussian
from brigand.environments.environment import Environment
from brigand.policies.forced.forced_exploration import ForcedExploration
from brigand.policies.forced.sequences import Constant, ExplorationSequence, Exponential, Linear
from brigand.theory import printed
from brigand.theory.bound import (
    CORRECTED,
    FLOOR,
    ORDER,
    PRINTED,
    UPPER,
    Bound,
    Condition,
    Floats,
    Steps,
    is_sub_gaussian,
    stationary,
    weigh,
)
from brigand.theory.schedule import Schedule, doubt
from brigand.theory.sub_gaussian import of_environment

PAPER = "Qi, Zhu, Guo 2024"
EQUATIONS = {
    "Theorem 1": 5,
    "Corollary 1": 6,
    "Corollary 2": 7,
    "Corollary 3": 8,
    "Theorem 2": 15,
    "Corollary 4": 16,
    "Corollary 5": 17,
    "Corollary 6": 18,
}
ERRATA = {
    "Theorem 1": 8,
    "Corollary 1": 9,
    "Corollary 2": 10,
    "Corollary 3": 11,
    "Equation 10": 12,
    "Equation 4": 14,
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
    sequence, n_arms = policy.sequence, environment.n_arms
    schedule = Schedule(sequence, n_arms, horizon)
    needs = (stationary(environment), is_sub_gaussian(environment))
    gaps = environment.gaps[0]
    widths = widths_of(of_environment(environment) if needs[1].holds else math.nan, gaps)

    def bound(
        name: str, version: str, legend: str, pulls: Callable[[float, Steps], Floats], *more: Condition
    ) -> Bound:
        """Return a bound whose pulls of an arm depend on its m."""
        each = arm_by_arm(pulls, gaps, widths)
        source = source_of(name, version)
        return Bound(name, version, UPPER, source, legend, (*needs, *more), weigh(each, gaps), each)

    yield bound(
        "Theorem 1",
        PRINTED,
        "Theorem 1 as printed: h + 2 m exp(1/m) times the sum of exp(-h/m)",
        functools.partial(printed.theorem_1, schedule),
    )
    yield bound(
        "Theorem 1",
        CORRECTED,
        "Theorem 1, corrected: most forced pulls, and the doubt left by the rounds that are surely complete",
        lambda m, steps: schedule.most_forced(steps) + doubt(schedule, m, steps),
    )
    for name, version, legend, pulls in corollaries(sequence, n_arms, horizon):
        yield bound(name, version, legend, pulls)
    largest = widths[np.isfinite(widths)].max(initial=0.0)
    if isinstance(sequence, Exponential) and has_order(sequence):
        asked = (
            Condition(
                "Gaussian rewards of variance 1",
                all(isinstance(arm, Gaussian) and arm.sigma == 1.0 for arm in environment.phases[0]),
            ),
            Condition(f"T so large that m, {largest:.3g}, is less than log T", largest < math.log(horizon)),
        )
        yield bound(
            "Equation 13",
            PRINTED,
            "Equation 13 as printed: (K + 2) (log T)^2 + 16 e (K + 1) (log T)^2 / gap^2",
            lambda m, steps: np.full(len(steps), printed.remark_1_pulls(n_arms, m, horizon)),
            *asked,
        )
        yield Bound(
            "Equation 14",
            PRINTED,
            UPPER,
            source_of("Equation 14", PRINTED),
            "Equation 14 as printed: 8 sqrt(e) (K + 1) sqrt(T) log T + (K + 2) (log T)^2 sum of gaps",
            (*needs, *asked),
            lambda steps: np.minimum(printed.remark_1_regret(gaps, horizon), steps * gaps.max()),
        )
    yield from orders(sequence, horizon, gaps, widths, needs)
    yield from floors(sequence, schedule, gaps, needs[:1])


def floors(
    sequence: ExplorationSequence, schedule: Schedule, gaps: Floats, needs: tuple[Condition, ...]
) -> Iterator[Bound]:
    """Yield what FE loses at least: eq. (10) by pulls, and for a constant f eq. (4)."""

    def floor(name: str, version: str, legend: str, pulls: Callable[[Steps], Floats]) -> Bound:
        return Bound(
            name,
            version,
            FLOOR,
            source_of(name, version),
            legend,
            needs,
            lambda steps: pulls(steps) * gaps.sum(),
            lambda steps: np.where(gaps > 0, pulls(steps)[:, None], np.nan),
        )

    form = sequence.form(schedule.horizon)
    if is_of_the_paper(sequence, schedule.horizon):
        yield floor(
            "Equation 10",
            PRINTED,
            "Equation 10 as printed: rounds of f(r) steps",
            lambda steps: printed.lemma_3(form, schedule, steps).least,
        )
    yield floor(
        "Equation 10",
        CORRECTED,
        "Equation 10, corrected: every arm is pulled in every round that is surely complete",
        lambda steps: schedule.rounds(steps).astype(np.float64),
    )
    if isinstance(sequence, Constant) and 0 < form.number < math.inf:
        yield Bound(
            "Equation 4",
            PRINTED,
            FLOOR,
            source_of("Equation 4", PRINTED),
            "Equation 4 as printed, for the constant f itself: (K - 1) T / f",
            needs,
            lambda steps: printed.equation_4(form.number, len(gaps), steps),
        )
        length = max(len(gaps), math.ceil(form.number) + 1)
        yield floor(
            "Equation 4",
            CORRECTED,
            "Equation 4, corrected: the sum of gaps, times T / max(K, ceil(f) + 1) - 1",
            lambda steps: np.maximum(steps / length - 1, 0.0),
        )


def source_of(name: str, version: str) -> str:
    """Return where a statement of the paper stands, with its erratum if it is the corrected one."""
    place = f"{name}, eq. ({EQUATIONS[name]})" if name in EQUATIONS else name
    return f"{PAPER}, {place}" + (f"; erratum {ERRATA[name]}" if version == CORRECTED else "")


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

    With q = exp(-1/m) the corrected ones are, for finite c >= 0, and for K >= 2 and a > 1 in the third
    (errata 9 to 11)::

        1   f(r) = c      1 + (t - 1) / l + 2 l q / (1 - q), l = ceil(c) + 1; if c <= K - 1: 1 + (t - 1) / K
        2   f(r) = r      sqrt(2 t + 1/4) - 1/2 + 2 q^K ((K + 1) / (1 - q) + q / (1 - q)^2)
        3   f(r) = a^r    1 + log(1 + (t - 1) (1 - 1/a)) / log a + 2 S + 4 q^R / (1 - q)

    where S is the sum of (a q)^r over the rounds r from R on that begin in t steps, if all take a^r.
    """
    number = sequence.form(horizon).number
    if isinstance(sequence, Constant) and math.isfinite(number):
        if sequence.needs_span:
            yield (
                "Corollary 1",
                PRINTED,
                "Corollary 1 as printed: sqrt(T) (1 + 2 m^2 exp(2/m)) + 1",
                lambda m, steps: printed.corollary_1(number, m, steps),
            )
        yield (
            "Corollary 1",
            CORRECTED,
            "Corollary 1, corrected: the period is ceil(f) + 1",
            functools.partial(constant_pulls, number, n_arms),
        )
    if isinstance(sequence, Linear) and is_of_the_paper(sequence, horizon) and number == 1.0:
        yield (
            "Corollary 2",
            PRINTED,
            "Corollary 2 as printed: sqrt(2 T) + K^2 + 6 m^3 exp(3/m)",
            functools.partial(printed.corollary_2, n_arms),
        )
        yield (
            "Corollary 2",
            CORRECTED,
            "Corollary 2, corrected: round r takes r + 1 steps, and the first K are forced",
            functools.partial(linear_pulls, n_arms),
        )
    if isinstance(sequence, Exponential) and is_of_the_paper(sequence, horizon) and n_arms > 1:
        yield (
            "Corollary 3",
            PRINTED,
            "Corollary 3 as printed: rounds of a^r steps, and a sum over all steps",
            functools.partial(printed.corollary_3, number, n_arms),
        )
        yield (
            "Corollary 3",
            CORRECTED,
            "Corollary 3, corrected: bounded apart from log t / log a, where m log a < 1",
            functools.partial(exponential_pulls, number, n_arms),
        )


def constant_pulls(c: float, n_arms: int, m: float, steps: Steps) -> Floats:
    """Return the corrected Corollary 1, see `corollaries`."""
    if math.ceil(c) <= n_arms - 1:
        return 1 + (steps - 1) / n_arms
    length = math.ceil(c) + 1
    return 1 + (steps - 1) / length + 2 * length * geometric(m, 1, 1)


def linear_pulls(n_arms: int, m: float, steps: Steps) -> Floats:
    """Return the corrected Corollary 2, see `corollaries`."""
    later = (n_arms + 1) * geometric(m, n_arms, 1) + geometric(m, n_arms + 1, 2)
    return np.asarray(np.sqrt(2.0 * steps + 0.25) - 0.5 + 2 * later)


def exponential_pulls(a: float, n_arms: int, m: float, steps: Steps) -> Floats:
    """Return the corrected Corollary 3, see `corollaries`."""
    rounds = np.floor(exponential_rounds(a, steps))  # that are over by then, if each takes a^r steps
    first = exponential_start(a, n_arms)
    with np.errstate(over="ignore"):
        later = powers_sum(a, m, first, rounds + 1) + 2 * geometric(m, first, 1)
    return np.asarray(1 + exponential_rounds(a, steps - 1) + 2 * later)


def geometric(m: float, power: int, order: int) -> float:
    """Return q^power / (1 - q)^order, q = exp(-1/m)."""
    if m == 0.0:
        return 0.0 if power else 1.0
    if m == math.inf:
        return math.inf
    return math.exp(-power / m) / float(np.float64(-math.expm1(-1.0 / m)) ** order)


def exponential_start(a: float, n_arms: int) -> int:
    """Return R, the first r >= 1 with a^r > K - 1: before it all pulls are forced."""
    r = max(1, math.floor(math.log(n_arms - 1) / math.log(a)))
    while math.ceil(a**r) <= n_arms - 1:
        r += 1
    return r


def exponential_rounds(a: float, steps: Steps) -> Floats:
    """Return log(1 + steps (1 - 1/a)) / log a: no more rounds 1, 2, ... of lengths a^r fit into the steps."""
    return np.asarray(np.log1p(steps * (1.0 - 1.0 / a)) / math.log(a))


def powers_sum(a: float, m: float, first: int, last: Floats) -> Floats:
    """Return the sum of (a exp(-1/m))^r over first <= r <= last, 0 if there is none."""
    n = np.maximum(last - first + 1.0, 0.0)
    if m == 0.0:
        return np.zeros_like(n)
    b = math.log(a) - 1.0 / m
    if abs(b) < 1e-12:
        return np.asarray(n * math.exp(b * first))
    # In multiples of the largest term, so that nothing overflows where the sum does not.
    largest = np.exp(b * np.where(n > 0, last if b > 0 else first, 0.0))
    return np.asarray(largest * np.expm1(-abs(b) * n) / math.expm1(-abs(b)))


def is_of_the_paper(sequence: ExplorationSequence, horizon: int) -> bool:
    """Return whether f is a positive constant, b r with b > 0, or a^r with a > 1."""
    number, shift = sequence.form(horizon).number, sequence.form(horizon).shift
    if isinstance(sequence, Constant):
        return 0 < number < math.inf
    least = 0.0 if isinstance(sequence, Linear) else 1.0
    return isinstance(sequence, (Linear, Exponential)) and number > least and shift == 0


def orders(
    sequence: ExplorationSequence, horizon: int, gaps: Floats, widths: Floats, needs: tuple[Condition, ...]
) -> Iterator[Bound]:
    """Yield the orders that the paper claims for one problem."""

    def order(name: str, legend: str, regret: Callable[[Steps], Floats], *more: Condition) -> Bound:
        return Bound(name, PRINTED, ORDER, f"{PAPER}, {name}", legend, (*needs, *more), regret)

    costs = sum(float(d) * printed.factor(float(m)) for d, m in zip(gaps, widths, strict=True) if d > 0)
    if isinstance(sequence, Exponential) and has_order(sequence):
        yield order(
            "Equation 12",
            "Equation 12: order m exp(1/m) (log T)^2 for a = exp(1 / log T)",
            lambda steps: costs * np.log(steps) ** 2,
        )
    elif isinstance(sequence, Exponential) and is_of_the_paper(sequence, horizon):
        largest = widths[np.isfinite(widths)].max(initial=0.0) * math.log(sequence.form(horizon).number)
        yield order(
            "Equation 11",
            "Equation 11: order m exp(1/m) log T for a constant a",
            lambda steps: costs * np.log(steps),
            Condition(f"m log a, {largest:.3g}, less than 1", bool(largest < 1)),
        )
    elif has_order(sequence):
        name = "Corollary 1" if isinstance(sequence, Constant) else "Corollary 2"
        yield order(
            f"{name}, order", f"{name}: order sqrt(T)", lambda steps: np.sqrt(np.asarray(steps, np.float64))
        )


def has_order(sequence: ExplorationSequence) -> bool:
    """Return whether it is one of the paper's three sequences, with its tuning."""
    if isinstance(sequence, Linear):
        return sequence.slope > 0
    return isinstance(sequence, (Constant, Exponential)) and sequence.needs_span
