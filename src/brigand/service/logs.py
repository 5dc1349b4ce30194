"""Log lines as JSON: never with a key, nor with whom a decision is for, nor with what was sent."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TextIO

LOG = logging.getLogger("brigand.service")
ENCODER = json.JSONEncoder()
_streams: list[TextIO] = []


class AsJson(logging.Formatter):
    """Writes a record as one line of JSON; of an error its kind and place, not its message."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {"at": _time(record.created), "level": record.levelname.lower()}
        line |= {"message": record.getMessage()} | getattr(record, "fields", {})
        if record.exc_info and record.exc_info[1] is not None:
            line |= where(record.exc_info[1])
        return json.dumps(line)


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def note(fields: dict[str, Any]) -> None:
    """Write a line about a request: as `logging` would, in a third of the time."""
    for stream in _streams:
        stream.write(f"{ENCODER.encode({'at': _time(time.time()), 'level': 'info', **fields})}\n")


def where(error: BaseException) -> dict[str, Any]:
    """Return what kind an error is of, and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return {
        "error": type(error).__name__,
        "raised": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
    }


@contextmanager
def written(stream: TextIO | None = None) -> Iterator[None]:
    """Write what the service and the server log as JSON, by default to the standard error."""
    stream = stream or sys.stderr
    handler = logging.StreamHandler(stream)
    handler.setFormatter(AsJson())
    loggers = [LOG, logging.getLogger("uvicorn"), logging.getLogger("py.warnings")]
    before = [(logger.handlers, logger.propagate, logger.level) for logger in loggers]
    for logger in loggers:
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO)
    logging.captureWarnings(True)
    _streams.append(stream)
    try:
        yield
    finally:
        _streams.remove(stream)
        logging.captureWarnings(False)
        for logger, (handlers, propagate, level) in zip(loggers, before, strict=True):
            logger.handlers, logger.propagate = handlers, propagate
            logger.setLevel(level)
