"""Environment x policies -> results, on threads."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

from brigand.display import progress_of
from brigand.environments.distribution import Distribution
from brigand.environments.world import World
from brigand.errors import InvalidValueError, UnknownNameError
from brigand.policies.base import Policy
from brigand.simulation.conditions import Arrivals, Conditions
from brigand.simulation.plan import Plan, check_workers, make_plan
from brigand.simulation.results import Results
from brigand.simulation.step import Runner
from brigand.words import duration

CHUNK_STEPS = 2_000_000
"""About this many steps are given to a thread at a time: 0.1 s, so that stopping is prompt."""
SECONDS = 3e-8
"""Of a step, for most policies."""
LONG = 600.0
"""Seconds from which on a warning says how long it will take."""
CHUNK_SKIPS = 200
"""So many skipped runs are given to a thread at a time."""


def simulate(
    environment: World,
    policies: Mapping[str, Policy],
    horizon: int,
    replications: int | Iterable[int] = 100,
    seed: int | None = 0,
    *,
    method: str = "step",
    workers: int | None = None,
    checkpoints: Sequence[int] | None = None,
    realized: bool = False,
    delay: int | Distribution | Sequence[int | Distribution] = 0,
    lost: float | Sequence[float] = 0.0,
    batch: int = 1,
    arms: Arrivals | None = None,
    pending: str = "ignored",
    progress: Callable[[int, int], None] | bool | None = None,
) -> Results:
    """Run every policy in the environment and return pulls and pseudo-regret.

    Parameters
    ----------
    environment : World
        An `Environment`, or another world (`Restless`, `Rested`).
    policies : dict of str to Policy
        Names are yours; they label the results.
    horizon : int
        T, the number of steps of a run.
    replications : int or iterable of int
        How many independent runs, numbered from 0; or which (``range(50, 100)``).
    seed : int or None
        Same seed, same bits: for any number of workers, order of policies and subset of replications.
        None draws a seed and records it.
    method : {"step", "skip", "auto"}
        How: step by step; or, for FE without a window and ETC, whole blocks of pulls at once, in time that
        grows with the number of forced pulls and not with T (`brigand.simulation.skip_ahead`); or skipping
        where it is possible. The law of the results is the same, their numbers are not: differences between
        policies are paired only if all are stepped.
    workers : int, optional
        Threads; by default as many as the process may use.
    checkpoints : sequence of int, optional
        Steps at which pulls are recorded; T is added. By default log-spaced. Memory grows with their
        number, not with T.
    realized : bool
        Record ``realized_regret``, too, from the rewards that were earned. Its expectation is that of the
        pseudo-regret, and it is noisier. Not for policies that skip: their rewards are not all drawn.
        Rewards that come late or never were earned.
    delay, lost, batch, arms, pending
        How many steps after its pull a reward comes, how often never, how many arms are chosen at once,
        which are there, and what a policy makes of pulls whose rewards have not come: see
        `brigand.Conditions`. Delays and losses have random numbers of their own, the same for all policies.
        Dynamic regret is against the best arm that is there; other regret needs all arms.
    progress : callable or bool, optional
        Called as ``progress(done, total)`` with numbers of runs, from the calling thread. By default a
        notebook shows a bar if the runs take more than half a second; with False nothing is shown.

    Returns
    -------
    Results

    Warns
    -----
    UserWarning
        If the steps will take more than ten minutes.

    Raises
    ------
    InvalidValueError, UnsupportedRewardError
        An argument is not allowed; nothing was run.
    PolicyError
        A policy of yours chose an arm that is not there.

    Examples
    --------
    >>> import brigand as br
    >>> env = br.Environment.stationary([br.Bernoulli(0.4), br.Bernoulli(0.6)])
    >>> res = br.simulate(env, {"FE": br.ForcedExploration()}, horizon=1000, replications=10)
    >>> int(res.dataset["pulls"].sel(policy="FE", step=1000).sum())
    10000
    """
    conditions = Conditions(delay, lost, batch, arms, pending)
    plan = make_plan(environment, policies, horizon, replications, seed, checkpoints, conditions)
    threads = check_workers(workers)
    shape = (len(plan.policies), len(plan.replications), len(plan.checkpoints))
    try:
        regret = np.empty(shape)
        pulls = np.empty((*shape, environment.n_arms), np.int64)
        forced = np.full((*shape[:2], environment.n_arms), np.nan)
        earned = np.empty(shape) if realized else None
    except MemoryError as error:
        raise InvalidValueError(
            f"the results of {shape[0]:,} policies, {shape[1]:,} replications and {shape[2]:,} checkpoints "
            f"do not fit into the memory ({error}): take fewer at once."
        ) from None

    def work(p: int, runner: Any, chunk: range, stop: threading.Event) -> int:
        for first in range(chunk.start, chunk.stop, runner.at_once):
            if stop.is_set():
                break
            runs = slice(first, min(first + runner.at_once, chunk.stop))
            found = runner.run(plan.replications[runs])
            regret[p, runs], pulls[p, runs] = found.regret, found.pulls
            if found.forced is not None:
                forced[p, runs] = found.forced
            if earned is not None:
                earned[p, runs] = found.realized
        return len(chunk)

    methods = choose_methods(plan, method)
    if realized and "skip" in methods:
        raise InvalidValueError("realized regret needs every reward: use method='step'.")
    _warn_of_length(plan, methods, threads)
    jobs = [
        partial(work, p, runner_of(methods[p])(plan, policy), chunk)
        for p, policy in enumerate(plan.policies.values())
        for chunk in _chunks(plan, methods[p])
    ]
    run_all(jobs, threads, shape[0] * shape[1], progress_of(progress, "runs"))
    return Results.from_arrays(plan, methods, regret, pulls, forced, earned)


def _warn_of_length(plan: Plan, methods: Sequence[str], threads: int) -> None:
    """Say beforehand if the runs will take long, and which need not."""
    stepped = [name for name, how in zip(plan.policies, methods, strict=True) if how != "skip"]
    each = plan.horizon * len(plan.replications)
    # Runs are given to threads as they are: one takes its time on one thread.
    seconds = SECONDS * max(plan.horizon, each * len(stepped) / threads) if stepped else 0.0
    if seconds < LONG:
        return
    from brigand.simulation.skip_ahead import can_skip

    quick = [name for name in stepped if plan.conditions.is_plain and can_skip(plan.policies[name])]
    hint = f" method='skip' takes seconds for {', '.join(map(repr, quick))}." if quick else ""
    warnings.warn(
        f"{each * len(stepped):.3g} steps, one by one, take about {duration(seconds)}: some "
        f"{SECONDS * 1e9:.0f} ns each.{hint}",
        stacklevel=3,
    )


def choose_methods(plan: Plan, method: str) -> list[str]:
    """Return how each policy is run: ``"step"``, ``"skip"``, or ``"late"`` where conditions are not plain.

    Raises
    ------
    UnknownNameError
        There is no such method.
    InvalidValueError
        The method is ``"skip"``, and a policy cannot be skipped.
    """
    if method not in ("step", "skip", "auto"):
        raise UnknownNameError("method", method, ("step", "skip", "auto"))
    if not plan.conditions.is_plain:
        if method == "skip":
            raise InvalidValueError(
                "rewards that come late or never, batches, and arms that come and go cannot be skipped: use "
                "method='step'."
            )
        return ["late"] * len(plan.policies)
    if method == "step":
        return ["step"] * len(plan.policies)
    from brigand.simulation.skip_ahead import can_skip, check_skippable

    try:
        check_skippable(plan.environment)
    except InvalidValueError:
        if method == "skip":
            raise
        return ["step"] * len(plan.policies)
    for name, policy in plan.policies.items():
        if method == "skip" and not can_skip(policy):
            raise InvalidValueError(
                f"{name!r} cannot be skipped, only ForcedExploration without a window whose f(r) is known "
                "beforehand and ExploreThenCommit can; use method='auto', or 'step'."
            )
    return ["skip" if can_skip(policy) else "step" for policy in plan.policies.values()]


def runner_of(method: str) -> Any:
    """Return the class that runs policies by a method: what is rare is loaded only where it is used."""
    if method == "step":
        return Runner
    if method == "late":
        from brigand.simulation.late import LateRunner

        return LateRunner
    from brigand.simulation.skip_ahead import SkipRunner

    return SkipRunner


def _chunks(plan: Plan, method: str) -> list[range]:
    size = CHUNK_SKIPS if method == "skip" else max(1, CHUNK_STEPS // plan.horizon)
    total = len(plan.replications)
    return [range(first, min(first + size, total)) for first in range(0, total, size)]


def run_all(
    jobs: Sequence[Callable[[threading.Event], int]],
    threads: int,
    total: int,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Run all jobs on threads; an error or Ctrl-C ends the others after their current run."""
    # Queues, because waiting for futures locks all of them, and Ctrl-C in there leaves them locked.
    todo: SimpleQueue[Callable[[threading.Event], int]] = SimpleQueue()
    finished: SimpleQueue[int | BaseException] = SimpleQueue()
    stop = threading.Event()
    for job in jobs:
        todo.put(job)

    def work() -> None:
        while not (stop.is_set() or todo.empty()):
            try:
                finished.put(todo.get_nowait()(stop))
            except Empty:  # another thread was faster
                return
            except BaseException as error:
                finished.put(error)

    with ThreadPoolExecutor(threads) as pool:
        try:
            for _ in range(threads):
                pool.submit(work)
            done = 0
            for _ in jobs:
                outcome = finished.get()
                if isinstance(outcome, BaseException):
                    raise outcome
                done += outcome
                if progress is not None:
                    progress(done, total)
        finally:
            stop.set()
