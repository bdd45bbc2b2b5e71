"""A job on Spark that is served: rows pushed over HTTP become answers on the live feed."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
from pyspark.sql import SparkSession

import streamgauge as sg
from streamgauge.server.serving import Server
from streamgauge.server.settings import Settings
from streamgauge.testing.waiting import wait_until

DECLARED = """
CREATE STREAM readings (ts TIME, series STRING, value FLOAT) FROM PUSH KEY series TIME ts;
CREATE QUERY total AS SELECT SUM(value) FROM readings [RANGE 5 SECONDS] EVERY 5 SECONDS;
CREATE QUERY large AS SELECT series, value FROM readings [RANGE 5 SECONDS] WHERE value > 18;
"""


def pushed(client: httpx.Client, first: int) -> None:
    rows = [
        {"ts": f"2026-01-01T00:00:{n:02d}Z", "series": "a", "value": n}
        for n in range(first, first + 10)
    ]
    body = "\n".join(map(json.dumps, rows))
    headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": str(first)}
    for _ in range(2):
        taken = client.post("/v1/streams/readings/rows", content=body, headers=headers)
        assert (taken.status_code, taken.json()["rows"]) == (200, 10)


def test_rows_pushed_become_answers(spark: SparkSession, tmp_path: Path) -> None:
    with sg.connect(tmp_path / "home", engine="spark", shards=2, master="local[2,4]") as gauge:
        gauge.sql(DECLARED)
        gauge.start()
        settings = Settings.of("http://127.0.0.1:0")
        with (
            Server(gauge, settings) as server,
            httpx.Client(base_url=server.address, verify=False) as client,
        ):
            for first in (0, 10, 20):
                pushed(client, first)

            def answered() -> list[float]:
                told = client.get("/v1/queries/total/answers").json()
                return [answer["value"] for answer in told["answers"]]

            wait_until(lambda: len(answered()) >= 5, 120, what="five answers")
            # Windows (t - 5 s, t] at t = 0, 5, ...: whole seconds, each once.
            assert answered()[:5] == [0.0, 15.0, 40.0, 65.0, 90.0]
            rows = client.get("/v1/queries/large/answers").json()["answers"]
            assert {change["row"]["value"] for change in rows} >= {19.0, 20.0}
            assert client.get("/health").json()["job"] == "running"
            assert 'streamgauge_query_answers_total{query="large"' in client.get("/metrics").text
