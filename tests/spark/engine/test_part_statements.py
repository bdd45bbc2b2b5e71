"""Statements on Spark: the same numbers and the same rows as on the local engine."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import streamgauge as sg
from streamgauge.contracts.answer import Answer
from streamgauge.results.change_log import as_answers
from streamgauge.sources.plant import Plant, PlantWriter
from streamgauge.testing.waiting import wait_until

SCRIPT = """
CREATE TABLE sites FROM '{table}';
CREATE QUERY heat AS
    SELECT site, AVG(value) FROM plant [RANGE 1 MINUTE] GROUP BY site EVERY 30 SECONDS;
CREATE QUERY high AS SELECT series, value FROM plant WHERE value > 100 AND kind = 'power';
CREATE QUERY odd AS SELECT * FROM plant WHERE value * 2 > 130;
CREATE QUERY pairs AS
    SELECT a.series AS one, b.series AS other, COUNT(*) AS n
    FROM plant [RANGE 20 SECONDS] AS a, plant [ROWS 30] AS b
    WHERE a.site = b.site AND a.value < b.value
    GROUP BY a.series, b.series EVERY 10 SECONDS;
CREATE QUERY regions AS
    SELECT s.region, MAX(p.value) AS top, COUNT(DISTINCT p.series) AS n
    FROM plant [RANGE 40 SECONDS SLIDE 20 SECONDS] AS p, sites AS s
    WHERE p.site = s.site GROUP BY s.region HAVING COUNT(*) > 5;
CREATE QUERY quiet AS
    SELECT DISTINCT series FROM plant [RANGE 20 SECONDS]
    EXCEPT SELECT series FROM plant [RANGE 20 SECONDS] WHERE value < 50;
CREATE QUERY warm AS SELECT site, value + 1 AS more FROM heat WHERE value > 40;
CREATE QUERY best AS
    SELECT series, MAX(value) AS top FROM plant [RANGE 30 SECONDS]
    GROUP BY series ORDER BY MAX(value) DESC LIMIT 3 EVERY 30 SECONDS;
"""
ROWS = ("high", "odd", "pairs", "regions", "quiet", "warm", "best")


def given(home: Path, engine: str, files: Path, table: Path, *, stops: int = 0) -> tuple:
    """Answers and rows of the script on a new home, stopping and starting on the way."""
    gauge = sg.connect(home, engine=engine, shards=2, max_rows=1_000, master="local[2,4]")
    gauge.stream("plant", source=sg.files(files), time="ts", key="series", keep="1 day")
    gauge.sql(SCRIPT.format(table=table))
    gauge.start()
    for _ in range(stops):
        epoch = gauge.home.committed()
        wait_until(lambda before=epoch: gauge.home.committed() > before, 120, what="an epoch")
        gauge.stop()
        gauge.start()
    gauge.drain(timeout=120)
    gauge.stop()
    numbers: list[Answer] = list(as_answers(gauge.answers("heat")))
    changes = {name: gauge.row_changes(name).to_pylist() for name in ROWS}
    held = {name: gauge.rows(name).to_pylist() for name in ROWS if name not in ("high", "odd")}
    return [repr(answer) for answer in numbers], changes, held


def test_statements_give_the_same_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    writer = PlantWriter(Plant(n_sensors=30, seed=3), str(tmp_path / "files"))
    for _ in range(4):
        writer.write(40)
    names = sorted({name for path in (tmp_path / "files").iterdir() for name in sites_of(path)})
    regions = ["north" if number % 2 else "south" for number in range(len(names))]
    pq.write_table(pa.table({"site": names, "region": regions}), tmp_path / "sites.parquet")
    local = given(tmp_path / "local", "local", tmp_path / "files", tmp_path / "sites.parquet")
    found = given(
        tmp_path / "spark", "spark", tmp_path / "files", tmp_path / "sites.parquet", stops=2
    )
    assert all(len(local[1][name]) > 3 for name in ROWS), {n: len(r) for n, r in local[1].items()}
    assert found == local


def sites_of(path: Path) -> list[str]:
    return pq.read_table(path, columns=["site"])["site"].unique().to_pylist()
