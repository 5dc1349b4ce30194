"""Reading and writing what a store holds of one bandit, inside a transaction."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Select, bindparam

from brigand.checks import MAX_STEPS
from brigand.errors import InvalidValueError, StorageError
from brigand.storage.checksums import all_fit, checksum, fits
from brigand.storage.events import (
    ADD,
    ASK,
    DEFAULT,
    EXPLORES,
    HELD_OUT,
    RECORDED,
    REPLACE,
    TELL,
    Event,
    Found,
    Logged,
    Tally,
    keys_in,
)
from brigand.storage.logged import Page
from brigand.storage.schema import BANDITS, BASES, EVENTS, KEYS, KINDS, SCHEMA, SNAPSHOTS, VERSION
from brigand.storage.transaction import Row, Transaction

NAMES = {code: kind for kind, code in KINDS.items()}
Fields = tuple[Any, ...]
PAGE_SIZE = 10_000
"""Rows read at once."""
DAMAGED_BASE = "the store is damaged: what stands for the log's beginning is no state."
MOST_LINES = 4
"""Of one decision: itself, and what was told of it."""
CHUNK = 500
"""Numbers in one query: older builds of SQLite take no more than 999."""


def _of_bandit(table: sa.Table, *columns: sa.ColumnElement[Any]) -> Select[Any]:
    return sa.select(*columns).where(table.c.bandit_id == bindparam("bandit"))


# Statements are built once, so that SQLAlchemy compiles each only once, too.
_E, _S, _B = EVENTS.c, SNAPSHOTS.c, BANDITS.c
_event = (_E.kind, _E.step, _E.arm, _E.value, _E.counted, _E.at, _E.data, _E.crc, _E.seq)

LAST = _of_bandit(EVENTS, _E.seq).order_by(_E.seq.desc()).limit(1)
IDENTITY = sa.select(_B.uid, _B.definition).where(_B.id == bindparam("bandit"))
_version = sa.select(SCHEMA.c.version).scalar_subquery()
SINCE = _of_bandit(EVENTS, *_event, _version).where(_E.seq > bindparam("seq")).order_by(_E.seq)
_seq = _E.seq + 0
"""Where SQLite shall find lines by their kind: else it reads all of them, for they lie in this order."""
_first = sa.select(BASES.c.seq).where(BASES.c.bandit_id == bindparam("bandit")).scalar_subquery()
ARMS = (
    _of_bandit(EVENTS, *_event, _version)
    .where(_E.step.is_(None) & (_E.kind == KINDS[ADD]) & (_seq > sa.func.coalesce(_first, 0)))
    .order_by(_E.seq)
)
PAGE = _of_bandit(EVENTS, *_event).where(_E.seq > bindparam("seq")).order_by(_E.seq).limit(bindparam("limit"))
STEPS = _of_bandit(EVENTS, _E.step).where(_E.step.is_not(None)).order_by(_E.step.desc()).limit(1)
_told_of = _of_bandit(EVENTS, *_event).order_by(_E.step, _E.kind)
DECISIONS = _told_of.where(_E.step.in_(bindparam("steps", expanding=True)))
_some = (_E.step > bindparam("after")) & (_E.step <= bindparam("until"))
HISTORY = _told_of.where(_some).limit(bindparam("limit"))
_keyed = KEYS.join(EVENTS, (_E.bandit_id == KEYS.c.bandit_id) & (_E.seq == KEYS.c.seq))
FOUND = (
    sa.select(*_event)
    .select_from(_keyed)
    .where((KEYS.c.bandit_id == bindparam("bandit")) & (KEYS.c.key == bindparam("key")))
)
OF_KIND = (
    _of_bandit(EVENTS, *_event)
    .where(_E.step.is_(None) & (_E.kind == bindparam("kind")) & (_seq > bindparam("seq")))
    .order_by(_E.seq)
    .limit(bindparam("limit"))
)
_explores = sa.func.substr(_E.data, 1, len(EXPLORES)) == EXPLORES
_bucket = ((_E.step - 1) // bindparam("width", type_=sa.BigInteger)).label("bucket")


def _tally(*wanted: sa.ColumnElement[bool]) -> Select[Any]:
    """Return a query that counts: the limit keeps databases from sorting whole lines of the log."""
    columns = (_bucket, _E.arm, _E.kind, _E.counted, _E.value, _E.at)
    flag = sa.case((_explores, 1), else_=0).label("explored")
    line = (
        _of_bandit(EVENTS, *columns, flag).where(*wanted).limit(sa.literal(10**12, sa.BigInteger)).subquery()
    )
    keys = (line.c.bucket, line.c.arm, line.c.kind, line.c.counted)
    sums = (sa.func.count(), sa.func.sum(line.c.value), sa.func.sum(line.c.explored), sa.func.min(line.c.at))
    return sa.select(*keys, *sums).group_by(*keys)


_part = (_E.seq > bindparam("seq")) & (_E.seq <= bindparam("until"))
TALLY = _tally(_part, _E.step.is_not(None))
TALLY_STEPS = _tally(_E.step > bindparam("after"))
_told = EVENTS.alias("told")
CORRECTED = (
    _of_bandit(EVENTS, _bucket, _E.arm, sa.func.sum(_E.value - _told.c.value))
    .select_from(EVENTS.join(_told, (_told.c.bandit_id == _E.bandit_id) & (_told.c.step == _E.step)))
    .where((_E.kind == KINDS[REPLACE]) & (_told.c.kind == KINDS[TELL]) & _E.counted)
    .where(_part)
    .group_by(sa.literal_column("bucket"), _E.arm)
)
_begin = sa.func.substr(_E.data, 1, 100)
REWARDS = (
    _of_bandit(
        EVENTS,
        _E.kind,
        _E.step,
        _E.value,
        sa.case((_begin.like(f"%{HELD_OUT}%"), 1), (_begin.like(f"{RECORDED}%"), 2), else_=0),
    )
    .where(_part & _E.step.is_not(None))
    .order_by(_E.seq)
)
ASKED_AT = _of_bandit(EVENTS, _E.at).where((_E.kind == KINDS[ASK]) & (_E.step == bindparam("step")))
STEP_BEFORE = (
    _of_bandit(EVENTS, _E.step)
    .where((_E.kind == KINDS[ASK]) & (_E.seq < bindparam("seq")))
    .order_by(_E.seq.desc())
    .limit(1)
)
STEPS_OF = (
    _of_bandit(EVENTS, _E.step)
    .where((_E.kind == KINDS[ASK]) & (_E.arm == bindparam("row")) & (_E.step > bindparam("after")))
    .order_by(_E.step.desc())
    .limit(bindparam("limit"))
)
SAVED = _of_bandit(SNAPSHOTS, _S.seq)
SNAPSHOT = _of_bandit(SNAPSHOTS, _S.seq, _S.state)
BASE = _of_bandit(BASES, BASES.c.seq, BASES.c.state)
BEGIN = _of_bandit(BASES, BASES.c.seq)
SAVE = SNAPSHOTS.update().where(_S.bandit_id == bindparam("bandit"))
SAVE_FIRST = SNAPSHOTS.insert()
DROP_STATES = [table.delete().where(table.c.bandit_id == bindparam("bandit")) for table in (BASES, SNAPSHOTS)]
SAVE_BASE = BASES.insert()
FIRST = _of_bandit(EVENTS, sa.func.min(_E.seq))
COUNT = _of_bandit(EVENTS, sa.func.count())
DROP_KEYS = KEYS.delete().where(
    (KEYS.c.bandit_id == bindparam("bandit")) & (KEYS.c.seq < bindparam("before"))
)
DROP = EVENTS.delete().where((_E.bandit_id == bindparam("bandit")) & (_E.seq < bindparam("before")))


class Reading:
    """What a store holds of one bandit, as of one moment. All of its methods raise StorageError.

    Parameters
    ----------
    transaction : Transaction
        Its end is the end of this.
    bandit_id : int
        The bandit.
    """

    def __init__(self, transaction: Transaction, bandit_id: int) -> None:
        self._transaction = transaction
        self.bandit_id = bandit_id

    def _rows(self, statement: Select[Any], **parameters: object) -> Sequence[Row]:
        return self._transaction.rows(statement, {"bandit": self.bandit_id, **parameters})

    def _tuples(self, statement: Select[Any], **parameters: object) -> list[Fields]:
        return self._transaction.tuples(statement, {"bandit": self.bandit_id, **parameters})

    def now(self) -> float:
        """Return the time of the store's own clock, in seconds since the epoch; infinity if it has none.

        Raises
        ------
        StorageError
            The store cannot be read.
        """
        return self._transaction.home.now(self._transaction)

    def last(self) -> int:
        """Return the number of the last event, 0 if there is none.

        Raises
        ------
        StorageError
            The store cannot be read.
        """
        rows = self._rows(LAST)
        return int(rows[0][0]) if rows else 0

    def steps(self) -> int:
        """Return how many decisions there are.

        Raises
        ------
        StorageError
            The store cannot be read.
        """
        rows = self._rows(STEPS)
        return int(rows[0][0]) if rows else 0

    def since(self, seq: int) -> list[Event]:
        """Return the events after number `seq`, in order; none if some of them were pruned.

        Raises
        ------
        StorageError
            The store cannot be read, or a line of the log is damaged, or another version of Brigand has
            changed the tables since then.
        """
        rows = self._rows(SINCE, seq=seq)
        _check_version(rows)
        if rows and rows[0].seq != seq + 1 and seq + 1 < self._begin():
            return []
        return [_read(row, number) for number, row in enumerate(rows, seq + 1)]

    def base(self) -> tuple[int, str] | None:
        """Return what stands for the beginning of the log, if that was pruned.

        Returns
        -------
        tuple or None
            The number of an event, with which the log begins, and the state after it, as JSON.

        Raises
        ------
        StorageError
            The store cannot be read.
        """
        rows = self._rows(BASE)
        if rows and not (type(rows[0][0]) is int and isinstance(rows[0][1], str)):
            raise StorageError(DAMAGED_BASE)
        return (rows[0][0], rows[0][1]) if rows else None

    def _begin(self) -> int:
        rows = self._rows(BEGIN)
        if rows and type(rows[0][0]) is not int:
            raise StorageError(DAMAGED_BASE)
        return rows[0][0] if rows else 1

    def pages(self) -> Iterator[list[Event]]:
        """Yield all events, in order, in lists that are not too long.

        Raises
        ------
        StorageError
            The store cannot be read, a line of the log is damaged, or the transaction is over.
        """
        after = self._begin() - 1
        while rows := self._tuples(PAGE, seq=after, limit=PAGE_SIZE):
            yield [_read(row, number) for number, row in enumerate(rows, after + 1)]
            after += len(rows)

    def identity(self) -> tuple[str, str] | None:
        """Return the bandit's uid and definition, None if it is not there any more.

        Raises
        ------
        StorageError
            The store cannot be read.
        """
        rows = self._rows(IDENTITY)
        return (rows[0][0], rows[0][1]) if rows else None

    def decisions(self, steps: Sequence[int]) -> dict[int, Found]:
        """Return those of the decisions `steps` that there are, by step.

        Raises
        ------
        StorageError
            The store cannot be read, or a line of the log is damaged.
        """
        found: dict[int, Found] = {}
        for start in range(0, len(steps), CHUNK):
            for row in self._rows(DECISIONS, steps=steps[start : start + CHUNK]):
                kind, step, arm, value, counted, *_ = _read(row, row.seq)
                if kind == ASK and step is not None:
                    found[step] = Found(arm, None, False, None)
                elif step in found:
                    if kind == TELL:
                        found[step] = found[step]._replace(told=value, counted=counted)
                    elif kind == DEFAULT:
                        found[step] = found[step]._replace(default=value)
                    elif kind == REPLACE:
                        found[step] = found[step]._replace(replaced=value)
        return found

    def found(self, key: str) -> Event | None:
        """Return the latest event that has a key in its data; None if there is none.

        Raises
        ------
        StorageError
            The store cannot be read, or the event is damaged.
        """
        rows = self._tuples(FOUND, key=key)
        return _read(rows[0], rows[0][-1]) if rows else None

    def of_kinds(self, *kinds: str) -> Iterator[tuple[int, Event]]:
        """Yield the events of some kinds that have no step, in order, with their numbers.

        Raises
        ------
        StorageError
            The store cannot be read, a line of the log is damaged, or the transaction is over.
        """
        return heapq.merge(*map(self._of_kind, kinds), key=itemgetter(0))

    def _of_kind(self, kind: str) -> Iterator[tuple[int, Event]]:
        after = self._begin() - 1
        while rows := self._tuples(OF_KIND, kind=KINDS[kind], seq=after, limit=PAGE_SIZE):
            yield from ((row[-1], _read(row, row[-1])) for row in rows)
            after = rows[-1][-1]

    def snapshot(self) -> tuple[int, str] | None:
        """Return the number of the last event that the latest state has seen, and that state as JSON.

        Raises
        ------
        StorageError
            The store cannot be read.
        """
        rows = self._rows(SNAPSHOT)
        if not rows or not (type(rows[0][0]) is int and isinstance(rows[0][1], str)):
            return None  # or it is damaged: then the log tells the state
        return rows[0][0], rows[0][1]

    def saved(self) -> int:
        """Return the number of the last event that the latest state has seen; 0 if there is no state.

        Raises
        ------
        StorageError
            The store cannot be read.
        """
        rows = self._rows(SAVED)
        return rows[0][0] if rows and type(rows[0][0]) is int else 0

    def history(self, after_step: int = 0, limit: int | None = None) -> Iterator[Logged]:
        """Yield the decisions after `after_step` in order, `limit` at most, with all that is known of them.

        They are read a few at a time, so that a long log does not fill the memory; all of them while the
        transaction lasts.

        Raises
        ------
        StorageError
            The store cannot be read, a line of the log is damaged, or the transaction is over.
        """
        return (row for page in self.history_pages(after_step, limit) for row in page.rows())

    def history_pages(self, after_step: int = 0, limit: int | None = None) -> Iterator[Page]:
        """Yield the same in pages that are not too long.

        Raises
        ------
        StorageError
            The store cannot be read, a line of the log is damaged, or the transaction is over.
        """
        first = self._first_step()
        if limit is None and after_step < first:
            self._require_whole()
        after, more = max(after_step, first - 1), True
        until = MAX_STEPS if limit is None else after + limit
        most = max(PAGE_SIZE, MOST_LINES) + 1
        while more and after < until:
            rows = self._tuples(HISTORY, after=after, until=until, limit=most)
            more = len(rows) == most
            last = rows[-1][1] if more else None
            while more and rows and rows[-1][1] == last:  # it may have more lines
                rows.pop()
            if not rows:
                if more:
                    raise _damaged(last, last, f"more than {MOST_LINES} lines tell of it")
                return
            page = _page(rows)
            if page.step[0] != after + 1:
                raise _damaged(after + 1, after + 1, "it is not there")
            after = rows[-1][1]
            yield page

    def _first_step(self) -> int:
        """Return the number of the decision with which the log begins, whether it is there or not."""
        begin = self._begin()
        if begin == 1:
            return 1
        rows = self._tuples(PAGE, seq=begin - 1, limit=1)
        step = _read(rows[0], begin).step if rows else None
        if step is None:
            raise StorageError(f"the log is damaged: line {begin}, with which it begins, is not there.")
        return step

    def _require_whole(self) -> None:
        """Raise StorageError if a line of the log is not there, and name it."""
        (count,), (first,) = self._rows(COUNT)[0], self._rows(FIRST)[0]
        if count and (first > self._begin() or count != self.last() - first + 1):
            for _ in self.pages():
                pass

    def tally(self, after: int, until: int, width: int) -> list[Tally]:
        """Count the decisions and rewards of the events after number `after`, by buckets of steps.

        The database counts: a million decisions take about a second, and checksums are not looked at.

        Raises
        ------
        StorageError
            The store cannot be read.
        """
        bounds = {"seq": after, "until": until, "width": width}
        found = _tallies(self._rows(TALLY, **bounds))
        if any(one.kind == REPLACE and one.counted for one in found):
            changes = {tuple(row[:2]): row[2] for row in self._rows(CORRECTED, **bounds)}
            return [
                one._replace(total=changes.get((one.bucket, one.arm), 0.0)) if one.kind == REPLACE else one
                for one in found
            ]
        return found

    def tally_steps(self, after: int, width: int) -> list[Tally]:
        """Count the decisions after step `after`, as `tally` does but for what was replaced.

        Raises
        ------
        StorageError
            The store cannot be read.
        """
        return _tallies(self._rows(TALLY_STEPS, after=after, width=width))

    def rewards(self, after: int, until: int) -> list[Fields]:
        """Return the decisions, and their rewards, among the events after number `after`, in order.

        Returns
        -------
        list of tuple
            Kind of event, step, value, and of a decision 1 if it is in the holdout, 2 if it was made
            elsewhere. Checksums are not looked at.

        Raises
        ------
        StorageError
            The store cannot be read.
        """
        rows = self._tuples(REWARDS, seq=after, until=until)
        return [(NAMES[kind], step, value, flag) for kind, step, value, flag in rows]

    def asked_at(self, step: int) -> float | None:
        """Return when a decision was made, None if it is not there.

        Raises
        ------
        StorageError
            The store cannot be read.
        """
        rows = self._rows(ASKED_AT, step=step)
        return float(rows[0][0]) if rows else None

    def step_before(self, seq: int) -> int:
        """Return the last decision before event number `seq`, 0 if there is none.

        Raises
        ------
        StorageError
            The store cannot be read.
        """
        rows = self._rows(STEP_BEFORE, seq=seq)
        return int(rows[0][0]) if rows else 0

    def steps_of(self, row: int, after: int, limit: int) -> list[int]:
        """Return the last decisions for an arm after step `after`, the latest first, `limit` at most.

        Raises
        ------
        StorageError
            The store cannot be read.
        """
        return [int(step) for (step,) in self._rows(STEPS_OF, row=row, after=after, limit=limit)]

    def arms(self) -> list[tuple[int, Event]]:
        """Return the events that added arms after those that a base has seen, with their numbers.

        Raises
        ------
        StorageError
            The store cannot be read, or these lines of the log are damaged.
        """
        rows = self._rows(ARMS)
        _check_version(rows)
        return [(row.seq, _read(row, row.seq)) for row in rows]


class Writing(Reading):
    """What a store holds of one bandit, while nobody else can write."""

    def append(self, events: Sequence[Event], after: int) -> None:
        """Add events to the log, numbered from ``after + 1``.

        Parameters
        ----------
        events : sequence of Event
            May be empty.
        after : int
            Number of the last event, as seen in this transaction.

        Raises
        ------
        StorageError
            The store cannot be written; or the log holds such a number, or such an event of the same
            decision, already. It is raised by the next statement, the commit at the latest, and nothing of
            this transaction will stay.
        InvalidValueError
            A text has lone surrogates or U+0000, or a number is not finite. Nothing of this transaction will
            stay.
        """
        for start in range(0, len(events), PAGE_SIZE):
            page = events[start : start + PAGE_SIZE]
            rows = [_row(self.bandit_id, after + start + i, event) for i, event in enumerate(page, 1)]
            self._transaction.insert(EVENTS, rows)
            numbered = enumerate(page, after + start + 1)
            keys = [(self.bandit_id, key, seq) for seq, event in numbered for key in keys_in(event.data)]
            if keys:
                self._transaction.insert(KEYS, keys)

    def save(self, seq: int, state: str) -> None:
        """Replace the snapshot.

        Parameters
        ----------
        seq : int
            Number of the last event that the state has seen.
        state : str
            JSON.

        Raises
        ------
        StorageError
            The store cannot be written. Nothing of this transaction will stay.
        InvalidValueError
            The text has lone surrogates. Nothing of this transaction will stay.
        """
        values = {"seq": seq, "state": state}
        if not self._transaction.run(SAVE, {"bandit": self.bandit_id, **values}):
            self._transaction.run(SAVE_FIRST, {"bandit_id": self.bandit_id, **values})

    def rebase(self, seq: int, state: str) -> None:
        """Let the log begin with event number `seq`, after which the bandit had a state, and drop others.

        What comes before is still there, for `drop`.

        Raises
        ------
        StorageError
            The store cannot be written. Nothing of this transaction will stay.
        """
        for statement in DROP_STATES:
            self._transaction.run(statement, {"bandit": self.bandit_id})
        self._transaction.run(SAVE_BASE, {"bandit_id": self.bandit_id, "seq": seq, "state": state})

    def drop(self) -> bool:
        """Drop a page of what comes before the beginning of the log; return whether there may be more.

        Raises
        ------
        StorageError
            The store cannot be written. Nothing of this transaction will stay.
        """
        begin, first = self._begin(), self._rows(FIRST)[0][0]
        if first is None or first >= begin:
            return False
        bounds = {"bandit": self.bandit_id, "before": min(begin, first + PAGE_SIZE)}
        self._transaction.run(DROP, bounds)
        self._transaction.run(DROP_KEYS, bounds)
        return True


def _row(bandit_id: int, seq: int, event: Event) -> Fields:
    """Return an event as a row of `EVENTS`; what not every kind of store holds is refused by all."""
    if not (math.isfinite(event.at) and math.isfinite(event.value or 0.0)):
        raise InvalidValueError(f"numbers in a log are finite, not {event.value} at {event.at}.")
    if "\0" in event.data:
        raise InvalidValueError(f"text with U+0000 cannot be stored: {event.data!r}.")
    kind, step, arm, value, counted, at, data = event
    value = None if value is None else float(value)  # an integer would come back as one
    fields = KINDS[kind], step, arm, value, counted, at, data
    return bandit_id, seq, *fields, checksum(*fields)


def _check_version(rows: Sequence[Row]) -> None:
    """Refuse rows that another version of the tables holds, which is their last field."""
    if rows and rows[0][-1] != VERSION:
        raise StorageError(
            f"the tables of the store have been brought to version {rows[0][-1]}, and this process writes "
            f"version {VERSION}: start it again with the Brigand that changed them."
        )


def _read(row: Fields, number: int) -> Event:
    """Return the event in a row with the columns `_event`; it must have the number that is next."""
    kind, step, arm, value, counted, at, data, crc, seq = row[:9]
    if seq != number:
        raise StorageError(f"the log is damaged: line {number} is not there.")
    if not fits(crc, kind, step, arm, value, counted, at, data):
        raise StorageError(f"line {number} of the log is damaged: its checksum does not fit.")
    return Event(NAMES.get(kind) or f"kind {kind}", step, arm, value, bool(counted), at, data)


def _page(rows: Sequence[Fields]) -> Page:
    """Return the decisions of which rows with the columns `_event` tell."""
    # `zip(*rows)` would make an iterator of each row, and the garbage collector look at all of them.
    *fields, crc, _ = (list(map(itemgetter(place), rows)) for place in range(len(_event)))
    if not all_fit(crc, *fields):
        for row in rows:
            _read(row, row[-1])
    try:
        return Page.of_lines(*fields)
    except (TypeError, ValueError, OverflowError) as error:
        raise _damaged(rows[0][1], rows[-1][1], str(error)) from error


def _damaged(first: object, last: object, why: str) -> StorageError:
    where = f"decision {first!r}" if first == last else f"one of the decisions {first!r} to {last!r}"
    return StorageError(f"the log is damaged at {where}: {why}.")


def _tallies(rows: Sequence[Row]) -> list[Tally]:
    return [
        Tally(bucket, arm, NAMES[kind], bool(counted), number, float(total or 0.0), int(explored), first_at)
        for bucket, arm, kind, counted, number, total, explored, first_at in rows
    ]
