"""Policies compared over all problems of a study together.

A problem counts once, by the mean regret of each policy on it, however many instances and runs it has
(Demšar 2006: average ranks, Friedman's test, Nemenyi's critical difference).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from brigand.studies import statistics
from brigand.studies.results import StudyResults

if TYPE_CHECKING:
    import pandas as pd

MANY = 10
"""So many problems are shown one by one; of more, those that are least like all together."""
FEWEST = 5
"""Ranks are tested on so many problems at least."""


@dataclass(frozen=True)
class Pooled:
    """How policies do over several problems.

    Attributes
    ----------
    means : pandas.DataFrame
        Mean regret at T: a row for each problem, a column for each policy that is complete on all of them,
        but for `Oracle`.
    table : pandas.DataFrame
        Indexed by policy, the least rank first: ``rank``, its average over problems; ``relative`` and
        ``worst``, the median and the largest of its regret as a multiple of the problem's best; ``best``, on
        how many problems it has the least regret.
    statistic, p_value, critical_difference : float
        See `brigand.studies.statistics.RankTest`; NaN for fewer than 5 problems.
    """

    means: pd.DataFrame
    table: pd.DataFrame
    statistic: float
    p_value: float
    critical_difference: float

    def profiles(self) -> pd.DataFrame:
        """Return performance profiles over problems: see `brigand.studies.statistics.profiles`."""
        return statistics.profiles(self.means)

    def unlike(self, n: int) -> list[str]:
        """Return the n problems on which the order of policies is least like their average ranks."""
        ranks = self.means.rank(axis=1)
        distance = ((ranks - ranks.mean()) ** 2).sum(axis=1)
        return [str(name) for name in distance.sort_values(ascending=False, kind="stable").index[:n]]


def told_apart(results: StudyResults, pooled: Pooled | None) -> StudyResults:
    """Return results on the problems that are worth a look, one by one: all, if they are not too many."""
    if len(results.problems) <= MANY:
        return results
    return results.select(results.problems[:MANY] if pooled is None else pooled.unlike(MANY))


def pool(results: StudyResults) -> Pooled | None:
    """Return the comparison over all problems; None without two problems and two policies on all of them."""
    import pandas as pd

    rivals = [set(results.rivals(problem)) for problem in results.problems]
    names = [name for name in results.policies if all(name in there for there in rivals)]
    if len(names) < 2 or len(rivals) < 2:
        return None
    rows = {
        problem: {name: float(results.final(problem, name).mean()) for name in names}
        for problem in results.problems
    }
    means = pd.DataFrame.from_dict(rows, orient="index", columns=names).rename_axis("problem")
    best = means.min(axis=1).to_numpy()[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = pd.DataFrame(np.where(means == best, 1.0, means / best), means.index, names)
    found = statistics.rank_test(means)
    table = pd.DataFrame(
        {
            "rank": found.ranks,
            "relative": relative.median().to_numpy(),
            "worst": relative.max().to_numpy(),
            "best": (means == best).sum().to_numpy(),
        },
        pd.Index(names, name="policy"),
    ).sort_values("rank", kind="stable")
    tests = found[1:] if len(means) >= FEWEST else (np.nan,) * 3
    return Pooled(means, table, *map(float, tests))
