"""What decides the next choice of a live bandit: the policy's state, its generator, and the arms in service.

An engine is a function of its settings and of the log of events: `replay` makes it from them. It has one row
for every arm that ever was. An arm that is not in service is no candidate. A new arm is a fresh row, if the
policy grows (`Policy.grows`); then its event says so. For other policies, the log has to be taken in again by
an engine that has one row more, as if the policy had known from the beginning of an arm that was not
available. Nothing is stored here (see `brigand.live.bandit`).
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brigand import shortcuts
from brigand.live.damage import GENERATOR
from brigand.live.loop import (
    ARM,
    COLUMNS,
    CORRECT,
    DEFAULT,
    EXPLORED,
    LEARN,
    LEDGER,
    PULL,
    STEP,
    WAS,
    Calls,
    live_loop,
)
from brigand.live.names import joins, needs_row
from brigand.live.possible import is_possible
from brigand.live.settings import Settings
from brigand.live.table_json import read_table, write_table
from brigand.live.waiting import Waiting
from brigand.policies.base import Table, check_choices
from brigand.rng import Stream
from brigand.storage.events import (
    ADD,
    ASK,
    END,
    METRIC,
    NOTE,
    PART,
    PAUSE,
    RECORDED as RECORDED,
    REMOVE,
    REPLACE,
    RESUME,
    STATUS,
    TELL,
    Event,
)

WAS_EXPLORED = '"explored": true'
"""In the data of a decision, if it was."""
SCHEMA = 2
"""Of an engine's JSON form; since 2 it is without the decisions that wait."""
AT_ONCE = 4096
"""Events that are replayed in one call of the loop."""
BESIDE = (PART, METRIC, REPLACE)
"""Kinds of events that are told beside the one reward of a decision."""
CHANGE = [-1]


Called = tuple[int, int, int, float, float, float]
"""The first fields of a call, up to `brigand.live.loop.WAS`."""


class Choice(NamedTuple):
    """What was decided: calls (`brigand.live.loop`), and the records before each pull, as bytes."""

    calls: Calls
    headers: bytes
    rows: bytes


