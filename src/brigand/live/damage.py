"""What is read from outside is checked before anything is made of it: states by a checksum, logs by line.

A state is a shortcut. One whose checksum does not fit is not used, and made anew from the log, nor is one
whose numbers cannot be (`brigand.live.possible`). A log is believed only where it is possible: its
lines are checked in order, and the first that cannot be is named.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from brigand.errors import StorageError
from brigand.live.names import joins
from brigand.live.settings import MAX_REWARD, Settings
from brigand.live.times import EARLIEST, LATEST
from brigand.storage.events import (
    ADD,
    ASK,
    DEFAULT,
    END,
    METRIC,
    PART,
    REMOVE,
    REPLACE,
    STATUS,
    TELL,
    Event,
)

SEALED = re.compile(r'\{"seq": (\d+), "sha256": "([0-9a-f]{64})", "state": (.*)\}', re.DOTALL)
GENERATOR = re.compile(r"[0-9a-f]{1,32}(/[0-9a-f]{1,8})?")
"""The state of a generator, as `Engine.wound` gives it."""


def digest(text: str) -> str:
    """Return a text's SHA-256, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def seal(seq: int, state: dict[str, Any]) -> str:
    """Return a state as JSON, with the number of the last event it has seen and a checksum of both."""
    text = json.dumps(state)
    return f'{{"seq": {seq}, "sha256": "{digest(f"{seq}:{text}")}", "state": {text}}}'


def unseal(seq: int, text: object) -> dict[str, Any] | None:
    """Return the state that `seal` got; None if the text is another, or belongs to another event."""
    found = SEALED.fullmatch(text) if isinstance(text, str) else None
    if found is None or found[1] != str(seq) or found[2] != digest(f"{seq}:{found[3]}"):
        return None
    state: dict[str, Any] = json.loads(found[3])
    return state


def older_generator(text: str) -> str | None:
    """Return the generator in a state that was written before there were checksums; None if there is none."""
    try:
        found = json.loads(text)["rng"]
    except (TypeError, ValueError, KeyError, RecursionError):
        return None
    return found if isinstance(found, str) and GENERATOR.fullmatch(found) else None


