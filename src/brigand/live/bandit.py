"""A bandit that serves: ask for an arm, tell its reward; rewards may come late, twice or never.

Each method of `Bandit` is one operation, under one lock, in one transaction: `engine` decides, `session`
keeps the engine and the log together, `decision` explains, `report` makes tables.
"""

from __future__ import annotations

import functools
import json
import math
import queue
import reprlib
import threading
import time
import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, overload

import numpy as np

from brigand import checks, display
from brigand.errors import (
    InvalidValueError,
    NameTakenError,
    NotServingError,
    StorageError,
    UnknownDecisionError,
    UnknownNameError,
    UnsupportedRewardError,
)
from brigand.live import backends, history, report, snapshots, status, telling
from brigand.live.backends import Opened
from brigand.live.beside import Sticky
from brigand.live.decision import ENDED, Basis, Decision, Past, Told, plain as plain_row
from brigand.live.engine import RECORDED, Choice, Engine
from brigand.live.holdout import HOLDOUT
from brigand.live.identity import Identity
from brigand.live.loop import ARM, DRAWN, EXPLORED, PROPENSITY, STEP
from brigand.live.names import check_alike, check_arms, check_name, listed, name_data
from brigand.live.session import Session
from brigand.live.settings import HASHED, MAX_REWARD, Settings, check_key
from brigand.live.times import EARLIEST, LATEST, seconds
from brigand.policies.base import Policy
from brigand.storage.events import (
    ADD,
    ASK,
    DEFAULT,
    END,
    NOTE,
    PAUSE,
    REMOVE,
    RESUME,
    TELL,
    Event,
)
from brigand.storage.place import Place
from brigand.storage.records import PAGE_SIZE
from brigand.storage.store import BUSY_TIMEOUT

if TYPE_CHECKING:
    import pandas as pd

    from brigand.live.gain import Gain
    from brigand.live.verdict import Verdict
    from brigand.logs.log import Log

Row = TypeVar("Row")
Made = tuple[int, float | None, float, float, float | None]
"""A decision made elsewhere: the arm's row, its reward, when it was made and told, its propensity."""
MOST_AT_ONCE = 1_000_000
"""Decisions in one call."""


