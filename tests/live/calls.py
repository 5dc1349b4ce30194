"""A bandit in a file, and what can be called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import brigand as br
from live.twin import reward_of
from live.warm import THOMPSON

ARMS = ["a", "b", "c"]


def path_of(url: str) -> Path:
    """Return the path of the file."""
    return Path(url.removeprefix("sqlite:///"))


def create(url: str, policy: br.Policy = THOMPSON, name: str = "x", **settings: Any) -> br.Bandit:
    """Return a new bandit."""
    return br.Bandit(ARMS, policy, store=url, name=name, seed=5, **settings)


def make(url: str, policy: br.Policy = THOMPSON) -> br.Bandit:
    """Return a bandit with four decisions, two of them told."""
    bandit = create(url, policy)
    for decision in bandit.ask(4)[:2]:
        bandit.tell(decision.id, reward_of(decision.step))
    return bandit


def calls(bandit: br.Bandit) -> list[Callable[[], Any]]:
    """Return one call of each kind that writes."""
    waiting = [line.decision for line in bandit.history().itertuples() if line.status == "pending"][:2]
    return [
        bandit.ask,
        lambda: bandit.ask(5, among=["a", "b"]),
        lambda: bandit.tell(waiting[0], 0.5),
        lambda: bandit.tell_many({number: 0.5 for number in waiting}),
        lambda: bandit.add_arm("new"),
        lambda: bandit.record([("a", 0.5), ("b", None)]),
        lambda: bandit.remove_arm("a"),
    ]


def refused(call: Callable[[], Any], *words: str) -> bool:
    """Return whether a call is refused, and check that its message has these words."""
    try:
        call()
    except br.StorageError as error:
        message = str(error)
    else:
        return False
    assert all(word in message for word in words), message
    return True
