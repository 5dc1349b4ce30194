"""Log lines as JSON: never with a key, nor with whom a decision is for, nor with what was sent."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TextIO

LOG = logging.getLogger("brigand.service")


class AsJson(logging.Formatter):
    """Writes a record as one line of JSON; of an error its kind and place, not its message."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"at": at, "level": record.levelname.lower(), "message": record.getMessage()}
        line |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[1] is not None:
            line |= where(record.exc_info[1])
        return json.dumps(line)


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
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(AsJson())
    loggers = [LOG, logging.getLogger("uvicorn"), logging.getLogger("py.warnings")]
    before = [(logger.handlers, logger.propagate, logger.level) for logger in loggers]
    for logger in loggers:
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO)
    logging.captureWarnings(True)
    try:
        yield
    finally:
        logging.captureWarnings(False)
        for logger, (handlers, propagate, level) in zip(loggers, before, strict=True):
            logger.handlers, logger.propagate = handlers, propagate
            logger.setLevel(level)
