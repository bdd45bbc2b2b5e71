"""A source that lies, shouts or pretends: it is refused, and the answers of the others hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from streamgauge.edge.protocol import Reply, Report
from streamgauge.filters.bound import Update
from tests.edge_faults.checks import run_checks
from tests.edge_faults.job import SITES
from tests.edge_faults.scene import Scene, now

pytestmark = pytest.mark.kills

HOUR = 3_600_000_000
# An agent that is silent for three of these loses its name; no busy machine should make it so.
BEAT = "1 s"


class Liar:
    """Someone who speaks the protocol but not the truth."""

    count = 0

    def __init__(self, scene: Scene, name: str = "", token: str = "") -> None:
        target = scene.relays["east"].target
        assert target is not None
        self.target = target
        Liar.count += 1
        self.name = name or f"liar-{Liar.count}"
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.seq = 0

    def post(self, body: bytes, path: str = "/v1/edge/tags") -> tuple[int, bytes]:
        """Status and body of the answer; status 0 when the connection was cut."""
        connection = HTTPConnection(*self.target, timeout=60)
        try:
            connection.request("POST", path, body, self.headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except ConnectionError:
            return 0, b""
        finally:
            connection.close()

    def report(self, **parts: Any) -> Report:
        self.seq += 1
        plain: dict[str, Any] = {"sent": now(), "through": now(), **parts}
        return Report(self.name, "lies", self.seq, **plain)

    def say(self, **parts: Any) -> int:
        return self.post(self.report(**parts).encode())[0]


def refused(body: bytes) -> None:
    """What is refused is refused with what, numbers, and what to do."""
    said = json.loads(body)
    assert all(said[part] for part in ("code", "message", "detail", "hint"))


def test_nonsense_is_refused(scene: Scene) -> None:
    liar = Liar(scene)
    good = liar.report(updates=[Update(0, now(), 1.0, 0)]).encode()
    spoilt: list[Callable[[], bytes]] = [
        lambda: b"",
        lambda: b"\x00\xff" * 100,
        lambda: b"[" * 100_000,
        lambda: b"{}",
        lambda: good.replace(b'"v":1', b'"v":99'),
        lambda: good.replace(b"1.0", b"NaN"),
        lambda: good.replace(b"1.0", b"1e999"),
        lambda: good.replace(b"1.0", b'"1.0"'),
        lambda: good.replace(liar.name.encode(), b""),
        lambda: good[:-3],
    ]
    for body in spoilt:
        status, said = liar.post(body())
        assert status == 400, (body(), said)
        refused(said)
    # Whoever sends too much may be cut off while it is still sending.
    assert liar.post(b"x" * (8 << 20))[0] in (413, 0)
    assert liar.post(good, "/v1/edge/nothing")[0] == 404
    run_checks(scene)


def test_lies_about_time_and_objects(scene: Scene) -> None:
    liar = Liar(scene)
    far = now() + HOUR
    future = liar.report(updates=[Update(0, far, 1.0, 0)], objects=[(0, ("liar", "x"))])
    status, said = liar.post(future.encode())
    assert status == 400
    refused(said)
    liar.seq = 0
    assert liar.say(through=far) == 400
    # Objects that belong to others, or that were never announced, or that cannot be.
    liar.seq = 0
    theirs = [(n, (site, "a")) for n, site in enumerate(SITES)]
    lies = [Update(n, now(), 1e6, 0) for n in (*range(len(SITES)), 99)]
    assert liar.say(objects=theirs, updates=lies) == 200
    assert liar.say(updates=[Update(n, now(), -1e6, 7) for n in range(5)]) == 200
    assert liar.say(applied=[(n, 1_000) for n in range(5)]) == 200
    # Refused alone: an honest agent with one bad key must not lose the others.
    assert liar.say(objects=[(7, ("one part too few",))], updates=[Update(7, now(), 1e6, 0)]) == 200
    run_checks(scene)


def test_a_name_that_is_in_use(scene: Scene) -> None:
    thief = Liar(scene, "east")
    mine = [(0, ("east", "a"))]
    status = thief.say(objects=mine, updates=[Update(0, now(), 1e6, 0)])
    assert status == 409
    run_checks(scene)


def test_an_impossible_version_is_no_width(scene: Scene) -> None:
    """Who says that it applies a width that it was never given is not believed."""
    liar = Liar(scene)
    one = [Update(0, now(), 5.0, 0)]
    status, said = liar.post(liar.report(objects=[(0, ("liar", "x"))], updates=one).encode())
    assert status == 200
    assert Reply.decode(said).ack == 1
    assert liar.say(updates=[Update(0, now(), 6.0, 1_000_000)]) == 200
    scene.wait_marked("lies")
    run_checks(scene)


@pytest.mark.parametrize(
    ("reports", "updates"),
    [(3, 20_000), pytest.param(8, 30_000, marks=pytest.mark.nightly)],
    ids=["short", "long"],
)
def test_a_flood(scene: Scene, reports: int, updates: int) -> None:
    liar = Liar(scene)
    names = [(n, ("liar", f"shout-{n}")) for n in range(100)]
    assert liar.say(objects=names) == 200
    statuses = []
    for _ in range(reports):
        shouted = [Update(n % 100, now(), float(n), 0) for n in range(updates)]
        status, said = liar.post(liar.report(updates=shouted).encode())
        statuses.append(status)
        if status == 429:
            refused(said)
            liar.seq -= 1
    assert set(statuses) <= {200, 429}, statuses
    run_checks(scene)


def test_tokens(tmp_path: Path) -> None:
    secrets = {site: f"{site}-0123456789" for site in SITES}
    lines = "".join(f"{secret} {site}\n" for site, secret in secrets.items())
    with Scene(tmp_path, tokens=lines) as scene:
        scene.start_job()
        for site, secret in secrets.items():
            scene.start_agent(site, token=secret)
        scene.wait_kept()
        for token, name in (("", "liar"), ("guess-0123456789", "east"), (secrets["east"], "west")):
            status, said = Liar(scene, name, token).post(Report(name, "b", 1, 0, 0).encode())
            assert status in (401, 403)
            refused(said)
        run_checks(scene)
