"""Attacks on a server that was started without a file of tokens."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.kernel.errors import BindError
from streamgauge.server.owner_token import owner_token
from streamgauge.server.serving import Server
from streamgauge.server.settings import Settings
from tests.owner import as_owner

LIMITS = {"max_text": 1000, "max_bodies": 50_000, "max_feeds": 4, "body_seconds": 20.0}
WRITES = (
    ("POST", "/v1/queries"),
    ("PUT", "/v1/queries/q"),
    ("DELETE", "/v1/queries/q"),
    ("POST", "/v1/queries/q/pause"),
    ("POST", "/v1/streams"),
    ("POST", "/v1/streams/s/rows"),
    ("DELETE", "/v1/streams/s"),
    ("POST", "/v1/alerts"),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("attacked") / "home"
    with sg.connect(home, engine="local") as gauge:
        gauge.sql("CREATE STREAM s (ts time, v float) FROM PUSH TIME ts")
        settings = replace(Settings.of("http://127.0.0.1:0"), **LIMITS)  # type: ignore[arg-type]
        with Server(gauge, settings) as made:
            yield made


def connected(server: Server) -> http.client.HTTPConnection:
    host, _, port = server.address.removeprefix("http://").partition(":")
    return http.client.HTTPConnection(host, int(port), timeout=60)


def begun(server: Server, method: str, path: str, length: int, **headers: str) -> int:
    """The status that a request gets whose body never comes."""
    with closing(connected(server)) as connection:
        connection.putrequest(method, path)
        for name, value in ({"Content-Length": str(length)} | headers).items():
            connection.putheader(name, value)
        connection.endheaders()
        return connection.getresponse().status


@pytest.mark.parametrize(("method", "path"), WRITES)
def test_a_write_without_a_token_is_refused_before_its_body_is_read(
    server: Server, method: str, path: str
) -> None:
    assert begun(server, method, path, 15_000_000) == 401
    assert begun(server, method, path, 15_000_000, Authorization="Bearer guess") == 401


def test_statements_that_change_something_need_a_token(server: Server) -> None:
    text = b'{"text": "CREATE STREAM p FROM PLANT KEY series TIME ts"}'
    kind = {"Content-Type": "application/json"}
    with closing(connected(server)) as connection:
        connection.request("POST", "/v1/statements", text, kind)
        refused = connection.getresponse()
        assert (refused.status, refused.getheader("WWW-Authenticate")) == (401, "Bearer")
        assert b"streamgauge token" in refused.read()
        connection.request("POST", "/v1/statements", b'{"text": "SHOW STREAMS"}', kind)
        shown = connection.getresponse()
        assert shown.status == 200, "reading needs none"
        shown.read()
        connection.request("POST", "/v1/statements", text, kind | as_owner(server))
        assert connection.getresponse().status == 200


def test_a_reader_cannot_fill_the_memory(server: Server) -> None:
    assert begun(server, "POST", "/v1/statements", 1001) == 413


def test_bodies_on_their_way_are_limited_in_all(server: Server) -> None:
    with ExitStack() as stack:
        for _ in range(5):
            connection = stack.enter_context(closing(connected(server)))
            connection.putrequest("POST", "/v1/streams/s/rows")
            for name, value in ({"Content-Length": "10000"} | as_owner(server)).items():
                connection.putheader(name, value)
            connection.endheaders(b"x")
        wait_until(lambda: held(server) == 50_000, 20, what="five bodies")
        assert begun(server, "POST", "/v1/streams/s/rows", 10, **as_owner(server)) == 503
    wait_until(lambda: held(server) == 0, 20, what="memory given back")


def held(server: Server) -> int:
    gate = server.app.middleware_stack
    while not hasattr(gate, "held"):
        gate = gate.app  # type: ignore[union-attr]
    found: int = gate.held
    return found


def test_idle_feeds_of_one_caller_leave_room_for_others(server: Server) -> None:
    with ExitStack() as stack:
        for _ in range(2):
            connection = stack.enter_context(closing(connected(server)))
            connection.request("GET", "/v1/live")
            assert connection.getresponse().status == 200
        other = stack.enter_context(closing(connected(server)))
        other.request("GET", "/v1/live")
        assert other.getresponse().status == 503
        owner = stack.enter_context(closing(connected(server)))
        owner.request("GET", "/v1/live", headers=as_owner(server))
        assert owner.getresponse().status == 200


def test_the_token_is_made_once_and_private(tmp_path: Path) -> None:
    made = owner_token(tmp_path)
    assert owner_token(tmp_path) == made
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600
    (tmp_path / "token").chmod(0o644)
    with pytest.raises(BindError, match="not private"):
        owner_token(tmp_path)


def test_a_token_that_is_damaged_is_never_a_key(tmp_path: Path) -> None:
    for text in ("", "short\n"):
        path = tmp_path / "token"
        path.write_text(text)
        path.chmod(0o600)
        with pytest.raises(BindError, match="damaged"):
            owner_token(tmp_path)


def test_a_link_in_place_of_the_token_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("x" * 40)
    (tmp_path / "token").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="cannot read the token"):
        owner_token(tmp_path)


def test_the_address_of_the_page_keeps_the_token_out_of_requests(server: Server) -> None:
    assert server.page == f"{server.address}/#token={server.token}"
    with closing(connected(server)) as connection:
        connection.request("GET", "/v1/about")
        assert str(server.token).encode() not in connection.getresponse().read()
