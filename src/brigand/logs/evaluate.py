"""What a fixed rule would have earned on the decisions of a log."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brigand import checks, display
from brigand.errors import InvalidValueError, UnknownNameError
from brigand.logs.estimators import Cells, demands, direct_scores, doubly_robust_scores
from brigand.logs.intervals import bernstein, bootstrap
from brigand.logs.log import Log
from brigand.logs.sequences import lower_running_mean
from brigand.logs.targets import Rule, Target, resolve
from brigand.rng import check_seed
from brigand.words import counted

if TYPE_CHECKING:
    import pandas

Floats = NDArray[np.float64]

ESTIMATORS = ("IPS", "SNIPS", "DM", "DR")
INTERVALS = ("bootstrap", "normal", "bernstein", "anytime")
RARE = 30
"""A segment's arm that was shown less often than this is rarely shown."""
FEW = 100
"""With a smaller effective sample size, or fewer rewards of one of two kinds, intervals are doubted."""
HEAVY = 0.05
"""A row that has more than this share of all weight is named."""
STRANGE = 5.0
"""Standard errors that a mean may be off before propensities are doubted: by chance in 6 of 10^7 logs."""


class Estimate(NamedTuple):
    """One estimator's value of a rule, per decision.

    Attributes
    ----------
    estimator : str
    value, se : float
        In the unit of the rewards; `se` is its standard error.
    lower, upper : float
        The interval; NaN where the kind that was asked for does not exist for this estimator.
    ess, max_weight : float
        Effective sample size (sum w)^2 / sum w^2, and the largest weight; NaN where there are none (DM).
    """

    estimator: str
    value: float
    se: float
    lower: float
    upper: float
    ess: float
    max_weight: float


@dataclass(frozen=True, repr=False)
class Evaluation:
    """What a rule would have earned, by several estimators.

    Attributes
    ----------
    estimates : tuple of Estimate
    warnings : tuple of str
        What speaks against believing them, each with the number that is its reason.
    diagnostics : dict of float
        ``rows``; of the weights ``ess``, ``max_weight``, ``mean_weight`` and ``mean_weight_se`` (their mean
        should be 1); ``mean_inverse_propensity`` (should be the number of arms available); the share of the
        rule's probability on arms that its segment ``never`` or ``rarely`` (under 30 times) showed.
    target : str
        The rule, in words.
    interval : str
    level : float
    """

    estimates: tuple[Estimate, ...]
    warnings: tuple[str, ...]
    diagnostics: dict[str, float]
    target: str
    interval: str
    level: float
    _sequences: dict[str, tuple[Floats, Floats]]

    def table(self) -> pandas.DataFrame:
        """Return a data frame with a row for each estimator: value, se, lower, upper, ess, max_weight."""
        import pandas as pd

        return pd.DataFrame(self.estimates, columns=list(Estimate._fields)).set_index("estimator")

    def over_time(self, estimator: str = "IPS") -> tuple[Floats, Floats]:
        """Return the lower and upper ends after each row, for intervals that are valid at all times.

        They are for the rule's mean value over the rows so far.

        Parameters
        ----------
        estimator : str
            ``"IPS"``, or ``"DR"`` where `max_weight` was given.

        Raises
        ------
        UnknownNameError
            The evaluation has no such intervals for this estimator.
        """
        if estimator not in self._sequences:
            raise UnknownNameError("estimator with intervals at all times", estimator, self._sequences)
        return self._sequences[estimator]

    @display.html_repr
    def _repr_html_(self) -> str:
        """Return a table of the estimates, a small figure of their intervals, and the warnings."""
        rows = [(e.estimator, e.value, e.se, e.lower, e.upper, e.ess, e.max_weight) for e in self.estimates]
        return display.block(
            f"Value per decision of: {self.target}",
            display.table(("estimator", "value", "se", "lower", "upper", "ess", "max weight"), rows),
            display.forest(
                ((e.estimator, e.value, e.lower, e.upper) for e in self.estimates),
                f"Each estimate with its {100 * self.level:g} % interval",
            ),
            *map(display.paragraph, self.warnings),
        )

    def __repr__(self) -> str:
        rows = counted(int(self.diagnostics["rows"]), "row")
        lines = [
            f"Value per decision of: {self.target}",
            f"{rows}, {100 * self.level:g}% intervals ({self.interval})",
            f"{'':6}{'value':>12}{'se':>12}{'lower':>12}{'upper':>12}{'ess':>12}{'max weight':>12}",
            *(
                f"{e.estimator:6}" + "".join(f"{'–' if math.isnan(x) else f'{x:.5g}':>12}" for x in e[1:])
                for e in self.estimates
            ),
            *(f"Warning: {text}" for text in self.warnings),
        ]
        return "\n".join(lines)


