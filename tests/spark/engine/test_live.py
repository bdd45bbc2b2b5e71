"""A job that runs while streams, queries, tables and rows of a server come and go."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import deltalake
import httpx
import pyarrow as pa
import pytest

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.kernel.files import write_whole
from streamgauge.kernel.time import SECOND, instant
from streamgauge.log.segments import write_parquet
from streamgauge.results.change_log import commits
from streamgauge.server.serving import Server
from streamgauge.server.settings import Settings
from tests.owner import as_owner
from tests.sources.captures import START as CAPTURED
from tests.sources.captures import frame, ip4, pcap, udp

pytestmark = pytest.mark.jvm
MANY = 2000
PUSHED = """
CREATE STREAM readings (ts TIME, series STRING, value FLOAT) FROM PUSH KEY series TIME ts;
CREATE QUERY total AS SELECT SUM(value) FROM readings [RANGE 5 SECONDS] EVERY 5 SECONDS;
CREATE QUERY large AS SELECT series, value FROM readings [RANGE 5 SECONDS] WHERE value > 18;
"""
PACKETS = 200
REPLAYED = """
CREATE STREAM packets FROM REPLAY '{data}' SPEED 500 TIME ts;
CREATE QUERY talk AS
SELECT src, COUNT(*) FROM packets [RANGE 5 SECONDS] GROUP BY src EVERY 5 SECONDS
"""
START = instant("2026-01-01T00:00:00Z")
SECONDS = sg.Schema.of(site="string", ts="time", value="float")


def test_queries_come_and_go_while_it_runs(live: sg.Gauge) -> None:
    live.stream("plant", source=sg.plant(n_sensors=20, speed=300), time="ts", key="series")
    begun = live.home.committed()
    live.register(
        sg.Query("all", "plant", sg.avg("value"), window=sg.Latest(), answer=sg.every("10 s"))
    )
    first = next(iter(live.subscribe("all", since_epoch=begun, timeout=300)))
    assert first.value is not None
    many = [sg.Query(f"q{i}", "plant", sg.avg("value"), window=sg.Latest()) for i in range(MANY)]
    before = live.home.committed()
    live.register(*many)
    found = next(iter(live.subscribe(f"q{MANY - 1}", timeout=300)))
    page = live.registry().query(f"q{MANY - 1}").born
    assert page - before <= 2
    assert found.epoch >= page
    live.drop(*(query.name for query in many))
    wait_until(lambda: list(live.registry().queries) == ["all"], 300, what="the drop")
    told = live.answers_spark(f"q{MANY - 1}")
    assert told.count() == live.answers(f"q{MANY - 1}").num_rows > 0


def push(client: httpx.Client, first: int) -> None:
    rows = [
        {"ts": f"2026-01-01T00:00:{n:02d}Z", "series": "a", "value": n}
        for n in range(first, first + 10)
    ]
    body = "\n".join(map(json.dumps, rows))
    headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": str(first)}
    for _ in range(2):
        taken = client.post("/v1/streams/readings/rows", content=body, headers=headers)
        assert (taken.status_code, taken.json()["rows"]) == (200, 10)


def test_rows_pushed_to_a_server_become_answers(live: sg.Gauge) -> None:
    live.sql(PUSHED)
    with (
        Server(live, Settings.of("http://127.0.0.1:0")) as server,
        httpx.Client(
            base_url=server.address, headers=as_owner(server), verify=False, timeout=120
        ) as client,
    ):
        for first in (0, 10, 20):
            push(client, first)

        def answered() -> list[float]:
            told = client.get("/v1/queries/total/answers").json()
            return [answer["value"] for answer in told["answers"]]

        wait_until(lambda: len(answered()) >= 5, 300, what="five answers")
        # Windows (t - 5 s, t] at t = 0, 5, ...: whole seconds, each once.
        assert answered()[:5] == [0.0, 15.0, 40.0, 65.0, 90.0]
        rows = client.get("/v1/queries/large/answers").json()["answers"]
        assert {change["row"]["value"] for change in rows} >= {19.0, 20.0}
        assert client.get("/health").json()["job"] == "running"
        assert 'streamgauge_query_answers_total{query="large"' in client.get("/metrics").text


def replayed(gauge: sg.Gauge, data: Path) -> list[dict[str, Any]]:
    """Answers to a replay on a gauge that runs."""
    begun = gauge.home.committed()
    gauge.sql(REPLAYED.format(data=data))
    wait_until(
        lambda: sum(record["rows"] for record in commits(gauge.home, after=begun)) >= PACKETS,
        300,
        what="all packets",
    )
    gauge.drain(timeout=300)
    rows = gauge.answers("talk").select(["group", "as_of", "value"]).to_pylist()
    return sorted(rows, key=repr)


def test_packets_are_replayed_alike_on_both_engines(live: sg.Gauge, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for part in range(2):
        seen = [
            (CAPTURED + n * 250_000, frame(ip4(udp(n, 53), 17, f"10.0.0.{n % 3 + 1}")))
            for n in range(part, PACKETS, 2)
        ]
        (data / f"{part}.pcap").write_bytes(pcap(seen))
    found = replayed(live, data)
    assert len(found) > 20
    with sg.connect(tmp_path / "local", engine="local", shards=2).start() as local:
        assert found == replayed(local, data)


def test_tables_that_change_give_the_same_on_both_engines(live: sg.Gauge, tmp_path: Path) -> None:
    found = joined_while_tables_change(live, tmp_path / "spark")
    with sg.connect(tmp_path / "local" / "home", engine="local", shards=2).start() as local:
        assert joined_while_tables_change(local, tmp_path / "local") == found


def joined_while_tables_change(gauge: sg.Gauge, place: Path) -> list[dict[str, Any]]:
    """Rows of a join with a file and a Delta table, each of which changes once."""
    place.mkdir(exist_ok=True)
    write_whole(place / "towns.csv", b"site,town\nnorth,Kiel\n")
    deltalake.write_deltalake(place / "lake", pa.table({"site": ["north"], "top": [3.0]}))
    (place / "rows").mkdir()
    gauge.stream("s", sg.files(place / "rows"), time="ts", key="site", schema=SECONDS)
    gauge.create_table("towns", place / "towns.csv", refresh="50 ms")
    gauge.create_table("limits", sg.delta(place / "lake"), refresh="50 ms")
    gauge.sql(
        "CREATE QUERY over AS SELECT t.town, s.value, l.top FROM s [NOW] s "
        "JOIN towns t ON s.site = t.site JOIN limits l ON s.site = l.site "
        "WHERE s.value > l.top"
    )
    write_seconds(place / "rows", "a", 1, 5)
    gauge.drain(timeout=300)
    write_whole(place / "towns.csv", b"site,town\nnorth,Bonn\n")
    wait_until(lambda: changed(gauge, "towns"), 300, what="other towns")
    write_seconds(place / "rows", "b", 6, 9)
    gauge.drain(timeout=300)
    deltalake.write_deltalake(
        place / "lake", pa.table({"site": ["north"], "top": [12.0]}), mode="overwrite"
    )
    wait_until(lambda: changed(gauge, "limits"), 300, what="other limits")
    write_seconds(place / "rows", "c", 10, 15)
    gauge.drain(timeout=300)
    found = [{**row, "epoch": 0} for row in gauge.row_changes("over").to_pylist()]
    given = [(row["town"], row["value"], row["top"]) for row in found if row["count"] > 0]
    assert given[0] == ("Kiel", 4.0, 3.0)
    assert given[-1] == ("Bonn", 14.0, 12.0)
    return found


def write_seconds(directory: Path, name: str, first: int, last: int) -> None:
    numbers = list(range(first, last + 1))
    times = pa.array([START + n * SECOND for n in numbers], pa.timestamp("us", tz="UTC"))
    values = pa.array(numbers, pa.float64())
    table = pa.table({"site": ["north"] * len(numbers), "ts": times, "value": values})
    write_parquet(directory / f"{name}.parquet", table)


def changed(gauge: sg.Gauge, name: str) -> bool:
    return Path(gauge.registry().tables[name].path).name.endswith(".again.parquet")
