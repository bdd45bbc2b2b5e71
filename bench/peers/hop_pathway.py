"""Pathway: `windowby` over a sliding window, avg and max by key, all rows at once."""

from __future__ import annotations

import importlib
import importlib.util
import os
import time
from datetime import timedelta
from typing import Any

from bench.harness import Outcome, Task, cpu_seconds
from bench.hops import LENGTH, SLIDE, Hops

ROWS = 60_000


def installed() -> bool:
    """Whether the package can be imported."""
    return importlib.util.find_spec("pathway") is not None


def run(task: Task) -> Outcome:
    """Give it the first rows as one table; the start is part of the time."""
    os.environ.setdefault("PATHWAY_THREADS", "2")
    pw: Any = importlib.import_module("pathway")
    head = Hops.read(task.prepared).head(ROWS)
    times = [stamp.replace(tzinfo=None) for stamp in head["ts"].to_pylist()]
    rows = list(zip(head["key"].to_pylist(), times, head["value"].to_pylist(), strict=True))
    schema = pw.schema_from_types(key=str, ts=pw.DateTimeNaive, value=float)
    table = pw.debug.table_from_rows(schema, rows)
    moving = pw.temporal.sliding(hop=timedelta(seconds=SLIDE), duration=timedelta(seconds=LENGTH))
    answers = table.windowby(table.ts, window=moving, instance=table.key).reduce(
        key=pw.this._pw_instance,
        a=pw.reducers.avg(pw.this.value),
        m=pw.reducers.max(pw.this.value),
    )
    count = [0]

    def seen(key: Any, row: Any, time: int, is_addition: bool) -> None:
        count[0] += 1

    pw.io.subscribe(answers, on_change=seen)
    begun, spent = time.perf_counter(), cpu_seconds()
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    seconds, total = time.perf_counter() - begun, cpu_seconds()
    return Outcome(
        rows=len(rows),
        seconds=seconds,
        cpu_seconds=None if spent is None or total is None else total - spent,
        facts={"answers_per_second": count[0] / seconds},
        note="start included",
    )
