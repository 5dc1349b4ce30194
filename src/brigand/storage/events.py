"""What a store holds of a bandit, as plain tuples."""

from __future__ import annotations

from typing import NamedTuple

ASK, TELL, DEFAULT, ADD, REMOVE = "ask", "tell", "default", "add", "remove"


class Event(NamedTuple):
    """One line of a bandit's log.

    Attributes
    ----------
    kind : str
        ``"ask"``: a decision. ``"tell"``: its reward. ``"default"``: what stands in for a reward that did
        not come in time. ``"add"``, ``"remove"``: an arm came or went.
    step : int or None
        Number of the decision, from 1; None for ``"add"`` and ``"remove"``.
    arm : int
        Row of the arm, from 0.
    value : float or None
        Reward of ``"tell"`` and ``"default"``; None for the others. Finite.
    counted : bool
        Whether the policy learned the value (False: it is history only); True for the other kinds.
    at : float
        Seconds since the epoch, UTC.
    data : str
        JSON in ASCII; empty if there is none.
    """

    kind: str
    step: int | None
    arm: int
    value: float | None
    counted: bool
    at: float
    data: str


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
    """

    arm: int
    told: float | None
    counted: bool
    default: float | None


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
    arm_changes : list of tuple
        Code, arm and data of each event since then that adds or removes an arm, in order.
    """

    record: Record
    steps: int
    base: tuple[int, str] | None
    arm_changes: list[tuple[int, int, str]]


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
