"""Comparing the policies of a study: with a baseline, and on many instances all with all."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from brigand.errors import InvalidValueError, UnknownNameError
from brigand.studies import statistics

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

FEWEST = 5
"""Ranks are tested on so many instances at least: with fewer, Friedman's test says little."""


@dataclass(frozen=True, repr=False)
class Comparison:
    """How policies compare.

    Attributes
    ----------
    baseline : str
    differences : pandas.DataFrame
        Of regret at T, a policy's less the baseline's, indexed by problem and policy: ``mean``, ``low`` and
        ``high`` (its 95 % interval: Student's, and ``unseen`` added to both ends, see `Results.summary`),
        ``unseen``, ``p_value`` and ``p_unseen`` (of no difference, and of none beyond ``unseen``; corrected
        for the number of policies by Holm's procedure, see `brigand.studies.statistics.mean_tests`),
        ``pairs``, ``paired``. Below 0 the policy is better. Problems on
        which the baseline does not play are left out, here and in ``wins``. On one
        instance, pairs are replications; on several, the instances' means over replications. ``paired``
        says whether both met the same rewards: not so if one of them was run by skipping; then replications
        are independent, and the interval holds but is wider. Instances are the same in any case.
        Each interval holds by itself, not all together.
    wins : pandas.DataFrame
        Of problems with several instances, indexed by problem and policy: ``rate``, the share of instances on
        which the policy's mean regret is below the baseline's, ``low`` and ``high`` (95 % Wilson interval),
        ``ties``, the share with equal regrets, ``instances``.
    ranks : pandas.DataFrame
        Of problems with at least 5 instances, if there are at least 2 policies besides `Oracle`, which knows
        the best arm: indexed by problem and policy, ``rank``, the average over instances; 1 is the least
        regret.
    tests : pandas.DataFrame
        Of the same problems: ``statistic`` and ``p_value`` of Friedman's test that all policies are alike
        (NaN for two policies), ``critical_difference`` of average ranks (Nemenyi, 5 % for all pairs
        together), ``instances``, ``policies``.
    draws : dict of str to pandas.DataFrame
        What was compared, by problem: see `StudyResults.draws`.
    rivals : dict of str to list of str
        The policies that are ranked, by problem: all but `Oracle`.

    References
    ----------
    See `brigand.studies.statistics`.
    """

    baseline: str
    differences: pd.DataFrame
    wins: pd.DataFrame
    ranks: pd.DataFrame
    tests: pd.DataFrame
    draws: Mapping[str, pd.DataFrame]
    rivals: Mapping[str, list[str]]

    def profiles(self, problem: str | None = None, factors: ArrayLike | None = None) -> pd.DataFrame:
        """Return performance profiles (Dolan, Moré 2002) on a problem with several instances.

        Parameters
        ----------
        problem : str, optional
            Not needed if there is only one such problem.
        factors : array-like, optional
            At least 1; by default log-spaced ones, up to 100.

        Returns
        -------
        pandas.DataFrame
            For each factor (rows) and policy but `Oracle`, the share of instances on which the policy's
            regret is at most so many times that of the best. Where the best has regret 0, only policies with
            regret 0 count.

        Raises
        ------
        UnknownNameError, InvalidValueError
            There is no such problem with several instances, or none was named and there is more than one.
        """
        several = [name for name, draws in self.draws.items() if draws.index.name == "instance"]
        if problem is None and len(several) != 1:
            which = f"Name one of {', '.join(several)}." if several else "None has several instances."
            raise InvalidValueError(f"profiles of which problem? {which}")
        if problem is not None and problem not in several:
            raise UnknownNameError("problem with several instances", problem, several)
        name = several[0] if problem is None else problem
        return statistics.profiles(self.draws[name][self.rivals[name]], factors)

    def __repr__(self) -> str:
        return f"Comparison with {self.baseline!r}; regret at T, differences:\n{self.differences}"


def compare(
    baseline: str,
    draws: Mapping[str, pd.DataFrame],
    rivals: Mapping[str, list[str]],
    stepped: Mapping[str, Collection[str]],
    worst: Mapping[str, float],
) -> Comparison:
    """Compare the policies of a study; see `StudyResults.compare`.

    Parameters
    ----------
    baseline : str
    draws, rivals
        See `Comparison`.
    stepped : dict of str to collection of str
        The policies that were run step by step, by problem: these met the same rewards.
    worst : dict of str to float
        The largest regret that can be, by problem.
    """
    differences, wins, ranks, tests = {}, {}, {}, {}
    for problem, table in draws.items():
        others = [policy for policy in table.columns if policy != baseline] if baseline in table else []
        if others:
            differences[problem] = _differences(table, baseline, others, stepped[problem], worst[problem])
        if table.index.name != "instance":
            continue
        wins[problem] = {
            policy: statistics.win_rate(table[policy], table[baseline]) | {"instances": len(table)}
            for policy in others
        }
        ranked = table[rivals[problem]]
        if len(ranked) >= FEWEST and len(ranked.columns) > 1:
            found = statistics.rank_test(ranked)
            pairs = zip(ranked.columns, found.ranks, strict=True)
            ranks[problem] = {policy: {"rank": rank} for policy, rank in pairs}
            counts = {"instances": len(ranked), "policies": len(ranked.columns)}
            tests[problem] = found._asdict() | counts
    return Comparison(
        baseline,
        _joined(differences, ["mean", "low", "high", "unseen", "p_value", "p_unseen", "pairs", "paired"]),
        _joined(wins, ["rate", "low", "high", "ties", "instances"]),
        _joined(ranks, ["rank"]),
        _by_problem(tests, ["statistic", "p_value", "critical_difference", "instances", "policies"]),
        draws,
        rivals,
    )


def _differences(
    draws: pd.DataFrame, base: str, others: list[str], stepped: Collection[str], worst: float
) -> dict[str, Any]:
    less = draws[others].sub(draws[base], axis=0)
    found = statistics.summarise(less, worst)
    found["low"] -= found["unseen"]  # it may be the baseline's as well
    found = found.join(statistics.mean_tests(less, found["unseen"]))
    rows: dict[str, Any] = {}
    for policy, row in found.iterrows():
        rows[str(policy)] = {
            **row[["mean", "low", "high", "unseen", "p_value", "p_unseen"]].to_dict(),
            "pairs": len(draws),
            "paired": policy in stepped and base in stepped,
        }
    return rows


def _joined(tables: dict[str, dict[str, Any]], columns: list[str]) -> pd.DataFrame:
    """Return one table of nested dicts, indexed by problem and policy."""
    import pandas as pd

    keys = [(problem, policy) for problem, table in tables.items() for policy in table]
    index = pd.MultiIndex.from_tuples(keys, names=["problem", "policy"])
    return pd.DataFrame([tables[problem][policy] for problem, policy in keys], index, columns)


def _by_problem(rows: dict[str, dict[str, Any]], columns: list[str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(list(rows.values()), pd.Index(list(rows), name="problem"), columns)
