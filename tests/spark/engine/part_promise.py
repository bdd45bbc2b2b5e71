"""Promising queries, under a budget."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

import streamgauge as sg
from streamgauge.results.change_log import as_answers
from streamgauge.streams.schema import Schema
from tests.engine.stage import rows_of
from tests.kit.strategies import as_arrow
from tests.spark.engine.part import MAX_ROWS, Part, folder

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
ROWS = MAX_ROWS + 20
STEPS = {"here": 3, "there": 5}


class Promise(Part):
    """Two streams that are joined, selected from and averaged as far as budgets go."""

    def declare(self, gauge: sg.Gauge, place: Path) -> None:
        for name in STEPS:
            files = sg.files(folder(place, name))
            gauge.stream(name, files, time="ts", schema=SCHEMA, future=None)
        gauge.sql(ASKED)

    def bring(self, place: Path, turn: int) -> None:
        for name, step in STEPS.items():
            cells = [
                (k / 20 + 0.001, min((step * k) % 13, (5 * k) % 11), float((k * k) % 37))
                for k in range(ROWS * turn, ROWS * turn + ROWS)
            ]
            rows = as_arrow(rows_of("item price", *cells), SCHEMA)
            for first in range(0, ROWS, MAX_ROWS):
                file = place / name / f"{turn}{first:05d}.parquet"
                pq.write_table(rows.slice(first, MAX_ROWS), file)

    def told(self, gauge: sg.Gauge) -> list[str]:
        told = [repr(a) for a in as_answers(gauge.answers()) if a.query == "mean"]
        for name in ("both", "rare"):
            told += [str(row) for row in gauge.row_changes(name).to_pylist()]
        return told
