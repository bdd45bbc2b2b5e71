"""Reports over HTTP against a server of a few lines."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

import pytest

from streamgauge.edge.link import Credentials, LinkDown, LinkRefused, open_link
from streamgauge.edge.link_http import HttpLink
from streamgauge.edge.protocol import MAX_BYTES, Reply, Report
from streamgauge.kernel.errors import BindError, SourceFailure
from tests.edge.doors import HttpDoor, refusal

pytestmark = pytest.mark.slow

TIMEOUT = 30.0


def beat(sent: int = 5) -> bytes:
    return Report("pump", "5f", 0, sent, 0).encode()


def link_to(door: HttpDoor, **given: str | Path) -> HttpLink:
    return HttpLink(door.url, "pumps & fans", Credentials(**given))  # type: ignore[arg-type]


def test_a_connection_is_kept_and_the_token_goes_along() -> None:
    with HttpDoor() as door:
        link = link_to(door, token="s3cret")
        for sent in range(5):
            assert Reply.decode(link.exchange(beat(sent), TIMEOUT)).echo == sent
        link.close()
        assert door.connections == 1
        assert {head["Authorization"] for head in door.headers} == {"Bearer s3cret"}
        assert set(door.paths) == {"/v1/edge/pumps%20%26%20fans"}
        assert link.pushed() == []


def test_a_connection_that_the_server_gave_up_is_made_anew_at_once() -> None:
    with HttpDoor() as door:
        link = link_to(door)
        door.closing = True
        link.exchange(beat(), TIMEOUT)
        door.closing = False
        link.exchange(beat(), TIMEOUT)
        link.close()
        assert door.connections == 2


def test_a_server_that_hangs_up_twice_is_down() -> None:
    with HttpDoor() as door:
        link = link_to(door)
        link.exchange(beat(), TIMEOUT)
        door.script = [None, None]
        with pytest.raises(LinkDown, match="not reached"):
            link.exchange(beat(), TIMEOUT)
        link.close()


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 413])
def test_what_will_not_change_by_itself_is_a_refusal(status: int) -> None:
    with HttpDoor() as door:
        door.script = [refusal(status)]
        link = link_to(door)
        with pytest.raises(LinkRefused, match="not now") as caught:
            link.exchange(beat(), TIMEOUT)
        assert f"{status}, because {status}" in caught.value.detail
        assert caught.value.hint == "wait"
        assert link.exchange(beat(), TIMEOUT), "the connection is still good"
        link.close()


@pytest.mark.parametrize(
    ("status", "header", "wait"),
    [(409, "7", 7.0), (429, "2.5", 2.5), (503, "soon", None), (500, "99999", 300.0)],
)
def test_what_may_pass_is_tried_again(status: int, header: str, wait: float | None) -> None:
    with HttpDoor() as door:
        door.script = [refusal(status, **{"Retry-After": header})]
        link = link_to(door)
        with pytest.raises(LinkDown) as caught:
            link.exchange(beat(), TIMEOUT)
        assert caught.value.wait == wait
        link.close()


def test_an_error_that_is_no_json_is_told_anyway() -> None:
    with HttpDoor() as door:
        door.script = [(502, {}, b"<html>bad gateway</html>")]
        link = link_to(door)
        with pytest.raises(LinkDown, match="answered 502") as caught:
            link.exchange(beat(), TIMEOUT)
        assert "bad gateway" in caught.value.detail
        link.close()


def test_an_answer_without_end_is_cut_off() -> None:
    with HttpDoor() as door:
        door.script = [(500, {}, b"x" * (MAX_BYTES + 10))]
        link = link_to(door)
        with pytest.raises(LinkDown):
            link.exchange(beat(), TIMEOUT)
        assert link.exchange(beat(), TIMEOUT)
        link.close()


def test_nobody_there_is_down_with_three_parts() -> None:
    with HttpDoor() as door:
        url = door.url
    link = HttpLink(url, "hosts", Credentials())
    with pytest.raises(LinkDown, match="not reached") as caught:
        link.exchange(beat(), TIMEOUT)
    assert url in caught.value.detail
    assert caught.value.hint


def test_a_proxy_may_put_a_path_before() -> None:
    link = HttpLink("https://example.org/gauge/", "hosts", Credentials())
    assert link.path == "/gauge/v1/edge/hosts"


def test_addresses_that_lead_nowhere_are_errors() -> None:
    with pytest.raises(BindError, match="no way to the coordinator"):
        open_link("hosts", "hosts", "pump")
    with pytest.raises(BindError, match="without a host"):
        open_link("http://", "hosts", "pump")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1, and one of an agent."""
    directory = tmp_path_factory.mktemp("certificates")
    for name in ("server", "agent"):
        made = subprocess.run(
            f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout {name}.key -out {name}.pem "
            f"-subj /CN={name} -addext subjectAltName=IP:127.0.0.1".split(),
            cwd=directory,
            capture_output=True,
            check=False,
        )
        if made.returncode:
            pytest.skip(f"needs openssl 1.1.1 or later: {made.stderr[:80]!r}")
    return directory


def server_context(certificates: Path, *, ask: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    if ask:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(certificates / "agent.pem")
    return context


def test_tls_believes_the_given_certificate_and_no_other(certificates: Path) -> None:
    with HttpDoor(tls=server_context(certificates)) as door:
        link = link_to(door, ca=certificates / "server.pem")
        assert link.exchange(beat(), TIMEOUT)
        link.close()
        stranger = link_to(door, ca=certificates / "agent.pem")
        with pytest.raises(LinkDown, match="not reached") as caught:
            stranger.exchange(beat(), TIMEOUT)
        assert "certificate" in caught.value.detail.lower()


def test_an_agent_shows_its_certificate_when_asked(certificates: Path) -> None:
    with HttpDoor(tls=server_context(certificates, ask=True)) as door:
        own = {"cert": certificates / "agent.pem", "key": certificates / "agent.key"}
        link = link_to(door, ca=certificates / "server.pem", **own)
        assert link.exchange(beat(), TIMEOUT)
        link.close()
        bare = link_to(door, ca=certificates / "server.pem")
        with pytest.raises(LinkDown):
            bare.exchange(beat(), TIMEOUT)
        bare.close()


def test_certificates_that_cannot_be_read_are_an_error_at_once(tmp_path: Path) -> None:
    nonsense = tmp_path / "ca.pem"
    nonsense.write_text("nonsense")
    with pytest.raises(SourceFailure, match="certificates cannot be used"):
        HttpLink("https://127.0.0.1:1", "hosts", Credentials(ca=nonsense))
