"""The web door: agents post reports, whoever has a token reads figures.

`POST /v1/edge/<stream>` takes a report and answers with a reply; `GET /v1/edge/<stream>/status`
shows the figures. Clients that send too much, or too slowly, are cut off.
"""

from __future__ import annotations

import asyncio
import logging
import math
import socket
import ssl
import threading
from typing import Any, Protocol

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from streamgauge.coordinator.agents import Refusal
from streamgauge.coordinator.options import Address, Options
from streamgauge.coordinator.tokens import Tokens
from streamgauge.edge.protocol import MAX_BYTES, Reply, Report
from streamgauge.kernel.errors import SourceFailure, StreamgaugeError
from streamgauge.sources.declare import refuse_strangers
from streamgauge.streams.stream import Stream

# Seconds that a client may take over the head of a request, and over its body.
SLOW_SECONDS = 10.0
OPEN_SECONDS = 30.0
STOP_SECONDS = 3.0
MAX_CLIENTS = 10_000
BACKLOG = 2048

# The server's own remarks go nowhere unless somebody listens.
logging.getLogger("uvicorn").addHandler(logging.NullHandler())


class Desk(Protocol):
    """What stands behind a door."""

    stream: Stream

    def take(self, data: bytes) -> Reply:
        """Take a report."""

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
        self.address = ""
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self._socket: socket.socket | None = None

    def start(self) -> None:
        """Listen; `address` says where."""
        guarded = self.tokens.known is not None or self.options.ca is not None
        refuse_strangers(self.listen.host, guarded=guarded)
        self._socket = _bound(self.listen)
        host, port = self._socket.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        self.address = f"{self.listen.scheme}://{shown}:{port}"
        config = uvicorn.Config(
            self.app(),
            http=_patient(self.slow),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=MAX_CLIENTS,
            timeout_keep_alive=int(OPEN_SECONDS),
            timeout_graceful_shutdown=int(STOP_SECONDS),
            **_tls(self.options, self.listen),
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run,
            kwargs={"sockets": [self._socket]},
            name=f"streamgauge-door-{self.desk.stream.name}",
            daemon=True,
        )
        self._thread.start()

    def stop(self) -> None:
        """Listen no longer; requests in work are finished."""
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join()
        if self._socket is not None:
            self._socket.close()
        self._server = self._thread = self._socket = None

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
        if self.tokens.known is not None:
            agent = Report.decode(body).agent
            if not self.tokens.allows(token, agent):
                raise Refusal(
                    f"this token is not good for agent {agent!r}",
                    "the file of tokens ties it to other names",
                    "use a token of its own for each agent",
                    status=403,
                )
        return self.desk.take(body)


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


def _bound(listen: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((listen.host, listen.port))
        # Who comes before the server is up waits instead of being turned away.
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        raise SourceFailure(
            f"cannot listen on {listen.host} port {listen.port}",
            str(error),
            "choose another port; port 0 takes a free one",
        ) from None
    return made


def _tls(options: Options, listen: Address) -> dict[str, Any]:
    if listen.scheme != "https":
        return {}
    given: dict[str, Any] = {"ssl_certfile": str(options.cert), "ssl_keyfile": str(options.key)}
    if options.ca is not None:
        given |= {"ssl_ca_certs": str(options.ca), "ssl_cert_reqs": ssl.CERT_REQUIRED}
    return given


def _patient(slow: float) -> type[H11Protocol]:
    """A protocol that closes connections whose request does not come along."""

    class Patient(H11Protocol):
        """Closes a connection when the head of a request takes too long."""

        _limit: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            unfinished = self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]
            if not unfinished:
                self._rest()
            elif self._limit is None:
                self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._rest()
            super().connection_lost(exc)

        def _wait(self) -> None:
            self._limit = self.loop.call_later(slow, self.transport.close)

        def _rest(self) -> None:
            if self._limit is not None:
                self._limit.cancel()
                self._limit = None

    return Patient
