"""What the page of one bandit shows: sentences, tables and charts, without HTML."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from brigand.dashboard import charts
from brigand.dashboard.charts import Arm, Layer, Time
from brigand.dashboard.tables import COUNT, NUMBER, SHARE, TEXT, TIME, Chart, Table, shown
from brigand.live import look_up, metrics, report
from brigand.live.gain import Earned, Gain
from brigand.live.series import Mark, Series
from brigand.live.status import SAID
from brigand.live.verdict import Verdict, verdict
from brigand.policies.titles import policy_title
from brigand.words import counted, visible

LEVEL = 0.95
SHOWN = 20
"""Arms in the forest plot."""
LAYERS = 7
"""Arms that have a layer or a curve of their own."""
POINTS = 32
"""Values of a curve, and rows of a table over time."""
FEWEST = 10
"""Rewards that a point of an arm's curve has."""
SIGNS = 20
"""Marks on the axis of time: the latest."""
OFTEN = 20.0
COUNTED = {
    "traffic": "Share of traffic",
    "rewards": "Reward over time",
    "explored": "Forced against greedy",
    "pending": "Pending and late rewards",
    "changes": "Changes and notes, the latest first",
}
"""What is made of the decisions and rewards over time."""
DID = {
    "add": "added",
    "remove": "removed",
    "pause": "paused",
    "resume": "resumed",
    "end": "ended with",
    "note": "note",
}
NO_HOLDOUT = (
    "Not measured: this bandit has no holdout. With holdout=0.05, chance answers one ask in twenty, and what "
    "the policy earns over an even split can be told."
)


class Watch:
    """A bandit that is looked at again and again: what was counted is kept.

    Parameters
    ----------
    bandit : Bandit
    name : str
    """

    def __init__(self, bandit: Any, name: str) -> None:
        self.bandit, self.name = bandit, name
        self._series = Series(bandit)
        self.earned = Earned(bandit) if bandit._settings.holdout > 0.0 else None
        self._metrics = Kept(lambda: metrics.metrics(bandit, LEVEL))

    def gain(self) -> Gain | None:
        """Return what the bandit earns over an even split; None without a holdout."""
        return None if self.earned is None else self.earned.gain(LEVEL)

    def counted(self) -> Series:
        """Return the decisions and rewards over time, as they are now and remain in what is returned."""
        return copy.copy(self._series.refresh())

    def metrics(self) -> list[dict[str, Any]]:
        """Return what was told of other metrics, not long ago."""
        rows: list[dict[str, Any]] = self._metrics()
        return rows


