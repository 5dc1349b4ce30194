"""The client for asyncio, which does all the work: `brigand.client.Client` runs one of these."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from brigand import checks
from brigand.client import answers, calls
from brigand.client.calls import Attempts, Call
from brigand.client.decision import FALLBACK, Decision
from brigand.client.outbox import Outbox
from brigand.errors import BrigandError, InvalidValueError, NotServingError, ServiceError

if TYPE_CHECKING:
    import httpx
else:
    httpx = checks.package("httpx", "the client needs httpx: pip install 'brigand[client]'.")

LOG = logging.getLogger("brigand.client")

Row = dict[str, Any]
Rows = list[Row]
Decisions = list[Decision]
Names = list[str]

BATCH = 16
"""So many waiting tells are sent at the same time."""
SENDING = 5.0
"""Seconds that one of them may take."""
FIRST_PAUSE = 0.1
"""Seconds, about, before they are sent again; then twice as long, and so on."""
FORMATS = {".csv": "csv", ".parquet": "parquet", ".ndjson": "ndjson"}


class AsyncClient:
    """A service's client for asyncio: as `Client`, whose methods are coroutines here.

    One client belongs to one event loop.

    Parameters
    ----------
    url, key, timeout, retries, queue, patience, transport
        See `Client`.
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout: float = 0.2,
        retries: int = 2,
        queue: int = 10_000,
        patience: float = 30.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._timeout = checks.number("timeout", timeout, 0, 86400, above=0)
        self._retries = checks.integer("retries", retries, 0, 1000)
        self._patience = checks.number("patience", patience, 0, 86400, above=0)
        self._outbox = Outbox(checks.integer("queue", queue, 0))
        self._sender: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()
        self._closed = False
        self._http = httpx.AsyncClient(
            base_url=_checked_url(url),
            headers={} if key is None else {"Authorization": f"Bearer {_checked_key(key)}"},
            timeout=None,  # each attempt has its own
            transport=transport,
        )

    # Asking and telling

    async def ask(
        self,
        bandit: str,
        *,
        fallback: str | None = None,
        among: Iterable[str] | None = None,
        unit: str | None = None,
    ) -> Decision:
        """Choose an arm.

        If there is no answer, the call is sent again under the same name, so that it gets the same decision,
        until the client's `timeout` is over. A decision that was made and whose answer came too late stays
        without a reward.

        Parameters
        ----------
        bandit : str
        fallback : str, optional
            The arm to return if the service does not answer in time or cannot, or if the bandit is paused:
            then the decision `is_fallback`, and says why.
        among : iterable of str, optional
            The arms that are available now; by default all.
        unit : str, optional
            Whom the decision is for: a unit whose decision is open gets that one again.

        Raises
        ------
        ServiceError, NotServingError
            There is no fallback.
        UnknownNameError
            There is no such bandit, or no such arm in service.
        InvalidValueError, AccessError
            The service refused the call.
        """
        self._require_open()
        call = calls.ask(bandit, among, unit, fallback)
        try:
            return Decision.read(await self._send(call, self._timeout))
        except (ServiceError, NotServingError) as error:
            if fallback is None:
                raise
            return Decision.fall_back(fallback, str(error).rstrip("."))

    async def ask_many(self, bandit: str, n: int, *, among: Iterable[str] | None = None) -> Decisions:
        """Choose n arms, one after the other; errors are those of `ask`."""
        count = checks.integer("n", n, 1)
        answer = await self._call(calls.post(bandit, "ask", n=count, among=calls.listed("among", among)))
        return [Decision.read(one) for one in answers.field(answer, "decisions", list)]

    async def tell(
        self,
        bandit: str,
        decision: Decision | str,
        reward: float,
        *,
        metric: str | None = None,
        replace: bool = False,
    ) -> str:
        """Tell the reward of a decision, once.

        If the service does not answer within the client's `timeout`, the tell waits in the client's queue and
        is sent again, under the same name, until the service takes it. While any tells wait, new ones wait
        with them.

        Parameters
        ----------
        bandit : str
        decision : Decision or str
            Or its id.
        reward : float
        metric : str, optional
            Another metric of the decision, which the policy does not learn.
        replace : bool
            Correct the reward that was told before.

        Returns
        -------
        str
            What became of it: ``"learned"``, ``"repeated"``, ``"history"``, ``"added"``, ``"replaced"``;
            ``"queued"`` if it waits; ``"fallback"`` if the service does not know the decision, and nothing
            was sent.

        Raises
        ------
        UnknownDecisionError
            The bandit has not made the decision, or there is nothing to replace.
        ConflictingRewardError
            Another reward was told before.
        InvalidValueError, AccessError
            The service refused the call.
        ServiceError
            It does not answer, and the client has no queue.
        """
        self._require_open()
        id = decision.id if isinstance(decision, Decision) else decision
        call = calls.tell(bandit, id, reward, metric, replace)
        if id.startswith(FALLBACK):
            return "fallback"
        if not self._outbox.pending:
            try:
                return str(answers.field(await self._send(call, self._timeout), "told", str))
            except ServiceError:
                if not self._outbox.room:
                    raise
        self._outbox.put(call, id)
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send_waiting())
        return "queued"

    async def tell_many(
        self, bandit: str, rewards: Mapping[str, float] | Iterable[tuple[Decision | str, float]]
    ) -> Names:
        """Tell several rewards, each with its decision or the id: all, or none if one of them is refused.

        They do not wait in the queue. Returns and errors are those of `tell`.
        """
        pairs = rewards.items() if isinstance(rewards, Mapping) else rewards
        given = [
            {"id": one.id if isinstance(one, Decision) else one, "reward": calls.number(reward)}
            for one, reward in pairs
        ]
        return _list(await self._call(calls.post(bandit, "tell", rewards=given)), "told")

    # Tells that wait

    @property
    def pending(self) -> int:
        """How many tells wait until the service is back."""
        return self._outbox.pending

    @property
    def dropped(self) -> int:
        """How many tells were given up: the oldest of a full queue, and what is left when it is closed."""
        return self._outbox.dropped

    @property
    def refused(self) -> int:
        """How many tells had waited when the service refused them; each is in the log `brigand.client`."""
        return self._outbox.refused

    async def flush(self, timeout: float | None = None) -> bool:
        """Send the tells that wait, now and again; return whether none is left after `timeout` seconds."""
        if self._sender is not None and not self._sender.done():
            self._hurry.set()
            await asyncio.wait([self._sender], timeout=timeout)
        return not self._outbox.pending

    async def close(self, timeout: float = 5.0) -> None:
        """Send the tells that wait, for `timeout` seconds at most; what is left is dropped."""
        if self._closed:
            return
        self._closed = True
        await self.flush(timeout)
        if self._sender is not None:
            self._sender.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sender
        if self._outbox.pending:
            LOG.warning("%d tells were dropped, since the client was closed", self._outbox.pending)
            self._outbox.drop_all()
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {str(self._http.base_url)!r}, {self.pending} tells waiting>"

    async def _send_waiting(self) -> None:
        """Send the tells that wait until there is none: one at a time while the service does not answer."""
        size, pauses = BATCH, calls.pauses(FIRST_PAUSE)
        while batch := self._outbox.first(size):
            errors = await asyncio.gather(*map(self._deliver, batch))
            failures = [error for error in errors if error is not None]
            if len(failures) < len(batch):
                size, pauses = BATCH, calls.pauses(FIRST_PAUSE)
                continue
            size = 1 if failures[0].status is None else BATCH
            pause = max(next(pauses), failures[0].retry_after)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._hurry.wait()
            self._hurry.clear()

    async def _deliver(self, call: Call) -> ServiceError | None:
        """Send a tell that waits, and return why it still does."""
        try:
            await self._send(call, SENDING, retries=0)
        except ServiceError as error:
            if error.status is not None:
                self._outbox.put_off(call)
            return error
        except BrigandError as error:
            self._outbox.refuse(call)
            LOG.warning("the service refused a tell that had waited: %s: %s", type(error).__name__, error)
        else:
            self._outbox.sent(call)
        return None

    # All else

    async def create(
        self,
        bandit: str,
        arms: Iterable[str],
        policy: str | Mapping[str, Any] = "FE-Linear",
        *,
        seed: int | None = None,
        horizon: int | None = None,
        reward_timeout: float | None = None,
        default_reward: float | None = None,
        holdout: float | None = None,
        floor: float | None = None,
        accumulate: float | None = None,
        units: str | None = None,
        metric: str | None = None,
    ) -> Row:
        """Create a bandit, and return what `show` does.

        Parameters
        ----------
        bandit : str
            Its name.
        arms : iterable of str
        policy : str or mapping
            A name of the catalogue, or the JSON form of a policy of the catalogue.
        seed, horizon, reward_timeout, default_reward, holdout, floor, accumulate, units, metric
            As of `brigand.Bandit`.

        Raises
        ------
        NameTakenError
            There is such a bandit.
        InvalidValueError
            A value is not allowed.
        """
        content = calls.body(
            name=checks.text("a bandit's name", bandit),
            arms=calls.listed("arms", arms),
            policy=policy,
            seed=seed,
            horizon=horizon,
            reward_timeout=reward_timeout,
            default_reward=default_reward,
            holdout=holdout,
            floor=floor,
            accumulate=accumulate,
            units=units,
            metric=metric,
        )
        return _row(await self._call(Call("POST", calls.path(), content)))

    async def delete(self, bandit: str) -> None:
        """Delete a bandit, with all that was learned."""
        await self._call(calls.delete(bandit))

    async def show(self, bandit: str, *, over_time: bool = False) -> Row:
        """Return a bandit's policy, status, arms with what is known of each, and metrics.

        With `over_time`, also the arms' means over the time of the log: see `brigand.Bandit.summary`.
        """
        return _row(await self._call(calls.get(bandit, over_time=over_time or None)))

    async def arms(self, bandit: str) -> Names:
        """Return the names of the arms in service."""
        return [answers.field(row, "arm", str) for row in _list(await self.show(bandit), "arms")]

    async def add_arm(self, bandit: str, arm: str) -> None:
        """Put a new arm into service."""
        await self._call(calls.post(bandit, "arms", arm=checks.text("an arm's name", arm)))

    async def remove_arm(self, bandit: str, arm: str) -> None:
        """Take an arm out of service."""
        await self._call(calls.delete(bandit, "arms", arm))

    async def pause(self, bandit: str, note: str | None = None) -> str:
        """Let the bandit choose no arms until `resume`; return its status."""
        return await self._change(bandit, "pause", note=note)

    async def resume(self, bandit: str, note: str | None = None) -> str:
        """Go on after `pause`; return the bandit's status."""
        return await self._change(bandit, "resume", note=note)

    async def end(self, bandit: str, arm: str, note: str | None = None) -> str:
        """End the bandit: from now on every ask gets this arm. Return its status."""
        return await self._change(bandit, "end", arm=checks.text("an arm's name", arm), note=note)

    async def note(self, bandit: str, note: str) -> str:
        """Write a note into the bandit's `audit`; return its status."""
        return await self._change(bandit, "notes", note=checks.text("a note", note))

    async def history(
        self, bandit: str, *, after: int | None = None, page: int = 1000
    ) -> AsyncGenerator[Row, None]:
        """Yield the bandit's decisions with their rewards, in order.

        Parameters
        ----------
        bandit : str
        after : int, optional
            Begin after the decision with this step.
        page : int
            So many are fetched at a time.
        """
        async for row in self._pages(calls.path(bandit, "history"), "decisions", after, page):
            yield row

    async def export(self, bandit: str, path: str | os.PathLike[str]) -> None:
        """Write the bandit's decisions into a file, whose name ends in .csv, .parquet or .ndjson.

        The file is there when all of it has come, and not before.
        """
        target = Path(path)
        format = FORMATS.get(target.suffix.lower())
        if format is None:
            raise InvalidValueError(f"the file's name must end in {', '.join(FORMATS)}, not {target.name!r}.")
        part = target.with_name(f"{target.name}.part")
        try:
            with part.open("wb") as file:
                async for chunk in self._stream(calls.get(bandit, "export", format=format)):
                    file.write(chunk)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)

    async def snapshot(self, bandit: str) -> Row:
        """Return the bandit as `brigand.Bandit.restore` takes it."""
        return _row(await self._call(calls.get(bandit, "snapshot")))

    async def gain(
        self,
        bandit: str,
        *,
        low: float | None = None,
        high: float | None = None,
        level: float | None = None,
    ) -> Row:
        """Return what the bandit earns over an even split, by its holdout.

        Parameters
        ----------
        bandit : str
        low, high : float, optional
            The range of the rewards.
        level : float, optional
            Of the interval; 0.95 by default.
        """
        return _row(await self._call(calls.get(bandit, "gain", low=low, high=high, level=level)))

    async def metrics(self, bandit: str) -> Rows:
        """Return the other metrics that were told, by arm."""
        return _list(await self._call(calls.get(bandit, "metrics")), "metrics")

    async def audit(self, bandit: str) -> Rows:
        """Return who changed what."""
        return _list(await self._call(calls.get(bandit, "audit")), "audit")

    async def ready(self) -> bool:
        """Return whether the service answers, and its store does."""
        try:
            await self._call(Call("GET", "/readyz", repeatable=True))
        except ServiceError:
            return False
        return True

    async def list(self, *, after: str | None = None, page: int = 1000) -> AsyncGenerator[Row, None]:
        """Yield the bandits of the service, by name, from the first one after `after` on."""
        async for row in self._pages(calls.path(), "bandits", after, page):
            yield row

    # Sending

    async def _change(self, bandit: str, what: str, **values: str | None) -> str:
        return str(answers.field(await self._call(calls.post(bandit, what, **values)), "status", str))

    async def _pages(
        self, path: str, what: str, after: int | str | None, page: int
    ) -> AsyncGenerator[Row, None]:
        limit = checks.integer("page", page, 1)
        while True:
            query = calls.query(after=after, limit=limit)
            answer = await self._call(Call("GET", path, query=query, repeatable=True))
            for row in answers.field(answer, what, list):
                yield _row(row)
            after = answers.field(answer, "next", (int, str, type(None)))
            if after is None:
                return

    async def _call(self, call: Call) -> Any:
        self._require_open()
        return await self._send(call, self._patience)

    async def _send(self, call: Call, seconds: float, retries: int | None = None) -> Any:
        """Send a call, again where that does no harm, and return the answer's JSON."""
        attempts = Attempts(seconds, self._retries if retries is None else retries)
        while True:
            try:
                async with asyncio.timeout(attempts.share if call.repeatable else attempts.left):
                    response = await self._http.send(self._request(call))
                return answers.read(response.status_code, response.headers, response.content)
            except TimeoutError:
                error = answers.failure(f"the service did not answer within {seconds:g} seconds.")
                again = call.repeatable
            except httpx.RequestError as failed:
                error = _unreached(failed)
                again = call.repeatable or isinstance(failed, httpx.ConnectError)
            except ServiceError as answered:
                error, again = answered, call.repeatable
            pause = attempts.pause(error.retry_after) if again else None
            if pause is None:
                raise error
            await asyncio.sleep(pause)

    async def _stream(self, call: Call) -> AsyncIterator[bytes]:
        """Yield the content of an answer; only the waits for more of it are bounded."""
        self._require_open()
        try:
            response = await self._http.send(self._request(call, self._patience), stream=True)
            try:
                if response.status_code != 200:
                    raise answers.error_of(response.status_code, response.headers, await response.aread())
                async for chunk in response.aiter_bytes():
                    yield chunk
            finally:
                await response.aclose()
        except httpx.RequestError as failed:
            raise _unreached(failed) from failed

    def _request(self, call: Call, timeout: float | None = None) -> httpx.Request:
        return self._http.build_request(
            call.method,
            call.path,
            content=call.body,
            params=call.query or None,
            headers=call.headers,
            timeout=timeout,
        )

    def _require_open(self) -> None:
        if self._closed:
            raise InvalidValueError("the client was closed.")


def _unreached(failed: httpx.RequestError) -> ServiceError:
    return answers.failure(f"the service cannot be reached: {failed or type(failed).__name__}.")


def _row(answer: Any) -> Row:
    if not isinstance(answer, dict):
        raise answers.failure("the service's answer is no JSON object: is it Brigand's?", 200)
    return answer


def _list(answer: Any, name: str) -> list[Any]:
    found: list[Any] = answers.field(answer, name, list)
    return found


def _checked_url(url: str) -> str:
    """Return the address of a service without the slash at its end."""
    parts = urlsplit(checks.text("url", url))
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise InvalidValueError(f"url must be like 'https://bandits.example.org', not {url!r}.")
    return url.rstrip("/")


def _checked_key(key: str) -> str:
    """Return a key that a header can hold; a wrong one is not repeated."""
    if not (isinstance(key, str) and key.isascii() and key.isprintable() and key.strip() == key != ""):
        raise InvalidValueError("the key is not of the kind that `brigand key create` prints.")
    return key
