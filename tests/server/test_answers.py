"""Answers over HTTP: the newest, those that were given, and live."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import httpx
import pytest

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.server.feed import Feed
from streamgauge.server.serving import Server
from streamgauge.server.settings import Settings
from tests.owner import as_owner
from tests.server.conftest import problem

pytestmark = pytest.mark.slow

More = Callable[[int], None]


class Event(NamedTuple):
    kind: str
    id: str
    data: dict[str, Any]


@contextmanager
def following(client: httpx.Client, path: str, **headers: str) -> Iterator[Iterator[Event]]:
    """Follow a live feed; it is joined when this returns."""
    with client.stream("GET", path, headers=headers) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = response.iter_lines()
        assert next(lines).startswith("retry: ")
        yield events(lines)


def events(lines: Iterator[str]) -> Iterator[Event]:
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if line and not line.startswith(":"):
            fields[name] = value
        elif "data" in fields:
            yield Event(fields["event"], fields.get("id", ""), json.loads(fields["data"]))
            fields = {}


def take(found: Iterator[Event], n: int) -> list[Event]:
    return [next(found) for _ in range(n)]


def history(client: httpx.Client, name: str, **params: Any) -> Any:
    return client.get(f"/v1/queries/{name}/answers", params=params).json()


def test_the_newest_answers(client: httpx.Client) -> None:
    newest = client.get("/v1/queries/newest/answers/latest").json()
    assert [answer["value"] for answer in newest["answers"]] == [33.0]
    sites = client.get("/v1/queries/sites/answers/latest").json()
    assert [answer["group"] for answer in sites["answers"]] == [["north"], ["south"]]
    held = client.get("/v1/queries/large/answers/latest", params={"limit": 2}).json()
    assert held["total"] == 3
    assert held["rows"] == [{"series": "a", "value": 3.0}, {"series": "b", "value": 10.0}]
    problem(client.get("/v1/queries/none/answers/latest"), 404)


def test_answers_that_were_given_come_in_pages(
    client: httpx.Client, gauge: sg.Gauge, more: More
) -> None:
    for second in (11, 12, 13):
        more(second)
    whole = [answer.as_dict() for answer in gauge.subscribe("newest", since_epoch=0, timeout=0)]
    assert len(whole) > 4
    found, cursor = [], None
    while True:
        params = {"limit": 2} if cursor is None else {"limit": 2, "cursor": cursor}
        page = history(client, "newest", **params)
        assert len(page["answers"]) <= 2
        found += page["answers"]
        cursor = page["next"]
        if cursor is None:
            break
    assert found == whole
    after = history(client, "newest", after_epoch=1)["answers"]
    assert after == [answer for answer in whole if answer["epoch"] > 1]
    assert history(client, "newest", newest=True, limit=3)["answers"] == whole[-3:]
    problem(client.get("/v1/queries/newest/answers", params={"cursor": "1.x"}), 400)


def test_rows_that_came_and_went(client: httpx.Client) -> None:
    changes = history(client, "large")["answers"]
    assert [change["row"]["value"] for change in changes] == [10.0, 3.0, 30.0]
    assert {change["count"] for change in changes} == {1}


def test_answers_come_live_each_once(client: httpx.Client, more: More) -> None:
    with following(client, "/v1/queries/newest/live") as found:
        more(11)
        more(12)
        got = take(found, 2)
    assert [event.kind for event in got] == ["answer", "answer"]
    given = history(client, "newest", after_epoch=1)["answers"]
    assert [event.data for event in got] == given[:2]
    assert got[0].id.partition(".")[0] == str(got[0].data["epoch"])


def test_a_feed_goes_on_where_it_was(client: httpx.Client, more: More) -> None:
    with following(client, "/v1/live?queries=newest,sites,large&after_epoch=0") as found:
        more(11)
        first = take(found, 3)
    more(12)
    last = {"Last-Event-ID": first[-1].id}
    with following(client, "/v1/live?queries=newest,sites,large", **last) as found:
        more(13)
        rest = []
        for event in found:
            rest.append(event)
            if event.data["query"] == "newest" and event.data["as_of"].endswith(":12Z"):
                break
    ids = [event.id for event in first + rest]
    assert len(set(ids)) == len(ids)
    for name in ("newest", "large"):
        given = history(client, name)["answers"]
        got = [event.data for event in first + rest if event.data["query"] == name]
        assert got == given[: len(got)]
        assert got
    assert {event.kind for event in first + rest} == {"answer", "row"}


def test_all_queries_are_followed_when_none_is_named(client: httpx.Client, more: More) -> None:
    with following(client, "/v1/live") as found:
        more(20)
        kinds = {event.kind: event.data["query"] for event in take(found, 2)}
    assert kinds["row"] == "large", "names come in their order"


def test_mistakes_are_told_before_the_feed_begins(client: httpx.Client) -> None:
    problem(client.get("/v1/queries/none/live"), 404)
    problem(client.get("/v1/live", params={"queries": "newest,none"}), 404)
    problem(client.get("/v1/live", params={"queries": ","}), 422)
    problem(client.get("/v1/live", headers={"Last-Event-ID": "later"}), 400)


def test_a_silent_feed_says_that_it_lives(gauge: sg.Gauge) -> None:
    settings = replace(Settings.of("http://127.0.0.1:0"), heartbeat=0.05)
    with (
        Server(gauge, settings) as server,
        httpx.stream("GET", f"{server.address}/v1/live", timeout=60) as response,
    ):
        lines = response.iter_lines()
        assert next(line for line in lines if line.startswith(":")) == ": still here"


def test_many_subscribers_share_one_reader(gauge: sg.Gauge, more: More, served: Server) -> None:
    feed: Feed = served.app.state.feed
    with ExitStack() as stack:
        limits = httpx.Limits(max_connections=None)
        client = stack.enter_context(
            httpx.Client(
                base_url=served.address, headers=as_owner(served), timeout=60, limits=limits
            )
        )
        feeds = [
            stack.enter_context(following(client, "/v1/queries/newest/live")) for _ in range(40)
        ]
        assert feed.subscribers == 40
        more(11)
        epochs = {next(found).data["epoch"] for found in feeds}
        assert len(epochs) == 1
        assert feed.reads <= gauge.home.committed() - 1
    wait_until(lambda: feed.subscribers == 0, 60, what="subscribers that left")


def test_a_slow_subscriber_is_dropped_with_a_last_event(gauge: sg.Gauge, more: More) -> None:
    """It reads nothing while more is sent than the sockets between hold, then reads to the end."""
    settings = replace(Settings.of("http://127.0.0.1:0"), behind=2, patience=60.0)
    with Server(gauge, settings) as server:
        feed: Feed = server.app.state.feed
        feed.parts = _padded(feed.parts)  # type: ignore[method-assign]
        feed.at_hand = lambda *_asked: None  # type: ignore[method-assign]
        slow = _raw(server, "/v1/live?queries=newest")
        with slow:
            wait_until(lambda: feed.subscribers == 1, 60, what="the subscriber")
            for second in range(11, 21):
                more(second)
            heard = _to_the_end(slow)
        assert b"event: dropped" in heard
        assert b"this subscriber is too slow" in heard
        wait_until(lambda: feed.subscribers == 0, 60, what="the subscriber to be gone")


def test_one_that_reads_nothing_is_cut_off(gauge: sg.Gauge, more: More) -> None:
    settings = replace(Settings.of("http://127.0.0.1:0"), patience=0.2, heartbeat=0.1)
    with Server(gauge, settings) as server:
        feed: Feed = server.app.state.feed
        feed.parts = _padded(feed.parts)  # type: ignore[method-assign]
        feed.at_hand = lambda *_asked: None  # type: ignore[method-assign]
        with _raw(server, "/v1/live?queries=newest"):
            wait_until(lambda: feed.subscribers == 1, 60, what="the subscriber")
            more(11)
            wait_until(lambda: feed.subscribers == 0, 60, what="the subscriber to be gone")


def _padded(parts: Callable[..., list[bytes]]) -> Callable[..., list[bytes]]:
    """Events so large that no socket holds them."""

    def large(*asked: Any) -> list[bytes]:
        return [b": " + b"x" * 20_000_000 + b"\n" + part for part in parts(*asked)]

    return large


def _raw(server: Server, path: str) -> socket.socket:
    host, _, port = server.address.partition("://")[2].partition(":")
    made = socket.create_connection((host, int(port)), timeout=60)
    made.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    return made


def _to_the_end(connection: socket.socket) -> bytes:
    """The last that comes before the feed ends."""
    heard = b""
    while not heard.endswith(b"0\r\n\r\n"):
        part = connection.recv(1 << 20)
        if not part:
            break
        heard = (heard + part)[-10_000:]
    return heard


def test_a_server_that_stops_says_so(gauge: sg.Gauge) -> None:
    server = Server(gauge, Settings.of("http://127.0.0.1:0")).start()
    with (
        httpx.Client(base_url=server.address, headers=as_owner(server), timeout=60) as client,
        following(client, "/v1/live") as found,
    ):
        server.stop()
        assert next(found).kind == "closing"


def test_places_that_are_none(client: httpx.Client) -> None:
    for text in ("1.2.3", "-1", "x", "1.", "9" * 30, "٣"):
        problem(client.get("/v1/queries/newest/answers", params={"cursor": text}), 400)
    empty = client.get("/v1/queries/newest/answers", params={"cursor": ""})
    assert empty.status_code == 200
