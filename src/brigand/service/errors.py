"""Errors as answers, all in the shape of RFC 9457."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from brigand.errors import (
    BrigandError,
    ConflictingRewardError,
    InvalidValueError,
    NameTakenError,
    NotServingError,
    StorageError,
    UnknownDecisionError,
    UnknownNameError,
)

PROBLEM = "application/problem+json"
RETRY = {"Retry-After": "1"}
STORE = "the store cannot be read or written now: nothing of this request is stored."
"""Instead of what the store's error says, which has its place."""
KINDS: list[tuple[type[Exception], int, str]] = [
    (ConflictingRewardError, 409, "conflicting reward"),
    (NameTakenError, 409, "name taken"),
    (NotServingError, 409, "paused"),
    (UnknownDecisionError, 404, "unknown decision"),
    (UnknownNameError, 404, "unknown name"),
    (StorageError, 503, "store unavailable"),
    (InvalidValueError, 422, "value not allowed"),
]
"""Statuses and titles; of the classes that an error has, the first one counts."""
SCHEMA = {
    "type": "object",
    "description": "An error (RFC 9457).",
    "required": ["type", "title", "status", "detail", "request_id"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "request_id": {"type": "string"},
    },
}
SAID = {
    400: "The request is malformed.",
    401: "There is no key, or it is not valid.",
    403: "The key does not allow this.",
    404: "There is no such bandit, decision or arm.",
    409: "Another reward was told, the name is taken, or the bandit is paused.",
    413: "The body is too large.",
    422: "A value is not allowed.",
    429: "The key was used too often.",
    503: "The store cannot be reached, or too many calls wait.",
}


class Refused(HTTPException):
    """A request that is refused."""

    def __init__(self, status: int, detail: str, title: str = "", **headers: str) -> None:
        super().__init__(status, detail, {name.replace("_", "-"): value for name, value in headers.items()})
        self.title = title


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return how OpenAPI describes answers with these statuses."""
    schema = {"schema": {"$ref": "#/components/schemas/Problem"}}
    return {status: {"description": SAID[status], "content": {PROBLEM: schema}} for status in statuses}


def problem(
    status: int, detail: str, request_id: str, title: str = "", headers: dict[str, str] | None = None
) -> Response:
    """Return an answer that says what went wrong."""
    body = {
        "type": "about:blank",
        "title": title or HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "request_id": request_id,
    }
    return Response(json.dumps(body), status, headers, PROBLEM)


def install(app: FastAPI) -> None:
    """Let an app answer all errors in one shape."""
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(BrigandError, _brigand)


def _id(request: Request) -> str:
    return str(request.scope.get("brigand.id", ""))


async def _http(request: Request, error: Any) -> Response:
    title = getattr(error, "title", "")
    return problem(error.status_code, str(error.detail), _id(request), title, error.headers)


async def _invalid(request: Request, error: Any) -> Response:
    """Say what is wrong where, without what was sent."""
    found = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:10]]
    return problem(422, "; ".join(found), _id(request))


async def _brigand(request: Request, error: Any) -> Response:
    for kind, status, title in KINDS:
        if isinstance(error, kind):
            if kind is StorageError:
                request.scope["brigand.error"] = str(error).partition(" DETAIL:")[0]  # which has the row
                return problem(status, STORE, _id(request), title, RETRY)
            return problem(status, str(error), _id(request), title)
    raise error  # a mistake of ours, or of a policy: `outside` says so
