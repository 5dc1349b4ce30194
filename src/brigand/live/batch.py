"""Calls that share one transaction: each has its own answer or error, and all are on disk, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from brigand.errors import BrigandError, PolicyError, StorageError
from brigand.live.bandit import Bandit
from brigand.live.beside import Sticky
from brigand.live.decision import Decision, Told
from brigand.live.names import listed
from brigand.live.session import Session

Call = Callable[[Session], Any]
"""What a call does inside the transaction; `asking` and `telling` make them."""


def asking(
    bandit: Bandit,
    *,
    n: int = 1,
    among: Iterable[str] | None = None,
    unit: str | None = None,
    request: str | None = None,
) -> Callable[[Session], list[Decision]]:
    """Return a call that asks: see `brigand.Bandit.ask`.

    Raises
    ------
    InvalidValueError
        A value is not allowed.
    """
    names = None if among is None else listed(among)
    sticky = Sticky.of(bandit._ids, bandit._settings, unit, request)
    return lambda session: bandit._ask_in(session, n, names, sticky)


def telling(
    bandit: Bandit,
    rewards: Iterable[tuple[str | Decision, float]],
    *,
    metric: str | None = None,
    replace: bool = False,
    request: str | None = None,
) -> Callable[[Session], list[Told]]:
    """Return a call that tells: see `brigand.Bandit.tell`.

    Raises
    ------
    UnknownDecisionError, InvalidValueError
        As there.
    """
    return bandit._telling(rewards, metric, replace, request)


def run(bandit: Bandit, calls: Sequence[Call]) -> list[Any]:
    """Do calls in one transaction, and return what each returned, or the error that refused it.

    Raises
    ------
    StorageError
        The store cannot be written: nothing of any call is stored.
    PolicyError
        The policy broke the contract: neither.
    """
    answers: list[Any] = []
    with bandit._session.lock, bandit._session as session:
        for call in calls:
            try:
                answers.append(call(session))
            except (StorageError, PolicyError):
                raise
            except BrigandError as error:  # it was refused before anything moved
                answers.append(error)
    return answers


def is_same(bandit: Bandit, other: Bandit) -> bool:
    """Return whether two that were opened by one name are one bandit; else one took the other's place."""
    return bandit._backend.identity == other._backend.identity
