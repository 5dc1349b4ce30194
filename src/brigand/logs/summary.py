"""What is in a log, and what it is good for.

Whether rates change is asked by a score test with the arms as strata: for the rewards of each arm, as if they
stood in random order, the sum over a stretch has a known mean and variance; the differences, added over arms,
are normal, and their quadratic form is chi-squared (Landis, Heyman and Koch, "Average partial association in
three-way contingency tables", International Statistical Review 46, 1978: their mean score statistic; for 0/1
rewards it is the generalised test of Mantel and Haenszel). So a mixture of arms that changes is no change of
rates. Where arms were chosen by their rewards, the order is not wholly random, and p is approximate.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from brigand.errors import InvalidValueError
from brigand.words import counted

if TYPE_CHECKING:
    import pandas as pd

STRETCHES = 10
FEW = 100
"""With fewer rows than this that are expected to match, a replay by rejection says little."""
SMALL = 0.01
"""A p value below is taken for a change; so one log in a hundred without any is."""
FAR = 4.0
"""Standard errors from which a mean is said to be far; the weights 1/p are skewed."""
ENOUGH = 5.0
"""So many of both rewards are expected in a stretch, where the rate of an arm alone is looked at."""
PIECE = 1 << 17
"""Rows that are looked at together."""
LISTED = 10
"""So many arms are printed."""
Floats = NDArray[np.float64]


class ArmRow(NamedTuple):
    """What is known of an arm; the bounds are those of a 95 % interval of its mean reward, as in `table`."""

    arm: str
    rows: int
    share: float
    reward: float
    lower: float
    upper: float


class Stretch(NamedTuple):
    """A stretch of the log: its first row, counted from 1, its rows, when it begins, and its mean reward."""

    first: int
    rows: int
    begins: str | None
    reward: float


class Propensities(NamedTuple):
    """How propensities look.

    `known` is the share of the rows that have one. `mean_weight` is the mean of 1/p, `se` its standard error,
    and `expected` what that mean tends to if the propensities are those by which arms were chosen, and each
    available arm had a chance: the mean number of available arms. For the uniform rule, `ess` is the
    effective sample size, (sum of weights)^2 / (sum of squared weights), and there is its largest weight.
    """

    known: float
    least: float
    quantiles: tuple[float, float, float]
    largest: float
    mean_weight: float
    se: float
    expected: float
    ess: float
    largest_weight: float

    @property
    def far(self) -> float:
        """Standard errors from what is expected; 0 where the two are equal, or there is one row."""
        gap = self.mean_weight - self.expected
        if abs(gap) <= 1e-9 * self.expected or math.isnan(self.se):
            return 0.0
        return gap / self.se if self.se > 0 else math.copysign(math.inf, gap)


class Use(NamedTuple):
    """Whether a method can be used on the log, and the reason: ``"yes"``, ``"no"``, ``"with care"``."""

    method: str
    verdict: str
    reason: str


@dataclass(frozen=True)
class Summary:
    """What is in a log. Printed, it is a few lines; `to_dict` has the numbers.

    Attributes
    ----------
    rows : int
    span : tuple of str, or None
        Times of the first and the last decision, ISO 8601, UTC.
    reward : float
        The mean.
    by_arm : tuple of ArmRow
    stretches : tuple of Stretch
        Ten parts of equally many rows (fewer parts if there are fewer than ten rows).
    change : float
        p value of "no rate changes from stretch to stretch", where the arms' rates move together (see the
        module). NaN if there is nothing to compare.
    change_of_one : float
        Of the arm whose own rate changes most, times the number of arms that have rows enough to tell
        (Bonferroni). NaN if there is none.
    even : float
        p value of "all arms are equally likely" (chi-squared), where all were available. NaN if not.
    propensities : Propensities or None
    warnings : tuple of str
        What is odd, with the number that shows it.
    uses : tuple of Use
        What the log is good for.
    skipped : dict of str to int
        Bad rows that were left out.
    """

    rows: int
    span: tuple[str, str] | None
    reward: float
    by_arm: tuple[ArmRow, ...]
    stretches: tuple[Stretch, ...]
    change: float
    change_of_one: float
    even: float
    propensities: Propensities | None
    warnings: tuple[str, ...]
    uses: tuple[Use, ...]
    skipped: dict[str, int]

    @classmethod
    def of(
        cls,
        arms: tuple[str, ...],
        arm: NDArray[np.int32],
        reward: Floats,
        propensity: Floats | None,
        time: NDArray[np.int64] | None,
        available: float | Floats,
        skipped: dict[str, int],
    ) -> Self:
        """Return the summary of the columns of a log; `available` is how many arms were.

        Raises
        ------
        InvalidValueError
            There are no rows.
        """
        n = len(arm)
        if not n:
            raise InvalidValueError("the log has no rows.")
        cells = _Cells.of(arm, reward, len(arms), min(STRETCHES, n))
        counts = cells.rows.sum(axis=1)
        all_available = not isinstance(available, np.ndarray) or bool((available == len(arms)).all())
        by_arm = _by_arm(arms, cells)
        change, change_of_one = cells.change(), cells.change_of_one()
        even = _even(counts) if all_available else math.nan
        found = None if propensity is None else _propensities(propensity, available)
        ends = float(reward.min()), float(reward.max())
        return cls(
            rows=n,
            span=None if time is None else (_date(time[0]), _date(time[-1])),
            reward=float(cells.mean(n, cells.sums.sum())),
            by_arm=by_arm,
            stretches=_stretches(cells, time),
            change=change,
            change_of_one=change_of_one,
            even=even,
            propensities=found,
            warnings=tuple(_warnings(by_arm, ends, change, change_of_one, found)),
            uses=tuple(_uses(len(arms), counts, change, change_of_one, even, found)),
            skipped=skipped,
        )

    def table(self) -> pd.DataFrame:
        """Return a data frame with a row for each arm.

        Returns
        -------
        DataFrame
            Columns arm, rows, share, reward (the mean), lower, upper: a 95 % interval of the mean, by Clopper
            and Pearson (exact) for 0/1 rewards, else by Student's t. It takes rows for independent; where
            arms were chosen by their rewards, the means themselves are biased.
        """
        import pandas as pd

        return pd.DataFrame(self.by_arm, columns=list(ArmRow._fields))

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain values: dicts, lists, texts, numbers; None in place of NaN."""
        return _plain(asdict(self))  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return "\n\n".join("\n".join(block) for block in _blocks(self) if block)


