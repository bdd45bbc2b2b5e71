"""Spark's `window()` over a stream of the same files: sliding 60 s by 1 s, by key.

Forms: scan, exact (avg, max), p95 (avg, max, percentile_approx), panes (1 s panes first).
"""

from __future__ import annotations

from typing import Any

from bench.harness import Outcome, Task
from bench.hops import LENGTH, SHARE, SLIDE, Hops
from bench.peers.scan import measured, session


def installed() -> bool:
    """Spark is what Streamgauge runs on."""
    return True


def run(task: Task) -> Outcome:
    """Run one form for its batches or its time; `files` 0 reads slices instead of batches."""
    hops = Hops.read(task.prepared)
    spark = session()
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    folder = hops.path("rows" if task.files else "slices")
    source = spark.readStream.schema("key string, ts timestamp, value double")
    rows = source.option("maxFilesPerTrigger", max(1, task.files)).parquet(str(folder))
    frame = _frame(task.form, rows)
    return measured(frame.writeStream.format("noop"), task, 1)


def _frame(form: str, rows: Any) -> Any:
    from pyspark.sql import functions as F  # noqa: N812

    if form == "scan":
        return rows
    timed = rows.withWatermark("ts", "1 second")
    moving = F.window("ts", f"{LENGTH} seconds", f"{SLIDE} seconds")
    asked = [F.avg("value").alias("a"), F.max("value").alias("m")]
    if form == "p95":
        asked.append(F.percentile_approx("value", SHARE, 200).alias("p"))
    if form == "panes":
        pane = F.window("ts", f"{SLIDE} seconds")
        small = timed.groupBy(pane, "key").agg(
            F.sum("value").alias("s"), F.count("value").alias("n"), F.max("value").alias("m")
        )
        moving = F.window(F.window_time("window"), f"{LENGTH} seconds", f"{SLIDE} seconds")
        merged = small.groupBy(moving.alias("w"), "key")
        return merged.agg((F.sum("s") / F.sum("n")).alias("a"), F.max("m").alias("m"))
    return timed.groupBy(moving, "key").agg(*asked)