class Kept:
    """What takes long to make is made again only after `OFTEN` times as long.

    Parameters
    ----------
    make : callable
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make, self._made, self._until = make, None, -math.inf

    def __call__(self) -> Any:
        """Return it."""
        began = time.monotonic()
        if began >= self._until:
            self._made = self._make()
            now = time.monotonic()
            self._until = now + OFTEN * (now - began)
        return self._made


@dataclass(frozen=True)
class View:
    """What is known of a bandit.

    Attributes
    ----------
    name, policy, status : str
    ended_with : str or None
    arms : list of str
        In service.
    steps : int
    last_at : float or None
        When the last decision was made.
    verdict : Verdict
    gain : str
        What it earns over an even split, in words; nothing as long as it is being counted.
    facts : list of (str, str)
        Numbers of the whole bandit.
    charts : list of Chart
    counting : list of (str, str)
        Names and titles of charts that are not there yet.
    tables : list of Table
        Those without a chart.
    note : str
        What the intervals are.
    """

    name: str
    policy: str
    status: str
    ended_with: str | None
    arms: list[str]
    steps: int
    last_at: float | None
    verdict: Verdict
    gain: str
    facts: list[tuple[str, str]]
    charts: list[Chart]
    counting: list[tuple[str, str]]
    tables: list[Table]
    note: str

    def table(self, name: str) -> Table | None:
        """Return a table by its name, also that of a chart."""
        all_ = [*self.tables, *(chart.table for chart in self.charts)]
        return next((table for table in all_ if table.name == name), None)


def view_of(watch: Watch, gain: Gain | str | None, series: Series | None) -> View:
    """Return what is known of a bandit now; nothing is written.

    Parameters
    ----------
    watch : Watch
    gain : Gain, str or None
        As `Watch.gain` gives it; or what is said in its place.
    series : Series or None
        As `Watch.counted` gives it; None as long as it is being counted.

    Raises
    ------
    StorageError
        The store cannot be read.
    """
    bandit = watch.bandit
    said = verdict(bandit, LEVEL, None)
    with bandit._session.reading() as session:
        engine = session.engine
        serving, status = len(engine.row_of), SAID[engine.status]
        ended_with = engine.names[engine.ended_with] if engine.ended_with >= 0 else None
        steps = engine.steps
        last_at = session.log.asked_at(steps)
    each = 1.0 - (1.0 - LEVEL) / max(1, serving)
    rows = report.summary(bandit, each, None, removed=True)
    return View(
        watch.name,
        policy_title(bandit.policy),
        status,
        ended_with,
        [row["arm"] for row in rows if row["in_service"]],
        steps,
        last_at,
        said,
        gain if isinstance(gain, str) else gain_text(gain),
        _facts(rows, 0 if series is None else int(series.late.sum())),
        [_forest(rows, said), *([] if series is None else _over_time(series))],
        list(COUNTED.items()) if series is None else [],
        [*_metrics(watch.metrics()), *([] if series is None else [_changes(series.marks)])],
        _meaning(bandit, rows),
    )


def _over_time(series: Series) -> list[Chart]:
    if not series.steps:
        return []
    signs = series.marks[-SIGNS:]
    axis = Time(
        series.width,
        series.steps,
        series.first_at[: series.used],
        [(mark.step, str(place)) for place, mark in enumerate(signs, 1)],
    )
    legend = [(str(place), _said_of(mark)) for place, mark in enumerate(signs, 1)]
    return [chart(series, axis, legend) for chart in (_traffic, _rewards, _explored, _became)]


def gain_text(gain: Gain | None) -> str:
    """Return what a bandit earns over an even split, in words; None: it has no holdout."""
    return NO_HOLDOUT if gain is None else _gain_text(gain).replace("-", "\N{MINUS SIGN}")


def _gain_text(gain: Gain) -> str:
    if math.isnan(gain.gain):
        return "There is no reward yet."
    beside = f"by {counted(gain.holdout, 'reward')} of asks that chance answered"
    if not math.isfinite(gain.upper - gain.lower):
        return f"{gain.gain:+.3g} a decision so far, {beside}; they are too few for an interval."
    ends = f"({gain.lower:+.3g} to {gain.upper:+.3g})"
    if gain.lower <= 0.0 <= gain.upper:
        return f"Not known yet: {gain.gain:+.3g} a decision {ends} over an even split, {beside}."
    more = "more" if gain.gain > 0 else "less"
    share = f", {abs(gain.gain / gain.even):.0%} {more}," if gain.even > 0 else ""
    whole = gain.gain * gain.decisions
    return (
        f"A decision earns {gain.gain:+.3g} {ends}{share} over an even split, {beside}: {whole:+,.4g} in "
        f"{counted(gain.decisions, 'decision')} of the policy."
    )


def _facts(rows: list[dict[str, Any]], late: int) -> list[tuple[str, str]]:
    asked, told, defaulted = (sum(row[key] for row in rows) for key in ("asked", "told", "defaulted"))
    pending = sum(row["pending"] for row in rows)
    mean = sum(row["told"] * row["mean"] for row in rows if row["told"]) / told if told else math.nan
    explored = (
        sum(row["explored"] * row["asked"] for row in rows if row["asked"]) / asked if asked else math.nan
    )
    facts = [
        ("decisions", f"{asked:,}"),
        ("rewards", f"{told:,}"),
        ("reward per 1,000 rewarded asks", shown(1000.0 * mean, NUMBER)),
        ("waiting for a reward", f"{pending:,}"),
        ("explored", shown(explored, SHARE)),
    ]
    if defaulted:
        facts.append(("defaults in place of rewards", f"{defaulted:,}"))
    if late:
        facts.append(("rewards for history only", f"{late:,}"))
    return facts


def _forest(rows: list[dict[str, Any]], said: Verdict) -> Chart:
    order = sorted(enumerate(rows), key=lambda one: -one[1]["mean"] if one[1]["told"] else math.inf)
    order.sort(key=lambda one: not one[1]["in_service"])
    serving = [(place, row) for place, row in order if row["in_service"]]
    arms = [
        Arm(place, row["arm"], row["mean"], row["lower"], row["upper"], counted(row["told"], "reward"))
        for place, row in serving[:SHOWN]
    ]
    columns = (
        ("arm", TEXT),
        ("mean", NUMBER),
        ("lower", NUMBER),
        ("upper", NUMBER),
        ("asked", COUNT),
        ("share", SHARE),
        ("rewards", COUNT),
        ("waiting", COUNT),
        ("explored", SHARE),
        ("in service", TEXT),
    )
    total = max(1, sum(row["asked"] for row in rows))
    table = Table(
        "arms",
        "Arms, the highest mean first",
        columns,
        [
            [
                *(row[key] for key in ("arm", "mean", "lower", "upper", "asked")),
                row["asked"] / total,
                *(row[key] for key in ("told", "pending", "explored")),
                "yes" if row["in_service"] else "no",
            ]
            for _, row in order
        ],
    )
    more = (
        f" The {SHOWN} with the highest means of {len(serving):,}; the table has all."
        if len(serving) > SHOWN
        else ""
    )
    note = f"Mean reward of each arm, with an interval that may be looked at every day.{more}"
    draw = charts.forest(arms, "Arms", f"{said.text} {note}")
    return Chart("arms", "Arms", note, draw, table)


def _groups(series: Series) -> tuple[int, int]:
    """Return how many buckets make one row of a table, and how many rows there are."""
    group = -(-series.used // POINTS)
    return group, -(-series.used // group)


def _grouped(series: Series, values: Any) -> Any:
    """Return sums of buckets, row by row of a table."""
    group, rows = _groups(series)
    used = values[: series.used]
    more = [(0, rows * group - len(used)), *[(0, 0)] * (used.ndim - 1)]
    return np.pad(used, more).reshape(rows, group, *used.shape[1:]).sum(axis=1)


def _table(series: Series, name: str, title: str, columns: Iterable[tuple[str, Any]], kind: str) -> Table:
    """Return a table over time of columns that have a value for each of its rows."""
    group, rows = _groups(series)
    width, titles, values = group * series.width, [], []
    for column, numbers in columns:
        titles.append((visible(column), kind))
        values.append([float(number) for number in numbers])
    found: list[list[Any]] = []
    for place in range(rows):
        first = series.first_at[place * group : (place + 1) * group].min()
        last = min((place + 1) * width, series.steps)
        found.append([place * width + 1, last, float(first), *(column[place] for column in values)])
    return Table(name, title, (("from decision", COUNT), ("to", COUNT), ("from (UTC)", TIME), *titles), found)


def _most_asked(series: Series) -> list[int]:
    order = np.argsort(-series.asked.sum(axis=0), kind="stable")
    return sorted(order[:LAYERS].tolist())


def _traffic(series: Series, axis: Time, legend: list[tuple[str, str]]) -> Chart:
    rows = _most_asked(series)
    others = [row for row in range(len(series.names)) if row not in rows]

    def layers(asked: Any) -> list[Layer]:
        shares = asked / np.maximum(1, asked.sum(axis=1, keepdims=True))
        found = [Layer(row, series.names[row], shares[:, row]) for row in rows]
        if others:
            found.append(
                Layer(None, counted(len(others), "other arm"), shares[:, others].sum(axis=1), "area other")
            )
        return found

    title = COUNTED["traffic"]
    note = "Of the asks in each stretch of decisions, how many each arm got."
    table = _table(
        series,
        "traffic",
        title,
        [(one.name, one.values) for one in layers(_grouped(series, series.asked))],
        SHARE,
    )
    draw = charts.stacked(layers(series.asked[: series.used]), axis, title, note)
    return Chart("traffic", title, note, draw, table, legend)


def _rewards(series: Series, axis: Time, legend: list[tuple[str, str]]) -> Chart:
    told, reward = _grouped(series, series.told), _grouped(series, series.reward)
    group, _ = _groups(series)
    with np.errstate(invalid="ignore"):
        curves = [Layer(None, "all decisions", reward.sum(axis=1) / told.sum(axis=1), "whole")]
        means = np.where(told >= FEWEST, reward / told, np.nan)
        curves += [Layer(row, series.names[row], means[:, row]) for row in _most_asked(series)]
    title = COUNTED["rewards"]
    note = (
        "Mean reward of the decisions in each stretch, by when they were made: late rewards are put there. "
        f"Of an arm, where it has {FEWEST} rewards at least."
    )
    coarse = axis._replace(width=group * series.width, first_at=series.first_at[: series.used : group])
    draw = charts.lines(curves, coarse, "mean reward", title, note)
    table = _table(series, "rewards", title, [(one.name, one.values) for one in curves], NUMBER)
    return Chart("rewards", title, note, draw, table, legend)


def _explored(series: Series, axis: Time, legend: list[tuple[str, str]]) -> Chart:
    def layers(explored: Any, asked: Any) -> list[Layer]:
        share = explored / np.maximum(1, asked)
        there = (asked > 0).astype(float)
        return [
            Layer(None, "explored, or forced", share, "area first"),
            Layer(None, "greedy", there - share, "area second"),
        ]

    asked = series.asked.sum(axis=1)
    title = COUNTED["explored"]
    note = "Explored: the arm was chosen although another one had a higher mean, or before it had any reward."
    fine = layers(series.explored[: series.used], asked[: series.used])
    coarse = layers(_grouped(series, series.explored), _grouped(series, asked))
    table = _table(series, "explored", title, [(one.name, one.values) for one in coarse], SHARE)
    return Chart("explored", title, note, charts.stacked(fine, axis, title, note), table, legend)


def _became(series: Series, axis: Time, legend: list[tuple[str, str]]) -> Chart:
    def layers(asked: Any, told: Any, defaulted: Any, late: Any) -> list[Layer]:
        rest = np.maximum(0, late - np.maximum(0, told + late - asked))
        waiting = np.maximum(0, asked - told - rest)
        parts = (told - defaulted, defaulted, rest, waiting)
        names = ("learned", "default in its place", "for history only", "waiting")
        whole = np.maximum(1, sum(parts))
        styles = ("area first", "area second", "area third", "area other")
        found = [
            Layer(None, name, part / whole, style)
            for name, part, style in zip(names, parts, styles, strict=True)
        ]
        return [one for one in found if one.values.any() or one.name in ("learned", "waiting")]

    sums = (series.asked.sum(axis=1), series.told.sum(axis=1), series.defaulted, series.late)
    title = COUNTED["pending"]
    note = "What has become of the rewards of the decisions in each stretch, until now."
    fine = layers(*(values[: series.used] for values in sums))
    coarse = layers(*(_grouped(series, values) for values in sums))
    table = _table(series, "pending", title, [(one.name, one.values) for one in coarse], SHARE)
    return Chart("pending", title, note, charts.stacked(fine, axis, title, note), table, legend)


def _said_of(mark: Mark) -> str:
    words = [f"{mark.at:%Y-%m-%d %H:%M} UTC: {DID.get(mark.action, mark.action)}"]
    words += [visible(mark.arm)] if mark.arm else []
    words += [f"“{visible(mark.note)}”"] if mark.note else []
    return " ".join(words) + (f" ({visible(mark.by)})" if mark.by else "")


def _changes(marks: list[Mark]) -> Table:
    columns = (
        ("when (UTC)", TIME),
        ("what", TEXT),
        ("arm", TEXT),
        ("by", TEXT),
        ("note", TEXT),
        ("after decision", COUNT),
    )
    rows = [
        [mark.at, DID.get(mark.action, mark.action), mark.arm, mark.by, mark.note, mark.step]
        for mark in marks
    ]
    return Table("changes", COUNTED["changes"], columns, rows[::-1])


def _metrics(rows: list[dict[str, Any]]) -> list[Table]:
    if not rows:
        return []
    kinds = {"metric": TEXT, "arm": TEXT, "told": COUNT, "mean": NUMBER, "lower": NUMBER, "upper": NUMBER}
    return [Table("metrics", "Other metrics", tuple(kinds.items()), [list(row.values()) for row in rows])]


def _meaning(bandit: Any, rows: list[dict[str, Any]]) -> str:
    low, high = bandit._support
    kind = "asymptotic, from 30 rewards on"
    if math.isfinite(high - low):
        kind = f"exact, for rewards in [{low:g}, {high:g}]"
    return (
        f"Intervals hold for all arms at once and at all times, with a probability of {100 * LEVEL:g} % "
        f"({kind}), if an arm's mean does not change."
    )


# The last decisions.


def why(bandit: Any, rows: list[dict[str, Any]]) -> Table:
    """Return decisions with their reasons as a table."""
    columns = (
        ("decision", COUNT),
        ("when (UTC)", TIME),
        ("arm", TEXT),
        ("why", TEXT),
        ("probability", NUMBER),
        ("reward", NUMBER),
        ("status", TEXT),
        ("id", TEXT),
    )
    found = [
        [
            row["step"],
            row["asked_at"],
            row["arm"],
            sentence(row["reason"]) or "no reason is kept for a bandit in memory",
            row["propensity"],
            row["reward"],
            row["status"],
            row["decision"],
        ]
        for row in rows
    ]
    return Table("decisions", "Decisions, the latest first", columns, found)


def sentence(reason: str) -> str:
    """Return a reason as a sentence.

    Examples
    --------
    >>> sentence("forced: red was never chosen before")
    'Forced: red was never chosen before.'
    """
    return f"{reason[:1].upper()}{reason[1:]}." if reason else ""


def latest(bandit: Any, limit: int, arm: str | None) -> Table:
    """Return the last decisions, of an arm if one is given."""
    row = None
    if arm is not None:
        with bandit._session.reading() as session:
            names = session.engine.names
        row = next((place for place in reversed(range(len(names))) if names[place] == arm), -1)
    return why(bandit, look_up.latest(bandit, limit, row))


def found(bandit: Any, text: str) -> Table:
    """Return the decision that has an id, or is the latest for a unit or request."""
    return why(bandit, look_up.find(bandit, text))


# Segments.


class Segment(NamedTuple):
    """What is known of the bandit of a segment.

    Attributes
    ----------
    name : str
    link : str
        To its page.
    arms : list of str
        All that there were, by row.
    steps : int
    leader : str or None
        The arm with the highest mean.
    decided : bool
    mean, lower, upper, share : float
        Of the leader: its reward, as on the segment's own page, and how many of the asks it got; NaN if
        nothing leads.
    """

    name: str
    link: str
    arms: list[str]
    steps: int
    leader: str | None
    decided: bool
    mean: float = math.nan
    lower: float = math.nan
    upper: float = math.nan
    share: float = math.nan


def segment_of(bandit: Any, name: str, link: str) -> Segment:
    """Return what is known of the bandit of a segment.

    Raises
    ------
    StorageError
        The store cannot be read.
    """
    said = verdict(bandit, LEVEL, None)
    with bandit._session.reading() as session:
        serving = len(session.engine.row_of)
    each = 1.0 - (1.0 - LEVEL) / max(1, serving)
    rows = report.summary(bandit, each, None, removed=True)
    found = Segment(name, link, [row["arm"] for row in rows], sum(row["asked"] for row in rows), None, False)
    best = next((row for row in rows if row["in_service"] and row["arm"] == said.leader), None)
    if best is None:
        return found
    share = best["asked"] / max(1, found.steps)
    return Segment(*found[:4], best["arm"], said.decided, best["mean"], best["lower"], best["upper"], share)


def segments(found: Sequence[Segment], here: str, largest: int, number: int, link: str) -> Chart:
    """Return segments side by side.

    Parameters
    ----------
    found : sequence of Segment
        Those with the most decisions, and maybe the one on whose page they stand.
    here : str
        The link to that one: its arms look as they do there.
    largest : int
        How many were looked for.
    number : int
        How many segments there are.
    link : str
        To all of them.
    """
    mine = [one for one in found if one.link == here]
    looks: dict[str, int] = {}
    for one in [*mine, *found]:
        for arm in one.arms:
            looks.setdefault(arm, len(looks))
    leaders = {one.leader for one in found if one.leader is not None}
    lines = [
        Arm(
            looks.get(one.leader or "", 0),
            one.name,
            one.mean,
            one.lower,
            one.upper,
            "no reward yet" if one.leader is None else "decided" if one.decided else "not decided",
            not one.decided,
            one.link == here,
        )
        for one in found
    ]
    title = "Segments side by side"
    note = (
        "The leading arm of each segment: its mean reward, with an interval that may be looked at every day. "
        "A hollow sign: others could be as good or better."
    )
    if number > len(found):
        note += f" The {counted(largest, 'segment')} with the most decisions, of {number:,}"
        note += "." if len(found) == largest else ", and this one."
    columns = (
        ("segment", TEXT),
        ("decisions", COUNT),
        ("leads", TEXT),
        ("decided", TEXT),
        ("mean", NUMBER),
        ("lower", NUMBER),
        ("upper", NUMBER),
        ("its share of asks", SHARE),
    )
    rows = [
        [
            one.name,
            one.steps,
            one.leader or "",
            "" if one.leader is None else "yes" if one.decided else "not yet",
            *one[6:],
        ]
        for one in found
    ]
    table = Table(
        "segments", "Segments, the most decisions first", columns, rows, [one.link for one in found]
    )
    draw = charts.forest(
        lines, title, note, sorted(((arm, looks[arm]) for arm in leaders), key=lambda one: one[1])
    )
    more = (link, f"All {number:,} segments") if number > len(found) else None
    return Chart("segments", title, note, draw, table, more=more)
