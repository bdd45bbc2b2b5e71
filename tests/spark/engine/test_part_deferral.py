"""Deferred queries on Spark against the local engine, byte for byte, with restarts and changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import streamgauge as sg
from streamgauge.plan.members import Members
from streamgauge.plan.over import Over
from streamgauge.results.change_log import as_answers
from streamgauge.testing.deferrals import HOLDINGS, Shape
from streamgauge.testing.strategies import SCHEMA, as_arrow

OWED = sg.Contract.absolute(2.0, confidence=0.9)
BOOKS = Members("holdings", "symbol", ("book",), "shares")
FIRST = (
    sg.Query("blind", "plant", sg.total("x"), contract=OWED, regime="timer"),
    sg.Query("seen", "plant", sg.avg("x"), contract=OWED, regime="watch", trend=True),
    sg.Query("books", "plant", sg.total("x"), contract=OWED, regime="timer", members=BOOKS),
    sg.Query("groups", "plant", sg.avg("x"), contract=OWED, regime="watch", group_by=("g",)),
)
LATER = (
    sg.Query("peak", "plant", sg.avg("x"), contract=OWED, over=Over("max", sg.Range("40 s"))),
    sg.Query("low", "plant", sg.total("x"), contract=OWED, regime="timer", group_by=("g",)),
)
WALK = Shape(5, 600, 11, 0.8, 0.02, 0.02, 0.01, 0.01, 30, 0.0)


def write_files(directory: Path) -> tuple[Path, Path]:
    """The first and the second half of a walk, and a table of members beside them."""
    table = as_arrow(WALK.rows(), SCHEMA)
    half = table.num_rows // 2
    for name, part in (("1", table.slice(0, half)), ("2", table.slice(half))):
        (directory / name).mkdir(parents=True)
        for k in range(0, part.num_rows, 200):
            pq.write_table(part.slice(k, 200), directory / name / f"{name}{k:05d}.parquet")
    held = {
        "symbol": ["s0", "s1", "s2", "s3", "s1"],
        "book": ["a", "a", "b", "b", "c"],
        "desk": [1, 1, 2, 2, 3],
        "shares": [1.0, -2.0, 0.5, 3.0, 1.0],
    }
    pq.write_table(pa.table(held, schema=HOLDINGS.to_arrow()), directory / "holdings.parquet")
    return directory / "1", directory / "2"


def answered(home: Path, engine: str, files: Path) -> list[str]:
    """All answers on a new home, in two runs with changes between them; epochs are left out."""
    gauge = sg.connect(home, engine=engine, shards=2, max_rows=400, master="local[2,4]")
    inbox = home.parent / f"{home.name}-files"
    inbox.mkdir()
    first, second = files / "1", files / "2"
    gauge.stream("plant", sg.files(inbox), time="ts", key="series", schema=SCHEMA, future=None)
    gauge.create_table("holdings", files / "holdings.parquet")
    gauge.register(*FIRST)
    for part, later in ((first, LATER), (second, ())):
        for file in sorted(part.iterdir()):
            (inbox / file.name).write_bytes(file.read_bytes())
        gauge.start()
        gauge.drain(timeout=180)
        gauge.stop()
        if later:
            gauge.register(*later)
            gauge.pause("seen")
    return sorted(repr(replace(answer, epoch=0)) for answer in as_answers(gauge.answers()))


def test_spark_and_local_give_the_same_deferred_answers(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_files(tmp_path / "files")
    local = answered(tmp_path / "local", "local", tmp_path / "files")
    found = answered(tmp_path / "spark", "spark", tmp_path / "files")
    names = {query.name for query in (*FIRST, *LATER)}
    assert all(any(f"query='{name}'" in text for text in local) for name in names)
    assert found == local
