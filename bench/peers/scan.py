"""A bare Structured Streaming scan of the same files into `noop`: the most Spark could do."""

from __future__ import annotations

import json
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from bench.data import Card
from bench.harness import MASTER, WARM_UP, Outcome, Task, cpu_seconds

SCHEMA = "series string, ts timestamp, value double, zone string, kind string"
HISTORY = "spark.sql.streaming.numRecentProgressUpdates"
POLL_SECONDS = 0.02


def installed() -> bool:
    """Spark is what Streamgauge runs on."""
    return True


def session(name: str = HISTORY, value: str = "10000") -> Any:
    """A session with the settings Streamgauge uses itself, and one more."""
    from streamgauge.engine.spark.session import open_session

    spark = open_session(MASTER)
    spark.conf.set(name, value)
    return spark


def read(spark: Any, directory: Path, files: int) -> Any:
    """A stream of the prepared files, some of them per batch."""
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files)
    return source.parquet(str(directory))


def run(task: Task) -> Outcome:
    """Read every column of every row and drop it."""
    card = Card.read(task.prepared)
    frame = read(session(), card.path("rows"), task.files)
    return measured(frame.writeStream.format("noop"), task, WARM_UP)


def measured(writer: Any, task: Task, warm_up: int) -> Outcome:
    """Run a streaming query to its end, or for its batches; figures come from its progress."""
    checkpoint = tempfile.mkdtemp(dir=Path.cwd())
    query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    deadline = time.monotonic() + task.seconds
    spent: tuple[int, float | None] | None = None
    while query.isActive and time.monotonic() < deadline:
        last = query.lastProgress
        done = -1 if last is None else int(last["batchId"])
        if spent is None and done >= warm_up - 1:
            spent = done, cpu_seconds()
        if task.batches and done + 1 >= task.batches:
            break
        query.awaitTermination(POLL_SECONDS)
    total = cpu_seconds()
    records = [json.loads(progress.json) for progress in query.recentProgress]
    failure = query.exception()
    query.stop()
    if failure is not None:
        return Outcome(missing=f"failed: {str(failure)[:200]}")
    return from_progress(records, warm_up, spent, total)


def from_progress(
    records: list[dict[str, Any]],
    warm_up: int,
    spent: tuple[int, float | None] | None,
    total: float | None,
) -> Outcome:
    """Figures of the batches after the warm-up, from the end of that to the end of the last."""
    records = [record for record in records if record["numInputRows"]]
    after = records[warm_up:]
    if not after:
        return Outcome(missing=f"only {len(records)} batches")
    seconds = ended(after[-1]) - ended(records[warm_up - 1])
    outcome = Outcome(
        rows=sum(record["numInputRows"] for record in after),
        seconds=seconds,
        first_seconds=records[0]["durationMs"]["triggerExecution"] / 1000,
        facts={
            "batches": len(after),
            "batch_seconds": sum(r["durationMs"]["triggerExecution"] for r in after) / 1000,
        },
    )
    if spent is not None and spent[1] is not None and total is not None:
        counted = sum(r["numInputRows"] for r in records if r["batchId"] > spent[0])
        outcome.cpu_seconds = (total - spent[1]) * outcome.rows / counted if counted else None
    return outcome


def ended(record: dict[str, Any]) -> float:
    """When a batch ended, in seconds since 1970."""
    begun = datetime.fromisoformat(record["timestamp"]).timestamp()
    return begun + float(record["durationMs"]["triggerExecution"]) / 1000
