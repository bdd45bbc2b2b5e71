"""Deferred queries."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import streamgauge as sg
from streamgauge.plan.members import Members
from streamgauge.plan.over import Over
from streamgauge.results.change_log import as_answers
from tests.kit.deferrals import HOLDINGS, Shape
from tests.kit.strategies import SCHEMA, as_arrow
from tests.spark.engine.part import Part, folder, write_half

OWED = sg.Contract.absolute(2.0, confidence=0.9)
BOOKS = Members("holdings", "symbol", ("book",), "shares")
FIRST = (
    sg.Query("blind", "walk", sg.total("x"), contract=OWED, regime="timer"),
    sg.Query("seen", "walk", sg.avg("x"), contract=OWED, regime="watch", trend=True),
    sg.Query("books", "walk", sg.total("x"), contract=OWED, regime="timer", members=BOOKS),
    sg.Query("groups", "walk", sg.avg("x"), contract=OWED, regime="watch", group_by=("g",)),
)
LATER = (
    sg.Query("peak", "walk", sg.avg("x"), contract=OWED, over=Over("max", sg.Range("40 s"))),
    sg.Query("low", "walk", sg.total("x"), contract=OWED, regime="timer", group_by=("g",)),
)
NAMES = {query.name for query in (*FIRST, *LATER)}
WALK = Shape(5, 300, 11, 0.8, 0.02, 0.02, 0.01, 0.01, 30, 0.0)
HELD = {
    "symbol": ["s0", "s1", "s2", "s3", "s1"],
    "book": ["a", "a", "b", "b", "c"],
    "desk": [1, 1, 2, 2, 3],
    "shares": [1.0, -2.0, 0.5, 3.0, 1.0],
}


class Deferral(Part):
    """A walk under queries that wait and that watch, with a table of members beside it."""

    def declare(self, gauge: sg.Gauge, place: Path) -> None:
        files = sg.files(folder(place, "walk"))
        gauge.stream("walk", files, time="ts", key="series", schema=SCHEMA, future=None)
        held = place / "holdings.parquet"
        pq.write_table(pa.table(HELD, schema=HOLDINGS.to_arrow()), held)
        gauge.create_table("holdings", held)
        gauge.register(*FIRST)

    def bring(self, place: Path, turn: int) -> None:
        write_half(as_arrow(WALK.rows(), SCHEMA), place / "walk", turn)

    def change(self, gauge: sg.Gauge) -> None:
        gauge.register(*LATER)
        gauge.pause("seen")

    def told(self, gauge: sg.Gauge) -> list[str]:
        return [repr(a) for a in as_answers(gauge.answers()) if a.query in NAMES]
