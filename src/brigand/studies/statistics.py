"""Statistics that compare policies, from their regrets on the same draws.

A draw is a run, or an instance with its mean over replications (`StudyResults.draws`).

References: J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7 (2006):
average ranks, Friedman's test, Nemenyi's critical difference. E. D. Dolan, J. J. Moré, "Benchmarking
optimization software with performance profiles", Mathematical Programming 91 (2002). E. B. Wilson, "Probable
inference, the law of succession, and statistical inference", JASA 22 (1927). S. Holm, "A simple sequentially
rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brigand.simulation.results import LEVEL, array_statistics

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

FACTORS = 200
LARGEST_FACTOR = 100.0
"""Profiles end here at the latest."""


def summarise(draws: pd.DataFrame, worst: float = 0.0) -> pd.DataFrame:
    """Summarise each column of a table.

    Parameters
    ----------
    draws : pandas.DataFrame
        A row for each independent draw, a column for each policy; in units of reward.
    worst : float
        The largest regret that a draw can have, see `regret_statistics`.

    Returns
    -------
    pandas.DataFrame
        A row for each policy: ``mean``, ``low`` and ``high`` (its 95 % interval; NaN for one draw),
        ``unseen``, ``top``, ``median``, ``q10``, ``q90``, ``q99``, ``sd``.
    """
    import pandas as pd

    array = np.ascontiguousarray(draws.to_numpy(np.float64).T)
    found = array_statistics(array, worst) | {"q99": np.quantile(array, 0.99, axis=1)}
    table = pd.DataFrame(found, pd.Index(list(draws.columns), name="policy"))
    return table[["mean", "low", "high", "unseen", "top", "median", "q10", "q90", "q99", "sd"]]


def win_rate(regret: ArrayLike, baseline: ArrayLike) -> dict[str, float]:
    """Return the share of draws on which a regret is below the baseline's.

    Parameters
    ----------
    regret, baseline : array-like of shape (n,)

    Returns
    -------
    dict
        ``rate``, its 95 % Wilson interval ``low`` to ``high``, and ``ties``, the share of equal regrets,
        which are no wins.
    """
    from scipy import stats

    ours, theirs = np.asarray(regret, float), np.asarray(baseline, float)
    wins, n = int((ours < theirs).sum()), len(ours)
    interval = stats.binomtest(wins, n).proportion_ci(LEVEL, "wilson")
    ties = float((ours == theirs).mean())
    return {"rate": wins / n, "low": float(interval.low), "high": float(interval.high), "ties": ties}


def mean_tests(draws: pd.DataFrame, unseen: ArrayLike) -> pd.DataFrame:
    """Test of each column whether its mean is 0: Student's t, corrected for how many columns there are.

    Parameters
    ----------
    draws : pandas.DataFrame
        A row for each independent draw, a column for each policy.
    unseen : array-like of shape (policies,)
        What the mean may owe to draws that are too rare to be seen.

    Returns
    -------
    pandas.DataFrame
        A row for each policy: ``p_value``, of a mean of 0, and ``p_unseen``, of a mean whose size is at most
        `unseen`; both after `holm`. NaN for one draw.
    """
    import pandas as pd
    from scipy import stats

    n, mean = len(draws), draws.mean().to_numpy()
    error = draws.std(ddof=1).to_numpy() / math.sqrt(n)
    found = {}
    for name, beyond in (("p_value", 0.0), ("p_unseen", np.asarray(unseen, float))):
        distance = np.maximum(np.abs(mean) - beyond, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(distance == 0, 0.0, distance / error)
        found[name] = holm(2 * stats.t.sf(t, n - 1) if n > 1 else np.full(len(mean), np.nan))
    return pd.DataFrame(found, draws.columns)


def holm(p_values: ArrayLike) -> Floats:
    """Return p-values that hold for all of several tests together (Holm 1979).

    If those that are at most 0.05 are called significant, none is falsely, with a probability of 0.95,
    however the tests depend on each other.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, float)
    order = np.argsort(p)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return adjusted


class RankTest(NamedTuple):
    """What ranks on N instances say of k policies.

    Attributes
    ----------
    ranks : float64 array of shape (k,)
        Average ranks: 1 is the least regret; equal regrets share the average of their ranks.
    statistic, p_value : float
        Of Friedman's test that all policies are alike; NaN for two policies.
    critical_difference : float
        Average ranks that are at least so far apart differ significantly, at the level 5 % for all pairs
        together (Nemenyi).
    """

    ranks: Floats
    statistic: float
    p_value: float
    critical_difference: float


