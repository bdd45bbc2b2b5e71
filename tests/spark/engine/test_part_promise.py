"""Promising queries on Spark against the local engine, under a budget, with a restart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import streamgauge as sg
from streamgauge.results.change_log import as_answers
from streamgauge.streams.schema import Schema
from streamgauge.testing.strategies import as_arrow
from tests.engine.stage import rows_of

SCHEMA = Schema.of(item="int", ts="time", price="float")
ASKED = """
CREATE SUMMARY here_items ON here(item) WITH GRANULARITY 3 SECONDS AND COLLAPSE(2, 2);
CREATE SUMMARY there_items ON there(item) WITH GRANULARITY 3 SECONDS AND COLLAPSE(2, 2);
CREATE QUERY both AS SELECT a.item, a.price AS one, b.price AS two
FROM here [RANGE 6 SECONDS] a, there [RANGE 6 SECONDS] b WHERE a.item = b.item
WITH PREFERENCE WEIGHTED COUNT(a.item), COUNT(b.item) BUDGET PROBES 15;
CREATE QUERY rare AS SELECT * FROM here [RANGE 5 SECONDS] WHERE item > 6 AND price > 20
WITH PREFERENCE ASC COUNT(item) BUDGET PROBES 1;
CREATE QUERY mean AS SELECT AVG(price) FROM here [RANGE 4 SECONDS] WHERE item < 6 AND price > 9
EVERY 2 SECONDS WITH PREFERENCE WEIGHTED COUNT(item) BUDGET PROBES 6;
"""


def answered(home: Path, engine: str) -> list[str]:
    """All that was given on a new home in two runs, without the epochs."""
    gauge = sg.connect(home, engine=engine, shards=2, max_rows=60, master="local[2,4]")
    for name in ("here", "there"):
        inbox = home.parent / f"{home.name}-{name}"
        inbox.mkdir()
        gauge.stream(name, sg.files(inbox), time="ts", schema=SCHEMA, future=None)
    gauge.sql(ASKED)
    for part in range(2):
        for name, step in (("here", 3), ("there", 5)):
            cells = [
                (k / 20 + 0.001, min((step * k) % 13, (5 * k) % 11), float((k * k) % 37))
                for k in range(120 * part, 120 * part + 120)
            ]
            rows = as_arrow(rows_of("item price", *cells), SCHEMA)
            pq.write_table(rows, home.parent / f"{home.name}-{name}" / f"{part}.parquet")
        gauge.start()
        gauge.drain(timeout=180)
        gauge.stop()
    told = [repr(replace(answer, epoch=0)) for answer in as_answers(gauge.answers())]
    for name in ("both", "rare"):
        rows = gauge.row_changes(name).drop_columns(["epoch"]).to_pylist()
        told += [str(row) for row in rows]
    return sorted(told)


def test_spark_and_local_choose_alike(spark: SparkSession, tmp_path: Path) -> None:
    local = answered(tmp_path / "local", "local")
    assert answered(tmp_path / "spark", "spark") == local
    assert (
        sum("'query': 'both'" in text and "'regions_share': 1.0" not in text for text in local) > 50
    )
    assert any("'query': 'rare'" in text and "'regions_share': 0." in text for text in local)
    assert any("basis='promising'" in text for text in local)
