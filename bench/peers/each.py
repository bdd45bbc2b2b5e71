"""One Spark streaming query per standing query, as one would begin."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from bench.data import Card
from bench.harness import Outcome, Task, cpu_seconds
from bench.peers.scan import read, session

POLL_SECONDS = 0.2


def installed() -> bool:
    """Spark is what Streamgauge runs on."""
    return True


def run(task: Task) -> Outcome:
    """Start queries for half of the time, let each do a batch, count rows in what is left."""
    card = Card.read(task.prepared)
    spark = session()
    members = card.members()[: task.queries]
    begun = time.monotonic()
    queries: list[Any] = []
    for row in members.tolist():
        if time.monotonic() - begun > task.seconds / 2:
            break
        queries.append(_start(spark, card, [card.series[place] for place in row]))
    started = time.monotonic() - begun
    while time.monotonic() - begun < 0.75 * task.seconds and not all(
        q.lastProgress for q in queries
    ):
        time.sleep(POLL_SECONDS)
    before, clock, spent = _rows(queries), time.monotonic(), cpu_seconds()
    while time.monotonic() - begun < task.seconds and any(_unfinished(q, card) for q in queries):
        time.sleep(POLL_SECONDS)
    after, seconds, total = _rows(queries), time.monotonic() - clock, cpu_seconds()
    read_rows = (after - before) / len(queries)
    return Outcome(
        rows=round(read_rows),
        seconds=seconds,
        cpu_seconds=None if spent is None or total is None else total - spent,
        facts={"started": len(queries), "start_seconds": started},
        note=f"{len(queries)} of {task.queries} started in {started:.0f} s",
        missing="" if read_rows else "no batch was done in time",
    )


def _start(spark: Any, card: Card, series: list[str]) -> Any:
    from pyspark.sql import functions as f

    rows = read(spark, card.path("slices"), 1).where(f.col("series").isin(series))
    latest = rows.groupBy("series").agg(f.max_by("value", "ts").alias("value"))
    writer = latest.writeStream.outputMode("complete").format("noop")
    return writer.option("checkpointLocation", tempfile.mkdtemp(dir=Path.cwd())).start()


def _rows(queries: list[Any]) -> int:
    return sum(progress["numInputRows"] for query in queries for progress in query.recentProgress)


def _unfinished(query: Any, card: Card) -> bool:
    """Whether rows are left: a query that has read all would idle and spoil the rate."""
    rows = sum(progress["numInputRows"] for progress in query.recentProgress)
    return bool(rows < min(card.rows, card.batch))
