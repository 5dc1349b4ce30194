"""The best exploration sequence for a family of problems: successive halving, then a free step function.

Successive halving: Jamieson, Talwalkar, AISTATS 2016. Candidates of four families (constant, linear, power,
exponential) run on few problems; the better third runs on four times as many, and so on. The winner's values
in rounds 1, 2-3, 4-7, ... are then moved one by one, as long as that helps. All candidates meet the same
problems; what is reported comes from problems that no choice has seen.

Where the mean is to be small, the last candidates are judged by each problem's mean regret with its rare runs
(`Problems.mean_regret`), and so are the sequences in the report: plain runs seldom show what a sequence costs
that lets a run be stuck.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from brigand.errors import UnsupportedRewardError
from brigand.figures.tuning import tuning as draw_tuning
from brigand.policies.base import Policy
from brigand.policies.forced.forced_exploration import ForcedExploration
from brigand.policies.forced.sequences import (
    Constant,
    ExplorationSequence,
    Exponential,
    Linear,
    Power,
    Sequence as Steps,
    value,
)
from brigand.policies.randomised.thompson import ThompsonBeta, ThompsonGaussian
from brigand.policies.subsampling.sub_sampling import LBSDA
from brigand.policies.ucb.kl_ucb import KLUCB
from brigand.policies.ucb.ucb_normal import UCBNormal
from brigand.tuning.evaluate import Floats, Objective, Problems

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIRST = 128
GROWTH = 4
FINAL = 5
"""Halving ends with at most so many candidates."""
STEPPED = 200
"""Problems for policies that must be stepped."""
FACTORS = (2.0, 0.5, 1.4, 0.7)
MOVED = 1024
"""Problems on which a move of the step function is judged."""
JUDGED = 500
"""Problems on which the last candidates are judged by their mean regret, rare runs included."""
REPORTED = 1000
"""As many problems are as much as 9,000 plain runs: the rare runs are not left to chance."""

PAPER: dict[str, ExplorationSequence] = {
    "FE-Exp": Exponential(),
    "FE-Linear": Linear(),
    "FE-Constant": Constant(),
}
OTHERS: dict[str, Policy] = {
    "TS-Beta": ThompsonBeta(),
    "KL-UCB": KLUCB(),
    "TS-Gaussian-unknown": ThompsonGaussian(),
    "UCB-Normal": UCBNormal(),
    "LB-SDA": LBSDA(),
}


@dataclass(frozen=True)
class Measured:
    """A policy on problems that no choice has seen.

    Attributes
    ----------
    policy : Policy
    regret : ndarray of shape (problems, steps)
    steps : list of int
        The last is T.
    judged : ndarray of shape (problems, steps)
        What the objective is taken of: the same, or mean regrets of FE on the first of the problems.
    """

    policy: Policy
    regret: Floats
    steps: list[int]
    judged: Floats


@dataclass(frozen=True)
class Tuned:
    """What `tune` found.

    Attributes
    ----------
    winner : ExplorationSequence
    objective : Objective
    measured : dict of str to Measured
        ``"tuned"``, the paper's three sequences, and other policies that can work with the rewards.
    better : bool
        Whether the winner's objective is below FE-Exp's, with an interval of the difference that excludes 0.
    """

    winner: ExplorationSequence
    objective: Objective
    measured: dict[str, Measured]

    @property
    def line(self) -> str:
        """The winner as a line of Python."""
        return f"br.ForcedExploration({python_line(self.winner)})"

    @property
    def difference(self) -> tuple[float, float]:
        """A 95 % interval of the winner's objective less FE-Exp's, paired."""
        tuned, paper = self.measured["tuned"], self.measured["FE-Exp"]
        return self.objective.difference(tuned.judged[:, -1], paper.judged[:, -1])

    @property
    def better(self) -> bool:
        """Whether that interval is below 0."""
        return self.difference[1] < 0


def tune(
    problems: Problems,
    n_arms: int,
    objective: Objective | None = None,
    *,
    held_out: int = 10_000,
    progress: Callable[[str], None] | None = None,
) -> Tuned:
    """Find the exploration sequence with the least regret at the horizon.

    Parameters
    ----------
    problems : Problems
    n_arms : int
        K, for the range of candidates.
    objective : Objective, optional
        By default the mean.
    held_out : int
        Problems for the final estimates.
    progress : callable, optional
        Called with a sentence on what is being done.
    """
    objective = objective or Objective()
    say = progress or (lambda text: None)
    pool = [*PAPER.values(), *candidates(n_arms, problems.horizon)]
    count = FIRST
    while len(pool) > FINAL:
        say(f"{len(pool)} sequences on {count} problems")
        pool = _best(pool, problems, objective, range(count), max(FINAL, len(pool) // 3))
        count *= GROWTH
    say(f"{len(pool)} sequences on {count} problems")
    winner = _judged(pool, problems, objective, range(count))
    free = _move(winner, problems, objective, say)
    fresh = range(count, 2 * count)
    say(f"the best of a family against a step function, on {count} new problems")
    winner = _judged([winner, free], problems, objective, fresh)
    unseen = range(2 * count, 2 * count + held_out)
    return Tuned(winner, objective, _measure(winner, problems, objective, unseen, say))


def candidates(n_arms: int, horizon: int) -> Iterator[ExplorationSequence]:
    """Yield the sequences that the search begins with."""
    for number in np.geomspace(max(n_arms, 2), max(horizon / n_arms, n_arms + 1), 12):
        yield Constant(_short(number))
    for slope in np.geomspace(0.1, 100, 12):
        yield Linear(_short(slope))
    for exponent in (0.5, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0):
        yield Power(exponent)
    for rate in np.geomspace(0.2, 20, 12):
        yield Exponential(_short(math.exp(rate / math.log(max(horizon, 3)))))


def python_line(sequence: ExplorationSequence) -> str:
    """Return the expression that makes a sequence."""
    if not isinstance(sequence, Steps):
        fields = {"Constant": "value", "Linear": "slope", "Power": "exponent", "Exponential": "base"}
        name = type(sequence).__name__
        number = getattr(sequence, fields[name]) if name in fields else None
        return f"br.{name}()" if number is None else f"br.{name}({number!r})"
    values = np.array(sequence.values)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(values)) + 1, [len(values)]])
    levels, lengths = values[starts[:-1]].tolist(), np.diff(starts).tolist()
    return f"br.Sequence(np.repeat({levels}, {lengths}))"


def _best(
    pool: Sequence[ExplorationSequence],
    problems: Problems,
    objective: Objective,
    numbers: range,
    keep: int,
) -> list[ExplorationSequence]:
    values = [_value(sequence, problems, objective, numbers) for sequence in pool]
    return [pool[i] for i in np.argsort(values, kind="stable")[:keep]]


def _judged(
    pool: Sequence[ExplorationSequence], problems: Problems, objective: Objective, numbers: range
) -> ExplorationSequence:
    """Return the best."""
    if objective.quantile is not None:
        return _best(pool, problems, objective, numbers, 1)[0]
    few = numbers[:JUDGED]
    values = [problems.mean_regret(ForcedExploration(sequence), few)[:, 0].mean() for sequence in pool]
    return pool[int(np.argmin(values))]


def _value(sequence: ExplorationSequence, problems: Problems, objective: Objective, numbers: range) -> float:
    return objective.value(problems.regret(ForcedExploration(sequence), numbers)[:, 0])


def _move(
    start: ExplorationSequence, problems: Problems, objective: Objective, say: Callable[[str], None]
) -> ExplorationSequence:
    """Return a step function, begun at `start`, of which no single step can be moved with profit."""
    levels = _levels(start, problems.horizon)
    best = _value(step_function(levels), problems, objective, range(MOVED))
    for sweep in range(2):
        for place in range(len(levels)):
            say(f"step function, sweep {sweep + 1} of 2, step {place + 1} of {len(levels)}")
            for factor in FACTORS:
                level = _short(levels[place] * factor)
                # What is in the way gives way: the sequence stays non-decreasing.
                moved = [min(v, level) for v in levels[:place]] + [level]
                moved += [max(v, level) for v in levels[place + 1 :]]
                found = _value(step_function(moved), problems, objective, range(MOVED))
                if found < best:
                    best, levels = found, moved
    return step_function(levels)


def _levels(sequence: ExplorationSequence, horizon: int) -> list[float]:
    """Return f in the middle of rounds 1, 2-3, 4-7, ..., as far as a run can get."""
    values = tabulate(sequence, horizon, 2**20)
    levels: list[float] = []
    while 2 ** len(levels) <= len(values):
        middle = min(3 * 2 ** len(levels) // 2, len(values))
        levels.append(_short(min(values[middle - 1], float(horizon))))
    return levels


def step_function(levels: Sequence[float]) -> Steps:
    """Return the sequence with these values in rounds 1, 2-3, 4-7, ..."""
    return Steps(tuple(np.repeat(levels, [2**i for i in range(len(levels))]).tolist()))


def _measure(
    winner: ExplorationSequence,
    problems: Problems,
    objective: Objective,
    numbers: range,
    say: Callable[[str], None],
) -> dict[str, Measured]:
    steps = sorted({max(1, int(t)) for t in np.geomspace(10, problems.horizon, 25)} | {problems.horizon})
    policies: dict[str, Policy] = {
        name: ForcedExploration(sequence) for name, sequence in ({"tuned": winner} | PAPER).items()
    }
    measured = {}
    for name, policy in (policies | OTHERS).items():
        chosen = numbers if name in policies else numbers[:STEPPED]
        say(f"{name} on {len(chosen)} problems that no choice has seen")
        try:
            regret = judged = problems.regret(policy, chosen, steps)
        except UnsupportedRewardError:
            continue
        if objective.quantile is None and name in policies:
            judged = problems.mean_regret(policy, chosen[:REPORTED], steps)
        measured[name] = Measured(policy, regret, steps, judged)
    return measured


def draw(found: Tuned, horizon: int, title: str = "") -> Figure:
    """Draw the winner's and the paper's sequences, and the regret of all policies."""
    sequences = {}
    for name, measured in found.measured.items():
        if isinstance(measured.policy, ForcedExploration):
            sequences[name] = tabulate(measured.policy.sequence, horizon)
    regrets = {name: (measured.steps, measured.judged) for name, measured in found.measured.items()}
    return draw_tuning(sequences, regrets, title)


def tabulate(sequence: ExplorationSequence, horizon: int, most: int = 10_000) -> list[float]:
    """Return f(1), f(2), ... for as many rounds as a run of two arms can have, or the first `most`.

    If f depends on the steps, they are those of a run in which one arm gets all greedy pulls.
    """
    policy = ForcedExploration(sequence)
    parameters, memory = policy.parameters(2, horizon), policy.memory(2, horizon)
    form = (parameters.kind, parameters.number, parameters.shift, memory, parameters.table)
    values: list[float] = []
    steps = 2.0
    while steps < horizon and len(values) < most:
        f = float(value(*form, len(values) + 1, int(steps)))
        values.append(max(f, values[-1] if values else 0.0))
        steps += max(2.0, math.ceil(min(values[-1], horizon)) + 1)
    return values


def _short(number: float) -> float:
    """Return the number with three digits, so that it can be read."""
    return float(f"{number:.3g}")