def evaluate(
    log: Log,
    target: Target,
    *,
    estimators: Sequence[str] = ESTIMATORS,
    clip: float | None = None,
    level: float = 0.95,
    interval: str = "bootstrap",
    support: tuple[float, float] | None = None,
    max_weight: float | None = None,
    folds: int | None = 20,
    block: int | None = None,
    seed: int | None = 0,
) -> Evaluation:
    """Return what a fixed rule would have earned per decision, had it chosen in place of what really chose.

    Parameters
    ----------
    log : Log
        In the order of time, with the propensities of what was chosen; without them only ``"DM"`` is
        possible.
    target : "uniform", str, mapping, or Log
        Uniform over the arms that were available in each row; always one arm; probabilities
        ``{arm: p}``, or ``{segment: {arm: p}}``; or another log, whose shares are taken (per segment, if both
        have segments). Where an arm is not available, the others share its probability in proportion.
    estimators : sequence of str
        Of ``"IPS"``, ``"SNIPS"``, ``"DM"``, ``"DR"``: see `brigand.logs.estimators`.
    clip : float or None
        Weights above are cut to this. IPS then is too low by the mean of (w - clip) r over the rows that were
        cut, as long as rewards are not negative; SNIPS and DR lean towards what the other rows say. The
        warning says how much weight was cut. The interval ``"anytime"`` of IPS holds in spite of it.
    level : float
        Of each interval.
    interval : str
        ``"bootstrap"``: percentiles of 2,000 resamples of blocks of time; for many
        rows. ``"normal"``: value ± z se. ``"bernstein"``: for IPS, holds at this n exactly, for independent
        rows (Maurer and Pontil 2009). ``"anytime"``: for IPS, and DR where `max_weight` is given; holds at
        all times at once, for a log that a bandit made and for rewards that move (`brigand.logs.sequences`).
    support : tuple of float, or None
        The range that no reward can leave; needed for the last two.
    max_weight : float or None
        What no weight can exceed, known without the log: the rule's largest probability over the least that
        the log's policy gives. By default ``"bernstein"`` takes the largest weight seen, and says so.
    folds : int or None
        Blocks of time of equal length; DR's means in a block are those of all blocks before. None: of all
        rows, which is not honest.
    block : int or None
        Rows in a block of the bootstrap, at most half of all: more where rewards that follow each other are
        alike. By default n^(1/3), and so many that there are 1,000 blocks at most.
    seed : int or None
        Of the bootstrap; None draws one.

    Returns
    -------
    Evaluation

    Raises
    ------
    InvalidValueError
        The log is empty, has one arm, or has never shown an arm that the target wants; propensities are
        missing in some rows; all rewards are equal (unless the interval knows their range); a value is not
        allowed.
    UnknownNameError
        An arm, segment, estimator or interval that is not known.

    Examples
    --------
    >>> import numpy as np, brigand as br
    >>> rng = np.random.default_rng(1)
    >>> arm = rng.integers(0, 2, 10_000)
    >>> reward = (rng.random(10_000) < np.array([0.2, 0.8])[arm]).astype(float)
    >>> log = br.Log(("a", "b"), arm.astype(np.int32), reward, np.full(10_000, 0.5))
    >>> br.evaluate(log, {"a": 0.3, "b": 0.7}).table().value.round(2).to_dict()
    {'IPS': 0.62, 'SNIPS': 0.62, 'DM': 0.62, 'DR': 0.62}
    """
    asked = _asked(log, estimators)
    clip = None if clip is None else checks.number("clip", clip, above=0)
    max_weight = None if max_weight is None else checks.number("max_weight", max_weight, above=0)
    folds = None if folds is None else checks.integer("folds", folds, 1)
    level = check_level(level)
    seed = check_seed(seed)
    if interval not in INTERVALS:
        raise UnknownNameError("interval", interval, INTERVALS)
    ends = _support(log, support, interval)
    check_log(log, bounded=ends is not None)
    block = None if block is None else checks.integer("block", block, 1, max(1, len(log) // 2))
    rule, cells = resolve(log, target), Cells(log)
    wanted, shown = demands(rule, cells.shape), cells.counts()
    _check_shown(log, wanted, shown)

    diagnostics = {
        "rows": float(len(log)),
        "never": float(wanted[shown == 0].sum()),
        "rarely": float(wanted[shown < RARE].sum()),
    }
    warnings = _thin(log, diagnostics, interval)
    weights = np.empty(0)
    if log.propensity is not None:
        whole = rule.chosen(log) / log.propensity
        if not whole.any():
            raise InvalidValueError("no row of the log has an arm that the target would choose there.")
        weights = whole if clip is None else np.minimum(whole, clip)
        diagnostics |= _describe(log, whole, weights)
        warnings += doubts(log) + _doubted(log, rule, whole, diagnostics)
        if max_weight is not None and whole.max() > max_weight * (1 + 1e-9):
            raise InvalidValueError(
                f"max_weight is {max_weight:g}, but a weight of the log is {whole.max():.6g}."
            )
        if clip is not None and whole.max() > clip:
            cut = 1 - weights.sum() / whole.sum()
            warnings.append(
                f"{counted(int((whole > clip).sum()), 'weight')} above {clip:g} cut: {cut:.1%} of all "
                "weight, which biases the values."
            )
    elif asked == ("DM",) and tuple(estimators) != ("DM",):
        warnings.append(
            "the log has no propensities: only DM is possible, which assumes that means do not move."
        )

    above, below = _terms(log, rule, cells, weights, asked, folds)
    values = {name: float(above[name].sum() / below[name].sum()) for name in asked}
    errors = {name: _standard_error(above[name], below[name], values[name]) for name in asked}
    nothing = (math.nan, math.nan)
    found, sequences = dict.fromkeys(asked, nothing), {}
    if interval == "bootstrap":
        drawn = bootstrap(
            [*above.values()], [*below.values()], level, np.random.Generator(np.random.PCG64(seed)), block
        )
        found = dict(zip(asked, drawn, strict=True))
    elif interval == "normal":
        from scipy import stats

        z = float(stats.norm.ppf((1 + level) / 2))
        found = {name: (values[name] - z * errors[name], values[name] + z * errors[name]) for name in asked}
    elif interval == "bernstein" and "IPS" in asked and ends is not None:
        largest = float(weights.max()) if max_weight is None else max_weight
        if max_weight is None:
            warnings.append(
                f"the interval takes {largest:.4g}, the largest weight of the log, for the largest that "
                "there can be: max_weight says what is known."
            )
        half = bernstein(above["IPS"], largest * (max(ends[1], 0) - min(ends[0], 0)), level)
        found["IPS"] = (max(values["IPS"] - half, ends[0]), min(values["IPS"] + half, ends[1]))
    elif interval == "anytime" and ends is not None:
        if "IPS" in asked:
            sequences["IPS"] = _anytime_ips(log.reward, weights, ends, level)
        if "DR" in asked and clip is None and max_weight is not None:
            sequences["DR"] = _anytime_dr(above["DR"], max_weight, ends, level)
        found |= {name: (float(low[-1]), float(high[-1])) for name, (low, high) in sequences.items()}
    without = [name for name in asked if math.isnan(found[name][0])]
    if without:
        hint = " DR has one where max_weight is given, and no clip." if interval == "anytime" else ""
        warnings.append(f"{', '.join(without)}: no interval {interval!r}.{hint}")

    def estimate(name: str) -> Estimate:
        ess, largest = nothing if name == "DM" else (diagnostics["ess"], diagnostics["max_weight"])
        return Estimate(name, values[name], errors[name], *found[name], ess, largest)

    return Evaluation(
        tuple(estimate(name) for name in asked),
        tuple(warnings),
        diagnostics,
        rule.text,
        interval,
        level,
        sequences,
    )


def _terms(
    log: Log, rule: Rule, cells: Cells, weights: Floats, asked: Sequence[str], folds: int | None
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Return, for each estimator, what is summed above and below the line."""
    ones, above, below = np.ones(len(log)), {}, {}
    for name in asked:
        below[name] = weights if name == "SNIPS" else ones
        if name == "DM":
            above[name] = direct_scores(rule, cells)
        elif name == "DR":
            above[name] = doubly_robust_scores(rule, cells, weights, folds)
        else:
            above[name] = weights * log.reward
    return above, below


def check_log(log: Log, *, bounded: bool = False) -> None:
    """Raise an error where nothing can be estimated from a log.

    Parameters
    ----------
    bounded : bool
        Whether the range of the rewards is known, so that rewards that are all equal still say something.
    """
    if not isinstance(log, Log):
        raise InvalidValueError(f"log must be a brigand.Log, not {type(log).__name__}.")
    if not len(log):
        raise InvalidValueError("the log is empty.")
    if len(log.arms) < 2:
        raise InvalidValueError(f"the log has one arm, {log.arms[0]!r}: there is nothing to choose.")
    if log.reward.min() == log.reward.max() and not bounded:
        raise InvalidValueError(
            f"all {len(log):,} rewards are {log.reward[0]:g}: how uncertain a mean is cannot be told from "
            "them. interval='anytime' or 'bernstein' with support=(low, high) can."
        )
    if log.propensity is not None:
        unknown = np.isnan(log.propensity)
        if unknown.any():
            raise InvalidValueError(
                f"the propensity is not known in {counted(int(unknown.sum()), 'row')} of {len(log):,} "
                f"(the first is row {int(np.argmax(unknown))}). Leave them out of the log only if whether it "
                "is known does not depend on the arm that was chosen."
            )


def doubts(log: Log) -> list[str]:
    """Return a warning if the mean of 1 / propensity is far from the number of arms available."""
    assert log.propensity is not None
    inverse = 1 / log.propensity
    if log.available is None or log.sets is None:
        arms = float(len(log.arms))
    else:
        arms = float(log.sets.sum(axis=1)[log.available].mean())
    mean, error = float(inverse.mean()), _error_of_mean(inverse)
    if abs(mean - arms) <= STRANGE * error or math.isclose(mean, arms, rel_tol=1e-6):
        return []
    return [
        f"the mean of 1 / propensity is {mean:.4g} ± {error:.2g}, and should be {arms:.4g}, the number of "
        "arms: arms had probability 0, or so little that they were not seen, or the propensities do not "
        "belong to this log."
    ]


def _asked(log: Log, estimators: Sequence[str]) -> tuple[str, ...]:
    names = (estimators,) if isinstance(estimators, str) else tuple(estimators)
    for name in names:
        if name not in ESTIMATORS:
            raise UnknownNameError("estimator", name, ESTIMATORS)
    if not names or len(set(names)) < len(names):
        raise InvalidValueError(f"estimators must be different names, one at least, not {estimators!r}.")
    if isinstance(log, Log) and log.propensity is None:
        if "DM" not in names:
            raise InvalidValueError(f"{', '.join(names)}: the log has no propensities, only DM is possible.")
        return ("DM",)
    return names


def check_level(level: float) -> float:
    """Return the level of an interval, in (0, 1)."""
    level = checks.number("level", level, 0, 1, above=0)
    if level == 1:
        raise InvalidValueError("level must be in (0, 1), not 1.")
    return level


def _support(log: Log, support: tuple[float, float] | None, interval: str) -> tuple[float, float] | None:
    """Return the range of rewards where the interval needs it."""
    if support is None:
        if interval in ("bernstein", "anytime"):
            raise InvalidValueError(
                f"interval={interval!r} needs support=(low, high), the range that no reward can leave."
            )
        return None
    ends = checks.interval("support", *checks.numbers_tuple("support", support)[:2])
    if isinstance(log, Log) and len(log):
        outside = (log.reward < ends[0]) | (log.reward > ends[1])
        if outside.any():
            at = int(np.argmax(outside))
            raise InvalidValueError(f"the reward of row {at}, {log.reward[at]:g}, is outside of {support}.")
    return ends if interval in ("bernstein", "anytime") else None


def _check_shown(log: Log, wanted: Floats, shown: Floats) -> None:
    never = (shown.sum(axis=0) == 0) & (wanted.sum(axis=0) > 0)
    if never.any():
        names = [name for name, is_never in zip(log.arms, never, strict=True) if is_never]
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        raise InvalidValueError(
            f"the log has never shown {', '.join(map(repr, names[:5]))}{more}, to which the target gives "
            f"{wanted.sum(axis=0)[never].sum():.3g} of all decisions: nothing in it tells what that earns."
        )


def _thin(log: Log, diagnostics: dict[str, float], interval: str) -> list[str]:
    """Return warnings of what was never or rarely shown, and of few rewards."""
    found = []
    if diagnostics["never"] > 0:
        found.append(
            f"{diagnostics['never']:.1%} of the target's decisions are arms that were never shown in their "
            "segment: IPS counts them as 0, SNIPS as all others, DM and DR as the arm elsewhere."
        )
    rarely = diagnostics["rarely"] - diagnostics["never"]
    if rarely > 0:
        found.append(
            f"{rarely:.1%} of the target's decisions are arms that were shown less than {RARE} times."
        )
    ends = np.array([log.reward.min(), log.reward.max()])
    counts = [int((log.reward == end).sum()) for end in ends]
    if interval in ("bootstrap", "normal") and sum(counts) == len(log) and min(counts) < FEW:
        found.append(
            f"{min(counts):,} of {len(log):,} rewards are {ends[np.argmin(counts)]:g}: with so few, "
            f"intervals of the kind {interval!r} miss more often than they say."
        )
    return found


def _describe(log: Log, whole: Floats, weights: Floats) -> dict[str, float]:
    assert log.propensity is not None
    return {
        "ess": float(weights.sum() ** 2 / (weights**2).sum()),
        "max_weight": float(weights.max()),
        "mean_weight": float(whole.mean()),
        "mean_weight_se": _error_of_mean(whole),
        "mean_inverse_propensity": float((1 / log.propensity).mean()),
    }


def _doubted(log: Log, rule: Rule, whole: Floats, diagnostics: dict[str, float]) -> list[str]:
    """Return warnings of what the weights show."""
    found = []
    mean, error = diagnostics["mean_weight"], diagnostics["mean_weight_se"]
    if abs(mean - 1) > STRANGE * error and not math.isclose(mean, 1, rel_tol=1e-6):
        found.append(
            f"the mean weight is {mean:.4g} ± {error:.2g}, and should be 1: the propensities do not belong "
            "to this log, or it has too few rows of what the target wants."
        )
    if diagnostics["ess"] < FEW:
        found.append(f"the effective sample size is {diagnostics['ess']:.1f}, of {len(log):,} rows.")
    heaviest = whole.max() / whole.sum()
    if heaviest > HEAVY:
        found.append(f"row {int(np.argmax(whole))} alone has {heaviest:.0%} of all weight.")
    return found


def _error_of_mean(x: Floats) -> float:
    return float(x.std(ddof=1) / math.sqrt(len(x))) if len(x) > 1 else math.inf


def _standard_error(above: Floats, below: Floats, value: float) -> float:
    """Return the standard error of a ratio of sums, by the delta method; of a mean, if `below` is 1."""
    n = len(above)
    if n < 2:
        return math.inf
    residual = above - value * below
    return float(np.sqrt((residual**2).sum() * n / (n - 1)) / below.sum())


def _anytime_ips(
    reward: Floats, weights: Floats, ends: tuple[float, float], level: float
) -> tuple[Floats, Floats]:
    """Return bounds for a value, from importance weights that have no known bound.

    With rewards in [0, 1], w r >= 0 has the rule's value for its mean, and w (1 - r) one minus that: the
    mirror image of Waudby-Smith et al. (2022). Cut weights make both smaller, and the interval holds.
    """
    unit = np.clip((reward - ends[0]) / (ends[1] - ends[0]), 0, 1)
    half = (1 + level) / 2
    lower = lower_running_mean(weights * unit, half)
    return _scaled(lower, 1 - lower_running_mean(weights * (1 - unit), half), ends)


def _anytime_dr(
    scores: Floats, max_weight: float, ends: tuple[float, float], level: float
) -> tuple[Floats, Floats]:
    """Return bounds for a value, from doubly robust scores, where no weight exceeds `max_weight` M.

    With rewards and means in [0, 1], w (r - q) + sum pi q >= -M, and one minus it is the same of mirrored
    rewards: so (score + M) / (1 + M) is nonnegative, as in Waudby-Smith et al. (2022), whose k is our M.
    """
    unit = (scores - ends[0]) / (ends[1] - ends[0])
    half = (1 + level) / 2

    def bound(x: Floats) -> Floats:
        scaled = np.maximum((x + max_weight) / (1 + max_weight), 0)
        return np.clip((1 + max_weight) * lower_running_mean(scaled, half) - max_weight, 0, 1)

    return _scaled(bound(unit), 1 - bound(1 - unit), ends)


def _scaled(lower: Floats, upper: Floats, ends: tuple[float, float]) -> tuple[Floats, Floats]:
    low, high = ends
    return low + (high - low) * lower, low + (high - low) * upper
