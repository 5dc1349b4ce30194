"""Decisions with their reasons, those that were made elsewhere, and what became of a reward."""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np

from brigand.live.engine import Choice
from brigand.live.holdout import HOLDOUT, POLICY
from brigand.live.loop import ARM, BEST, BEST_MEAN, BEST_TOLD, DRAWN, EXPLORED, MEAN, TIES, TOLD
from brigand.live.settings import Settings
from brigand.policies.base import Explanation
from brigand.words import counted

FALLBACK, ENDED = "fallback", "ended"


class Told(StrEnum):
    """What became of a reward."""

    LEARNED = "learned"
    """The policy has learned it."""
    REPEATED = "repeated"
    """The same reward had been told before; nothing happened."""
    HISTORY = "history"
    """It is kept in the history only: its arm was removed, its time was over, or it is another metric."""
    ADDED = "added"
    """It adds to the decision's reward, which is learned when its time is over."""
    REPLACED = "replaced"
    """The policy has learned it in the place of the reward that was told before."""


class Past(NamedTuple):
    """A decision that was made elsewhere, for `Bandit.record`.

    Attributes
    ----------
    arm : str
    reward : float or None
        None if it is still to come: then it is told with the id that `Bandit.record` returns.
    asked_at, told_at : float, datetime or None
        When the arm was chosen, and when its reward came: seconds since 1970, or a `datetime` (in UTC, if it
        has no zone); None for now.
    propensity : float or None
        The probability with which the arm was chosen there, in (0, 1]; None if it is not known.

    Examples
    --------
    >>> import brigand as br
    >>> bandit = br.Bandit(["red", "green"], br.ForcedExploration(br.Linear()), seed=0)
    >>> first, second = bandit.record([br.Past("red", 0.7, asked_at=1e9), br.Past("green", None)])
    >>> bandit.tell(second, 0.2)
    <Told.LEARNED: 'learned'>
    """

    arm: str
    reward: float | None
    asked_at: float | datetime | None = None
    told_at: float | datetime | None = None
    propensity: float | None = None


class Basis(NamedTuple):
    """What a decision was made on; `n` is the number of arms that were available."""

    settings: Settings
    choice: Choice
    place: int
    names: Sequence[str]
    among: str
    n: int


