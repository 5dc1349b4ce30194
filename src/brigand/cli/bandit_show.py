"""The tables of ``brigand bandit show`` and ``brigand bandit list``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

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
    import pandas as pd

    from brigand.live.bandit import Bandit
    from brigand.live.listing import Listed

LONGEST, SHORTEST = 40, 10
"""Names are cut to this width; to less only where there is no room without the last columns, either."""
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
        # Other policies do not force; what they explore is told by the means (`Decision.explored`).
        names: tuple[str, ...] = bandit.policy.arm.dtype.names or ()
        self._forced = "forced" if "forced" in names else "explored"

    def draw(self, width: int) -> Group:
        """Return the table for a terminal of this width, with two lines above it and one below."""
        summary = self.bandit.summary(level=self.level, support=self.support, removed=True)
        steps = int(summary["asked"].sum())
        shown = summary[summary["in_service"]]
        head = Text(f"{label(self.name)}: {self._policy}, {counted(steps, 'decision')}", style="bold")
        return Group(
            head, self._last(steps), self._table(shown, width), Text(self._meaning(shown), style="italic")
        )

    def _last(self, steps: int) -> Text:
        if not steps:
            return Text("No decision yet")
        last = self.bandit.history(after=steps - 1, limit=1).iloc[0]
        kind, _, sentence = str(last["reason"]).partition(": ")
        return Text(visible(f"Last decision, {kind}: {sentence}"))

    def _table(self, summary: pd.DataFrame, width: int) -> Table:
        counts = {"asked": "asked", "told": "told", "defaulted": "default", "pending": "pending"}
        if not summary["defaulted"].any():
            del counts["defaulted"]
        heads = [*counts.values(), "mean", f"{100 * self.level:g} %\ninterval", self._forced, "greedy"]
        digits = Digits(summary["mean"], summary["upper"] - summary["lower"])
        rows = [
            [
                *(f"{row[count]:,}" for count in counts),
                digits.mean(row["mean"]),
                digits.interval(row["lower"], row["upper"]),
                share_text(row["forced"]),
                share_text(row["greedy"]),
            ]
            for row in summary.to_dict("records")
        ]
        fit = _how_many_fit(heads, rows, width, least=len(heads) - 2)
        table = _table("arm", heads[:fit])
        for arm, row in zip(summary.index, rows, strict=True):
            table.add_row(_name(arm), *row[:fit])
        return table

    def _meaning(self, summary: pd.DataFrame) -> str:
        """Say what the intervals are."""
        if summary.empty:
            return "No arm is in service."
        if summary["interval"].iloc[0] == "exact":
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
    titles = [policy_title(found.policy) for found in bandits]
    table.add_column("policy", overflow="fold")
    longest = max(min(cell_len(label(found.name)), LONGEST) for found in bandits)
    taken = longest + len("decisions") + min(30, max(map(len, titles))) + 5 * GAP
    table.add_column("arms", max_width=max(width - taken, SHORTEST))
    for found, title in zip(bandits, titles, strict=True):
        arms = f"{len(found.arms):,}: {labels(found.arms)}"
        table.add_row(_name(found.name), f"{found.decisions:,}", Text(title), _name(arms, as_it_is=True))
    return table


def _how_many_fit(heads: list[str], rows: list[list[str]], width: int, least: int) -> int:
    """Return how many columns leave room for names; the last may go: it is the one before it, less 100 %."""
    room = width - SHORTEST - GAP
    for count, (head, *cells) in enumerate(zip(heads, *rows, strict=True)):
        room -= GAP + max(map(len, (*head.split("\n"), *cells)))
        if room < 0:
            return max(count, least)
    return len(heads)


def _table(first: str, numbers: list[str]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column(first, max_width=LONGEST)
    for column in numbers:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _name(name: str, as_it_is: bool = False) -> Text:
    """Return a name as a cell that gives way where there is no room."""
    options: dict[str, Any] = {"no_wrap": True, "overflow": "ellipsis"}
    return Text(name if as_it_is else label(name), **options)
