"""PyFlink SQL: a HOP window, avg and max by key; rows come from CSV, the start is included."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path

import pyarrow.csv as csv

from bench.harness import Outcome, Task, cpu_seconds
from bench.hops import LENGTH, SLIDE, Hops
from bench.peers.flink import _environment

ROWS = 1_000_000


def installed() -> bool:
    """Whether the package can be imported."""
    return importlib.util.find_spec("pyflink") is not None


def run(task: Task) -> Outcome:
    """Run one job over a bounded number of rows."""
    head = Hops.read(task.prepared).head(ROWS)
    folder = Path.cwd() / "rows"
    folder.mkdir()
    plain = head.set_column(1, "ts", head["ts"].cast("timestamp[ms]"))
    csv.write_csv(plain, folder / "rows.csv", csv.WriteOptions(include_header=False))
    environment = _environment(10_000)
    environment.execute_sql(
        "CREATE TABLE ticks (k STRING, ts TIMESTAMP(3), v DOUBLE, "
        "WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH "
        f"('connector' = 'filesystem', 'path' = '{folder}', 'format' = 'csv')"
    )
    environment.execute_sql(
        "CREATE TABLE answers (k STRING, a DOUBLE, m DOUBLE) WITH ('connector' = 'blackhole')"
    )
    begun, spent = time.perf_counter(), cpu_seconds()
    environment.execute_sql(
        f"""INSERT INTO answers SELECT k, AVG(v), MAX(v) FROM TABLE(HOP(TABLE ticks,
        DESCRIPTOR(ts), INTERVAL '{SLIDE}' SECOND, INTERVAL '{LENGTH}' SECOND))
        GROUP BY k, window_start, window_end"""
    ).wait()
    seconds, total = time.perf_counter() - begun, cpu_seconds()
    return Outcome(
        rows=head.num_rows,
        seconds=seconds,
        cpu_seconds=None if spent is None or total is None else total - spent,
        note="start included",
    )