class Engine:
    """The state of a live bandit.

    Parameters
    ----------
    settings : Settings
    n_rows : int
        How many arms there are to be, in all.

    Raises
    ------
    InvalidValueError
        The policy needs the horizon, and it is not given.
    """

    def __init__(self, settings: Settings, n_rows: int) -> None:
        self.settings = settings
        policy, horizon = settings.policy, settings.horizon
        self._generator = Stream(settings.seed, policy).generator(0)
        self._packed = shortcuts.pack(self._generator)
        self._tape = shortcuts.Tape.of(self._generator)
        self._marked: Any = None
        state = policy.start(n_rows, horizon, int(self._generator.integers(2**63)))
        self.header, self.arms, self.memory = np.array([state.header]), state.arms, state.memory
        self.ledger = np.repeat(LEDGER, n_rows)
        self._parameters = policy.parameters(n_rows, horizon)
        self._run_directly: Callable[..., int] | None = None
        self._notes = (self.header.copy(), self.arms[:1].copy())
        self.names: list[str] = []
        self.row_of: dict[str, int] = {}
        self._times_out = settings.settles_after is not None
        self.waiting = Waiting()  # with a timeout
        self.parts: dict[int, list[float]] = {}  # of rewards of decisions that wait, if rewards add up
        self.status, self.ended_with = RESUME, -1
        self._set_candidates()

    @property
    def steps(self) -> int:
        """How many decisions were made."""
        return int(self.header["step"][0])

    @property
    def nbytes(self) -> int:
        """The size of the state."""
        return self.header.nbytes + self.arms.nbytes + self.memory.nbytes + self.ledger.nbytes

    @property
    def _kept(self) -> int:
        """How many rows of memory are stored: the others follow from the rest."""
        return len(self.memory) - self.settings.policy.derived(len(self.arms))

    def serves(self, row: int) -> bool:
        """Return whether an arm is in service."""
        return self.row_of.get(self.names[row]) == row

    @property
    def is_compiled(self) -> bool:
        """Whether nothing is left for `compile`."""
        return self._run_directly is not None

    def compile(self) -> None:
        """Compile what is not compiled yet, as long as nobody waits for it."""
        if not self.is_compiled:
            self._run(np.zeros((0, COLUMNS)), None)

    # What moves the state.

    def choose(self, n: int, rows: Sequence[int] | None = None) -> Choice:
        """Choose n times, among all arms in service or those of some `rows` (ascending).

        Raises
        ------
        PolicyError
            The policy broke the contract; the state is then of no use.
        """
        self._marked = None
        calls = np.zeros((n, COLUMNS))
        headers, records = self._run(calls, rows)
        there = self._candidates if rows is None else rows
        if len(there) < len(self.arms):
            wrong = np.flatnonzero(~np.isin(calls[:, ARM], there))
            check_choices(self.settings.policy, int(calls[wrong[0], STEP]) if len(wrong) else 0)
        return Choice(calls, headers.tobytes(), records.tobytes())

    def apply(self, events: Iterable[Event]) -> None:
        """Take in what the log says; a new arm needs a row that is free, unless it joins."""
        for rows, group in itertools.groupby(events, key=_candidates_of):
            while batch := list(itertools.islice(group, AT_ONCE)):
                if rows == CHANGE:
                    self._change_arms(batch)
                else:
                    self.take(batch, rows)

    def take(self, events: Sequence[Event], rows: Sequence[int] | None = None) -> None:
        """Take in decisions among some `rows`, and rewards."""
        found: list[Called] = []
        asks: list[tuple[int, Event]] = []
        for event in events:
            step = event.step or 0
            if event.kind == ASK:
                asks.append((len(found), event))
                found.append((PULL, event.arm, step, 0.0, 0.0, 0.0))
                self.note(event)
                continue
            if event.kind in BESIDE:
                self._take_beside(event, found)
                continue
            waited = self.waiting.remove(step) if self._times_out else True
            self.parts.pop(step, None)
            if event.counted:
                kind = LEARN if event.kind == TELL else DEFAULT
                found.append((kind, event.arm, step, event.value or 0.0, 0.0, 0.0))
            elif waited:
                self.ledger[event.arm]["unlearned"] += 1
        if found:
            calls = np.zeros((len(found), COLUMNS))
            calls[:, : WAS + 1] = found
            explored = self.ledger["explored"].copy() if asks else None
            self._run(calls, rows)
            if explored is not None:  # the log says it: beside another arm, it might look otherwise
                self.ledger["explored"] = explored
                for place, event in asks:
                    elsewhere = event.data.startswith(RECORDED)
                    said = calls[place, EXPLORED] if elsewhere else WAS_EXPLORED in event.data
                    self.ledger[event.arm]["explored"] += int(said)
                self._wind(events)

    def _take_beside(self, event: Event, found: list[Called]) -> None:
        """Take in what is told beside the one reward of a decision."""
        if event.kind == PART and event.counted:
            step: int = json.loads(event.data)["step"]
            self.parts.setdefault(step, []).append(event.value or 0.0)
        elif event.kind == REPLACE and event.counted:
            was: float = json.loads(event.data)["was"]
            found.append((CORRECT, event.arm, event.step or 0, event.value or 0.0, 0.0, was))

    def note(self, ask: Event) -> None:
        """Remember a decision whose reward may become overdue."""
        if self._times_out and ask.step:
            self.waiting.add(ask.step, ask.arm, ask.at)

    def _run(self, calls: Calls, rows: Sequence[int] | None) -> tuple[Table, Table]:
        """Do some calls; return the records before each pull, to be used at once."""
        candidates, absent = self._candidates, self._absent
        if rows is not None:
            candidates = np.array(rows, np.int64)
            absent = self._without(candidates)
        headers, records = self._notes
        if len(calls) > 1:
            headers, records = np.repeat(headers, len(calls)), np.repeat(records, len(calls))
        state = (self._parameters, self.header, self.arms, self.memory, self.ledger)
        mixing = self.settings.holdout, self.settings.floor
        arguments = (*state, candidates, absent, *mixing, calls, headers, records, self._packed)
        if self._run_directly is None:
            self._run_directly = shortcuts.direct(live_loop(self.settings.policy), *arguments)
        if self._run_directly(*arguments):
            check_choices(self.settings.policy, self.steps + 1)
        return headers, records

    @property
    def grows(self) -> bool:
        """Whether a new arm may join: its row is put beside the others."""
        policy, horizon, n = self.settings.policy, self.settings.horizon, len(self.arms)
        return (
            policy.grows
            and len(self.names) == n
            and _lasting(policy.parameters(n + 1, horizon)) == _lasting(self._parameters)
            and len(policy.memory(n + 1, horizon)) - policy.derived(n + 1) == self._kept
        )

    def for_one_more(self) -> Engine | None:
        """Return a fresh engine for another arm, to be compiled, where that is other code; else None."""
        n = len(self.arms) + 1
        same = self.settings.policy.parameters(n, self.settings.horizon) == self._parameters
        return None if same else Engine(self.settings, n)

    def _grow(self) -> None:
        policy, n, kept = self.settings.policy, len(self.arms) + 1, self._kept
        fresh = policy.start(n, self.settings.horizon)
        made = fresh.memory[len(fresh.memory) - policy.derived(n) :]
        self.memory = np.concatenate([self.memory[:kept], made])
        self.arms = np.concatenate([self.arms, fresh.arms[-1:]])
        self.ledger = np.concatenate([self.ledger, np.repeat(LEDGER, 1)])
        policy.grown(self.header[0], self.arms)
        derived = kept if len(made) else None
        if getattr(self._parameters, "derived", derived) != derived:
            self._parameters, self._run_directly = self._parameters._replace(derived=derived), None

    def _change_arms(self, events: Iterable[Event]) -> None:
        for event in events:
            if event.kind == ADD:
                if joins(event):
                    self._grow()
                name = json.loads(event.data)["name"]
                self.names.append(name)
                self.row_of[name] = event.arm
            elif event.kind == REMOVE:
                del self.row_of[self.names[event.arm]]
            elif event.kind != NOTE:
                self.status, self.ended_with = event.kind, event.arm if event.kind == END else -1
        self._set_candidates()

    def _set_candidates(self) -> None:
        self._candidates = np.array(sorted(self.row_of.values()), np.int64)
        self._absent = self._without(self._candidates)

    def _without(self, candidates: NDArray[np.int64]) -> NDArray[np.int64]:
        absent = np.ones(len(self.arms), np.bool_)
        absent[candidates] = False
        return np.flatnonzero(absent)

    # The generator of the policy's choices.

    def mark(self) -> Any:
        """Return the generator's state, for `rewind`: quicker than `wound`, but for this process only."""
        if self._marked is None:
            self._marked = self._tape.mark()
        return self._marked

    def rewind(self, mark: Any) -> None:
        """Put the generator into the state of a `mark`, maybe of another engine of the bandit."""
        self._tape.rewind(mark)
        self._marked = None

    @property
    def wound(self) -> str:
        """The generator's state, for `wind_to`."""
        state: Any = self._generator.bit_generator.state
        rest = f"/{state['uinteger']:x}" if state["has_uint32"] else ""
        return f"{state['state']['state']:x}{rest}"

    def _wind(self, asks: Sequence[Event]) -> None:
        """Put the generator into the state that it had after the last of these choices."""
        for event in reversed(asks):
            generator = json.loads(event.data).get("rng") if '"rng"' in event.data else None
            if generator is not None:
                self.wind_to(generator)
                return

    def wind_to(self, text: str) -> None:
        """Put the generator into a state that `wound` gave."""
        first, _, rest = text.partition("/")
        state: Any = self._generator.bit_generator.state
        state["state"]["state"] = int(first, 16)
        state["has_uint32"], state["uinteger"] = int(bool(rest)), int(rest or "0", 16)
        self._generator.bit_generator.state = state
        self._marked = None

    # From a log, and to and from JSON.

    @classmethod
    def replay(cls, settings: Settings, events: Sequence[Event], free: int = 0) -> Engine:
        """Return the engine of a whole log, with so many more rows for arms to come."""
        engine = cls(settings, sum(map(needs_row, events)) + free)
        engine.apply(events)
        return engine

    def to_json(self) -> dict[str, Any]:
        """Return the state as plain data."""
        return {
            "schema": SCHEMA,
            "names": self.names,
            "rows": sorted(self.row_of.values()),
            "tables": {name: write_table(table) for name, table in self._tables.items()},
            "rng": self.wound,
            "resolved": (self.waiting.first() or self.steps + 1) - 1 if self._times_out else self.steps,
            **({"status": [self.status, self.ended_with]} if self.status != RESUME else {}),
            **({"parts": [[step, parts] for step, parts in self.parts.items()]} if self.parts else {}),
        }

    @classmethod
    def from_json(cls, settings: Settings, data: Any) -> Engine | None:
        """Read what `to_json` wrote; None if it is of another version, or impossible: then replay the log.

        With a timeout, the decisions that wait are not in it: all are after the step `resolved`.
        """
        try:
            return cls._from_json(settings, data)
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError):
            return None

    @classmethod
    def _from_json(cls, settings: Settings, data: Any) -> Engine | None:
        names, rows, resolved = data["names"], data["rows"], data["resolved"]
        if data["schema"] != SCHEMA or type(resolved) is not int or resolved < 0:
            return None
        if not all(type(name) is str for name in names) or not all(type(row) is int for row in rows):
            return None
        engine = cls(settings, len(names))
        for name, table in engine._tables.items():
            read = read_table(data["tables"][name], table.dtype, len(table))
            if read is None:
                return None
            table[:] = read
        engine.names = names
        engine.row_of = {names[row]: row for row in rows}
        if sorted(engine.row_of.values()) != rows or not set(rows) <= set(range(len(names))):
            return None
        if not is_possible(engine._tables) or resolved > engine.steps:
            return None
        status, ended_with = data.get("status", [RESUME, -1])
        if status not in (PAUSE, RESUME, END) or type(ended_with) is not int or ended_with >= len(names):
            return None
        engine.status, engine.ended_with = status, ended_with
        for step, parts in data.get("parts", []):
            if type(step) is not int or not all(
                type(part) is float and math.isfinite(part) for part in parts
            ):
                return None
            engine.parts[step] = parts
        engine._set_candidates()
        if not GENERATOR.fullmatch(data["rng"]):
            return None
        engine.wind_to(data["rng"])
        return engine

    @property
    def _tables(self) -> dict[str, Table]:
        memory = self.memory[: self._kept]
        return {"header": self.header, "arms": self.arms, "memory": memory, "ledger": self.ledger}


def _candidates_of(event: Event) -> list[int] | None:
    """Return what tells apart events that are not taken in together: the arms that were available."""
    if event.kind in (ADD, REMOVE, *STATUS):
        return CHANGE
    return json.loads(event.data).get("among") if event.kind == ASK and '"among"' in event.data else None


def _lasting(parameters: Any) -> Any:
    """Return a policy's parameters but for where the rows are that follow from the others."""
    return parameters._replace(derived=None) if hasattr(parameters, "derived") else parameters
