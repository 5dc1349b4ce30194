"""What the pages show, kept for a moment: twenty people who look cost as much as one."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import math
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from brigand.dashboard import pages, view
from brigand.dashboard.charts import spark
from brigand.dashboard.tables import COUNT, NUMBER, TEXT, TIME, Chart, Table, shown
from brigand.dashboard.view import View, Watch
from brigand.errors import BrigandError
from brigand.live.bandit import Bandit
from brigand.policies.titles import policy_title
from brigand.service.errors import Refused
from brigand.service.service import Service
from brigand.words import counted

FRESH = 2.0
"""Seconds that what was made is shown, at least."""
SHARE = 5.0
"""And at least so many times as long as it took: pages shall not keep those waiting who ask."""
SEGMENTS_FRESH = 15.0
KEPT = 64
"""Bandits, and lists, that are kept ready."""
PATIENCE = 0.5
"""Seconds that a page waits for what takes long for millions of decisions."""
OFTEN = 20.0
"""The gain, which is counted from the beginning, is told again only after so many times as long."""
MOST_SEGMENTS = 20
PAGE = 25
"""Bandits on one page of the list."""
SILENT = 3600.0
"""Seconds without an ask after which a bandit is called silent."""
BEING_COUNTED = ""
SEGMENT = re.compile(r"(.+)/(\[.*\])", re.DOTALL)


class Page(NamedTuple):
    """A part of a page, ready to be sent.

    Attributes
    ----------
    html : Markup
    packed : bytes
        The same, compressed.
    tag : str
        Another one for another content.
    """

    html: Any
    packed: bytes
    tag: str

    @classmethod
    def of(cls, html: Any) -> Page:
        """Return one."""
        content = html.encode("utf-8", "replace")
        return cls(html, gzip.compress(content, 5), hashlib.blake2b(content, digest_size=8).hexdigest())


class Shared:
    """Makes what is asked for once for all who ask at the same time, or shortly after.

    Parameters
    ----------
    fresh : float
        Seconds.
    """

    def __init__(self, fresh: float = FRESH) -> None:
        self._fresh = fresh
        self._made: OrderedDict[Any, tuple[float, asyncio.Task[Any]]] = OrderedDict()

    async def get(self, key: Any, make: Callable[[], Awaitable[Any]]) -> Any:
        """Return what is kept under a key, made if it is too old."""
        until, task = self._made.get(key, (-math.inf, None))
        if task is None or (task.done() and (time.monotonic() >= until or task.exception() is not None)):
            task = asyncio.ensure_future(self._make(key, make))
            self._made[key] = math.inf, task
            self._made.move_to_end(key)
            while len(self._made) > KEPT:
                self._made.popitem(last=False)
        return await asyncio.shield(task)

    def forget(self, key: Any) -> None:
        """Let what is kept under a key be made anew."""
        self._made.pop(key, None)

    async def _make(self, key: Any, make: Callable[[], Awaitable[Any]]) -> Any:
        began = time.monotonic()
        try:
            return await make()
        finally:
            now = time.monotonic()
            if key in self._made:
                self._made[key] = now + max(self._fresh, SHARE * (now - began)), self._made[key][1]


class Patient:
    """What may take long to make: those who cannot wait get what was made before.

    Parameters
    ----------
    read : callable
        Runs a function in a thread.
    make : callable
    before : object
        What there is before anything is made.
    often : float
        It is made again only after so many times as long as it took.
    """

    def __init__(
        self, read: Callable[..., Awaitable[Any]], make: Callable[[], Any], before: Any, often: float = 0.0
    ) -> None:
        self._read, self._make, self._made, self._often = read, make, before, often
        self._until = -math.inf
        self._task: asyncio.Task[Any] | None = None

    async def get(self, late: Callable[[], None]) -> Any:
        """Return it; `late` is called when it is ready, if that takes longer than `PATIENCE`."""

        def ended(task: asyncio.Task[Any]) -> None:
            if not task.cancelled():
                task.exception()  # told to the next who asks
            late()

        task = self._task
        if task is None:
            if time.monotonic() < self._until:
                return self._made
            task = self._task = asyncio.ensure_future(self._begin())
        if task in (await asyncio.wait({task}, timeout=PATIENCE))[1]:
            task.add_done_callback(ended)
            return self._made
        if self._task is task:
            self._task = None  # also of one that failed, so that it is tried again
            self._made = task.result()
        return task.result()

    async def ready(self) -> None:
        """Wait until it is made, if it is being made."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def _begin(self) -> Any:
        began = time.monotonic()
        try:
            return await self._read(self._make)
        finally:
            now = time.monotonic()
            self._until = now + self._often * (now - began)


