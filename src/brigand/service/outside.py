"""The outermost layer of the service: ids of requests, paths as they were sent, bounded bodies, log lines."""

from __future__ import annotations

import re
import secrets
import time
from typing import Any
from urllib.parse import unquote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from brigand.service.errors import Refused, problem
from brigand.service.logs import LOG, note, where
from brigand.service.metrics import Metrics

REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,100}")
FAILED = "the service has failed; its log says more under this request_id."
HEADERS = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]


class Outside:
    """Wraps the app.

    Parameters
    ----------
    app : ASGIApp
    metrics : Metrics
    max_body : int
        Bytes of a body.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, max_body: int) -> None:
        self._app = app
        self._metrics = metrics
        self._max_body = max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500
        headers = dict(scope["headers"])
        id = headers.get(b"x-request-id", b"").decode("latin-1")
        if not REQUEST_ID.fullmatch(id):
            id = secrets.token_hex(8)
        # The path as it was sent: in a name, %2F is no end of a segment.
        path = scope["raw_path"].decode("ascii", "replace")
        scope = dict(scope, path=path, **{"brigand.id": id})
        started, read = False, 0

        async def answer(message: Message) -> None:
            nonlocal started, status
            if message["type"] == "http.response.start":
                started, status = True, message["status"]
                given = {name for name, _ in message.get("headers", ())}
                more = [(b"x-request-id", id.encode()), *(one for one in HEADERS if one[0] not in given)]
                if status == 413:
                    more.append((b"connection", b"close"))  # what is left of the body is not read
                message = {**message, "headers": [*message.get("headers", ()), *more]}
            await send(message)

        async def bounded() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._max_body:
                raise too_large
            return message

        too_large = Refused(413, f"the body may have at most {self._max_body:,} bytes.")
        try:
            refused = self._refusal(path, headers)
            if refused is not None:
                await problem(refused.status_code, refused.detail, id)(scope, receive, answer)
            else:
                await self._app(scope, bounded, answer)
        except Exception as error:  # the app has said so, or was not able to
            LOG.error("failed", extra={"fields": {"request_id": id, **where(error)}})
            if not started:
                await problem(500, "the service has failed; its log says more under this request_id.", id)(
                    scope, receive, answer
                )
        finally:
            self._note(scope, id, status, time.perf_counter() - began)

    def _refusal(self, path: str, headers: dict[bytes, bytes]) -> Refused | None:
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length[:20]) > self._max_body:
            return Refused(413, f"the body may have at most {self._max_body:,} bytes.")
        try:
            unquote(path, errors="strict")
        except UnicodeDecodeError:
            return Refused(400, "the path is no UTF-8 text.")
        return None

    def _note(self, scope: Scope, id: str, status: int, seconds: float) -> None:
        route, name = scope.get("brigand.route", "none"), scope.get("brigand.bandit")
        self._metrics.seconds.labels(route, str(status)).observe(seconds)
        if status >= 400:
            self._metrics.refused.labels(self._metrics.label(name or ""), str(status)).inc()
        fields: dict[str, Any] = {
            "message": "request",
            "request_id": id,
            "method": scope["method"],
            "route": route,
            "bandit": name,
            "key": scope.get("brigand.key"),
            "status": status,
            "ms": round(1e3 * seconds, 3),
        }
        if "brigand.error" in scope:
            fields |= {"level": "error", "error": scope["brigand.error"]}
        note(fields)
