"""Replay: what a learning policy would have earned on the decisions of a log.

Methods
-------
``"queue"``
    The rewards of each arm are a shuffled queue, a pull takes the next one, and the run ends when the arm
    asked for is out of rewards. Up to there it has the law of a run on the true arms, if rates do not change
    and the log did not choose by the rewards it had seen. Source: Mandel, Liu, Brunskill, Popović, "The
    queue method", AAAI 2015; "Offline evaluation of online reinforcement learning algorithms", AAAI 2016.
``"rejection"``
    The log is gone through in its order, and a row counts if the policy chooses its arm. Where the log was
    not uniform, a row of propensity p counts with probability c / p alone, c the least propensity of the
    log: at every row every arm is accepted with probability c, as from a uniform log. So the rows that count
    are a run on the true arms, of a random length that does not depend on its rewards. Source: Li, Chu,
    Langford, Wang, "Unbiased offline evaluation of contextual-bandit-based news article recommendation
    algorithms", WSDM 2011.
``"resample"``
    A simulation: each arm pays, with replacement, what it paid in the log. A policy that learns also finds
    the log's chance: what it earns is too high.

Bias
----
That a queue runs out may depend on its rewards. The reward of step t is unbiased if every run reaches t:
certainly up to the least number of rewards of an arm. So the reward reported is the mean over the first
steps, as many as *every* replication reached. If that number is given beforehand as the horizon, and reached,
nothing depends on the rewards; if it is found from the log itself, a bias remains, which
``tests/logs/test_replay_laws.py`` measures.

Intervals
---------
Replications share the log: that they agree says nothing of it. So logs are drawn from the log, with
replacement: for queues the rewards of each arm; for rejection, at the place of each row, a row of the same
twentieth of the log. (Copies that stood side by side would be passed over by a policy that alternates.) On
each some replications are run. The variance between the means of these logs, less what is due to their having
fewer replications, is that of the estimate (components of variance); the interval is Student's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brigand import checks
from brigand.display import progress_of
from brigand.errors import InvalidValueError, UnknownNameError
from brigand.logs.log import Log
from brigand.logs.replay_runs import DRAWN, Player, Pool, Queues, Rows, Runs, check_log, check_rewards
from brigand.logs.replayed import Replay, estimate, logged
from brigand.policies.given import policies_of
from brigand.rng import check_seed
from brigand.simulation.plan import check_workers

METHODS = ("queue", "rejection", "resample")
LEAST = 100
"""So many rows must count by default: a mean of fewer is a guess."""
MARKS = 100
"""So many points a policy's line has in the figure."""
RUNS_ON_DRAWN = 10
"""So many runs are made on each log that is drawn, or as many as replications, if these are fewer."""


