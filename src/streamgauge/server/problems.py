"""Errors as problem+json: type, title, status, detail, hint, and the place in a text."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from streamgauge.kernel.errors import (
    Cleared,
    EngineFailure,
    MissingRuntime,
    ParseError,
    QueryNotFound,
    StateTooOld,
    StreamgaugeError,
)
from streamgauge.kernel.masking import masked
from streamgauge.log.home import Home

MEDIA = "application/problem+json"
TYPE = "urn:streamgauge:error:"
MOST = 2000

# What is written about these in the description of the interface.
DESCRIBED: dict[int | str, dict[str, Any]] = {
    "4XX": {
        "description": "What is wrong, the numbers, what to do.",
        "content": {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    },
    503: {
        "description": "The job or its home cannot serve this now.",
        "content": {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    },
}
SCHEMA = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "hint"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "hint": {"type": "string"},
        "place": {
            "type": "object",
            "description": "Where in the text that was sent, in characters.",
            "required": ["line", "column", "offset", "length"],
            "properties": {
                "line": {"type": "integer", "minimum": 1},
                "column": {"type": "integer", "minimum": 1},
                "offset": {"type": "integer", "minimum": 0},
                "length": {"type": "integer", "minimum": 0},
            },
        },
    },
}


class Refused(Exception):
    """A request that is not served; `status` is what HTTP calls it, `retry` when to come again.

    It is no error of a gauge: nobody meets it who does not ask over HTTP.

    Examples
    --------
    >>> Refused("no", "too many", "later", status=429, retry=1.2).headers
    {'Retry-After': '2'}
    """

    def __init__(
        self,
        what: str,
        detail: str,
        hint: str,
        *,
        status: int,
        retry: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(what, detail, hint)
        self.what = what
        self.detail = detail
        self.hint = hint
        self.status = status
        self.headers = dict(headers or {})
        if retry is not None:
            self.headers["Retry-After"] = str(max(math.ceil(retry), 1))


Told = StreamgaugeError | Refused


def status_of(error: Told) -> int:
    """What HTTP calls an error."""
    if isinstance(error, Refused):
        return error.status
    if isinstance(error, QueryNotFound):
        return 404
    if isinstance(error, ParseError):
        return 400
    if isinstance(error, Cleared):
        return 410
    return 503 if isinstance(error, EngineFailure | MissingRuntime | StateTooOld) else 422


class Problems:
    """Turns errors into responses that say nothing of where the server keeps its files."""

    def __init__(self, home: Home) -> None:
        package = Path(__file__).resolve().parent.parent
        # Longest first: a place inside another is named by its own.
        places = {str(home.root): "HOME", str(package): "streamgauge", sys.prefix: "PYTHON"}
        places |= {str(home.root.resolve()): "HOME", str(Path.cwd()): "."}
        self._places = sorted(places.items(), key=lambda pair: -len(pair[0]))

    def hidden(self, text: str) -> str:
        """A text without the directories of this machine and the passwords of addresses."""
        for place, word in self._places:
            text = text.replace(place, word) if len(place) > 1 else text
        return masked(text)

    def body(self, error: Told) -> dict[str, Any]:
        """The one shape of an error."""
        told = {
            "type": TYPE + type(error).__name__,
            "title": self.hidden(error.what)[:MOST],
            "status": status_of(error),
            "detail": self.hidden(error.detail)[:MOST],
            "hint": self.hidden(error.hint)[:MOST],
        }
        place = error.place if isinstance(error, StreamgaugeError) else None
        return told if place is None else {**told, "place": place._asdict()}

    def response(self, error: Told) -> Response:
        """An error as a response."""
        headers = dict(error.headers) if isinstance(error, Refused) else {}
        status = status_of(error)
        if status in (408, 413):
            headers["Connection"] = "close"
        # A name may hold half of a surrogate pair, which only an escape can carry.
        text = json.dumps(self.body(error))
        return Response(text, status, headers, media_type=MEDIA)

    def install(self, app: FastAPI) -> None:
        """Answer every error of an application in this shape."""
        app.add_exception_handler(StreamgaugeError, self._told)
        app.add_exception_handler(Refused, self._told)
        app.add_exception_handler(RequestValidationError, self._unfit)
        app.add_exception_handler(HTTPException, self._plain)
        app.add_exception_handler(Exception, self._unforeseen)

    async def _told(self, _request: Request, error: Exception) -> Response:
        assert isinstance(error, StreamgaugeError | Refused)
        return self.response(error)

    async def _unfit(self, _request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        told = [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()]
        syntax = any(item["type"] == "json_invalid" for item in error.errors())
        return self.response(
            Refused(
                "the request does not fit",
                "; ".join(told[:5]),
                "compare it with the description at /v1/openapi.json",
                status=400 if syntax else 422,
            )
        )

    async def _plain(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return self.response(
            Refused(
                str(error.detail).lower(),
                f"{request.method} {request.url.path}",
                "see what there is at /v1/openapi.json",
                status=error.status_code,
                headers=error.headers,
            )
        )

    async def _unforeseen(self, _request: Request, error: Exception) -> Response:
        return self.response(
            Refused(
                "the server made a mistake",
                type(error).__name__,
                "its log says more; nothing was changed unless it was acknowledged",
                status=500,
            )
        )
