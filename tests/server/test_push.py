"""Pushing rows over HTTP: what is acknowledged lands once, everything else is refused or buried."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import streamgauge as sg
from streamgauge.gauge import Gauge
from streamgauge.kernel.errors import QueryNotFound
from streamgauge.server.app import make_app
from streamgauge.server.bodies import ARROW, JSON_LINES
from streamgauge.server.push import Spools, spools_of
from streamgauge.server.spool import Limits
from streamgauge.sources.declare import files
from tests.server.pushing import SCHEMA, Client, arrow, left_out, lines, table, take_all, taken_ids

pytestmark = pytest.mark.slow

WHERE = "/v1/streams/rows/rows"


def gauge_at(path: Path) -> Gauge:
    gauge = sg.connect(path, engine="local", shards=1)
    source = sg.push(time_unit="us")
    gauge.stream("rows", source, schema=SCHEMA, time="ts", key="id", future=None)
    return gauge


@pytest.fixture
def gauge(tmp_path: Path) -> Iterator[Gauge]:
    with gauge_at(tmp_path / "home") as made:
        yield made


@pytest.fixture
def client(gauge: Gauge) -> Iterator[Client]:
    app = make_app(gauge)
    with Client(app) as made:
        yield made
    spools_of(app).close()


def post(client: Client, body: bytes, kind: str = JSON_LINES, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.post(WHERE, content=body, headers={"content-type": kind, **named})


def closed(client: Client) -> None:
    spools_of(client.app).close()


def test_rows_are_acknowledged_and_answered(client: Client, gauge: Gauge) -> None:
    gauge.sql(
        "CREATE QUERY total AS SELECT SUM(value) FROM rows [PARTITION BY id ROWS 1] EVERY 1 SECOND"
    )
    assert post(client, lines(range(10), "oops")).json() == {"rows": 10, "rejected": 1, "serial": 1}
    answer = post(client, arrow(table([3_000_000])).data, ARROW)
    assert (answer.status_code, answer.json()["rows"]) == (200, 1)
    closed(client)
    gauge.start()
    gauge.drain(60)
    assert gauge.latest("total")[0].value == sum(range(10)) / 2
    assert left_out(gauge.home) == ["oops"]


def test_a_key_makes_a_request_repeatable(client: Client, gauge: Gauge) -> None:
    first = post(client, lines([1]), idempotency_key="a b")
    assert post(client, lines([1]), idempotency_key="a b").json() == first.json()
    other = post(client, lines([2]), idempotency_key="a b")
    assert (other.status_code, other.headers["content-type"]) == (422, "application/problem+json")
    closed(client)
    again = make_app(gauge)
    with Client(again) as later:
        assert post(later, lines([1]), idempotency_key="a b").json() == first.json()
        closed(later)
    take_all(gauge.home)
    assert taken_ids(gauge.home) == [1]


def test_many_clients_at_once(client: Client, gauge: Gauge) -> None:
    bodies = [lines(range(10 * n, 10 * n + 10)) for n in range(40)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda body: post(client, body).json(), bodies))
    assert sorted(one["serial"] for one in answers) == list(range(1, 41))
    closed(client)
    take_all(gauge.home)
    assert taken_ids(gauge.home) == list(range(400))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "text/csv"}, 415),
        ({"content-type": ""}, 415),
        ({"content-type": JSON_LINES, "content-encoding": "gzip"}, 415),
        ({"content-type": JSON_LINES, "idempotency-key": ""}, 400),
        ({"content-type": JSON_LINES, "idempotency-key": "k" * 256}, 400),
        ({"content-type": JSON_LINES, "idempotency-key": "k\xff".encode("latin-1")}, 400),
        ({"content-type": f"{JSON_LINES}; charset=utf-8", "idempotency-key": "k" * 255}, 200),
    ],
)
def test_headers(client: Client, headers: dict[str, Any], status: int) -> None:
    told = client.post(WHERE, content=lines([1]), headers=headers)
    assert told.status_code == status
    if status != 200:
        assert set(told.json()) == {"type", "title", "status", "detail", "hint"}


def wide(*columns: tuple[str, pa.Array]) -> bytes:
    given = {"id": pa.array([1]), "ts": pa.array([1]), "value": pa.array([1.0])} | dict(columns)
    return arrow(pa.table(given)).data


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no arrow",
        arrow(pa.table({"id": [1]})).data,
        arrow(table([1]), "zstd").data,
        arrow(table([1]), "lz4").data,
        wide(("value", pa.array([[1.0]]))),
        wide(("value", pa.array(["warm"]))),
        wide(("id", pa.array(["1"], pa.string_view()))),
        arrow(table([1]).append_column("id", pa.array([2]))).data,
        arrow(table(list(range(2))).slice(0, 1)).data[:-30],
    ],
)
def test_arrow_that_does_not_fit_is_refused(client: Client, body: bytes, gauge: Gauge) -> None:
    told = post(client, body, ARROW)
    assert told.status_code == 422, told.text
    assert str(gauge.home.root) not in told.text


def test_a_small_body_that_claims_to_be_large_is_refused(client: Client) -> None:
    many = pa.table({name: pa.nulls(1_000_001) for name in ("id", "ts", "value")})
    assert post(client, arrow(many).data, ARROW).status_code == 413
    word = pa.DictionaryArray.from_arrays(pa.array([0] * 100_000), pa.array(["x" * 10_000]))
    counts = pa.array(range(100_000))
    told = post(client, arrow(pa.table({"id": word, "ts": counts, "value": counts})).data, ARROW)
    assert told.status_code == 413


def test_arrow_of_other_types_is_cast(client: Client, gauge: Gauge) -> None:
    times = pa.array([1, None, 3], pa.timestamp("ns"))
    ids = pa.array(["7", "8", "9"]).dictionary_encode()
    body = arrow(pa.table({"more": [1, 2, 3], "value": [1, 2, 3], "ts": times, "id": ids}))
    assert post(client, body.data, ARROW).json() == {"rows": 2, "rejected": 1, "serial": 1}
    closed(client)
    take_all(gauge.home)
    assert taken_ids(gauge.home) == [7, 9]


def test_deep_nesting_does_no_harm(client: Client) -> None:
    deep = b'{"id": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    told = post(client, b"\n".join([deep, lines([1])]))
    assert told.json() == {"rows": 1, "rejected": 1, "serial": 1}


def test_other_streams_take_nothing(client: Client, gauge: Gauge, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    gauge.stream("read", files(tmp_path / "files"), schema=SCHEMA, time="ts", key="id")
    headers = {"content-type": JSON_LINES}
    for name, status in (("read", 409), ("none", 404), ("..%2Frows", 404), ("<b>", 404)):
        told = client.post(f"/v1/streams/{name}/rows", content=b"", headers=headers)
        assert told.status_code == status


def test_the_spool_of_an_earlier_declaration_is_closed(gauge: Gauge) -> None:
    spools = spools_of(make_app(gauge))
    first = spools.find("rows")
    assert spools.find("rows") is first
    assert spools.at_hand("rows") is first
    gauge.drop_stream("rows")
    with pytest.raises(QueryNotFound):
        spools.find("rows")
    assert first.closed
    gauge.stream("rows", sg.push(), schema=SCHEMA, time="ts", key="id", tick="1 minute")
    second = spools.find("rows")
    assert second.stream.tick == 60_000_000
    spools.close()
    assert second.closed


def test_a_job_that_is_behind_turns_clients_away(gauge: Gauge) -> None:
    app = make_app(gauge)
    app.state.spools = Spools(gauge.home, app.state.desk.catalog, Limits(waiting=1000))
    with Client(app) as client:
        told = post(client, lines(range(100)))
        assert (told.status_code, told.headers["retry-after"]) == (503, "5")
        assert post(client, lines([1])).status_code == 200
        closed(client)


def test_what_an_earlier_server_acknowledged_lands_at_the_start(gauge: Gauge) -> None:
    app = make_app(gauge)
    with Client(app) as client:
        assert post(client, lines([1])).status_code == 200
    closed(client)
    later = make_app(gauge)
    spools_of(later).resume()
    spools_of(later).close()
    take_all(gauge.home)
    assert taken_ids(gauge.home) == [1]


# Bodies as they come from programs that are not well.

values = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5),
    st.lists(st.integers(), max_size=2),
)  # fmt: skip
cells = st.sampled_from(
    ["1", "2.5", "null", '"7"', '"x"', "1e400", "NaN", "{}", "[", "\\", "9" * 30]
)
fields = st.tuples(st.sampled_from(["id", "ts", "value", "id", "more", ""]), cells)
near = st.lists(fields, max_size=5).map(
    lambda pairs: "{" + ", ".join(f'"{name}": {cell}' for name, cell in pairs) + "}"
)
good = st.integers(0, 2**40).map(lambda n: f'{{"id": {n}, "ts": {n}, "value": 1}}')
odd_lines = st.one_of(good, near, st.text(max_size=20), st.binary(max_size=20))
breaks = st.sampled_from(["\n", "\r\n", "\r", "\n\n", " "])
as_lines = st.lists(st.tuples(odd_lines, breaks), max_size=8).map(
    lambda parts: b"".join(
        (line if isinstance(line, bytes) else line.encode("utf-8", "surrogatepass")) + end.encode()
        for line, end in parts
    )
)


@st.composite
def as_arrow(draw: st.DrawFn) -> bytes:
    """An Arrow body with a few bytes that were changed on the way."""
    body = bytearray(arrow(table(draw(st.lists(st.integers(0, 99), max_size=4)))).data)
    for _ in range(draw(st.integers(0, 3))):
        body[draw(st.integers(0, len(body) - 1))] = draw(st.integers(0, 255))
    return bytes(body[: draw(st.integers(0, len(body)))]) if draw(st.booleans()) else bytes(body)


bodies = st.one_of(
    as_lines.map(lambda body: (JSON_LINES, body)), as_arrow().map(lambda body: (ARROW, body))
)


class Flood:
    """A server for many bodies, and the sums of what it acknowledged."""

    def __init__(self, path: Path) -> None:
        self.gauge = gauge_at(path)
        self.client = Client(make_app(self.gauge))
        self.lock = threading.Lock()
        self.rows = 0
        self.rejected = 0

    def push(self, kind: str, body: bytes) -> None:
        key = {"idempotency_key": str(uuid.uuid4())}
        told = post(self.client, body, kind, **key)
        assert told.status_code in (200, 413, 422), told.text
        if told.status_code != 200:
            return
        assert post(self.client, body, kind, **key).json() == told.json()
        with self.lock:
            self.rows += told.json()["rows"]
            self.rejected += told.json()["rejected"]


def test_no_body_does_harm(tmp_path: Path) -> None:
    flood = Flood(tmp_path / "home")

    @settings(max_examples=80, deadline=None)
    @given(st.lists(bodies, min_size=1, max_size=3))
    def pushed(several: list[tuple[str, bytes]]) -> None:
        for kind, body in several:
            flood.push(kind, body)

    with flood.client:
        pushed()
        post(flood.client, lines([2**41]))
    closed(flood.client)
    take_all(flood.gauge.home)
    ids = taken_ids(flood.gauge.home)
    assert 2**41 in ids
    assert len(ids) == flood.rows + 1
    assert len(left_out(flood.gauge.home)) == flood.rejected
    flood.gauge.stop()