def rank_test(regret: ArrayLike) -> RankTest:
    """Rank k policies on each of N instances, and test whether they differ.

    Parameters
    ----------
    regret : array-like of shape (N, k)
        k >= 2.
    """
    from scipy import stats

    matrix = np.asarray(regret, float)
    n, k = matrix.shape
    ranks = stats.rankdata(matrix, axis=1)
    statistic, p_value = math.nan, math.nan
    if (ranks == ranks[:, :1]).all():  # the test would divide by zero
        statistic, p_value = 0.0, 1.0
    elif k > 2:
        found = stats.friedmanchisquare(*matrix.T)
        statistic, p_value = float(found.statistic), float(found.pvalue)
    return RankTest(ranks.mean(axis=0), statistic, p_value, critical_difference(k, n))


def critical_difference(policies: int, instances: int) -> float:
    """Return Nemenyi's critical difference of average ranks at the level 5 %.

    ``CD = q / sqrt(2) * sqrt(k (k + 1) / (6 N))``, q from the Studentized range with infinite degrees of
    freedom (Demšar 2006, section 3.2.2).

    Examples
    --------
    >>> round(critical_difference(4, 14), 2)  # Demšar's example
    1.25
    """
    return _q(policies) / math.sqrt(2) * math.sqrt(policies * (policies + 1) / (6 * instances))


@functools.cache
def _q(policies: int) -> float:
    """Return the quantile of the Studentized range, which takes an integral to find."""
    from scipy import stats

    return float(stats.studentized_range.ppf(LEVEL, policies, math.inf))


def alike(ranks: ArrayLike, difference: float) -> list[tuple[int, int]]:
    """Return the largest groups of policies whose average ranks are less than a difference apart.

    Parameters
    ----------
    ranks : array-like of shape (k,)
        Average ranks, increasing.
    difference : float

    Returns
    -------
    list of (first, last)
        Positions in `ranks`, both included; groups of one are left out.

    Examples
    --------
    >>> alike([1.0, 1.5, 2.4, 4.0], 1.0)
    [(0, 1), (1, 2)]
    """
    values = np.asarray(ranks, float)
    # Average ranks are fractions: those that are just the difference apart must not fall to rounding.
    ends = np.searchsorted(values, values + difference * (1 - 1e-9)) - 1
    groups = enumerate(int(end) for end in ends)
    largest = itertools.groupby(groups, key=lambda group: group[1])
    return [(first, last) for last, same in largest if (first := next(same)[0]) < last]


def ratios(regret: ArrayLike) -> Floats:
    """Return regrets as multiples of the least on the same instance.

    Parameters
    ----------
    regret : array-like of shape (N, k)

    Returns
    -------
    float64 array of shape (N, k)
        1 for the best and for those equal to it. Where the least is 0, infinite for all others: no factor
        of 0 reaches them.
    """
    matrix = np.asarray(regret, float)
    least = matrix.min(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(matrix == least, 1.0, matrix / least)


def profiles(draws: pd.DataFrame, factors: ArrayLike | None = None) -> pd.DataFrame:
    """Return performance profiles (Dolan, Moré 2002).

    Parameters
    ----------
    draws : pandas.DataFrame
        Regrets: a row for each instance, a column for each policy.
    factors : array-like, optional
        At least 1; by default 200, log-spaced, up to the largest that changes anything, at most 100.

    Returns
    -------
    pandas.DataFrame
        For each factor the share of instances on which a policy's regret is at most so many times the least;
        see `ratios` for least regrets of 0.
    """
    import pandas as pd

    of_best = ratios(draws.to_numpy())
    if factors is None:
        finite = of_best[np.isfinite(of_best)]
        last = float(np.clip(finite.max() * 1.05, 2.0, LARGEST_FACTOR))
        factors = np.geomspace(1.0, last, FACTORS)
    at = np.asarray(factors, float)
    shares = np.array([(of_best <= factor).mean(axis=0) for factor in at])
    return pd.DataFrame(shares, pd.Index(at, name="factor"), draws.columns)
