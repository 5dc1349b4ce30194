"""What a replay found: a table, lines over the log, a figure."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brigand import display
from brigand.logs.log import Log
from brigand.policies.base import Policy

if TYPE_CHECKING:
    import pandas as pd

    from brigand.logs.replay_runs import Played

LEVEL = 0.95
Floats = NDArray[np.float64]


class Line(NamedTuple):
    """Mean rewards with their intervals, up to some marks: steps, or rows of the log."""

    marks: NDArray[np.int64]
    reward: Floats
    lower: Floats
    upper: Floats


class Replayed(NamedTuple):
    """What one policy earned.

    Attributes
    ----------
    line : Line
        Its last point is the whole.
    gain : tuple of three floats
        The mean reward less the log's own, and its interval.
    steps, matched, ess : float
        As in `Replay.summary`.
    """

    line: Line
    gain: tuple[float, float, float]
    steps: float
    matched: float
    ess: float


@dataclass(frozen=True, eq=False, repr=False)
class Replay:
    """What policies would have earned on a log; made by `brigand.replay`.

    Attributes
    ----------
    method : str
        ``"queue"``, ``"rejection"`` or ``"resample"``: see `brigand.logs.replay`.
    rows : int
        Of the log.
    arms : tuple of str
    replications, resamples, seed, horizon : int
        As given, or as they were chosen.
    policies : dict of str to Policy
    replayed : dict of str to Replayed
    logged : Line
        The mean reward of the log itself: where the log was replayed in its order, up to each row, and else
        of the whole.
    notes : tuple of str
        What must be known to read the numbers.
    """

    method: str
    rows: int
    arms: tuple[str, ...]
    replications: int
    resamples: int
    seed: int
    horizon: int
    policies: Mapping[str, Policy]
    replayed: Mapping[str, Replayed]
    logged: Line
    notes: tuple[str, ...]

    def summary(self) -> pd.DataFrame:
        """Return what each policy earned, one row a policy.

        Returns
        -------
        pandas.DataFrame
            ``reward``, the mean reward of a decision, in the log's units, with its 95 % interval ``lower``
            and ``upper``; ``steps``, the decisions that it is the mean of in each run; ``matched``, the rows
            of the log that a run used, in the mean (0 for a simulation); ``ess``, the number of independent
            rewards that would tell the mean as exactly; ``gain``, the reward less the mean reward of the
            log, whatever policy chose there, with ``gain_lower`` and ``gain_upper``. The interval is of what
            the policy earns on the true arms: it holds the chance in the log, and in the runs. NaN where no
            log was drawn.
        """
        import pandas as pd

        rows = {
            name: {
                "reward": found.line.reward[-1],
                "lower": found.line.lower[-1],
                "upper": found.line.upper[-1],
                "steps": round(found.steps),
                "matched": found.matched,
                "ess": found.ess,
                "gain": found.gain[0],
                "gain_lower": found.gain[1],
                "gain_upper": found.gain[2],
            }
            for name, found in self.replayed.items()
        }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("policy")

    def curves(self) -> pd.DataFrame:
        """Return the mean reward so far over the replay, one row a policy and mark.

        Returns
        -------
        pandas.DataFrame
            Indexed by ``policy`` and ``at``: the row of the log for ``"rejection"``, else the step; columns
            ``reward``, ``lower``, ``upper``. NaN before a policy's first decision.
        """
        import pandas as pd

        lines = {name: found.line for name, found in self.replayed.items()}
        return pd.concat(
            {
                name: pd.DataFrame(
                    {"reward": line.reward, "lower": line.lower, "upper": line.upper},
                    pd.Index(line.marks, name="at"),
                )
                for name, line in lines.items()
            },
            names=["policy"],
        )

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        policies: str | Sequence[str] | None = None,
        figsize: tuple[float, float] | None = None,
        title: str = "",
    ) -> Any:
        """Draw reward per 1,000 decisions over the replay, and how much of the log each policy used.

        In a notebook the picture is shown once, at the end of the cell.

        Parameters
        ----------
        path : path, optional
            Write the figure there, too: a name that ends in .png, .svg or .pdf.
        policies : str or sequence of str, optional
            Which are drawn. Each has the colour that it has among all.
        figsize : (float, float), optional
            Width and height in inches.
        title : str

        Returns
        -------
        matplotlib.axes.Axes or array of them
            One for each panel; ``axes.figure`` is the figure.

        Raises
        ------
        InvalidValueError
            The name ends otherwise.
        UnknownNameError
            There is no such policy.
        ResultFileError
            The file cannot be written.
        """
        from brigand.figures import replay, style

        target = style.file_of(path)
        figure = replay.replay(self, title, policies=policies, figsize=figsize, make=style.shown_figure)
        if target is not None:
            style.save(figure, target.parent, target.stem, [target.suffix[1:]])
        return style.axes_of(figure)

    def to_json(self) -> dict[str, Any]:
        """Return how it was made: with the same log and version, it can be made again."""
        from brigand import __version__

        return {
            "version": __version__,
            "method": self.method,
            "rows": self.rows,
            "arms": list(self.arms),
            "replications": self.replications,
            "resamples": self.resamples,
            "seed": self.seed,
            "horizon": self.horizon,
            "policies": {name: policy.to_json() for name, policy in self.policies.items()},
        }

    @display.html_repr
    def _repr_html_(self) -> str:
        """Return a table of what each policy earned, a small figure of it and the notes, for notebooks."""
        columns = ("reward", "lower", "upper", "steps", "gain", "gain_lower", "gain_upper")
        table = self.summary()
        rows = [(name, *(float(row[column]) for column in columns)) for name, row in table.iterrows()]
        titles = ("reward", "95 % from", "to", "steps", "gain", "from", "to")
        return display.block(
            f"Replay by {self.method!r} on {self.rows:,} rows",
            display.table(("policy", *titles), rows),
            display.forest(
                ((name, reward, lower, upper) for name, reward, lower, upper, *_ in rows),
                "Mean reward of each policy with its 95 % interval",
            ),
            *map(display.paragraph, self.notes),
        )

    def __repr__(self) -> str:
        table = self.summary()
        return f"Replay by {self.method!r} on {self.rows:,} rows\n{table}"


def estimate(
    log: Log,
    runs: Played,
    drawn: Played,
    marks: NDArray[np.int64],
    steps: float,
    matched: float,
    each: int,
) -> Replayed:
    """Return what a policy earned, from its runs on the log and on logs drawn from it, so many on each."""
    groups = drawn.means.reshape(-1, each, len(marks))
    own = drawn.logged.reshape(-1, each)[:, 0]
    low, high = float(log.reward.min()), float(log.reward.max())
    reward = runs.means.mean(axis=0)
    half, variance = _half(groups, len(runs.means))
    mean = float(log.reward.mean())
    spread = float(np.mean(runs.spreads - (runs.means[:, -1] - mean) ** 2))
    gain = float(reward[-1]) - mean
    around = float(_half(groups[:, :, -1] - own[:, np.newaxis], len(runs.means))[0])
    return Replayed(
        Line(marks, reward, np.clip(reward - half, low, high), np.clip(reward + half, low, high)),
        (gain, gain - around, gain + around),
        steps,
        matched,
        spread / float(variance[-1]) if variance[-1] > 0 else math.nan,
    )


def _half(groups: Floats, replications: int) -> tuple[Floats, Floats]:
    """Return half the width of the interval of a mean over replications, and the mean's variance.

    Parameters
    ----------
    groups : float64 array of shape (logs, runs, ...)
        Means of runs on logs that were drawn.
    replications : int
        How many runs the mean is of.
    """
    from scipy.special import stdtrit

    logs, each = groups.shape[:2]
    if logs < 2:
        unknown = np.full(groups.shape[2:], math.nan)
        return unknown, unknown
    within = groups.var(axis=1, ddof=1).mean(axis=0) if each > 1 else np.zeros(groups.shape[2:])
    between = groups.mean(axis=1).var(axis=0, ddof=1)
    variance = np.maximum(between - within * (1 / each - 1 / replications), within / replications)
    return stdtrit(logs - 1, (1 + LEVEL) / 2) * np.sqrt(variance), variance


def logged(log: Log, marks: NDArray[np.int64], *, in_order: bool) -> Line:
    """Return the mean reward of a log: up to each row that is marked, or of the whole at every mark."""
    from scipy.special import stdtrit

    ends = marks if in_order else np.full(len(marks), len(log))
    centre = float(log.reward.mean())
    apart = log.reward - centre
    if in_order:
        starts = np.append(0, marks[:-1])
        mean, square = (np.cumsum(np.add.reduceat(part, starts)) / ends for part in (apart, apart * apart))
    else:
        mean, square = (np.full(len(marks), part.mean()) for part in (apart, apart * apart))
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = (square - mean * mean) / (ends - 1)
        half = stdtrit(ends - 1, (1 + LEVEL) / 2) * np.sqrt(np.maximum(variance, 0.0))
    low, high = float(log.reward.min()), float(log.reward.max())
    reward = mean + centre
    return Line(marks, reward, np.clip(reward - half, low, high), np.clip(reward + half, low, high))