def replay(
    log: Log,
    policies: Mapping[str, Any] | Sequence[str],
    *,
    method: str = "queue",
    replications: int = 100,
    seed: int | None = 0,
    horizon: int | None = None,
    resamples: int = 100,
    least: int = LEAST,
    workers: int | None = None,
    progress: Callable[[int, int], None] | bool | None = None,
) -> Replay:
    """Replay learning policies on a log, to say what they would have earned.

    Rewards are learned at once, also where the log says that they came later.

    Parameters
    ----------
    log : Log
    policies : dict of str to Policy, or list of str
        Names are yours, and policies may be given by their names in the catalogue; or a list of such names.
    method : {"queue", "rejection", "resample"}
        How, see `brigand.logs.replay`: queues, which use most of the log, for rates that do not change; or
        row by row, for those that do; or a simulation.
    replications : int
        Runs of each policy, each with its own shuffles, and choices of the policy.
    seed : int or None
        Same seed, same bits: for any number of workers and whatever other policies there are. None draws one.
    horizon : int, optional
        The most decisions of a run, and what policies are told that must know it: by default as many as the
        log has rows.
    resamples : int
        Logs that are drawn from the log for the intervals; 0 for none.
    least : int
        So many rows must count in a run, in the mean over replications, for ``"rejection"``.
    workers : int, optional
        Threads; by default as many as the process may use.
    progress : callable or bool, optional
        Called as ``progress(done, total)`` with numbers of runs, from the calling thread. By default a
        notebook shows a bar if the runs take more than half a second; with False nothing is shown.

    Returns
    -------
    Replay

    Raises
    ------
    UnknownNameError
        There is no such method, or no such policy.
    InvalidValueError, UnsupportedRewardError
        An argument is not allowed, the log does not suit the method or a policy, or too few rows count.
    PolicyError
        A policy of yours chose an arm that is not there.

    Examples
    --------
    >>> import numpy as np, brigand as br
    >>> rng = np.random.default_rng(0)
    >>> arm = rng.integers(2, size=1000).astype(np.int32)
    >>> reward = (rng.random(1000) < np.array([0.1, 0.3])[arm]).astype(float)
    >>> log = br.Log(arms=("red", "blue"), arm=arm, reward=reward)
    >>> found = br.replay(log, {"FE": br.ForcedExploration(), "UCB1": "UCB1"}, replications=20)
    >>> bool((found.summary()["reward"] > reward.mean()).all())
    True
    """
    if method not in METHODS:
        raise UnknownNameError("method", method, METHODS)
    check_log(log)
    given = policies_of(_named(policies))
    replications = checks.integer("replications", replications, 1, DRAWN - 1)
    resamples = checks.integer("resamples", resamples, 0, DRAWN // RUNS_ON_DRAWN)
    if resamples == 1:
        raise InvalidValueError("resamples must be 0, or at least 2: an interval needs two logs.")
    least = checks.integer("least", least, 1)
    horizon = len(log) if horizon is None else checks.steps("horizon", horizon)
    seed = check_seed(seed)
    check_rewards(log, given, horizon)
    source = Rows(log) if method == "rejection" else Queues(log, endless=method == "resample")
    players = [Player(source, policy, horizon, seed) for policy in given.values()]

    each = min(RUNS_ON_DRAWN, replications)
    on_log, on_drawn = Runs.on_log(replications), Runs.on_drawn(seed, resamples, each)
    total = len(players) * (replications * (2 if method == "queue" else 1) + resamples * each)
    pool = Pool(check_workers(workers), total, progress_of(progress, "runs"))
    if method == "rejection":
        marks = [_marks(len(log))] * len(players)
        found = pool.play(players, on_log, marks)
        steps = [float(runs.steps.mean()) for runs in found]
        _check_matched(log, dict(zip(given, steps, strict=True)), least)
        matched = steps
    elif method == "queue":
        found = pool.play(players, on_log, [np.array([horizon])] * len(players))
        matched = [float(runs.steps.mean()) for runs in found]
        steps = [float(runs.steps.min()) for runs in found]
        marks = [_marks(int(step)) for step in steps]
        found = pool.play(players, on_log, marks)
    else:
        marks = [_marks(horizon)] * len(players)
        found = pool.play(players, on_log, marks)
        steps, matched = [float(horizon)] * len(players), [0.0] * len(players)
    drawn = pool.play(players, on_drawn, marks)
    replayed = {
        name: estimate(log, own, others, marked, mean_of, used, each)
        for name, own, others, marked, mean_of, used in zip(
            given, found, drawn, marks, steps, matched, strict=True
        )
    }
    return Replay(
        method=method,
        rows=len(log),
        arms=log.arms,
        replications=replications,
        resamples=resamples,
        seed=seed,
        horizon=horizon,
        policies=given,
        replayed=replayed,
        logged=logged(log, max(marks, key=lambda some: int(some[-1])), in_order=method == "rejection"),
        notes=tuple(_notes(log, method, horizon, steps)),
    )


def _named(policies: Any) -> Any:
    """Return policies by name, if they are given as a list of names."""
    if isinstance(policies, (list, tuple)) and policies and all(isinstance(name, str) for name in policies):
        return {name: name for name in policies}
    return policies


def _marks(last: int) -> NDArray[np.int64]:
    """Return where a policy's line has its points, 1 to `last` evenly."""
    return np.unique(np.linspace(0, last, min(MARKS, last) + 1).astype(np.int64))[1:]


def _check_matched(log: Log, matched: Mapping[str, float], least: int) -> None:
    for name, rows in matched.items():
        if rows < least:
            raise InvalidValueError(
                f"{name!r} chose what the log chose in {rows:,.1f} of {len(log):,} rows, in the mean over "
                f"replications, and at least {least:,} are asked for (least). A row counts with the least "
                "propensity of the log: a longer log is needed, or method='queue', if rates do not change."
            )


def _notes(log: Log, method: str, horizon: int, steps: Sequence[float]) -> Iterator[str]:
    """Yield what must be known to read the numbers."""
    if method == "resample":
        yield (
            "A simulation: arms pay, with replacement, what they paid in the log. A policy that learns also "
            "learns the log's chance, so that what it earns is too high."
        )
    if method == "queue":
        yield (
            "Rewards are means over the first steps, as many as every replication reached before an arm was "
            "out of rewards. Rates are taken not to change."
        )
        if max(steps) > 1.1 * min(steps):
            yield (
                f"Policies reached {min(steps):,.0f} to {max(steps):,.0f} steps, and who learns earns more "
                f"later: horizon={min(steps):.0f} compares them at the same step."
            )
    if method == "rejection":
        yield "Rewards are means over the rows that counted: those whose arm the policy chose, too."
    elif log.propensity is not None and np.ptp(log.propensity[~np.isnan(log.propensity)]) > 1e-9:
        yield (
            "The log's propensities differ. If its policy learned from these rewards, arms that paid little "
            "by chance were left, and their rewards here are too low."
        )
