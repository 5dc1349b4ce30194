"""What is sent to the service, and when it is sent again. Nothing here touches the network."""

from __future__ import annotations

import dataclasses
import json
import random
import time
import urllib.parse
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from brigand import checks
from brigand.errors import InvalidValueError

FIRST_PAUSE = 0.01
LONGEST_PAUSE = 5.0


@dataclasses.dataclass(frozen=True, eq=False)
class Call:
    """One call of the service, the same however often it is sent.

    Attributes
    ----------
    method, path : str
    body : bytes or None
    query : mapping of str to str
    repeatable : bool
        Whether sending it twice does the same as once.
    request : str
        Its name, which a call keeps when it is sent again.
    """

    method: str
    path: str
    body: bytes | None = None
    query: Mapping[str, str] = dataclasses.field(default_factory=dict)
    repeatable: bool = False
    request: str = dataclasses.field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def headers(self) -> dict[str, str]:
        """The headers that belong to the call alone."""
        return {"X-Request-ID": self.request, **({"Content-Type": "application/json"} if self.body else {})}


def path(*names: str) -> str:
    """Return the path of a bandit, and of what belongs to it.

    Raises
    ------
    InvalidValueError
        A name is no text, or empty.

    Examples
    --------
    >>> path("red/green", "ask")
    '/v1/bandits/red%2Fgreen/ask'
    """
    return "/".join(["/v1/bandits", *(_segment(name) for name in names)])


def _segment(name: object) -> str:
    text = checks.text("a name", name)
    if not text:
        raise InvalidValueError("a name must not be empty.")
    try:
        quoted = urllib.parse.quote(text, safe="")
    except UnicodeEncodeError:
        raise InvalidValueError(f"a name must be text that UTF-8 can hold, not {name!r}.") from None
    return quoted.replace(".", "%2E") if text in (".", "..") else quoted  # which would be a step in the path


def query(**values: object) -> dict[str, str]:
    """Return those values of a query that are given."""
    return {name: str(value) for name, value in values.items() if value is not None}


def body(**values: Any) -> bytes:
    """Return those values that are given as JSON.

    Raises
    ------
    InvalidValueError
        JSON has no such value.
    """
    given = {name: value for name, value in values.items() if value is not None}
    try:
        return json.dumps(given, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidValueError(f"the call cannot be written as JSON: {error}.") from None


def get(*names: str, **values: object) -> Call:
    """Return a call that only reads."""
    return Call("GET", path(*names), query=query(**values), repeatable=True)


def post(*names: str, **values: Any) -> Call:
    """Return a call that changes something, and is sent again only if it was not sent at all."""
    return Call("POST", path(*names), body(**values))


def delete(*names: str) -> Call:
    """Return a call that removes something."""
    return Call("DELETE", path(*names))


def ask(bandit: str, among: Iterable[str] | None, unit: str | None, fallback: str | None) -> Call:
    """Return the call that asks for one decision: sent again, it gets the same decision."""
    names = listed("among", among)
    if fallback is not None:
        checks.text("fallback", fallback)
        if names is not None and fallback not in names:
            raise InvalidValueError(f"fallback must be one of the arms in among, not {fallback!r}.")
    if unit is not None:
        checks.text("unit", unit)
    request = str(uuid.uuid4())
    content = body(among=names, unit=unit, request=request)
    return Call("POST", path(bandit, "ask"), content, repeatable=True, request=request)


def tell(bandit: str, id: str, reward: float, metric: str | None, replace: bool) -> Call:
    """Return the call that tells one reward: sent again, it is told once."""
    if metric is not None:
        checks.text("metric", metric)
    request = str(uuid.uuid4())
    content = body(
        id=checks.text("a decision", id),
        reward=number(reward),
        metric=metric,
        replace=True if replace else None,
        request=request,
    )
    return Call("POST", path(bandit, "tell"), content, repeatable=True, request=request)


def number(reward: object) -> float | bool:
    """Return a reward as JSON can hold it; what True is, the bandit knows."""
    return reward if isinstance(reward, bool) else checks.number("reward", reward)


def listed(name: str, values: Iterable[str] | None) -> list[str] | None:
    """Return names as a list; one string is not a list of names."""
    if values is None:
        return None
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidValueError(f"{name} must be a list of names, not {values!r:.100}.")
    return [checks.text("an arm's name", value) for value in values]


class Attempts:
    """When a call is sent, and how long each answer is waited for.

    An attempt may take half of the time that is left, the last one all of it: so one connection that hangs
    leaves time for another.

    Parameters
    ----------
    seconds : float
        For all attempts together, with the pauses between them.
    retries : int
        How often it is sent again at most.
    """

    def __init__(self, seconds: float, retries: int) -> None:
        self._end = time.monotonic() + seconds
        self._retries = retries
        self._pauses = pauses(FIRST_PAUSE)

    @property
    def left(self) -> float:
        """Seconds until the end."""
        return self._end - time.monotonic()

    @property
    def share(self) -> float:
        """Seconds to wait for the answer of the next attempt."""
        return self.left / 2 if self._retries else self.left

    def pause(self, at_least: float = 0.0) -> float | None:
        """Return the seconds before the next attempt, None if there is none."""
        if not self._retries:
            return None
        self._retries -= 1
        pause = max(next(self._pauses), at_least)
        return pause if pause < self.left else None


def pauses(first: float) -> Iterator[float]:
    """Yield pauses that double up to a longest one; drawn, so that many clients do not come back at once."""
    draw = random.SystemRandom()  # another one in a forked process, too
    while True:
        yield first * draw.uniform(0.5, 1.0)
        first = min(2 * first, LONGEST_PAUSE)
