"""Queries over bounds on Spark against the local engine, byte for byte, with restarts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import streamgauge as sg
from streamgauge.results.change_log import as_answers
from streamgauge.testing.strategies import as_arrow
from tests.engine.bounded_lives import SCHEMA, Shape

OWED = sg.Contract.absolute(1.0)
FIRST = (
    sg.Query("mean", "hosts", sg.avg("value"), contract=OWED),
    sg.Query("sites", "hosts", sg.total("value"), contract=OWED, group_by=("site",)),
    sg.Query("least", "hosts", sg.minimum("value"), where=sg.col("host") == "db"),
    sg.Query(
        "gap", "hosts", sg.total("value"), series=("db|1", "mail|1"), weights=(1.0, -1.0),
        contract=OWED, answer=sg.every("5 s"),
    ),
)  # fmt: skip
LATER = (sg.Query("most", "hosts", sg.maximum("value"), group_by=("host", "site")),)
ROWS = Shape(200, 7, 0.3, 0.2, 0.02, 0.02, 0.02, 30).rows()


def answered(home: Path, engine: str) -> list[str]:
    """All answers on a new home, in two runs with changes between them; epochs are left out."""
    gauge = sg.connect(home, engine=engine, shards=2, max_rows=100, master="local[2,4]")
    inbox = home.parent / f"{home.name}-files"
    inbox.mkdir()
    gauge.stream(
        "hosts", sg.files(inbox), time="ts", key=("host", "site"), schema=SCHEMA, future=None,
        width="width",
    )  # fmt: skip
    gauge.register(*FIRST)
    table = as_arrow(ROWS, SCHEMA)
    half = table.num_rows // 2
    for name, part, later in (("1", table.slice(0, half), LATER), ("2", table.slice(half), ())):
        for k in range(0, part.num_rows, 100):
            pq.write_table(part.slice(k, 100), inbox / f"{name}{k:05d}.parquet")
        gauge.start()
        gauge.drain(timeout=180)
        gauge.stop()
        if later:
            gauge.register(*later)
            gauge.pause("least")
    return sorted(repr(replace(answer, epoch=0)) for answer in as_answers(gauge.answers()))


def test_spark_and_local_give_the_same_bars(spark: SparkSession, tmp_path: Path) -> None:
    local = answered(tmp_path / "local", "local")
    found = answered(tmp_path / "spark", "spark")
    names = {query.name for query in (*FIRST, *LATER)}
    assert all(any(f"query='{name}'" in text for text in local) for name in names)
    assert any("basis='interrupted'" in text for text in local)
    assert found == local
