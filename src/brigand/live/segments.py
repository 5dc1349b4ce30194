"""One definition, one bandit for each segment: a country, a device, an item."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any

from brigand import checks
from brigand.errors import InvalidValueError
from brigand.live import report
from brigand.live.bandit import Bandit
from brigand.live.decision import Decision, Told
from brigand.live.settings import check_key
from brigand.policies.base import Policy
from brigand.storage.place import Place, store_url
from brigand.storage.store import open_store

if TYPE_CHECKING:
    import pandas as pd

Segment = str | tuple[str, ...]
OPEN = 1000
"""So many bandits are kept open, those that were used last."""
PAGE = 1000


class Bandits:
    """Bandits of one definition, each for a segment, which is made when it is first used.

    Parameters
    ----------
    arms, policy, **settings
        As of `Bandit`.
    store : str or path
    name : str
        That of each bandit in the store begins with it.
    segments : iterable of str
        What a segment is made of, such as ``["country", "device"]``.

    Raises
    ------
    InvalidValueError
        A setting is not allowed.

    Examples
    --------
    >>> import tempfile
    >>> import brigand as br
    >>> store = tempfile.mkdtemp() + "/shop.db"
    >>> shop = br.Bandits(["red", "green"], "FE-Linear", store=store, name="button", segments=["country"])
    >>> decision = shop.ask("de")
    >>> shop.tell("de", decision, 1.0)
    <Told.LEARNED: 'learned'>
    >>> shop.segments(), shop.summary()["told"].to_dict()
    ([('de',)], {('de', 'red'): 1, ('de', 'green'): 0})
    """

    def __init__(
        self,
        arms: Iterable[str],
        policy: Policy | str,
        *,
        store: Place,
        name: str,
        segments: Iterable[str],
        **settings: Any,
    ) -> None:
        self._arms, self._policy, self._settings = list(arms), policy, settings
        self._store, self._name = store, checks.text("name", name)
        self._parts = [segments] if isinstance(segments, str) else list(segments)
        if not self._parts:
            raise InvalidValueError("segments must name what a segment is made of, such as ['country'].")
        if "load_if_exists" in settings:
            raise InvalidValueError("load_if_exists is not for Bandits: they are made, or opened, when used.")
        Bandit(self._arms, policy, **settings)  # or an error, before the first segment comes
        self._open: OrderedDict[tuple[str, ...], Bandit] = OrderedDict()
        self._lock = Lock()

    def of(self, segment: Segment | Mapping[str, str]) -> Bandit:
        """Return the bandit of a segment: its parts in order, or by name; one text if it has one part.

        Raises
        ------
        InvalidValueError
            It has other parts.
        StorageError
            The store cannot be read or written.
        """
        key = self._key(segment)
        with self._lock:
            if key in self._open:
                self._open.move_to_end(key)
                return self._open[key]
        bandit = Bandit(
            self._arms,
            self._policy,
            store=self._store,
            name=self._name_of(key),
            load_if_exists=True,
            **self._settings,
        )
        with self._lock:
            bandit = self._open.setdefault(key, bandit)
            if len(self._open) > OPEN:
                self._open.popitem(last=False)  # closed when nobody uses it any more
        return bandit

    def ask(self, segment: Segment | Mapping[str, str], **options: Any) -> Decision:
        """Ask the bandit of a segment: see `Bandit.ask`."""
        decision = self.of(segment).ask(**options)
        if not isinstance(decision, Decision):
            raise InvalidValueError("Bandits.ask makes one decision; for many, use of(segment).ask(n).")
        return decision

    def tell(
        self,
        segment: Segment | Mapping[str, str],
        decision: str | Decision,
        reward: float,
        **options: Any,
    ) -> Told:
        """Tell the bandit of a segment: see `Bandit.tell`."""
        return self.of(segment).tell(decision, reward, **options)

    def segments(self, *, after: Segment | None = None, limit: int | None = None) -> list[tuple[str, ...]]:
        """Return the segments that there are, sorted, `limit` at most of those after one."""
        start = self._name_of(self._key(after)) if after is not None else f"{self._name}/["
        found: list[tuple[str, ...]] = []
        with open_store(store_url(self._store), create=True) as store:
            while limit is None or len(found) < limit:
                few = PAGE if limit is None else min(PAGE, limit - len(found))
                names = store.names(start, few)
                mine = [name for name in names if name.startswith(f"{self._name}/[")]
                found += [tuple(json.loads(name.removeprefix(f"{self._name}/"))) for name in mine]
                if len(mine) < few:
                    break
                start = names[-1]
        return found

    def summary(self, **options: Any) -> pd.DataFrame:
        """Return `Bandit.summary` of all segments: one row an arm of a segment, whose parts are indices."""
        rows = [
            dict(zip(self._parts, key, strict=True)) | row
            for key in self.segments()
            for row in self._rows(key, options)
        ]
        if not report.has_pandas():
            found: Any = rows
            return found
        import pandas as pd

        frame = pd.DataFrame(rows, columns=[*self._parts, *report.SUMMARY]).astype(dict(report.SUMMARY))
        return frame.set_index([*self._parts, "arm"])

    def _rows(self, key: tuple[str, ...], options: dict[str, Any]) -> Iterator[dict[str, Any]]:
        bandit = self.of(key)
        bandit._settle_overdue()
        level, support = options.get("level", 0.95), options.get("support")
        yield from report.summary(bandit, level, support, removed=options.get("removed", False))

    def _key(self, segment: Segment | Mapping[str, str]) -> tuple[str, ...]:
        names = ", ".join(self._parts)
        if isinstance(segment, Mapping):
            if set(segment) != set(self._parts):
                raise InvalidValueError(f"a segment has the parts {names}, not {list(segment)!r}.")
            segment = tuple(segment[part] for part in self._parts)
        parts = (segment,) if isinstance(segment, str) else segment
        if not isinstance(parts, tuple) or len(parts) != len(self._parts):
            raise InvalidValueError(f"a segment has the parts {names}, as a tuple, not {segment!r}.")
        return tuple(check_key(name, part) for name, part in zip(self._parts, parts, strict=True))

    def _name_of(self, key: tuple[str, ...]) -> str:
        return f"{self._name}/{json.dumps(key)}"

    def close(self) -> None:
        """Close all bandits that are open."""
        with self._lock:
            while self._open:
                self._open.popitem()[1].close()

    def __enter__(self) -> Bandits:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Bandits {self._name!r} by {', '.join(self._parts)}: {self._policy!r}>"
