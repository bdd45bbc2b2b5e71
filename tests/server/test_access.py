"""Who may do what: tokens, roles, limits, and pages of other sites."""

from __future__ import annotations

import http.client
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

import streamgauge as sg
from streamgauge.kernel.errors import BindError, SourceFailure
from streamgauge.server.access import Keys
from streamgauge.server.serving import Server
from streamgauge.server.settings import Settings
from tests.owner import as_owner
from tests.server.conftest import problem

pytestmark = pytest.mark.slow

Guarded = Callable[..., httpx.Client]
COUNT = {"name": "seen", "text": "SELECT COUNT(*) FROM rows [RANGE 2 SECONDS]"}
PLANT = {"name": "plant", "source": {"kind": "plant"}, "time": "ts", "key": ["series"]}


def where(server: Server) -> tuple[str, int]:
    host, _, port = server.address.partition("://")[2].rpartition(":")
    return host, int(port)


def test_without_a_token_nothing_is_told(guarded: Guarded) -> None:
    stranger = guarded(None)
    for path in ("/v1/queries", "/v1/queries/newest", "/v1/live", "/metrics", "/v1/nowhere"):
        refused = stranger.get(path)
        assert "newest" not in problem(refused, 401)["detail"]
        assert refused.headers["www-authenticate"] == "Bearer"
    problem(stranger.post("/v1/statements", json={"text": "SHOW QUERIES"}), 401)
    assert stranger.get("/health").status_code == 503, "no job runs; that may be known"
    for wrong in ("Bearer guess", "Bearer", "Basic reader-0123", "Bearer reader-01234"):
        problem(stranger.get("/v1/queries", headers={"Authorization": wrong}), 401)


def test_each_role_reaches_so_far(guarded: Guarded) -> None:
    reader, author, admin = (guarded(t) for t in ("reader-0123", "author-0123", "admin-01234"))
    assert reader.get("/v1/queries").status_code == 200
    assert "role author" in problem(reader.post("/v1/queries", json=COUNT), 403)["title"]
    problem(reader.post("/v1/queries/newest/pause"), 403)
    problem(reader.delete("/v1/queries/newest", headers={"If-Match": "*"}), 403)
    assert author.post("/v1/queries", json=COUNT).status_code == 201
    problem(author.post("/v1/streams", json=PLANT), 403)
    problem(author.delete("/v1/streams/rows"), 403)
    assert admin.post("/v1/streams", json=PLANT).status_code == 201
    assert admin.delete("/v1/streams/plant").status_code == 204


STATEMENTS = (
    ("SHOW QUERIES; EXPLAIN newest; DESCRIBE rows", "reader"),
    ("SELECT COUNT(*) FROM rows", "author"),
    ("SHOW QUERIES; DROP QUERY newest", "author"),
    ("CREATE WINDOW w AS [RANGE 1 MINUTE]", "author"),
    ("CREATE VIEW v AS SELECT value FROM rows", "author"),
    ("CREATE STREAM p FROM PLANT KEY series TIME ts", "admin"),
    ("CREATE TABLE t FROM 'secrets.csv'", "admin"),
    ("CREATE FUNCTION f RETURNS float AS 'os:getcwd'", "functions"),
    ("DROP STREAM rows", "admin"),
)


def test_statements_need_the_role_that_fits_what_they_do(guarded: Guarded) -> None:
    tokens = {"reader": "reader-0123", "author": "author-0123", "admin": "admin-01234"}
    tokens["functions"] = "functions-0123"
    roles = list(tokens)
    client = guarded(None)
    for text, role in STATEMENTS:
        for name in roles[: roles.index(role) + 1]:
            headers = {"Authorization": f"Bearer {tokens[name]}"}
            response = client.post("/v1/statements", json={"text": text}, headers=headers)
            if name == role:
                assert response.status_code in (200, 422), text
            else:
                problem(response, 403)


@pytest.mark.parametrize("kind", ["STREAM", "TABLE", "FUNCTION", "AGGREGATE", "ALERT", "SINK"])
def test_authors_drop_nothing_but_what_authors_create(guarded: Guarded, kind: str) -> None:
    text = {"text": f"DROP {kind} none"}
    problem(guarded("author-0123").post("/v1/statements", json=text), 403)
    problem(guarded("admin-01234").post("/v1/statements", json=text), 404)