class _Cells(NamedTuple):
    """Rows and sums of rewards by arm and stretch, of shape (K, stretches); means and variances by arm.

    Rewards are less `center`, in units of `scale`: so nothing cancels, and no square is too large.
    """

    rows: Floats
    sums: Floats
    means: Floats
    variances: Floats
    binary: bool
    center: float
    scale: float

    @classmethod
    def of(cls, arm: NDArray[np.int32], reward: Floats, n_arms: int, stretches: int) -> Self:
        n = len(arm)
        low, high = float(reward.min()), float(reward.max())
        binary = bool(((reward == 0) | (reward == 1)).all())
        scale = 1.0 if binary else max(-low, high) or 1.0
        center = 0.0 if binary else low / scale / 2 + high / scale / 2
        rows, sums, squares = (np.zeros((n_arms, stretches)) for _ in range(3))
        for k in range(stretches):
            part = slice(n * k // stretches, n * (k + 1) // stretches)
            values = reward[part] / scale - center
            rows[:, k] = np.bincount(arm[part], minlength=n_arms)
            sums[:, k] = np.bincount(arm[part], values, minlength=n_arms)
            squares[:, k] = np.bincount(arm[part], values * values, minlength=n_arms)
        count = rows.sum(axis=1)
        means = np.divide(sums.sum(axis=1), count, out=np.full(n_arms, math.nan), where=count > 0)
        spread = squares.sum(axis=1) - count * means**2
        spread[~(spread > 1e-12 * squares.sum(axis=1))] = 0.0  # of equal rewards, rounding is left
        variances = np.divide(spread, count - 1, out=np.zeros(n_arms), where=count > 1)
        return cls(rows, sums, means, variances, binary, center, scale)

    def mean(self, rows: Any, sums: Any) -> Any:
        """Return the mean reward of sums over rows; NaN where there are none."""
        with np.errstate(invalid="ignore"):
            return (sums / rows + self.center) * self.scale

    def change(self) -> float:
        """Return the p value of the test of the module."""
        return _p_value(*self._scores(np.flatnonzero(self.variances > 0)))

    def change_of_one(self) -> float:
        counts = self.rows.sum(axis=1)
        likely = np.minimum(self.means, 1 - self.means) if self.binary else np.ones(len(counts))
        enough = (counts * likely >= ENOUGH * self.rows.shape[1]) & (self.variances > 0)
        found = [_p_value(*self._scores(np.array([k]))) for k in np.flatnonzero(enough)]
        return min(1.0, min(found) * len(found)) if found else math.nan

    def _scores(self, arms: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Return sums by stretch less what is expected, and their covariance."""
        rows, variances = self.rows[arms], self.variances[arms]
        shares = rows / rows.sum(axis=1, keepdims=True)
        scores = (self.sums[arms] - rows * self.means[arms, None]).sum(axis=0)
        covariance = np.diag(variances @ rows) - np.einsum("k,ks,kt->st", variances, rows, shares)
        return scores, covariance


def _p_value(scores: Floats, covariance: Floats) -> float:
    from scipy import stats

    rank = int(np.linalg.matrix_rank(covariance, hermitian=True)) if covariance.any() else 0
    if not rank:
        return math.nan
    statistic = float(scores @ np.linalg.pinv(covariance, hermitian=True) @ scores)
    return float(stats.chi2.sf(statistic, rank))


def _by_arm(arms: tuple[str, ...], cells: _Cells) -> tuple[ArmRow, ...]:
    from scipy import stats

    counts = cells.rows.sum(axis=1)
    means = cells.mean(counts, cells.sums.sum(axis=1))
    there = counts > 0
    lower, upper = np.full(len(arms), math.nan), np.full(len(arms), math.nan)
    if cells.binary:
        ones = np.rint(cells.sums.sum(axis=1))
        zeros = counts - ones
        lower[there] = np.where(ones > 0, stats.beta.ppf(0.025, np.maximum(ones, 1), zeros + 1), 0.0)[there]
        upper[there] = np.where(zeros > 0, stats.beta.ppf(0.975, ones + 1, np.maximum(zeros, 1)), 1.0)[there]
    else:
        several = counts > 1
        half = stats.t.ppf(0.975, counts[several] - 1) * np.sqrt(cells.variances[several] / counts[several])
        half *= cells.scale
        lower[several], upper[several] = means[several] - half, means[several] + half
    columns = (counts.astype(int), counts / counts.sum(), means, lower, upper)
    return tuple(ArmRow(*row) for row in zip(arms, *(column.tolist() for column in columns), strict=True))


def _stretches(cells: _Cells, time: NDArray[np.int64] | None) -> tuple[Stretch, ...]:
    rows = cells.rows.sum(axis=0).astype(int)
    firsts = np.concatenate([[0], np.cumsum(rows)[:-1]]).tolist()
    means = cells.mean(rows, cells.sums.sum(axis=0)).tolist()
    return tuple(
        Stretch(first + 1, n, None if time is None else _date(time[first]), mean)
        for first, n, mean in zip(firsts, rows.tolist(), means, strict=True)
    )


def _even(counts: Floats) -> float:
    from scipy import stats

    return float(stats.chisquare(counts).pvalue) if len(counts) > 1 else math.nan


def _propensities(propensity: Floats, available: float | Floats) -> Propensities | None:
    known = ~np.isnan(propensity)
    n = int(known.sum())
    if not n:
        return None
    values = propensity if n == len(propensity) else propensity[known]
    if isinstance(available, np.ndarray):
        options = available[known]
    else:
        options = np.broadcast_to(np.float64(available), n)
    sums = np.zeros(5)
    largest_weight = 0.0
    for begin in range(0, n, PIECE):  # so that little memory is needed
        part = slice(begin, begin + PIECE)
        weights = 1.0 / values[part]
        excess, uniform = weights - options[part], weights / options[part]
        sums += [excess.sum(), (excess**2).sum(), options[part].sum(), uniform.sum(), (uniform**2).sum()]
        largest_weight = max(largest_weight, float(uniform.max()))
    mean, square, expected = (sums[:3] / n).tolist()
    return Propensities(
        known=n / len(propensity),
        least=float(values.min()),
        quantiles=tuple(np.quantile(values, (0.1, 0.5, 0.9)).tolist()),
        largest=float(values.max()),
        mean_weight=expected + mean,
        se=math.sqrt(max(square - mean**2, 0.0) / (n - 1)) if n > 1 else math.nan,
        expected=expected,
        ess=float(sums[3] ** 2 / sums[4]),
        largest_weight=largest_weight,
    )


def _warnings(
    by_arm: tuple[ArmRow, ...],
    ends: tuple[float, float],
    change: float,
    change_of_one: float,
    propensities: Propensities | None,
) -> list[str]:
    found = []
    if len(by_arm) == 1:
        found.append("there is one arm: nothing was chosen.")
    never = [_shown(row.arm) for row in by_arm if not row.rows]
    if never:
        more = ", ..." if len(never) > LISTED else ""
        found.append(f"never shown: {counted(len(never), 'arm')} ({', '.join(never[:LISTED])}{more}).")
    if ends[0] == ends[1]:
        found.append(f"all rewards are {_value(ends[0])}.")
    tests = {"all arms together": change, "one arm alone": change_of_one}
    moved = [f"{what}: p = {_p(p)}" for what, p in tests.items() if p < SMALL]
    if moved:
        found.append(f"rates change over the log ({'; '.join(moved)}).")
    return found + ([] if propensities is None else _about(propensities))


def _about(propensities: Propensities) -> list[str]:
    found = []
    if propensities.known < 1:
        found.append(f"{1 - propensities.known:.1%} of the rows have no propensity.")
    if abs(propensities.far) > FAR:
        mean = f"the mean of 1/propensity is {_value(propensities.mean_weight)} +- {_value(propensities.se)}"
        arms = f"where {_value(propensities.expected)} arms were available"
        if propensities.far > 0:
            found.append(f"{mean}, {arms}: these are not the probabilities by which arms were chosen.")
        else:
            found.append(
                f"{mean}, {arms}: either some arms had no chance (a policy that does not draw gives its "
                "choice probability 1), or these are not the probabilities by which arms were chosen."
            )
    return found


def _uses(
    n_arms: int,
    counts: Floats,
    change: float,
    change_of_one: float,
    even: float,
    propensities: Propensities | None,
) -> list[Use]:
    names = ("queue replay", "rejection replay", "IPS, SNIPS, DR")
    if n_arms == 1:
        return [Use(name, "no", "there is one arm") for name in names]
    found = [_queue(int(counts.min()), change, change_of_one)]
    n = int(counts.sum())
    if propensities is None:
        without = "there are no propensities"
        found += [_by_even_shares(n // n_arms, even), ("no", without)]
    elif abs(propensities.far) > FAR or propensities.known < 1:
        found += [("no", _about(propensities)[-1].rstrip("."))] * 2
    else:
        least = propensities.least
        rows = int(n * least)
        matched = f"about {rows:,} of {n:,} rows count, as the least propensity is {least:.3g}"
        weights = (
            f"for the uniform rule the effective sample size is {propensities.ess:,.1f} of {n:,}, and the "
            f"largest weight {propensities.largest_weight:,.1f}"
        )
        verdicts = ["yes" if of >= FEW else "with care" for of in (rows, propensities.ess)]
        found += [(verdicts[0], matched), (verdicts[1], weights)]
    return [Use(name, *use) for name, use in zip(names, found, strict=True)]


def _queue(least: int, change: float, change_of_one: float) -> tuple[str, str]:
    moved = [p for p in (change, change_of_one) if p < SMALL]
    if moved:
        return "no", f"rates change (p = {_p(min(moved))})"
    if not least:
        return "no", "an arm was never shown, and a run ends when it is asked for"
    if math.isnan(change):
        return "with care", "nothing tells whether rates change"
    return "yes", f"no change of rates is seen (p = {_p(change)}); the rarest arm has {counted(least, 'row')}"


def _by_even_shares(rows: int, even: float) -> tuple[str, str]:
    if even >= SMALL:
        return "with care", (
            f"there are no propensities; shares are even (p = {_p(even)}), so about {rows:,} rows count if "
            "arms were drawn uniformly"
        )
    return "no", "there are no propensities" + (
        f", and shares are uneven (p = {_p(even)})" if even < SMALL else ""
    )


# Words


def _blocks(summary: Summary) -> list[list[str]]:
    return [
        _head(summary),
        _arm_lines(summary),
        _change_lines(summary),
        _propensity_lines(summary),
        [f"warning: {text}" for text in summary.warnings],
        [f"{use.method}: {use.verdict}: {use.reason}" for use in summary.uses],
    ]


def _head(summary: Summary) -> list[str]:
    span = "" if summary.span is None else f", {' to '.join(summary.span)} UTC"
    arms = counted(len(summary.by_arm), "arm")
    lines = [f"{counted(summary.rows, 'row')}, {arms}{span}; mean reward {_value(summary.reward)}"]
    if summary.skipped:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in summary.skipped.items())
        lines.append(f"left out: {kinds}")
    return lines


def _arm_lines(summary: Summary) -> list[str]:
    often = sorted(summary.by_arm, key=lambda row: -row.rows)[:LISTED]
    names = [_shown(row.arm) for row in often]
    width = max(3, *map(len, names))
    lines = [f"{'arm':<{width}}  {'rows':>11}  {'share':>6}  {'reward':>9}  95 %"]
    for name, row in zip(names, often, strict=True):
        ends = "–" if math.isnan(row.lower) else f"{_value(row.lower)} to {_value(row.upper)}"
        lines.append(f"{name:<{width}}  {row.rows:>11,}  {row.share:>6.1%}  {_value(row.reward):>9}  {ends}")
    more = len(summary.by_arm) - len(often)
    return [*lines, f"and {more:,} more"] if more else lines


def _change_lines(summary: Summary) -> list[str]:
    together, alone = _p(summary.change), _p(summary.change_of_one)
    return [
        f"mean reward in stretches of {counted(summary.stretches[0].rows, 'row')}:",
        " ".join(_value(stretch.reward) for stretch in summary.stretches),
        f"do rates change? all arms together: p = {together}; one arm alone: p = {alone}",
    ]


def _propensity_lines(summary: Summary) -> list[str]:
    found = summary.propensities
    if found is None:
        return []
    low, middle, high = map(_value, found.quantiles)
    return [
        f"propensities {_value(found.least)} to {_value(found.largest)} "
        f"(10 %: {low}, median {middle}, 90 %: {high})",
        f"mean of 1/propensity {_value(found.mean_weight)} +- {_value(found.se)}, "
        f"where {_value(found.expected)} arms were available",
    ]


def _shown(name: str) -> str:
    """Return a name that stays on its line."""
    name = name if len(name) <= 40 else f"{name[:37]}..."
    return name if name.isprintable() and name == name.strip() and name else repr(name)


def _value(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.4g}"


def _p(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2g}"


def _date(time: Any) -> str:
    return str(np.datetime64(int(time), "us").astype("datetime64[s]")).replace("T", " ")


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
