"""Windows over a plant, asked for as values, and statements of numbers and rows over it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import streamgauge as sg
from streamgauge.results.change_log import as_answers
from streamgauge.sources.plant import Plant, PlantWriter
from tests.spark.engine.part import Part, folder

QUERIES = (
    sg.Query("all", "plant", sg.avg("value"), window=sg.Latest(), answer=sg.every("10 s")),
    sg.Query("moved", "plant", sg.total("value"), window=sg.Latest(), answer=sg.on_change(0.5)),
    sg.Query(
        "spread",
        "plant",
        sg.stddev("value"),
        window=sg.Range("2 minutes", "10 s"),
        group_by=("kind",),
        answer=sg.on_close(),
    ),
    sg.Query(
        "top",
        "plant",
        sg.maximum("value"),
        window=sg.Partition("series", 5),
        where=sg.col("site") == "site-03",
        group_by=("series",),
    ),
)
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
NUMBERS = ("all", "moved", "spread", "top", "heat")
ROWS = ("high", "odd", "pairs", "regions", "quiet", "warm", "best")
SELECTIONS = ("high", "odd")
SENSORS, TICKS, FILES = 30, 9, 5
SCHEMA = sg.Schema.of(series="string", ts="time", value="float", site="string", kind="string")


class Statements(Part):
    """A plant, a table of its sites, and what is asked about them."""

    def declare(self, gauge: sg.Gauge, place: Path) -> None:
        files = sg.files(folder(place, "plant"))
        gauge.stream("plant", files, time="ts", key="series", keep="1 day", schema=SCHEMA)
        names = [f"site-{number:02d}" for number in range(10)]
        regions = ["north" if number % 2 else "south" for number in range(len(names))]
        table = place / "sites.parquet"
        pq.write_table(pa.table({"site": names, "region": regions}), table)
        gauge.register(*QUERIES)
        gauge.sql(SCRIPT.format(table=table))

    def bring(self, place: Path, turn: int) -> None:
        writer = PlantWriter(Plant(n_sensors=SENSORS, seed=3), str(place / "plant"))
        for _ in range(FILES):
            writer.write(TICKS)

    def told(self, gauge: sg.Gauge) -> list[str]:
        told = [repr(a) for a in as_answers(gauge.answers()) if a.query in NUMBERS]
        for name in ROWS:
            told += [str(row) for row in gauge.row_changes(name).to_pylist()]
            if name not in SELECTIONS:
                told += [f"held {name} {row}" for row in gauge.rows(name).to_pylist()]
        return told
