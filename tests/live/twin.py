"""A bandit that lives in memory without a care, fed with what another one did: both must be the same."""

from __future__ import annotations

import json
from typing import Any

import brigand as br
from brigand.storage.events import ADD, ASK, DEFAULT, REMOVE, TELL, Event


class Twin:
    """A bandit in memory with the settings of `bandit`, and its first arms.

    Parameters
    ----------
    bandit : Bandit

    Attributes
    ----------
    bandit : Bandit
        The twin; its decisions have the same ids.
    length : int
        How many events it was fed.
    """

    def __init__(self, bandit: br.Bandit) -> None:
        settings = bandit._settings
        events = log(bandit)
        first = next((i for i, event in enumerate(events) if event.kind != ADD), len(events))
        self.at = 0.0
        self.bandit = br.Bandit(
            [json.loads(event.data)["name"] for event in events[:first]],
            settings.policy,
            seed=settings.seed,
            horizon=settings.horizon,
            reward_timeout=settings.reward_timeout,
            default_reward=settings.default_reward,
            clock=lambda: self.at,
        )
        self.ids = self.bandit._ids = bandit._ids
        self.length = first
        self.follow(bandit)

    def follow(self, bandit: br.Bandit) -> None:
        """Do what `bandit` did since the last time: choices, default values and state must be the same."""
        for event in log(bandit, self.length):
            if self.length == len(log(self.bandit)):
                self.at = event.at
                self._do(event)
            own = log(self.bandit, self.length)[0]
            assert _essence(own) == _essence(event)
            self.length += 1
        assert self.length == len(log(self.bandit))
        assert state(self.bandit) == state(bandit)

    @property
    def steps(self) -> int:
        """How many decisions were made."""
        return self.bandit._session.engine.steps

    def _do(self, event: Event) -> None:
        bandit, name = self.bandit, self.bandit._session.engine.names
        if event.kind == ASK:
            data = _data(event)
            among = data.get("among")
            if data.get("reason", "").startswith("recorded"):
                bandit.record([(name[event.arm], None)])
            else:
                bandit.ask(among=among if among is None else [name[row] for row in among])
        elif event.kind == TELL:
            bandit.tell(self.ids.id_of(event.step), event.value)
        elif event.kind == DEFAULT:
            with bandit._session.lock, bandit._session as session:
                bandit._settle(session, event.at)
        elif event.kind == ADD:
            bandit.add_arm(json.loads(event.data)["name"])
        elif event.kind == REMOVE:
            bandit.remove_arm(name[event.arm])

    def goes_on_as(self, bandit: br.Bandit, n: int) -> None:
        """Both make `n` more decisions, and learn their rewards: these must be the same."""
        for _ in range(n):
            theirs = bandit.ask()
            bandit.tell(theirs.id, reward_of(theirs.step))
            self.follow(bandit)


def _data(event: Event) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(event.data or "{}")
    return data


def _essence(event: Event) -> tuple[Any, ...]:
    """Return what a log in memory and one in a store both hold of an event."""
    data = _data(event)
    return (*event[:-1], data.get("explored", False), data.get("among"), data.get("name"))


def log(bandit: br.Bandit, after: int = 0) -> list[Event]:
    """Return a bandit's events after number `after`."""
    with bandit._session.reading() as session:
        return session.log.since(after)


def state(bandit: br.Bandit) -> dict[str, Any]:
    """Return the policy's state, the ledger, the generator's state and what is pending."""
    with bandit._session.reading() as session:
        return session.engine.to_json()


def reward_of(step: int) -> float:
    """Return a multiple of 1/1024 in [0, 1]: sums of these are exact."""
    return (step * 389 % 1025) / 1024