class Looked(NamedTuple):
    """A bandit, and what is made of it for those who look."""

    watch: Watch
    counted: Patient
    gain: Patient


class Seen(NamedTuple):
    """A bandit that is looked at.

    Attributes
    ----------
    view : View
        With the segments beside it.
    page : Page
    """

    view: View
    page: Page


class Watching:
    """All that is looked at.

    Parameters
    ----------
    service : Service
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._looked: OrderedDict[str, Looked] = OrderedDict()
        self._views, self._lists, self._others = Shared(), Shared(), Shared()
        self._segments = Shared(SEGMENTS_FRESH)

    # One bandit.

    async def bandit(self, name: str, alone: bool = False, whole: bool = False) -> Seen:
        """Return what is known of a bandit.

        Parameters
        ----------
        name : str
        alone : bool
            Without others that are segments beside it.
        whole : bool
            Wait for what takes long, also where pages do not.

        Raises
        ------
        Refused
            There is none of this name.
        StorageError
            The store cannot be read.
        """
        while True:
            seen: Seen = await self._views.get((name, alone), lambda: self._see(name, alone))
            looked = self._looked.get(name)
            missing = seen.view.counting or seen.view.gain == BEING_COUNTED
            if not (whole and missing and looked is not None):
                return seen
            await asyncio.gather(looked.counted.ready(), looked.gain.ready())
            self.changed(name)

    def changed(self, name: str) -> None:
        """Let a bandit be looked at anew."""
        for key in (name, (name, False), (name, True)):
            self._views.forget(key)

    async def _see(self, name: str, alone: bool) -> Seen:
        found = await self._views.get(name, lambda: self._view(name))
        beside = None if alone else await self._segments.get(name, lambda: self._beside(name))
        if beside is not None:
            arms, *over_time = found.charts
            found = replace(found, charts=[arms, beside, *over_time])
        html = await self._service.read(lambda: pages.render("live", view=found, links=pages.Links(name)))
        return Seen(found, await self._service.read(Page.of, html))

    async def _view(self, name: str) -> View:
        held = await self._service.shelf.get(name)
        looked = await self._service.read(held.do, lambda bandit: self._look(name, bandit))

        def late() -> None:
            self.changed(name)

        series, gain = await asyncio.gather(looked.counted.get(late), looked.gain.get(late))
        found: View = await self._service.read(
            held.do, lambda bandit: view.view_of(looked.watch, gain, series)
        )
        return found

    def _look(self, name: str, bandit: Bandit) -> Looked:
        looked = self._looked.get(name)
        if looked is None or looked.watch.bandit is not bandit:
            watch, read = Watch(bandit, name), self._service.read
            counted = Patient(read, watch.counted, None)
            gain = Patient(read, lambda: _gain(watch), None if watch.earned is None else BEING_COUNTED, OFTEN)
            looked = self._looked[name] = Looked(watch, counted, gain)
        self._looked.move_to_end(name)
        while len(self._looked) > KEPT:
            self._looked.popitem(last=False)
        return looked

    async def _beside(self, name: str) -> Chart | None:
        """Return the largest segments of the same definition, with this one."""
        base = base_of(name)
        if base is None:
            return None
        names, number = await self._service.read(self._service.bandits.largest, f"{base}/[", MOST_SEGMENTS)
        largest, found = len(names), []
        names += [] if name in names else [name]
        for other in names:
            if base_of(other) != base:
                continue
            title = ", ".join(json.loads(other.removeprefix(f"{base}/")))
            of_segment = partial(view.segment_of, name=title, link=pages.Links(other).page())
            try:
                held = await self._service.shelf.get(other)
                found.append(await self._service.read(held.do, of_segment))
            except (BrigandError, Refused):
                continue
        if len(found) < 2:
            return None
        all_ = pages.to_list(f"{base}/[", "-decisions", 1)
        return view.segments(found, pages.Links(name).page(), largest, number, all_)

    # Its decisions.

    async def why(self, name: str, arm: str | None, find: str | None) -> tuple[Table, Page]:
        """Return the last decisions of a bandit, of an arm, or one of them.

        Raises
        ------
        Refused
            There is no bandit of this name.
        StorageError
            The store cannot be read.
        """
        found: tuple[Table, Page] = await self._others.get(
            (name, arm, find), lambda: self._why(name, arm, find)
        )
        return found

    async def _why(self, name: str, arm: str | None, find: str | None) -> tuple[Table, Page]:
        held = await self._service.shelf.get(name)
        table = await self._service.read(
            held.do,
            lambda bandit: view.found(bandit, find) if find else view.latest(bandit, 50, arm),
        )
        links = pages.Links(name)
        more = {"find": find} if find else {"arm": pages.packed(arm)} if arm else {}
        none = "There is no decision yet."
        if find:
            none = "No decision has this id, and none was made for such a unit or request."
        elif arm:
            none = "None of the last 100,000 decisions was for this arm."
        html = pages.render("decisions", it=table, csv=links.table("decisions", **more), nothing=none)
        return table, Page.of(html)

    # All bandits.

    async def bandits(self, text: str, order: str, page: int) -> tuple[Table, Page]:
        """Return a page of the bandits whose names hold a text.

        Raises
        ------
        StorageError
            The store cannot be read.
        """
        found: tuple[Table, Page] = await self._lists.get(
            (text, order, page), lambda: self._service.read(self._listed, text, order, page)
        )
        return found

    def _listed(self, text: str, order: str, page: int) -> tuple[Table, Page]:
        now = datetime.now(UTC)
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
        found, number = self._service.bandits.search(text, order, (page - 1) * PAGE, PAGE, midnight)
        rows = [_row(one, now.timestamp()) for one in found]
        pages_ = max(1, -(-number // PAGE))

        def to(place: int) -> str:
            return pages.to_list(text, order, place)

        html = pages.render(
            "bandits",
            rows=rows,
            number=number,
            page=page,
            pages=pages_,
            q=text,
            earlier=to(page - 1) if page > 1 else "",
            later=to(page + 1) if page < pages_ else "",
            csv=f"/bandits.csv{to(page)[1:]}",
        )
        return _table(rows), Page.of(html)


def _gain(watch: Watch) -> Any:
    """Return the gain, or why it cannot be told."""
    try:
        return watch.gain()
    except BrigandError as error:
        return f"It cannot be told: {error}"


def base_of(name: str) -> str | None:
    """Return the name of the `brigand.Bandits` that a bandit is a segment of, if it looks like one.

    Examples
    --------
    >>> base_of('button/["de", "phone"]'), base_of("button"), base_of("button/[1]")
    ('button', None, None)
    """
    form = SEGMENT.fullmatch(name)
    try:
        parts = None if form is None else json.loads(form[2])
    except (ValueError, RecursionError):
        return None
    if form is None or not parts or not all(isinstance(part, str) for part in parts):
        return None
    return form[1]


def _row(found: dict[str, Any], now: float) -> dict[str, Any]:
    """Return a row of the list, by what `Bandits.search` returns."""
    glance = found["glance"]
    last, line = (None, []) if glance is None else (glance.last_at, glance.line)
    state, since = found["status"], ""
    if state == "serving" and last is not None and now - last > SILENT:
        state, since = "silent", f" since {shown(last, TIME)[:16]}"
    rewards = [value for value in line if not math.isnan(value)]
    mean = 1000.0 * sum(rewards) / len(rewards) if rewards else math.nan
    text = shown(mean, NUMBER)
    return {
        "name": found["name"],
        "id": f"b-{hashlib.blake2b(found['name'].encode('utf-8', 'replace'), digest_size=6).hexdigest()}",
        "link": pages.Links(found["name"]).page(),
        "state": state,
        "since": since,
        "arms": len(found["arms"]),
        "decisions": found["decisions"],
        "today": None if glance is None else glance.since,
        "line": spark(
            line, f"reward over the last {counted(min(2000, found['decisions']), 'ask')}, now {text}"
        ),
        "mean": mean,
        "reward": text,
        "last": last,
        "policy": policy_title(found["policy"]) if found["policy"] else "",
    }


def _table(rows: list[dict[str, Any]]) -> Table:
    columns = (
        ("bandit", "name", TEXT),
        ("state", "state", TEXT),
        ("arms", "arms", COUNT),
        ("decisions", "decisions", COUNT),
        ("asks today", "today", COUNT),
        ("reward per 1,000 rewarded asks", "mean", NUMBER),
        ("last decision (UTC)", "last", TIME),
        ("policy", "policy", TEXT),
    )
    found = [[row[key] for _, key, _ in columns] for row in rows]
    return Table("bandits", "Bandits", tuple((title, kind) for title, _, kind in columns), found)
