"""The relay does to messages what it says, so that the other tests here test something."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from streamgauge.checks.waiting import wait_until
from tests.relay import (
    DELAY,
    FAULTS,
    LATER,
    LOSE,
    PASS,
    SPOIL,
    SPOIL_ANSWER,
    SWALLOW,
    TWICE,
    UNANSWERED,
    HttpRelay,
    Message,
    TcpRelay,
    always,
    mixed,
)

pytestmark = pytest.mark.slow


class Echo(ThreadingHTTPServer):
    """Answers with what it was told and remembers it."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        super().__init__(("127.0.0.1", 0), Reply)
        self.thread = threading.Thread(target=self.serve_forever, args=(0.05,))
        self.thread.start()

    def stop(self) -> None:
        self.shutdown()
        self.thread.join()
        self.server_close()


class Reply(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Echo)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bodies.append(body)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def echo() -> Iterator[Echo]:
    server = Echo()
    yield server
    server.stop()


@pytest.fixture
def relay(echo: Echo) -> Iterator[HttpRelay]:
    with HttpRelay(("127.0.0.1", echo.server_port), seconds=0.01) as found:
        yield found


def post(relay: HttpRelay, body: bytes, *, timeout: float = 30) -> bytes | None:
    """The answer; None when the connection was cut or nothing came."""
    connection = HTTPConnection("127.0.0.1", relay.port, timeout=timeout)
    try:
        connection.request("POST", "/", body)
        return connection.getresponse().read()
    except (OSError, HTTPException):
        return None
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("fate", "arrives", "answered"),
    [
        (PASS, [b"one"], b"one"),
        (LOSE, [], None),
        (UNANSWERED, [b"one"], None),
        (TWICE, [b"one", b"one"], b"one"),
        (LATER, [], None),
        (DELAY, [b"one"], b"one"),
        (SPOIL, [b"o\xff"], b"o\xff"),
        (SPOIL_ANSWER, [b"one"], b"o\xff"),
    ],
)
def test_a_fate(
    echo: Echo, relay: HttpRelay, fate: str, arrives: list[bytes], answered: bytes | None
) -> None:
    relay.fate = always(fate)
    assert post(relay, b"one") == answered
    assert echo.bodies == arrives
    assert relay.counts == {fate: 1}


def test_a_message_is_overtaken(echo: Echo, relay: HttpRelay) -> None:
    fates = iter([LATER, PASS])
    relay.fate = lambda message: next(fates)
    assert post(relay, b"one") is None
    assert post(relay, b"two") == b"two"
    assert echo.bodies == [b"two", b"one"]


def test_a_hole_swallows_until_it_closes(echo: Echo, relay: HttpRelay) -> None:
    relay.fate = always(SWALLOW)
    assert post(relay, b"one", timeout=0.2) is None
    relay.fate = always(PASS)
    assert post(relay, b"two") == b"two"
    assert echo.bodies == [b"two"]


def test_a_target_may_be_gone_and_another_take_its_place(echo: Echo, relay: HttpRelay) -> None:
    relay.target = None
    assert post(relay, b"one") is None
    relay.target = ("127.0.0.1", echo.server_port)
    assert post(relay, b"two") == b"two"


def test_a_mixture_is_drawn_by_its_seed() -> None:
    message = Message("POST", "/", {}, b"")
    first, second = mixed(0.5, seed=1), mixed(0.5, seed=1)
    fates = [first(message) for _ in range(200)]
    assert fates == [second(message) for _ in range(200)]
    assert set(fates) == {PASS, *FAULTS}


def test_bytes_pass_are_swallowed_and_cut(echo: Echo) -> None:
    with TcpRelay(("127.0.0.1", echo.server_port)) as relay:
        with socket.create_connection(("127.0.0.1", relay.port), timeout=30) as client:
            client.sendall(b"POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\none")
            assert client.recv(100).startswith(b"HTTP/1.0 200")
        wait_until(lambda: not relay._live, 60, what="the connection to be gone")
        relay.hole.set()
        with socket.create_connection(("127.0.0.1", relay.port), timeout=30) as client:
            client.sendall(b"POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\ntwo")
            wait_until(lambda: len(relay._live) >= 2, 60, what="a connection")
            relay.cut()
            assert client.recv(100) == b""
        relay.target = None
        with socket.create_connection(("127.0.0.1", relay.port), timeout=30) as client:
            assert client.recv(100) == b""
    assert echo.bodies == [b"one"]
