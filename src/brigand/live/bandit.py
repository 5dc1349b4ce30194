"""A bandit that serves: ask for an arm, tell its reward; rewards may come late, twice or never.

`Bandit` is what users call, and `core` does its work: `engine` decides, `session` keeps the engine and the
log together, `decision` explains, `report` makes tables.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self, overload

from brigand import checks
from brigand.live import homes, report, snapshots
from brigand.live.core import Core, Past, check_arms, name_data
from brigand.live.decision import Decision, Told
from brigand.live.settings import Settings
from brigand.policies.base import Policy
from brigand.storage.events import ADD, Event

if TYPE_CHECKING:
    import pandas as pd


class Bandit:
    """A bandit that chooses arms and learns from rewards, whenever they come.

    Exploration is driven by asks, estimates by tells. Threads may share a bandit, and processes a store.

    Parameters
    ----------
    arms : iterable of str
        Names of the arms, any strings, all different.
    policy : Policy
        `brigand.ForcedExploration` with `brigand.Linear` or `brigand.AnytimeExponential` needs to be told
        nothing.
    store : str, optional
        ``"sqlite:///path"``; without it the bandit lives in memory.
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
    load_if_exists : bool
        Open the bandit of this name, if the store has one, whatever its arms are now.
    clock : callable
        Returns seconds since the epoch.

    Raises
    ------
    InvalidValueError
        A setting is not allowed, the policy needs a horizon, or there is a bandit of this name.

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
        policy: Policy,
        *,
        store: str | None = None,
        name: str | None = None,
        seed: int | None = None,
        horizon: int | None = None,
        reward_timeout: float | None = None,
        default_reward: float | None = None,
        load_if_exists: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        settings = Settings.of(policy, seed, horizon, reward_timeout, default_reward)
        names, now = check_arms(arms), clock()
        events = [Event(ADD, None, row, None, True, now, name_data(arm)) for row, arm in enumerate(names)]
        new = (store, name, secrets.token_hex(6), settings, events, now)
        self._core = Core((homes.create_or_find if load_if_exists else homes.create)(*new), name, clock)

    @classmethod
    def open(cls, store: str, name: str, *, clock: Callable[[], float] = time.time) -> Self:
        """Open a bandit that a store has.

        Its policy is made from its JSON form: if it is a user's own, its module is imported.

        Parameters
        ----------
        store : str
            ``"sqlite:///path"``.
        name : str
        clock : callable
            Returns seconds since the epoch.

        Raises
        ------
        UnknownNameError
            There is no bandit of this name.
        """
        bandit = cls.__new__(cls)
        bandit._core = Core(homes.find(store, name), name, clock)
        return bandit

    @overload
    def ask(self, n: None = None, *, among: Iterable[str] | None = None) -> Decision: ...
    @overload
    def ask(self, n: int, *, among: Iterable[str] | None = None) -> list[Decision]: ...

    def ask(self, n: int | None = None, *, among: Iterable[str] | None = None) -> Decision | list[Decision]:
        """Choose an arm, or n arms one after the other.

        Parameters
        ----------
        n : int, optional
            Ask for a list of n decisions, in one transaction.
        among : iterable of str, optional
            The arms that are available now; by default all. An arm that is overdue and not available is
            chosen first once it is back.

        Raises
        ------
        InvalidValueError
            No arm is in service or available, or the horizon is over.
        UnknownNameError
            An arm that is not in service.
        """
        if n is None:
            return self._core.ask(1, among)[0]
        return self._core.ask(checks.integer("n", n, 1), among)

    def tell(self, decision: str, reward: float) -> Told:
        """Tell the reward of a decision: in any order, at any time, at most once.

        Parameters
        ----------
        decision : str
            Its `Decision.id`.
        reward : float

        Raises
        ------
        UnknownDecisionError
            This bandit has not made the decision.
        ConflictingRewardError
            Another reward was told before.
        InvalidValueError
            The reward is no finite number, or none that the policy can work with.
        """
        return self._core.tell([(decision, reward)])[0]

    def tell_many(self, rewards: Mapping[str, float] | Iterable[tuple[str, float]]) -> list[Told]:
        """Tell several rewards, given as ids and rewards: all, or none if one of them is refused.

        Errors are those of `tell`.
        """
        return self._core.tell(rewards.items() if isinstance(rewards, Mapping) else rewards)

    def add_arm(self, name: str) -> None:
        """Put a new arm into service; a name that was removed starts afresh.

        The whole log is replayed, as if the policy had known from the beginning that there is an arm which is
        not available yet.
        """
        self._core.add(name)

    def remove_arm(self, name: str) -> None:
        """Take an arm out of service: it is never chosen again, and rewards that still come are history.

        Raises
        ------
        UnknownNameError
            It is not in service.
        """
        self._core.remove(name)

    @property
    def policy(self) -> Policy:
        """What chooses the arms."""
        return self._core.settings.policy

    def arms(self) -> list[str]:
        """Return the names of the arms in service, in the order in which they came."""
        with self._core.session.reading() as session:
            engine = session.engine
            return [engine.names[row] for row in sorted(engine.row_of.values())]

    def record(self, rewards: Iterable[tuple[str, float | None] | Past]) -> list[str]:
        """Take in decisions that were made elsewhere, say by the system that ran before: all, or none.

        Parameters
        ----------
        rewards : iterable of pairs, or of `brigand.live.core.Past`
            The arm, and its reward or None if it is still to come; with `Past` also when that was.

        Returns
        -------
        list of str
            Ids of the decisions; they count as asks.
        """
        return self._core.record(Past(*row) for row in rewards)

    def history(self, *, after: int = 0, limit: int | None = None) -> pd.DataFrame:
        """Return the decisions after step `after`, at most `limit`, one row each.

        Returns
        -------
        pandas.DataFrame
            Index ``step``; columns ``decision`` (its id), ``arm``, ``asked_at`` and ``told_at`` (UTC),
            ``explored``, ``reason``, ``reward`` (the default value where that stands in) and ``status``:
            ``"pending"``, ``"learned"``, ``"default"``, ``"late"`` (told after the default value was learned,
            which is then kept in ``learned``) or ``"history"`` (the arm was removed before).
        """
        after = checks.integer("after", after, 0, checks.MAX_STEPS)
        limit = limit if limit is None else checks.integer("limit", limit, 0, checks.MAX_STEPS)
        with self._core.session.reading() as session:
            return report.history(session.engine, session.log.history(after, limit), self._core.uid)

    def summary(
        self, *, level: float = 0.95, support: tuple[float, float] | None = None, removed: bool = False
    ) -> pd.DataFrame:
        """Return what is known of each arm, one row each.

        Parameters
        ----------
        level : float
            Of each arm's interval.
        support : (float, float), optional
            The range of the rewards, if it is known; by default the one that the policy was told.
        removed : bool
            Also show arms that are out of service.

        Returns
        -------
        pandas.DataFrame
            Index ``arm``; columns ``asked``, ``told``, ``pending``, ``defaulted`` (how many of those told
            were default values), ``mean``, ``lower`` and ``upper`` (an interval that holds at every time,
            however arms are chosen and however often one looks: `brigand.live.confidence`), ``interval``
            (``"exact"`` if the rewards' range is known, else ``"asymptotic"``), ``forced`` and ``greedy``
            (shares of its asks).
        """
        known = report.check_support(support) or self._core.support
        with self._core.session.reading() as session:
            return report.summary(session.engine, level, known, removed)

    def snapshot(self) -> dict[str, Any]:
        """Return everything as plain data that JSON can hold, with a schema version: see `restore`."""
        with self._core.session.reading() as session:
            return snapshots.write(self._core.uid, self._core.settings, session.engine, session.log.since(0))

    @classmethod
    def restore(
        cls,
        snapshot: dict[str, Any],
        *,
        store: str | None = None,
        name: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Self:
        """Make a bandit from a `snapshot`: it goes on as the other one would, and knows its decisions.

        Raises
        ------
        InvalidValueError
            It is no snapshot, or one of a newer version.
        """
        uid, settings, events, state = snapshots.read(snapshot)
        bandit = cls.__new__(cls)
        bandit._core = Core(homes.create(store, name, uid, settings, events, clock(), state), name, clock)
        return bandit

    def close(self) -> None:
        """Close the store; so does leaving a ``with`` block, and a bandit that is no longer used."""
        self._core.home.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Bandit {self._core.title}: {self._core.settings.policy!r}>"
