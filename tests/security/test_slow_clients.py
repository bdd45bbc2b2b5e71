"""Attacks by clients that send slowly, read nothing, or only hold connections and memory."""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.coordinator import door_http
from streamgauge.coordinator.agents import Refusal
from streamgauge.coordinator.door_http import HttpDoor
from streamgauge.coordinator.options import Address, Options
from streamgauge.coordinator.tokens import Tokens
from streamgauge.coordinator.web import (
    LEAST_RATE,
    Certificates,
    WebServer,
    _Patient,
    most_clients,
)
from streamgauge.server.serving import Server
from streamgauge.server.settings import Settings

LOCAL = Address("http", "127.0.0.1", 0)
LARGE = b"x" * 16_000_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("slow") / "home"
    with sg.connect(home, engine="local") as gauge:
        gauge.sql("CREATE STREAM s (ts time, v float) FROM PUSH TIME ts")
        settings = replace(Settings.of("http://127.0.0.1:0"), body_seconds=0.3)
        with Server(gauge, settings, slow=0.3) as made:
            yield made


async def large(_scope: Any, _receive: Any, send: Any) -> None:
    """An application whose every reply is too large for the buffers of a socket."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": LARGE})


@pytest.fixture
def web(request: pytest.FixtureRequest) -> Iterator[WebServer]:
    slow = getattr(request, "param", 0.3)
    made = WebServer(large, LOCAL, Certificates(), slow=slow, clients=8)
    made.start()
    yield made
    made.stop()


@dataclass
class Stage:
    """A loop whose time is moved by hand, and a transport with bytes that wait for the client."""

    waiting: int
    aborted: bool = False
    due: list[Callable[[], None]] = field(default_factory=list)

    def call_later(self, _seconds: float, what: Callable[..., None], *given: Any) -> None:
        self.due.append(partial(what, *given))

    def get_write_buffer_size(self) -> int:
        return self.waiting

    def abort(self) -> None:
        self.aborted = True


def connected(address: str) -> socket.socket:
    host, _, port = address.partition("://")[2].partition(":")
    return socket.create_connection((host, int(port)), timeout=60)


def is_cut(connection: socket.socket) -> bool:
    """Whether the other side has ended a connection; what it sent before is read."""
    with suppress(BlockingIOError):
        try:
            while select.select([connection], [], [], 0)[0]:
                if not connection.recv(65536):
                    return True
        except (ConnectionResetError, BrokenPipeError):
            return True
    return False


def open_at(web: WebServer) -> int:
    assert web._server is not None
    return len(web._server.server_state.connections)


def test_a_head_that_trickles_is_cut_off(server: Server) -> None:
    with closing(connected(server.address)) as connection:
        connection.sendall(b"GET /v1/streams HTTP/1.1\r\nHost: 127.0.0.1\r\n")

        def trickled() -> bool:
            with suppress(OSError):
                connection.sendall(b"X-More: y\r\n")
            return is_cut(connection)

        wait_until(trickled, 10, what="the connection to be cut")


def test_a_body_that_trickles_is_cut_off(server: Server) -> None:
    token = f"Authorization: Bearer {server.token}\r\n"
    head = f"POST /v1/streams/s/rows HTTP/1.1\r\nHost: 127.0.0.1\r\n{token}Content-Length: 9999\r\n"
    with closing(connected(server.address)) as connection:
        connection.sendall(f"{head}\r\n".encode())

        def trickled() -> bool:
            with suppress(OSError):
                connection.sendall(b"{")
            return is_cut(connection)

        wait_until(trickled, 10, what="the connection to be cut")


@pytest.mark.slow
def test_sixty_large_bodies_without_a_token_take_no_memory(server: Server) -> None:
    head = (
        f"POST /v1/streams/s/rows HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(LARGE)}\r\n"
    )
    before = resident()
    with ExitStack() as stack:
        connections = [stack.enter_context(closing(connected(server.address))) for _ in range(60)]
        for connection in connections:
            # On a busy machine the first are cut off before they have said anything.
            with suppress(OSError):
                connection.sendall(f"{head}\r\n".encode())
                connection.setblocking(False)
                connection.send(LARGE)
        replies = [first(connection) for connection in connections]
        # A server that closes before it was sent everything resets, which may overtake its reply.
        assert all(b" 401 " in reply or not reply for reply in replies)
        assert any(replies)
        # All of them together would be 960 MB.
        assert resident() - before < 100_000_000


def first(connection: socket.socket) -> bytes:
    assert select.select([connection], [], [], 60)[0]
    try:
        return connection.recv(200)
    except ConnectionResetError:
        return b""


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_who_does_not_read_a_reply_is_cut_off(web: WebServer) -> None:
    with closing(connected(web.address)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        assert connection.recv(1) == b"H"
        wait_until(lambda: open_at(web) == 0, 10, what="its end, and that of its buffer")


def test_who_stops_reading_after_a_while_is_cut_off() -> None:
    """A reader that took at least the least rate since the last look is looked at again."""
    least = int(LEAST_RATE * _Patient.slow)
    stage = Stage(waiting=10 * least)
    patient: Any = object.__new__(_Patient)
    patient.loop = patient.transport = stage
    patient._watch_reply()
    for taken in (least, 3 * least, least):
        stage.waiting -= taken
        stage.due.pop()()
        assert not stage.aborted
    stage.waiting -= least - 1
    stage.due.pop()()
    assert stage.aborted
    assert not stage.due


# However long a busy machine keeps it from reading: which reader is slow is tried above.
@pytest.mark.parametrize("web", [600.0], indirect=True)
def test_who_reads_steadily_gets_all_of_a_reply(web: WebServer) -> None:
    with closing(connected(web.address)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        got = 0
        while part := connection.recv(1 << 20):
            got += len(part)
        assert got > len(LARGE)


def test_connections_that_only_wait_leave_files_to_the_job(web: WebServer) -> None:
    with ExitStack() as stack:
        held = [stack.enter_context(closing(connected(web.address))) for _ in range(12)]
        wait_until(lambda: sum(map(is_cut, held)) >= 4, 10, what="four to be cut at once")
        wait_until(lambda: all(map(is_cut, held)), 10, what="all that say nothing to be cut")
    assert 0 < most_clients() <= 10_000


def test_reports_on_their_way_are_limited_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door_http, "MAX_HELD_BYTES", 1000)
    door = HttpDoor(None, Options(), Tokens())  # type: ignore[arg-type]
    request: Any = type("Asked", (), {"headers": {"content-length": "600"}})
    with door._room(request):
        with pytest.raises(Refusal, match="too many reports"), door._room(request):
            pass
        assert door.held == 600
    assert door.held == 0
