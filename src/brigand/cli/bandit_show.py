"""The tables of ``brigand bandit show`` and ``brigand bandit list``."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from brigand.cli.bandit_text import (
    Digits,
    label,
    labels,
    policy_title,
    share_text,
    visible,
)
from brigand.words import counted

if TYPE_CHECKING:
    from brigand.live.bandit import Bandit
    from brigand.live.listing import Listed
    from brigand.live.report import Rows

LONGEST, SHORTEST = 40, 10
"""Names are cut to this width; to less only where there is no room without the last columns, either."""
FOLDED = 20
"""Names that begin alike get so much room before they are folded."""
NARROWEST = 6
"""Names get so much, whatever columns that takes."""
GAP = 2
"""Spaces between columns."""


class View:
    """What is known of a bandit now, drawn anew each time.

    Parameters
    ----------
    bandit : Bandit
    name : str
    level : float
    support : (float, float) or None
        See `Bandit.summary`.
    """

    def __init__(self, bandit: Bandit, name: str, level: float, support: tuple[float, float] | None) -> None:
        self.bandit, self.name, self.level, self.support = bandit, name, level, support
        self._policy = policy_title(bandit.policy)

    def draw(self, width: int) -> Group:
        """Return the table for a terminal of this width, with two lines above it and one below."""
        from brigand.live import report

        summary = report.summary(self.bandit, self.level, self.support, removed=True)
        steps = sum(arm["asked"] for arm in summary)
        shown = [arm for arm in summary if arm["in_service"]]
        head = Text(f"{label(self.name)}: {self._policy}, {counted(steps, 'decision')}", style="bold")
        return Group(
            head, self._last(steps), self._table(shown, width), Text(self._meaning(shown), style="italic")
        )

    def _last(self, steps: int) -> Text:
        if not steps:
            return Text("No decision yet")
        from brigand.live import history

        (last,) = history.rows(next(history.pages(self.bandit, steps - 1, 1)))
        kind, _, sentence = last["reason"].partition(": ")
        return Text(visible(f"Last decision, {kind}: {sentence}"))

    def _table(self, summary: Rows, width: int) -> Table:
        counts = ["asked", "told", "defaulted", "pending"]
        if not any(arm["defaulted"] for arm in summary):
            counts.remove("defaulted")
        heads = [*counts, "mean", f"{100 * self.level:g} %\ninterval", "explored", "greedy"]
        digits = Digits([arm["mean"] for arm in summary], [arm["upper"] - arm["lower"] for arm in summary])
        rows = [
            [
                *(f"{arm[count]:,}" for count in counts),
                digits.mean(arm["mean"]),
                digits.interval(arm["lower"], arm["upper"]),
                share_text(arm["explored"]),
                share_text(arm["greedy"]),
            ]
            for arm in summary
        ]
        names = _names([arm["arm"] for arm in summary])
        folded = [cell.cell_len for cell in names if not cell.no_wrap]
        wanted = max(SHORTEST, min(max(folded, default=0), FOLDED))
        least = min(_how_many_fit(heads, rows, width - NARROWEST), len(heads) - 2)
        fit = max(_how_many_fit(heads, rows, width - wanted), least)
        table = _table("arm", heads[:fit])
        for cell, row in zip(names, rows, strict=True):
            table.add_row(cell, *row[:fit])
        return table

    def _meaning(self, summary: Rows) -> str:
        """Say what the intervals are."""
        if not summary:
            return "No arm is in service."
        if summary[0]["interval"] == "exact":
            low, high = self.support or self.bandit.policy.reward_support
            kind = f"exact for rewards in [{low:g}, {high:g}]"
        else:
            kind = "asymptotic, from 30 rewards on"
        return f"{100 * self.level:g} % interval of the mean: {kind}; valid at all times."


def watch(console: Console, view: View, seconds: float) -> None:
    """Draw a view again and again, until it is interrupted."""
    from rich.live import Live

    every = "second" if seconds == 1 else f"{seconds:g} seconds"
    hint = Text(f"Read again every {every}; Ctrl-C ends this.", style="dim")
    with Live(console=console, auto_refresh=False) as live:
        while True:
            live.update(Group(view.draw(console.width), hint), refresh=True)
            time.sleep(seconds)


def overview(bandits: list[Listed], width: int) -> Table:
    """Return the bandits of a store as a table for a terminal of this width."""
    table = _table("bandit", ["decisions"])
    titles = ["damaged" if found.damaged else policy_title(found.policy) for found in bandits]
    table.add_column("policy", overflow="fold")
    longest = max(min(cell_len(label(found.name)), LONGEST) for found in bandits)
    taken = longest + len("decisions") + min(30, max(map(len, titles))) + 5 * GAP
    table.add_column("arms", max_width=max(width - taken, SHORTEST))
    for cell, found, title in zip(_names([found.name for found in bandits]), bandits, titles, strict=True):
        arms = _cut(f"{len(found.arms):,}: {labels(found.arms)}")
        table.add_row(cell, f"{found.decisions:,}", Text(title), arms)
    return table


def _how_many_fit(heads: list[str], rows: list[list[str]], room: int) -> int:
    """Return how many columns there is room for; the last may go: it is the one before it, less 100 %."""
    room -= GAP
    for count, (head, *cells) in enumerate(zip(heads, *rows, strict=True)):
        room -= GAP + max(map(len, (*head.split("\n"), *cells)))
        if room < 0:
            return count
    return len(heads)


def _table(first: str, numbers: list[str]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column(first, max_width=LONGEST)
    for column in numbers:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _names(names: list[str]) -> list[Text]:
    """Return names as cells: cut where there is no room, but folded where others begin in the same way."""
    shown = [label(name) for name in names]
    begin = Counter(name[: SHORTEST - 1] for name in shown)
    return [Text(name, overflow="fold") if begin[name[: SHORTEST - 1]] > 1 else _cut(name) for name in shown]


def _cut(text: str) -> Text:
    """Return a cell that gives way where there is no room."""
    return Text(text, no_wrap=True, overflow="ellipsis")
