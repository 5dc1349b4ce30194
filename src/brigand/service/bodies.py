"""JSON as it comes and goes: read by what RFC 8259 allows and no more, written in ASCII."""

from __future__ import annotations

import json
from typing import Any

from fastapi import Request, Response
from pydantic_core import from_json

from brigand.service.errors import Refused

ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


class StrictRequest(Request):
    """A request whose JSON has neither NaN, nor lone surrogates, nor more than 200 levels."""

    async def json(self) -> Any:
        """Return the body.

        Raises
        ------
        Refused
            It is no JSON.
        """
        try:
            return from_json(await self.body(), allow_inf_nan=False, cache_strings=False)
        except ValueError as error:
            raise Refused(400, f"the body is no JSON: {error}.") from None


class Answer(Response):
    """A JSON answer; any text can be written in ASCII."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the body."""
        return ENCODER.encode(content).encode("ascii")
