"""The web door: agents post reports, whoever has a token reads figures.

`POST /v1/edge/<stream>` takes a report and answers with a reply; `GET /v1/edge/<stream>/status`
shows the figures. Clients that send too much, or too slowly, are cut off.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from streamgauge.coordinator.agents import Refusal
from streamgauge.coordinator.claims import NO_CLAIMS, Claims
from streamgauge.coordinator.options import Options
from streamgauge.coordinator.tokens import Tokens
from streamgauge.coordinator.web import SLOW_SECONDS, Certificates, WebServer
from streamgauge.edge.protocol import MAX_BYTES, Reply, Report
from streamgauge.kernel.errors import SourceFailure, StreamgaugeError
from streamgauge.sources.declare import refuse_strangers
from streamgauge.streams.stream import Stream

# Bytes of reports that may be on their way at a time.
MAX_HELD_BYTES = 128 << 20


class Desk(Protocol):
    """What stands behind a door."""

    stream: Stream

    def take(self, data: bytes, claims: Claims = NO_CLAIMS) -> Reply:
        """Take a report of an agent whose token makes claims."""

    def status(self) -> dict[str, Any]:
        """Figures."""


class HttpDoor:
    """A web server in a thread of its own.

    Parameters
    ----------
    desk
        Who takes the reports.
    options
        Where to listen, and the files for TLS.
    tokens
        What agents must show.
    slow
        Seconds after which a client that has not finished its request is cut off.
    """

    def __init__(
        self, desk: Desk, options: Options, tokens: Tokens, slow: float = SLOW_SECONDS
    ) -> None:
        assert options.listen is not None, "a web door needs an address"
        self.desk = desk
        self.options = options
        self.listen = options.listen
        self.tokens = tokens
        self.slow = slow
        self.held = 0
        self._web: WebServer | None = None

    @property
    def address(self) -> str:
        """Where it listens, once it does."""
        return self._web.address if self._web is not None else ""

    def start(self) -> None:
        """Listen; `address` says where."""
        guarded = self.tokens.known is not None or self.options.ca is not None
        refuse_strangers(self.listen.host, guarded=guarded)
        options = self.options
        self._web = WebServer(
            self.app(),
            self.listen,
            Certificates(options.cert, options.key, options.ca),
            slow=self.slow,
            name=f"streamgauge-door-{self.desk.stream.name}",
        )
        self._web.start()

    def stop(self) -> None:
        """Listen no longer; requests in work are finished."""
        if self._web is not None:
            self._web.stop()

    def app(self) -> Starlette:
        """The routes."""
        routes = [
            Route("/v1/edge/{stream}", self._report, methods=["POST"]),
            Route("/v1/edge/{stream}/status", self._status, methods=["GET"]),
        ]
        return Starlette(routes=routes)

    async def _report(self, request: Request) -> Response:
        try:
            self._check(request)
            with self._room(request):
                body = await asyncio.wait_for(_read(request), self.slow)
                reply = await run_in_threadpool(self._take, body, _token(request))
        except TimeoutError:
            slow = Refusal(
                "a report that comes too slowly",
                f"not here within {self.slow:g} s",
                "send smaller reports, or look at the network",
                status=408,
            )
            return _error(slow)
        except ClientDisconnect:
            return Response(status_code=400)
        except StreamgaugeError as error:
            return _error(error)
        return Response(reply.encode(), media_type="application/json")

    @contextmanager
    def _room(self, request: Request) -> Iterator[None]:
        """Take the memory of a report for as long as it is worked on, or refuse the report."""
        # One that does not say its length may have any.
        size = int(request.headers.get("content-length") or MAX_BYTES)
        if self.held + size > MAX_HELD_BYTES:
            raise Refusal(
                "too many reports are being received",
                f"{self.held + size} bytes, at most {MAX_HELD_BYTES}",
                "wait and send it again",
                status=503,
                retry=1.0,
            )
        self.held += size
        try:
            yield
        finally:
            self.held -= size

    async def _status(self, request: Request) -> Response:
        try:
            self._check(request)
            status = await run_in_threadpool(self.desk.status)
        except StreamgaugeError as error:
            return _error(error)
        return JSONResponse(status)

    def _check(self, request: Request) -> None:
        """Refuse who has no token, and who asks for another stream."""
        if not self.tokens.knows(_token(request)):
            raise Refusal(
                "a token that is not known here",
                "the header Authorization: Bearer is missing or has another one",
                "give the agent --token-file with a token of the coordinator's file",
                status=401,
            )
        asked = request.path_params["stream"]
        if asked != self.desk.stream.name:
            raise Refusal(
                f"no stream named {asked!r} here",
                f"this coordinator serves {self.desk.stream.name!r}",
                "check --stream of the agent and the address",
                status=404,
            )

    def _take(self, body: bytes, token: str | None) -> Reply:
        return self.desk.take(body, admitted(self.tokens, token, body))


def admitted(tokens: Tokens, token: str | None, body: bytes) -> Claims:
    """What the token of a report says; raise a Refusal where it is not good for the agent."""
    if tokens.known is None:
        return NO_CLAIMS
    agent = Report.decode(body).agent
    if not tokens.allows(token, agent):
        raise Refusal(
            f"this token is not good for agent {agent!r}",
            "the file of tokens ties it to other names",
            "use a token of its own for each agent",
            status=403,
        )
    return tokens.claims(token, agent)


def carried(tokens: Tokens, message: bytes, stream: str) -> tuple[bytes, Claims]:
    """The report of a message that a broker carried, and what the token that signed it says."""
    token, report = tokens.signer(message, stream)
    if tokens.known is not None and token is None:
        raise Refusal(
            "a report that no known token signed",
            f"stream {stream!r} has a file of tokens",
            "give the agent --token-file with a token of the coordinator's file",
            status=401,
        )
    return report, admitted(tokens, token, report)


async def _read(request: Request) -> bytes:
    """The body, unless it is too large."""
    parts, size = [], 0
    if int(request.headers.get("content-length") or 0) > MAX_BYTES:
        raise _too_large()
    async for part in request.stream():
        size += len(part)
        if size > MAX_BYTES:
            raise _too_large()
        parts.append(part)
    return b"".join(parts)


def _too_large() -> Refusal:
    return Refusal(
        "a report is too large",
        f"more than {MAX_BYTES} bytes",
        "send fewer updates in one report",
        status=413,
    )


def _token(request: Request) -> str | None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def _error(error: StreamgaugeError) -> Response:
    """An error as agents read it."""
    status = 400 if isinstance(error, SourceFailure) else 503
    headers = {}
    if isinstance(error, Refusal):
        status = error.status
        if error.retry is not None:
            headers["Retry-After"] = str(math.ceil(error.retry))
    if status in (408, 413):
        headers["Connection"] = "close"
    return JSONResponse(error.as_dict(), status, headers)
