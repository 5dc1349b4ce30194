"""Ids of decisions: short, the same in every process, and not to be guessed from one another.

An id is the decision's number and a tag that takes the bandit's key to compute. Nothing about ids is logged,
and an id that the bandit never gave is known as such at once. A copy of a bandit has a key of its own for
what it decides next, and keeps the keys of what was decided before.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from bisect import bisect_right
from typing import Any

from brigand import checks

TAG_BYTES = 8
MOST_DIGITS = len(str(checks.MAX_STEPS))
"""Of a step's number."""
FORM = re.compile(r"(?:[0-9a-f]{1,64}|1:[0-9a-f]{32})(?: [1-9][0-9]{0,18}:[0-9a-f]{32})*")


class Identity:
    """What gives decisions their ids, and knows them again.

    Parameters
    ----------
    text : str
        As it is stored: ``"1:KEY"``, and after a space, for each time that the bandit was copied, the first
        step that a new key is for, as ``"501:KEY"``. Bandits of before had ids ``PREFIX-STEP``: there,
        ``PREFIX`` stands for the first.

    Raises
    ------
    ValueError
        It is something else.

    Examples
    --------
    >>> identity = Identity("1:" + 16 * "a7")
    >>> identity.id_of(17)
    '17-11f2098360a87861'
    >>> identity.step_of('17-11f2098360a87861'), identity.step_of('18-11f2098360a87861')
    (17, None)
    """

    def __init__(self, text: str) -> None:
        if not isinstance(text, str) or not FORM.fullmatch(text):
            raise ValueError(f"{text!r} is no identity")
        self.text = text
        self._firsts: list[int] = []
        self._makers: list[Any] = []  # a prefix, or a keyed hash to copy
        self._first = text.split(" ")[0][-32:]
        for part in text.split(" "):
            first, colon, key = part.rpartition(":")
            self._firsts.append(int(first) if colon else 1)
            self._makers.append(
                hashlib.blake2b(key=bytes.fromhex(key), digest_size=TAG_BYTES) if colon else part
            )
        if self._firsts != sorted(set(self._firsts)):
            raise ValueError(f"{text!r} is no identity: its steps are not in order")

    @classmethod
    def new(cls) -> Identity:
        """Return one with a key that is drawn."""
        return cls(f"1:{secrets.token_hex(16)}")

    def copied(self, steps: int) -> Identity:
        """Return that of a copy that has made so many decisions."""
        kept = [
            part for part, first in zip(self.text.split(" "), self._firsts, strict=True) if first <= steps
        ]
        return Identity(" ".join([*kept, f"{steps + 1}:{secrets.token_hex(16)}"]))

    @property
    def shown(self) -> str:
        """A name for messages, from which no id can be computed."""
        return hashlib.blake2b(self.text.encode(), digest_size=6).hexdigest()

    def id_of(self, step: int) -> str:
        """Return a decision's id."""
        maker = self._makers[bisect_right(self._firsts, step) - 1]
        if isinstance(maker, str):
            return f"{maker}-{step}"
        tag = maker.copy()
        tag.update(b"%d" % step)
        return f"{step}-{tag.hexdigest()}"

    def tag(self, name: str) -> str:
        """Return what stands for a name, which cannot be had from it; the same in copies."""
        key = self._first.encode()
        return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), key=key, digest_size=16).hexdigest()

    def step_of(self, id: object) -> int | None:
        """Return the step of a decision, None if the bandit never gives it that id."""
        if not isinstance(id, str) or not id.isascii():
            return None
        first, _, second = id.partition("-")
        for step in (first, second):
            if step.isdigit() and step[0] != "0" and len(step) <= MOST_DIGITS:
                found = int(step)
                if hmac.compare_digest(self.id_of(found), id):
                    return found
        return None