def test_too_many_requests(guarded: Guarded) -> None:
    client = guarded("reader-0123", rate=0.01)
    assert client.get("/v1/windows").status_code == 200
    refused = client.get("/v1/windows")
    problem(refused, 429)
    assert int(refused.headers["retry-after"]) >= 1
    other = {"Authorization": "Bearer author-0123"}
    assert client.get("/v1/windows", headers=other).status_code == 200, "counted by token"


def test_bodies_that_are_too_large(guarded: Guarded) -> None:
    client = guarded("author-0123", max_body=1000)
    refused = client.post("/v1/queries", content=b"x" * 1001)
    assert "1000 bytes" in problem(refused, 413)["detail"]

    def parts() -> list[bytes]:
        return [b"x" * 600] * 3

    problem(client.post("/v1/queries", content=iter(parts())), 413)
    assert client.post("/v1/queries", json=COUNT).status_code == 201


def test_a_body_that_comes_too_slowly(gauge: sg.Gauge) -> None:
    settings = replace(Settings.of("http://127.0.0.1:0"), body_seconds=0.2)
    with (
        Server(gauge, settings) as server,
        closing(http.client.HTTPConnection(*where(server), timeout=60)) as connection,
    ):
        connection.putrequest("POST", "/v1/queries")
        connection.putheader("Content-Length", "100")
        connection.putheader("Authorization", as_owner(server)["Authorization"])
        connection.endheaders()
        connection.send(b"{")
        response = connection.getresponse()
        assert response.status == 408
        assert b"too slowly" in response.read()


def test_a_head_that_comes_too_slowly(gauge: sg.Gauge) -> None:
    with (
        Server(gauge, Settings.of("http://127.0.0.1:0"), slow=0.2) as server,
        socket.create_connection(where(server), timeout=60) as connection,
    ):
        connection.sendall(b"GET /health HTTP/1.1\r\n")
        assert connection.recv(100) == b"", "cut off"


def test_a_head_that_does_not_end(gauge: sg.Gauge) -> None:
    with (
        Server(gauge, Settings.of("http://127.0.0.1:0")) as server,
        socket.create_connection(where(server), timeout=60) as connection,
    ):
        connection.sendall(b"GET /health HTTP/1.1\r\nX-Long: ")
        with pytest.raises(OSError, match=r"reset|Broken pipe"):
            connection.sendall(b"x" * 64_000_000)


def test_pages_of_other_sites_change_nothing(client: httpx.Client) -> None:
    origin = {"Origin": "http://evil.example"}
    problem(client.post("/v1/queries/newest/pause", headers=origin), 403)
    problem(client.post("/v1/queries/newest/pause", headers={"Origin": "null"}), 403)
    own = {"Origin": f"http://{client.base_url.netloc.decode()}"}
    assert client.post("/v1/queries/newest/pause", headers=own).status_code == 200
    problem(client.get("/v1/queries", headers={"Host": "evil.example"}), 421)
    asked = client.options(
        "/v1/queries", headers={**origin, "Access-Control-Request-Method": "POST"}
    )
    assert asked.status_code == 405
    shown = client.get("/v1/queries", headers=origin)
    assert not [name for name in shown.headers if name.startswith("access-control")]
    assert shown.headers["x-content-type-options"] == "nosniff"
    assert shown.headers["cache-control"] == "no-store"
    plain = client.post(
        "/v1/statements", content='{"text": "x"}', headers={"Content-Type": "text/plain"}
    )
    problem(plain, 422)


def test_a_file_of_tokens(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    for text in ("0123456789 king\n", "0123456789\n", "0123456789 reader a b\n", "short reader\n"):
        path.write_text(text)
        with pytest.raises(BindError):
            Keys.read(path)
    with pytest.raises(SourceFailure):
        Keys.read(tmp_path / "none")
    path.write_text("# all\n0123456789 reader\n")
    assert Keys.read(path).caller("0123456789") is not None


@pytest.mark.parametrize(
    "address", ["http://0.0.0.0:0", "http://[::]:0", "http://192.0.2.1:80", "ftp://127.0.0.1", "x"]
)
def test_addresses_that_are_refused(address: str) -> None:
    with pytest.raises(BindError):
        Settings.of(address)


def test_tls_by_files(gauge: sg.Gauge, tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )  # fmt: skip
    with pytest.raises(BindError):
        Settings.of("https://127.0.0.1:0")
    settings = Settings.of("https://127.0.0.1:0", cert=cert, key=key)
    trusted = ssl.create_default_context(cafile=str(cert))
    with Server(gauge, settings) as server:
        shown = httpx.get(f"{server.address}/v1/queries", verify=trusted, timeout=60)
    assert shown.status_code == 200
