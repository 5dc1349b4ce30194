"""What a store holds of a bandit, as plain tuples."""

from __future__ import annotations

import json
from typing import NamedTuple

ASK, TELL, DEFAULT, ADD, REMOVE = "ask", "tell", "default", "add", "remove"
REPLACE, PART, METRIC = "replace", "part", "metric"
PAUSE, RESUME, END, NOTE = "pause", "resume", "end", "note"
STATUS = (PAUSE, RESUME, END, NOTE)
"""What is said of the bandit as a whole."""

EXPLORES = '{"explored": true'
"""How the data of a decision begin, if it explored."""
HELD_OUT = '"holdout": true'
"""In the data of a decision, if chance alone made it."""
RECORDED = '{"reason": "recorded: the decision was made elsewhere"'
"""How the data of a decision begin that was made elsewhere."""


class Event(NamedTuple):
    """One line of a bandit's log.

    Attributes
    ----------
    kind : str
        ``"ask"``: a decision. ``"tell"``: its reward. ``"default"``: what stands in for a reward that did
        not come in time. ``"replace"``: another reward in the place of the one that was told. ``"part"``: a
        part of a reward that adds up. ``"metric"``: another number of a decision, which the policy does not
        learn. ``"add"``, ``"remove"``: an arm came or went. ``"pause"``, ``"resume"``, ``"end"``, ``"note"``.
    step : int or None
        Number of the decision, from 1, of ``"ask"``, ``"tell"``, ``"default"`` and ``"replace"``, each of
        which a decision has once at most. None for the others; ``"part"`` and ``"metric"`` have it in `data`.
    arm : int
        Row of the arm, from 0; 0 where there is none.
    value : float or None
        Reward, or the metric's value; None for kinds without one. Finite.
    counted : bool
        Whether the policy learned the value (False: it is history only); True for kinds without one.
    at : float
        Seconds since the epoch, UTC.
    data : str
        JSON in ASCII; empty if there is none. Its ``"keys"``, a list of texts at its end, are what the event
        can be found by later (`keys_in`).
    """

    kind: str
    step: int | None
    arm: int
    value: float | None
    counted: bool
    at: float
    data: str


def keys_in(data: str) -> list[str]:
    """Return the keys in the data of an event.

    Examples
    --------
    >>> keys_in('{"explored": true, "keys": ["u:1"]}'), keys_in('{"explored": true}'), keys_in("")
    (['u:1'], [], [])
    """
    if not data.endswith("]}") or '"keys": [' not in data:
        return []
    found = json.loads(data).get("keys", [])
    return [key for key in found if isinstance(key, str)]


class Found(NamedTuple):
    """A decision and what is known of its reward.

    Attributes
    ----------
    arm : int
        Row of the arm that was chosen.
    told : float or None
        The reward that was told; None if none was.
    counted : bool
        Whether the policy learned what was told.
    default : float or None
        What stood in for the reward when it was late; None if nothing did.
    replaced : float or None
        What was told in the place of the reward later; None if nothing was.
    """

    arm: int
    told: float | None
    counted: bool
    default: float | None
    replaced: float | None = None


class Record(NamedTuple):
    """A bandit as it was created.

    Attributes
    ----------
    id : int
        Its number in this store.
    name : str
        Its name, unique in this store, compared as given.
    uid : str
        Its identity anywhere.
    definition : str
        JSON.
    created_at : float
        Seconds since the epoch, UTC.
    """

    id: int
    name: str
    uid: str
    definition: str
    created_at: float


class Overview(NamedTuple):
    """A bandit at a glance.

    Attributes
    ----------
    record : Record
    steps : int
        How many decisions there are; whatever is there, if the store is damaged.
    base : tuple or None
        What stands for the beginning of its log: see `Reading.base`.
    changes : list of tuple
        Code, arm and data of each event since then that adds or removes an arm, pauses, resumes or ends, in
        order.
    """

    record: Record
    steps: int
    base: tuple[int, str] | None
    changes: list[tuple[int, int, str]]


class Logged(NamedTuple):
    """A decision with everything that the log says about it.

    Attributes
    ----------
    step, arm : int
        Number of the decision, from 1, and row of the arm, from 0.
    asked_at : float
        Seconds since the epoch, UTC, as all times here.
    data : str
        What came with the decision: JSON, or empty.
    value : float or None
        The reward that was told; None if none was.
    counted : bool
        Whether the policy learned what was told.
    told_at : float or None
        When the reward was told.
    default : float or None
        What stood in for the reward when it was late; None if nothing did.
    default_counted : bool
        Whether the policy learned that.
    default_at : float or None
        When it did.
    replaced, replaced_counted, replaced_at
        The same of what was told in the place of the reward later.
    """

    step: int
    arm: int
    asked_at: float
    data: str
    value: float | None
    counted: bool
    told_at: float | None
    default: float | None
    default_counted: bool
    default_at: float | None
    replaced: float | None = None
    replaced_counted: bool = False
    replaced_at: float | None = None


class Tally(NamedTuple):
    """What was counted of the decisions in one bucket.

    Attributes
    ----------
    bucket : int
        Those of the steps from ``bucket * width + 1`` on.
    arm : int
        Row of the arm.
    kind : str
        ``"ask"``, ``"tell"``, ``"default"`` or ``"replace"``.
    counted : bool
        As in `Event`.
    number : int
        How many events.
    total : float
        The sum of their values; of ``"replace"``, less the rewards in whose place they are.
    explored : int
        How many of ``"ask"`` explored.
    first_at : float
        The earliest time of one.
    """

    bucket: int
    arm: int
    kind: str
    counted: bool
    number: int
    total: float
    explored: int
    first_at: float
