"""Checks of laws: what is true of many runs, each at a stated false-alarm level and with fixed seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from brigand.policies.base import Policy, check_choices
from brigand.simulation.step import trace_loop
from brigand.testing.base import COMPILED, PLAIN, check, fit, generator, knowing, require, rewards01
from brigand.testing.contract import contents, unchanged
from brigand.testing.late import LEVEL

UNLIKE = np.array([0.2, 0.45, 0.55, 0.7])
STEPS = (0, 1, 3, 4, 9, 26, 75)
"""After so many pulls `check_propensities` looks."""
RARE = 1e-6


@check(COMPILED)
def check_ties(policy: Policy, runs: int = 2000) -> None:
    """Check that arms that are all alike are pulled equally often.

    The 41st pull is uniform over 2000 seeds: chi-square at level 1e-5, which shows a preference of 0.33 over
    0.25. A policy that begins a schedule in order of index fails, and is to be tested otherwise.

    Parameters
    ----------
    policy : Policy
    runs : int
        How many seeds; the level is the same for any number.
    """
    policy = knowing(policy, (0.5,) * 4)
    parameters, rewards = policy.parameters(4, 41), fit(policy, np.full((41, 4), 0.5))
    last = [_play(policy, parameters, rewards, generator(seed), seed)[-1] for seed in range(runs)]
    counts = np.bincount(last, minlength=4)
    require(
        stats.chisquare(counts).pvalue > LEVEL,
        f"of 4 equal arms the 41st pull took each {counts.tolist()} times in {runs} runs: "
        "break ties at random",
    )


@check(PLAIN)
def check_propensities(policy: Policy, steps: Sequence[int] = STEPS, selects: int = 1000) -> None:
    """Check that `propensity` gives the probabilities with which `select` chooses, or NaN for all candidates.

    They sum to 1 within 1e-9, change no table, and each agrees with how often an arm is chosen: exact
    binomial tests at level 1e-6. Some arms are not available, some rewards never come, and means tie.

    Parameters
    ----------
    policy : Policy
    steps : sequence of int
        The numbers of pulls, up to 400, after which `select` is called again and again.
    selects : int
        How often, or a twentieth of it where one arm is certain: a single other choice is too many there. The
        level is the same for any number.
    """
    policy, rng = knowing(policy), generator(2)
    parameters, state, rewards = policy.parameters(4, 400), policy.start(4, 400, 5), fit(policy, rewards01())
    kernels, allowed = policy.kernels, [np.array(c) for c in ([0, 1, 2, 3], [0, 2], [0, 1, 2, 3], [1, 2, 3])]
    for step in range(max(steps) + 1):
        for candidates in allowed if step in steps else ():
            before = contents(state)
            found = [kernels.propensity(parameters, *state, candidates, arm) for arm in candidates]
            unchanged("propensity", step, state, before)
            require(all(isinstance(p, float) for p in found), f"propensity returned {found}, not all floats")
            known = np.isfinite(found)
            if not known.any():
                continue
            where = f"at step {step + 1}, among {candidates.tolist()}"
            require(known.all(), f"propensity knows some arms and others not, {found} {where}")
            require(min(found) >= 0.0 and abs(sum(found) - 1.0) < 1e-9, f"propensities are {found} {where}")
            often = selects if max(found) < 1.0 else math.ceil(selects / 20)
            chosen = [kernels.select(parameters, *state, candidates, rng) for _ in range(often)]
            for arm, p in zip(candidates, found, strict=True):
                times = chosen.count(arm)
                fits = stats.binomtest(times, often, min(p, 1.0)).pvalue > RARE
                require(fits, f"arm {arm} was chosen {times} times in {often} {where}; its propensity is {p}")
        candidates = allowed[step % 4] if step > 20 else allowed[0]
        arm = kernels.select(parameters, *state, candidates, rng)
        for absent in set(range(4)) - set(candidates.tolist()):
            kernels.miss(parameters, *state, absent)
        kernels.pull(parameters, *state, arm)
        if step % 5:
            kernels.learn(parameters, *state, arm, float(rewards[step, arm]), step + 1)


@check(COMPILED)
def check_permutation(policy: Policy, slack: float = 0.0, runs: int = 2000) -> None:
    """Check that permuting the arms permutes the pulls, in law.

    Mean pulls per arm, over 2000 runs of 300 steps, agree within 4.7 standard errors: level 2.6e-6 an arm.

    Parameters
    ----------
    policy : Policy
    slack : float
        How many pulls more they may differ by: 1 for a schedule that begins in order of index.
    runs : int
        How many; the level is the same for any large number.
    """
    order = [2, 3, 0, 1]
    a, b = (
        _pulls_of(policy, UNLIKE, range(runs))[:, order],
        _pulls_of(policy, UNLIKE[order], range(runs, 2 * runs)),
    )
    error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / len(a))
    difference = a.mean(axis=0) - b.mean(axis=0)
    require(
        (np.abs(difference) <= 4.7 * error + slack).all(),
        f"when the arms are permuted mean pulls differ by {difference.round(3).tolist()}, "
        f"with standard errors {error.round(3).tolist()}",
    )


@check(COMPILED)
def check_learns(policy: Policy, regret: float = 250.0) -> None:
    """Check that the mean regret of 200 runs of 2000 steps, with two arms of means 0.3 and 0.7, is small.

    Parameters
    ----------
    policy : Policy
    regret : float
        What it must be below, for rewards in [0, 1]; random pulls cost 400.
    """
    means = np.array([0.3, 0.7])
    policy = knowing(policy, means.tolist())
    parameters, worse = policy.parameters(2, 2000), []
    for seed in range(200):
        rng = generator(seed)
        rewards = fit(policy, rng.random((2000, 2)) < means)
        worse.append((_play(policy, parameters, rewards, rng, key=7919 * seed) == 0).sum())
    mean = 0.4 * float(np.mean(worse))
    require(
        mean < regret, f"a mean regret of {mean:.1f}; less than {regret:g} is wanted, random pulls cost 400"
    )


def _pulls_of(policy: Policy, means: NDArray[np.float64], seeds: range) -> NDArray[np.int64]:
    """Return how often each arm is pulled in 300 steps, in runs with these seeds."""
    policy = knowing(policy, means.tolist())
    parameters, pulls = policy.parameters(4, 300), []
    for seed in seeds:
        rng = generator(seed)
        rewards = fit(policy, rng.random((300, 4)) < means)
        chosen = _play(policy, parameters, rewards, rng, key=7919 * seed)
        pulls.append(np.bincount(chosen, minlength=4))
    return np.array(pulls)


def _play(
    policy: Policy, parameters: Any, rewards: NDArray[np.float64], rng: np.random.Generator, key: int
) -> NDArray[np.int64]:
    """Return the arms pulled on a table of rewards, compiled."""
    steps, n_arms = rewards.shape
    chosen, state = np.empty(steps, np.int64), policy.start(n_arms, steps, key)
    loop = trace_loop(policy.kernels)
    check_choices(policy, loop(parameters, *state, np.arange(n_arms), rewards, rng, chosen))
    return chosen
