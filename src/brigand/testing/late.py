"""Checks of rewards that come late, in any order, or never."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from brigand.errors import UnknownNameError
from brigand.policies.base import Policy, State
from brigand.testing.base import PLAIN, check, fit, generator, knowing, require, require_known

STEPS = 1000
LEVEL = 1e-5
"""False-alarm level of a statistical check, for each policy."""
UNPAID = ("due", "random", "schedule", "prior", "any")
Unpaid = Literal["due", "random", "schedule", "prior", "any"]


@check(PLAIN)
def check_late_rewards(
    policy: Policy, *, rewards_needed: float = 1.0, unpaid: Unpaid = "due", best_pulls: int = 400
) -> None:
    """Check that rewards may come late, in any order, or never.

    Of 4 arms the rewards of 3 wait up to 30 steps, and those of the last never come. Then every reward counts
    for its pull, nothing becomes NaN, the best arm is found, and the last one is not pulled for ever.

    If the arms' table has a field ``pulls``, or one or more of ``count``, ``zeros`` and ``ones``,
    ``successes`` and ``failures``, they must be the numbers of pulls and of rewards. A policy with an
    attribute `window` counts those of the last so many steps.

    Parameters
    ----------
    policy : Policy
    rewards_needed : float
        Without so many rewards, in 1000 steps, an arm has no index.
    unpaid : {"due", "random", "schedule", "prior", "any"}
        What pulls an arm that never pays. ``"due"``: nothing, after 2 rewards_needed + log T pulls
        (`brigand.policies.kernels.needs_pull`), unless the others are pulled as often. ``"random"``: chance
        does, 4 standard deviations more. ``"schedule"``: a schedule does, 2 + log T times more than it pulls
        others. ``"prior"``: it has a prior, and may be pulled as often as the best. ``"any"``: not checked.
    best_pulls : int
        The best arm must have more pulls than so many, of 1000.
    """
    if unpaid not in UNPAID:
        raise UnknownNameError("value of unpaid", unpaid, UNPAID)
    pulled, told, state, fresh = _play_late(policy)
    first = STEPS - (getattr(policy, "window", None) or STEPS)
    counts = np.bincount([pulled[past - 1] for past in told if past > first], minlength=4)
    held, none = rewards_held(state), rewards_held(fresh)
    if held is not None and none is not None:
        found = (held - none).tolist()
        require(found == counts.tolist(), f"it holds {found} rewards of the arms, not {counts.tolist()}")
    pulls = np.bincount(pulled, minlength=4)
    if "pulls" in (state.arms.dtype.names or ()):
        of_the_window = np.bincount(pulled[first:], minlength=4).tolist()
        found = state.arms["pulls"].tolist()
        require(found in (pulls.tolist(), of_the_window), f"it counts {found} pulls, not {pulls.tolist()}")
    most = _most(pulls, rewards_needed, unpaid)
    require(
        pulls[3] <= most,
        f"an arm whose rewards never come was pulled {pulls[3]} times of {STEPS}, where {most:.0f} are the "
        "most: count pulls as well as rewards (brigand.policies.kernels.needs_pull), or say so by unpaid=",
    )
    require(
        pulls[2] > best_pulls,
        f"the best arm was pulled {pulls[2]} times of {STEPS}; more than {best_pulls} are wanted",
    )


def _play_late(policy: Policy) -> tuple[list[int], list[int], State, State]:
    """Return the arms pulled, the steps whose rewards came, the state, and one that is fresh."""
    parameters = policy.parameters(4, STEPS)
    state, fresh = (policy.start(4, STEPS) for _ in range(2))
    rng, every = generator(0), np.arange(4)
    pulled: list[int] = []
    told: list[int] = []
    waiting: list[int] = []
    for step in range(1, STEPS + 1):
        pulled.append(int(policy.kernels.select(parameters, *state, every, rng)))
        policy.kernels.pull(parameters, *state, pulled[-1])
        waiting.append(step)
        rng.shuffle(waiting)
        due = waiting[30:] if step % 3 else waiting[:5]
        for past in waiting[:] if step == STEPS else due:
            waiting.remove(past)
            arm = pulled[past - 1]
            if arm < 3:
                reward = float(fit(policy, (0.2, 0.5, 0.8)[arm] + 0.1 * rng.random()))
                policy.kernels.learn(parameters, *state, arm, reward, past)
                told.append(past)
        if step % 20 == 0:
            require_known(state, fresh)
    return pulled, told, state, fresh


def _most(pulls: NDArray[np.int64], rewards_needed: float, unpaid: Unpaid) -> float:
    """Return how often the arm that never pays may be pulled."""
    least = int(pulls[:3].min())
    due = max(least, math.ceil(2 * rewards_needed + math.log(STEPS)))
    return {
        "due": due,
        "random": due + 4 * math.sqrt(due),
        "schedule": least + math.ceil(2 + math.log(STEPS)),
        "prior": int(pulls[2]),
        "any": STEPS,
    }[unpaid]


def rewards_held(state: State) -> NDArray[Any] | None:
    """Return how many rewards of each arm a state holds, if it says so."""
    names = state.arms.dtype.names or ()
    kinds: list[str] = [name for name in ("zeros", "ones", "count") if name in names]
    kinds = kinds or [name for name in ("successes", "failures") if name in names]
    return np.sum([state.arms[name] for name in kinds], axis=0) if kinds else None


@check(PLAIN)
def check_without_rewards(policy: Policy) -> None:
    """Check that no arm is preferred as long as no reward has come: chi-square at level 1e-5."""
    policy = knowing(policy)
    parameters, state = policy.parameters(4, 2000), policy.start(4, 2000, 3)
    rng = generator(0)
    pulls = np.zeros(4)
    for _ in range(2000):
        arm = int(policy.kernels.select(parameters, *state, np.arange(4), rng))
        policy.kernels.pull(parameters, *state, arm)
        pulls[arm] += 1
    require(
        stats.chisquare(pulls).pvalue > LEVEL,
        f"without any reward the arms were pulled {pulls.astype(int).tolist()} times: break ties at random",
    )