class Bandit:
    """A bandit that chooses arms and learns from rewards, whenever they come.

    Exploration is driven by asks, estimates by tells. Threads may share a bandit, and processes a store.

    Parameters
    ----------
    arms : iterable of str
        Names of the arms, any strings, all different.
    policy : Policy or str
        `brigand.ForcedExploration` with `brigand.Linear` or `brigand.AnytimeExponential` needs to be told
        nothing. Or a name of the catalogue, as ``"FE-Linear"``.
    store : str or path, optional
        ``"sqlite:///path"``, or the path; without it the bandit lives in memory.
    name : str, optional
        Its name in the store.
    seed : int, optional
        Of the policy's own choices (ties, draws); by default drawn. With immediate rewards the arms are those
        of `brigand.trace` with the same seed and horizon.
    horizon : int, optional
        The most asks there will ever be. Some policies need it; beyond it asks are refused.
    reward_timeout : float, optional
        After so many seconds without a reward, `default_reward` is learned in its place, at the next call.
        A reward that comes later goes to the history only. By default decisions wait for ever.
    default_reward : float, optional
        Given with `reward_timeout`.
    holdout : float
        The share of asks that chance alone answers, with the same probability for each available arm; in
        [0, 1). Their rewards are learned, too. By them `gain` tells what the bandit earns.
    floor : float
        The least probability of each available arm, at most 1 / K: what is drawn for it is drawn evenly.
    accumulate : float, optional
        Rewards add up for so many seconds after the decision; then their sum is learned, or 0 if there is
        none. By default a decision has one reward.
    units : str
        How the names of units are kept: ``"hashed"``, with a key of the bandit's, or ``"plain"``.
    metric : str
        The name of the reward, where there are other metrics.
    load_if_exists : bool
        Open the bandit of this name, if the store has one, whatever its arms are now.
    by : str, optional
        Who makes it, for the `audit`.
    clock : callable
        Returns seconds since the epoch.
    busy_timeout : float
        Seconds that a call waits for others who write, before there is a StorageError.

    Raises
    ------
    InvalidValueError
        A setting is not allowed, or the policy needs a horizon.
    NameTakenError
        There is a bandit of this name.

    Notes
    -----
    Where the store cannot be read or written, every call raises a StorageError, and nothing has changed.

    Examples
    --------
    >>> import brigand as br
    >>> bandit = br.Bandit(["red", "green"], br.ForcedExploration(br.Linear()), seed=0)
    >>> first = bandit.ask()
    >>> first.arm, first.reason
    ('red', 'forced: red was never chosen before')
    >>> bandit.tell(first.id, 0.7)
    <Told.LEARNED: 'learned'>
    >>> bandit.summary()["told"].to_dict()
    {'red': 1, 'green': 0}
    """

    def __init__(
        self,
        arms: Iterable[str],
        policy: Policy | str,
        *,
        store: Place | None = None,
        name: str | None = None,
        seed: int | None = None,
        horizon: int | None = None,
        reward_timeout: float | None = None,
        default_reward: float | None = None,
        holdout: float = 0.0,
        floor: float = 0.0,
        accumulate: float | None = None,
        units: str = HASHED,
        metric: str = "reward",
        load_if_exists: bool = False,
        by: str | None = None,
        clock: Callable[[], float] = time.time,
        busy_timeout: float = BUSY_TIMEOUT,
    ) -> None:
        late = (reward_timeout, default_reward, holdout, floor, accumulate)
        settings = Settings.of(policy, seed, horizon, *late, units, metric)
        names, now = check_arms(arms), _time_of(clock)
        settings.check_floor(len(names))
        said = status.said_by(by)
        events = [
            Event(ADD, None, row, None, True, now, name_data(arm, joins=False, **said))
            for row, arm in enumerate(names)
        ]
        new = (store, name, Identity.new(), settings, events, now, busy_timeout)
        self._start((backends.create_or_find if load_if_exists else backends.create)(*new), name, clock)

    def _start(self, opened: Opened, name: str | None, clock: Callable[[], float]) -> None:
        self._backend, self._settings, self._ids = opened
        self._title = repr(name) if name is not None else self._ids.shown
        self._session = Session(self._backend, self._settings)
        self._clock = clock
        self._support = self._settings.policy.reward_support
        self._range = self._settings.policy.reward_range

    @classmethod
    def open(
        cls,
        store: Place,
        name: str,
        *,
        allow: Iterable[str] = (),
        clock: Callable[[], float] = time.time,
        busy_timeout: float = BUSY_TIMEOUT,
    ) -> Self:
        """Open a bandit that a store has.

        Its policy is made from its JSON form. Nothing that this names is imported or called, unless it is
        allowed; classes of modules that you have imported are found.

        Parameters
        ----------
        store : str or path
            ``"sqlite:///path"``, or the path.
        name : str
        allow : iterable of str
            Modules that may be imported for the policy, and of which functions may be called.
        clock : callable
            Returns seconds since the epoch.
        busy_timeout : float
            Seconds that a call waits for others who write.

        Raises
        ------
        UnknownNameError
            There is no bandit of this name.
        InvalidValueError
            Its policy needs a module that is not allowed.
        StorageError
            The store cannot be read, or is damaged.
        """
        bandit = cls.__new__(cls)
        found = backends.find(store, name, listed(allow, "allow"), busy_timeout)
        bandit._start(found, name, clock)
        return bandit

    @overload
    def ask(
        self,
        n: None = None,
        *,
        among: Iterable[str] | None = None,
        unit: str | None = None,
        request: str | None = None,
        fallback: str | None = None,
        timeout: float = 1.0,
    ) -> Decision: ...
    @overload
    def ask(self, n: int, *, among: Iterable[str] | None = None) -> list[Decision]: ...

    def ask(
        self,
        n: int | None = None,
        *,
        among: Iterable[str] | None = None,
        unit: str | None = None,
        request: str | None = None,
        fallback: str | None = None,
        timeout: float = 1.0,
    ) -> Decision | list[Decision]:
        """Choose an arm, or n arms one after the other.

        Parameters
        ----------
        n : int, optional
            Ask for a list of n decisions, a million at most, in one transaction.
        among : iterable of str, optional
            The arms that are available now; by default all. An arm that is overdue and not available is
            chosen first once it is back.
        unit : str, optional
            Whom the decision is for, a user say. While a unit's decision is open (it has no reward yet, and
            its arm is available), the unit gets that one again.
        request : str, optional
            A name of the request. Who asks again with the same name gets the same decision.
        fallback : str, optional
            The arm to return if the store fails, or does not answer in time; then the decision `is_fallback`,
            and the bandit does not know of it: its reward is for `record`.
        timeout : float
            Seconds to wait, if there is a `fallback`.

        Raises
        ------
        InvalidValueError
            No arm is in service or available, or the horizon is over.
        NotServingError
            The bandit is paused.
        UnknownNameError
            An arm that is not in service.
        """
        sticky = Sticky.of(self._ids, self._settings, unit, request)
        count = 1 if n is None else checks.integer("n", n, 1, MOST_AT_ONCE)
        # Before the lock: it may ask this bandit, too.
        names = None if among is None else listed(among, "among")
        if sticky and n is not None:
            raise InvalidValueError("unit and request are for a single decision, without n.")
        if fallback is None:
            decisions = self._ask(count, names, sticky)
            return decisions[0] if n is None else decisions
        if n is not None or (names is not None and fallback not in names):
            raise InvalidValueError(
                f"fallback is for a single decision, and one of the arms in among; not {fallback!r}."
            )
        timeout = checks.number("timeout", timeout, 0, 86400)
        return self._ask_in_time(names, sticky, check_name(fallback), timeout)

    def _ask_in_time(
        self, names: Sequence[str] | None, sticky: Sticky | None, fallback: str, timeout: float
    ) -> Decision:
        """Ask in another thread, which gives up before it commits if nobody waits for it any more."""
        answers: queue.SimpleQueue[list[Decision] | Exception] = queue.SimpleQueue()
        over, free, end = threading.Event(), self._session.in_time, time.monotonic() + timeout

        def ask() -> None:
            try:
                answers.put(self._ask(1, names, sticky, over))
            except Exception as error:
                answers.put(error)
            finally:
                free.release()

        late = Decision.fall_back(fallback, f"the store did not answer within {timeout:g} seconds")
        if not free.acquire(timeout=timeout):
            return late
        threading.Thread(target=ask, daemon=True).start()
        try:
            answer = answers.get(timeout=max(0.0, end - time.monotonic()))
        except queue.Empty:
            over.set()
            return late
        if isinstance(answer, (StorageError, NotServingError)):
            return Decision.fall_back(fallback, str(answer).rstrip("."))
        if isinstance(answer, Exception):
            raise answer
        return answer[0]

    def _ask(
        self,
        count: int,
        names: Sequence[str] | None,
        sticky: Sticky | None,
        over: threading.Event | None = None,
    ) -> list[Decision]:
        with self._session.lock, self._session as session:
            decisions = self._ask_in(session, count, names, sticky)
            if over is not None and over.is_set():
                raise StorageError("nobody waits for this decision any more.")
        return decisions

    def _ask_in(
        self, session: Session, count: int, names: Sequence[str] | None, sticky: Sticky | None
    ) -> list[Decision]:
        """Ask inside an operation that writes; what is refused is refused before anything moves."""
        now = self._now()
        if session.engine.status != RESUME:
            return [status.instead(self._title, session.engine)] * count
        rows = self._rows(session.engine, names)
        self._settle(session, now)
        if sticky is not None:
            made = sticky.find(session.log, session.engine, rows)
            if made is not None:
                step, arm, data = made
                return [Decision.logged(self._ids.id_of(step), step, session.engine.names[arm], data)]
        self._require_room(session.engine, count)
        engine = session.moving()
        choice = engine.choose(count, rows)
        decisions = self._decisions(engine, choice, rows)
        events = self._asks(engine, choice, decisions, rows, now, sticky)
        for event in events:
            engine.note(event)
        session.keep(events)
        return decisions

    def tell(
        self,
        decision: str | Decision,
        reward: float,
        *,
        metric: str | None = None,
        replace: bool = False,
        request: str | None = None,
    ) -> Told:
        """Tell the reward of a decision: in any order, at any time, at most once.

        Where rewards add up (``accumulate``), each call adds to the reward, until its time is over.

        Parameters
        ----------
        decision : str or Decision
            Its `Decision.id`, or the decision itself.
        reward : float
            Where the policy's rewards are in [0, 1], True is 1 and False is 0.
        metric : str, optional
            Another metric of the decision, which the policy does not learn: see `metrics`. It is told once,
            too.
        replace : bool
            Correct the reward that was told before, once: a refund, say. Policies that keep no more of
            rewards than sums learn it (`brigand.Policy.corrects`); for others it is history only.
        request : str, optional
            A name of the request, where rewards add up: who tells again with the same name adds nothing.

        Raises
        ------
        UnknownDecisionError
            This bandit has not made the decision, or there is nothing to replace.
        ConflictingRewardError
            Another reward was told before.
        InvalidValueError
            The reward is no finite number, or none that the policy can work with.
        """
        call = self._telling([(decision, reward)], metric, replace, request)
        with self._session.lock, self._session as session:
            return call(session)[0]

    def _telling(
        self,
        rewards: Iterable[tuple[str | Decision, float]],
        metric: str | None = None,
        replace: bool = False,
        request: str | None = None,
    ) -> Callable[[Session], list[Told]]:
        """Return what tells rewards inside an operation that writes: one, if there is a metric."""
        if metric is not None and check_key("metric", metric) == self._settings.metric:
            metric = None
        if request is not None:
            check_key("request", request)
        adds_up, given = self._settings.accumulate is not None, []
        for decision, reward in rewards:
            if _is_of_the_end(decision):
                return lambda session: [Told.HISTORY]
            step = self._step_of(decision)
            if metric is None and not adds_up:
                given.append((step, self._checked(reward, "decision", step)))
            else:  # the policy does not learn it as it is
                name = f"decision {step}: {metric or 'a reward'}"
                value = float(reward) if isinstance(reward, (bool, np.bool_)) else reward
                given.append((step, checks.number(name, value, -MAX_REWARD, MAX_REWARD)))
        if metric is not None:
            return lambda session: telling.tell_metric(self, session, given[0], metric, replace)
        if replace:
            if adds_up:
                raise InvalidValueError("where rewards add up, tell the difference, without replace.")
            return lambda session: telling.correct(self, session, *given[0])
        if adds_up:
            return lambda session: telling.add_parts(self, session, given, request)
        return lambda session: telling.tell(self, session, given)

    def tell_many(
        self, rewards: Mapping[str | Decision, float] | Iterable[tuple[str | Decision, float]]
    ) -> list[Told]:
        """Tell several rewards, each with its decision or the id: all, or none if one of them is refused.

        Errors are those of `tell`.
        """
        call = self._telling(
            rewards.items()
            if isinstance(rewards, Mapping)
            else _rows_of(rewards, "tell_many", "a decision and its reward", lambda one, two: (one, two))
        )
        with self._session.lock, self._session as session:
            return call(session)

    def add_arm(self, name: str, *, by: str | None = None) -> None:
        """Put a new arm into service; a name that was removed starts afresh.

        Most policies treat it as one that was never available before. For those whose state depends on the
        number of arms, the whole log is taken in again, as if they had known from the beginning that there is
        an arm which is not available yet; meanwhile others go on. `by` is who does it, for the `audit`.
        """
        name, kept, said = check_name(name), False, status.said_by(by)
        with self._session.reading() as session:
            self._check_new(session.engine, name)
            grows = session.engine.grows
            other = session.engine.for_one_more() if grows else None
        if other is not None:
            other.compile()
        while not kept:  # again, if another arm came meanwhile
            prepared = None if grows else self._session.prepare_arm()
            with self._session.lock, self._session as session:
                now, engine = self._now(), session.engine
                self._check_new(engine, name)
                self._settle(session, now)
                data = name_data(name, joins=prepared is None, **said)
                kept = session.keep_arm(Event(ADD, None, len(engine.names), None, True, now, data), prepared)
                grows = session.engine.grows

    def remove_arm(self, name: str, *, by: str | None = None) -> None:
        """Take an arm out of service: it is never chosen again, and rewards that still come are history.

        Raises
        ------
        UnknownNameError
            It is not in service.
        """
        said = status.said_by(by)
        with self._session.lock, self._session as session:
            now = self._now()
            row = self._row(session.engine, name)
            self._settle(session, now)
            data = json.dumps(said) if said else ""
            self._apply(session, [Event(REMOVE, None, row, None, True, now, data)])

    def pause(self, *, by: str | None = None, note: str = "") -> None:
        """Choose no arms until `resume`: asks raise a NotServingError. Rewards can be told.

        Parameters
        ----------
        by : str, optional
            Who does it, for the `audit`.
        note : str
            Why.

        Raises
        ------
        InvalidValueError
            The bandit has ended.
        """
        status.change(self, PAUSE, None, by, note)

    def resume(self, *, by: str | None = None, note: str = "") -> None:
        """Go on after `pause`, whose parameters and errors it has."""
        status.change(self, RESUME, None, by, note)

    def end(self, arm: str, *, by: str | None = None, note: str = "") -> None:
        """End with an arm, for good: every ask gets it from now on, and no decision is logged any more.

        Rewards of earlier decisions can be told. Parameters and errors are those of `pause`; and an
        UnknownNameError if the arm is not in service.
        """
        status.change(self, END, arm, by, note)

    def note(self, text: str, *, by: str | None = None) -> None:
        """Note something for the `audit`."""
        status.change(self, NOTE, None, by, text)

    @property
    def status(self) -> str:
        """``"serving"``, ``"paused"`` or ``"ended"``."""
        with self._session.reading() as session:
            return status.SAID[session.engine.status]

    @overload
    def audit(self, *, plain: Literal[False] = False) -> pd.DataFrame: ...
    @overload
    def audit(self, *, plain: Literal[True]) -> list[dict[str, Any]]: ...

    def audit(self, *, plain: bool = False) -> pd.DataFrame | list[dict[str, Any]]:
        """Return who changed what and when, one row each.

        Parameters
        ----------
        plain : bool
            Return a list of dicts that JSON can hold: times as ISO 8601.

        Returns
        -------
        pandas.DataFrame
            Columns ``at`` (index, UTC), ``by``, ``action`` (add, remove, pause, resume, end, note), ``arm``
            and ``note``; texts are empty where nothing was said. Where pandas is not installed: a list of
            dicts.

        Examples
        --------
        >>> import brigand as br
        >>> bandit = br.Bandit(["red", "green"], "FE-Linear")
        >>> bandit.pause(by="Anna", note="the shop is closed")
        >>> bandit.status, bandit.audit()["action"].to_list()
        ('paused', ['add', 'add', 'pause'])
        """
        rows = status.audit(self)
        return list(map(plain_row, rows)) if plain else report.table(rows, status.AUDIT)

    @overload
    def metrics(self, *, level: float = 0.95, plain: Literal[False] = False) -> pd.DataFrame: ...
    @overload
    def metrics(self, *, level: float = 0.95, plain: Literal[True]) -> list[dict[str, Any]]: ...

    def metrics(self, *, level: float = 0.95, plain: bool = False) -> pd.DataFrame | list[dict[str, Any]]:
        """Return what was told of other metrics, one row for each metric and arm.

        Parameters
        ----------
        level : float
            Of the intervals.
        plain : bool
            Return a list of dicts that JSON can hold: None for numbers that are missing or infinite.

        Returns
        -------
        pandas.DataFrame
            Columns ``metric`` (index), ``arm``, ``told``, ``mean``, ``lower`` and ``upper`` (an asymptotic
            interval that holds however often one looks, as in `summary`). Of decisions in the log.
        """
        from brigand.live.metrics import COLUMNS, metrics

        rows = metrics(self, level)
        return list(map(plain_row, rows)) if plain else report.table(rows, COLUMNS)

    @property
    def policy(self) -> Policy:
        """What chooses the arms."""
        return self._settings.policy

    def arms(self) -> list[str]:
        """Return the names of the arms in service, in the order in which they came."""
        with self._session.reading() as session:
            engine = session.engine
            return [engine.names[row] for row in sorted(engine.row_of.values())]

    def record(self, rewards: Iterable[tuple[str, float | None] | Past]) -> list[str]:
        """Take in decisions that were made elsewhere, say by the system that ran before: all, or none.

        Parameters
        ----------
        rewards : iterable of pairs, or of `brigand.Past`
            The arm, and its reward or None if it is still to come; with `Past` also when each was.

        Returns
        -------
        list of str
            Ids of the decisions; they count as asks.
        """
        if isinstance(rewards, Mapping):
            raise InvalidValueError(
                "record takes pairs in the order of the decisions, such as [('a', 1.0)], not "
                f"{reprlib.repr(rewards)}."
            )
        # Before the lock, as in `ask`.
        past = list(_rows_of(rewards, "record", "an arm and its reward, or a brigand.Past", Past))
        with self._session.lock, self._session as session:
            now, engine = self._now(), session.engine
            made = [self._checked_past(engine, given, number, now) for number, given in enumerate(past, 1)]
            self._require_room(engine, len(made))
            first = engine.steps + 1
            self._settle(session, now)
            for start in range(0, len(made), PAGE_SIZE):
                self._apply(session, _recorded(made[start : start + PAGE_SIZE], first + start))
        return list(map(self._ids.id_of, range(first, first + len(made))))

    def _checked_past(self, engine: Engine, past: Past, number: int, now: float) -> Made:
        """Return what row `number` says, as the log does: with the arm's row, and times in seconds."""
        arm, reward, asked_at, told_at, propensity = past
        row = self._row(engine, arm, number)
        if propensity is not None:
            propensity = checks.number(f"row {number}: propensity", propensity, 0.0, 1.0, above=0.0)
        asked = now if asked_at is None else seconds(f"row {number}: asked_at", asked_at)
        if reward is None:
            return row, None, asked, asked, propensity
        told = max(now, asked) if told_at is None else seconds(f"row {number}: told_at", told_at)
        if told < asked:
            raise InvalidValueError(
                f"row {number}: a reward cannot be told before its decision: told_at is {told_at}, asked_at "
                f"{asked_at if asked_at is not None else 'now'}."
            )
        return row, self._checked(reward, "row", number), asked, told, propensity

    @overload
    def history(
        self, *, after: int = 0, limit: int | None = None, plain: Literal[False] = False
    ) -> pd.DataFrame: ...
    @overload
    def history(
        self, *, after: int = 0, limit: int | None = None, plain: Literal[True]
    ) -> list[dict[str, Any]]: ...

    def history(
        self, *, after: int = 0, limit: int | None = None, plain: bool = False
    ) -> pd.DataFrame | list[dict[str, Any]]:
        """Return the decisions after step `after`, at most `limit`, one row each.

        Parameters
        ----------
        after : int
        limit : int, optional
        plain : bool
            Return a list of dicts that JSON can hold: times as ISO 8601, None for what is missing.

        Returns
        -------
        pandas.DataFrame
            Index ``step``; columns ``decision`` (its id), ``arm``, ``asked_at`` and ``told_at`` (UTC),
            ``explored``, ``propensity`` (NaN if there is none), ``holdout``, ``reason``, ``reward`` (the
            default value where that stands in) and ``status``: ``"pending"``, ``"learned"``, ``"default"``,
            ``"late"`` (told after the default value was learned, which is then kept in ``learned``),
            ``"replaced"`` (by the reward that is shown; ``learned`` says what the policy holds) or
            ``"history"`` (the arm was removed before). Where pandas is not installed: a list of dicts, one a
            decision, with times as `datetime` and None for what is missing.
        """
        after = checks.integer("after", after, 0, checks.MAX_STEPS)
        limit = limit if limit is None else checks.integer("limit", limit, 0, checks.MAX_STEPS)
        pages = history.pages(self, after, limit)
        if plain:
            return [plain_row(row) for page in pages for row in history.rows(page)]
        return history.frame(pages)

    @overload
    def summary(
        self,
        *,
        level: float = 0.95,
        support: tuple[float, float] | None = None,
        removed: bool = False,
        over_time: bool = False,
        plain: Literal[False] = False,
    ) -> pd.DataFrame: ...
    @overload
    def summary(
        self,
        *,
        level: float = 0.95,
        support: tuple[float, float] | None = None,
        removed: bool = False,
        over_time: bool = False,
        plain: Literal[True],
    ) -> list[dict[str, Any]]: ...

    def summary(
        self,
        *,
        level: float = 0.95,
        support: tuple[float, float] | None = None,
        removed: bool = False,
        over_time: bool = False,
        plain: bool = False,
    ) -> pd.DataFrame | list[dict[str, Any]]:
        """Return what is known of each arm, one row each; default values stand in for what is overdue.

        Parameters
        ----------
        level : float
            Of each arm's interval.
        support : (float, float), optional
            The range of the rewards, if it is known; by default the one that the policy was told. A reward
            outside of it is an error.
        removed : bool
            Also show arms that are out of service.
        over_time : bool
            Also give means over the time of the log (`brigand.arm_means` of `log`), which reads all of it.
            `mean` is of the times at which an arm was shown: where rates and shares move together, these are
            not the same for two arms, and that of an arm that began badly is too low.
        plain : bool
            Return a list of dicts that JSON can hold: None for numbers that are missing or infinite.

        Returns
        -------
        pandas.DataFrame
            Index ``arm``; columns ``asked``, ``told``, ``pending``, ``defaulted`` (how many of those told
            were default values), ``mean``, ``lower`` and ``upper`` (an interval that holds at every time,
            however arms are chosen and however often one looks: `brigand.live.confidence`), ``interval``
            (``"exact"`` if the rewards' range is known, else ``"asymptotic"``), ``explored`` and ``greedy``
            (shares of its asks, see `Decision.explored`); with `removed` also ``in_service``; with
            `over_time` also ``over_time``, ``over_time_lower`` and ``over_time_upper`` (an interval for one
            look, without use of `support`), missing where the log does not tell. Where pandas is not
            installed: a list of dicts.
        """
        columns = report.SUMMARY | ({"in_service": "bool"} if removed else {})
        self._settle_overdue()
        rows = report.summary(self, level, support, removed)
        if over_time:
            columns |= report.OVER_TIME
            found = report.over_time(self.log(), level)
            for row in rows:
                row |= zip(report.OVER_TIME, found.get(row["arm"], 3 * (math.nan,)), strict=True)
        return list(map(plain_row, rows)) if plain else report.table(rows, columns)

    def gain(self, *, level: float = 0.95, support: tuple[float, float] | None = None) -> Gain:
        """Return what the bandit earns over an even split, by its holdout.

        Parameters
        ----------
        level : float
            Of the interval.
        support : (float, float), optional
            As in `summary`.

        Returns
        -------
        Gain
            The mean reward of a decision of the policy less that of one by chance, and an interval that holds
            however often one looks: see `brigand.live.gain`. Of the decisions in the log: those that were
            made elsewhere do not count, nor those that were pruned.

        Raises
        ------
        InvalidValueError
            The bandit has no holdout, or a reward is outside of `support`.

        Examples
        --------
        >>> import brigand as br
        >>> bandit = br.Bandit(["a", "b"], br.UCB1(0, 1), seed=0, holdout=0.2)
        >>> for decision in bandit.ask(2000):
        ...     told = bandit.tell(decision, decision.arm == "b")
        >>> found = bandit.gain()
        >>> found.decisions + found.holdout
        2000
        """
        from brigand.live.gain import gain

        self._settle_overdue()
        return gain(self, level, support)

    def verdict(self, *, level: float = 0.95, support: tuple[float, float] | None = None) -> Verdict:
        """Return which arm leads, how sure that is, and what is missing, also in words.

        Parameters
        ----------
        level : float
            The probability that no arm is ever called the best one that is not, however often one looks.
        support : (float, float), optional
            As in `summary`.

        Returns
        -------
        Verdict
            Of the arms in service: see `brigand.live.verdict`.

        Examples
        --------
        >>> import brigand as br
        >>> bandit = br.Bandit(["a", "b"], br.ThompsonBeta(), seed=0)
        >>> for decision in bandit.ask(40):
        ...     told = bandit.tell(decision, decision.arm == "b")
        >>> found = bandit.verdict()
        >>> found.leader, found.decided, found.missing
        ('b', True, 0)
        """
        from brigand.live.verdict import verdict

        self._settle_overdue()
        return verdict(self, level, support)

    def log(self) -> Log:
        """Return the decisions that have a reward as a `Log`: to replay policies on, or to evaluate rules.

        Of a decision whose default value was learned, that is the reward until another one is told. All arms
        that ever were are in it; which of them were available is, too.

        Examples
        --------
        >>> import brigand as br
        >>> bandit = br.Bandit(["a", "b"], br.UCB1(0, 1), seed=0, floor=0.1)
        >>> for decision in bandit.ask(100):
        ...     told = bandit.tell(decision, decision.arm == "b")
        >>> log = bandit.log()
        >>> len(log), log.arms, bool(log.propensity.min() >= 0.1)
        (100, ('a', 'b'), True)
        """
        from brigand.live.as_log import as_log

        self._settle_overdue()
        return as_log(self)

    def snapshot(self) -> dict[str, Any]:
        """Return everything as plain data that JSON can hold, with a schema version: see `restore`."""
        with self._session.reading() as session:
            seq, state = session.seq, session.engine.to_json()
        with self._session.apart() as log:
            return snapshots.write(self._ids, self._settings, state, seq, log)

    def prune(self, before: float | datetime) -> int:
        """Drop decisions that were made before a time, with their rewards: what was learned stays.

        The bandit goes on as if all were there, and `summary` counts all. But `history` has only what is
        left, and a reward can be told to that only. With a `reward_timeout`, decisions that wait for their
        rewards stay, with all that came later; without one nothing tells that a reward may still come, so
        take a time before which none is missed. The last decision always stays.

        What was dropped cannot be replayed: a policy for which a new arm needs the whole log takes none any
        more, and a version of Brigand that keeps the policy's state in another way cannot go on. For such a
        policy, what came before the last new arm stays until that is older, too.

        Parameters
        ----------
        before : float or datetime
            Seconds since the epoch; a `datetime` without a zone is UTC.

        Returns
        -------
        int
            How many decisions were dropped.

        Raises
        ------
        InvalidValueError
            The state of the policy could not be read again, as that of one of your own may be.

        Examples
        --------
        >>> import brigand as br
        >>> from datetime import datetime
        >>> bandit = br.Bandit(["red", "green"], "FE-Linear")
        >>> past = br.Past("red", 0.5, datetime(2026, 1, 1), datetime(2026, 1, 2))
        >>> ids = bandit.record([past, past, ("green", 0.25)])
        >>> bandit.prune(datetime(2026, 2, 1))
        2
        >>> len(bandit.history()), bandit.summary()["told"].to_dict()
        (1, {'red': 2, 'green': 1})
        """
        return self._session.prune(seconds("before", before))

    @classmethod
    def restore(
        cls,
        snapshot: dict[str, Any],
        *,
        store: Place | None = None,
        name: str | None = None,
        allow: Iterable[str] = (),
        clock: Callable[[], float] = time.time,
        busy_timeout: float = BUSY_TIMEOUT,
    ) -> Self:
        """Make a bandit from a `snapshot`: it goes on as the other one would, and knows its decisions.

        `store`, `name`, `clock` and `busy_timeout` as for a new bandit, `allow` as in `open`.

        Raises
        ------
        InvalidValueError
            It is no snapshot, a damaged one or one of a newer version, or its policy needs a module that is
            not allowed.
        """
        ids, settings, events, state, base = snapshots.read(snapshot, listed(allow, "allow"))
        bandit = cls.__new__(cls)
        new = (store, name, ids, settings, events, clock(), busy_timeout, state, base)
        bandit._start(backends.create(*new), name, clock)
        return bandit

    def close(self) -> None:
        """Close the store; so does leaving a ``with`` block, and a bandit that is no longer used."""
        self._backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Bandit {self._title}: {self._settings.policy!r}>"

    @display.html_repr
    def _repr_html_(self) -> str:
        """Return a table of the arms, and a small figure of their intervals; writes nothing."""
        rows = report.summary(self, 0.95, None, False)
        columns = ("arm", "asked", "told", "pending", "mean", "lower", "upper")
        return display.block(
            f"Bandit {self._title}: {self._settings.policy!r}",
            display.table(columns, ([row[column] for column in columns] for row in rows)),
            display.forest(
                ((row["arm"], row["mean"], row["lower"], row["upper"]) for row in rows),
                "Mean reward of each arm with its 95 % interval, which holds however often one looks",
            ),
        )

    def _apply(self, session: Session, events: Sequence[Event]) -> None:
        session.moving().apply(events)
        session.keep(events)

    def _now(self) -> float:
        """Return the clock's time.

        Raises
        ------
        InvalidValueError
            It is no finite number.
        """
        return _time_of(self._clock)

    def _settle(self, session: Session, now: float) -> Container[int | None]:
        """Let default values stand in for rewards that are overdue; return the steps of those decisions."""
        timeout, value = self._settings.settles_after, self._settings.default_reward
        if timeout is None:
            return ()
        if session.engine.waiting.any_until(now - timeout):  # one reading of a clock may be wrong
            now = min(now, self._now(), session.log.now() if self._clock is time.time else math.inf)
        if not session.engine.waiting.any_until(now - timeout):
            return ()
        engine = session.moving()
        adds_up, events = self._settings.accumulate is not None, []
        for step, arm in engine.waiting.take_until(now - timeout):
            kind, total = (TELL, math.fsum(engine.parts.get(step, ()))) if adds_up else (DEFAULT, value)
            events.append(Event(kind, step, arm, total, engine.serves(arm), now, ""))
        self._apply(session, events)
        return {event.step for event in events}

    def _settle_overdue(self) -> None:
        """Settle, but write only if something is overdue, and leave it where nothing can be written."""
        timeout = self._settings.settles_after
        if timeout is None:
            return
        now = self._now()
        with self._session.reading() as session:
            overdue = session.engine.waiting.any_until(now - timeout)
        if overdue:
            with suppress(StorageError), self._session.lock, self._session as session:
                self._settle(session, now)

    def _rows(self, engine: Engine, names: Sequence[str] | None) -> list[int] | None:
        """Return the rows of the arms that are available, ascending; None for all in service."""
        if names is None:
            if not engine.row_of:
                raise InvalidValueError(f"bandit {self._title} has no arm in service.")
            return None
        if not names:
            raise InvalidValueError("among must name an arm at least; leave it out for all arms.")
        return sorted({self._row(engine, name) for name in names})

    def _row(self, engine: Engine, name: str, number: int | None = None) -> int:
        if not isinstance(name, str) or name not in engine.row_of:
            place = "" if number is None else f"row {number}: "
            raise UnknownNameError("arm", name, engine.row_of, place)
        return engine.row_of[name]

    def _check_new(self, engine: Engine, name: str) -> None:
        if name in engine.row_of:
            raise NameTakenError(f"bandit {self._title} has an arm {name!r} already.")
        self._settings.check_floor(len(engine.row_of) + 1)
        check_alike([*engine.row_of, name])

    def _require_room(self, engine: Engine, n: int) -> None:
        horizon = self._settings.horizon
        if horizon is not None and engine.steps + n > horizon:
            raise InvalidValueError(
                f"bandit {self._title} was told that there are at most {horizon:,} asks (its horizon), and "
                f"there were {engine.steps:,}: {n:,} more are not possible."
            )

    def _decisions(self, engine: Engine, choice: Choice, rows: list[int] | None) -> list[Decision]:
        n = len(engine.row_of) if rows is None else len(rows)
        among = "" if n == len(engine.row_of) else " of the available arms"
        names, settings, id_of = engine.names, self._settings, self._ids.id_of
        return [
            Decision(
                id_of(int(call[STEP])),
                int(call[STEP]),
                names[int(call[ARM])],
                call[EXPLORED] != 0.0,
                Basis(settings, choice, place, names, among, n),
                None if math.isnan(call[PROPENSITY]) else call[PROPENSITY],
                call[DRAWN] == HOLDOUT,
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
        sticky: Sticky | None,
    ) -> list[Event]:
        """Return decisions as events; in a store with reasons, and what is needed to go on from there."""
        arms = map(int, choice.calls[:, ARM].tolist())
        if not self._backend.durable and rows is None and sticky is None:
            return [
                Event(ASK, decision.step, arm, None, True, now, _said_of(decision))
                for decision, arm in zip(decisions, arms, strict=True)
            ]
        events = []
        for decision, arm in zip(decisions, arms, strict=True):
            data: dict[str, object] = {"explored": decision.explored}
            if decision.propensity is not None:
                data["propensity"] = decision.propensity
            if decision.holdout:
                data["holdout"] = True
            if self._backend.durable:
                data |= {"reason": decision.reason, "data": decision.data}
                if decision is decisions[-1]:
                    data["rng"] = engine.wound
            if rows is not None:
                data["among"] = rows
            if sticky is not None:
                data |= sticky.data
            events.append(Event(ASK, decision.step, arm, None, True, now, json.dumps(data)))
        return events

    def _step_of(self, decision: str | Decision) -> int:
        """Return the step in a decision's id."""
        if isinstance(decision, Decision):
            if decision.is_fallback:
                raise UnknownDecisionError(
                    f"bandit {self._title} did not choose {decision.arm!r}, a fallback: "
                    "record([(arm, reward)]) takes in what was decided elsewhere."
                )
            decision = decision.id
        step = self._ids.step_of(decision)
        if step is None:
            raise UnknownDecisionError(f"{decision!r} is no id of a decision of bandit {self._title}.")
        return step

    def _checked(self, reward: object, kind: str, number: int) -> float:
        """Return a reward as a float; errors name its place, such as "row 3"."""
        if type(reward) is not float or not -MAX_REWARD <= reward <= MAX_REWARD:
            name = f"{kind} {number}: a reward"
            reward = checks.number(name, self._as_number(reward, name), -MAX_REWARD, MAX_REWARD)
        low, high = self._support
        if not low <= reward <= high:
            name = type(self._settings.policy).__name__
            raise UnsupportedRewardError(
                f"{kind} {number}: {name} needs rewards in [{low:g}, {high:g}], not {reward!r}. Nothing was "
                "told; scale the rewards, or make a bandit whose policy has their range."
            )
        low, high = self._range
        if not low <= reward <= high:
            warnings.warn(
                f"{kind} {number}: {self._settings.policy!r} was told a range, and {reward:g} is outside: it "
                "is learned, but the policy may explore too little or too much.",
                stacklevel=2,
            )
        return reward

    def _as_number(self, reward: object, name: str) -> object:
        """Return 1 for True and 0 for False, where rewards are in [0, 1]."""
        if not isinstance(reward, (bool, np.bool_)):
            return reward
        if self._settings.policy.reward_range != (0.0, 1.0):
            raise InvalidValueError(
                f"{name} must be a number, not {bool(reward)}; give {float(reward)}. Nothing was told."
            )
        return float(reward)


def _said_of(decision: Decision) -> str:
    return _said(decision.explored, decision.propensity, decision.holdout)


@functools.lru_cache(1000)
def _said(explored: bool, propensity: float | None, holdout: bool) -> str:
    """Return the data of a decision in memory: one text for all that say the same."""
    said = {"explored": explored or None, "propensity": propensity, "holdout": holdout or None}
    data = {name: value for name, value in said.items() if value is not None}
    return json.dumps(data) if data else ""


def _recorded(decisions: Iterable[Made], first: int) -> list[Event]:
    """Return decisions that were made elsewhere as events, of which the first has a number."""
    events = []
    for step, (row, reward, asked, told, propensity) in enumerate(decisions, first):
        said = "" if propensity is None else f', "propensity": {propensity!r}'
        events.append(Event(ASK, step, row, None, True, asked, f"{RECORDED}{said}}}"))
        if reward is not None:
            events.append(Event(TELL, step, row, reward, True, told, ""))
    return events


def _is_of_the_end(decision: object) -> bool:
    """Return whether it is a decision of a bandit that has ended, or its id."""
    if isinstance(decision, Decision):
        decision = decision.id
    return isinstance(decision, str) and decision.startswith(f"{ENDED}-")


def _time_of(clock: Callable[[], float]) -> float:
    if not callable(clock):
        raise InvalidValueError(f"clock must be a function that returns the time, not {clock!r}.")
    now = clock()
    if type(now) is float and EARLIEST <= now <= LATEST:
        return now
    return checks.number("the clock's time", now, EARLIEST, LATEST)


def _rows_of(rows: Any, method: str, what: str, make: Callable[..., Row]) -> Iterator[Row]:
    """Yield rows, made of what the user gave; an error names the row, counted from 1.

    Errors of the user's own generator are passed on.
    """
    try:
        given = iter(rows)
    except TypeError:
        raise InvalidValueError(f"{method} takes rows of {what}, not {reprlib.repr(rows)}.") from None
    for number, row in enumerate(given, start=1):
        try:
            made = make(*row)
        except TypeError:
            raise InvalidValueError(
                f"row {number} of {method} must be {what}, not {reprlib.repr(row)}."
            ) from None
        yield made