class Decision:
    """An arm that was chosen.

    Attributes
    ----------
    id : str
        Tell the reward with this; unique among all decisions of all bandits.
    step : int
        Its number among the bandit's decisions, from 1; 0 if it `is_fallback`.
    arm : str
    explored : bool
        Whether it was chosen in spite of what is known: a forced pull of FE, or an arm that has not the
        highest mean, by the policy's own estimates. A policy that forgets goes by what it remembers.
    propensity : float or None
        The probability with which the arm was chosen, given what was known, in (0, 1]; None where that is no
        number that can be computed (see `brigand.propensities`), and of a fallback.
    holdout : bool
        Whether the ask was in the holdout: then chance alone has chosen the arm.
    again : bool
        Whether it was made before, for the same request, or for a unit for which it is still open.
    """

    __slots__ = ("_basis", "again", "arm", "explored", "holdout", "id", "propensity", "step")

    def __init__(
        self,
        id: str,
        step: int,
        arm: str,
        explored: bool,
        basis: Basis | Explanation,
        propensity: float | None = None,
        holdout: bool = False,
    ) -> None:
        self.id = id
        self.step = step
        self.arm = arm
        self.explored = explored
        self.propensity = propensity
        self.holdout = holdout
        self.again = False
        self._basis = basis

    @classmethod
    def fall_back(cls, arm: str, why: str) -> Decision:
        """Return an arm that the bandit did not choose, since its store did not answer: step 0."""
        return cls.without_bandit(arm, FALLBACK, why)

    @classmethod
    def without_bandit(cls, arm: str, kind: str, why: str) -> Decision:
        """Return an arm that is not the bandit's choice, nor logged: step 0."""
        return cls(f"{kind}-{secrets.token_hex(6)}", 0, arm, False, Explanation(kind, why, {}))

    @classmethod
    def logged(cls, id: str, step: int, arm: str, data: str) -> Decision:
        """Return a decision that was made before, by what the log says of it."""
        said = json.loads(data) if data else {}
        kind, _, sentence = str(said.get("reason", "")).partition(": ")
        numbers = {name: value for name, value in said.get("data", {}).items() if name != "kind"}
        basis = Explanation(kind or "again", sentence or f"{arm} was chosen before", numbers)
        found = cls(id, step, arm, bool(said.get("explored", False)), basis)
        found.propensity, found.holdout = said.get("propensity"), bool(said.get("holdout", False))
        found.again = True
        return found

    @property
    def is_fallback(self) -> bool:
        """Whether the bandit did not choose the arm, nor knows of it: a fallback, or it has ended."""
        return self.step == 0

    @property
    def reason(self) -> str:
        """Why the arm was chosen, in one sentence."""
        explanation = self._explanation
        return f"{explanation.kind}: {explanation.sentence}"

    @property
    def data(self) -> dict[str, Any]:
        """The numbers in the reason, and its kind.

        A kind is forced, explored, greedy, holdout, floor, again, fallback or ended.
        """
        explanation = self._explanation
        return {"kind": explanation.kind, **explanation.data}

    def to_dict(self) -> dict[str, Any]:
        """Return the decision as plain data that JSON can hold: numbers that are not finite are None.

        Examples
        --------
        >>> import brigand as br
        >>> br.Bandit(["red", "green"], br.ForcedExploration(br.Linear()), seed=0).ask().to_dict()["arm"]
        'red'
        """
        explanation = self._explanation
        return {
            "id": self.id,
            "step": self.step,
            "arm": self.arm,
            "explored": bool(self.explored),
            "propensity": self.propensity,
            "holdout": self.holdout,
            "again": self.again,
            "reason": f"{explanation.kind}: {explanation.sentence}",
            "data": plain({"kind": explanation.kind, **explanation.data}),
        }

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Yield the names and values of `to_dict`: so FastAPI makes JSON of a decision that is returned."""
        return iter(self.to_dict().items())

    @property
    def _explanation(self) -> Explanation:
        return self._basis if isinstance(self._basis, Explanation) else explain(self._basis)

    def __repr__(self) -> str:
        return (
            f"Decision(id={self.id!r}, step={self.step}, arm={self.arm!r}, explored={self.explored}, "
            f"reason={self.reason!r})"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Decision) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with what JSON can hold: times as ISO 8601, None for numbers that are not finite."""
    return {name: _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.isoformat() if isinstance(value, datetime) else value


def explain(basis: Basis) -> Explanation:
    """Say why an arm was chosen: in the policy's words, or by how its estimate compares with the best."""
    settings, (calls, headers, rows), place, names, among, n = basis
    policy, call = settings.policy, calls[place].tolist()
    arm = names[int(call[ARM])]
    if call[DRAWN] != POLICY:
        return _by_chance(settings, int(call[DRAWN]), arm, n, among)
    header = np.frombuffer(headers, policy.header.dtype)[place]
    row = np.frombuffer(rows, policy.arm.dtype)[place]
    said = policy.explain(arm, header, row, among)
    if said is not None:
        return said
    words = policy.estimated
    name, key = words.name, words.name.replace(" ", "_").replace("-", "_")
    things = f"{words.thing.split()[-1]}s"
    told, estimate = whole(call[TOLD]), call[MEAN]
    if told == 0:
        return Explanation("explored", words.none.format(arm=arm), {things: 0})
    if math.isnan(estimate):
        sentence = f"{arm} has too few rewards for a {name}, {amount(told)}"
        return Explanation("explored", sentence, {things: told})
    data: dict[str, int | float] = {key: estimate, things: told}
    its = f"{estimate:.3g} {words.over} {amount(told, words.thing)}{words.scope}"
    if not call[EXPLORED]:
        others, tied = int(call[TIES]) - 1, ""
        if others > 0:
            data["tied"] = others
            tied = f", and so {'has' if others == 1 else 'have'} {counted(others, 'other arm')}"
        return Explanation("greedy", f"{arm} has the highest {name}{among}, {its}{tied}", data)
    best, best_estimate, best_told = names[int(call[BEST])], call[BEST_MEAN], whole(call[BEST_TOLD])
    data |= {f"best_{key}": best_estimate, f"best_{things}": best_told}
    most = f"{best_estimate:.3g} {words.over} {amount(best_told)}"
    highest = f"{best}, which has the highest {name}{among}, {most}"
    sentence = f"{type(policy).__name__} prefers {arm}, whose {name} is {its}, to {highest}"
    return Explanation("explored", sentence, data)


def _by_chance(settings: Settings, drawn: int, arm: str, n: int, among: str) -> Explanation:
    which = f"{arm} was drawn from {counted(n, among.removeprefix(' of the ').removesuffix('s') or 'arm')}"
    if drawn == HOLDOUT:
        share = {"share": settings.holdout, "arms": n}
        return Explanation("holdout", f"{which}, as {100 * settings.holdout:g} % of all asks are", share)
    least = {"floor": settings.floor, "arms": n}
    return Explanation("floor", f"{which}: each keeps a probability of {settings.floor:g}", least)


def whole(number: float) -> int | float:
    """Return a number of rewards: an integer, unless they are discounted."""
    return int(number) if number == int(number) else number


def amount(number: int | float, thing: str | None = None) -> str:
    """Return ``"1 reward"``, ``"2,500 rewards"``, ``"17.3 rewards"``, or the number alone."""
    if isinstance(number, int):
        return f"{number:,}" if thing is None else counted(number, thing)
    text = f"{number:,.1f}" if number >= 0.1 else f"{number:.1g}"
    return text if thing is None else f"{text} {thing}s"
