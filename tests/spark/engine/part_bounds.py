"""Queries over bounds."""

from __future__ import annotations

from pathlib import Path

import streamgauge as sg
from streamgauge.results.change_log import as_answers
from tests.engine.bounded_lives import SCHEMA, Shape
from tests.kit.strategies import as_arrow
from tests.spark.engine.part import Part, folder, write_half

OWED = sg.Contract.absolute(1.0)
FIRST = (
    sg.Query("bound_mean", "hosts", sg.avg("value"), window=sg.Latest(), contract=OWED),
    sg.Query("bound_sites", "hosts", sg.total("value"), contract=OWED, group_by=("site",)),
    sg.Query("least", "hosts", sg.minimum("value"), window="latest", where=sg.col("host") == "db"),
    sg.Query(
        "gap", "hosts", sg.total("value"), series=("db|1", "mail|1"), weights=(1.0, -1.0),
        contract=OWED, answer=sg.every("5 s"),
    ),
)  # fmt: skip
LATER = (sg.Query("most", "hosts", sg.maximum("value"), group_by=("host", "site")),)
NAMES = {query.name for query in (*FIRST, *LATER)}
ROWS = Shape(200, 7, 0.3, 0.2, 0.02, 0.02, 0.02, 30).rows()


class Bounds(Part):
    """Objects with bounds, some of which are interrupted; one query comes later, one pauses."""

    def declare(self, gauge: sg.Gauge, place: Path) -> None:
        gauge.stream(
            "hosts", sg.files(folder(place, "hosts")), time="ts", key=("host", "site"),
            schema=SCHEMA, future=None, width="width",
        )  # fmt: skip
        gauge.register(*FIRST)

    def bring(self, place: Path, turn: int) -> None:
        write_half(as_arrow(ROWS, SCHEMA), place / "hosts", turn)

    def change(self, gauge: sg.Gauge) -> None:
        gauge.register(*LATER)
        gauge.pause("least")

    def told(self, gauge: sg.Gauge) -> list[str]:
        return [repr(a) for a in as_answers(gauge.answers()) if a.query in NAMES]
