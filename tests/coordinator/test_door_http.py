"""The web door, on loopback."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from streamgauge.checks.waiting import wait_until
from streamgauge.coordinator.agents import Refusal
from streamgauge.coordinator.claims import NO_CLAIMS, Claims
from streamgauge.coordinator.door_http import HttpDoor
from streamgauge.coordinator.options import Address, Options
from streamgauge.coordinator.tokens import Tokens
from streamgauge.edge.protocol import MAX_BYTES, Reply, Report
from streamgauge.kernel.errors import BindError, EngineFailure, SourceFailure
from tests.coordinator.world import STREAM

pytestmark = pytest.mark.slow

LOCAL = Options(listen=Address("http", "127.0.0.1", 0))
REPORT = Report("pump-1", "boot", 1, 5, 4).encode()


class Clerk:
    """Takes reports, or raises what it is told to."""

    stream = STREAM

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.error: Exception | None = None

    def take(self, data: bytes, claims: Claims = NO_CLAIMS) -> Reply:
        report = Report.decode(data)
        if self.error is not None:
            raise self.error
        self.taken.append(data)
        return Reply(report.boot, report.seq, report.sent, 6, 7)

    def status(self) -> dict[str, Any]:
        return {"stream": "hosts"}


@pytest.fixture
def clerk() -> Clerk:
    return Clerk()


@pytest.fixture
def door(clerk: Clerk) -> Iterator[HttpDoor]:
    made = HttpDoor(clerk, LOCAL, Tokens())
    made.start()
    yield made
    made.stop()


@pytest.fixture
def strict(clerk: Clerk) -> Iterator[HttpDoor]:
    """A door with little patience, but enough for a busy machine."""
    made = HttpDoor(clerk, LOCAL, Tokens(), slow=2.0)
    made.start()
    yield made
    made.stop()


def where(door: HttpDoor) -> tuple[str, int]:
    host, _, port = door.address.partition("://")[2].rpartition(":")
    return host, int(port)


def ask(
    door: HttpDoor,
    body: bytes | None = REPORT,
    path: str = "/v1/edge/hosts",
    token: str | None = None,
    method: str = "POST",
) -> tuple[int, dict[str, Any], dict[str, str]]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    with closing(http.client.HTTPConnection(*where(door), timeout=60)) as connection:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        data = response.read()
        shown = json.loads(data) if data.startswith(b"{") else {}
        return response.status, shown, dict(response.getheaders())


def test_a_report_is_answered(door: HttpDoor, clerk: Clerk) -> None:
    status, shown, _ = ask(door)
    assert status == 200
    assert Reply.decode(json.dumps(shown).encode()) == Reply("boot", 1, 5, 6, 7)
    assert clerk.taken == [REPORT]


def test_one_connection_carries_many_reports(door: HttpDoor, clerk: Clerk) -> None:
    with closing(http.client.HTTPConnection(*where(door), timeout=60)) as connection:
        for _ in range(5):
            connection.request("POST", "/v1/edge/hosts", REPORT)
            assert connection.getresponse().read()
    assert len(clerk.taken) == 5


def test_figures_are_shown(door: HttpDoor) -> None:
    status, shown, _ = ask(door, None, "/v1/edge/hosts/status", method="GET")
    assert (status, shown) == (200, {"stream": "hosts"})


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (Refusal("no", "n", "h", status=409, retry=2.2), 409, "Refusal"),
        (Refusal("no", "n", "h", status=429, retry=0.1), 429, "Refusal"),
        (SourceFailure("no", "n", "h"), 400, "SourceFailure"),
        (EngineFailure("no", "n", "h"), 503, "EngineFailure"),
    ],
)
def test_what_is_refused_is_said(
    door: HttpDoor, clerk: Clerk, error: Exception, status: int, code: str
) -> None:
    clerk.error = error
    found, shown, headers = ask(door)
    assert found == status
    assert shown == {"code": code, "message": "no", "detail": "n", "hint": "h"}
    retry = getattr(error, "retry", None)
    assert headers.get("retry-after") == (None if retry is None else str(int(retry) + 1))


def test_what_is_no_report_is_refused(door: HttpDoor) -> None:
    assert ask(door, b"not json")[0] == 400
    assert ask(door, path="/v1/edge/other")[0] == 404
    assert ask(door, path="/elsewhere")[0] == 404
    assert ask(door, None, method="GET")[0] == 405


def test_too_much_is_refused_unread(door: HttpDoor, clerk: Clerk) -> None:
    head = f"POST /v1/edge/hosts HTTP/1.1\r\nHost: x\r\nContent-Length: {MAX_BYTES + 1}\r\n\r\n"
    with closing(socket.create_connection(where(door), timeout=60)) as client:
        client.sendall(head.encode())
        assert b" 413 " in client.recv(4096)
    with closing(socket.create_connection(where(door), timeout=60)) as client:
        client.sendall(b"POST /v1/edge/hosts HTTP/1.1\r\nHost: x\r\n")
        client.sendall(b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % (MAX_BYTES + 2))
        client.sendall(b" " * (MAX_BYTES + 1))
        assert b" 413 " in client.recv(4096)
    assert clerk.taken == []


def test_tokens_are_asked_for(clerk: Clerk) -> None:
    tokens = Tokens((("good-for-pumps", ("pump-*",)), ("good-for-others", ("other",))))
    door = HttpDoor(clerk, LOCAL, tokens)
    door.start()
    assert ask(door)[0] == 401
    assert ask(door, token="wrong")[0] == 401
    assert ask(door, token="good-for-others")[0] == 403
    assert ask(door, token="good-for-pumps")[0] == 200
    assert ask(door, None, "/v1/edge/hosts/status", method="GET")[0] == 401
    shown = ask(door, None, "/v1/edge/hosts/status", "good-for-others", "GET")
    assert shown[0] == 200
    door.stop()


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"POST /v1/edge/hosts HTTP/1.1\r\nHost: x\r\n",
        b"POST /v1/edge/hosts HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
    ],
)
def test_slow_clients_are_cut_off(strict: HttpDoor, begun: bytes) -> None:
    with closing(socket.create_connection(where(strict), timeout=60)) as client:
        client.sendall(begun)
        heard = b""
        while part := client.recv(4096):
            heard += part
    assert heard == b"" or b" 408 " in heard


def test_a_client_that_waits_between_reports_is_not_slow(strict: HttpDoor) -> None:
    with closing(http.client.HTTPConnection(*where(strict), timeout=60)) as connection:
        connection.request("POST", "/v1/edge/hosts", REPORT)
        assert connection.getresponse().read()
        kept = connection.sock
        with closing(socket.create_connection(where(strict), timeout=60)) as idle:
            # The other one is cut off, so as much time has passed.
            assert idle.recv(1) == b""
        connection.request("POST", "/v1/edge/hosts", REPORT)
        assert connection.getresponse().read()
        assert connection.sock is kept


def test_other_machines_need_tokens(clerk: Clerk) -> None:
    everywhere = replace(LOCAL, listen=Address("http", "0.0.0.0", 0))
    with pytest.raises(BindError, match="anyone could speak"):
        HttpDoor(clerk, everywhere, Tokens()).start()
    door = HttpDoor(clerk, everywhere, Tokens((("0123456789", ()),)))
    door.start()
    assert door.address.startswith("http://0.0.0.0:")
    door.stop()


def test_an_address_in_use_is_said(door: HttpDoor, clerk: Clerk) -> None:
    taken = replace(LOCAL, listen=Address("http", *where(door)))
    with pytest.raises(SourceFailure, match="cannot listen"):
        HttpDoor(clerk, taken, Tokens()).start()


def test_a_door_opens_again(clerk: Clerk) -> None:
    door = HttpDoor(clerk, LOCAL, Tokens())
    for _ in range(2):
        door.start()
        assert ask(door)[0] == 200
        door.stop()


def certificates(directory: Path) -> dict[str, Path]:
    """An authority, and a certificate for each side that it signed."""
    tool = shutil.which("openssl")
    if tool is None:
        pytest.skip("openssl is not installed: no certificates can be made")
    made = {name: directory / name for name in ("ca", "ca-key", "cert", "key", "request")}

    def run(*words: str) -> None:
        subprocess.run([tool, *words], check=True, capture_output=True)

    subject = ("-subj", "/CN=localhost", "-nodes", "-newkey", "rsa:2048")
    run("req", "-x509", *subject, "-keyout", str(made["ca-key"]), "-out", str(made["ca"]))
    run("req", *subject, "-keyout", str(made["key"]), "-out", str(made["request"]))
    names = directory / "names"
    names.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    signed = ("-CA", str(made["ca"]), "-CAkey", str(made["ca-key"]), "-CAcreateserial")
    sides = ("-in", str(made["request"]), "-out", str(made["cert"]), "-extfile", str(names))
    run("x509", "-req", *sides, *signed)
    return made


def test_agents_show_certificates(clerk: Clerk, tmp_path: Path) -> None:
    made = certificates(tmp_path)
    options = Options(
        listen=Address("https", "127.0.0.1", 0),
        cert=made["cert"],
        key=made["key"],
        ca=made["ca"],
    )
    door = HttpDoor(clerk, options, Tokens())
    door.start()
    trusted = ssl.create_default_context(cafile=str(made["ca"]))
    trusted.load_cert_chain(made["cert"], made["key"])
    with closing(
        http.client.HTTPSConnection(*where(door), timeout=60, context=trusted)
    ) as connection:
        connection.request("POST", "/v1/edge/hosts", REPORT)
        assert connection.getresponse().status == 200
    nameless = ssl.create_default_context(cafile=str(made["ca"]))

    def turned_away() -> bool:
        connection = http.client.HTTPSConnection(*where(door), timeout=60, context=nameless)
        with closing(connection):
            try:
                connection.request("POST", "/v1/edge/hosts", REPORT)
                connection.getresponse()
            except (ssl.SSLError, OSError, http.client.HTTPException):
                return True
            return False

    assert wait_until(turned_away, 60, what="a client without a certificate to be turned away")
    assert len(clerk.taken) == 1
    door.stop()
