"""How an answer of the service is read: as JSON, or as one of Brigand's errors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from brigand.errors import (
    AccessError,
    BrigandError,
    ConflictingRewardError,
    InvalidValueError,
    NameTakenError,
    NotServingError,
    ServiceError,
    UnknownDecisionError,
    UnknownNameError,
)

LONGEST = 2000
"""Characters of an answer that an error repeats at most."""
LONGEST_WAIT = 60.0
"""Seconds that a service may ask to wait."""


class UnknownThereError(UnknownNameError):
    """A name that the service does not know, in its own words."""

    def __init__(self, message: str) -> None:
        BrigandError.__init__(self, message)

    def __str__(self) -> str:
        return str(self.args[0])


BY_TITLE: dict[str, type[BrigandError]] = {
    "conflicting reward": ConflictingRewardError,
    "name taken": NameTakenError,
    "paused": NotServingError,
    "unknown decision": UnknownDecisionError,
    "unknown name": UnknownThereError,
}
BY_STATUS: dict[int, type[BrigandError]] = {401: AccessError, 403: AccessError, 404: UnknownThereError}
"""Errors of refusals that have no such title; all else is an `InvalidValueError`."""


def read(status: int, headers: Mapping[str, str], content: bytes) -> Any:
    """Return the JSON of an answer, None if it has no content.

    Raises
    ------
    BrigandError
        The service refused the call (4xx); a `ServiceError` if it could not answer (429 and all else).
    """
    if 200 <= status < 300:
        return _json(content) if content else None
    raise error_of(status, headers, content)


def error_of(status: int, headers: Mapping[str, str], content: bytes) -> BrigandError:
    """Return the error that an answer stands for."""
    try:
        problem = _json(content)
    except ServiceError:
        problem = None
    if not isinstance(problem, dict):
        problem = {}
    message = str(problem.get("detail") or problem.get("title") or _phrase(status))[:LONGEST]
    if status == HTTPStatus.TOO_MANY_REQUESTS or not 400 <= status < 500:
        error: BrigandError = failure(message, status, _seconds(headers.get("retry-after", "")))
    else:
        kind = BY_TITLE.get(str(problem.get("title"))) or BY_STATUS.get(status, InvalidValueError)
        error = kind(message)
    request = headers.get("x-request-id")
    if request:
        error.add_note(f"X-Request-ID: {request[:100]}")
    return error


def failure(message: str, status: int | None = None, retry_after: float = 0.0) -> ServiceError:
    """Return the error of a service that did not answer, or could not."""
    error = ServiceError(message)
    error.status, error.retry_after = status, retry_after
    return error


def field(answer: Any, name: str, kind: type | tuple[type, ...]) -> Any:
    """Return a field of an answer.

    Raises
    ------
    ServiceError
        There is none, or it is something else.
    """
    value = answer.get(name, field) if isinstance(answer, dict) else field
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise failure(f"the service's answer has no {name} as it should: is it Brigand's?", 200)
    return value


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise failure("the service's answer is no JSON: is it Brigand's?", 200) from None


def _phrase(status: int) -> str:
    try:
        return f"the service answered {status} {HTTPStatus(status).phrase}."
    except ValueError:
        return f"the service answered {status}."


def _seconds(text: str) -> float:
    """Return the seconds of a Retry-After; 0 for none, and for a date."""
    return min(float(text), LONGEST_WAIT) if text.isascii() and text.isdigit() else 0.0
