"""A replay on Spark: the same answers as on the local engine, and captures as well as rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import streamgauge as sg
from streamgauge.results.change_log import commits
from streamgauge.testing.waiting import wait_until
from tests.sources.captures import START, frame, ip4, pcap, udp

PACKETS = 400
STATEMENTS = """
CREATE STREAM s FROM REPLAY '{data}' SPEED 500 TIME ts;
CREATE QUERY talk AS SELECT src, COUNT(*) FROM s [RANGE 10 SECONDS] GROUP BY src EVERY 10 SECONDS
"""


def _answers(home: Path, engine: str, data: Path) -> list[dict[str, Any]]:
    gauge = sg.connect(home, engine=engine, shards=2, master="local[2,4]")
    gauge.sql(STATEMENTS.format(data=data))
    gauge.start()
    wait_until(
        lambda: sum(record["rows"] for record in commits(gauge.home, after=0)) >= PACKETS,
        240,
        what="all packets",
    )
    gauge.drain(timeout=120)
    gauge.stop()
    rows = gauge.answers("talk").select(["group", "as_of", "value"]).to_pylist()
    return sorted(rows, key=repr)


def test_packets_are_replayed_alike_on_both_engines(spark: SparkSession, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for part in range(2):
        seen = [
            (START + n * 250_000, frame(ip4(udp(n, 53), 17, f"10.0.0.{n % 3 + 1}")))
            for n in range(part, PACKETS, 2)
        ]
        (data / f"{part}.pcap").write_bytes(pcap(seen))
    found = _answers(tmp_path / "spark", "spark", data)
    assert len(found) > 20
    assert found == _answers(tmp_path / "local", "local", data)
