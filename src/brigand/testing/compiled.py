"""Checks of compiled runs: the same decisions as plain Python, edges, errors, the disk cache."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brigand.errors import BrigandError, InvalidValueError, UnsupportedRewardError
from brigand.policies.base import Policy
from brigand.policies.baselines.extremes import UniformRandom
from brigand.simulation.run import simulate
from brigand.simulation.step import trace_loop
from brigand.simulation.trace import trace
from brigand.spec import type_name
from brigand.testing.base import (
    COMPILED,
    check,
    environment_for,
    fit,
    generator,
    knowing,
    play,
    require,
    require_known,
    rewards01,
)

KINDS = ("0/1", "unit", "normal", "huge")
SHAPES = ((1, 1), (60, 1), (1, 4), (3, 4), (4, 4))
CONSTANTS = (0.0, 1.0, 0.1, 0.3, -5.0, 1e150, 1e300, -1e300, 1e-300)


@check(COMPILED)
def check_compiled(policy: Policy, kinds: Sequence[str] = KINDS) -> None:
    """Check that compiled code and plain Python make the same decisions.

    Parameters
    ----------
    policy : Policy
    kinds : sequence of {"0/1", "unit", "normal", "huge"}
        Kinds of rewards; the last two, which have no bounds, are left out for a policy that has some.
    """
    policy = knowing(policy)
    for kind in kinds:
        rewards = _table(policy, kind)
        if rewards is None:
            continue
        compiled = trace(policy, rewards, seed=3)
        plain = trace(policy, rewards, seed=3, compiled=False)
        differ = np.flatnonzero(compiled != plain)
        if len(differ):
            t = differ[0]
            raise AssertionError(
                f"at step {t + 1} of the {kind} rewards compiled code pulls arm {compiled[t]}, "
                f"and plain Python arm {plain[t]}"
            )


def _table(policy: Policy, kind: str) -> NDArray[np.float64] | None:
    """Return rewards of shape (T, 4), or None if the policy cannot take such."""
    if kind == "0/1":
        return fit(policy, rewards01())
    rng, (low, high) = generator(1), policy.reward_support
    if kind == "unit":
        return fit(policy, rng.random((300, 4)) ** [2, 1, 1, 0.5])
    rewards = rng.normal([0, 1, 1, 2], 1, (300, 4)) * {"normal": 1.0, "huge": 1e150}[kind]
    if math.isinf(low) and math.isinf(high):
        return rewards
    if math.isinf(high):
        return low + np.abs(rewards)
    return high - np.abs(rewards) if math.isinf(low) else None


@check(COMPILED)
def check_compiled_once(policy: Policy) -> None:
    """Check that a second run with other numbers does not compile again."""
    policy, rewards = knowing(policy), rewards01()
    trace(policy, fit(policy, rewards))
    loop: Any = trace_loop(policy.kernels)
    before = len(loop.signatures)
    trace(policy, fit(policy, rewards[:50] / 2))
    more = len(loop.signatures) - before
    require(more == 0, "other numbers are compiled anew: do parameters change their types?")


@check(COMPILED)
def check_small_problems(policy: Policy, shapes: Iterable[tuple[int, int]] = SHAPES) -> None:
    """Check that one arm, one step, and fewer steps than arms work.

    Parameters
    ----------
    policy : Policy
    shapes : iterable of (T, K)
    """
    for horizon, n_arms in shapes:
        known = knowing(policy, (0.5,) * n_arms)
        for compiled in (False, True):
            try:
                arms = trace(known, fit(policy, np.full((horizon, n_arms), 0.5)), compiled=compiled)
            except Exception as error:
                problem = f"T = {horizon}, K = {n_arms}, {'compiled' if compiled else 'plain Python'}"
                raise AssertionError(f"{problem}: {type(error).__name__}: {error}") from error
            require(
                ((arms >= 0) & (arms < n_arms)).all(),
                f"with T = {horizon}, K = {n_arms} it pulls arms {arms}",
            )


@check(COMPILED)
def check_constant_rewards(
    policy: Policy, rewards: Iterable[float] | None = None, every_arm: bool = True
) -> None:
    """Check that constant and extreme rewards work, and that those outside of `reward_support` are refused.

    Where they work all arms are pulled, nothing becomes NaN, and a field ``mean`` is right; a policy with a
    bounded range may keep the mean of rewards rescaled to [0, 1].

    Parameters
    ----------
    policy : Policy
    rewards : iterable of float, optional
        By default nine from -1e300 to 1e300, the ends of `reward_support`, and numbers outside of it.
    every_arm : bool
        Whether each of 4 arms must be pulled within 200 steps: not if there is a prior that some beat.
    """
    policy = knowing(policy)
    low, high = policy.reward_support
    if rewards is None:
        ends = [end for end in (low, high) if math.isfinite(end)]
        beyond = [np.nextafter(low, -math.inf), np.nextafter(high, math.inf)]
        rewards = (*CONSTANTS, *ends, *(float(end) for end in beyond if math.isfinite(end)))
    for reward in rewards:
        table = np.full((200, 4), reward)
        if low <= reward <= high:
            _check_constant(policy, table, every_arm)
        else:
            _refused(policy, table, UnsupportedRewardError, "needs rewards in")


def _check_constant(policy: Policy, rewards: NDArray[np.float64], every_arm: bool) -> None:
    reward = rewards[0, 0]
    chosen, state = play(policy, rewards, compiled=True)
    few = f"of 4 arms only {sorted(set(chosen))} were pulled in 200 steps that all paid {reward:g}"
    require(len(set(chosen)) == 4 or not every_arm, few)
    try:
        require_known(state, policy.start(4, 200))
    except AssertionError as error:
        raise AssertionError(f"after 200 rewards of {reward:g} {error}") from None
    if "mean" in (state.arms.dtype.names or ()):
        means = state.arms["mean"][~np.isnan(state.arms["mean"])]
        low, high = policy.reward_support
        rescaled = (reward - low) / (high - low) if math.isfinite(high - low) else reward
        right = any(np.allclose(means, value, rtol=1e-12, atol=0.0) for value in (reward, rescaled))
        require(right, f"after 200 rewards of {reward:g} the means are {means.tolist()}")


@check(COMPILED)
def check_refused_rewards(policy: Policy, rewards: Iterable[float] = (math.nan, math.inf, -math.inf)) -> None:
    """Check that rewards that are not finite are refused.

    Parameters
    ----------
    policy : Policy
    rewards : iterable of float
    """
    policy = knowing(policy)
    for reward in rewards:
        table = fit(policy, rewards01())
        table[17, 2] = reward
        _refused(policy, table, InvalidValueError, f"arm 2 pays {reward} at step 18")


def _refused(policy: Policy, rewards: NDArray[np.float64], kind: type[BrigandError], words: str) -> None:
    """Require that a table of rewards is refused with an error that has these words."""
    try:
        trace(policy, rewards)
    except kind as error:
        require(words in str(error), f"the error does not say {words!r} but {error}")
    else:
        raise AssertionError(f"rewards from {rewards.min():g} to {rewards.max():g} are not refused")


@check(COMPILED)
def check_same_bits(policy: Policy) -> None:
    """Check that a seed gives the same bits for any number of workers, beside others, for a part of the runs.

    A policy that keeps anything between runs, or draws numbers elsewhere than from `rng` and `key`, fails.
    """
    environment, other = environment_for(policy), {"other": UniformRandom()}
    whole = simulate(environment, {"it": policy}, 300, 20, seed=5, workers=1).dataset.sel(policy="it")
    runs = {
        "for three workers, beside another policy": ({**other, "it": policy}, range(20), 3),
        "for a part of the runs": ({"it": policy}, range(10, 20), 1),
    }
    for when, (policies, numbers, workers) in runs.items():
        again = simulate(environment, policies, 300, numbers, seed=5, workers=workers).dataset.sel(
            policy="it"
        )
        for name in ("regret", "pulls"):
            expected = whole[name].sel(replication=again["replication"]).to_numpy()
            require(again[name].to_numpy().tobytes() == expected.tobytes(), f"other {name} {when}")


@check(COMPILED)
def check_cache(policy: Policy, *others: Policy) -> None:
    """Check that a new process finds everything compiled, and gives the same bits.

    Two processes are started, of which the first may compile. Nothing is checked for a policy that is defined
    in a script or notebook: those are compiled anew in every process.

    Parameters
    ----------
    policy, *others : Policy
    """
    policies = [p for p in (policy, *others) if not type_name(type(p)).startswith("__main__:")]
    if not policies:
        return
    first, second = (_in_a_new_process(policies) for _ in range(2))
    require(second["misses"] == 0, f"a second process compiled {second['misses']} loops again")
    require(second["hits"] >= 2, "a second process found nothing that was compiled")
    require(first["bits"] == second["bits"], "a second process gave other numbers")


def _in_a_new_process(policies: Sequence[Policy]) -> dict[str, Any]:
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-m", "brigand.testing.process"],
        input=json.dumps([policy.to_json() for policy in policies]),
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": paths},
    )
    said = f"a new process cannot run it: {done.stderr.strip()} (PYTHONPATH={paths}, from {os.getcwd()})"
    require(done.returncode == 0, said)
    found: dict[str, Any] = json.loads(done.stdout)
    return found
