"""Bounds for SW-FE, rewards that change: Theorem 2, Corollaries 4 to 6, Remark 2.

Notation as in `brigand.theory.forced_exploration`; tau is the window, B the number of breakpoints so far, and
m belongs to an arm and a phase. Pulls of an arm are counted while it is not optimal. Proofs of what is called
corrected are in ``docs/errata.md``.

Source: Qi, Zhu, Guo, "Forced Exploration in Bandit Problems", AAAI 2024. What is called printed is put
together from notes on the paper: an additive constant may differ from the page.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator

import numpy as np

from brigand.environments.environment import Environment
from brigand.policies.forced.forced_exploration import ForcedExploration
from brigand.policies.forced.sequences import Constant, Exponential, Linear
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
    growth,
    has_order,
    printed_theorem,
    product,
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
    tau = min(policy.window or horizon, horizon)
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
    hard = float(widths[np.isfinite(widths)].max(initial=0.0)) if needs[0].holds else math.nan
    enough = Condition(
        f"a window of at least m exp(1/m), {product(1, hard) / 2:.3g}", tau >= product(1, hard) / 2
    )
    printed_steps = np.array([tau])

    def printed(m: float, steps: Steps) -> Floats:
        """Return B tau + ceil(t / tau) times what Theorem 1 as printed says of tau steps."""
        return phases.breakpoints(steps) * tau + -(-steps // tau) * printed_theorem(
            schedule, m, printed_steps
        )

    each = arm_by_arm(printed, smallest, widths)
    yield Bound(
        "Theorem 2",
        PRINTED,
        UPPER,
        source_of("Theorem 2", PRINTED),
        "Theorem 2 as printed: B tau, and T / tau times Theorem 1 for tau steps",
        (*needs, enough),
        _largest_cost(each, largest),
        each,
    )
    exact = phases.bound(sigma, lambda m, steps: _block(schedule, m, steps))
    yield Bound(
        "Theorem 2",
        CORRECTED,
        UPPER,
        source_of("Theorem 2", CORRECTED),
        "Theorem 2, corrected: mixed windows, forced pulls and the doubt of every block between resets",
        needs,
        exact[0],
        exact[1],
    )
    for name, legend, block in corollaries(policy, environment.n_arms, tau):
        closed = arm_by_arm(functools.partial(_closed, phases, block), smallest, widths)
        yield Bound(
            name,
            CORRECTED,
            UPPER,
            source_of(name, CORRECTED),
            legend,
            needs,
            _largest_cost(closed, largest),
            closed,
        )
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
        self, sigma: float, block: Callable[[float, Steps], Floats]
    ) -> tuple[Callable[[Steps], Floats], Callable[[Steps], Floats]]:
        """Return bounds on regret and on pulls.

        Parameters
        ----------
        sigma : float
        block : callable
            ``block(m, steps)``: pulls of an arm in the first so many clean steps of a block, at most tau.
        """

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
                    of_arm = np.minimum(self._clean_pulls(m, clean, last, block), room)
                    pulls[:, k] += mixed + of_arm
                    cost += gaps[k] * of_arm
                regret += mixed * gaps.max() + np.minimum(cost, room * gaps.max())
            return regret, pulls

        return lambda steps: parts(steps)[0], lambda steps: parts(steps)[1]

    def _clean_pulls(
        self, m: float, first: int, last: Steps, block: Callable[[float, Steps], Floats]
    ) -> Floats:
        """Return the bound for steps first to last: whole blocks, and what has begun of the last one."""
        blocks = np.maximum((last - 1) // self.tau - (first - 1) // self.tau, 0)
        begun = (last - 1) % self.tau + 1
        value = blocks * block(m, np.array([self.tau])) + block(m, np.maximum(begun, 1))
        return np.asarray(np.where(last >= first, value, 0.0))


def _block(schedule: Schedule, m: float, steps: Steps) -> Floats:
    return schedule.most_forced(steps) + doubt(schedule, m, steps, reset=True)


def _closed(phases: Phases, block: Callable[[float], float], m: float, steps: Steps) -> Floats:
    """Return B tau, and a block's bound as often as there are blocks, a breakpoint making one more."""
    breaks = phases.breakpoints(steps)
    return np.asarray(breaks * phases.tau + (-(-steps // phases.tau) + breaks) * block(m))


def corollaries(
    policy: ForcedExploration, n_arms: int, tau: int
) -> Iterator[tuple[str, str, Callable[[float], float]]]:
    """Yield name, legend and a bound on an arm's pulls in a block, for a sequence of the paper's.

    The pulls are at most B tau + (ceil(t / tau) + B) times, with c at most tau and l = max(K, ceil(c) + 1)
    (erratum 16)::

        4   f(r) = c      1 + (tau - 1) / (ceil(c) + 1) + 2 l + 2 m (1 + m) l
        5   f(r) = r      sqrt(2 tau + 1/4) - 1/2 + 2 K + 3 + 2 (1 + m) ((K + 2) m + m^2)
        6   f(r) = a^r    1 + log(1 + (tau - 1) (1 - 1/a)) / log a + 2 K + a + a^2 + 2 (1 + m) (K m + a^2 G)

    for K >= 2, G as in Corollary 3.
    """
    sequence, form = policy.sequence, policy.sequence.form(policy.window)
    if isinstance(sequence, Constant) and math.isfinite(form.number):
        wait = min(math.ceil(form.number), tau)
        length = max(n_arms, wait + 1)
        yield (
            "Corollary 4",
            "Corollary 4, corrected: Corollary 1 in every block, and the time that a reset costs",
            lambda m: 1 + (tau - 1) / (wait + 1) + 2 * length + 2 * m * (1 + m) * length,
        )
    if isinstance(sequence, Linear) and form.number == 1.0 and form.shift == 0:
        yield (
            "Corollary 5",
            "Corollary 5, corrected: Corollary 2 in every block, and the time that a reset costs",
            lambda m: (
                math.sqrt(2 * tau + 0.25) - 0.5 + 2 * n_arms + 3 + 2 * (1 + m) * ((n_arms + 2) * m + m * m)
            ),
        )
    if isinstance(sequence, Exponential) and form.number > 1.0 and form.shift == 0 and n_arms > 1:
        a = form.number
        rounds = exponential_rounds(a, np.array([tau - 1, tau]))

        def block(m: float) -> float:
            later = n_arms * m + a * a * float(growth(a, m, 1 + rounds[1:])[0])
            return float(1 + rounds[0] + 2 * n_arms + a + a * a + 2 * (1 + m) * later)

        yield (
            "Corollary 6",
            "Corollary 6, corrected: Corollary 3 in every block, and the time that a reset costs",
            block,
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
