"""Means of arms, and their differences, from a log that a bandit made.

The mean of the rewards that a bandit got from an arm is biased: an arm that begins badly is left alone, and
its bad beginning stays (Nie, Tian, Taylor and Zou 2018; Shin, Ramdas and Rinaldo 2019). It is also an average
over the times at which the arm was shown, and where rewards move in time and shares move with them, a
difference of two such means is Simpson's paradox.

In a stratum (a block of time) the mean of arm a is estimated by ::

    m = sum u r / sum u   over the rows in which a was chosen, with propensity p

- ``"adaptive"``: u = p^(-1/2). Then u (r - mu), and 0 where another arm was chosen, are martingale
  differences with the same conditional variance in each row, whatever p did: the sum is asymptotically normal
  where that of inverse propensities is not. This is the square-root weight of Zhang, Janson and Murphy
  (2021); and the estimating equation of Hadad, Hirshberg, Zhan, Wager and Athey (2021), an AIPW with their
  weights of constant allocation, sqrt(p_t(a)), in which the arm's running mean is replaced by the estimate
  itself. With running means one would need p_t(a) also in the rows that chose another arm, which logs do not
  have: with the estimate itself those rows drop out.
- ``"inverse"``: u = 1 / p. Every row of the stratum counts the same, whatever the arm's share was then, so
  rewards may move. Wide, and not normal, where p comes near 0.
- ``"equal"``: u = 1, for logs without propensities: the sample mean of each stratum.

The mean over the log's time is the average of the strata, weighted by their rows. A difference of two arms is
the average of their differences within strata, weighted as by Cochran, Mantel and Haenszel, n_a n_b / (n_a +
n_b).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brigand import checks
from brigand.errors import InvalidValueError, UnknownNameError
from brigand.logs.evaluate import check_level, check_log, doubts
from brigand.logs.log import Log

if TYPE_CHECKING:
    import pandas

Floats = NDArray[np.float64]

WEIGHTS = ("adaptive", "inverse", "equal")
FEW = 30
"""Effective rows below which an interval is doubted."""
TENTHS = 10
MOVED = 1e-4
"""The level, for all arms together, of the test that says that rewards moved."""
ENOUGH = 20
"""Rewards of an arm in a tenth of the log, for that test."""


class ArmMean(NamedTuple):
    """The mean of an arm, or the difference of two.

    Attributes
    ----------
    arm : str
    rows : int
        In which it was chosen.
    sample_mean : float
        Of its rewards; of two arms, the difference.
    value, se, lower, upper : float
        Estimate, standard error, and interval (Student, with Satterthwaite's degrees of freedom for rewards
        of one variance); NaN where no stratum has two rewards, and the last three where all rewards are
        equal.
    ess : float
        Effective number of rows: of so many rows with equal weights the mean would be as uncertain.
    covered : float
        The share of the log's rows in strata where it was chosen twice at least.
    """

    arm: str
    rows: int
    sample_mean: float
    value: float
    se: float
    lower: float
    upper: float
    ess: float
    covered: float


@dataclass(frozen=True, repr=False)
class ArmMeans:
    """Means of the arms of a log.

    Attributes
    ----------
    means : tuple of ArmMean
    warnings : tuple of str
        What speaks against believing them, with the number that is the reason.
    weights : str
    level : float
    """

    means: tuple[ArmMean, ...]
    warnings: tuple[str, ...]
    weights: str
    level: float
    _strata: _Strata

    def table(self) -> pandas.DataFrame:
        """Return a data frame with a row for each arm, and the fields of `ArmMean` as columns."""
        return _frame(self.means)

    def difference(self, arm: str, baseline: str) -> ArmMean:
        """Return what an arm's mean is above another's.

        Parameters
        ----------
        arm, baseline : str
            Names of arms.

        Raises
        ------
        UnknownNameError
            The log has no such arm.
        """
        names = [mean.arm for mean in self.means]
        for name in (arm, baseline):
            if name not in names:
                raise UnknownNameError("arm", name, names)
        return self._strata.difference(names.index(arm), names.index(baseline), self.level)

    def differences(self, baseline: str) -> pandas.DataFrame:
        """Return a data frame with :meth:`difference` of each other arm from one.

        Parameters
        ----------
        baseline : str
            Name of an arm.

        Raises
        ------
        UnknownNameError
            The log has no such arm.
        """
        others = [mean.arm for mean in self.means if mean.arm != baseline]
        return _frame([self.difference(arm, baseline) for arm in others])

    def __repr__(self) -> str:
        lines = [
            f"Means of arms, {self.weights} weights, {100 * self.level:g}% intervals",
            f"{'':16}{'rows':>10}{'sample mean':>13}{'value':>12}{'se':>12}{'lower':>12}{'upper':>12}",
            *(
                f"{m.arm[:15]:16}{m.rows:10,}{m.sample_mean:13.5g}"
                + "".join(f"{x:12.5g}" for x in (m.value, m.se, m.lower, m.upper))
                for m in self.means
            ),
            *(f"Warning: {text}" for text in self.warnings),
        ]
        return "\n".join(lines)


def arm_means(
    log: Log, *, weights: str | None = None, strata: int | ArrayLike = 10, level: float = 0.95
) -> ArmMeans:
    """Return the mean reward of each arm, from a log whose arms were chosen by what was seen before.

    Parameters
    ----------
    log : Log
        In the order of time.
    weights : "adaptive", "inverse", "equal", or None
        See `brigand.logs.arm_means`. None: adaptive if the log has propensities, else equal.
    strata : int, or array of int of shape (n,)
        Blocks of time of equally many rows; or the stratum of each row. Within a stratum an arm's mean is
        taken to be the same (but for ``"inverse"``). 1 takes the mean to be the same always, which makes the
        intervals narrower, and those of rarely chosen arms possible; a warning says if it is not.
    level : float
        Of each interval, for one arm or difference.

    Returns
    -------
    ArmMeans
        With :meth:`ArmMeans.table` and :meth:`ArmMeans.differences`.

    Raises
    ------
    InvalidValueError
        The log is empty, has one arm, all its rewards are equal, it has no propensities where weights need
        them, or they are missing in some rows.
    UnknownNameError
        There are no such weights.

    Examples
    --------
    >>> import numpy as np, brigand as br
    >>> rng = np.random.default_rng(1)
    >>> chance = np.repeat([0.5, 0.9], 5000)           # of choosing a: its share grows, as all rewards do
    >>> arm = (rng.random(10_000) > chance).astype(np.int32)
    >>> reward = (rng.random(10_000) < np.repeat([0.1, 0.2], 5000)).astype(float)
    >>> log = br.Log(("a", "b"), arm, reward, np.where(arm == 0, chance, 1 - chance))
    >>> d = br.arm_means(log).difference("a", "b")
    >>> bool(d.sample_mean > 0.04), bool(d.lower < 0 < d.upper)
    (True, True)
    """
    check_log(log)
    level = check_level(level)
    if weights is None:
        weights = "equal" if log.propensity is None else "adaptive"
    if weights not in WEIGHTS:
        raise UnknownNameError("weights", weights, WEIGHTS)
    if weights == "equal":
        u = np.ones(len(log))
    elif log.propensity is None:
        raise InvalidValueError(f"weights={weights!r} need propensities, which the log does not have.")
    else:
        u = log.propensity ** (-0.5 if weights == "adaptive" else -1.0)
    found = _Strata(log, u, _labels(log, strata))
    means = tuple(found.mean(a, level) for a in range(len(log.arms)))
    warnings = [] if log.propensity is None else doubts(log)
    never = [mean.arm for mean in means if mean.rows == 0]
    if never:
        warnings.append(f"never chosen: {', '.join(never[:5])}{', ...' if len(never) > 5 else ''}.")
    partly = [mean for mean in means if mean.rows and mean.covered < 1]
    if partly:
        worst = min(partly, key=lambda mean: mean.covered)
        warnings.append(
            f"{len(partly)} of {len(means)} arms were chosen less than twice in some strata, which their "
            f"means leave out: that of {worst.arm!r} is of {worst.covered:.0%} of the log."
        )
    few = [mean for mean in means if mean.rows and mean.ess < FEW]
    if few:
        worst = min(few, key=lambda mean: mean.ess)
        warnings.append(
            f"{len(few)} of {len(means)} means rest on less than {FEW} effective rows, that of {worst.arm!r} "
            f"on {worst.ess:.1f}: their intervals miss more often than they say."
        )
    constant = [mean for mean in means if not np.isnan(mean.value) and np.isnan(mean.se)]
    if constant:
        warnings.append(
            f"{len(constant)} of {len(means)} arms have rewards that are all equal, {constant[0].arm!r} "
            "among them: no intervals."
        )
    if found.count == 1 and weights != "inverse":
        warnings += _moved(log, u)
    return ArmMeans(means, tuple(warnings), weights, level, found)


class _Strata:
    """Weighted means of all arms in all strata, tables of shape (strata, K), and what they add up to."""

    def __init__(self, log: Log, u: Floats, labels: NDArray[np.int64]) -> None:
        self.arms, self.count = log.arms, int(labels.max()) + 1
        shape = (self.count, len(log.arms))
        place = labels * len(log.arms) + log.arm

        def total(x: Floats | None = None) -> Floats:
            return np.bincount(place, x, shape[0] * shape[1]).astype(np.float64).reshape(shape)

        self.n, self.sums, weight = total(), total(log.reward), total(u)
        with np.errstate(invalid="ignore", divide="ignore"):
            self.value = total(u * log.reward) / weight
            squares = total((u * (log.reward - self.value.ravel()[place])) ** 2)
            self.variance = np.where(self.n > 1, squares / weight**2 * self.n / (self.n - 1), np.nan)
            self.effective = weight**2 / total(u * u)
        self.share = np.bincount(labels, minlength=self.count) / len(log)

    def mean(self, a: int, level: float) -> ArmMean:
        used = self.n[:, a] > 1
        n = self.n[:, a].sum()
        return self._combined(
            self.arms[a],
            int(n),
            self.sums[:, a].sum() / n if n else np.nan,
            used,
            self.share,
            self.value[:, a],
            [self.variance[:, a]],
            [self.effective[:, a]],
            level,
        )

    def difference(self, a: int, b: int, level: float) -> ArmMean:
        n, used = self.n, (self.n[:, a] > 1) & (self.n[:, b] > 1)
        means = [self.sums[:, arm].sum() / n[:, arm].sum() if n[:, arm].any() else np.nan for arm in (a, b)]
        return self._combined(
            self.arms[a],
            int(n[:, a].sum()),
            means[0] - means[1],
            used,
            n[:, a] * n[:, b] / np.maximum(n[:, a] + n[:, b], 1),
            self.value[:, a] - self.value[:, b],
            [self.variance[:, arm] for arm in (a, b)],
            [self.effective[:, arm] for arm in (a, b)],
            level,
        )

    def _combined(
        self,
        arm: str,
        rows: int,
        sample_mean: float,
        used: NDArray[np.bool_],
        parts: Floats,
        values: Floats,
        variances: Sequence[Floats],
        effective: Sequence[Floats],
        level: float,
    ) -> ArmMean:
        from scipy import stats

        if not used.any():
            return ArmMean(arm, rows, float(sample_mean), *(np.nan,) * 4, 0.0, 0.0)
        f = parts[used] / parts[used].sum()
        value = float(f @ values[used])
        terms = np.concatenate([f**2 * variance[used] for variance in variances])
        plan = np.concatenate([f**2 / n[used] for n in effective])
        freedom = np.concatenate([np.maximum(n[used] - 1, 1) for n in effective])
        se = (
            float(np.sqrt(terms.sum())) or np.nan
        )  # rewards that are all equal do not tell how uncertain it is
        t = float(stats.t.ppf((1 + level) / 2, plan.sum() ** 2 / (plan**2 / freedom).sum()))
        return ArmMean(
            arm,
            rows,
            float(sample_mean),
            value,
            se,
            float(value - t * se),
            float(value + t * se),
            float(1 / plan.sum()),
            float(self.share[used].sum()),
        )


def _labels(log: Log, strata: int | ArrayLike) -> NDArray[np.int64]:
    """Return the stratum of each row: 0, 1, ..."""
    if np.ndim(strata) == 0:
        count = min(checks.integer("strata", strata, 1), len(log))
        return np.arange(len(log)) * count // len(log)
    given = np.asarray(strata)
    if given.shape != (len(log),) or given.dtype.kind not in "iu":
        raise InvalidValueError(f"strata must be a number, or {len(log)} integers, one a row of the log.")
    labels: NDArray[np.int64] = np.unique(given, return_inverse=True)[1].astype(np.int64)
    return labels


def _moved(log: Log, u: Floats) -> list[str]:
    """Return a warning if the mean of an arm is not the same in all tenths of the log."""
    from scipy import stats

    if len(log) < TENTHS * ENOUGH:
        return []
    tenths = _Strata(log, u, np.arange(len(log)) * TENTHS // len(log))
    used = (tenths.n >= ENOUGH) & (tenths.variance > 0)
    precision = np.where(used, 1 / np.where(used, tenths.variance, 1), 0)
    values = np.where(used, tenths.value, 0)
    means = (precision * values).sum(axis=0) / np.maximum(precision.sum(axis=0), 1e-300)
    chi2 = (precision * (values - means) ** 2).sum(axis=0)
    freedom = used.sum(axis=0) - 1
    p = np.where(freedom > 0, stats.chi2.sf(chi2, np.maximum(freedom, 1)), 1)
    a = int(np.argmin(p))
    if p[a] * len(log.arms) > MOVED:
        return []
    of = tenths.value[used[:, a], a]
    return [
        f"the mean of {log.arms[a]!r} moved, from {of.min():.4g} to {of.max():.4g} in tenths of the log "
        f"(chi-square {chi2[a]:.0f}, {freedom[a]} degrees of freedom): strata=10 takes it to be the same "
        "in tenths only."
    ]


def _frame(means: Sequence[ArmMean]) -> pandas.DataFrame:
    import pandas as pd

    return pd.DataFrame(means, columns=list(ArmMean._fields)).set_index("arm")
