"""The work behind `brigand.Bandit`: each method is one operation, under one lock, in one transaction."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from brigand import checks
from brigand.errors import (
    ConflictingRewardError,
    InvalidValueError,
    UnknownDecisionError,
    UnknownNameError,
    UnsupportedRewardError,
)
from brigand.live.decision import Basis, Decision, Told
from brigand.live.engine import RECORDED, WAS_EXPLORED, Choice, Engine
from brigand.live.homes import Opened
from brigand.live.loop import ARM, EXPLORED, STEP
from brigand.live.session import Session
from brigand.live.settings import MAX_REWARD
from brigand.storage.events import ADD, ASK, DEFAULT, REMOVE, TELL, Event

MOST_DIGITS = len(str(checks.MAX_STEPS))
"""Of a step's number."""
EXPLORED_ONLY = "{" + WAS_EXPLORED + "}"


class Past(NamedTuple):
    """A decision that was made elsewhere; times in seconds since the epoch, None for now."""

    arm: str
    reward: float | None
    asked_at: float | None = None
    told_at: float | None = None


class Core:
    """A bandit without documentation.

    Parameters
    ----------
    opened : Opened
    name : str or None
    clock : callable
        Returns seconds since the epoch.
    """

    def __init__(self, opened: Opened, name: str | None, clock: Callable[[], float]) -> None:
        self.home, self.settings, self.uid = opened
        self.title = repr(name) if name is not None else self.uid
        self.session = Session(self.home, self.settings)
        self._clock = clock
        self.support = self.settings.policy.reward_support

    def ask(self, n: int, among: Iterable[str] | None) -> list[Decision]:
        """Choose n arms."""
        names = None if among is None else listed(among)  # before the lock: it may ask this bandit, too
        with self.session.lock, self.session as session:
            now = self._clock()
            self._settle(session, now)
            rows = self._rows(session.engine, names)
            self._require_room(session.engine, n)
            engine = session.moving()
            choice = engine.choose(n, rows)
            decisions = self._decisions(engine, choice, rows)
            events = self._asks(engine, choice, decisions, rows, now)
            for event in events:
                engine.note(event)
            session.keep(events)
        return decisions

    def tell(self, rewards: Iterable[tuple[str, float]]) -> list[Told]:
        """Take in rewards: all or none."""
        given = [(self._step_of(decision), self._checked(reward)) for decision, reward in rewards]
        with self.session.lock, self.session as session:
            now = self._clock()
            self._settle(session, now)
            found = session.log.decisions([step for step, _ in given])
            events: dict[int, Event] = {}
            results = []
            for step, reward in given:
                if step not in found:
                    raise UnknownDecisionError(f"bandit {self.title} has made no decision number {step} yet.")
                arm, told, _, default = found[step]
                before = events[step].value if step in events else told
                if before is None:
                    counted = default is None and session.engine.serves(arm)
                    events[step] = Event(TELL, step, arm, reward, counted, now, "")
                    results.append(Told.LEARNED if counted else Told.HISTORY)
                elif before == reward:
                    results.append(Told.REPEATED)
                else:
                    raise ConflictingRewardError(
                        f"decision {step} of bandit {self.title} was told {before!r} before, and now "
                        f"{reward!r}: a reward is told once."
                    )
            if events:
                told_now = list(events.values())
                session.moving().take(told_now)
                session.keep(told_now)
        return results

    def record(self, past: Iterable[Past]) -> list[str]:
        """Take in decisions that were made elsewhere: all or none."""
        past = list(past)  # before the lock, as in `ask`
        with self.session.lock, self.session as session:
            now, engine = self._clock(), session.engine
            self._settle(session, now)
            events = []
            step = engine.steps
            for arm, reward, asked_at, told_at in past:
                row = self._row(engine, arm)
                step += 1
                asked = now if asked_at is None else checks.number("asked_at", asked_at)
                events.append(Event(ASK, step, row, None, True, asked, RECORDED))
                if reward is not None:
                    told = now if told_at is None else checks.number("told_at", told_at)
                    events.append(Event(TELL, step, row, self._checked(reward), True, told, ""))
            self._require_room(engine, step - engine.steps)
            first = engine.steps + 1
            if events:
                self._apply(session, events)
        return [f"{self.uid}-{number}" for number in range(first, step + 1)]

    def add(self, name: str) -> None:
        """Put a new arm into service."""
        name = check_name(name)
        with self.session.lock, self.session as session:
            now, engine = self._clock(), session.engine
            if name in engine.row_of:
                raise InvalidValueError(f"bandit {self.title} has an arm {name!r} already.")
            self._settle(session, now)
            session.moving()
            session.keep_arm(Event(ADD, None, len(engine.names), None, True, now, name_data(name)))

    def remove(self, name: str) -> None:
        """Take an arm out of service."""
        with self.session.lock, self.session as session:
            now = self._clock()
            row = self._row(session.engine, name)
            self._settle(session, now)
            self._apply(session, [Event(REMOVE, None, row, None, True, now, "")])

    def _apply(self, session: Session, events: Sequence[Event]) -> None:
        session.moving().apply(events)
        session.keep(events)

    def _settle(self, session: Session, now: float) -> None:
        """Let default values stand in for rewards that are overdue."""
        timeout, value = self.settings.reward_timeout, self.settings.default_reward
        if timeout is None:
            return
        engine = session.engine
        events = [
            Event(DEFAULT, step, arm, value, engine.serves(arm), now, "")
            for step, arm in engine.overdue(now - timeout)
        ]
        if events:
            self._apply(session, events)

    def _rows(self, engine: Engine, names: Sequence[str] | None) -> list[int] | None:
        """Return the rows of the arms that are available, ascending; None for all in service."""
        if names is None:
            if not engine.row_of:
                raise InvalidValueError(f"bandit {self.title} has no arm in service.")
            return None
        if not names:
            raise InvalidValueError("among must name an arm at least; leave it out for all arms.")
        return sorted({self._row(engine, name) for name in names})

    def _row(self, engine: Engine, name: str) -> int:
        if not isinstance(name, str) or name not in engine.row_of:
            raise UnknownNameError("arm", name, engine.row_of)
        return engine.row_of[name]

    def _require_room(self, engine: Engine, n: int) -> None:
        horizon = self.settings.horizon
        if horizon is not None and engine.steps + n > horizon:
            raise InvalidValueError(
                f"bandit {self.title} was told that there are at most {horizon:,} asks (its horizon), and "
                f"there were {engine.steps:,}: {n:,} more are not possible."
            )

    def _decisions(self, engine: Engine, choice: Choice, rows: list[int] | None) -> list[Decision]:
        among = "" if rows is None or len(rows) == len(engine.row_of) else " of the available arms"
        names, policy, uid = engine.names, self.settings.policy, self.uid
        return [
            Decision(
                f"{uid}-{int(call[STEP])}",
                int(call[STEP]),
                names[int(call[ARM])],
                call[EXPLORED] != 0.0,
                Basis(policy, choice, place, names, among),
            )
            for place, call in enumerate(choice.calls.tolist())
        ]

    def _asks(
        self,
        engine: Engine,
        choice: Choice,
        decisions: Sequence[Decision],
        rows: list[int] | None,
        now: float,
    ) -> list[Event]:
        """Return decisions as events; in a store with reasons, and what is needed to go on from there."""
        arms = map(int, choice.calls[:, ARM].tolist())
        if not self.home.durable and rows is None:
            return [
                Event(ASK, decision.step, arm, None, True, now, EXPLORED_ONLY if decision.explored else "")
                for decision, arm in zip(decisions, arms, strict=True)
            ]
        events = []
        for decision, arm in zip(decisions, arms, strict=True):
            data: dict[str, object] = {"explored": decision.explored}
            if self.home.durable:
                data |= {"reason": decision.reason, "data": decision.data}
                if decision is decisions[-1]:
                    data["rng"] = engine.wound
            if rows is not None:
                data["among"] = rows
            events.append(Event(ASK, decision.step, arm, None, True, now, json.dumps(data)))
        return events

    def _step_of(self, decision: str) -> int:
        """Return the step in a decision's id."""
        uid, _, step = decision.rpartition("-") if isinstance(decision, str) else ("", "", "")
        canonical = step.isascii() and step.isdigit() and step[0] != "0" and len(step) <= MOST_DIGITS
        if uid != self.uid or not canonical:
            raise UnknownDecisionError(f"{decision!r} is no id of a decision of bandit {self.title}.")
        return int(step)

    def _checked(self, reward: object) -> float:
        if type(reward) is not float or not -MAX_REWARD <= reward <= MAX_REWARD:
            reward = checks.number("a reward", reward, -MAX_REWARD, MAX_REWARD)
        low, high = self.support
        if not low <= reward <= high:
            name = type(self.settings.policy).__name__
            raise UnsupportedRewardError(f"{name} needs rewards in [{low:g}, {high:g}], not {reward!r}.")
        return reward


def name_data(name: str) -> str:
    """Return an arm's name as the data of an event: in ASCII, so that any string can be kept."""
    return json.dumps({"name": name})


def check_name(name: object) -> str:
    """Return an arm's name as `name_data` keeps it: JSON makes one character of a surrogate pair."""
    kept: str = json.loads(json.dumps(checks.text("an arm's name", name)))
    return kept


def check_arms(arms: Iterable[str]) -> list[str]:
    """Return the arms of a new bandit.

    Raises
    ------
    InvalidValueError
        There are none, or two have one name.
    """
    names = [check_name(arm) for arm in listed(arms)]
    if not names:
        raise InvalidValueError("a bandit needs an arm at least.")
    for name, count in Counter(names).items():
        if count > 1:
            raise InvalidValueError(f"arms must have different names, but {count} are called {name!r}.")
    return names


def listed(names: Iterable[str]) -> list[str]:
    """Return names of arms as a list; one string is not a list of names."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidValueError(f"arms must be a list of names, not {names!r}.")
    return list(names)