class LogCheck:
    """Checks the events of a log, in order.

    Parameters
    ----------
    settings : Settings
    names : list of str
        Of the arms that came before, with those that went.
    serving : collection of int
        Rows of the arms in service.
    steps : int
        How many decisions came before.
    arms : mapping of int to int
        Rows of the arms of some of these decisions, by step.
    """

    def __init__(
        self,
        settings: Settings,
        names: Iterable[str] = (),
        serving: Collection[int] = (),
        steps: int = 0,
        arms: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        self._names = list(names)
        self._serving = set(serving)
        self._named = {self._names[row] for row in self._serving}
        self._steps = steps
        self._known = arms
        self._whole = not self._names  # then it is known which arm each decision was
        self._arms: list[int] = []
        self._seen: dict[str, bytearray] = {kind: bytearray() for kind in (TELL, DEFAULT, REPLACE)}
        self._horizon = math.inf if settings.horizon is None else settings.horizon
        self._grows = settings.policy.grows
        low, high = settings.policy.reward_support
        self._low, self._high = max(low, -MAX_REWARD), min(high, MAX_REWARD)

    def check(self, events: Iterable[Event], first: int) -> None:
        """Check more events, of which the first has a number.

        Raises
        ------
        StorageError
            One of them cannot be; it is named.
        """
        for number, event in enumerate(events, first):
            try:
                wrong = self._wrong(event)
            except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
                wrong = f"{error!r}"
            if wrong:
                raise StorageError(f"line {number} of the log is damaged: {wrong}.")

    def _wrong(self, event: Event) -> str:
        """Return what is wrong with the next event; nothing if it may be, and count it."""
        kind, step, arm, value, counted, at, data = event
        if type(arm) is not int or not 0 <= arm < len(self._names) + (kind == ADD):
            return f"there is no arm number {arm!r}"
        if type(at) not in (float, int) or not EARLIEST <= at <= LATEST:
            return f"its time is {at!r}"
        if not isinstance(data, str) or counted not in (True, False):
            return "its fields are no text and no truth value"
        if kind == ASK:
            return self._wrong_ask(step, arm, data)
        if kind in (TELL, DEFAULT, REPLACE):
            if kind == REPLACE and not self._is_reward(json.loads(data)["was"]):
                return f"what its reward replaces is {json.loads(data)['was']!r}"
            return self._wrong_reward(kind, step, arm, value, counted)
        if step is not None:
            return f"events of its kind have no step, but it has {step!r}"
        if kind in (PART, METRIC):
            told, step = (TELL, DEFAULT), json.loads(data)["step"]
            if counted and self._whole and any(self._seen[of][step - 1] for of in told):
                return f"decision {step!r} has its reward already"
            return self._wrong_reward(kind, step, arm, value, counted)
        if kind in STATUS:
            if kind == END and arm not in self._serving:
                return f"arm number {arm}, with which it ends, is not in service"
            return "" if not data or isinstance(json.loads(data), dict) else "its data are damaged"
        if kind == ADD:
            name = json.loads(data)["name"]
            if arm != len(self._names) or not isinstance(name, str):
                return f"arm number {arm} is not the next"
            if joins(event) and not self._grows:
                return f"arm {name!r} cannot join"
            if name in self._named:
                return f"arm {name!r} is in service already"
            self._names.append(name)
            self._serving.add(arm)
            self._named.add(name)
            return ""
        if kind != REMOVE:
            return f"its kind is unknown, {kind!r}"
        if arm not in self._serving:
            return f"arm number {arm} is not in service"
        self._serving.remove(arm)
        self._named.remove(self._names[arm])
        return ""

    def _wrong_ask(self, step: int | None, arm: int, data: str) -> str:
        if type(step) is not int or step != self._steps + 1 or step > self._horizon:
            return f"decision {step!r} is not the next after {self._steps}"
        if arm not in self._serving:
            return f"arm number {arm} is not in service"
        if '"among"' in data or '"rng"' in data:
            said = json.loads(data)
            among = said.get("among")
            if among is not None and not (
                among and among == sorted(set(among)) and arm in among and self._serving.issuperset(among)
            ):
                return f"decision {step} is not among {among!r}, or these are not in service"
            if not GENERATOR.fullmatch(said.get("rng", "0")):
                return "the state of its generator is none"
        self._steps = step
        if self._whole:
            self._arms.append(arm)
            for flags in self._seen.values():
                flags.append(0)
        return ""

    def _wrong_reward(self, kind: str, step: int | None, arm: int, value: float | None, counted: bool) -> str:
        if type(step) is not int or not 1 <= step <= self._steps:
            return f"there is no decision number {step!r} before it"
        if not (_is_finite(value) if kind in (METRIC, PART) else self._is_reward(value)):
            return f"its reward is {value!r}"
        if counted and arm not in self._serving:
            return f"arm number {arm} is not in service"
        if self._known.get(step, arm) != arm:
            return f"decision {step} was arm number {self._known[step]}, not {arm}"
        if self._whole:
            if self._arms[step - 1] != arm:
                return f"decision {step} was arm number {self._arms[step - 1]}, not {arm}"
            if kind in self._seen:
                if self._seen[kind][step - 1]:
                    return f"decision {step} has a {kind} already"
                self._seen[kind][step - 1] = 1
        return ""

    def _is_reward(self, value: object) -> bool:
        return _is_finite(value) and self._low <= value <= self._high  # type: ignore[operator]


def _is_finite(value: object) -> bool:
    return type(value) in (float, int) and -MAX_REWARD <= value <= MAX_REWARD  # type: ignore[operator]
