"""Bounds for SW-FE, rewards that change: Theorem 2, Corollaries 4 to 6, Remark 2.

Notation as in `brigand.theory.forced_exploration`; tau is the window, B the number of breakpoints so far, and
m belongs to an arm and a phase. Pulls of an arm are counted while it is not optimal. What is printed is in
`brigand.theory.printed`; proofs of what is called corrected are in ``docs/errata.md``.

Source: Qi, Zhu, Guo, "Forced Exploration in Bandit Problems", AAAI 2024.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator

import numpy as np

from brigand.environments.environment import Environment
from brigand.policies.forced.forced_exploration import ForcedExploration
from brigand.policies.forced.sequences import Constant, Exponential, Linear
from brigand.theory import printed
from brigand.theory.bound import (
    CORRECTED,
    ORDER,
    PRINTED,
    UPPER,
    Bound,
    Condition,
    Floats,
    Steps,
    is_sub_gaussian,
)
from brigand.theory.forced_exploration import (
    arm_by_arm,
    exponential_rounds,
    geometric,
    has_order,
    is_of_the_paper,
    powers_sum,
    source_of,
    widths_of,
)
from brigand.theory.schedule import Schedule, doubt
from brigand.theory.sub_gaussian import of_environment


def sliding_window_bounds(
    environment: Environment, policy: ForcedExploration, horizon: int
) -> Iterator[Bound]:
    """Yield the bounds for FE with a window, at steps up to the horizon.

    Parameters
    ----------
    environment : Environment
    policy : ForcedExploration
        With a window, its f known beforehand.
    horizon : int
        T.

    Raises
    ------
    InvalidValueError
        f is not known beforehand.
    """
    window = policy.window or horizon
    tau = min(window, horizon)
    needs = (
        is_sub_gaussian(environment),
        Condition("resets to round 0 or 1", policy.reset_round <= 1),
        Condition("resets after steps tau, 2 tau, ...", policy.reset_offset == 0),
    )
    schedule = Schedule(policy.sequence, environment.n_arms, horizon, policy.window)
    sigma = of_environment(environment) if needs[0].holds else math.nan
    phases = Phases(environment, tau)
    smallest, largest = phases.smallest_gaps, environment.gaps.max(axis=0)
    widths = widths_of(sigma, smallest)

    def closed(name: str, version: str, legend: str, pulls: Callable[[float, Steps], Floats]) -> Bound:
        """Return a bound on pulls from the smallest gap of an arm; each pull costs the largest."""
        each = arm_by_arm(pulls, smallest, widths)
        source = source_of(name, version)
        return Bound(name, version, UPPER, source, legend, needs, _largest_cost(each, largest), each)

    @functools.cache
    def in_a_window() -> Schedule:
        return Schedule(policy.sequence, environment.n_arms, max(window, horizon), policy.window)

    yield closed(
        "Theorem 2",
        PRINTED,
        "Theorem 2 as printed: B tau, and T / tau times forced and greedy pulls in tau steps",
        lambda m, steps: printed.theorem_2(in_a_window(), window, m, steps, phases.breakpoints(steps)),
    )
    exact = phases.bound(sigma, schedule)
    yield Bound(
        "Theorem 2",
        CORRECTED,
        UPPER,
        source_of("Theorem 2", CORRECTED),
        "Theorem 2, corrected: mixed windows, forced and greedy pulls of every block between resets",
        needs,
        exact[0],
        exact[1],
    )
    for name, legend, pulls in printed_corollaries(policy, environment.n_arms, window, phases):
        yield closed(name, PRINTED, legend, pulls)
    for name, legend, forced, lengths in corollaries(policy, environment.n_arms, tau):
        yield closed(name, CORRECTED, legend, functools.partial(_closed, phases, forced, lengths))
    for version, legend, order in orders(policy, tau, phases):
        yield Bound("Remark 2", version, ORDER, source_of("Remark 2", version), legend, needs[:1], order)


class Phases:
    """The phases of an environment, as a window of tau steps sees them.

    A step is mixed if its window may hold rewards of an earlier phase: the first tau steps of every phase but
    the first. All others are clean.
    """

    def __init__(self, environment: Environment, tau: int) -> None:
        self.tau = tau
        self.gaps = environment.gaps
        self.starts = np.array(environment.starts, np.int64)
        self.ends = np.append(self.starts[1:] - 1, np.iinfo(np.int64).max)
        self.clean = np.where(self.starts > 1, self.starts + tau, 1)

    @property
    def smallest_gaps(self) -> Floats:
        """Of each arm, the smallest gap while it is not optimal; 0 if it is optimal throughout."""
        smallest = np.where(self.gaps > 0, self.gaps, np.inf).min(axis=0)
        return np.where(np.isfinite(smallest), smallest, 0.0)

    def breakpoints(self, steps: Steps) -> Steps:
        """Return B, how many phases but the first have begun."""
        return np.searchsorted(self.starts, steps, side="right") - 1

    def bound(
        self, sigma: float, schedule: Schedule
    ) -> tuple[Callable[[Steps], Floats], Callable[[Steps], Floats]]:
        """Return Theorem 2, corrected: bounds on regret and on pulls."""

        def parts(steps: Steps) -> tuple[Floats, Floats]:
            regret = np.zeros(len(steps))
            pulls = np.zeros((len(steps), self.gaps.shape[1]))
            pulls[:, (self.gaps == 0).all(axis=0)] = np.nan
            for gaps, start, end, clean in zip(self.gaps, self.starts, self.ends, self.clean, strict=True):
                last = np.minimum(steps, end)
                mixed = np.clip(last - start + 1, 0, clean - start)
                room = np.maximum(last - clean + 1, 0)
                cost = np.zeros(len(steps))
                for k in np.flatnonzero(gaps > 0):
                    m = float(widths_of(sigma, gaps[k : k + 1])[0])
                    of_arm = np.minimum(self._clean_pulls(m, clean, last, schedule), room)
                    pulls[:, k] += mixed + of_arm
                    cost += gaps[k] * of_arm
                regret += mixed * gaps.max() + np.minimum(cost, room * gaps.max())
            return regret, pulls

        return lambda steps: parts(steps)[0], lambda steps: parts(steps)[1]

    def _clean_pulls(self, m: float, first: int, last: Steps, schedule: Schedule) -> Floats:
        """Return the bound for steps first to last: rest of a block, whole blocks, part of the last one."""
        block, offset = divmod(first - 1, self.tau)
        last_block, over = np.divmod(np.maximum(last, first) - 1, self.tau)
        rest, whole = block_pulls(schedule, m, np.array([offset, 0]), np.array([self.tau, self.tau]))
        several = rest + (last_block - block - 1) * whole
        several = several + block_pulls(schedule, m, np.zeros_like(over), over + 1)
        alone = block_pulls(schedule, m, np.full_like(over, offset), over + 1)
        return np.where(last < first, 0.0, np.where(last_block > block, several, alone))


def block_pulls(schedule: Schedule, m: float, begin: Steps, end: Steps) -> Floats:
    """Return a bound on an arm's pulls at the clean steps ``begin``, ..., ``end - 1`` after a reset.

    Forced pulls, and the lesser of two bounds on greedy ones: both means may mislead; or the arm is pulled a
    few times, and then its own mean is near enough.
    """
    both, best = (
        doubt(schedule, m, end, reset=True, means=means) - doubt(schedule, m, begin, reset=True, means=means)
        for means in (2, 1)
    )
    return np.asarray(schedule.most_forced(end) + np.minimum(both, own_pulls(m, end - begin) + best))


def own_pulls(m: float, steps: Steps) -> Floats:
    """Return the least of n + steps exp(-n / m) over n = 0, 1, ....

    At most n pulls of an arm within tau steps see fewer than n of its rewards in their windows of tau steps
    (Lemma 2); at any other step a mean of n or more misleads with the given probability.
    """
    if m == 0.0:
        return np.asarray(np.minimum(steps, 1.0))
    if m == math.inf:
        return np.asarray(steps, np.float64)
    near = np.clip(np.floor(m * np.log(np.maximum(steps, 1) / m)), 0.0, steps)
    return np.minimum(*(n + steps * np.exp(-n / m) for n in (near, near + 1.0)))


def _closed(
    phases: Phases, forced: float, lengths: Callable[[float], tuple[float, float]], m: float, steps: Steps
) -> Floats:
    """Return B tau, and a block's bound as often as there are blocks."""
    early, late = lengths(m)
    own = float(own_pulls(m, np.array([phases.tau]))[0])
    block = forced + min(early + 2 * late, own + early + late)
    return np.asarray(phases.breakpoints(steps) * phases.tau + -(-steps // phases.tau) * block)


def printed_corollaries(
    policy: ForcedExploration, n_arms: int, tau: int, phases: Phases
) -> Iterator[tuple[str, str, Callable[[float, Steps], Floats]]]:
    """Yield name, legend and the bound as printed."""

    def at(bound: Callable[[float, Steps, Steps], Floats]) -> Callable[[float, Steps], Floats]:
        return lambda m, steps: bound(m, steps, phases.breakpoints(steps))

    sequence, number = policy.sequence, policy.sequence.form(policy.window).number
    if isinstance(sequence, Constant) and sequence.needs_span:
        legend = "Corollary 4 as printed: T / tau (2 + 2 m log tau + sqrt(tau) (1 + m^2 exp(2/m)))"
        yield "Corollary 4", legend, at(functools.partial(printed.corollary_4, tau))
    if isinstance(sequence, Linear) and is_of_the_paper(sequence, tau) and number == 1.0:
        legend = "Corollary 5 as printed: T / tau (1 + 2 m log tau + K^2 + sqrt(2 tau) + 3 m^3 exp(3/m))"
        yield "Corollary 5", legend, at(functools.partial(printed.corollary_5, n_arms, tau))
    if isinstance(sequence, Exponential) and is_of_the_paper(sequence, tau):
        legend = "Corollary 6 as printed: rounds of a^r steps in each block, and a sum over its steps"
        yield "Corollary 6", legend, at(functools.partial(printed.corollary_6, number, n_arms, tau))


def corollaries(
    policy: ForcedExploration, n_arms: int, tau: int
) -> Iterator[tuple[str, str, float, Callable[[float], tuple[float, float]]]]:
    """Yield name, legend, H, and D1 and D2 of m, for a sequence of the paper's.

    An arm's pulls are at most ``B tau + ceil(t / tau) (H + min(D1 + 2 D2, A + D1 + D2))``, A that of
    `own_pulls` for tau steps. With c at most tau, l = max(K, ceil(c) + 1) and q = exp(-1/m) (erratum 16)::

        4   f(r) = c      H = 1 + (tau - 1) / l                           D1 = 2 l
            D2 = l q / (1 - q)
        5   f(r) = r      H = sqrt(2 tau + 1/4) - 1/2                     D1 = 2 K + 3
            D2 = (K + 2) q / (1 - q) + q / (1 - q)^2
        6   f(r) = a^r    H = 1 + log(1 + (tau - 1) (1 - 1/a)) / log a    D1 = 2 K + a + a^2
            D2 = K q / (1 - q) + a^2 times the sum of (a q)^n

    for K >= 2 in the third, where the sum is over n >= 1 as far as rounds of length a^n begin in tau steps.
    """
    sequence, form = policy.sequence, policy.sequence.form(policy.window)
    if isinstance(sequence, Constant) and math.isfinite(form.number):
        length = max(n_arms, min(math.ceil(form.number), tau) + 1)
        yield (
            "Corollary 4",
            "Corollary 4, corrected: Corollary 1 in every block, and the time that a reset costs",
            1 + (tau - 1) / length,
            lambda m: (2.0 * length, length * geometric(m, 1, 1)),
        )
    if isinstance(sequence, Linear) and form.number == 1.0 and form.shift == 0:
        yield (
            "Corollary 5",
            "Corollary 5, corrected: Corollary 2 in every block, and the time that a reset costs",
            math.sqrt(2 * tau + 0.25) - 0.5,
            lambda m: (2 * n_arms + 3.0, (n_arms + 2) * geometric(m, 1, 1) + geometric(m, 1, 2)),
        )
    if isinstance(sequence, Exponential) and form.number > 1.0 and form.shift == 0 and n_arms > 1:
        a = form.number
        rounds = exponential_rounds(a, np.array([tau - 1, tau]))

        def lengths(m: float) -> tuple[float, float]:
            powers = float(powers_sum(a, m, 1, 1 + rounds[1:])[0])
            return 2 * n_arms + a + a * a, n_arms * geometric(m, 1, 1) + a * a * powers

        yield (
            "Corollary 6",
            "Corollary 6, corrected: Corollary 3 in every block, and the time that a reset costs",
            float(1 + rounds[0]),
            lengths,
        )


def orders(
    policy: ForcedExploration, tau: int, phases: Phases
) -> Iterator[tuple[str, str, Callable[[Steps], Floats]]]:
    """Yield version, legend and values of Remark 2's orders in B (at least 1) and t, constant 1.

    They are those of the bounds, for a fixed problem.
    """

    def breaks(steps: Steps) -> Floats:
        return np.asarray(np.maximum(phases.breakpoints(steps), 1.0))

    if not has_order(policy.sequence):
        return
    if isinstance(policy.sequence, Exponential):
        yield (
            PRINTED,
            "Remark 2: order sqrt(B T) log T",
            lambda steps: np.asarray(np.sqrt(breaks(steps) * steps) * np.log(steps)),
        )
    else:
        yield (
            PRINTED,
            "Remark 2 as printed: order T^(3/4) sqrt(B log T)",
            lambda steps: np.asarray(steps**0.75 * np.sqrt(breaks(steps) * np.log(steps))),
        )
        yield (
            CORRECTED,
            "Remark 2, corrected: order B tau + T / sqrt(tau)",
            lambda steps: np.asarray(breaks(steps) * tau + steps / math.sqrt(tau)),
        )


def _largest_cost(pulls: Callable[[Steps], Floats], largest: Floats) -> Callable[[Steps], Floats]:
    """Return the regret if every pull costs the arm's largest gap; no more than the largest of all."""

    def regret(steps: Steps) -> Floats:
        total = np.where(largest > 0, pulls(steps) * largest, 0.0).sum(axis=1)
        return np.asarray(np.minimum(total, steps * largest.max()))

    return regret
