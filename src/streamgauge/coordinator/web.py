"""Web servers in threads of their own: sockets, TLS, and clients that take too long."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import ssl
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from streamgauge.coordinator.options import Address
from streamgauge.kernel.errors import SourceFailure

# Seconds that a client may take over the head of a request, and over its body.
SLOW_SECONDS = 10.0
OPEN_SECONDS = 30.0
STOP_SECONDS = 3.0
MAX_CLIENTS = 10_000
# Bytes a second that a client must take of what waits for it.
LEAST_RATE = 1024
BACKLOG = 2048
# Bytes that the head of a request may have.
HEAD_BYTES = 64 * 1024

# The server's own remarks go nowhere unless somebody listens.
logging.getLogger("uvicorn").addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class Certificates:
    """Files for TLS: certificate and key of the server, and who signs its clients."""

    cert: Path | None = None
    key: Path | None = None
    ca: Path | None = None


class WebServer:
    """An application behind an address.

    Parameters
    ----------
    app
        What answers, as ASGI has it.
    listen
        Where; port 0 takes a free one.
    certificates
        Files for an https address.
    slow
        Seconds after which a client that has not finished the head of its request, or does not
        take what is sent to it, is cut off.
    clients
        Connections that may be open; half of the files that this process may open when None.
    name
        Name of the thread.
    """

    def __init__(
        self,
        app: Any,
        listen: Address,
        certificates: Certificates,
        *,
        slow: float = SLOW_SECONDS,
        clients: int | None = None,
        name: str = "streamgauge-web",
    ) -> None:
        self.app = app
        self.listen = listen
        self.certificates = certificates
        self.slow = slow
        self.clients = most_clients() if clients is None else clients
        self.name = name
        self.address = ""
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self._socket: socket.socket | None = None

    def start(self) -> None:
        """Listen; `address` says where."""
        self._socket = _bound(self.listen)
        host, port = self._socket.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        self.address = f"{self.listen.scheme}://{shown}:{port}"
        config = uvicorn.Config(
            self.app,
            http=_patient(self.slow, self.clients),
            loop="uvloop",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=MAX_CLIENTS,
            timeout_keep_alive=int(OPEN_SECONDS),
            timeout_graceful_shutdown=int(STOP_SECONDS),
            **_tls(self.certificates, self.listen),
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run,
            kwargs={"sockets": [self._socket]},
            name=self.name,
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


def _tls(files: Certificates, listen: Address) -> dict[str, Any]:
    if listen.scheme != "https":
        return {}
    given: dict[str, Any] = {"ssl_certfile": str(files.cert), "ssl_keyfile": str(files.key)}
    if files.ca is not None:
        given |= {"ssl_ca_certs": str(files.ca), "ssl_cert_reqs": ssl.CERT_REQUIRED}
    return given


def most_clients() -> int:
    """Connections that leave half of the files of this process to the job in it."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CLIENTS if files == resource.RLIM_INFINITY else min(MAX_CLIENTS, files // 2)


class _Patient(HttpToolsProtocol):
    """Closes a connection when the head of a request takes too long, or is too long.

    A client that does not take its reply is cut off too: to close its connection would wait
    until it has taken what is left.
    """

    slow = SLOW_SECONDS
    clients = MAX_CLIENTS
    _limit: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None
    _head = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.clients:
            transport.abort()
        else:
            self._wait()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reply()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._let_reply()

    def _watch_reply(self) -> None:
        waiting = self.transport.get_write_buffer_size()
        self._stalled = self.loop.call_later(self.slow, self._look_at_reply, waiting)

    def _look_at_reply(self, before: int) -> None:
        if before - self.transport.get_write_buffer_size() < LEAST_RATE * self.slow:
            self.transport.abort()
        else:
            self._watch_reply()

    def _let_reply(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def data_received(self, data: bytes) -> None:
        self._head += len(data)
        super().data_received(data)
        if self._limit is None:
            self._head = 0
        elif self._head > HEAD_BYTES:
            self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._limit is None:
            self._wait()

    def on_headers_complete(self) -> None:
        self._rest()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._rest()
        self._let_reply()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._limit = self.loop.call_later(self.slow, self.transport.close)

    def _rest(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None


def _patient(slow: float, clients: int) -> type[_Patient]:
    """A protocol with these limits."""
    return type("Patient", (_Patient,), {"slow": slow, "clients": clients})
