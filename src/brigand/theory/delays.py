"""FE with late rewards: what a delay of D steps adds, and what it costs every policy. Ours, not the paper's.

The reward of each pull comes D steps later, as with ``br.simulate(..., delay=D)``; or sooner, as long as
those of an arm come in the order of its pulls. Notation as in `brigand.theory.forced_exploration`.

**Theorem.** *For FE without a window, a non-decreasing f that is known beforehand, an arm i of gap d,* ::

    E k_T(i) <= H_T + D + (sum over t = K R + 1, ..., T - D of phi(rho(t - 1))),

*and for all arms together the D counts once: the expected regret is at most D times the largest gap, and the
sum over all arms of the gap times the rest.* FE need not know D.

**Every policy** that is not told which arm is which loses at least min(T, D + 1) times the mean gap, on
average over the K! orders of the arms, if no reward comes sooner than D steps after its pull.

Proofs are in ``docs/results.md``.
"""

from __future__ import annotations

import math

import numpy as np

from brigand import checks
from brigand.environments.environment import Environment
from brigand.errors import InvalidValueError
from brigand.policies.forced.forced_exploration import ForcedExploration
from brigand.theory.bound import (
    AVERAGE,
    STANDARD,
    UPPER,
    Bound,
    Floats,
    Steps,
    is_sub_gaussian,
    stationary,
    weigh,
)
from brigand.theory.forced_exploration import arm_by_arm, widths_of
from brigand.theory.schedule import Schedule, doubt
from brigand.theory.sub_gaussian import of_environment

SOURCE = "Brigand, docs/results.md"


def delayed_bounds(
    environment: Environment, policy: ForcedExploration, horizon: int, delay: int
) -> tuple[Bound, Bound]:
    """Return FE's bound for rewards that are late, and a lower bound for every policy.

    Parameters
    ----------
    environment : Environment
        Whose rewards do not change.
    policy : ForcedExploration
        Without a window, its f known beforehand.
    horizon : int
        T, the last step that may be asked for.
    delay : int
        D, in steps: how late each reward is. The upper bound also holds where some are less late, and those
        of an arm come in order; the lower one where some are later.

    Returns
    -------
    tuple of Bound
        At most, in expectation; at least, on average over the orders of the arms, whatever the policy.

    Raises
    ------
    InvalidValueError
        The policy is another, or an argument is not allowed.

    Examples
    --------
    >>> import brigand as br
    >>> env = br.Environment.stationary([br.Gaussian(0, 1), br.Gaussian(1, 1)])
    >>> upper, lower = br.theory.delayed_bounds(env, br.ForcedExploration(br.Linear()), 10_000, delay=100)
    >>> float(upper.regret(10_000)) < 275 + 100  # without a delay it is 274.7
    True
    >>> float(lower.regret(10_000))
    50.5
    """
    if not isinstance(policy, ForcedExploration) or policy.window is not None:
        raise InvalidValueError(f"this bound is for FE without a window, not for {policy!r}.")
    if not isinstance(environment, Environment):
        raise InvalidValueError(f"environment must be an Environment, not {environment!r}.")
    late = checks.integer("delay", delay, 0, checks.MAX_STEPS)
    schedule = Schedule(policy.sequence, environment.n_arms, horizon)
    needs = (stationary(environment), is_sub_gaussian(environment))
    gaps = environment.gaps[0]
    widths = widths_of(of_environment(environment) if needs[1].holds else math.nan, gaps)

    def in_time(m: float, steps: Steps) -> Floats:
        return schedule.most_forced(steps) + doubt(schedule, m, np.maximum(steps - late, 0))

    timely = weigh(arm_by_arm(in_time, gaps, widths), gaps)
    each = arm_by_arm(lambda m, steps: late + in_time(m, steps), gaps, widths)
    return (
        Bound(
            "Theorem 1 with a delay",
            STANDARD,
            UPPER,
            SOURCE,
            f"Theorem 1, corrected, with rewards that are {late:,} steps late",
            needs,
            lambda steps: np.minimum(timely(steps) + late * gaps.max(), steps * gaps.max()),
            each,
        ),
        Bound(
            "Blind steps",
            STANDARD,
            AVERAGE,
            SOURCE,
            f"Nobody knows anything in the first {late + 1:,} steps",
            needs[:1],
            lambda steps: np.minimum(steps, late + 1) * gaps.mean(),
        ),
    )
